/*
 * depthwise_permuted_joined.inc.h: joined of depthwise_permuted.inc.h, after it.
 *
 * Rows of outputs are at most half as long as a vector: a vector has vector_rows of them, and four
 * vectors a group of rows that follow each other. A load begins with a row of data and has all that
 * one row of taps reads for a vector; the quads of all vectors and rows of taps are at the same
 * places in it.
 */

/* The places of a quad; the last byte where it reads padding. Lane l is output l % columns of row
 * l / columns, whose reciprocal is exact enough for 16 lanes. */
static bool find_joined(const gops_permuted_shape *shape, int64_t quad, places *to)
{
    const bytes lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const int32_t columns = (int32_t)shape->columns;
    const int64_t tap = quad * GOPS_PERMUTED_QUAD;
    const bytes row = _mm512_srli_epi32(
        _mm512_mullo_epi32(lanes, _mm512_set1_epi32((1 << 16) / columns + 1)), 16);
    const bytes column =
        _mm512_sub_epi32(lanes, _mm512_mullo_epi32(row, _mm512_set1_epi32(columns)));
    const bytes first =
        _mm512_mullo_epi32(row, _mm512_set1_epi32((int32_t)(shape->stride_y * shape->width)));
    const bytes last = _mm512_set1_epi32(63), width = _mm512_set1_epi32((int32_t)shape->width);
    bytes x =
        _mm512_add_epi32(_mm512_mullo_epi32(column, _mm512_set1_epi32((int32_t)shape->stride_x)),
                         _mm512_set1_epi32((int32_t)(tap * shape->dilation_x - shape->pad_x)));
    bytes index = _mm512_setzero_si512();
    for (int t = 0; t < GOPS_PERMUTED_QUAD; t++) {
        const bytes at = _mm512_mask_add_epi32(last, _mm512_cmplt_epu32_mask(x, width), first, x);
        index = _mm512_or_si512(index, _mm512_sll_epi32(at, _mm_cvtsi32_si128(8 * t)));
        x = _mm512_add_epi32(x, _mm512_set1_epi32((int32_t)shape->dilation_x));
    }
    const int64_t taps = gops_min(GOPS_PERMUTED_QUAD, shape->kernel_x - tap);
    return find_places(if_needed(index, shape->vector_rows * shape->columns, taps), to);
}

/* Where in the data of a filter a load begins, and the mask of what is data there. */
typedef struct joined_load {
    int64_t first;
    uint64_t mask;
} joined_load;

/* [groups, kernel_y, 4]. */
static void joined_loads(const gops_permuted_shape *shape, const gops_permuted_call *call,
                         joined_load *loads)
{
    const int64_t size = shape->height * shape->width;
    const int64_t step = (int64_t)shape->vector_rows * shape->stride_y;
    int64_t top = call->first_row * shape->stride_y - shape->pad_y;
    for (int64_t row = 0; row < call->rows; row += (int64_t)4 * shape->vector_rows) {
        for (int64_t ky = 0; ky < shape->kernel_y; ky++) {
            for (int64_t v = 0; v < 4; v++) {
                const int64_t y = top + v * step + ky * shape->dilation_y;
                const int64_t first = y * shape->width;
                const int64_t begin = gops_clamp(-first, 0, 63);
                const int64_t end = gops_clamp(size - first, begin, 63);
                *loads++ = (joined_load){first, first_bits(end) & ~first_bits(begin)};
            }
        }
        top += 4 * step;
    }
}

/* Stores `rows` rows of sums. */
static inline void store_joined_sums(const gops_permuted_shape *shape, int32_t *to, int64_t rows,
                                     const bytes *sums)
{
    for (int v = 0; v < 4; v++) {
        const int64_t count = gops_clamp(rows - v * shape->vector_rows, 0, shape->vector_rows);
        const int64_t first = (int64_t)v * shape->vector_rows * shape->columns;
        if (count > 0) {
            _mm512_mask_storeu_epi32(to + first, (__mmask16)first_bits(count * shape->columns),
                                     sums[v]);
        }
    }
}

