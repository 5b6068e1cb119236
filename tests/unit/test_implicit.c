/* Blocks of columns that end anywhere in a row and are no multiple of a register tile's, because the
 * last channels have a smaller one, with gaps of any width between the rows of the padded input. */

#include <string.h>

#include "problem.h"
#include "elements.h"
#include "every_plan.h"
#include "harness.h"
#include "random_quantized.h"

static gops_test_tally tally;

/* Of every case: what it counts is its own. */
static void begin(void)
{
    memset(&tally, 0, sizeof tally);
}

static void sweep(gops_problem_operation operation, const char *name)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), operation);
    begin();
    for (int64_t stride = 1; stride <= 3; stride++) {
        for (int64_t width = 11; width <= 17; width++) {
            for (int64_t out = 19; out <= 61; out += 14) {
                const bool conv = operation == GOPS_PROBLEM_CONV;
                gops_problem p = {
                    .operation = operation,
                    .threads = 1,
                    .data = {GOPS_F32, 4, {1, 2, 20, width}},
                    .filter = {GOPS_F32, 5, {1, conv ? out : 2, conv ? 2 : out, 3, 5}},
                };
                p.conv.strides = p.deconv.strides = (gops_list){2, {1, stride}};
                p.conv.pads_begin = p.deconv.pads_begin = (gops_list){2, {1, 3}};
                p.conv.pads_end = p.deconv.pads_end = (gops_list){2, {1, 2}};
                p.conv.dilations = p.deconv.dilations = (gops_list){2, {3, 1}};
                gops_test_check(gops_test_every_result(&p, name, &random, &tally), "not legal");
            }
        }
    }
    gops_test_check_tally(&tally, operation, name);
}

static void convolutions(void)
{
    sweep(GOPS_PROBLEM_CONV, "implicit");
}

/* Blocked inputs: numbers of channels beside a step, 4, and a block, 16; rows beside a vector; columns that
 * are neighbours, or apart, or in several rows; rows of outputs without some rows of taps; K in several
 * blocks. */
static void blocked(const int64_t *data, int64_t groups, int64_t out, int64_t kernel,
                    int64_t stride, int64_t dilation)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), (uint64_t)(data[3] + out));
    gops_problem p = {
        .operation = GOPS_PROBLEM_CONV,
        .threads = 1,
        .data = {GOPS_F32, 4, {data[0], groups * data[1], data[2], data[3]}},
        .filter = {GOPS_F32, 5, {groups, out, data[1], kernel, 3}},
    };
    p.conv.strides = (gops_list){2, {1, stride}};
    p.conv.pads_begin = (gops_list){2, {2, 1}};
    p.conv.pads_end = (gops_list){2, {1, 2}};
    p.conv.dilations = (gops_list){2, {dilation, 1}};
    gops_test_check(gops_test_every_result(&p, "implicit/blocked", &random, &tally), "not legal");
}

static void blocked_inputs(void)
{
    static const int64_t channels[] = {1, 3, 4, 5, 15, 16, 17, 31, 33};
    begin();
    for (int i = 0; i < (int)(sizeof channels / sizeof channels[0]); i++) {
        for (int64_t width = 3; width <= 19; width += 2) {
            blocked((int64_t[]){2, channels[i], 5, width}, 1 + i % 3, 7 + 9 * i, 2 + i % 2,
                    1 + width % 3, 1 + i % 2);
        }
    }
    blocked((int64_t[]){1, 997, 11, 13}, 1, 67, 3, 1, 1);
    gops_test_check_tally(&tally, GOPS_PROBLEM_CONV, "implicit/blocked");
}

/* Vectors of 4, 8 and 16 channels of which tiles of three leave one, whole or in part; also where the channels make
 * several blocks. */
