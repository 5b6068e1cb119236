/*
 * Fields that an operation does not use, filled with what an earlier call or nobody has left there:
 * each is ignored, so that the outputs have the same bits, or refused by name, as groupops/plan.h
 * says at the struct. Pointers go to memory that ends the program when it is read or written, and
 * to a packed filter with a NaN, which is executed in a way of its own.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "problem.h"
#include "refusal.h"
#include "elements.h"
#include "harness.h"

enum { OPERATIONS = 3, MAX_PATTERNS = 16 };

typedef enum role { USED, IGNORED, REFUSED } role;

typedef struct field {
    const char *name;
    size_t offset, bytes;
    role roles[OPERATIONS]; /* by gops_problem_operation */
} field;

#define FIELD(type, member, conv, deconv, norm)                                                    \
    {                                                                                              \
#member, offsetof(type, member), sizeof((type){0}.member),                                 \
        {                                                                                          \
            conv, deconv, norm                                                                     \
        }                                                                                          \
    }
#define ARGUMENT(...) FIELD(gops_arguments, __VA_ARGS__)
#define OPTION(...) FIELD(gops_options, __VA_ARGS__)

/* Of an execution in f32 without residual and workspace. */
static const field arguments_fields[] = {
    ARGUMENT(size, USED, USED, USED),
    ARGUMENT(data, USED, USED, USED),
    ARGUMENT(filter, USED, USED, IGNORED),
    ARGUMENT(scale, IGNORED, IGNORED, USED),
    ARGUMENT(bias, USED, USED, USED),
    ARGUMENT(output, USED, USED, USED),
    ARGUMENT(residual, USED, USED, USED),
    ARGUMENT(mean, REFUSED, REFUSED, USED),
    ARGUMENT(variance, REFUSED, REFUSED, USED),
    ARGUMENT(data_zero_point, REFUSED, REFUSED, REFUSED),
    ARGUMENT(workspace, USED, USED, USED),
    ARGUMENT(workspace_bytes, IGNORED, IGNORED, IGNORED),
    ARGUMENT(data_stride, USED, USED, USED),
    ARGUMENT(output_stride, USED, USED, USED),
    ARGUMENT(residual_stride, IGNORED, IGNORED, IGNORED),
    ARGUMENT(slopes, IGNORED, IGNORED, IGNORED),
    ARGUMENT(moments, REFUSED, REFUSED, USED),
};
enum { ARGUMENTS = sizeof arguments_fields / sizeof arguments_fields[0] };

/* Of a plan for f32 by an algorithm's name, with an activation that takes neither alpha nor beta. */
static const field options_fields[] = {
    OPTION(size, USED, USED, USED),
    OPTION(algorithm, USED, USED, USED),
    OPTION(threads, USED, USED, USED),
    OPTION(max_workspace, USED, USED, USED),
    OPTION(host, USED, USED, USED),
    OPTION(output_type, REFUSED, REFUSED, REFUSED),
    OPTION(saturate, IGNORED, IGNORED, IGNORED),
    OPTION(activation.kind, USED, USED, USED),
    OPTION(activation.alpha, IGNORED, IGNORED, IGNORED),
    OPTION(activation.beta, IGNORED, IGNORED, IGNORED),
    OPTION(choices, IGNORED, IGNORED, IGNORED),
    OPTION(residual_type, REFUSED, REFUSED, REFUSED),
    OPTION(accuracy, USED, USED, USED),
    OPTION(residual_after_activation, IGNORED, IGNORED, IGNORED),
    OPTION(divisible, IGNORED, IGNORED, IGNORED),
    OPTION(moments, REFUSED, REFUSED, USED),
    OPTION(data_channel_stride, USED, USED, USED),
    OPTION(output_channel_stride, USED, USED, USED),
};
enum { OPTIONS = sizeof options_fields / sizeof options_fields[0] };

/* What is left behind, as 64 bits; a shorter field takes the lower ones. */
typedef struct patterns {
    int64_t bits[MAX_PATTERNS];
    int count;
} patterns;

static void *forbidden; /* a page that cannot be read */
static gops_plan *other_plan;
static gops_packed_filter *other_filter; /* with a NaN, packed for a plan of its own */

static void add(patterns *list, int64_t bits)
{
    list->bits[list->count++] = bits;
}

