/*
 * depthwise_pairs_run.c: packs filters for `depthwise/pairs` and runs it.
 *
 * A filter is packed as the pairs of gops_depthwise_pairs_call.weights.
 *
 * The sums of all positions become codes at once; the rows of these are then copied to the output.
 * Outputs of other types, and those with more post-ops, are made of the rows of sums.
 */
#include "methods/depthwise/depthwise_pairs_method.h"

#include "base/checked.h"
#include "post_ops/post_ops.h"
#include "post_ops/requantize.h"

#include <math.h>
#include <string.h>

enum {
    /* What i8 and u8 of the same bits differ by, after the highest bit is inverted. */
    OFFSET = 128,
};

/* Tap t of a row of n, less the zero point; 0 where there is none. */
static int16_t tap_of(const unsigned char *row, int64_t n, int64_t t, bool is_signed, int32_t zero)
{
    if (t < 0 || t >= n) {
        return 0;
    }
    return (int16_t)((is_signed ? ((const int8_t *)row)[t] : row[t]) - zero);
}

void gops_depthwise_pairs_pack(const gops_plan *plan, const void *weights,
                               const int32_t *zero_points, void *packed)
{
    const gops_pairs_plan *p = gops_read_parameters(plan);
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t taps = p->axis[2].kernel, rows = conv->taps / taps;
    const bool is_signed = plan->filter_type->type == GOPS_I8, single = p->axis[2].dilation > 1;
    const unsigned char *row = weights;
    int16_t *to = packed;
    for (int64_t i = 0; i < conv->groups * conv->channels_out * rows; i++, row += taps) {
        const int32_t zero = zero_points[i / rows];
        for (int64_t pair = 0; pair < p->row_pairs; pair++, to += 4) {
            const int64_t t = single ? pair : 2 * pair;
            const int16_t weight = tap_of(row, taps, t, is_signed, zero);
            to[0] = weight;
            to[1] = single ? 0 : tap_of(row, taps, t + 1, is_signed, zero);
            to[2] = single ? 0 : tap_of(row, taps, t - 1, is_signed, zero);
            to[3] = weight;
        }
    }
}

/* What an item works on; arrays are by axis. */
typedef struct block {
    const gops_plan *plan;
    const gops_pairs_plan *p;
    const gops_job *job;
    const struct gops_depthwise_pairs *kernels;
    int16_t *copy;
    uint8_t *codes;
    int64_t *offsets;
    uint32_t *sums;
    int64_t first[3], count[3]; /* outputs */
    int64_t origin[3];          /* of the copy, in the data */
    int64_t top, bottom, begin; /* rows and the first column of the copy that are data */
    bool to_codes;              /* 8-bit outputs without further post-ops */
    gops_depthwise_pairs_rows rows, stores; /* what is copied in, and out */
    gops_depthwise_pairs_call call;         /* what all channels have in common */
} block;

/* Where row y of plane z of the copy is. */
static int64_t row_at(const gops_pairs_plan *p, int64_t z, int64_t y)
{
    const int64_t step = p->axis[1].step;
    return z * p->plane + y % step * p->residue + y / step * p->pitch;
}

static void fill_offsets(const block *at)
{
    const gops_pairs_plan *p = at->p;
    const gops_depthwise_axis *z = &p->axis[0], *y = &p->axis[1], *x = &p->axis[2];
    const int64_t distance = x->dilation > 1 ? x->dilation : 2;
    int64_t i = 0;
    for (int64_t row = 0; row < z->kernel * y->kernel; row++) {
        const int64_t first = row_at(p, row / y->kernel, row % y->kernel * y->dilation);
        for (int64_t pair = 0; pair < p->row_pairs; pair++) {
            at->offsets[i++] = first + pair * distance;
        }
    }
}

/* What of a channel's data is copied, and how: the rows of residue 0 of a plane, from the first one
 * on. The padding in the copy is 0 already. */
