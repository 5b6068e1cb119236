/*
 * Every buffer of an execution against an unmapped page, at its end and at its beginning:
 * operations by algorithms (all their forms) by types by instruction sets, with plain tensors, with
 * slices of larger ones, with gaps between channels, with the residual in place, and with reshaped plans. Inputs cannot be written;
 * what lies between a buffer and the other page must stay as it was; the results must be right. Besides
 * random problems, the witnesses of every_plan.h go through each cell that the library serves.
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

#include "guard_buffers.h"
#include "layout_sizes.h"
#include "problem_quantization.h"
#include "random_quantized.h"
#include "elements.h"
#include "every_plan.h"
#include "harness.h"

enum { SHORT_COUNT = 6, ENDS = 2 };

/* The data's; the last ones are quantized. */
static const gops_type types[] = {GOPS_F64, GOPS_F32, GOPS_F16, GOPS_BF16, GOPS_F8E4M3, GOPS_F8E5M2,
                                  GOPS_I8,  GOPS_I16, GOPS_I32, GOPS_I64,  GOPS_U8,     GOPS_U16,
                                  GOPS_U32, GOPS_U64, GOPS_I8,  GOPS_U8,   GOPS_I8,     GOPS_U8};
enum { ROWS = sizeof types / sizeof types[0], QUANTIZED = 4, REAL_TYPES = 6 };

/* The filter's, output's and residual's types of their witnesses. */
static const gops_type quantized_types[QUANTIZED][3] = {{GOPS_U8, GOPS_I32, GOPS_I32},
                                                        {GOPS_I8, GOPS_U8, GOPS_I8},
                                                        {GOPS_I8, GOPS_F16, GOPS_U8},
                                                        {GOPS_U8, GOPS_I8, GOPS_I8}};

typedef enum way { PLAIN, SLICES, APART, IN_PLACE, RESHAPED, WAYS } way;

static const char *const way_names[WAYS] = {"plain", "slices", "channels apart", "in place",
                                            "reshaped"};
static const char *const operation_names[] = {"conv", "deconv", "norm"};

/* How often each cell was executed. */
typedef int64_t cells[ROWS][GOPS_TEST_ALGORITHMS][GOPS_TEST_ISAS][ENDS][WAYS];