static patterns hostile(void)
{
    patterns list = {.count = 0};
    const double large = 1e300, negative = -1e308;
    int64_t bits;
    add(&list, 1);
    add(&list, -1);                             /* as a double: NaN */
    add(&list, INT64_MIN + ((int64_t)1 << 31)); /* INT64_MIN, and INT32_MIN below */
    add(&list, INT64_MAX);
    add(&list, (int64_t)(intptr_t)forbidden);
    add(&list, (int64_t)(intptr_t)forbidden + 1);
    add(&list, (int64_t)(intptr_t)other_filter);
    memcpy(&bits, &large, sizeof bits);
    add(&list, bits);
    memcpy(&bits, &negative, sizeof bits);
    add(&list, bits);
    return list;
}

static void fill(void *given, const field *f, int64_t bits)
{
    const int32_t low = (int32_t)bits;
    unsigned char *at = (unsigned char *)given + f->offset;
    if (f->bytes == sizeof low)
        memcpy(at, &low, sizeof low);
    else if (f->bytes == sizeof(bool))
        *at = bits != 0; /* a bool holds nothing else */
    else
        memcpy(at, &bits, f->bytes);
}

/* Every byte of the struct is some field's, but for what the alignment leaves between two. */
static void check_table(const char *name, const field *fields, int count, size_t bytes)
{
    size_t end = 0;
    for (int i = 0; i < count; i++) {
        gops_test_check(fields[i].offset >= end && fields[i].offset - end < fields[i].bytes,
                        "%s: what lies before %s is in no row", name, fields[i].name);
        end = fields[i].offset + fields[i].bytes;
    }
    gops_test_check(bytes - end < sizeof(int64_t), "%s: what lies behind %s is in no row", name,
                    fields[count - 1].name);
}

/* One operation with an algorithm, and its outputs when nothing was left behind. */
typedef struct subject {
    gops_problem problem;
    gops_problem_buffers buffers;
    gops_options options;
    gops_arguments arguments;
    gops_plan *plan;
    gops_packed_filter *filter;
    void *expected;
    size_t bytes;
    char name[64];
} subject;

static gops_problem describe(int operation)
{
    gops_problem p = {.operation = (gops_problem_operation)operation,
                      .data = GOPS_TEST_TENSOR(GOPS_F32, 2, 6, 11, 13),
                      .threads = 1};
    const gops_list strides = {2, {2, 1}};
    p.conv.strides = p.deconv.strides = strides;
    p.norm = (gops_norm_attributes){3, 1e-5};
    if (operation == GOPS_PROBLEM_CONV)
        p.filter = GOPS_TEST_TENSOR(GOPS_F32, 3, 5, 2, 3, 2);
    else if (operation == GOPS_PROBLEM_DECONV)
        p.filter = GOPS_TEST_TENSOR(GOPS_F32, 3, 2, 5, 3, 2);
    return p;
}

/* Returns 0 where the algorithm does not serve the operation. */
static int start(subject *s, int operation, const char *algorithm, gops_activation_kind kind)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), (uint64_t)kind);
    gops_reference_geometry g;
    gops_reference_result result;
    gops_tensor output;
    memset(s, 0, sizeof *s);
    s->problem = describe(operation);
    s->problem.algorithm = algorithm;
    s->problem.activation = (gops_activation){kind, 0.5, 1.5};
    s->options = gops_problem_options(&s->problem);
    if (gops_problem_plan_with(&s->problem, &s->options, &s->plan, NULL) != GOPS_OK)
        return 0;
    snprintf(s->name, sizeof s->name, "operation %d by %s, activation %d", operation, algorithm,
             (int)kind);
    gops_problem_reference_shape(&s->problem, &g, &output);
    s->buffers = gops_problem_buffers_create(&s->problem, &output, &random);
    s->bytes = (size_t)gops_test_elements(&output) * sizeof(float);
    s->arguments = (gops_arguments){.size = sizeof s->arguments,
                                    .data = s->buffers.data.memory,
                                    .output = s->buffers.output.memory};
    if (operation == GOPS_PROBLEM_NORM) {
        s->arguments.scale = s->buffers.scale.memory;
        s->arguments.bias = s->buffers.bias.memory;
    } else {
        gops_test_check(gops_filter_create(s->plan, s->buffers.weights.memory, NULL, &s->filter,
                                           NULL) == GOPS_OK,
                        "%s: no filter", s->name);
        s->arguments.filter = s->filter;
    }
    gops_problem_reference(&s->problem, &s->buffers, &result);
    gops_test_check(gops_execute(s->plan, &s->arguments, NULL) == GOPS_OK &&
                        gops_problem_compare(&s->problem, &result, s->arguments.output),
                    "%s: with nothing left behind", s->name);
    gops_reference_result_destroy(&result);
    s->expected = memcpy(gops_test_allocate(s->bytes), s->arguments.output, s->bytes);
    return 1;
}

