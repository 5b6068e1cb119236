/*
 * gemm_deconv.c: GroupConvolutionBackpropData by GEMM and col2im, the reference path.
 *
 * For each image and group, with X data pixels,
 *
 *     columns [C_OUT*taps x X] = filter^T [C_OUT*taps x C_IN] * data [C_IN x X],
 *
 * and col2im (col2im.inc.h) adds the columns to the output. The weights are transposed when they
 * are packed. The columns are made in blocks of `channels` output channels by `columns` pixels, and
 * each block is added to the output before the next one is made. With an unlimited budget there is
 * one GEMM for each image and group.
 *
 * Blocks of one channel add to the same outputs, so one work item computes them all, in order. Work
 * items are (image, group, block of channels, output tile). If the output is in the compute type,
 * the sums are formed in the output, and the whole output is one tile. Otherwise they are formed in
 * the workspace, and if that is too small for the whole output, the output is cut into tiles: one
 * index of each axis outside axis `cut`, a range of axis `cut`, and all of the axes inside it. An
 * item then multiplies every data pixel that contributes to its tile.
 */
#include "methods/gemm/gemm_deconv.h"

#include "base/checked.h"
#include "base/error.h"
#include "methods/gemm/gemm.h"

#include <stdbool.h>
#include <stdio.h>

enum {
    /* Rows of a GEMM (channels of a block times taps) that amortise its packing of the data. */
    MIN_ROWS = 96,
};

static void fill_scatter(const gops_conv_geometry *conv, gops_scatter *scatter)
{
    *scatter = (gops_scatter){.axes = conv->axes, .taps = conv->taps};
    for (int a = 0; a < conv->axes; a++) {
        const gops_axis *axis = &conv->axis[a];
        scatter->axis[a] = (gops_scatter_axis){
            axis->kernel, axis->stride, axis->dilation, axis->pad_begin, 0, axis->data, 0,
            axis->output};
    }
}

/* Bytes in the workspace: the block of columns, the converted data, the sums of a tile. */
typedef struct sizes {
    int64_t columns, data, sums;
} sizes;

static sizes workspace_sizes(const gops_plan *plan, const gops_gemm_deconv_parameters *p)
{
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const int64_t rows = gops_mul_saturate(p->channels, plan->conv.taps);
    sizes s = {gops_mul_saturate(gops_mul_saturate(rows, p->columns), bytes), 0, 0};
    if (!p->in_place) {
        s.data = gops_mul_saturate(gops_mul_saturate(p->depth, p->columns), bytes);
        s.sums = gops_mul_saturate(gops_mul_saturate(p->channels, p->tile_pixels), bytes);
    }
    return s;
}

static int64_t sum_sizes(sizes s)
{
    int64_t sum;
    if (!gops_add(s.columns, s.data, &sum) || !gops_add(sum, s.sums, &sum) ||
        !gops_add(sum, 3 * GOPS_WORKSPACE_ALIGNMENT, &sum)) {
        sum = INT64_MAX;
    }
    return sum;
}

/* Halves the output tiles along axis `cut`, or along the next inner axis where that one cannot be
 * cut further. False if the tiles are single pixels. */
static bool halve_tile(const gops_conv_geometry *conv, gops_gemm_deconv_parameters *p)
{
    while (p->tile_length == 1 && p->cut + 1 < conv->axes) {
        p->cut++;
        p->tile_length = conv->axis[p->cut].output;
    }
    if (p->tile_length == 1) {
        return false;
    }
    p->tile_length = gops_ceil_div(p->tile_length, 2);
    p->tile_pixels = p->tile_length;
    for (int a = p->cut + 1; a < conv->axes; a++) {
        p->tile_pixels *= conv->axis[a].output;
    }
    return true;
}

/* Halves whatever takes the most memory until the block fits. False if the smallest block does not
 * fit. */
