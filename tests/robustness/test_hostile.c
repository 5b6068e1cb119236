/*
 * Hostile numbers: every pair of fields of a descriptor or an attribute at values around 0, 2^31
 * and the ends of int64_t. A problem is refused, or its shape is what the reference finds in
 * 128-bit integers; refusing allocates nothing, and a plan is all that is allocated for what is
 * accepted.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "problem.h"
#include "refusal.h"
#include "elements.h"
#include "harness.h"

static const int64_t values[] = {0,         1,
                                 2,         -1,
                                 INT32_MAX, (int64_t)INT32_MAX + 1,
                                 INT64_MAX, (int64_t)INT32_MAX + 2,
                                 INT64_MIN, 3037000500 /* its square is just above 2^63 */};
enum { VALUES = sizeof values / sizeof values[0], MAX_FIELDS = 40, AXES = 2 };

/* The numbers of a problem. */
typedef struct fields {
    int64_t *at[MAX_FIELDS];
    int count;
} fields;

static void add(fields *f, int64_t *numbers, int count)
{
    for (int i = 0; i < count; i++)
        f->at[f->count++] = &numbers[i];
}

static void add_list(fields *f, gops_list *list, int64_t value)
{
    list->count = AXES;
    for (int i = 0; i < AXES; i++)
        list->values[i] = value;
    add(f, list->values, AXES);
}

static void collect_conv(gops_problem *p, fields *f)
{
    p->data = GOPS_TEST_TENSOR(GOPS_F32, 2, 6, 11, 13);
    p->filter = GOPS_TEST_TENSOR(GOPS_F32, 3, 5, 2, 3, 2);
    add(f, p->data.dims, p->data.rank);
    add(f, p->filter.dims, p->filter.rank);
    add_list(f, &p->conv.strides, 1);
    add_list(f, &p->conv.pads_begin, 1);
    add_list(f, &p->conv.pads_end, 1);
    add_list(f, &p->conv.dilations, 1);
}

static void collect_deconv(gops_problem *p, fields *f, int with_shape)
{
    p->data = GOPS_TEST_TENSOR(GOPS_F32, 2, 6, 11, 13);
    p->filter = GOPS_TEST_TENSOR(GOPS_F32, 3, 2, 5, 3, 2);
    add(f, p->data.dims, p->data.rank);
    add(f, p->filter.dims, p->filter.rank);
    add_list(f, &p->deconv.strides, 2);
    add_list(f, &p->deconv.pads_begin, 1);
    add_list(f, &p->deconv.pads_end, 1);
    add_list(f, &p->deconv.dilations, 1);
    add_list(f, &p->deconv.output_padding, 1);
    if (with_shape)
        add_list(f, &p->deconv.output_shape, 20);
}

static void collect_norm(gops_problem *p, fields *f)
{
    p->data = GOPS_TEST_TENSOR(GOPS_F32, 2, 6, 11, 13);
    p->norm = (gops_norm_attributes){3, 1e-5};
    add(f, p->data.dims, p->data.rank);
    add(f, &p->norm.num_groups, 1);
}

typedef struct tally {
    int64_t tried, accepted, executed;
    double worst; /* milliseconds of processor time for one problem; printed, not asserted */
} tally;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* Executes one in eight of those that are small, whatever their strides, dilations and pads are. */
static void execute(const gops_problem *problem, const gops_shape *shape, tally *t)
{
    enum { MAX_ELEMENTS = 20000 };
    gops_test_random random = gops_test_random_start(gops_test_seed(), (uint64_t)t->tried);
    size_t data, filter = 0, output;
    gops_reference_result result;
    if (t->accepted % 8 != 0 || gops_tensor_bytes(&problem->data, &data, NULL) != GOPS_OK ||
        gops_tensor_bytes(&shape->output, &output, NULL) != GOPS_OK ||
        (problem->operation != GOPS_PROBLEM_NORM &&
         gops_tensor_bytes(&problem->filter, &filter, NULL) != GOPS_OK) ||
        data > MAX_ELEMENTS || output > MAX_ELEMENTS || filter > MAX_ELEMENTS)
        return;
    gops_problem_buffers buffers = gops_problem_buffers_create(problem, &shape->output, &random);
    gops_problem_reference(problem, &buffers, &result);
    gops_test_check(gops_problem_run(problem, &buffers, NULL) == GOPS_OK &&
                        gops_problem_compare(problem, &result, buffers.output.memory),
                    "a strange but legal problem");
    gops_reference_result_destroy(&result);
    gops_problem_buffers_destroy(&buffers);
    t->executed++;
}

