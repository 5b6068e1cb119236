/*
 * gops_plan_part: every brick of a convolution's outputs, computed from the brick of data that it
 * reads, has the bits that the whole has, by every algorithm on every instruction set.
 */
#include <stdlib.h>
#include <string.h>

#include "elements.h"
#include "every_plan.h"
#include "harness.h"
#include "random_problem.h"
#include "refusal.h"

enum { ROUNDS = 40, BRICKS = 3, MAX_MULTIPLIES = 300000 };

static const gops_type types[] = {GOPS_F32, GOPS_F64, GOPS_BF16, GOPS_F32, GOPS_I8};
enum { TYPES = sizeof types / sizeof types[0] };

/* A range on each axis of a tensor. */
typedef struct brick {
    int32_t rank;
    int64_t begin[GOPS_MAX_RANK], end[GOPS_MAX_RANK];
} brick;

static gops_tensor shape_of(const brick *b, gops_type type)
{
    gops_tensor shape = {type, b->rank, {0}};
    for (int32_t i = 0; i < b->rank; i++)
        shape.dims[i] = b->end[i] - b->begin[i];
    return shape;
}

/* Copies the brick out of a tensor into a dense one. */
static void *cut_out(const gops_tensor *whole, const void *elements, const brick *b)
{
    const gops_tensor shape = shape_of(b, whole->type);
    const int64_t count = gops_test_elements(&shape);
    const size_t bytes = gops_test_type_bytes(whole->type);
    char *made = malloc((size_t)count * bytes + 1);
    for (int64_t i = 0; i < count; i++) {
        int64_t from = 0, rest = i, times = 1;
        for (int32_t a = b->rank - 1; a >= 0; a--) {
            from += (b->begin[a] + rest % shape.dims[a]) * times;
            rest /= shape.dims[a];
            times *= whole->dims[a];
        }
        memcpy(made + (size_t)i * bytes, (const char *)elements + (size_t)from * bytes, bytes);
    }
    return made;
}

static int64_t at(const gops_list *list, int32_t axis, int64_t otherwise)
{
    return list->count == 0 ? otherwise : list->values[axis];
}

/* What the outputs of the brick read of one axis, and the pads that are left; false where they read
 * nothing. Those of a transposed convolution begin at a multiple of the stride, which all packings
 * serve. */
static bool axis_read(const gops_problem *problem, const gops_shape *shape, int32_t a, brick *out,
                      brick *in, gops_list *begin, gops_list *end, gops_list *padding)
{
    const int deconv = problem->operation == GOPS_PROBLEM_DECONV;
    const gops_list *strides = deconv ? &problem->deconv.strides : &problem->conv.strides;
    const gops_list *dilations = deconv ? &problem->deconv.dilations : &problem->conv.dilations;
    const int64_t stride = at(strides, a, 1), data = problem->data.dims[a + 2];
    const int64_t reach = (problem->filter.dims[a + 3] - 1) * at(dilations, a, 1);
    const int64_t pad = shape->pads_begin.values[a];
    begin->count = end->count = padding->count = a + 1;
    if (!deconv) {
        const int64_t from = out->begin[a + 2] * stride - pad;
        const int64_t to = (out->end[a + 2] - 1) * stride - pad + reach + 1;
        in->begin[a + 2] = from < 0 ? 0 : from;
        in->end[a + 2] = to > data ? data : to;
        begin->values[a] = in->begin[a + 2] - from;
        end->values[a] = to - in->end[a + 2];
        return in->begin[a + 2] < in->end[a + 2];
    }
    out->begin[a + 2] -= out->begin[a + 2] % stride;
    const int64_t from = out->begin[a + 2] + pad, to = out->end[a + 2] + pad;
    int64_t first = from <= reach ? 0 : (from - reach + stride - 1) / stride;
    int64_t last = (to - 1) / stride;
    last = last > data - 1 ? data - 1 : last;
    first = first > from / stride ? from / stride : first;
    first = first > last ? last : first;
    const int64_t full = stride * (last - first) + reach + 1, wanted = to - first * stride;
    in->begin[a + 2] = first;
    in->end[a + 2] = last + 1;
    begin->values[a] = from - first * stride;
    end->values[a] = full > wanted ? full - wanted : 0;
    padding->values[a] = full > wanted ? 0 : wanted - full;
    return true;
}

/* A whole execution, whose parts are compared with it. */
typedef struct whole {
    gops_problem *problem;
    gops_problem_buffers *buffers;
    gops_tensor output;
    gops_test_random *random;
    int64_t compared;
} whole;

