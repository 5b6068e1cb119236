/*
 * winograd_pairs.isa.c: the kernels of winograd.h for quantized plans, F(2,3) and F(3,2) in integers; for
 * one instruction set. winograd_quantized.c shows that they are exact.
 *
 * A value of the points and of the weights is a pair of channels of 16 bits (implicit/tiles/lanes.h). Pixels
 * are transformed as 16 bits, so that a vector has twice as many channels as lanes.
 */
#include "methods/winograd/winograd.h"

#include "base/checked.h"
#include "base/machine.h"
#include "isa/lanes.h"
#include "isa/register.h"
#include "isa/vector.h"
#include "methods/implicit/tiles/lanes.h"
#include "methods/implicit/tiles/pair_product.h"
#include "methods/winograd/winograd_sizes.h"
#include "post_ops/requantize.h"

#include <stddef.h>
#include <string.h>

#define FLOATS "post_ops/epilogue.inc.h"
#include "methods/implicit/tiles/lanes_floats.inc.h"

enum {
    MAX_OUTPUTS = 3, /* of a tile, on each axis */
    POINTS = 4,
    CHANNELS = 2 * LANES_OF_4,           /* of a vector */
    BLOCK = GOPS_WINOGRAD_PAIRS_COLUMNS, /* pixels that are transposed together: those of a row */
    PITCH = BLOCK * CHANNELS
};

typedef uint16_t channel_vector
    __attribute__((vector_size(CHANNELS * sizeof(uint16_t)), aligned(2), may_alias));

/* A row of pixels: BLOCK of them from `pixel` on, counted from the plane's first, of which those from
 * begin to end - 1 are inside the data. */
typedef struct row_block {
    int64_t pixel, begin, end;
} row_block;

/* Widens the pixels of all channels of a vector, without the zero point; those that do not exist are 0. */
static void gather_each(const gops_winograd_input *in, const row_block *row, uint16_t *to)
{
    for (int64_t c = 0; c < CHANNELS; c++) {
        const bool exists = c < in->channels;
        const uint8_t *from = (const uint8_t *)in->data + (exists ? c : 0) * in->plane;
        for (int64_t i = 0; i < BLOCK; i++) {
            int32_t value = 0;
            if (exists && i >= row->begin && i < row->end) {
                value = (from[row->pixel + i] ^ in->flip) - in->zero;
            }
            to[i * CHANNELS + c] = (uint16_t)value;
        }
    }
}

#ifdef __AVX2__

#define C uint8_t
#define LANES 16
#define NAME(symbol) u8_##symbol
#define LOW LOW_16
#define HIGH HIGH_16
#include "isa/vectors.inc.h"
#include "isa/transpose.inc.h"
#undef C
#undef LANES
#undef NAME
#undef LOW
#undef HIGH

enum { GATHERED = 16 };

/* 16 channels. A load that would begin before the plane or end behind it is moved into it, and its bytes
 * are shuffled to where they belong. */
static void gather_block(const gops_winograd_input *in, const row_block *row, int64_t channel,
                         uint16_t *to)
{
    const int64_t pixels = in->height * in->width;
    const int64_t from = gops_clamp(row->pixel, 0, pixels - BLOCK);
    const __m128i number = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m128i inside = _mm_andnot_si128(_mm_cmpgt_epi8(_mm_set1_epi8((char)row->begin), number),
                                            _mm_cmpgt_epi8(_mm_set1_epi8((char)row->end), number));
    const __m128i moved = _mm_add_epi8(number, _mm_set1_epi8((char)(row->pixel - from)));
    const __m128i order = _mm_or_si128(moved, _mm_andnot_si128(inside, _mm_set1_epi8(INT8_MIN)));
    const __m128i flip = _mm_set1_epi8((char)in->flip);
    const __m128i padding = _mm_andnot_si128(inside, _mm_set1_epi8((char)(in->zero ^ in->flip)));
    const __m256i zero = _mm256_set1_epi16(in->zero);
    u8_vector rows[GATHERED];
    GOPS_UNROLL
    for (int c = 0; c < GATHERED; c++) {
        /* Channels beyond the last one repeat it: their weights are 0. */
        const int64_t at = gops_min(channel + c, in->channels - 1);
        const uint8_t *bytes = (const uint8_t *)in->data + at * in->plane + from;
        const __m128i some = _mm_shuffle_epi8(_mm_loadu_si128((const void *)bytes), order);
        rows[c] = (u8_vector)_mm_xor_si128(_mm_or_si128(some, padding), flip);
    }
    u8_rotate_address(rows, GATHERED);
    GOPS_UNROLL
    for (int i = 0; i < BLOCK; i++) {
        const __m256i wide = _mm256_cvtepu8_epi16((__m128i)rows[i]);
        _mm256_storeu_si256((void *)(to + i * CHANNELS), _mm256_sub_epi16(wide, zero));
    }
}

#endif

static void gather_row(const gops_winograd_input *in, const row_block *row, uint16_t *to)
{
#ifdef __AVX2__
    if (in->height * in->width >= BLOCK) {
        for (int64_t c = 0; c < CHANNELS; c += GATHERED) {
            gather_block(in, row, c, to + c);
        }
        return;
    }
#endif
    gather_each(in, row, to);
}

