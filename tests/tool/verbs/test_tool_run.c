/* test_tool_run.c: groupops run: values against the reference.
 */
#include "reference.h"
#include "compare.h"
#include "elements.h"
#include "harness.h"
#include "guarded_memory.h"
#include "random_numbers.h"
#include "tool_npy.h"
#include "tool_process.h"

#include <groupops/plan.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_INPUTS = 3 };

/* One operation with random inputs; what is not its own is left 0. */
typedef struct run_case {
    const char *operation;
    gops_tensor inputs[MAX_INPUTS]; /* data and filter, or data, scale and bias */
    gops_conv_attributes conv;
    gops_deconv_attributes deconv;
    gops_norm_attributes norm;
    const char *words; /* the attributes on the command line */
    const char *dtype; /* of the files */
} run_case;

static const char *const input_words[2][MAX_INPUTS] = {
    {"--data=x0.npy", "--filter=x1.npy", ""},
    {"--data=x0.npy", "--scale=x1.npy", "--bias=x2.npy"},
};

static int is_norm(const run_case *run)
{
    return strcmp(run->operation, "norm") == 0;
}

/* Writes x0.npy, x1.npy, x2.npy and the command line. */
static void write_inputs(const run_case *run, void **elements, char *line, size_t bytes)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 0);
    const int inputs = is_norm(run) ? 3 : 2;
    snprintf(line, bytes, "run %s --output=y.npy %s", run->operation, run->words);
    for (int i = 0; i < inputs; i++) {
        const gops_tensor *tensor = &run->inputs[i];
        const int64_t count = gops_test_elements(tensor);
        char path[16];
        elements[i] = gops_test_allocate((size_t)count * gops_test_type_bytes(tensor->type) + 1);
        gops_test_random_fill(&random, tensor->type, elements[i], count);
        snprintf(path, sizeof path, "x%d.npy", i);
        tool_npy_write(path, run->dtype, tensor, elements[i]);
        const size_t used = strlen(line);
        snprintf(line + used, bytes - used, " %s", input_words[is_norm(run)][i]);
    }
}

static void reference(const run_case *run, void *const *elements, gops_reference_result *result)
{
    const gops_tensor *inputs = run->inputs;
    gops_reference_geometry geometry;
    if (is_norm(run)) {
        gops_reference_norm(&inputs[0], elements[0], elements[1], elements[2], &run->norm, result);
    } else if (strcmp(run->operation, "conv") == 0) {
        gops_reference_conv_geometry(&inputs[0], &inputs[1], &run->conv, &geometry);
        gops_reference_conv(&geometry, inputs[0].type, elements[0], inputs[1].type, elements[1],
                            NULL, result);
    } else {
        gops_reference_deconv_geometry(&inputs[0], &inputs[1], &run->deconv, &geometry);
        gops_reference_deconv(&geometry, inputs[0].type, elements[0], inputs[1].type, elements[1],
                              NULL, result);
    }
}

/* The library's answer to the same question: GOPS_OK, or its refusal. */
static gops_status ask_library(const run_case *run, gops_error *error)
{
    gops_plan *plan = NULL;
    gops_status status;
    if (is_norm(run))
        status = gops_norm_plan_create(&run->inputs[0], &run->inputs[1], &run->inputs[2],
                                       &run->norm, NULL, &plan, error);
    else if (strcmp(run->operation, "conv") == 0)
        status =
            gops_conv_plan_create(&run->inputs[0], &run->inputs[1], &run->conv, NULL, &plan, error);
    else
        status = gops_deconv_plan_create(&run->inputs[0], &run->inputs[1], &run->deconv, NULL,
                                         &plan, error);
    gops_plan_destroy(plan);
    return status;
}

static void compare_output(const run_case *run, const gops_reference_result *expected,
                           const char *line)
{
    void *output = tool_npy_read("y.npy", run->dtype, &expected->tensor);
    if (!gops_test_check(output != NULL, "%s: see the line above", line))
        return;
    const int same =
        gops_test_type_is_real(expected->tensor.type)
            ? gops_test_compare(line, &expected->tensor, output, expected->value, expected->bound)
            : gops_test_compare_integers(line, &expected->tensor, output, expected->integer);
    gops_test_check(same, "%s: see the lines above", line);
    free(output);
}

/* Runs it and compares; where the library does not offer it, expects the library's words and no
 * output. Returns whether it was offered. */
static int check_run(const run_case *run)
{
    void *elements[MAX_INPUTS] = {NULL, NULL, NULL};
    char line[512];
    gops_error refusal;
    remove("y.npy");
    write_inputs(run, elements, line, sizeof line);
    const int offered = ask_library(run, &refusal) == GOPS_OK;
    if (offered) {
        gops_reference_result expected;
        tool_result result;
        tool_run(&result, line, NULL);
        gops_test_check(result.exit_code == 0 && result.out[0] == '\0' && result.err[0] == '\0',
                        "%s: %d %s%s", line, result.exit_code, result.out, result.err);
        reference(run, elements, &expected);
        compare_output(run, &expected, line);
        gops_reference_result_destroy(&expected);
    } else {
        char message[GOPS_MESSAGE_BYTES + 16];
        snprintf(message, sizeof message, "groupops: %s\n", refusal.message);
        tool_expect(line, 1, message);
        gops_test_check(access("y.npy", F_OK) != 0, "%s: there is an output", line);
    }
    for (int i = 0; i < MAX_INPUTS; i++)
        free(elements[i]);
    return offered;
}