static void fill_rows(block *at)
{
    const gops_depthwise_axis *y = &at->p->axis[1], *x = &at->p->axis[2];
    const int64_t rows = (at->count[1] - 1) * y->step + y->reach + 1;
    const int64_t columns = (at->count[2] - 1) * x->step + x->reach + 1;
    const int64_t begin = gops_clamp(-at->origin[2], 0, columns);
    const int64_t end = gops_clamp(x->data - at->origin[2], begin, columns);
    const int32_t offset = at->plan->type->type == GOPS_I8 ? OFFSET : 0;
    at->top = gops_clamp(-at->origin[1], 0, rows);
    at->bottom = gops_clamp(y->data - at->origin[1], at->top, rows);
    at->begin = begin;
    at->rows = (gops_depthwise_pairs_rows){
        .from_step = y->step * x->data,
        .to_step = at->p->pitch,
        .columns = end - begin,
        .flip = (uint8_t)offset,
        .zero = (int16_t)((int32_t)at->job->data_zero + offset),
    };
}

/* Copies rows top, top + step and so on of a plane. */
static void copy_rows(block *at, const uint8_t *plane, int16_t *copy, int64_t top)
{
    const gops_depthwise_axis *y = &at->p->axis[1], *x = &at->p->axis[2];
    at->rows.from = plane + (at->origin[1] + top) * x->data + at->origin[2] + at->begin;
    at->rows.to = copy + at->begin;
    at->rows.rows = at->bottom - top;
    if (y->step > 1) {
        at->rows.rows = (at->rows.rows - 1) / y->step + 1;
    }
    at->kernels->widen(&at->rows);
}

static void copy_channel(block *at, const uint8_t *channel, int16_t *copy)
{
    const gops_pairs_plan *p = at->p;
    const gops_depthwise_axis *z_axis = &p->axis[0], *y_axis = &p->axis[1];
    const int64_t end = gops_min(at->bottom, at->top + y_axis->step);
    for (int64_t kz = 0; kz < z_axis->kernel && at->rows.columns > 0; kz++) {
        const int64_t z = at->origin[0] + kz * z_axis->dilation;
        if (z < 0 || z >= z_axis->data) {
            continue;
        }
        for (int64_t top = at->top; top < end; top++) {
            const int64_t to =
                y_axis->step > 1 ? row_at(p, kz, top) : kz * p->plane + top * p->pitch;
            copy_rows(at, channel + z * y_axis->data * p->axis[2].data, copy + to, top);
        }
    }
}

/* `channel` is group * C_OUT + output channel. */
static void store_sums(const block *at, int64_t channel, int64_t first)
{
    const gops_plan *plan = at->plan;
    const gops_depthwise_axis *x = &at->p->axis[2];
    const int64_t pitch = at->p->pitch / x->step, columns = at->count[2];
    if (columns < x->output) {
        for (int64_t row = 0; row < at->count[1]; row++) {
            gops_store(plan, at->job, channel, first + row * x->output, columns,
                       at->sums + row * pitch);
        }
        return;
    }
    for (int64_t row = 1; row < at->count[1]; row++) {
        memmove(at->sums + row * columns, at->sums + row * pitch,
                (size_t)columns * sizeof(uint32_t));
    }
    gops_store(plan, at->job, channel, first, at->count[1] * columns, at->sums);
}

/* `channel` is group * C_OUT + output channel. */
static void run_channel(block *at, const int16_t *copy, uint8_t *codes, int64_t channel)
{
    const gops_job *job = at->job;
    gops_depthwise_pairs_call *call = &at->call;
    call->data = copy;
    call->weights = (const int32_t *)job->filter + channel * call->pairs * 2;
    if (at->to_codes) {
        call->codes = codes;
        call->scale = job->quantized->multipliers[channel];
        call->start = job->bias != NULL ? ((const uint32_t *)job->bias)[channel] : 0;
    }
    at->kernels->run(call);
}

/* Computes `count` planes of an image that were copied, groups `group` and the next ones; `first`
 * is the block's first output of the first plane. */