static void stop(subject *s)
{
    gops_filter_destroy(s->filter);
    gops_plan_destroy(s->plan);
    gops_problem_buffers_destroy(&s->buffers);
    free(s->expected);
}

/* Executes the plan and looks at what came out. */
static void expect_same(const subject *s, const gops_plan *plan, const gops_arguments *arguments,
                        const char *what)
{
    gops_error error = gops_fresh_error();
    memset(s->arguments.output, 0xff, s->bytes);
    gops_test_check(gops_execute(plan, arguments, &error) == GOPS_OK &&
                        memcmp(s->arguments.output, s->expected, s->bytes) == 0,
                    "%s, %s: another output, or refused: %s", s->name, what, error.message);
}

static void expect_refused(const subject *s, const field *f, gops_status got,
                           const gops_error *error)
{
    const char *dot = strchr(f->name, '.');
    gops_test_check((got == GOPS_INVALID || got == GOPS_UNSUPPORTED) && error->status == got &&
                        strstr(error->message, dot != NULL ? dot + 1 : f->name) != NULL,
                    "%s, %s: not refused by name: \"%s\"", s->name, f->name, error->message);
}

static void try_arguments(const subject *s)
{
    const patterns list = hostile();
    for (int i = 0; i < list.count; i++) {
        gops_arguments all = s->arguments;
        for (int k = 0; k < ARGUMENTS; k++) {
            const field *f = &arguments_fields[k];
            gops_arguments a = s->arguments;
            gops_error error = gops_fresh_error();
            fill(&a, f, list.bits[i]);
            if (f->roles[s->problem.operation] == REFUSED)
                expect_refused(s, f, gops_execute(s->plan, &a, &error), &error);
            if (f->roles[s->problem.operation] != IGNORED)
                continue;
            fill(&all, f, list.bits[i]);
            expect_same(s, s->plan, &a, f->name);
        }
        expect_same(s, s->plan, &all, "all at once");
    }
}

/* Whether an activation has its own use for the field. */
static int takes(gops_activation_kind kind, const char *name)
{
    if (strcmp(name, "activation.alpha") == 0)
        return kind == GOPS_ACTIVATION_CLAMP || kind == GOPS_ACTIVATION_LEAKY_RELU ||
               kind == GOPS_ACTIVATION_SWISH || kind == GOPS_ACTIVATION_ELU ||
               kind == GOPS_ACTIVATION_HARD_SIGMOID;
    return strcmp(name, "activation.beta") == 0 &&
           (kind == GOPS_ACTIVATION_CLAMP || kind == GOPS_ACTIVATION_HARD_SIGMOID);
}

static void try_options(const subject *s)
{
    const patterns list = hostile();
    for (int i = 0; i < list.count; i++)
        for (int k = 0; k < OPTIONS; k++) {
            const field *f = &options_fields[k];
            const role r = f->roles[s->problem.operation];
            gops_options o = s->options;
            gops_error error = gops_fresh_error();
            gops_plan *plan;
            if (r == USED || takes(o.activation.kind, f->name))
                continue;
            fill(&o, f, list.bits[i]);
            const gops_status got = gops_problem_plan_with(&s->problem, &o, &plan, &error);
            if (r == REFUSED) {
                expect_refused(s, f, got, &error);
            } else if (gops_test_check(got == GOPS_OK, "%s, %s: refused: %s", s->name, f->name,
                                       error.message)) {
                expect_same(s, plan, &s->arguments, f->name);
            }
            gops_plan_destroy(plan);
        }
}