/* A random brick of the outputs and what it reads. */
static bool draw(whole *of, const gops_shape *shape, brick *out, brick *in, gops_list lists[3])
{
    const gops_problem *problem = of->problem;
    const int deconv = problem->operation == GOPS_PROBLEM_DECONV;
    const int64_t channels_in = problem->data.dims[1] / problem->filter.dims[0];
    const int64_t channels_out = problem->filter.dims[deconv ? 2 : 1];
    *out = *in = (brick){.rank = problem->data.rank};
    for (int32_t i = 0; i < out->rank; i++) {
        const int64_t size = i == 1 ? problem->filter.dims[0] : of->output.dims[i];
        out->begin[i] = gops_test_random_range(of->random, 0, size - 1);
        out->end[i] = gops_test_random_range(of->random, out->begin[i] + 1, size);
    }
    in->begin[0] = out->begin[0];
    in->end[0] = out->end[0];
    in->begin[1] = out->begin[1] * channels_in;
    in->end[1] = out->end[1] * channels_in;
    out->begin[1] *= channels_out;
    out->end[1] *= channels_out;
    for (int32_t a = 0; a < out->rank - 2; a++) {
        if (!axis_read(problem, shape, a, out, in, &lists[0], &lists[1], &lists[2]))
            return false;
    }
    return true;
}

/* The rows of the filter that belong to the brick's groups. */
static const void *weights_of(const whole *of, const brick *in)
{
    const gops_tensor *filter = &of->problem->filter;
    const int64_t channels_in = of->problem->data.dims[1] / filter->dims[0];
    const int64_t group = gops_test_elements(filter) / filter->dims[0];
    return (const char *)of->buffers->weights.memory +
           (size_t)(in->begin[1] / channels_in * group) * gops_test_type_bytes(filter->type);
}

static void compare_part(whole *of, const gops_plan *plan)
{
    gops_plan_info info = GOPS_PLAN_INFO_INIT;
    gops_plan *part = NULL;
    gops_packed_filter *filter = NULL;
    gops_error error = {GOPS_OK, ""};
    gops_list lists[3] = {{0}};
    gops_problem_text text;
    brick out, in;
    gops_plan_get_info(plan, &info, NULL);
    if (!draw(of, &info.shape, &out, &in, lists))
        return;
    const gops_type type = of->problem->data.type;
    const gops_tensor data = shape_of(&in, type), output = shape_of(&out, type);
    const bool deconv = of->problem->operation == GOPS_PROBLEM_DECONV;
    if (gops_plan_part(plan, &data, &lists[0], &lists[1], deconv ? &lists[2] : NULL, &part,
                       &error) != GOPS_OK) {
        gops_test_check(error.status == GOPS_UNSUPPORTED, "%s: %s",
                        gops_problem_describe(of->problem, &text), error.message);
        return;
    }
    void *x = cut_out(&of->problem->data, of->buffers->data.memory, &in);
    void *expected = cut_out(&of->output, of->buffers->output.memory, &out);
    const size_t bytes = (size_t)gops_test_elements(&output) * gops_test_type_bytes(type);
    void *y = malloc(bytes + 1);
    gops_status status = gops_filter_create(part, weights_of(of, &in), NULL, &filter, &error);
    gops_arguments arguments = {.size = sizeof arguments, .data = x, .filter = filter, .output = y};
    status = status == GOPS_OK ? gops_execute(part, &arguments, &error) : status;
    gops_test_check(
        status == GOPS_OK && memcmp(y, expected, bytes) == 0,
        "%s, by %s: another result for the part [%lld:%lld, %lld:%lld, %lld:%lld...] %s",
        gops_problem_describe(of->problem, &text), info.algorithm, (long long)out.begin[0],
        (long long)out.end[0], (long long)out.begin[1], (long long)out.end[1],
        (long long)out.begin[2], (long long)out.end[2], error.message);
    of->compared++;
    gops_filter_destroy(filter);
    gops_plan_destroy(part);
    free(x);
    free(y);
    free(expected);
}

