/* test_ir_constants.c: Convert, Subtract and Multiply of constants: operands, chains of many layers,
 * and what is refused of them. */
#include "ir_files.h"
#include "ir_net.h"
#include "compare.h"
#include "elements.h"
#include "harness.h"
#include "guarded_memory.h"
#include "tool_npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A product of a constant with itself, and a number from which the weights are subtracted. */
static void operands(void)
{
    static const float half[] = {0.5F};
    const gops_tensor codes = GOPS_TEST_TENSOR(GOPS_I8, 3, 7);
    const gops_tensor wide = GOPS_TEST_TENSOR(GOPS_F32, 3, 7);
    ir_net *made = ir_net_begin(10, GOPS_F32, "f4");
    tool_result *result = gops_test_allocate(sizeof *result);
    int8_t *drawn;
    float expected[21];
    void *elements;
    const int w = ir_net_random(made, "w", codes, &elements);
    const int h = ir_net_const(made, "h", GOPS_TEST_TENSOR(GOPS_F32, 1), half);
    const int c = IR_LAYER(made, "c", "Convert", "destination_type=\"f32\"", &wide, w);
    const int m = IR_LAYER(made, "m", "Multiply", "auto_broadcast=\"none\"", &wide, c, c);
    ir_net_result(made, "y", IR_LAYER(made, "s", "Subtract", "", &wide, h, m));
    ir_net_run(made, result);
    drawn = elements;
    for (int i = 0; i < 21; i++)
        expected[i] = 0.5F - (float)(drawn[i] * drawn[i]);
    void *got = ir_net_read(made, "y", &wide);
    gops_test_check(gops_test_compare_bytes("operands", &wide, got, expected), "see above");
    free(elements);
    free(got);
    free(result);
    free(made);
}

/* A size that is larger than the shape asks for, which OpenVINO takes, too: the first bytes count. */
static void spare_bytes(void)
{
    static const float numbers[] = {0.5F, 3, 7};
    const gops_tensor two = GOPS_TEST_TENSOR(GOPS_F32, 2);
    ir_net *made = ir_net_begin(11, GOPS_F32, "f4");
    tool_result *result = gops_test_allocate(sizeof *result);
    ir_net_const(made, "unread", GOPS_TEST_TENSOR(GOPS_F32, 3), numbers); /* at offset 1 */
    ir_net_result(made, "y",
                  ir_net_layer(made, "w", "Const",
                               "element_type=\"f32\" shape=\"2\" offset=\"1\" size=\"12\"", &two, 0,
                               NULL));
    ir_net_run(made, result);
    void *got = ir_net_read(made, "y", &two);
    gops_test_check(gops_test_compare_bytes("spare bytes", &two, got, numbers), "see above");
    free(got);
    free(result);
    free(made);
}

/* A chain of many layers is no recursion. */
static void long_chain(void)
{
    enum { LAYERS = 20000 };
    static const unsigned char bin[] = {7, 0, 0, 0, 0, 0, 0, 0x80, 0x3f}; /* 7; f32 1 at 5 */
    tool_result *result = gops_test_allocate(sizeof *result);
    const gops_tensor one = GOPS_TEST_TENSOR(GOPS_F32, 1);
    FILE *xml = fopen("net.xml", "w");
    if (!gops_test_check(xml != NULL, "net.xml"))
        return;
    static const char port[] = "<port id=\"%d\" precision=\"FP32\"><dim>1</dim></port>";
    fprintf(xml, "<net version=\"11\"><layers><layer id=\"0\" type=\"Const\"><data shape=\"1\" "
                 "element_type=\"u8\" offset=\"0\" size=\"1\"/><output><port id=\"2\" "
                 "precision=\"U8\"><dim>1</dim></port></output></layer><layer id=\"1\" "
                 "type=\"Const\"><data shape=\"1\" element_type=\"f32\" offset=\"5\" size=\"4\"/>"
                 "<output>");
    fprintf(xml, port, 2);
    fprintf(xml, "</output></layer><layer id=\"2\" type=\"Convert\"><data "
                 "destination_type=\"f32\"/><input><port id=\"0\" precision=\"U8\"><dim>1</dim>"
                 "</port></input><output>");
    fprintf(xml, port, 2);
    fprintf(xml, "</output></layer>");
    for (int i = 3; i < LAYERS; i++) {
        fprintf(xml, "<layer id=\"%d\" type=\"Subtract\"><input>", i);
        fprintf(xml, port, 0);
        fprintf(xml, port, 1);
        fprintf(xml, "</input><output>");
        fprintf(xml, port, 2);
        fprintf(xml, "</output></layer>");
    }
    fprintf(xml, "<layer id=\"%d\" name=\"y\" type=\"Result\"><input>", LAYERS);
    fprintf(xml, port, 0);
    fprintf(xml, "</input></layer></layers><edges>");
    for (int i = 2; i <= LAYERS; i++) {
        static const char edge[] = "<edge from-layer=\"%d\" from-port=\"2\" to-layer=\"%d\" "
                                   "to-port=\"%d\"/>";
        fprintf(xml, edge, i == 2 ? 0 : i - 1, i, 0);
        if (i > 2 && i < LAYERS)
            fprintf(xml, edge, 1, i, 1);
    }
    fprintf(xml, "</edges></net>");
    fclose(xml);
    ir_write("net.bin", bin, sizeof bin);
    static const tool_surroundings long_table = {.out_path = "/dev/null"};
    tool_run(result, "ir net.xml --output-dir=out", &long_table);
    gops_test_check(result->exit_code == 0 && result->err[0] == '\0', "%d, %s", result->exit_code,
                    result->err);
    float *got = tool_npy_read("out/y.npy", "f4", &one);
    gops_test_check(got != NULL && *got == 7 - (LAYERS - 3), "%g",
                    got != NULL ? (double)*got : 0.0);
    free(got);
    free(result);
}