static bool gemm_deconv_fit(const gops_plan *plan, gops_gemm_deconv_parameters *p, int64_t limit)
{
    for (;;) {
        sizes s = workspace_sizes(plan, p);
        const int64_t sum = sum_sizes(s);
        if (sum <= limit && sum < INT64_MAX) {
            return true;
        }
        int64_t others = gops_max(s.columns, s.data);
        if (p->channels > 1 && gops_max(s.columns, s.sums) >= s.data) {
            p->channels = gops_ceil_div(p->channels, 2);
        } else if (s.sums > others && halve_tile(&plan->conv, p)) {
            continue;
        } else if (p->columns > GOPS_GEMM_COLUMN_STEP) {
            p->columns = gops_max(GOPS_GEMM_COLUMN_STEP, p->columns / 2);
        } else if (s.data > s.columns && p->depth > 1) {
            p->depth = gops_ceil_div(p->depth, 2);
        } else if (p->columns > 1) {
            p->columns = gops_ceil_div(p->columns, 2);
        } else if (s.sums == 0 || !halve_tile(&plan->conv, p)) {
            return false;
        }
    }
}

static void gemm_deconv_block_for_cache(const gops_plan *plan, gops_gemm_deconv_parameters *p)
{
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t room = plan->machine.l2_bytes / 2 / gops_compute_bytes(plan->type->compute);
    p->channels = gops_clamp(gops_ceil_div(MIN_ROWS, conv->taps), 1, p->channels);
    int64_t wide = gops_clamp(room / gops_mul_saturate(p->channels, conv->taps),
                              GOPS_GEMM_MIN_COLUMNS, GOPS_GEMM_MAX_COLUMNS);
    int64_t blocks = gops_ceil_div(conv->data_pixels, wide);
    p->columns = gops_round_up(gops_ceil_div(conv->data_pixels, blocks), GOPS_GEMM_COLUMN_STEP);
    p->columns = gops_min(p->columns, conv->data_pixels);
}

static int64_t count_tiles(const gops_conv_geometry *conv, const gops_gemm_deconv_parameters *p)
{
    int64_t tiles = gops_ceil_div(conv->axis[p->cut].output, p->tile_length);
    for (int a = 0; a < p->cut; a++) {
        tiles *= conv->axis[a].output;
    }
    return tiles;
}

static void gemm_deconv_explain(gops_plan *plan, const gops_gemm_deconv_parameters *p)
{
    snprintf(
        plan->why, sizeof plan->why,
        "%s and col2im in %lld blocks of %lld channels by %lld of %lld pixels, %lld tiles: M %lld, "
        "N %lld, K %lld",
        gops_gemm_name(plan->type->compute), (long long)p->channel_blocks, (long long)p->channels,
        (long long)p->columns, (long long)plan->conv.data_pixels, (long long)p->tiles,
        (long long)(p->channels * plan->conv.taps), (long long)p->columns, (long long)p->depth);
}

/* Estimated nanoseconds. Fitted to 138 layers, with OpenBLAS 0.3.21's Haswell kernels on a Zen 5 with AVX-512. The BLAS
 * packs the weights at each call, which many pixels hide. */
static double gemm_deconv_estimate(const gops_plan *plan, const gops_gemm_deconv_parameters *p)
{
    static const double NS_PER_FLOP = 0.0095, NS_PER_COLUMN_VALUE = 0.2, NS_PER_RUN = 4.3;
    static const double NS_PER_OUTPUT = 0.15, NS_PER_BLOCK = 440, NS_PER_WEIGHT = 0.155;
    static const double HIDING_PIXELS = 32;
    const gops_conv_geometry *conv = &plan->conv;
    const double pixels = (double)conv->data_pixels;
    const double packed = pixels < HIDING_PIXELS ? 1 - pixels / HIDING_PIXELS : 0;
    const double images = (double)conv->batch * (double)conv->groups;
    const double rows = (double)conv->channels_out * (double)conv->taps;
    const double values = rows * (double)conv->data_pixels;
    const double outputs = (double)conv->channels_out * (double)conv->output_pixels;
    const double wide = (double)gops_compute_bytes(plan->type->compute) / sizeof(float);
    const double image = NS_PER_COLUMN_VALUE * values + NS_PER_OUTPUT * outputs +
                         NS_PER_RUN * values / (double)conv->axis[conv->axes - 1].data +
                         NS_PER_BLOCK * (double)p->channel_blocks +
                         NS_PER_WEIGHT * packed * rows * (double)conv->channels_in;
    const double speed = gops_gemm_speed(plan);
    return (images * image + NS_PER_FLOP * (double)conv->flops / speed) * wide;
}

