/*
 * norm.inc.h: the arithmetic of group normalization.
 *
 * Here it is all in double, whatever the type. Types whose compute type is float do most of their
 * work by norm_floats.inc.h, and come here where floats do not suffice.
 *
 * The variance is never E[x^2] - E[x]^2, which loses all digits where the mean is large beside the
 * spread. Instead the elements of a block of GOPS_NORM_BLOCK are taken relative to a `center` near
 * to them. With d = sum (x - center) / count the mean is center + d, and the sum of the squared
 * distances from the mean is sum (x - center)^2 - count * d^2.
 *
 * The center is the block's first element, so what all elements have in common is gone, however
 * large it is. In the worst case, one outlier among 4096 elements and that one first, count * d^2
 * is 4095 parts in 4096 of the sum, and the difference keeps 53 - 12 bits: more than the 24 of f32
 * and the fewer of the narrower types. For f64 the mean is found in a pass of its own and is the
 * center of the second pass; the block is in the first level cache by then.
 *
 * Blocks are merged as in Chan, Golub and LeVeque ("Updating formulae and a pairwise algorithm for
 * computing sample variances", 1979), by gops_moments_merge: the sums of squares are added, and to
 * them what the distance between the two means contributes. No term is a difference of large
 * numbers.
 *
 * Sums run in GOPS_NORM_LANES independent accumulators, the same number on every machine, in
 * vectors as wide as the machine has.
 *
 * Parameters, from types/each_type.inc.h. Without VALUE, for integers, the file is empty.
 *
 *   T                    type: an element as it is stored
 *   C                    type: the compute type
 *   VALUE(T) -> double   converts an element, exactly
 *   ROUND(double) -> T   rounds once
 *   NAME(symbol)         puts the row's name in front of a symbol
 *   ROUND_IN_BLOCKS      optional: VALUE and ROUND of 16 elements are load_block, and store_block
 *                        after gops_round_to_odd (types/runs.inc.h)
 *   NORM_IN_DOUBLES      optional: floats never suffice
 *
 * What does not depend on the type is in norm.isa.c.
 */

#ifdef VALUE

#include "types/runs.inc.h"

#ifndef NORM_IN_DOUBLES
#include "methods/norm/norm_floats.inc.h"
#endif

#define load_doubles NAME(load_doubles)
#define sum_distances NAME(sum_distances)
#define sum_squares NAME(sum_squares)
#define measure_block NAME(measure_block)
#define norm_measure NAME(norm_measure)
#define apply_to_channel NAME(apply_to_channel)
#define apply_in_two_steps NAME(apply_in_two_steps)
#define apply_to_group NAME(apply_to_group)
#define norm_apply NAME(norm_apply)
#define norm_apply_unrounded NAME(norm_apply_unrounded)
#define load_block NAME(load_block)
#define store_block NAME(store_block)
#define measure_in_floats NAME(measure_in_floats)
#define apply_in_floats NAME(apply_in_floats)

/* Loads GOPS_NORM_LANES elements. */
static inline __attribute__((always_inline)) void load_doubles(const T *from, doubles *to)
{
    double values[GOPS_NORM_LANES];
#ifdef ROUND_IN_BLOCKS
    C loaded[GOPS_NORM_LANES];
    for (int j = 0; j < GOPS_NORM_LANES; j += 16) {
        load_block(loaded + j, from + j, 16);
    }
    for (int j = 0; j < GOPS_NORM_LANES; j++) {
        values[j] = (double)loaded[j];
    }
#else
    for (int j = 0; j < GOPS_NORM_LANES; j++) {
        values[j] = VALUE(from[j]);
    }
#endif
    memcpy(to, values, sizeof values);
}

/* Returns the sum of (x - center). */
static inline double sum_distances(const T *data, int64_t count, double center)
{
    doubles sum[VECTORS] = {{0}}, x[VECTORS];
    int64_t i = 0;
    for (; i + GOPS_NORM_LANES <= count; i += GOPS_NORM_LANES) {
        load_doubles(data + i, x);
        for (int v = 0; v < VECTORS; v++) {
            sum[v] += x[v] - center;
        }
    }
    double rest = 0;
    for (; i < count; i++) {
        rest += VALUE(data[i]) - center;
    }
    return sum_lanes(sum) + rest;
}

/* Returns the sum of (x - center), and stores that of (x - center)^2. */
static double sum_squares(const T *data, int64_t count, double center, double *squares)
{
    doubles sum[VECTORS] = {{0}}, square[VECTORS] = {{0}}, x[VECTORS];
    int64_t i = 0;
    for (; i + GOPS_NORM_LANES <= count; i += GOPS_NORM_LANES) {
        load_doubles(data + i, x);
        for (int v = 0; v < VECTORS; v++) {
            doubles distance = x[v] - center;
            sum[v] += distance;
            square[v] += distance * distance;
        }
    }
    double rest = 0, rest_squares = 0;
    for (; i < count; i++) {
        double distance = VALUE(data[i]) - center;
        rest += distance;
        rest_squares += distance * distance;
    }
    *squares = sum_lanes(square) + rest_squares;
    return sum_lanes(sum) + rest;
}

