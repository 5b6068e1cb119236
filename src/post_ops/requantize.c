/* requantize.c: which scale, bounds and zero point apply to a quantized plan's sums; requantize.h. */
#include "post_ops/requantize.h"

#include "base/checked.h"
#include "post_ops/post_ops.h"

#include <math.h>

static bool is_8_bit(const gops_plan *plan)
{
    return gops_is_8_bit(plan->output_type->type);
}

bool gops_requantize_is_none(const gops_plan *plan, const gops_job *job)
{
    return job->residual == NULL && plan->output_type->type == GOPS_I32 &&
           plan->activation.kind == GOPS_ACTIVATION_NONE;
}

bool gops_requantize_applies(const gops_plan *plan, const gops_job *job)
{
    return job->residual == NULL && plan->output_type->type != GOPS_I32 &&
           plan->activation.kind <= GOPS_ACTIVATION_CLAMP &&
           !(is_8_bit(plan) && job->quantized->divides);
}

/* Whether they are rounded before the residual's codes are added. */
static bool has_sum(const gops_job *job)
{
    return job->residual != NULL && job->quantized->sum_scale != 0;
}

bool gops_requantize_adds(const gops_job *job)
{
    return has_sum(job) && !job->quantized->divides;
}

/* The bounds of an 8-bit output before its zero point is added. */
static void bounds_8_bit(const gops_plan *plan, int32_t zero, gops_requantize *by)
{
    const int32_t least = plan->output_type->type == GOPS_I8 ? INT8_MIN : 0;
    by->zero = zero;
    by->low = (float)(least - by->zero);
    by->high = (float)(least + UINT8_MAX - by->zero);
}

static float clamp(float x, float low, float high)
{
    return x < low ? low : x > high ? high : x;
}

gops_requantize gops_requantize_read(const gops_plan *plan, const gops_job *job, int64_t channel)
{
    const gops_quantized *quantized = job->quantized;
    const gops_activation *activation = &plan->activation;
    const float divisor = is_8_bit(plan) ? quantized->output_scale : 1;
    gops_requantize by = {
        .bias = job->bias != NULL ? ((const uint32_t *)job->bias)[channel] : 0,
        .scale = is_8_bit(plan) ? quantized->multipliers[channel] : quantized->scales[channel],
        .low = -INFINITY,
        .high = INFINITY,
    };
    if (has_sum(job)) {
        bounds_8_bit(plan, quantized->sum_zero, &by);
        return by;
    }
    if (is_8_bit(plan)) {
        bounds_8_bit(plan, quantized->output_zero, &by);
    }
    if (activation->kind == GOPS_ACTIVATION_RELU) {
        by.low = clamp(0, by.low, by.high);
    } else if (activation->kind == GOPS_ACTIVATION_CLAMP) {
        const float low = by.low, high = by.high;
        by.low = clamp((float)activation->alpha / divisor, low, high);
        by.high = clamp((float)activation->beta / divisor, low, high);
    }
    return by;
}

gops_requantize_sum gops_requantize_read_sum(const gops_plan *plan, const gops_job *job)
{
    const gops_quantized *quantized = job->quantized;
    const bool is_signed = plan->output_type->type == GOPS_I8;
    const bool relu = plan->activation.kind == GOPS_ACTIVATION_RELU;
    const float least = is_signed ? INT8_MIN : 0;
    return (gops_requantize_sum){
        .ratio = {quantized->sum_ratios[0], quantized->sum_ratios[1]},
        .constant = quantized->sum_constant,
        .low = relu ? (float)quantized->output_zero : least,
        .high = least + UINT8_MAX,
        .residual_first = quantized->residual_first,
        .is_signed = is_signed,
    };
}

/* The residual in real units. */
static void load_residual(const gops_plan *plan, const gops_job *job, const void *residual,
                          float *to, int64_t count)
{
    const gops_quantized *quantized = job->quantized;
    const struct gops_requantize_kernels *kernels = plan->kernels->post_ops->requantize;
    const gops_type type = plan->residual_type->type;
    if (gops_is_8_bit(type)) {
        const gops_requantize by = {(uint32_t)-quantized->residual_zero, quantized->residual_scale,
                                    -INFINITY, INFINITY, 0};
        gops_type_row_of(plan->kernels, type, GOPS_TYPE_WIDE)->load(to, residual, count);
        kernels->to_float(to, (const uint32_t *)(const void *)to, count, &by);
    } else {
        plan->residual_type->load(to, residual, count);
        kernels->scale(to, count, quantized->residual_scale);
    }
}

