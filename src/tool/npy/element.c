/* element.c: elements of every type as numbers. */
#include "npy/element.h"

#include "types/small_float.h"

#include <stdbool.h>
#include <string.h>

typedef union element {
    double f64;
    float f32;
    int8_t i8;
    int16_t i16;
    int32_t i32;
    int64_t i64;
    uint8_t u8;
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;
} element;

#define LOAD(member) (memcpy(&read.member, at, sizeof read.member), read.member)
#define STORE(member, value)                                                                       \
    (made.member = (value), (void)memcpy(at, &made.member, sizeof made.member))

double gops_element_load(gops_type type, const void *at)
{
    element read;
    switch (type) {
    case GOPS_F64:
        return LOAD(f64);
    case GOPS_F32:
        return (double)LOAD(f32);
    case GOPS_F16:
        return (double)gops_f16_load(LOAD(u16));
    case GOPS_BF16:
        return (double)gops_bf16_load(LOAD(u16));
    case GOPS_F8E4M3:
        return (double)gops_f8e4m3_load(LOAD(u8));
    case GOPS_F8E5M2:
        return (double)gops_f8e5m2_load(LOAD(u8));
    case GOPS_I8:
        return LOAD(i8);
    case GOPS_I16:
        return LOAD(i16);
    case GOPS_I32:
        return LOAD(i32);
    case GOPS_I64:
        return (double)LOAD(i64);
    case GOPS_U8:
        return LOAD(u8);
    case GOPS_U16:
        return LOAD(u16);
    case GOPS_U32:
        return LOAD(u32);
    case GOPS_U64:
        return (double)LOAD(u64);
    }
    return 0;
}

void gops_element_store(gops_type type, double number, void *at)
{
    const bool narrow = gops_type_bytes(type) < sizeof(float); /* is rounded once more */
    const float single = narrow ? gops_round_to_odd(number) : (float)number;
    element made;
    switch (type) {
    case GOPS_F64:
        STORE(f64, number);
        return;
    case GOPS_F32:
        STORE(f32, single);
        return;
    case GOPS_F16:
        STORE(u16, (uint16_t)gops_f16_store(single));
        return;
    case GOPS_BF16:
        STORE(u16, (uint16_t)gops_bf16_store(single));
        return;
    case GOPS_F8E4M3:
        STORE(u8, (uint8_t)gops_f8e4m3_store(single));
        return;
    case GOPS_F8E5M2:
        STORE(u8, (uint8_t)gops_f8e5m2_store(single));
        return;
    default:
        return;
    }
}