static gops_moments measure_block(const T *data, int64_t count)
{
    double squares, size = (double)count, center = VALUE(data[0]);
    if (sizeof(T) == sizeof(double)) {
        center += sum_distances(data, count, center) / size;
    }
    double rest = sum_squares(data, count, center, &squares) / size;
    /* Where the squares underflow, the difference is -0 if the compiler makes one operation of it. */
    const double about_mean = squares - size * rest * rest;
    return (gops_moments){size, center, rest, about_mean <= 0 ? 0 : about_mean};
}

static gops_moments norm_measure(const void *data, int64_t count, void *output)
{
    const T *from = data;
    (void)output;
#ifndef NORM_IN_DOUBLES
    gops_moments found;
    if (measure_in_floats(from, count, output, &found)) {
        return found;
    }
#endif
    gops_moments moments = measure_block(from, gops_min(count, GOPS_NORM_BLOCK));
    for (int64_t i = GOPS_NORM_BLOCK; i < count; i += GOPS_NORM_BLOCK) {
        gops_moments block = measure_block(from + i, gops_min(count - i, GOPS_NORM_BLOCK));
        gops_moments_merge(&moments, &block);
    }
    return moments;
}

/* Normalizes `count` elements of one channel. The output may be the data; its elements are of T if
 * `rounds`, else of C. */
static inline __attribute__((always_inline)) void
apply_to_channel(void *output, const T *from, int64_t count, const gops_scaling *scaling,
                 double factor, double bias, const bool clamps, const bool rounds)
{
    const double center = scaling->moments.center, rest = scaling->moments.rest;
    const double least = clamps ? scaling->least : -INFINITY;
    const double most = clamps ? scaling->most : INFINITY;
    int64_t i = 0;
#ifdef ROUND_IN_BLOCKS
    for (; i + 16 <= count; i += 16) {
        C loaded[16], values[16];
        load_block(loaded, from + i, 16);
        for (int j = 0; j < 16; j++) {
            const double value =
                clamp_double(((double)loaded[j] - center - rest) * factor + bias, least, most);
            values[j] = rounds ? gops_round_to_odd(value) : (C)value;
        }
        if (rounds) {
            store_block((T *)output + i, values, 16);
        } else {
            memcpy((C *)output + i, values, sizeof values);
        }
    }
#endif
    for (; i < count; i++) {
        const double value =
            clamp_double((VALUE(from[i]) - center - rest) * factor + bias, least, most);
        if (rounds) {
            ((T *)output)[i] = ROUND(value);
        } else {
            ((C *)output)[i] = (C)value;
        }
    }
}

#ifdef NORM_IN_DOUBLES
/* The same where scale * inverse is none of the normal numbers, though what it makes of the data may be. */
static void apply_in_two_steps(T *output, const T *from, int64_t count, const gops_scaling *scaling,
                               double scale, double bias)
{
    const double center = scaling->moments.center, rest = scaling->moments.rest;
    for (int64_t i = 0; i < count; i++) {
        const double value = (VALUE(from[i]) - center - rest) * scaling->inverse * scale + bias;
        output[i] = clamp_double(value, scaling->least, scaling->most);
    }
}
#endif

/* output = (data - mean) * (scale * inverse) + bias, clamped if `clamps`, for elements first to end - 1 of a group.
 * `output` and `data` point to element `first`. Channels go backwards, for the caches: norm.c. */
static inline __attribute__((always_inline)) void
apply_to_group(void *output, const void *data, int64_t first, int64_t end,
               const gops_scaling *scaling, const bool clamps, const bool rounds)
{
    const int64_t pixels = scaling->pixels;
    const int64_t size = rounds ? sizeof(T) : sizeof(C);
#ifndef NORM_IN_DOUBLES
    split_mean mean;
    const bool suffices = floats_suffice(&scaling->moments, &mean);
#endif
    for (int64_t c = (end - 1) / pixels; c >= first / pixels; c--) {
        const double scale = VALUE(((const T *)scaling->scale)[c]);
        const double factor = scale * scaling->inverse;
        const double bias = VALUE(((const T *)scaling->bias)[c]);
        const int64_t start = gops_max(first, c * pixels);
        const int64_t count = gops_min(end, (c + 1) * pixels) - start;
        void *to = (unsigned char *)output + (start - first) * size;
        const T *from = (const T *)data + (start - first);
#ifdef NORM_IN_DOUBLES
        if (scale != 0 && !(fabs(factor) >= DBL_MIN && fabs(factor) <= DBL_MAX)) {
            apply_in_two_steps(to, from, count, scaling, scale, bias);
            continue;
        }
#else
        if (suffices &&
            apply_in_floats(to, from, count, &mean, factor, bias, scaling, clamps, rounds)) {
            continue;
        }
#endif
        apply_to_channel(to, from, count, scaling, factor, bias, clamps, rounds);
    }
}

static void norm_apply(void *output, const void *data, int64_t first, int64_t end,
                       const gops_scaling *scaling)
{
    if (scaling->least > -INFINITY || scaling->most < INFINITY) {
        apply_to_group(output, data, first, end, scaling, true, true);
    } else {
        apply_to_group(output, data, first, end, scaling, false, true);
    }
    if (scaling->nontemporal) {
        GOPS_NONTEMPORAL_FENCE();
    }
}

static void norm_apply_unrounded(void *output, const void *data, int64_t first, int64_t end,
                                 const gops_scaling *scaling)
{
    apply_to_group(output, data, first, end, scaling, false, false);
}

#endif
