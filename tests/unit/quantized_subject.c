/* quantized_subject.c: makes a small quantized plan, packs and executes it. */
#include "quantized_subject.h"

#include <string.h>

#include "elements.h"
#include "harness.h"
#include "refusal.h"

gops_problem gops_quantized_problem(gops_type data, gops_type filter, gops_type output)
{
    return (gops_problem){.operation = GOPS_PROBLEM_CONV,
                          .data = GOPS_TEST_TENSOR(data, 2, 5, 7),
                          .filter = GOPS_TEST_TENSOR(filter, 1, GOPS_QUANTIZED_CHANNELS, 5, 2),
                          .output_type = output};
}

gops_plan *gops_quantized_plan(const gops_problem *problem)
{
    gops_plan *plan = NULL;
    gops_error error = gops_fresh_error();
    gops_test_check(gops_problem_plan(problem, &plan, &error) == GOPS_OK, "%s", error.message);
    return plan;
}

gops_status gops_quantized_execute(const gops_quantized_subject *s, const void *residual,
                                   void *output, gops_error *error)
{
    const gops_arguments arguments = {.size = sizeof arguments,
                                      .data = s->data,
                                      .filter = s->filter,
                                      .residual = residual,
                                      .output = output};
    return gops_execute(s->plan, &arguments, error);
}

void gops_quantized_start(gops_quantized_subject *s, gops_problem problem)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 43);
    gops_error error = gops_fresh_error();
    memset(s, 0, sizeof *s);
    s->problem = problem;
    gops_test_random_fill(&random, GOPS_U8, s->data, sizeof s->data);
    gops_test_random_fill(&random, GOPS_U8, s->weights, sizeof s->weights);
    s->plan = gops_quantized_plan(&problem);
    s->quantization = (gops_quantization)GOPS_QUANTIZATION_INIT;
    s->quantization.data_scale = 0.01F;
    const gops_status status =
        gops_filter_create(s->plan, s->weights, &s->quantization, &s->filter, &error);
    gops_test_check(status == GOPS_OK &&
                        gops_quantized_execute(s, NULL, s->expected, &error) == GOPS_OK,
                    "%s", error.message);
}

void gops_quantized_stop(gops_quantized_subject *s)
{
    gops_filter_destroy(s->filter);
    gops_plan_destroy(s->plan);
}
