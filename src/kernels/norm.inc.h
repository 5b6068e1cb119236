/* Wants T, VALUE(T value) -> double, ROUND(double value) -> T, NAME(symbol). */
/*
 * kernels/norm.inc.h: the arithmetic of group normalization.
 *
 * Two passes, both in double whatever the type: the mean, then the mean of the squared distances
 * from it. E[x^2] - E[x]^2 would lose all digits where the mean is large beside the spread; the
 * distances do not. What the computed mean is off by, d, is corrected: sum (x - m)^2 exceeds the
 * variance by d^2, and sum (x - m) = count * d tells d.
 *
 * Sums run in LANES independent accumulators, for the vector units, over blocks of BLOCK elements
 * whose sums are added up in turn: so an error grows with BLOCK / LANES + count / BLOCK, not with
 * count, and the order is the same on every machine and for every number of threads.
 */

static double NAME(norm_lanes)(const double lanes[GOPS_NORM_LANES])
{
    double sum = 0;
    for (int j = 0; j < GOPS_NORM_LANES; j++) {
        sum += lanes[j];
    }
    return sum;
}

/* The sums of (x - center) and of its square over at most GOPS_NORM_BLOCK elements. */
static void NAME(norm_block)(const T *data, int64_t count, double center, double *sum,
                             double *squares)
{
    double lane[GOPS_NORM_LANES] = {0}, square[GOPS_NORM_LANES] = {0};
    int64_t i = 0;
    for (; i + GOPS_NORM_LANES <= count; i += GOPS_NORM_LANES) {
        for (int j = 0; j < GOPS_NORM_LANES; j++) {
            double distance = VALUE(data[i + j]) - center;
            lane[j] += distance;
            square[j] += distance * distance;
        }
    }
    for (int j = 0; i < count; i++, j++) {
        double distance = VALUE(data[i]) - center;
        lane[j] += distance;
        square[j] += distance * distance;
    }
    *sum += NAME(norm_lanes)(lane);
    *squares += NAME(norm_lanes)(square);
}

static void NAME(norm_sums)(const T *data, int64_t count, double center, double *sum,
                            double *squares)
{
    *sum = *squares = 0;
    for (int64_t i = 0; i < count; i += GOPS_NORM_BLOCK) {
        NAME(norm_block)(data + i, gops_min(count - i, GOPS_NORM_BLOCK), center, sum, squares);
    }
}

static gops_moments NAME(norm_statistics)(const void *data, int64_t count)
{
    double sum, squares, size = (double)count;
    /* Distances from the first element already: a sum of values 10^4 times their spread would spend
     * four of its digits on what they have in common. */
    double first = VALUE(((const T *)data)[0]);
    NAME(norm_sums)(data, count, first, &sum, &squares);
    double center = first + sum / size;
    NAME(norm_sums)(data, count, center, &sum, &squares);
    double rest = sum / size;
    return (gops_moments){center, rest, squares / size - rest * rest};
}

/* output = (data - mean) * factor + bias, factor = scale / sqrt(variance + epsilon). */
static void NAME(norm_apply)(void *output, const void *data, int64_t count,
                             const gops_moments *moments, double factor, double bias)
{
    const T *from = data;
    T *to = output;
    const double center = moments->center, rest = moments->rest;
    for (int64_t i = 0; i < count; i++) {
        to[i] = ROUND((VALUE(from[i]) - center - rest) * factor + bias);
    }
}

static double NAME(value)(const void *from, int64_t index)
{
    return VALUE(((const T *)from)[index]);
}