/* A block of outputs by the long way: real values, post-ops, division, rounding. */
static void store_block(const gops_plan *plan, const gops_job *job, int64_t channel,
                        const void *residual, void *output, void *sums, int64_t count)
{
    const struct gops_post_ops_kernels *kernels = plan->kernels->post_ops;
    const gops_type_row *real = gops_type_row_of(plan->kernels, GOPS_F32, GOPS_TYPE_USUAL);
    enum { BLOCK = 256 };
    float added[BLOCK];
    gops_requantize by = gops_requantize_read(plan, job, channel);
    by.scale = job->quantized->scales[channel];
    by.low = -INFINITY;
    by.high = INFINITY;
    for (int64_t i = 0; i < count; i += BLOCK) {
        const int64_t length = gops_min(BLOCK, count - i);
        float *values = (float *)sums + i;
        unsigned char *to = (unsigned char *)output + i * plan->output_type->bytes;
        kernels->requantize->to_float(values, (const uint32_t *)sums + i, length, &by);
        if (residual != NULL) {
            load_residual(plan, job,
                          (const unsigned char *)residual + i * plan->residual_type->bytes, added,
                          length);
        }
        kernels->apply[real->index](values, NULL, residual != NULL ? added : NULL, length,
                                    &plan->activation);
        if (is_8_bit(plan)) {
            gops_requantize rounding = by;
            bounds_8_bit(plan, job->quantized->output_zero, &rounding);
            kernels->requantize->round(to, values, length, job->quantized->output_scale, &rounding);
        } else {
            plan->output_type->store(to, values, length);
        }
    }
}

/* Rounds the sums to codes, and adds those of the residual. The codes are made beside the output,
 * which may be the residual. */
static void store_sum(const gops_plan *plan, const gops_job *job, int64_t channel,
                      const void *residual, void *output, void *sums, int64_t count)
{
    const struct gops_requantize_kernels *kernels = plan->kernels->post_ops->requantize;
    enum { BLOCK = 256 };
    unsigned char codes[BLOCK];
    const gops_requantize_sum adds = gops_requantize_read_sum(plan, job);
    const gops_requantize by = gops_requantize_read(plan, job, channel);
    const gops_requantize real = {by.bias, job->quantized->scales[channel], -INFINITY, INFINITY, 0};
    for (int64_t i = 0; i < count; i += BLOCK) {
        const int64_t length = gops_min(BLOCK, count - i);
        if (job->quantized->divides) {
            float *values = (float *)sums + i;
            kernels->to_float(values, (const uint32_t *)sums + i, length, &real);
            kernels->round(codes, values, length, job->quantized->sum_scale, &by);
        } else {
            kernels->to_8_bit(codes, (const uint32_t *)sums + i, length, &by);
        }
        const gops_requantize_rows rows = {.to = (unsigned char *)output + i,
                                           .residual = (const unsigned char *)residual + i,
                                           .codes = codes,
                                           .rows = 1,
                                           .count = length};
        kernels->add(&rows, &adds);
    }
}

void gops_requantize_run(const gops_plan *plan, const gops_job *job, int64_t channel,
                         const void *residual, void *output, void *sums, int64_t count)
{
    const struct gops_requantize_kernels *kernels = plan->kernels->post_ops->requantize;
    if (has_sum(job)) {
        store_sum(plan, job, channel, residual, output, sums, count);
        return;
    }
    if (!gops_requantize_applies(plan, job)) {
        store_block(plan, job, channel, residual, output, sums, count);
        return;
    }
    const gops_requantize by = gops_requantize_read(plan, job, channel);
    if (is_8_bit(plan)) {
        kernels->to_8_bit(output, sums, count, &by);
    } else if (plan->output_type->native) {
        kernels->to_float(output, sums, count, &by);
    } else {
        kernels->to_float(sums, sums, count, &by);
        plan->output_type->store(output, sums, count);
    }
}
