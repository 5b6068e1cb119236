/* peer_problem.c: the tensors of a layer and the result expected from them. */
#include "peer_problem.h"

#include "common/random_fill.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool refuse(gops_tool_error *error, const gops_error *refusal)
{
    return gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s", refusal->message);
}

float *gops_peer_floats(size_t count)
{
    void *memory;
    const size_t bytes = (count != 0 ? count : 1) * sizeof(float);
    return posix_memalign(&memory, GOPS_WORKSPACE_ALIGNMENT, bytes) == 0 ? memory : NULL;
}

static size_t elements(const gops_tensor *tensor)
{
    size_t count = 1;
    for (int32_t i = 0; i < tensor->rank; i++) {
        count *= (size_t)tensor->dims[i];
    }
    return count;
}

static gops_list ones_if_none(gops_list list, int spatial)
{
    if (list.count == 0) {
        list.count = spatial;
        for (int i = 0; i < spatial; i++) {
            list.values[i] = 1;
        }
    }
    return list;
}

/* The channels and lists of a convolution from its descriptors. */
static void describe_convolution(gops_peer_problem *problem, const gops_shape *shape)
{
    const gops_tensor *filter = &problem->inputs[1];
    const bool transposed = problem->operation->bit == GOPS_OF_DECONV;
    problem->groups = filter->dims[0];
    problem->c_in = filter->dims[transposed ? 1 : 2];
    problem->c_out = filter->dims[transposed ? 2 : 1];
    problem->strides = ones_if_none(problem->settings.strides, problem->spatial);
    problem->dilations = ones_if_none(problem->settings.dilations, problem->spatial);
    problem->pads_begin = shape->pads_begin;
    problem->pads_end = shape->pads_end;
    problem->kernel.count = problem->spatial;
    problem->output_padding.count = problem->spatial;
    problem->taps = 1;
    for (int i = 0; i < problem->spatial; i++) {
        const int64_t kernel = filter->dims[3 + i];
        problem->kernel.values[i] = kernel;
        problem->taps *= kernel;
        if (transposed) {
            const int64_t full = problem->strides.values[i] * (problem->inputs[0].dims[2 + i] - 1) +
                                 (kernel - 1) * problem->dilations.values[i] + 1;
            const int64_t missing = problem->output.dims[2 + i] + shape->pads_begin.values[i] +
                                    shape->pads_end.values[i] - full;
            problem->output_padding.values[i] = missing > 0 ? missing : 0;
        }
    }
}

static void describe(gops_peer_problem *problem, const gops_shape *shape)
{
    const gops_tensor *data = &problem->inputs[0];
    problem->output = shape->output;
    problem->data_elements = elements(data);
    problem->output_elements = elements(&problem->output);
    problem->spatial = data->rank - 2;
    problem->taps = 1;
    if (problem->operation->bit == GOPS_OF_NORM) {
        problem->groups = problem->settings.num_groups;
        problem->c_in = problem->c_out = data->dims[1] / problem->groups;
    } else {
        describe_convolution(problem, shape);
    }
    /* A normalization has no layout to gain from. */
    problem->depth = problem->operation->bit == GOPS_OF_NORM ? 1 : GOPS_CHAIN_DEPTH;
    for (int32_t i = 0; i < data->rank; i++) {
        if (data->dims[i] != problem->output.dims[i]) {
            problem->depth = 1;
        }
    }
}

/* Weights that give the output about the size of the data, so that a chain of layers neither grows
 * beyond the range of f32 nor fades into denormals. */
static void scale_filter(gops_peer_problem *problem)
{
    double terms = (double)(problem->c_in * problem->taps);
    if (problem->operation->bit == GOPS_OF_DECONV) {
        for (int i = 0; i < problem->spatial; i++) {
            terms /= (double)problem->strides.values[i];
        }
    }
    /* random_fill's 0.5 to 1 of either sign has a mean square of 7/12. */
    const float factor = (float)sqrt(12.0 / 7.0 / (terms > 1 ? terms : 1));
    const size_t count = elements(&problem->inputs[1]);
    for (size_t i = 0; i < count; i++) {
        problem->values[1][i] *= factor;
    }
}

static bool fill(gops_peer_problem *problem, gops_tool_error *error)
{
    for (int i = 0; i < problem->operation->inputs; i++) {
        const size_t count = elements(&problem->inputs[i]);
        problem->values[i] = gops_peer_floats(count);
        if (problem->values[i] == NULL) {
            return gops_tool_refuse(error, GOPS_EXIT_FAILED, "no memory for the tensors");
        }
        gops_random_fill(GOPS_F32, problem->values[i], count * sizeof(float), (uint64_t)i);
    }
    if (problem->operation->bit != GOPS_OF_NORM) {
        scale_filter(problem);
    }
    problem->expected = gops_peer_floats(problem->output_elements);
    problem->expected_chain = gops_peer_floats(problem->output_elements);
    if (problem->expected == NULL || problem->expected_chain == NULL) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "no memory for the tensors");
    }
    return true;
}

