/* test_ir_pages.c: the examples of the specification's three pages, run from their XML as printed,
 * against the reference. */
#include "ir_files.h"
#include "reference.h"
#include "compare.h"
#include "elements.h"
#include "harness.h"
#include "guarded_memory.h"
#include "random_numbers.h"
#include "tool_npy.h"
#include "tool_process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct page {
    const char *xml;
    const char *output; /* the file it writes */
    const char *row;    /* the start of its line in the table */
    const char *names[3];
    gops_tensor inputs[3];
    gops_conv_attributes conv;
    gops_deconv_attributes deconv;
    gops_norm_attributes norm;
} page;

static void *make_input(gops_test_random *random, const char *name, const gops_tensor *tensor,
                        char *line, size_t bytes)
{
    char path[32];
    const int64_t count = gops_test_elements(tensor);
    void *elements = gops_test_allocate((size_t)count * sizeof(float));
    gops_test_random_fill(random, tensor->type, elements, count);
    snprintf(path, sizeof path, "%s.npy", name);
    tool_npy_write(path, "f4", tensor, elements);
    const size_t used = strlen(line);
    snprintf(line + used, bytes - used, " --input=%s=%s", name, path);
    return elements;
}

static void find_expected(const page *of, void *const *elements, gops_reference_result *expected)
{
    gops_reference_geometry geometry;
    if (of->xml == ir_page_norm) {
        gops_reference_norm(&of->inputs[0], elements[0], elements[1], elements[2], &of->norm,
                            expected);
    } else if (of->xml == ir_page_deconv) {
        gops_reference_deconv_geometry(&of->inputs[0], &of->inputs[1], &of->deconv, &geometry);
        gops_reference_deconv(&geometry, GOPS_F32, elements[0], GOPS_F32, elements[1], NULL,
                              expected);
    } else {
        gops_reference_conv_geometry(&of->inputs[0], &of->inputs[1], &of->conv, &geometry);
        gops_reference_conv(&geometry, GOPS_F32, elements[0], GOPS_F32, elements[1], NULL,
                            expected);
    }
}

static void run_page(const page *of)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 0);
    char line[256] = "ir page.xml --output-dir=out";
    char path[64];
    void *elements[3] = {NULL};
    gops_reference_result expected;
    tool_result result;
    ir_write_text("page.xml", of->xml);
    for (int i = 0; i < 3 && of->names[i] != NULL; i++)
        elements[i] = make_input(&random, of->names[i], &of->inputs[i], line, sizeof line);
    find_expected(of, elements, &expected);
    tool_run(&result, line, NULL);
    gops_test_check(result.exit_code == 0 && result.err[0] == '\0', "%s: %d, %s", line,
                    result.exit_code, result.err);
    gops_test_check(strstr(result.out, of->row) != NULL, "\"%s\" is not in\n%s", of->row,
                    result.out);
    snprintf(path, sizeof path, "out/%s", of->output);
    void *output = tool_npy_read(path, "f4", &expected.tensor);
    if (gops_test_check(output != NULL, "%s: see the line above", path))
        gops_test_check(
            gops_test_compare(of->output, &expected.tensor, output, expected.value, expected.bound),
            "%s: see the lines above", path);
    free(output);
    gops_reference_result_destroy(&expected);
    for (int i = 0; i < 3; i++)
        free(elements[i]);
}

static void convolution_1d(void)
{
    const page of = {
        .xml = ir_page_conv_1d,
        .output = "GroupConvolution.npy",
        .row = "GroupConvolution              f32 [1,4,224] ",
        .names = {"data", "filter"},
        .inputs = {GOPS_TEST_TENSOR(GOPS_F32, 1, 12, 224), GOPS_TEST_TENSOR(GOPS_F32, 4, 1, 3, 5)},
        .conv = {.pads_begin = {1, {2}}, .pads_end = {1, {2}}}};
    run_page(&of);
}

static void convolution_2d(void)
{
    const page of = {.xml = ir_page_conv_2d,
                     .output = "GroupConvolution.npy",
                     .row = "GroupConvolution              f32 [1,4,224,224] ",
                     .names = {"data", "filter"},
                     .inputs = {GOPS_TEST_TENSOR(GOPS_F32, 1, 12, 224, 224),
                                GOPS_TEST_TENSOR(GOPS_F32, 4, 1, 3, 5, 5)},
                     .conv = {.pads_begin = {2, {2, 2}}, .pads_end = {2, {2, 2}}}};
    run_page(&of);
}

static void backprop(void)
{
    const page of = {
        .xml = ir_page_deconv,
        .output = "upsampling_node.npy",
        .row = "     5  upsampling_node           GroupConvolutionBackpropData  f32 "
               "[1,8,447,447] ",
        .names = {"data", "filter"},
        .inputs = {GOPS_TEST_TENSOR(GOPS_F32, 1, 20, 224, 224),
                   GOPS_TEST_TENSOR(GOPS_F32, 4, 5, 2, 3, 3)},
        .deconv = {.strides = {2, {2, 2}}, .pads_begin = {2, {1, 1}}, .pads_end = {2, {1, 1}}}};
    run_page(&of);
}

static void normalization(void)
{
    const page of = {.xml = ir_page_norm,
                     .output = "GroupNormalization.npy",
                     .row = "GroupNormalization            f32 [3,12,100,100] ",
                     .names = {"data", "scale", "bias"},
                     .inputs = {GOPS_TEST_TENSOR(GOPS_F32, 3, 12, 100, 100),
                                GOPS_TEST_TENSOR(GOPS_F32, 12), GOPS_TEST_TENSOR(GOPS_F32, 12)},
                     .norm = {.num_groups = 4, .epsilon = 1e-5}};
    run_page(&of);
}

