/*
 * types/small_float.h: converts floating point formats below 32 bits, in integer arithmetic.
 *
 * A small format has M mantissa bits and the exponent bias B. Its finite codes without the sign are
 * in the order of their values. A code's value is that of the float with the bits
 * (code << (23 - M)) + ((127 - B) << 23), or code * 2^(1 - B - M) if its exponent field is 0.
 *
 * Loading is exact: it shifts and rebiases, or converts the integer and scales it. It must not pass
 * through a float denormal, which a caller's flush-to-zero mode would lose.
 *
 * Storing rounds once, to nearest even. For a normal result, it adds just under half of the last
 * place that is kept, and one more if that place is odd; a carry runs into the exponent as it
 * should. For a result below the smallest normal, it adds 2^(24 - B - M), whose last place is the
 * small format's least step, so that the addition rounds. Overflow gives a code above the largest
 * finite one, which is replaced by `top`: infinity, NaN, or the largest finite code (saturation).
 *
 * All of it is a handful of integer operations and selects, which compilers vectorise. F16C's
 * instructions give the same bits (f16c.h). AVX512-BF16's VCVTNEPS2BF16 flushes denormals to zero
 * and is not used.
 */
#ifndef GOPS_TYPES_SMALL_FLOAT_H
#define GOPS_TYPES_SMALL_FLOAT_H

#include "isa/vector.h"

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

/* One value: gops_f16_load and so on. */
#define BITS uint32_t
#define FLOAT float
#define SELECT(condition, a, b) ((condition) ? (a) : (b))
#define BITS_OF gops_bits_of
#define FLOAT_OF gops_float_of
#define TO_FLOAT(bits) (float)(int32_t)(bits)
#define SMALL(symbol) gops_##symbol
#include "types/small_float.inc.h"

/* A register full: gops_lanes_f16_load and so on. */
typedef uint32_t gops_lanes_bits __attribute__((vector_size(GOPS_VECTOR_BYTES)));
typedef int32_t gops_lanes_integers __attribute__((vector_size(GOPS_VECTOR_BYTES)));
typedef float gops_lanes_floats __attribute__((vector_size(GOPS_VECTOR_BYTES)));
#define BITS gops_lanes_bits
#define FLOAT gops_lanes_floats
#define SELECT GOPS_SELECT
#define BITS_OF (gops_lanes_bits)
#define FLOAT_OF (gops_lanes_floats)
#define TO_FLOAT(bits) __builtin_convertvector((gops_lanes_integers)(bits), gops_lanes_floats)
#define SMALL(symbol) gops_lanes_##symbol
#include "types/small_float.inc.h"

/* Converts 16 codes or values by registers, with lanes_of; fewer one at a time, with `one`. */
#define GOPS_SMALL_BLOCK(To, From, lanes_of, one, to, from, length)                                \
    if (length == 16) {                                                                            \
        for (size_t i = 0; i < 16; i += GOPS_VECTOR_BYTES / sizeof(uint32_t)) {                    \
            From taken;                                                                            \
            memcpy(&taken, (from) + i, sizeof taken);                                              \
            const To given = lanes_of(taken);                                                      \
            memcpy((to) + i, &given, sizeof given);                                                \
        }                                                                                          \
    } else {                                                                                       \
        for (int i = 0; i < length; i++) {                                                         \
            (to)[i] = one((from)[i]);                                                              \
        }                                                                                          \
    }

/* Truncates a double to a float and sets the last bit if anything was cut off: rounding to odd.
 * Rounding the result to a format with at least two bits less gives what rounding the double would.
 * Values below the normal floats may become 0. */
static inline float gops_round_to_odd(double value)
{
    const float nearest = (float)value;
    const double back = (double)nearest;
    const double magnitude = back < 0 ? -back : back, exact = value < 0 ? -value : value;
    const uint32_t bits = gops_bits_of(nearest);
    const uint32_t cut = magnitude > exact ? bits - 1 : bits;
    return gops_float_of(magnitude == exact || value != value ? bits : cut | 1);
}

/* The denormals of bf16 are denormals of float too, which a caller's flush-to-zero mode would lose
 * on the way through a float. They are multiples of 2^-133, the last place of 2^-81: adding 2^-81
 * rounds to a multiple and leaves it in the low bits. */
static inline uint16_t gops_bf16_round(double value)
{
    const double step = 0x1p-81, magnitude = value < 0 ? -value : value;
    const double moved = magnitude + step;
    uint64_t bits, moved_bits;
    memcpy(&bits, &value, sizeof bits);
    memcpy(&moved_bits, &moved, sizeof moved_bits);
    const uint16_t tiny = (uint16_t)((moved_bits & 0xff) | (bits >> 48 & 0x8000));
    const uint16_t normal = (uint16_t)gops_bf16_store(gops_round_to_odd(value));
    return magnitude < 0x1p-126 ? tiny : normal;
}

#endif