/* One layer after another, from the data through two buffers, which end in expected_chain. */
static bool compute(gops_peer_problem *problem, const gops_plan *plan,
                    const gops_packed_filter *filter, gops_tool_error *error)
{
    gops_error refusal;
    gops_arguments arguments = {
        .size = sizeof arguments,
        .data = problem->values[0],
        .filter = filter,
        .scale = problem->values[1],
        .bias = problem->values[2],
        .output = problem->expected,
    };
    const size_t bytes = problem->output_elements * sizeof(float);
    float *from = gops_peer_floats(problem->output_elements);
    if (from == NULL) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "no memory for the tensors");
    }
    bool done = gops_execute(plan, &arguments, &refusal) == GOPS_OK;
    if (done) {
        memcpy(problem->expected_chain, problem->expected, bytes);
    }
    for (int layer = 1; done && layer < problem->depth; layer++) {
        memcpy(from, problem->expected_chain, bytes);
        arguments.data = from;
        arguments.output = problem->expected_chain;
        done = gops_execute(plan, &arguments, &refusal) == GOPS_OK;
    }
    free(from);
    return done || refuse(error, &refusal);
}

static bool expect(gops_peer_problem *problem, gops_tool_error *error)
{
    gops_settings settings = problem->settings;
    const bool norm = problem->operation->bit == GOPS_OF_NORM;
    gops_plan *plan;
    gops_plan_info info;
    gops_packed_filter *filter = NULL;
    gops_error refusal;
    settings.algorithm = norm ? NULL : "gemm";
    settings.max_workspace = GOPS_UNLIMITED;
    if (!gops_operation_plan(problem->operation, &settings, problem->inputs, NULL, &plan, &info,
                             error)) {
        return false;
    }
    const bool done =
        norm || gops_filter_create(plan, problem->values[1], NULL, &filter, &refusal) == GOPS_OK;
    const bool computed = done ? compute(problem, plan, filter, error) : refuse(error, &refusal);
    gops_filter_destroy(filter);
    gops_plan_destroy(plan);
    return computed;
}

/* Of shapes alone, before anything is allocated. */
static bool infer(gops_peer_problem *problem, gops_shape *shape, gops_tool_error *error)
{
    gops_plan *plan;
    gops_plan_info info;
    gops_operation_tensors(problem->operation, &problem->settings, problem->inputs);
    if (problem->inputs[0].type != GOPS_F32) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "the peers are compared in f32 alone");
    }
    if (!gops_operation_plan(problem->operation, &problem->settings, problem->inputs, NULL, &plan,
                             &info, error)) {
        return false;
    }
    *shape = info.shape;
    problem->flops = info.flops;
    gops_plan_destroy(plan);
    return true;
}

bool gops_peer_problem_create(const gops_bench_layer *layer, int64_t batch, bool quantized,
                              gops_peer_problem *problem, gops_tool_error *error)
{
    gops_shape shape;
    *problem = (gops_peer_problem){
        .name = layer->name, .operation = layer->operation, .settings = layer->settings};
    problem->settings.algorithm = NULL;
    problem->settings.threads = problem->threads = 1;
    if (quantized) {
        problem->settings.type = (int)GOPS_F32;
        problem->settings.filter_type = problem->settings.output_type = 0;
    }
    if (batch != 0) {
        problem->settings.data.dims[0] = batch;
    }
    if (!infer(problem, &shape, error)) {
        return false;
    }
    describe(problem, &shape);
    if (!fill(problem, error) || !expect(problem, error) ||
        (quantized && !gops_peer_codes_create(problem, error))) {
        gops_peer_problem_destroy(problem);
        return false;
    }
    return true;
}

void gops_peer_problem_destroy(gops_peer_problem *problem)
{
    for (int i = 0; i < GOPS_TOOL_MAX_INPUTS; i++) {
        free(problem->values[i]);
        problem->values[i] = NULL;
    }
    free(problem->expected);
    free(problem->expected_chain);
    problem->expected = problem->expected_chain = NULL;
    gops_peer_codes_destroy(&problem->codes);
}

const char *gops_peer_problem_kind(const gops_peer_problem *problem)
{
    if (problem->operation->bit == GOPS_OF_NORM) {
        return "norm";
    }
    if (problem->operation->bit == GOPS_OF_DECONV) {
        return "transposed";
    }
    if (problem->groups == 1) {
        return problem->taps == 1 ? "pointwise" : "dense";
    }
    return problem->c_in == 1 ? "depthwise" : "grouped";
}

static bool compare_floats(const gops_peer_problem *problem, const float *got, int depth,
                           double *error)
{
    /* Rounding errors of a sum of `terms` products of random sign add up like a random walk, to
     * about sqrt(terms) / 2 units of the last place of the sum's own size; 8 times that is beyond
     * chance for any number of elements. Two results, hence the other factor of 2. */
    const double unit = 0x1p-24;
    const double terms =
        problem->operation->bit == GOPS_OF_NORM ? 256 : (double)(problem->c_in * problem->taps);
    const float *expected = depth == 1 ? problem->expected : problem->expected_chain;
    double square = 0;
    double worst = 0;
    for (size_t i = 0; i < problem->output_elements; i++) {
        const double difference = fabs((double)got[i] - (double)expected[i]);
        square += (double)expected[i] * (double)expected[i];
        worst = difference > worst || isnan(difference) ? difference : worst;
    }
    const double size = sqrt(square / (double)problem->output_elements);
    *error = worst / (16 * unit * (sqrt(terms) / 2 + 2) * size * depth);
    return *error <= 1;
}

bool gops_peer_problem_compare(const gops_peer_problem *problem, const void *got, int depth,
                               double *error)
{
    if (problem->codes.data != NULL) {
        return gops_peer_codes_compare(problem, got, depth, error);
    }
    return compare_floats(problem, got, depth, error);
}
