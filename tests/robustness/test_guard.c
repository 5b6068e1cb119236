/*
 * Every buffer of an execution against an unmapped page, at its end and at its beginning:
 * operations by algorithms by types by instruction sets, with plain tensors, with slices of larger
 * ones, with the residual in place, and with reshaped plans. Inputs cannot be written; what lies
 * between a buffer and the other page must stay as it was; the results must be right. Besides
 * random problems, one that every algorithm takes goes through each cell of that product, and no
 * cell may be left empty.
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
#include "random_problem.h"
#include "elements.h"
#include "every_plan.h"
#include "harness.h"

enum { SHORT_COUNT = 6, MAX_ALGORITHMS = 8, MAX_ISAS = 4, ENDS = 2 };

/* The last two with an i32 output and zero points: what quantized engines call. */
static const gops_type types[] = {GOPS_F64, GOPS_F32, GOPS_F16, GOPS_BF16, GOPS_F8E4M3, GOPS_F8E5M2,
                                  GOPS_I8,  GOPS_I16, GOPS_I32, GOPS_I64,  GOPS_U8,     GOPS_U16,
                                  GOPS_U32, GOPS_U64, GOPS_I8,  GOPS_U8};
enum { ROWS = sizeof types / sizeof types[0], QUANTIZED = 2, REAL_TYPES = 6 };

typedef enum form { PLAIN, SLICES, IN_PLACE, RESHAPED, FORMS } form;

static const char *const form_names[FORMS] = {"plain", "slices", "in place", "reshaped"};
static const char *const operation_names[] = {"conv", "deconv", "norm"};

/* Ways that a plan tells of in its `why`, of which each has kernels of its own; the first MASKED of
 * them where the instruction set has masks. */
static const char *const kernels[] = {
    "padding masked off",      "each row loaded once and its lanes moved",
    "every second output",     "one in each lane",
    "over padded blocks",      "a kernel of 1 on the input where it lies",
    "without taps on padding", "convolutions with stride 1",
    "vectors of pixels",       "single pixels",
};
enum { KERNELS = sizeof kernels / sizeof kernels[0], MASKED = 3 };

/* How often each cell was executed. */
typedef int64_t cells[ROWS][MAX_ALGORITHMS][MAX_ISAS][ENDS][FORMS];

typedef struct trial {
    gops_problem *problem;
    gops_problem_buffers given;
    gops_reference_result result;
    gops_tensor output;
    gops_tensor other_data; /* of the plan that is reshaped */
    gops_fence_heap heap;
    int row;
    form form;
    int64_t executions;
    cells done;
    int64_t of_kernels[KERNELS];
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

static int isa_index(void)
{
    for (int i = 0; i < MAX_ISAS && gops_isa_name(i, NULL) != NULL; i++)
        if (strcmp(gops_isa_name(i, NULL), gops_isa()) == 0)
            return i;
    return 0;
}

static void count(trial *t, const gops_plan_info *info)
{
    for (int i = 0; i < MAX_ALGORITHMS && gops_algorithm_name(i) != NULL; i++)
        if (strcmp(gops_algorithm_name(i), info->algorithm) == 0)
            t->done[t->row][i][isa_index()][t->heap.end][t->form]++;
    for (int i = 0; i < KERNELS; i++)
        t->of_kernels[i] += strstr(info->why, kernels[i]) != NULL;
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
    count(t, &info);
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
             t->heap.end == GOPS_FENCE_LOW ? "low" : "high", form_names[t->form]);
    return t->form == RESHAPED ? run_reshaped(t) : run_packed(t, plan, plan);
}

static void set_form(gops_problem *problem, form how)
{
    problem->data_gap = how == SLICES ? 3 : 0;
    problem->output_gap = how == SLICES ? 5 : 0;
    problem->residual_gap = how == SLICES ? 67 : 0;
    problem->residual_in_place = how == IN_PLACE && problem->with_residual;
}

