/*
 * Every buffer of an execution against an unmapped page, at its end and at its beginning:
 * operations by algorithms by types by instruction sets. Inputs cannot be written; what lies
 * between a buffer and the other page must stay as it was; the results must be right.
 *
 * GROUPOPS_TEST_GUARD_COUNT: random problems for each operation and type; `./cmake/dev guard`.
 */
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fence.h"
#include "random_problem.h"
#include "test_elements.h"
#include "test_every.h"
#include "test_main.h"

enum { SHORT_COUNT = 5, TYPES = 14, QUANTIZED = 2, MOST_ALGORITHMS = 16 };

static const gops_type types[TYPES + QUANTIZED] = {
    GOPS_F64, GOPS_F32, GOPS_F16, GOPS_BF16, GOPS_F8E4M3, GOPS_F8E5M2, GOPS_I8, GOPS_I16,
    GOPS_I32, GOPS_I64, GOPS_U8,  GOPS_U16,  GOPS_U32,    GOPS_U64,    GOPS_I8, GOPS_U8};

/* A problem's buffers, as gops_problem_buffers has them, and those that it lacks. */
typedef enum buffer {
    DATA,
    WEIGHTS,
    SCALE,
    BIAS,
    RESIDUAL,
    ZERO_POINTS,
    DATA_ZERO,
    INPUTS,
    OUTPUT = INPUTS,
    MEAN,
    VARIANCE,
    WORKSPACE,
    BUFFERS
} buffer;

static const char *const names[BUFFERS] = {"data",     "weights",     "scale",           "bias",
                                           "residual", "zero points", "data_zero_point", "output",
                                           "mean",     "variance",    "workspace"};

typedef struct trial {
    gops_problem *problem;
    gops_problem_buffers given;
    gops_reference_result result;
    gops_tensor output;
    gops_fence_heap heap;
    int64_t executions;
    int64_t by_algorithm[MOST_ALGORITHMS];
} trial;

/* For the message of a signal. */
static char current[1600];

static void on_signal(int number)
{
    static const char text[] = "\nread or wrote beyond a buffer: ";
    ssize_t ignored = write(STDOUT_FILENO, text, sizeof text - 1);
    ignored = write(STDOUT_FILENO, current, strlen(current));
    ignored = write(STDOUT_FILENO, "\n", 1);
    (void)ignored;
    signal(number, SIG_DFL);
    raise(number);
}

static void copy_in(gops_fenced *to, const void *from, int64_t count, gops_type type,
                    gops_fence_end end)
{
    if (from != NULL) {
        const size_t size = gops_test_type_bytes(type);
        *to = gops_fence_create((size_t)count * size, size, end);
        memcpy(to->memory, from, (size_t)count * size);
    }
}

static void copy_zero_points(gops_fenced *to, const int64_t *zeros, int64_t count, gops_type type,
                             gops_fence_end end)
{
    if (zeros != NULL && count > 0) {
        const size_t size = gops_test_type_bytes(type);
        *to = gops_fence_create((size_t)count * size, size, end);
        for (int64_t i = 0; i < count; i++)
            gops_test_set_integer(type, to->memory, i, (uint64_t)zeros[i]);
    }
}