static void with_every_subject(void (*run)(const subject *s), int last_kind)
{
    int served = 0;
    for (int operation = 0; operation < OPERATIONS; operation++)
        for (int a = 0; gops_algorithm_name(a) != NULL; a++)
            for (int kind = 0; kind <= last_kind; kind++) {
                subject s;
                if (start(&s, operation, gops_algorithm_name(a), (gops_activation_kind)kind)) {
                    run(&s);
                    stop(&s);
                    served |= 1 << operation;
                }
            }
    gops_test_check(served == (1 << OPERATIONS) - 1, "operations %d were tried", served);
}

static void of_arguments(void)
{
    check_table("gops_arguments", arguments_fields, ARGUMENTS, sizeof(gops_arguments));
    with_every_subject(try_arguments, GOPS_ACTIVATION_NONE);
}

static void of_options(void)
{
    check_table("gops_options", options_fields, OPTIONS, sizeof(gops_options));
    with_every_subject(try_options, GOPS_ACTIVATION_HARD_SIGMOID);
}

static void pollute_list(gops_list *list)
{
    for (int i = list->count; i < GOPS_MAX_SPATIAL; i++)
        list->values[i] = INT64_MIN + i;
}

static void pollute_tensor(gops_tensor *tensor)
{
    for (int i = tensor->rank; i < GOPS_MAX_RANK; i++)
        tensor->dims[i] = -1 - i;
}

/* What lies behind a list's count and a descriptor's rank; and pads that auto_pad replaces. */
static void try_beyond(const subject *s)
{
    subject p = *s;
    gops_plan_cache *cache;
    const gops_plan *first, *second;
    pollute_tensor(&p.problem.data);
    pollute_tensor(&p.problem.filter);
    gops_list *const lists[] = {&p.problem.conv.strides,        &p.problem.conv.pads_begin,
                                &p.problem.conv.pads_end,       &p.problem.conv.dilations,
                                &p.problem.deconv.strides,      &p.problem.deconv.pads_begin,
                                &p.problem.deconv.pads_end,     &p.problem.deconv.dilations,
                                &p.problem.deconv.output_shape, &p.problem.deconv.output_padding};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        pollute_list(lists[i]);
    gops_error error = gops_fresh_error();
    if (!gops_test_check(gops_problem_plan_with(&p.problem, &p.options, &p.plan, &error) == GOPS_OK,
                         "%s: %s", s->name, error.message))
        return;
    expect_same(s, p.plan, &s->arguments, "beyond counts and ranks");
    gops_test_check(
        gops_plan_cache_create(p.plan, 3, &cache, NULL) == GOPS_OK &&
            gops_plan_cache_get(cache, &p.problem.data, NULL, &first, NULL) == GOPS_OK &&
            gops_plan_cache_get(cache, &s->problem.data, NULL, &second, NULL) == GOPS_OK &&
            first == second,
        "%s: the cache took one shape for two", s->name);
    expect_same(s, first, &s->arguments, "from a cache");
    gops_plan_cache_release(cache, first);
    gops_plan_cache_release(cache, second);
    gops_plan_cache_destroy(cache);
    gops_plan_destroy(p.plan);
}

static void beyond_counts(void)
{
    with_every_subject(try_beyond, GOPS_ACTIVATION_NONE);
}

static int start_other(void)
{
    const gops_tensor data = GOPS_TEST_TENSOR(GOPS_F32, 1, 2, 7);
    const gops_tensor filter = GOPS_TEST_TENSOR(GOPS_F32, 1, 3, 2, 3);
    const float weights[18] = {1, 2, 3, 5, NAN, 7, 11};
    return gops_conv_plan_create(&data, &filter, NULL, NULL, &other_plan, NULL) == GOPS_OK &&
           gops_filter_create(other_plan, weights, NULL, &other_filter, NULL) == GOPS_OK;
}

int main(void)
{
    static const gops_test_case cases[] = {{"of_arguments", of_arguments},
                                           {"of_options", of_options},
                                           {"beyond_counts", beyond_counts},
                                           {NULL, NULL}};
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    forbidden = mmap(NULL, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (forbidden == MAP_FAILED || !start_other()) {
        fprintf(stderr, "no page to forbid, or no filter with a NaN\n");
        return EXIT_FAILURE;
    }
    const int status = gops_test_main("leftovers", cases);
    gops_filter_destroy(other_filter);
    gops_plan_destroy(other_plan);
    munmap(forbidden, page);
    return status;
}
