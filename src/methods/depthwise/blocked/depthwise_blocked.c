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

#include "base/error.h"
#include "post_ops/epilogue.h"
#include "post_ops/post_ops.h"

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
    AVX2_BYTES = 32, /* of a vector */
};

typedef struct blocked_plan {
    gops_depthwise_layout layout;
    /* NULL where the copy is padded and rows are computed one by one. */
    gops_depthwise_plane_fn *plane;
    int64_t blocks;      /* of channels of one image */
    int64_t item_blocks; /* blocks of an item */
} blocked_plan;

static_assert(sizeof(blocked_plan) <= GOPS_PARAMETER_BYTES, "parameters outgrow the plan's room");

static const blocked_plan *blocked_read(const gops_plan *plan)
{
    return gops_read_parameters(plan);
}

static const gops_depthwise_kernels *blocked_kernels(const gops_plan *plan)
{
    return &plan->kernels->depthwise->rows[plan->type->compute];
}

/* Pixels of the copy: what the windows cover, padding included. */
static int64_t copy_pixels(const gops_depthwise_layout *layout)
{
    return gops_depthwise_extent(&layout->axis[0]) * layout->plane_pitch;
}

/* Sets pitches and sizes; returns the bytes of the workspace. */
static int64_t set_layout(const gops_plan *plan, blocked_plan *p)
{
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t vector = plan->kernels->vector_bytes;
    gops_depthwise_layout *layout = &p->layout;
    const int64_t sums = conv->output_pixels * vector;
    const int64_t staging = gops_max(conv->data_pixels, conv->output_pixels) * vector;
    if (p->plane != NULL) {
        return gops_depthwise_lay_out(layout, conv->data_pixels * vector, sums, staging, 0, 0);
    }
    layout->stride = layout->residues = 1;
    layout->row_pitch = gops_depthwise_extent(&layout->axis[2]);
    layout->plane_pitch = gops_depthwise_extent(&layout->axis[1]) * layout->row_pitch;
    /* One pixel more takes all data that no window reads. */
    return gops_depthwise_lay_out(layout, (copy_pixels(layout) + 1) * vector, sums, staging, 0,
                                  conv->data_pixels * (int64_t)sizeof(int64_t));
}

/* The part of the taps along an axis of all outputs that lie inside the data. */
static double part_inside(const gops_depthwise_axis *axis)
{
    int64_t taps = 0;
    for (int64_t at = 0; at < axis->output; at++) {
        const gops_range inside = gops_depthwise_taps_inside(axis, at);
        taps += inside.end - inside.begin;
    }
    return (double)taps / (double)(axis->output * axis->kernel);
}

/* The part of all taps of all outputs that the kernels compute. Rows of filters with several planes take all rows of
 * taps, as those are in one list. */
static double part_of_taps(const blocked_plan *p)
{
    const gops_depthwise_axis *axis = p->layout.axis;
    if (axis[1].transposed) {
        return 1;
    }
    return part_inside(&axis[0]) *
           (p->plane != NULL || axis[0].kernel == 1 ? part_inside(&axis[1]) : 1) *
           (p->plane != NULL ? part_inside(&axis[2]) : 1);
}

/* Nanoseconds of a block of channels: for a pixel copied, an output stored and a tap of an output. */
typedef struct block_cost {
    double in, out, tap;
} block_cost;

/* Those of padded copies were fitted to 23 layers of f32 of 7 to 56 columns on a Zen 5 with AVX-512, whose times they
 * meet within 20%; the transposed form is 20% to 40% slower. All others were fitted on an Intel Xeon, then reduced to
 * how far the estimates of `rows` and `masked` fall short of their times there: to 0.86 and 0.73 with AVX2, 0.62 with
 * AVX-512. */
static block_cost find_cost(const gops_plan *plan, const blocked_plan *p)
{
    if (plan->kernels->vector_bytes == AVX2_BYTES) {
        return p->plane != NULL ? (block_cost){0.6, 1.4, 0.13} : (block_cost){1.25, 1.05, 0.23};
    }
    return p->plane != NULL ? (block_cost){1.05, 2.15, 0.11} : (block_cost){1.74, 1.02, 0.24};
}

