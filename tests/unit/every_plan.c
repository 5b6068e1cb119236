/* every_plan.c: goes through the instruction sets and algorithms that serve a problem. */
#include "every_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

static int64_t every_algorithm(gops_problem *problem, gops_test_each *each, void *context,
                               int *stopped)
{
    const char *const wanted = problem->algorithm;
    int64_t plans = 0;
    for (int i = 0; !*stopped && gops_algorithm_name(i) != NULL; i++) {
        gops_plan *plan;
        problem->algorithm = gops_algorithm_name(i);
        if (gops_problem_plan(problem, &plan, NULL) == GOPS_OK) {
            plans++;
            *stopped = !each(context, plan);
        }
        gops_plan_destroy(plan);
    }
    problem->algorithm = wanted;
    return plans;
}

bool gops_test_isa_runs(const char *isa)
{
    bool runs = false;
    for (int i = 0; gops_isa_name(i, NULL) != NULL; i++)
        if (strcmp(gops_isa_name(i, NULL), isa) == 0)
            gops_isa_name(i, &runs);
    return runs;
}

static void skip_unless_runs(void)
{
    if (gops_isa() == NULL)
        gops_test_skip("%s does not run on this processor", getenv("GROUPOPS_ISA"));
}

bool gops_test_every_isa(void (*run)(void *context), void *context)
{
    bool runs, all = true;
    if (getenv("GROUPOPS_ISA") != NULL) {
        skip_unless_runs();
        run(context);
        return gops_isa_name(1, NULL) == NULL;
    }
    for (int i = 0; gops_isa_name(i, &runs) != NULL; i++) {
        all = all && runs;
        if (runs) {
            setenv("GROUPOPS_ISA", gops_isa_name(i, NULL), 1);
            run(context);
        }
    }
    unsetenv("GROUPOPS_ISA");
    return all;
}

typedef struct every {
    gops_problem *problem;
    gops_test_each *each;
    void *context;
    int stopped;
    int64_t plans;
} every;

static void plan_all(void *context)
{
    every *e = context;
    if (!e->stopped)
        e->plans += every_algorithm(e->problem, e->each, e->context, &e->stopped);
}

int64_t gops_test_every_plan(gops_problem *problem, gops_test_each *each, void *context)
{
    every e = {problem, each, context, 0, 0};
    gops_test_every_isa(plan_all, &e);
    return e.plans;
}

int gops_test_algorithm(const char *name)
{
    for (int i = 0; i < GOPS_TEST_ALGORITHMS && gops_algorithm_name(i) != NULL; i++)
        if (strcmp(gops_algorithm_name(i), name) == 0)
            return i;
    fprintf(stderr, "%s is not listed, or beyond %d\n", name, GOPS_TEST_ALGORITHMS);
    exit(EXIT_FAILURE);
}

int gops_test_isa(void)
{
    int found = 0;
    while (found < GOPS_TEST_ISAS - 1 && gops_isa_name(found, NULL) != NULL &&
           strcmp(gops_isa_name(found, NULL), gops_isa()) != 0)
        found++;
    return found;
}

void gops_test_count(gops_test_tally *tally, const gops_problem *problem, const gops_plan *plan)
{
    gops_plan_info info = {.size = sizeof info};
    gops_plan_get_info(plan, &info, NULL);
    tally->times[problem->operation][gops_test_algorithm(info.algorithm)][gops_test_isa()]++;
}

/* Of one channel a group, few and many groups; kernels of 1; several channels a group, exact and
 * relaxed, or transposed with kernels of twice the stride. Widths of no round number. */
