/*
 * depthwise_permuted_run.c: packs filters for `depthwise/permuted` and runs it.
 *
 * Packed are, for each filter, the sum of its weights less their zero point; then the number of its
 * parts; then its quads in both orders, [parts, kernel_y, row_quads] and [parts, whole_quads].
 *
 * Data of i8 are taken for u8 by inverting their highest bit, which adds 128 to them and to their
 * zero point; outputs likewise.
 *
 * The kernel stores outputs of 8 bits with no more post-ops than bounds, and i32 without post-ops.
 * Else its sums go to the workspace, and gops_store makes outputs of them.
 */
#include "methods/depthwise/permuted/depthwise_permuted_method.h"

#include "base/checked.h"
#include "post_ops/post_ops.h"
#include "post_ops/requantize.h"

#include <math.h>
#include <string.h>

enum { QUAD = GOPS_PERMUTED_QUAD };

gops_permuted_layout gops_depthwise_permuted_layout(const gops_conv_geometry *conv)
{
    gops_permuted_layout layout = {
        .columns = conv->axis[conv->axes - 1].kernel,
        .filters = conv->groups * conv->channels_out,
    };
    layout.row = gops_ceil_div(layout.columns, QUAD);
    layout.rows = conv->taps / layout.columns * layout.row;
    layout.whole = gops_ceil_div(conv->taps, QUAD);
    layout.filter = GOPS_PERMUTED_PARTS * (layout.rows + layout.whole);
    layout.words = layout.filters * (2 + layout.filter);
    return layout;
}

/* Packs filter number `f`. */
static void pack_filter(const gops_plan *plan, const gops_permuted_layout *layout,
                        const unsigned char *weights, bool flipped, int32_t zero_point, int64_t f,
                        int32_t *packed)
{
    int64_t sum = 0;
    int32_t parts = 1;
    int8_t *rows = (int8_t *)(packed + 2 * layout->filters + f * layout->filter);
    int8_t *whole = rows + GOPS_PERMUTED_PARTS * layout->rows * QUAD;
    for (int64_t i = 0; i < plan->conv.taps; i++) {
        const int64_t row = i / layout->columns, column = i % layout->columns;
        const int64_t from = flipped ? plan->conv.taps - 1 - i : i;
        const int32_t weight = gops_8_bit_at(plan->filter_type->type, weights, from) - zero_point;
        sum += weight;
        for (int part = 0; part < GOPS_PERMUTED_PARTS; part++) {
            const int8_t value = gops_permuted_part(weight, part);
            rows[(part * layout->rows + row * layout->row) * QUAD + column] = value;
            whole[part * layout->whole * QUAD + i] = value;
            parts = value != 0 && part >= parts ? part + 1 : parts;
        }
    }
    packed[f] = (int32_t)(uint32_t)sum; /* modulo 2^32, as all sums are */
    packed[layout->filters + f] = parts;
}

void gops_depthwise_permuted_pack(const gops_plan *plan, const void *weights,
                                  const int32_t *zero_points, void *packed)
{
    const gops_permuted_plan *p = gops_read_parameters(plan);
    memset(packed, 0, (size_t)plan->filter_bytes);
    for (int64_t f = 0; f < p->layout.filters; f++) {
        pack_filter(plan, &p->layout, (const unsigned char *)weights + f * plan->conv.taps,
                    p->flipped, zero_points[f], f, packed);
    }
}

/* What all filters of an item have in common. */
typedef struct permuted_work {
    const gops_plan *plan;
    const gops_job *job;
    gops_permuted_call call;
    bool codes;    /* gops_permuted_call.codes, where scales are bounded */
    bool in_place; /* the kernel stores i32 outputs */
    float most;    /* of a sum's magnitude, without its bias */
} permuted_work;

static void read_work(const gops_plan *plan, const gops_job *job, permuted_work *w)
{
    const bool applies = gops_requantize_applies(plan, job);
    const int32_t offset = gops_8_bit_shift(plan->output_type->type);
    const int32_t data_offset = gops_8_bit_shift(plan->type->type);
    w->codes = applies && gops_is_8_bit(plan->output_type->type);
    w->in_place = gops_requantize_is_none(plan, job);
    w->call.zero_of_sums = gops_wrapping_add(job->data_zero, (uint32_t)data_offset);
    w->call.data_flip = (uint8_t)data_offset;
    w->call.data_zero = (uint8_t)job->data_zero;
    w->call.output_flip = (uint8_t)offset;
    w->most = (float)plan->conv.taps * UINT8_MAX * UINT8_MAX;
    if (w->codes) {
        const gops_requantize by = gops_requantize_read(plan, job, 0);
        w->call.zero = by.zero + offset;
        w->call.low = (int32_t)rintf(by.low) + w->call.zero;
        w->call.high = (int32_t)rintf(by.high) + w->call.zero;
    }
}

