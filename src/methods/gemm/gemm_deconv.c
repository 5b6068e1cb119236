/*
 * gemm_deconv.c: GroupConvolutionBackpropData by GEMM and col2im, the reference path.
 *
 * For each image and group,
 *
 *     columns [C_OUT*taps x X] = filter^T [C_OUT*taps x C_IN] * data [C_IN x X],   X = data pixels,
 *
 * and col2im (col2im.inc.h) adds the columns onto the output. The weights are transposed when
 * they are packed. The columns are made in blocks of `channels` output channels by `columns`
 * pixels, each added to the output at once; a budget without bound makes it one GEMM per image and
 * group.
 *
 * Blocks of one channel add to the same outputs, so one work item does them all, in order. Items
 * are (image, group, block of channels, band). There is one band, the whole output, where the
 * output is in the compute type and the sums can grow in it. Else they grow in the workspace, and
 * where that is too large an item makes a band of the output: one index of the outer axes, a range
 * of axis `cut`, all of the axes within; it multiplies every data pixel that reaches the band.
 */
#include "methods/gemm/gemm_deconv.h"
#include "methods/methods.h"

#include "base/checked.h"
#include "base/error.h"
#include "methods/gemm/gemm.h"

#include <stdio.h>

enum {
    /* Rows of a GEMM, C_OUT * taps of a block, that amortise its packing of the data. */
    TALL_BLOCK = 96,
    WIDE_BLOCK = 384,
    WIDEST_BLOCK = 2048,
    COLUMN_STEP = 48,
    LARGEST_SIZE = INT32_MAX - 64,
};

static gops_gemm_deconv_parameters *own(gops_plan *plan)
{
    return (gops_gemm_deconv_parameters *)(void *)plan->parameters.bytes;
}

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
        s.sums = gops_mul_saturate(gops_mul_saturate(p->channels, p->band_pixels), bytes);
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

/* Cuts the bands of the output in half: along the present axis, or the next one within. False when
 * they are single pixels already. */
static int halve_band(const gops_conv_geometry *conv, gops_gemm_deconv_parameters *p)
{
    while (p->band == 1 && p->cut + 1 < conv->axes) {
        p->cut++;
        p->band = conv->axis[p->cut].output;
    }
    if (p->band == 1) {
        return 0;
    }
    p->banded = 1;
    p->band = gops_ceil_div(p->band, 2);
    p->band_pixels = p->band;
    for (int a = p->cut + 1; a < conv->axes; a++) {
        p->band_pixels *= conv->axis[a].output;
    }
    return 1;
}

/* Halves what takes most until the block fits. False where even the least does not. */
static int fit(const gops_plan *plan, gops_gemm_deconv_parameters *p, int64_t limit)
{
    for (;;) {
        sizes s = workspace_sizes(plan, p);
        if (sum_sizes(s) <= limit) {
            return 1;
        }
        int64_t others = gops_max(s.columns, s.data);
        if (p->channels > 1 && gops_max(s.columns, s.sums) >= s.data) {
            p->channels = gops_ceil_div(p->channels, 2);
        } else if (s.sums > others && halve_band(&plan->conv, p)) {
            continue;
        } else if (p->columns > COLUMN_STEP) {
            p->columns = gops_max(COLUMN_STEP, p->columns / 2);
        } else if (s.data > s.columns && p->depth > 1) {
            p->depth = gops_ceil_div(p->depth, 2);
        } else if (p->columns > 1) {
            p->columns = gops_ceil_div(p->columns, 2);
        } else if (s.sums == 0 || !halve_band(&plan->conv, p)) {
            return 0;
        }
    }
}

static void block_for_cache(const gops_plan *plan, gops_gemm_deconv_parameters *p)
{
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t room = plan->machine.l2_bytes / 2 / gops_compute_bytes(plan->type->compute);
    p->channels = gops_clamp(gops_ceil_div(TALL_BLOCK, conv->taps), 1, gops_max(1, p->channels));
    int64_t wide =
        gops_clamp(room / gops_mul_saturate(p->channels, conv->taps), WIDE_BLOCK, WIDEST_BLOCK);
    int64_t blocks = gops_ceil_div(conv->data_pixels, wide);
    p->columns = gops_round_up(gops_ceil_div(conv->data_pixels, blocks), COLUMN_STEP);
    p->columns = gops_min(p->columns, conv->data_pixels);
}

static int64_t count_bands(const gops_conv_geometry *conv, const gops_gemm_deconv_parameters *p)
{
    int64_t bands = gops_ceil_div(conv->axis[p->cut].output, p->band);
    for (int a = 0; a < p->cut; a++) {
        bands *= conv->axis[a].output;
    }
    return bands;
}

