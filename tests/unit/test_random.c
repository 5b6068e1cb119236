/*
 * Random problems against the reference, in every algorithm that accepts them.
 *
 * GROUPOPS_TEST_SEED brings a run back; GROUPOPS_TEST_RANDOM=NUMBER besides runs the problem of
 * that number alone; GROUPOPS_TEST_RANDOM_COUNT=NUMBER sets how many problems there are altogether
 * (for valgrind; without it 8,400, so that each type gets more than 500, or with GROUPOPS_ISA 2,000).
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "random_problem.h"
#include "elements.h"
#include "every_plan.h"
#include "harness.h"

enum { COUNT = 8400, COUNT_OF_ISA = 2000, MAX_ALGORITHMS = 32, MAX_FAILURES = 10 };

/* The floating point types first: a normalization takes no others. */
static const gops_type types[] = {GOPS_F32,    GOPS_F64, GOPS_F16, GOPS_BF16, GOPS_F8E4M3,
                                  GOPS_F8E5M2, GOPS_I8,  GOPS_U8,  GOPS_I16,  GOPS_U16,
                                  GOPS_I32,    GOPS_U32, GOPS_I64, GOPS_U64};
enum { TYPES = sizeof types / sizeof types[0], REAL_TYPES = 6, MAX_CHANNELS = 512 };

/* How often each algorithm, 0 for auto, took a problem of the operation in work. */
static int64_t accepted[MAX_ALGORITHMS + 1];
static gops_test_tally taken;
static const char *const case_names[] = {"conv", "deconv", "norm"};

static char how_to_repeat[1400];

static void note_how_to_repeat(const gops_problem *problem, int64_t number)
{
    gops_problem_text text;
    snprintf(how_to_repeat, sizeof how_to_repeat,
             "repeat with: GROUPOPS_TEST_SEED=%" PRIu64 " GROUPOPS_TEST_CASE=%s "
             "GROUPOPS_TEST_RANDOM=%" PRId64 " test_random    # groupops plan %s\n",
             gops_test_seed(), case_names[problem->operation], number,
             gops_problem_describe(problem, &text));
}

/* A crash is told like any other failure. */
static void on_signal(int number)
{
    ssize_t written = write(STDERR_FILENO, how_to_repeat, strlen(how_to_repeat));
    signal(number, SIG_DFL);
    raise(written < 0 ? SIGABRT : number);
}

static uint64_t hash(const gops_test_guarded *buffer)
{
    uint64_t h = 0;
    const unsigned char *bytes = buffer->memory;
    if (buffer->mapping == NULL)
        return 0;
    /* The mapping ends with the guard page, a page after the buffer. */
    const unsigned char *end = (const unsigned char *)buffer->mapping + buffer->mapping_bytes;
    for (end -= sysconf(_SC_PAGESIZE); bytes < end; bytes++)
        h = (h ^ *bytes) * UINT64_C(0x100000001b3);
    return h;
}

static uint64_t hash_inputs(const gops_problem_buffers *b)
{
    return hash(&b->data) ^ hash(&b->weights) * 3 ^ hash(&b->scale) * 5 ^ hash(&b->bias) * 7 ^
           hash(&b->residual) * 11 ^ hash(&b->slopes) * 13;
}

static int shape_is(const gops_problem *problem, const gops_shape *shape,
                    const gops_reference_geometry *g, const gops_tensor *output)
{
    const int good =
        shape->output.type == output->type && gops_test_same_dims(&shape->output, output);
    if (problem->operation == GOPS_PROBLEM_NORM)
        return good && shape->groups == problem->norm.num_groups && shape->pads_begin.count == 0;
    size_t bytes = (size_t)g->spatial * sizeof g->pads_begin[0];
    return good && shape->groups == g->groups &&
           memcmp(shape->pads_begin.values, g->pads_begin, bytes) == 0 &&
           memcmp(shape->pads_end.values, g->pads_end, bytes) == 0;
}

/* Executes the plan with a workspace of its own or the plan's, on an output that holds garbage, and
 * compares. */
static int execute(const gops_problem *problem, const gops_plan *plan,
                   const gops_problem_buffers *buffers, const gops_reference_result *result,
                   gops_test_random *random)
{
    gops_plan_info info = {.size = sizeof info};
    gops_error error = {GOPS_OK, ""};
    gops_test_guarded workspace = {NULL, NULL, 0};
    gops_plan_get_info(plan, &info, &error);
    int own = info.workspace_bytes > 0 && gops_test_random_chance(random, 50);
    if (own) /* a workspace that ends at a page is aligned if its size is */
        workspace = gops_test_guarded_create((info.workspace_bytes + GOPS_WORKSPACE_ALIGNMENT - 1) /
                                             GOPS_WORKSPACE_ALIGNMENT * GOPS_WORKSPACE_ALIGNMENT);
    size_t output_bytes =
        (size_t)gops_test_elements(&result->tensor) * gops_test_type_bytes(result->tensor.type);
    memset(buffers->output.memory, 0xff, output_bytes);
    uint64_t before = hash_inputs(buffers);
    gops_status status = gops_problem_execute(problem, plan, buffers, own ? &workspace : NULL,
                                              info.workspace_bytes, &error);
    int good = gops_test_check(status == GOPS_OK, "execute: %s", error.message);
    good = good && gops_test_check(gops_problem_compare(problem, result, buffers->output.memory),
                                   "wrong values with %s (%s)", info.algorithm, info.why);
    good = good && gops_test_check(before == hash_inputs(buffers), "an input was written");
    if (own)
        gops_test_guarded_destroy(&workspace);
    return good;
}

