/*
 * norm_floats.inc.h: group normalization in floats, where their precision suffices.
 *
 * Reading a tensor from beyond the second level cache takes two cycles for each vector of floats.
 * Moments in double take nine operations for it (norm.inc.h), which is more; these take three or
 * four:
 *
 *     distance = x - center        sum += distance        squares += distance^2
 *
 * The center is within one standard deviation of the mean, so that at most half of the sum of
 * squares is subtracted again. It is the mean of SAMPLES elements from all over the group. A float
 * adds up only CHAIN distances, four such sums are added in float, and the rest is added in double.
 * Together with the rounding of the distance, the sum is off by at most 7 u of the sum of
 * |distance| (u = 2^-24), so the mean by 10 u standard deviations, and the variance by 18 u of
 * itself; in practice both by a tenth of u.
 *
 * The result tells whether these assumptions held: the distance of the center from the mean, and a
 * variance far from where squares of floats overflow or underflow. If not, norm.inc.h does all
 * again in double. NaN and infinities fail these comparisons too.
 *
 * Parameters, from types/each_type.inc.h but the last:
 *
 *   T                    type: an element as it is stored
 *   C                    type: the compute type, float
 *   VALUE(T) -> double   converts an element, exactly
 *   STORE(C) -> T        rounds once
 *   NAME(symbol)         puts the row's name in front of a symbol
 *   load_block, store_block   functions: types/runs.inc.h
 *
 * What does not depend on the type is in norm.isa.c.
 */
#define load_floats NAME(load_floats)
#define store_floats NAME(store_floats)
#define sample_center NAME(sample_center)
#define load_distances NAME(load_distances)
#define add_chain NAME(add_chain)
#define prefetch_outputs NAME(prefetch_outputs)
#define measure_in_floats NAME(measure_in_floats)
#define normalize_floats NAME(normalize_floats)
#define normalize_channel NAME(normalize_channel)
#define apply_in_floats NAME(apply_in_floats)
#define load_block NAME(load_block)
#define store_block NAME(store_block)

/* Loads 16 elements, a vector at a time: gcc copies arrays by 16 bytes, and the processor cannot
 * forward such stores to a wider load. */
static inline __attribute__((always_inline)) void load_floats(const T *from, floats *to)
{
    float loaded[16];
    if (sizeof(T) != sizeof(float)) {
        load_block(loaded, from, 16);
    }
    for (int v = 0; v < VECTORS_OF_16; v++) {
        const void *part = loaded + v * FLOATS;
        memcpy(to + v, sizeof(T) == sizeof(float) ? from + v * FLOATS : part, sizeof *to);
    }
}

/* Stores output elements i to i + 15, as T if `rounds`, else as floats. */
static inline __attribute__((always_inline)) void
store_floats(void *output, int64_t i, const floats *from, const bool rounds)
{
    const bool converts = rounds && sizeof(T) != sizeof(float);
    float values[16], *const to = converts ? values : (float *)output + i;
    for (int v = 0; v < VECTORS_OF_16; v++) {
        memcpy(to + v * FLOATS, from + v, sizeof *from);
    }
    if (converts) {
        store_block((T *)output + i, values, 16);
    }
}

/* An estimate of the mean from SAMPLES elements. */
static float sample_center(const T *data, int64_t count)
{
    long_sum sum = {{0}, {0}};
    for (int64_t place = 0; place < PLACES; place++) {
        floats x[VECTORS_OF_16];
        load_floats(data + (count - 16) * place / (PLACES - 1), x);
        for (int v = 0; v < VECTORS_OF_16; v++) {
            add_floats(&sum, x[v]);
        }
    }
    return (float)(total_of(&sum) / SAMPLES);
}

/* The distances of STEP elements from the center. */
static inline __attribute__((always_inline)) void load_distances(const T *from, floats center,
                                                                 floats *to)
{
    for (int i = 0; i < SUMS; i += VECTORS_OF_16) {
        load_floats(from + i * FLOATS, to + i);
    }
    for (int i = 0; i < SUMS; i++) {
        to[i] -= center;
    }
}

/* Adds CHAIN * STEP elements to both sums. */
static inline __attribute__((always_inline)) void add_chain(const T *from, floats center,
                                                            long_sum *sum, long_sum *squares)
{
    floats distance[SUMS], s[SUMS], q[SUMS];
    load_distances(from, center, distance);
    for (int i = 0; i < SUMS; i++) {
        s[i] = distance[i];
        q[i] = distance[i] * distance[i];
    }
    for (int step = 1; step < CHAIN; step++) {
        load_distances(from + step * STEP, center, distance);
        for (int i = 0; i < SUMS; i++) {
            s[i] += distance[i];
            q[i] += distance[i] * distance[i];
        }
    }
    add_floats(sum, (s[0] + s[1]) + (s[2] + s[3]));
    add_floats(squares, (q[0] + q[1]) + (q[2] + q[3]));
}

