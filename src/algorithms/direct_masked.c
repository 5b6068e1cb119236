/*
 * algorithms/direct_masked.c: `direct` on the image itself, without a padded copy: depthwise
 * convolution in f32 with 3, 5 or 7 taps along y and strides of 1 or 2, where the instruction set
 * loads with a mask (kernels/direct_masked.inc.h).
 *
 * A work item is some channels, or some rows of one where the channels are few. There is no
 * workspace but for a residual that lies in the output, in whose place the sums must not go.
 */
#include "algorithms/direct_method.h"
#include "algorithms/methods.h"

#include "base/checked.h"
#include "base/error.h"
#include "kernels/direct.h"
#include "store/store.h"
#include "store/trim.h"

#include <assert.h>
#include <stdio.h>

enum {
    /* The least items to divide the work into, so that threads find some, and evenly. */
    SHARES = 32,
    /* Filters beyond this in an item no longer save anything. */
    MOST_FILTERS = 64,
    /* The rows of a tile of the kernels. */
    TILE_ROWS = 14,
    /* Outputs of an item beyond this no longer save anything, and room is kept for as many. */
    MOST_OUTPUTS = 1 << 16,
};

typedef struct parameters {
    gops_direct_axis axis[3];
    int64_t row_block, row_blocks; /* rows of outputs of an item; how many make an image */
    int64_t filters;               /* output channels of all images */
    int64_t filter_block;          /* of an item */
} parameters;

static_assert(sizeof(parameters) <= GOPS_PARAMETER_BYTES, "parameters outgrow the plan's room");

static const parameters *read_own(const gops_plan *plan)
{
    return (const parameters *)(const void *)plan->parameters.bytes;
}

static int is_served(const gops_plan *plan, const gops_direct_axis axis[3])
{
    const gops_direct_axis *z = &axis[0], *y = &axis[1], *x = &axis[2];
    const int offered = plan->kernels->masked[plan->type->compute] != NULL && plan->type->plain &&
                        plan->output_type->plain;
    const int flat = z->data == 1 && z->output == 1 && z->kernel == 1;
    const int taps = y->kernel == 3 || y->kernel == 5 || y->kernel == 7;
    const int by_1 = y->stride == 1 && x->stride == 1;
    const int by_2 = y->stride == 2 && x->stride == 2 && y->dilation == 1 && x->dilation == 1 &&
                     y->kernel == x->kernel;
    return offered && flat && taps && (by_1 || by_2);
}

/* Estimated nanoseconds on one thread: constants fitted to 12 layers of f32 of 7 to 112 columns on
 * a Zen 5 with AVX-512, which they meet within 15%, dilated ones within 30%. */
static double estimate(const gops_plan *plan, const parameters *p)
{
    static const double filter = 8, vector[] = {0.8, 2.0}, tap[] = {0.12, 0.18}; /* by stride */
    const int64_t lanes = plan->kernels->vector_bytes / gops_compute_bytes(plan->type->compute);
    const gops_direct_axis *y = &p->axis[1], *x = &p->axis[2];
    const double vectors = (double)y->output * (double)gops_ceil_div(x->output, lanes);
    const int by_2 = x->stride == 2;
    return (double)p->filters *
           (filter + vectors * (vector[by_2] + (double)plan->conv.taps * tap[by_2]));
}

