/*
 * depthwise_permuted_rolling.inc.h: rolling of depthwise_permuted.inc.h, after it.
 *
 * With stride S and KY rows of taps, row j of data adds to the rows of outputs t with
 * 0 <= j - t * S < KY, which are at most OPEN = KY / S, rounded up. Their sums wait in registers:
 * open[0] to open[OPEN - 1], of which one is complete after S rows; the next row of outputs takes
 * its registers. So the rows rotate, and after PERIOD groups of them they are where they were: the
 * loop is unrolled as often, and no sums are moved. It ends behind any row, so that no row is
 * computed that is no output.
 *
 * All functions are compiled for each K, and for CODES, which is gops_permuted_call.codes. R = 4 / K.vectors rows
 * are stored together.
 */

enum { MAX_OPEN = 7, MAX_INDEX = 8 };

/* The sums of the rows of outputs that wait, or four rows' vectors of one group. */
typedef struct open_row {
    bytes sum[4];
} open_row;

/* What all filters of a call have in common. A copy of what is known elsewhere: stores of outputs
 * cannot change it, so that it need not be loaded again behind each. */
typedef struct rolling_work {
    setting at;
    int64_t height, width, columns, vector_columns; /* of gops_permuted_shape */
    permutation index[MAX_INDEX];                   /* [row_quads, data_rows, vectors_of_load] */
    int64_t y;                                      /* the first row of data that is read */
    int64_t next_load;                              /* bytes between the loads of a row */
    const uint64_t *load_masks;                     /* of the loads of several rows */
    int64_t rows;                                   /* of outputs */
} rolling_work;

/* A tile of a filter. */
typedef struct rolling_tile {
    bytes start;
    __m512 scale;
    const int32_t *weights;
    bytes weight[3];     /* of kernel_y 3 */
    int64_t first;       /* of the data that are read, from the image's first byte on */
    const uint8_t *from; /* the next row of data, `y` */
    int64_t y;
    const uint64_t *masks; /* of the next loads of several rows */
    uint64_t mask[4];      /* of the bytes inside the image, of a row */
    uint8_t *output;       /* of the next group */
    int64_t columns;
    uint64_t stored;      /* mask of the codes of a group */
    __mmask16 vectors[4]; /* masks of the vectors of a row */
} rolling_tile;

/* The loads of the next row of data. */
GOPS_INLINE void load_row(const rolling_work *w, rolling_tile *tile, bytes *data, const int LOADS)
{
    const bool inside = (uint64_t)tile->y < (uint64_t)w->height;
    GOPS_UNROLL
    for (int u = 0; u < LOADS; u++) {
        data[u] = load_bytes(&w->at, tile->from + u * w->next_load, inside ? tile->mask[u] : 0);
    }
    tile->from += w->width;
    tile->y++;
}

GOPS_INLINE int open_rows(const gops_permuted_rolling K)
{
    return (K.kernel_y + K.stride - 1) / K.stride;
}

/* Adds row `r` of a load to the open rows: row TOP - n * K.stride of the taps to open[PHASE + n]. */
GOPS_INLINE void add_row(const rolling_work *w, const rolling_tile *tile, const bytes *data,
                         const int r, open_row *open, const int PHASE, const int TOP,
                         const gops_permuted_rolling K)
{
    const int OPEN = open_rows(K);
    GOPS_UNROLL
    for (int q = 0; q < K.row_quads; q++) {
        GOPS_UNROLL
        for (int v = 0; v < K.vectors; v++) {
            const int of_load = v % K.vectors_of_load;
            const bytes quads =
                permuted(&w->index[(q * K.data_rows + r) * K.vectors_of_load + of_load],
                         data[v / K.vectors_of_load]);
            GOPS_UNROLL
            for (int n = 0; n < OPEN; n++) {
                const int ky = TOP - n * K.stride;
                if (ky >= 0 && ky < K.kernel_y) {
                    bytes *sum = &open[(PHASE + n) % OPEN].sum[v];
                    const bytes weight =
                        K.kernel_y == 3 ? tile->weight[ky]
                                        : _mm512_set1_epi32(tile->weights[ky * K.row_quads + q]);
                    *sum = add_products(ky == 0 && q == 0 ? tile->start : *sum, quads, weight);
                }
            }
        }
    }
}

