/* test_tool_fused.c: groupops run of floating point convolutions with filter-scales, bias, residual
 * before or behind the activation, and prelu with its slopes: values against the reference. */
#include "compare.h"
#include "elements.h"
#include "guarded_memory.h"
#include "harness.h"
#include "random_numbers.h"
#include "reference.h"
#include "reference_fusion.h"
#include "tool_layer.h"
#include "tool_npy.h"
#include "tool_process.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct float_type {
    gops_type type;
    const char *dtype;
} types[] = {
    {GOPS_F64, "f8"},  {GOPS_F32, "f4"},    {GOPS_F16, "f2"},
    {GOPS_BF16, "u2"}, {GOPS_F8E4M3, "u1"}, {GOPS_F8E5M2, "u1"},
};

/* How a flag of NUMBER|FILE is given. */
enum { LEFT_OUT, AS_NUMBER, AS_FILE, AS_SINGLE_FILE, HOWS };

typedef struct fused_run {
    tool_layer layer;
    struct float_type of;
    int64_t channels;
    void *x, *w;
    gops_reference_operands operands;
    void *bias, *residual, *slopes;
} fused_run;

static void *draw_tensor(fused_run *run, const char *flag, const gops_tensor *tensor)
{
    return tool_layer_tensor(&run->layer, flag, run->of.dtype, tensor);
}

static void draw_shapes(fused_run *run)
{
    tool_layer_draw(&run->layer, run->of.type, run->of.type);
    tool_layer_add(&run->layer, " --type=%s", gops_test_type_name(run->of.type));
    run->channels = run->layer.geometry.output.dims[1];
    run->x = draw_tensor(run, "data", &run->layer.data);
    run->w = draw_tensor(run, "filter", &run->layer.filter);
}

/* The channel of weight i in the specification's order. */
static int64_t channel_of(const fused_run *run, int64_t i)
{
    const int64_t *dims = run->layer.filter.dims;
    const int64_t taps = dims[3] * dims[4];
    return run->layer.transposed ? i / (dims[1] * dims[2] * taps) * dims[2] + i / taps % dims[2]
                                 : i / (dims[2] * taps);
}

/* Multiplies the weights that the reference gets by scales of both signs and 0, which the command is
 * given. A product is rounded to the accumulator's type, then to the filter's. */
static void draw_filter_scales(fused_run *run)
{
    const int64_t how = gops_test_random_range(&run->layer.random, 0, HOWS - 1);
    const int is_f64 = run->of.type == GOPS_F64;
    const int64_t count = how == AS_FILE ? run->channels : 1;
    /* Of f64 a file of f4 is taken as well, and of the others one of f8. */
    const gops_type in_file = gops_test_random_chance(&run->layer.random, 50) ? GOPS_F64 : GOPS_F32;
    const gops_tensor tensor = GOPS_TEST_TENSOR(in_file, count);
    double scales[16], stored[16];
    if (how == LEFT_OUT)
        return;
    for (int64_t o = 0; o < count; o++) {
        const double drawn = o == 4 ? 0 : 1.3 * gops_test_random_real(&run->layer.random);
        scales[o] = is_f64 && (how == AS_NUMBER || in_file == GOPS_F64) ? drawn : (float)drawn;
        gops_test_set_real(in_file, stored, o, scales[o]);
    }
    if (how == AS_NUMBER)
        tool_layer_add(&run->layer, " --filter-scales=%.17g", scales[0]);
    else {
        tool_npy_write("scales.npy", in_file == GOPS_F64 ? "f8" : "f4", &tensor, stored);
        tool_layer_add(&run->layer, " --filter-scales=scales.npy");
    }
    for (int64_t i = 0; i < gops_test_elements(&run->layer.filter); i++) {
        const double weight = (double)gops_test_get_real(run->of.type, run->w, i);
        const double product = weight * scales[count == 1 ? 0 : channel_of(run, i)];
        gops_test_set_real(run->of.type, run->w, i, is_f64 ? product : (float)product);
    }
}

/* A number is rounded to the output's type. */
static void draw_slopes(fused_run *run)
{
    const int64_t how = gops_test_random_range(&run->layer.random, AS_NUMBER, HOWS - 1);
    const gops_tensor each = GOPS_TEST_TENSOR(run->of.type, how == AS_FILE ? run->channels : 1);
    tool_layer_add(&run->layer, " --activation=prelu");
    run->slopes = gops_test_allocate((size_t)run->channels * sizeof(double));
    run->operands.slopes = run->slopes;
    if (how == AS_NUMBER) {
        const double slope = (float)(2 * gops_test_random_real(&run->layer.random));
        tool_layer_add(&run->layer, " --slopes=%.17g", slope);
        gops_test_set_real(run->of.type, run->slopes, 0, slope);
    } else {
        void *drawn = draw_tensor(run, "slopes", &each);
        memcpy(run->slopes, drawn, (size_t)each.dims[0] * gops_test_type_bytes(run->of.type));
        free(drawn);
    }
    for (int64_t o = 1; o < run->channels && how != AS_FILE; o++)
        gops_test_set_real(run->of.type, run->slopes, o,
                           gops_test_get_real(run->of.type, run->slopes, 0));
}