static void run_planes(block *at, int64_t group, int64_t count, int64_t first)
{
    const gops_conv_geometry *conv = &at->plan->conv;
    const gops_pairs_plan *p = at->p;
    const int64_t outputs = conv->channels_out * conv->output_pixels;
    for (int64_t c = 0; c < conv->channels_out; c++, first += conv->output_pixels) {
        for (int64_t i = 0; i < count; i++) {
            const int64_t channel = (group + i) * conv->channels_out + c;
            run_channel(at, at->copy + i * p->copy, at->codes + i * p->positions, channel);
            if (!at->to_codes) {
                store_sums(at, channel, first + i * outputs);
            }
        }
        for (int64_t i = 0; i < count && at->to_codes; i++) {
            at->stores.from = at->codes + i * p->positions;
            at->stores.to = gops_output_at(at->plan, at->job, first + i * outputs);
            at->kernels->copy(&at->stores);
        }
    }
}

static void fill_call(block *at)
{
    const gops_plan *plan = at->plan;
    const int32_t offset = plan->output_type->type == GOPS_I8 ? OFFSET : 0;
    const gops_requantize by = gops_requantize_read(plan, at->job, 0);
    at->call = (gops_depthwise_pairs_call){
        .offsets = at->offsets,
        .pairs = at->p->pairs,
        .count = (at->count[1] - 1) * (at->p->pitch / at->p->axis[2].step) + at->count[2],
        .step = at->p->axis[2].step,
        .sums = at->sums,
        .high = by.high,
    };
    at->stores = (gops_depthwise_pairs_rows){
        .from_step = at->p->pitch / at->p->axis[2].step,
        .to_step = at->p->axis[2].output,
        .rows = at->count[1],
        .columns = at->count[2],
    };
    if (at->to_codes) {
        at->call.middle = (int16_t)(by.zero + offset);
        at->call.least = (uint8_t)((int32_t)rintf(by.low) + at->call.middle);
        at->call.flip = (uint8_t)offset;
    }
}

void gops_depthwise_pairs_run(const gops_plan *plan, const gops_job *job, int64_t item,
                              void *workspace)
{
    const gops_pairs_plan *p = gops_read_parameters(plan);
    const gops_conv_geometry *conv = &plan->conv;
    unsigned char *parts = workspace;
    block at = {
        .plan = plan,
        .p = p,
        .job = job,
        .kernels = plan->kernels->depthwise_pairs,
        .copy = (int16_t *)(void *)(parts + p->begin[0]),
        .codes = parts + p->begin[1],
        .offsets = (int64_t *)(void *)(parts + p->begin[2]),
        .sums = (uint32_t *)(void *)(parts + p->begin[3]),
        .to_codes = gops_requantize_applies(plan, job) && gops_is_8_bit(plan->output_type->type),
    };
    for (int a = 2; a >= 0; a--) {
        const gops_depthwise_axis *axis = &p->axis[a];
        at.first[a] = item % axis->blocks * axis->block;
        at.count[a] = gops_min(axis->block, axis->count - at.first[a]);
        at.origin[a] = at.first[a] * axis->step - axis->shift;
        item /= axis->blocks;
    }
    memset(at.copy, 0, (size_t)(p->begin[1] - p->begin[0]));
    fill_offsets(&at);
    fill_rows(&at);
    fill_call(&at);
    const int64_t end = gops_min((item + 1) * p->plane_block, p->planes);
    int64_t plane = item * p->plane_block;
    const int64_t inside = (at.first[0] * p->axis[1].output + at.first[1]) * p->axis[2].output;
    while (plane < end) {
        const int64_t image = plane / conv->groups, group = plane % conv->groups;
        const int64_t count = gops_min(gops_min(p->batch, end - plane), conv->groups - group);
        for (int64_t i = 0; i < count; i++) {
            copy_channel(&at, gops_data_at(plan, job, image, (plane + i) * conv->data_pixels),
                         at.copy + i * p->copy);
        }
        run_planes(&at, group, count,
                   plane * conv->channels_out * conv->output_pixels + inside + at.first[2]);
        plane += count;
    }
}
