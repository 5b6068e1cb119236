/*
 * depthwise_permuted.inc.h: depthwise convolutions of 8 bits of the image where it lies, four taps
 * to a lane.
 *
 * A lane of 32 bits holds the data of four neighbouring taps of one output, a quad, and vpdpbusd
 * multiplies it by the four weights. 64 bytes of a row have the quads of 16 outputs and more; one
 * permutation of bytes (VBMI) picks them, or one of words and one of the bytes in each 16. A row of
 * the kernel is row_quads quads; weights that it does not fill are 0, so the bytes they meet do not
 * matter.
 *
 * Masks leave out bytes beyond the image when a row is loaded: they become the data's zero point,
 * for which padding stands, and no memory is touched there.
 *
 * Four vectors of sums become 64 bytes: float, scale, round, and packing with saturation. Sums are
 * exact, and a scale below 1 keeps them in 32 bits, so the order of clamping and rounding does not
 * matter: the bounds are integers.
 *
 * - general: any kernel and stride; each vector of a row of taps is loaded by itself.
 * - rolling: a row of data is loaded and permuted once and adds to all rows of outputs that read
 *   it, which wait in registers. In narrow images one load takes several rows; then the last byte
 *   of the register stands for the padding at both ends of a row.
 * - joined: one load has the data of a row of taps for several rows of outputs, which share a
 *   vector; the last byte of the register stands for the padding at the ends of a row.
 * - whole: the image is loaded into one register, and the quads are of any taps.
 * - transposed: see depthwise_permuted_transposed.inc.h.
 */

#include "methods/depthwise/permuted/depthwise_permuted_filters.inc.h"

/* The same for all filters of a call. */
typedef struct setting {
    const gops_permuted_shape *shape;
    bytes zero, flip; /* of the data; see gops_permuted_call */
    bytes order;
    bytes middle, low, high, output_flip; /* of codes; middle is their zero point, as i16 */
    bool flips, shifts, bounds;           /* `flip`, `middle`, or low to output_flip, do anything */
    bool codes;                           /* gops_permuted_call.codes */
} setting;

/* The bytes inside the image, of 64 whose first one is column x. */
static inline uint64_t columns_within(int64_t x, int64_t width)
{
    if (x <= -64 || x >= width) {
        return 0;
    }
    const uint64_t mask = first_bits(width - x);
    return x < 0 ? mask >> -x << -x : mask;
}

/* 64 bytes as u8. To leave out an instruction is worth a branch, which is always the same. */
GOPS_INLINE bytes load_bytes(const setting *at, const uint8_t *from, uint64_t mask)
{
    const bytes data = _mm512_mask_loadu_epi8(at->zero, mask, from);
    return at->flips ? _mm512_xor_si512(data, at->flip) : data;
}

/* A permutation of bytes: without VBMI of words first, four for each 16 bytes, then of the bytes of
 * these. */
#ifdef __AVX512VBMI__
typedef bytes permutation;

GOPS_INLINE bytes permuted(const permutation *from, bytes data)
{
    return _mm512_permutexvar_epi8(*from, data);
}
#else
typedef struct permutation {
    bytes words, inner;
} permutation;

GOPS_INLINE bytes permuted(const permutation *from, bytes data)
{
    return _mm512_shuffle_epi8(_mm512_permutexvar_epi32(from->words, data), from->inner);
}
#endif

/* An index whose byte does not matter. */
enum { ANY = 0xff };

#ifndef __AVX512VBMI__
/* The number of bits of each of the two lowest bytes of a lane, added. */
GOPS_INLINE bytes bits_of(bytes x)
{
    const bytes nibble = _mm512_set1_epi8(15);
    const bytes count =
        _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
    const bytes of_bytes = _mm512_add_epi8(
        _mm512_shuffle_epi8(count, _mm512_and_si512(x, nibble)),
        _mm512_shuffle_epi8(count, _mm512_and_si512(_mm512_srli_epi32(x, 4), nibble)));
    return _mm512_and_si512(_mm512_add_epi32(of_bytes, _mm512_srli_epi32(of_bytes, 8)),
                            _mm512_set1_epi32(0xff));
}