/* The kernel's products of a sum and a scale have 32 bits: any sum of 32 bits has, or any that there
 * is. */
enum { MAX_PRODUCT = 1 << 30 };

static bool is_bounded(const permuted_work *w, float scale, uint32_t bias)
{
    return scale < 1 || scale * (w->most + fabsf((float)(int32_t)bias)) < MAX_PRODUCT;
}

/* Of `count` filters, how many there are in the beginning all of whose scales are bounded, or none
 * of whose are. */
static int64_t equal_filters(const permuted_work *w, int64_t channel, int64_t count, bool *bounded)
{
    const float *scales = w->job->quantized->multipliers + channel;
    const uint32_t *bias = w->job->bias != NULL ? (const uint32_t *)w->job->bias + channel : NULL;
    /* In networks all are. */
    const float limit = bias != NULL ? 1 : fmaxf(1, MAX_PRODUCT / w->most);
    if (w->job->quantized->max_multiplier < limit) {
        *bounded = true;
        return count;
    }
    *bounded = is_bounded(w, scales[0], bias != NULL ? bias[0] : 0);
    for (int64_t i = 1; i < count; i++) {
        if (is_bounded(w, scales[i], bias != NULL ? bias[i] : 0) != *bounded) {
            return i;
        }
    }
    return count;
}

/* Prepares the call for the next filters, from `number` on: as many of one image as the kernel
 * stores the outputs of, or as many as the workspace has room for the sums of. Returns whether it
 * stores them. */
static bool read_filters(permuted_work *w, int64_t number, int64_t end, uint32_t *sums)
{
    const gops_plan *plan = w->plan;
    const gops_conv_geometry *conv = &plan->conv;
    const gops_permuted_plan *p = gops_read_parameters(plan);
    const int64_t channels_out = conv->channels_out, plane = number / channels_out;
    const int64_t columns = p->shape.columns, filters = p->layout.filters;
    const int64_t channel = number % filters;
    const int32_t *packed = w->job->filter;
    gops_permuted_call *call = &w->call;
    int64_t count = gops_min(end - number, filters - channel);
    call->codes = w->codes;
    if (w->codes) {
        count = equal_filters(w, channel, count, &call->codes);
        call->scales = w->job->quantized->multipliers + channel;
    }
    const bool stores = call->codes || w->in_place;
    count = stores ? count : gops_min(count, p->sum_filters);
    call->count = count;
    call->data = gops_data_at(plan, w->job, plane / conv->groups, plane * plan->data_plane);
    call->data_step = plan->data_plane;
    call->first_in_group = number % channels_out;
    call->weight_sums = packed + channel;
    /* gops_store adds the bias to what the kernel does not store. */
    call->bias = stores && w->job->bias != NULL ? (const uint32_t *)w->job->bias + channel : NULL;
    call->parts = packed + filters + channel;
    call->weights = packed + 2 * filters + channel * p->layout.filter;
    call->output = sums;
    call->output_step = call->rows * columns * (int64_t)sizeof *sums;
    if (stores) {
        call->output =
            gops_output_at(plan, w->job, number * plan->output_plane + call->first_row * columns);
        call->output_step = plan->output_plane * plan->output_type->bytes;
    }
    return stores;
}

void gops_depthwise_permuted_run(const gops_plan *plan, const gops_job *job, int64_t item,
                                 void *workspace)
{
    const gops_permuted_plan *p = gops_read_parameters(plan);
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t first_row = item % p->row_blocks * p->row_block;
    const int64_t rows = gops_min(p->row_block, p->shape.rows - first_row);
    const int64_t outputs = rows * p->shape.columns;
    int64_t number = item / p->row_blocks * p->filter_block;
    const int64_t end = gops_min(number + p->filter_block, p->filters);
    permuted_work w = {.plan = plan, .job = job};
    read_work(plan, job, &w);
    w.call.shape = &p->shape;
    w.call.first_row = first_row;
    w.call.rows = rows;
    w.call.channels_out = conv->channels_out;
    w.call.weights_step = p->layout.filter;
    for (; number < end; number += w.call.count) {
        const bool stores = read_filters(&w, number, end, workspace);
        plan->kernels->depthwise_permuted->run(&w.call);
        for (int64_t i = 0; i < w.call.count && !stores; i++) {
            gops_store(plan, job, (number + i) % p->layout.filters,
                       (number + i) * plan->output_plane + first_row * p->shape.columns, outputs,
                       (uint32_t *)workspace + i * outputs);
        }
    }
}
