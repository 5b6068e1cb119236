/*
 * winograd_conv.c: GroupConvolution by Winograd's minimal filtering (S. Winograd, Arithmetic Complexity
 * of Computations, 1980; A. Lavin and S. Gray, Fast Algorithms for Convolutional Neural Networks,
 * 2016): kernels of 3x3 with stride and dilation 1, where accuracy is relaxed, and for 8 bits, where it is
 * exact (winograd_quantized.c).
 *
 * One axis, F(m,3): m outputs y_i = sum of d_(i+k) g_k over the three taps k. Call d(x), of degree
 * m + 1, and think of the transpose, the product of g(x), of degree 2, with a polynomial a(x) of m
 * coefficients. It has degree m + 1, and so follows from its values at m + 1 points and its leading
 * coefficient ("the value at infinity"): m + 2 multiplications g(p) a(p), where the definition has
 * 3 m. With A, G the matrices that evaluate at the points, and B^T the one that interpolates, the
 * transpose of that algorithm is
 *
 *     y = A^T ((G g) . (B^T d))          . multiplies element by element
 *
 * with, for a point p, the product of p's distances from all other points being n_p,
 *
 *     row p of G:          (1, p, p^2) / n_p             at infinity (0, 0, 1)
 *     row p of A:          (1, p, ..., p^(m-1))          at infinity (0, ..., 0, 1)
 *     row p of B^T:        the coefficients of the product of (x - q) over the other points q;
 *                          at infinity over all points
 *
 * F(2,3) has the points 0, 1, -1 (and halves of G where others have halves of B), F(4,3) the points
 * 0, 1/2, -1/2, 2, -2. Two axes are the same along columns, then along rows: a tile of m x m outputs
 * takes (m + 2)^2 multiplications in place of 9 m^2, 16 for 36 and 36 for 144. The sum over input
 * channels commutes with A^T. So all tiles of a block and all channels are (m + 2)^2 products of
 * matrices, [tiles x C_IN] * [C_IN x C_OUT], and the transforms are done once for each channel:
 *
 *     for each vector of input channels: transpose the pixels, transform them     points
 *     for each block of output channels:
 *         for each position: multiply points with packed weights                  sums
 *         transform the sums, apply the epilogue, transpose, store
 *
 * The points of a block of tiles, and the sums of a block of channels, stay in the second level cache
 * where weights do not outgrow it. Where an image is too small for many blocks of tiles, several
 * work items share the points.
 *
 * The error. Write |M| for the matrix of absolute values, u for the unit roundoff, D_c for the largest
 * |d| of channel c that the tile reads, W_c for the largest of its nine |g|. A result is a sum of
 * products of one entry each of A, G, B^T, A, G, B^T with one d and one g. Each of them is rounded
 * at most 3 times in each axis of B^T d, 3 times in each axis of A^T (the numbers of additions on the
 * way; multiplications by powers of 2 are exact), C_IN times where products are summed, and G g G^T is
 * rounded once, from f64, or, in f64, at most 7 times: n = C_IN + 19 times altogether. So (N. Higham,
 * Accuracy and Stability of Numerical Algorithms, section 3.1) the error is at most n u / (1 - n u)
 * times the sum of the products of absolute values, and that is at most N sum over c of D_c W_c,
 *
 *     N = (the largest entry of |A^T| ((|G| 1) . (|B^T| 1)))^2 = 64 for F(2,3), 22^2 = 484 for F(4,3)
 *
 * The points 0, 1, -1, 2, -2 have N = 48^2. groupops/plan.h says 66 and 500, which leaves room for
 * n u / (1 - n u) up to C_IN = 2^18. In the definition's sum of K = 9 C_IN products the error is at
 * most K u sum |d g|, and that at most 81 C_IN u sum D_c W_c: by this measure F(2,3) has 0.8 times the
 * error of the definition where C_IN is large, F(4,3) 6 times.
 *
 * Where numbers are denormal, roundings are no more relative. One of a transformed weight, of half
 * the smallest number eta, meets |B^T d B| <= 7.5^2 D_c, and what comes of that is multiplied by no more
 * than 17.25^2 < 298 by A^T and A: 2^14.1 eta / 2 for each D_c; those of B^T d B, of products and of A^T s
 * come to less for each W_c and each product. plan.h says 2^15 eta / 2, rounded up.
 *
 * Magnitudes: no intermediate exceeds 298 * 7.5^2 < 2^15 times the sum of D_c W_c, or 2^6 D_c.
 *
 * NaN and infinity: a pixel takes part in the points of the tiles that read it, and no others; there
 * infinity - infinity is NaN, which may reach all m x m outputs of the tile. An output whose
 * window covers the pixel has a product of it with nonzero coefficients, so it is NaN or infinite.
 */
