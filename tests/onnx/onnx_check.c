/* onnx_check.c: plans and runs a case by every algorithm, and compares it with the published
 * output. */
#include "onnx_check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <groupops/plan.h>

#include "compare.h"
#include "elements.h"
#include "harness.h"
#include "guarded_memory.h"

/* What was published, in a form that results can be compared with. */
typedef struct target {
    const gops_onnx_problem *problem;
    gops_tensor tensor;
    long double *value; /* floating point types: less the bias */
    long double *bound_published;
    long double *bound_result; /* of two results, each computed with rounding */
    uint64_t *integer;         /* integer types */
} target;

static int64_t terms(const gops_onnx_problem *problem)
{
    int64_t per_output = gops_test_elements(&problem->filter) / problem->filter.dims[0];
    bool transposed = problem->source->kind == GOPS_ONNX_CONV_TRANSPOSE;
    return per_output / problem->filter.dims[transposed ? 2 : 1];
}

static int64_t channel_of(const gops_tensor *output, int64_t index)
{
    int64_t image = gops_test_elements(output) / output->dims[0];
    return index % image / (image / output->dims[1]);
}

/*
 * The reference's bound holds for a sum of K products in any order. Whoever added a bias b had one
 * term more, which may have been the first and so have seen all K + 1 additions, and every
 * addition rounded a sum that had it in it: (K + 1) u (|b| + |sum|) more, in the published type.
 * ours - published is at most the sum of both errors.
 */
static void set_real_target(target *t)
{
    const gops_onnx_problem *problem = t->problem;
    const gops_onnx_array *published = &problem->source->output;
    int64_t count = gops_test_elements(&t->tensor);
    long double ku = (long double)(terms(problem) + 1) * gops_test_unit_roundoff(t->tensor.type);
    t->value = gops_test_allocate((size_t)count * sizeof *t->value);
    t->bound_published = gops_test_allocate((size_t)count * sizeof *t->bound_published);
    t->bound_result = gops_test_allocate((size_t)count * sizeof *t->bound_result);
    for (int64_t i = 0; i < count; i++) {
        long double bias = problem->bias == NULL ? 0
                                                 : gops_test_get_real(problem->bias->tensor.type,
                                                                      problem->bias->values,
                                                                      channel_of(&t->tensor, i));
        long double of_bias = bias == 0 ? 0 : ku * (fabsl(bias) + fabsl(problem->exact.value[i]));
        t->value[i] = gops_test_get_real(t->tensor.type, published->values, i) - bias;
        t->bound_published[i] = problem->exact.bound[i] + of_bias;
        t->bound_result[i] = t->bound_published[i] + problem->exact.bound[i];
    }
}

/* The number that a scalar, or element `index` of a vector, holds. */
static long double scale_at(const gops_onnx_array *scale, int64_t index)
{
    return gops_test_get_real(scale->tensor.type, scale->values, scale->count == 1 ? 0 : index);
}

/* QLinearConv's last step: y = saturate(round(sum * x_scale * w_scale / y_scale) + y_zero_point),
 * rounded half to even. */
static uint64_t requantize(const gops_onnx_problem *problem, int64_t index, int32_t sum)
{
    enum { X_SCALE = 1, W_SCALE = 4, Y_SCALE = 6, Y_ZERO_POINT = 7 };
    const gops_onnx_array *inputs = problem->source->inputs;
    const gops_tensor *output = &problem->source->output.tensor;
    int64_t channel = channel_of(output, index);
    bool is_signed = gops_test_type_is_signed(output->type);
    if (problem->bias != NULL)
        sum += (int32_t)gops_test_get_integer(GOPS_I32, problem->bias->values, channel);
    long double y = rintl((long double)sum * scale_at(&inputs[X_SCALE], 0) *
                          scale_at(&inputs[W_SCALE], channel) / scale_at(&inputs[Y_SCALE], 0));
    y += (long double)(int64_t)gops_test_get_integer(inputs[Y_ZERO_POINT].tensor.type,
                                                     inputs[Y_ZERO_POINT].values, 0);
    y = fminl(fmaxl(y, is_signed ? -128 : 0), is_signed ? 127 : 255);
    return (uint64_t)(int64_t)y;
}

static void set_integer_target(target *t)
{
    const gops_onnx_array *published = &t->problem->source->output;
    int64_t count = gops_test_elements(&t->tensor);
    t->integer = gops_test_allocate((size_t)count * sizeof *t->integer);
    for (int64_t i = 0; i < count; i++)
        t->integer[i] = gops_test_get_integer(published->tensor.type, published->values, i);
}

static target target_create(const gops_onnx_problem *problem)
{
    target t = {.problem = problem, .tensor = problem->source->output.tensor};
    if (gops_test_type_is_real(t.tensor.type))
        set_real_target(&t);
    else
        set_integer_target(&t);
    return t;
}

static void target_free(target *t)
{
    free(t->value);
    free(t->bound_published);
    free(t->bound_result);
    free(t->integer);
}