/* Without inputs the elements are random, and the same each time. */
static void random_inputs(void)
{
    static char first[8192], second[8192];
    ir_write_text("page.xml", ir_page_conv_1d);
    for (int i = 0; i < 2; i++) {
        tool_expect("ir page.xml --output-dir=random", 0, "");
        FILE *file = fopen("random/GroupConvolution.npy", "rb");
        const size_t got = file != NULL ? fread(i == 0 ? first : second, 1, 8192, file) : 0;
        gops_test_check(got == 128 + 4 * 224 * sizeof(float), "the file has %zu bytes", got);
        if (file != NULL)
            fclose(file);
    }
    gops_test_check(memcmp(first, second, sizeof first) == 0, "two runs differ");
    gops_test_check(memcmp(first + 128, first + 132, 4 * 223 * sizeof(float)) != 0,
                    "all elements are equal");
}

/* The accuracy counts for each layer: relaxed admits Winograd's method. In groups as small as these it is the
 * fastest in portable code as well, which leaves dense layers to a BLAS. */
static void relaxed(void)
{
    static const char layer[] =
        "<layer id=\"1\" name=\"l\" type=\"GroupConvolution\">\n"
        "<data strides=\"1,1\" pads_begin=\"1,1\" pads_end=\"1,1\" dilations=\"1,1\"/>\n"
        "<input><port id=\"0\"><dim>1</dim><dim>64</dim><dim>28</dim><dim>29</dim></port>\n"
        "<port id=\"1\"><dim>4</dim><dim>16</dim><dim>16</dim><dim>3</dim><dim>3</dim></port>"
        "</input>\n<output><port id=\"2\" precision=\"FP32\"><dim>1</dim><dim>64</dim><dim>28</dim>"
        "<dim>29</dim></port></output></layer>\n";
    static const char *const words[] = {"ir page.xml", "ir page.xml --accuracy=exact",
                                        "ir page.xml --accuracy=relaxed"};
    tool_result result;
    ir_write_text("page.xml", layer);
    for (int i = 0; i < 3; i++) {
        tool_run(&result, words[i], NULL);
        gops_test_check(result.exit_code == 0 &&
                            (strstr(result.out, " winograd/") != NULL) == (i == 2),
                        "%s: %d, %s%s", words[i], result.exit_code, result.err, result.out);
    }
}

/* Comments, processing instructions and CDATA within the text of an element. */
static void comments(void)
{
    tool_result result;
    ir_write_text("page.xml",
                  "<layer type=\"Relu\"><input><port id=\"0\"><dim>1<!-- a -->3</dim>"
                  "<dim><!-- b -->7</dim></port></input><output><port id=\"1\">"
                  "<dim><?c d?>13</dim><dim><![CDATA[7]]></dim></port></output></layer>");
    tool_run(&result, "ir page.xml", NULL);
    gops_test_check(result.exit_code == 0 && strstr(result.out, " f32 [13,7] ") != NULL, "%s%s",
                    result.err, result.out);
}

/* The third input of a lone layer: from a file, as nothing can be planned without. */
static void output_shape(void)
{
    static const int64_t shape[] = {8, 11};
    const gops_tensor two = GOPS_TEST_TENSOR(GOPS_I64, 2);
    const gops_tensor data = GOPS_TEST_TENSOR(GOPS_F32, 1, 6, 5, 7);
    const gops_tensor filter = GOPS_TEST_TENSOR(GOPS_F32, 2, 3, 5, 3, 2);
    gops_test_random random = gops_test_random_start(gops_test_seed(), 0);
    char line[256] = "ir page.xml --output-dir=out --input=output_shape=shape.npy";
    ir_write_text("page.xml",
                  "<layer type=\"GroupConvolutionBackpropData\"><data strides=\"2,2\" "
                  "pads_begin=\"1,1\" pads_end=\"1,1\"/><input><port id=\"0\"><dim>1</dim>"
                  "<dim>6</dim><dim>5</dim><dim>7</dim></port><port id=\"1\"><dim>2</dim>"
                  "<dim>3</dim><dim>5</dim><dim>3</dim><dim>2</dim></port><port id=\"2\">"
                  "<dim>2</dim></port></input><output><port id=\"3\" precision=\"FP32\">"
                  "<dim>1</dim><dim>10</dim><dim>8</dim><dim>11</dim></port></output></layer>");
    tool_expect_refusal("ir page.xml", 1,
                        "output_shape must be up to 9 integers with rank 1: a Const, or a");
    tool_npy_write("shape.npy", "i8", &two, shape);
    free(make_input(&random, "data", &data, line, sizeof line));
    free(make_input(&random, "filter", &filter, line, sizeof line));
    tool_expect(line, 0, "");
    tool_expect("run deconv --data=data.npy --filter=filter.npy --strides=2,2 --pads-begin=1,1 "
                "--pads-end=1,1 --output-shape=8,11 --output-shape-rule=openvino --output=y.npy",
                0, "");
    tool_expect("compare y.npy out/GroupConvolutionBackpropData.npy", 0, "");
}

int main(void)
{
    static const gops_test_case cases[] = {{"convolution 1d", convolution_1d},
                                           {"convolution 2d", convolution_2d},
                                           {"backprop", backprop},
                                           {"normalization", normalization},
                                           {"random inputs", random_inputs},
                                           {"relaxed", relaxed},
                                           {"comments", comments},
                                           {"output shape", output_shape},
                                           {0}};
    tool_folder_enter();
    const int status = gops_test_main("ir_pages", cases);
    tool_folder_leave();
    return status;
}
