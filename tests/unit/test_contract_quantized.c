/*
 * What quantized plans and their executions refuse: types, activations, arguments that belong to
 * another plan.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "quantized_subject.h"
#include "refusal.h"
#include "elements.h"
#include "harness.h"

static void refuse_plan(const gops_problem *problem, gops_status status, const char *message)
{
    gops_plan *plan = NULL;
    gops_error error = gops_fresh_error();
    gops_check_refusal("plan", gops_problem_plan(problem, &plan, &error), &error, status, message);
    gops_test_check(plan == NULL, "a plan came out of the refusal");
    gops_plan_destroy(plan);
}

static void output_types(void)
{
    static const gops_type served[] = {GOPS_I32, GOPS_U8, GOPS_I8, GOPS_F32, GOPS_F16, GOPS_BF16};
    static const struct {
        gops_type data, filter, output;
    } refused[] = {{GOPS_I8, GOPS_I8, GOPS_F64},  {GOPS_U8, GOPS_I8, GOPS_U32},
                   {GOPS_I8, GOPS_U8, GOPS_I16},  {GOPS_U8, GOPS_U8, GOPS_F8E4M3},
                   {GOPS_F32, GOPS_I8, GOPS_F32}, {GOPS_I16, GOPS_I8, GOPS_I32},
                   {GOPS_F32, GOPS_F32, GOPS_U8}, {GOPS_I8, GOPS_I16, GOPS_I32}};
    for (size_t i = 0; i < sizeof served / sizeof served[0]; i++)
        for (int n = 0; n < 4; n++) {
            const gops_problem p = gops_quantized_problem(n & 1 ? GOPS_U8 : GOPS_I8,
                                                          n & 2 ? GOPS_U8 : GOPS_I8, served[i]);
            gops_plan_destroy(gops_quantized_plan(&p));
        }
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        const gops_problem p =
            gops_quantized_problem(refused[i].data, refused[i].filter, refused[i].output);
        char message[GOPS_MESSAGE_BYTES];
        snprintf(message, sizeof message,
                 "output_type is %s, data is %s, filter is %s; another type than the data's is "
                 "offered as i32, u8, i8, f32, f16 or bf16 from i8 or u8 data and filter",
                 gops_test_type_name(p.output_type), gops_test_type_name(p.data.type),
                 gops_test_type_name(p.filter.type));
        refuse_plan(&p, GOPS_UNSUPPORTED, message);
    }
}

static void residual_types(void)
{
    static const struct {
        gops_type data, output, residual;
    } rows[] = {{GOPS_U8, GOPS_I32, GOPS_U8},  {GOPS_U8, GOPS_U8, GOPS_F32},
                {GOPS_I8, GOPS_F32, GOPS_F16}, {GOPS_I8, GOPS_I8, GOPS_I32},
                {GOPS_F32, 0, GOPS_U8},        {GOPS_U8, 0, GOPS_I8}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        gops_problem p = gops_quantized_problem(rows[i].data, rows[i].data, rows[i].output);
        char message[GOPS_MESSAGE_BYTES];
        p.residual_type = rows[i].residual;
        snprintf(message, sizeof message,
                 "residual_type is %s, the output is %s; another type than the output's is offered "
                 "as u8 or i8 in quantized plans whose output is not i32",
                 gops_test_type_name(p.residual_type),
                 gops_test_type_name(p.output_type != 0 ? p.output_type : p.data.type));
        refuse_plan(&p, GOPS_UNSUPPORTED, message);
        p.residual_type = p.output_type != 0 ? p.output_type : p.data.type;
        gops_plan_destroy(gops_quantized_plan(&p));
    }
}

/* 8-bit outputs stand for real numbers, and take every activation with any bounds. */
static void activations(void)
{
    gops_problem p = gops_quantized_problem(GOPS_U8, GOPS_I8, GOPS_I32);
    p.activation.kind = GOPS_ACTIVATION_GELU;
    refuse_plan(&p, GOPS_UNSUPPORTED,
                "activation.kind is 8; i32 takes none (0), relu (1) and clamp (2)");
    for (int kind = 0; kind <= GOPS_ACTIVATION_GELU; kind++) {
        p.activation = (gops_activation){(gops_activation_kind)kind, -0.5, 1e30};
        p.output_type = kind % 2 == 0 ? GOPS_U8 : GOPS_F16;
        gops_plan_destroy(gops_quantized_plan(&p));
    }
    p.output_type = GOPS_I8;
    p.activation = (gops_activation){GOPS_ACTIVATION_CLAMP, 2, 1};
    gops_plan *plan = NULL;
    gops_error error = gops_fresh_error();
    gops_test_check(gops_problem_plan(&p, &plan, &error) == GOPS_INVALID &&
                        strstr(error.message, "clamp needs alpha <= beta") != NULL,
                    "%s", error.message);
}

