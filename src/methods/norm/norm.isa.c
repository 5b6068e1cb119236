/* norm.isa.c: norm.inc.h for each floating point type, and what does not depend on the type. */
#include "methods/norm/norm.h"

#include "base/checked.h"
#include "base/machine.h"
#include "isa/lanes.h"
#include "isa/vector.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* floats_clamp */
#define C float
#define LANES LANES_OF_4
#define NAME(symbol) floats_##symbol
#include "isa/vectors.inc.h"
#include "post_ops/epilogue.inc.h"
#undef vector
#undef broadcast
#undef C
#undef LANES
#undef NAME

typedef float floats __attribute__((vector_size(GOPS_VECTOR_BYTES)));
typedef float half_floats __attribute__((vector_size(GOPS_VECTOR_BYTES / 2)));
typedef double doubles __attribute__((vector_size(GOPS_VECTOR_BYTES)));

/* In double, norm.inc.h. */
enum {
    GOPS_NORM_LANES = 32, /* four AVX-512 vectors of double: enough chains to hide the additions */
    GOPS_NORM_BLOCK = 4096, /* of f64 elements fill the smallest first level cache */
    VECTORS = GOPS_NORM_LANES * sizeof(double) / GOPS_VECTOR_BYTES,
};

/* In float, norm_floats.inc.h. */
enum {
    FLOATS = GOPS_VECTOR_BYTES / sizeof(float),
    VECTORS_OF_16 = 16 / FLOATS, /* vectors of 16 elements */
    SUMS = 4,                    /* hides the latency of an addition */
    STEP = SUMS * FLOATS,
    CHAIN = 4,
    PLACES = 8,
    SAMPLES = 16 * PLACES,
};

/* The sum of GOPS_NORM_LANES accumulators, by halves. */
static double sum_lanes(const doubles *lanes)
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

/* As floats_clamp: NaN stays NaN, and zeros keep their signs. */
static inline double clamp_double(double x, double least, double most)
{
    x = x < least ? least : x;
    return x > most ? most : x;
}

/* A vector of sums in double: of the lower and of the upper half of vectors of floats. */
typedef struct long_sum {
    doubles low, high;
} long_sum;

static inline __attribute__((always_inline)) doubles widen_half(half_floats x)
{
#ifdef __AVX512F__
    /* gcc 12 compiles __builtin_convertvector to two conversions and an insertion. */
    return (doubles)_mm512_cvtps_pd((__m256)x);
#else
    return __builtin_convertvector(x, doubles);
#endif
}

static inline __attribute__((always_inline)) void add_floats(long_sum *sum, floats x)
{
    half_floats halves[2];
    memcpy(halves, &x, sizeof halves);
    sum->low += widen_half(halves[0]);
    sum->high += widen_half(halves[1]);
}

static inline double total_of(const long_sum *sum)
{
    const doubles both = sum->low + sum->high;
    double total = 0;
    for (size_t j = 0; j < GOPS_VECTOR_BYTES / sizeof(double); j++) {
        total += both[j];
    }
    return total;
}

/* The mean as high + low. x - high is exact wherever much cancels (Sterbenz, 1974), so the
 * difference is off by at most a unit in its own last place, however large the mean is. `low` is
 * added with the bias. */
typedef struct split_mean {
    float high;
    double low;
} split_mean;

/* What makes outputs of the elements of a channel: (x - high) * slope + shift, clamped. */
typedef struct normalizing {
    floats high, slope, shift, least, most;
    bool nontemporal;
} normalizing;

/* Whether floats suffice for the values: nothing is near the ends of their range. Sets *mean. */
static bool floats_suffice(const gops_moments *moments, split_mean *mean)
{
    const double whole = moments->center + moments->rest;
    const double variance = moments->squares / moments->count;
    mean->high = (float)whole;
    mean->low = (moments->center - (double)mean->high) + moments->rest;
    return variance > 0x1p-120 && variance < 0x1p200 && fabs(whole) < 0x1p100;
}

/* The templates leave their names defined, which are the same for each type. */
#define EACH_TYPE "methods/norm/norm.inc.h"
#include "types/each_type.inc.h"

#define MEASURE(name, ...) [GOPS_ROW_##name] = name##_norm_measure,
#define APPLY(name, ...) [GOPS_ROW_##name] = name##_norm_apply,
#define APPLY_UNROUNDED(name, ...) [GOPS_ROW_##name] = name##_norm_apply_unrounded,
const struct gops_norm_kernels GOPS_ISA_NAME(gops_norm_kernels) = {
    .measure = {GOPS_FLOAT_ROWS(MEASURE)},
    .apply = {GOPS_FLOAT_ROWS(APPLY)},
    .apply_unrounded = {GOPS_FLOAT_ROWS(APPLY_UNROUNDED)},
};
