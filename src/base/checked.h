/* base/checked.h: integer arithmetic: overflow, rounding, the greatest common divisor. */
#ifndef GOPS_BASE_CHECKED_H
#define GOPS_BASE_CHECKED_H

#include <stdbool.h>
#include <stdint.h>

/* Both return false, with any value in *result, if the exact value does not fit. */
static inline bool gops_add(int64_t a, int64_t b, int64_t *result)
{
    return !__builtin_add_overflow(a, b, result);
}

static inline bool gops_mul(int64_t a, int64_t b, int64_t *result)
{
    return !__builtin_mul_overflow(a, b, result);
}

/* Modulo 2^32, where that is meant: clang's checks take any other wrap for an error. */
static inline uint32_t gops_wrapping_add(uint32_t a, uint32_t b)
{
    return (uint32_t)((uint64_t)a + b);
}

static inline uint32_t gops_wrapping_subtract(uint32_t a, uint32_t b)
{
    return (uint32_t)((UINT64_C(1) << 32) + a - b);
}

static inline uint32_t gops_wrapping_multiply(uint32_t a, uint32_t b)
{
    return (uint32_t)((uint64_t)a * b);
}

/* The sum and the product of numbers that are at least 0; INT64_MAX if they are larger. */
static inline int64_t gops_add_saturate(int64_t a, int64_t b)
{
    int64_t result;
    return gops_add(a, b, &result) ? result : INT64_MAX;
}

static inline int64_t gops_mul_saturate(int64_t a, int64_t b)
{
    int64_t result;
    return gops_mul(a, b, &result) ? result : INT64_MAX;
}

static inline int64_t gops_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t gops_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline int64_t gops_clamp(int64_t value, int64_t low, int64_t high)
{
    return gops_max(low, gops_min(value, high));
}

/* a / b rounded up, for b > 0 and any a. */
static inline int64_t gops_ceil_div(int64_t a, int64_t b)
{
    return a / b + (a % b > 0);
}

/* a / b rounded down, for b > 0 and any a. */
static inline int64_t gops_floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* From `begin` to end - 1. */
typedef struct gops_range {
    int64_t begin, end;
} gops_range;

/* Part `i` of 0 to whole - 1 cut into `parts`, which differ by at most 1, the larger ones among the others, so that
 * each run of them has its share. */
static inline gops_range gops_part(int64_t whole, int64_t parts, int64_t i)
{
    const int64_t size = whole / parts, larger = whole % parts;
    return (gops_range){i * size + i * larger / parts, (i + 1) * size + (i + 1) * larger / parts};
}

/* `value` rounded up to a multiple of `step`; the result must fit. */
static inline int64_t gops_round_up(int64_t value, int64_t step)
{
    return gops_ceil_div(value, step) * step;
}

/* The greatest common divisor of a and b, which are at least 0. */
static inline int64_t gops_gcd(int64_t a, int64_t b)
{
    while (b != 0) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

#endif
