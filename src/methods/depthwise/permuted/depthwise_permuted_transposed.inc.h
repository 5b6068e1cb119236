/*
 * depthwise_permuted_transposed.inc.h: transposed of depthwise_permuted.inc.h, after it.
 *
 * With stride s along an axis, write output o as o + pad = s * m + r. Its taps are k = r + s * j, and
 * tap j meets data m - j. So all outputs of the same m read the same data by the weights of their
 * residue r: along y the quads of a row of data serve s rows of outputs, and along x each lane has
 * weights of its own, those of its residue. A vector has whole residues of x, so they are the same for
 * each, and outputs are stored in their order.
 *
 * Where a residue has at most two taps along x, a quad has those of two rows: rows m - 2 i - 1 and
 * m - 2 i of the data are in the lower and upper half of a register. Else it has four taps of a row.
 * The quads are at the same bytes of each load.
 */

enum { TRANSPOSED_HALF = 32, TRANSPOSED_VECTORS = 4 };

/* What all filters of a call have in common. Lengths are those of gops_permuted_shape, as copies:
 * what is stored cannot change them. */
typedef struct transposed_work {
    setting at;
    bool pairs_of_rows;
    int64_t height, width, rows, columns, tile_columns, vector_columns, stride_y;
    int64_t terms; /* the quads that meet an output */
    int64_t row_quads;
    int64_t y, residue;           /* m and residue of the first row of outputs */
    int64_t first;                /* column of the data where the first load begins */
    int64_t next_tile, next_load; /* columns of the data between tiles, and loads */
    int64_t loads;                /* of a row of a tile */
    bytes residues;               /* of the lanes along x */
    int64_t load_vectors;
    /* [load_vectors, row_quads]: of the vectors of a load. */
    permutation index[TRANSPOSED_VECTORS * GOPS_PERMUTED_ROW_QUADS];
} transposed_work;

/* What it is for a filter. Weights are [parts, stride_y, terms], starts [stride_y]. */
typedef struct transposed_filter {
    bytes weights[GOPS_PERMUTED_PARTS * GOPS_PERMUTED_TERMS], starts[GOPS_PERMUTED_TERMS];
    const uint8_t *data;
    __m512 scale;
    int32_t parts;
} transposed_filter;

/* A tile of the outputs of a filter, from `column` on. */
typedef struct transposed_tile {
    int64_t first;     /* column of the data at which the first load begins */
    uint64_t masks[4]; /* of the loads of a row */
    int64_t columns;
    uint8_t *output;
    uint64_t all;        /* mask of the codes that are stored together */
    __mmask16 stored[4]; /* of the vectors of a row */
} transposed_tile;

/* Of each lane: m, and the residue. */
static inline bytes find_residues(const gops_permuted_shape *shape, bytes *residues)
{
    const bytes lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const int32_t stride = (int32_t)shape->stride_x;
    const bytes at =
        _mm512_add_epi32(lanes, _mm512_set1_epi32((int32_t)(shape->pad_x % shape->stride_x)));
    /* Exact for the numbers below 31 that there are. */
    const bytes m =
        _mm512_srli_epi32(_mm512_mullo_epi32(at, _mm512_set1_epi32((1 << 16) / stride + 1)), 16);
    *residues = _mm512_sub_epi32(at, _mm512_mullo_epi32(m, _mm512_set1_epi32(stride)));
    return m;
}

/* The permutation to quad q of vector v of a load. */
static bool find_transposed(const gops_permuted_shape *shape, int64_t v, int64_t q, permutation *to)
{
    bytes residues, index = _mm512_setzero_si512();
    const bytes m = find_residues(shape, &residues);
    const int64_t row_taps = shape->pairs_of_rows ? 2 : GOPS_PERMUTED_QUAD;
    const int64_t taps = gops_min(row_taps, shape->residue_taps - q * row_taps);
    const int64_t last = v * shape->vector_columns / shape->stride_x + shape->residue_taps - 1;
    for (int64_t t = 0; t < GOPS_PERMUTED_QUAD; t++) {
        const int64_t tap = t % row_taps;
        const int64_t first = t / row_taps * TRANSPOSED_HALF + last - q * row_taps - tap;
        const bytes at = tap < taps ? _mm512_add_epi32(m, _mm512_set1_epi32((int32_t)first))
                                    : _mm512_set1_epi32(ANY);
        index = _mm512_or_si512(index, _mm512_sll_epi32(at, _mm_cvtsi32_si128((int32_t)(8 * t))));
    }
    return find_permutation(if_needed(index, shape->vector_columns, GOPS_PERMUTED_QUAD), to);
}

