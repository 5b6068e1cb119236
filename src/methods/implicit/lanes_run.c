/* lanes_run.c: zero points and requantization of a work item of a quantized plan; lanes.h. */
#include "methods/implicit/lanes_run.h"

#include "base/checked.h"
#include "post_ops/requantize.h"

#include <string.h>

static bool needs_windows(const gops_implicit_item *item)
{
    const gops_plan *plan = item->plan;
    const int32_t *zero_points = item->job->quantized->zero_points + item->channel_of_all;
    const int32_t none = -gops_lanes_filter_shift(plan);
    bool needed = false;
    for (int64_t i = 0; gops_lanes_are_quads(plan) && i < item->channels; i++) {
        needed |= zero_points[i] != none;
    }
    return needed;
}

/* RAW where gops_store has more to do than requantization, or where the output is rounded once
 * more. */
static gops_lanes_result result_of(const gops_plan *plan, const gops_job *job)
{
    const gops_type type = plan->output_type->type;
    if (gops_requantize_is_none(plan, job)) {
        return GOPS_LANES_SUMS;
    }
    if (gops_requantize_adds(job)) {
        return GOPS_LANES_BYTES;
    }
    if (!gops_requantize_applies(plan, job) || (type != GOPS_F32 && !gops_is_8_bit(type))) {
        return GOPS_LANES_RAW;
    }
    return type == GOPS_F32 ? GOPS_LANES_FLOATS : GOPS_LANES_BYTES;
}

static void set_bytes(const gops_plan *plan, gops_lanes_epilogue *epilogue)
{
    const int32_t shift = gops_8_bit_shift(plan->output_type->type);
    epilogue->middle = epilogue->zero + shift;
    epilogue->flip = (int8_t)shift;
    if (epilogue->to_8_bit) {
        epilogue->least = gops_requantize_code(epilogue->low, epilogue->middle);
        epilogue->most = gops_requantize_code(epilogue->high, epilogue->middle);
    }
}

void gops_lanes_begin(const gops_implicit *p, gops_implicit_item *item)
{
    item->windows = needs_windows(item);
    gops_lanes_begin_epilogue(item, p->depth_block >= p->depth);
}

void gops_lanes_begin_epilogue(gops_implicit_item *item, bool complete)
{
    gops_lanes_epilogue *epilogue = &item->epilogue;
    item->result = item->windows ? GOPS_LANES_RAW : result_of(item->plan, item->job);
    if (item->result == GOPS_LANES_BYTES && !complete) {
        item->result = GOPS_LANES_RAW;
    }
    if (item->result == GOPS_LANES_BYTES || item->result == GOPS_LANES_FLOATS) {
        const gops_requantize by =
            gops_requantize_read(item->plan, item->job, item->channel_of_all);
        epilogue->low = by.low;
        epilogue->high = by.high;
        epilogue->zero = by.zero;
        epilogue->to_8_bit = item->result == GOPS_LANES_BYTES;
        epilogue->may_overflow = !(item->job->quantized->max_multiplier < 1);
        item->adds = epilogue->to_8_bit && gops_requantize_adds(item->job);
        item->sum = gops_requantize_read_sum(item->plan, item->job);
        set_bytes(item->plan, epilogue);
        item->pass.work.bounds = epilogue;
    }
}

void gops_lanes_keep_raw(gops_implicit_item *item)
{
    item->result = GOPS_LANES_RAW;
    item->adds = false;
    item->pass.work.bounds = NULL;
}

static int64_t channel_of(const gops_lanes_rows *rows, int64_t i)
{
    return rows->channel + (rows->repeat == 1 ? rows->first + i : (rows->first + i) / rows->repeat);
}

/* zero * (point * k - sum of the weights), modulo 2^32. */
static inline uint32_t zero_terms(uint32_t zero, uint32_t point, uint32_t k, uint32_t sum)
{
    return gops_wrapping_multiply(zero,
                                  gops_wrapping_subtract(gops_wrapping_multiply(point, k), sum));
}

/* For rows that are channels: what their sums begin with. `zero` is that of the data, `shift` is
 * added to those of the filter. */