typedef struct trial {
    gops_problem *problem;
    gops_problem_buffers given;
    gops_reference_result result;
    gops_tensor output;
    gops_tensor other_data; /* of the plan that is reshaped */
    gops_random_quantization memory;
    gops_fence_heap heap;
    int row;
    way way;
    int64_t executions;
    cells done;
    gops_test_tally tally;
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

/* By the algorithm that was asked for, whose packing a reshaped plan has. */
static void count(trial *t, const gops_plan *plan)
{
    const int algorithm = gops_test_algorithm(t->problem->algorithm);
    t->done[t->row][algorithm][gops_test_isa()][t->heap.end][t->way]++;
    gops_test_count(&t->tally, t->problem, plan);
    t->executions++;
}

static int run_packed(trial *t, const gops_plan *plan, const gops_plan *packer)
{
    gops_error error = {GOPS_OK, ""};
    gops_plan_info info = {.size = sizeof info};
    gops_plan_get_info(plan, &info, NULL);
    gops_guard_set set =
        gops_guard_set_create(t->problem, &t->given, &t->output, info.workspace_bytes, t->heap.end);
    const gops_status status = gops_guard_set_execute(&set, plan, packer, &error);
    void *dense = gops_test_allocate((size_t)gops_test_elements(&t->output) *
                                     gops_test_type_bytes(t->output.type));
    int good = gops_test_check(status == GOPS_OK, "%s: %s", current, error.message);
    good = gops_guard_set_check(&set, current, dense) && good;
    good =
        good && gops_test_check(gops_problem_compare(t->problem, &t->result, dense), "%s", current);
    free(dense);
    gops_guard_set_destroy(&set);
    count(t, plan);
    return good;
}

/* The plan by way of one for other data, whose filter it takes. */
static int run_reshaped(trial *t)
{
    gops_problem other = *t->problem;
    gops_plan *first, *plan = NULL;
    int good = 1;
    other.data = t->other_data;
    if (gops_problem_plan(&other, &first, NULL) == GOPS_OK &&
        gops_plan_reshape(first, &t->problem->data, NULL, &plan, NULL) == GOPS_OK)
        good = run_packed(t, plan, first);
    gops_plan_destroy(plan);
    gops_plan_destroy(first);
    return good;
}

static int run_plan(void *context, const gops_plan *plan)
{
    trial *t = context;
    gops_problem_text text;
    gops_problem_describe(t->problem, &text);
    snprintf(current, sizeof current, "%s, %s, %s end, %s", text.text, gops_isa(),
             t->heap.end == GOPS_FENCE_LOW ? "low" : "high", way_names[t->way]);
    return t->way == RESHAPED ? run_reshaped(t) : run_packed(t, plan, plan);
}

static void set_way(gops_problem *problem, way how)
{
    problem->data_gap = how == SLICES ? 3 : 0;
    problem->output_gap = how == SLICES ? 5 : 0;
    problem->residual_gap = how == SLICES ? 67 : 0;
    problem->data_channel_gap = how == APART ? 7 : 0;
    problem->output_channel_gap = how == APART || how == IN_PLACE ? 11 : 0;
    problem->residual_in_place =
        how == IN_PLACE && problem->with_residual && gops_problem_fits_in_place(problem);
}

static void run_problem(gops_problem *problem, way how, trial *t, gops_test_random *random)
{
    gops_reference_geometry g;
    gops_host host = gops_fence_host(&t->heap);
    problem->threads = 2;
    problem->host = &host;
    t->problem = problem;
    t->way = how;
    t->other_data = gops_random_other_data(problem, random);
    set_way(problem, how);
    gops_problem_reference_shape(problem, &g, &t->output);
    t->given = gops_problem_buffers_create(problem, &t->output, random);
    /* A filter that is executed by the definition instead. */
    if (t->given.weights.memory != NULL && gops_test_type_is_real(problem->filter.type) &&
        gops_test_elements(&problem->filter) > 0 && gops_test_random_chance(random, 25))
        gops_test_set_real(problem->filter.type, t->given.weights.memory, 0, NAN);
    gops_problem_reference(problem, &t->given, &t->result);
    for (int end = 0; end < ENDS; end++) {
        t->heap.end = end == 0 ? GOPS_FENCE_LOW : GOPS_FENCE_HIGH;
        gops_test_every_plan(problem, run_plan, t);
    }
    gops_test_check(!t->heap.broken, "%s: wrote around a plan or a filter", current);
    gops_reference_result_destroy(&t->result);
    gops_problem_buffers_destroy(&t->given);
}

/* With arrays for each of the channels, of a witness. */
static void quantize(gops_problem *problem, int row)
{
    enum { MOST = 67 };
    static int64_t zeros[MOST];
    static float scales[MOST];
    const int out = problem->operation == GOPS_PROBLEM_DECONV ? 2 : 1;
    const gops_type *of = quantized_types[row - (ROWS - QUANTIZED)];
    for (int i = 0; i < MOST; i++) {
        zeros[i] = i + 3;
        scales[i] = 0.001F * (float)(1 + i % 7);
    }
    problem->filter.type = of[0];
    problem->output_type = of[1];
    problem->residual_type = of[2];
    problem->data_zero_point = &zeros[2];
    problem->quantization = (gops_quantization)GOPS_QUANTIZATION_INIT;
    problem->filter_zero_points = zeros;
    problem->quantization.filter_scales = scales;
    problem->filter_zero_point_count = problem->quantization.filter_scales_count =
        problem->filter.dims[0] * problem->filter.dims[out];
}

/* Problem `index` of those of which every algorithm takes one; rank 0 where there are no more. */
static gops_problem witness(gops_problem_operation operation, int row, int index)
{
    gops_problem p = gops_test_witness(operation, types[row], index);
    if (row >= ROWS - QUANTIZED && p.data.rank > 0)
        quantize(&p, row);
    return p;
}

/* Whether the algorithm takes any of them, by the instruction set in use. */
static int is_offered(gops_problem_operation operation, int row, const char *algorithm)
{
    int taken = 0;
    for (int i = 0; !taken && witness(operation, row, i).data.rank > 0; i++) {
        gops_problem p = witness(operation, row, i);
        gops_plan *plan;
        p.algorithm = algorithm;
        taken = gops_problem_plan(&p, &plan, NULL) == GOPS_OK;
        gops_plan_destroy(plan);
    }
    return taken;
}

/* What check_isa looks at. */
typedef struct table {
    gops_problem_operation operation;
    int rows;
    const trial *of;
    int64_t filled;
} table;

/* Every cell of the instruction set in use. */
static void check_isa(void *context)
{
    table *c = context;
    for (int n = 0; gops_algorithm_name(n / c->rows) != NULL; n++) {
        const int a = n / c->rows, row = n % c->rows, isa = gops_test_isa();
        for (int k = 0; is_offered(c->operation, row, gops_algorithm_name(a)) && k < ENDS * WAYS;
             k++) {
            const int done = c->of->done[row][a][isa][k / WAYS][k % WAYS] > 0;
            c->filled += done;
            gops_test_check(done, "nothing executed: %s, %s, type %s%s, %s, %s end, %s",
                            operation_names[c->operation], gops_algorithm_name(a),
                            gops_test_type_name(types[row]),
                            row >= ROWS - QUANTIZED ? ", quantized" : "", gops_isa(),
                            k / WAYS == GOPS_FENCE_LOW ? "low" : "high", way_names[k % WAYS]);
        }
    }
}

static void run_operation(gops_problem_operation operation)
{
    static trial t;
    gops_test_random random = gops_test_random_start(gops_test_seed(), 81 + (uint64_t)operation);
    const int norm = operation == GOPS_PROBLEM_NORM, rows = norm ? REAL_TYPES : ROWS;
    memset(&t, 0, sizeof t);
    for (t.row = 0; t.row < rows; t.row++) {
        for (int n = 0; witness(operation, t.row, n / WAYS).data.rank > 0; n++) {
            gops_problem problem = witness(operation, t.row, n / WAYS);
            run_problem(&problem, (way)(n % WAYS), &t, &random);
        }
        for (int64_t n = 0;
             n < gops_test_environment_number("GROUPOPS_TEST_GUARD_COUNT", SHORT_COUNT) *
                     (norm ? 3 : 1);
             n++) {
            gops_problem problem = gops_random_problem(operation, types[t.row], &random);
            gops_random_relax(&problem, &random);
            problem.max_workspace = gops_random_budget(&random);
            if (t.row >= ROWS - QUANTIZED)
                gops_random_quantize(&problem, &t.memory, &random);
            else
                gops_random_fusion(&problem, &random);
            run_problem(&problem, (way)(n % WAYS), &t, &random);
        }
    }
    table whole = {operation, rows, &t, 0};
    gops_test_every_isa(check_isa, &whole);
    gops_test_check_tally(&t.tally, operation, NULL);
    printf("%" PRId64 " cells, %" PRId64 " executions: ", whole.filled, t.executions);
}

static void conv(void)
{
    run_operation(GOPS_PROBLEM_CONV);
}

static void deconv(void)
{
    run_operation(GOPS_PROBLEM_DECONV);
}

static void norm(void)
{
    run_operation(GOPS_PROBLEM_NORM);
}

/* Channels of exactly as many elements as the store takes at a time, too. */
static void norm_of_whole_blocks(void)
{
    static trial t;
    gops_test_random random = gops_test_random_start(gops_test_seed(), 84);
    for (t.row = 0; t.row < REAL_TYPES; t.row++)
        for (int residual = 0; residual < 2; residual++) {
            gops_problem problem = {.operation = GOPS_PROBLEM_NORM,
                                    .data = GOPS_TEST_TENSOR(types[t.row], 3, 4, 16, 16),
                                    .norm = {2, 1e-3},
                                    .with_residual = residual};
            run_problem(&problem, PLAIN, &t, &random);
        }
    gops_test_check(t.executions > 0, "nothing was executed");
}

/* Rows of every length up to two vectors and more, which is where masks, moved lanes and tails end;
 * the last time with as many output channels as share a vector with neighbouring outputs. */
static void every_width(void)
{
    static trial t;
    gops_test_random random = gops_test_random_start(gops_test_seed(), 85);
    for (int64_t width = 1; width <= 37; width++) {
        for (int64_t taps = 1 + width % 3; taps <= 7; taps += 3) {
            const gops_problem_operation operation =
                taps % 2 == 0 ? GOPS_PROBLEM_DECONV : GOPS_PROBLEM_CONV;
            const int64_t pad = taps / 2, stride = operation == GOPS_PROBLEM_DECONV ? 2 : 1;
            t.row = (int)(width + taps) % 3; /* f64, f32, f16 */
            gops_problem p = gops_test_witness(operation, types[t.row], 0);
            p.data = GOPS_TEST_TENSOR(types[t.row], 1, t.row == 2 ? 19 : 3, 1 + width % 9, width);
            p.filter = GOPS_TEST_TENSOR(types[t.row], p.data.dims[1], 1, 1, taps, taps);
            p.conv.pads_begin = p.conv.pads_end = p.deconv.pads_begin = (gops_list){2, {pad, pad}};
            p.conv.strides = p.deconv.strides = (gops_list){2, {stride, stride}};
            run_problem(&p, width % 2 == 0 ? PLAIN : IN_PLACE, &t, &random);
            p = gops_test_witness(operation, types[t.row], 0);
            p.data = GOPS_TEST_TENSOR(types[t.row], 2, 5, 3, width);
            p.filter = operation == GOPS_PROBLEM_CONV
                           ? (gops_tensor)GOPS_TEST_TENSOR(types[t.row], 1, 19, 5, taps, 1)
                           : (gops_tensor)GOPS_TEST_TENSOR(types[t.row], 1, 5, 19, taps, 3);
            p.conv.pads_begin = p.conv.pads_end = (gops_list){2, {pad, 0}};
            run_problem(&p, (way)(width % 3), &t, &random); /* PLAIN, SLICES, APART */
            p.conv.strides = (gops_list){2, {1, 2}};
            p.filter.dims[operation == GOPS_PROBLEM_CONV ? 1 : 2] = 8 * (1 + width % 7);
            run_problem(&p, PLAIN, &t, &random);
        }
        t.row = (int)(width % 2); /* f64, f32 */
        gops_problem p = gops_test_witness(GOPS_PROBLEM_CONV, types[t.row], GOPS_TEST_RELAXED);
        p.data.dims[2] = 1 + width % 9;
        p.data.dims[3] = width;
        run_problem(&p, (way)(width % 3), &t, &random);
    }
    gops_test_check_tally(&t.tally, GOPS_PROBLEM_CONV, NULL);
    gops_test_check_tally(&t.tally, GOPS_PROBLEM_DECONV, NULL);
    printf("%" PRId64 " executions: ", t.executions);
}

/* One role of `size`: 0 channels of the input, 1 of the output, 2 groups. */
static gops_problem of_layout(int64_t size, int role, gops_type type, int64_t taps)
{
    const gops_problem_operation operation =
        taps > 1 && size % 2 == 0 ? GOPS_PROBLEM_DECONV : GOPS_PROBLEM_CONV;
    const int64_t groups = role == 2 ? size : 1, in = role == 0 ? size : 2;
    const int64_t out = role == 1 ? size : 3, pad = taps / 2;
    gops_problem p = gops_test_witness(operation, type, 0);
    p.data = GOPS_TEST_TENSOR(type, 1, role == 2 ? groups : in, 3, 7);
    p.filter = (gops_tensor)GOPS_TEST_TENSOR(type, groups, 1, 1, taps, taps);
    if (role != 2) {
        p.filter.dims[1] = operation == GOPS_PROBLEM_CONV ? out : in;
        p.filter.dims[2] = operation == GOPS_PROBLEM_CONV ? in : out;
    }
    p.conv.pads_begin = p.conv.pads_end = p.deconv.pads_begin = (gops_list){2, {pad, pad}};
    return p;
}

/* Channels and groups as many as some layout has, one less and one more; with what the kernels do
 * to their sums themselves, and with what is done behind them. */
static void every_layout(void)
{
    static trial t;
    gops_test_random random = gops_test_random_start(gops_test_seed(), 86);
    for (int64_t i = 0; i < GOPS_LAYOUT_SIZES; i++)
        for (int n = 0; n < 3 * 4; n++) {
            static const int rows[] = {0, 1, 1}; /* f64, f32: what kernels of 1 are for */
            const int64_t taps = n % 4 == 3 ? 3 : 1;
            t.row = taps == 1 ? rows[n % 4] : (int)(i % (ROWS - QUANTIZED));
            gops_problem p = of_layout(gops_layout_size(i), n / 4, types[t.row], taps);
            if (gops_test_type_is_real(types[t.row]))
                p.activation.kind = n % 4 == 1 ? GOPS_ACTIVATION_RELU : GOPS_ACTIVATION_TANH;
            run_problem(&p, n % 4 == 2 ? APART : PLAIN, &t, &random);
        }
    printf("%" PRId64 " executions: ", t.executions);
}

/* Kernels of 1 with many channels, whose planes are cut: the last piece may be less than a vector. */
static void last_box(void)
{
    static trial t;
    gops_test_random random = gops_test_random_start(gops_test_seed(), 87);
    static const int64_t planes[][2] = {{13, 13}, {11, 15}, {1, 139}};
    for (t.row = 0; t.row < ROWS - QUANTIZED; t.row++) {
        for (int i = 0; i < 3 && gops_test_type_bytes(types[t.row]) >= sizeof(float); i++) {
            gops_problem p = gops_test_witness(GOPS_PROBLEM_CONV, types[t.row], 0);
            p.data = GOPS_TEST_TENSOR(types[t.row], 1, 768, planes[i][0], planes[i][1]);
            p.filter = (gops_tensor)GOPS_TEST_TENSOR(types[t.row], 1, 8, 768, 1, 1);
            p.conv.pads_begin = p.conv.pads_end = (gops_list){2, {0, 0}};
            run_problem(&p, PLAIN, &t, &random);
            run_problem(&p, APART, &t, &random);
        }
    }
    printf("%" PRId64 " executions: ", t.executions);
}

/* Else a table without its cells would pass. */
static void every_algorithm(void)
{
    gops_test_check_witnesses();
}

int main(void)
{
    signal(SIGSEGV, on_signal);
    signal(SIGBUS, on_signal);
    static const gops_test_case cases[] = {{"conv", conv},
                                           {"deconv", deconv},
                                           {"norm", norm},
                                           {"norm_of_whole_blocks", norm_of_whole_blocks},
                                           {"every_width", every_width},
                                           {"every_layout", every_layout},
                                           {"last_box", last_box},
                                           {"every_algorithm", every_algorithm},
                                           {NULL, NULL}};
    return gops_test_main("guard pages", cases);
}