/* Prefetches the lines of CHAIN * STEP outputs. */
static inline __attribute__((always_inline)) void prefetch_outputs(T *to)
{
    for (size_t i = 0; i < CHAIN * STEP; i += GOPS_CACHE_LINE / sizeof(T)) {
        __builtin_prefetch(to + i, 1, 2);
    }
}

/* Whether floats suffice for the moments. */
static bool measure_in_floats(const T *data, int64_t count, T *output, gops_moments *moments)
{
    if (count < 2 * SAMPLES) {
        return false;
    }
    const float center = sample_center(data, count);
    const floats centers = (floats){0} + center;
    long_sum sum = {{0}, {0}}, squares = {{0}, {0}};
    int64_t i = 0;
    for (; i + CHAIN * STEP <= count; i += CHAIN * STEP) {
        if (output != NULL) {
            prefetch_outputs(output + i);
        }
        add_chain(data + i, centers, &sum, &squares);
    }
    for (; i + 16 <= count; i += 16) {
        floats x[VECTORS_OF_16];
        load_floats(data + i, x);
        for (int v = 0; v < VECTORS_OF_16; v++) {
            x[v] -= centers;
            add_floats(&sum, x[v]);
            add_floats(&squares, x[v] * x[v]);
        }
    }
    double total = total_of(&sum), total_squares = total_of(&squares);
    for (; i < count; i++) {
        const double distance = VALUE(data[i]) - (double)center;
        total += distance;
        total_squares += distance * distance;
    }
    const double size = (double)count, rest = total / size;
    *moments = (gops_moments){size, (double)center, rest, total_squares - size * rest * rest};
    const double variance = moments->squares / size;
    return variance > 0x1p-80 && variance < 0x1p80 && rest * rest <= variance;
}

/* Normalizes 16 elements. */
static inline __attribute__((always_inline)) void
normalize_floats(const T *from, const normalizing *by, const bool clamps, floats *to)
{
    load_floats(from, to);
    for (int v = 0; v < VECTORS_OF_16; v++) {
        to[v] = (to[v] - by->high) * by->slope + by->shift;
        if (clamps) {
            to[v] = floats_clamp(to[v], by->least, by->most);
        }
    }
}

/* Normalizes at least 16 elements of one channel. Those after the last whole block of 16 are part of a
 * block that ends with the last element. It is computed first and stored last: the output may be the
 * data. */
static inline __attribute__((always_inline)) void
normalize_channel(void *output, const T *from, int64_t count, const normalizing *by,
                  const bool clamps, const bool rounds)
{
    floats last[VECTORS_OF_16], values[VECTORS_OF_16];
    if (by->nontemporal && sizeof(T) == sizeof(float) && rounds && count % 16 == 0 &&
        (uintptr_t)output % GOPS_VECTOR_BYTES == 0) {
        for (int64_t i = 0; i < count; i += 16) {
            normalize_floats(from + i, by, clamps, values);
            for (int v = 0; v < VECTORS_OF_16; v++) {
                GOPS_STORE_NONTEMPORAL((float *)output + i + v * FLOATS, values[v]);
            }
        }
        return;
    }
    normalize_floats(from + count - 16, by, clamps, last);
    for (int64_t i = 0; i + 16 <= count; i += 16) {
        normalize_floats(from + i, by, clamps, values);
        store_floats(output, i, values, rounds);
    }
    if (count % 16 != 0) {
        store_floats(output, count - 16, last, rounds);
    }
}

/* Normalizes `count` elements of one channel; false, with nothing done, where floats do not suffice
 * for its factor and bias. */
static inline __attribute__((always_inline)) bool
apply_in_floats(void *output, const T *from, int64_t count, const split_mean *mean, double factor,
                double bias, const gops_scaling *scaling, const bool clamps, const bool rounds)
{
    const double size = fabs(factor);
    if (!(size > 0x1p-60 && size < 0x1p60 && fabs(bias) < 0x1p100)) {
        return false;
    }
    const float slope = (float)factor, shift = (float)(bias - mean->low * factor);
    if (count < 16) {
        for (int64_t i = 0; i < count; i++) {
            float value = ((float)VALUE(from[i]) - mean->high) * slope + shift;
            if (clamps) {
                value = (float)clamp_double((double)value, scaling->least, scaling->most);
            }
            if (rounds) {
                ((T *)output)[i] = STORE(value);
            } else {
                ((float *)output)[i] = value;
            }
        }
        return true;
    }
    const floats none = {0};
    const normalizing by = {
        .high = none + mean->high,
        .slope = none + slope,
        .shift = shift - none, /* keeps the sign of a 0 */
        .least = none + (float)scaling->least,
        .most = none + (float)scaling->most,
        .nontemporal = scaling->nontemporal,
    };
    normalize_channel(output, from, count, &by, clamps, rounds);
    return true;
}
