/* random_problem.c: draws shapes, attributes, post-ops, budgets and slices; draws again what is
 * large. */
#include "random_problem.h"

#include <string.h>

#include "elements.h"
#include "layout_sizes.h"
#include "problem_quantization.h"

enum { MAX_PRODUCTS = 50000, MAX_ELEMENTS = 30000 };

/* Hands out the sizes of one problem. */
typedef struct sizes {
    gops_test_random *random;
    uint64_t used; /* bit i: primes[i] is some axis already */
} sizes;

static const int64_t primes[] = {2,  3,  5,  7,  11, 13, 17, 19, 23, 29,
                                 31, 37, 41, 43, 47, 53, 59, 61, 67, 71};
enum { PRIMES = sizeof primes / sizeof primes[0] };

/* A prime up to `most` that no other axis has; any number up to `most` where none is left. */
static int64_t take(sizes *s, int64_t most)
{
    int choices[PRIMES];
    int count = 0;
    for (int i = 0; i < PRIMES; i++)
        if (primes[i] <= most && (s->used >> i & 1) == 0)
            choices[count++] = i;
    if (count == 0)
        return gops_test_random_range(s->random, 1, most);
    int chosen = choices[gops_test_random_range(s->random, 0, count - 1)];
    s->used |= UINT64_C(1) << chosen;
    return primes[chosen];
}

/* Mostly as above; sometimes 1 or a number that is no prime. */
static int64_t size_up_to(sizes *s, int64_t most)
{
    if (gops_test_random_chance(s->random, 15))
        return gops_test_random_range(s->random, 1, most);
    return take(s, most);
}

static gops_list list_of(gops_test_random *random, int32_t axes, int64_t low, int64_t high,
                         int left_out_percent)
{
    gops_list list = {0};
    if (gops_test_random_chance(random, left_out_percent))
        return list;
    list.count = axes;
    for (int32_t i = 0; i < axes; i++)
        list.values[i] = gops_test_random_range(random, low, high);
    return list;
}

static gops_auto_pad any_auto_pad(gops_test_random *random)
{
    if (gops_test_random_chance(random, 50))
        return GOPS_AUTO_PAD_EXPLICIT;
    return (gops_auto_pad)gops_test_random_range(random, 1, 3);
}

/* Channels of a group and groups; one of them is a layout's where it is `wide`. */
typedef struct channel_counts {
    int64_t groups, in, out;
} channel_counts;

static channel_counts draw_channels(sizes *s, int wide)
{
    const int depthwise = gops_test_random_chance(s->random, 20);
    channel_counts c = {
        .groups = gops_test_random_chance(s->random, 35) ? 1 : take(s, depthwise ? 19 : 7)};
    c.in = depthwise ? 1 : size_up_to(s, 13);
    c.out = depthwise ? gops_test_random_range(s->random, 1, 3) : size_up_to(s, 13);
    if (wide) {
        const int most =
            gops_test_random_chance(s->random, 90) ? GOPS_LAYOUT_SMALL_SIZES : GOPS_LAYOUT_SIZES;
        const int64_t size = gops_layout_size(gops_test_random_range(s->random, 0, most - 1));
        c.groups = gops_test_random_range(s->random, 1, 2);
        *(depthwise ? &c.groups : gops_test_random_chance(s->random, 50) ? &c.in : &c.out) = size;
    }
    return c;
}

/* Data and filter; C_IN and C_OUT lie on axes `in` and `out` of the filter. */
static void random_tensors(gops_problem *problem, gops_type type, int32_t axes, int in, int out,
                           gops_test_random *random)
{
    static const int64_t most[GOPS_MAX_SPATIAL] = {71, 29, 13, 7, 5, 5};
    static const int64_t most_wide[GOPS_MAX_SPATIAL] = {29, 7, 5, 3, 3, 2};
    sizes s = {random, 0};
    const int wide = gops_test_random_chance(random, 12);
    const int pointwise = gops_test_random_chance(random, wide ? 40 : 10);
    int64_t batch = gops_test_random_chance(random, 50) ? 1 : gops_test_random_range(random, 2, 3);
    channel_counts c = draw_channels(&s, wide);
    if (gops_test_random_chance(random, 1))
        batch = 0;
    if (gops_test_random_chance(random, 1))
        c.out = 0;
    problem->data = (gops_tensor){type, 2 + axes, {batch, c.groups * c.in}};
    problem->filter = (gops_tensor){type, 3 + axes, {c.groups}};
    problem->filter.dims[in] = c.in;
    problem->filter.dims[out] = c.out;
    for (int32_t i = 0; i < axes; i++) {
        problem->data.dims[2 + i] = size_up_to(&s, (wide ? most_wide : most)[axes - 1]);
        problem->filter.dims[3 + i] = pointwise ? 1
                                                : size_up_to(&s, axes == 1 && !wide ? 13
                                                                 : wide             ? 3
                                                                                    : 5);
    }
}

