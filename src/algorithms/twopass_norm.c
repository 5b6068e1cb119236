/*
 * algorithms/twopass_norm.c: GroupNormalization, one work item per image and group.
 *
 * A group of channels is one contiguous run of the tensor. kernels/norm.inc.h finds its mean and
 * variance in two passes and then writes
 *
 *     output = (data - mean) * (scale / sqrt(variance + epsilon)) + bias
 *
 * channel by channel. Each element is read before it is written, and by the item that writes it, so
 * the output may be the data.
 */
#include "algorithms/methods.h"

#include <math.h>
#include <stdio.h>

static gops_status prepare(gops_plan *plan, int64_t slot_limit, gops_error *error)
{
    (void)slot_limit;
    (void)error;
    const gops_norm_geometry *norm = &plan->norm;
    plan->items = norm->batch * norm->groups;
    plan->slot_bytes = 0;
    plan->filter_bytes = 0;
    snprintf(plan->why, sizeof plan->why,
             "mean, then variance about it, in f64, of %lld groups of %lld elements",
             (long long)plan->items, (long long)(norm->channels * norm->pixels));
    return GOPS_OK;
}

static void run(const gops_plan *plan, const gops_job *job, int64_t item, void *workspace)
{
    (void)workspace;
    const gops_norm_geometry *norm = &plan->norm;
    const gops_type_row *type = plan->type;
    const int64_t size = (int64_t)gops_type_bytes(type->type);
    const int64_t start = item * norm->channels * norm->pixels * size;
    const unsigned char *data = (const unsigned char *)job->data + start;
    unsigned char *output = (unsigned char *)job->output + start;
    const int64_t first = item % norm->groups * norm->channels;
    const gops_moments moments = type->norm_statistics(data, norm->channels * norm->pixels);
    const double inverse = 1 / sqrt(moments.variance + norm->epsilon);
    for (int64_t c = 0; c < norm->channels; c++) {
        const double factor = type->value(job->scale, first + c) * inverse;
        const double bias = type->value(job->bias, first + c);
        const int64_t offset = c * norm->pixels * size;
        type->norm_apply(output + offset, data + offset, norm->pixels, &moments, factor, bias);
    }
}

const gops_method gops_twopass_norm = {"twopass", GOPS_OPERATION_NORM, prepare, NULL, run};
