/*
 * types/integer_bits.h: the integer in a double as an integer.
 *
 * Processors before AVX-512 cannot convert a vector of doubles to 64-bit integers. The last place
 * of a double between 2^52 and 2^53 is 1, so adding 1.5 * 2^52 leaves the integer in the low bits,
 * down to -2^51 in two's complement. To serve all exact integers, up to 2^53, the value is split at
 * 2^32 first; each step is exact.
 */
#ifndef GOPS_TYPES_INTEGER_BITS_H
#define GOPS_TYPES_INTEGER_BITS_H

#include <stdint.h>
#include <string.h>

/* `value` is an integer of magnitude 2^53 at most; the result is the value modulo 2^64. */
static inline uint64_t gops_integer_bits(double value)
{
    const double shift = 0x1.8p52;
    const double high = (value * 0x1p-32 + shift) - shift;
    const double low_shifted = (value - high * 0x1p32) + shift, high_shifted = high + shift;
    uint64_t low_bits, high_bits, shift_bits;
    memcpy(&low_bits, &low_shifted, sizeof low_bits);
    memcpy(&high_bits, &high_shifted, sizeof high_bits);
    memcpy(&shift_bits, &shift, sizeof shift_bits);
    return (high_bits << 32) + (low_bits - shift_bits);
}

#endif
