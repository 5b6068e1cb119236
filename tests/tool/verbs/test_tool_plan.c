/* test_tool_plan.c: groupops plan: the fields, their values, and the specification's examples. */
#include "harness.h"
#include "tool_json.h"
#include "tool_process.h"

#include <stdio.h>
#include <string.h>

static const char plan_keys[] =
    "output_shape pads_begin pads_end groups algorithm why workspace_bytes flops";

typedef struct plan_case {
    const char *words;
    const char *output_shape, *pads_begin, *pads_end, *groups, *flops;
} plan_case;

static const plan_case plan_cases[] = {
    /* the examples of the three pages of the specification */
    {"conv --data=1,12,224 --filter=4,1,3,5 --pads-begin=2 --pads-end=2 --strides=1 --dilations=1",
     "[1, 4, 224]", "[2]", "[2]", "4", "26880"},
    {"conv --data=1,12,224,224 --filter=4,1,3,5,5 --pads-begin=2,2 --pads-end=2,2",
     "[1, 4, 224, 224]", "[2, 2]", "[2, 2]", "4", "30105600"},
    {"conv --data=1,12,224,224,224 --filter=4,1,3,5,5,5 --pads-begin=2,2,2 --pads-end=2,2,2 "
     "--auto-pad=explicit",
     "[1, 4, 224, 224, 224]", "[2, 2, 2]", "[2, 2, 2]", "4", "33718272000"},
    {"deconv --data=1,20,224,224 --filter=4,5,2,3,3 --pads-begin=1,1 --pads-end=1,1 --strides=2,2",
     "[1, 8, 447, 447]", "[1, 1]", "[1, 1]", "4", "36126720"},
    {"norm --data=3,12,100,100 --scale=12 --bias=12 --num-groups=4 --epsilon=1e-5",
     "[3, 12, 100, 100]", "[]", "[]", "4", "2160000"},
    /* an odd total of pads: 7 inputs, 4 outputs of stride 2, kernel 4: 3 */
    {"conv --data=1,2,7 --filter=1,3,2,4 --strides=2 --auto-pad=same_upper --pads-begin=5",
     "[1, 3, 4]", "[1]", "[2]", "1", "192"},
    {"conv --data=1,2,7 --filter=1,3,2,4 --strides=2 --auto-pad=same_lower", "[1, 3, 4]", "[2]",
     "[1]", "1", "192"},
    {"conv --data=1,2,7 --filter=1,3,2,4 --strides=2 --auto-pad=valid --pads-begin=5", "[1, 3, 2]",
     "[0]", "[0]", "1", "96"},
    {"conv --data=1,2,7 --filter=1,3,2,4 --dilations=2", "[1, 3, 1]", "[0]", "[0]", "1", "48"},
    /* full = 2 * 4 + 3 = 11, total = 11 - 8 + 0 = 3 */
    {"deconv --data=1,2,5 --filter=1,2,3,3 --strides=2 --output-shape=8", "[1, 3, 8]", "[1]", "[2]",
     "1", "180"},
    {"deconv --data=1,2,5 --filter=1,2,3,3 --strides=2 --output-shape=8 --output-shape-rule=onnx",
     "[1, 3, 8]", "[2]", "[1]", "1", "180"},
    {"deconv --data=1,2,5 --filter=1,2,3,3 --strides=2 --output-shape=8 "
     "--output-shape-rule=openvino --pads-begin=1 --pads-end=1",
     "[1, 3, 8]", "[1]", "[1]", "1", "180"},
    {"deconv --data=1,2,5 --filter=1,2,3,3 --strides=2 --output-shape=8 --auto-pad=same_upper",
     "[1, 3, 8]", "[2]", "[1]", "1", "180"},
    {"deconv --data=1,2,5 --filter=1,2,3,3 --strides=3 --output-padding=2 --dilations=2",
     "[1, 3, 19]", "[0]", "[0]", "1", "180"},
    {"conv --data=0,2,7 --filter=2,3,1,4 --type=f64", "[0, 6, 4]", "[0]", "[0]", "2", "0"},
};

static void expect_value(const char *words, const char *object, const char *key,
                         const char *expected)
{
    char value[128];
    tool_json_value(object, key, value, sizeof value);
    gops_test_check(strcmp(value, expected) == 0, "plan %s: %s is %s instead of %s", words, key,
                    value, expected);
}

