/* epilogue.c: which post-ops a kernel applies, and the values it needs for them; epilogue.h. */
#include "post_ops/epilogue.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static void set_value(gops_epilogue_values *values, gops_compute compute, int i, double value)
{
    if (compute == GOPS_COMPUTE_F32) {
        values->f32[i] = (float)value;
    } else {
        values->f64[i] = value;
    }
}

gops_epilogue gops_epilogue_read(const gops_plan *plan, const gops_job *job,
                                 gops_epilogue_residual residual)
{
    const gops_activation *activation = &plan->activation;
    const gops_compute compute = plan->type->compute;
    const bool clamps = activation->kind == GOPS_ACTIVATION_CLAMP;
    const bool relu = activation->kind == GOPS_ACTIVATION_RELU;
    const gops_epilogue_residual needed =
        gops_adds_in_place(job) ? GOPS_EPILOGUE_ANY_RESIDUAL : GOPS_EPILOGUE_SEPARATE_RESIDUAL;
    const bool adds = plan->output_type->native && residual >= needed && !plan->residual_after;
    gops_epilogue epilogue;
    epilogue.applies = job->fused && (job->residual == NULL || adds) &&
                       !gops_is_integer(plan->type) &&
                       (clamps || relu || activation->kind == GOPS_ACTIVATION_NONE);
    if (epilogue.applies) {
        const double low = clamps ? activation->alpha : relu ? 0 : -INFINITY;
        set_value(&epilogue.bounds, compute, 0, low);
        set_value(&epilogue.bounds, compute, 1, clamps ? activation->beta : INFINITY);
        epilogue.rest = *job;
        epilogue.rest.fused = false;
        epilogue.rest.bias = NULL;
        epilogue.rest.residual = NULL;
    }
    return epilogue;
}

gops_epilogue gops_epilogue_read_sums(const gops_plan *plan, const gops_job *job)
{
    gops_epilogue epilogue = gops_epilogue_read(plan, job, GOPS_EPILOGUE_ANY_RESIDUAL);
    assert(gops_epilogue_ends_alike(plan));
    if (!epilogue.applies && job->fused && !gops_is_integer(plan->type) &&
        plan->output_type->native) {
        epilogue.applies = true;
        set_value(&epilogue.bounds, plan->type->compute, 0, -INFINITY);
        set_value(&epilogue.bounds, plan->type->compute, 1, INFINITY);
        epilogue.rest = *job;
        epilogue.rest.bias = NULL;
        epilogue.rest.residual = NULL;
    }
    return epilogue;
}

gops_epilogue gops_epilogue_read_most(const gops_plan *plan, const gops_job *job,
                                      gops_epilogue_residual residual)
{
    return job->residual == NULL && gops_epilogue_ends_alike(plan)
               ? gops_epilogue_read_sums(plan, job)
               : gops_epilogue_read(plan, job, residual);
}

void gops_epilogue_bias(const gops_plan *plan, const gops_job *job, int64_t channel, int64_t step,
                        int64_t count, int64_t padded, gops_epilogue_values *bias)
{
    const gops_type_row *type = plan->output_type;
    const int64_t size = type->bytes;
    const int64_t bytes = gops_compute_bytes(type->compute);
    assert(padded <= GOPS_EPILOGUE_CHANNELS);
    const int64_t given = job->bias != NULL ? count : 0;
    for (int64_t i = 0; i < given; i++) {
        type->load((unsigned char *)bias + i * bytes,
                   (const unsigned char *)job->bias + (channel + i * step) * size, 1);
    }
    memset((unsigned char *)bias + given * bytes, 0, (size_t)((padded - given) * bytes));
}

void gops_epilogue_bias_rows(const gops_plan *plan, const gops_job *job, int64_t channel,
                             int64_t repeat, int64_t first, int64_t count, int64_t padded,
                             gops_epilogue_values *bias)
{
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    int64_t offset = first / repeat, rows = repeat - first % repeat;
    assert(padded <= GOPS_EPILOGUE_CHANNELS);
    for (int64_t i = 0; i < padded; i += rows, rows = repeat, offset++) {
        gops_epilogue_values one;
        rows = i + rows < count ? rows : padded - i; /* padding repeats the last bias */
        gops_epilogue_bias(plan, job, channel + offset, 1, 1, 1, &one);
        for (int64_t j = i; j < i + rows; j++) {
            memcpy((unsigned char *)bias + j * bytes, &one, (size_t)bytes);
        }
    }
}
