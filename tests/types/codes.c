/* codes.c: lists the values of a format's codes, and rounds to them by search. */
#include "codes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "guarded_memory.h"

gops_codes gops_codes_create(gops_type type)
{
    gops_codes c = {.type = type, .fraction_bits = 10, .exponent_bits = 5};
    if (type == GOPS_BF16) {
        c.fraction_bits = 7;
        c.exponent_bits = 8;
    } else if (type == GOPS_F8E4M3) {
        c.fraction_bits = 3;
        c.exponent_bits = 4;
    } else if (type == GOPS_F8E5M2) {
        c.fraction_bits = 2;
    }
    const int bias = (1 << (c.exponent_bits - 1)) - 1;
    const int32_t fractions = 1 << c.fraction_bits;
    c.sign = UINT32_C(1) << (c.fraction_bits + c.exponent_bits);
    c.finite = type == GOPS_F8E4M3 ? 0x7f : c.sign - (uint32_t)fractions;
    c.value = gops_test_allocate((c.finite + 1) * sizeof *c.value);
    for (uint32_t code = 0; code <= c.finite; code++) {
        const int32_t exponent = (int32_t)code / fractions, fraction = (int32_t)code % fractions;
        c.value[code] = exponent == 0
                            ? ldexpl(fraction, 1 - bias - c.fraction_bits)
                            : ldexpl(fractions + fraction, exponent - bias - c.fraction_bits);
    }
    return c;
}

void gops_codes_destroy(gops_codes *codes)
{
    free(codes->value);
    codes->value = NULL;
}

uint32_t gops_codes_round(const gops_codes *codes, long double number, int saturating)
{
    const uint32_t sign = signbit(number) ? codes->sign : 0;
    const long double magnitude = fabsl(number);
    uint32_t low = 0, high = codes->finite;
    if (magnitude >= codes->value[high]) {
        low = high;
    }
    while (low + 1 < high) {
        const uint32_t middle = (low + high) / 2;
        *(codes->value[middle] <= magnitude ? &low : &high) = middle;
    }
    if (low < high) {
        /* Neither the sum nor twice the magnitude needs more bits than a long double has. */
        const long double twice = magnitude * 2, border = codes->value[low] + codes->value[high];
        low = twice > border || (twice == border && low % 2 != 0) ? high : low;
    }
    /* In each format the code after the finite ones is infinity or, in f8e4m3, NaN. */
    return sign | (low == codes->finite && saturating ? low - 1 : low);
}

uint32_t gops_codes_round_nan(const gops_codes *codes, uint32_t sign, uint32_t fraction)
{
    const uint32_t quiet = UINT32_C(1) << (codes->fraction_bits - 1);
    uint32_t code = codes->finite;
    if (codes->type != GOPS_F8E4M3) { /* which has a single NaN */
        code |= quiet | fraction >> (23 - codes->fraction_bits);
    }
    return code | (sign != 0 ? codes->sign : 0);
}

uint32_t gops_codes_float(const gops_codes *codes, uint32_t code)
{
    const uint32_t magnitude = code & (codes->sign - 1);
    const uint32_t sign = magnitude != code ? UINT32_C(0x80000000) : 0;
    if (magnitude < codes->finite) {
        uint32_t bits;
        const float value = (float)codes->value[magnitude];
        memcpy(&bits, &value, sizeof bits);
        return sign | bits;
    }
    if (codes->type == GOPS_F8E4M3) {
        return sign | 0x7fc00000;
    }
    const uint32_t fraction = magnitude - codes->finite;
    const uint32_t quiet = fraction != 0 && codes->type != GOPS_BF16 ? 0x400000 : 0;
    return sign | 0x7f800000 | quiet | fraction << (23 - codes->fraction_bits);
}
