/*
 * depthwise_permuted_joined.inc.h: joined of depthwise_permuted.inc.h, after it.
 *
 * Rows of outputs are at most half as long as a vector: a vector has vector_rows of them, and four
 * vectors a group of rows that follow each other. A load begins with a row of data and has all that
 * one row of taps reads for a vector; the quads of all vectors and rows of taps are at the same
 * bytes of it.
 */

/* The permutation to a quad of the row of taps `down` rows of data below the first one of a load; the last byte
 * where it reads padding. Lane l is output l % columns of row l / columns, whose reciprocal is exact enough
 * for 16 lanes. */
static bool find_joined(const gops_permuted_shape *shape, int64_t down, int64_t quad,
                        permutation *to)
{
    const bytes lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const int32_t columns = (int32_t)shape->columns;
    const int64_t tap = quad * GOPS_PERMUTED_QUAD;
    const bytes row = _mm512_srli_epi32(
        _mm512_mullo_epi32(lanes, _mm512_set1_epi32((1 << 16) / columns + 1)), 16);
    const bytes column =
        _mm512_sub_epi32(lanes, _mm512_mullo_epi32(row, _mm512_set1_epi32(columns)));
    const bytes first = _mm512_add_epi32(
        _mm512_mullo_epi32(row, _mm512_set1_epi32((int32_t)(shape->stride_y * shape->width))),
        _mm512_set1_epi32((int32_t)(down * shape->width)));
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
    return find_permutation(if_needed(index, shape->vector_rows * shape->columns, taps), to);
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

/* Adds a row of taps. */
GOPS_INLINE void add_joined_row(const setting *at, const uint8_t *from, const int32_t *weights,
                                const permutation *index, const joined_load *load, bytes *sums)
{
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
    for (int64_t q = 0; q < at->shape->row_quads; q++) {
        bytes weight = _mm512_set1_epi32(weights[q]);
        GOPS_IN_REGISTER(weight);
        GOPS_UNROLL
        for (int v = 0; v < 4; v++) {
            sums[v] = add_products(sums[v], permuted(&index[q], data[v]), weight);
        }
    }
}

/* Adds one part of the weights. */
GOPS_INLINE void add_joined(const setting *at, const uint8_t *from, const int32_t *weights,
                            const permutation *index, const joined_load *load, bytes *sums)
{
    for (int64_t ky = 0; ky < at->shape->kernel_y; ky++, load += 4) {
        add_joined_row(at, from, weights, index, load, sums);
        weights += at->shape->row_quads;
    }
}

/* The sums of a group. */
GOPS_INLINE void joined_sums(const setting *at, const permuted_filter *filter,
                             const permutation *index, const joined_load *loads, bytes *sums)
{
    const gops_permuted_shape *shape = at->shape;
    const bytes start = start_of(filter);
    const int32_t *weights = filter->weights;
    GOPS_UNROLL
    for (int v = 0; v < 4; v++) {
        sums[v] = start;
    }
    for (int part = 0; part < parts_of(filter); part++) {
        add_joined(at, filter->data, weights, index, loads, sums);
        weights += shape->kernel_y * shape->row_quads;
    }
}

/* How many filters, from the first on, may load the inner vectors without their own masks: those behind whose
 * data enough bytes of the call's data follow. */
static int64_t inner_filters(const gops_permuted_shape *shape, const gops_permuted_call *call)
{
    const int64_t size = shape->height * shape->width;
    const int64_t groups = (call->first_in_group + call->count - 1) / call->channels_out + 1;
    const int64_t last = (call->first_row + (int64_t)2 * shape->vector_rows) * shape->stride_y -
                         shape->pad_y + (shape->kernel_y - 1) * shape->dilation_y;
    const int64_t end = gops_max(size, last * shape->width + GOPS_PERMUTED_REGISTER);
    const int64_t inner = gops_max(0, groups - gops_ceil_div(end - size, call->data_step));
    return gops_clamp(inner * call->channels_out - call->first_in_group, 0, call->count);
}

/* Its sums, with weights of one part. */
GOPS_INLINE void one_group_sums(const setting *at, const permuted_filter *filter,
                                const permutation *index, const joined_load *load,
                                int64_t next_vector, int64_t next_load, bytes *sums, const int KY,
                                const int QX)
{
    const int32_t *weights = filter->weights;
    const __mmask64 usual = first_bits(GOPS_PERMUTED_REGISTER - 1);
    const uint8_t *from = filter->data + load->first;
    GOPS_UNROLL
    for (int v = 0; v < 4; v++) {
        sums[v] = start_of(filter);
    }
    GOPS_UNROLL
    for (int ky = 0; ky < KY; ky += GOPS_PERMUTED_TAP_ROWS) {
        bytes data[4];
        GOPS_UNROLL
        for (int v = 0; v < 4; v++) {
            data[v] =
                load_bytes(at, from + v * next_vector, v % 3 == 0 ? load[4 * ky + v].mask : usual);
        }
        from += next_load;
        GOPS_UNROLL
        for (int i = 0; i < GOPS_PERMUTED_TAP_ROWS * QX; i++) {
            if (ky * QX + i < KY * QX) {
                bytes weight = _mm512_set1_epi32(weights[ky * QX + i]);
                GOPS_IN_REGISTER(weight);
                GOPS_UNROLL
                for (int v = 0; v < 4; v++) {
                    sums[v] = add_products(sums[v], permuted(&index[i], data[v]), weight);
                }
            }
        }
    }
}

/* Stores a group of codes; `all` and `masks` are those of store_codes. */
GOPS_INLINE void store_joined_codes(const setting *at, const permuted_filter *filter, int64_t first,
                                    uint64_t all, const __mmask16 *masks, bytes *sums)
{
    const gops_permuted_shape *shape = at->shape;
    round_sums(filter, sums);
    store_codes(at, 0, shape->vector_rows * shape->columns, filter->output + first * shape->columns,
                1, all, masks, pack_codes(at, sums), 4);
}

/* The next filters, up to number `end`, whose outputs are one group. `index` has the permutations to a row
 * of quads, and to the one below it. */
GOPS_INLINE void one_group(const setting *at, const gops_permuted_call *call,
                           permuted_filter *filter, int64_t end, const permutation *index,
                           const joined_load *load, const int KY, const int QX)
{
    const gops_permuted_shape *shape = at->shape;
    const int64_t outputs = call->rows * shape->columns;
    const int64_t next_vector = shape->vector_rows * shape->stride_y * shape->width;
    const int64_t next_load = GOPS_PERMUTED_TAP_ROWS * shape->dilation_y * shape->width;
    const uint64_t all = first_bits(outputs);
    __mmask16 masks[4];
    vector_masks(outputs, shape->vector_rows * shape->columns, masks, 4);
    for (; filter->number < end; next_filter(filter)) {
        bytes sums[4];
        one_group_sums(at, filter, index, load, next_vector, next_load, sums, KY, QX);
        store_joined_codes(at, filter, 0, all, masks, sums);
    }
}

/* All of a filter. */
GOPS_INLINE void joined_filter(const setting *at, const gops_permuted_call *call,
                               const permuted_filter *filter, const permutation *index,
                               const joined_load *load, const bool CODES)
{
    const gops_permuted_shape *shape = at->shape;
    const int64_t step = (int64_t)4 * shape->vector_rows, columns = shape->columns;
    for (int64_t first = 0; first < call->rows; first += step, load += 4 * shape->kernel_y) {
        const int64_t rows = gops_min(step, call->rows - first);
        bytes sums[4];
        joined_sums(at, filter, index, load, sums);
        if (CODES) {
            __mmask16 masks[4];
            vector_masks(rows * columns, shape->vector_rows * columns, masks, 4);
            store_joined_codes(at, filter, first, first_bits(rows * columns), masks, sums);
        } else {
            store_joined_sums(shape, (int32_t *)(void *)filter->output + first * columns, rows,
                              sums);
        }
    }
}

static void joined(const setting *at, const gops_permuted_call *call)
{
    const gops_permuted_shape *shape = at->shape;
    const int64_t quads = shape->row_quads;
    bool one = call->codes && !call->several_parts &&
               gops_permuted_is_one_group(shape, call->first_row, call->rows);
    permutation index[GOPS_PERMUTED_TAP_ROWS * GOPS_PERMUTED_ROW_QUADS];
    joined_load loads[GOPS_PERMUTED_MASKS];
    permuted_filters filters;
    permuted_filter filter = begin_filters(&filters, call, false);
    for (int64_t q = 0; q < (one ? GOPS_PERMUTED_TAP_ROWS : 1) * quads; q++) {
        one = find_joined(shape, q / quads * shape->dilation_y, q % quads, &index[q]) && one;
    }
    joined_loads(shape, call, loads);
    if (one && shape->kernel_y == 3 && quads == 1) {
        one_group(at, call, &filter, inner_filters(shape, call), index, loads, 3, 1);
    } else if (one && shape->kernel_y == 5 && quads == 2) {
        one_group(at, call, &filter, inner_filters(shape, call), index, loads, 5, 2);
    }
    for (; filter.number < call->count; next_filter(&filter)) {
        if (call->codes) {
            joined_filter(at, call, &filter, index, loads, true);
        } else {
            joined_filter(at, call, &filter, index, loads, false);
        }
    }
}
