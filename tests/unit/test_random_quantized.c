/*
 * Random quantized problems against the reference, by equality, by every algorithm that serves them,
 * on every instruction set that runs here (with GROUPOPS_ISA: on that one). Activations by exp, tanh
 * and erf have a bound instead, and the same bits in every execution.
 *
 * GROUPOPS_TEST_SEED brings a run back; GROUPOPS_TEST_RANDOM=NUMBER besides runs the problem of that
 * number alone; GROUPOPS_TEST_RANDOM_COUNT=NUMBER sets how many problems the cases have altogether
 * (for sanitizers and emulators; without it 20,120, or with GROUPOPS_ISA 3,000); fewer than all need
 * not cover everything.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "random_quantized.h"
#include "compare.h"
#include "elements.h"
#include "every_plan.h"
#include "harness.h"

enum {
    CONV = 8800,
    DECONV = 6800,
    DEPTHWISE = 4400,
    LARGE = 60,
    DEEP = 60,
    KINDS = 5,
    MAX_FAILURES = 10
};
enum { ALL = CONV + DECONV + DEPTHWISE + LARGE + DEEP, ALL_OF_ISA = 3000 };
_Static_assert(ALL >= 20000, "fewer problems than are promised");

enum { OUTPUTS = 6, TYPES = 4 };
static const gops_type outputs[OUTPUTS] = {GOPS_I32, GOPS_U8,  GOPS_I8,
                                           GOPS_F32, GOPS_F16, GOPS_BF16};

/* How often each was executed; types are those of data and filter. */
typedef struct counts {
    int64_t of[GOPS_TEST_OPERATIONS][GOPS_TEST_ALGORITHMS][GOPS_TEST_ISAS][TYPES][OUTPUTS];
    int64_t problems, executions, reshaped, cached;
} counts;

typedef struct trial {
    gops_problem problem;
    gops_random_quantization memory;
    gops_tensor output;
    gops_problem_buffers buffers;
    gops_reference_result result;
    gops_test_random random;
    counts *done;
    unsigned char *first; /* the first output, where the reference knows it only by a bound */
    int good;
} trial;

static char how_to_repeat[1600];

static void note_how_to_repeat(const gops_problem *problem, const char *name, int64_t number)
{
    gops_problem_text text;
    snprintf(how_to_repeat, sizeof how_to_repeat,
             "repeat with: GROUPOPS_TEST_SEED=%" PRIu64 " GROUPOPS_TEST_CASE=%s "
             "GROUPOPS_TEST_RANDOM=%" PRId64 " test_random_quantized    # groupops plan %s\n",
             gops_test_seed(), name, number, gops_problem_describe(problem, &text));
}

/* A crash is told like any other failure. */
static void on_signal(int number)
{
    ssize_t written = write(STDERR_FILENO, how_to_repeat, strlen(how_to_repeat));
    signal(number, SIG_DFL);
    raise(written < 0 ? SIGABRT : number);
}

static int types_of(const gops_problem *p)
{
    return (p->data.type == GOPS_U8 ? 2 : 0) + (p->filter.type == GOPS_U8 ? 1 : 0);
}

static int output_of(gops_type type)
{
    int found = 0;
    while (found < OUTPUTS - 1 && outputs[found] != type)
        found++;
    return found;
}

static void count(trial *t, const gops_plan *plan)
{
    const gops_problem *p = &t->problem;
    gops_plan_info info = {.size = sizeof info};
    gops_plan_get_info(plan, &info, NULL);
    t->done->of[p->operation][gops_test_algorithm(info.algorithm)][gops_test_isa()][types_of(p)]
               [output_of(p->output_type)]++;
    t->done->executions++;
}

/* Every output has the bits of the first one. */
static int same_bits(trial *t)
{
    const size_t bytes =
        (size_t)gops_test_elements(&t->output) * gops_test_type_bytes(t->output.type);
    if (t->result.exact)
        return 1;
    if (t->first == NULL) {
        t->first = gops_test_allocate(bytes);
        memcpy(t->first, t->buffers.output.memory, bytes);
    }
    return gops_test_compare_bytes("other bits than the first", &t->output,
                                   t->buffers.output.memory, t->first);
}