/* Copies what the tiles read, at most BLOCK pixels of each row, to in->pixels. */
static void gather(const gops_winograd_input *in)
{
    const int64_t begin = gops_clamp(-in->left, 0, BLOCK);
    const int64_t end = gops_clamp(in->width - in->left, begin, BLOCK);
    uint16_t *to = in->pixels;
    for (int64_t y = in->top; y < in->top + POINTS; y++, to += PITCH) {
        if (y < 0 || y >= in->height || begin == end) {
            memset(to, 0, PITCH * sizeof *to);
        } else {
            gather_row(in, &(row_block){y * in->width + in->left, begin, end}, to);
        }
    }
}

/* One axis of the transform of the data: B^T d, which depends on the points alone. Vectors of d are `step`
 * apart. */
GOPS_INLINE void to_points(const channel_vector *d, const int step, channel_vector *to)
{
    to[0] = d[0] - d[2 * step];
    to[1] = d[step] + d[2 * step];
    to[2] = d[2 * step] - d[step];
    to[3] = d[step] - d[3 * step];
}

GOPS_INLINE void transform_input(const gops_winograd_input *in, const int m)
{
    gather(in);
    for (int64_t tile = 0; tile < in->tiles; tile++) {
        const uint16_t *from = (const uint16_t *)in->pixels + tile * m * CHANNELS;
        uint16_t *to = (uint16_t *)in->points + tile * CHANNELS;
        channel_vector half[POINTS * POINTS]; /* [column][point of the rows] */
        GOPS_UNROLL
        for (int j = 0; j < POINTS; j++) {
            channel_vector column[POINTS];
            GOPS_UNROLL
            for (int i = 0; i < POINTS; i++) {
                column[i] = *(const channel_vector *)(from + i * PITCH + j * CHANNELS);
            }
            to_points(column, 1, half + j * POINTS);
        }
        GOPS_UNROLL
        for (int i = 0; i < POINTS; i++) {
            channel_vector row[POINTS];
            to_points(half + i, POINTS, row);
            GOPS_UNROLL
            for (int j = 0; j < POINTS; j++) {
                *(channel_vector *)to = row[j];
                to += 2 * in->points_ld;
            }
        }
    }
}

#define C uint32_t
#define LANES LANES_OF_4
#define NAME(symbol) u32_##symbol
#define MULTIPLY_ADD GOPS_ADD_PAIRS
#include "isa/vectors.inc.h"
#include "methods/implicit/tiles/lanes_store.inc.h"
#include "methods/winograd/winograd_product.inc.h"

/* One axis of the transform of the sums: A^T s. Vectors of s are `step` apart. */
GOPS_INLINE void from_points(const int m, const u32_vector *s, const int step, u32_vector *to)
{
    const u32_vector plus = s[step] + s[2 * step], minus = s[step] - s[2 * step];
    to[0] = s[0] + plus;
    if (m == 2) {
        to[1] = minus - s[3 * step];
        return;
    }
    to[1] = minus;
    to[2] = plus - s[3 * step];
}

/* The sums are four times those of the definition. */
GOPS_INLINE void transform_output(const gops_winograd_output *out, const int m)
{
    const int64_t ld = out->vectors * LANES, pitch = out->tiles * m * ld;
    const uint32_t *first = out->bias;
    gops_tile_work work = {.sums = out->pixels, .bounds = out->bounds};
    for (int64_t tile = 0; tile < out->tiles; tile++) {
        int64_t offsets[MAX_OUTPUTS * MAX_OUTPUTS];
        for (int i = 0; i < m * m; i++) {
            offsets[i] = (tile * m + i % m) * ld + i / m * pitch;
        }
        work.sum_offsets = offsets;
        for (int64_t v = 0; v < out->vectors; v++) {
            const uint32_t *from = (const uint32_t *)out->sums + (tile * out->vectors + v) * LANES;
            const u32_vector begin = *(const u32_vector *)(first + v * LANES);
            u32_vector half[MAX_OUTPUTS * POINTS]; /* [point of the columns][row] */
            u32_vector sum[MAX_OUTPUTS * MAX_OUTPUTS];
            GOPS_UNROLL
            for (int j = 0; j < POINTS; j++) {
                u32_vector column[POINTS];
                GOPS_UNROLL
                for (int i = 0; i < POINTS; i++) {
                    column[i] = *(const u32_vector *)(from + (i * POINTS + j) * out->sums_ld);
                }
                from_points(m, column, 1, half + j * m);
            }
            GOPS_UNROLL
            for (int i = 0; i < m; i++) {
                from_points(m, half + i, m, sum + i * m);
            }
            GOPS_UNROLL
            for (int i = 0; i < m * m; i++) {
                sum[i] = (u32_vector)((u32_signed_vector)sum[i] >> 2) + begin;
            }
            u32_store_tile(&work, (int)v, 1, m * m, LANES, true, sum);
        }
    }
}

static void input_f2(const gops_winograd_input *input)
{
    transform_input(input, 2);
}

static void input_f3(const gops_winograd_input *input)
{
    transform_input(input, 3);
}

static void output_f2(const gops_winograd_output *output)
{
    transform_output(output, 2);
}

static void output_f3(const gops_winograd_output *output)
{
    transform_output(output, 3);
}

const gops_winograd_kernels GOPS_ISA_NAME(gops_winograd_pairs) = {
    .lanes = LANES,
    .max_vectors = GOPS_WINOGRAD_MAX_VECTORS,
    .max_tiles = max_tiles,
    .input = {[GOPS_WINOGRAD_F2] = input_f2, [GOPS_WINOGRAD_F3] = input_f3},
    .multiply = u32_multiply_all,
    .output = {[GOPS_WINOGRAD_F2] = output_f2, [GOPS_WINOGRAD_F3] = output_f3},
};
