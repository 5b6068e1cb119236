/*
 * algorithms/gemm_deconv.c: GroupConvolutionBackpropData by GEMM and col2im, the reference path.
 *
 * For each image and group,
 *
 *     columns [C_OUT*taps x X] = filter^T [C_OUT*taps x C_IN] * data [C_IN x X],   X = data pixels,
 *
 * and col2im (lower/col2im.inc.h) adds the columns onto the output. The weights are transposed when
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
#include "algorithms/methods.h"

#include "base/checked.h"
#include "base/error.h"
#include "gemm/gemm.h"
#include "store/store.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum {
    /* Rows of a GEMM, C_OUT * taps of a block, that amortise its packing of the data. */
    TALL_BLOCK = 96,
    WIDE_BLOCK = 384,
    WIDEST_BLOCK = 2048,
    COLUMN_STEP = 48,
    LARGEST_SIZE = INT32_MAX - 64,
};

typedef struct parameters {
    gops_scatter scatter; /* its boxes: the whole tensors */
    int64_t channels;     /* of a block */
    int64_t channel_blocks;
    int64_t columns; /* of a block */
    int64_t depth;   /* of C_IN in one GEMM */
    int32_t cut;     /* the axis that bands cut */
    int32_t banded;
    int64_t band; /* outputs of that axis in a band */
    int64_t bands;
    int64_t band_pixels; /* the most of one channel in a band */
    int in_place;        /* the sums grow in the output */
    int64_t data_from;   /* in the workspace: converted data, behind the columns */
    int64_t sums_from;   /* the sums, behind those */
} parameters;

static_assert(sizeof(parameters) <= GOPS_PARAMETER_BYTES, "parameters outgrow the plan's room");

static parameters *own(gops_plan *plan)
{
    return (parameters *)(void *)plan->parameters.bytes;
}

static const parameters *read_own(const gops_plan *plan)
{
    return (const parameters *)(const void *)plan->parameters.bytes;
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

static sizes workspace_sizes(const gops_plan *plan, const parameters *p)
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
static int halve_band(const gops_conv_geometry *conv, parameters *p)
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
static int fit(const gops_plan *plan, parameters *p, int64_t limit)
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

static void block_for_cache(const gops_plan *plan, parameters *p)
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

static int64_t count_bands(const gops_conv_geometry *conv, const parameters *p)
{
    int64_t bands = gops_ceil_div(conv->axis[p->cut].output, p->band);
    for (int a = 0; a < p->cut; a++) {
        bands *= conv->axis[a].output;
    }
    return bands;
}

static void explain(gops_plan *plan, const parameters *p)
{
    snprintf(
        plan->why, sizeof plan->why,
        "%s and col2im in %lld blocks of %lld channels by %lld of %lld pixels, %lld bands: M %lld, "
        "N %lld, K %lld",
        gops_gemm_name(plan->type->compute), (long long)p->channel_blocks, (long long)p->channels,
        (long long)p->columns, (long long)plan->conv.data_pixels, (long long)p->bands,
        (long long)(p->channels * plan->conv.taps), (long long)p->columns, (long long)p->depth);
}

/* Estimated nanoseconds. Fitted to DCGAN's, HiFi-GAN's and U-Net's layers with OpenBLAS 0.3.21 on a
 * Zen 5 with AVX-512, one core of a virtual machine, 2026. */
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
    return (images * image + NS_PER_FLOP * (double)conv->flops) * wide;
}

