/* test_tool_words.c: the command line of the tool: verbs, flags, help, exit codes. */
#include "harness.h"
#include "tool_process.h"

#include <groupops/version.h>

#include <stdio.h>
#include <string.h>

#define PLAN_CONV "plan conv --data=1,6,7,11 --filter=2,5,3,3,2"
#define FIFTY "12345678901234567890123456789012345678901234567890"
#define PLAN_NORM "plan norm --data=2,6,5 --num-groups=3 --epsilon=1e-5"

/* Every refusal of words has exit code 2 and exactly this line. */
static void refused_words(void)
{
    static const struct {
        const char *words;
        const char *line;
    } cases[] = {
        {"", "a verb is missing; groupops --help shows them"},
        {"conv", "\"conv\" is no verb; groupops --help shows them"},
        {"walk", "\"walk\" is no verb; groupops --help shows them"},
        {"help walk", "\"walk\" is no verb; groupops --help shows them"},
        {"--json", "\"--json\" is no verb; groupops --help shows them"},
        {"plan", "plan needs an operation: plan conv|deconv|norm --data=SHAPE --filter=SHAPE "
                 "[flags]"},
        {"plan --data=1,2,3", "plan needs an operation: plan conv|deconv|norm --data=SHAPE "
                              "--filter=SHAPE [flags]"},
        {"run pool", "\"pool\" is no operation; there are conv, deconv and norm"},
        {"bench", "bench needs an operation or a suite: bench conv|deconv|norm --data=SHAPE "
                  "--filter=SHAPE [flags], or bench --suite=NAME [flags]"},
        {"bench --json", "bench needs an operation or a suite: bench conv|deconv|norm "
                         "--data=SHAPE --filter=SHAPE [flags], or bench --suite=NAME [flags]"},
        {"bench conv --suite=smoke", "--suite does not go with bench conv"},
        {"bench --suite=smoke --data=1,2,3", "--data does not go with bench"},
        {"bench --suite", "--suite needs a value: --suite=NAME"},
        {"bench --suite=", "--suite= is empty"},
        {"info now", "\"now\" is not expected after info"},
        {"info --json", "--json does not go with info"},
        {"plan conv --filter=2,5,3,3,2", "plan conv needs --data=SHAPE"},
        {"plan conv --data=1,6,7,11", "plan conv needs --filter=SHAPE"},
        {"plan norm --data=2,6,5 --epsilon=1", "plan norm needs --num-groups=NUMBER"},
        {"plan norm --data=2,6,5 --num-groups=3", "plan norm needs --epsilon=NUMBER"},
        {"run conv --data=x.npy --filter=w.npy", "run conv needs --output=FILE"},
        {"run norm --data=x.npy --bias=b.npy --output=y.npy", "run norm needs --scale=FILE"},
        {"run norm --data=x.npy --scale=b.npy --output=y.npy", "run norm needs --bias=FILE"},
        {PLAN_CONV " --output=y.npy", "--output does not go with plan conv"},
        {PLAN_CONV " --num-groups=2", "--num-groups does not go with plan conv"},
        {PLAN_CONV " --output-padding=1,1", "--output-padding does not go with plan conv"},
        {PLAN_CONV " --bare-gemm", "--bare-gemm does not go with plan conv"},
        {PLAN_NORM " --strides=1", "--strides does not go with plan norm"},
        {PLAN_CONV " --stride=1,1", "--stride is no flag of plan conv"},
        {PLAN_CONV " --=1", "-- is no flag of plan conv"},
        {PLAN_CONV " strides=1,1", "\"strides=1,1\" is not expected after plan conv"},
        {PLAN_CONV " -j", "\"-j\" is not expected after plan conv"},
        {PLAN_CONV " --strides 1,1", "--strides needs a value: --strides=LIST"},
        {PLAN_CONV " --json=1", "--json takes no value"},
        {PLAN_CONV " --json --json", "--json is given twice"},
        {PLAN_CONV " --data=1,6,7,11", "--data is given twice"},
        {PLAN_CONV " --strides=", "--strides= is not made of integers"},
        {PLAN_CONV " --strides=1,", "--strides=1, is not made of integers"},
        {PLAN_CONV " --strides=1,,1", "--strides=1,,1 is not made of integers"},
        {PLAN_CONV " --strides=1x1", "--strides=1x1 is not made of integers"},
        {PLAN_CONV " --strides=1.5,1", "--strides=1.5,1 is not made of integers"},
        {PLAN_CONV " --strides=+1,1", "--strides=+1,1 is not made of integers"},
        {PLAN_CONV " --strides=9223372036854775808,1",
         "--strides=9223372036854775808,1 has a number beyond 64 bits"},
        {PLAN_CONV " --strides=1,1,1,1,1,1,1", "--strides=1,1,1,1,1,1,1 has more than 6 numbers"},
        {"plan conv --data=1,2,3,4,5,6,7,8,9,10 --filter=1",
         "--data=1,2,3,4,5,6,7,8,9,10 has more than 9 numbers"},
        /* A long value is cut, its reason is not. */
        {PLAN_CONV " --auto-pad=" FIFTY FIFTY FIFTY FIFTY FIFTY,
         "--auto-pad=" FIFTY FIFTY FIFTY FIFTY " is none of: explicit|same_upper|same_lower|valid"},
        {PLAN_CONV " " FIFTY FIFTY FIFTY FIFTY FIFTY,
         "\"" FIFTY FIFTY FIFTY FIFTY "\" is not expected after plan conv"},
        {PLAN_CONV " --" FIFTY FIFTY FIFTY FIFTY FIFTY,
         "--" FIFTY FIFTY FIFTY FIFTY " is no flag of plan conv"},
        {PLAN_CONV " --auto-pad=same",
         "--auto-pad=same is none of: explicit|same_upper|same_lower|valid"},
        {PLAN_CONV " --auto-pad=", "--auto-pad= is none of: explicit|same_upper|same_lower|valid"},
        {PLAN_CONV " --type=float", "--type=float is none of: f64, f32, f16, bf16, f8e4m3, f8e5m2, "
                                    "i8, i16, i32, i64, u8, u16, u32, u64"},
        {PLAN_CONV " --threads=-1", "--threads=-1 is below 0"},
        {PLAN_CONV " --threads=2147483648", "--threads=2147483648 is beyond 32 bits"},
        {PLAN_CONV " --threads=two", "--threads=two is not made of integers"},
        {PLAN_CONV " --accuracy=fast", "--accuracy=fast is none of: exact|relaxed"},
        {PLAN_CONV " --accuracy", "--accuracy needs a value: --accuracy=exact|relaxed"},
        {"info --accuracy=exact", "--accuracy does not go with info"},
        {PLAN_CONV " --max-workspace=-1", "--max-workspace=-1 is below 0"},
        {PLAN_CONV " --max-workspace=4M", "--max-workspace=4M is not made of integers"},
        {"plan norm --data=2,6,5 --num-groups=3 --epsilon=small",
         "--epsilon=small is not a number"},
        {"plan norm --data=2,6,5 --num-groups=3 --epsilon=", "--epsilon= is not a number"},
        {"bench conv --data=1,6,7,11 --filter=2,5,3,3,2 --reps=0",
         "--reps=0 is not from 1 to 1048576"},
        {"bench conv --data=1,6,7,11 --filter=2,5,3,3,2 --reps=1048577",
         "--reps=1048577 is not from 1 to 1048576"},
        {"bench conv --data=1,6,7,11 --filter=2,5,3,3,2 --seconds=-1",
         "--seconds=-1 is not a time"},
        {"bench conv --data=1,6,7,11 --filter=2,5,3,3,2 --seconds=inf",
         "--seconds=inf is not a time"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char expected[512];
        snprintf(expected, sizeof expected, "groupops: %s\n", cases[i].line);
        tool_expect(cases[i].words, 2, expected);
    }
}

/* The names of the algorithms grow with the library. */
static void refused_algorithm(void)
{
    static const char begin[] = "groupops: --algorithm=fast is none of: auto, fastest, gemm";
    tool_result result;
    tool_run(&result, PLAN_CONV " --algorithm=fast", NULL);
    gops_test_check(result.exit_code == 2, "exit code %d", result.exit_code);
    gops_test_check(strncmp(result.err, begin, strlen(begin)) == 0, "%s", result.err);
}

/* What the library refuses has exit code 1 and its message. */
static void refused_by_library(void)
{
    static const struct {
        const char *words;
        const char *part;
    } cases[] = {
        {PLAN_CONV " --strides=0,1", "strides[0] is 0"},
        {PLAN_CONV " --strides=1", "strides"},
        {PLAN_CONV " --pads-end=-1,0", "pads_end[0] is -1"},
        {"plan conv --data=1,6,7,11 --filter=2,5,4,3,2", "6"},
        {"plan deconv --data=1,6,7,11 --filter=2,5,4,3,2", "6"},
        {"plan norm --data=2,6,5 --num-groups=4 --epsilon=1e-5", "num_groups is 4"},
        {"plan norm --data=2,6,5 --num-groups=3 --epsilon=0", "epsilon is 0"},
        {"plan norm --data=2,6,5 --num-groups=3 --epsilon=nan", "epsilon is"},
        {"plan norm --data=2,6,5 --scale=7 --num-groups=3 --epsilon=1", "scale"},
        {"plan norm --data=6 --num-groups=3 --epsilon=1", "rank"},
        {PLAN_NORM " --type=i32", "i32"},
        {PLAN_CONV " --max-workspace=1", "max_workspace"},
        {PLAN_CONV " --bias=-2,-5", "bias has dimension -2 on axis 0; it must not be negative"},
        {"bench conv --data=1,6,7,11 --filter=2,5,3,3,2 --bias=-1,-10",
         "bias has dimension -1 on axis 0; it must not be negative"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        tool_expect_refusal(cases[i].words, 1, cases[i].part);
}

static void expect_help(const char *words, const char *const *parts)
{
    tool_result result;
    tool_run(&result, words, NULL);
    gops_test_check(result.exit_code == 0 && result.err[0] == '\0', "groupops %s: %d, %s", words,
                    result.exit_code, result.err);
    for (; *parts != NULL; parts++)
        gops_test_check(strstr(result.out, *parts) != NULL,
                        "groupops %s does not show \"%s\" in\n%s", words, *parts, result.out);
}

#define PARTS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void help(void)
{
    expect_help("--help", PARTS("groupops run ", "groupops plan ", "groupops bench ",
                                "groupops info", "--version", "Exit status"));
    expect_help("-h", PARTS("groupops run "));
    expect_help("help", PARTS("groupops run ", "groupops info", "Exit status"));
    expect_help("help bench", PARTS("groupops bench ", "--suite=NAME"));
    expect_help("run --help", PARTS("--data=FILE", "--output=FILE", "--strides=LIST",
                                    "--output-shape-rule=spec|openvino|onnx", "GroupConvolution-1",
                                    "GroupNormalization-12"));
    expect_help("plan deconv --data=1 --help", PARTS("--data=SHAPE", "--json", "--epsilon"));
    expect_help("plan --help", PARTS("--accuracy=exact|relaxed"));
    expect_help("bench --help", PARTS("--suite=NAME", "--bare-gemm", "--reps=NUMBER"));
    expect_help("info --help", PARTS("groupops info"));
}

static void help_shows_only_what_fits(void)
{
    tool_result result;
    tool_run(&result, "plan --help", NULL);
    gops_test_check(strstr(result.out, "--suite") == NULL, "%s", result.out);
    gops_test_check(strstr(result.out, "--output=") == NULL, "%s", result.out);
    tool_run(&result, "run --help", NULL);
    gops_test_check(strstr(result.out, "SHAPE") == NULL, "%s", result.out);
}

static void version(void)
{
    tool_result result;
    tool_run(&result, "--version", NULL);
    gops_test_check(result.exit_code == 0 &&
                        strcmp(result.out, "groupops " GOPS_VERSION_STRING "\n") == 0,
                    "%d %s", result.exit_code, result.out);
}

static void info(void)
{
    static const char *const begins[] = {
        "version  ",    "BLAS  ",    "BLAS core  ", "instruction sets  ",
        "algorithms  ", "threads  ", "caches  "};
    tool_result result;
    tool_run(&result, "info", NULL);
    gops_test_check(result.exit_code == 0 && result.err[0] == '\0', "%d %s", result.exit_code,
                    result.err);
    const char *line = result.out;
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++) {
        gops_test_check(strncmp(line, begins[i], strlen(begins[i])) == 0, "line %zu is %s", i,
                        line);
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    gops_test_check(*line == '\0', "there is more: %s", line);
    gops_test_check(strstr(result.out, "portable") != NULL, "%s", result.out);
}

static void info_with_a_forced_isa(void)
{
    const tool_surroundings portable = {.variable = "GROUPOPS_ISA", .value = "portable"};
    const tool_surroundings none = {.variable = "GROUPOPS_ISA", .value = "none-such"};
    const tool_surroundings empty = {.variable = "GROUPOPS_ISA", .value = ""};
    tool_result result;
    tool_run(&result, "info", &portable);
    gops_test_check(strstr(result.out, "used: portable (by GROUPOPS_ISA)\n") != NULL, "%s",
                    result.out);
    tool_run(&result, "info", &empty);
    gops_test_check(strstr(result.out, "used: ") != NULL &&
                        strstr(result.out, "GROUPOPS_ISA") == NULL,
                    "%s", result.out);
    tool_run(&result, "info", &none);
    gops_test_check(result.exit_code == 0 && strstr(result.out, "used: none") != NULL, "%s",
                    result.out);
    tool_run(&result, PLAN_CONV, &none);
    gops_test_check(result.exit_code == 1 && strstr(result.err, "GROUPOPS_ISA") != NULL, "%d %s",
                    result.exit_code, result.err);
}

static void full_standard_output(void)
{
    const tool_surroundings full = {.out_path = "/dev/full"};
    static const char *const lines[] = {PLAN_CONV, PLAN_CONV " --json", "info", "--help",
                                        "--version"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        tool_result result;
        tool_run(&result, lines[i], &full);
        gops_test_check(result.exit_code == 1, "groupops %s: exit code %d", lines[i],
                        result.exit_code);
        gops_test_check(strcmp(result.err, "groupops: standard output cannot be written: "
                                           "No space left on device\n") == 0,
                        "groupops %s: %s", lines[i], result.err);
    }
}

int main(void)
{
    static const gops_test_case cases[] = {
        {"refused_words", refused_words},
        {"refused_algorithm", refused_algorithm},
        {"refused_by_library", refused_by_library},
        {"help", help},
        {"help_shows_only_what_fits", help_shows_only_what_fits},
        {"version", version},
        {"info", info},
        {"info_with_a_forced_isa", info_with_a_forced_isa},
        {"full_standard_output", full_standard_output},
        {0},
    };
    return gops_test_main("tool_words", cases);
}
