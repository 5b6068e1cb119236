/* problem.c: plans and runs a problem, by the library and by the reference. */
#include "problem.h"

#include <math.h>
#include <string.h>

#include "problem_quantization.h"
#include "problem_view.h"
#include "winograd_bound.h"
#include "compare.h"
#include "elements.h"
#include "harness.h"
#include "planes.h"

gops_problem gops_problem_of_norm(gops_type type, int64_t batch, int64_t channels, int64_t pixels,
                                  int64_t groups, double epsilon)
{
    return (gops_problem){.operation = GOPS_PROBLEM_NORM,
                          .data = GOPS_TEST_TENSOR(type, batch, channels, pixels),
                          .norm = {groups, epsilon}};
}

gops_tensor gops_problem_coefficients(const gops_problem *problem)
{
    return GOPS_TEST_TENSOR(problem->data.type, problem->data.dims[1]);
}

gops_status gops_problem_shape(const gops_problem *problem, gops_shape *shape, gops_error *error)
{
    gops_tensor c = gops_problem_coefficients(problem);
    switch (problem->operation) {
    case GOPS_PROBLEM_CONV:
        return gops_conv_shape(&problem->data, &problem->filter, &problem->conv, shape, error);
    case GOPS_PROBLEM_DECONV:
        return gops_deconv_shape(&problem->data, &problem->filter, &problem->deconv, shape, error);
    default:
        return gops_norm_shape(&problem->data, &c, &c, &problem->norm, shape, error);
    }
}

/* The output's, as gops_options takes it. */
static int64_t output_channel_stride(const gops_problem *problem)
{
    gops_reference_geometry geometry;
    gops_tensor output;
    return problem->output_channel_gap > 0 &&
                   gops_problem_reference_shape(problem, &geometry, &output)
               ? gops_test_channel_stride(&output, problem->output_channel_gap)
               : 0;
}

gops_options gops_problem_options(const gops_problem *problem)
{
    return (gops_options){
        .size = sizeof(gops_options),
        .algorithm = problem->algorithm,
        .choices = problem->choices,
        .threads = problem->threads,
        .max_workspace = problem->max_workspace,
        .divisible = problem->divisible,
        .host = problem->host,
        .output_type = problem->output_type,
        .saturate = problem->saturate,
        .accuracy = problem->accuracy,
        .residual_type = problem->residual_type,
        .activation = problem->activation,
        .residual_after_activation = problem->residual_after,
        .data_channel_stride = gops_test_channel_stride(&problem->data, problem->data_channel_gap),
        .output_channel_stride = output_channel_stride(problem),
    };
}

/* Of one of their tensors. */
static void share_stride(const gops_tensor *one, const gops_tensor *other, int64_t *one_gap,
                         int64_t *other_gap)
{
    enum { MOST = 1 << 12 };
    const int64_t first = gops_test_channel_stride(one, *one_gap);
    const int64_t second = gops_test_channel_stride(other, *other_gap);
    const int64_t stride = first > second ? first : second;
    if (*one_gap == 0 || *other_gap == 0 || stride > MOST) {
        *one_gap = *other_gap = 0;
        return;
    }
    *one_gap += stride - first;
    *other_gap += stride - second;
}

void gops_problem_share_strides(gops_problem *one, gops_problem *other)
{
    gops_reference_geometry g;
    gops_tensor output, other_output;
    share_stride(&one->data, &other->data, &one->data_channel_gap, &other->data_channel_gap);
    if (gops_problem_reference_shape(one, &g, &output) &&
        gops_problem_reference_shape(other, &g, &other_output))
        share_stride(&output, &other_output, &one->output_channel_gap, &other->output_channel_gap);
    else
        one->output_channel_gap = other->output_channel_gap = 0;
}

gops_status gops_problem_plan_with(const gops_problem *problem, const gops_options *options,
                                   gops_plan **plan, gops_error *error)
{
    const gops_tensor c = gops_problem_coefficients(problem);
    switch (problem->operation) {
    case GOPS_PROBLEM_CONV:
        return gops_conv_plan_create(&problem->data, &problem->filter, &problem->conv, options,
                                     plan, error);
    case GOPS_PROBLEM_DECONV:
        return gops_deconv_plan_create(&problem->data, &problem->filter, &problem->deconv, options,
                                       plan, error);
    default:
        return gops_norm_plan_create(&problem->data, &c, &c, &problem->norm, options, plan, error);
    }
}