static gops_status prepare(gops_plan *plan, int64_t slot_limit, gops_error *error)
{
    parameters *p = own(plan);
    const gops_conv_geometry *conv = &plan->conv;
    if (conv->taps > LARGEST_SIZE) {
        return gops_fail(error, GOPS_UNSUPPORTED,
                         "gemm takes a kernel of at most %d taps; it has %lld", LARGEST_SIZE,
                         (long long)conv->taps);
    }
    *p = (parameters){
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
    const int64_t size = (int64_t)gops_type_bytes(plan->filter_type->type);
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

/* What one item works on. */
typedef struct piece {
    const gops_job *job;
    int64_t channel;             /* the first output channel of the block, over all groups */
    int64_t first_channel;       /* the same, over all images too */
    gops_scatter scatter;        /* with the item's boxes */
    const unsigned char *data;   /* of the group, in T */
    const unsigned char *filter; /* of the block of channels, in C */
    unsigned char *output;       /* of the block of channels, in T */
    int64_t channels;
    int64_t pixels; /* in the data box */
    double data_zero;
    unsigned char *workspace;
} piece;

/* The data pixels of an axis that reach its outputs output0 to output1 - 1 with some tap. */
static void data_box(gops_scatter_axis *axis, int64_t size)
{
    const int64_t reach = (axis->kernel - 1) * axis->dilation;
    axis->data0 =
        gops_clamp(gops_ceil_div(axis->output0 + axis->pad - reach, axis->stride), 0, size);
    axis->data1 = gops_clamp(gops_floor_div(axis->output1 - 1 + axis->pad, axis->stride) + 1,
                             axis->data0, size);
}

static void set_band(const gops_conv_geometry *conv, const parameters *p, int64_t band,
                     gops_scatter *scatter)
{
    const int64_t along = gops_ceil_div(conv->axis[p->cut].output, p->band);
    gops_scatter_axis *cut = &scatter->axis[p->cut];
    cut->output0 = band % along * p->band;
    cut->output1 = gops_min(cut->output0 + p->band, conv->axis[p->cut].output);
    band /= along;
    for (int a = p->cut - 1; a >= 0; a--) {
        scatter->axis[a].output0 = band % conv->axis[a].output;
        scatter->axis[a].output1 = scatter->axis[a].output0 + 1;
        band /= conv->axis[a].output;
    }
    for (int a = 0; a <= p->cut; a++) {
        data_box(&scatter->axis[a], conv->axis[a].data);
    }
}

/* Converts pixels first to first + count - 1 of the data box, of one channel. Runs along the last
 * axis lie together. */
static void load_box(const gops_plan *plan, const piece *at, const unsigned char *channel,
                     int64_t first, int64_t count, unsigned char *to)
{
    const gops_scatter *scatter = &at->scatter;
    const gops_scatter_axis *last = &scatter->axis[scatter->axes - 1];
    const int64_t size = (int64_t)gops_type_bytes(plan->type->type);
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const int64_t width = last->data1 - last->data0;
    while (count > 0) {
        int64_t run = gops_min(count, width - first % width);
        int64_t row = first / width, offset = 0, step = plan->conv.axis[scatter->axes - 1].data;
        for (int a = scatter->axes - 2; a >= 0; a--) {
            const gops_scatter_axis *axis = &scatter->axis[a];
            offset += (axis->data0 + row % (axis->data1 - axis->data0)) * step;
            row /= axis->data1 - axis->data0;
            step *= plan->conv.axis[a].data;
        }
        offset += last->data0 + first % width;
        plan->type->load(to, channel + offset * size, run);
        if (plan->type->take_off != NULL) {
            plan->type->take_off(to, run, at->data_zero);
        }
        to += run * bytes;
        first += run;
        count -= run;
    }
}

/* columns (+)= filter^T x data for pixels first to first + count - 1 of the box and `depth` of C_IN
 * from channel c on. */
static void multiply(const gops_plan *plan, const piece *at, int64_t first, int64_t count,
                     int64_t c, int64_t depth)
{
    const parameters *p = read_own(plan);
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t size = (int64_t)gops_type_bytes(plan->type->type);
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const unsigned char *data = at->data + c * conv->data_pixels * size;
    gops_product product = {
        .m = (int32_t)(at->channels * conv->taps),
        .n = (int32_t)count,
        .k = (int32_t)depth,
        .a = at->filter + c * bytes,
        .lda = (int32_t)conv->channels_in,
        .b = data + first * size,
        .ldb = (int32_t)conv->data_pixels,
        .accumulate = c > 0 && !plan->wrapped,
        .c = at->workspace,
        .ldc = (int32_t)count,
    };
    if (!p->in_place) {
        unsigned char *box = at->workspace + p->data_from;
        for (int64_t i = 0; i < depth; i++) {
            load_box(plan, at, data + i * conv->data_pixels * size, first, count,
                     box + i * count * bytes);
        }
        product.b = box;
        product.ldb = (int32_t)count;
    }
    gops_gemm_run(&plan->gemm, plan->kernels, plan->type->compute, &product);
}

/* Adds pixels first to first + count - 1 of the box onto the sums. */
static void add_block(const gops_plan *plan, const piece *at, int64_t first, int64_t count,
                      unsigned char *sums, int64_t pixels)
{
    const parameters *p = read_own(plan);
    const int64_t channels_in = plan->conv.channels_in;
    const gops_compute compute = plan->type->compute;
    const gops_scatter_part part = {at->channels, first, first + count, count};
    for (int64_t c = 0; c < channels_in; c += p->depth) {
        const int64_t depth = gops_min(p->depth, channels_in - c);
        multiply(plan, at, first, count, c, depth);
        if (plan->wrapped) {
            plan->kernels->wrap[compute](at->workspace, at->channels * plan->conv.taps * count,
                                         NULL);
            plan->kernels->col2im[gops_compute_wrapped(compute)](&at->scatter, &part, at->workspace,
                                                                 sums, pixels);
        }
    }
    if (!plan->wrapped) {
        plan->kernels->col2im[compute](&at->scatter, &part, at->workspace, sums, pixels);
    }
}

/* Finishes the band, which is a run of each channel. */
static void finish(const gops_plan *plan, const piece *at, unsigned char *sums, int64_t pixels)
{
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    int64_t offset = 0;
    for (int a = 0; a < plan->conv.axes; a++) {
        offset = offset * plan->conv.axis[a].output + at->scatter.axis[a].output0;
    }
    for (int64_t c = 0; c < at->channels; c++) {
        const int64_t first = (at->first_channel + c) * plan->conv.output_pixels + offset;
        gops_store(plan, at->job, at->channel + c, first, pixels, sums + c * pixels * bytes);
    }
}

static void run_piece(const gops_plan *plan, const piece *at)
{
    const parameters *p = read_own(plan);
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    int64_t pixels = 1;
    for (int a = 0; a < plan->conv.axes; a++) {
        pixels *= at->scatter.axis[a].output1 - at->scatter.axis[a].output0;
    }
    unsigned char *sums = p->in_place ? at->output : at->workspace + p->sums_from;
    const int adds = p->in_place && gops_adds_in_place(at->job);
    if (!adds) {
        memset(sums, 0, (size_t)(at->channels * pixels * bytes));
    }
    for (int64_t first = 0; first < at->pixels; first += p->columns) {
        const int64_t count = gops_min(p->columns, at->pixels - first);
        add_block(plan, at, first, count, sums, pixels);
    }
    if (!p->in_place || at->job->fused) {
        gops_job rest = *at->job;
        piece after = *at;
        rest.residual = adds ? NULL : rest.residual;
        after.job = &rest;
        finish(plan, &after, sums, pixels);
    }
}

static void run(const gops_plan *plan, const gops_job *job, int64_t item, void *workspace)
{
    const parameters *p = read_own(plan);
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const int64_t band = item % p->bands;
    const int64_t channel = item / p->bands % p->channel_blocks * p->channels;
    const int64_t image_group = item / p->bands / p->channel_blocks;
    const int64_t group = image_group % conv->groups;
    const int64_t first_channel = image_group * conv->channels_out + channel;
    piece at = {
        .job = job,
        .channel = group * conv->channels_out + channel,
        .first_channel = first_channel,
        .scatter = p->scatter,
        .data = gops_data_at(plan, job, image_group / conv->groups,
                             image_group * conv->channels_in * conv->data_pixels),
        .filter = (const unsigned char *)job->filter +
                  (group * conv->channels_out + channel) * conv->taps * conv->channels_in * bytes,
        .output = gops_output_at(plan, job, first_channel * conv->output_pixels),
        .channels = gops_min(p->channels, conv->channels_out - channel),
        .pixels = 1,
        .data_zero = job->data_zero,
        .workspace = workspace,
    };
    if (p->banded) {
        set_band(conv, p, band, &at.scatter);
    }
    for (int a = 0; a < conv->axes; a++) {
        at.pixels *= at.scatter.axis[a].data1 - at.scatter.axis[a].data0;
    }
    run_piece(plan, &at);
}

const gops_method gops_gemm_deconv = {
    .algorithm = "gemm",
    .operation = GOPS_OPERATION_DECONV,
    .prepare = prepare,
    .pack = pack,
    .run = run,
    .wraps = 1,
};