static void vectors_left(void)
{
    begin();
    for (int i = 0; i < 24; i++) {
        const bool in_blocks = i >= 12;
        const int64_t vectors = i % 2 == 0 ? 7 : 13, lanes = 4 << i % 12 / 4;
        const int64_t groups = in_blocks ? 1 : 2, channels_in = in_blocks ? 397 : 18;
        const int64_t height = in_blocks ? 2 : 5, width = in_blocks ? 2 : 11;
        gops_test_random random = gops_test_random_start(gops_test_seed(), (uint64_t)i);
        gops_problem p = {
            .operation = GOPS_PROBLEM_CONV,
            .threads = 1,
            .data = {GOPS_F32, 4, {1, groups * channels_in, height, width}},
            .filter = {GOPS_F32, 5, {groups, vectors * lanes - i / 2 % 2, channels_in, 3, 3}},
        };
        p.conv.pads_begin = p.conv.pads_end = (gops_list){2, {1, 1}};
        gops_test_check(gops_test_every_result(&p, "implicit", &random, &tally), "not legal");
    }
    gops_test_check_tally(&tally, GOPS_PROBLEM_CONV, "implicit");
    gops_test_check_tally(&tally, GOPS_PROBLEM_CONV, "implicit/blocked");
}

/* The times that an algorithm ran on the instruction set in use. */
static int64_t times(const char *algorithm)
{
    return tally.times[GOPS_PROBLEM_CONV][gops_test_algorithm(algorithm)][gops_test_isa()];
}

/* AVX-512 leaves single taps to pointwise, which has tiles of as many columns. */
static void check_single_taps(void *context)
{
#ifdef __AVX512F__ /* for which all is built then */
    const bool wide = true;
#else
    const bool wide = strncmp(gops_isa(), "avx512", 6) == 0 || strcmp(gops_isa(), "amx") == 0;
#endif
    (void)context;
    gops_test_check(wide == (times("implicit/blocked") == 0), "implicit/blocked on %s: %lld times",
                    gops_isa(), (long long)times("implicit/blocked"));
}

/* Blocked inputs of a single tap: columns that tiles split evenly, pixels that are stepped over, K in several
 * blocks, and inputs that several items share. */
static void blocked_single_taps(void)
{
    static const int64_t channels[] = {1, 5, 17, 67, 331};
    gops_test_random random = gops_test_random_start(gops_test_seed(), 17);
    begin();
    for (int i = 0; i < (int)(sizeof channels / sizeof channels[0]); i++) {
        for (int64_t width = 1; width <= 17; width += 2) {
            const int64_t groups = 1 + i % 3, stride = 1 + (width + i) % 3;
            gops_problem p = {
                .operation = GOPS_PROBLEM_CONV,
                .threads = 2,
                .data = {GOPS_F32, 4, {2, groups * channels[i], 7, width}},
                .filter = {GOPS_F32, 5, {groups, 7 + 31 * i, channels[i], 1, 1}},
            };
            p.conv.strides = (gops_list){2, {1 + i % 2, stride}};
            p.conv.pads_end = (gops_list){2, {0, i % 2}};
            gops_test_check(gops_test_every_result(&p, "implicit/blocked", &random, &tally),
                            "not legal");
        }
    }
    gops_test_every_isa(check_single_taps, NULL);
}

/* Every instruction set has it; of implicit/blocked, which has the same first name, no quantized problem is. */
static void check_counted(void *context)
{
    (void)context;
    gops_test_check(times("implicit") > 0, "implicit was not executed on %s", gops_isa());
}

/* Rows of 8-bit outputs that begin or end with a tile, or fill it, or of which it holds two; taps that
 * lie on padding at neither end, one or both. */
