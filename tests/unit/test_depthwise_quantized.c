/*
 * Depthwise layers of 8 bits, of every size at which their kernels change course: rows that end within
 * a vector, several of them in one, planes in one, transposed rows that are interleaved.
 */
#include <string.h>

#include "depthwise_layer.h"
#include "elements.h"
#include "every_plan.h"
#include "harness.h"
#include "random_quantized.h"

static gops_test_tally tally;

static void begin(void)
{
    memset(&tally, 0, sizeof tally);
}

/* The kernels take data without a sign, and flip the uppermost bit of others. */
static gops_type data_type(gops_test_random *random)
{
    return gops_test_random_range(random, 0, 1) != 0 ? GOPS_I8 : GOPS_U8;
}

/* A quantized layer with random values in every form. */
static void check(gops_problem p, gops_test_random *random)
{
    static gops_random_quantization memory;
    p.data.type = data_type(random);
    gops_random_quantize(&p, &memory, random);
    gops_test_check(gops_test_every_result(&p, "depthwise", random, &tally), "not legal");
}

/* Every width at which vectors, tiles and the rows of a load end; kernels of every width, and those
 * that have kernels of their own. */
static void every_width(void)
{
    static const int64_t kernels[][2] = {{3, 3}, {5, 5}, {7, 7}, {3, 4}, {5, 8},
                                         {1, 3}, {2, 9}, {4, 1}, {3, 2}, {6, 13}};
    gops_test_random random = gops_test_random_start(gops_test_seed(), 71);
    begin();
    for (int64_t width = 1; width <= 135; width++)
        for (int64_t stride = 1; stride <= 2; stride++)
            for (int k = 0; k < 10; k++) {
                const int64_t *taps = kernels[k];
                const int64_t dilation = width % 5 == 0 ? 2 : 1;
                gops_problem p =
                    layer(GOPS_U8, 2, gops_test_random_range(&random, 1, 19), width, 1, stride, 0);
                p.filter.dims[1] = 1 + width % 2;
                p.filter.dims[3] = taps[0];
                p.filter.dims[4] = taps[1];
                p.conv.dilations = both(dilation, dilation);
                p.conv.pads_begin = both(gops_test_random_range(&random, 0, taps[0]),
                                         gops_test_random_range(&random, 0, taps[1]));
                p.conv.pads_end = both(taps[0] * dilation, taps[1] * dilation);
                check(p, &random);
            }
    gops_test_check_tally(&tally, GOPS_PROBLEM_CONV, "depthwise/permuted");
    gops_test_check_tally(&tally, GOPS_PROBLEM_CONV, "depthwise/pairs");
}

/* A convolution of 8 bits of small planes, some filters of each. */
static void small_plane(int64_t height, int64_t width, const int64_t taps[2],
                        const int64_t strides[2], const int64_t dilations[2],
                        gops_test_random *random)
{
    gops_problem p = layer(GOPS_U8, gops_test_random_range(random, 1, 9), height, width, 1, 1, 0);
    p.filter.dims[1] = gops_test_random_range(random, 0, 7) == 0 ? 2 : 1;
    p.filter.dims[3] = taps[0];
    p.filter.dims[4] = taps[1];
    p.conv.strides = both(strides[0], strides[1]);
    p.conv.dilations = both(dilations[0], dilations[1]);
    const bool same = gops_test_random_range(random, 0, 1) != 0;
    const int64_t y = same ? taps[0] / 2 : gops_test_random_range(random, 0, taps[0]);
    const int64_t x = same ? taps[1] / 2 : gops_test_random_range(random, 0, taps[1]);
    p.conv.pads_begin = both(y, x);
    p.conv.pads_end = both(taps[0] * dilations[0] - y, taps[1] * dilations[1] - x);
    check(p, random);
}

/* Every plane of up to 33 x 33, where rows of outputs share vectors, loads and stores: with kernels
 * of 3 x 3 and 5 x 5, and with any up to 7 x 7. */
