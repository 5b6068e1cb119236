/*
 * Why an algorithm does not serve a layer, of several forms the reason that matters; and what a filter was
 * packed for that a plan has otherwise.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elements.h"
#include "harness.h"
#include "problem.h"
#include "refusal.h"

enum { GROUPS = 3, C_IN = 5, C_OUT = 7, MAX_WEIGHTS = 4096 };
static const unsigned char zeros[MAX_WEIGHTS * sizeof(double)];

static gops_problem conv(gops_type type)
{
    return (gops_problem){.operation = GOPS_PROBLEM_CONV,
                          .data = GOPS_TEST_TENSOR(type, 2, GROUPS * C_IN, 11, 13),
                          .filter = GOPS_TEST_TENSOR(type, GROUPS, C_OUT, C_IN, 2, 3),
                          .algorithm = "gemm"};
}

static gops_problem deconv(void)
{
    return (gops_problem){.operation = GOPS_PROBLEM_DECONV,
                          .data = GOPS_TEST_TENSOR(GOPS_F32, 2, GROUPS * C_IN, 11, 13),
                          .filter = GOPS_TEST_TENSOR(GOPS_F32, GROUPS, C_IN, C_OUT, 2, 3),
                          .deconv.strides = LIST(2, 3),
                          .algorithm = "subconv"};
}

static void refuse(gops_problem p, const char *algorithm, const char *message)
{
    gops_plan *plan = NULL;
    gops_error error = gops_fresh_error();
    p.algorithm = algorithm;
    gops_check_refusal(algorithm, gops_problem_plan(&p, &plan, &error), &error, GOPS_UNSUPPORTED,
                       message);
}

static void algorithms(void)
{
    gops_problem floats = conv(GOPS_F32), bytes = conv(GOPS_U8);
    bytes.filter.type = GOPS_I8;
    bytes.output_type = GOPS_U8;
    refuse(floats, "depthwise", "depthwise serves groups of one input channel; C_IN is 5");
    refuse(bytes, "depthwise", "depthwise serves groups of one input channel; C_IN is 5");
    refuse(bytes, "depthwise/rows",
           "algorithm depthwise/rows serves no quantized convolutions; here output_type is u8");
    refuse(bytes, "pointwise",
           "algorithm pointwise serves no quantized convolutions; here output_type is u8");
    refuse(
        bytes, "winograd",
        "winograd serves kernels of 3 with stride and dilation 1; axis 0 has a kernel of 2, stride "
        "1, dilation 1");
    refuse(floats, "subconv", "algorithm subconv serves no convolutions");
    refuse(deconv(), "pointwise", "algorithm pointwise serves no transposed convolutions");
    floats.filter.dims[3] = 1;
    floats.conv.strides = (gops_list)LIST(2, 4);
    floats.conv.pads_end = (gops_list)LIST(0, 6);
    refuse(
        floats, "pointwise",
        "pointwise serves kernels of 1 of which no output lies on padding; axis 1 has a kernel of "
        "3, pads of 0 and 6, stride 4");
    floats.filter.dims[4] = 1;
    floats.filter.type = floats.data.type = GOPS_BF16;
    refuse(floats, "pointwise", "pointwise serves f32 and f64, not bf16");
}

/* Makes both plans, packs a filter with one and gives it to the other. */
static void mix(const gops_problem *packer, const gops_problem *other, const char *isa,
                const char *message)
{
    gops_plan *packs = NULL, *takes = NULL;
    gops_packed_filter *filter = NULL;
    gops_error error = gops_fresh_error();
    _Alignas(8) char expected[GOPS_MESSAGE_BYTES];
    gops_status status = gops_problem_plan(packer, &packs, &error);
    gops_test_check(status == GOPS_OK, "%s", error.message);
    if (isa != NULL)
        setenv("GROUPOPS_ISA", isa, 1);
    status = gops_problem_plan(other, &takes, &error);
    gops_test_check(status == GOPS_OK, "%s", error.message);
    if (isa != NULL)
        unsetenv("GROUPOPS_ISA");
    status = gops_filter_create(packs, zeros, NULL, &filter, &error);
    gops_test_check(status == GOPS_OK, "%s", error.message);
    snprintf(expected, sizeof expected, "filter was packed with %s", message);
    gops_check_refusal("update", gops_filter_update(takes, filter, zeros, NULL, &error), &error,
                       GOPS_INVALID, expected);
    const gops_arguments arguments = {.size = sizeof arguments,
                                      .data = zeros,
                                      .filter = filter,
                                      .output = (void *)expected}; /* nothing is written */
    snprintf(expected, sizeof expected, "arguments.filter was packed with %s", message);
    error = gops_fresh_error();
    gops_check_refusal("execute", gops_execute(takes, &arguments, &error), &error, GOPS_INVALID,
                       expected);
    gops_filter_destroy(filter);
    gops_plan_destroy(packs);
    gops_plan_destroy(takes);
}