static run_case conv_case(gops_type type, const char *dtype)
{
    return (run_case){
        .operation = "conv",
        .inputs = {GOPS_TEST_TENSOR(type, 2, 6, 7, 11), GOPS_TEST_TENSOR(type, 2, 5, 3, 3, 2)},
        .conv = {.strides = {2, {2, 1}},
                 .pads_begin = {2, {1, 0}},
                 .pads_end = {2, {0, 2}},
                 .dilations = {2, {1, 3}}},
        .words = "--strides=2,1 --pads-begin=1,0 --pads-end=0,2 --dilations=1,3",
        .dtype = dtype,
    };
}

static run_case deconv_case(gops_type type, const char *dtype)
{
    return (run_case){
        .operation = "deconv",
        .inputs = {GOPS_TEST_TENSOR(type, 2, 6, 5, 3), GOPS_TEST_TENSOR(type, 3, 2, 5, 3, 2)},
        .deconv = {.strides = {2, {2, 3}},
                   .dilations = {2, {1, 2}},
                   .output_padding = {2, {1, 0}},
                   .output_shape = {2, {10, 7}},
                   .auto_pad = GOPS_AUTO_PAD_SAME_UPPER,
                   .output_shape_rule = GOPS_OUTPUT_SHAPE_ONNX},
        .words = "--strides=2,3 --dilations=1,2 --output-padding=1,0 --output-shape=10,7 "
                 "--auto-pad=same_upper --output-shape-rule=onnx",
        .dtype = dtype,
    };
}

static run_case norm_case(gops_type type, const char *dtype)
{
    return (run_case){
        .operation = "norm",
        .inputs = {GOPS_TEST_TENSOR(type, 3, 12, 7, 5), GOPS_TEST_TENSOR(type, 12),
                   GOPS_TEST_TENSOR(type, 12)},
        .norm = {4, 0.001953125},
        .words = "--num-groups=4 --epsilon=0.001953125",
        .dtype = dtype,
    };
}

static void conv_example_1d(void)
{
    const run_case run = {
        .operation = "conv",
        .inputs = {GOPS_TEST_TENSOR(GOPS_F32, 1, 12, 224), GOPS_TEST_TENSOR(GOPS_F32, 4, 1, 3, 5)},
        .conv = {.pads_begin = {1, {2}}, .pads_end = {1, {2}}},
        .words = "--dilations=1 --pads-begin=2 --pads-end=2 --strides=1 --auto-pad=explicit",
        .dtype = "f4"};
    gops_test_check(check_run(&run), "the library must offer it");
}

static void conv_example_2d(void)
{
    const run_case run = {.operation = "conv",
                          .inputs = {GOPS_TEST_TENSOR(GOPS_F32, 1, 12, 224, 224),
                                     GOPS_TEST_TENSOR(GOPS_F32, 4, 1, 3, 5, 5)},
                          .conv = {.pads_begin = {2, {2, 2}}, .pads_end = {2, {2, 2}}},
                          .words = "--dilations=1,1 --pads-begin=2,2 --pads-end=2,2 --strides=1,1",
                          .dtype = "f4"};
    gops_test_check(check_run(&run), "the library must offer it");
}

static void deconv_example(void)
{
    const run_case run = {
        .operation = "deconv",
        .inputs = {GOPS_TEST_TENSOR(GOPS_F32, 1, 20, 224, 224),
                   GOPS_TEST_TENSOR(GOPS_F32, 4, 5, 2, 3, 3)},
        .deconv = {.strides = {2, {2, 2}}, .pads_begin = {2, {1, 1}}, .pads_end = {2, {1, 1}}},
        .words = "--dilations=1,1 --pads-begin=1,1 --pads-end=1,1 --strides=2,2",
        .dtype = "f4"};
    gops_test_check(check_run(&run), "the library must offer it");
}

static void norm_example(void)
{
    const run_case run = {.operation = "norm",
                          .inputs = {GOPS_TEST_TENSOR(GOPS_F32, 3, 12, 100, 100),
                                     GOPS_TEST_TENSOR(GOPS_F32, 12),
                                     GOPS_TEST_TENSOR(GOPS_F32, 12)},
                          .norm = {4, 1e-5},
                          .words = "--num-groups=4 --epsilon=1e-5",
                          .dtype = "f4"};
    gops_test_check(check_run(&run), "the library must offer it");
}

