/*
 * gops_plan_part: every brick of a convolution's outputs, computed from the brick of data that it
 * reads, has the bits that the whole has, by every algorithm on every instruction set.
 *
 * GROUPOPS_TEST_SEED brings a run back; GROUPOPS_TEST_RANDOM=NUMBER besides runs the problem of that
 * number alone. GROUPOPS_TEST_RANDOM_COUNT=NUMBER is for programs that draw 8,400 without it; each
 * random case here draws as much less as they do.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elements.h"
#include "every_plan.h"
#include "harness.h"
#include "problem_quantization.h"
#include "random_part.h"
#include "random_quantized.h"
#include "refusal.h"

enum { ROUNDS = 70, USUAL = 8400, STREAMS = 8, MAX_MULTIPLIES = 300000 };

static const gops_type types[] = {GOPS_F32,    GOPS_F64,    GOPS_BF16, GOPS_I16, GOPS_F16,
                                  GOPS_I8,     GOPS_U32,    GOPS_U8,   GOPS_F32, GOPS_U16,
                                  GOPS_F8E4M3, GOPS_F8E5M2, GOPS_I32,  GOPS_I64, GOPS_U64};
enum { TYPES = sizeof types / sizeof types[0] };

/* What a quantized problem points to. */
static gops_random_quantization quantization;

static gops_test_tally tally; /* of parts that were compared */

/* Not empty, and not large. */
static bool is_fit(const gops_problem *problem)
{
    gops_reference_geometry g;
    gops_tensor output;
    if (!gops_problem_reference_shape(problem, &g, &output))
        return false;
    const int64_t work = gops_test_elements(&output) * gops_test_elements(&problem->filter);
    return work > 0 && work <= (int64_t)MAX_MULTIPLIES * 100;
}

/* One problem in two is deep, so that sums are cut into blocks. */
static gops_problem random_problem(gops_problem_operation operation, gops_type type,
                                   gops_test_random *random)
{
    gops_problem problem;
    do {
        problem = gops_random_problem(operation, type, random);
        if (gops_test_random_chance(random, 50)) {
            const int64_t deep = gops_test_random_range(random, 100, 700);
            problem.filter.dims[operation == GOPS_PROBLEM_DECONV ? 1 : 2] = deep;
            problem.data.dims[1] = problem.filter.dims[0] * deep;
        }
    } while (!is_fit(&problem));
    gops_random_fusion(&problem, random);
    gops_random_channel_gaps(&problem, random);
    if (gops_test_random_chance(random, 20))
        problem.accuracy = GOPS_ACCURACY_RELAXED;
    return problem;
}

static gops_problem random_quantized(gops_problem_operation operation, gops_test_random *random)
{
    static const gops_random_shape shapes[] = {GOPS_RANDOM_ANY, GOPS_RANDOM_ANY,
                                               GOPS_RANDOM_DEPTHWISE};
    gops_problem problem;
    do {
        problem = gops_random_quantized(operation, shapes[gops_test_random_range(random, 0, 2)],
                                        &quantization, random);
    } while (!is_fit(&problem));
    return problem;
}

/* How many parts were compared. */
static int64_t check_problem(gops_problem *problem, gops_test_random *random)
{
    gops_reference_geometry g;
    gops_whole of = {.problem = problem, .random = random, .tally = &tally, .good = 1};
    gops_problem_reference_shape(problem, &g, &of.output);
    gops_problem_buffers buffers = gops_problem_buffers_create(problem, &of.output, random);
    if (gops_problem_is_quantized(problem))
        gops_random_quantized_values(problem, &quantization, &of.output, &buffers, random);
    of.buffers = &buffers;
    gops_test_every_plan(problem, gops_compare_parts, &of);
    gops_problem_buffers_destroy(&buffers);
    return of.good ? of.compared : -1;
}

