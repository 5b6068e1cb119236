/*
 * Random problems over all ranks of the program, by random grids: convolutions and transposed ones
 * have the bits of one process, normalizations are within 2 units in the last place (f64: 4) of the
 * largest value of a channel.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elements.h"
#include "harness.h"
#include "mpi_support.h"
#include "problem_quantization.h"
#include "random_quantized.h"

static const gops_type types[] = {GOPS_F32, GOPS_F64,  GOPS_F16, GOPS_F32,
                                  GOPS_I8,  GOPS_BF16, GOPS_F32, GOPS_U16};
static const gops_type reals[] = {GOPS_F32, GOPS_F64, GOPS_BF16, GOPS_F32, GOPS_F16};
enum { TYPES = sizeof types / sizeof types[0], REALS = sizeof reals / sizeof reals[0] };

/* What a quantized problem points to. */
static gops_random_quantization quantization;

static int rounds(void)
{
    enum { USUAL = 356 };
    return (int)gops_test_environment_number("GROUPOPS_TEST_RANDOM_COUNT", USUAL) / 4 + 1;
}

static gops_status many_plan(const gops_problem *problem, const gops_mpi_distribution *distribution,
                             gops_mpi_plan **plan, gops_error *error)
{
    const gops_options options = gops_problem_options(problem);
    const gops_tensor c = gops_problem_coefficients(problem);
    switch (problem->operation) {
    case GOPS_PROBLEM_CONV:
        return gops_mpi_conv_plan_create(distribution, &problem->data, &problem->filter,
                                         &problem->conv, &options, plan, error);
    case GOPS_PROBLEM_DECONV:
        return gops_mpi_deconv_plan_create(distribution, &problem->data, &problem->filter,
                                           &problem->deconv, &options, plan, error);
    default:
        return gops_mpi_norm_plan_create(distribution, &problem->data, &c, &c, &problem->norm,
                                         &options, plan, error);
    }
}

/* A problem with its buffers and the output of one process. */
typedef struct subject {
    gops_problem problem;
    gops_tensor output;
    gops_problem_buffers buffers;
    gops_mpi_grid grid;
    gops_mpi_plan_info info;
    int in_place; /* the residual lies in the output */
} subject;

static const char *describe(const subject *s)
{
    static gops_problem_text text;
    static char all[1400];
    gops_problem_describe(&s->problem, &text);
    snprintf(all, sizeof all, "%s over %d images, %d groups, space %d %d %d, by %s", text.text,
             s->grid.batch, s->grid.groups, (int)s->grid.space.values[0],
             (int)s->grid.space.values[1], (int)s->grid.space.values[2], s->info.algorithm);
    return all;
}

/* What the rank's groups have of an array with `each` elements of a group. */
static const void *of_groups(const subject *s, const void *array, int64_t each, gops_type type)
{
    return (const char *)array + (size_t)(s->info.first_group * each) * gops_test_type_bytes(type);
}

/* One execution of the rank's part; the output is the caller's to free. */
static void *execute(const subject *s, const gops_mpi_plan *plan, const gops_mpi_filter *filter)
{
    const gops_problem *p = &s->problem;
    const int64_t groups = s->info.shape.groups > 0 ? s->info.shape.groups : 1;
    const int64_t each = s->output.dims[1] / groups;
    const gops_tensor bias = p->operation == GOPS_PROBLEM_NORM ? gops_problem_coefficients(p)
                                                               : gops_problem_bias(p, &s->output);
    const size_t bytes =
        (size_t)gops_test_elements(&s->info.output.shape) * gops_test_type_bytes(s->output.type);
    gops_error error = {GOPS_OK, ""};
    gops_mpi_part part;
    uint64_t zero_point;
    gops_arguments arguments = GOPS_ARGUMENTS_INIT;
    void *data = mpi_cut(&p->data, s->buffers.data.memory, &s->info.data), *residual = NULL;
    void *output = malloc(bytes + 1), *workspace = NULL;
    memset(output, 0xff, bytes);
    if (p->with_residual) {
        const gops_tensor whole = gops_problem_residual(p, &s->output);
        part = s->info.output;
        part.shape.type = whole.type;
        residual = mpi_cut(&whole, s->buffers.residual.memory, &part);
        if (s->in_place)
            memcpy(output, residual, bytes);
    }
    arguments.data = data;
    arguments.output = output;
    arguments.residual = s->in_place ? output : residual;
    if (s->buffers.bias.memory != NULL)
        arguments.bias = of_groups(s, s->buffers.bias.memory, each, bias.type);
    if (s->buffers.scale.memory != NULL)
        arguments.scale = of_groups(s, s->buffers.scale.memory, each, p->data.type);
    if (p->data_zero_point != NULL) {
        gops_test_set_integer(p->data.type, &zero_point, 0, (uint64_t)*p->data_zero_point);
        arguments.data_zero_point = &zero_point;
    }
    if (s->buffers.slopes.memory != NULL)
        arguments.slopes = of_groups(s, s->buffers.slopes.memory, each, s->output.type);
    if (s->info.workspace_bytes % 128 == 0) { /* as good as any other half of them */
        arguments.workspace_bytes = s->info.workspace_bytes;
        arguments.workspace = workspace =
            aligned_alloc(GOPS_WORKSPACE_ALIGNMENT, s->info.workspace_bytes + 64);
    }
    gops_status status = gops_mpi_execute(plan, filter, &arguments, NULL, &error);
    mpi_check(status == GOPS_OK, "%s: %s", describe(s), error.message);
    free(data);
    free(residual);
    free(workspace);
    return output;
}

