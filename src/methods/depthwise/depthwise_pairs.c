/*
 * depthwise_pairs.c: `depthwise/pairs`, quantized depthwise convolutions, two taps to a lane, on
 * every processor (depthwise_pairs.vnni.isa.c).
 *
 * A work item copies a block of a channel into rows of i16, less the zero point and padded with
 * zeros, and takes all of it for one row: position i of an output is the place in the copy of its
 * first tap, and the places of the other taps are at distances from it that are the same for all
 * outputs. So rows need not fill vectors. Between them are some positions that are no outputs;
 * where two rows meet, the padding of both is the same zeros. With stride s along y, rows of equal
 * residue modulo s lie together.
 *
 * The sums of all positions become codes at once; the rows of these are then copied to the output.
 * Outputs of other types, and those with more post-ops, are made of the rows of sums.
 */
#include "methods/depthwise/depthwise_method.h"
#include "methods/depthwise/depthwise_pairs.h"
#include "methods/methods.h"

#include "base/error.h"
#include "post_ops/post_ops.h"
#include "post_ops/requantize.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum {
    /* The work is divided into at least so many items, to spread evenly over threads. */
    MIN_ITEMS = 32,
    /* More channels in an item save no more time. */
    MAX_PLANES = 64,
    /* Columns of a block: longer rows are cut. */
    MAX_COLUMNS = 4096,
    /* Strides along x that the kernels have. */
    MAX_STRIDE = 2,
    BLOCK = GOPS_DEPTHWISE_PAIRS_BLOCK,
};

typedef struct pairs_plan {
    gops_depthwise_axis axis[3];
    int64_t pitch, plane; /* of the copy: rows of a residue, and planes of z, in values */
    int64_t residue;      /* between the residues along y */
    int64_t pairs;
    int64_t planes, plane_block; /* channels of all images; of an item */
    int64_t begin[6];            /* of the parts of the workspace */
} pairs_plan;

static_assert(sizeof(pairs_plan) <= GOPS_PARAMETER_BYTES, "parameters outgrow the plan's room");

/* Two taps that share a lane; a second one of -1 is none. */
typedef struct pair_of_taps {
    int64_t first, second;
} pair_of_taps;

/* The parts of the workspace of an item. */
typedef struct pairs_workspace {
    int16_t *copy;
    uint32_t *sums;
    uint8_t *codes;
    int64_t *offsets;
    pair_of_taps *taps;
    int32_t *weights;
} pairs_workspace;

static const pairs_plan *pairs_read(const gops_plan *plan)
{
    return gops_read_parameters(plan);
}

static int64_t positions_of(const pairs_plan *p, int64_t rows)
{
    return rows * (p->pitch / p->axis[2].step);
}

/* Sets pitches, and the parts of the workspace; returns its bytes. */
static int64_t lay_out(pairs_plan *p)
{
    const gops_depthwise_axis *y = &p->axis[1], *x = &p->axis[2];
    const int64_t extent = gops_depthwise_extent(x), rows = gops_depthwise_extent(y);
    const int64_t after = gops_clamp(extent - x->pad - x->data, 0, extent);
    /* A row has a position for each of its outputs, so it shares no more than the taps reach. */
    const int64_t shared = x->blocks == 1 ? gops_min(gops_min(x->pad, after), x->reach) : 0;
    p->pitch = gops_round_up(extent - shared, x->step);
    p->residue = gops_ceil_div(rows, y->step) * p->pitch;
    p->plane = gops_min(y->step, rows) * p->residue;
    p->pairs = p->axis[0].kernel * y->kernel *
               (x->dilation == 1 ? gops_ceil_div(x->kernel, 2) : x->kernel);
    /* What a whole block reads beyond the positions, and one that a pair does. */
    const int64_t values = p->axis[0].kernel * p->plane + extent + (BLOCK + 1) * MAX_STRIDE;
    const int64_t positions = positions_of(p, y->block) + BLOCK;
    const int64_t sizes[] = {
        values * (int64_t)sizeof(int16_t),
        positions * (int64_t)sizeof(uint32_t),
        positions,
        p->pairs * (int64_t)sizeof(int64_t),
        p->pairs * (int64_t)sizeof(pair_of_taps),
        p->pairs * (int64_t)sizeof(int32_t),
    };
    int64_t end = 0;
    for (int i = 0; i < 6; i++) {
        p->begin[i] = gops_reserve(&end, sizes[i]);
    }
    return end;
}