static void quantized_rows(void)
{
    static const int64_t channels[] = {3, 16, 61, 64, 67, 128};
    static const int64_t widths[] = {1, 3, 4, 6, 7, 8, 12, 13, 14, 15, 16, 28, 29, 42};
    static gops_random_quantization memory;
    gops_test_random random = gops_test_random_start(gops_test_seed(), 16);
    gops_test_need_wide_long_double();
    begin();
    for (int i = 0; i < (int)(sizeof widths / sizeof widths[0]); i++) {
        for (int c = 0; c < (int)(sizeof channels / sizeof channels[0]); c++) {
            const int64_t stride = 1 + c % 2, kernel = gops_test_random_range(&random, 2, 5);
            const int64_t begin = gops_test_random_range(&random, 0, kernel);
            const int64_t end = gops_test_random_range(&random, 0, kernel);
            const int64_t width = (widths[i] - 1) * stride + kernel - begin - end;
            gops_problem p = {
                .operation = GOPS_PROBLEM_CONV,
                .threads = 1,
                .data = {GOPS_U8, 4, {1, channels[c], 5, width}},
                .filter = {GOPS_I8, 5, {1, 7 + 16 * (i % 4), channels[c], 3, kernel}},
            };
            if (width < 1) {
                continue;
            }
            p.conv.strides = (gops_list){2, {1, stride}};
            p.conv.pads_begin = (gops_list){2, {1, begin}};
            p.conv.pads_end = (gops_list){2, {1, end}};
            gops_random_quantize(&p, &memory, &random);
            if (c % 3 > 0) { /* padding adds nothing */
                p.data_zero_point = NULL;
                p.quantization.data_zero_point = 0;
            }
            gops_test_check(gops_test_every_result(&p, "implicit", &random, &tally), "not legal");
        }
    }
    gops_test_every_isa(check_counted, NULL);
}

/* Planes of 8 bits that lie a multiple of 2048 bytes apart; the last line of a row may be a part of one. */
static void quantized_planes(void)
{
    static const int64_t sizes[][2] = {{32, 64}, {32, 128}, {16, 128}, {64, 64}, {8, 256}};
    static gops_random_quantization memory;
    gops_test_random random = gops_test_random_start(gops_test_seed(), 19);
    begin();
    for (int i = 0; i < (int)(sizeof sizes / sizeof sizes[0]); i++) {
        const int64_t stride = 1 + i % 2, channels = gops_test_random_range(&random, 125, 140);
        gops_problem p = {
            .operation = GOPS_PROBLEM_CONV,
            .threads = 1 + i % 2,
            .data = {i % 2 ? GOPS_I8 : GOPS_U8, 4, {1, channels, sizes[i][0], sizes[i][1]}},
            .filter = {GOPS_I8, 5, {1, 64, channels, 3, 3}},
        };
        p.conv.strides = (gops_list){2, {stride, stride}};
        p.conv.pads_begin = (gops_list){2, {1, i % 3}};
        p.conv.pads_end = (gops_list){2, {1, 2 - i % 3}};
        gops_random_quantize(&p, &memory, &random);
        gops_test_check(gops_test_every_result(&p, "implicit", &random, &tally), "not legal");
    }
    gops_test_every_isa(check_counted, NULL);
}

/* Integers of which one pixel reads more than the second level cache holds, as in DeepLab's last layers. */
static void far_taps(void)
{
    static const int64_t distances[] = {9, 13, 22, 31};
    static gops_random_quantization memory;
    gops_test_random random = gops_test_random_start(gops_test_seed(), 18);
    begin();
    for (int i = 0; i < (int)(sizeof distances / sizeof distances[0]); i++) {
        const int64_t distance = distances[i];
        gops_problem p = {
            .operation = GOPS_PROBLEM_CONV,
            .threads = 1 + i % 2,
            .data = {i % 2 ? GOPS_I8 : GOPS_U8, 4, {1, 960, 7, 11}},
            .filter = {GOPS_I8, 5, {1, 5, 960, 3, 3}},
        };
        p.conv.dilations = (gops_list){2, {distance, distance}};
        p.conv.pads_begin = p.conv.pads_end = (gops_list){2, {distance, distance}};
        gops_random_quantize(&p, &memory, &random);
        gops_test_check(gops_test_every_result(&p, "implicit", &random, &tally), "not legal");
    }
    gops_test_every_isa(check_counted, NULL);
}

static void transposed(void)
{
    sweep(GOPS_PROBLEM_DECONV, "subconv");
}

