/* test_tool_bench.c: groupops bench: fields, figures that fit together, and suites. No time is
 * asserted. */
#include "harness.h"
#include "tool_json.h"
#include "wide_numbers.h"
#include "tool_process.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FIELDS                                                                                     \
    "op name type data filter threads algorithm ms_min ms_median gflops gbytes_per_s "             \
    "workspace_bytes reps"
#define QUICK " --reps=3 --seconds=0 --json"
#define CONV "bench conv --data=1,6,7,11 --filter=2,5,3,3,2"

static int near(double a, double b)
{
    /* Six digits are printed of each of two numbers that are multiplied. */
    return fabs(a - b) <= 2e-5 * fabs(b);
}

/* Reads a line's object and checks what holds for every one. Returns where the next line begins. */
static const char *expect_object(const char *line, const char *text, const char *fields,
                                 double flops, double bytes)
{
    char keys[512];
    const char *next = text;
    gops_test_check(tool_json_object(&next, keys, sizeof keys), "%s: no JSON object: %s", line,
                    text);
    gops_test_check(strcmp(keys, fields) == 0, "%s: the fields are %s", line, keys);
    const double ms = tool_json_number(text, "ms_min");
    gops_test_check(ms > 0 && tool_json_number(text, "ms_median") >= ms, "%s: %s", line, text);
    gops_test_check(near(tool_json_number(text, "gflops") * ms * 1e6, flops), "%s: %s", line, text);
    gops_test_check(near(tool_json_number(text, "gbytes_per_s") * ms * 1e6, bytes), "%s: %s", line,
                    text);
    return next;
}

static void expect_text(const char *object, const char *key, const char *expected)
{
    char value[128];
    tool_json_value(object, key, value, sizeof value);
    gops_test_check(strcmp(value, expected) == 0, "%s is %s instead of %s", key, value, expected);
}

static void json(void)
{
    tool_result result;
    const char *line = CONV " --algorithm=gemm --threads=1" QUICK;
    tool_run(&result, line, NULL);
    gops_test_check(result.exit_code == 0 && result.err[0] == '\0', "%s", result.err);
    /* output 1 x 10 x 5 x 10, 18 products for each */
    const char *end = expect_object(line, result.out, FIELDS, 2. * 500 * 18,
                                    4. * (6 * 7 * 11 + 2 * 5 * 3 * 3 * 2 + 500));
    gops_test_check(*end == '\0', "there is more: %s", end);
    expect_text(result.out, "op", "\"conv\"");
    expect_text(result.out, "name", "\"conv\"");
    expect_text(result.out, "type", "\"f32\"");
    expect_text(result.out, "data", "[1, 6, 7, 11]");
    expect_text(result.out, "filter", "[2, 5, 3, 3, 2]");
    expect_text(result.out, "threads", "1");
    expect_text(result.out, "algorithm", "\"gemm\"");
    expect_text(result.out, "reps", "3");

    line = "bench deconv --data=1,6,7 --filter=2,3,5,3 --type=f64" QUICK;
    tool_run(&result, line, NULL);
    expect_object(line, result.out, FIELDS, 2. * 6 * 7 * 5 * 3, 8. * (6 * 7 + 2 * 3 * 5 * 3 + 90));
    expect_text(result.out, "type", "\"f64\"");

    /* An output-type that makes no quantized layer is no field. */
    static const struct {
        const char *types, *fields, *filter_type, *output_type;
        double bytes;
    } cases[] = {
        {"--type=u8 --filter-type=i8 --output-type=i32", FIELDS " filter_type output_type",
         "\"i8\"", "\"i32\"", 6 * 7 * 11 + 2 * 5 * 3 * 3 * 2 + 4. * 500},
        {"--type=i8 --output-type=u8", FIELDS " filter_type output_type", "\"i8\"", "\"u8\"",
         6 * 7 * 11 + 2 * 5 * 3 * 3 * 2 + 500},
        {"--type=f64 --output-type=f64", FIELDS, "", "",
         8. * (6 * 7 * 11 + 2 * 5 * 3 * 3 * 2 + 500)},
        {"--type=i8", FIELDS, "", "", 6 * 7 * 11 + 2 * 5 * 3 * 3 * 2 + 500},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char words[256];
        snprintf(words, sizeof words, "%s %s%s", CONV, cases[i].types, QUICK);
        tool_run(&result, words, NULL);
        expect_object(words, result.out, cases[i].fields, 2. * 500 * 18, cases[i].bytes);
        expect_text(result.out, "filter_type", cases[i].filter_type);
        expect_text(result.out, "output_type", cases[i].output_type);
    }

    line = "bench norm --data=2,6,5,7 --num-groups=3 --epsilon=1e-5" QUICK;
    tool_run(&result, line, NULL);
    expect_object(line, result.out, FIELDS, 6. * 420, 4. * (2 * 420 + 2 * 6));
    expect_text(result.out, "filter", "null");
}

