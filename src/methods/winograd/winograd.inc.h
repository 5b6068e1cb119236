/*
 * winograd.inc.h: the kernels of winograd.h; winograd_conv.c derives the transforms.
 *
 * Both transforms are the same along columns and along rows. The first one goes through a buffer of
 * P x P or M x P vectors, of F(4,3) more than there are registers.
 *
 * Parameters, from isa/each_compute.inc.h:
 *
 *   C                     type: the compute type, float or double
 *   LANES                 int: the elements of a vector register
 *   NAME(symbol)          puts the type's name in front of a symbol
 *   LOW, HIGH, INTRINSIC  isa/transpose.inc.h, isa/vectors.inc.h
 */
#include "isa/vectors.inc.h"
#include "isa/first_lanes.inc.h"
#include "isa/transpose.inc.h"
#include "methods/winograd/winograd_product.inc.h"
#include "post_ops/epilogue.inc.h"

#define rotate_address NAME(rotate_address)
#define epilogue NAME(epilogue)
#define store_first NAME(store_first)
#define load_some NAME(load_some)
#define gather_block NAME(gather_block)
#define gather NAME(gather)
#define to_points NAME(to_points)
#define from_points NAME(from_points)
#define transform_input NAME(transform_input)
#define transform_output NAME(transform_output)
#define store_rows NAME(store_rows)
#define winograd_kernels NAME(winograd_kernels)

/* Loads lanes begin to end - 1; the others, whose values are not read, are 0. */
GOPS_INLINE vector load_some(const C *from, int64_t begin, int64_t end)
{
#ifdef INTRINSIC
    return NAME(load_masked)(from, NAME(lane_mask)(begin, end));
#elif defined(__AVX2__) && !defined(GOPS_MEMORY_SANITIZER)
    const __m256i inside =
        sizeof(C) == 4
            ? _mm256_andnot_si256(gops_first_lanes_32((int)begin), gops_first_lanes_32((int)end))
            : _mm256_andnot_si256(gops_first_lanes_64((int)begin), gops_first_lanes_64((int)end));
    return sizeof(C) == 4 ? (vector)_mm256_maskload_ps((const void *)from, inside)
                          : (vector)_mm256_maskload_pd((const void *)from, inside);
#else
    C lanes[LANES] = {0};
    for (int64_t i = begin; i < end; i++) {
        lanes[i] = from[i];
    }
    return *(const vector *)lanes;
#endif
}

/* Transposes the columns from `column` on of a row: as many as a vector has lanes, of which those
 * from begin to end - 1 are inside the data. */
GOPS_INLINE void gather_block(const gops_winograd_input *in, const C *row, int64_t begin,
                              int64_t end, C *to)
{
    vector rows[LANES];
    if (begin == 0 && end == LANES && in->channels == LANES) {
        GOPS_UNROLL
        for (int c = 0; c < LANES; c++) {
            rows[c] = *(const vector *)(row + c * in->plane);
        }
    } else {
        GOPS_UNROLL
        for (int c = 0; c < LANES; c++) {
            rows[c] = c < in->channels && begin < end ? load_some(row + c * in->plane, begin, end)
                                                      : (vector){0};
        }
    }
    rotate_address(rows, LANES);
    GOPS_UNROLL
    for (int i = 0; i < LANES; i++) {
        *(vector *)(to + i * LANES) = rows[i];
    }
}

/* Copies what the tiles read to in->pixels, whose rows are `pitch` values apart. */
GOPS_INLINE void gather(const gops_winograd_input *in, const int m, int64_t pitch)
{
    const int64_t columns = in->tiles * m + 2;
    C *to = in->pixels;
    for (int64_t y = in->top; y < in->top + m + 2; y++, to += pitch) {
        if (y < 0 || y >= in->height) {
            memset(to, 0, (size_t)(columns * LANES) * sizeof(C));
            continue;
        }
        for (int64_t x = 0; x < columns; x += LANES) {
            const int64_t at = in->left + x, begin = gops_clamp(-at, 0, LANES);
            const int64_t end = gops_clamp(in->width - at, begin, LANES);
            const C *row = (const C *)in->data + (begin < end ? y * in->width + at : 0);
            gather_block(in, row, begin, end, to + x * LANES);
        }
    }
}

/* One axis of the transform of the data: B^T d. Vectors of d are `step` apart, as are those of the
 * result. */
GOPS_INLINE void to_points(const int m, const vector *d, const int step, vector *to)
{
    const vector d0 = d[0], d1 = d[step], d2 = d[2 * step], d3 = d[3 * step];
    if (m == 2) {
        to[0] = d0 - d2;
        to[1] = d1 + d2;
        to[2] = d2 - d1;
        to[3] = d1 - d3;
        return;
    }
    const vector d4 = d[4 * step], d5 = d[5 * step];
    const vector even = d4 - (C)4 * d2, odd = (C)0.5 * d3 - (C)2 * d1;
    const vector even2 = d4 - (C)0.25 * d2, odd2 = (C)2 * d3 - (C)0.5 * d1;
    to[0] = d0 - (C)4.25 * d2 + d4;
    to[1] = even + odd;
    to[2] = even - odd;
    to[3] = even2 + odd2;
    to[4] = even2 - odd2;
    to[5] = d1 - (C)4.25 * d3 + d5;
}