static void begin_channels(const int32_t *points, const uint32_t *bias, const gops_lanes_rows *rows,
                           uint32_t zero, uint32_t shift, uint32_t *restrict first)
{
    const uint32_t k = (uint32_t)rows->k, *sums = rows->weight_sums;
    const int64_t count = rows->count;
    if (bias != NULL) {
        memcpy(first, bias, (size_t)count * sizeof *first);
    } else {
        memset(first, 0, (size_t)count * sizeof *first);
    }
    for (int64_t i = 0; sums != NULL && zero != 0 && i < count; i++) {
        const uint32_t point = gops_wrapping_add((uint32_t)points[i], shift);
        first[i] = gops_wrapping_add(first[i], zero_terms(zero, point, k, sums[i]));
    }
}

void gops_lanes_begin_rows(gops_implicit_item *item, const gops_lanes_rows *rows)
{
    const gops_plan *plan = item->plan;
    const gops_quantized *quantized = item->job->quantized;
    const uint32_t shift = (uint32_t)gops_lanes_filter_shift(plan), k = (uint32_t)rows->k;
    const uint32_t zero =
        gops_wrapping_add(item->job->data_zero, (uint32_t)gops_8_bit_shift(plan->type->type));
    const bool adds_bias = item->result != GOPS_LANES_RAW && item->job->bias != NULL;
    const float *scales =
        item->result == GOPS_LANES_BYTES ? quantized->multipliers : quantized->scales;
    uint32_t *restrict first = item->values.first;
    float *restrict scale = item->values.scale;
    if (rows->repeat == 1) {
        const int64_t o = rows->channel + rows->first;
        begin_channels(quantized->zero_points + o,
                       adds_bias ? (const uint32_t *)item->job->bias + o : NULL, rows, zero, shift,
                       first);
        memcpy(scale, scales + o, (size_t)rows->count * sizeof *scale);
        return;
    }
    for (int64_t i = 0; i < rows->count; i++) {
        const int64_t o = channel_of(rows, i);
        const uint32_t bias = adds_bias ? ((const uint32_t *)item->job->bias)[o] : 0;
        const uint32_t point = gops_wrapping_add((uint32_t)quantized->zero_points[o], shift);
        first[i] = bias;
        if (rows->weight_sums != NULL) {
            first[i] = gops_wrapping_add(bias, zero_terms(zero, point, k, rows->weight_sums[i]));
        }
        scale[i] = scales[o];
    }
}

void gops_lanes_sum_windows(const gops_implicit *p, const gops_implicit_item *item, int64_t first,
                            const uint32_t *ones)
{
    const gops_tiles *tiles = gops_plan_tiles(item->plan);
    gops_implicit_pass pass = item->pass;
    if (!gops_tile_has_pixels(p->form)) {
        gops_implicit_list_columns(p, item, first, false, tiles->lanes);
    }
    pass.mr = gops_implicit_ones_mr(item->plan, p);
    pass.work.weights = ones;
    pass.work.sums = item->workspace + p->windows_begin;
    pass.work.bias = pass.work.bounds = NULL;
    pass.work.channels = 1;
    pass.work.pixels = gops_implicit_stored_pixels(p, &item->runs, false);
    gops_implicit_multiply(&pass);
}

void gops_lanes_subtract_windows(const gops_implicit *p, const gops_implicit_item *item,
                                 const gops_lanes_rows *rows)
{
    const gops_plan *plan = item->plan;
    const struct gops_lanes_kernels *kernels = plan->kernels->lanes;
    const gops_implicit_pass *pass = &item->pass;
    const uint32_t *windows = (const uint32_t *)(const void *)(item->workspace + p->windows_begin);
    uint32_t *sums = pass->work.sums;
    uint32_t zeros[GOPS_EPILOGUE_CHANNELS];
    for (int64_t i = 0; i < rows->count; i++) {
        zeros[i] = (uint32_t)(item->job->quantized->zero_points[channel_of(rows, i)] +
                              gops_lanes_filter_shift(plan));
    }
    const bool pixels = gops_tile_has_pixels(p->form);
    for (int64_t i = 0; pixels && i < rows->count; i++) {
        kernels->subtract(sums + i * pass->work.sums_ld, windows, zeros[i],
                          pass->count * item->runs.step);
    }
    for (int64_t j = 0; !pixels && j < pass->count; j++) {
        kernels->subtract(sums + pass->work.sum_offsets[j], zeros,
                          windows[j * kernels->tiles.lanes], rows->count);
    }
}
