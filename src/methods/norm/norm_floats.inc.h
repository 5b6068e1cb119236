/* Wants T, C (float), VALUE(T value) -> double, STORE(C value) -> T, load_block and store_block
 * (types/runs.inc.h), NAME(symbol). */
/*
 * norm_floats.inc.h: group normalization in floats, where they are good enough.
 *
 * Reading a tensor from beyond the second level cache takes two cycles a vector of floats.
 * Moments in double take nine operations for one (norm.inc.h), which is more; these take
 * three or four:
 *
 *     distance = x - center        sum += distance        squares += distance^2
 *
 * with a center within one standard deviation of the mean, so that at most half of the sum of
 * squares is taken off again. It is the mean of NAME(SAMPLES) elements from all over the group.
 * Only NAME(CHAIN) distances are added up in a float, and four such sums to one; from there on
 * it is doubles. Together with the rounding of the distance, the sum is off by at most 7 u of the
 * sum of |distance| (u = 2^-24), so the mean by 10 u standard deviations, and the variance by 18 u
 * of itself; in practice both by a tenth of u.
 *
 * What comes out says whether that was so: the center's distance from the mean, and a variance that
 * is far from where squares of floats overflow or vanish. If not, all is done again in doubles.
 * NaN and infinities fail these comparisons too.
 */
enum {
    NAME(FLOATS) = GOPS_VECTOR_BYTES / sizeof(float),
    NAME(PARTS) = 16 / NAME(FLOATS), /* vectors of a block of 16 */
    NAME(SUMS) = 4,                  /* hides the latency of an addition */
    NAME(STEP) = NAME(SUMS) * NAME(FLOATS),
    NAME(CHAIN) = 4,
    NAME(PLACES) = 8,
    NAME(SAMPLES) = 16 * NAME(PLACES),
};

typedef float NAME(floats) __attribute__((vector_size(GOPS_VECTOR_BYTES)));
typedef float NAME(half) __attribute__((vector_size(GOPS_VECTOR_BYTES / 2)));
typedef double NAME(wide) __attribute__((vector_size(GOPS_VECTOR_BYTES)));

/* Sums over vectors, in doubles: of the lower and the upper half of each. */
typedef struct NAME(long_sum) {
    NAME(wide) low, high;
} NAME(long_sum);

/* A vector at a time: gcc copies arrays in pieces of 16 bytes, which the processor cannot forward
 * to a load of more. */
static inline __attribute__((always_inline)) void NAME(norm_load_floats)(const T *from,
                                                                         NAME(floats) * to)
{
    float loaded[16];
    if (sizeof(T) != sizeof(float)) {
        NAME(load_block)(loaded, from, 16);
    }
    for (int v = 0; v < NAME(PARTS); v++) {
        const void *part = loaded + v * NAME(FLOATS);
        memcpy(to + v, sizeof(T) == sizeof(float) ? from + v * NAME(FLOATS) : part, sizeof *to);
    }
}

/* To output elements i to i + 15, which are of T or not rounded yet (norm.inc.h). */
static inline __attribute__((always_inline)) void
NAME(norm_store_floats)(void *output, int64_t i, const NAME(floats) * from, const int rounds)
{
    const int converts = rounds && sizeof(T) != sizeof(float);
    float values[16], *const to = converts ? values : (float *)output + i;
    for (int v = 0; v < NAME(PARTS); v++) {
        memcpy(to + v * NAME(FLOATS), from + v, sizeof *from);
    }
    if (converts) {
        NAME(store_block)((T *)output + i, values, 16);
    }
}

static inline __attribute__((always_inline)) NAME(wide) NAME(norm_widen)(NAME(half) x)
{
#ifdef __AVX512F__
    return (NAME(wide))_mm512_cvtps_pd((__m256)x); /* of which gcc 12 makes two and an insertion */
#else
    return __builtin_convertvector(x, NAME(wide));
#endif
}