/* As find_permutation. The four bytes of a lane come from four words of 16 that there are; `used`
 * has a bit for each that the four lanes of 16 bytes take, and the first four such words go there,
 * in their order. */
static inline bool find_words(bytes index, permutation *to)
{
    const bytes one = _mm512_set1_epi32(1), byte = _mm512_set1_epi32(0xff);
    bytes bits[4], used = _mm512_setzero_si512(), inner = used;
    for (int t = 0; t < 4; t++) {
        const bytes from =
            _mm512_and_si512(_mm512_srl_epi32(index, _mm_cvtsi32_si128(8 * t)), byte);
        bits[t] = _mm512_maskz_sllv_epi32(_mm512_cmpneq_epi32_mask(from, byte), one,
                                          _mm512_srli_epi32(from, 2));
        used = _mm512_or_si512(used, bits[t]);
    }
    used = _mm512_or_si512(used, _mm512_shuffle_epi32(used, _MM_PERM_BADC));
    used = _mm512_or_si512(used, _mm512_shuffle_epi32(used, _MM_PERM_CDAB));
    for (int t = 0; t < 4; t++) {
        const bytes before =
            _mm512_maskz_sub_epi32(_mm512_test_epi32_mask(bits[t], bits[t]), bits[t], one);
        const bytes rank = bits_of(_mm512_and_si512(used, before));
        inner = _mm512_or_si512(
            inner, _mm512_sll_epi32(_mm512_slli_epi32(rank, 2), _mm_cvtsi32_si128(8 * t)));
    }
    to->inner = _mm512_or_si512(inner, _mm512_and_si512(index, _mm512_set1_epi8(3)));
    bytes left = used;
    for (int n = 1; n < 4; n++) {
        /* Lane n and the following ones of 16 bytes leave out one more. */
        left = _mm512_mask_and_epi32(left, (__mmask16)(0x1111 * (16 - (1 << n))), left,
                                     _mm512_sub_epi32(left, one));
    }
    const bytes first = _mm512_and_si512(left, _mm512_sub_epi32(_mm512_setzero_si512(), left));
    to->words = _mm512_sub_epi32(_mm512_set1_epi32(31), _mm512_lzcnt_epi32(first));
    return _mm512_cmpgt_epi32_mask(bits_of(used), _mm512_set1_epi32(4)) == 0;
}
#endif

/* The permutation whose byte i is byte index[i] of the data; false if there is none. */
static inline bool find_permutation(bytes index, permutation *to)
{
#ifdef __AVX512VBMI__
    *to = index;
    return true;
#else
    return find_words(index, to);
#endif
}

GOPS_INLINE bytes add_products(bytes sums, bytes data, bytes weights)
{
    return _mm512_dpbusd_epi32(sums, data, weights);
}

GOPS_INLINE bytes rounded(bytes sums, __m512 scale)
{
    return _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_cvtepi32_ps(sums), scale));
}

/* Rounds four vectors of sums. */
GOPS_INLINE void round_sums(const permuted_filter *filter, bytes *sums)
{
    GOPS_UNROLL
    for (int v = 0; v < 4; v++) {
        sums[v] = rounded(sums[v], scale_of(filter));
    }
}

/* Codes of four vectors that were rounded, in the order of gops_permuted_shape.order. */
GOPS_INLINE bytes pack_codes(const setting *at, const bytes *numbers)
{
    bytes first = _mm512_packs_epi32(numbers[0], numbers[1]);
    bytes second = _mm512_packs_epi32(numbers[2], numbers[3]);
    if (at->shifts) {
        first = _mm512_adds_epi16(first, at->middle);
        second = _mm512_adds_epi16(second, at->middle);
    }
    bytes codes = _mm512_packus_epi16(first, second);
    if (at->bounds) {
        codes = _mm512_min_epu8(_mm512_max_epu8(codes, at->low), at->high);
        codes = _mm512_xor_si512(codes, at->output_flip);
    }
    return codes;
}

/* Stores the sums of `rows` rows of `width` of the `columns`, a vector of which has
 * `vector_columns`, to `output`. */