gops_problem gops_test_witness(gops_problem_operation operation, gops_type type, int index)
{
    static const int64_t sizes[][5] = {/* groups, C_IN, C_OUT, kernel, width */
                                       {3, 1, 1, 3, 37},
                                       {67, 1, 1, 3, 7},
                                       {2, 5, 7, 1, 11},
                                       {2, 3, 5, 3, 13},
                                       {2, 3, 5, 3, 13}};
    const int counts[] = {5, 5, 1}; /* by operation */
    gops_problem p = {.operation = operation};
    if (index >= counts[operation])
        return p;
    const int deconv = operation == GOPS_PROBLEM_DECONV;
    const int64_t *size = sizes[index], pad = size[3] / 2;
    const int64_t kernel = deconv && index == GOPS_TEST_RELAXED ? 4 : size[3];
    p.data = (gops_tensor){type, 4, {2, size[0] * size[1], 5, size[4]}};
    p.accuracy = index == GOPS_TEST_RELAXED ? GOPS_ACCURACY_RELAXED : GOPS_ACCURACY_EXACT;
    p.with_residual = 1;
    p.norm = (gops_norm_attributes){3, 1e-3};
    if (operation != GOPS_PROBLEM_NORM) {
        p.filter = (gops_tensor){
            type, 5, {size[0], size[deconv ? 1 : 2], size[deconv ? 2 : 1], kernel, kernel}};
        p.with_bias = 1;
    }
    p.conv.pads_begin = p.conv.pads_end = p.deconv.pads_begin = (gops_list){2, {pad, pad}};
    p.deconv.strides = (gops_list){2, {2, 2}};
    return p;
}

/* Whether `whole` is the name, or begins with it and a slash; NULL: any is. */
static bool is_named(const char *whole, const char *name)
{
    const size_t length = name != NULL ? strlen(name) : 0;
    return name == NULL ||
           (strncmp(whole, name, length) == 0 && (whole[length] == '\0' || whole[length] == '/'));
}

/* Where each algorithm serves a witness. */
typedef struct served {
    gops_problem_operation operation;
    gops_test_tally by;
} served;

static void count_served(served *s, gops_problem problem)
{
    for (int a = 0; gops_algorithm_name(a) != NULL; a++) {
        gops_plan *plan;
        problem.algorithm = gops_algorithm_name(a);
        if (gops_problem_plan(&problem, &plan, NULL) == GOPS_OK)
            gops_test_count(&s->by, &problem, plan);
        gops_plan_destroy(plan);
    }
}

static void find_served(void *context)
{
    served *s = context;
    for (int w = 0; gops_test_witness(s->operation, GOPS_F32, w).data.rank > 0; w++)
        count_served(s, gops_test_witness(s->operation, GOPS_F32, w));
}

/* The same of quantized witnesses. */
static void find_quantized(void *context)
{
    served *s = context;
    for (int w = 0; gops_test_witness(s->operation, GOPS_U8, w).data.rank > 0; w++) {
        gops_problem problem = gops_test_witness(s->operation, GOPS_U8, w);
        problem.output_type = GOPS_U8;
        if (s->operation != GOPS_PROBLEM_NORM)
            count_served(s, problem);
    }
}

/* What serves the witnesses of the operation; kept while GROUPOPS_ISA is what it was, for it takes some hundred
 * plans. */
static const served *all_served(gops_problem_operation operation, bool quantized)
{
    static struct {
        bool is_known;
        char isa[64];
        served by;
    } all_kept[GOPS_TEST_OPERATIONS][2], *kept;
    const char *isa = getenv("GROUPOPS_ISA");
    isa = isa != NULL ? isa : "";
    kept = &all_kept[operation][quantized];
    if (kept->is_known && strcmp(kept->isa, isa) == 0)
        return &kept->by;
    kept->is_known = false;
    snprintf(kept->isa, sizeof kept->isa, "%s", isa);
    kept->by = (served){.operation = operation};
    gops_test_every_isa(find_served, &kept->by);
    if (quantized)
        gops_test_every_isa(find_quantized, &kept->by);
    kept->is_known = true;
    return &kept->by;
}

void gops_test_check_tally(const gops_test_tally *tally, gops_problem_operation operation,
                           const char *name)
{
    const served *s = all_served(operation, name != NULL);
    for (int n = 0; gops_algorithm_name(n / GOPS_TEST_ISAS) != NULL; n++) {
        const int a = n / GOPS_TEST_ISAS, isa = n % GOPS_TEST_ISAS;
        if (is_named(gops_algorithm_name(a), name))
            gops_test_check(
                s->by.times[operation][a][isa] == 0 || tally->times[operation][a][isa] > 0,
                "%s was not executed on %s", gops_algorithm_name(a), gops_isa_name(isa, NULL));
    }
}