static void check_random(const char *name, gops_problem_operation operation, bool quantized,
                         int stream)
{
    const int64_t only = gops_test_environment_number("GROUPOPS_TEST_RANDOM", -1);
    const int64_t wanted = gops_test_environment_number("GROUPOPS_TEST_RANDOM_COUNT", USUAL);
    const int64_t count = (wanted * ROUNDS + USUAL - 1) / USUAL;
    int64_t compared = 0;
    for (int64_t i = 0; i < count; i++) {
        if (only >= 0 && i != only)
            continue;
        gops_test_random random =
            gops_test_random_start(gops_test_seed(), (uint64_t)(i * STREAMS + stream));
        gops_problem problem = quantized ? random_quantized(operation, &random)
                                         : random_problem(operation, types[i % TYPES], &random);
        problem.threads = (int32_t)gops_test_random_range(&random, 1, 3);
        const int64_t parts = check_problem(&problem, &random);
        if (parts < 0)
            printf("repeat with: GROUPOPS_TEST_SEED=%" PRIu64 " GROUPOPS_TEST_CASE=%s "
                   "GROUPOPS_TEST_RANDOM=%" PRId64 " test_part\n",
                   gops_test_seed(), name, i);
        compared += parts;
    }
    gops_test_check(only >= 0 || count < ROUNDS || compared >= count,
                    "only %" PRId64 " parts were compared", compared);
}

static void conv(void)
{
    check_random("conv", GOPS_PROBLEM_CONV, false, 1);
}

static void deconv(void)
{
    check_random("deconv", GOPS_PROBLEM_DECONV, false, 2);
}

static void quantized_conv(void)
{
    check_random("quantized_conv", GOPS_PROBLEM_CONV, true, 5);
}

static void quantized_deconv(void)
{
    check_random("quantized_deconv", GOPS_PROBLEM_DECONV, true, 6);
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
    gops_test_check(check_problem(&problem, &random) > 0, "few parts were compared");
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
        const int64_t taps = 3 + 2 * (i % 3), stride = 1 + i / 3 % 2, groups = i % 4 < 3 ? 5 : 37;
        gops_problem problem = {
            .operation = GOPS_PROBLEM_CONV,
            .data = {GOPS_F32, 4, {2, groups, rows[i % 5], 7}},
            .filter = {GOPS_F32, 5, {groups, 2, 1, taps, taps}},
            .conv = {.strides = {2, {stride, stride}},
                     .pads_begin = {2, {taps / 2, taps / 2}},
                     .pads_end = {2, {taps / 2, taps / 2}}},
            .threads = 1,
        };
        compared += check_problem(&problem, &random);
    }
    gops_test_check(compared >= ROUNDS_OF_SMALL, "few parts were compared");
}

/* Transposed layers with stride 2, which depthwise/shuffle has kernels for, and depthwise/blocked where there are more
 * channels. */
static void transposed_images(void)
{
    enum { ROUNDS_OF_TRANSPOSED = 24 };
    gops_test_random random = gops_test_random_start(gops_test_seed(), 10);
    int64_t compared = 0;
    for (int i = 0; i < ROUNDS_OF_TRANSPOSED; i++) {
        const int64_t taps = 2 + i % 3, pad = i / 3 % 2, groups = i % 2 == 0 ? 5 : 37;
        gops_problem problem = {
            .operation = GOPS_PROBLEM_DECONV,
            .data = {GOPS_F32, 4, {2, groups, 9 + i % 4, 7 + i % 5}},
            .filter = {GOPS_F32, 5, {groups, 1, 1, taps, taps}},
            .deconv = {.strides = LIST(2, 2),
                       .pads_begin = {2, {pad, pad}},
                       .pads_end = {2, {pad, pad}}},
            .threads = 1,
        };
        compared += check_problem(&problem, &random);
    }
    gops_test_check(compared >= ROUNDS_OF_TRANSPOSED, "few parts were compared");
}