static pairs_workspace divide(const pairs_plan *p, void *workspace)
{
    unsigned char *at = workspace;
    return (pairs_workspace){
        .copy = (int16_t *)(void *)(at + p->begin[0]),
        .sums = (uint32_t *)(void *)(at + p->begin[1]),
        .codes = at + p->begin[2],
        .offsets = (int64_t *)(void *)(at + p->begin[3]),
        .taps = (pair_of_taps *)(void *)(at + p->begin[4]),
        .weights = (int32_t *)(void *)(at + p->begin[5]),
    };
}

static void cut(gops_depthwise_axis *axis, int64_t block)
{
    axis->blocks = gops_ceil_div(axis->count, gops_clamp(block, 1, axis->count));
    axis->block = gops_ceil_div(axis->count, axis->blocks);
}

/* One plane of outputs, of rows that fit `room` with their copy. */
static int64_t choose_blocks(pairs_plan *p, int64_t room)
{
    cut(&p->axis[0], 1);
    cut(&p->axis[2], MAX_COLUMNS);
    while (p->axis[1].block > 1 && lay_out(p) > room) {
        cut(&p->axis[1], p->axis[1].block / 2);
    }
    return lay_out(p);
}

/* Estimated nanoseconds on one thread. The constants were set by hand from what a Zen 5 took with
 * AVX2, not fitted. */
static double pairs_estimate(const gops_plan *plan, const pairs_plan *p)
{
    static const double channel = 40, row = 3, vector = 1.5, pair = 0.25;
    const gops_depthwise_axis *axis = p->axis;
    const double rows = (double)axis[0].count * (double)axis[1].count * (double)axis[2].blocks;
    const double vectors =
        rows * (double)(p->pitch / axis[2].step) / (double)plan->kernels->depthwise_pairs->lanes;
    const double filters = (double)p->planes * (double)plan->conv.channels_out;
    return (double)p->planes * rows * row * (double)(axis[0].kernel * axis[1].step) +
           filters * (channel + vectors * (vector + pair * (double)p->pairs));
}

static gops_status pairs_prepare(gops_plan *plan, int64_t worker_limit, gops_error *error)
{
    const gops_conv_geometry *conv = &plan->conv;
    pairs_plan *p = gops_parameters(plan);
    *p = (pairs_plan){.planes = conv->batch * conv->groups};
    const gops_status status = gops_depthwise_axes(plan, p->axis, error);
    if (status != GOPS_OK) {
        return status;
    }
    if (!plan->quantized || p->axis[2].step > MAX_STRIDE) {
        return gops_fail(
            error, GOPS_UNSUPPORTED,
            "depthwise/pairs serves quantized convolutions with a stride of at most %d "
            "along x",
            MAX_STRIDE);
    }
    plan->worker_bytes = choose_blocks(p, gops_min(plan->machine.l1_bytes, worker_limit));
    if (plan->worker_bytes > worker_limit) {
        return gops_fail(error, GOPS_UNSUPPORTED,
                         "depthwise/pairs needs %lld bytes for one thread; there are %lld",
                         (long long)plan->worker_bytes, (long long)worker_limit);
    }
    const int64_t blocks = p->axis[0].blocks * p->axis[1].blocks * p->axis[2].blocks;
    p->plane_block = gops_clamp(gops_mul_saturate(p->planes, blocks) / MIN_ITEMS, 1, MAX_PLANES);
    plan->items = gops_ceil_div(p->planes, p->plane_block) * blocks;
    plan->filter_bytes = conv->groups * conv->channels_out * conv->taps * (int64_t)sizeof(int16_t);
    plan->cost = pairs_estimate(plan, p);
    snprintf(plan->why, sizeof plan->why,
             "quantized, one channel a group: two taps a lane, over padded blocks of %lld x %lld "
             "outputs, %lld channels an item",
             (long long)p->axis[1].block, (long long)p->axis[2].block, (long long)p->plane_block);
    return GOPS_OK;
}

