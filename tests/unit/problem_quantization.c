/* problem_quantization.c: fills in scales and zero points, for the library and for the reference. */
#include "problem_quantization.h"

#include <stdlib.h>
#include <string.h>

#include "elements.h"
#include "reference_quantized.h"

static int is_8_bit(gops_type type)
{
    return type == GOPS_I8 || type == GOPS_U8;
}

int gops_problem_is_quantized(const gops_problem *problem)
{
    return problem->operation != GOPS_PROBLEM_NORM && problem->output_type != 0 &&
           is_8_bit(problem->data.type) && is_8_bit(problem->filter.type);
}

gops_tensor gops_problem_bias(const gops_problem *problem, const gops_tensor *output)
{
    return GOPS_TEST_TENSOR(gops_problem_is_quantized(problem) ? GOPS_I32 : output->type,
                            output->dims[1]);
}

gops_tensor gops_problem_residual(const gops_problem *problem, const gops_tensor *output)
{
    gops_tensor residual = *output;
    if (problem->residual_type != 0)
        residual.type = problem->residual_type;
    return residual;
}

int gops_problem_fits_in_place(const gops_problem *problem)
{
    const gops_type output = problem->output_type != 0 ? problem->output_type : problem->data.type;
    return problem->residual_type == 0 ||
           gops_test_type_bytes(problem->residual_type) == gops_test_type_bytes(output);
}

size_t gops_problem_zero_point_bytes(const gops_problem *problem)
{
    return (size_t)problem->filter_zero_point_count * gops_test_type_bytes(problem->filter.type);
}

void gops_problem_set_zero_points(const gops_problem *problem, void *zero_points)
{
    for (int64_t i = 0; i < problem->filter_zero_point_count; i++)
        gops_test_set_integer(problem->filter.type, zero_points, i,
                              (uint64_t)problem->filter_zero_points[i]);
}

const gops_quantization *gops_problem_quantization(const gops_problem *problem,
                                                   const void *zero_points,
                                                   gops_quantization *quantization)
{
    const int64_t count = problem->filter_zero_point_count;
    if (!gops_problem_is_quantized(problem) || (problem->quantization.size == 0 && count == 0))
        return NULL;
    *quantization = problem->quantization;
    quantization->size = sizeof *quantization;
    quantization->filter_zero_points = count > 0 ? zero_points : NULL;
    quantization->filter_zero_points_count = count;
    return quantization;
}

static int64_t output_channels(const gops_problem *problem)
{
    const int deconv = problem->operation == GOPS_PROBLEM_DECONV;
    return problem->filter.dims[0] * problem->filter.dims[deconv ? 2 : 1];
}

const gops_quantization *gops_problem_quantization_of(const gops_problem *problem,
                                                      const void *zero_points, int64_t first,
                                                      int64_t count,
                                                      gops_quantization *quantization)
{
    const int64_t channels = output_channels(problem);
    if (gops_problem_quantization(problem, zero_points, quantization) == NULL)
        return NULL;
    /* Lists with one element are for all channels. */
    if (quantization->filter_scales_count == channels && channels > 1) {
        quantization->filter_scales = (const float *)quantization->filter_scales + first;
        quantization->filter_scales_count = count;
    }
    if (quantization->filter_zero_points_count == channels && channels > 1) {
        quantization->filter_zero_points = (const char *)zero_points + first;
        quantization->filter_zero_points_count = count;
    }
    return quantization;
}

/* First with other weights and, where it has one, without the quantization. */
static gops_status pack_twice(const gops_problem *problem, const gops_plan *plan,
                              const void *weights, const gops_quantization *quantization,
                              gops_packed_filter **filter, gops_error *error)
{
    const size_t bytes =
        (size_t)gops_test_elements(&problem->filter) * gops_test_type_bytes(problem->filter.type);
    void *others = gops_test_allocate(bytes);
    memset(others, 0x35, bytes);
    gops_status status = gops_filter_create(plan, others, NULL, filter, error);
    if (status == GOPS_OK)
        status = gops_filter_update(plan, *filter, weights, quantization, error);
    free(others);
    return status;
}

gops_status gops_problem_pack(const gops_problem *problem, const gops_plan *plan,
                              const void *weights, gops_packed_filter **filter, gops_error *error)
{
    gops_quantization own;
    void *zeros = gops_test_allocate(gops_problem_zero_point_bytes(problem));
    gops_problem_set_zero_points(problem, zeros);
    const gops_quantization *quantization = gops_problem_quantization(problem, zeros, &own);
    const gops_status status = problem->update
                                   ? pack_twice(problem, plan, weights, quantization, filter, error)
                                   : gops_filter_create(plan, weights, quantization, filter, error);
    free(zeros);
    return status;
}

static float or_one(float scale)
{
    return scale == 0 ? 1 : scale;
}

/* Element `channel` of a list of 0, 1 or one for each channel; `none` of an empty one. */
#define AT(list, count, channel, none)                                                             \
    ((count) == 0 ? (none) : (list)[(count) == 1 ? 0 : (channel)])

void gops_problem_quantized_reference(const gops_problem *problem,
                                      const gops_reference_geometry *geometry,
                                      const gops_problem_buffers *buffers,
                                      gops_reference_result *result)
{
    const gops_problem *p = problem;
    const gops_quantization *q = &p->quantization;
    const gops_tensor residual = gops_problem_residual(p, &geometry->output);
    const int64_t channels = output_channels(p);
    int64_t *zeros = gops_test_allocate((size_t)channels * sizeof *zeros);
    const float *given = q->filter_scales;
    float *scales = gops_test_allocate((size_t)channels * sizeof *scales);
    for (int64_t i = 0; i < channels; i++) {
        zeros[i] = AT(p->filter_zero_points, p->filter_zero_point_count, i, 0);
        scales[i] = AT(given, q->filter_scales_count, i, 1.0F);
    }
    const gops_reference_quantization all = {
        .zero_points = {p->data_zero_point != NULL ? *p->data_zero_point : q->data_zero_point,
                        zeros},
        .data_scale = or_one(q->data_scale),
        .filter_scales = scales,
        .output_scale = or_one(q->output_scale),
        .output_zero_point = q->output_zero_point,
        .residual_type = residual.type,
        .residual_scale = or_one(q->residual_scale),
        .residual_zero_point = q->residual_zero_point,
        .sum_scale = q->sum_scale,
        .sum_zero_point = q->sum_zero_point,
        .residual_first = q->residual_first,
        .divides = q->divides,
    };
    gops_reference_geometry sums = *geometry;
    sums.output.type = GOPS_I32;
    (p->operation == GOPS_PROBLEM_CONV ? gops_reference_conv : gops_reference_deconv)(
        &sums, p->data.type, buffers->data.memory, p->filter.type, buffers->weights.memory,
        &all.zero_points, result);
    gops_reference_quantize(result, geometry->output.type, &all, buffers->bias.memory,
                            buffers->residual.memory, &p->activation);
    free(zeros);
    free(scales);
}
