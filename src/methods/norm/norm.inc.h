/* Wants what types/each_type.inc.h has: T, VALUE(T value) -> double, ROUND(double value) -> T,
 * NAME(symbol). May have ROUND_IN_BLOCKS: VALUE and ROUND are load_block (types/runs.inc.h), and
 * store_block after gops_round_to_odd; and NORM_IN_DOUBLES. Nothing where there is no VALUE. */
/*
 * norm.inc.h: the arithmetic of group normalization.
 *
 * All of it in double, whatever the type; types whose compute type is float do most of their work
 * by norm_floats.inc.h and come here with what is not for floats. And never
 * E[x^2] - E[x]^2,
 * which loses all digits where the mean is large beside the spread. For a block of GOPS_NORM_BLOCK
 * elements it is found how far they are from a `center` near to them: d = sum (x - center) / count
 * tells the mean, center + d, and sum (x - center)^2 exceeds the sum of the squared distances from
 * the mean by count * d^2.
 *
 * The center is the block's first element: what the elements have in common is gone, however large
 * it is. In the worst case, one outlier of 4096 and that one first, count * d^2 is 4095 parts in
 * 4096 of the sum, and the difference keeps 53 - 12 bits: more than enough for the 24 of f32 and
 * less of the narrower types. For f64 the mean is found in a pass of its own and is the center of
 * the second one; the block is in the first level cache by then.
 *
 * Blocks are merged as Chan, Golub and LeVeque do ("Updating formulae and a pairwise algorithm for
 * computing sample variances", 1979), gops_moments_merge in moments.h: sums of squares add,
 * and so does what the distance between the two means contributes. Nothing there is a difference of
 * large numbers.
 *
 * Sums run in GOPS_NORM_LANES independent accumulators, the same number on every machine, in
 * vectors as wide as it has.
 */

#ifdef VALUE

#include "types/runs.inc.h"

#ifndef NORM_IN_DOUBLES
#include "methods/norm/norm_floats.inc.h"
#endif

enum {
    NAME(WIDTH) = GOPS_VECTOR_BYTES / sizeof(double),
    NAME(VECTORS) = GOPS_NORM_LANES / NAME(WIDTH)
};

typedef double NAME(doubles) __attribute__((vector_size(GOPS_VECTOR_BYTES)));