/* The largest magnitude that one process gives in the channel of the image in which the element of the
 * rank's part lies, before or after it adds the channel's bias, or of its scale and bias. */
static long double largest(const subject *s, int64_t index)
{
    const gops_mpi_part *part = &s->info.output;
    int64_t own = 1, all = 1;
    for (int32_t i = 2; i < s->output.rank; i++) {
        own *= part->shape.dims[i];
        all *= s->output.dims[i];
    }
    const int64_t channel = index / own % part->shape.dims[1] + part->offset[1];
    const int64_t image = index / own / part->shape.dims[1] + part->offset[0];
    const int64_t first = (image * s->output.dims[1] + channel) * all;
    const long double bias = gops_test_get_real(s->output.type, s->buffers.bias.memory, channel);
    long double most = fmaxl(
        fabsl(gops_test_get_real(s->output.type, s->buffers.scale.memory, channel)), fabsl(bias));
    for (int64_t i = first; i < first + all; i++) {
        const long double value = gops_test_get_real(s->output.type, s->buffers.output.memory, i);
        most = fmaxl(most, fmaxl(fabsl(value), fabsl(value - bias)));
    }
    return most;
}

/* Allows one unit (f64: two) more than the header says of all but rare problems, so that no seed fails. */
static int is_close(const subject *s, const void *output, const void *expected)
{
    const gops_type type = s->output.type;
    const int64_t count = gops_test_elements(&s->info.output.shape);
    for (int64_t i = 0; i < count; i++) {
        const long double value = gops_test_get_real(type, output, i);
        const long double wanted = gops_test_get_real(type, expected, i);
        int exponent;
        if (value == wanted)
            continue;
        frexpl(largest(s, i), &exponent);
        const long double unit = ldexpl(gops_test_unit_roundoff(type), exponent);
        if (!(fabsl(value - wanted) <=
              (type == GOPS_F64 ? 6 : 3) * fmaxl(unit, gops_test_smallest(type))))
            return 0;
    }
    return 1;
}

/* Packs the weights of the rank's groups. */
static gops_mpi_filter *pack(const subject *s, const gops_mpi_plan *plan)
{
    const gops_problem *p = &s->problem;
    const int64_t groups = p->filter.dims[0];
    const int64_t each = groups > 0 ? gops_test_elements(&p->filter) / groups : 0;
    const int64_t channels = groups > 0 ? s->output.dims[1] / groups : 0;
    gops_mpi_filter *filter = NULL;
    gops_error error = {GOPS_OK, ""};
    gops_quantization own;
    void *zeros = gops_test_allocate(gops_problem_zero_point_bytes(p));
    gops_problem_set_zero_points(p, zeros);
    const gops_status status = gops_mpi_filter_create(
        plan, of_groups(s, s->buffers.weights.memory, each, p->filter.type),
        gops_problem_quantization_of(p, zeros, s->info.first_group * channels,
                                     s->info.groups * channels, &own),
        &filter, &error);
    mpi_check(status == GOPS_OK, "%s: %s", describe(s), error.message);
    free(zeros);
    return filter;
}

