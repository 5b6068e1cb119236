/*
 * codes.h: the small floating point formats from their standards (IEEE 754-2019 for f16, the OCP
 * 8-bit floating point specification for the two of 8 bits, bf16 as the upper half of a binary32),
 * in exact arithmetic: a value is a long double that holds it, a code is found by searching the
 * list of all values.
 */
#ifndef GROUPOPS_TESTS_CODES_H
#define GROUPOPS_TESTS_CODES_H

#include <groupops/tensor.h>

typedef struct gops_codes {
    gops_type type;
    int fraction_bits, exponent_bits;
    uint32_t sign;      /* the sign bit */
    uint32_t finite;    /* codes without sign below it are finite, in the order of their values */
    long double *value; /* of those, and of the one that would come next */
} gops_codes;

/* One of f16, bf16, f8e4m3, f8e5m2. */
gops_codes gops_codes_create(gops_type type);
void gops_codes_destroy(gops_codes *codes);

/* The code that a number is rounded to: the nearest value, of two the one with an even code, as if
 * the format went on beyond the largest finite value. What then is beyond it is infinity, in f8e4m3
 * NaN, and the largest finite value in saturating mode (8-bit types), as are infinities. */
uint32_t gops_codes_round(const gops_codes *codes, long double number, int saturating);

/* The code of a NaN with these 23 fraction bits in a float: the leading ones are kept, and it is
 * quiet. */
uint32_t gops_codes_round_nan(const gops_codes *codes, uint32_t sign, uint32_t fraction);

/* The bits of the float that a code stands for. A NaN keeps its sign and fraction and becomes
 * quiet, but in bf16, whose codes are floats cut short, it stays as it is. */
uint32_t gops_codes_float(const gops_codes *codes, uint32_t code);

#endif