static inline __attribute__((always_inline)) void NAME(norm_add)(NAME(long_sum) * sum,
                                                                 NAME(floats) x)
{
    NAME(half) halves[2];
    memcpy(halves, &x, sizeof halves);
    sum->low += NAME(norm_widen)(halves[0]);
    sum->high += NAME(norm_widen)(halves[1]);
}

static inline double NAME(norm_total)(const NAME(long_sum) * sum)
{
    const NAME(wide) both = sum->low + sum->high;
    double total = 0;
    for (size_t j = 0; j < GOPS_VECTOR_BYTES / sizeof(double); j++) {
        total += both[j];
    }
    return total;
}

/* Near the mean, where a few elements tell. */
static float NAME(norm_center)(const T *data, int64_t count)
{
    NAME(long_sum) sum = {{0}, {0}};
    for (int64_t place = 0; place < NAME(PLACES); place++) {
        NAME(floats) x[NAME(PARTS)];
        NAME(norm_load_floats)(data + (count - 16) * place / (NAME(PLACES) - 1), x);
        for (int v = 0; v < NAME(PARTS); v++) {
            NAME(norm_add)(&sum, x[v]);
        }
    }
    return (float)(NAME(norm_total)(&sum) / NAME(SAMPLES));
}

/* NAME(STEP) elements' distances from the center. */
static inline __attribute__((always_inline)) void
NAME(norm_distances)(const T *from, NAME(floats) center, NAME(floats) * to)
{
    for (int i = 0; i < NAME(SUMS); i += NAME(PARTS)) {
        NAME(norm_load_floats)(from + i * NAME(FLOATS), to + i);
    }
    for (int i = 0; i < NAME(SUMS); i++) {
        to[i] -= center;
    }
}

/* NAME(CHAIN) steps. */
static inline __attribute__((always_inline)) void
NAME(norm_chain)(const T *from, NAME(floats) center, NAME(long_sum) * sum, NAME(long_sum) * squares)
{
    NAME(floats) distance[NAME(SUMS)], s[NAME(SUMS)], q[NAME(SUMS)];
    NAME(norm_distances)(from, center, distance);
    for (int i = 0; i < NAME(SUMS); i++) {
        s[i] = distance[i];
        q[i] = distance[i] * distance[i];
    }
    for (int step = 1; step < NAME(CHAIN); step++) {
        NAME(norm_distances)(from + step * NAME(STEP), center, distance);
        for (int i = 0; i < NAME(SUMS); i++) {
            s[i] += distance[i];
            q[i] += distance[i] * distance[i];
        }
    }
    NAME(norm_add)(sum, (s[0] + s[1]) + (s[2] + s[3]));
    NAME(norm_add)(squares, (q[0] + q[1]) + (q[2] + q[3]));
}

/* Asks for the lines that NAME(CHAIN) steps will be written to. */
static inline __attribute__((always_inline)) void NAME(norm_ask)(T *to)
{
    enum { CACHE_LINE = 64 };
    for (size_t i = 0; i < NAME(CHAIN) * NAME(STEP); i += CACHE_LINE / sizeof(T)) {
        __builtin_prefetch(to + i, 1, 2);
    }
}

/* Whether the moments could be found in floats. */
static int NAME(norm_float_statistics)(const T *data, int64_t count, T *ahead,
                                       gops_moments *moments)
{
    if (count < 2 * NAME(SAMPLES)) {
        return 0;
    }
    const float middle = NAME(norm_center)(data, count);
    const NAME(floats) center = (NAME(floats)){0} + middle;
    NAME(long_sum) sum = {{0}, {0}}, squares = {{0}, {0}};
    int64_t i = 0;
    for (; i + NAME(CHAIN) * NAME(STEP) <= count; i += NAME(CHAIN) * NAME(STEP)) {
        if (ahead != NULL) {
            NAME(norm_ask)(ahead + i);
        }
        NAME(norm_chain)(data + i, center, &sum, &squares);
    }
    for (; i + 16 <= count; i += 16) {
        NAME(floats) x[NAME(PARTS)];
        NAME(norm_load_floats)(data + i, x);
        for (int v = 0; v < NAME(PARTS); v++) {
            x[v] -= center;
            NAME(norm_add)(&sum, x[v]);
            NAME(norm_add)(&squares, x[v] * x[v]);
        }
    }
    double distances = NAME(norm_total)(&sum), all = NAME(norm_total)(&squares);
    for (; i < count; i++) {
        const double distance = VALUE(data[i]) - (double)middle;
        distances += distance;
        all += distance * distance;
    }
    const double size = (double)count, rest = distances / size;
    *moments = (gops_moments){size, (double)middle, rest, all - size * rest * rest};
    const double variance = moments->squares / size;
    return variance > 0x1p-80 && variance < 0x1p80 && rest * rest <= variance;
}