static void compare(subject *s, const gops_mpi_plan *plan)
{
    const bool norm = s->problem.operation == GOPS_PROBLEM_NORM;
    gops_error error = {GOPS_OK, ""};
    gops_mpi_plan_get_info(plan, &s->info, &error);
    gops_mpi_filter *filter = norm ? NULL : pack(s, plan);
    void *expected = mpi_cut(&s->output, s->buffers.output.memory, &s->info.output);
    void *output = execute(s, plan, filter);
    const size_t bytes =
        (size_t)gops_test_elements(&s->info.output.shape) * gops_test_type_bytes(s->output.type);
    bool split = false;
    for (int32_t i = 0; i < s->grid.space.count; i++)
        split = split || s->grid.space.values[i] > 1;
    if (norm && split) {
        void *again = execute(s, plan, filter);
        mpi_check(memcmp(output, again, bytes) == 0, "%s: other bits the second time", describe(s));
        mpi_check(is_close(s, output, expected), "%s: not close", describe(s));
        free(again);
    } else {
        mpi_check(memcmp(output, expected, bytes) == 0, "%s: other bits", describe(s));
    }
    gops_mpi_filter_destroy(filter);
    free(expected);
    free(output);
}

/* Distributions are kept: making one waits for all ranks several times. */
enum { MAX_KEPT = 256 };
static struct {
    gops_mpi_grid grid;
    gops_mpi_distribution *made;
} kept[MAX_KEPT];
static int kept_count;

static void forget(void)
{
    for (; kept_count > 0; kept_count--)
        gops_mpi_distribution_destroy(kept[kept_count - 1].made);
}

static const gops_mpi_distribution *distribution_of(const gops_mpi_grid *grid)
{
    gops_error error = {GOPS_OK, ""};
    for (int i = 0; i < kept_count; i++)
        if (memcmp(&kept[i].grid, grid, sizeof *grid) == 0)
            return kept[i].made;
    if (kept_count == MAX_KEPT)
        forget();
    kept[kept_count].grid = *grid;
    gops_status status =
        gops_mpi_distribution_create(MPI_COMM_WORLD, grid, &kept[kept_count].made, &error);
    mpi_check(status == GOPS_OK, "%s", error.message);
    return kept[kept_count++].made;
}

/* The problem in one process and over all, by the grid. Whether it was compared. */
static int run_both(subject *s, gops_test_random *random)
{
    gops_plan *one = NULL;
    gops_mpi_plan *many = NULL;
    gops_error error = {GOPS_OK, ""}, refusal = {GOPS_OK, ""};
    gops_reference_geometry g;
    gops_problem *p = &s->problem;
    p->threads = 1;
    p->divisible = true;
    if (!gops_problem_reference_shape(p, &g, &s->output))
        return 0;
    const gops_mpi_distribution *distribution = distribution_of(&s->grid);
    gops_status status = gops_problem_plan(p, &one, &error);
    const gops_status over = many_plan(p, distribution, &many, &refusal);
    mpi_check(status == over, "%s: %s, in one process %s", describe(s), refusal.message,
              error.message);
    if (status == GOPS_OK && over == GOPS_OK) {
        s->buffers = gops_problem_buffers_create(p, &s->output, random);
        if (gops_problem_is_quantized(p))
            gops_random_quantized_values(p, &quantization, &s->output, &s->buffers, random);
        status = gops_problem_execute(p, one, &s->buffers, NULL, 0, &error);
        mpi_check(status == GOPS_OK, "%s", error.message);
        compare(s, many);
        gops_problem_buffers_destroy(&s->buffers);
    }
    gops_plan_destroy(one);
    gops_mpi_plan_destroy(many);
    return status == GOPS_OK;
}

static gops_problem random_quantized(gops_problem_operation operation, gops_test_random *random)
{
    const gops_random_shape shape =
        gops_test_random_chance(random, 30) ? GOPS_RANDOM_DEPTHWISE : GOPS_RANDOM_ANY;
    gops_problem problem = gops_random_quantized(operation, shape, &quantization, random);
    problem.data_channel_gap = problem.output_channel_gap = 0; /* refused */
    return problem;
}

