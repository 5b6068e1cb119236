/*
 * depthwise_shuffle_deconv.inc.h: a transposed depthwise convolution with stride 2 along both axes.
 *
 * Data i and tap k add to output o = 2 i + k - pad. Along x write o = 2 t + r, with residue r, and
 * the pad as 2 h + odd. Tap k contributes to residue r = (k + odd) % 2, and to its output t with
 * data t + h - floor((k - odd) / 2). So neighbouring t make two vectors of sums, one for each
 * residue, and two taps share each load of data, which is masked: 0 beyond the ends. The two
 * vectors interleaved are neighbouring outputs.
 *
 * Along y rows roll as in depthwise_shuffle_conv.inc.h: row i of data adds to the K rows of outputs
 * from 2 i - pad on; then two of them are complete, and the others wait for row i + 1.
 *
 * Parameters: C, LANES, NAME, LOW, HIGH and INTRINSIC of isa/each_compute.inc.h, after
 * depthwise_shuffle_conv.inc.h
 */

#define open_rows NAME(open_rows)
#define output_columns NAME(output_columns)
#define output_columns_at NAME(output_columns_at)
#define transposed_row NAME(transposed_row)
#define transposed_columns NAME(transposed_columns)

/* The sums of the rows of outputs that are incomplete, two vectors each: one for each residue. */
typedef struct open_rows {
    vector sum[4][2];
} open_rows;

/* The columns that a tile loads of a row of data and stores of a row of outputs. */
typedef struct output_columns {
    int64_t from[3]; /* first column of data, for taps with floor((k - odd) / 2) = -1, 0, 1 */
    unsigned mask[3];
    unsigned low, high; /* of the two vectors of outputs */
} output_columns;

static inline output_columns output_columns_at(const gops_depthwise_image *a, int64_t column)
{
    output_columns columns = {
        .low = lane_mask(0, a->columns - column),
        .high = lane_mask(0, a->columns - column - LANES),
    };
    for (int i = 0; i < 3; i++) {
        const int64_t from = column / 2 + a->pad_x / 2 - (i - 1);
        columns.mask[i] = lane_mask(-from, a->width - from);
        /* A load with an empty mask stays within the row too. */
        columns.from[i] = columns.mask[i] != 0 ? from : 0;
    }
    return columns;
}

/* Adds a row of data to the K rows of outputs that it contributes to. */
GOPS_INLINE void transposed_row(const C *row, const output_columns *columns, const vector *weight,
                                open_rows *rows, const int K, const int ODD_PAD)
{
    GOPS_UNROLL
    for (int kx = 0; kx < K; kx++) {
        const int back = (kx - ODD_PAD + 2) / 2, residue = (kx + ODD_PAD) % 2;
        const vector x = load_masked(row + columns->from[back], columns->mask[back]);
        GOPS_UNROLL
        for (int ky = 0; ky < K; ky++) {
            rows->sum[ky][residue] += x * weight[ky * K + kx];
        }
    }
}

/* Computes the rows of outputs of a filter in two vectors of columns from `column` on. */
GOPS_INLINE void transposed_columns(const gops_depthwise_image *a, int64_t column, const int K,
                                    const int ODD_PAD)
{
    const output_columns columns = output_columns_at(a, column);
    /* Outputs are counted as o + pad_y = 2 * i + ky; the wanted rows are `begin` to end - 1. */
    const int64_t begin = a->first_row + a->pad_y, end = begin + a->rows;
    int64_t i = gops_max(0, begin / 2 - 1);
    const C *row = (const C *)a->data + i * a->width;
    C *output = (C *)a->output + (2 * i - begin) * a->columns + column;
    vector weight[16];
    open_rows rows = {.sum = {{{0}}}};
    GOPS_UNROLL
    for (int k = 0; k < K * K; k++) {
        weight[k] = broadcast(((const C *)a->weights)[k]);
    }
    for (; 2 * i < end; i++, row += a->width, output += 2 * a->columns) {
        if (i < a->height) {
            transposed_row(row, &columns, weight, &rows, K, ODD_PAD);
        }
        GOPS_UNROLL
        for (int r = 0; r < 2; r++) {
            vector *sum = rows.sum[r];
            if (2 * i + r >= begin && 2 * i + r < end) {
                finish(a, sum, 2);
                store_masked(output + r * a->columns, columns.low,
                             __builtin_shufflevector(sum[0], sum[1], LOW));
                store_masked(output + r * a->columns + LANES, columns.high,
                             __builtin_shufflevector(sum[0], sum[1], HIGH));
            }
        }
        GOPS_UNROLL
        for (int r = 0; r < 8; r++) {
            rows.sum[r / 2][r % 2] = r / 2 + 2 < K ? rows.sum[r / 2 + 2][r % 2] : (vector){0};
        }
    }
}

#define GOPS_TRANSPOSED_KERNEL(name, K, ODD_PAD)                                                   \
    static void NAME(name)(const gops_depthwise_image *a)                                          \
    {                                                                                              \
        GOPS_EACH_FILTER(one, a, C)                                                                \
        {                                                                                          \
            for (int64_t column = 0; column < a->columns; column += 2 * LANES) {                   \
                transposed_columns(&one, column, K, ODD_PAD);                                      \
            }                                                                                      \
        }                                                                                          \
    }

GOPS_TRANSPOSED_KERNEL(transposed2, 2, 0)
GOPS_TRANSPOSED_KERNEL(transposed3, 3, 0)
GOPS_TRANSPOSED_KERNEL(transposed4, 4, 0)
GOPS_TRANSPOSED_KERNEL(transposed2_odd, 2, 1)
GOPS_TRANSPOSED_KERNEL(transposed3_odd, 3, 1)
GOPS_TRANSPOSED_KERNEL(transposed4_odd, 4, 1)

static void NAME(transposed)(const gops_depthwise_image *a)
{
    static gops_depthwise_image_fn *const kernels[2][3] = {
        {NAME(transposed2), NAME(transposed3), NAME(transposed4)},
        {NAME(transposed2_odd), NAME(transposed3_odd), NAME(transposed4_odd)},
    };
    kernels[a->pad_x % 2][a->kernel_x - 2](a);
}