static void pairs_pack(const gops_plan *plan, const void *weights, const int32_t *zero_points,
                       void *packed)
{
    const int64_t taps = plan->conv.taps;
    for (int64_t o = 0; o < plan->conv.groups * plan->conv.channels_out; o++) {
        plan->kernels->depthwise_pairs->widen((int16_t *)packed + o * taps,
                                              (const unsigned char *)weights + o * taps, taps,
                                              zero_points[o], plan->filter_type->type == GOPS_I8);
    }
}

/* What an item works on; arrays are by axis. */
typedef struct block {
    const gops_plan *plan;
    const pairs_plan *p;
    const gops_job *job;
    const struct gops_depthwise_pairs *kernels;
    pairs_workspace ws;
    int64_t first[3], count[3]; /* outputs */
    int64_t origin[3];          /* of the copy, in the data */
    bool codes;                 /* 8-bit outputs without further post-ops */
} block;

/* Where row y of plane z of the copy is. */
static int64_t row_at(const pairs_plan *p, int64_t z, int64_t y)
{
    const int64_t step = p->axis[1].step;
    return z * p->plane + y % step * p->residue + y / step * p->pitch;
}

static void fill_pairs(const block *at)
{
    const pairs_plan *p = at->p;
    const gops_depthwise_axis *z = &p->axis[0], *y = &p->axis[1], *x = &p->axis[2];
    const int64_t every = x->dilation == 1 ? 2 : 1;
    int64_t i = 0;
    for (int64_t row = 0; row < z->kernel * y->kernel; row++) {
        const int64_t first = row_at(p, row / y->kernel, row % y->kernel * y->dilation);
        for (int64_t kx = 0; kx < x->kernel; kx += every, i++) {
            const bool two = every == 2 && kx + 1 < x->kernel;
            at->ws.offsets[i] = first + kx * x->dilation;
            at->ws.taps[i].first = row * x->kernel + kx;
            at->ws.taps[i].second = two ? row * x->kernel + kx + 1 : -1;
        }
    }
}

static void fill_weights(const block *at, const int16_t *filter)
{
    for (int64_t i = 0; i < at->p->pairs; i++) {
        const pair_of_taps *taps = &at->ws.taps[i];
        const int16_t both[2] = {filter[taps->first], taps->second < 0 ? 0 : filter[taps->second]};
        memcpy(&at->ws.weights[i], both, sizeof both);
    }
}

/* Copies the block's data of a channel; the padding in the copy is 0 already. */
static void copy_channel(const block *at, const unsigned char *channel)
{
    const pairs_plan *p = at->p;
    const gops_depthwise_axis *z_axis = &p->axis[0], *y_axis = &p->axis[1], *x_axis = &p->axis[2];
    const int64_t rows = (at->count[1] - 1) * y_axis->step + y_axis->reach + 1;
    const int64_t columns = (at->count[2] - 1) * x_axis->step + x_axis->reach + 1;
    const int64_t begin = gops_clamp(-at->origin[2], 0, columns);
    const int64_t end = gops_clamp(x_axis->data - at->origin[2], begin, columns);
    for (int64_t kz = 0; kz < z_axis->kernel; kz++) {
        const int64_t z = at->origin[0] + kz * z_axis->dilation;
        for (int64_t row = 0; row < rows && z >= 0 && z < z_axis->data; row++) {
            const int64_t y = at->origin[1] + row;
            if (y >= 0 && y < y_axis->data) {
                at->kernels->widen(
                    at->ws.copy + row_at(p, kz, row) + begin,
                    channel + (z * y_axis->data + y) * x_axis->data + at->origin[2] + begin,
                    end - begin, (int32_t)at->job->data_zero, at->plan->type->type == GOPS_I8);
            }
        }
    }
}

