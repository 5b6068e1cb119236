/*
 * depthwise_permuted_whole.inc.h: whole of depthwise_permuted.inc.h, after it.
 *
 * An image of at most 63 bytes and its at most 64 outputs: the quads are of four taps that follow
 * each other in the kernel, whatever their rows. Output o is lane o % 16 of vector o / 16;
 * where codes are stored, lane (o / 16) * 4 + o % 4 of vector o / 4 % 4, so that packing brings the
 * outputs in order.
 */

/* What a lane's output reads: its first tap's row and column, and its byte. */
typedef struct whole_outputs {
    bytes y, x, at;
} whole_outputs;

/* 16 bits of each of the lower or upper 32 of 64 bytes. */
GOPS_INLINE bytes widened(bytes x, bool upper)
{
    return _mm512_cvtepu8_epi16(upper ? _mm512_extracti64x4_epi64(x, 1)
                                      : _mm512_castsi512_si256(x));
}

GOPS_INLINE bytes narrowed(bytes lower, bytes upper)
{
    return _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi16_epi8(lower)),
                              _mm512_cvtepi16_epi8(upper), 1);
}

/* Of vector v. The division of o < 64 by the columns, at most 64, is exact: the reciprocal's error
 * is below 2^-16. */
static whole_outputs whole_outputs_of(const gops_permuted_shape *shape, bool codes, int v)
{
    bytes y[2], x[2], at[2];
    const bytes lanes =
        codes ? _mm512_setr_epi32(0, 1, 2, 3, 16, 17, 18, 19, 32, 33, 34, 35, 48, 49, 50, 51)
              : _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    /* Of each lane of vector 0, four times. */
    const bytes first = _mm512_mullo_epi32(lanes, _mm512_set1_epi32(0x01010101));
    const bytes outputs = _mm512_add_epi8(first, _mm512_set1_epi8((char)((codes ? 4 : 16) * v)));
    const bytes reciprocal =
        _mm512_set1_epi16((int16_t)(UINT16_MAX / shape->columns + (shape->columns > 1)));
    const bytes columns = _mm512_set1_epi16((int16_t)shape->columns);
    const bytes width = _mm512_set1_epi16((int16_t)shape->width);
    for (int half = 0; half < 2; half++) {
        const bytes o = widened(outputs, half != 0);
        const bytes row = shape->columns > 1 ? _mm512_mulhi_epu16(o, reciprocal) : o;
        const bytes column = _mm512_sub_epi16(o, _mm512_mullo_epi16(row, columns));
        const bytes step_y = _mm512_set1_epi16((int16_t)shape->stride_y);
        const bytes step_x = _mm512_set1_epi16((int16_t)shape->stride_x);
        y[half] = _mm512_sub_epi16(_mm512_mullo_epi16(row, step_y),
                                   _mm512_set1_epi16((int16_t)shape->pad_y));
        x[half] = _mm512_sub_epi16(_mm512_mullo_epi16(column, step_x),
                                   _mm512_set1_epi16((int16_t)shape->pad_x));
        at[half] = _mm512_add_epi16(_mm512_mullo_epi16(y[half], width), x[half]);
    }
    return (whole_outputs){narrowed(y[0], y[1]), narrowed(x[0], x[1]), narrowed(at[0], at[1])};
}

/* The distances of the four taps of a quad from the first tap of the kernel: rows, columns, and
 * bytes; rows that no image has where there is no tap. */
typedef struct whole_taps {
    int32_t y, x, at;
} whole_taps;

/* Those of the next quad; `row` and `column` are its first tap's, and those of the next one. */
static whole_taps next_whole_taps(const gops_permuted_shape *shape, int64_t *row, int64_t *column)
{
    uint32_t y = 0, x = 0, at = 0;
    for (int t = 0; t < 32; t += 8) {
        const int64_t down = *row * shape->dilation_y, right = *column * shape->dilation_x;
        y |= (uint32_t)(uint8_t)(*row < shape->kernel_y ? down : 127) << t;
        x |= (uint32_t)(uint8_t)right << t;
        at |= (uint32_t)(uint8_t)(down * shape->width + right) << t;
        if (++*column == shape->kernel_x) {
            *column = 0;
            ++*row;
        }
    }
    return (whole_taps){(int32_t)y, (int32_t)x, (int32_t)at};
}

