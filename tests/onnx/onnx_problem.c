/* onnx_problem.c: turns a case into descriptors, attributes and operands, and refuses what the
 * library does not do. */
#include "onnx_problem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elements.h"
#include "guarded_memory.h"

/* Which inputs of its operator hold what; -1 for none. */
typedef struct operand_places {
    int data, data_zero_point, weights, weights_zero_point, bias;
} operand_places;

static const operand_places places[GOPS_ONNX_KINDS] = {
    [GOPS_ONNX_CONV] = {0, -1, 1, -1, 2},
    [GOPS_ONNX_CONV_TRANSPOSE] = {0, -1, 1, -1, 2},
    [GOPS_ONNX_CONV_INTEGER] = {0, 2, 1, 3, -1},
    [GOPS_ONNX_QLINEAR_CONV] = {0, 2, 3, 5, 8},
};

static const gops_onnx_array *input(const gops_onnx_case *source, int place)
{
    if (place < 0 || source->inputs[place].values == NULL)
        return NULL;
    return &source->inputs[place];
}

static bool is_quantized(gops_onnx_kind kind)
{
    return kind == GOPS_ONNX_CONV_INTEGER || kind == GOPS_ONNX_QLINEAR_CONV;
}

static void *copy(const gops_onnx_array *array)
{
    size_t bytes = array->count * gops_test_type_bytes(array->tensor.type);
    void *values = gops_test_allocate(bytes);
    memcpy(values, array->values, bytes);
    return values;
}

/* The array in i32, less its zero point: one for all, or one for each index of the first axis. */
static void *widen(const gops_onnx_array *array, const gops_onnx_array *zero_point)
{
    int32_t *values = gops_test_allocate(array->count * sizeof *values);
    size_t of_each = zero_point == NULL ? 1 : array->count / zero_point->count;
    for (size_t i = 0; i < array->count; i++) {
        uint64_t value = gops_test_get_integer(array->tensor.type, array->values, (int64_t)i);
        if (zero_point != NULL)
            value -= gops_test_get_integer(zero_point->tensor.type, zero_point->values,
                                           (int64_t)(i / of_each));
        gops_test_set_integer(GOPS_I32, values, (int64_t)i, value);
    }
    return values;
}

static bool zero_point_fits(const gops_onnx_array *array, const gops_onnx_array *zero_point,
                            size_t most)
{
    return zero_point == NULL || (zero_point->tensor.type == array->tensor.type &&
                                  (zero_point->count == 1 || zero_point->count == most));
}

static bool prepare_values(gops_onnx_problem *problem, char *why)
{
    const gops_onnx_case *source = problem->source;
    const operand_places *place = &places[source->kind];
    const gops_onnx_array *data = input(source, place->data);
    const gops_onnx_array *weights = input(source, place->weights);
    const gops_onnx_array *data_zero = input(source, place->data_zero_point);
    const gops_onnx_array *weights_zero = input(source, place->weights_zero_point);
    if (!is_quantized(source->kind)) {
        problem->data_values = copy(data);
        problem->filter_values = copy(weights);
        return true;
    }
    if (gops_test_type_is_real(data->tensor.type) || gops_test_type_is_real(weights->tensor.type) ||
        !zero_point_fits(data, data_zero, 1) ||
        !zero_point_fits(weights, weights_zero, (size_t)weights->tensor.dims[0])) {
        snprintf(why, GOPS_ONNX_WHY, "the zero points do not fit data and weights");
        return false;
    }
    problem->data_values = widen(data, data_zero);
    problem->filter_values = widen(weights, weights_zero);
    problem->data.type = problem->filter.type = GOPS_I32;
    return true;
}

static bool compute_exact(gops_onnx_problem *problem, char *why)
{
    const gops_onnx_array *output = &problem->source->output;
    bool transposed = problem->source->kind == GOPS_ONNX_CONV_TRANSPOSE;
    gops_reference_geometry geometry;
    int legal = transposed ? gops_reference_deconv_geometry(&problem->data, &problem->filter,
                                                            &problem->deconv, &geometry)
                           : gops_reference_conv_geometry(&problem->data, &problem->filter,
                                                          &problem->conv, &geometry);
    if (!legal || !gops_test_same_dims(&geometry.output, &output->tensor)) {
        snprintf(why, GOPS_ONNX_WHY, "the reference finds another output shape than the published");
        return false;
    }
    (transposed ? gops_reference_deconv : gops_reference_conv)(
        &geometry, problem->data.type, problem->data_values, problem->filter.type,
        problem->filter_values, NULL, &problem->exact);
    return true;
}

