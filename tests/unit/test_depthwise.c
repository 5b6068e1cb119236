/*
 * Depthwise layers of every size at which the kernels of `depthwise` change course: images of one
 * vector and less, vectors side by side, rows in pairs; which random problems seldom meet, since
 * those want square kernels and pads that keep the size.
 */
#include <math.h>
#include <string.h>

#include "depthwise_layer.h"
#include "elements.h"
#include "every_plan.h"
#include "harness.h"
#include "random_problem.h"

static gops_test_tally tally;

/* In every form that serves it, on the instruction set in use. */
static void check(gops_problem problem, gops_test_random *random)
{
    gops_random_fusion(&problem, random);
    gops_test_check(gops_test_every_result(&problem, "depthwise", random, &tally), "not legal");
}

static void begin(void)
{
    gops_test_keep_isa();
    memset(&tally, 0, sizeof tally);
}

static void every_width(void)
{
    static const gops_type types[] = {GOPS_F32, GOPS_F64};
    gops_test_random random = gops_test_random_start(gops_test_seed(), 61);
    begin();
    for (int64_t width = 1; width <= 150; width++)
        for (int64_t taps = 3; taps <= 7; taps += 2)
            for (int t = 0; t < 2; t++)
                for (int64_t dilation = 1; dilation <= 2; dilation++) {
                    gops_problem p = layer(types[t], 2, gops_test_random_range(&random, 1, 11),
                                           width, taps, 1, 0);
                    const int64_t pad = taps / 2 * dilation;
                    p.conv.dilations = both(dilation, dilation);
                    p.conv.pads_begin = both(gops_test_random_range(&random, 0, pad + 2), pad);
                    p.conv.pads_end = both(2 * pad, pad);
                    check(p, &random);
                }
    gops_test_check_tally(&tally, GOPS_PROBLEM_CONV, "depthwise/rows");
    gops_test_check_tally(&tally, GOPS_PROBLEM_CONV, "depthwise/masked");
    gops_test_check_tally(&tally, GOPS_PROBLEM_CONV, "depthwise/shuffle");
}

/* The same with stride 2, and pads that are wider than the kernel or the image. */
static void every_width_by_2(void)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 68);
    begin();
    for (int64_t width = 1; width <= 150; width++)
        for (int64_t taps = 3; taps <= 7; taps += 2) {
            gops_problem p =
                layer(GOPS_F32, 2, gops_test_random_range(&random, 1, 19), width, taps, 2, 0);
            p.conv.pads_begin =
                both(gops_test_random_range(&random, 0, taps + 2),
                     gops_test_random_range(&random, 0, width % 5 == 0 ? 99 : taps));
            p.conv.pads_end = both(taps - 1, gops_test_random_range(&random, taps - 1, 40));
            check(p, &random);
        }
    gops_test_check_tally(&tally, GOPS_PROBLEM_CONV, "depthwise/rows");
    gops_test_check_tally(&tally, GOPS_PROBLEM_CONV, "depthwise/masked");
}

/* Images so wide that 3 x 3 taps go by bands of rows, which begin and end inside the image or not. */
static void every_band(void)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 69);
    begin();
    for (int64_t width = 38; width <= 75; width++)
        for (int64_t stride = 1; stride <= 2; stride++)
            for (int64_t pad = 0; pad < 9; pad++) {
                const int64_t height = gops_test_random_range(&random, 3, 22);
                gops_problem p = layer(GOPS_F32, 2, height, width, 3, stride, 0);
                p.conv.pads_begin = both(gops_test_random_range(&random, 0, 3), pad % 3);
                p.conv.pads_end = both(gops_test_random_range(&random, 0, 3), pad / 3);
                check(p, &random);
            }
    gops_test_check_tally(&tally, GOPS_PROBLEM_CONV, "depthwise/masked");
}

/* Columns that two vectors cover, of which the second begins anywhere within the first, or nearly, with pads of every
 * width on either side. */
static void every_pair(void)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 70);
    begin();
    for (int64_t columns = 8; columns <= 27; columns++)
        for (int64_t taps = 3; taps <= 5; taps += 2)
            for (int64_t stride = 1; stride <= 2; stride++)
                for (int64_t pad = 0; pad < 16; pad++) {
                    const int64_t height = gops_test_random_range(&random, 5, 12);
                    const int64_t width = (columns - 1) * stride + taps - pad % 4 - pad / 4;
                    gops_problem p = layer(GOPS_F32, 2, height, width, taps, stride, 0);
                    p.conv.pads_begin = both(gops_test_random_range(&random, 0, 3), pad % 4);
                    p.conv.pads_end = both(gops_test_random_range(&random, 0, 3), pad / 4);
                    check(p, &random);
                }
    gops_test_check_tally(&tally, GOPS_PROBLEM_CONV, "depthwise/masked");
}