/* Adds what serves a witness of any operation, `quantized` ones too. */
static void find_all_served(gops_test_tally *by, bool quantized)
{
    for (int i = 0; i < GOPS_TEST_OPERATIONS; i++) {
        served s = {.operation = (gops_problem_operation)i};
        gops_test_every_isa(find_served, &s);
        if (quantized)
            gops_test_every_isa(find_quantized, &s);
        memcpy(by->times[i], s.by.times[i], sizeof by->times[i]);
    }
}

static bool is_counted(const gops_test_tally *by, int algorithm)
{
    int64_t times = 0;
    for (int n = 0; n < GOPS_TEST_OPERATIONS * GOPS_TEST_ISAS; n++)
        times += by->times[n / GOPS_TEST_ISAS][algorithm][n % GOPS_TEST_ISAS];
    return times > 0;
}

/* Whether an instruction set has kernels for the form. */
static bool has_form(const char *isa, const char *name)
{
    const bool amx = strcmp(isa, "amx") == 0, avx512 = amx || strncmp(isa, "avx512", 6) == 0;
    const bool vnni = amx || (avx512 && strcmp(isa, "avx512") != 0);
    return strcmp(name, "depthwise/shuffle") == 0    ? avx512
           : strcmp(name, "depthwise/permuted") == 0 ? vnni
           : strcmp(name, "depthwise/masked") == 0   ? avx512 || strncmp(isa, "avx2", 4) == 0
                                                     : true;
}

void gops_test_check_witnesses(void)
{
    static const struct {
        gops_problem_operation operation;
        const char *name;
    } served_by[] = {
        {GOPS_PROBLEM_CONV, "gemm"},
        {GOPS_PROBLEM_CONV, "implicit"},
        {GOPS_PROBLEM_CONV, "implicit/blocked"},
        {GOPS_PROBLEM_CONV, "direct"},
        {GOPS_PROBLEM_CONV, "pointwise/pixels"},
        {GOPS_PROBLEM_CONV, "pointwise/channels"},
        {GOPS_PROBLEM_CONV, "winograd/f2"},
        {GOPS_PROBLEM_CONV, "winograd/f4"},
        {GOPS_PROBLEM_CONV, "depthwise/blocked"},
        {GOPS_PROBLEM_CONV, "depthwise/shuffle"},
        {GOPS_PROBLEM_CONV, "depthwise/masked"},
        {GOPS_PROBLEM_CONV, "depthwise/permuted"},
        {GOPS_PROBLEM_CONV, "depthwise/pairs"},
        {GOPS_PROBLEM_CONV, "depthwise/rows"},
        {GOPS_PROBLEM_DECONV, "gemm"},
        {GOPS_PROBLEM_DECONV, "subconv"},
        {GOPS_PROBLEM_DECONV, "winograd/f3"},
        {GOPS_PROBLEM_DECONV, "depthwise/blocked"},
        {GOPS_PROBLEM_DECONV, "depthwise/shuffle"},
        {GOPS_PROBLEM_DECONV, "depthwise/rows"},
        {GOPS_PROBLEM_DECONV, "depthwise/permuted"},
        {GOPS_PROBLEM_DECONV, "depthwise/pairs"},
        {GOPS_PROBLEM_NORM, "norm"},
    };
    enum { ROWS = sizeof served_by / sizeof served_by[0] };
    const char *isa, *only = getenv("GROUPOPS_ISA");
    gops_test_tally by;
    bool runs;
    find_all_served(&by, true);
    for (int a = 0; gops_algorithm_name(a) != NULL; a++) {
        size_t row = 0;
        while (row < ROWS && strcmp(served_by[row].name, gops_algorithm_name(a)) != 0)
            row++;
        gops_test_check(row < ROWS, "%s is in no row", gops_algorithm_name(a));
    }
    for (int i = 0; (isa = gops_isa_name(i, &runs)) != NULL; i++)
        for (size_t row = 0; row < ROWS && runs && (only == NULL || strcmp(isa, only) == 0); row++)
            gops_test_check(
                by.times[served_by[row].operation][gops_test_algorithm(served_by[row].name)][i] >
                        0 ||
                    !has_form(isa, served_by[row].name),
                "%s serves no witness of operation %d on %s", served_by[row].name,
                (int)served_by[row].operation, isa);
}

