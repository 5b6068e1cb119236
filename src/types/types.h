/*
 * types/types.h: what the library can do with an element type.
 *
 * A type has a storage format (T) and a compute type (C), in which its values are multiplied and
 * added. Its row has the functions that convert T to C and back; everything else works on C. The
 * rows are in type_rows.isa.c, which is compiled once for each instruction set.
 */
#ifndef GOPS_TYPES_TYPES_H
#define GOPS_TYPES_TYPES_H

#include <groupops/plan.h>

#include "isa/isa.h"

typedef enum gops_compute {
    GOPS_COMPUTE_F32,
    GOPS_COMPUTE_F64,
    GOPS_COMPUTE_U16, /* integers modulo 2^16 */
    GOPS_COMPUTE_U32, /* integers modulo 2^32 */
    GOPS_COMPUTE_U64, /* integers modulo 2^64 */
    GOPS_COMPUTES     /* how many there are */
} gops_compute;

/* Bytes of one value of the compute type. */
static inline int64_t gops_compute_bytes(gops_compute compute)
{
    return compute == GOPS_COMPUTE_F64 || compute == GOPS_COMPUTE_U64 ? 8
           : compute == GOPS_COMPUTE_U16                              ? 2
                                                                      : 4;
}

/* Some types have a second row, for another way to convert or to compute. */
typedef enum gops_type_variant {
    GOPS_TYPE_USUAL,
    GOPS_TYPE_SATURATING, /* 8-bit floats: overflow becomes the largest finite value */
    GOPS_TYPE_WIDE,       /* 8-bit integers: sums modulo 2^32, for an output of that size */
    GOPS_TYPE_VARIANTS    /* how many there are */
} gops_type_variant;

/* Every row, ROW(name, type, variant): those of the types, then those of the variants. */
/* clang-format off */
#define GOPS_FLOAT_ROWS(ROW)                                                                       \
    ROW(f32, F32, USUAL) ROW(f64, F64, USUAL) ROW(f16, F16, USUAL) ROW(bf16, BF16, USUAL)          \
    ROW(f8e4m3, F8E4M3, USUAL) ROW(f8e5m2, F8E5M2, USUAL)                                          \
    ROW(f8e4m3_saturating, F8E4M3, SATURATING) ROW(f8e5m2_saturating, F8E5M2, SATURATING)
#define GOPS_INTEGER_ROWS(ROW)                                                                     \
    ROW(i8, I8, USUAL) ROW(u8, U8, USUAL) ROW(i16, I16, USUAL) ROW(u16, U16, USUAL)                \
    ROW(i32, I32, USUAL) ROW(u32, U32, USUAL) ROW(i64, I64, USUAL) ROW(u64, U64, USUAL)            \
    ROW(i8_wide, I8, WIDE) ROW(u8_wide, U8, WIDE)
/* clang-format on */

#define GOPS_ROW_INDEX(name, ...) GOPS_ROW_##name,
enum { GOPS_FLOAT_ROWS(GOPS_ROW_INDEX) GOPS_INTEGER_ROWS(GOPS_ROW_INDEX) GOPS_ROWS };
#undef GOPS_ROW_INDEX

typedef struct gops_type_row {
    const char *name;
    gops_type type;
    int32_t bytes; /* of an element */
    gops_compute compute;
    /* T and C are the same format: data needs no conversion. */
    bool native;
    /* Convert `count` consecutive values, T to C and C to T. `store` rounds once, to nearest even;
     * integers keep their low bits. */
    void (*load)(void *to, const void *from, int64_t count);
    void (*store)(void *to, const void *from, int64_t count);
    /* The wide variant: subtracts `zero`, a zero point as `load` gives it, from loaded values. Else
     * NULL. */
    void (*subtract_zero)(void *values, int64_t count, uint32_t zero);
    /* The row's number: the index of other folders' tables by type. */
    int32_t index;
} gops_type_row;

static inline bool gops_is_integer(const gops_type_row *row)
{
    return row->compute >= GOPS_COMPUTE_U16;
}

/* An 8-bit integer, which a quantized tensor has. */
static inline bool gops_is_8_bit(gops_type type)
{
    return type == GOPS_I8 || type == GOPS_U8;
}

/* Number `i` of integers of 8 bits. */
static inline int32_t gops_8_bit_at(gops_type type, const void *values, int64_t i)
{
    return type == GOPS_I8 ? ((const int8_t *)values)[i] : ((const uint8_t *)values)[i];
}

/* What makes u8 of an integer of 8 bits: to add 0x80 to i8, which inverts that bit. */
static inline int32_t gops_8_bit_shift(gops_type type)
{
    return type == GOPS_I8 ? 0x80 : 0;
}

enum { GOPS_MAX_TYPES = 32 }; /* the numbers of gops_type are below */

struct gops_type_rows {
    const gops_type_row *of[GOPS_TYPE_VARIANTS][GOPS_MAX_TYPES];
};

/* The row of a type, or NULL where it is not offered. Types without the variant have their usual
 * row. */
const gops_type_row *gops_type_row_of(const gops_kernels *kernels, gops_type type,
                                      gops_type_variant variant);

#endif
