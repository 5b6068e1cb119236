/* peer_codes.c: a layer in 8 bits, as it is deployed: u8 data and output, an i8 filter with a scale
 * for each output channel. */
#include "peer_problem.h"

#include "common/random_fill.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t elements(const gops_tensor *tensor)
{
    size_t count = 1;
    for (int32_t i = 0; i < tensor->rank; i++) {
        count *= (size_t)tensor->dims[i];
    }
    return count;
}

static void *bytes(size_t count)
{
    return gops_peer_floats(count / sizeof(float) + 1);
}

/* Scales with which a sum of random products comes to about a third of the codes' range. */
static void choose_scales(gops_peer_problem *problem)
{
    gops_peer_codes *codes = &problem->codes;
    const double product = 148.0 * 37.0; /* the square roots of the mean squares of both factors */
    const double terms = (double)(problem->c_in * problem->taps);
    codes->data_scale = 0.02F;
    codes->output_scale = (float)(0.02 * 0.01 * product * sqrt(terms) / 80);
    for (int64_t o = 0; o < problem->groups * problem->c_out; o++) {
        codes->filter_scales[o] = 0.01F * (1 + 0.03F * (float)(o % 7));
    }
}

static bool fill(gops_peer_problem *problem, gops_tool_error *error)
{
    gops_peer_codes *codes = &problem->codes;
    const size_t weights = elements(&problem->inputs[1]);
    codes->data = bytes(problem->data_elements);
    codes->filter = bytes(weights);
    codes->expected = bytes(problem->output_elements);
    codes->expected_chain = bytes(problem->output_elements);
    codes->filter_scales = gops_peer_floats((size_t)(problem->groups * problem->c_out));
    if (codes->data == NULL || codes->filter == NULL || codes->expected == NULL ||
        codes->expected_chain == NULL || codes->filter_scales == NULL) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "no memory for the codes");
    }
    gops_random_fill(GOPS_U8, codes->data, problem->data_elements, 0);
    gops_random_fill(GOPS_I8, codes->filter, weights, 1);
    /* 7 bits: without VNNI, peers saturate sums of two larger products. */
    for (size_t i = 0; i < weights; i++) {
        codes->filter[i] = (int8_t)(codes->filter[i] / 2);
    }
    choose_scales(problem);
    return true;
}

void gops_peer_codes_settings(const gops_peer_problem *problem, gops_type output,
                              gops_settings *settings, gops_tensor *inputs)
{
    *settings = problem->settings;
    settings->output_type = (int)output;
    memcpy(inputs, problem->inputs, sizeof problem->inputs);
    inputs[0].type = GOPS_U8;
    inputs[1].type = GOPS_I8;
}

gops_quantization gops_peer_codes_quantization(const gops_peer_problem *problem)
{
    const gops_peer_codes *codes = &problem->codes;
    return (gops_quantization){
        .size = sizeof(gops_quantization),
        .data_scale = codes->data_scale,
        .filter_scales = codes->filter_scales,
        .filter_scales_count = problem->groups * problem->c_out,
        .output_scale = codes->output_scale,
    };
}

/* One layer after another: the codes of one are the data of the next, with the same scales. */
static bool compute(gops_peer_problem *problem, const gops_plan *plan,
                    const gops_packed_filter *filter, uint8_t *from, gops_error *refusal)
{
    gops_peer_codes *codes = &problem->codes;
    gops_arguments arguments = {
        .size = sizeof arguments, .data = codes->data, .filter = filter, .output = codes->expected};
    bool done = gops_execute(plan, &arguments, refusal) == GOPS_OK;
    memcpy(codes->expected_chain, codes->expected, problem->output_elements);
    for (int layer = 1; done && layer < problem->depth; layer++) {
        memcpy(from, codes->expected_chain, problem->output_elements);
        arguments.data = from;
        arguments.output = codes->expected_chain;
        done = gops_execute(plan, &arguments, refusal) == GOPS_OK;
    }
    return done;
}

static bool expect(gops_peer_problem *problem, gops_tool_error *error)
{
    const gops_quantization quantization = gops_peer_codes_quantization(problem);
    gops_settings settings;
    gops_tensor inputs[GOPS_TOOL_MAX_INPUTS];
    gops_plan *plan;
    gops_plan_info info;
    gops_packed_filter *filter = NULL;
    gops_error refusal = {.message = "no memory"};
    gops_peer_codes_settings(problem, GOPS_U8, &settings, inputs);
    settings.algorithm = "gemm";
    if (!gops_operation_plan(problem->operation, &settings, inputs, NULL, &plan, &info, error)) {
        return false;
    }
    uint8_t *from = bytes(problem->output_elements);
    const bool done = from != NULL &&
                      gops_filter_create(plan, problem->codes.filter, &quantization, &filter,
                                         &refusal) == GOPS_OK &&
                      compute(problem, plan, filter, from, &refusal);
    free(from);
    gops_filter_destroy(filter);
    gops_plan_destroy(plan);
    return done || gops_tool_refuse(error, GOPS_EXIT_FAILED, "the codes: %s", refusal.message);
}

bool gops_peer_codes_create(gops_peer_problem *problem, gops_tool_error *error)
{
    if (problem->operation->bit == GOPS_OF_NORM) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "a normalization is not quantized");
    }
    return fill(problem, error) && expect(problem, error);
}

void gops_peer_codes_destroy(gops_peer_codes *codes)
{
    free(codes->data);
    free(codes->filter);
    free(codes->filter_scales);
    free(codes->expected);
    free(codes->expected_chain);
    memset(codes, 0, sizeof *codes);
}

bool gops_peer_codes_compare(const gops_peer_problem *problem, const uint8_t *got, int depth,
                             double *error)
{
    const gops_peer_codes *codes = &problem->codes;
    const uint8_t *expected = depth == 1 ? codes->expected : codes->expected_chain;
    int worst = 0;
    for (size_t i = 0; i < problem->output_elements; i++) {
        const int difference = abs((int)got[i] - (int)expected[i]);
        worst = difference > worst ? difference : worst;
    }
    *error = worst;
    return worst <= 1;
}