/* Estimated nanoseconds on one thread. */
static double blocked_estimate(const gops_plan *plan, const blocked_plan *p)
{
    static const double item = 47, tap_row = 0.12;
    /* Where lines of a block's channels evict each other: 3x3 on 32x32 takes AVX-512 1.38 times as long as on 31x31
     * (Zen 5). */
    static const double conflict_slower = 1.7;
    /* A few lines more do no harm: with 33 KB, of 28x28 with stride 2, Zen 4 takes 0.8 of what is estimated. */
    const bool beyond_l1 = p->layout.begin.staging > plan->machine.l1_bytes * 17 / 16;
    const block_cost cost = find_cost(plan, p);
    const gops_conv_geometry *conv = &plan->conv;
    const double blocks = (double)(conv->batch * p->blocks),
                 conversion = plan->type->native ? 1 : 2.3;
    const double outputs = (double)conv->output_pixels;
    /* A product of 32-bit integers is two operations of AVX-512 (Zen 5); AVX2's estimate has room for it. */
    const bool slow = gops_is_integer(plan->type) && plan->type->bytes == 4 &&
                      plan->kernels->vector_bytes > AVX2_BYTES;
    const double slow_tap = slow ? 2 : 1;
    const gops_depthwise_axis *axis = p->layout.axis;
    const double rows = outputs / (double)axis[2].output;
    const double taps =
        (double)conv->taps / (double)(axis[0].subconvs * axis[1].subconvs * axis[2].subconvs);
    const bool conflicts = gops_machine_planes_conflict(
        &plan->machine, plan->data_plane, plan->type->bytes, gops_depthwise_lanes(plan));
    const double move = conversion * (conflicts ? conflict_slower : 1) *
                        (plan->kernels->vector_bytes == AVX2_BYTES && beyond_l1 ? 1.5 : 1);
    return (double)plan->items * item + blocks * move * cost.in * (double)conv->data_pixels +
           blocks * (double)conv->channels_out *
               (outputs * cost.out * move +
                part_of_taps(p) * taps * (outputs * cost.tap * slow_tap + rows * tap_row));
}

static gops_status blocked_prepare(gops_plan *plan, int64_t worker_limit, gops_error *error)
{
    (void)worker_limit;
    const gops_conv_geometry *conv = &plan->conv;
    blocked_plan *p = gops_parameters(plan);
    const int64_t lanes = gops_depthwise_lanes(plan);
    *p = (blocked_plan){0};
    GOPS_TRY(gops_depthwise_axes(plan, p->layout.axis, error));
    p->plane = gops_depthwise_find_plane(blocked_kernels(plan), p->layout.axis);
    p->blocks = gops_ceil_div(conv->groups, lanes);
    plan->worker_bytes = set_layout(plan, p);
    /* The copy and the sums are what lies before the staging. */
    if (p->layout.begin.staging > plan->machine.l2_bytes / 2 ||
        (!plan->is_part && conv->groups * MIN_BLOCK_FILL < lanes)) {
        return gops_fail(
            error, GOPS_UNSUPPORTED,
            "depthwise/blocked takes blocks of %lld channels where at least %lld fill one and half "
            "of the second level cache, %lld bytes, holds their images; here are %lld of %lld "
            "bytes",
            (long long)lanes, (long long)gops_ceil_div(lanes, MIN_BLOCK_FILL),
            (long long)plan->machine.l2_bytes / 2, (long long)conv->groups,
            (long long)p->layout.begin.staging);
    }
    const int64_t all = conv->batch * p->blocks;
    p->item_blocks = gops_clamp(all / MIN_ITEMS, 1, MAX_ITEM_BLOCKS);
    plan->items = gops_ceil_div(all, p->item_blocks);
    plan->filter_bytes = gops_depthwise_filter_bytes(plan);
    plan->cost = blocked_estimate(plan, p);
    snprintf(plan->why, sizeof plan->why,
             "one channel a group, small images: blocks of %lld channels, one in each lane of a "
             "vector, of %lld pixels and %lld outputs",
             (long long)lanes, (long long)conv->data_pixels, (long long)conv->output_pixels);
    return GOPS_OK;
}

/* What an item works with. */
typedef struct blocked_work {
    gops_depthwise_workspace ws;
    const void *bounds; /* NULL, or what the kernel's epilogue applies with `bias` */
    gops_epilogue_values bias;
    bool activates;        /* the epilogue leaves an activation, which the sums then get */
    const gops_job *whole; /* the job before the epilogue took its part */
} blocked_work;

/* The index in the copy of each pixel of the data; those that no window reads share the last
 * one. */
static void fill_positions(const gops_depthwise_layout *layout, int64_t *positions)
{
    const gops_depthwise_axis *axis = layout->axis;
    const int64_t unread = copy_pixels(layout);
    int64_t begin[3], end[3]; /* of the data that windows read */
    for (int a = 0; a < 3; a++) {
        begin[a] = gops_clamp(-axis[a].shift, 0, axis[a].data);
        end[a] =
            gops_clamp(gops_depthwise_extent(&axis[a]) - axis[a].shift, begin[a], axis[a].data);
    }
    for (int64_t z = 0; z < axis[0].data; z++) {
        for (int64_t y = 0; y < axis[1].data; y++) {
            const int64_t row = (z + axis[0].shift) * layout->plane_pitch +
                                (y + axis[1].shift) * layout->row_pitch + axis[2].shift;
            const bool within = z >= begin[0] && z < end[0] && y >= begin[1] && y < end[1];
            for (int64_t x = 0; x < axis[2].data; x++) {
                *positions++ = within && x >= begin[2] && x < end[2] ? row + x : unread;
            }
        }
    }
}