/* Stores the first `rows` rows of a group. */
GOPS_INLINE void store_rolling(const rolling_work *w, rolling_tile *tile, int64_t rows,
                               const open_row *group, const int NV, const bool CODES)
{
    if (CODES) {
        const uint64_t mask = rows == 4 / NV ? tile->stored : first_bits(rows * tile->columns);
        store_codes(&w->at, w->columns, w->vector_columns, tile->output, rows, mask, tile->vectors,
                    pack_codes(&w->at, group->sum), NV);
        tile->output += rows * w->columns;
    } else {
        store_sums(w->columns, w->vector_columns, tile->output, rows, tile->columns, group->sum,
                   NV);
        tile->output += rows * w->columns * (int64_t)sizeof(int32_t);
    }
}

/* Computes row T of the outputs of those that are unrolled. */
GOPS_INLINE void rolling_row(const rolling_work *w, rolling_tile *tile, bytes *data, open_row *open,
                             open_row *group, const int T, const gops_permuted_rolling K,
                             const bool CODES)
{
    const int R = 4 / K.vectors, OPEN = open_rows(K);
    GOPS_UNROLL
    for (int i = 0; i < K.stride; i++) {
        const int row = T * K.stride + i;
        if (K.data_rows == 1) {
            load_row(w, tile, data, K.vectors / K.vectors_of_load);
        } else if (row % K.data_rows == 0) {
            data[0] = load_bytes(&w->at, tile->from, *tile->masks++);
            tile->from += K.data_rows * w->width;
        }
        add_row(w, tile, data, row % K.data_rows, open, T % OPEN, K.kernel_y - K.stride + i, K);
    }
    GOPS_UNROLL
    for (int v = 0; v < K.vectors; v++) {
        const bytes sum = open[T % OPEN].sum[v];
        group->sum[T % R * K.vectors + v] = CODES ? rounded(sum, tile->scale) : sum;
    }
}

/* The first kernel_y - stride rows of data, then all rows of outputs. */
GOPS_INLINE void run_tile(const rolling_work *w, rolling_tile tile, const gops_permuted_rolling K,
                          const bool CODES)
{
    const int R = 4 / K.vectors, OPEN = open_rows(K);
    const int PERIOD = K.rows > 0      ? (K.rows + R - 1) / R
                       : OPEN % 2 != 0 ? OPEN
                                       : (OPEN + R - 1) / R;
    open_row open[MAX_OPEN], group = {{tile.start, tile.start, tile.start, tile.start}};
    bytes data[4] = {0};
    int64_t left = w->rows;
    GOPS_UNROLL
    for (int j = 0; j < K.kernel_y - K.stride; j++) {
        load_row(w, &tile, data, K.vectors / K.vectors_of_load);
        add_row(w, &tile, data, 0, open, 0, j, K);
    }
    /* Row n of group g; ends the loop behind the last row. */
#define ROW(g, n)                                                                                  \
    if ((n) < R) {                                                                                 \
        rolling_row(w, &tile, data, open, &group, (g)*R + (n), K, CODES);                          \
        if (K.rows > 0 ? (g)*R + (n) == K.rows - 1 : --left == 0) {                                \
            store_rolling(w, &tile, (n) + 1, &group, K.vectors, CODES);                            \
            break;                                                                                 \
        }                                                                                          \
    }
#define GROUP(g)                                                                                   \
    if ((g) < PERIOD) {                                                                            \
        ROW(g, 0)                                                                                  \
        ROW(g, 1)                                                                                  \
        ROW(g, 2)                                                                                  \
        ROW(g, 3)                                                                                  \
        store_rolling(w, &tile, R, &group, K.vectors, CODES);                                      \
    }
    for (;;) {
        GROUP(0)
        GROUP(1)
        GROUP(2)
        GROUP(3)
        GROUP(4)
        GROUP(5)
        GROUP(6)
    }
#undef GROUP
#undef ROW
}

/* The permutations to the quads of a load. Where it is a row, byte 0 is the first that the first vector
 * reads. Of several rows, byte 0 is their beginning, and the last one stands for the padding. */