GOPS_INLINE void store_sums(int64_t columns, int64_t vector_columns, void *output, int64_t rows,
                            int64_t width, const bytes *sums, const int NV)
{
    int32_t *to = output;
    GOPS_UNROLL
    for (int v = 0; v < 4; v++) {
        const int64_t x = v % NV * vector_columns;
        const int64_t count = v / NV < rows ? gops_clamp(width - x, 0, vector_columns) : 0;
        _mm512_mask_storeu_epi32(to + v / NV * columns + x, (__mmask16)first_bits(count), sums[v]);
    }
}

/* The masks of the vectors of a row of `width` outputs. */
GOPS_INLINE void vector_masks(int64_t width, int64_t vector_columns, __mmask16 *masks, const int NV)
{
    GOPS_UNROLL
    for (int v = 0; v < NV; v++) {
        masks[v] = (__mmask16)first_bits(gops_clamp(width - v * vector_columns, 0, vector_columns));
    }
}

/* Stores the codes of `rows` rows, likewise; `all` has as many bits as there are, `masks` are those
 * of vector_masks. */
GOPS_INLINE void store_codes(const setting *at, int64_t columns, int64_t vector_columns,
                             uint8_t *output, int64_t rows, uint64_t all, const __mmask16 *masks,
                             bytes codes, const int NV)
{
#ifdef __AVX512VBMI__
    (void)columns, (void)vector_columns, (void)rows, (void)masks, (void)NV;
    _mm512_mask_storeu_epi8(output, all, _mm512_permutexvar_epi8(at->order, codes));
#else
    const bytes vectors = gops_order_words(codes);
    const __m128i vector[] = {
        _mm512_castsi512_si128(vectors),
        _mm512_extracti32x4_epi32(vectors, 1),
        _mm512_extracti32x4_epi32(vectors, 2),
        _mm512_extracti32x4_epi32(vectors, 3),
    };
    (void)at, (void)all;
    GOPS_UNROLL
    for (int v = 0; v < 4; v++) {
        if (v / NV < rows) {
            _mm_mask_storeu_epi8(output + v / NV * columns + v % NV * vector_columns, masks[v % NV],
                                 vector[v]);
        }
    }
#endif
}

/* Makes outputs of four vectors of sums and stores them. */
GOPS_INLINE void store_group(const setting *at, const permuted_filter *filter, int64_t row,
                             int64_t column, int64_t rows, int64_t width, bytes *sums, const int NV)
{
    const int64_t first = row * at->shape->columns + column;
    if (!at->codes) {
        store_sums(at->shape->columns, at->shape->vector_columns,
                   (int32_t *)(void *)filter->output + first, rows, width, sums, NV);
        return;
    }
    round_sums(filter, sums);
    __mmask16 masks[4];
    vector_masks(width, at->shape->vector_columns, masks, NV);
    store_codes(at, at->shape->columns, at->shape->vector_columns, filter->output + first, rows,
                first_bits(rows * width), masks, pack_codes(at, sums), NV);
}

/* Byte t of lane l is first + l * step + t * distance, modulo 256 if all before it are less. */
static inline bytes quad_bytes(int64_t first, int64_t step, int64_t distance)
{
    const bytes lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const bytes steps = _mm512_mullo_epi32(lane, _mm512_set1_epi32((int32_t)step * 0x01010101));
    const bytes distances = _mm512_set1_epi32((int32_t)((uint32_t)distance * 0x03020100));
    return _mm512_add_epi8(_mm512_set1_epi8((char)first), _mm512_add_epi8(steps, distances));
}

/* ANY beyond so many lanes and bytes of them. */
static inline bytes if_needed(bytes index, int64_t lanes, int64_t taps)
{
    const uint64_t needed = first_bits(lanes * 4) & (first_bits(taps) * 0x1111111111111111);
    return _mm512_mask_blend_epi8(needed, _mm512_set1_epi8((char)ANY), index);
}