gops_status gops_problem_plan(const gops_problem *problem, gops_plan **plan, gops_error *error)
{
    const gops_options options = gops_problem_options(problem);
    return gops_problem_plan_with(problem, &options, plan, error);
}

int gops_problem_reference_shape(const gops_problem *problem, gops_reference_geometry *geometry,
                                 gops_tensor *output)
{
    int legal = 1;
    if (problem->operation == GOPS_PROBLEM_NORM) {
        *output = problem->data;
        return 1;
    }
    if (problem->operation == GOPS_PROBLEM_CONV)
        legal = gops_reference_conv_geometry(&problem->data, &problem->filter, &problem->conv,
                                             geometry);
    else
        legal = gops_reference_deconv_geometry(&problem->data, &problem->filter, &problem->deconv,
                                               geometry);
    if (problem->output_type != 0)
        geometry->output.type = problem->output_type;
    *output = geometry->output;
    return legal;
}

static gops_test_guarded random_buffer(const gops_tensor *tensor, gops_test_random *random)
{
    int64_t count = gops_test_elements(tensor);
    gops_test_guarded buffer =
        gops_test_guarded_create((size_t)count * gops_test_type_bytes(tensor->type));
    if (random != NULL)
        gops_test_random_fill(random, tensor->type, buffer.memory, count);
    return buffer;
}

static gops_test_guarded buffer_of_mean(const gops_tensor *tensor, long double mean,
                                        long double spread, gops_test_random *random)
{
    gops_test_guarded buffer = random_buffer(tensor, NULL);
    for (int64_t i = 0; i < gops_test_elements(tensor); i++)
        gops_test_set_real(tensor->type, buffer.memory, i,
                           mean + spread * (long double)gops_test_random_real(random));
    return buffer;
}

/* A mean beside the spread: none, a large one, and one that f8e4m3 does not reach. */
static long double random_mean(const gops_problem *problem, gops_test_random *random)
{
    static const long double means[] = {0, 100, 1e4};
    int most = problem->data.type == GOPS_F8E4M3 ? 1 : 2;
    return means[gops_test_random_range(random, 0, most)];
}

gops_problem_buffers gops_problem_buffers_of_mean(const gops_problem *problem, long double mean,
                                                  long double spread, gops_test_random *random)
{
    const gops_tensor c = gops_problem_coefficients(problem);
    gops_problem_buffers buffers = {.data = buffer_of_mean(&problem->data, mean, spread, random)};
    buffers.scale = random_buffer(&c, random);
    buffers.bias = random_buffer(&c, random);
    buffers.output = random_buffer(&problem->data, NULL);
    return buffers;
}

gops_problem_buffers gops_problem_buffers_create(const gops_problem *problem,
                                                 const gops_tensor *output,
                                                 gops_test_random *random)
{
    gops_problem_buffers buffers = {.data.memory = NULL};
    if (problem->operation == GOPS_PROBLEM_NORM) {
        const long double mean = random_mean(problem, random);
        buffers = gops_problem_buffers_of_mean(problem, mean, 1, random);
    } else {
        buffers.data = random_buffer(&problem->data, random);
        buffers.weights = random_buffer(&problem->filter, random);
        buffers.output = random_buffer(output, NULL);
    }
    if (problem->operation != GOPS_PROBLEM_NORM && problem->with_bias) {
        gops_tensor c = gops_problem_bias(problem, output);
        buffers.bias = random_buffer(&c, random);
    }
    if (problem->activation.kind == GOPS_ACTIVATION_PRELU) {
        const gops_tensor c = GOPS_TEST_TENSOR(output->type, output->dims[1]);
        buffers.slopes = random_buffer(&c, random);
    }
    if (problem->with_residual) {
        gops_tensor residual = gops_problem_residual(problem, output);
        buffers.residual = random_buffer(&residual, random);
    }
    return buffers;
}

void gops_problem_buffers_destroy(gops_problem_buffers *buffers)
{
    gops_test_guarded *all[] = {&buffers->data,  &buffers->weights,  &buffers->scale,
                                &buffers->bias,  &buffers->residual, &buffers->slopes,
                                &buffers->output};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i]->mapping != NULL)
            gops_test_guarded_destroy(all[i]);
}

/* Sums may grow on a residual that is in their place: it is one of their terms, each addition may
 * round it, and one more rounds the others. */
