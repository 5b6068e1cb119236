/*
 * depthwise_permuted_run.c: packs filters for `depthwise/permuted` and runs it.
 *
 * A filter is packed as the sum of its weights less their zero point, the number of its parts, and
 * its quads in both orders, [parts, kernel_y, row_quads] and [parts, whole_quads].
 *
 * Data of i8 are taken for u8 by inverting their highest bit, which adds 128 to them and to their
 * zero point; outputs likewise.
 *
 * The kernel stores outputs of 8 bits with no more post-ops than bounds, and i32 without post-ops.
 * Else its sums go to the workspace, and gops_store makes outputs of them.
 */
#include "methods/depthwise/depthwise_permuted_method.h"

#include "base/checked.h"
#include "post_ops/post_ops.h"
#include "post_ops/requantize.h"

#include <math.h>
#include <string.h>

enum {
    QUAD = GOPS_PERMUTED_QUAD,
    /* What i8 and u8 of the same bits differ by, after the highest bit is inverted. */
    OFFSET = 128,
};

/* In front of the weights of a packed filter. */
typedef struct packed_head {
    int32_t sum, parts;
} packed_head;

/* The sizes of a packed filter, in 32-bit words. */
typedef struct packed_layout {
    int64_t columns; /* taps of a row of the kernel */
    int64_t row, rows, whole, filter;
} packed_layout;

static packed_layout layout_of(const gops_conv_geometry *conv)
{
    packed_layout layout = {.columns = conv->axis[conv->axes - 1].kernel};
    layout.row = gops_ceil_div(layout.columns, QUAD);
    layout.rows = conv->taps / layout.columns * layout.row;
    layout.whole = gops_ceil_div(conv->taps, QUAD);
    layout.filter = (int64_t)(sizeof(packed_head) / sizeof(int32_t)) +
                    GOPS_PERMUTED_PARTS * (layout.rows + layout.whole);
    return layout;
}

int64_t gops_depthwise_permuted_filter_bytes(const gops_conv_geometry *conv)
{
    return conv->groups * conv->channels_out * layout_of(conv).filter * (int64_t)sizeof(int32_t);
}

/* The i8 number `part` of those that make up a weight less its zero point. */
static int8_t part_of(int64_t weight, int part)
{
    for (; part > 0; part--) {
        weight -= gops_clamp(weight, INT8_MIN, INT8_MAX);
    }
    return (int8_t)gops_clamp(weight, INT8_MIN, INT8_MAX);
}

static void pack_filter(const gops_plan *plan, const packed_layout *layout,
                        const unsigned char *weights, int32_t zero_point, int32_t *to)
{
    packed_head head = {.parts = 1};
    int8_t *rows = (int8_t *)to + sizeof head;
    int8_t *whole = rows + GOPS_PERMUTED_PARTS * layout->rows * QUAD;
    for (int64_t i = 0; i < plan->conv.taps; i++) {
        const int64_t row = i / layout->columns, column = i % layout->columns;
        const int32_t given =
            plan->filter_type->type == GOPS_I8 ? ((const int8_t *)weights)[i] : weights[i];
        const int32_t weight = given - zero_point;
        head.sum += weight;
        for (int part = 0; part < GOPS_PERMUTED_PARTS; part++) {
            const int8_t value = part_of(weight, part);
            rows[(part * layout->rows + row * layout->row) * QUAD + column] = value;
            whole[part * layout->whole * QUAD + i] = value;
            head.parts = value != 0 && part >= head.parts ? part + 1 : head.parts;
        }
    }
    memcpy(to, &head, sizeof head);
}

void gops_depthwise_permuted_pack(const gops_plan *plan, const void *weights,
                                  const int32_t *zero_points, void *packed)
{
    const gops_conv_geometry *conv = &plan->conv;
    const packed_layout layout = layout_of(conv);
    memset(packed, 0, (size_t)plan->filter_bytes);
    for (int64_t f = 0; f < conv->groups * conv->channels_out; f++) {
        pack_filter(plan, &layout, (const unsigned char *)weights + f * conv->taps, zero_points[f],
                    (int32_t *)packed + f * layout.filter);
    }
}

/* What all filters of an item have in common. */
typedef struct permuted_work {
    const gops_plan *plan;
    const gops_job *job;
    packed_layout layout;
    gops_permuted_call call;
    bool codes;         /* gops_permuted_filter.codes, if the scale is bounded */
    bool in_place;      /* the kernel stores i32 outputs */
    uint32_t data_zero; /* of the data as u8 */
    float most;         /* of a sum's magnitude, without its bias */
} permuted_work;

