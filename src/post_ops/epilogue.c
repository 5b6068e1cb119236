/* epilogue.c: what of the fused steps the kernels do; epilogue.h. */
#include "post_ops/epilogue.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static void set(gops_epilogue_values *values, gops_compute compute, int i, double value)
{
    if (compute == GOPS_COMPUTE_F32) {
        values->f32[i] = (float)value;
    } else {
        values->f64[i] = value;
    }
}

gops_epilogue gops_epilogue_read(const gops_plan *plan, const gops_job *job,
                                 gops_epilogue_adds adds)
{
    const gops_activation *activation = &plan->activation;
    const gops_compute compute = plan->type->compute;
    const int clamps = activation->kind == GOPS_ACTIVATION_CLAMP;
    const int relu = activation->kind == GOPS_ACTIVATION_RELU;
    gops_epilogue trim;
    const int added = plan->output_type->plain &&
                      adds >= (gops_adds_in_place(job) ? GOPS_EPILOGUE_ADDS_ANYWHERE
                                                       : GOPS_EPILOGUE_ADDS_ELSEWHERE);
    trim.applies = job->fused && (job->residual == NULL || added) &&
                   plan->type->store_wrapped == NULL &&
                   (clamps || relu || activation->kind == GOPS_ACTIVATION_NONE);
    if (trim.applies) {
        set(&trim.bounds, compute, 0, clamps ? activation->alpha : relu ? 0 : -INFINITY);
        set(&trim.bounds, compute, 1, clamps ? activation->beta : INFINITY);
        trim.rest = *job;
        trim.rest.fused = 0;
        trim.rest.bias = NULL;
        trim.rest.residual = NULL;
    }
    return trim;
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
    const int wide = plan->type->compute == GOPS_COMPUTE_F64;
    int64_t of = first / repeat, run = repeat - first % repeat;
    assert(padded <= GOPS_EPILOGUE_CHANNELS);
    for (int64_t i = 0; i < padded; i += run, run = repeat, of++) {
        gops_epilogue_values one;
        run = i + run < count ? run : padded - i; /* what pads the last channel is as it is */
        gops_epilogue_bias(plan, job, channel + of, 1, 1, 1, &one);
        for (int64_t j = i; wide && j < i + run; j++) {
            bias->f64[j] = one.f64[0];
        }
        for (int64_t j = i; !wide && j < i + run; j++) {
            bias->f32[j] = one.f32[0];
        }
    }
}