/* Images of a single pixel, whose tiles may be of one column, and larger ones with a filter packed for those. */
static void lone_positions(void *context)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 9);
    int *count = context;
    for (int i = 0; i < 4 * 3; i++) {
        static const int64_t channels[] = {9, 64, 83, 140};
        gops_problem packed = {
            .operation = GOPS_PROBLEM_DECONV,
            .algorithm = "subconv",
            .threads = 1,
            .data = {GOPS_F32, 4, {1, 13, 1, 1}},
            .filter = {GOPS_F32, 5, {1, 13, channels[i % 4], 4, 3}},
        };
        gops_problem problem = packed;
        packed.deconv.strides = problem.deconv.strides = (gops_list){2, {2, 1 + i % 2}};
        problem.data.dims[2] = 1 + i / 4;
        problem.data.dims[3] = 1 + i / 4 * 5;
        *count += gops_test_reshaped_result(packed, problem, &random);
    }
}

/* Panels of as many channels as fit beside the sums, fewer for large data: their filter is the same. */
static void panels(void *context)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 10);
    int *count = context;
    for (int i = 0; i < 2 * 6; i++) {
        static const int64_t channels[] = {52, 104, 116, 128, 170, 416};
        const int64_t kernel = 2 + i % 2, large = i % 2 == 0 ? 32 : 30;
        gops_problem packed = {
            .operation = GOPS_PROBLEM_DECONV,
            .algorithm = "subconv",
            .threads = 1,
            .data = {GOPS_F32, 4, {1, 8, large, large}},
            .filter = {GOPS_F32, 5, {1, 8, channels[i / 2], kernel, kernel}},
        };
        gops_problem problem = packed;
        packed.deconv.strides = problem.deconv.strides =
            (gops_list){2, {i % 2 == 0 ? 2 : 1, i % 2 == 0 ? 2 : 1}};
        problem.data.dims[2] = problem.data.dims[3] = 4;
        *count += gops_test_reshaped_result(packed, problem, &random);
    }
}

static void reshaped(void)
{
    int count = 0;
    gops_test_every_isa(lone_positions, &count);
    gops_test_every_isa(panels, &count);
    gops_test_check(count > 0, "no plan was reshaped");
}

static void single_tap(const int64_t *data, int64_t out)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), (uint64_t)out);
    gops_problem p = {
        .operation = GOPS_PROBLEM_DECONV,
        .threads = 1,
        .data = {GOPS_F32, 4, {data[0], data[1], data[2], data[3]}},
        .filter = {GOPS_F32, 5, {1, data[1], out, 2, 2}},
    };
    p.deconv.strides = (gops_list){2, {2, 2}};
    gops_test_check(gops_test_every_result(&p, "subconv", &random, &tally), "not legal");
}

/* Planes of the copy that begin with a cache line: with nothing between them, some lanes, a line. */
static void single_taps(void)
{
    static const int64_t widths[] = {1, 7, 15, 16, 17, 31};
    begin();
    for (int i = 0; i < (int)(sizeof widths / sizeof widths[0]); i++) {
        single_tap((int64_t[]){2, 19, 1, widths[i]}, 13);
        single_tap((int64_t[]){1, 3, 8, widths[i]}, 37);
    }
    gops_test_check_tally(&tally, GOPS_PROBLEM_DECONV, "subconv");
}

/* Data beyond the second level cache: where it lies, in blocks of columns; copied, in boxes, and the
 * channels in fewer blocks. */
static void large_data(void)
{
    begin();
    single_tap((int64_t[]){1, 1201, 15, 17}, 227);
    gops_test_check_tally(&tally, GOPS_PROBLEM_DECONV, "subconv");
}

int main(void)
{
    static const gops_test_case cases[] = {
        {"convolutions", convolutions},
        {"blocked inputs", blocked_inputs},
        {"vectors left", vectors_left},
        {"blocked inputs of single taps", blocked_single_taps},
        {"quantized rows", quantized_rows},
        {"quantized planes", quantized_planes},
        {"far taps", far_taps},
        {"transposed", transposed},
        {"reshaped", reshaped},
        {"single taps", single_taps},
        {"large data", large_data},
        {NULL, NULL},
    };
    return gops_test_main("register tiles", cases);
}