static void small_planes(void)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 72);
    begin();
    for (int64_t height = 1; height <= 33; height++)
        for (int64_t width = 1; width <= 33; width++) {
            const int64_t k = gops_test_random_range(&random, 0, 1) != 0 ? 3 : 5;
            const int64_t s = gops_test_random_range(&random, 1, 2);
            small_plane(height, width, (int64_t[]){k, k}, (int64_t[]){s, s}, (int64_t[]){1, 1},
                        &random);
            int64_t any[6];
            for (int i = 0; i < 6; i++)
                any[i] = gops_test_random_range(&random, 1, i < 2 ? 7 : 5 - i / 2);
            small_plane(height, width, any, any + 2, any + 4, &random);
        }
    gops_test_check_tally(&tally, GOPS_PROBLEM_CONV, "depthwise/permuted");
    gops_test_check_tally(&tally, GOPS_PROBLEM_CONV, "depthwise/pairs");
}

/* Transposed, of 8 bits: every width at which pieces of interleaved rows end, residues with different
 * numbers of taps and with none, outputs beyond the last data. */
static void transposed(void)
{
    static const int64_t kernels[][2] = {{4, 4}, {3, 3}, {2, 2}, {5, 5}, {1, 2}, {3, 8}, {7, 1}};
    static const int64_t strides[] = {1, 2, 3, 4, 5, 8};
    gops_test_random random = gops_test_random_start(gops_test_seed(), 73);
    begin();
    for (int64_t width = 1; width <= 71; width++)
        for (int s = 0; s < 6; s++)
            for (int k = 0; k < 7; k++) {
                const int64_t *taps = kernels[k];
                const int64_t down = gops_test_random_range(&random, 1, 3);
                const int64_t dilation = gops_test_random_range(&random, 0, 3) == 0 ? 2 : 1;
                const int64_t pad = gops_test_random_range(&random, 0, taps[1] / 2);
                gops_problem p = {
                    .operation = GOPS_PROBLEM_DECONV,
                    .threads = 1,
                    .data = {GOPS_U8, 4, {1, 2, gops_test_random_range(&random, 1, 7), width}},
                    .filter = {GOPS_U8, 5, {2, 1, 1 + width % 2, taps[0], taps[1]}},
                    .deconv = {.strides = both(down, strides[s]),
                               .dilations = both(1, dilation),
                               .pads_begin = both(0, pad),
                               .output_padding = both(gops_test_random_range(&random, 0, 2), 3)},
                };
                check(p, &random);
            }
    gops_test_check_tally(&tally, GOPS_PROBLEM_DECONV, "depthwise/pairs");
    gops_test_check_tally(&tally, GOPS_PROBLEM_DECONV, "depthwise/permuted");
}

/* Transposed, of 8 bits: kernels and strides of every number of taps a residue, square planes that
 * networks have and those beside them. */
static void transposed_planes(void)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 74);
    begin();
    for (int64_t size = 1; size <= 37; size++)
        for (int64_t stride = 1; stride <= 4; stride++)
            for (int64_t taps = 1; taps <= 9; taps++) {
                const int64_t pad = gops_test_random_range(&random, 0, taps / 2);
                gops_problem p = {
                    .operation = GOPS_PROBLEM_DECONV,
                    .threads = 1,
                    .data = {GOPS_U8, 4, {1, gops_test_random_range(&random, 1, 5), size, size}},
                    .filter = {GOPS_U8, 5, {0, 1, 1, taps, taps}},
                    .deconv = {.strides = both(stride, stride),
                               .pads_begin = both(pad, pad),
                               .output_padding = both(stride - 1, stride - 1)},
                };
                p.filter.dims[0] = p.data.dims[1];
                check(p, &random);
            }
    gops_test_check_tally(&tally, GOPS_PROBLEM_DECONV, "depthwise/permuted");
}

/* The bytes of the data that differ from the zero point. */
typedef enum marks { FIRST_COLUMN, LAST_COLUMN, FIRST_ROW, LAST_ROW, MARKS } marks;

static int is_marked(marks edge, const int64_t dims[4], int64_t y, int64_t x)
{
    switch (edge) {
    case FIRST_COLUMN:
        return x == 0;
    case LAST_COLUMN:
        return x == dims[3] - 1;
    case FIRST_ROW:
        return y == 0;
    default:
        return y == dims[2] - 1;
    }
}

