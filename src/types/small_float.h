/*
 * types/small_float.h: the floating point formats below 32 bits, converted in integer arithmetic.
 *
 * A small format has M mantissa bits and exponent bias B. Its finite codes, sign aside, are in the
 * order of their values, and a code's value is that of the float bits (code << (23 - M)) + (127 - B
 * << 23) where its exponent field is not 0, and code * 2^(1 - B - M) where it is.
 *
 * Loading is exact: shift and rebias, or convert the integer and scale. It must not pass through a
 * float denormal, which a caller's flush-to-zero mode would lose.
 *
 * Storing rounds to nearest even once. For a normal result the bits to drop are rounded by adding
 * just under half of the last kept place, and one more when that place is odd; a carry runs into
 * the exponent as it should. For a result below the smallest normal, adding C = 2^(24 - B - M),
 * whose last place is the small format's least step, lets the addition round. Overflow shows as a
 * code above the largest finite one and is cut to `top`: infinity, NaN, or the largest finite code
 * (saturation).
 *
 * All of it is a handful of integer operations and selects, which compilers vectorise. F16C's
 * conversions give the same bits and are used where they are built in (type_rows.c). AVX512-BF16's
 * VCVTNEPS2BF16 does not, it flushes denormals to zero, and so it is not used.
 */
#ifndef GOPS_TYPES_SMALL_FLOAT_H
#define GOPS_TYPES_SMALL_FLOAT_H

#include <stdint.h>
#include <string.h>

static inline uint32_t gops_bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float gops_float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The float 2^exponent, for exponents of normal floats. */
static inline float gops_power_of_two(int exponent)
{
    return gops_float_of((uint32_t)(exponent + 127) << 23);
}

/* The value of a finite code without its sign, below `special`; from there on infinity or NaN with
 * the code's mantissa. */
static inline float gops_small_load(uint32_t code, int mantissa, int bias, uint32_t special)
{
    const uint32_t shifted = code << (23 - mantissa);
    const uint32_t normal = shifted + ((uint32_t)(127 - bias) << 23);
    const uint32_t beyond = shifted | 0x7f800000;
    const float tiny = (float)(int32_t)code * gops_power_of_two(1 - bias - mantissa);
    const uint32_t finite = code >> mantissa != 0 ? normal : gops_bits_of(tiny);
    return gops_float_of(code >= special ? beyond : finite);
}

/* The code nearest to a float's magnitude, at most `top`; `nan` for NaN. */
static inline uint32_t gops_small_store(uint32_t magnitude, int mantissa, int bias, uint32_t top,
                                        uint32_t nan)
{
    const int drop = 23 - mantissa;
    const uint32_t rebiased = magnitude - ((uint32_t)(127 - bias) << 23);
    const uint32_t half = ((uint32_t)1 << (drop - 1)) - 1 + (rebiased >> drop & 1);
    const float step = gops_power_of_two(24 - bias - mantissa);
    const uint32_t tiny = gops_bits_of(gops_float_of(magnitude) + step) - gops_bits_of(step);
    const uint32_t normal = (rebiased + half) >> drop;
    const uint32_t code = magnitude < (uint32_t)(128 - bias) << 23 ? tiny : normal;
    const uint32_t finite = code < top ? code : top;
    return magnitude > 0x7f800000 ? nan : finite;
}

static inline float gops_with_sign(float magnitude, uint32_t sign)
{
    return gops_float_of(gops_bits_of(magnitude) | sign);
}

/* A NaN comes out quiet, as the processor's conversions make it. */
static inline float gops_f16_load(uint32_t code)
{
    const uint32_t quiet = (code & 0x7fff) > 0x7c00 ? 0x200 : 0;
    return gops_with_sign(gops_small_load((code & 0x7fff) | quiet, 10, 15, 0x7c00), (code & 0x8000)
                                                                                        << 16);
}

static inline uint16_t gops_f16_store(float value)
{
    const uint32_t bits = gops_bits_of(value), magnitude = bits & 0x7fffffff;
    const uint32_t nan = 0x7e00 | (magnitude >> 13 & 0x3ff);
    return (uint16_t)(gops_small_store(magnitude, 10, 15, 0x7c00, nan) | (bits >> 16 & 0x8000));
}