static void create_buffers(const trial *t, const gops_plan *plan, gops_fenced *f)
{
    const gops_problem *p = t->problem;
    const gops_fence_end end = t->heap.end;
    const gops_type type = p->data.type;
    const int64_t channels = t->output.dims[1];
    gops_plan_info info = {.size = sizeof info};
    gops_plan_get_info(plan, &info, NULL);
    memset(f, 0, BUFFERS * sizeof *f);
    copy_in(&f[DATA], t->given.data.memory, gops_test_elements(&p->data), type, end);
    copy_in(&f[SCALE], t->given.scale.memory, channels, type, end);
    copy_in(&f[BIAS], t->given.bias.memory, channels, t->output.type, end);
    copy_in(&f[RESIDUAL], t->given.residual.memory, gops_test_elements(&t->output), t->output.type,
            end);
    copy_zero_points(&f[DATA_ZERO], p->data_zero_point, 1, type, end);
    if (p->operation == GOPS_PROBLEM_NORM) {
        const size_t size = type == GOPS_F64 ? sizeof(double) : sizeof(float);
        for (int i = MEAN; i <= VARIANCE; i++)
            f[i] =
                gops_fence_create((size_t)(p->data.dims[0] * p->norm.num_groups) * size, size, end);
    } else {
        copy_in(&f[WEIGHTS], t->given.weights.memory, gops_test_elements(&p->filter),
                p->filter.type, end);
        copy_zero_points(&f[ZERO_POINTS], p->filter_zero_points, p->filter_zero_point_count,
                         p->filter.type, end);
    }
    const size_t size = gops_test_type_bytes(t->output.type);
    f[OUTPUT] = gops_fence_create((size_t)gops_test_elements(&t->output) * size, size, end);
    f[WORKSPACE] = gops_fence_create(info.workspace_bytes, GOPS_WORKSPACE_ALIGNMENT, end);
    for (int i = 0; i < INPUTS; i++)
        if (f[i].pages != NULL)
            gops_fence_read_only(&f[i]);
}

static gops_status execute(const trial *t, const gops_plan *plan, const gops_fenced *f,
                           gops_error *error)
{
    const gops_problem *p = t->problem;
    gops_filter *filter = NULL;
    gops_status status = GOPS_OK;
    if (p->operation != GOPS_PROBLEM_NORM && p->output_type != 0)
        status = gops_filter_create_quantized(plan, f[WEIGHTS].memory, f[ZERO_POINTS].memory,
                                              p->filter_zero_point_count, &filter, error);
    else if (p->operation != GOPS_PROBLEM_NORM)
        status = gops_filter_create(plan, f[WEIGHTS].memory, &filter, error);
    const gops_arguments arguments = {
        .size = sizeof arguments,
        .data = f[DATA].memory,
        .filter = filter,
        .scale = f[SCALE].memory,
        .bias = f[BIAS].memory,
        .output = f[OUTPUT].memory,
        .residual = f[RESIDUAL].memory,
        .mean = f[MEAN].memory,
        .variance = f[VARIANCE].memory,
        .data_zero_point = f[DATA_ZERO].memory,
        .workspace = f[WORKSPACE].memory,
        .workspace_bytes = f[WORKSPACE].bytes,
    };
    if (status == GOPS_OK)
        status = gops_execute(plan, &arguments, error);
    gops_filter_destroy(filter);
    return status;
}

static int run_plan(void *context, const gops_plan *plan)
{
    trial *t = context;
    gops_fenced f[BUFFERS];
    gops_problem_text text;
    gops_error error = {GOPS_OK, ""};
    gops_plan_info info = {.size = sizeof info};
    gops_problem_describe(t->problem, &text);
    snprintf(current, sizeof current, "%s, %s, %s end", text.text, gops_isa(),
             t->heap.end == GOPS_FENCE_LOW ? "low" : "high");
    create_buffers(t, plan, f);
    gops_status status = execute(t, plan, f, &error);
    int good = gops_test_check(status == GOPS_OK, "%s: %s", current, error.message);
    for (int i = 0; i < BUFFERS; i++)
        if (f[i].pages != NULL)
            good = gops_test_check(gops_fence_intact(&f[i]), "%s: wrote around the %s", current,
                                   names[i]) &&
                   good;
    good = good && gops_test_check(gops_problem_compare(t->problem, &t->result, f[OUTPUT].memory),
                                   "%s", current);
    for (int i = 0; i < BUFFERS; i++)
        gops_fence_destroy(&f[i]);
    gops_plan_get_info(plan, &info, NULL);
    for (int i = 0; i < MOST_ALGORITHMS && gops_algorithm_name(i) != NULL; i++)
        t->by_algorithm[i] += strcmp(gops_algorithm_name(i), info.algorithm) == 0;
    t->executions++;
    return good;
}