/* Columns of every number of taps, which are cut into those that kernels are made for. */
static void every_kernel(void)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 67);
    begin();
    for (int64_t taps = 1; taps <= 16; taps++)
        for (int64_t stride = 1; stride <= 3; stride++) {
            gops_problem p = layer(GOPS_F32, 3, 23, 19, taps, stride, 0);
            p.filter.dims[4] = 1 + taps % 4;
            check(p, &random);
        }
    gops_test_check_tally(&tally, GOPS_PROBLEM_CONV, "depthwise/rows");
}

static void every_small_image(void)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 62);
    begin();
    for (int64_t height = 1; height <= 17; height++)
        for (int64_t width = 1; width <= 17; width++)
            for (int64_t taps = 3; taps <= 7; taps += 2) {
                check(layer(GOPS_F32, 3, height, width, taps, 1, 0), &random);
                check(layer(GOPS_F32, 2, height, width, taps, 2, 0), &random);
                if (height > 1 && width > 1) /* else no window fits */
                    check(layer(GOPS_F32, 2, height, width, taps, 2, 1), &random);
            }
    gops_test_check_tally(&tally, GOPS_PROBLEM_CONV, "depthwise/rows");
    gops_test_check_tally(&tally, GOPS_PROBLEM_CONV, "depthwise/masked");
    gops_test_check_tally(&tally, GOPS_PROBLEM_CONV, "depthwise/shuffle");
}

/* Several filters for a channel, several images, more channels than one call takes, and types that
 * are converted on the way. */
static void filters_and_images(void)
{
    static const int64_t sizes[][3] = {{7, 7, 1}, {14, 13, 2}, {5, 19, 1}, {31, 29, 2}};
    static const gops_type types[] = {GOPS_F32, GOPS_F16, GOPS_BF16, GOPS_F8E5M2};
    gops_test_random random = gops_test_random_start(gops_test_seed(), 63);
    begin();
    for (int i = 0; i < 16; i++)
        for (int64_t filters = 1; filters <= 3; filters++)
            for (int64_t batch = 1; batch <= 3; batch += 2) {
                const int64_t *size = sizes[i % 4];
                gops_problem p = layer(types[i / 4], 71, size[0], size[1], 3, size[2], 0);
                p.data.dims[0] = batch;
                p.filter.dims[1] = filters;
                p.threads = 2;
                p.data_gap = 5 * (batch - 1);
                p.output_gap = 3 * (batch - 1);
                check(p, &random);
            }
    gops_test_check_tally(&tally, GOPS_PROBLEM_CONV, "depthwise/rows");
    gops_test_check_tally(&tally, GOPS_PROBLEM_CONV, "depthwise/blocked");
    gops_test_check_tally(&tally, GOPS_PROBLEM_CONV, "depthwise/masked");
    gops_test_check_tally(&tally, GOPS_PROBLEM_CONV, "depthwise/shuffle");
}

/* The transposed form, stride 2: every width at which tiles of columns end, pads even and odd. */
static void transposed(void)
{
    static const gops_type types[] = {GOPS_F32, GOPS_F64};
    gops_test_random random = gops_test_random_start(gops_test_seed(), 65);
    begin();
    for (int64_t width = 1; width <= 70; width++)
        for (int64_t taps = 2; taps <= 4; taps++)
            for (int64_t pad = 0; pad <= 3; pad++) {
                const int64_t height = gops_test_random_range(&random, 5, 11);
                const int64_t extra = gops_test_random_range(&random, 0, 4);
                gops_problem p = {
                    .operation = GOPS_PROBLEM_DECONV,
                    .threads = 1,
                    .data = {types[(width + taps + pad) % 2], 4, {1, 3, height, width}},
                    .filter = {types[(width + taps + pad) % 2], 5, {3, 1, 1, taps, taps}},
                    .deconv = {.strides = both(2, 2),
                               .pads_begin = both(gops_test_random_range(&random, 0, 5), pad),
                               .pads_end = both(0, gops_test_random_range(&random, 0, 2)),
                               .output_padding = both(extra, pad + 1 + extra)},
                };
                check(p, &random);
            }
    gops_test_check_tally(&tally, GOPS_PROBLEM_DECONV, "depthwise/rows");
    gops_test_check_tally(&tally, GOPS_PROBLEM_DECONV, "depthwise/shuffle");
}