/* The quad that begins at `first` of each output of a vector. */
static inline bool find_quads(const gops_permuted_shape *shape, int64_t first, int64_t taps,
                              permutation *to)
{
    const bytes index = quad_bytes(first, shape->stride_x, shape->dilation_x);
    return find_permutation(if_needed(index, shape->vector_columns, taps), to);
}

/* Adds the taps of a filter to four vectors of sums of NV vectors a row; `top` and `first` are the
 * first row of data and its first byte, `masks` those of each quad and vector. */
GOPS_INLINE void add_taps(const setting *at, const permuted_filter *filter,
                          const permutation *index, int64_t top, const uint8_t *first,
                          const uint64_t *masks, bytes *sums, const int NV)
{
    const gops_permuted_shape *shape = at->shape;
    const int64_t step = shape->stride_y * shape->width;
    const int64_t vector = shape->vector_columns * shape->stride_x;
    const int64_t quad = GOPS_PERMUTED_QUAD * shape->dilation_x;
    const int32_t *weights = filter->weights;
    for (int part = 0; part < parts_of(filter); part++) {
        const uint8_t *row = first;
        int64_t y = top;
        for (int64_t ky = 0; ky < shape->kernel_y; ky++) {
            uint64_t inside[4];
            GOPS_UNROLL
            for (int r = 0; r < 4 / NV; r++) {
                const int64_t data_row = y + r * shape->stride_y;
                inside[r] = data_row >= 0 && data_row < shape->height ? UINT64_MAX : 0;
            }
            for (int64_t q = 0; q < shape->row_quads; q++, weights++) {
                const bytes weight = _mm512_set1_epi32(*weights);
                GOPS_UNROLL
                for (int v = 0; v < 4; v++) {
                    const uint8_t *from = row + v / NV * step + v % NV * vector + q * quad;
                    const uint64_t mask = masks[q * NV + v % NV] & inside[v / NV];
                    const bytes data = permuted(index, load_bytes(at, from, mask));
                    sums[v] = add_products(sums[v], data, weight);
                }
            }
            row += shape->dilation_y * shape->width;
            y += shape->dilation_y;
        }
    }
}

/* Rows of outputs of any kernel, NV vectors a row of a tile. */
GOPS_INLINE void general(const setting *at, const gops_permuted_call *call,
                         const permuted_filter *filter, const int NV)
{
    const int R = 4 / NV;
    const gops_permuted_shape *shape = at->shape;
    permutation index;
    find_quads(shape, 0, GOPS_PERMUTED_QUAD, &index);
    const bytes start = start_of(filter);
    for (int64_t column = 0; column < shape->columns; column += shape->tile_columns) {
        const int64_t width = gops_min(shape->tile_columns, shape->columns - column);
        const int64_t x = column * shape->stride_x - shape->pad_x;
        uint64_t masks[GOPS_PERMUTED_ROW_QUADS * 4];
        for (int64_t i = 0; i < shape->row_quads * NV; i++) {
            masks[i] = columns_within(x + i / NV * GOPS_PERMUTED_QUAD * shape->dilation_x +
                                          i % NV * shape->vector_columns * shape->stride_x,
                                      shape->width);
        }
        for (int64_t row = 0; row < call->rows; row += R) {
            const int64_t y = (call->first_row + row) * shape->stride_y - shape->pad_y;
            bytes sums[4] = {start, start, start, start};
            add_taps(at, filter, &index, y, filter->data + y * shape->width + x, masks, sums, NV);
            store_group(at, filter, row, column, gops_min(R, call->rows - row), width, sums, NV);
        }
    }
}

#define GOPS_GENERAL(name, NV)                                                                     \
    static void name(const setting *at, const gops_permuted_call *call,                            \
                     const permuted_filter *filter)                                                \
    {                                                                                              \
        general(at, call, filter, NV);                                                             \
    }

GOPS_GENERAL(general_1, 1)
GOPS_GENERAL(general_2, 2)
GOPS_GENERAL(general_4, 4)

/* By the vectors of a row. */
static void (*const general_kernels[5])(const setting *at, const gops_permuted_call *call,
                                        const permuted_filter *filter) = {
    [1] = general_1,
    [2] = general_2,
    [4] = general_4,
};
