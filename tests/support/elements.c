/* elements.c: loads, stores and rounds elements of every type by the definitions of the formats. */
#include "elements.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guarded_memory.h"
#include "harness.h"

const gops_type gops_test_reals[] = {GOPS_F64,  GOPS_F32,    GOPS_F16,
                                     GOPS_BF16, GOPS_F8E4M3, GOPS_F8E5M2};

typedef struct format {
    const char *name;
    int bytes;
    int is_real;
    int is_signed;
    int fraction_bits; /* of floating point types */
    int exponent_bits;
} format;

static const format formats[] = {
    [GOPS_F64] = {"f64", 8, 1, 1, 52, 11},     [GOPS_F32] = {"f32", 4, 1, 1, 23, 8},
    [GOPS_F16] = {"f16", 2, 1, 1, 10, 5},      [GOPS_BF16] = {"bf16", 2, 1, 1, 7, 8},
    [GOPS_F8E4M3] = {"f8e4m3", 1, 1, 1, 3, 4}, [GOPS_F8E5M2] = {"f8e5m2", 1, 1, 1, 2, 5},
    [GOPS_I8] = {"i8", 1, 0, 1, 0, 0},         [GOPS_I16] = {"i16", 2, 0, 1, 0, 0},
    [GOPS_I32] = {"i32", 4, 0, 1, 0, 0},       [GOPS_I64] = {"i64", 8, 0, 1, 0, 0},
    [GOPS_U8] = {"u8", 1, 0, 0, 0, 0},         [GOPS_U16] = {"u16", 2, 0, 0, 0, 0},
    [GOPS_U32] = {"u32", 4, 0, 0, 0, 0},       [GOPS_U64] = {"u64", 8, 0, 0, 0, 0},
};

static const format *format_of(gops_type type)
{
    if ((int)type < GOPS_F64 || (int)type > GOPS_U64) {
        fprintf(stderr, "a test used element type %d, which does not exist\n", (int)type);
        abort();
    }
    return &formats[type];
}

const char *gops_test_type_name(gops_type type)
{
    return format_of(type)->name;
}

int gops_test_type_is_real(gops_type type)
{
    return format_of(type)->is_real;
}

int gops_test_type_is_signed(gops_type type)
{
    return format_of(type)->is_signed;
}

size_t gops_test_type_bytes(gops_type type)
{
    return (size_t)format_of(type)->bytes;
}

static uint64_t load_bits(int bytes, const void *elements, int64_t index)
{
    const unsigned char *at = (const unsigned char *)elements + index * bytes;
    uint8_t b1;
    uint16_t b2;
    uint32_t b4;
    uint64_t b8;
    switch (bytes) {
    case 1:
        memcpy(&b1, at, 1);
        return b1;
    case 2:
        memcpy(&b2, at, 2);
        return b2;
    case 4:
        memcpy(&b4, at, 4);
        return b4;
    default:
        memcpy(&b8, at, 8);
        return b8;
    }
}

static void store_bits(int bytes, void *elements, int64_t index, uint64_t bits)
{
    unsigned char *at = (unsigned char *)elements + index * bytes;
    uint8_t b1 = (uint8_t)bits;
    uint16_t b2 = (uint16_t)bits;
    uint32_t b4 = (uint32_t)bits;
    switch (bytes) {
    case 1:
        memcpy(at, &b1, 1);
        return;
    case 2:
        memcpy(at, &b2, 2);
        return;
    case 4:
        memcpy(at, &b4, 4);
        return;
    default:
        memcpy(at, &bits, 8);
        return;
    }
}

/* 2 to a power, of those that fractions of small floats are scaled by; ldexpl took a third of the
 * time of tests that convert much. */
