/*
 * depthwise_blocked.c: `depthwise/blocked`, for small images with many channels: a depthwise
 * convolution or its transposed form of a block of channels at once, one channel in each lane of a
 * vector (depthwise_blocked.inc.h).
 *
 * A work item transposes the images of a block, which are neighbouring groups of one image of the
 * batch, into a copy padded with zeros, runs every filter over the copy and transposes the results
 * back. The weights of a block are packed tap by tap, a vector each. The sub-convolutions of a
 * transposed convolution (depthwise_method.h) run one after the other; each writes its own outputs,
 * `subconvs` apart. The form serves images whose copy and results stay in the cache; for others
 * there is depthwise_rows_plan.c.
 */
#include "methods/depthwise/depthwise_method.h"
#include "methods/methods.h"

#include "base/checked.h"
#include "base/error.h"
#include "methods/depthwise/depthwise.h"
#include "post_ops/post_ops.h"
#include "post_ops/epilogue.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum {
    /* A block has to fill one lane in so many: below, rows of one channel waste fewer lanes. */
    MIN_BLOCK_FILL = 2,
    /* The work is divided into at least so many items, to spread evenly over threads. */
    MIN_ITEMS = 16,
    /* More blocks in an item save no more time. */
    MAX_ITEM_BLOCKS = 16,
};

typedef struct blocked_plan {
    gops_depthwise_axis axis[3]; /* Z, Y, X; each one block */
    int64_t padded[3];           /* pixels of the copy along each axis */
    bool transposed;
    int64_t lanes;
    int64_t blocks;      /* of channels of one image */
    int64_t item_blocks; /* blocks of an item */
    int64_t copy_bytes;  /* the workspace holds these, in this order */
    int64_t sums_bytes;
    int64_t staging_bytes; /* data and results that are converted or stored through gops_store */
    int64_t positions_bytes;
    int64_t taps_bytes;
} blocked_plan;

static_assert(sizeof(blocked_plan) <= GOPS_PARAMETER_BYTES, "parameters outgrow the plan's room");

static const blocked_plan *blocked_read(const gops_plan *plan)
{
    return gops_read_parameters(plan);
}

static int64_t bytes_of(int64_t count, int64_t size)
{
    const int64_t bytes = gops_mul_saturate(count, size);
    return bytes > INT64_MAX / 8 ? INT64_MAX / 8 : gops_round_up(bytes, GOPS_WORKSPACE_ALIGNMENT);
}

static void set_layout(const gops_plan *plan, blocked_plan *p)
{
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t size = gops_compute_bytes(plan->type->compute);
    int64_t pixels = 1;
    p->lanes = plan->kernels->depthwise->rows[plan->type->compute].lanes;
    for (int a = 0; a < 3; a++) {
        const gops_depthwise_axis *axis = &p->axis[a];
        /* What the windows cover, padding included. */
        p->padded[a] = gops_mul_saturate(axis->count - 1, axis->step);
        if (!gops_add(p->padded[a], axis->reach + 1, &p->padded[a])) {
            p->padded[a] = INT64_MAX;
        }
        pixels = gops_mul_saturate(pixels, p->padded[a]);
    }
    p->blocks = gops_ceil_div(conv->groups, p->lanes);
    /* The last pixel takes all data that no window reads. */
    p->copy_bytes = bytes_of(pixels < INT64_MAX ? pixels + 1 : pixels, p->lanes * size);
    p->sums_bytes = bytes_of(conv->output_pixels, p->lanes * size);
    p->staging_bytes = bytes_of(gops_max(conv->data_pixels, conv->output_pixels), p->lanes * size);
    p->positions_bytes = bytes_of(conv->data_pixels, (int64_t)sizeof(int64_t));
    p->taps_bytes = bytes_of(conv->taps, (int64_t)sizeof(gops_depthwise_blocked_tap));
}

/* Estimated nanoseconds on one thread. The constants were fitted to 23 layers of f32 of 7 to 56
 * columns on a Zen 5 with AVX-512, and meet their times within 20%; the transposed form is 20% to
 * 40% slower than estimated. */