static gops_status prepare(gops_plan *plan, int64_t slot_limit, gops_error *error)
{
    const gops_conv_geometry *conv = &plan->conv;
    parameters *p = (parameters *)(void *)plan->parameters.bytes;
    *p = (parameters){.filters = conv->batch * conv->groups * conv->channels_out};
    const gops_status status = gops_direct_axes(plan, p->axis, error);
    if (status != GOPS_OK) {
        return status;
    }
    if (!is_served(plan, p->axis)) {
        return gops_fail(error, GOPS_UNSUPPORTED,
                         "direct without a copy serves f32 in two dimensions with 3, 5 or 7 taps "
                         "along y, where the instruction set has masks");
    }
    const int64_t rows = p->axis[1].output, columns = p->axis[2].output;
    const int64_t least = gops_max(SHARES / p->filters, conv->output_pixels / MOST_OUTPUTS);
    const int64_t blocks = gops_clamp(least, 1, gops_ceil_div(rows, TILE_ROWS));
    p->row_block = gops_min(rows, gops_round_up(gops_ceil_div(rows, blocks), TILE_ROWS));
    p->row_blocks = gops_ceil_div(rows, p->row_block);
    p->filter_block = gops_clamp(p->filters / SHARES, 1, MOST_FILTERS);
    plan->items = gops_ceil_div(p->filters, p->filter_block) * p->row_blocks;
    plan->slot_bytes = gops_mul_saturate(gops_mul_saturate(p->row_block, columns),
                                         gops_compute_bytes(plan->type->compute));
    if (plan->slot_bytes > slot_limit - GOPS_WORKSPACE_ALIGNMENT) {
        return gops_fail(error, GOPS_UNSUPPORTED,
                         "direct without a copy has room for %lld bytes of %lld columns",
                         (long long)slot_limit, (long long)columns);
    }
    plan->slot_bytes = gops_round_up(plan->slot_bytes, GOPS_WORKSPACE_ALIGNMENT);
    plan->filter_bytes = gops_direct_filter_bytes(plan);
    plan->cost = estimate(plan, p);
    snprintf(
        plan->why, sizeof plan->why,
        "one channel a group: sliding window over the image where it lies, padding masked off, "
        "%lld rows of %lld filters an item",
        (long long)p->row_block, (long long)p->filter_block);
    return GOPS_OK;
}

static void run(const gops_plan *plan, const gops_job *job, int64_t item, void *workspace)
{
    const parameters *p = read_own(plan);
    const gops_conv_geometry *conv = &plan->conv;
    const gops_direct_axis *y = &p->axis[1], *x = &p->axis[2];
    const gops_trim trim = gops_trim_read(plan, job, 0);
    const gops_job *rest = trim.applies ? &trim.rest : job;
    const int apart = gops_adds_in_place(job);
    gops_trim_values bias;
    gops_direct_masked masked = {
        .height = y->data,
        .width = x->data,
        .first = item % p->row_blocks * p->row_block,
        .columns = x->output,
        .kernel_y = y->kernel,
        .kernel_x = x->kernel,
        .pad_y = y->pad,
        .pad_x = x->pad,
        .dilation_y = y->dilation,
        .dilation_x = x->dilation,
        .stride = x->stride,
        .bounds = trim.applies ? &trim.bounds : NULL,
        .bias = &bias,
    };
    masked.rows = gops_min(p->row_block, y->output - masked.first);
    const int64_t begin = item / p->row_blocks * p->filter_block;
    const int64_t end = gops_min(begin + p->filter_block, p->filters);
    for (int64_t filter = begin; filter < end; filter++) {
        const int64_t plane = filter / conv->channels_out;
        const int64_t channel = filter % (conv->groups * conv->channels_out);
        const int64_t start = filter * conv->output_pixels + masked.first * masked.columns;
        masked.data = gops_data_at(plan, job, plane / conv->groups, plane * conv->data_pixels);
        masked.weights = (const float *)job->filter + channel * conv->taps;
        if (trim.applies) {
            gops_trim_bias(plan, job, channel, 1, 1, 1, &bias);
        }
        masked.output = apart ? workspace : gops_output_at(plan, job, start);
        plan->kernels->masked[plan->type->compute](&masked);
        if (rest->fused) {
            gops_store(plan, rest, channel, start, masked.rows * masked.columns, masked.output);
        }
    }
}

const gops_method gops_direct_masked_conv = {
    .algorithm = "direct",
    .form = "masked",
    .operation = GOPS_OPERATION_CONV,
    .prepare = prepare,
    .pack = gops_direct_pack,
    .run = run,
};