/* On an output that holds garbage, with a workspace of its own or the plan's. */
static int execute(trial *t, gops_problem problem, const gops_plan *plan, const gops_plan *packer)
{
    gops_plan_info info = {.size = sizeof info};
    gops_error error = {GOPS_OK, ""};
    gops_test_guarded workspace = {NULL, NULL, 0};
    gops_plan_get_info(plan, &info, NULL);
    const int own = info.workspace_bytes > 0 && gops_test_random_chance(&t->random, 25);
    if (own) /* a workspace that ends at a page is aligned if its size is */
        workspace = gops_test_guarded_create((info.workspace_bytes + GOPS_WORKSPACE_ALIGNMENT - 1) /
                                             GOPS_WORKSPACE_ALIGNMENT * GOPS_WORKSPACE_ALIGNMENT);
    memset(t->buffers.output.memory, 0xa5,
           (size_t)gops_test_elements(&t->output) * gops_test_type_bytes(t->output.type));
    problem.packer = packer;
    const gops_status status = gops_problem_execute(
        &problem, plan, &t->buffers, own ? &workspace : NULL, info.workspace_bytes, &error);
    if (own)
        gops_test_guarded_destroy(&workspace);
    count(t, plan);
    return gops_test_check(status == GOPS_OK, "%s: execute: %s", gops_isa(), error.message) &&
           gops_test_check(gops_problem_compare(&problem, &t->result, t->buffers.output.memory),
                           "wrong values on %s by %s (%s)", gops_isa(), info.algorithm, info.why) &&
           gops_test_check(same_bits(t), "%s by %s (%s)", gops_isa(), info.algorithm, info.why);
}

/* By a reshape of a plan for other data, which packs the filter; some come from a cache. */
static int execute_reshaped(trial *t)
{
    gops_problem own = t->problem, other = t->problem;
    gops_plan *from, *plan = NULL;
    gops_plan_cache *cache = NULL;
    const gops_plan *kept = NULL;
    gops_error error = {GOPS_OK, ""};
    int good = 1;
    other.data = gops_random_other_data(&t->problem, &t->random);
    gops_problem_share_strides(&own, &other);
    if (gops_problem_plan(&other, &from, NULL) != GOPS_OK)
        return 1; /* such data may not be legal, or not be served */
    const int cached = gops_test_random_chance(&t->random, 30) &&
                       gops_plan_cache_create(from, 1, &cache, &error) == GOPS_OK;
    const gops_status status =
        cached ? gops_plan_cache_get(cache, &t->problem.data, NULL, &kept, &error)
               : gops_plan_reshape(from, &t->problem.data, NULL, &plan, &error);
    good = gops_test_check(status == GOPS_OK || status == GOPS_UNSUPPORTED, "not reshaped: %s",
                           error.message);
    if (status == GOPS_OK) {
        good = execute(t, own, cached ? kept : plan, from);
        t->done->reshaped++;
        t->done->cached += cached;
    }
    if (kept != NULL)
        gops_plan_cache_release(cache, kept);
    gops_plan_cache_destroy(cache);
    gops_plan_destroy(plan);
    gops_plan_destroy(from);
    return good;
}

/* Within a budget or, where that is refused, without one. */
static gops_status make_plan(gops_problem *problem, gops_plan **plan, gops_error *error)
{
    const gops_status status = gops_problem_plan(problem, plan, error);
    if (status != GOPS_INVALID || strstr(error->message, "max_workspace") == NULL)
        return status;
    problem->max_workspace = GOPS_UNLIMITED;
    return gops_problem_plan(problem, plan, error);
}

/* By one algorithm, which may be refused for the shape unless it is auto or gemm. */
static int run_algorithm(trial *t, const char *algorithm)
{
    gops_problem *p = &t->problem;
    gops_plan *plan;
    gops_error error = {GOPS_OK, ""};
    p->algorithm = algorithm;
    p->threads = gops_test_random_chance(&t->random, 75) ? 1 : 3;
    p->max_workspace = gops_random_budget(&t->random);
    const gops_status status = make_plan(p, &plan, &error);
    if (status == GOPS_UNSUPPORTED && algorithm != NULL && strcmp(algorithm, "gemm") != 0)
        return 1;
    if (!gops_test_check(status == GOPS_OK, "%s: refused: %s", gops_isa(), error.message))
        return 0;
    int good = execute(t, *p, plan, NULL);
    if (good && gops_test_random_chance(&t->random, 10))
        good = execute_reshaped(t);
    gops_plan_destroy(plan);
    return good;
}