static void not_quantized(void)
{
    gops_quantized_subject s;
    const gops_quantization q = GOPS_QUANTIZATION_INIT;
    gops_packed_filter *filter;
    gops_error error = gops_fresh_error();
    const uint8_t zero_point = 3;
    memset(&s, 0, sizeof s);
    s.problem = gops_quantized_problem(GOPS_U8, GOPS_U8, 0);
    s.plan = gops_quantized_plan(&s.problem);
    gops_check_refusal("create", gops_filter_create(s.plan, s.weights, &q, &filter, &error), &error,
                       GOPS_INVALID,
                       "quantization is given; the plan is not quantized: it has no output_type");
    gops_test_check(gops_filter_create(s.plan, s.weights, NULL, &s.filter, &error) == GOPS_OK, "%s",
                    error.message);
    gops_check_refusal("update", gops_filter_update(s.plan, s.filter, s.weights, &q, &error),
                       &error, GOPS_INVALID,
                       "quantization is given; the plan is not quantized: it has no output_type");
    const gops_arguments arguments = {.size = sizeof arguments,
                                      .data = s.data,
                                      .filter = s.filter,
                                      .output = s.output,
                                      .data_zero_point = &zero_point};
    gops_check_refusal(
        "data_zero_point", gops_execute(s.plan, &arguments, &error), &error, GOPS_INVALID,
        "arguments.data_zero_point is given; the plan is not quantized: it has no output_type");
    gops_quantized_stop(&s);
}

/* Its plan is another than the one that executes it. */
static void sums_of_another_plan(void)
{
    const gops_problem problem = gops_quantized_problem(GOPS_U8, GOPS_I8, GOPS_U8);
    gops_quantized_subject s;
    gops_packed_filter *filter = NULL;
    gops_error error = gops_fresh_error();
    gops_quantized_start(&s, problem);
    gops_quantization q = s.quantization;
    q.sum_scale = 0.5F;
    gops_test_check(gops_filter_create(s.plan, s.weights, &q, &filter, &error) == GOPS_OK, "%s",
                    error.message);
    gops_filter_destroy(s.filter);
    s.filter = filter;
    gops_check_refusal(
        "residual", gops_quantized_execute(&s, NULL, s.output, &error), &error, GOPS_INVALID,
        "arguments.residual is NULL; the filter's quantization.sum_scale asks for one");
    gops_test_check(gops_quantized_execute(&s, s.residual, s.output, &error) == GOPS_OK, "%s",
                    error.message);
    for (int i = 0; i < 2; i++) {
        gops_problem other = problem;
        other.residual_type = i == 0 ? GOPS_I8 : GOPS_U8;
        other.activation.kind = i == 0 ? GOPS_ACTIVATION_NONE : GOPS_ACTIVATION_SIGMOID;
        gops_plan_destroy(s.plan);
        s.plan = gops_quantized_plan(&other);
        gops_check_refusal("plan", gops_quantized_execute(&s, s.residual, s.output, &error), &error,
                           GOPS_INVALID,
                           i == 0 ? "arguments.filter was packed with a quantization.sum_scale; "
                                    "the plan's output is u8, its residual i8 and its activation 0"
                                  : "arguments.filter was packed with a quantization.sum_scale; "
                                    "the plan's output is u8, its residual u8 and its activation "
                                    "4");
    }
    gops_quantized_stop(&s);
}