static void count_residual_as_term(const gops_reference_geometry *g, const void *residual,
                                   gops_reference_result *result)
{
    const gops_type type = result->tensor.type;
    long double terms = (long double)g->c_in;
    for (int32_t i = 0; i < g->spatial; i++)
        terms *= (long double)g->kernel[i];
    for (int64_t i = 0; i < gops_test_elements(&result->tensor); i++)
        result->error[i] +=
            result->once[i] + terms * gops_test_unit_roundoff(type == GOPS_F64 ? type : GOPS_F32) *
                                  fabsl(gops_test_get_real(type, residual, i));
}

/* The largest finite magnitude. */
static long double largest(gops_type type, const void *values, int64_t count)
{
    long double most = 0;
    for (int64_t i = 0; i < count; i++) {
        const long double x = fabsl(gops_test_get_real(type, values, i));
        if (isfinite(x) && x > most)
            most = x;
    }
    return most;
}

/* What accuracy=relaxed may err by: the bound of groupops/plan.h, with K times the largest value in
 * place of the sum of the values. */
static void allow_relaxed(const gops_problem *problem, const gops_problem_buffers *buffers,
                          const gops_reference_geometry *g, gops_reference_result *result)
{
    long double k = (long double)g->c_in;
    for (int32_t i = 0; i < g->spatial; i++)
        k *= (long double)g->kernel[i];
    const long double x =
        largest(problem->data.type, buffers->data.memory, gops_test_elements(&problem->data));
    const long double w = largest(problem->filter.type, buffers->weights.memory,
                                  gops_test_elements(&problem->filter));
    for (int64_t i = 0; i < gops_test_elements(&result->tensor); i++) {
        const long double all = /* once: 2^-24 of the sum of the products */
            2 * (k + 32) * result->once[i] + 0x1p-124L * k * (1 + x + w);
        const long double more = fmaxl(all - result->error[i], 0);
        result->error[i] += more;
        result->bound[i] += more * (1 + gops_test_unit_roundoff(problem->data.type));
    }
}

void gops_problem_reference(const gops_problem *problem, const gops_problem_buffers *buffers,
                            gops_reference_result *result)
{
    gops_reference_geometry geometry;
    gops_tensor output;
    gops_type type = problem->data.type, filter = problem->filter.type;
    const void *data = buffers->data.memory, *weights = buffers->weights.memory;
    gops_problem_reference_shape(problem, &geometry, &output);
    if (gops_problem_is_quantized(problem)) {
        gops_problem_quantized_reference(problem, &geometry, buffers, result);
        return;
    }
    if (problem->operation == GOPS_PROBLEM_CONV)
        gops_reference_conv(&geometry, type, data, filter, weights, NULL, result);
    else if (problem->operation == GOPS_PROBLEM_DECONV)
        gops_reference_deconv(&geometry, type, data, filter, weights, NULL, result);
    else
        gops_reference_norm(&problem->data, buffers->data.memory, buffers->scale.memory,
                            buffers->bias.memory, &problem->norm, result);
    if (problem->accuracy == GOPS_ACCURACY_RELAXED && type == GOPS_BF16 &&
        problem->operation != GOPS_PROBLEM_NORM)
        allow_relaxed(problem, buffers, &geometry, result);
    if (problem->accuracy == GOPS_ACCURACY_RELAXED && gops_test_winograd_serves(problem, &geometry))
        for (int m = 2; m <= 4; m += 2) /* of any algorithm, of which some may be by either form */
            gops_test_allow_winograd(problem, buffers, &geometry, m, result);
    if (problem->residual_in_place && problem->operation != GOPS_PROBLEM_NORM &&
        !(problem->residual_after && problem->activation.kind != GOPS_ACTIVATION_NONE) &&
        gops_test_type_is_real(type))
        count_residual_as_term(&geometry, buffers->residual.memory, result);
    const gops_reference_operands operands = {
        .bias = problem->operation != GOPS_PROBLEM_NORM ? buffers->bias.memory : NULL,
        .residual = buffers->residual.memory,
        .slopes = buffers->slopes.memory,
        .residual_after = problem->residual_after,
    };
    gops_reference_fuse(result, &operands, &problem->activation);
}