static long double power_of_two(int exponent)
{
    uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static long double small_float_value(gops_type type, uint64_t bits)
{
    const format *f = format_of(type);
    int exponent_mask = (1 << f->exponent_bits) - 1;
    int bias = exponent_mask >> 1;
    int fraction_mask = (1 << f->fraction_bits) - 1;
    int fraction = (int)bits & fraction_mask;
    int exponent = (int)(bits >> f->fraction_bits) & exponent_mask;
    long double sign = (bits >> (f->fraction_bits + f->exponent_bits)) & 1 ? -1.0L : 1.0L;
    if (type == GOPS_F8E4M3) {
        if (exponent == exponent_mask && fraction == fraction_mask)
            return (long double)NAN;
    } else if (exponent == exponent_mask) {
        return fraction != 0 ? (long double)NAN : sign * (long double)INFINITY;
    }
    if (exponent == 0)
        return sign * fraction * power_of_two(1 - bias - f->fraction_bits);
    return sign * (fraction + fraction_mask + 1) * power_of_two(exponent - bias - f->fraction_bits);
}

/* The bits of |value| rounded: counted in steps of the binade, so that a carry out of the fraction
 * moves into the exponent by itself. */
static uint64_t small_float_bits(gops_type type, long double value)
{
    const format *f = format_of(type);
    int exponent_mask = (1 << f->exponent_bits) - 1;
    int bias = exponent_mask >> 1;
    uint64_t sign = signbit(value) ? UINT64_C(1) << (f->fraction_bits + f->exponent_bits) : 0;
    uint64_t all_ones = ((uint64_t)exponent_mask << f->fraction_bits);
    uint64_t nan_bits =
        type == GOPS_F8E4M3 ? all_ones + 7 : all_ones + (UINT64_C(1) << (f->fraction_bits - 1));
    uint64_t overflow = type == GOPS_F8E4M3 ? nan_bits : all_ones;
    if (isnan(value))
        return sign | nan_bits;
    if (isinf(value))
        return sign | overflow;
    if (value == 0)
        return sign;
    int exponent;
    frexpl(value, &exponent);
    exponent = exponent - 1 < 1 - bias ? 1 - bias : exponent - 1;
    if (exponent > bias + 1)
        return sign | overflow;
    /* So large a number has no bits left for less than 1; faster than nearbyintl. Under valgrind a long double has
     * those of a double, and 1 / LDBL_EPSILON has none left for 1024. */
    const long double large = gops_test_long_double_is_wide() ? 1 / LDBL_EPSILON : 1 / DBL_EPSILON;
    long double steps = fabsl(value) * power_of_two(f->fraction_bits - exponent) + large - large;
    uint64_t bits = (uint64_t)steps + ((uint64_t)(exponent + bias - 1) << f->fraction_bits);
    return sign | (bits >= overflow ? overflow : bits);
}

long double gops_test_get_real(gops_type type, const void *elements, int64_t index)
{
    if (type == GOPS_F64) {
        double value;
        memcpy(&value, (const unsigned char *)elements + index * 8, 8);
        return value;
    }
    if (type == GOPS_F32) {
        float value;
        memcpy(&value, (const unsigned char *)elements + index * 4, 4);
        return value;
    }
    return small_float_value(type, load_bits(format_of(type)->bytes, elements, index));
}

void gops_test_set_real(gops_type type, void *elements, int64_t index, long double value)
{
    if (type == GOPS_F64) {
        double rounded = (double)value;
        memcpy((unsigned char *)elements + index * 8, &rounded, 8);
    } else if (type == GOPS_F32) {
        float rounded = (float)value;
        memcpy((unsigned char *)elements + index * 4, &rounded, 4);
    } else {
        store_bits(format_of(type)->bytes, elements, index, small_float_bits(type, value));
    }
}

uint64_t gops_test_get_integer(gops_type type, const void *elements, int64_t index)
{
    const format *f = format_of(type);
    uint64_t bits = load_bits(f->bytes, elements, index);
    uint64_t sign = UINT64_C(1) << (f->bytes * 8 - 1);
    return f->is_signed ? (bits ^ sign) - sign : bits;
}

void gops_test_set_integer(gops_type type, void *elements, int64_t index, uint64_t value)
{
    store_bits(format_of(type)->bytes, elements, index, value);
}

long double gops_test_unit_roundoff(gops_type type)
{
    return ldexpl(1.0L, -format_of(type)->fraction_bits - 1);
}

long double gops_test_smallest(gops_type type)
{
    const format *f = format_of(type);
    return ldexpl(1.0L, 2 - (1 << (f->exponent_bits - 1)) - f->fraction_bits);
}

int gops_test_long_double_is_wide(void)
{
    volatile long double one = 1, little = 0x1p-60L;
    return one + little != one;
}

void gops_test_need_wide_long_double(void)
{
    if (!gops_test_long_double_is_wide())
        gops_test_skip("long double is no wider than double here, as under valgrind");
}

int64_t gops_test_elements(const gops_tensor *tensor)
{
    int64_t product = 1;
    for (int32_t i = 0; i < tensor->rank; i++)
        product *= tensor->dims[i];
    return product;
}

void *gops_test_cut(const gops_tensor *whole, const void *elements, const int64_t *begin,
                    const int64_t *dims)
{
    const gops_tensor part = gops_test_tensor(whole->type, whole->rank, dims);
    const int64_t count = gops_test_elements(&part);
    const size_t bytes = gops_test_type_bytes(whole->type);
    char *made = gops_test_allocate((size_t)count * bytes);
    for (int64_t i = 0; i < count; i++) {
        int64_t from = 0, rest = i, times = 1;
        for (int32_t a = whole->rank - 1; a >= 0; a--) {
            from += (begin[a] + rest % dims[a]) * times;
            rest /= dims[a];
            times *= whole->dims[a];
        }
        memcpy(made + (size_t)i * bytes, (const char *)elements + (size_t)from * bytes, bytes);
    }
    return made;
}

int gops_test_same_dims(const gops_tensor *a, const gops_tensor *b)
{
    return a->rank == b->rank && memcmp(a->dims, b->dims, (size_t)a->rank * sizeof a->dims[0]) == 0;
}

gops_tensor gops_test_tensor(gops_type type, int32_t rank, const int64_t *dims)
{
    gops_tensor tensor = {.type = type, .rank = rank};
    memcpy(tensor.dims, dims, (size_t)rank * sizeof *dims);
    return tensor;
}

const char *gops_test_describe(const gops_tensor *tensor, gops_test_text *text)
{
    size_t used =
        (size_t)snprintf(text->text, sizeof text->text, "%s [", gops_test_type_name(tensor->type));
    for (int32_t i = 0; i < tensor->rank && used < sizeof text->text; i++)
        used += (size_t)snprintf(text->text + used, sizeof text->text - used, "%s%" PRId64,
                                 i == 0 ? "" : ", ", tensor->dims[i]);
    if (used < sizeof text->text)
        snprintf(text->text + used, sizeof text->text - used, "]");
    return text->text;
}