/* Adds a row of taps; QX is the number of quads, or 0 for any. */
GOPS_INLINE void add_joined_row(const setting *at, const uint8_t *from, const int32_t *weights,
                                const places *index, const joined_load *load, bytes *sums,
                                const int QX)
{
    const int64_t quads = QX != 0 ? QX : at->shape->row_quads;
    bytes data[4];
    GOPS_UNROLL
    for (int v = 0; v < 4; v++) {
        data[v] = _mm512_mask_loadu_epi8(at->zero, load[v].mask, from + load[v].first);
    }
    if (at->flips) {
        GOPS_UNROLL
        for (int v = 0; v < 4; v++) {
            data[v] = _mm512_xor_si512(data[v], at->flip);
        }
    }
    for (int64_t q = 0; q < quads; q++) {
        bytes weight = _mm512_set1_epi32(weights[q]);
        GOPS_IN_REGISTER(weight);
        GOPS_UNROLL
        for (int v = 0; v < 4; v++) {
            sums[v] = add_products(sums[v], permuted(&index[q], data[v]), weight);
        }
    }
}

/* Adds one part of the weights; KY is the number of rows of taps, or 0 for any. */
GOPS_INLINE void add_joined(const setting *at, const uint8_t *from, const int32_t *weights,
                            const places *index, const joined_load *load, bytes *sums, const int KY,
                            const int QX)
{
    const int64_t rows = KY != 0 ? KY : at->shape->kernel_y;
    const int64_t quads = QX != 0 ? QX : at->shape->row_quads;
    for (int64_t ky = 0; ky < rows; ky++, load += 4, weights += quads) {
        add_joined_row(at, from, weights, index, load, sums, QX);
    }
}

/* The sums of a group. */
GOPS_INLINE void joined_sums(const setting *at, const permuted_filter *filter, const places *index,
                             const joined_load *loads, bytes *sums, const int KY, const int QX)
{
    const gops_permuted_shape *shape = at->shape;
    const bytes start = _mm512_set1_epi32((int32_t)filter->start);
    const int32_t *weights = filter->row_weights;
    GOPS_UNROLL
    for (int v = 0; v < 4; v++) {
        sums[v] = start;
    }
    if (filter->parts == 1) {
        add_joined(at, filter->data, weights, index, loads, sums, KY, QX);
        return;
    }
    for (int part = 0; part < filter->parts; part++) {
        add_joined(at, filter->data, weights, index, loads, sums, 0, 0);
        weights += shape->kernel_y * shape->row_quads;
    }
}

/* All filters of a call. */
GOPS_INLINE void joined_filters(const setting *at, const gops_permuted_call *call,
                                const places *index, const joined_load *loads, const bool CODES,
                                const int KY, const int QX)
{
    /* Copies: what is stored cannot change them. */
    const gops_permuted_call own = *call;
    const setting settings = *at;
    const int64_t columns = at->shape->columns, kernel_y = at->shape->kernel_y;
    const int64_t step = (int64_t)4 * at->shape->vector_rows;
    const int64_t vector = at->shape->vector_rows * columns;
    for (int64_t i = 0; i < own.count; i++) {
        const permuted_filter filter = filter_of(&own, i);
        const __m512 scale = _mm512_set1_ps(filter.scale);
        const joined_load *load = loads;
        for (int64_t first = 0; first < own.rows; first += step, load += 4 * kernel_y) {
            const int64_t rows = gops_min(step, own.rows - first);
            bytes sums[4];
            joined_sums(&settings, &filter, index, load, sums, KY, QX);
            if (!CODES) {
                store_joined_sums(at->shape, (int32_t *)(void *)filter.output + first * columns,
                                  rows, sums);
                continue;
            }
            GOPS_UNROLL
            for (int v = 0; v < 4; v++) {
                sums[v] = rounded(sums[v], scale);
            }
            __mmask16 masks[4];
            vector_masks(rows * columns, vector, masks, 4);
            store_codes(&settings, 0, vector, filter.output + first * columns, 1,
                        first_bits(rows * columns), masks, pack_codes(&settings, sums), 4);
        }
    }
}

static void joined(const setting *at, const gops_permuted_call *call)
{
    const gops_permuted_shape *shape = at->shape;
    const bool codes = call->codes;
    places index[GOPS_PERMUTED_ROW_QUADS];
    joined_load loads[GOPS_PERMUTED_MASKS];
    for (int64_t q = 0; q < shape->row_quads; q++) {
        find_joined(shape, q, &index[q]);
    }
    joined_loads(shape, call, loads);
    if (codes && shape->kernel_y == 3 && shape->row_quads == 1) {
        joined_filters(at, call, index, loads, true, 3, 1);
    } else if (codes && shape->kernel_y == 5 && shape->row_quads == 2) {
        joined_filters(at, call, index, loads, true, 5, 2);
    } else if (codes) {
        joined_filters(at, call, index, loads, true, 0, 0);
    } else {
        joined_filters(at, call, index, loads, false, 0, 0);
    }
}
