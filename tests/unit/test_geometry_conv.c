/* GroupConvolution: output shapes and pads worked out by hand. */
#include <string.h>

#include "checked_axis.h"
#include "elements.h"
#include "geometry/geometry.h"
#include "harness.h"

/* One spatial axis of a convolution and what must come of it. */
typedef struct axis_case {
    int64_t data, kernel, stride, dilation;
    gops_auto_pad auto_pad;
    int64_t given_begin, given_end;
    int64_t output, begin, end;
} axis_case;

#define EXPLICIT GOPS_AUTO_PAD_EXPLICIT
#define UPPER GOPS_AUTO_PAD_SAME_UPPER
#define LOWER GOPS_AUTO_PAD_SAME_LOWER
#define VALID GOPS_AUTO_PAD_VALID

static const axis_case axis_cases[] = {
    /* X  K  s  d  auto_pad  given  ->  Y  pads */
    {10, 3, 1, 1, EXPLICIT, 0, 0, 8, 0, 0},
    {10, 3, 1, 1, VALID, 0, 0, 8, 0, 0},
    {10, 3, 1, 1, UPPER, 0, 0, 10, 1, 1},
    {10, 3, 1, 1, LOWER, 0, 0, 10, 1, 1},
    /* An odd total: (10 - 1) + 4 - 10 = 3. */
    {10, 4, 1, 1, UPPER, 0, 0, 10, 1, 2},
    {10, 4, 1, 1, LOWER, 0, 0, 10, 2, 1},
    /* Strides: 5 * 2 + 3 - 11 = 2, 4 * 2 + 3 - 10 = 1, 3 * 3 + 2 - 10 = 1. */
    {11, 3, 2, 1, UPPER, 0, 0, 6, 1, 1},
    {11, 3, 2, 1, LOWER, 0, 0, 6, 1, 1},
    {10, 3, 2, 1, UPPER, 0, 0, 5, 0, 1},
    {10, 3, 2, 1, LOWER, 0, 0, 5, 1, 0},
    {10, 2, 3, 1, UPPER, 0, 0, 4, 0, 1},
    {10, 2, 3, 1, LOWER, 0, 0, 4, 1, 0},
    {10, 3, 2, 1, VALID, 0, 0, 4, 0, 0},
    {11, 3, 2, 1, VALID, 0, 0, 5, 0, 0},
    /* 3 * 3 + 1 - 11 = -1 counts as 0. */
    {11, 1, 3, 1, UPPER, 0, 0, 4, 0, 0},
    {11, 1, 3, 1, LOWER, 0, 0, 4, 0, 0},
    {11, 1, 3, 1, VALID, 0, 0, 4, 0, 0},
    /* Dilation: extents 9 and 10. */
    {13, 3, 2, 4, UPPER, 0, 0, 7, 4, 4},
    {13, 4, 1, 3, UPPER, 0, 0, 13, 4, 5},
    {13, 4, 1, 3, LOWER, 0, 0, 13, 5, 4},
    {13, 4, 1, 3, VALID, 0, 0, 4, 0, 0},
    {13, 4, 2, 3, EXPLICIT, 1, 2, 4, 1, 2},
    /* A kernel larger than the data. */
    {3, 7, 1, 1, UPPER, 0, 0, 3, 3, 3},
    {3, 8, 1, 1, UPPER, 0, 0, 3, 3, 4},
    {3, 8, 1, 1, LOWER, 0, 0, 3, 4, 3},
    {3, 7, 1, 1, EXPLICIT, 2, 2, 1, 2, 2},
    {3, 7, 1, 1, EXPLICIT, 1, 5, 3, 1, 5},
    /* Pads larger than the kernel: windows that see padding alone. */
    {2, 3, 1, 1, EXPLICIT, 5, 7, 12, 5, 7},
    /* Asymmetric pads; a stride that leaves the end over; a stride beyond the data. */
    {10, 3, 2, 1, EXPLICIT, 3, 1, 6, 3, 1},
    {10, 3, 2, 1, EXPLICIT, 1, 3, 6, 1, 3},
    {10, 3, 4, 1, EXPLICIT, 0, 0, 2, 0, 0},
    {10, 3, 97, 1, EXPLICIT, 0, 0, 1, 0, 0},
    {10, 3, 97, 1, UPPER, 0, 0, 1, 0, 0},
    {1, 1, 1, 1, EXPLICIT, 0, 0, 1, 0, 0},
    /* Any auto_pad but explicit ignores the pads that are given, bad ones included. */
    {10, 4, 1, 1, UPPER, 7, 9, 10, 1, 2},
    {10, 4, 1, 1, LOWER, 7, 9, 10, 2, 1},
    {10, 4, 1, 1, VALID, 7, 9, 7, 0, 0},
    {10, 4, 1, 1, VALID, -3, -4, 7, 0, 0},
};

enum { AXIS_CASES = sizeof axis_cases / sizeof axis_cases[0] };