static void bare_gemm(void)
{
    for (int threads = 1; threads <= 3; threads++) {
        char line[256];
        tool_result result;
        snprintf(line, sizeof line, "%s --bare-gemm --algorithm=gemm --threads=%d%s", CONV, threads,
                 QUICK);
        tool_run(&result, line, NULL);
        expect_object(line, result.out, FIELDS " gemm_ms_min lowering_percent", 2. * 500 * 18,
                      4. * (6 * 7 * 11 + 2 * 5 * 3 * 3 * 2 + 500));
        const double gemm = tool_json_number(result.out, "gemm_ms_min");
        const double percent = tool_json_number(result.out, "lowering_percent");
        const double ours = tool_json_number(result.out, "ms_min");
        gops_test_check(gemm > 0 &&
                            fabs((ours / gemm - 1) * 100 - percent) <= 2e-3 * (1 + ours / gemm),
                        "%s", result.out);
    }
}

static void table(void)
{
    tool_result result;
    tool_run(&result, CONV " --reps=1 --seconds=0", NULL);
    const char *second = strchr(result.out, '\n');
    gops_test_check(result.exit_code == 0 && result.err[0] == '\0' && second != NULL &&
                        strncmp(result.out, "name ", 5) == 0 && strncmp(second, "\nconv ", 6) == 0,
                    "%d %s%s", result.exit_code, result.out, result.err);
}