/* Images for which depthwise/masked has other kernels than for narrow ones, as their parts are. */
static void wide_images(void)
{
    enum { ROUNDS_OF_WIDE = 24 };
    gops_test_random random = gops_test_random_start(gops_test_seed(), 9);
    int64_t compared = 0;
    for (int i = 0; i < ROUNDS_OF_WIDE; i++) {
        const int64_t stride = 1 + i % 2;
        gops_problem problem = {
            .operation = GOPS_PROBLEM_CONV,
            .data = {GOPS_F32, 4, {1, 3, 9, 40 + 2 * i}},
            .filter = {GOPS_F32, 5, {3, 1, 1, 3, 3}},
            .conv = {.strides = {2, {stride, stride}},
                     .pads_begin = {2, {1, 1}},
                     .pads_end = {2, {1, 1}}},
            .threads = 1,
        };
        compared += check_problem(&problem, &random);
    }
    gops_test_check(compared >= ROUNDS_OF_WIDE, "few parts were compared");
}

/* More input channels than pointwise/channels reads the weights of at once, but for few columns, and parts
 * of as few. */
static void many_channels(void)
{
    static const int64_t channels[] = {331, 661, 1327, 5003};
    enum { ROUNDS_OF_MANY = 12 };
    gops_test_random random = gops_test_random_start(gops_test_seed(), 7);
    int64_t compared = 0;
    for (int i = 0; i < ROUNDS_OF_MANY; i++) {
        const int64_t count = channels[i % 4];
        const gops_type type = i % 3 == 0 ? GOPS_F64 : GOPS_F32;
        gops_problem problem = {
            .operation = GOPS_PROBLEM_CONV,
            .data = {type, 4, {1, count, 3, 5}},
            .filter = {type, 5, {1, 5, count, 1, 1}},
            .threads = 1,
        };
        compared += check_problem(&problem, &random);
    }
    gops_test_check(compared >= ROUNDS_OF_MANY, "few parts were compared");
}

/* Rows of a convolution with pads of 1, from those rows of the data that they read, where these lie in
 * the whole tensors; all of the outputs have the bits of the whole plan's. */
typedef struct rows_of {
    gops_problem problem;
    gops_problem_buffers buffers;
    gops_tensor output;
    int64_t parts; /* that were executed */
} rows_of;

/* Returns whether the plan has the part. */
static bool run_rows(rows_of *of, const gops_plan *plan, const gops_packed_filter *filter,
                     int64_t begin, int64_t end)
{
    const int64_t height = of->problem.data.dims[2], width = of->problem.data.dims[3];
    const int64_t first = begin > 0 ? begin - 1 : 0, last = end < height ? end + 1 : height;
    const gops_list pads_begin = {2, {begin == 0, 1}}, pads_end = {2, {end == height, 1}};
    const size_t row = (size_t)width * gops_test_type_bytes(of->output.type);
    gops_tensor data = of->problem.data;
    gops_plan *part = NULL;
    gops_error error = {GOPS_OK, ""};
    data.dims[2] = last - first;
    gops_status status = gops_plan_part(plan, &data, &pads_begin, &pads_end, NULL, &part, &error);
    if (status == GOPS_UNSUPPORTED)
        return false;
    const gops_arguments arguments = {
        .size = sizeof arguments,
        .data = (const char *)of->buffers.data.memory + (size_t)first * row,
        .filter = filter,
        .output = (char *)of->buffers.output.memory + (size_t)begin * row,
    };
    if (status == GOPS_OK)
        status = gops_execute(part, &arguments, &error);
    gops_test_check(status == GOPS_OK, "%s", error.message);
    gops_plan_destroy(part);
    of->parts++;
    return true;
}