static void explain(gops_plan *plan, const gops_gemm_deconv_parameters *p)
{
    snprintf(
        plan->why, sizeof plan->why,
        "%s and col2im in %lld blocks of %lld channels by %lld of %lld pixels, %lld bands: M %lld, "
        "N %lld, K %lld",
        gops_compute_product(plan->type->compute), (long long)p->channel_blocks,
        (long long)p->channels, (long long)p->columns, (long long)plan->conv.data_pixels,
        (long long)p->bands, (long long)(p->channels * plan->conv.taps), (long long)p->columns,
        (long long)p->depth);
}

/* Estimated nanoseconds. Fitted to DCGAN's, HiFi-GAN's and U-Net's layers with OpenBLAS 0.3.21 on a
 * Zen 5 with AVX-512, one core of a virtual machine, 2026; its Haswell kernels. */
static double estimate(const gops_plan *plan)
{
    static const double NS_PER_FLOP = 0.009, NS_PER_COLUMN_VALUE = 0.4, NS_PER_RUN = 10;
    static const double NS_PER_OUTPUT = 0.2;
    const gops_conv_geometry *conv = &plan->conv;
    const double images = (double)conv->batch * (double)conv->groups;
    const double rows = (double)conv->channels_out * (double)conv->taps;
    const double values = rows * (double)conv->data_pixels;
    const double outputs = (double)conv->channels_out * (double)conv->output_pixels;
    const double wide = (double)gops_compute_bytes(plan->type->compute) / sizeof(float);
    const double image = NS_PER_COLUMN_VALUE * values + NS_PER_OUTPUT * outputs +
                         NS_PER_RUN * values / (double)conv->axis[conv->axes - 1].data;
    const double speed = gops_gemm_speed(&plan->gemm, plan->type->compute);
    return (images * image + NS_PER_FLOP * (double)conv->flops / speed) * wide;
}

static gops_status prepare(gops_plan *plan, int64_t slot_limit, gops_error *error)
{
    gops_gemm_deconv_parameters *p = own(plan);
    const gops_conv_geometry *conv = &plan->conv;
    if (conv->taps > LARGEST_SIZE) {
        return gops_fail(error, GOPS_UNSUPPORTED,
                         "gemm takes a kernel of at most %d taps; it has %lld", LARGEST_SIZE,
                         (long long)conv->taps);
    }
    *p = (gops_gemm_deconv_parameters){
        .channels = gops_min(conv->channels_out, LARGEST_SIZE / conv->taps),
        .columns = gops_min(conv->data_pixels, LARGEST_SIZE),
        .depth = gops_min(conv->channels_in, plan->wrapped ? plan->exact_k : LARGEST_SIZE),
        .band = conv->axis[0].output,
        .band_pixels = conv->output_pixels,
        .in_place = plan->type->plain && conv->data_pixels <= LARGEST_SIZE,
    };
    fill_scatter(conv, &p->scatter);
    if (slot_limit != GOPS_UNLIMITED) {
        block_for_cache(plan, p);
    }
    if (!fit(plan, p, slot_limit)) {
        return gops_fail(error, GOPS_INVALID,
                         "max_workspace is %lld; gemm needs at least %lld bytes for one thread",
                         (long long)slot_limit, (long long)sum_sizes(workspace_sizes(plan, p)));
    }
    sizes s = workspace_sizes(plan, p);
    p->channel_blocks = gops_ceil_div(conv->channels_out, gops_max(1, p->channels));
    p->data_from = gops_round_up(s.columns, GOPS_WORKSPACE_ALIGNMENT);
    p->sums_from = p->data_from + gops_round_up(s.data, GOPS_WORKSPACE_ALIGNMENT);
    plan->slot_bytes = p->sums_from + gops_round_up(s.sums, GOPS_WORKSPACE_ALIGNMENT);
    p->bands = count_bands(conv, p);
    plan->items = conv->batch * conv->groups * p->channel_blocks * p->bands;
    plan->filter_bytes = conv->groups * conv->channels_out * conv->taps * conv->channels_in *
                         gops_compute_bytes(plan->type->compute);
    plan->cost = estimate(plan);
    explain(plan, p);
    return GOPS_OK;
}

/* [G, C_IN, C_OUT*taps] becomes [G, C_OUT*taps, C_IN]. */
static void pack(const gops_plan *plan, const void *weights, void *packed)
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
}

const gops_method gops_gemm_deconv = {
    .name = "gemm",
    .operation = GOPS_OPERATION_DECONV,
    .prepare = prepare,
    .pack = pack,
    .run = gops_gemm_deconv_run,
    .wraps = 1,
};
