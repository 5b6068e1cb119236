/* test_tool_quantized_words.c: groupops run, plan and bench of quantized convolutions: what is refused
 * by its flag's name, what is shown, and suites. */
#include "elements.h"
#include "harness.h"
#include "tool_npy.h"
#include "tool_process.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define RUN "run conv --data=x.npy --filter=w.npy --output=y.npy"
#define QUANTIZED RUN " --output-type=u8"

/* One line that has the words, and no output. */
static void refused(void)
{
    static const struct {
        const char *words;
        int exit_code;
        const char *part;
    } cases[] = {
        {RUN " --data-scale=0.5", 2, "--data-scale needs --output-type=TYPE"},
        {RUN " --filter-zero-points=zeros.npy", 2, "--filter-zero-points needs --output-type"},
        {RUN " --residual-scale=2", 2, "--residual-scale needs --output-type=TYPE"},
        {QUANTIZED " --data-scale=half", 2, "--data-scale=half is not a number"},
        {QUANTIZED " --data-zero-point=1.5", 2, "--data-zero-point=1.5 is not made of integers"},
        {QUANTIZED " --output-zero-point=4294967296", 2, "is beyond 32 bits"},
        {QUANTIZED " --activation=sine", 2, "--activation=sine is none of: none|relu|clamp:"},
        {QUANTIZED " --activation=clamp:1", 2, "--activation=clamp:1 is none of"},
        {QUANTIZED " --activation=elu", 2, "--activation=elu is none of"},
        {QUANTIZED " --activation=hard_sigmoid:1", 2, "--activation=hard_sigmoid:1 is none of"},
        {QUANTIZED " --activation=relu:1", 2, "--activation=relu:1 is none of"},
        {QUANTIZED " --output-type=f31", 2, "--output-type"},
        {QUANTIZED " --data-scale=0", 1, "--data-scale is 0; a scale is finite and positive"},
        {QUANTIZED " --data-scale=-1", 1, "--data-scale is -1"},
        {QUANTIZED " --data-scale=nan", 1, "--data-scale is nan"},
        {QUANTIZED " --output-scale=inf", 1, "--output-scale is inf"},
        {QUANTIZED " --output-scale=1e39", 1, "--output-scale is 1e+39"},
        {QUANTIZED " --output-scale=1e-60", 1, "--output-scale is 1e-60"},
        {QUANTIZED " --residual-scale=0", 1, "--residual-scale is 0"},
        {QUANTIZED " --filter-scales=0", 1, "--filter-scales is 0"},
        {QUANTIZED " --filter-scales=nan", 1, "--filter-scales is nan"},
        {QUANTIZED " --filter-scales=none.npy", 1,
         "--filter-scales: none.npy: it cannot be opened"},
        {QUANTIZED " --filter-scales=zero-scale.npy", 1, "--filter-scales[2] is 0"},
        {QUANTIZED " --filter-scales=four.npy", 1,
         "--filter-scales: four.npy has 4 elements; there must be 1, or one for each of the 3"},
        {QUANTIZED " --filter-scales=whole.npy", 1, "the elements of whole.npy are i32"},
        {QUANTIZED " --filter-zero-points=128", 1, "--filter-zero-points is 128; i8 holds -128 to"},
        {QUANTIZED " --filter-zero-points=0.5", 1,
         "--filter-zero-points is 0.5; a zero point is a whole number"},
        {QUANTIZED " --filter-zero-points=nan", 1, "--filter-zero-points is nan"},
        {QUANTIZED " --filter-zero-points=whole.npy", 1,
         "--filter-zero-points[1] is 200; i8 holds"},
        {QUANTIZED " --filter-zero-points=four.npy", 1, "four.npy has 4 elements"},
        {QUANTIZED " --data-zero-point=256", 1, "--data-zero-point is 256; u8 holds 0 to 255"},
        {QUANTIZED " --data-zero-point=-1", 1, "--data-zero-point is -1; u8 holds 0 to 255"},
        {QUANTIZED " --output-zero-point=-1", 1, "--output-zero-point is -1; u8 holds 0 to 255"},
        {QUANTIZED " --residual-zero-point=300", 1, "--residual-zero-point is 300"},
        {QUANTIZED " --bias=four-i32.npy", 1,
         "four-i32.npy: bias has 4 elements; there must be one for each of the 3 output channels"},
        {QUANTIZED " --bias=scales.npy", 1, "scales.npy: its elements are f32; type i32 needs"},
        {QUANTIZED " --residual=x.npy", 1, "x.npy: residual has 2 on axis 1, the output 3"},
        {QUANTIZED " --residual=scales.npy", 1, "scales.npy: its elements are f32; type u8 needs"},
        {QUANTIZED " --activation=clamp:2,1", 1, "clamp needs alpha <= beta"},
        {RUN " --output-type=f64", 1, "f64"},
        {RUN " --output-type=i32 --activation=gelu", 1, "activation.kind is 8"},
        {"run conv --data=f.npy --filter=g.npy --output=y.npy --output-type=f32 --data-scale=2", 1,
         "scales and zero points are of quantized convolutions"},
        {"plan conv --data=1,2,5 --filter=1,3,2,3 --data-scale=2", 2, "--data-scale needs"},
        {"plan conv --data=1,2,5 --filter=1,3,2,3 --type=u8 --output-type=u8 --data-scale=0", 1,
         "--data-scale is 0"},
        {"plan conv --data=1,2,5 --filter=1,3,2,3 --output-type=u8 --data-scale=2", 1,
         "output_type"},
        {"plan conv --data=1,2,5 --filter=1,3,2,3 --bias=4", 1,
         "bias has 4 elements; there must be"},
        {"plan conv --data=1,2,5 --filter=1,0,2,3 --bias=4", 1,
         "bias has 4 elements; there must be one for each of the 0 output channels"},
        {"bench conv --data=1,2,5 --filter=1,3,2,3 --bias=4", 1,
         "bias has 4 elements; there must be"},
        {"plan norm --data=2,6,5 --num-groups=3 --epsilon=1 --output-type=u8", 2,
         "--output-type does not go with plan norm"},
    };
    static const signed char x[10] = {1, 2, 3}, w[18] = {4, 5};
    static const float scales[4] = {1, 2, 0, 3};
    static const int32_t whole[4] = {1, 200, -3, 0};
    const struct {
        const char *path, *dtype;
        gops_tensor tensor;
        const void *elements;
    } files[] = {
        {"x.npy", "u1", GOPS_TEST_TENSOR(GOPS_U8, 1, 2, 5), x},
        {"w.npy", "i1", GOPS_TEST_TENSOR(GOPS_I8, 1, 3, 2, 3), w},
        {"f.npy", "f4", GOPS_TEST_TENSOR(GOPS_F32, 1, 2, 2), scales},
        {"g.npy", "f4", GOPS_TEST_TENSOR(GOPS_F32, 1, 2, 2, 1), scales},
        {"zero-scale.npy", "f4", GOPS_TEST_TENSOR(GOPS_F32, 3), scales},
        {"scales.npy", "f4", GOPS_TEST_TENSOR(GOPS_F32, 3), scales},
        {"four.npy", "f4", GOPS_TEST_TENSOR(GOPS_F32, 4), scales},
        {"four-i32.npy", "i4", GOPS_TEST_TENSOR(GOPS_I32, 4), whole},
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

static void shown(void)
{
    static const char words[] = "conv --data=1,2,5 --filter=1,3,2,3 --type=u8 --filter-type=i8 "
                                "--output-type=bf16 --data-zero-point=7 --filter-scales=0.5 "
                                "--bias=3 --activation=swish";
    char line[512];
    tool_result result;
    snprintf(line, sizeof line, "plan %s", words);
    tool_run(&result, line, NULL);
    gops_test_check(result.exit_code == 0 &&
                        strstr(result.out, "GroupConvolution-1, u8 * i8 -> bf16\n") != NULL &&
                        strstr(result.out, "output_shape    1,3,3\n") != NULL,
                    "%d %s%s", result.exit_code, result.out, result.err);
    snprintf(line, sizeof line, "bench %s --reps=1 --seconds=0", words);
    tool_run(&result, line, NULL);
    gops_test_check(result.exit_code == 0 && strstr(result.out, " u8i8bf16 ") != NULL, "%d %s%s",
                    result.exit_code, result.out, result.err);
}

/* A type on the command line is that of a line's data, filter and output. */
static void suites(void)
{
    tool_result result;
    FILE *file = fopen("mine.txt", "w");
    if (!gops_test_check(file != NULL, "mine.txt"))
        return;
    fprintf(file, "a conv u8 data=1,2,5 filter=1,3,2,3 filter-type=i8 output-type=u8\n");
    fclose(file);
    tool_run(&result, "bench --suite=./mine.txt --reps=1 --seconds=0", NULL);
    gops_test_check(strstr(result.out, " u8i8u8 ") != NULL, "%s%s", result.out, result.err);
    tool_run(&result, "bench --suite=./mine.txt --reps=1 --seconds=0 --output-type=i32", NULL);
    gops_test_check(strstr(result.out, " u8i8i32 ") != NULL, "%s%s", result.out, result.err);
    tool_run(&result, "bench --suite=./mine.txt --reps=1 --seconds=0 --type=f32", NULL);
    gops_test_check(strstr(result.out, " f32 ") != NULL, "%s%s", result.out, result.err);
    tool_run(&result,
             "bench --suite=./mine.txt --reps=1 --seconds=0 --type=i8 --filter-type=u8 "
             "--output-type=f32",
             NULL);
    gops_test_check(strstr(result.out, " i8u8f32 ") != NULL, "%s%s", result.out, result.err);
    tool_run(&result, "bench --suite=./mine.txt --reps=1 --seconds=0 --type=f32 --data-scale=2",
             NULL);
    gops_test_check(result.exit_code == 1 && strstr(result.err, "without an output-type") != NULL,
                    "%d %s", result.exit_code, result.err);
}

int main(void)
{
    static const gops_test_case cases[] = {
        {"refused", refused}, {"shown", shown}, {"suites", suites}, {0}};
    tool_folder_enter();
    const int status = gops_test_main("tool_quantized_words", cases);
    tool_folder_leave();
    return status;
}