#include "methods/winograd/winograd_quantized.h"

#include "post_ops/epilogue.h"
#include "post_ops/post_ops.h"

#include <string.h>

enum { TAPS = 3, MAX_POINTS = 6 };

/* One axis of the transform of the weights: G g, for the three taps `step` apart. */
static void transform_axis(gops_winograd_form form, const double *g, int64_t step, double *to,
                           int64_t to_step)
{
    const double g0 = g[0], g1 = g[step], g2 = g[2 * step];
    if (form == GOPS_WINOGRAD_F2) {
        to[0] = g0;
        to[to_step] = (g0 + g1 + g2) / 2;
        to[2 * to_step] = (g0 - g1 + g2) / 2;
        to[3 * to_step] = g2;
        return;
    }
    to[0] = g0;
    to[to_step] = (8 * g0 + 4 * g1 + 2 * g2) / -15;
    to[2 * to_step] = (8 * g0 - 4 * g1 + 2 * g2) / -15;
    to[3 * to_step] = (g0 + 2 * g1 + 4 * g2) / 30;
    to[4 * to_step] = (g0 - 2 * g1 + 4 * g2) / 30;
    to[5 * to_step] = g2;
}

/* Transforms the taps of one weight: G g G^T. */
static void transform_weights(gops_winograd_form form, const double *taps, double *points)
{
    const int64_t count = gops_winograd_points(form);
    double half[MAX_POINTS * TAPS]; /* [point of the rows][tap of the columns] */
    for (int64_t i = 0; i < TAPS; i++) {
        transform_axis(form, taps + i, TAPS, half + i, TAPS);
    }
    for (int64_t i = 0; i < count; i++) {
        transform_axis(form, half + i * TAPS, 1, points + i * count, 1);
    }
}

/* Blocks of output channels, in each [position][c][channels of the block]. */
static void pack(const gops_plan *plan, const void *weights, const int32_t *zero_points,
                 void *packed)
{
    (void)zero_points; /* serves no quantized plan */
    const gops_winograd_layout *p = gops_winograd_layout_of(plan);
    const gops_conv_geometry *conv = &plan->conv;
    const gops_type_row *type = plan->filter_type;
    const int64_t bytes = gops_compute_bytes(type->compute);
    memset(packed, 0, (size_t)plan->filter_bytes);
    const unsigned char *from = weights;
    for (int64_t o = 0; o < conv->groups * conv->channels_out; o++) {
        const gops_winograd_row row = gops_winograd_find_row(plan, o);
        for (int64_t c = 0; c < conv->channels_in; c++, from += TAPS * TAPS * bytes) {
            double taps[TAPS * TAPS], points[MAX_POINTS * MAX_POINTS];
            for (int64_t t = 0; t < TAPS * TAPS; t++) {
                taps[t] = bytes == sizeof(float) ? (double)((const float *)(const void *)from)[t]
                                                 : ((const double *)(const void *)from)[t];
            }
            transform_weights(p->form, taps, points);
            for (int64_t i = 0; i < p->positions; i++) {
                const int64_t at = row.from + (i * conv->channels_in + c) * row.width;
                if (bytes == sizeof(float)) {
                    ((float *)packed)[at] = (float)points[i];
                } else {
                    ((double *)packed)[at] = points[i];
                }
            }
        }
    }
}

static void pack_f2(const gops_plan *plan, const void *weights, const int32_t *zero_points,
                    void *packed)
{
    if (plan->quantized) {
        gops_winograd_pack_quantized(plan, weights, zero_points, packed);
        return;
    }
    pack(plan, weights, zero_points, packed);
}