static double blocked_estimate(const gops_plan *plan, const blocked_plan *p)
{
    static const double item = 47, pixel_in = 1.74, pixel_out = 1.02, tap = 0.24, tap_row = 0.12;
    const gops_conv_geometry *conv = &plan->conv;
    const double blocks = (double)(conv->batch * p->blocks),
                 conversion = plan->type->native ? 1 : 3;
    const double outputs = (double)conv->output_pixels;
    const double rows = outputs / (double)p->axis[2].output;
    const double taps = (double)conv->taps /
                        (double)(p->axis[0].subconvs * p->axis[1].subconvs * p->axis[2].subconvs);
    return (double)plan->items * item + blocks * conversion * pixel_in * (double)conv->data_pixels +
           blocks * (double)conv->channels_out *
               (outputs * pixel_out * conversion + taps * (outputs * tap + rows * tap_row));
}

static gops_status blocked_prepare(gops_plan *plan, int64_t worker_limit, gops_error *error)
{
    const gops_conv_geometry *conv = &plan->conv;
    blocked_plan *p = gops_parameters(plan);
    *p = (blocked_plan){.transposed = plan->operation == GOPS_OPERATION_DECONV};
    const gops_status status = gops_depthwise_axes(plan, p->axis, error);
    if (status != GOPS_OK) {
        return status;
    }
    set_layout(plan, p);
    plan->worker_bytes =
        p->copy_bytes + p->sums_bytes + p->staging_bytes + p->positions_bytes + p->taps_bytes;
    if (p->copy_bytes + p->sums_bytes > plan->machine.l2_bytes / 2 ||
        conv->groups * MIN_BLOCK_FILL < p->lanes || plan->worker_bytes > worker_limit) {
        return gops_fail(
            error, GOPS_UNSUPPORTED,
            "depthwise/blocked takes blocks of %lld channels only where there are as many, and "
            "their images stay in the cache",
            (long long)p->lanes);
    }
    const int64_t all = conv->batch * p->blocks;
    p->item_blocks = gops_clamp(all / MIN_ITEMS, 1, MAX_ITEM_BLOCKS);
    plan->items = gops_ceil_div(all, p->item_blocks);
    plan->filter_bytes = gops_depthwise_filter_bytes(plan);
    plan->cost = blocked_estimate(plan, p);
    snprintf(plan->why, sizeof plan->why,
             "one channel a group, small images: blocks of %lld channels, one in each lane of a "
             "vector, of %lld pixels and %lld outputs",
             (long long)p->lanes, (long long)conv->data_pixels, (long long)conv->output_pixels);
    return GOPS_OK;
}

/* What an item works with; the pointers are into its workspace. */
typedef struct blocked_work {
    unsigned char *copy, *sums, *staging;
    int64_t *positions;
    gops_depthwise_blocked_tap *taps;
    int64_t single_subconv_taps; /* number of taps if there is only one sub-convolution, else 0 */
    const void *bounds;          /* NULL, or what the kernel's epilogue applies with `bias` */
    gops_epilogue_values bias;
    const gops_job *whole; /* the job before the epilogue took its part */
} blocked_work;

static blocked_work divide_workspace(const blocked_plan *p, unsigned char *workspace)
{
    blocked_work at = {.copy = workspace};
    at.sums = workspace += p->copy_bytes;
    at.staging = workspace += p->sums_bytes;
    at.positions = (int64_t *)(void *)(workspace += p->staging_bytes);
    at.taps = (gops_depthwise_blocked_tap *)(void *)(workspace + p->positions_bytes);
    return at;
}

/* The index in the copy of each pixel of the data; those that no window reads share the last
 * one. */
static void fill_positions(const blocked_plan *p, int64_t *positions)
{
    const int64_t unread = p->padded[0] * p->padded[1] * p->padded[2];
    int64_t shift[3], begin[3], end[3]; /* of the data that windows read */
    for (int a = 0; a < 3; a++) {
        const gops_depthwise_axis *axis = &p->axis[a];
        shift[a] = p->transposed ? axis->max_shift : axis->pad;
        begin[a] = gops_clamp(-shift[a], 0, axis->data);
        end[a] = gops_clamp(p->padded[a] - shift[a], begin[a], axis->data);
    }
    for (int64_t z = 0; z < p->axis[0].data; z++) {
        for (int64_t y = 0; y < p->axis[1].data; y++) {
            const int64_t row =
                ((z + shift[0]) * p->padded[1] + y + shift[1]) * p->padded[2] + shift[2];
            const bool within = z >= begin[0] && z < end[0] && y >= begin[1] && y < end[1];
            for (int64_t x = 0; x < p->axis[2].data; x++) {
                positions[x] = within && x >= begin[2] && x < end[2] ? row + x : unread;
            }
            positions += p->axis[2].data;
        }
    }
}

