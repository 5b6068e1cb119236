/* post_ops.c: fuses, rounds once, and writes. */
#include "post_ops/post_ops.h"

#include "base/checked.h"
#include "post_ops/post_ops_kernels.h"

#include <string.h>

/* Integers are stored before the rest is added to them, so a residual that lies there is kept. */
static void store_integers(const gops_plan *plan, const gops_job *job, const void *bias,
                           const void *residual, void *to, const void *values, int64_t count)
{
    enum { CHUNK = 256 };
    uint64_t kept[CHUNK];
    const gops_type_row *type = plan->output_type;
    const gops_compute compute =
        plan->wrapped ? gops_compute_wrapped(plan->type->compute) : plan->type->compute;
    const int64_t size = type->bytes, bytes = gops_compute_bytes(compute);
    const int64_t most = job->fused && gops_adds_in_place(job) ? CHUNK : count;
    for (int64_t i = 0; i < count; i += most) {
        const int64_t part = gops_min(most, count - i);
        unsigned char *run = (unsigned char *)to + i * size;
        const void *added = residual != NULL ? (const unsigned char *)residual + i * size : NULL;
        if (added != NULL && most == CHUNK) {
            added = memcpy(kept, added, (size_t)(part * size));
        }
        if (to != values) {
            (plan->wrapped ? type->store_wrapped
                           : type->store)(run, (const unsigned char *)values + i * bytes, part);
        }
        if (job->fused) {
            plan->kernels->post_ops->fuse[type->index](run, bias, added, part, &plan->activation);
        }
    }
}

void gops_store(const gops_plan *plan, const gops_job *job, int64_t channel, int64_t first,
                int64_t count, void *values)
{
    const gops_type_row *type = plan->output_type;
    void *to = gops_output_at(plan, job, first);
    const void *bias = NULL, *residual = NULL;
    if (job->bias != NULL) {
        bias = (const unsigned char *)job->bias + channel * type->bytes;
    }
    if (job->residual != NULL) {
        residual = gops_residual_at(plan, job, first);
    }
    if (type->store_wrapped != NULL) {
        store_integers(plan, job, bias, residual, to, values, count);
        return;
    }
    if (job->fused) {
        plan->kernels->post_ops->fuse[type->index](values, bias, residual, count,
                                                   &plan->activation);
    }
    if (to != values) {
        type->store(to, values, count);
    }
}