/* Const u8 [5,4,3,3] -> Convert -> a layer with an operand of the given shape. */
static void expect_arithmetic(const char *type, const char *data, gops_tensor operand,
                              const char *message)
{
    const gops_tensor codes = GOPS_TEST_TENSOR(GOPS_U8, 5, 4, 3, 3);
    const gops_tensor wide = GOPS_TEST_TENSOR(GOPS_F32, 5, 4, 3, 3);
    ir_net *made = ir_net_begin(11, GOPS_F32, "f4");
    void *elements, *others;
    const int w = ir_net_random(made, "w", codes, &elements);
    const int c = IR_LAYER(made, "c", "Convert", "destination_type=\"f32\"", &wide, w);
    const int k = ir_net_random(made, "k", operand, &others);
    ir_net_result(made, "y", IR_LAYER(made, "a", type, data, &wide, c, k));
    ir_net_expect_refused(made, message);
    free(elements);
    free(others);
    free(made);
}

static void wrong_operands(void)
{
    const gops_tensor wrong = GOPS_TEST_TENSOR(GOPS_F32, 6, 1, 1, 1);
    const gops_tensor each = GOPS_TEST_TENSOR(GOPS_F32, 5, 1, 1, 1);
    expect_arithmetic("Multiply", "", wrong,
                      "layer 9 (Multiply, \"a\"): neither of f32 [5,4,3,3] and f32 [6,1,1,1] is "
                      "broadcast to the other");
    expect_arithmetic("Subtract", "", GOPS_TEST_TENSOR(GOPS_F32, 5),
                      "layer 9 (Subtract, \"a\"): neither of f32 [5,4,3,3] and f32 [5]");
    expect_arithmetic("Multiply", "", GOPS_TEST_TENSOR(GOPS_F32, 1, 1, 1, 1, 1), "neither of");
    expect_arithmetic("Multiply", "auto_broadcast=\"none\"", each,
                      "is broadcast to the other with auto_broadcast \"none\"");
    expect_arithmetic("Multiply", "auto_broadcast=\"pdpd\"", each,
                      "layer 9 (Multiply, \"a\"): auto_broadcast \"pdpd\" is not run");
    expect_arithmetic("Subtract", "", GOPS_TEST_TENSOR(GOPS_U8, 5, 1, 1, 1),
                      "layer 9 (Subtract, \"a\"): f32 [5,4,3,3] and u8 [5,1,1,1] are not of one of "
                      "the types f64, f32, f16, bf16");
    expect_arithmetic("Multiply", "", GOPS_TEST_TENSOR(GOPS_F16, 5, 1, 1, 1), "are not of one of");
}

/* Const -> Convert, or Const -> Subtract of itself, of types that are not run. */
static void expect_types(gops_type from, const char *layer, const char *data, gops_type to,
                         const char *message)
{
    const gops_tensor codes = GOPS_TEST_TENSOR(from, 3, 2);
    const gops_tensor wide = GOPS_TEST_TENSOR(to, 3, 2);
    ir_net *made = ir_net_begin(11, GOPS_F32, "f4");
    void *elements;
    const int w = ir_net_random(made, "w", codes, &elements);
    const int c = strcmp(layer, "Convert") == 0 ? IR_LAYER(made, "c", layer, data, &wide, w)
                                                : IR_LAYER(made, "c", layer, data, &wide, w, w);
    ir_net_result(made, "y", c);
    ir_net_expect_refused(made, message);
    free(elements);
    free(made);
}