static int64_t reshaped, not_reshaped, usual_count;

/* The same by a plan that is a reshaped one of other data, and with the filter of that. */
static int execute_reshaped(const gops_problem *problem, const gops_problem_buffers *buffers,
                            const gops_reference_result *result, gops_test_random *random)
{
    gops_problem own = *problem, other = *problem;
    gops_plan *from, *plan;
    gops_error error = {GOPS_OK, ""};
    other.data = gops_random_other_data(problem, random);
    gops_problem_share_strides(&own, &other);
    if (problem->algorithm != NULL && strcmp(problem->algorithm, "fastest") == 0 &&
        other.data.rank > 5)
        other.algorithm = NULL; /* it computes them: minutes where six axes have grown */
    if (gops_problem_plan(&other, &from, NULL) != GOPS_OK)
        return 1; /* such data may not be legal, or not be served */
    gops_status status = gops_plan_reshape(from, &problem->data, NULL, &plan, &error);
    int good =
        gops_test_check(status == GOPS_OK || status == GOPS_UNSUPPORTED,
                        "not reshaped from [%" PRId64 ", ..., %" PRId64 "]: %s", other.data.dims[0],
                        other.data.dims[other.data.rank - 1], error.message);
    if (status == GOPS_OK) {
        own.packer = problem->operation == GOPS_PROBLEM_NORM ? NULL : from;
        good = execute(&own, plan, buffers, result, random);
        reshaped++;
    } else {
        not_reshaped++;
    }
    gops_plan_destroy(plan);
    gops_plan_destroy(from);
    return good;
}

/* Within the budget or, where that is refused, without one. It is not refused to what needs none.
 */
static int make_plan(gops_problem *problem, gops_plan **plan, gops_status *status,
                     gops_error *error)
{
    gops_plan_info info = {.size = sizeof info};
    *status = gops_problem_plan(problem, plan, error);
    if (problem->max_workspace == 0 || *status != GOPS_INVALID)
        return 1;
    const int named =
        gops_test_check(strstr(error->message, "max_workspace") != NULL,
                        "a refusal that does not name max_workspace: %s", error->message);
    problem->max_workspace = 0;
    *status = gops_problem_plan(problem, plan, error);
    if (*status == GOPS_OK)
        gops_plan_get_info(*plan, &info, NULL);
    return gops_test_check(*status != GOPS_OK || info.workspace_bytes > 0,
                           "a budget was refused to %s, which needs no workspace",
                           info.algorithm) &&
           named;
}

/* One algorithm with random options. It may be refused for the shape, unless it is auto or gemm,
 * and for a workspace that is too small. */
static int run_algorithm(gops_problem *problem, int index, int64_t number,
                         const gops_problem_buffers *buffers, const gops_reference_result *result,
                         gops_test_random *random)
{
    gops_plan *plan;
    gops_status status;
    gops_error error = {GOPS_OK, ""};
    problem->algorithm = index == 0 ? NULL : gops_algorithm_name(index - 1);
    if (index == 0 && gops_test_random_chance(random, 1))
        problem->algorithm = "fastest"; /* takes a millisecond or more each */
    problem->threads = (int32_t)gops_test_random_range(random, 1, 3);
    problem->max_workspace = gops_random_budget(random);
    note_how_to_repeat(problem, number);
    if (!make_plan(problem, &plan, &status, &error))
        return 0;
    int always = index == 0 || (strcmp(problem->algorithm, "gemm") == 0 &&
                                problem->operation != GOPS_PROBLEM_NORM);
    if (status == GOPS_UNSUPPORTED && !always)
        return gops_test_check(error.message[0] != '\0' && plan == NULL, "refused without reason");
    if (!gops_test_check(status == GOPS_OK, "refused: %s", error.message))
        return 0;
    gops_plan_info info = {.size = sizeof info};
    gops_plan_get_info(plan, &info, NULL);
    accepted[index]++;
    gops_test_count(&taken, problem, plan);
    int good = gops_test_check(problem->max_workspace == 0 || (uint64_t)info.workspace_bytes <=
                                                                  (uint64_t)problem->max_workspace,
                               "%zu bytes of workspace", info.workspace_bytes);
    good = gops_test_check(info.threads >= 1 && info.threads <= problem->threads, "%d threads",
                           (int)info.threads) &&
           good;
    good = execute(problem, plan, buffers, result, random) && good;
    gops_plan_destroy(plan);
    if (good && gops_test_random_chance(random, 30))
        good = execute_reshaped(problem, buffers, result, random);
    return good;
}

/* Makes some problems of 8-bit integers those of a quantized engine: i8 and u8 mixed, zero points,
 * an i32 output. */