static void check_axis(const axis_case *c, int number)
{
    gops_tensor data = GOPS_TEST_TENSOR(GOPS_F32, 2, 15, c->data);
    gops_tensor filter = GOPS_TEST_TENSOR(GOPS_F32, 5, 7, 3, c->kernel);
    gops_conv_attributes attributes = {.strides = gops_one(c->stride),
                                       .pads_begin = gops_one(c->given_begin),
                                       .pads_end = gops_one(c->given_end),
                                       .dilations = gops_one(c->dilation),
                                       .auto_pad = c->auto_pad};
    gops_shape s;
    gops_error error = {GOPS_OK, ""};
    gops_status status = gops_conv_shape(&data, &filter, &attributes, &s, &error);
    gops_check_only_axis(status, &error, &s, (gops_checked_axis){c->output, c->begin, c->end},
                         number);
}

static void every_axis_alone(void)
{
    for (int i = 0; i < AXIS_CASES; i++)
        check_axis(&axis_cases[i], i);
}

/* The cases with the same auto_pad side by side, as the axes of a 2D and of a 3D convolution. */
static void every_axis_beside_others(void)
{
    for (int i = 0; i < AXIS_CASES; i++) {
        const axis_case *axes[3] = {&axis_cases[i], &axis_cases[i], &axis_cases[i]};
        int32_t spatial = 2 + i % 2;
        for (int j = 0, found = 1; j < AXIS_CASES && found < spatial; j++)
            if (axis_cases[(i + j) % AXIS_CASES].auto_pad == axis_cases[i].auto_pad && j != 0)
                axes[found++] = &axis_cases[(i + j) % AXIS_CASES];
        gops_tensor data = {GOPS_F64, 2 + spatial, {3, 14}};
        gops_tensor filter = {GOPS_F64, 3 + spatial, {7, 5, 2}};
        gops_conv_attributes attributes = {
            {spatial, {0}}, {spatial, {0}}, {spatial, {0}}, {spatial, {0}}, axes[0]->auto_pad};
        for (int j = 0; j < spatial; j++) {
            data.dims[2 + j] = axes[j]->data;
            filter.dims[3 + j] = axes[j]->kernel;
            attributes.strides.values[j] = axes[j]->stride;
            attributes.dilations.values[j] = axes[j]->dilation;
            attributes.pads_begin.values[j] = axes[j]->given_begin;
            attributes.pads_end.values[j] = axes[j]->given_end;
        }
        gops_shape s;
        gops_error error = {GOPS_OK, ""};
        gops_status status = gops_conv_shape(&data, &filter, &attributes, &s, &error);
        int good = gops_test_check(status == GOPS_OK, "case %d: %s", i, error.message);
        for (int j = 0; good && j < spatial; j++)
            good = gops_check_axis(
                &s, j, (gops_checked_axis){axes[j]->output, axes[j]->begin, axes[j]->end}, i);
    }
}

/* data [1, 2, 3, 4], filter [1, 10]: the windows, written down. */
static void values(gops_auto_pad auto_pad, int64_t begin, int64_t end, int64_t stride,
                   int64_t count, const float *expected)
{
    float numbers[4] = {1, 2, 3, 4};
    float weights[2] = {1, 10};
    float output[8] = {0};
    gops_problem problem = {
        .operation = GOPS_PROBLEM_CONV,
        .data = GOPS_TEST_TENSOR(GOPS_F32, 1, 1, 4),
        .filter = GOPS_TEST_TENSOR(GOPS_F32, 1, 1, 1, 2),
        .conv = {gops_one(stride), gops_one(begin), gops_one(end), {0}, auto_pad}};
    gops_problem_buffers buffers = {
        .data.memory = numbers, .weights.memory = weights, .output.memory = output};
    gops_error error = {GOPS_OK, ""};
    gops_status status = gops_problem_run(&problem, &buffers, &error);
    gops_test_check(status == GOPS_OK, "%s", error.message);
    for (int64_t i = 0; i < count; i++)
        gops_test_check(output[i] == expected[i], "auto_pad %d, output[%lld] is %g, expected %g",
                        (int)auto_pad, (long long)i, (double)output[i], (double)expected[i]);
}

static void values_by_hand(void)
{
    values(EXPLICIT, 0, 0, 1, 3, (const float[]){21, 32, 43});
    values(VALID, 2, 2, 1, 3, (const float[]){21, 32, 43});
    values(UPPER, 0, 0, 1, 4, (const float[]){21, 32, 43, 4});
    values(LOWER, 0, 0, 1, 4, (const float[]){10, 21, 32, 43});
    values(EXPLICIT, 2, 1, 1, 6, (const float[]){0, 10, 21, 32, 43, 4});
    values(EXPLICIT, 1, 2, 2, 3, (const float[]){10, 32, 4});
}

