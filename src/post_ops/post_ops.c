/* post_ops.c: applies the post-ops, rounds once, and stores. */
#include "post_ops/post_ops.h"

#include "base/checked.h"
#include "post_ops/requantize.h"

#include <stdbool.h>
#include <string.h>

/* The activation of a channel: prelu is leaky_relu with its slope. */
static gops_activation activation_of(const gops_plan *plan, const gops_job *job, int64_t channel)
{
    gops_activation activation = plan->activation;
    if (activation.kind == GOPS_ACTIVATION_PRELU) {
        const gops_type_row *type = plan->output_type;
        union {
            float f32;
            double f64;
        } slope; /* of the compute type */
        type->load(&slope, (const unsigned char *)job->slopes + channel * type->bytes, 1);
        activation.kind = GOPS_ACTIVATION_LEAKY_RELU;
        activation.alpha = type->compute == GOPS_COMPUTE_F64 ? slope.f64 : (double)slope.f32;
    }
    return activation;
}

void gops_apply_post_ops(const gops_plan *plan, const gops_job *job, const gops_type_row *type,
                         int64_t channel, void *values, const void *bias, const void *residual,
                         int64_t count)
{
    static const gops_activation none = {GOPS_ACTIVATION_NONE, 0, 0};
    const gops_activation activation = activation_of(plan, job, channel);
    const struct gops_post_ops_kernels *kernels = plan->kernels->post_ops;
    if (residual != NULL && plan->residual_after) {
        kernels->apply[type->index](values, bias, NULL, count, &activation);
        kernels->apply[type->index](values, NULL, residual, count, &none);
    } else {
        kernels->apply[type->index](values, bias, residual, count, &activation);
    }
}

/* Integers are stored before the post-ops, which then work on the output in place. So a residual
 * that is the output itself is copied first. */
static void store_integers(const gops_plan *plan, const gops_job *job, int64_t channel,
                           const void *bias, const void *residual, void *output, const void *values,
                           int64_t count)
{
    enum { BLOCK = 256 };
    uint64_t copy[BLOCK];
    const gops_type_row *type = plan->output_type;
    const int64_t size = type->bytes, bytes = gops_compute_bytes(type->compute);
    const bool copies = job->fused && gops_adds_in_place(job);
    const int64_t block = copies ? BLOCK : count;
    for (int64_t i = 0; i < count; i += block) {
        const int64_t length = gops_min(block, count - i);
        unsigned char *to = (unsigned char *)output + i * size;
        const void *added = residual != NULL ? (const unsigned char *)residual + i * size : NULL;
        if (added != NULL && copies) {
            added = memcpy(copy, added, (size_t)(length * size));
        }
        if (output != values) {
            type->store(to, (const unsigned char *)values + i * bytes, length);
        }
        if (job->fused) {
            gops_apply_post_ops(plan, job, type, channel, to, bias, added, length);
        }
    }
}

void gops_store(const gops_plan *plan, const gops_job *job, int64_t channel, int64_t first,
                int64_t count, void *values)
{
    const gops_type_row *type = plan->output_type;
    void *output = gops_output_at(plan, job, first);
    const void *bias = NULL, *residual = NULL;
    if (job->bias != NULL) {
        const int64_t size = plan->quantized ? (int64_t)sizeof(int32_t) : type->bytes;
        bias = (const unsigned char *)job->bias + channel * size;
    }
    if (job->residual != NULL) {
        residual = gops_residual_at(plan, job, first);
    }
    if (plan->quantized && type->type != GOPS_I32) {
        gops_requantize_run(plan, job, channel, residual, output, values, count);
        return;
    }
    if (gops_is_integer(type)) {
        store_integers(plan, job, channel, bias, residual, output, values, count);
        return;
    }
    if (job->fused) {
        gops_apply_post_ops(plan, job, type, channel, values, bias, residual, count);
    }
    if (output != values) {
        type->store(output, values, count);
    }
}

void gops_store_channels(const gops_plan *plan, const gops_job *job, int64_t channel, int64_t first,
                         const gops_store_values *from)
{
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const int64_t plane = plan->output_plane;
    for (int64_t i = 0; i < from->rows; i++) {
        gops_store(plan, job, channel + i, first + i * plane, from->count,
                   (unsigned char *)from->values + i * from->ld * bytes);
    }
}

void gops_activate(const gops_plan *plan, const gops_activate_rows *rows)
{
    const struct gops_activate_kernels *kernels = plan->kernels->post_ops->activate;
    const bool is_f64 = plan->type->compute == GOPS_COMPUTE_F64;
    (is_f64 ? kernels->f64 : kernels->f32)(rows, &plan->activation);
}

void gops_store_rows(const gops_plan *plan, const gops_job *job, const gops_epilogue *epilogue,
                     int64_t channel, int64_t first, const gops_store_values *from)
{
    if (epilogue->applies && job->fused) {
        gops_activate(plan, &(gops_activate_rows){.from = from->values,
                                                  .to = gops_output_at(plan, job, first),
                                                  .from_ld = from->ld,
                                                  .to_ld = plan->output_plane,
                                                  .rows = from->rows,
                                                  .count = from->count});
        return;
    }
    gops_store_channels(plan, job, channel, first, from);
}