static void quantize(gops_problem *problem, int64_t *zero_points, gops_test_random *random)
{
    gops_type data = problem->data.type;
    if ((data != GOPS_I8 && data != GOPS_U8) || gops_test_random_chance(random, 50))
        return;
    problem->output_type = GOPS_I32;
    problem->filter.type = gops_test_random_chance(random, 50) ? GOPS_I8 : GOPS_U8;
    int out = problem->operation == GOPS_PROBLEM_CONV ? 1 : 2;
    int64_t channels = problem->filter.dims[0] * problem->filter.dims[out];
    int64_t counts[] = {0, 1, channels < MAX_CHANNELS ? channels : 0};
    problem->filter_zero_point_count = counts[gops_test_random_range(random, 0, 2)];
    problem->filter_zero_points = zero_points + 1;
    problem->data_zero_point = gops_test_random_chance(random, 70) ? zero_points : NULL;
    for (int64_t i = 0; i <= problem->filter_zero_point_count; i++) {
        int is_signed = (i == 0 ? data : problem->filter.type) == GOPS_I8;
        zero_points[i] =
            gops_test_random_range(random, is_signed ? -128 : 0, is_signed ? 127 : 255);
    }
}

static int run_problem(gops_problem *problem, int64_t number, gops_test_random *random)
{
    gops_reference_geometry g;
    gops_tensor output;
    gops_shape shape;
    gops_error error = {GOPS_OK, ""};
    int64_t zero_points[1 + MAX_CHANNELS];
    note_how_to_repeat(problem, number);
    gops_status status = gops_problem_shape(problem, &shape, &error);
    gops_problem_reference_shape(problem, &g, &output);
    int good = gops_test_check(status == GOPS_OK, "shape refused: %s", error.message) &&
               gops_test_check(shape_is(problem, &shape, &g, &output), "wrong shape or pads");
    if (!good)
        return 0;
    quantize(problem, zero_points, random);
    gops_problem_reference_shape(problem, &g, &output);
    gops_problem_buffers buffers = gops_problem_buffers_create(problem, &output, random);
    gops_reference_result result;
    gops_problem_reference(problem, &buffers, &result);
    for (int i = 0; good && (i == 0 || gops_algorithm_name(i - 1) != NULL); i++)
        good = run_algorithm(problem, i, number, &buffers, &result, random);
    gops_reference_result_destroy(&result);
    gops_problem_buffers_destroy(&buffers);
    return good;
}

static void run_operation(gops_problem_operation operation, int percent)
{
    int64_t only = gops_test_environment_number("GROUPOPS_TEST_RANDOM", -1);
    int64_t count =
        gops_test_environment_number("GROUPOPS_TEST_RANDOM_COUNT", usual_count) * percent / 100;
    int64_t run = 0;
    int failures = 0;
    gops_test_keep_isa();
    memset(&taken, 0, sizeof taken);
    memset(accepted, 0, sizeof accepted);
    reshaped = not_reshaped = 0;
    for (int64_t i = 0; i < count && failures < MAX_FAILURES; i++) {
        if (only >= 0 && i != only)
            continue;
        gops_test_random random =
            gops_test_random_start(gops_test_seed(), (uint64_t)i * 3 + (uint64_t)operation);
        gops_type type = types[i % (operation == GOPS_PROBLEM_NORM ? REAL_TYPES : TYPES)];
        gops_problem problem = gops_random_problem(operation, type, &random);
        gops_random_relax(&problem, &random);
        gops_random_fusion(&problem, &random);
        gops_random_view(&problem, &random);
        if (!run_problem(&problem, i, &random)) {
            printf("%s", how_to_repeat);
            failures++;
        }
        run++;
    }
    printf("%s: %" PRId64 " problems; auto took %" PRId64, case_names[operation], run, accepted[0]);
    for (int i = 0; gops_algorithm_name(i) != NULL; i++)
        printf(", %s %" PRId64, gops_algorithm_name(i), accepted[i + 1]);
    printf("; %" PRId64 " reshaped, %" PRId64 " not\n", reshaped, not_reshaped);
    gops_test_check(run > 0, "no problem was run");
    if (failures == 0 && run >= COUNT * percent / 100)
        gops_test_check_tally(&taken, operation, NULL);
}

static void conv(void)
{
    run_operation(GOPS_PROBLEM_CONV, 42);
}

static void deconv(void)
{
    run_operation(GOPS_PROBLEM_DECONV, 42);
}

static void norm(void)
{
    run_operation(GOPS_PROBLEM_NORM, 16);
}

int main(void)
{
    signal(SIGSEGV, on_signal);
    signal(SIGBUS, on_signal);
    signal(SIGFPE, on_signal);
    static const gops_test_case cases[] = {
        {"conv", conv}, {"deconv", deconv}, {"norm", norm}, {NULL, NULL}};
    const int of_isa = getenv("GROUPOPS_ISA") != NULL && getenv("GROUPOPS_TEST_RANDOM") == NULL;
    usual_count = of_isa ? COUNT_OF_ISA : COUNT;
    return gops_test_main("random problems", cases);
}