static void json(void)
{
    for (size_t i = 0; i < sizeof plan_cases / sizeof plan_cases[0]; i++) {
        const plan_case *expected = &plan_cases[i];
        tool_result result;
        char line[512];
        char keys[512];
        snprintf(line, sizeof line, "plan %s --json", expected->words);
        tool_run(&result, line, NULL);
        const char *text = result.out;
        gops_test_check(result.exit_code == 0, "%s: %d %s", line, result.exit_code, result.err);
        gops_test_check(tool_json_object(&text, keys, sizeof keys) && *text == '\0',
                        "%s: not one JSON object on one line: %s", line, result.out);
        gops_test_check(strcmp(keys, plan_keys) == 0, "%s: the fields are %s", line, keys);
        expect_value(expected->words, result.out, "output_shape", expected->output_shape);
        expect_value(expected->words, result.out, "pads_begin", expected->pads_begin);
        expect_value(expected->words, result.out, "pads_end", expected->pads_end);
        expect_value(expected->words, result.out, "groups", expected->groups);
        expect_value(expected->words, result.out, "flops", expected->flops);
        gops_test_check(tool_json_number(result.out, "workspace_bytes") >= 0, "%s: %s", line,
                        result.out);
    }
}

static void text(void)
{
    tool_result result;
    tool_run(&result,
             "plan deconv --data=1,2,5 --filter=1,2,3,3 --strides=2 --output-shape=8 "
             "--type=f64 --algorithm=gemm",
             NULL);
    static const char *const lines[] = {
        "operation       GroupConvolutionBackpropData-1, f64\n",
        "output_shape    1,3,8\n",
        "pads_begin      1\n",
        "pads_end        2\n",
        "groups          1\n",
        "algorithm       gemm\n",
        "why             ",
        "workspace_bytes ",
        "flops           180\n",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        gops_test_check(strstr(result.out, lines[i]) != NULL, "\"%s\" is not in\n%s", lines[i],
                        result.out);
}

/* More workspace lets the columns be one block; a bound is kept. */
static void workspace(void)
{
    static const char words[] = "plan conv --data=1,64,56,56 --filter=1,64,64,3,3 --pads-begin=1,1 "
                                "--pads-end=1,1 --algorithm=gemm --threads=1 --json";
    static const double column_matrix = 64. * 9 * 56 * 56 * 4;
    char line[512];
    tool_result result;
    snprintf(line, sizeof line, "%s --max-workspace=unlimited", words);
    tool_run(&result, line, NULL);
    gops_test_check(tool_json_number(result.out, "workspace_bytes") >= column_matrix, "%s",
                    result.out);
    tool_run(&result, words, NULL);
    gops_test_check(tool_json_number(result.out, "workspace_bytes") <= 4 << 20, "%s", result.out);
    snprintf(line, sizeof line, "%s --max-workspace=200000", words);
    tool_run(&result, line, NULL);
    gops_test_check(tool_json_number(result.out, "workspace_bytes") <= 200000, "%s %s", result.out,
                    result.err);
}

/* The reason tells when a plan is relaxed, which none is that does not ask for it. */
static void accuracy(void)
{
    static const char *const words[] = {"", " --accuracy=exact", " --accuracy=relaxed"};
    const tool_surroundings emulated = {.variable = "GROUPOPS_ISA", .value = "amx_emulated"};
    tool_result result;
    tool_run(&result, "info", NULL);
    if (strstr(result.out, emulated.value) == NULL)
        gops_test_skip("the command is built without the emulation of AMX");
    for (int i = 0; i < 3; i++) {
        char line[256];
        snprintf(line, sizeof line,
                 "plan conv --data=1,6,7,11 --filter=1,16,6,3,2 --type=bf16 --algorithm=implicit%s",
                 words[i]);
        tool_run(&result, line, &emulated);
        gops_test_check(result.exit_code == 0 &&
                            (strstr(result.out, "relaxed") != NULL) == (i == 2),
                        "groupops %s: %s%s", line, result.out, result.err);
    }
}

int main(void)
{
    static const gops_test_case cases[] = {
        {"json", json}, {"text", text}, {"workspace", workspace}, {"accuracy", accuracy}, {0}};
    return gops_test_main("tool_plan", cases);
}