/* Attributes left out, and no attributes at all, mean the defaults. */
static void defaults(void)
{
    gops_tensor data = GOPS_TEST_TENSOR(GOPS_F32, 2, 6, 7, 11);
    gops_tensor filter = GOPS_TEST_TENSOR(GOPS_F32, 3, 5, 2, 3, 4);
    gops_conv_attributes empty = {.auto_pad = EXPLICIT};
    gops_shape a, b;
    gops_error error = {GOPS_OK, ""};
    gops_test_check(gops_conv_shape(&data, &filter, &empty, &a, &error) == GOPS_OK, "%s",
                    error.message);
    gops_test_check(gops_conv_shape(&data, &filter, NULL, &b, NULL) == GOPS_OK, "attributes NULL");
    gops_test_check(memcmp(a.output.dims, (int64_t[]){2, 15, 5, 8}, 4 * sizeof(int64_t)) == 0,
                    "output of the defaults");
    gops_test_check(memcmp(a.output.dims, b.output.dims, 4 * sizeof(int64_t)) == 0,
                    "output without attributes");
    gops_test_check(a.pads_begin.count == 2 && a.pads_begin.values[1] == 0, "pads");
}

/* One axis, resolved. */
static bool resolve(int64_t kernel, int64_t data_size, const gops_conv_attributes *attributes,
                    gops_axis *axis)
{
    const gops_tensor data = GOPS_TEST_TENSOR(GOPS_F32, 1, 1, data_size);
    const gops_tensor filter = GOPS_TEST_TENSOR(GOPS_F32, 1, 1, 1, kernel);
    gops_conv_geometry geometry;
    const bool done =
        gops_conv_resolve(&data, &filter, attributes, 0, &geometry, NULL, NULL) == GOPS_OK;
    *axis = geometry.axis[0];
    return done;
}

/* The tap that reads that pixel for an output, -1 where none does. */
static int64_t tap_of(const gops_axis *axis, int64_t output, int64_t pixel)
{
    for (int64_t tap = 0; tap < axis->kernel; tap++) {
        if (output * axis->stride + tap * axis->dilation - axis->pad_begin == pixel) {
            return tap;
        }
    }
    return -1;
}

/* Whether outputs read the same pixels by the same taps, counted from `first`. */
static bool read_alike(const gops_axis *all, const gops_axis *kept, int64_t first)
{
    bool alike = all->output == kept->output;
    for (int64_t i = 0; i < all->output * all->data; i++) {
        const int64_t tap = tap_of(all, i / all->data, i % all->data);
        const int64_t now = tap_of(kept, i / all->data, i % all->data);
        alike = alike && now == (tap < 0 ? -1 : tap - first);
    }
    return alike;
}

/* Taps that meet padding alone are left out at both ends, and nothing else changes. */
static void trimmed(void)
{
    enum { PADS = 9, DILATIONS = 6, ALL = 5 * 4 * 3 * DILATIONS * PADS * PADS };
    int64_t left_out = 0;
    for (int64_t i = 0; i < ALL; i++) {
        const int64_t begin = i % PADS, end = i / PADS % PADS, rest = i / PADS / PADS;
        const int64_t dilation = 1 + rest % DILATIONS, stride = 1 + rest / DILATIONS % 3;
        const int64_t kernel = 1 + rest / DILATIONS / 3 % 4, data = 1 + rest / DILATIONS / 12;
        gops_conv_attributes attributes = {.strides = {1, {stride}},
                                           .dilations = {1, {dilation}},
                                           .pads_begin = {1, {begin}},
                                           .pads_end = {1, {end}}};
        gops_axis axis, again;
        if (!resolve(kernel, data, &attributes, &axis)) {
            continue; /* the kernel is larger than the padded data */
        }
        gops_axis kept = axis;
        const int64_t first = gops_conv_trim(&kept);
        attributes.pads_begin.values[0] = kept.pad_begin;
        attributes.pads_end.values[0] = kept.pad_end;
        left_out += axis.kernel - kept.kernel;
        const bool resolves = resolve(kept.kernel, data, &attributes, &again);
        const bool alone = kernel == 1 || begin != end || begin % dilation != 0 ||
                           begin / dilation * 2 + 1 != kernel || data > dilation || stride > 1;
        gops_test_check(
            read_alike(&axis, &kept, first) && resolves && again.output == axis.output &&
                (alone || kept.kernel == 1),
            "data %d, kernel %d, stride %d, dilation %d, pads %d and %d: %d taps from %d",
            (int)data, (int)kernel, (int)stride, (int)dilation, (int)begin, (int)end,
            (int)kept.kernel, (int)first);
    }
    gops_test_check(left_out > 0, "no tap is left out");
}

int main(void)
{
    static const gops_test_case cases[] = {{"every_axis_alone", every_axis_alone},
                                           {"every_axis_beside_others", every_axis_beside_others},
                                           {"values_by_hand", values_by_hand},
                                           {"defaults", defaults},
                                           {"trimmed", trimmed},
                                           {NULL, NULL}};
    return gops_test_main("geometry of GroupConvolution", cases);
}
