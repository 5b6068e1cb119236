/* test_ir_refused.c: what is wrong with an IR, said in one line that names the layer. */
#include "ir_files.h"
#include "elements.h"
#include "guarded_memory.h"
#include "harness.h"
#include "tool_npy.h"
#include "tool_process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct change {
    const char *from, *into;
    const char *message; /* what the line must have in it */
} change;

static const change changes[] = {
    {"version=\"11\"", "version=\"9\"", "IR version \"9\"; 10 and 11 are read"},
    {"type=\"GroupConvolution\"", "type=\"Softmax\"",
     "layer 2 (Softmax, \"conv\"): a layer of this type is not run"},
    {"type=\"Result\"", "type=\"Softmax\"", "the model has no Result"},
    {"type=\"GroupConvolution\" version=\"opset1\"",
     "type=\"GroupConvolution\" version=\"my_extension\"",
     "layer 2 (GroupConvolution, \"conv\"): version \"my_extension\" is not run"},
    {"type=\"GroupConvolution\" version=\"opset1\"", "type=\"GroupConvolution\" version=\"opset0\"",
     "version \"opset0\" is not run"},
    {"id=\"3\" name=\"y\"", "id=\"2\" name=\"y\"", "two layers have the id 2"},
    {"id=\"3\" name=\"y\"", "id=\"-3\" name=\"y\"", "id \"-3\" is not a number"},
    {"shape=\"1,4,5\"", "shape=\"?,4,5\"", "layer 0 (Parameter, \"x\"): shape \"?,4,5\""},
    {"shape=\"1,4,5\"", "shape=\"-1,4,5\"", "dynamic"},
    {"shape=\"1,4,5\"", "shape=\"1..9,4,5\"", "dynamic"},
    {"shape=\"1,4,5\"", "shape=\"1,4,6\"",
     "the file states f32 [1,4,5] at output port 0; it is f32 [1,4,6]"},
    {"shape=\"1,4,5\" element_type=\"f32\"", "shape=\"1,4,5\" element_type=\"boolean\"",
     "element_type \"boolean\" is not offered"},
    {"shape=\"1,4,5\" element_type=\"f32\"", "shape=\"1,4,5\" element_type=\"f64\"",
     "the file states f32 [1,4,5] at output port 0; it is f64 [1,4,5]"},
    {"<dim>6</dim><dim>3</dim></port></output>", "<dim>6</dim><dim>4</dim></port></output>",
     "layer 2 (GroupConvolution, \"conv\"): the file states f32 [1,6,4] at output port 2; it is "
     "f32 [1,6,3]"},
    {"strides=\"1\"", "strides=\"0\"", "layer 2 (GroupConvolution, \"conv\"): "},
    {"strides=\"1\"", "strides=\"1,x\"", "strides \"1,x\" is not up to 6 numbers"},
    {"strides=\"1\"", "strides=\"1,1\"", "layer 2 (GroupConvolution, \"conv\"): "},
    {"dilations=\"1\"", "dilations=\"99999999999999999999\"", "dilations"},
    {"auto_pad=\"explicit\"", "auto_pad=\"same\"", "auto_pad \"same\" is none of"},
    {"size=\"144\"", "size=\"140\"", "size is 140; its shape and element_type ask for 144"},
    {"offset=\"0\"", "offset=\"4\"", "it is 144 bytes from 4 on; m.bin has 144"},
    {"offset=\"0\"", "offset=\"9223372036854775807\"", "m.bin has 144"},
    {"offset=\"0\"", "offset=\"-1\"", "offset and size are not numbers"},
    {"shape=\"2, 3, 2, 3\"", "shape=\"2,3,2,9223372036854775807\"", "layer 1 (Const, \"w\"): "},
    {"from-layer=\"0\"", "from-layer=\"7\"", "there is no layer 7"},
    {"to-layer=\"3\"", "to-layer=\"30\"", "there is no layer 30"},
    {"from-port=\"2\"", "from-port=\"1\"", "leaves its output port 1, which it does not have"},
    {"to-layer=\"2\" to-port=\"1\"", "to-layer=\"2\" to-port=\"5\"",
     "enters its input port 5, which it does not have"},
    {"to-layer=\"2\" to-port=\"1\"", "to-layer=\"2\" to-port=\"0\"",
     "two edges enter its input port 0"},
    {"to-layer=\"2\" to-port=\"1\"", "to-layer=\"2\" to-port=\"\"", "edge 2 does not say"},
    {"<edge from-layer=\"1\" from-port=\"0\" to-layer=\"2\" to-port=\"1\"/>", "",
     "layer 2 (GroupConvolution, \"conv\"): no edge enters its input port 1"},
    {"from-layer=\"0\" from-port=\"0\"", "from-layer=\"2\" from-port=\"2\"",
     "layer 2 (GroupConvolution, \"conv\"): it is in a cycle, or takes from one"},
    {"<port id=\"1\" precision=\"FP32\">", "<port id=\"0\" precision=\"FP32\">",
     "two of its ports have the id 0"},
    {"<port id=\"2\" precision=\"FP32\">", "<port id=\"2\" precision=\"U4\">",
     "its precision \"U4\" is not offered"},
    {"<dim>6</dim><dim>3</dim></port></output>", "<dim>-1</dim><dim>3</dim></port></output>",
     "its dimension \"-1\" is not a number from 0 on (dynamic"},
    {"<net name=\"small\" version=\"11\">", "<net name=\"small\" version=\"11\"><net>",
     "it is not XML"},
};