/* Lists the taps of the sub-convolution with these residues; returns their number. */
static int64_t fill_taps(const blocked_plan *p, const int64_t residue[3],
                         gops_depthwise_blocked_tap *taps)
{
    const gops_depthwise_axis *axis = p->axis;
    gops_depthwise_taps list[3];
    gops_depthwise_blocked_tap *to = taps;
    for (int a = 0; a < 3; a++) {
        list[a] = gops_depthwise_subconv_taps(&axis[a], p->transposed, residue[a]);
    }
    for (int64_t z = 0; z < list[0].count; z++) {
        for (int64_t y = 0; y < list[1].count; y++) {
            for (int64_t x = 0; x < list[2].count; x++) {
                const int64_t pz = list[0].position + z * axis[0].spacing;
                const int64_t py = list[1].position + y * axis[1].spacing;
                const int64_t px = list[2].position + x * axis[2].spacing;
                const int64_t kz = list[0].first + z * list[0].step;
                const int64_t ky = list[1].first + y * list[1].step;
                const int64_t kx = list[2].first + x * list[2].step;
                *to++ =
                    (gops_depthwise_blocked_tap){(pz * p->padded[1] + py) * p->padded[2] + px,
                                                 (kz * axis[1].kernel + ky) * axis[2].kernel + kx};
            }
        }
    }
    return to - taps;
}

/* Computes all outputs of a sub-convolution. */
static void blocked_run_subconv(const gops_plan *plan, const blocked_work *at,
                                const int64_t residue[3], int64_t taps,
                                const unsigned char *weights)
{
    const blocked_plan *p = blocked_read(plan);
    const gops_depthwise_axis *axis = p->axis;
    const gops_depthwise_kernels *kernels = &plan->kernels->depthwise->rows[plan->type->compute];
    const int64_t vector = p->lanes * gops_compute_bytes(plan->type->compute);
    int64_t count[3], output[3];
    for (int a = 0; a < 3; a++) {
        count[a] = gops_depthwise_subconv_outputs(&axis[a], p->transposed, residue[a],
                                                  axis[a].first, axis[a].count);
        output[a] = gops_depthwise_output_index(&axis[a], p->transposed, axis[a].first, residue[a]);
    }
    if (count[1] == 0 || count[2] == 0) {
        return;
    }
    for (int64_t z = 0; z < count[0]; z++, output[0] += axis[0].subconvs) {
        const int64_t data = z * axis[0].step * p->padded[1] * p->padded[2];
        const int64_t to = (output[0] * axis[1].output + output[1]) * axis[2].output + output[2];
        const gops_depthwise_blocked rows = {
            .data = at->copy + data * vector,
            .taps = at->taps,
            .weights = weights,
            .output = at->sums + to * vector,
            .count = taps,
            .y_step = axis[1].step * p->padded[2],
            .x_step = axis[2].step,
            .output_pitch = axis[1].subconvs * axis[2].output,
            .output_step = axis[2].subconvs,
            .rows = count[1],
            .width = count[2],
            .bounds = at->bounds,
            .bias = &at->bias,
        };
        kernels->blocked_rows(&rows);
    }
}

/* Runs one filter of each channel over the copy. */
static void blocked_run_filters(const gops_plan *plan, const blocked_work *at,
                                const unsigned char *weights)
{
    const blocked_plan *p = blocked_read(plan);
    int64_t residue[3];
    for (residue[0] = 0; residue[0] < p->axis[0].subconvs; residue[0]++) {
        for (residue[1] = 0; residue[1] < p->axis[1].subconvs; residue[1]++) {
            for (residue[2] = 0; residue[2] < p->axis[2].subconvs; residue[2]++) {
                const int64_t taps = at->single_subconv_taps > 0 ? at->single_subconv_taps
                                                                 : fill_taps(p, residue, at->taps);
                blocked_run_subconv(plan, at, residue, taps, weights);
            }
        }
    }
}

/* Transposes the results of one filter of each channel back and stores them; `first` is the first
 * channel's first output in the tensor. */