static void run_problem(gops_problem *problem, trial *t, gops_test_random *random)
{
    gops_reference_geometry g;
    gops_host host = gops_fence_host(&t->heap);
    problem->threads = 2;
    problem->host = &host;
    t->problem = problem;
    gops_problem_reference_shape(problem, &g, &t->output);
    t->given = gops_problem_buffers_create(problem, &t->output, random);
    /* A filter that is executed by the definition instead. */
    if (t->given.weights.memory != NULL && gops_test_type_is_real(problem->filter.type) &&
        gops_test_elements(&problem->filter) > 0 && gops_test_random_chance(random, 25))
        gops_test_set_real(problem->filter.type, t->given.weights.memory, 0, NAN);
    gops_problem_reference(problem, &t->given, &t->result);
    for (int end = GOPS_FENCE_LOW; end <= GOPS_FENCE_HIGH; end++) {
        t->heap.end = (gops_fence_end)end;
        gops_test_every_plan(problem, run_plan, t);
    }
    gops_test_check(!t->heap.broken, "%s: wrote around a plan or a filter", current);
    gops_reference_result_destroy(&t->result);
    gops_problem_buffers_destroy(&t->given);
}

/* What a quantized engine calls: i8 and u8 into i32 with zero points of both. */
static void quantize(gops_problem *problem, const int64_t zeros[2])
{
    problem->output_type = GOPS_I32;
    problem->data_zero_point = &zeros[0];
    problem->filter_zero_points = &zeros[1];
    problem->filter_zero_point_count = 1;
    problem->activation.kind = GOPS_ACTIVATION_NONE;
}

static int64_t problems_wanted(void)
{
    const char *text = getenv("GROUPOPS_TEST_GUARD_COUNT");
    return text != NULL && text[0] != '\0' ? strtoll(text, NULL, 10) : SHORT_COUNT;
}

static void run_operation(gops_problem_operation operation)
{
    static const int64_t zeros[2] = {3, 7};
    gops_test_random random = gops_test_random_start(gops_test_seed(), 81 + (uint64_t)operation);
    trial t = {.executions = 0};
    const int norm = operation == GOPS_PROBLEM_NORM;
    for (int i = 0; i < (norm ? 6 : TYPES + QUANTIZED); i++)
        for (int64_t n = 0; n < problems_wanted() * (norm ? 3 : 1); n++) {
            gops_problem problem = gops_random_problem(operation, types[i], &random);
            gops_random_fusion(&problem, &random);
            if (i >= TYPES)
                quantize(&problem, zeros);
            run_problem(&problem, &t, &random);
        }
    printf("%" PRId64 " executions", t.executions);
    for (int i = 0; i < MOST_ALGORITHMS && gops_algorithm_name(i) != NULL; i++)
        if (t.by_algorithm[i] > 0)
            printf(", %s %" PRId64, gops_algorithm_name(i), t.by_algorithm[i]);
    printf(": ");
    gops_test_check(t.executions > 0, "nothing was executed");
}

static void conv(void)
{
    run_operation(GOPS_PROBLEM_CONV);
}

static void deconv(void)
{
    run_operation(GOPS_PROBLEM_DECONV);
}

/* Channels of exactly as many elements as the store takes at a time, too. */
static void norm(void)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 84);
    trial t = {.executions = 0};
    run_operation(GOPS_PROBLEM_NORM);
    for (int i = 0; i < 6; i++)
        for (int residual = 0; residual < 2; residual++) {
            gops_problem problem = {.operation = GOPS_PROBLEM_NORM,
                                    .data = GOPS_TEST_TENSOR(types[i], 3, 4, 16, 16),
                                    .norm = {2, 1e-3},
                                    .with_residual = residual};
            run_problem(&problem, &t, &random);
        }
}

int main(void)
{
    signal(SIGSEGV, on_signal);
    signal(SIGBUS, on_signal);
    static const gops_test_case cases[] = {
        {"conv", conv}, {"deconv", deconv}, {"norm", norm}, {NULL, NULL}};
    return gops_test_main("guard pages", cases);
}
