/* post_ops.c: applies the post-ops, rounds once, and stores. */
#include "post_ops/post_ops.h"

#include "base/checked.h"
#include "post_ops/requantize.h"

#include <stdbool.h>
#include <string.h>

/* Integers are stored before the post-ops, which then work on the output in place. So a residual
 * that is the output itself is copied first. */
static void store_integers(const gops_plan *plan, const gops_job *job, const void *bias,
                           const void *residual, void *output, const void *values, int64_t count)
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
            plan->kernels->post_ops->apply[type->index](to, bias, added, length, &plan->activation);
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
        store_integers(plan, job, bias, residual, output, values, count);
        return;
    }
    if (job->fused) {
        plan->kernels->post_ops->apply[type->index](values, bias, residual, count,
                                                    &plan->activation);
    }
    if (output != values) {
        type->store(output, values, count);
    }
}