static void draw_operands(fused_run *run)
{
    const gops_tensor each = GOPS_TEST_TENSOR(run->of.type, run->channels);
    if (gops_test_random_chance(&run->layer.random, 60))
        run->operands.bias = run->bias = draw_tensor(run, "bias", &each);
    if (gops_test_random_chance(&run->layer.random, 60)) {
        run->operands.residual = run->residual =
            draw_tensor(run, "residual", &run->layer.geometry.output);
        run->operands.residual_after = gops_test_random_chance(&run->layer.random, 50);
        if (run->operands.residual_after)
            tool_layer_add(&run->layer, " --residual-after-activation");
    }
}

static void compare_run(const fused_run *run, const gops_activation *activation)
{
    gops_reference_result expected;
    tool_result *result = gops_test_allocate(sizeof *result);
    const gops_type type = run->of.type;
    if (run->layer.transposed)
        gops_reference_deconv(&run->layer.geometry, type, run->x, type, run->w, NULL, &expected);
    else
        gops_reference_conv(&run->layer.geometry, type, run->x, type, run->w, NULL, &expected);
    gops_reference_fuse(&expected, &run->operands, activation);
    tool_run(result, run->layer.line, NULL);
    gops_test_check(result->exit_code == 0 && result->err[0] == '\0', "%s: %d %s", run->layer.line,
                    result->exit_code, result->err);
    void *got = tool_npy_read("y.npy", run->of.dtype, &expected.tensor);
    gops_test_check(got != NULL && gops_test_compare(run->layer.line, &expected.tensor, got,
                                                     expected.value, expected.bound),
                    "%s: see the lines above", run->layer.line);
    free(got);
    free(result);
    gops_reference_result_destroy(&expected);
}

static void values(void)
{
    const size_t count = sizeof types / sizeof types[0];
    for (uint64_t draw = 0; draw < 16 * count; draw++) {
        fused_run *run = gops_test_allocate(sizeof *run);
        memset(run, 0, sizeof *run);
        run->layer.random = gops_test_random_start(gops_test_seed(), draw);
        run->of = types[draw % count];
        run->layer.transposed = (int)(draw / count % 2);
        draw_shapes(run);
        draw_filter_scales(run);
        draw_operands(run);
        gops_activation activation = {GOPS_ACTIVATION_NONE, 0, 0};
        if (draw / count % 4 != 3) {
            activation.kind = GOPS_ACTIVATION_PRELU;
            draw_slopes(run);
        }
        compare_run(run, &activation);
        void *const all[] = {run->x, run->w, run->bias, run->residual, run->slopes};
        for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
            free(all[i]);
        free(run);
    }
}

#define RUN "run conv --data=x.npy --filter=w.npy --output=y.npy"
#define PLAN " conv --data=1,2,5 --filter=1,3,2,3"