/* Brings the weights of a filter to lanes. */
GOPS_INLINE void read_transposed(const transposed_work *w, const gops_permuted_call *call,
                                 int64_t i, transposed_filter *filter)
{
    const gops_permuted_shape *shape = call->shape;
    const int64_t group =
        call->channels_out == 1 ? i : (call->first_in_group + i) / call->channels_out;
    const int64_t terms = w->stride_y * w->terms;
    const int32_t *from = call->weights + i * call->weights_step,
                  *sums = from + GOPS_PERMUTED_PARTS * terms * shape->stride_x;
    const bytes bias = _mm512_set1_epi32(call->bias != NULL ? (int32_t)call->bias[i] : 0);
    const bytes zero = _mm512_set1_epi32((int32_t)call->zero_of_sums);
    for (int64_t n = 0; n < call->parts[i] * terms; n++, from += shape->stride_x) {
        filter->weights[n] = _mm512_permutexvar_epi32(w->residues, _mm512_loadu_si512(from));
    }
    for (int64_t y = 0; y < w->stride_y; y++, sums += shape->stride_x) {
        const bytes sum = _mm512_permutexvar_epi32(w->residues, _mm512_loadu_si512(sums));
        filter->starts[y] = _mm512_sub_epi32(bias, _mm512_mullo_epi32(zero, sum));
    }
    filter->data = call->data + group * call->data_step;
    filter->scale = _mm512_set1_ps(call->codes ? call->scales[i] : 0);
    filter->parts = call->parts[i];
}

/* Load number u of a row of a tile, from row y of the data on, or of that and the one before it. */
GOPS_INLINE bytes load_transposed(const transposed_work *w, const transposed_tile *tile,
                                  const uint8_t *image, int64_t y, int64_t u, const bool ONE)
{
    const uint8_t *from = image + y * w->width + tile->first + u * w->next_load;
    const uint64_t mask = (uint64_t)y < (uint64_t)w->height ? tile->masks[u] : 0;
    bytes data = w->at.zero;
    if (ONE || w->pairs_of_rows) {
        const uint64_t above = (uint64_t)(y - 1) < (uint64_t)w->height ? tile->masks[u] : 0;
        data = _mm512_mask_loadu_epi8(data, above, from - w->width);
        data = _mm512_mask_loadu_epi8(data, mask << TRANSPOSED_HALF, from - TRANSPOSED_HALF);
    } else {
        data = _mm512_mask_loadu_epi8(data, mask, from);
    }
    return w->at.flips ? _mm512_xor_si512(data, w->at.flip) : data;
}

/* The quads [terms, NV] that meet the rows of outputs of m = y. */
GOPS_INLINE void transposed_quads(const transposed_work *w, const transposed_tile *tile,
                                  const uint8_t *image, int64_t y, bytes *quads, const int NV,
                                  const bool ONE)
{
    const int64_t row_quads = ONE ? 1 : w->row_quads, last = w->load_vectors - 1;
    for (int64_t term = 0; term < (ONE ? 1 : w->terms); term += row_quads) {
        const permutation *index = w->index;
        bytes data = w->at.zero;
        int64_t load = 0;
        GOPS_UNROLL
        for (int v = 0; v < NV; v++) {
            if ((v & last) == 0) {
                data = load_transposed(w, tile, image, y, load++, ONE);
                index = w->index;
            }
            for (int64_t q = 0; q < row_quads; q++) {
                quads[(term + q) * NV + v] = permuted(index++, data);
            }
        }
        y -= w->pairs_of_rows ? 2 : 1;
    }
}

