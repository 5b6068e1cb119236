/* Wants C, BYTES of a vector, NAME(symbol), SOME (a mask), FIRST(count), a mask of lanes,
 * LOAD_SOME, STORE_SOME, and MOVE(low, high, by): the lanes from `by` on of low followed by high.
 */
/*
 * depthwise_shuffle_conv.inc.h: a depthwise convolution with stride 1 that loads each row of data
 * once and lets it pass.
 *
 * With K taps along y a row of data has a part in K rows of outputs, and those are all that are
 * under way: their sums are in registers, the row adds to each, the uppermost is complete and is
 * stored, and the others move up. So an image is a loop over its rows of data, of U vectors of
 * columns side by side. Tap kx wants the row moved by kx - K / 2 columns, which is made of two
 * vectors that lie beside each other; outermost are zeros, which are the padding, or, where an
 * image is wider than U vectors, those of the columns beside. With a dilation of D only every D-th
 * row belongs together, so that an image is D such loops, and columns are D times as far.
 *
 * Each output's taps are added up from the first row to the last, whatever rows are asked for.
 */

typedef C NAME(vector) __attribute__((vector_size(BYTES)));

#include "post_ops/epilogue.inc.h"

enum { NAME(LANES) = BYTES / sizeof(C) };

/* The sums with the bias, between the bounds, where there are any. */
static inline __attribute__((always_inline)) void NAME(finish)(const gops_depthwise_image *a,
                                                               NAME(vector) * sum, const int count)
{
    if (a->bounds != NULL) {
        const NAME(vector) add = *(const C *)a->bias - (NAME(vector)){0};
        const NAME(vector) low = ((const C *)a->bounds)[0] - (NAME(vector)){0};
        const NAME(vector) high = ((const C *)a->bounds)[1] - (NAME(vector)){0};
        GOPS_UNROLL
        for (int i = 0; i < count; i++) {
            sum[i] = NAME(trimmed)(sum[i], add, low, high);
        }
    }
}

/* The columns `by` after those of x, which `before` and `after` are beside. */
static inline __attribute__((always_inline)) NAME(vector)
    NAME(moved)(NAME(vector) before, NAME(vector) x, NAME(vector) after, const int by)
{
    switch (by) {
    case -4:
        return MOVE(before, x, NAME(LANES) - 4);
    case -2:
        return MOVE(before, x, NAME(LANES) - 2);
    case -1:
        return MOVE(before, x, NAME(LANES) - 1);
    case 1:
        return MOVE(x, after, 1);
    case 2:
        return MOVE(x, after, 2);
    case 4:
        return MOVE(x, after, 4);
    default:
        return x;
    }
}

/* What of a row U vectors from `column` on see; the lanes of the last one, and of those beside. */
typedef struct NAME(span) {
    SOME last, left, right;
    int64_t left_from, right_from; /* relative to the first one */
} NAME(span);

static inline NAME(span) NAME(see)(int64_t column, int64_t width, int64_t vectors)
{
    const int64_t end = vectors * NAME(LANES);
    return (NAME(span)){
        .last = FIRST(width - column - end + NAME(LANES)),
        .left = FIRST(column > 0 ? NAME(LANES) : 0),
        .right = FIRST(width - column - end),
        /* Where nothing is loaded, not beyond the data either. */
        .left_from = column > 0 ? -NAME(LANES) : 0,
        .right_from = width - column > end ? end : 0,
    };
}

/* One row of data, onto the K rows of sums. With BESIDE there are columns beside the span. */
static inline __attribute__((always_inline)) void
NAME(add_row)(const C *row, const NAME(span) * span, const NAME(vector) * weight,
              NAME(vector) (*sum)[4], const int K, const int D, const int U, const int BESIDE)
{
    NAME(vector) x[6];
    x[0] = x[U + 1] = (NAME(vector)){0};
    if (BESIDE) {
        x[0] = LOAD_SOME(row + span->left_from, span->left);
        x[U + 1] = LOAD_SOME(row + span->right_from, span->right);
    }
    GOPS_UNROLL
    for (int u = 0; u < U; u++) {
        x[u + 1] = u < U - 1 ? LOAD_ALL(row + u * NAME(LANES))
                             : LOAD_SOME(row + u * NAME(LANES), span->last);
    }
    GOPS_UNROLL
    for (int u = 0; u < U; u++) {
        GOPS_UNROLL
        for (int kx = 0; kx < K; kx++) {
            const NAME(vector) moved = NAME(moved)(x[u], x[u + 1], x[u + 2], D * (kx - K / 2));
            GOPS_UNROLL
            for (int ky = 0; ky < K; ky++) {
                sum[K - 1 - ky][u] += moved * weight[ky * K + kx];
            }
        }
    }
}

/* `rows` rows of outputs of one filter from row `first` on, D apart, and U vectors of columns from
 * `column` on. */