/* One line that has the words, and no output. */
static void refused(void)
{
    static const struct {
        const char *words;
        int exit_code;
        const char *part;
    } cases[] = {
        {RUN " --activation=prelu", 2, "--activation=prelu needs --slopes=NUMBER|FILE"},
        {RUN " --activation=prelu:0.25", 2, "--activation=prelu:0.25 is none of: none|relu"},
        {RUN " --slopes=0.25", 2, "--slopes needs --activation=prelu"},
        {RUN " --activation=relu --slopes=0.25", 2, "--slopes needs --activation=prelu"},
        {"plan" PLAN " --slopes=0.25", 2, "--slopes needs --activation=prelu"},
        {"bench" PLAN " --activation=prelu", 2, "--activation=prelu needs --slopes"},
        {RUN " --activation=prelu --slopes=none.npy", 1, "--slopes: none.npy: it cannot be opened"},
        {RUN " --activation=prelu --slopes=four.npy", 1,
         "--slopes: four.npy has 4 elements; there must be 1, or one for each of the 3 output"},
        {RUN " --activation=prelu --slopes=whole.npy", 1,
         "--slopes: whole.npy: its elements are i32; type f32 needs"},
        {"plan" PLAN " --activation=prelu --slopes=four.npy", 1, "--slopes: four.npy has 4"},
        {"bench" PLAN " --activation=prelu --slopes=four.npy", 1, "--slopes: four.npy has 4"},
        {"plan" PLAN " --type=i16 --activation=prelu --slopes=2", 1, "activation.kind is 12"},
        {"plan" PLAN " --type=u8 --output-type=u8 --activation=prelu --slopes=2", 1,
         "prelu; a quantized plan takes none with slopes"},
        {"plan norm --data=2,6,5 --num-groups=3 --epsilon=1 --activation=prelu", 1,
         "prelu; a normalization takes none with slopes"},
        {"plan norm --data=2,6,5 --num-groups=3 --epsilon=1 --slopes=1", 2,
         "--slopes does not go with plan norm"},
        {RUN " --filter-scales=inf", 1, "--filter-scales is inf; it must be finite in single"},
        {RUN " --filter-scales=1e39", 1, "--filter-scales is 1e+39; it must be finite in single"},
        {"plan" PLAN " --type=f64 --filter-scales=nan", 1,
         "--filter-scales is nan; it must be finite\n"},
        {RUN " --filter-scales=nans.npy", 1, "--filter-scales[2] is nan; it must be finite"},
        {RUN " --filter-scales=four.npy", 1, "--filter-scales: four.npy has 4 elements"},
        {RUN " --filter-scales=whole.npy", 1, "the elements of whole.npy are i32; f32 or f64"},
        {RUN " --filter-scales=2 --data-scale=2", 2, "--data-scale needs --output-type=TYPE"},
        {"plan" PLAN " --type=i16 --filter-scales=2", 1,
         "scales and zero points are of quantized convolutions"},
    };
    static const float reals[18] = {1, 2, (float)NAN, 3};
    static const int32_t whole[3] = {1, 200, -3};
    const struct {
        const char *path, *dtype;
        gops_tensor tensor;
        const void *elements;
    } files[] = {
        {"x.npy", "f4", GOPS_TEST_TENSOR(GOPS_F32, 1, 2, 5), reals},
        {"w.npy", "f4", GOPS_TEST_TENSOR(GOPS_F32, 1, 3, 2, 3), reals},
        {"nans.npy", "f4", GOPS_TEST_TENSOR(GOPS_F32, 3), reals},
        {"four.npy", "f4", GOPS_TEST_TENSOR(GOPS_F32, 4), reals},
        {"whole.npy", "i4", GOPS_TEST_TENSOR(GOPS_I32, 3), whole},
    };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        tool_npy_write(files[i].path, files[i].dtype, &files[i].tensor, files[i].elements);
    remove("y.npy");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tool_expect_refusal(cases[i].words, cases[i].exit_code, cases[i].part);
        gops_test_check(access("y.npy", F_OK) != 0, "%s: there is an output", cases[i].words);
    }
}

static void shown(const char *words, const char *part)
{
    tool_result result;
    tool_run(&result, words, NULL);
    gops_test_check(result.exit_code == 0 && strstr(result.out, part) != NULL, "%s: %d %s%s", words,
                    result.exit_code, result.out, result.err);
}

/* A suite's lines have them, or the command line for all lines. */
static void plan_and_bench(void)
{
    FILE *file = fopen("mine.txt", "w");
    if (!gops_test_check(file != NULL, "mine.txt"))
        return;
    fprintf(file, "a conv f32 data=1,2,5 filter=1,3,2,3 activation=prelu slopes=0.25\n"
                  "b conv bf16 data=1,2,5 filter=1,3,2,3 filter-scales=-0.5\n"
                  "n norm f32 data=2,6,5 num-groups=3 epsilon=1\n");
    fclose(file);
    shown("plan" PLAN " --activation=prelu --slopes=0.1", "output_shape    1,3,3\n");
    shown("plan" PLAN " --filter-scales=-2", "output_shape    1,3,3\n");
    shown("bench" PLAN " --activation=prelu --slopes=0.1 --filter-scales=0 --type=f16 --reps=1 "
          "--seconds=0",
          " f16 ");
    shown("bench --suite=./mine.txt --reps=1 --seconds=0", "norm");
    shown("bench --suite=./mine.txt --reps=1 --seconds=0 --slopes=0.5 --filter-scales=3", "norm");
}

int main(void)
{
    static const gops_test_case cases[] = {
        {"values", values}, {"refused", refused}, {"plan_and_bench", plan_and_bench}, {0}};
    tool_folder_enter();
    const int status = gops_test_main("tool_fused", cases);
    tool_folder_leave();
    return status;
}
