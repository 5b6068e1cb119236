/*
 * Gaps between channels, besides those of the random tests: sums that are exact have the bits that dense
 * tensors give, by every algorithm that serves these; normalizations of groups that are cut into pieces,
 * in place and with given moments; distances beyond 32 bits.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "problem.h"
#include "elements.h"
#include "every_plan.h"
#include "harness.h"
#include "planes.h"
#include "problem_quantization.h"
#include "written.h"

/* A problem with gaps, and the same without. */
typedef struct pair {
    gops_problem apart, dense;
    gops_problem_buffers buffers;
    size_t bytes; /* of the output */
    int64_t compared;
} pair;

/* By the algorithm that both ask for. The output is freed by the caller; NULL: it does not serve. */
static void *output_of(const pair *p, const gops_problem *problem)
{
    gops_plan *plan = NULL;
    gops_error error = {GOPS_OK, ""};
    void *output = NULL;
    if (gops_problem_plan(problem, &plan, &error) == GOPS_OK) {
        gops_problem_clear_output(problem, &p->buffers);
        gops_test_check(gops_problem_execute(problem, plan, &p->buffers, NULL, 0, &error) ==
                            GOPS_OK,
                        "%s", error.message);
        output = memcpy(gops_test_allocate(p->bytes), p->buffers.output.memory, p->bytes);
    }
    gops_plan_destroy(plan);
    return output;
}

static void compare_isa(void *context)
{
    pair *p = context;
    gops_problem_text text;
    for (int i = 0; gops_algorithm_name(i) != NULL; i++) {
        p->apart.algorithm = p->dense.algorithm = gops_algorithm_name(i);
        void *dense = output_of(p, &p->dense), *apart = output_of(p, &p->apart);
        gops_test_check((dense != NULL) == (apart != NULL), "%s on %s serves one of two: %s",
                        p->dense.algorithm, gops_isa(), gops_problem_describe(&p->apart, &text));
        if (dense != NULL && apart != NULL) {
            gops_test_check(memcmp(dense, apart, p->bytes) == 0, "other bits on %s: %s", gops_isa(),
                            gops_problem_describe(&p->apart, &text));
            p->compared++;
        }
        free(dense);
        free(apart);
    }
}

static void whole_numbers(const gops_tensor *tensor, void *elements, gops_test_random *random)
{
    for (int64_t i = 0; i < gops_test_elements(tensor); i++) {
        const int64_t value = gops_test_random_range(random, -3, 3);
        if (gops_test_type_is_real(tensor->type))
            gops_test_set_real(tensor->type, elements, i, (long double)value);
        else
            gops_test_set_integer(tensor->type, elements, i, (uint64_t)value);
    }
}

/* Sums of such are exact. */
static void fill_whole(const gops_problem *problem, const gops_tensor *output,
                       const gops_problem_buffers *buffers, gops_test_random *random)
{
    const gops_tensor residual = gops_problem_residual(problem, output);
    const gops_tensor bias = gops_problem_bias(problem, output);
    whole_numbers(&problem->data, buffers->data.memory, random);
    whole_numbers(&problem->filter, buffers->weights.memory, random);
    if (problem->with_bias)
        whole_numbers(&bias, buffers->bias.memory, random);
    if (problem->with_residual)
        whole_numbers(&residual, buffers->residual.memory, random);
}

static void compare_with_dense(gops_problem problem, gops_test_random *random)
{
    gops_reference_geometry g;
    gops_tensor output;
    gops_problem_reference_shape(&problem, &g, &output);
    pair p = {.apart = problem, .dense = problem};
    p.apart.data_channel_gap = gops_test_random_range(random, 1, 97);
    p.apart.output_channel_gap = gops_test_random_range(random, 1, 97);
    p.bytes = (size_t)gops_test_elements(&output) * gops_test_type_bytes(output.type);
    p.buffers = gops_problem_buffers_create(&problem, &output, random);
    fill_whole(&problem, &output, &p.buffers, random);
    gops_test_every_isa(compare_isa, &p);
    gops_test_check(p.compared > 0, "nothing was executed");
    gops_problem_buffers_destroy(&p.buffers);
}