/* Both bounds are kept: so many repetitions, and so long. */
static void enough(void)
{
    tool_result result;
    struct timespec begin;
    struct timespec end;
    tool_run(&result, CONV " --reps=7 --seconds=0 --json", NULL);
    expect_text(result.out, "reps", "7");
    clock_gettime(CLOCK_MONOTONIC, &begin);
    tool_run(&result, CONV " --reps=1 --seconds=0.25 --threads=1 --json", NULL);
    clock_gettime(CLOCK_MONOTONIC, &end);
    const double seconds =
        (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
    gops_test_check(seconds >= 0.25, "it took %g s, %s", seconds, result.out);
}

static void write_suite(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    if (file == NULL || fputs(text, file) == EOF || fclose(file) != 0) {
        perror(path);
        exit(EXIT_FAILURE);
    }
}

static void suite(void)
{
    tool_result result;
    const char *line = "bench --suite=./mine.txt --threads=1" QUICK;
    write_suite("mine.txt", "# two layers\n\n"
                            "first  conv f64 data=1,6,7,11 filter=2,5,3,3,2 # the first\n"
                            "\tsecond\tnorm\tf32\tdata=2,6,5,7 num-groups=3 epsilon=1e-5\r\n"
                            "third deconv f32 data=1,6,7 filter=2,3,5,3 bare-gemm algorithm=gemm");
    tool_run(&result, line, NULL);
    gops_test_check(result.exit_code == 0 && result.err[0] == '\0', "%s", result.err);
    const char *first = result.out;
    const char *second = expect_object(line, first, FIELDS, 2. * 500 * 18,
                                       8. * (6 * 7 * 11 + 2 * 5 * 3 * 3 * 2 + 500));
    const char *third = expect_object(line, second, FIELDS, 6. * 420, 4. * (2 * 420 + 2 * 6));
    const char *end = expect_object(line, third, FIELDS " gemm_ms_min lowering_percent",
                                    2. * 6 * 7 * 5 * 3, 4. * (6 * 7 + 2 * 3 * 5 * 3 + 90));
    gops_test_check(*end == '\0', "there is more: %s", end);
    expect_text(first, "name", "\"first\"");
    expect_text(first, "type", "\"f64\"");
    expect_text(second, "op", "\"norm\"");
    expect_text(second, "name", "\"second\"");
    expect_text(third, "name", "\"third\"");

    /* The command line is above the file. */
    tool_run(&result, "bench --suite=mine.txt --type=f64 --bare-gemm" QUICK, NULL);
    gops_test_check(result.exit_code == 0, "%s", result.err);
    gops_test_check(strstr(result.out, "f32") == NULL, "%s", result.out);
    gops_test_check(strstr(result.out, "lowering_percent") != NULL, "%s", result.out);

    /* So a layer that its line quantizes is one of floats. */
    write_suite(
        "mine.txt",
        "bytes conv u8 data=1,6,7,11 filter=2,5,3,3,2 filter-type=i8 output-type=u8 data-scale=0.5 "
        "data-zero-point=3 filter-scales=0.125 filter-zero-points=2 output-scale=0.25 "
        "output-zero-point=7\n"
        "scaled conv f32 data=1,6,7,11 filter=2,5,3,3,2 filter-scales=0.5");
    tool_run(&result, "bench --suite=mine.txt" QUICK, NULL);
    gops_test_check(result.exit_code == 0, "%s", result.err);
    expect_text(result.out, "type", "\"u8\"");
    static const char *const types[] = {"f32", "i32", "u8"};
    for (int i = 0; i < 3; i++) {
        char words[64], quoted[8];
        snprintf(words, sizeof words, "bench --suite=mine.txt --type=%s" QUICK, types[i]);
        snprintf(quoted, sizeof quoted, "\"%s\"", types[i]);
        tool_run(&result, words, NULL);
        gops_test_check(result.exit_code == 0, "%s", result.err);
        expect_text(result.out, "type", quoted);
    }
    tool_expect(
        "bench --suite=mine.txt --type=f32 --data-scale=2" QUICK, 1,
        "groupops: bytes: data is f32 and the filter f32, without an output-type; scales and "
        "zero points are of quantized convolutions: data and filter of i8 or u8, and an "
        "output-type\n");
}

/* The suite that comes with the tool is found by its name; every layer of it is planned. */
static void smoke_suite(void)
{
    tool_result result;
    int lines = 0;
    tool_run(&result, "bench --suite=smoke --reps=1 --seconds=0 --json", NULL);
    gops_test_check(result.exit_code == 0 && result.err[0] == '\0', "%s", result.err);
    const char *text = result.out;
    while (*text != '\0' && lines < 1000) {
        char keys[512];
        char op[16];
        const char *object = text;
        if (!gops_test_check(tool_json_object(&text, keys, sizeof keys), "no object: %s", text))
            break;
        tool_json_value(object, "op", op, sizeof op);
        gops_test_check(strcmp(keys, strcmp(op, "\"norm\"") == 0 ? FIELDS
                                                                 : FIELDS
                                         " gemm_ms_min lowering_percent") == 0,
                        "the fields of an %s are %s", op, keys);
        lines++;
    }
    gops_test_check(lines >= 12, "%d layers", lines);
}

static void refused_suites(void)
{
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"", "bad.txt: it has no layers"},
        {"# nothing\n\n", "bad.txt: it has no layers"},
        {"\na conv\n", "bad.txt:2: a layer is a name, an operation, a type and at most 64 flags"},
        {"a pool f32 data=1,2,3", "bad.txt:1: \"pool\" is no operation; there are conv, deconv and "
                                  "norm"},
        {"a conv float data=1,2,3", "bad.txt:1: \"float\" is no element type"},
        {"a conv f32 data=1,2,3", "bad.txt:1: conv needs filter=SHAPE"},
        {"a conv f32 data=1,2,x filter=1,1,1,1", "bad.txt:1: data=1,2,x is not made of integers"},
        {"a conv f32 data=1,2,3 filter=1,1,2,1 stride=1", "bad.txt:1: stride is no flag of conv"},
        {"a conv f32 data=1,2,3 filter=1,1,2,1 json", "bad.txt:1: json does not go with conv"},
        {"a conv f32 data=1,2,3 filter=1,1,2,1 epsilon=1",
         "bad.txt:1: epsilon does not go with conv"},
        {"a conv f32 data=1,2,3 filter=1,1,2,1 strides=1 strides=1",
         "bad.txt:1: strides is given twice"},
        {"a conv f32 data=1,2,3 filter=1,1,2,1 type=bf16",
         "bad.txt:1: type=bf16 is among the flags; a layer's type is its third word"},
        {"\xc3\xa4 conv f32 data=1,2,3 filter=1,1,2,1", "bad.txt:1: the name is not plain ASCII"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char expected[256];
        write_suite("bad.txt", cases[i].text);
        snprintf(expected, sizeof expected, "groupops: %s\n", cases[i].message);
        tool_expect("bench --suite=bad.txt", 1, expected);
    }
    write_suite("bad.txt", "a conv f32 data=1,2,7 filter=1,3,2,3 bias=-1,-3");
    tool_expect("bench --suite=bad.txt", 1,
                "groupops: a: bias has dimension -1 on axis 0; it must not be negative\n");
    write_suite("bad.txt", "a conv f32 data=1,2,7 filter=1,3,2,3");
    tool_expect("bench --suite=bad.txt --activation=prelu", 1,
                "groupops: a: --activation=prelu needs --slopes=NUMBER|FILE\n");
    tool_expect("bench --suite=./none", 1,
                "groupops: ./none: the suite cannot be opened: No such file or directory\n");
    tool_result result;
    tool_run(&result, "bench --suite=none", NULL);
    gops_test_check(result.exit_code == 1 &&
                        strstr(result.err, "none.txt: the suite cannot be opened") != NULL,
                    "%s", result.err);
    write_suite("bad.txt", "a conv f32 data=1,2,3 filter=1,1,2,5");
    tool_run(&result, "bench --suite=bad.txt", NULL);
    gops_test_check(result.exit_code == 1 && strncmp(result.err, "groupops: a: ", 13) == 0, "%s",
                    result.err);
}