/* The whole, and then all rows in three parts. */
static void compare_rows(rows_of *of, const gops_plan *plan)
{
    const size_t bytes =
        (size_t)gops_test_elements(&of->output) * gops_test_type_bytes(of->output.type);
    const int64_t height = of->problem.data.dims[2], cuts[] = {0, 7, 8, height};
    gops_packed_filter *filter = NULL;
    gops_plan_info info = {.size = sizeof info};
    gops_plan_get_info(plan, &info, NULL);
    gops_filter_create(plan, of->buffers.weights.memory, NULL, &filter, NULL);
    const gops_arguments arguments = {.size = sizeof arguments,
                                      .data = of->buffers.data.memory,
                                      .filter = filter,
                                      .output = of->buffers.output.memory};
    gops_test_check(gops_execute(plan, &arguments, NULL) == GOPS_OK, "the whole");
    void *expected = memcpy(gops_test_allocate(bytes), of->buffers.output.memory, bytes);
    memset(of->buffers.output.memory, 0xff, bytes);
    bool all = true;
    for (int i = 0; i < 3 && all; i++)
        all = run_rows(of, plan, filter, cuts[i], cuts[i + 1]);
    gops_test_check(!all || memcmp(expected, of->buffers.output.memory, bytes) == 0,
                    "other bits by %s on %s", info.algorithm, gops_isa());
    free(expected);
    gops_filter_destroy(filter);
}

static void rows_by_isa(void *context)
{
    rows_of *of = context;
    const int64_t pixels = of->problem.data.dims[2] * of->problem.data.dims[3];
    for (int i = 0; gops_algorithm_name(i) != NULL; i++) {
        const gops_options options = {.size = sizeof options,
                                      .algorithm = gops_algorithm_name(i),
                                      .threads = 1,
                                      .data_channel_stride = pixels,
                                      .output_channel_stride = pixels};
        gops_plan *plan = NULL;
        if (gops_problem_plan_with(&of->problem, &options, &plan, NULL) == GOPS_OK)
            compare_rows(of, plan);
        gops_plan_destroy(plan);
    }
}

static void rows_where_they_lie(void)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 11);
    static const gops_type some[] = {GOPS_F32, GOPS_F64, GOPS_BF16, GOPS_I16, GOPS_U8};
    for (int i = 0; i < 5 * 2; i++) {
        const int64_t groups = i < 5 ? 2 : 6, out = i < 5 ? 5 : 2;
        rows_of of = {.problem = {.operation = GOPS_PROBLEM_CONV,
                                  .data = {some[i % 5], 4, {2, 6, 19, 23}},
                                  .filter = {some[i % 5], 5, {groups, out, 6 / groups, 3, 3}},
                                  .conv = {.pads_begin = {2, {1, 1}}, .pads_end = {2, {1, 1}}}}};
        gops_reference_geometry g;
        gops_problem_reference_shape(&of.problem, &g, &of.output);
        of.buffers = gops_problem_buffers_create(&of.problem, &of.output, &random);
        gops_test_every_isa(rows_by_isa, &of);
        gops_test_check(of.parts > 0, "no part was executed");
        gops_problem_buffers_destroy(&of.buffers);
    }
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