/* What the heap hands out for a plan, at most. */
enum { PLAN_BYTES = 1 << 14 };

static void try_one(gops_problem *problem, tally *t)
{
    gops_test_heap heap;
    gops_problem_text text;
    gops_reference_geometry g;
    gops_tensor expected;
    gops_shape shape;
    gops_plan *plan;
    gops_error error = gops_fresh_error();
    gops_test_heap_start(&heap);
    const gops_host host = gops_test_heap_host(&heap);
    problem->host = &host;
    const double begun = now();
    const gops_status found = gops_problem_shape(problem, &shape, &error);
    gops_status planned = gops_problem_plan(problem, &plan, &error);
    if (planned == GOPS_INVALID && strstr(error.message, "max_workspace is ") != NULL) {
        /* An algorithm by its name may need more than the default. */
        problem->max_workspace = GOPS_UNLIMITED;
        planned = gops_problem_plan(problem, &plan, &error);
        problem->max_workspace = 0;
    }
    const double took = now() - begun;
    t->worst = took > t->worst ? took : t->worst;
    t->tried++;
    t->accepted += planned == GOPS_OK;
    gops_problem_describe(problem, &text);
    gops_test_check(found == planned || (found == GOPS_OK && planned != GOPS_INVALID),
                    "%s: the shape is \"%s\", the plan \"%s\" (%s)", text.text,
                    gops_status_name(found), gops_status_name(planned), error.message);
    if (planned != GOPS_OK)
        gops_test_check(
            plan == NULL && heap.calls == 0 && error.status == planned && error.message[0] != '\0',
            "%s: refused after %" PRId64 " allocations: %s", text.text, heap.calls, error.message);
    else
        gops_test_check(heap.calls == 1 && heap.peak_bytes <= PLAN_BYTES,
                        "%s: %" PRId64 " allocations of %zu bytes", text.text, heap.calls,
                        heap.peak_bytes);
    if (found == GOPS_OK)
        gops_test_check(gops_problem_reference_shape(problem, &g, &expected) &&
                            gops_test_same_dims(&shape.output, &expected),
                        "%s: another shape than the reference's", text.text);
    gops_plan_destroy(plan);
    gops_test_check(heap.live == 0, "%s: %" PRId64 " allocations left", text.text, heap.live);
    problem->host = NULL;
    if (planned == GOPS_OK)
        execute(problem, &shape, t);
}

/* All values of all pairs of fields, the others as they are. */
static void try_pairs(gops_problem *problem, const fields *f, tally *t)
{
    for (int i = 0; i < f->count; i++)
        for (int j = i + 1; j < f->count; j++) {
            const int64_t kept[2] = {*f->at[i], *f->at[j]};
            for (int v = 0; v < VALUES * VALUES; v++) {
                *f->at[i] = values[v / VALUES];
                *f->at[j] = values[v % VALUES];
                try_one(problem, t);
            }
            *f->at[i] = kept[0];
            *f->at[j] = kept[1];
        }
}

static void print(const tally *t)
{
    printf("%" PRId64 " problems, %" PRId64 " of them planned, the slowest in %.3f ms, %" PRId64
           " executed: ",
           t->tried, t->accepted, t->worst, t->executed);
    gops_test_check(t->accepted > 0 && t->executed > 0, "all are refused");
}

static void conv(void)
{
    tally t = {0};
    for (int pad = GOPS_AUTO_PAD_EXPLICIT; pad <= GOPS_AUTO_PAD_VALID; pad++) {
        gops_problem problem = {.operation = GOPS_PROBLEM_CONV};
        fields f = {.count = 0};
        collect_conv(&problem, &f);
        problem.conv.auto_pad = (gops_auto_pad)pad;
        try_pairs(&problem, &f, &t);
    }
    print(&t);
}

