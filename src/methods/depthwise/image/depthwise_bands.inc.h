/*
 * depthwise_bands.inc.h: a depthwise convolution of the image where it lies, with 3 x 3 taps, by bands of rows.
 *
 * A band of 4 rows of outputs is computed from left to right, a vector of columns of all its rows at a time. A row of
 * data is loaded once for each tap along x, and adds to all rows of the band that read it: for the 9 multiplications of
 * a vector that is 4.5 loads, and 9 with stride 2. The data are read in the order in which they lie, as hardware
 * prefetches them. The weights, the sums and the taps of a row fill the 16 registers: 9 + 4 + 3.
 *
 * Each band begins and ends with a vector that may reach one column out of the image, and loads with a mask. What
 * reaches further out goes by depthwise_rolling.inc.h, and so do data of fewer than 40 columns, where that takes less.
 * For 56 and 112 columns bands take 0.83 to 0.87 of its time, with stride 2 0.77 to 0.84 (Zen 3).
 *
 * Every output sums its taps as in depthwise_rolling.inc.h, and from the first row to the last, so that bands may
 * overlap, and a part of an image (gops_plan_part), which may be narrow, has the bits of the whole.
 *
 * Parameters: those of depthwise_rolling.inc.h, which includes this file
 */
#define band_columns NAME(band_columns)
#define band_vector NAME(band_vector)
#define band NAME(band)
#define all_bands NAME(all_bands)
#define last_load NAME(last_load)

enum { BAND_TAPS = 3, BAND_ROWS = 4, MIN_BAND_WIDTH = 40 };

/* Where the last vector of a band begins, and the lanes inside the image: of the first load of a row of data in the
 * first vector, and of the last load in the last one. */
typedef struct band_columns {
    int64_t last;
    NAME(lane_set) left, right;
} band_columns;

/* The first column of the last load of a vector of outputs, from that of its first load on. */
GOPS_INLINE int64_t last_load(const int S)
{
    return S * LANES - S + BAND_TAPS - LANES;
}

/* Computes a vector of columns of MR rows. Bit j of `inside` tells whether row j of data exists; with ALL all do. */
GOPS_INLINE void band_vector(const gops_depthwise_image *a, const C *row, C *output,
                             const vector *weight, const band_columns *columns, uint32_t inside,
                             const int MR, const int S, const int ALL, const int EDGE)
{
    const int K = BAND_TAPS, DATA_ROWS = S * (MR - 1) + K;
    vector sum[BAND_ROWS];
    GOPS_UNROLL
    for (int r = 0; r < MR; r++) {
        sum[r] = (vector){0};
    }
    GOPS_UNROLL
    for (int j = 0; j < DATA_ROWS; j++, row += a->width) {
        if (S == 2 && j < S * MR) {
            __builtin_prefetch(row + DATA_ROWS * a->width); /* of the next band */
        }
        if (!ALL && (inside >> j & 1) == 0) {
            continue;
        }
        const C *end = row + last_load(S);
        vector x[BAND_TAPS];
        if (EDGE == LEFT) {
            x[0] = NAME(load_lanes)(row, columns->left);
        } else {
            x[0] = *(const vector *)row;
        }
        x[1] = *(const vector *)(row + 1);
        if (EDGE == RIGHT) {
            x[2] = NAME(load_lanes)(end, columns->right);
        } else {
            x[2] = *(const vector *)end;
        }
        if (S == 2) {
            const vector second = *(const vector *)(row + LANES);
            const vector odd = __builtin_shufflevector(x[1], x[2], ODD_LANES);
            x[0] = __builtin_shufflevector(x[0], second, EVEN_LANES);
            x[1] = __builtin_shufflevector(x[1], x[2], EVEN_LANES);
            x[2] = odd;
        } else {
            GOPS_IN_REGISTER(x[0]);
            GOPS_IN_REGISTER(x[1]);
            GOPS_IN_REGISTER(x[2]);
        }
        /* With stride 2 each row is summed up apart, as in depthwise_rolling.inc.h. */
        GOPS_UNROLL
        for (int r = 0; r < MR; r++) {
            const int ky = j - S * r;
            if (S == 2 && ky >= 0 && ky < K) {
                vector apart = x[0] * weight[ky * K];
                GOPS_IN_REGISTER(apart);
                apart += x[1] * weight[ky * K + 1];
                apart += x[2] * weight[ky * K + 2];
                sum[r] += apart;
            } else if (ky >= 0 && ky < K) {
                sum[r] += x[0] * weight[ky * K];
                sum[r] += x[1] * weight[ky * K + 1];
                sum[r] += x[2] * weight[ky * K + 2];
            }
        }
    }
    if (a->bounds != NULL) {
        NAME(epilogue_all)(sum, MR, a->bounds, broadcast(*(const C *)a->bias));
    }
    GOPS_UNROLL
    for (int r = 0; r < MR; r++, output += a->columns) {
        if (S == 2) {
            sum[r] = __builtin_shufflevector(sum[r], sum[r], IN_ORDER);
        }
        *(vector *)output = sum[r];
    }
}