static void store_channels(const gops_plan *plan, const gops_job *job, const blocked_work *at,
                           int64_t channel, int64_t channels, int64_t first)
{
    const gops_conv_geometry *conv = &plan->conv;
    const gops_depthwise_kernels *kernels = &plan->kernels->depthwise->rows[plan->type->compute];
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const int64_t pixels = conv->output_pixels, filters = conv->channels_out;
    const bool native = plan->output_type->native && !gops_adds_in_place(job);
    unsigned char *values = native ? gops_output_at(plan, job, first) : at->staging;
    const int64_t pitch = native ? filters * pixels : pixels;
    kernels->from_blocked(values, pitch, at->sums, channels, pixels);
    for (int64_t c = 0; c < channels && (!native || job->fused); c++) {
        gops_store(plan, job, channel + c * filters, first + c * filters * pixels, pixels,
                   values + c * pitch * bytes);
    }
}

/* Computes the outputs of a block: `channels` groups of one image from `group` on. */
static void blocked_run_block(const gops_plan *plan, const gops_job *job, blocked_work *at,
                              int64_t image, int64_t group, int64_t channels)
{
    const blocked_plan *p = blocked_read(plan);
    const gops_conv_geometry *conv = &plan->conv;
    const gops_depthwise_kernels *kernels = &plan->kernels->depthwise->rows[plan->type->compute];
    const int64_t plane = image * conv->groups + group, filters = conv->channels_out;
    const int64_t filter_bytes = conv->taps * p->lanes * gops_compute_bytes(plan->type->compute);
    const unsigned char *weights = (const unsigned char *)job->filter +
                                   gops_depthwise_blocked_offset(plan) +
                                   group / p->lanes * filters * filter_bytes;
    const void *data = gops_data_at(plan, job, image, plane * conv->data_pixels);
    if (!plan->type->native) {
        plan->type->load(at->staging, data, channels * conv->data_pixels);
        data = at->staging;
    }
    kernels->to_blocked(at->copy, at->positions, data, conv->data_pixels, channels,
                        conv->data_pixels);
    for (int64_t m = 0; m < filters; m++) {
        if (at->bounds != NULL) {
            gops_epilogue_bias(plan, at->whole, group * filters + m, filters, channels, p->lanes,
                               &at->bias);
        }
        blocked_run_filters(plan, at, weights + m * filter_bytes);
        store_channels(plan, job, at, group * filters + m, channels,
                       (plane * filters + m) * conv->output_pixels);
    }
}

static void blocked_run(const gops_plan *plan, const gops_job *job, int64_t item, void *workspace)
{
    const blocked_plan *p = blocked_read(plan);
    const gops_conv_geometry *conv = &plan->conv;
    static const int64_t only_subconv[3] = {0};
    const gops_epilogue epilogue = gops_epilogue_read(plan, job, GOPS_EPILOGUE_NO_RESIDUAL);
    blocked_work at = divide_workspace(p, workspace);
    const int64_t end = gops_min((item + 1) * p->item_blocks, conv->batch * p->blocks);
    at.whole = job;
    if (epilogue.applies) {
        at.bounds = &epilogue.bounds;
        job = &epilogue.rest;
    }
    memset(at.copy, 0, (size_t)p->copy_bytes);
    fill_positions(p, at.positions);
    if (p->axis[0].subconvs * p->axis[1].subconvs * p->axis[2].subconvs == 1) {
        at.single_subconv_taps = fill_taps(p, only_subconv, at.taps);
    }
    for (int64_t i = item * p->item_blocks; i < end; i++) {
        const int64_t group = i % p->blocks * p->lanes;
        blocked_run_block(plan, job, &at, i / p->blocks, group,
                          gops_min(p->lanes, conv->groups - group));
    }
}

const gops_method gops_depthwise_blocked_deconv = {
    .name = "depthwise/blocked",
    .operation = GOPS_OPERATION_DECONV,
    .prepare = blocked_prepare,
    .pack = gops_depthwise_pack,
    .run = blocked_run,
    .modular = 1,
};

const gops_method gops_depthwise_blocked_conv = {
    .name = "depthwise/blocked",
    .operation = GOPS_OPERATION_CONV,
    .prepare = blocked_prepare,
    .pack = gops_depthwise_pack,
    .run = blocked_run,
    .modular = 1,
};