/* Stores the block's outputs of a channel, group * C_OUT + output channel; `start` is the channel's
 * first output in the tensor. */
static void store_channel(const block *at, int64_t channel, int64_t start)
{
    const gops_plan *plan = at->plan;
    const gops_depthwise_axis *y = &at->p->axis[1], *x = &at->p->axis[2];
    const int64_t pitch = at->p->pitch / x->step, columns = at->count[2];
    const int64_t first =
        start + (at->first[0] * y->output + at->first[1]) * x->output + at->first[2];
    if (at->codes) {
        const gops_requantize by = gops_requantize_read(plan, at->job, channel);
        plan->kernels->post_ops->requantize->to_8_bit(at->ws.codes, at->ws.sums,
                                                      (at->count[1] - 1) * pitch + columns, &by);
        unsigned char *output = gops_output_at(plan, at->job, first);
        for (int64_t row = 0; row < at->count[1]; row++) {
            memcpy(output + row * x->output, at->ws.codes + row * pitch, (size_t)columns);
        }
        return;
    }
    if (columns < x->output) {
        for (int64_t row = 0; row < at->count[1]; row++) {
            gops_store(plan, at->job, channel, first + row * x->output, columns,
                       at->ws.sums + row * pitch);
        }
        return;
    }
    for (int64_t row = 1; row < at->count[1]; row++) {
        memmove(at->ws.sums + row * columns, at->ws.sums + row * pitch,
                (size_t)columns * sizeof(uint32_t));
    }
    gops_store(plan, at->job, channel, first, at->count[1] * columns, at->ws.sums);
}

static void run_plane(const block *at, int64_t plane)
{
    const gops_conv_geometry *conv = &at->plan->conv;
    copy_channel(at,
                 gops_data_at(at->plan, at->job, plane / conv->groups, plane * conv->data_pixels));
    for (int64_t c = 0; c < conv->channels_out; c++) {
        const int64_t channel = plane % conv->groups * conv->channels_out + c;
        const gops_depthwise_pairs_call call = {
            .data = at->ws.copy,
            .offsets = at->ws.offsets,
            .weights = at->ws.weights,
            .pairs = at->p->pairs,
            .count = (at->count[1] - 1) * (at->p->pitch / at->p->axis[2].step) + at->count[2],
            .step = at->p->axis[2].step,
            .sums = at->ws.sums,
        };
        fill_weights(at, (const int16_t *)at->job->filter + channel * conv->taps);
        at->kernels->run(&call);
        store_channel(at, channel, (plane * conv->channels_out + c) * conv->output_pixels);
    }
}

static void pairs_run(const gops_plan *plan, const gops_job *job, int64_t item, void *workspace)
{
    const pairs_plan *p = pairs_read(plan);
    block at = {
        .plan = plan,
        .p = p,
        .job = job,
        .kernels = plan->kernels->depthwise_pairs,
        .ws = divide(p, workspace),
        .codes = gops_requantize_applies(plan, job) && gops_is_8_bit(plan->output_type->type),
    };
    for (int a = 2; a >= 0; a--) {
        const gops_depthwise_axis *axis = &p->axis[a];
        at.first[a] = item % axis->blocks * axis->block;
        at.count[a] = gops_min(axis->block, axis->count - at.first[a]);
        at.origin[a] = at.first[a] * axis->step - axis->shift;
        item /= axis->blocks;
    }
    memset(at.ws.copy, 0, (size_t)(p->begin[1] - p->begin[0]));
    fill_pairs(&at);
    const int64_t end = gops_min((item + 1) * p->plane_block, p->planes);
    for (int64_t plane = item * p->plane_block; plane < end; plane++) {
        run_plane(&at, plane);
    }
}

const gops_method gops_depthwise_pairs_conv = {
    .name = "depthwise/pairs",
    .operation = GOPS_OPERATION_CONV,
    .prepare = pairs_prepare,
    .pack = pairs_pack,
    .run = pairs_run,
    .quantized = true,
};