/* Runs the kernel over rows of outputs; those of a convolution with the taps `inside` along z, and without those on
 * padding along y. */
static void run_rows(const gops_plan *plan, const gops_depthwise_rows *all, gops_range inside)
{
    const gops_depthwise_axis *axis = blocked_read(plan)->layout.axis;
    const int64_t vector = plan->kernels->vector_bytes, row = axis[2].kernel;
    gops_depthwise_rows some = *all;
    if (axis[1].transposed) {
        blocked_kernels(plan)->blocked_rows(all);
        return;
    }
    if (axis[0].kernel > 1) {
        some.taps = all->taps + inside.begin * axis[1].kernel * row;
        some.single_taps = (inside.end - inside.begin) * axis[1].kernel * row;
        blocked_kernels(plan)->blocked_rows(&some);
        return;
    }
    gops_range next = gops_depthwise_taps_inside(&axis[1], 0);
    for (int64_t y = 0; y < all->rows; y += some.rows) {
        const gops_range of = next;
        some.rows = 0;
        do {
            next = gops_depthwise_taps_inside(&axis[1], y + ++some.rows);
        } while (y + some.rows < all->rows && next.begin == of.begin && next.end == of.end);
        some.data = (const unsigned char *)all->data + y * all->step * vector;
        some.output = (unsigned char *)all->output + y * all->output_pitch * vector;
        some.taps = all->taps + of.begin * row;
        some.single_taps = (of.end - of.begin) * row;
        blocked_kernels(plan)->blocked_rows(&some);
    }
}

/* Computes all outputs of a sub-convolution. */
static void blocked_run_subconv(const gops_plan *plan, const blocked_work *at,
                                const gops_depthwise_subconv *subconv, const unsigned char *weights)
{
    const gops_depthwise_layout *layout = &blocked_read(plan)->layout;
    const gops_depthwise_axis *axis = layout->axis;
    const int64_t *residue = subconv->residue;
    const int64_t vector = plan->kernels->vector_bytes;
    if (subconv->count[1] == 0 || subconv->count[2] == 0) {
        return;
    }
    for (int64_t z = 0; z < subconv->count[0]; z++) {
        const gops_range inside = gops_depthwise_taps_inside(&axis[0], z);
        const int64_t plane = z * axis[0].subconvs + residue[0];
        const int64_t to = (plane * axis[1].output + residue[1]) * axis[2].output + residue[2];
        const gops_depthwise_rows rows = {
            .data = at->ws.copy + z * axis[0].step * layout->plane_pitch * vector,
            .taps = subconv->taps,
            .weights = weights,
            .output = at->ws.sums + to * vector,
            .single_taps = subconv->single_taps,
            .step = axis[1].step * layout->row_pitch,
            .x_step = axis[2].step,
            .output_pitch = axis[1].subconvs * axis[2].output,
            .output_step = axis[2].subconvs,
            .rows = subconv->count[1],
            .width = subconv->count[2],
            .bounds = at->bounds,
            .bias = &at->bias,
        };
        run_rows(plan, &rows, inside);
    }
}

/* Transposes the results of one filter of each channel back and stores them; `first` is the first
 * channel's first output in the tensor. */
static void store_channels(const gops_plan *plan, const gops_job *job, const blocked_work *at,
                           int64_t channel, int64_t channels, int64_t first)
{
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const int64_t pixels = conv->output_pixels;
    const int64_t apart = conv->channels_out * plan->output_plane;
    const bool native = plan->output_type->native && !gops_adds_in_place(job);
    unsigned char *values = native ? gops_output_at(plan, job, first) : at->ws.staging;
    const int64_t pitch = native ? apart : pixels;
    blocked_kernels(plan)->from_blocked(values, pitch, at->ws.sums, channels, pixels);
    for (int64_t c = 0; c < channels && (!native || job->fused); c++) {
        gops_store(plan, job, channel + c * conv->channels_out, first + c * apart, pixels,
                   values + c * pitch * bytes);
    }
}