/* A problem whose data are marked. */
typedef struct joined {
    gops_problem problem;
    gops_problem_buffers buffers;
    gops_reference_result result;
} joined;

static int run_joined(void *context, const gops_plan *plan)
{
    joined *s = context;
    if (strncmp(s->problem.algorithm, "depthwise/", 10) == 0) {
        gops_test_count(&tally, &s->problem, plan);
        gops_test_one_result(&s->problem, plan, &s->buffers, &s->result);
    }
    return 1;
}

/* Of each image only an edge differs from the padding, by 1 to 3, and no weight is 0: where vectors
 * join the bytes of several rows or images, every byte that is taken from the wrong side of a join
 * changes an output. Sums are small numbers, which codes of scale 1 show. */
static void check_join(gops_problem p, marks edge, gops_type output_type, gops_test_random *random)
{
    static const int64_t zero = 7;
    gops_reference_geometry geometry;
    gops_tensor output;
    p.filter.type = GOPS_I8;
    p.output_type = output_type;
    p.data_zero_point = &zero;
    joined s = {.problem = p};
    gops_test_check(gops_problem_reference_shape(&s.problem, &geometry, &output), "illegal");
    s.buffers = gops_problem_buffers_create(&s.problem, &output, random);
    const int64_t *dims = p.data.dims, plane = dims[2] * dims[3];
    uint8_t *data = s.buffers.data.memory;
    int8_t *weights = s.buffers.weights.memory;
    for (int64_t i = 0; i < gops_test_elements(&p.data); i++)
        data[i] = (uint8_t)(zero + (is_marked(edge, dims, i % plane / dims[3], i % dims[3])
                                        ? 1 + i / plane % 3
                                        : 0));
    for (int64_t i = 0; i < gops_test_elements(&p.filter); i++)
        weights[i] = (int8_t)(1 + i % 7);
    gops_problem_reference(&s.problem, &s.buffers, &s.result);
    gops_test_every_plan(&s.problem, run_joined, &s);
    gops_reference_result_destroy(&s.result);
    gops_problem_buffers_destroy(&s.buffers);
}

static void joined_bytes(void)
{
    static const int64_t widths[] = {1,  2,  3,  5,  7,  8,  9,  13, 14, 15, 16, 17,
                                     19, 27, 28, 29, 31, 32, 33, 47, 56, 62, 63, 65};
    gops_test_random random = gops_test_random_start(gops_test_seed(), 75);
    begin();
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++)
        for (int edge = 0; edge < MARKS; edge++)
            for (int64_t taps = 3; taps <= 5; taps += 2)
                for (int64_t stride = 1; stride <= 2; stride++) {
                    const int64_t height = gops_test_random_range(&random, 1, 15);
                    const gops_type type = (i + (size_t)edge) % 2 == 0 ? GOPS_U8 : GOPS_I32;
                    gops_problem p =
                        layer(data_type(&random), 3, height, widths[i], taps, stride, 0);
                    check_join(p, (marks)edge, type, &random);
                    p.operation = GOPS_PROBLEM_DECONV;
                    p.deconv = (gops_deconv_attributes){
                        .strides = both(stride, stride),
                        .pads_begin = both(1, 1),
                        .output_padding = both(stride, stride),
                    };
                    check_join(p, (marks)edge, type, &random);
                }
    gops_test_check_tally(&tally, GOPS_PROBLEM_CONV, "depthwise/permuted");
    gops_test_check_tally(&tally, GOPS_PROBLEM_CONV, "depthwise/pairs");
    gops_test_check_tally(&tally, GOPS_PROBLEM_DECONV, "depthwise/permuted");
    gops_test_check_tally(&tally, GOPS_PROBLEM_DECONV, "depthwise/pairs");
}

int main(void)
{
    static const gops_test_case cases[] = {
        {"every_width", every_width},   {"small_planes", small_planes},
        {"transposed", transposed},     {"transposed_planes", transposed_planes},
        {"joined_bytes", joined_bytes}, {NULL, NULL}};
    return gops_test_main("depthwise_quantized", cases);
}