static void run_problem(gops_problem *problem, form how, trial *t, gops_test_random *random)
{
    gops_reference_geometry g;
    gops_host host = gops_fence_host(&t->heap);
    problem->threads = 2;
    problem->host = &host;
    t->problem = problem;
    t->form = how;
    t->other_data = gops_random_other_data(problem, random);
    set_form(problem, how);
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

/* One channel a group, which every algorithm takes; bias and residual; widths of no round number.
 */
static gops_problem everyones(gops_problem_operation operation, gops_type type)
{
    gops_problem p = {.operation = operation, .with_residual = 1};
    p.data = GOPS_TEST_TENSOR(type, 2, 3, 5, 37);
    p.norm = (gops_norm_attributes){3, 1e-3};
    if (operation != GOPS_PROBLEM_NORM) {
        p.filter = GOPS_TEST_TENSOR(type, 3, 1, 1, 3, 3);
        p.with_bias = 1;
    }
    p.conv.pads_begin = p.conv.pads_end = (gops_list){2, {1, 1}};
    p.deconv.strides = (gops_list){2, {2, 2}};
    p.deconv.pads_begin = (gops_list){2, {1, 1}};
    return p;
}

/* The method table's promise; data with an output type of its own is for gemm alone. */
static int is_offered(gops_problem_operation operation, int row, const char *algorithm)
{
    if (row >= ROWS - QUANTIZED)
        return strcmp(algorithm, "gemm") == 0;
    return (operation == GOPS_PROBLEM_NORM) == (strcmp(algorithm, "twopass") == 0);
}

/* Every cell of the product, of the instruction sets that run here. */
static void check_cells(gops_problem_operation operation, int rows, const cells done)
{
    int64_t filled = 0;
    bool runs;
    for (int a = 0; gops_algorithm_name(a) != NULL; a++)
        for (int n = 0; n < rows * MAX_ISAS * ENDS * FORMS; n++) {
            const int f = n % FORMS, end = n / FORMS % ENDS, isa = n / FORMS / ENDS % MAX_ISAS;
            const int row = n / FORMS / ENDS / MAX_ISAS;
            const char *name = gops_isa_name(isa, &runs);
            if (!is_offered(operation, row, gops_algorithm_name(a)) || name == NULL || !runs ||
                (getenv("GROUPOPS_ISA") != NULL && strcmp(name, gops_isa()) != 0))
                continue;
            filled += done[row][a][isa][end][f] > 0;
            gops_test_check(done[row][a][isa][end][f] > 0,
                            "nothing executed: %s, %s, type %s%s, %s, %s end, %s",
                            operation_names[operation], gops_algorithm_name(a),
                            gops_test_type_name(types[row]),
                            row >= ROWS - QUANTIZED ? " to i32" : "", name,
                            end == GOPS_FENCE_LOW ? "low" : "high", form_names[f]);
        }
    printf("%" PRId64 " cells, ", filled);
}

/* Whether what needs an instruction set with masks is among what runs here. */
static int has_masks(void)
{
    bool runs = false;
    if (getenv("GROUPOPS_ISA") != NULL)
        return strcmp(gops_isa(), "avx512") == 0;
    for (int i = 0; gops_isa_name(i, NULL) != NULL; i++)
        if (strcmp(gops_isa_name(i, &runs), "avx512") == 0)
            return runs;
    return 0;
}

static void run_operation(gops_problem_operation operation)
{
    static const int64_t zeros[2] = {3, 7};
    static trial t;
    gops_test_random random = gops_test_random_start(gops_test_seed(), 81 + (uint64_t)operation);
    const int norm = operation == GOPS_PROBLEM_NORM, rows = norm ? REAL_TYPES : ROWS;
    memset(&t, 0, sizeof t);
    for (t.row = 0; t.row < rows; t.row++)
        for (int64_t n = 0; n < FORMS + problems_wanted() * (norm ? 3 : 1); n++) {
            const form how = (form)(n % FORMS);
            gops_problem problem = everyones(operation, types[t.row]);
            if (n >= FORMS) {
                problem = gops_random_problem(operation, types[t.row], &random);
                gops_random_fusion(&problem, &random);
                problem.max_workspace = gops_random_budget(&random);
            }
            if (t.row >= ROWS - QUANTIZED)
                quantize(&problem, zeros);
            run_problem(&problem, how, &t, &random);
        }
    check_cells(operation, rows, t.done);
    printf("%" PRId64 " executions: ", t.executions);
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

/* Rows of every length up to two vectors and more, which is where masks, moved lanes and tails end.
 */
static void every_width(void)
{
    static trial t;
    gops_test_random random = gops_test_random_start(gops_test_seed(), 85);
    for (int64_t width = 1; width <= 37; width++)
        for (int64_t taps = 1 + width % 3; taps <= 7; taps += 3) {
            const gops_problem_operation operation =
                taps % 2 == 0 ? GOPS_PROBLEM_DECONV : GOPS_PROBLEM_CONV;
            const int64_t pad = taps / 2, stride = operation == GOPS_PROBLEM_DECONV ? 2 : 1;
            t.row = (int)(width + taps) % 3; /* f64, f32, f16 */
            gops_problem p = everyones(operation, types[t.row]);
            p.data = GOPS_TEST_TENSOR(types[t.row], 1, t.row == 2 ? 19 : 3, 1 + width % 9, width);
            p.filter = GOPS_TEST_TENSOR(types[t.row], p.data.dims[1], 1, 1, taps, taps);
            p.conv.pads_begin = p.conv.pads_end = p.deconv.pads_begin = (gops_list){2, {pad, pad}};
            p.conv.strides = p.deconv.strides = (gops_list){2, {stride, stride}};
            run_problem(&p, width % 2 == 0 ? PLAIN : IN_PLACE, &t, &random);
            p = everyones(operation, types[t.row]);
            p.data = GOPS_TEST_TENSOR(types[t.row], 2, 5, 3, width);
            p.filter = operation == GOPS_PROBLEM_CONV
                           ? (gops_tensor)GOPS_TEST_TENSOR(types[t.row], 1, 19, 5, taps, 1)
                           : (gops_tensor)GOPS_TEST_TENSOR(types[t.row], 1, 5, 19, taps, 3);
            p.conv.pads_begin = p.conv.pads_end = (gops_list){2, {pad, 0}};
            run_problem(&p, width % 3 == 0 ? SLICES : PLAIN, &t, &random);
        }
    for (int i = has_masks() ? 0 : MASKED; i < KERNELS; i++)
        gops_test_check(t.of_kernels[i] > 0, "nothing executed: \"%s\"", kernels[i]);
    printf("%" PRId64 " executions: ", t.executions);
}

/* One role of `size`: 0 channels of the input, 1 of the output, 2 groups. */
static gops_problem of_layout(int64_t size, int role, gops_type type, int64_t taps)
{
    const gops_problem_operation operation =
        taps > 1 && size % 2 == 0 ? GOPS_PROBLEM_DECONV : GOPS_PROBLEM_CONV;
    const int64_t groups = role == 2 ? size : 1, in = role == 0 ? size : 2;
    const int64_t out = role == 1 ? size : 3, pad = taps / 2;
    gops_problem p = everyones(operation, type);
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
            run_problem(&p, PLAIN, &t, &random);
        }
    printf("%" PRId64 " executions: ", t.executions);
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
                                           {NULL, NULL}};
    return gops_test_main("guard pages", cases);
}