static void model(void)
{
    static char text[8192];
    static const char bin[IR_SMALL_BIN_BYTES];
    ir_write("m.bin", bin, sizeof bin);
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        ir_change(text, sizeof text, changes[i].from, changes[i].into);
        ir_write_text("m.xml", text);
        tool_expect_refusal("ir m.xml", 1, changes[i].message);
    }
    gops_test_check(tool_folder_count() == 2, "there are %d files", tool_folder_count());
}

/* A lone layer with the inputs f32 [2,3] and `shape` of f32. */
static void expect_lone(const char *layer, const char *shape, const char *message)
{
    char text[1024];
    snprintf(text, sizeof text,
             "<layer %s<input><port id=\"0\"><dim>2</dim><dim>3</dim></port>%s</input><output>"
             "<port id=\"2\" precision=\"FP32\"><dim>2</dim><dim>3</dim></port></output></layer>",
             layer, shape);
    ir_write_text("m.xml", text);
    tool_expect_refusal("ir m.xml", 1, message);
}

static void pointwise(void)
{
    static const char row[] = "<port id=\"1\"><dim>3</dim></port>";
    static const char wrong[] = "<port id=\"1\"><dim>2</dim></port>";
    expect_lone("type=\"Add\"><data auto_broadcast=\"none\"/>", row,
                "f32 [2,3] and f32 [3] cannot be added with auto_broadcast \"none\"");
    expect_lone("type=\"Add\"><data auto_broadcast=\"pdpd\"/>", row,
                "auto_broadcast \"pdpd\" is not run");
    expect_lone("type=\"Add\">", wrong, "f32 [2,3] and f32 [2] cannot be added");
    expect_lone("type=\"Convert\"><data destination_type=\"i32\"/>", "",
                "from f32 to i32 is not run");
    expect_lone("type=\"Convert\"><data destination_type=\"f16\"/>", "",
                "from f32 to f16 is not run");
    expect_lone("type=\"Convert\"><data destination_type=\"f23\"/>", "",
                "destination_type \"f23\" is not offered");
    expect_lone("type=\"Convert\">", "", "destination_type \"\" is not offered");
    expect_lone("type=\"Reshape\"><data special_zero=\"yes\"/>", row,
                "special_zero \"yes\" is neither true nor false");
}

/* A text beyond libxml2's limit, which it reports as a lack of memory, too. */
static void long_text(void)
{
    enum { BYTES = 11 * 1000 * 1000 };
    char *text = gops_test_allocate(BYTES + 64);
    const int begun = snprintf(text, 64, "<layer type=\"");
    memset(text + begun, 'A', BYTES);
    snprintf(text + begun + BYTES, 32, "\"/>");
    ir_write_text("m.xml", text);
    tool_expect_refusal("ir m.xml", 1, "it is not XML");
    free(text);
}

static void files(void)
{
    static const float elements[24];
    const gops_tensor other = GOPS_TEST_TENSOR(GOPS_F32, 1, 4, 6);
    ir_write_text("m.xml", ir_small_net);
    ir_write("m.bin", elements, 96);
    tool_npy_write("x.npy", "f4", &other, elements);
    tool_expect_refusal("ir m.xml", 1, "m.bin has 96");
    ir_write("m.bin", "", 0);
    tool_expect_refusal("ir m.xml", 1, "m.bin has 0");
    remove("m.bin");
    tool_expect_refusal("ir m.xml", 1, "m.bin: it cannot be opened: No such file");
    tool_expect_refusal("ir none.xml", 1, "none.xml: it cannot be opened: No such file");
    tool_expect_refusal("ir .", 1, "it is not a regular file");
    tool_expect_refusal(
        "ir m.xml --input=x=x.npy", 1,
        "layer 0 (Parameter, \"x\"): x.npy holds f32 [1,4,6]; f32 [1,4,5] is needed");
    tool_expect_refusal("ir m.xml --input=x=no.npy", 1, "no.npy: it cannot be opened");
    static const char bin[IR_SMALL_BIN_BYTES];
    ir_write("m.bin", bin, sizeof bin);
    tool_expect_refusal("ir m.xml --input=z=x.npy", 1,
                        "--input=z=x.npy: the model has no Parameter of that name");
    tool_expect_refusal("ir m.xml --output-dir=x.npy/in", 1, "x.npy/in");
}

static void words(void)
{
    tool_expect("ir", 2, "groupops: ir needs the file of a model: MODEL.xml\n");
    tool_expect("ir m.xml --input=x", 2, "groupops: --input=x is not NAME=FILE\n");
    tool_expect("ir m.xml --input=x=", 2, "groupops: --input=x= is not NAME=FILE\n");
    tool_result result;
    tool_run(&result, "ir m.xml other.xml", NULL);
    gops_test_check(result.exit_code == 2, "two models: exit code %d", result.exit_code);
    tool_run(&result, "ir m.xml --no-flag=1", NULL);
    gops_test_check(result.exit_code == 2, "an unknown flag: exit code %d", result.exit_code);
    tool_run(&result, "ir --help", NULL);
    gops_test_check(result.exit_code == 0 && strstr(result.out, "--output-dir=DIR") != NULL,
                    "help: %s", result.out);
}

int main(void)
{
    static const gops_test_case cases[] = {{"model", model},         {"pointwise", pointwise},
                                           {"long_text", long_text}, {"files", files},
                                           {"words", words},         {0}};
    tool_folder_enter();
    const int status = gops_test_main("ir_refused", cases);
    tool_folder_leave();
    return status;
}