/* `output` has the published shape and the type of the problem's data. */
static int compare(const char *what, const target *t, const void *output)
{
    const gops_onnx_problem *problem = t->problem;
    if (gops_test_type_is_real(t->tensor.type))
        return gops_test_compare(what, &t->tensor, output, t->value, t->bound_result);
    if (problem->source->kind != GOPS_ONNX_QLINEAR_CONV)
        return gops_test_compare_integers(what, &t->tensor, output, t->integer);
    int64_t count = gops_test_elements(&t->tensor);
    void *quantized = gops_test_allocate((size_t)count * gops_test_type_bytes(t->tensor.type));
    for (int64_t i = 0; i < count; i++)
        gops_test_set_integer(t->tensor.type, quantized, i,
                              requantize(problem, i, ((const int32_t *)output)[i]));
    int equal = gops_test_compare_integers(what, &t->tensor, quantized, t->integer);
    free(quantized);
    return equal;
}

/* Before the library is asked: does the reference agree with what was published? */
static void check_reference(const target *t)
{
    const gops_onnx_problem *problem = t->problem;
    const char *name = problem->source->name;
    int64_t count = gops_test_elements(&t->tensor);
    int good;
    if (gops_test_type_is_real(t->tensor.type)) {
        good = 1;
        for (int64_t i = 0; i < count; i++)
            good &= fabsl(t->value[i] - problem->exact.value[i]) <= t->bound_published[i];
    } else {
        int32_t *sums = gops_test_allocate((size_t)count * sizeof *sums);
        for (int64_t i = 0; i < count; i++)
            gops_test_set_integer(GOPS_I32, sums, i, problem->exact.integer[i]);
        good = compare(name, t, sums);
        free(sums);
    }
    gops_test_check(good, "%s: the reference disagrees with the published output", name);
}

static gops_status create_plan(const gops_onnx_problem *problem, const gops_options *options,
                               gops_plan **plan, gops_error *error)
{
    if (problem->source->kind == GOPS_ONNX_CONV_TRANSPOSE)
        return gops_deconv_plan_create(&problem->data, &problem->filter, &problem->deconv, options,
                                       plan, error);
    return gops_conv_plan_create(&problem->data, &problem->filter, &problem->conv, options, plan,
                                 error);
}

static gops_status run(const gops_onnx_problem *problem, const gops_plan *plan, void *output,
                       gops_error *error)
{
    gops_packed_filter *filter;
    gops_status status = gops_filter_create(plan, problem->filter_values, NULL, &filter, error);
    if (status != GOPS_OK)
        return status;
    gops_arguments arguments = {
        .size = sizeof arguments, .data = problem->data_values, .filter = filter, .output = output};
    status = gops_execute(plan, &arguments, error);
    gops_filter_destroy(filter);
    return status;
}

static void check_plan(const target *t, const gops_plan *plan, const char *what)
{
    gops_error error = {GOPS_OK, ""};
    gops_plan_info info = {.size = sizeof info};
    gops_status status = gops_plan_get_info(plan, &info, &error);
    if (!gops_test_check(status == GOPS_OK, "%s: %s", what, error.message) ||
        !gops_test_check(gops_test_same_dims(&info.shape.output, &t->tensor),
                         "%s: the plan has another output shape than the published", what))
        return;
    size_t element = gops_test_type_bytes(info.shape.output.type);
    gops_test_guarded output =
        gops_test_guarded_create((size_t)gops_test_elements(&t->tensor) * element);
    status = run(t->problem, plan, output.memory, &error);
    if (gops_test_check(status == GOPS_OK, "%s: %s", what, error.message))
        gops_test_check(compare(what, t, output.memory), "%s", what);
    gops_test_guarded_destroy(&output);
}

/* Whether the algorithm takes the problem. */
static bool check_algorithm(const target *t, const char *algorithm, int32_t threads,
                            int64_t max_workspace)
{
    gops_options options = {.size = sizeof options,
                            .algorithm = algorithm,
                            .threads = threads,
                            .max_workspace = max_workspace};
    char what[GOPS_ONNX_WHY];
    snprintf(what, sizeof what, "%s by %s, %d threads, workspace %lld", t->problem->source->name,
             algorithm, (int)threads, (long long)max_workspace);
    gops_error error = {GOPS_OK, ""};
    gops_plan *plan;
    gops_status status = create_plan(t->problem, &options, &plan, &error);
    if (status == GOPS_UNSUPPORTED)
        return false;
    if (gops_test_check(status == GOPS_OK, "%s: %s", what, error.message))
        check_plan(t, plan, what);
    gops_plan_destroy(plan);
    return true;
}

/* The zero points of a quantized operator; count 0 where it has none. */
static const gops_onnx_array *zero_point(const gops_onnx_case *source, int place)
{
    static const gops_onnx_array none = {.values = NULL};
    return source->inputs[place].values != NULL ? &source->inputs[place] : &none;
}

static float scale_of(const gops_onnx_case *source, int place)
{
    return (float)gops_test_get_real(source->inputs[place].tensor.type,
                                     source->inputs[place].values, 0);
}