const char *gops_test_left_out(const gops_test_tally *tally)
{
    gops_test_tally by;
    find_all_served(&by, false);
    for (int a = 0; gops_algorithm_name(a) != NULL; a++)
        if (is_counted(&by, a) && !is_counted(tally, a))
            return gops_algorithm_name(a);
    return NULL;
}

typedef struct results {
    gops_problem *problem;
    const char *name;
    gops_problem_buffers buffers;
    gops_reference_result expected;
    gops_test_tally *tally;
} results;

int gops_test_one_result(gops_problem *problem, const gops_plan *plan,
                         gops_problem_buffers *buffers, gops_reference_result *expected)
{
    gops_problem_text text;
    gops_error error = {GOPS_OK, ""};
    gops_plan_info info = {.size = sizeof info};
    gops_plan_get_info(plan, &info, NULL);
    gops_problem_clear_output(problem, buffers);
    const gops_status status = gops_problem_execute(problem, plan, buffers, NULL, 0, &error);
    return gops_test_check(status == GOPS_OK, "%s: %s", gops_problem_describe(problem, &text),
                           error.message) &&
           gops_test_check(gops_problem_compare(problem, expected, buffers->output.memory),
                           "%s, %s", gops_isa(), info.why);
}

static int check_one(void *context, const gops_plan *plan)
{
    results *r = context;
    if (!is_named(r->problem->algorithm, r->name))
        return 1;
    gops_test_count(r->tally, r->problem, plan);
    return gops_test_one_result(r->problem, plan, &r->buffers, &r->expected);
}

/* Puts a gap behind each channel, for one problem in four. */
static int draw_channel_gaps(gops_problem *problem, gops_test_random *random)
{
    const int drawn = gops_test_random_chance(random, 25);
    if (drawn) {
        problem->data_channel_gap = gops_test_random_range(random, 1, 97);
        problem->output_channel_gap = gops_test_random_range(random, 1, 97);
    }
    return drawn;
}

int gops_test_every_result(gops_problem *problem, const char *name, gops_test_random *random,
                           gops_test_tally *tally)
{
    results r = {.problem = problem, .name = name, .tally = tally};
    gops_reference_geometry g;
    gops_tensor output;
    if (!gops_problem_reference_shape(problem, &g, &output))
        return 0;
    r.buffers = gops_problem_buffers_create(problem, &output, random);
    gops_problem_reference(problem, &r.buffers, &r.expected);
    gops_test_every_plan(problem, check_one, &r);
    gops_problem apart = *problem;
    r.problem = &apart;
    if (draw_channel_gaps(&apart, random))
        gops_test_every_plan(&apart, check_one, &r);
    gops_reference_result_destroy(&r.expected);
    gops_problem_buffers_destroy(&r.buffers);
    return 1;
}

int gops_test_reshaped_result(gops_problem packed, gops_problem problem, gops_test_random *random)
{
    gops_plan *packer, *plan;
    gops_reference_geometry geometry;
    gops_reference_result result;
    gops_tensor output;
    if (draw_channel_gaps(&problem, random)) {
        packed.data_channel_gap = problem.data_channel_gap;
        packed.output_channel_gap = problem.output_channel_gap;
        gops_problem_share_strides(&packed, &problem);
    }
    if (gops_problem_plan(&packed, &packer, NULL) != GOPS_OK)
        return 0;
    const gops_status status = gops_plan_reshape(packer, &problem.data, NULL, &plan, NULL);
    const bool same = memcmp(&packed.data, &problem.data, sizeof problem.data) == 0;
    gops_test_check(status == GOPS_OK || (status == GOPS_UNSUPPORTED && !same),
                    "the plan of %s is not reshaped", problem.algorithm);
    if (status == GOPS_OK) {
        gops_problem_reference_shape(&problem, &geometry, &output);
        gops_problem_buffers buffers = gops_problem_buffers_create(&problem, &output, random);
        gops_problem_reference(&problem, &buffers, &result);
        problem.packer = packer;
        gops_test_one_result(&problem, plan, &buffers, &result);
        gops_reference_result_destroy(&result);
        gops_problem_buffers_destroy(&buffers);
    }
    gops_plan_destroy(plan);
    gops_plan_destroy(packer);
    return status == GOPS_OK;
}

void gops_test_keep_isa(void)
{
    skip_unless_runs();
    setenv("GROUPOPS_ISA", gops_isa(), 1);
}