/* Data of 2^54 bytes and as much output: no machine has it, whatever its system would promise. */
static void beyond_memory(void)
{
    static const char line[] = "bench norm --data=1,2,67108864,33554432 --num-groups=1 --epsilon=1";
    char expected[256];
    tool_result result;
    if (GOPS_TEST_32_BIT)
        gops_test_skip("no such tensors in 32 bits");
    tool_run(&result, line, NULL);
    snprintf(expected, sizeof expected, " bytes; this machine has %.0f bytes of memory",
             (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE));
    /* 2^55 and, beside the tensors, a workspace of some KB for each thread. */
    gops_test_check(result.exit_code == 1 && strstr(result.err, expected) != NULL &&
                        strstr(result.err, "the layer takes 3602879701896") != NULL,
                    "%d %s", result.exit_code, result.err);
    gops_test_check(result.peak_kib < 1 << 20, "%ld KiB", result.peak_kib);
}

/* A chroot without /dev/pts has none. What the environment says of it is the test's to say. */
static void need_terminal(void)
{
    setenv("TERM", "xterm", 1);
    unsetenv("NO_COLOR");
    const int end = posix_openpt(O_RDWR | O_NOCTTY);
    if (end < 0)
        gops_test_skip("posix_openpt: %s", strerror(errno));
    close(end);
}

#define TWO_LAYERS                                                                                 \
    "first conv f32 data=1,2,7 filter=1,1,2,3\n"                                                   \
    "second conv f32 data=1,2,7 filter=1,1,2,3\n"

/* Each layer is named, from the second on with the time that is left, and wiped out again. */
static void progress_on_a_terminal(void)
{
    static const char first[] = "\r\033[K[1/2] first\r\033[K";
    static const char second[] = "\r\033[K[2/2] second, ", end[] = " left\r\033[K";
    const tool_surroundings terminal = {.on_terminal = 1};
    tool_result result;
    need_terminal();
    write_suite("mine.txt", TWO_LAYERS);
    tool_run(&result, "bench --suite=mine.txt" QUICK, &terminal);
    const char *rest = result.err + strlen(first);
    gops_test_check(result.exit_code == 0 && strncmp(result.err, first, strlen(first)) == 0 &&
                        strncmp(rest, second, strlen(second)) == 0 &&
                        strspn(rest + strlen(second), "0123456789") > 0 &&
                        strcmp(result.err + strlen(result.err) - strlen(end), end) == 0,
                    "%d %s", result.exit_code, result.err);
}