/* A row of outputs of residue `residue`. */
GOPS_INLINE void transposed_row(const transposed_work *w, const transposed_filter *filter,
                                const bytes *quads, int64_t residue, bytes *sums, const int NV,
                                const bool ONE, const bool CODES)
{
    const bytes *weights = filter->weights + residue * (ONE ? 1 : w->terms);
    bytes sum[4];
    GOPS_UNROLL
    for (int v = 0; v < NV; v++) {
        sum[v] = filter->starts[residue];
    }
    for (int part = 0; part < (ONE ? 1 : filter->parts); part++) {
        for (int64_t term = 0; term < (ONE ? 1 : w->terms); term++) {
            GOPS_UNROLL
            for (int v = 0; v < NV; v++) {
                sum[v] = add_products(sum[v], quads[term * NV + v], weights[term]);
            }
        }
        weights += w->stride_y * w->terms;
    }
    GOPS_UNROLL
    for (int v = 0; v < NV; v++) {
        sums[v] = CODES ? rounded(sum[v], filter->scale) : sum[v];
    }
}

/* Stores `rows` rows of a tile, from row `first` of the call on. */
GOPS_INLINE void store_transposed(const transposed_work *w, const transposed_tile *tile,
                                  int64_t first, int64_t rows, const bytes *sums, const int NV,
                                  const bool CODES)
{
    first *= w->columns;
    if (CODES) {
        const uint64_t all = rows == 4 / NV ? tile->all : first_bits(rows * tile->columns);
        store_codes(&w->at, w->columns, w->vector_columns, tile->output + first, rows, all,
                    tile->stored, pack_codes(&w->at, sums), NV);
    } else {
        store_sums(w->columns, w->vector_columns, tile->output + first * (int64_t)sizeof(int32_t),
                   rows, tile->columns, sums, NV);
    }
}

/* All rows of a tile. */
GOPS_INLINE void transposed_rows(const transposed_work *w, const transposed_tile *tile,
                                 const transposed_filter *filter, const int NV, const bool ONE,
                                 const bool CODES)
{
    const int64_t R = 4 / NV;
    int64_t y = w->y, residue = w->residue;
    bytes quads[GOPS_PERMUTED_TERMS * 4], sums[4] = {0};
    for (int64_t row = 0; row < w->rows; y++, residue = 0) {
        transposed_quads(w, tile, filter->data, y, quads, NV, ONE);
        for (; residue < w->stride_y && row < w->rows; residue++) {
            transposed_row(w, filter, quads, residue, sums + row % R * NV, NV, ONE, CODES);
            row++;
            if (row % R == 0 || row == w->rows) {
                const int64_t rows = (row - 1) % R + 1;
                store_transposed(w, tile, row - rows, rows, sums, NV, CODES);
            }
        }
    }
}

/* The same of one term with stride 2, where all that is counted is constant. */
GOPS_INLINE void transposed_rows_of_2(const transposed_work *w, const transposed_tile *tile,
                                      const transposed_filter *filter, const int RESIDUE,
                                      const int NV, const bool CODES)
{
    const int R = 4 / NV, ROWS = R > 2 ? R : 2;
    int64_t y = w->y;
    bytes quads[4], sums[4] = {0};
    if (RESIDUE > 0) {
        transposed_quads(w, tile, filter->data, y++, quads, NV, true);
    }
    for (int64_t row = 0; row < w->rows; row += ROWS) {
        GOPS_UNROLL
        for (int n = 0; n < ROWS; n++) {
            const int residue = (RESIDUE + n) % 2;
            if (residue == 0) {
                transposed_quads(w, tile, filter->data, y++, quads, NV, true);
            }
            transposed_row(w, filter, quads, residue, sums + n % R * NV, NV, true, CODES);
            const int64_t first = row + n + 1 - R;
            if (n % R == R - 1 && first < w->rows) {
                store_transposed(w, tile, first, gops_min(R, w->rows - first), sums, NV, CODES);
            }
        }
    }
}

