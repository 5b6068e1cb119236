/*
 * depthwise_blocked.c: `direct` for small images with many channels: depthwise convolution
 * or its transposed form of a bundle of channels at once, one in each lane of a vector
 * (depthwise_blocked.inc.h).
 *
 * A work item turns the images of a bundle, the groups that lie next to each other in one batch
 * entry, into a copy padded with zeros, runs every filter over it and turns the results back. The
 * weights of a bundle are packed tap by tap, a vector for each. Of a transposed convolution the
 * classes of outputs (depthwise_method.h) come one after the other, each to its own places.
 * Only where copy and results stay in the cache; else see depthwise_plan.c.
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
    /* Bundles of fewer channels waste more lanes than rows of one channel do. */
    MIN_FILLING = 2,
    /* The least items to divide the work into, so that threads find some, and evenly. */
    SHARES = 16,
    MAX_BUNDLES = 16,
};

typedef struct parameters {
    gops_depthwise_axis axis[3]; /* Z, Y, X; each one block */
    int64_t padded[3];           /* pixels of the copy along each axis */
    int transposed;
    int64_t lanes;
    int64_t bundles;      /* of one image */
    int64_t bundle_block; /* of an item */
    int64_t copy_bytes;   /* what lies in the workspace, in this order */
    int64_t sums_bytes;
    int64_t staging_bytes; /* data and results that cannot be used where they lie */
    int64_t positions_bytes;
    int64_t taps_bytes;
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

static int64_t bytes_of(int64_t count, int64_t size)
{
    const int64_t bytes = gops_mul_saturate(count, size);
    return bytes > INT64_MAX / 8 ? INT64_MAX / 8 : gops_round_up(bytes, GOPS_WORKSPACE_ALIGNMENT);
}

static void fill(const gops_plan *plan, parameters *p)
{
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t size = gops_compute_bytes(plan->type->compute);
    int64_t pixels = 1;
    p->lanes = plan->kernels->depthwise->rows[plan->type->compute].lanes;
    for (int a = 0; a < 3; a++) {
        const gops_depthwise_axis *axis = &p->axis[a];
        /* What the windows cover; the data beyond them stays out. */
        p->padded[a] = gops_mul_saturate(axis->count - 1, axis->step);
        if (!gops_add(p->padded[a], axis->reach + 1, &p->padded[a])) {
            p->padded[a] = INT64_MAX;
        }
        pixels = gops_mul_saturate(pixels, p->padded[a]);
    }
    p->bundles = gops_ceil_div(conv->groups, p->lanes);
    /* One more: where the data beyond the windows goes. */
    p->copy_bytes = bytes_of(pixels < INT64_MAX ? pixels + 1 : pixels, p->lanes * size);
    p->sums_bytes = bytes_of(conv->output_pixels, p->lanes * size);
    p->staging_bytes = bytes_of(gops_max(conv->data_pixels, conv->output_pixels), p->lanes * size);
    p->positions_bytes = bytes_of(conv->data_pixels, (int64_t)sizeof(int64_t));
    p->taps_bytes = bytes_of(conv->taps, (int64_t)sizeof(gops_depthwise_blocked_tap));
}

/* Estimated nanoseconds on one thread: constants fitted to 23 layers of f32 of 7 to 56 columns on a
 * Zen 5 with AVX-512, which they meet within 20% (the transposed
 * form is 20% to 40% slower than they say). */
static double estimate(const gops_plan *plan, const parameters *p)
{
    static const double item = 47, pixel_in = 1.74, pixel_out = 1.02, tap = 0.24, tap_row = 0.12;
    const gops_conv_geometry *conv = &plan->conv;
    const double bundles = (double)(conv->batch * p->bundles), typed = plan->type->plain ? 1 : 3;
    const double outputs = (double)conv->output_pixels;
    const double rows = outputs / (double)p->axis[2].output;
    const double taps =
        (double)conv->taps / (double)(p->axis[0].classes * p->axis[1].classes * p->axis[2].classes);
    return (double)plan->items * item + bundles * typed * pixel_in * (double)conv->data_pixels +
           bundles * (double)conv->channels_out *
               (outputs * pixel_out * typed + taps * (outputs * tap + rows * tap_row));
}

static gops_status prepare(gops_plan *plan, int64_t slot_limit, gops_error *error)
{
    const gops_conv_geometry *conv = &plan->conv;
    parameters *p = own(plan);
    *p = (parameters){.transposed = plan->operation == GOPS_OPERATION_DECONV};
    const gops_status status = gops_depthwise_axes(plan, p->axis, error);
    if (status != GOPS_OK) {
        return status;
    }
    fill(plan, p);
    plan->slot_bytes =
        p->copy_bytes + p->sums_bytes + p->staging_bytes + p->positions_bytes + p->taps_bytes;
    if (p->copy_bytes + p->sums_bytes > plan->machine.l2_bytes / 2 ||
        conv->groups * MIN_FILLING < p->lanes || plan->slot_bytes > slot_limit) {
        return gops_fail(error, GOPS_UNSUPPORTED,
                         "direct takes bundles of %lld channels only where there are as many, and "
                         "their images stay in the cache",
                         (long long)p->lanes);
    }
    const int64_t all = conv->batch * p->bundles;
    p->bundle_block = gops_clamp(all / SHARES, 1, MAX_BUNDLES);
    plan->items = gops_ceil_div(all, p->bundle_block);
    plan->filter_bytes = gops_depthwise_filter_bytes(plan);
    plan->cost = estimate(plan, p);
    snprintf(plan->why, sizeof plan->why,
             "one channel a group, small images: bundles of %lld channels, one in each lane of a "
             "vector, of %lld pixels and %lld outputs",
             (long long)p->lanes, (long long)conv->data_pixels, (long long)conv->output_pixels);
    return GOPS_OK;
}

/* The parts of an item's workspace. */
typedef struct parts {
    unsigned char *copy, *sums, *staging;
    int64_t *positions;
    gops_depthwise_blocked_tap *taps;
    int64_t single_class; /* how many taps, where there is but one class; else 0 */
    const void *bounds;   /* NULL, or what the kernel applies with the biases */
    gops_epilogue_values bias;
    const gops_job *whole; /* with the bias */
} parts;

static parts divide(const parameters *p, unsigned char *workspace)
{
    parts at = {.copy = workspace};
    at.sums = workspace += p->copy_bytes;
    at.staging = workspace += p->sums_bytes;
    at.positions = (int64_t *)(void *)(workspace += p->staging_bytes);
    at.taps = (gops_depthwise_blocked_tap *)(void *)(workspace + p->positions_bytes);
    return at;
}

/* Where each pixel lies in the copy; those under no window behind all others. */
static void fill_positions(const parameters *p, int64_t *positions)
{
    const int64_t nowhere = p->padded[0] * p->padded[1] * p->padded[2];
    int64_t shift[3], begin[3], end[3]; /* of the data under windows */
    for (int a = 0; a < 3; a++) {
        const gops_depthwise_axis *axis = &p->axis[a];
        shift[a] = p->transposed ? axis->most : axis->pad;
        begin[a] = gops_clamp(-shift[a], 0, axis->data);
        end[a] = gops_clamp(p->padded[a] - shift[a], begin[a], axis->data);
    }
    for (int64_t z = 0; z < p->axis[0].data; z++) {
        for (int64_t y = 0; y < p->axis[1].data; y++) {
            const int64_t row =
                ((z + shift[0]) * p->padded[1] + y + shift[1]) * p->padded[2] + shift[2];
            const int within = z >= begin[0] && z < end[0] && y >= begin[1] && y < end[1];
            for (int64_t x = 0; x < p->axis[2].data; x++) {
                positions[x] = within && x >= begin[2] && x < end[2] ? row + x : nowhere;
            }
            positions += p->axis[2].data;
        }
    }
}

/* The taps of a class; how many. */
static int64_t fill_taps(const parameters *p, const int64_t rho[3],
                         gops_depthwise_blocked_tap *taps)
{
    const gops_depthwise_axis *axis = p->axis;
    gops_depthwise_taps list[3];
    gops_depthwise_blocked_tap *to = taps;
    for (int a = 0; a < 3; a++) {
        list[a] = gops_depthwise_list(&axis[a], p->transposed, rho[a]);
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

/* All outputs of one class. */
static void run_class(const gops_plan *plan, const parts *at, const int64_t rho[3], int64_t taps,
                      const unsigned char *weights)
{
    const parameters *p = read_own(plan);
    const gops_depthwise_axis *axis = p->axis;
    const gops_depthwise_kernels *kernels = &plan->kernels->depthwise->rows[plan->type->compute];
    const int64_t vector = p->lanes * gops_compute_bytes(plan->type->compute);
    int64_t begin[3], end[3], output[3];
    for (int a = 0; a < 3; a++) {
        end[a] = gops_depthwise_outputs(&axis[a], p->transposed, rho[a], axis[a].first,
                                        axis[a].count, &begin[a]);
        output[a] =
            gops_depthwise_output(&axis[a], p->transposed, axis[a].first + begin[a], rho[a]);
    }
    if (begin[1] == end[1] || begin[2] == end[2]) {
        return;
    }
    for (int64_t z = begin[0]; z < end[0]; z++, output[0] += axis[0].classes) {
        const int64_t data =
            ((z * axis[0].step * p->padded[1]) + begin[1] * axis[1].step) * p->padded[2] +
            begin[2] * axis[2].step;
        const int64_t to = (output[0] * axis[1].output + output[1]) * axis[2].output + output[2];
        const gops_depthwise_blocked bundle = {
            .data = at->copy + data * vector,
            .taps = at->taps,
            .weights = weights,
            .output = at->sums + to * vector,
            .count = taps,
            .y_step = axis[1].step * p->padded[2],
            .x_step = axis[2].step,
            .output_pitch = axis[1].classes * axis[2].output,
            .output_step = axis[2].classes,
            .rows = end[1] - begin[1],
            .width = end[2] - begin[2],
            .bounds = at->bounds,
            .bias = &at->bias,
        };
        kernels->bundle_rows(&bundle);
    }
}

/* One filter of each channel over the copy. */
static void run_filters(const gops_plan *plan, const parts *at, const unsigned char *weights)
{
    const parameters *p = read_own(plan);
    int64_t rho[3];
    for (rho[0] = 0; rho[0] < p->axis[0].classes; rho[0]++) {
        for (rho[1] = 0; rho[1] < p->axis[1].classes; rho[1]++) {
            for (rho[2] = 0; rho[2] < p->axis[2].classes; rho[2]++) {
                const int64_t taps =
                    at->single_class > 0 ? at->single_class : fill_taps(p, rho, at->taps);
                run_class(plan, at, rho, taps, weights);
            }
        }
    }
}

/* Turns the results of one filter of each channel back; `first` is the first one's first output. */
static void store_channels(const gops_plan *plan, const gops_job *job, const parts *at,
                           int64_t channel, int64_t channels, int64_t first)
{
    const gops_conv_geometry *conv = &plan->conv;
    const gops_depthwise_kernels *kernels = &plan->kernels->depthwise->rows[plan->type->compute];
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const int64_t pixels = conv->output_pixels, filters = conv->channels_out;
    const int plain = plan->output_type->plain && !gops_adds_in_place(job);
    unsigned char *values = plain ? gops_output_at(plan, job, first) : at->staging;
    const int64_t pitch = plain ? filters * pixels : pixels;
    kernels->bundle_out(values, pitch, at->sums, channels, pixels);
    for (int64_t c = 0; c < channels && (!plain || job->fused); c++) {
        gops_store(plan, job, channel + c * filters, first + c * filters * pixels, pixels,
                   values + c * pitch * bytes);
    }
}

/* `channels` groups of one image from `group` on, the lanes of a bundle. */
static void run_bundle(const gops_plan *plan, const gops_job *job, parts *at, int64_t image,
                       int64_t group, int64_t channels)
{
    const parameters *p = read_own(plan);
    const gops_conv_geometry *conv = &plan->conv;
    const gops_depthwise_kernels *kernels = &plan->kernels->depthwise->rows[plan->type->compute];
    const int64_t plane = image * conv->groups + group, filters = conv->channels_out;
    const int64_t filter_bytes = conv->taps * p->lanes * gops_compute_bytes(plan->type->compute);
    const unsigned char *weights = (const unsigned char *)job->filter +
                                   gops_depthwise_blockeds_from(plan) +
                                   group / p->lanes * filters * filter_bytes;
    const void *data = gops_data_at(plan, job, image, plane * conv->data_pixels);
    if (!plan->type->plain) {
        plan->type->load(at->staging, data, channels * conv->data_pixels);
        data = at->staging;
    }
    kernels->bundle_in(at->copy, at->positions, data, conv->data_pixels, channels,
                       conv->data_pixels);
    for (int64_t m = 0; m < filters; m++) {
        if (at->bounds != NULL) {
            gops_epilogue_bias(plan, at->whole, group * filters + m, filters, channels, p->lanes,
                               &at->bias);
        }
        run_filters(plan, at, weights + m * filter_bytes);
        store_channels(plan, job, at, group * filters + m, channels,
                       (plane * filters + m) * conv->output_pixels);
    }
}

static void run(const gops_plan *plan, const gops_job *job, int64_t item, void *workspace)
{
    const parameters *p = read_own(plan);
    const gops_conv_geometry *conv = &plan->conv;
    static const int64_t first_class[3] = {0};
    const gops_epilogue trim = gops_epilogue_read(plan, job, 0);
    parts at = divide(p, workspace);
    const int64_t end = gops_min((item + 1) * p->bundle_block, conv->batch * p->bundles);
    at.whole = job;
    if (trim.applies) {
        at.bounds = &trim.bounds;
        job = &trim.rest;
    }
    memset(at.copy, 0, (size_t)p->copy_bytes);
    fill_positions(p, at.positions);
    if (p->axis[0].classes * p->axis[1].classes * p->axis[2].classes == 1) {
        at.single_class = fill_taps(p, first_class, at.taps);
    }
    for (int64_t i = item * p->bundle_block; i < end; i++) {
        const int64_t group = i % p->bundles * p->lanes;
        run_bundle(plan, job, &at, i / p->bundles, group, gops_min(p->lanes, conv->groups - group));
    }
}

const gops_method gops_depthwise_blocked_deconv = {
    .algorithm = "direct",
    .form = "bundles",
    .operation = GOPS_OPERATION_DECONV,
    .prepare = prepare,
    .pack = gops_depthwise_pack,
    .run = run,
    .modular = 1,
};

const gops_method gops_depthwise_blocked_conv = {
    .algorithm = "direct",
    .form = "bundles",
    .operation = GOPS_OPERATION_CONV,
    .prepare = prepare,
    .pack = gops_depthwise_pack,
    .run = run,
    .modular = 1,
};