static void filters(void)
{
    const gops_problem packer = conv(GOPS_F32);
    gops_problem p = packer;
    p.filter.dims[0] = 5;
    p.filter.dims[2] = 3;
    mix(&packer, &p, NULL, "GROUPS 3; the plan's is 5");
    p = packer;
    p.filter.dims[1] = 6;
    mix(&packer, &p, NULL, "C_OUT 7; the plan's is 6");
    p = packer;
    p.filter.dims[2] = 4;
    p.data.dims[1] = GROUPS * 4;
    mix(&packer, &p, NULL, "C_IN 5; the plan's is 4");
    p = packer;
    p.filter.rank = 4;
    p.data.rank = 3;
    mix(&packer, &p, NULL, "number of spatial axes 2; the plan's is 1");
    p = packer;
    p.filter.dims[4] = 1;
    mix(&packer, &p, NULL, "kernel[1] 3; the plan's is 1");
    p = packer;
    p.algorithm = "implicit";
    mix(&packer, &p, NULL, "algorithm gemm; the plan's is implicit");
    p.operation = GOPS_PROBLEM_DECONV;
    p.algorithm = "gemm";
    p.data.dims[1] = GROUPS * 7;
    mix(&packer, &p, NULL, "operation conv; the plan's is deconv");
    p = conv(GOPS_F64);
    mix(&packer, &p, NULL, "data type f32; the plan's is f64");
}

static void filters_of_bytes(void)
{
    gops_problem packer = conv(GOPS_U8), p;
    packer.filter.type = GOPS_I8;
    packer.output_type = GOPS_I32;
    p = packer;
    p.filter.type = GOPS_U8;
    mix(&packer, &p, NULL, "filter type i8; the plan's is u8");
    p = packer;
    p.output_type = GOPS_F32;
    mix(&packer, &p, NULL, "output type i32; the plan's is f32");
}

/* Gives a filter that one plan packed to another, whose packing differs by strides or dilations alone. */
static void mix_orders(const gops_problem *packer, const gops_problem *other)
{
    gops_plan *packs = NULL, *takes = NULL;
    gops_packed_filter *filter = NULL;
    gops_error error = gops_fresh_error();
    char algorithm[64];
    gops_problem_plan(packer, &packs, NULL);
    gops_problem_plan(other, &takes, NULL);
    gops_filter_create(packs, zeros, NULL, &filter, NULL);
    snprintf(algorithm, sizeof algorithm, "the weights of %s", other->algorithm);
    gops_test_check(gops_filter_update(takes, filter, zeros, NULL, &error) == GOPS_INVALID &&
                        strstr(error.message, "other sizes, strides or max_workspace") != NULL &&
                        strstr(error.message, algorithm) != NULL,
                    "%s", error.message);
    gops_filter_destroy(filter);
    gops_plan_destroy(packs);
    gops_plan_destroy(takes);
}

static void filters_of_strides(void)
{
    const gops_problem packer = deconv();
    gops_problem p = packer;
    p.deconv.strides = (gops_list)LIST(2, 4);
    mix_orders(&packer, &p);
}

static gops_problem depthwise(gops_problem_operation operation, const char *algorithm)
{
    return (gops_problem){.operation = operation,
                          .data = GOPS_TEST_TENSOR(GOPS_U8, 1, 64, 20, 20),
                          .filter = GOPS_TEST_TENSOR(GOPS_I8, 64, 1, 1, 4, 4),
                          .output_type = GOPS_I32,
                          .algorithm = algorithm};
}

static void filters_of_pairs(void)
{
    const gops_problem packer = depthwise(GOPS_PROBLEM_CONV, "depthwise/pairs");
    const gops_problem transposed = depthwise(GOPS_PROBLEM_DECONV, "depthwise/pairs");
    gops_problem p = packer;
    p.conv.dilations = (gops_list)LIST(1, 2);
    mix_orders(&packer, &p);
    mix_orders(&packer, &transposed);
    p = transposed;
    p.deconv.strides = (gops_list)LIST(2, 2);
    mix_orders(&transposed, &p);
    p.deconv.strides = (gops_list)LIST(2, 1);
    mix_orders(&transposed, &p);
}

static void filters_of_permuted(void)
{
    const gops_problem packer = depthwise(GOPS_PROBLEM_DECONV, "depthwise/permuted");
    gops_problem p = packer;
    gops_plan *plan = NULL;
    if (gops_problem_plan(&packer, &plan, NULL) != GOPS_OK)
        gops_test_skip("the processor has no AVX512-VNNI");
    gops_plan_destroy(plan);
    p.deconv.strides = (gops_list)LIST(2, 2);
    mix_orders(&packer, &p);
    p.deconv.strides = (gops_list)LIST(1, 2);
    mix_orders(&packer, &p);
}

static void filters_of_instruction_sets(void)
{
    const gops_problem p = conv(GOPS_F32);
    const char *isa = gops_isa();
    char message[128];
    if (getenv("GROUPOPS_ISA") != NULL || strcmp(isa, "portable") == 0)
        gops_test_skip("there is one instruction set");
    snprintf(message, sizeof message, "instruction set %s; the plan's is portable", isa);
    mix(&p, &p, "portable", message);
}

int main(void)
{
    static const gops_test_case cases[] = {
        {"algorithms", algorithms},
        {"filters", filters},
        {"filters_of_bytes", filters_of_bytes},
        {"filters_of_strides", filters_of_strides},
        {"filters_of_pairs", filters_of_pairs},
        {"filters_of_permuted", filters_of_permuted},
        {"filters_of_instruction_sets", filters_of_instruction_sets},
        {NULL, NULL},
    };
    return gops_test_main("refusals of plans and filters", cases);
}
