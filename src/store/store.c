/* store/store.c: fuses, rounds once, and writes. */
#include "store/store.h"

#include "base/checked.h"

void gops_store(const gops_plan *plan, const gops_job *job, int64_t channel, int64_t first,
                int64_t count, void *values)
{
    const gops_type_row *type = plan->output_type;
    const int64_t size = (int64_t)gops_type_bytes(type->type);
    const int integer = type->store_wrapped != NULL;
    unsigned char *to = (unsigned char *)job->output + first * size;
    const void *bias = NULL, *residual = NULL;
    if (job->bias != NULL) {
        bias = (const unsigned char *)job->bias + channel * size;
    }
    if (job->residual != NULL) {
        residual = (const unsigned char *)job->residual + first * size;
    }
    if (job->fused && !integer) {
        type->fuse(values, bias, residual, count, &plan->activation);
    }
    if (to != values) {
        (plan->wrapped ? type->store_wrapped : type->store)(to, values, count);
    }
    if (job->fused && integer) {
        type->fuse(to, bias, residual, count, &plan->activation);
    }
}

void gops_store_again(const gops_plan *plan, const gops_job *job, int64_t first, int64_t count)
{
    enum { CHUNK = 256 };
    union {
        float f32[CHUNK];
        double f64[CHUNK];
    } chunk; /* whichever the compute type is */
    const gops_type_row *type = plan->output_type;
    const int64_t size = (int64_t)gops_type_bytes(type->type);
    for (int64_t i = first; i < first + count; i += CHUNK) {
        const int64_t part = gops_min(CHUNK, first + count - i);
        unsigned char *to = (unsigned char *)job->output + i * size;
        const void *residual = NULL;
        if (job->residual != NULL) {
            residual = (const unsigned char *)job->residual + i * size;
        }
        type->load(&chunk, to, part);
        type->fuse(&chunk, NULL, residual, part, &plan->activation);
        type->store(to, &chunk, part);
    }
}