/* A part of one image fits the workspace that several images have, though its items may be cut otherwise. */
static void little_workspace(void)
{
    static const char *const algorithms[] = {"auto", "depthwise/permuted", "depthwise/shuffle",
                                             "depthwise/masked"};
    enum { MAX_CHANNELS = 48, IMAGES = 5, ALGORITHMS = sizeof algorithms / sizeof algorithms[0] };
    int made = 0;
    for (int i = 0; i < 2 * ALGORITHMS * MAX_CHANNELS; i++) {
        const bool bytes = i % 2 == 0;
        const int64_t channels = 1 + i / 2 / ALGORITHMS;
        const gops_type type = bytes ? GOPS_U8 : GOPS_BF16;
        const gops_tensor filter = {bytes ? GOPS_I8 : type, 5, {channels, 1, 1, 3, 3}};
        const gops_conv_attributes attributes = {.pads_begin = {2, {1, 1}},
                                                 .pads_end = {2, {1, 1}}};
        gops_options options = {.size = sizeof options,
                                .algorithm = algorithms[i / 2 % ALGORITHMS],
                                .output_type = type,
                                .threads = 1,
                                .divisible = true};
        gops_tensor data = {type, 4, {IMAGES, channels, 13, 11}};
        gops_plan *roomy = NULL, *tight = NULL, *part = NULL;
        gops_plan_info info = {.size = sizeof info};
        gops_error error = {GOPS_OK, ""};
        if (gops_conv_plan_create(&data, &filter, &attributes, &options, &roomy, NULL) == GOPS_OK &&
            gops_plan_get_info(roomy, &info, NULL) == GOPS_OK && info.workspace_bytes > 0) {
            options.max_workspace = 4 * (int64_t)info.workspace_bytes; /* a thread gets a quarter */
            options.algorithm = info.algorithm;
            gops_conv_plan_create(&data, &filter, &attributes, &options, &tight, &error);
            data.dims[0] = 1;
            gops_test_check(tight != NULL && gops_plan_part(tight, &data, &attributes.pads_begin,
                                                            &attributes.pads_end, NULL, &part,
                                                            &error) == GOPS_OK,
                            "%s, %d channels: %s", info.algorithm, (int)channels, error.message);
            made++;
        }
        gops_plan_destroy(roomy);
        gops_plan_destroy(tight);
        gops_plan_destroy(part);
    }
    gops_test_check(made >= MAX_CHANNELS, "only %d plans had a workspace", made);
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

/* A part that begins at another residue of the strides than its plan: some packings serve it, all others say why they
 * do not. */
static void shifted(void)
{
    const gops_tensor data = {GOPS_F32, 4, {2, 4, 6, 10}}, brick = {GOPS_F32, 4, {1, 4, 1, 10}};
    const gops_tensor filter = {GOPS_F32, 5, {1, 4, 1, 3, 3}};
    const gops_deconv_attributes attributes = {.strides = {2, {2, 2}}, .pads_begin = {2, {1, 1}}};
    const gops_list pads = {2, {2, 1}};
    const gops_options options = {.size = sizeof options, .algorithm = "subconv"};
    gops_plan *plan = NULL, *part = NULL;
    gops_error error = gops_fresh_error();
    gops_deconv_plan_create(&data, &filter, &attributes, &options, &plan, NULL);
    const gops_status status = gops_plan_part(plan, &brick, &pads, NULL, NULL, &part, &error);
    gops_test_check(status == GOPS_OK || (status == GOPS_UNSUPPORTED &&
                                          strstr(error.message, "modulo the strides") != NULL),
                    "%s", error.message);
    gops_plan_destroy(part);
    gops_plan_destroy(plan);
}

/* Every form that has parts had some, unless the problems were fewer, or not all of them. */
static void every_form(void)
{
    if (gops_test_environment_number("GROUPOPS_TEST_RANDOM", -1) >= 0 ||
        gops_test_environment_number("GROUPOPS_TEST_RANDOM_COUNT", USUAL) < USUAL ||
        getenv("GROUPOPS_TEST_CASE") != NULL)
        gops_test_skip("not all problems were drawn");
    gops_test_check_tally(&tally, GOPS_PROBLEM_CONV, "implicit");
    gops_test_check_tally(&tally, GOPS_PROBLEM_CONV, "direct");
    gops_test_check_tally(&tally, GOPS_PROBLEM_CONV, "pointwise");
    gops_test_check_tally(&tally, GOPS_PROBLEM_CONV, "depthwise");
    gops_test_check_tally(&tally, GOPS_PROBLEM_DECONV, "subconv");
    gops_test_check_tally(&tally, GOPS_PROBLEM_DECONV, "depthwise");
}

int main(void)
{
    static const gops_test_case cases[] = {
        {"conv", conv},
        {"deconv", deconv},
        {"quantized_conv", quantized_conv},
        {"quantized_deconv", quantized_deconv},
        {"pages", pages},
        {"small_images", small_images},
        {"transposed_images", transposed_images},
        {"wide_images", wide_images},
        {"many_channels", many_channels},
        {"rows_where_they_lie", rows_where_they_lie},
        {"refusals", refusals},
        {"shifted", shifted},
        {"little_workspace", little_workspace},
        {"divisible", divisible},
        {"every_form", every_form},
        {NULL, NULL},
    };
    return gops_test_main("part", cases);
}