static void deconv(void)
{
    tally t = {0};
    for (int rule = GOPS_OUTPUT_SHAPE_SPEC; rule <= GOPS_OUTPUT_SHAPE_ONNX; rule++)
        for (int with_shape = 0; with_shape < 2; with_shape++) {
            gops_problem problem = {.operation = GOPS_PROBLEM_DECONV};
            fields f = {.count = 0};
            collect_deconv(&problem, &f, with_shape);
            problem.deconv.output_shape_rule = (gops_output_shape_rule)rule;
            problem.deconv.auto_pad =
                with_shape ? GOPS_AUTO_PAD_SAME_UPPER : GOPS_AUTO_PAD_EXPLICIT;
            try_pairs(&problem, &f, &t);
        }
    print(&t);
}

static void norm(void)
{
    tally t = {0};
    gops_problem problem = {.operation = GOPS_PROBLEM_NORM};
    fields f = {.count = 0};
    collect_norm(&problem, &f);
    try_pairs(&problem, &f, &t);
    print(&t);
}

/* The same for every algorithm by name, which must not count on what `auto` would not pick. */
static void by_name(void)
{
    tally t = {0};
    for (int a = 0; gops_algorithm_name(a) != NULL; a++)
        for (int operation = 0; operation < 2; operation++) {
            gops_problem problem = {.operation = (gops_problem_operation)operation,
                                    .accuracy = GOPS_ACCURACY_RELAXED}; /* winograd asks for it */
            fields f = {.count = 0};
            if (operation == GOPS_PROBLEM_CONV)
                collect_conv(&problem, &f);
            else
                collect_deconv(&problem, &f, 0);
            problem.algorithm = gops_algorithm_name(a);
            if (operation == GOPS_PROBLEM_CONV)
                problem.filter.dims[4] = 3;                     /* and for this */
            f.count = operation == GOPS_PROBLEM_CONV ? 13 : 11; /* each axis once is enough */
            try_pairs(&problem, &f, &t);
        }
    print(&t);
}

/* An allocator with a terabyte less than is asked for. */
static void *poor(void *context, size_t bytes, size_t alignment)
{
    return bytes < (size_t)1 << 30 ? gops_test_heap_allocate(context, bytes, alignment) : NULL;
}

/* Weights of 4 TiB, of which nothing is read when there is no memory for them. */
static void terabytes(void)
{
    gops_test_heap heap;
    gops_error error = gops_fresh_error();
    gops_plan *plan;
    gops_packed_filter *filter;
    static const float weights[1] = {0};
    char figure[32];
    if (sizeof(size_t) < 8)
        gops_test_skip("no size here reaches a terabyte");
    gops_test_heap_start(&heap);
    gops_host host = gops_test_heap_host(&heap);
    host.allocate = poor;
    gops_problem problem = {.operation = GOPS_PROBLEM_CONV,
                            .data = GOPS_TEST_TENSOR(GOPS_F32, 1, 1 << 20, 1, 1),
                            .filter = GOPS_TEST_TENSOR(GOPS_F32, 1, 1 << 20, 1 << 20, 1, 1),
                            .host = &host};
    gops_status status = gops_problem_plan(&problem, &plan, &error);
    gops_test_check(status == GOPS_OK, "no plan: %s", error.message);
    status = gops_filter_create(plan, weights, NULL, &filter, &error);
    gops_plan_info info = {.size = sizeof info};
    gops_plan_get_info(plan, &info, NULL);
    snprintf(figure, sizeof figure, "%zu", info.filter_bytes / 1000000 * 1000000);
    figure[7] = '\0'; /* the header makes the last digits */
    gops_test_check(status == GOPS_OUT_OF_MEMORY && filter == NULL &&
                        strstr(error.message, figure) != NULL,
                    "\"%s\" %s", gops_status_name(status), error.message);
    gops_plan_destroy(plan);
    gops_test_check(heap.live == 0, "%" PRId64 " allocations left", heap.live);
}

int main(void)
{
    static const gops_test_case cases[] = {{"conv", conv},           {"deconv", deconv},
                                           {"norm", norm},           {"by_name", by_name},
                                           {"terabytes", terabytes}, {NULL, NULL}};
    return gops_test_main("hostile numbers", cases);
}