static int compare_parts(void *context, const gops_plan *plan)
{
    whole *of = context;
    gops_plan_info info = GOPS_PLAN_INFO_INIT;
    gops_error error = {GOPS_OK, ""};
    gops_plan_get_info(plan, &info, NULL);
    if (strcmp(info.algorithm, "gemm") == 0 && of->problem->data.type <= GOPS_BF16) {
        gops_plan *part = NULL;
        gops_status status =
            gops_plan_part(plan, &of->problem->data, NULL, NULL, NULL, &part, &error);
        gops_test_check(status == GOPS_UNSUPPORTED && part == NULL &&
                            strstr(error.message, "algorithm gemm of") != NULL,
                        "a part of gemm: %s", error.message);
        return 1;
    }
    if (gops_problem_execute(of->problem, plan, of->buffers, NULL, 0, &error) != GOPS_OK)
        return gops_test_check(0, "%s", error.message);
    for (int i = 0; i < BRICKS; i++)
        compare_part(of, plan);
    return 1;
}

/* One problem in two is deep, so that sums are cut into blocks. */
static gops_problem random_problem(gops_problem_operation operation, gops_type type,
                                   gops_test_random *random)
{
    gops_problem problem;
    gops_reference_geometry g;
    gops_tensor output;
    int64_t work;
    do {
        problem = gops_random_problem(operation, type, random);
        problem.threads = 1;
        if (gops_test_random_chance(random, 50)) {
            const int64_t deep = gops_test_random_range(random, 100, 700);
            problem.filter.dims[operation == GOPS_PROBLEM_DECONV ? 1 : 2] = deep;
            problem.data.dims[1] = problem.filter.dims[0] * deep;
        }
        work = !gops_problem_reference_shape(&problem, &g, &output)
                   ? 0
                   : gops_test_elements(&output) * gops_test_elements(&problem.filter);
    } while (work == 0 || work > (int64_t)MAX_MULTIPLIES * 100 || problem.data.dims[0] == 0);
    return problem;
}

/* How many parts were compared. */
static int64_t check_problem(gops_problem *problem, gops_test_random *random)
{
    gops_reference_geometry g;
    whole of = {.problem = problem, .random = random};
    gops_problem_reference_shape(problem, &g, &of.output);
    gops_problem_buffers buffers = gops_problem_buffers_create(problem, &of.output, random);
    of.buffers = &buffers;
    gops_test_every_plan(problem, compare_parts, &of);
    gops_problem_buffers_destroy(&buffers);
    return of.compared;
}

static void check_operation(gops_problem_operation operation, uint64_t stream)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), stream);
    int64_t compared = 0;
    for (int i = 0; i < ROUNDS; i++) {
        gops_problem problem = random_problem(operation, types[i % TYPES], &random);
        compared += check_problem(&problem, &random);
    }
    gops_test_check(compared >= ROUNDS * BRICKS, "only %lld parts were compared",
                    (long long)compared);
}

static void conv(void)
{
    check_operation(GOPS_PROBLEM_CONV, 1);
}

static void deconv(void)
{
    check_operation(GOPS_PROBLEM_DECONV, 2);
}

/* Planes of more than a page, and parts of less: direct cuts the channels by the planes of the whole. */
static void pages(void)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 3);
    gops_problem problem = {
        .operation = GOPS_PROBLEM_CONV,
        .data = {GOPS_F32, 4, {1, 149, 29, 37}},
        .filter = {GOPS_F32, 5, {1, 5, 149, 3, 2}},
        .threads = 1,
    };
    gops_test_check(check_problem(&problem, &random) >= BRICKS, "few parts were compared");
}

/* Images of at most 8 x 8, for which depthwise/shuffle has kernels of their own, and larger ones, of
 * which parts are as small. */
static void small_images(void)
{
    static const int64_t rows[] = {3, 6, 8, 13, 19};
    enum { ROUNDS_OF_SMALL = 5 * 3 * 8 };
    gops_test_random random = gops_test_random_start(gops_test_seed(), 4);
    int64_t compared = 0;
    for (int i = 0; i < ROUNDS_OF_SMALL; i++) {
        const int64_t taps = 3 + 2 * (i % 3), stride = 1 + i / 3 % 2;
        gops_problem problem = {
            .operation = GOPS_PROBLEM_CONV,
            .data = {GOPS_F32, 4, {2, 5, rows[i % 5], 7}},
            .filter = {GOPS_F32, 5, {5, 2, 1, taps, taps}},
            .conv = {.strides = {2, {stride, stride}},
                     .pads_begin = {2, {taps / 2, taps / 2}},
                     .pads_end = {2, {taps / 2, taps / 2}}},
            .threads = 1,
        };
        compared += check_problem(&problem, &random);
    }
    gops_test_check(compared >= ROUNDS_OF_SMALL, "few parts were compared");
}