static gops_winograd_block find_block(const gops_plan *plan, int64_t index)
{
    const gops_winograd_layout *p = gops_winograd_layout_of(plan);
    const int64_t block = index % p->tile_blocks, group = index / p->tile_blocks;
    return (gops_winograd_block){group / plan->conv.groups, group % plan->conv.groups,
                                 gops_part(p->tiles, p->tile_blocks, block)};
}

/* Transforms the data of a block, of some vectors of channels. */
static void transform_data(const gops_plan *plan, const gops_job *job,
                           const gops_winograd_block *block, gops_range vectors, void *pixels,
                           unsigned char *points)
{
    const gops_winograd_layout *p = gops_winograd_layout_of(plan);
    const gops_conv_geometry *conv = &plan->conv;
    const gops_winograd_kernels *kernels = plan->kernels->winograd[plan->type->compute];
    const int64_t bytes = gops_compute_bytes(plan->type->compute), lanes = kernels->lanes;
    const int64_t channels = p->channels; /* of a vector */
    const int64_t shift = plan->quantized ? gops_8_bit_shift(plan->type->type) : 0;
    const int64_t image_group = block->image * conv->groups + block->group;
    for (int64_t v = vectors.begin; v < vectors.end; v++) {
        const int64_t channel = image_group * conv->channels_in + v * channels;
        gops_winograd_input input = {
            .data = gops_data_at(plan, job, block->image, channel * plan->data_plane),
            .channels = gops_min(channels, conv->channels_in - v * channels),
            .plane = plan->data_plane,
            .height = conv->axis[0].data,
            .width = conv->axis[1].data,
            .pixels = pixels,
            .points_ld = p->points_ld,
            .flip = (uint8_t)shift,
            .zero = (uint8_t)((int64_t)(int32_t)job->data_zero + shift),
        };
        for (int64_t tile = block->tiles.begin; tile < block->tiles.end; tile += input.tiles) {
            input.tiles = gops_winograd_row_tiles(p, tile, block->tiles.end, p->input_tiles);
            input.top = tile / p->row_tiles * p->m + p->begin[0];
            input.left = tile % p->row_tiles * p->m + p->begin[1];
            input.points =
                points + (v * p->points_block + (tile - block->tiles.begin) * lanes) * bytes;
            kernels->input[p->form](&input);
        }
    }
}

/* Transforms the sums of a block of tiles and of `channels` channels from `channel` on, counted over
 * all groups, and stores them. */
static void store_sums(const gops_plan *plan, const gops_job *job, const gops_epilogue *epilogue,
                       const gops_winograd_block *block, int64_t channel, int64_t channels,
                       int64_t vectors, unsigned char *workspace)
{
    const gops_winograd_layout *p = gops_winograd_layout_of(plan);
    const gops_conv_geometry *conv = &plan->conv;
    const gops_winograd_kernels *kernels = plan->kernels->winograd[plan->type->compute];
    const int64_t bytes = gops_compute_bytes(plan->type->compute), width = conv->axis[1].output;
    const gops_job *rest = epilogue->applies ? &epilogue->rest : job;
    gops_epilogue_values bias;
    gops_winograd_output output = {
        .sums_ld = p->sums_ld,
        .vectors = vectors,
        .channels = channels,
        .pixels = workspace,
    };
    if (epilogue->applies) {
        gops_epilogue_bias(plan, job, channel, 1, channels, vectors * kernels->lanes, &bias);
        output.bounds = &epilogue->bounds;
        output.bias = &bias;
    }
    for (int64_t tile = block->tiles.begin; tile < block->tiles.end; tile += output.tiles) {
        const int64_t y = tile / p->row_tiles * p->m, x = tile % p->row_tiles * p->m;
        const int64_t first =
            (block->image * conv->groups * conv->channels_out + channel) * plan->output_plane +
            y * width + x;
        output.tiles = gops_winograd_row_tiles(p, tile, block->tiles.end, p->output_tiles);
        output.rows = gops_min(p->m, conv->axis[0].output - y);
        output.columns = gops_min(p->m * output.tiles, width - x);
        output.sums = workspace + p->sums_from +
                      (tile - block->tiles.begin) * vectors * kernels->lanes * bytes;
        if (!rest->fused) {
            output.output = gops_output_at(plan, rest, first);
            output.output_plane = plan->output_plane;
            output.output_row = width;
            kernels->output[p->form](&output);
            continue;
        }
        output.output = workspace + p->outputs_from;
        output.output_row = output.columns;
        output.output_plane = output.rows * output.columns;
        kernels->output[p->form](&output);
        for (int64_t i = 0; i < output.rows; i++) {
            gops_store_rows(plan, rest, epilogue, channel, first + i * width,
                            &(gops_store_values){.values = (unsigned char *)output.output +
                                                           i * output.columns * bytes,
                                                 .ld = output.output_plane,
                                                 .rows = channels,
                                                 .count = output.columns});
        }
    }
}