/* Tile number `n`. */
GOPS_INLINE transposed_tile transposed_tile_at(const transposed_work *w, int64_t n, const int NV)
{
    transposed_tile tile = {
        .first = w->first + n * w->next_tile,
        .columns = gops_min(w->tile_columns, w->columns - n * w->tile_columns),
    };
    tile.all = first_bits(4 / NV * tile.columns);
    for (int64_t u = 0; u < w->loads; u++) {
        const uint64_t within = columns_within(tile.first + u * w->next_load, w->width);
        tile.masks[u] = w->pairs_of_rows ? within & first_bits(TRANSPOSED_HALF) : within;
    }
    vector_masks(tile.columns, w->vector_columns, tile.stored, NV);
    return tile;
}

GOPS_INLINE void transposed_filters(const transposed_work *w, const gops_permuted_call *call,
                                    const int NV, const bool CODES)
{
    /* Copies: what is stored cannot change them. */
    const gops_permuted_call own = *call;
    const transposed_work work = *w;
    const bool one = w->terms == 1 && w->pairs_of_rows;
    const int64_t bytes_of_tile = w->tile_columns * (CODES ? 1 : (int64_t)sizeof(int32_t));
    const transposed_tile first = transposed_tile_at(&work, 0, NV);
    transposed_filter filter;
    for (int64_t i = 0; i < own.count; i++) {
        read_transposed(&work, &own, i, &filter);
        for (int64_t n = 0; n * work.tile_columns < work.columns; n++) {
            transposed_tile tile = n == 0 ? first : transposed_tile_at(&work, n, NV);
            tile.output = (uint8_t *)own.output + i * own.output_step + n * bytes_of_tile;
            if (filter.parts > 1 || !one) {
                transposed_rows(&work, &tile, &filter, NV, false, CODES);
            } else if (work.stride_y != 2) {
                transposed_rows(&work, &tile, &filter, NV, true, CODES);
            } else if (work.residue == 0) {
                transposed_rows_of_2(&work, &tile, &filter, 0, NV, CODES);
            } else {
                transposed_rows_of_2(&work, &tile, &filter, 1, NV, CODES);
            }
        }
    }
}

#define GOPS_TRANSPOSED(name, NV)                                                                  \
    static void name(const transposed_work *w, const gops_permuted_call *call)                     \
    {                                                                                              \
        if (call->codes) {                                                                         \
            transposed_filters(w, call, NV, true);                                                 \
        } else {                                                                                   \
            transposed_filters(w, call, NV, false);                                                \
        }                                                                                          \
    }

GOPS_TRANSPOSED(transposed_1, 1)
GOPS_TRANSPOSED(transposed_2, 2)
GOPS_TRANSPOSED(transposed_4, 4)

static void transposed(const setting *at, const gops_permuted_call *call)
{
    const gops_permuted_shape *shape = call->shape;
    const int64_t first_row = call->first_row + shape->pad_y;
    transposed_work w;
    w.at = *at;
    w.pairs_of_rows = shape->pairs_of_rows;
    w.height = shape->height;
    w.width = shape->width;
    w.rows = call->rows;
    w.columns = shape->columns;
    w.tile_columns = shape->tile_columns;
    w.vector_columns = shape->vector_columns;
    w.stride_y = shape->stride_y;
    w.terms = shape->terms;
    w.row_quads = shape->row_quads;
    w.y = first_row / shape->stride_y;
    w.residue = first_row % shape->stride_y;
    w.first = shape->pad_x / shape->stride_x - shape->residue_taps + 1;
    w.next_tile = shape->tile_columns / shape->stride_x;
    w.load_vectors = shape->load_vectors;
    w.loads = shape->vectors / shape->load_vectors;
    w.next_load = shape->load_vectors * shape->vector_columns / shape->stride_x;
    find_residues(shape, &w.residues);
    for (int64_t i = 0; i < shape->load_vectors * shape->row_quads; i++) {
        find_transposed(shape, i / shape->row_quads, i % shape->row_quads, &w.index[i]);
    }
    if (shape->vectors == 1) {
        transposed_1(&w, call);
    } else if (shape->vectors == 2) {
        transposed_2(&w, call);
    } else {
        transposed_4(&w, call);
    }
}