gops_status gops_problem_execute(const gops_problem *problem, const gops_plan *plan,
                                 const gops_problem_buffers *buffers,
                                 const gops_test_guarded *workspace, size_t workspace_bytes,
                                 gops_error *error)
{
    gops_packed_filter *filter = NULL;
    gops_arguments arguments = {.size = sizeof arguments};
    uint64_t zero_point;
    if (problem->operation != GOPS_PROBLEM_NORM) {
        const gops_plan *packer = problem->packer != NULL ? problem->packer : plan;
        gops_status status =
            gops_problem_pack(problem, packer, buffers->weights.memory, &filter, error);
        if (status != GOPS_OK)
            return status;
    }
    if (problem->data_zero_point != NULL) {
        gops_test_set_integer(problem->data.type, &zero_point, 0,
                              (uint64_t)*problem->data_zero_point);
        arguments.data_zero_point = &zero_point;
    }
    arguments.data = buffers->data.memory;
    arguments.filter = filter;
    arguments.scale = buffers->scale.memory;
    arguments.bias = buffers->bias.memory;
    arguments.residual = buffers->residual.memory;
    arguments.slopes = buffers->slopes.memory;
    arguments.output = buffers->output.memory;
    if (workspace != NULL) {
        arguments.workspace = workspace->memory;
        arguments.workspace_bytes = workspace_bytes;
    }
    gops_problem_view view = gops_problem_view_enter(problem, buffers, &arguments);
    gops_status status = gops_execute(plan, &arguments, error);
    gops_problem_view_leave(problem, &view, buffers);
    gops_filter_destroy(filter);
    return status;
}

void gops_problem_clear_output(const gops_problem *problem, const gops_problem_buffers *buffers)
{
    gops_reference_geometry geometry;
    gops_tensor output;
    gops_problem_reference_shape(problem, &geometry, &output);
    memset(buffers->output.memory, 0xff,
           (size_t)gops_test_elements(&output) * gops_test_type_bytes(output.type));
}

gops_status gops_problem_run(const gops_problem *problem, const gops_problem_buffers *buffers,
                             gops_error *error)
{
    gops_plan *plan;
    gops_status status = gops_problem_plan(problem, &plan, error);
    if (status == GOPS_OK)
        status = gops_problem_execute(problem, plan, buffers, NULL, 0, error);
    gops_plan_destroy(plan);
    return status;
}

int gops_problem_compare(const gops_problem *problem, const gops_reference_result *result,
                         const void *output)
{
    gops_problem_text text;
    const char *what = gops_problem_describe(problem, &text);
    const gops_tensor *tensor = &result->tensor;
    if (!gops_test_type_is_real(tensor->type))
        return gops_test_compare_steps(what, tensor, output, result->integer, result->steps);
    if (result->exact)
        return gops_test_compare_exact(what, tensor, output, result->value);
    return gops_test_compare(what, tensor, output, result->value, result->bound);
}

int gops_problem_check(const gops_problem *problem, gops_test_random *random)
{
    gops_problem_text text;
    gops_test_text got, expected;
    gops_reference_geometry geometry;
    gops_tensor output;
    gops_shape shape = {.groups = 0};
    gops_error error = {GOPS_OK, ""};
    const char *what = gops_problem_describe(problem, &text);
    if (!gops_test_check(gops_problem_reference_shape(problem, &geometry, &output),
                         "%s: the reference refuses it", what))
        return 0;
    gops_status status = gops_problem_shape(problem, &shape, &error);
    if (problem->output_type != 0) { /* shape inference knows one type only */
        shape.output = output;
        status = GOPS_OK;
    }
    if (!gops_test_check(status == GOPS_OK, "%s: refused: %s", what, error.message) ||
        !gops_test_check(
            shape.output.type == output.type && gops_test_same_dims(&shape.output, &output),
            "%s: output %s, expected %s", what, gops_test_describe(&shape.output, &got),
            gops_test_describe(&output, &expected)))
        return 0;
    gops_problem_buffers buffers = gops_problem_buffers_create(problem, &output, random);
    gops_reference_result result;
    status = gops_problem_run(problem, &buffers, &error);
    int good = gops_test_check(status == GOPS_OK, "%s: %s", what, error.message);
    if (good) {
        gops_problem_reference(problem, &buffers, &result);
        good = gops_test_check(gops_problem_compare(problem, &result, buffers.output.memory),
                               "%s: wrong values", what);
        gops_reference_result_destroy(&result);
    }
    gops_problem_buffers_destroy(&buffers);
    return good;
}