/* The types that .npy names, by their own dtype. */
static void named_types(void)
{
    static const struct {
        gops_type type;
        const char *dtype;
    } types[] = {
        {GOPS_F64, "f8"}, {GOPS_F32, "f4"}, {GOPS_F16, "f2"}, {GOPS_I8, "i1"},
        {GOPS_I16, "i2"}, {GOPS_I32, "i4"}, {GOPS_I64, "i8"}, {GOPS_U8, "u1"},
        {GOPS_U16, "u2"}, {GOPS_U32, "u4"}, {GOPS_U64, "u8"},
    };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        const run_case cases[] = {conv_case(types[i].type, types[i].dtype),
                                  deconv_case(types[i].type, types[i].dtype),
                                  norm_case(types[i].type, types[i].dtype)};
        for (int c = 0; c < 3; c++)
            gops_test_check(check_run(&cases[c]) ==
                                (c < 2 || gops_test_type_is_real(types[i].type)),
                            "the library must offer it, and no normalization of integers");
    }
}

/* Those it does not name: bit patterns and --type. */
static void types_by_flag(void)
{
    static const struct {
        gops_type type;
        const char *dtype;
        const char *flag;
    } types[] = {
        {GOPS_F32, "f4", "--type=f32"},       {GOPS_F64, "f8", "--type=f64"},
        {GOPS_BF16, "u2", "--type=bf16"},     {GOPS_F16, "u2", "--type=f16"},
        {GOPS_F16, "f2", "--type=f16"},       {GOPS_F8E4M3, "u1", "--type=f8e4m3"},
        {GOPS_F8E5M2, "u1", "--type=f8e5m2"},
    };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        run_case cases[] = {conv_case(types[i].type, types[i].dtype),
                            deconv_case(types[i].type, types[i].dtype),
                            norm_case(types[i].type, types[i].dtype)};
        for (int c = 0; c < 3; c++) {
            char words[256];
            snprintf(words, sizeof words, "%s %s", cases[c].words, types[i].flag);
            cases[c].words = words;
            gops_test_check(check_run(&cases[c]), "the library must offer it");
        }
    }
}

/* Options change nothing but the way. */
static void options(void)
{
    static const char *const words[] = {"--algorithm=gemm", "--threads=1", "--threads=3",
                                        "--max-workspace=unlimited", "--max-workspace=4096"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        char all[256];
        run_case run = conv_case(GOPS_F32, "f4");
        snprintf(all, sizeof all, "%s %s", run.words, words[i]);
        run.words = all;
        gops_test_check(check_run(&run), "the library must offer it");
    }
}

static void empty_batch(void)
{
    const run_case run = {
        .operation = "conv",
        .inputs = {GOPS_TEST_TENSOR(GOPS_F32, 0, 6, 7), GOPS_TEST_TENSOR(GOPS_F32, 2, 5, 3, 3)},
        .words = "",
        .dtype = "f4"};
    gops_test_check(check_run(&run), "the library must offer it");
}

/* The same numbers in Fortran order and the other byte order. */
static void other_orders(void)
{
    const gops_tensor data = GOPS_TEST_TENSOR(GOPS_F32, 1, 2, 3);
    const gops_tensor filter = GOPS_TEST_TENSOR(GOPS_F32, 1, 1, 2, 2);
    const gops_tensor output = GOPS_TEST_TENSOR(GOPS_F32, 1, 1, 2);
    /* data [[1 2 3] [4 5 6]], big-endian; columns first: 1 4 2 5 3 6 */
    static const unsigned char numbers[6][4] = {{0x3f, 0x80}, {0x40, 0x80}, {0x40, 0x00},
                                                {0x40, 0xa0}, {0x40, 0x40}, {0x40, 0xc0}};
    static const float weights[4] = {1, 10, 100, 1000};
    static const float expected[2] = {1 + 20 + 400 + 5000, 2 + 30 + 500 + 6000};
    tool_npy_text header;
    tool_npy_write_raw("x0.npy", 2, tool_npy_header('>', "f4", 1, &data, &header), numbers,
                       sizeof numbers);
    tool_npy_write("x1.npy", "f4", &filter, weights);
    remove("y.npy");
    tool_expect("run conv --data=x0.npy --filter=x1.npy --output=y.npy", 0, "");
    float *got = tool_npy_read("y.npy", "f4", &output);
    gops_test_check(got != NULL && memcmp(got, expected, sizeof expected) == 0, "y.npy differs");
    free(got);
}

int main(void)
{
    static const gops_test_case cases[] = {
        {"conv_example_1d", conv_example_1d},
        {"conv_example_2d", conv_example_2d},
        {"deconv_example", deconv_example},
        {"norm_example", norm_example},
        {"named_types", named_types},
        {"types_by_flag", types_by_flag},
        {"options", options},
        {"empty_batch", empty_batch},
        {"other_orders", other_orders},
        {0},
    };
    tool_folder_enter();
    const int status = gops_test_main("tool_run", cases);
    tool_folder_leave();
    return status;
}
