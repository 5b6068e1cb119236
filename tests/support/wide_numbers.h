/*
 * wide_numbers.h: how large sizes get, and whole numbers of which products of two 64-bit numbers
 * fit or are seen not to.
 */
#ifndef GROUPOPS_TEST_WIDE_NUMBERS_H
#define GROUPOPS_TEST_WIDE_NUMBERS_H

#include <stdint.h>

/* Whether an address has 32 bits, and the bytes that a tensor has at most. */
#if SIZE_MAX > UINT32_MAX
#define GOPS_TEST_32_BIT 0
#define GOPS_TEST_MAX_BYTES "9223372036854775807"
#else
#define GOPS_TEST_32_BIT 1
#define GOPS_TEST_MAX_BYTES "2147483647"
#endif

#ifdef __SIZEOF_INT128__
typedef __int128 gops_test_wide;

/* Of numbers that are not negative. */
static inline gops_test_wide gops_test_quotient(gops_test_wide a, gops_test_wide b)
{
    return a / b;
}
#else
#include <float.h>
#include <math.h>

/* 32-bit processors. Exact up to 2^64, which is more than any number that is accepted; beyond it
 * rounding does not bring a number back below 2^63. */
typedef long double gops_test_wide;
_Static_assert(LDBL_MANT_DIG >= 64, "long double holds the 64-bit numbers");

/* Exact too: the quotient of numbers up to 2^64 is no closer to the next whole number than to be
 * told from it in 64 bits. */
static inline gops_test_wide gops_test_quotient(gops_test_wide a, gops_test_wide b)
{
    return floorl(a / b);
}
#endif

#endif