/* The mean as two floats: x - high is exact wherever much cancels (Sterbenz, 1974), so that what is
 * left is off by a unit in its own last place, however large the mean is. `low`, beyond, goes with
 * the bias. */
typedef struct NAME(mean) {
    float high;
    double low;
} NAME(mean);

/* Whether the values can be found in floats too: nothing is near the ends of their range. */
static int NAME(norm_floats_serve)(const gops_moments *moments, NAME(mean) * mean)
{
    const double whole = moments->center + moments->rest;
    const double variance = moments->squares / moments->count;
    mean->high = (float)whole;
    mean->low = (moments->center - (double)mean->high) + moments->rest;
    return variance > 0x1p-120 && variance < 0x1p200 && fabs(whole) < 0x1p100;
}

static inline __attribute__((always_inline)) void
NAME(norm_values)(const T *from, NAME(floats) high, NAME(floats) slope, NAME(floats) shift,
                  NAME(floats) * to)
{
    NAME(norm_load_floats)(from, to);
    for (int v = 0; v < NAME(PARTS); v++) {
        to[v] = (to[v] - high) * slope + shift;
    }
}

/* One channel's run; whether floats serve for its factor and bias. What is beyond the last whole
 * block is found first and stored last, in a block that ends with the run: the output may be the
 * data. */
static inline __attribute__((always_inline)) int
NAME(norm_floats_apply)(void *output, const T *from, int64_t count, const NAME(mean) * mean,
                        double factor, double bias, int streams, const int rounds)
{
    const double size = fabs(factor);
    if (!(size > 0x1p-60 && size < 0x1p60 && fabs(bias) < 0x1p100)) {
        return 0;
    }
    const float slope = (float)factor, shift = (float)(bias - mean->low * factor);
    if (count < 16) {
        for (int64_t i = 0; i < count; i++) {
            const float value = ((float)VALUE(from[i]) - mean->high) * slope + shift;
            if (rounds) {
                ((T *)output)[i] = STORE(value);
            } else {
                ((float *)output)[i] = value;
            }
        }
        return 1;
    }
    const NAME(floats) none = {0}, high = none + mean->high, slopes = none + slope,
                       shifts = none + shift;
    NAME(floats) last[NAME(PARTS)], values[NAME(PARTS)];
    if (streams && sizeof(T) == sizeof(float) && rounds && count % 16 == 0 &&
        (uintptr_t)output % GOPS_VECTOR_BYTES == 0) {
        for (int64_t i = 0; i < count; i += 16) {
            NAME(norm_values)(from + i, high, slopes, shifts, values);
            for (int v = 0; v < NAME(PARTS); v++) {
                GOPS_STREAM((float *)output + i + v * NAME(FLOATS), values[v]);
            }
        }
        return 1;
    }
    NAME(norm_values)(from + count - 16, high, slopes, shifts, last);
    for (int64_t i = 0; i + 16 <= count; i += 16) {
        NAME(norm_values)(from + i, high, slopes, shifts, values);
        NAME(norm_store_floats)(output, i, values, rounds);
    }
    if (count % 16 != 0) {
        NAME(norm_store_floats)(output, count - 16, last, rounds);
    }
    return 1;
}