static void read_work(const gops_plan *plan, const gops_job *job, permuted_work *w)
{
    const bool applies = gops_requantize_applies(plan, job);
    const int32_t offset = plan->output_type->type == GOPS_I8 ? OFFSET : 0;
    const int32_t data_offset = plan->type->type == GOPS_I8 ? OFFSET : 0;
    w->codes = applies && gops_is_8_bit(plan->output_type->type);
    w->in_place = plan->output_type->type == GOPS_I32 && job->residual == NULL &&
                  plan->activation.kind == GOPS_ACTIVATION_NONE;
    w->data_zero = gops_wrapping_add(job->data_zero, (uint32_t)data_offset);
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

/* Whether a sum times the scale, rounded, has 32 bits: any sum of 32 bits, or any that there is. */
static bool is_bounded(const permuted_work *w, float scale, uint32_t bias)
{
    return scale < 1 || scale * (w->most + fabsf((float)(int32_t)bias)) < 0x1p30f;
}

/* Fills in a filter, but for its output; `channel` is group * C_OUT + output channel. */
static void read_filter(const permuted_work *w, const uint8_t *data, int64_t channel,
                        gops_permuted_filter *filter)
{
    const int32_t *packed = (const int32_t *)w->job->filter + channel * w->layout.filter;
    packed_head head;
    memcpy(&head, packed, sizeof head);
    packed += sizeof head / sizeof *packed;
    *filter = (gops_permuted_filter){
        .data = data,
        .row_weights = packed,
        .whole_weights = packed + GOPS_PERMUTED_PARTS * w->layout.rows,
        .parts = head.parts,
        .start =
            gops_wrapping_subtract(0, gops_wrapping_multiply(w->data_zero, (uint32_t)head.sum)),
    };
    const uint32_t bias = w->job->bias != NULL ? ((const uint32_t *)w->job->bias)[channel] : 0;
    if (w->codes) {
        filter->scale = w->job->quantized->multipliers[channel];
        filter->codes = is_bounded(w, filter->scale, bias);
    }
    if (filter->codes || w->in_place) {
        filter->start = gops_wrapping_add(filter->start, bias);
    }
}

/* Reads the filters of the next call, from `number` on: as many of one image as the kernel stores
 * the outputs of, or as many as the workspace has room for the sums of. */
static void read_filters(permuted_work *w, int64_t number, int64_t end, uint32_t *sums,
                         gops_permuted_filter *filters)
{
    const gops_plan *plan = w->plan;
    const gops_conv_geometry *conv = &plan->conv;
    const gops_permuted_plan *p = gops_read_parameters(plan);
    const int64_t channels_out = conv->channels_out, plane = number / channels_out;
    const int64_t columns = p->shape.columns, first = w->call.first_row * columns;
    const int64_t channel = number % (conv->groups * channels_out);
    const int64_t size = plan->output_type->bytes;
    const uint8_t *data =
        gops_data_at(plan, w->job, plane / conv->groups, plane * conv->data_pixels);
    uint8_t *output = gops_output_at(plan, w->job, number * conv->output_pixels + first);
    int64_t filter_in_group = number % channels_out, count = 0;
    bool stores = true;
    end = gops_min(end, number - channel + conv->groups * channels_out);
    for (; number + count < end && (stores || count < p->sum_filters); count++) {
        gops_permuted_filter *filter = &filters[count];
        read_filter(w, data, channel + count, filter);
        const bool stored = filter->codes || w->in_place;
        if (count > 0 && stores != stored) {
            break;
        }
        stores = stored;
        filter->output = stored ? (void *)output : sums;
        output += conv->output_pixels * size;
        sums += stored ? 0 : w->call.rows * columns;
        if (++filter_in_group == channels_out) {
            filter_in_group = 0;
            data += conv->data_pixels;
        }
    }
    w->call.count = count;
}

void gops_depthwise_permuted_run(const gops_plan *plan, const gops_job *job, int64_t item,
                                 void *workspace)
{
    const gops_permuted_plan *p = gops_read_parameters(plan);
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t channels = conv->groups * conv->channels_out;
    const int64_t first_row = item % p->row_blocks * p->row_block;
    const int64_t rows = gops_min(p->row_block, p->shape.rows - first_row);
    const int64_t outputs = rows * p->shape.columns;
    int64_t number = item / p->row_blocks * p->filter_block;
    const int64_t end = gops_min(number + p->filter_block, p->filters);
    gops_permuted_filter filters[GOPS_PERMUTED_FILTERS];
    permuted_work w = {.plan = plan, .job = job, .layout = layout_of(conv)};
    read_work(plan, job, &w);
    w.call.shape = &p->shape;
    w.call.filters = filters;
    w.call.first_row = first_row;
    w.call.rows = rows;
    for (; number < end; number += w.call.count) {
        read_filters(&w, number, end, workspace, filters);
        plan->kernels->depthwise_permuted->run(&w.call);
        for (int64_t i = 0; i < w.call.count && !w.in_place && !filters[i].codes; i++) {
            gops_store(plan, job, (number + i) % channels,
                       (number + i) * conv->output_pixels + first_row * p->shape.columns, outputs,
                       filters[i].output);
        }
    }
}