/* index[quad * 4 + v] are the bytes of a quad of vector v; the last byte where it reads padding. */
static void whole_index(const gops_permuted_shape *shape, bool codes, bytes *index)
{
    const bytes height = _mm512_set1_epi8((char)shape->height);
    const bytes width = _mm512_set1_epi8((char)shape->width);
    const bytes last = _mm512_set1_epi8(63);
    whole_outputs outputs[4];
    int64_t row = 0, column = 0;
    for (int v = 0; v < 4; v++) {
        outputs[v] = whole_outputs_of(shape, codes, v);
    }
    for (int64_t quad = 0; quad < shape->whole_quads; quad++) {
        const whole_taps taps = next_whole_taps(shape, &row, &column);
        for (int v = 0; v < 4; v++) {
            const bytes y = _mm512_add_epi8(outputs[v].y, _mm512_set1_epi32(taps.y));
            const bytes x = _mm512_add_epi8(outputs[v].x, _mm512_set1_epi32(taps.x));
            const bytes at = _mm512_add_epi8(outputs[v].at, _mm512_set1_epi32(taps.at));
            const __mmask64 inside =
                _mm512_cmplt_epu8_mask(y, height) & _mm512_cmplt_epu8_mask(x, width);
            *index++ = _mm512_mask_blend_epi8(inside, last, at);
        }
    }
}

/* Adds one part of the weights; QUADS is how many there are, or 0 for any number. */
GOPS_INLINE void add_whole(const setting *at, bytes data, const int32_t *weights,
                           const bytes *index, bytes *sums, const int QUADS)
{
    const int64_t quads = QUADS != 0 ? QUADS : at->shape->whole_quads;
    for (int64_t quad = 0; quad < quads; quad++) {
        bytes weight = _mm512_set1_epi32(weights[quad]);
        GOPS_IN_REGISTER(weight);
        GOPS_UNROLL
        for (int v = 0; v < 4; v++) {
            const bytes of_taps = _mm512_permutexvar_epi8(index[quad * 4 + v], data);
            sums[v] = add_products(sums[v], of_taps, weight);
        }
    }
}

/* The sums of a filter. */
GOPS_INLINE void whole_sums(const setting *at, const permuted_filter *filter, uint64_t inside,
                            const bytes *index, bytes *sums, const int QUADS)
{
    const bytes start = start_of(filter);
    const bytes data = load_bytes(at, filter->data, inside);
    GOPS_UNROLL
    for (int v = 0; v < 4; v++) {
        sums[v] = start;
    }
    if (QUADS != 0) {
        add_whole(at, data, filter->weights, index, sums, QUADS);
        return;
    }
    for (int part = 0; part < parts_of(filter); part++) {
        add_whole(at, data, filter->weights + part * at->shape->whole_quads, index, sums, 0);
    }
}

static inline void store_whole_sums(int32_t *to, int64_t outputs, const bytes *sums)
{
    GOPS_UNROLL
    for (int v = 0; v < 4; v++) {
        const __mmask16 mask = (__mmask16)first_bits(gops_clamp(outputs - v * 16, 0, 16));
        _mm512_mask_storeu_epi32(to + v * 16, mask, sums[v]);
    }
}

/* All filters of a call, of one part where QUADS is not 0. */
GOPS_INLINE void whole_filters(const setting *at, const gops_permuted_call *call,
                               const bytes *index, const int QUADS, const bool CODES)
{
    const int64_t count = call->count;
    const uint64_t inside = first_bits(at->shape->height * at->shape->width);
    const int64_t outputs = at->shape->rows * at->shape->columns;
    const uint64_t stored = first_bits(outputs);
    permuted_filters filters;
    permuted_filter filter = begin_filters(&filters, call, true);
    for (; filter.number < count; next_filter(&filter)) {
        bytes sums[4];
        whole_sums(at, &filter, inside, index, sums, QUADS);
        if (!CODES) {
            store_whole_sums((int32_t *)(void *)filter.output, outputs, sums);
            continue;
        }
        round_sums(&filter, sums);
        _mm512_mask_storeu_epi8(filter.output, stored, pack_codes(at, sums));
    }
}

GOPS_INLINE void whole_quads(const setting *at, const gops_permuted_call *call, const bytes *index,
                             const bool CODES)
{
    if (at->shape->whole_quads == 3 && !call->several_parts) {
        whole_filters(at, call, index, 3, CODES);
    } else if (at->shape->whole_quads == 7 && !call->several_parts) {
        whole_filters(at, call, index, 7, CODES);
    } else {
        whole_filters(at, call, index, 0, CODES);
    }
}

static void whole(const setting *at, const gops_permuted_call *call)
{
    bytes index[GOPS_PERMUTED_WHOLE_QUADS * 4];
    whole_index(at->shape, call->codes, index);
    if (call->codes) {
        whole_quads(at, call, index, true);
    } else {
        whole_quads(at, call, index, false);
    }
}