/* Computes MR rows of outputs from row `first` on. */
GOPS_INLINE void band(const gops_depthwise_image *a, const band_columns *columns,
                      const vector *weight, int64_t first, uint32_t inside, const int MR,
                      const int S, const int ALL)
{
    const C *row = (const C *)a->data + (first * S - a->pad_y) * a->width - a->pad_x;
    C *output = (C *)a->output + (first - a->first_row) * a->columns;
    const int64_t last = columns->last;
    band_vector(a, row, output, weight, columns, inside, MR, S, ALL, LEFT);
    for (int64_t column = LANES; column < last; column += LANES) {
        band_vector(a, row + column * S, output + column, weight, columns, inside, MR, S, ALL,
                    INSIDE);
    }
    band_vector(a, row + last * S, output + last, weight, columns, inside, MR, S, ALL, RIGHT);
}

/* Computes bands of MR rows, of which there are at least as many. */
GOPS_INLINE void all_bands(const gops_depthwise_image *a, const int MR, const int S)
{
    const int K = BAND_TAPS, DATA_ROWS = S * (MR - 1) + K;
    const int64_t last = a->columns - LANES, from = last * S - a->pad_x + last_load(S);
    const band_columns columns = {last, NAME(lanes_between)(a->pad_x, LANES),
                                  NAME(lanes_between)(0, a->width - from)};
    GOPS_EACH_FILTER(one, a, C)
    {
        vector weight[BAND_TAPS * BAND_TAPS];
        GOPS_UNROLL
        for (int i = 0; i < K * K; i++) {
            weight[i] = broadcast(((const C *)one.weights)[i]);
        }
        for (int64_t row = 0; row < one.rows; row += MR) {
            const int64_t first = one.first_row + gops_min(row, one.rows - MR);
            const int64_t y = first * S - one.pad_y;
            const int64_t begin = gops_clamp(-y, 0, DATA_ROWS);
            const int64_t end = gops_clamp(one.height - y, 0, DATA_ROWS);
            if (MR > 1 && begin == 0 && end == DATA_ROWS) {
                band(&one, &columns, weight, first, 0, MR, S, 1);
            } else {
                band(&one, &columns, weight, first, (1u << end) - (1u << begin), MR, S, 0);
            }
        }
    }
}

/* Computes the image by bands, where these take less: if only the vectors at the ends of a band reach out of it, and by
 * one load each. Returns whether they do. */
GOPS_INLINE bool NAME(bands)(const gops_depthwise_image *a)
{
    const int64_t last = (a->columns - LANES) * a->stride - a->pad_x;
    const int64_t inside = last + (a->stride == 2 ? 2 : 1) * LANES + (a->stride == 1);
    if (a->kernel_x != BAND_TAPS || a->dilation_x > 1 || a->dilation_y > 1 || a->pad_x > 1 ||
        a->columns < 2 * LANES || a->width < MIN_BAND_WIDTH || inside > a->width) {
        return false;
    }
    const bool few = a->rows < BAND_ROWS;
    if (a->stride == 1 && few) {
        all_bands(a, 1, 1);
    } else if (a->stride == 1) {
        all_bands(a, BAND_ROWS, 1);
    } else if (few) {
        all_bands(a, 1, 2);
    } else {
        all_bands(a, BAND_ROWS, 2);
    }
    return true;
}