static void refusals(void)
{
    const gops_tensor data = {GOPS_F32, 4, {2, 15, 19, 23}};
    const gops_tensor filter = {GOPS_F32, 5, {3, 7, 5, 3, 2}}, scale = {GOPS_F32, 1, {15}};
    const gops_norm_attributes attributes = {3, 1e-5};
    const gops_options options = {.size = sizeof options, .divisible = true};
    const gops_list pads = {2, {1, 0}};
    gops_tensor other = data, empty = data;
    gops_plan *plan = NULL, *norm = NULL, *none = NULL, *made = NULL;
    gops_error error = gops_fresh_error();
    empty.dims[0] = 0;
    gops_conv_plan_create(&data, &filter, NULL, &options, &plan, NULL);
    gops_conv_plan_create(&empty, &filter, NULL, &options, &none, NULL);
    gops_norm_plan_create(&data, &scale, &scale, &attributes, NULL, &norm, NULL);
#define REFUSED(status, message, ...)                                                              \
    made = plan;                                                                                   \
    gops_check_refusal("part", gops_plan_part(__VA_ARGS__, &made, &error), &error, status,         \
                       message);                                                                   \
    gops_test_check(made == NULL, "*part is not NULL")
    REFUSED(GOPS_INVALID, "plan is NULL", NULL, &data, NULL, NULL, NULL);
    REFUSED(GOPS_INVALID, "data is NULL", plan, NULL, NULL, NULL, NULL);
    REFUSED(GOPS_INVALID, "output_padding is given; only a transposed convolution has one", plan,
            &data, NULL, NULL, &pads);
    REFUSED(GOPS_UNSUPPORTED,
            "the plan is a normalization, whose outputs depend on all of its data", norm, &data,
            NULL, NULL, NULL);
    REFUSED(GOPS_UNSUPPORTED, "the plan has an empty output and no parts", none, &data, NULL, NULL,
            NULL);
    other.dims[1] = 12;
    REFUSED(GOPS_INVALID, "data has 12 channels; a part has 1 to 3 groups of 5", plan, &other, NULL,
            NULL, NULL);
    other.dims[1] = 20;
    REFUSED(GOPS_INVALID, "data has 20 channels; a part has 1 to 3 groups of 5", plan, &other, NULL,
            NULL, NULL);
    other = (gops_tensor){GOPS_F64, 4, {2, 15, 19, 23}};
    REFUSED(GOPS_INVALID, "data is f64 of rank 4; the plan was made for f32 of 4", plan, &other,
            NULL, NULL, NULL);
    other = data;
    other.dims[2] = 1;
    made = plan;
    gops_test_check(gops_plan_part(plan, &other, &pads, NULL, NULL, &made, NULL) == GOPS_INVALID &&
                        made == NULL,
                    "a kernel larger than its part");
    gops_check_refusal("part", gops_plan_part(plan, &data, NULL, NULL, NULL, NULL, &error), &error,
                       GOPS_INVALID, "part is NULL");
    gops_plan_destroy(plan);
    gops_plan_destroy(none);
    gops_plan_destroy(norm);
}

/* Dense layers on large planes are gemm's, where nothing else is asked for. */
static void divisible(void)
{
    static const gops_type all[] = {GOPS_F32, GOPS_BF16, GOPS_I16};
    for (int i = 0; i < 3 * 2; i++) {
        const gops_tensor data = {all[i % 3], 4, {1, 512, 64, 64}};
        const gops_tensor filter = {all[i % 3], 5, {1, 512, 512, 1 + i / 3 * 2, 1 + i / 3 * 2}};
        const gops_options options = {.size = sizeof options, .divisible = true};
        gops_plan *plan = NULL, *part = NULL;
        gops_error error = {GOPS_OK, ""};
        gops_conv_plan_create(&data, &filter, NULL, &options, &plan, NULL);
        gops_test_check(gops_plan_part(plan, &data, NULL, NULL, NULL, &part, &error) == GOPS_OK,
                        "%s", error.message);
        gops_plan_destroy(plan);
        gops_plan_destroy(part);
    }
}

int main(void)
{
    static const gops_test_case cases[] = {
        {"conv", conv},         {"deconv", deconv},
        {"pages", pages},       {"small_images", small_images},
        {"refusals", refusals}, {"divisible", divisible},
        {NULL, NULL},
    };
    return gops_test_main("part", cases);
}