/* Each tap of 16 pixels, 16 outputs and 64 inputs takes the emulation of AMX a whole tile: without
 * optimization, and by MemorySanitizer, thousands of them take minutes. */
static int is_for_real_amx(const trial *t)
{
    enum { MAX_TILES = 2000, TILE_PIXELS = 16, TILE_OUTPUTS = 16, TILE_INPUTS = 64 };
    const gops_problem *p = &t->problem;
    const int64_t *filter = p->filter.dims;
    const int input = p->operation == GOPS_PROBLEM_DECONV ? 1 : 2, output = 3 - input;
    int64_t tiles =
        filter[0] * (filter[input] / TILE_INPUTS + 1) * (filter[output] / TILE_OUTPUTS + 1);
    int64_t pixels = t->output.dims[0];
    for (int32_t i = 2; i < t->output.rank; i++) {
        tiles *= filter[i + 1];
        pixels *= t->output.dims[i];
    }
    return strcmp(gops_isa(), "amx_emulated") == 0 &&
           tiles * (pixels / TILE_PIXELS + 1) > MAX_TILES;
}

static void run_isa(void *context)
{
    trial *t = context;
    if (is_for_real_amx(t))
        return;
    if (t->good)
        t->good = run_algorithm(t, NULL);
    for (int i = 0; t->good && gops_algorithm_name(i) != NULL; i++)
        t->good = run_algorithm(t, gops_algorithm_name(i));
}

static int run_problem(trial *t)
{
    gops_reference_geometry g;
    gops_problem_reference_shape(&t->problem, &g, &t->output);
    t->buffers = gops_problem_buffers_create(&t->problem, &t->output, &t->random);
    gops_random_quantized_values(&t->problem, &t->memory, &t->output, &t->buffers, &t->random);
    if (gops_test_random_chance(&t->random, 50))
        gops_random_tie(&t->problem, &t->buffers, &t->random);
    gops_problem_reference(&t->problem, &t->buffers, &t->result);
    t->good = 1;
    gops_test_every_isa(run_isa, t);
    free(t->first);
    gops_reference_result_destroy(&t->result);
    gops_problem_buffers_destroy(&t->buffers);
    return t->good;
}

/* A case: its problems are of the two operations in turn. */
typedef struct kind {
    const char *name;
    int stream; /* of random numbers, from 0 */
    gops_random_shape shape;
    gops_problem_operation operations[2];
    int64_t count;
    int witness; /* the first of the two of every_plan.h that are like its problems; -1: none is */
} kind;

typedef struct cells {
    const kind *kind;
    const counts *done;
} cells;

/* What an algorithm that serves this witness has executed: from every pair of types, to every type. */
static void check_cells(const counts *done, gops_problem_operation operation, int witness,
                        int algorithm)
{
    gops_problem p = gops_test_witness(operation, GOPS_U8, witness);
    gops_plan *plan;
    p.output_type = GOPS_U8;
    p.algorithm = gops_algorithm_name(algorithm);
    const int serves = gops_problem_plan(&p, &plan, NULL) == GOPS_OK;
    gops_plan_destroy(plan);
    for (int n = 0; serves && n < TYPES * OUTPUTS; n++)
        gops_test_check(
            done->of[operation][algorithm][gops_test_isa()][n / OUTPUTS][n % OUTPUTS] > 0,
            "%s was not executed on %s with %s data, %s filter, %s output", p.algorithm, gops_isa(),
            n / OUTPUTS / 2 != 0 ? "u8" : "i8", n / OUTPUTS % 2 != 0 ? "u8" : "i8",
            gops_test_type_name(outputs[n % OUTPUTS]));
}

static void check_isa(void *context)
{
    const cells *c = context;
    for (int n = 0; gops_algorithm_name(n / 4) != NULL; n++)
        check_cells(c->done, c->kind->operations[n % 2], c->kind->witness + n / 2 % 2, n / 4);
}