/* NULL, or one of the algorithms that have parts; it need not serve the problem. */
static const char *random_algorithm(gops_test_random *random)
{
    int32_t count = 0;
    while (gops_algorithm_name(count) != NULL)
        count++;
    const char *name = gops_algorithm_name((int32_t)gops_test_random_range(random, 0, count - 1));
    const bool divisible = strcmp(name, "gemm") != 0 && strncmp(name, "winograd/", 9) != 0;
    return divisible && gops_test_random_chance(random, 50) ? name : NULL;
}

/* The problem of that number. Some have sums in several blocks. */
static gops_problem random_float(gops_problem_operation operation, int number,
                                 gops_test_random *random)
{
    const bool norm = operation == GOPS_PROBLEM_NORM;
    const gops_type type = norm ? reals[number % REALS] : types[number % TYPES];
    gops_problem problem = gops_random_problem(operation, type, random);
    if (!norm)
        gops_random_fusion(&problem, random);
    if (!norm && gops_test_random_chance(random, 20)) {
        const int64_t deep = gops_test_random_range(random, 100, 700);
        problem.filter.dims[operation == GOPS_PROBLEM_DECONV ? 1 : 2] = deep;
        problem.data.dims[1] = problem.filter.dims[0] * deep;
    }
    return problem;
}

static void check_operations(gops_problem_operation first, gops_problem_operation second,
                             bool quantized, uint64_t stream)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), stream);
    int compared = 0, tried = 0;
    for (; compared < rounds() && tried < 8 * rounds(); tried++) {
        const gops_problem_operation operation = tried % 2 == 0 ? first : second;
        subject s = {.problem = quantized ? random_quantized(operation, &random)
                                          : random_float(operation, tried, &random)};
        if (operation != GOPS_PROBLEM_NORM)
            s.problem.algorithm = random_algorithm(&random);
        s.problem.max_workspace = gops_random_budget(&random);
        s.in_place = s.problem.with_residual && gops_problem_fits_in_place(&s.problem) &&
                     gops_test_random_chance(&random, 30);
        s.grid = mpi_random_grid(s.problem.data.rank - 2, &random);
        compared += run_both(&s, &random);
    }
    forget();
    gops_test_check(compared >= rounds() / 2, "only %d of %d problems were compared", compared,
                    tried);
}

static void conv(void)
{
    check_operations(GOPS_PROBLEM_CONV, GOPS_PROBLEM_CONV, false, 1);
}

static void deconv(void)
{
    check_operations(GOPS_PROBLEM_DECONV, GOPS_PROBLEM_DECONV, false, 2);
}

static void quantized(void)
{
    check_operations(GOPS_PROBLEM_CONV, GOPS_PROBLEM_DECONV, true, 5);
}

/* 3 ranks: the first one's border is computed by growing it to all of the rank's outputs, of which most
 * have been written already, over the residual. */
static void grown_border(void)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 4);
    subject s = {
        .problem = {.operation = GOPS_PROBLEM_DECONV,
                    .data = {GOPS_F64, 4, {2, 22, 5, 23}},
                    .filter = {GOPS_F64, 5, {2, 11, 3, 1, 1}},
                    .deconv = {.strides = {2, {3, 3}},
                               .pads_begin = {2, {4, 3}},
                               .pads_end = {2, {4, 0}},
                               .output_padding = {2, {2, 1}},
                               .output_shape = {2, {12, 65}},
                               .output_shape_rule = GOPS_OUTPUT_SHAPE_OPENVINO},
                    .algorithm = "subconv",
                    .activation = {.kind = GOPS_ACTIVATION_TANH},
                    .with_bias = 1,
                    .with_residual = 1},
        .grid = {1, 1, {2, {mpi_ranks, 1}}},
        .in_place = 1,
    };
    gops_test_check(run_both(&s, &random), "not compared");
}

static void norm(void)
{
    check_operations(GOPS_PROBLEM_NORM, GOPS_PROBLEM_NORM, false, 3);
}

int main(int count, char **words)
{
    static const gops_test_case cases[] = {
        {"conv", conv},           {"deconv", deconv},
        {"quantized", quantized}, {"grown_border", grown_border},
        {"norm", norm},           {NULL, NULL},
    };
    return mpi_test_main(&count, &words, "mpi_random", cases);
}