static void wrong_types(void)
{
    static const char f32[] = "destination_type=\"f32\"";
    expect_types(GOPS_I32, "Convert", f32, GOPS_F32,
                 "layer 3 (Convert, \"c\"): from i32 to f32 is not run");
    expect_types(GOPS_U16, "Convert", "destination_type=\"f16\"", GOPS_F16, "from u16 to f16");
    expect_types(GOPS_BF16, "Convert", "destination_type=\"f16\"", GOPS_F16, "from bf16 to f16");
    expect_types(GOPS_U8, "Convert", "destination_type=\"i32\"", GOPS_I32, "from u8 to i32");
    expect_types(GOPS_U8, "Convert", "destination_type=\"f8e4m3\"", GOPS_F8E4M3, "u8 to f8e4m3");
    expect_types(GOPS_U8, "Convert", "destination_type=\"u4\"", GOPS_F32,
                 "destination_type \"u4\" is not offered");
    expect_types(GOPS_U8, "Subtract", "", GOPS_U8, "layer 3 (Subtract, \"c\"): u8 [3,2] and u8");
    expect_types(GOPS_F8E5M2, "Multiply", "", GOPS_F8E5M2, "are not of one of the types");
}

/* A chain that begins at a Parameter, and one that is multiplied by a Parameter. */
static void not_constant(void)
{
    const gops_tensor codes = GOPS_TEST_TENSOR(GOPS_U8, 3, 2);
    const gops_tensor wide = GOPS_TEST_TENSOR(GOPS_F32, 3, 2);
    const gops_tensor each = GOPS_TEST_TENSOR(GOPS_F32, 3, 1);
    void *elements, *others;
    ir_net *made = ir_net_begin(11, GOPS_U8, "u1");
    const int x = ir_net_parameter(made, "x", codes, &elements);
    const int c = IR_LAYER(made, "c", "Convert", "destination_type=\"f32\"", &wide, x);
    const int z = ir_net_random(made, "z", each, &others);
    ir_net_result(made, "y", IR_LAYER(made, "s", "Subtract", "", &wide, c, z));
    ir_net_expect_refused(made, "layer 9 (Subtract, \"s\"): input 0 is not a constant but layer 3 "
                                "(Convert, \"c\"); Subtract is run on constants");
    free(elements);
    free(others);
    free(made);
    made = ir_net_begin(11, GOPS_F32, "f4");
    const int w = ir_net_random(made, "w", wide, &elements);
    const int k = ir_net_parameter(made, "k", each, &others);
    ir_net_result(made, "y", IR_LAYER(made, "m", "Multiply", "", &wide, w, k));
    ir_net_expect_refused(made, "layer 6 (Multiply, \"m\"): input 1 is not a constant but layer 3 "
                                "(Parameter, \"k\")");
    free(elements);
    free(others);
    free(made);
}

static void wrong_constants(void)
{
    const gops_tensor codes = GOPS_TEST_TENSOR(GOPS_U8, 3, 2);
    static const struct {
        const char *data, *message;
    } cases[] = {
        {"element_type=\"u4\" shape=\"3,2\" offset=\"0\" size=\"3\"",
         "layer 0 (Const, \"w\"): element_type \"u4\" is not offered"},
        {"element_type=\"nf4\" shape=\"3,2\" offset=\"0\" size=\"3\"", "\"nf4\" is not offered"},
        {"element_type=\"u8\" shape=\"3,2\" offset=\"0\" size=\"5\"",
         "size is 5; its shape and element_type ask for 6"},
        {"element_type=\"u8\" shape=\"3,2\" offset=\"0\" size=\"6\"", "net.bin has 0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const gops_tensor wide = GOPS_TEST_TENSOR(GOPS_F32, 3, 2);
        ir_net *made = ir_net_begin(11, GOPS_F32, "f4");
        const int w = ir_net_layer(made, "w", "Const", cases[i].data, &codes, 0, NULL);
        ir_net_result(made, "y",
                      IR_LAYER(made, "c", "Convert", "destination_type=\"f32\"", &wide, w));
        ir_net_expect_refused(made, cases[i].message);
        free(made);
    }
}

int main(void)
{
    static const gops_test_case cases[] = {{"operands", operands},
                                           {"spare bytes", spare_bytes},
                                           {"long chain", long_chain},
                                           {"wrong operands", wrong_operands},
                                           {"wrong types", wrong_types},
                                           {"not constant", not_constant},
                                           {"wrong constants", wrong_constants},
                                           {0}};
    tool_folder_enter();
    const int status = gops_test_main("ir_constants", cases);
    tool_folder_leave();
    return status;
}