static bool has_empty_axis(const gops_tensor *tensor)
{
    for (int32_t axis = 0; axis < tensor->rank; axis++) {
        if (tensor->dims[axis] == 0)
            return true;
    }
    return false;
}

/* The types are those that ONNX's pages allow; integers are exact only as they have them. */
static const char *wrong_type(const gops_onnx_case *source, const gops_onnx_array *data,
                              const gops_onnx_array *weights)
{
    gops_type type = source->output.tensor.type;
    if (!is_quantized(source->kind))
        return gops_test_type_is_real(type) && data->tensor.type == type &&
                       weights->tensor.type == type
                   ? NULL
                   : "data, weights and output are not of one floating point type";
    if (source->kind == GOPS_ONNX_CONV_INTEGER)
        return type == GOPS_I32 ? NULL : "the output is not i32";
    return type == GOPS_U8 || type == GOPS_I8 ? NULL : "the output is neither u8 nor i8";
}

static bool is_scale(const gops_onnx_array *scale, size_t most)
{
    return scale->values != NULL && gops_test_type_is_real(scale->tensor.type) &&
           (scale->count == 1 || scale->count == most);
}

/* What QLinearConv has besides: x_scale, w_scale, y_scale, y_zero_point. */
static const char *wrong_scale(const gops_onnx_case *source)
{
    const gops_onnx_array *inputs = source->inputs;
    if (source->kind != GOPS_ONNX_QLINEAR_CONV)
        return NULL;
    bool good = is_scale(&inputs[1], 1) && is_scale(&inputs[4], (size_t)inputs[3].tensor.dims[0]) &&
                is_scale(&inputs[6], 1) && inputs[7].values != NULL && inputs[7].count == 1 &&
                inputs[7].tensor.type == source->output.tensor.type;
    return good ? NULL : "the scales do not fit";
}

static bool check_operands(const gops_onnx_problem *problem, const gops_onnx_array *data,
                           const gops_onnx_array *weights, char *why)
{
    const gops_tensor *output = &problem->source->output.tensor;
    const gops_onnx_array *bias = problem->bias;
    const char *wrong = NULL;
    if (data == NULL || weights == NULL)
        wrong = "data or weights are missing";
    else if (data->tensor.rank < 3 || weights->tensor.rank != data->tensor.rank ||
             output->rank != data->tensor.rank)
        wrong = "data, weights and output differ in rank, or have no spatial axis";
    else if (has_empty_axis(&data->tensor) || has_empty_axis(&weights->tensor) ||
             has_empty_axis(output))
        wrong = "data, weights or output have an empty axis";
    else if (bias != NULL && (bias->tensor.rank != 1 || bias->tensor.dims[0] != output->dims[1]))
        wrong = "the bias is not one number for each channel of the output";
    else if ((wrong = wrong_type(problem->source, data, weights)) == NULL)
        wrong = wrong_scale(problem->source);
    if (wrong != NULL)
        snprintf(why, GOPS_ONNX_WHY, "%s", wrong);
    return wrong == NULL;
}

bool gops_onnx_problem_create(const gops_onnx_case *source, gops_onnx_problem *problem,
                              char why[GOPS_ONNX_WHY])
{
    const gops_onnx_array *data = input(source, places[source->kind].data);
    const gops_onnx_array *weights = input(source, places[source->kind].weights);
    *problem =
        (gops_onnx_problem){.source = source, .bias = input(source, places[source->kind].bias)};
    if (!check_operands(problem, data, weights, why))
        return false;
    problem->data = data->tensor;
    bool mapped = source->kind == GOPS_ONNX_CONV_TRANSPOSE
                      ? gops_onnx_deconv_attributes(&source->node, &weights->tensor,
                                                    &problem->deconv, &problem->filter, why)
                      : gops_onnx_conv_attributes(&source->node, &weights->tensor, &problem->conv,
                                                  &problem->filter, why);
    return mapped && prepare_values(problem, why) && compute_exact(problem, why);
}

void gops_onnx_problem_free(gops_onnx_problem *problem)
{
    free(problem->data_values);
    free(problem->filter_values);
    gops_reference_result_destroy(&problem->exact);
}