/* Bars follow the table on a terminal alone; colours are for it, unless NO_COLOR says no. */
static void bars_on_a_terminal(void)
{
    static const char line[] = "bench --suite=mine.txt --reps=3 --seconds=0";
    static const struct {
        const char *variable, *value;
        int coloured, utf8;
    } cases[] = {
        {"LC_ALL", "C", 1, 0},   {"LC_ALL", "C.UTF-8", 1, 1}, {"NO_COLOR", "1", 0, -1},
        {"NO_COLOR", "", 1, -1}, {"TERM", "dumb", 0, -2},
    };
    tool_result result;
    need_terminal();
    write_suite("mine.txt", TWO_LAYERS);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const tool_surroundings terminal = {
            .out_on_terminal = 1, .variable = cases[i].variable, .value = cases[i].value};
        tool_run(&result, line, &terminal);
        const char *total = strstr(result.out, "\r\ntotal ");
        gops_test_check((total != NULL) == (cases[i].utf8 != -2), "%s=%s: %s", cases[i].variable,
                        cases[i].value, result.out);
        gops_test_check((strstr(result.out, "\033[34m") != NULL) == cases[i].coloured, "%s=%s: %s",
                        cases[i].variable, cases[i].value, result.out);
        if (cases[i].utf8 >= 0)
            gops_test_check((strstr(result.out, "\xe2\x96\x88") != NULL) == cases[i].utf8 &&
                                (strstr(result.out, "####") != NULL) == !cases[i].utf8,
                            "%s=%s: %s", cases[i].variable, cases[i].value, result.out);
    }
    tool_run(&result, line, NULL);
    gops_test_check(strstr(result.out, "total") == NULL && strchr(result.out, '\033') == NULL, "%s",
                    result.out);
    const tool_surroundings terminal = {.on_terminal = 1};
    tool_run(&result, "bench --suite=none", &terminal);
    gops_test_check(strncmp(result.err, "\033[1;31mgroupops:\033[0m ", 20) == 0, "%s", result.err);
}

static int count_of(const char *text, const char *part)
{
    int count = 0;
    for (; (text = strstr(text, part)) != NULL; text++)
        count++;
    return count;
}

/* The picture has a bar and a label for each layer, the longest bar as long as may be; what a name
 * may hold is escaped. */
static void plot(void)
{
    char svg[8192];
    tool_result result;
    write_suite("mine.txt", "a<b&c conv f32 data=1,2,7 filter=1,1,2,3\n"
                            "large conv f32 data=1,64,56,56 filter=1,64,64,3,3\n");
    tool_run(&result, "bench --suite=mine.txt --plot=mine.svg" QUICK, NULL);
    gops_test_check(result.exit_code == 0 && result.err[0] == '\0', "%s", result.err);
    FILE *file = fopen("mine.svg", "r");
    const size_t bytes = file != NULL ? fread(svg, 1, sizeof svg - 1, file) : 0;
    svg[bytes] = '\0';
    if (file != NULL)
        fclose(file);
    gops_test_check(
        strncmp(svg, "<svg xmlns=\"http://www.w3.org/2000/svg\" ", 40) == 0 &&
            count_of(svg, "</svg>\n") == 1 && count_of(svg, "class=\"bar\"") == 2 &&
            count_of(svg, " GFLOP/s, ") == 2 && count_of(svg, " width=\"330.0\"") == 1 &&
            count_of(svg, ">a&lt;b&amp;c</text>") == 1 && count_of(svg, ">large</text>") == 1,
        "%s", svg);
    /* Before anything is measured and printed. */
    static const char *const benches[] = {CONV " --plot=", "bench --suite=mine.txt --plot="};
    for (size_t i = 0; i < sizeof benches / sizeof benches[0]; i++) {
        char line[256];
        snprintf(line, sizeof line, "%sno/x.svg" QUICK, benches[i]);
        tool_expect_refusal(line, 1, "no/x.svg: it cannot be written: No such file or directory");
    }
    tool_expect(CONV " --plot=/dev/full" QUICK, 1,
                "groupops: /dev/full: it cannot be written: No space left on device\n");
}

static void full_standard_output(void)
{
    const tool_surroundings full = {.out_path = "/dev/full"};
    tool_result result;
    tool_run(&result, CONV QUICK, &full);
    gops_test_check(result.exit_code == 1 &&
                        strcmp(result.err, "groupops: standard output cannot be written: "
                                           "No space left on device\n") == 0,
                    "%d %s", result.exit_code, result.err);
}

int main(void)
{
    static const gops_test_case cases[] = {
        {"json", json},
        {"bare_gemm", bare_gemm},
        {"table", table},
        {"enough", enough},
        {"suite", suite},
        {"smoke_suite", smoke_suite},
        {"refused_suites", refused_suites},
        {"beyond_memory", beyond_memory},
        {"progress_on_a_terminal", progress_on_a_terminal},
        {"bars_on_a_terminal", bars_on_a_terminal},
        {"plot", plot},
        {"full_standard_output", full_standard_output},
        {0},
    };
    tool_folder_enter();
    const int status = gops_test_main("tool_bench", cases);
    tool_folder_leave();
    return status;
}