/* What the library takes at packing. The data's zero point goes with ConvInteger's arguments. */
static gops_quantization quantization_of(const gops_onnx_case *source)
{
    enum { X_SCALE = 1, X_ZERO_POINT, W, W_SCALE, W_ZERO_POINT, Y_SCALE, Y_ZERO_POINT };
    const bool linear = source->kind == GOPS_ONNX_QLINEAR_CONV;
    const gops_onnx_array *of_weights = zero_point(source, linear ? W_ZERO_POINT : W);
    gops_quantization q = GOPS_QUANTIZATION_INIT;
    q.filter_zero_points = of_weights->values;
    q.filter_zero_points_count = (int64_t)of_weights->count;
    if (linear) {
        const gops_onnx_array *x_zero = zero_point(source, X_ZERO_POINT);
        const gops_onnx_array *y_zero = zero_point(source, Y_ZERO_POINT);
        q.data_scale = scale_of(source, X_SCALE);
        q.data_zero_point =
            (int32_t)(int64_t)gops_test_get_integer(x_zero->tensor.type, x_zero->values, 0);
        q.filter_scales = source->inputs[W_SCALE].values;
        q.filter_scales_count = (int64_t)source->inputs[W_SCALE].count;
        q.output_scale = scale_of(source, Y_SCALE);
        q.output_zero_point =
            (int32_t)(int64_t)gops_test_get_integer(y_zero->tensor.type, y_zero->values, 0);
    }
    return q;
}

/* The call that the library has for such operators: all operands as they were published. */
static gops_status run_quantized(const gops_onnx_problem *problem, const gops_options *options,
                                 void *output, gops_error *error)
{
    const gops_onnx_case *source = problem->source;
    const bool linear = source->kind == GOPS_ONNX_QLINEAR_CONV;
    const gops_onnx_array *weights = &source->inputs[linear ? 3 : 1];
    const gops_quantization quantization = quantization_of(source);
    gops_tensor filter = problem->filter;
    gops_plan *plan;
    gops_packed_filter *packed = NULL;
    filter.type = weights->tensor.type;
    gops_status status = gops_conv_plan_create(&source->inputs[0].tensor, &filter, &problem->conv,
                                               options, &plan, error);
    if (status == GOPS_OK)
        status = gops_filter_create(plan, weights->values, &quantization, &packed, error);
    if (status == GOPS_OK) {
        const gops_arguments arguments = {
            .size = sizeof arguments,
            .data = source->inputs[0].values,
            .filter = packed,
            .bias = problem->bias != NULL ? problem->bias->values : NULL,
            .output = output,
            .data_zero_point = linear ? NULL : zero_point(source, 2)->values};
        status = gops_execute(plan, &arguments, error);
    }
    gops_filter_destroy(packed);
    gops_plan_destroy(plan);
    return status;
}

static void check_quantized(const target *t)
{
    static const int64_t budgets[] = {0, GOPS_UNLIMITED};
    const gops_type type = t->problem->source->output.tensor.type;
    int taken = 0;
    for (int32_t i = -1; i < 0 || gops_algorithm_name(i) != NULL; i++) {
        for (int b = 0; b < 2; b++) {
            const gops_options options = {.size = sizeof options,
                                          .algorithm = i < 0 ? NULL : gops_algorithm_name(i),
                                          .max_workspace = budgets[b],
                                          .output_type = type};
            gops_error error = {GOPS_OK, ""};
            char what[GOPS_ONNX_WHY];
            gops_test_guarded output = gops_test_guarded_create(
                (size_t)gops_test_elements(&t->tensor) * gops_test_type_bytes(type));
            gops_status status = run_quantized(t->problem, &options, output.memory, &error);
            snprintf(what, sizeof what, "%s quantized by %s: %.200s", t->problem->source->name,
                     i < 0 ? "auto" : options.algorithm, error.message);
            if (status != GOPS_UNSUPPORTED)
                taken += gops_test_check(
                    status == GOPS_OK &&
                        gops_test_compare_integers(what, &t->tensor, output.memory, t->integer),
                    "%s", what);
            gops_test_guarded_destroy(&output);
        }
    }
    gops_test_check(taken >= 4, "%s: auto and gemm must take it", t->problem->source->name);
}

void gops_onnx_check(const gops_onnx_problem *problem, gops_onnx_tally *tally)
{
    gops_onnx_kind kind = problem->source->kind;
    target t = target_create(problem);
    check_reference(&t);
    gops_test_check(check_algorithm(&t, "auto", 0, 0), "%s is refused", problem->source->name);
    if (kind == GOPS_ONNX_CONV_INTEGER || kind == GOPS_ONNX_QLINEAR_CONV)
        check_quantized(&t);
    const char *algorithm;
    for (int32_t i = 0; (algorithm = gops_algorithm_name(i)) != NULL; i++) {
        bool taken = check_algorithm(&t, algorithm, 1, 0);
        if (taken) {
            check_algorithm(&t, algorithm, 2, 0);
            check_algorithm(&t, algorithm, 3, GOPS_UNLIMITED);
        }
        if (i < GOPS_ONNX_ALGORITHMS)
            tally->by_algorithm[i] += taken;
    }
    tally->checked[kind]++;
    target_free(&t);
}