/* One axis of the transform of the sums: A^T s. */
GOPS_INLINE void from_points(const int m, const vector *s, const int step, vector *to)
{
    const vector s0 = s[0], plus = s[step] + s[2 * step], minus = s[step] - s[2 * step];
    if (m == 2) {
        to[0] = s0 + plus;
        to[1] = minus - s[3 * step];
        return;
    }
    const vector plus2 = s[3 * step] + s[4 * step], minus2 = s[3 * step] - s[4 * step];
    to[0] = s0 + plus + plus2;
    to[1] = (C)0.5 * minus + (C)2 * minus2;
    to[2] = (C)0.25 * plus + (C)4 * plus2;
    to[3] = (C)0.125 * minus + (C)8 * minus2 + s[5 * step];
}

GOPS_INLINE void transform_input(const gops_winograd_input *in, const int m)
{
    enum { MAX_POINTS = 6 };
    const int points = m + 2;
    const int64_t pitch = gops_round_up(in->tiles * m + 2, LANES) * LANES;
    gather(in, m, pitch);
    for (int64_t tile = 0; tile < in->tiles; tile++) {
        const C *from = (const C *)in->pixels + tile * m * LANES;
        C *to = (C *)in->points + tile * LANES;
        vector half[MAX_POINTS * MAX_POINTS]; /* [column][point of the rows] */
        GOPS_UNROLL
        for (int j = 0; j < points; j++) {
            vector column[MAX_POINTS];
            GOPS_UNROLL
            for (int i = 0; i < points; i++) {
                column[i] = *(const vector *)(from + i * pitch + j * LANES);
            }
            to_points(m, column, 1, half + j * points);
        }
        GOPS_UNROLL
        for (int i = 0; i < points; i++) {
            vector row[MAX_POINTS];
            to_points(m, half + i, points, row);
            GOPS_UNROLL
            for (int j = 0; j < points; j++) {
                *(vector *)to = row[j];
                to += in->points_ld;
            }
        }
    }
}

/* Stores the rows of a vector of channels, out->pixels, to the output. */
GOPS_INLINE void store_rows(const gops_winograd_output *out, int64_t pitch, int64_t channels, C *to)
{
    const C *from = out->pixels;
    for (int64_t y = 0; y < out->rows; y++, from += pitch, to += out->output_row) {
        for (int64_t x = 0; x < out->columns; x += LANES) {
            const int64_t count = gops_min(LANES, out->columns - x);
            vector rows[LANES];
            GOPS_UNROLL
            for (int i = 0; i < LANES; i++) {
                rows[i] = *(const vector *)(from + (x + i) * LANES);
            }
            rotate_address(rows, LANES);
            if (count == LANES && channels >= LANES) {
                GOPS_UNROLL
                for (int c = 0; c < LANES; c++) {
                    *(vector *)(to + c * out->output_plane + x) = rows[c];
                }
                continue;
            }
            GOPS_UNROLL
            for (int c = 0; c < LANES; c++) {
                if (c < channels) {
                    store_first(to + c * out->output_plane + x, count, rows[c]);
                }
            }
        }
    }
}

GOPS_INLINE void transform_output(const gops_winograd_output *out, const int m)
{
    enum { MAX_OUTPUTS = 4, MAX_POINTS = 6 };
    const int points = m + 2;
    const int64_t pitch = gops_round_up(out->tiles * m, LANES) * LANES;
    const C *bounds = out->bounds;
    const vector low = broadcast(bounds != NULL ? bounds[0] : 0);
    const vector high = broadcast(bounds != NULL ? bounds[1] : 0);
    for (int64_t v = 0; v < out->vectors; v++) {
        const vector bias =
            bounds != NULL ? *(const vector *)((const C *)out->bias + v * LANES) : (vector){0};
        for (int64_t tile = 0; tile < out->tiles; tile++) {
            const C *from = (const C *)out->sums + (tile * out->vectors + v) * LANES;
            C *to = (C *)out->pixels + tile * m * LANES;
            vector half[MAX_OUTPUTS * MAX_POINTS]; /* [point of the columns][row] */
            GOPS_UNROLL
            for (int j = 0; j < points; j++) {
                vector column[MAX_POINTS];
                GOPS_UNROLL
                for (int i = 0; i < points; i++) {
                    column[i] = *(const vector *)(from + (i * points + j) * out->sums_ld);
                }
                from_points(m, column, 1, half + j * m);
            }
            GOPS_UNROLL
            for (int i = 0; i < m; i++) {
                vector row[MAX_OUTPUTS];
                from_points(m, half + i, m, row);
                GOPS_UNROLL
                for (int j = 0; j < m; j++) {
                    *(vector *)(to + i * pitch + j * LANES) =
                        bounds != NULL ? epilogue(row[j], bias, low, high) : row[j];
                }
            }
        }
        store_rows(out, pitch, out->channels - v * LANES,
                   (C *)out->output + v * LANES * out->output_plane);
    }
}

static void NAME(input_f2)(const gops_winograd_input *input)
{
    transform_input(input, 2);
}

static void NAME(input_f4)(const gops_winograd_input *input)
{
    transform_input(input, 4);
}

static void NAME(output_f2)(const gops_winograd_output *output)
{
    transform_output(output, 2);
}

static void NAME(output_f4)(const gops_winograd_output *output)
{
    transform_output(output, 4);
}

static const gops_winograd_kernels winograd_kernels = {
    .lanes = LANES,
    .max_vectors = GOPS_WINOGRAD_MAX_VECTORS,
    .max_tiles = max_tiles,
    .input = {[GOPS_WINOGRAD_F2] = NAME(input_f2), [GOPS_WINOGRAD_F4] = NAME(input_f4)},
    .multiply = NAME(multiply_all),
    .output = {[GOPS_WINOGRAD_F2] = NAME(output_f2), [GOPS_WINOGRAD_F4] = NAME(output_f4)},
};