static void random_conv(gops_problem *problem, gops_type type, gops_test_random *random)
{
    int32_t axes = (int32_t)gops_test_random_range(random, 1, 3);
    random_tensors(problem, type, axes, 2, 1, random);
    gops_conv_attributes *a = &problem->conv;
    a->strides = list_of(random, axes, 1, 4, 40);
    a->dilations = list_of(random, axes, 1, 3, 50);
    a->pads_begin = list_of(random, axes, 0, 6, 40);
    a->pads_end = list_of(random, axes, 0, 6, 40);
    a->auto_pad = any_auto_pad(random);
}

static void random_deconv(gops_problem *problem, gops_type type, gops_test_random *random)
{
    int32_t axes = (int32_t)gops_test_random_range(random, 1, 3);
    if (gops_test_random_chance(random, 25))
        axes = (int32_t)gops_test_random_range(random, 4, 6);
    random_tensors(problem, type, axes, 1, 2, random);
    gops_deconv_attributes *a = &problem->deconv;
    a->strides = list_of(random, axes, 1, axes < 4 ? 4 : 2, 40);
    a->dilations = list_of(random, axes, 1, 3, 50);
    a->pads_begin = list_of(random, axes, 0, 4, 40);
    a->pads_end = list_of(random, axes, 0, 4, 40);
    a->output_padding = list_of(random, axes, 0, 3, 60);
    a->auto_pad = any_auto_pad(random);
    a->output_shape_rule = (gops_output_shape_rule)gops_test_random_range(random, 0, 2);
    if (!gops_test_random_chance(random, 40))
        return;
    /* An output_shape from 1 to a little beyond the whole scatter result. */
    a->output_shape.count = axes;
    for (int32_t i = 0; i < axes; i++) {
        int64_t stride = a->strides.count == 0 ? 1 : a->strides.values[i];
        int64_t dilation = a->dilations.count == 0 ? 1 : a->dilations.values[i];
        int64_t full = stride * (problem->data.dims[2 + i] - 1) +
                       (problem->filter.dims[3 + i] - 1) * dilation + 1;
        int64_t low = gops_test_random_chance(random, 80) ? full - 4 : 1;
        a->output_shape.values[i] = gops_test_random_range(random, low < 1 ? 1 : low, full + 3);
    }
}

static void random_norm(gops_problem *problem, gops_type type, gops_test_random *random)
{
    static const int64_t most[] = {0, 71, 29, 13, 7, 5, 3};
    int32_t axes = (int32_t)gops_test_random_range(random, 0, GOPS_MAX_SPATIAL);
    sizes s = {random, 0};
    int64_t groups = gops_test_random_chance(random, 30) ? 1 : take(&s, 7);
    int64_t channels = groups * size_up_to(&s, 11);
    if (gops_test_random_chance(random, 12)) {
        groups = gops_layout_size(gops_test_random_range(random, 0, GOPS_LAYOUT_SMALL_SIZES - 1));
        channels = groups * gops_test_random_range(random, 1, 3);
    }
    int64_t batch = gops_test_random_chance(random, 1) ? 0 : gops_test_random_range(random, 1, 3);
    problem->data = (gops_tensor){type, 2 + axes, {batch, channels}};
    for (int32_t i = 0; i < axes; i++)
        problem->data.dims[2 + i] = size_up_to(&s, most[axes]);
    problem->norm.num_groups = groups;
    problem->norm.epsilon =
        (double[]){1e-12, 1e-5, 1e-3, 0.1, 3.7}[gops_test_random_range(random, 0, 4)];
}

static int64_t product(const int64_t *factors, int32_t count)
{
    int64_t result = 1;
    for (int32_t i = 0; i < count; i++)
        result *= factors[i];
    return result;
}

/* How many products the reference has to form. */
static int64_t products(const gops_problem *problem, const gops_reference_geometry *g)
{
    int64_t positions =
        product(problem->operation == GOPS_PROBLEM_CONV ? g->result : g->data, g->spatial);
    return g->batch * g->groups * g->c_out * g->c_in * product(g->kernel, g->spatial) * positions;
}

static int is_small(const gops_problem *problem)
{
    gops_reference_geometry g;
    gops_tensor output;
    if (!gops_problem_reference_shape(problem, &g, &output))
        return 0;
    if (gops_test_elements(&problem->data) > MAX_ELEMENTS ||
        gops_test_elements(&output) > MAX_ELEMENTS)
        return 0;
    return problem->operation == GOPS_PROBLEM_NORM || products(problem, &g) <= MAX_PRODUCTS;
}