static gops_status gemm_deconv_prepare(gops_plan *plan, int64_t worker_limit, gops_error *error)
{
    gops_gemm_deconv_parameters *p = gops_parameters(plan);
    const gops_conv_geometry *conv = &plan->conv;
    if (conv->taps > GOPS_GEMM_MAX_SIZE) {
        return gops_fail(error, GOPS_UNSUPPORTED,
                         "gemm takes a kernel of at most %d taps; it has %lld", GOPS_GEMM_MAX_SIZE,
                         (long long)conv->taps);
    }
    if (conv->channels_in > GOPS_GEMM_MAX_SIZE) { /* the leading dimension of the filter */
        return gops_fail(error, GOPS_UNSUPPORTED,
                         "gemm takes up to %d input channels; there are %lld", GOPS_GEMM_MAX_SIZE,
                         (long long)conv->channels_in);
    }
    *p = (gops_gemm_deconv_parameters){
        .channels = gops_min(conv->channels_out, GOPS_GEMM_MAX_SIZE / conv->taps),
        .columns = gops_min(conv->data_pixels, GOPS_GEMM_MAX_SIZE),
        .depth = conv->channels_in,
        .tile_length = conv->axis[0].output,
        .tile_pixels = conv->output_pixels,
        /* A residual that is the output grows by the products, which is before the activation. */
        .in_place =
            plan->type->native && plan->data_plane <= GOPS_GEMM_MAX_SIZE && !plan->residual_after,
    };
    fill_scatter(conv, &p->scatter);
    if (worker_limit != GOPS_UNLIMITED) {
        gemm_deconv_block_for_cache(plan, p);
    }
    if (!gemm_deconv_fit(plan, p, worker_limit)) {
        return gops_fail(error, GOPS_INVALID,
                         "max_workspace is %lld; gemm needs at least %lld bytes for one thread",
                         (long long)worker_limit, (long long)sum_sizes(workspace_sizes(plan, p)));
    }
    sizes s = workspace_sizes(plan, p);
    p->channel_blocks = gops_ceil_div(conv->channels_out, p->channels);
    p->data_from = gops_round_up(s.columns, GOPS_WORKSPACE_ALIGNMENT);
    p->sums_from = p->data_from + gops_round_up(s.data, GOPS_WORKSPACE_ALIGNMENT);
    plan->worker_bytes = p->sums_from + gops_round_up(s.sums, GOPS_WORKSPACE_ALIGNMENT);
    p->tiles = count_tiles(conv, p);
    plan->items = conv->batch * conv->groups * p->channel_blocks * p->tiles;
    plan->filter_bytes = conv->groups * conv->channels_out * conv->taps * conv->channels_in *
                         gops_compute_bytes(plan->type->compute);
    plan->cost = gemm_deconv_estimate(plan, p);
    gemm_deconv_explain(plan, p);
    return GOPS_OK;
}

/* Transposes [G, C_IN, C_OUT*taps] to [G, C_OUT*taps, C_IN]. */
static void gemm_deconv_pack(const gops_plan *plan, const void *weights, const int32_t *zero_points,
                             void *packed)
{
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t size = plan->filter_type->bytes;
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const int64_t rows = conv->channels_out * conv->taps;
    unsigned char *to = packed;
    for (int64_t g = 0; g < conv->groups; g++) {
        const unsigned char *from =
            (const unsigned char *)weights + g * conv->channels_in * rows * size;
        for (int64_t r = 0; r < rows; r++) {
            for (int64_t c = 0; c < conv->channels_in; c++, to += bytes) {
                plan->filter_type->load(to, from + (c * rows + r) * size, 1);
            }
        }
    }
    gops_gemm_subtract_zero_points(plan, zero_points, packed);
}

const gops_method gops_gemm_deconv = {
    .name = "gemm",
    .operation = GOPS_OPERATION_DECONV,
    .prepare = gemm_deconv_prepare,
    .pack = gemm_deconv_pack,
    .run = gops_gemm_deconv_run,
    .quantized = true,
    .calls_gemm = true,
    .indivisible = true,
    .any_span = true,
};