/* Computes the outputs of a block: `channels` groups of one image from `group` on. */
static void blocked_run_block(const gops_plan *plan, const gops_job *job, blocked_work *at,
                              int64_t image, int64_t group, int64_t channels)
{
    const blocked_plan *p = blocked_read(plan);
    const gops_depthwise_axis *axis = p->layout.axis;
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t plane = image * conv->groups + group, filters = conv->channels_out;
    const int64_t subconvs = axis[0].subconvs * axis[1].subconvs * axis[2].subconvs;
    const int64_t lanes = gops_depthwise_lanes(plan);
    const int64_t filter_bytes = conv->taps * plan->kernels->vector_bytes;
    const unsigned char *weights = (const unsigned char *)job->filter +
                                   gops_depthwise_blocked_offset(plan) +
                                   group / lanes * filters * filter_bytes;
    const void *data = gops_data_at(plan, job, image, plane * plan->data_plane);
    if (!plan->type->native) {
        gops_depthwise_load(plan, at->ws.staging, data, channels);
        data = at->ws.staging;
    }
    blocked_kernels(plan)->to_blocked(at->ws.copy, at->ws.positions, data,
                                      plan->type->native ? plan->data_plane : conv->data_pixels,
                                      channels, conv->data_pixels);
    for (int64_t m = 0; m < filters; m++) {
        if (at->bounds != NULL) {
            gops_epilogue_bias(plan, at->whole, group * filters + m, filters, channels, lanes,
                               &at->bias);
        }
        if (p->plane != NULL) {
            gops_depthwise_run_planes(p->plane, axis,
                                      &(gops_depthwise_planes){
                                          .data = at->ws.copy,
                                          .weights = weights + m * filter_bytes,
                                          .output = at->ws.sums,
                                          .vector_bytes = plan->kernels->vector_bytes,
                                          .bounds = at->bounds,
                                          .bias = &at->bias,
                                      });
        } else {
            for (int64_t i = 0; i < subconvs; i++) {
                blocked_run_subconv(plan, at, &at->ws.subconvs[i], weights + m * filter_bytes);
            }
        }
        if (at->activates) {
            gops_activate(plan, &(gops_activate_rows){.from = at->ws.sums,
                                                      .to = at->ws.sums,
                                                      .rows = 1,
                                                      .count = conv->output_pixels * lanes});
        }
        store_channels(plan, job, at, group * filters + m, channels,
                       (plane * filters + m) * plan->output_plane);
    }
}

/* Divides the workspace of an item, and fills in what all of its blocks use. */
static gops_depthwise_workspace divide_workspace(const blocked_plan *p, void *workspace)
{
    const gops_depthwise_axis *axis = p->layout.axis;
    if (p->plane != NULL) {
        unsigned char *at = workspace;
        return (gops_depthwise_workspace){.copy = at + p->layout.begin.copy,
                                          .sums = at + p->layout.begin.sums,
                                          .staging = at + p->layout.begin.staging};
    }
    const gops_depthwise_range whole[3] = {
        {0, axis[0].count}, {0, axis[1].count}, {0, axis[2].count}};
    const gops_depthwise_workspace ws = gops_depthwise_divide(&p->layout, whole, workspace);
    memset(ws.copy, 0, (size_t)(ws.sums - ws.copy));
    fill_positions(&p->layout, ws.positions);
    return ws;
}

static void blocked_run(const gops_plan *plan, const gops_job *job, int64_t item, void *workspace)
{
    const blocked_plan *p = blocked_read(plan);
    const gops_conv_geometry *conv = &plan->conv;
    gops_epilogue epilogue = gops_epilogue_read_most(plan, job, GOPS_EPILOGUE_NO_RESIDUAL);
    blocked_work at = {.ws = divide_workspace(p, workspace), .whole = job};
    const int64_t end = gops_min((item + 1) * p->item_blocks, conv->batch * p->blocks);
    const int64_t lanes = gops_depthwise_lanes(plan);
    if (epilogue.applies) {
        at.bounds = &epilogue.bounds;
        at.activates = epilogue.rest.fused;
        epilogue.rest.fused = false;
        job = &epilogue.rest;
    }
    for (int64_t i = item * p->item_blocks; i < end; i++) {
        const int64_t group = i % p->blocks * lanes;
        blocked_run_block(plan, job, &at, i / p->blocks, group,
                          gops_min(lanes, conv->groups - group));
    }
}

const gops_method gops_depthwise_blocked_deconv = {
    .name = "depthwise/blocked",
    .operation = GOPS_OPERATION_DECONV,
    .prepare = blocked_prepare,
    .pack = gops_depthwise_pack,
    .run = blocked_run,
};

const gops_method gops_depthwise_blocked_conv = {
    .name = "depthwise/blocked",
    .operation = GOPS_OPERATION_CONV,
    .prepare = blocked_prepare,
    .pack = gops_depthwise_pack,
    .run = blocked_run,
};