static inline __attribute__((always_inline)) void
NAME(pass)(const gops_depthwise_image *a, int64_t first, int64_t rows, int64_t column, const int K,
           const int D, const int U, const int BESIDE)
{
    const NAME(span) span = NAME(see)(column, a->width, U);
    const int64_t width = a->width, height = a->height;
    /* The rows of data: under the first row of outputs the first one and the last one, and beyond
     * the last one of all; those above the data are skipped. */
    const int64_t begin = first - a->pad_y, full = begin + (K - 1) * D, end = full + rows * D;
    int64_t y = gops_min(begin < 0 ? begin + gops_round_up(-begin, D) : begin, full);
    const C *row = (const C *)a->data + y * width + column;
    C *output = (C *)a->output + (y - full + first - a->first) * width + column;
    NAME(vector) weight[25], sum[5][4];
    GOPS_UNROLL
    for (int i = 0; i < K * K; i++) {
        weight[i] = ((const C *)a->weights)[i] - (NAME(vector)){0};
    }
    GOPS_UNROLL
    for (int i = 0; i < K * U; i++) {
        sum[i / U][i % U] = (NAME(vector)){0};
    }
    for (; y < end; y += D, row += D * width, output += D * width) {
        if (y >= 0 && y < height) {
            NAME(add_row)(row, &span, weight, sum, K, D, U, BESIDE);
        }
        if (y >= full) {
            NAME(finish)(a, sum[0], U);
            GOPS_UNROLL
            for (int u = 0; u < U; u++) {
                if (u < U - 1) {
                    STORE_ALL(output + u * NAME(LANES), sum[0][u]);
                } else {
                    STORE_SOME(output + u * NAME(LANES), span.last, sum[0][u]);
                }
            }
        }
        GOPS_UNROLL
        for (int i = 0; i < K * U; i++) {
            sum[i / U][i % U] = i / U < K - 1 ? sum[i / U + 1][i % U] : (NAME(vector)){0};
        }
    }
}

/* All rows of U vectors of columns from `column` on; what follows them. */
static inline __attribute__((always_inline)) int64_t
NAME(span_of_rows)(const gops_depthwise_image *a, int64_t column, const int K, const int D,
                   const int U, const int BESIDE)
{
    for (int64_t way = 0; way < gops_min(D, a->rows); way++) {
        NAME(pass)
        (a, a->first + way, gops_ceil_div(a->rows - way, D), column, K, D, U, BESIDE);
    }
    return column + U * NAME(LANES);
}

/* Images of U vectors, and U vectors of wider ones. */
#define GOPS_STREAM_VECTORS(name, K, D, U)                                                         \
    static void NAME(name##_##U)(const gops_depthwise_image *a)                                    \
    {                                                                                              \
        gops_depthwise_image one = *a;                                                             \
        for (int64_t i = 0; i < a->filters; i++) {                                                 \
            NAME(span_of_rows)(&one, 0, K, D, U, 0);                                               \
            gops_depthwise_image_next(&one, (int64_t)sizeof(C));                                   \
        }                                                                                          \
    }                                                                                              \
    static int64_t NAME(name##_part_##U)(const gops_depthwise_image *a, int64_t column)            \
    {                                                                                              \
        return NAME(span_of_rows)(a, column, K, D, U, 1);                                          \
    }

#define GOPS_STREAM_KERNEL(name, K, D)                                                             \
    GOPS_STREAM_VECTORS(name, K, D, 1)                                                             \
    GOPS_STREAM_VECTORS(name, K, D, 2)                                                             \
    GOPS_STREAM_VECTORS(name, K, D, 3)                                                             \
    GOPS_STREAM_VECTORS(name, K, D, 4)

#define GOPS_STREAM_ROW(name)                                                                      \
    {                                                                                              \
        {NAME(name##_1), NAME(name##_2), NAME(name##_3), NAME(name##_4)},                          \
        {                                                                                          \
            NAME(name##_part_1), NAME(name##_part_2), NAME(name##_part_3), NAME(name##_part_4)     \
        }                                                                                          \
    }

GOPS_STREAM_KERNEL(of3, 3, 1)
GOPS_STREAM_KERNEL(of5, 5, 1)
GOPS_STREAM_KERNEL(of3_by2, 3, 2)
GOPS_STREAM_KERNEL(of5_by2, 5, 2)

/* All columns of each filter: of images up to 4 vectors wide at once, of others in parts of equally
 * many vectors but for the last. */
static void NAME(stream)(const gops_depthwise_image *a)
{
    static const struct {
        gops_depthwise_image_fn *whole[4];
        int64_t (*part[4])(const gops_depthwise_image *, int64_t);
    } kernels[2][2] = {{GOPS_STREAM_ROW(of3), GOPS_STREAM_ROW(of3_by2)},
                       {GOPS_STREAM_ROW(of5), GOPS_STREAM_ROW(of5_by2)}};
    const int wide = a->kernel_x == 5, dilated = a->dilation_x == 2;
    const int64_t vectors = gops_ceil_div(a->width, NAME(LANES));
    if (vectors <= 4) {
        kernels[wide][dilated].whole[vectors - 1](a);
        return;
    }
    const int64_t each = gops_ceil_div(vectors, gops_ceil_div(vectors, 4));
    gops_depthwise_image one = *a;
    for (int64_t i = 0; i < a->filters; i++) {
        for (int64_t column = 0; column < a->width;) {
            const int64_t left = gops_ceil_div(a->width - column, NAME(LANES));
            column = kernels[wide][dilated].part[gops_min(left, each) - 1](&one, column);
        }
        gops_depthwise_image_next(&one, (int64_t)sizeof(C));
    }
}

#undef GOPS_STREAM_ROW
#undef GOPS_STREAM_VECTORS
#undef GOPS_STREAM_KERNEL