/* Planes of a few pixels, and of a multiple of a page, where channels evict each other. */
static void bits_of_dense(void)
{
    static const gops_type types[] = {GOPS_F32, GOPS_F64, GOPS_F16, GOPS_BF16, GOPS_I8, GOPS_U32};
    gops_test_random random = gops_test_random_start(gops_test_seed(), 1);
    for (int n = 0; n < 2 * 6; n++) {
        const gops_problem_operation operation =
            n % 2 == 0 ? GOPS_PROBLEM_CONV : GOPS_PROBLEM_DECONV;
        for (int i = 0; gops_test_witness(operation, types[n / 2], i).data.rank > 0; i++) {
            gops_problem p = gops_test_witness(operation, types[n / 2], i);
            p.threads = 1 + i % 3;
            compare_with_dense(p, &random);
            p.data.dims[2] = p.data.dims[3] = 32;
            compare_with_dense(p, &random);
        }
    }
}

/* Images of few channels, as networks begin with: AMX joins their taps. */
static void few_channels(void)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 5);
    for (int i = 0; i < 2 * 2 * 3; i++) {
        const int64_t channels[] = {2, 3, 11}, kernel = 3 + i / 2 % 2 * 4, stride = 1 + i / 2 % 2;
        const gops_type type = i % 2 == 0 ? GOPS_BF16 : GOPS_U8;
        const gops_problem p = {
            .operation = GOPS_PROBLEM_CONV,
            .data = {type, 4, {1, channels[i / 4], 37, 41}},
            .filter = {type, 5, {1, 34, channels[i / 4], kernel, kernel}},
            .conv = {.strides = {2, {stride, stride}},
                     .pads_begin = {2, {kernel / 2, kernel / 2}},
                     .pads_end = {2, {kernel / 2, kernel / 2}}},
            .output_type = type == GOPS_U8 ? GOPS_I32 : type,
            .accuracy = GOPS_ACCURACY_RELAXED,
            .threads = 1,
        };
        compare_with_dense(p, &random);
    }
}

/* With the data beside the output, and in it. */
static void check_norm(gops_problem problem, gops_test_random *random)
{
    gops_problem_text text;
    gops_error error = {GOPS_OK, ""};
    gops_reference_result result;
    gops_problem_buffers b = gops_problem_buffers_create(&problem, &problem.data, random);
    gops_problem_reference(&problem, &b, &result);
    gops_problem_buffers in_place = b;
    in_place.output = b.data;
    gops_test_check(gops_problem_run(&problem, &b, &error) == GOPS_OK &&
                        gops_problem_compare(&problem, &result, b.output.memory),
                    "%s: %s", gops_problem_describe(&problem, &text), error.message);
    if (problem.data_channel_gap == problem.output_channel_gap)
        gops_test_check(gops_problem_run(&problem, &in_place, &error) == GOPS_OK &&
                            gops_problem_compare(&problem, &result, in_place.output.memory),
                        "in place, %s: %s", gops_problem_describe(&problem, &text), error.message);
    gops_reference_result_destroy(&result);
    gops_problem_buffers_destroy(&b);
}

/* Groups of a few elements, of several blocks in a store, and such as are cut into pieces. */
static void norms(void)
{
    static const int64_t pixels[] = {1, 7, 1024, 4099, 40009};
    gops_test_random random = gops_test_random_start(gops_test_seed(), 2);
    for (int t = 0; t < GOPS_TEST_REALS; t++)
        for (int i = 0; i < 5 * 3; i++) {
            gops_problem p = gops_problem_of_norm(gops_test_reals[t], 2, 6, pixels[i / 3], 2, 1e-3);
            p.threads = 1 + t % 2;
            p.data_channel_gap = i % 3 == 0 ? 0 : 13;
            p.output_channel_gap = i % 3 == 1 ? 13 : 5;
            p.with_residual = i % 2;
            check_norm(p, &random);
        }
}