static void print_counts(const counts *done)
{
    printf("%" PRId64 " problems, %" PRId64 " executions, of them by", done->problems,
           done->executions);
    for (int a = 0; gops_algorithm_name(a) != NULL; a++) {
        int64_t times = 0;
        for (int n = 0; n < GOPS_TEST_OPERATIONS * GOPS_TEST_ISAS * TYPES * OUTPUTS; n++)
            times +=
                done->of[n / OUTPUTS / TYPES / GOPS_TEST_ISAS][a]
                        [n / OUTPUTS / TYPES % GOPS_TEST_ISAS][n / OUTPUTS % TYPES][n % OUTPUTS];
        if (times > 0)
            printf(" %s %" PRId64 ",", gops_algorithm_name(a), times);
    }
    printf(" reshaped %" PRId64 " (%" PRId64 " from a cache): ", done->reshaped, done->cached);
}

static int64_t usual_count;

static void run(const kind *k)
{
    static trial t;
    static counts done;
    const int64_t only = gops_test_environment_number("GROUPOPS_TEST_RANDOM", -1);
    const int64_t all = gops_test_environment_number("GROUPOPS_TEST_RANDOM_COUNT", usual_count);
    const int64_t wanted = (k->count * all + ALL - 1) / ALL;
    int failures = 0;
    memset(&done, 0, sizeof done);
    for (int64_t i = 0; i < wanted && failures < MAX_FAILURES; i++) {
        if (only >= 0 && i != only)
            continue;
        memset(&t, 0, sizeof t);
        t.done = &done;
        t.random = gops_test_random_start(gops_test_seed(), (uint64_t)(i * KINDS + k->stream));
        t.problem = gops_random_quantized(k->operations[i % 2], k->shape, &t.memory, &t.random);
        note_how_to_repeat(&t.problem, k->name, i);
        if (!run_problem(&t)) {
            printf("%s", how_to_repeat);
            failures++;
        }
        done.problems++;
    }
    print_counts(&done);
    gops_test_check(done.problems > 0, "no problem was run");
    if (failures != 0 || only >= 0 || all < ALL)
        return;
    gops_test_check(done.problems >= k->count, "%" PRId64 " problems", done.problems);
    cells c = {k, &done};
    if (k->witness >= 0)
        gops_test_every_isa(check_isa, &c);
}

static void conv(void)
{
    run(&(kind){"conv", 0, GOPS_RANDOM_ANY, {GOPS_PROBLEM_CONV, GOPS_PROBLEM_CONV}, CONV, 2});
}

static void deconv(void)
{
    run(&(kind){
        "deconv", 1, GOPS_RANDOM_ANY, {GOPS_PROBLEM_DECONV, GOPS_PROBLEM_DECONV}, DECONV, 2});
}

static void depthwise(void)
{
    run(&(kind){"depthwise",
                2,
                GOPS_RANDOM_DEPTHWISE,
                {GOPS_PROBLEM_CONV, GOPS_PROBLEM_DECONV},
                DEPTHWISE,
                0});
}

static void large(void)
{
    run(&(kind){
        "large", 4, GOPS_RANDOM_LARGE, {GOPS_PROBLEM_CONV, GOPS_PROBLEM_DECONV}, LARGE, -1});
}

static void deep(void)
{
    run(&(kind){"deep", 3, GOPS_RANDOM_DEEP, {GOPS_PROBLEM_CONV, GOPS_PROBLEM_DECONV}, DEEP, -1});
}

int main(void)
{
    signal(SIGSEGV, on_signal);
    signal(SIGBUS, on_signal);
    signal(SIGFPE, on_signal);
    static const gops_test_case cases[] = {{"conv", conv},           {"deconv", deconv},
                                           {"depthwise", depthwise}, {"large", large},
                                           {"deep", deep},           {NULL, NULL}};
    const int of_isa = getenv("GROUPOPS_ISA") != NULL && getenv("GROUPOPS_TEST_RANDOM") == NULL;
    usual_count = of_isa ? ALL_OF_ISA : ALL;
    return gops_test_main("random quantized problems", cases);
}