/* A depth of 1 that pads move off the data: the bias is left, and no image to run on. */
static void depth_of_one(void)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 66);
    begin();
    for (int64_t front = 0; front <= 1; front++)
        for (int64_t taps = 2; taps <= 5; taps++) {
            const int64_t half = taps / 2;
            gops_problem p = layer(GOPS_F32, 3, 7, 11, taps, 1, 0);
            p.data.rank++;
            memcpy(p.data.dims, (int64_t[]){1, 3, 1, 7, 11}, 5 * sizeof p.data.dims[0]);
            p.filter.rank++;
            memcpy(p.filter.dims, (int64_t[]){3, 1, 1, 1, taps, taps}, 6 * sizeof p.filter.dims[0]);
            p.conv.strides = (gops_list){.count = 3, .values = {2, 1, 1}};
            p.conv.pads_begin = (gops_list){.count = 3, .values = {front, half, half}};
            p.conv.pads_end = (gops_list){.count = 3, .values = {1 - front, half, half}};
            check(p, &random);
            p.operation = GOPS_PROBLEM_DECONV;
            p.deconv = (gops_deconv_attributes){
                .strides = {.count = 3, .values = {2, 2, 2}},
                .pads_begin = p.conv.pads_begin,
                .pads_end = {.count = 3},
                .output_padding = {.count = 3, .values = {front, 0, 0}},
            };
            check(p, &random);
        }
    gops_test_check_tally(&tally, GOPS_PROBLEM_CONV, "depthwise/rows");
}

/* A problem whose data hold what is not finite. */
typedef struct strange {
    gops_problem problem;
    gops_problem_buffers buffers;
    gops_reference_result result;
} strange;

static int run_strange(void *context, const gops_plan *plan)
{
    strange *s = context;
    if (strncmp(s->problem.algorithm, "depthwise/", 10) == 0) {
        gops_test_count(&tally, &s->problem, plan);
        gops_test_one_result(&s->problem, plan, &s->buffers, &s->result);
    }
    return 1;
}

/* A lane that moves must not take what it should leave behind: not even 0 * NaN. */
static void what_is_not_finite_stays(void)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 64);
    begin();
    for (int64_t size = 1; size <= 48; size++)
        for (int64_t stride = 1; stride <= 2; stride++) {
            strange s = {.problem =
                             layer(GOPS_F32, 3, size, size, size % 2 == 0 ? 3 : 5, stride, 0)};
            const int64_t elements = gops_test_elements(&s.problem.data);
            gops_reference_geometry geometry;
            gops_tensor output;
            gops_test_check(gops_problem_reference_shape(&s.problem, &geometry, &output),
                            "illegal");
            s.buffers = gops_problem_buffers_create(&s.problem, &output, &random);
            for (int64_t i = 0; i < 1 + elements / 50; i++)
                gops_test_set_real(GOPS_F32, s.buffers.data.memory,
                                   gops_test_random_range(&random, 0, elements - 1),
                                   i % 2 == 0 ? (long double)NAN : (long double)INFINITY);
            gops_problem_reference(&s.problem, &s.buffers, &s.result);
            gops_test_every_plan(&s.problem, run_strange, &s);
            gops_reference_result_destroy(&s.result);
            gops_problem_buffers_destroy(&s.buffers);
        }
    gops_test_check_tally(&tally, GOPS_PROBLEM_CONV, "depthwise/rows");
    gops_test_check_tally(&tally, GOPS_PROBLEM_CONV, "depthwise/masked");
    gops_test_check_tally(&tally, GOPS_PROBLEM_CONV, "depthwise/shuffle");
}

int main(void)
{
    static const gops_test_case cases[] = {{"every_width", every_width},
                                           {"every_width_by_2", every_width_by_2},
                                           {"every_band", every_band},
                                           {"every_pair", every_pair},
                                           {"every_kernel", every_kernel},
                                           {"every_small_image", every_small_image},
                                           {"filters_and_images", filters_and_images},
                                           {"transposed", transposed},
                                           {"depth_of_one", depth_of_one},
                                           {"what_is_not_finite_stays", what_is_not_finite_stays},
                                           {NULL, NULL}};
    return gops_test_main("depthwise", cases);
}