/* Found, and then given, by plans of strides: as by a dense one, within what either may err by. */
static void moments(void)
{
    enum { BATCH = 2, CHANNELS = 6, GROUPS = 2, PIXELS = 70001, GAP = 3 };
    gops_test_random random = gops_test_random_start(gops_test_seed(), 3);
    gops_problem p = gops_problem_of_norm(GOPS_F32, BATCH, CHANNELS, PIXELS, GROUPS, 1e-3);
    const gops_tensor c = gops_problem_coefficients(&p);
    const gops_test_planes planes = gops_test_planes_of(&p.data, GAP, 0);
    gops_problem_buffers b = gops_problem_buffers_create(&p, &p.data, &random);
    gops_test_guarded data = gops_test_guarded_create(planes.whole);
    gops_test_guarded output = gops_test_guarded_create(planes.whole);
    gops_moments found[BATCH * GROUPS];
    gops_reference_result result;
    gops_test_planes_spread(&planes, b.data.memory, data.memory);
    for (int use = GOPS_MOMENTS_ONLY; use >= GOPS_MOMENTS_GIVEN; use--) {
        gops_options options = {.size = sizeof options, .moments = (gops_moments_use)use};
        gops_plan *plan = NULL;
        gops_error error = {GOPS_OK, ""};
        options.data_channel_stride = options.output_channel_stride = PIXELS + GAP;
        const gops_arguments arguments = {.size = sizeof arguments,
                                          .data = data.memory,
                                          .scale = b.scale.memory,
                                          .bias = b.bias.memory,
                                          .output = output.memory,
                                          .moments = found};
        gops_norm_plan_create(&p.data, &c, &c, &p.norm, &options, &plan, &error);
        gops_test_check(gops_execute(plan, &arguments, &error) == GOPS_OK, "%s", error.message);
        gops_plan_destroy(plan);
    }
    for (int i = 0; i < BATCH * GROUPS; i++)
        gops_test_check(found[i].count == CHANNELS / GROUPS * PIXELS, "%g elements",
                        found[i].count);
    gops_test_check(gops_test_planes_written(&planes, output.memory) == 0, "wrote gaps");
    gops_test_planes_gather(&planes, output.memory, b.output.memory);
    gops_problem_reference(&p, &b, &result);
    gops_test_check(gops_problem_compare(&p, &result, b.output.memory), "wrong values");
    gops_reference_result_destroy(&result);
    gops_test_guarded_destroy(&data);
    gops_test_guarded_destroy(&output);
    gops_problem_buffers_destroy(&b);
}

/* Address space of which only the pages that are touched take memory; the case is skipped without. */
static void *reserve(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        gops_test_skip("no %zu bytes of address space", bytes);
    return memory;
}

/* Tensors whose channels lie this far apart: distances that 32 bits do not hold, in elements. */
#define FAR (INT64_C(1) << 31)

typedef struct far_trial {
    gops_problem problem;
    gops_problem_buffers *buffers;
    gops_test_planes data_planes, output_planes;
    void *data, *output;
    size_t bytes; /* of the dense output */
    int64_t compared;
} far_trial;

/* By the problem's algorithm; 0 where it does not serve. */
static int execute_far(const far_trial *t)
{
    const gops_problem *p = &t->problem;
    const gops_options options = gops_problem_options(p);
    const gops_problem_buffers *b = t->buffers;
    gops_plan *plan = NULL;
    gops_packed_filter *filter = NULL;
    gops_error error = {GOPS_OK, ""};
    if (gops_problem_plan_with(p, &options, &plan, NULL) != GOPS_OK)
        return 0;
    gops_status status = GOPS_OK;
    if (p->operation != GOPS_PROBLEM_NORM)
        status = gops_filter_create(plan, b->weights.memory, NULL, &filter, &error);
    gops_arguments arguments = {.size = sizeof arguments, .data = t->data, .filter = filter};
    arguments.scale = b->scale.memory;
    arguments.bias = b->bias.memory;
    arguments.output = t->output;
    if (p->residual_in_place) {
        gops_test_planes_spread(&t->output_planes, b->residual.memory, t->output);
        arguments.residual = t->output;
    }
    if (status == GOPS_OK)
        status = gops_execute(plan, &arguments, &error);
    gops_test_check(status == GOPS_OK, "%s", error.message);
    gops_filter_destroy(filter);
    gops_plan_destroy(plan);
    return 1;
}