void gops_winograd_run(const gops_plan *plan, const gops_job *job, int64_t index, void *workspace)
{
    const gops_winograd_layout *p = gops_winograd_layout_of(plan);
    const gops_winograd_kernels *kernels = plan->kernels->winograd[plan->type->compute];
    const int64_t bytes = gops_compute_bytes(plan->type->compute), lanes = kernels->lanes;
    unsigned char *const base = workspace;
    unsigned char *const shared = job->shared;
    if (index < plan->barrier) {
        const int64_t part = index % p->depth_items, at = index / p->depth_items;
        const gops_winograd_block block = find_block(plan, at);
        transform_data(plan, job, &block, gops_part(p->depth_vectors, p->depth_items, part),
                       workspace, shared + at * p->points_bytes);
        return;
    }
    const int64_t at = (index - plan->barrier) / p->block_items;
    const gops_range blocks =
        gops_part(p->channel_blocks, p->block_items, (index - plan->barrier) % p->block_items);
    const gops_winograd_block block = find_block(plan, at);
    const gops_epilogue epilogue = gops_epilogue_read_most(plan, job, GOPS_EPILOGUE_NO_RESIDUAL);
    unsigned char *points = shared + at * p->points_bytes;
    if (plan->barrier == 0) {
        points = base + p->points_from;
        transform_data(plan, job, &block, (gops_range){0, p->depth_vectors}, workspace, points);
    }
    for (int64_t b = blocks.begin; b < blocks.end; b++) {
        const gops_range part = gops_part(p->vectors, p->channel_blocks, b);
        const int64_t vectors = part.end - part.begin;
        const int64_t packed = (block.group * p->vectors + part.begin) * lanes;
        const gops_winograd_product product = {
            .points = points,
            .weights =
                (const unsigned char *)job->filter + packed * p->positions * p->depth * bytes,
            .sums = base + p->sums_from,
            .positions = p->positions,
            .tiles = block.tiles.end - block.tiles.begin,
            .depth = p->depth,
            .vectors = vectors,
            .points_ld = p->points_ld,
            .points_block = p->points_block,
            .sums_ld = p->sums_ld,
            .prefetches = p->weights_beyond_l2,
        };
        kernels->multiply(&product);
        const int64_t row = part.begin * lanes, rows = gops_min(vectors * lanes, p->rows - row);
        if (plan->quantized) {
            gops_winograd_store_quantized(plan, job, &block, row, rows, vectors, base);
        } else {
            store_sums(plan, job, &epilogue, &block, block.group * p->rows + row, rows, vectors,
                       base);
        }
    }
}

static gops_status prepare_f2(gops_plan *plan, int64_t worker_limit, gops_error *error)
{
    return gops_winograd_prepare(plan, GOPS_WINOGRAD_F2, worker_limit, error);
}

static gops_status prepare_f4(gops_plan *plan, int64_t worker_limit, gops_error *error)
{
    return gops_winograd_prepare(plan, GOPS_WINOGRAD_F4, worker_limit, error);
}

const gops_method gops_winograd_f2_conv = {
    .name = "winograd/f2",
    .operation = GOPS_OPERATION_CONV,
    .prepare = prepare_f2,
    .pack = pack_f2,
    .run = gops_winograd_run,
    .quantized = true,
    .indivisible = true, /* a part has its own tiles */
};

const gops_method gops_winograd_f4_conv = {
    .name = "winograd/f4",
    .operation = GOPS_OPERATION_CONV,
    .prepare = prepare_f4,
    .pack = pack,
    .run = gops_winograd_run,
    .indivisible = true, /* a part has its own tiles */
};
