/*
 * depthwise_permuted_whole.inc.h: whole of depthwise_permuted.inc.h, after it.
 *
 * An image of at most 63 bytes and its at most 64 outputs: the quads are of four taps that follow
 * each other in the kernel, whatever their rows. Output o is lane (o / 16) * 4 + o % 4 of vector
 * o / 4 % 4, so that packing brings the outputs in order.
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
static whole_outputs whole_outputs_of(const gops_permuted_shape *shape, int v)
{
    uint8_t output[64];
    bytes y[2], x[2], at[2];
    for (int i = 0; i < 64; i++) {
        output[i] = (uint8_t)(i / 16 * 16 + v * 4 + i / 4 % 4);
    }
    const bytes outputs = _mm512_loadu_si512(output);
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

static whole_taps whole_taps_of(const gops_permuted_shape *shape, int64_t quad)
{
    uint8_t y[4], x[4], at[4];
    whole_taps taps;
    for (int64_t t = 0; t < 4; t++) {
        const int64_t tap = quad * 4 + t, row = tap / shape->kernel_x * shape->dilation_y;
        const int64_t column = tap % shape->kernel_x * shape->dilation_x;
        const bool any = tap < shape->kernel_y * shape->kernel_x;
        y[t] = (uint8_t)(any ? row : 127);
        x[t] = (uint8_t)column;
        at[t] = (uint8_t)(row * shape->width + column);
    }
    memcpy(&taps.y, y, sizeof y);
    memcpy(&taps.x, x, sizeof x);
    memcpy(&taps.at, at, sizeof at);
    return taps;
}

/* index[quad * 4 + v] are the bytes of a quad of vector v; the last byte where it reads padding. */
static void whole_index(const gops_permuted_shape *shape, bytes *index)
{
    const bytes height = _mm512_set1_epi8((char)shape->height);
    const bytes width = _mm512_set1_epi8((char)shape->width);
    const bytes last = _mm512_set1_epi8(63);
    whole_outputs outputs[4];
    for (int v = 0; v < 4; v++) {
        outputs[v] = whole_outputs_of(shape, v);
    }
    for (int64_t quad = 0; quad < shape->whole_quads; quad++) {
        const whole_taps taps = whole_taps_of(shape, quad);
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

/* A filter; QUADS is how many there are, or 0 for any number. */
GOPS_INLINE void whole_filter(const setting *at, const gops_permuted_filter *filter,
                              const bytes *index, const int QUADS)
{
    const gops_permuted_shape *shape = at->shape;
    const int64_t quads = QUADS != 0 ? QUADS : shape->whole_quads;
    const int64_t outputs = shape->rows * shape->columns;
    const rounding by = rounding_of(filter);
    const bytes start = _mm512_set1_epi32((int32_t)filter->start);
    const bytes data = load_bytes(at, filter->data, first_bits(shape->height * shape->width));
    const int32_t *weights = filter->whole_weights;
    bytes sums[4] = {start, start, start, start};
    for (int part = 0; part < filter->parts; part++) {
        for (int64_t quad = 0; quad < quads; quad++) {
            const bytes weight = _mm512_set1_epi32(*weights++);
            GOPS_UNROLL
            for (int v = 0; v < 4; v++) {
                const bytes of_taps = _mm512_permutexvar_epi8(index[quad * 4 + v], data);
                sums[v] = add_products(sums[v], of_taps, weight);
            }
        }
    }
    if (!filter->codes) {
        int32_t *output = filter->output;
        for (int v = 0; v < 4; v++) {
            for (int64_t i = 0; i < 4; i++) {
                const int64_t first = i * 16 + v * 4;
                const unsigned mask = (unsigned)first_bits(gops_clamp(outputs - first, 0, 4));
                /* Lanes 4 i to 4 i + 3 are outputs `first` to first + 3. */
                _mm512_mask_storeu_epi32(output + first - i * 4, (__mmask16)(mask << (i * 4)),
                                         sums[v]);
            }
        }
        return;
    }
    GOPS_UNROLL
    for (int v = 0; v < 4; v++) {
        sums[v] = rounded(&by, sums[v]);
    }
    _mm512_mask_storeu_epi8(filter->output, first_bits(outputs),
                            pack_codes(&by, at->output_flip, sums));
}

static void whole(const setting *at, const gops_permuted_call *call)
{
    bytes index[GOPS_PERMUTED_WHOLE_QUADS * 4];
    whole_index(at->shape, index);
    for (int64_t i = 0; i < call->count; i++) {
        if (at->shape->whole_quads == 3) {
            whole_filter(at, &call->filters[i], index, 3);
        } else {
            whole_filter(at, &call->filters[i], index, 0);
        }
    }
}