static bool find_rolling_quads(const gops_permuted_shape *shape, permutation *to, int row_quads,
                               int rows, int vectors)
{
    bool found = true;
    const bytes width = _mm512_set1_epi8((char)shape->width), last = _mm512_set1_epi8(63);
    for (int i = 0; i < row_quads * rows * vectors; i++) {
        const int64_t tap = i / (rows * vectors) * GOPS_PERMUTED_QUAD;
        const int64_t taps = gops_min(GOPS_PERMUTED_QUAD, shape->kernel_x - tap);
        const int64_t first = tap + i % vectors * shape->vector_columns * shape->stride_x;
        if (rows == 1) {
            found = find_quads(shape, first, taps, &to[i]) && found;
            continue;
        }
        const int64_t row = i / vectors % rows * shape->width;
        const bytes x = quad_bytes(first - shape->pad_x, shape->stride_x, 1);
        const bytes index = _mm512_mask_blend_epi8(_mm512_cmplt_epu8_mask(x, width), last,
                                                   _mm512_add_epi8(x, _mm512_set1_epi8((char)row)));
        found = find_permutation(if_needed(index, shape->vector_columns, taps), &to[i]) && found;
    }
    return found;
}

/* The masks of the loads of `rows` rows, the first of which is data row y. */
static void rolling_masks(const gops_permuted_shape *shape, uint64_t *masks, int64_t count,
                          int64_t y, const int rows)
{
    for (int64_t i = 0; i < count; i++, y += rows) {
        const int64_t begin = gops_clamp(-y, 0, rows);
        const int64_t end = gops_clamp(shape->height - y, begin, rows);
        masks[i] = first_bits(end * shape->width) & ~first_bits(begin * shape->width);
    }
}

/* What the filters have in common of the tile that begins at output `column`. */
GOPS_INLINE rolling_tile tile_at(const rolling_work *w, int64_t column,
                                 const gops_permuted_rolling K)
{
    const gops_permuted_shape *shape = w->at.shape;
    const int64_t x = K.data_rows == 1 ? column * K.stride - shape->pad_x : 0;
    rolling_tile tile = {
        .first = w->y * w->width + x,
        .y = w->y,
        .masks = w->load_masks,
        .columns = gops_min(shape->tile_columns, w->columns - column),
    };
    tile.stored = first_bits(4 / K.vectors * tile.columns);
    vector_masks(tile.columns, w->vector_columns, tile.vectors, K.vectors);
    GOPS_UNROLL
    for (int u = 0; u < K.vectors / K.vectors_of_load; u++) {
        tile.mask[u] = K.data_rows == 1 ? columns_within(x + u * w->next_load, w->width)
                                        : first_bits(w->width);
    }
    return tile;
}

/* All filters of a call, a tile after the other. */
GOPS_INLINE void rolling(const setting *at, const gops_permuted_call *call,
                         const gops_permuted_rolling K, const bool CODES)
{
    const gops_permuted_shape *shape = at->shape;
    const int64_t count = call->count;
    permuted_filters filters;
    uint64_t masks[GOPS_PERMUTED_MASKS];
    rolling_work w = {
        .at = *at,
        .height = shape->height,
        .width = shape->width,
        .columns = shape->columns,
        .vector_columns = shape->vector_columns,
        .y = call->first_row * K.stride - shape->pad_y,
        .next_load = K.vectors_of_load * shape->vector_columns * K.stride,
        .load_masks = masks,
        .rows = call->rows,
    };
    find_rolling_quads(shape, w.index, K.row_quads, K.data_rows, K.vectors_of_load);
    if (K.data_rows > 1) {
        rolling_masks(shape, masks, gops_ceil_div(call->rows * K.stride, K.data_rows),
                      w.y + K.kernel_y - K.stride, K.data_rows);
    }
    permuted_filter filter = begin_filters(&filters, call, false);
    const rolling_tile first = tile_at(&w, 0, K);
    for (; filter.number < count; next_filter(&filter)) {
        int64_t column = 0;
        do {
            rolling_tile tile = column == 0 ? first : tile_at(&w, column, K);
            tile.start = start_of(&filter);
            tile.scale = scale_of(&filter);
            tile.weights = filter.weights;
            tile.from = filter.data + tile.first;
            tile.output = filter.output + column * (CODES ? 1 : (int64_t)sizeof(int32_t));
            GOPS_UNROLL
            for (int k = 0; k < 3; k++) {
                tile.weight[k] = K.kernel_y == 3 ? _mm512_set1_epi32(tile.weights[k]) : tile.start;
            }
            run_tile(&w, tile, K, CODES);
            column += tile.columns;
        } while (K.data_rows == 1 && column < w.columns);
    }
}