gops_problem gops_random_problem(gops_problem_operation operation, gops_type type,
                                 gops_test_random *random)
{
    gops_problem problem;
    do {
        memset(&problem, 0, sizeof problem);
        problem.operation = operation;
        if (operation == GOPS_PROBLEM_CONV)
            random_conv(&problem, type, random);
        else if (operation == GOPS_PROBLEM_DECONV)
            random_deconv(&problem, type, random);
        else
            random_norm(&problem, type, random);
    } while (!is_small(&problem));
    return problem;
}

void gops_random_relax(gops_problem *problem, gops_test_random *random)
{
    gops_problem relaxed = *problem;
    const gops_type type = problem->data.type;
    if (problem->operation != GOPS_PROBLEM_CONV || (type != GOPS_F32 && type != GOPS_F64) ||
        gops_test_random_chance(random, 60))
        return;
    relaxed.accuracy = GOPS_ACCURACY_RELAXED;
    if (relaxed.data.rank == 4) {
        relaxed.filter.dims[3] = relaxed.filter.dims[4] = 3;
        relaxed.conv.strides.count = relaxed.conv.dilations.count = 0;
    }
    if (is_small(&relaxed))
        *problem = relaxed;
}

void gops_random_fusion(gops_problem *problem, gops_test_random *random)
{
    gops_type type = problem->output_type != 0 ? problem->output_type : problem->data.type;
    const int quantized = gops_problem_is_quantized(problem);
    const int most = gops_test_type_is_real(type) ? GOPS_ACTIVATION_LAST : GOPS_ACTIVATION_CLAMP;
    gops_activation *a = &problem->activation;
    if (gops_test_random_chance(random, 50))
        return;
    problem->with_bias =
        problem->operation != GOPS_PROBLEM_NORM && gops_test_random_chance(random, 50);
    problem->with_residual = gops_test_random_chance(random, 40);
    /* What has 8 bits may become quantized. */
    const int wide = gops_test_type_is_real(type) || gops_test_type_bytes(problem->data.type) > 1;
    problem->residual_after = wide && !quantized && gops_test_random_chance(random, 30);
    a->kind = (gops_activation_kind)gops_test_random_range(random, 0, most);
    if (a->kind == GOPS_ACTIVATION_PRELU && (quantized || problem->operation == GOPS_PROBLEM_NORM))
        a->kind = GOPS_ACTIVATION_NONE;
    if (a->kind == GOPS_ACTIVATION_CLAMP && gops_test_type_is_real(type)) {
        a->alpha = -0.75;
        a->beta = 1.3;
    } else if (a->kind == GOPS_ACTIVATION_CLAMP) {
        a->alpha = gops_test_type_is_signed(type) ? -53 : 17;
        a->beta = 101;
    } else {
        a->alpha = a->kind == GOPS_ACTIVATION_SWISH ? 1.7 : 0.3;
        a->beta = 0.45;
    }
}

int64_t gops_random_budget(gops_test_random *random)
{
    if (gops_test_random_chance(random, 25))
        return GOPS_UNLIMITED;
    if (gops_test_random_chance(random, 50))
        return 0;
    return gops_test_random_range(random, 1, gops_test_random_chance(random, 50) ? 300 : 1 << 15);
}

void gops_random_channel_gaps(gops_problem *problem, gops_test_random *random)
{
    if (gops_test_random_chance(random, 25))
        problem->data_channel_gap = gops_test_random_range(random, 1, 97);
    if (gops_test_random_chance(random, 25))
        problem->output_channel_gap = gops_test_random_range(random, 1, 97);
}

void gops_random_view(gops_problem *problem, gops_test_random *random)
{
    gops_random_channel_gaps(problem, random);
    if (gops_test_random_chance(random, 25))
        problem->data_gap = gops_test_random_range(random, 1, 97);
    if (gops_test_random_chance(random, 25))
        problem->output_gap = gops_test_random_range(random, 1, 97);
    if (gops_test_random_chance(random, 25))
        problem->residual_gap = gops_test_random_range(random, 1, 97);
    problem->residual_in_place = problem->with_residual && gops_test_random_chance(random, 30);
}

gops_tensor gops_random_other_data(const gops_problem *problem, gops_test_random *random)
{
    gops_tensor other = problem->data;
    other.dims[0] = gops_test_random_range(random, 1, 3);
    for (int i = 2; i < other.rank; i++)
        other.dims[i] += gops_test_random_range(random, 0, 19);
    return other;
}