/* GOPS_NORM_LANES elements. */
static inline __attribute__((always_inline)) void NAME(norm_load)(const T *from, NAME(doubles) * to)
{
    double values[GOPS_NORM_LANES];
#ifdef ROUND_IN_BLOCKS
    C loaded[GOPS_NORM_LANES];
    for (int j = 0; j < GOPS_NORM_LANES; j += 16) {
        NAME(load_block)(loaded + j, from + j, 16);
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

static double NAME(norm_lanes)(const NAME(doubles) * lanes)
{
    double sum[GOPS_NORM_LANES];
    memcpy(sum, lanes, sizeof sum);
    for (int half = GOPS_NORM_LANES / 2; half > 0; half /= 2) {
        for (int j = 0; j < half; j++) {
            sum[j] += sum[j + half];
        }
    }
    return sum[0];
}

/* The sum of (x - center). */
static inline double NAME(norm_sum)(const T *data, int64_t count, double center)
{
    NAME(doubles) sum[NAME(VECTORS)] = {{0}}, x[NAME(VECTORS)];
    int64_t i = 0;
    for (; i + GOPS_NORM_LANES <= count; i += GOPS_NORM_LANES) {
        NAME(norm_load)(data + i, x);
        for (int v = 0; v < NAME(VECTORS); v++) {
            sum[v] += x[v] - center;
        }
    }
    double rest = 0;
    for (; i < count; i++) {
        rest += VALUE(data[i]) - center;
    }
    return NAME(norm_lanes)(sum) + rest;
}

/* The sums of (x - center), returned, and of its square. */
static double NAME(norm_squares)(const T *data, int64_t count, double center, double *squares)
{
    NAME(doubles) sum[NAME(VECTORS)] = {{0}}, square[NAME(VECTORS)] = {{0}}, x[NAME(VECTORS)];
    int64_t i = 0;
    for (; i + GOPS_NORM_LANES <= count; i += GOPS_NORM_LANES) {
        NAME(norm_load)(data + i, x);
        for (int v = 0; v < NAME(VECTORS); v++) {
            NAME(doubles) distance = x[v] - center;
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
    *squares = NAME(norm_lanes)(square) + rest_squares;
    return NAME(norm_lanes)(sum) + rest;
}

static gops_moments NAME(norm_block)(const T *data, int64_t count)
{
    double squares, size = (double)count, center = VALUE(data[0]);
    if (sizeof(T) == sizeof(double)) {
        center += NAME(norm_sum)(data, count, center) / size;
    }
    double rest = NAME(norm_squares)(data, count, center, &squares) / size;
    return (gops_moments){size, center, rest, squares - size * rest * rest};
}

/* `ahead`: NULL, or where as many elements will be written next, which the caches are asked for. */
static gops_moments NAME(norm_statistics)(const void *data, int64_t count, void *ahead)
{
    const T *from = data;
    (void)ahead;
#ifndef NORM_IN_DOUBLES
    gops_moments quick;
    if (NAME(norm_float_statistics)(from, count, ahead, &quick)) {
        return quick;
    }
#endif
    gops_moments moments = NAME(norm_block)(from, gops_min(count, GOPS_NORM_BLOCK));
    for (int64_t i = GOPS_NORM_BLOCK; i < count; i += GOPS_NORM_BLOCK) {
        gops_moments block = NAME(norm_block)(from + i, gops_min(count - i, GOPS_NORM_BLOCK));
        gops_moments_merge(&moments, &block);
    }
    return moments;
}

/* One channel's run. The output may be the data. */
static inline __attribute__((always_inline)) void
NAME(norm_apply_run)(void *output, const T *from, int64_t count, const gops_moments *moments,
                     double factor, double bias, const int rounds)
{
    const double center = moments->center, rest = moments->rest;
    int64_t i = 0;
#ifdef ROUND_IN_BLOCKS
    for (; i + 16 <= count; i += 16) {
        C loaded[16], values[16];
        NAME(load_block)(loaded, from + i, 16);
        for (int j = 0; j < 16; j++) {
            const double value = ((double)loaded[j] - center - rest) * factor + bias;
            values[j] = rounds ? gops_round_to_odd(value) : (C)value;
        }
        if (rounds) {
            NAME(store_block)((T *)output + i, values, 16);
        } else {
            memcpy((C *)output + i, values, sizeof values);
        }
    }
#endif
    for (; i < count; i++) {
        const double value = (VALUE(from[i]) - center - rest) * factor + bias;
        if (rounds) {
            ((T *)output)[i] = ROUND(value);
        } else {
            ((C *)output)[i] = (C)value;
        }
    }
}

/* output = (data - mean) * (scale * inverse) + bias, for elements first to end - 1 of a group, the
 * first of which are at `output` and `data`. Backwards, see norm.c. */
static inline __attribute__((always_inline)) void NAME(norm_group)(void *output, const void *data,
                                                                   int64_t first, int64_t end,
                                                                   const gops_scaling *scaling,
                                                                   const int rounds)
{
    const int64_t pixels = scaling->pixels;
    const int64_t size = rounds ? sizeof(T) : sizeof(C);
#ifndef NORM_IN_DOUBLES
    NAME(mean) mean;
    const int floats = NAME(norm_floats_serve)(&scaling->moments, &mean);
#endif
    for (int64_t c = (end - 1) / pixels; c >= first / pixels; c--) {
        const double factor = VALUE(((const T *)scaling->scale)[c]) * scaling->inverse;
        const double bias = VALUE(((const T *)scaling->bias)[c]);
        const int64_t start = gops_max(first, c * pixels);
        const int64_t count = gops_min(end, (c + 1) * pixels) - start;
        void *to = (unsigned char *)output + (start - first) * size;
        const T *from = (const T *)data + (start - first);
#ifndef NORM_IN_DOUBLES
        if (floats && NAME(norm_floats_apply)(to, from, count, &mean, factor, bias,
                                              scaling->streams, rounds)) {
            continue;
        }
#endif
        NAME(norm_apply_run)(to, from, count, &scaling->moments, factor, bias, rounds);
    }
}

static void NAME(norm_apply)(void *output, const void *data, int64_t first, int64_t end,
                             const gops_scaling *scaling)
{
    NAME(norm_group)(output, data, first, end, scaling, 1);
    if (scaling->streams) {
        GOPS_STREAMED();
    }
}

static void NAME(norm_keep)(void *output, const void *data, int64_t first, int64_t end,
                            const gops_scaling *scaling)
{
    NAME(norm_group)(output, data, first, end, scaling, 0);
}

#endif