static void far_by_isa(void *context)
{
    far_trial *t = context;
    gops_problem_text text;
    void *output = gops_test_allocate(t->bytes);
    for (int i = 0; gops_algorithm_name(i) != NULL; i++) {
        t->problem.algorithm = gops_algorithm_name(i);
        if (!execute_far(t))
            continue;
        gops_problem near = t->problem;
        gops_error error = {GOPS_OK, ""};
        gops_test_planes_gather(&t->output_planes, t->output, output);
        near.data_channel_gap = near.output_channel_gap = 1; /* merges moments alike */
        gops_problem_clear_output(&near, t->buffers);
        gops_test_check(gops_problem_run(&near, t->buffers, &error) == GOPS_OK &&
                            memcmp(output, t->buffers->output.memory, t->bytes) == 0,
                        "other values on %s: %s", gops_isa(),
                        gops_problem_describe(&t->problem, &text));
        t->compared++;
    }
    free(output);
}

static void check_far(gops_problem problem, gops_test_random *random)
{
    gops_reference_geometry g;
    gops_tensor output;
    gops_problem_reference_shape(&problem, &g, &output);
    gops_problem_buffers b = gops_problem_buffers_create(&problem, &output, random);
    far_trial t = {.problem = problem, .buffers = &b};
    t.problem.data_channel_gap = t.problem.output_channel_gap = FAR;
    t.data_planes = gops_test_planes_of(&problem.data, FAR, 0);
    t.output_planes = gops_test_planes_of(&output, FAR, 0);
    t.bytes = (size_t)gops_test_elements(&output) * gops_test_type_bytes(output.type);
    t.data = reserve(t.data_planes.whole);
    t.output = reserve(t.output_planes.whole);
    if (problem.operation != GOPS_PROBLEM_NORM)
        fill_whole(&problem, &output, &b, random);
    gops_test_planes_spread(&t.data_planes, b.data.memory, t.data);
    gops_test_every_isa(far_by_isa, &t);
    gops_test_check(t.compared > 0, "nothing was executed");
    munmap(t.data, t.data_planes.whole);
    munmap(t.output, t.output_planes.whole);
    gops_problem_buffers_destroy(&b);
}

static void far_apart(void)
{
    static const gops_type types[] = {GOPS_F32, GOPS_F64, GOPS_BF16, GOPS_U8};
    gops_test_random random = gops_test_random_start(gops_test_seed(), 4);
#if defined(GOPS_TEST_MEMORY_SANITIZER) || SIZE_MAX <= UINT32_MAX
    gops_test_skip("no address space for it");
#endif
    for (int n = 0; n < 3 * 4; n++) {
        const gops_problem_operation operation = (gops_problem_operation)(n % 3);
        for (int i = 0; gops_test_witness(operation, types[n / 3], i).data.rank > 0; i++) {
            gops_problem p = gops_test_witness(operation, types[n / 3], i);
            p.threads = 1;
            p.data.dims[0] = 1;
            p.with_bias = 0;
            p.with_residual = p.residual_in_place = i % 2;
            if (types[n / 3] != GOPS_U8 || operation != GOPS_PROBLEM_NORM)
                check_far(p, &random);
            p.output_type = GOPS_I32;
            if (types[n / 3] == GOPS_U8 && operation != GOPS_PROBLEM_NORM)
                check_far(p, &random);
        }
    }
}

int main(void)
{
    static const gops_test_case cases[] = {{"bits_of_dense", bits_of_dense},
                                           {"few_channels", few_channels},
                                           {"norms", norms},
                                           {"moments", moments},
                                           {"far_apart", far_apart},
                                           {NULL, NULL}};
    return gops_test_main("channel strides", cases);
}