static inline float gops_bf16_load(uint16_t code)
{
    return gops_float_of((uint32_t)code << 16);
}

static inline uint16_t gops_bf16_store(float value)
{
    const uint32_t bits = gops_bits_of(value);
    const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    const uint32_t nan = bits >> 16 | 0x40;
    return (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? nan : rounded);
}

/* No infinities; S.1111.111 is NaN, all else is finite. */
static inline float gops_f8e4m3_load(uint32_t code)
{
    const uint32_t magnitude = code & 0x7f;
    const float value = gops_small_load(magnitude, 3, 7, 0x80);
    const uint32_t bits = magnitude == 0x7f ? 0x7fc00000 : gops_bits_of(value);
    return gops_float_of(bits | (code & 0x80) << 24);
}

static inline uint8_t gops_f8e4m3_store_to(float value, uint32_t top)
{
    const uint32_t bits = gops_bits_of(value);
    return (uint8_t)(gops_small_store(bits & 0x7fffffff, 3, 7, top, 0x7f) | (bits >> 24 & 0x80));
}

/* The OCP specification's non-saturating mode: beyond 448, infinities too, NaN. */
static inline uint8_t gops_f8e4m3_store(float value)
{
    return gops_f8e4m3_store_to(value, 0x7f);
}

/* Its saturating mode: beyond 448, infinities too, 448. */
static inline uint8_t gops_f8e4m3_saturate(float value)
{
    return gops_f8e4m3_store_to(value, 0x7e);
}

/* The upper half of an f16. */
static inline float gops_f8e5m2_load(uint32_t code)
{
    return gops_f16_load(code << 8);
}

static inline uint8_t gops_f8e5m2_store_to(float value, uint32_t top)
{
    const uint32_t bits = gops_bits_of(value), magnitude = bits & 0x7fffffff;
    const uint32_t nan = 0x7e | (magnitude >> 21 & 1);
    return (uint8_t)(gops_small_store(magnitude, 2, 15, top, nan) | (bits >> 24 & 0x80));
}

/* Non-saturating: beyond 57344, infinity. */
static inline uint8_t gops_f8e5m2_store(float value)
{
    return gops_f8e5m2_store_to(value, 0x7c);
}

/* Saturating: beyond 57344, infinities too, 57344. */
static inline uint8_t gops_f8e5m2_saturate(float value)
{
    return gops_f8e5m2_store_to(value, 0x7b);
}

/* A double as the float to round further from: cut off toward 0, and with its last bit set when
 * anything was cut. Rounding that to a format with at least two bits less is rounding the double.
 * What is below the normal floats may become 0. */
static inline float gops_round_to_odd(double value)
{
    const float nearest = (float)value;
    const double back = (double)nearest;
    const double magnitude = back < 0 ? -back : back, exact = value < 0 ? -value : value;
    const uint32_t bits = gops_bits_of(nearest);
    const uint32_t cut = magnitude > exact ? bits - 1 : bits;
    return gops_float_of(magnitude == exact || value != value ? bits : cut | 1);
}

/* bf16 has float's denormals, which a caller's flush-to-zero mode would lose on the way through a
 * float. They are multiples of 2^-133: adding 2^-81, whose last place that is, rounds to one and
 * leaves it in the low bits. */
static inline uint16_t gops_bf16_round(double value)
{
    const double step = 0x1p-81, magnitude = value < 0 ? -value : value;
    const double moved = magnitude + step;
    uint64_t bits, moved_bits;
    memcpy(&bits, &value, sizeof bits);
    memcpy(&moved_bits, &moved, sizeof moved_bits);
    const uint16_t tiny = (uint16_t)((moved_bits & 0xff) | (bits >> 48 & 0x8000));
    const uint16_t normal = gops_bf16_store(gops_round_to_odd(value));
    return magnitude < 0x1p-126 ? tiny : normal;
}

#endif