/* The zero point of a residual that the plan which packed the filter does not have. */
static void residual_of_another_plan(void)
{
    gops_quantized_subject s;
    gops_packed_filter *filter = NULL;
    gops_error error = gops_fresh_error();
    gops_quantized_start(&s, gops_quantized_problem(GOPS_U8, GOPS_I8, GOPS_F32));
    gops_quantization q = s.quantization;
    q.residual_scale = 0.5F;
    q.residual_zero_point = 128;
    gops_test_check(gops_filter_create(s.plan, s.weights, &q, &filter, &error) == GOPS_OK, "%s",
                    error.message);
    gops_filter_destroy(s.filter);
    s.filter = filter;
    gops_plan_destroy(s.plan);
    s.problem.residual_type = GOPS_U8;
    s.plan = gops_quantized_plan(&s.problem);
    gops_test_check(gops_quantized_execute(&s, s.residual, s.output, &error) == GOPS_OK, "%s",
                    error.message);
    for (int i = 0; i < GOPS_QUANTIZED_OUTPUTS; i++) {
        const float with = s.expected[i] - 64; /* the residual is all 0 */
        gops_test_check(fabsf(s.output[i] - with) < 1e-3F, "output %d is %g, not %g", i,
                        (double)s.output[i], (double)with);
    }
    gops_plan_destroy(s.plan);
    s.problem.residual_type = GOPS_I8;
    s.plan = gops_quantized_plan(&s.problem);
    gops_check_refusal("residual", gops_quantized_execute(&s, s.residual, s.output, &error), &error,
                       GOPS_INVALID,
                       "quantization.residual_zero_point is 128; i8 holds -128 to 127");
    gops_test_check(gops_quantized_execute(&s, NULL, s.output, &error) == GOPS_OK, "%s",
                    error.message);
    gops_quantized_stop(&s);
}

static void arguments_of_types(void)
{
    gops_quantized_subject s;
    gops_error error = gops_fresh_error();
    gops_problem problem = gops_quantized_problem(GOPS_U8, GOPS_I8, GOPS_F32);
    problem.residual_type = GOPS_U8;
    gops_quantized_start(&s, problem);
    gops_check_refusal("in place", gops_quantized_execute(&s, s.output, s.output, &error), &error,
                       GOPS_INVALID,
                       "arguments.residual is the output, but the one is u8 and the other f32");
    gops_test_check(gops_quantized_execute(&s, (char *)s.residual + 1, s.output, &error) == GOPS_OK,
                    "a u8 residual at an odd address: %s", error.message);
    gops_arguments arguments = {.size = sizeof arguments,
                                .data = s.data,
                                .filter = s.filter,
                                .bias = (char *)s.residual + 2,
                                .output = s.output};
    const gops_status status = gops_execute(s.plan, &arguments, &error);
    gops_test_check(status == GOPS_INVALID && strstr(error.message, "bias is not aligned") != NULL,
                    "a bias is i32: %s", error.message);
    gops_quantized_stop(&s);
    problem.output_type = GOPS_I8; /* of the same size */
    gops_quantized_start(&s, problem);
    gops_test_check(gops_quantized_execute(&s, s.output, s.output, &error) == GOPS_OK, "%s",
                    error.message);
    gops_quantized_stop(&s);
}

int main(void)
{
    static const gops_test_case cases[] = {{"output_types", output_types},
                                           {"residual_types", residual_types},
                                           {"activations", activations},
                                           {"not_quantized", not_quantized},
                                           {"sums_of_another_plan", sums_of_another_plan},
                                           {"residual_of_another_plan", residual_of_another_plan},
                                           {"arguments_of_types", arguments_of_types},
                                           {NULL, NULL}};
    return gops_test_main("the contract of quantized plans", cases);
}
