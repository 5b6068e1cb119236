/* test_tool_help.c: what the verbs' tables give: examples that work, manual pages, completion. */
#include "harness.h"
#include "tool_npy.h"
#include "tool_process.h"

#include "common/flags.h"
#include "verbs/verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The files that examples name. */
static void write_files(void)
{
    static const float elements[8 * 14 * 14] = {1, -2, 3};
    static const struct {
        const char *path;
        gops_tensor tensor;
    } files[] = {
        {"x.npy", {GOPS_F32, 4, {1, 8, 14, 14}}},
        {"w.npy", {GOPS_F32, 5, {2, 4, 4, 3, 3}}},
        {"s.npy", {GOPS_F32, 1, {8}}},
        {"b.npy", {GOPS_F32, 1, {8}}},
    };
    static const char model[] =
        "<layer id=\"1\" name=\"l\" type=\"GroupConvolution\">\n"
        "<data strides=\"1,1\" pads_begin=\"1,1\" pads_end=\"1,1\" dilations=\"1,1\"/>\n"
        "<input><port id=\"0\"><dim>1</dim><dim>8</dim><dim>14</dim><dim>14</dim></port>\n"
        "<port "
        "id=\"1\"><dim>2</dim><dim>4</dim><dim>4</dim><dim>3</dim><dim>3</dim></port></input>\n"
        "<output><port id=\"2\" precision=\"FP32\"><dim>1</dim><dim>8</dim><dim>14</dim>"
        "<dim>14</dim></port></output></layer>\n";
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        tool_npy_write(files[i].path, "f4", &files[i].tensor, elements);
    FILE *file = fopen("model.xml", "w");
    if (file == NULL || fputs(model, file) == EOF || fclose(file) != 0) {
        perror("model.xml");
        exit(EXIT_FAILURE);
    }
}

/* Each verb's help ends with its examples, and each of them does what it says. */
static void examples(void)
{
    static tool_result help, result;
    write_files();
    for (const gops_verb *verb = gops_verbs; verb->name != NULL; verb++) {
        char words[64], line[256];
        int count = 0;
        snprintf(words, sizeof words, "%s --help", verb->name);
        tool_run(&help, words, NULL);
        const char *at = strstr(help.out, "\nExamples:\n");
        for (at = at != NULL ? at + 11 : ""; strncmp(at, "  groupops ", 11) == 0; count++) {
            at += 11;
            snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
            tool_run(&result, line, NULL);
            gops_test_check(result.exit_code == 0 && result.err[0] == '\0', "groupops %s: %d, %s",
                            line, result.exit_code, result.err);
            gops_test_check(strncmp(line, verb->name, strlen(verb->name)) == 0, "%s shows %s",
                            words, line);
            at += strcspn(at, "\n") + 1;
        }
        gops_test_check(count > 0 && *at == '\0', "groupops %s: %d examples, then %s", words, count,
                        at);
    }
}

/* Whether the help has the flag with all of its values, which may be broken behind a bar. */
static int has_usage(const char *help, const gops_flag *flag)
{
    char begin[64];
    snprintf(begin, sizeof begin, "\n  --%s%s", flag->name, flag->read != NULL ? "=" : "");
    for (const char *at = strstr(help, begin); at != NULL; at = strstr(at, begin)) {
        at += strlen(begin);
        const char *value = flag->value;
        for (; *value != '\0' && *at == *value; value++, at++)
            if (*value == '|' && at[1] == '\n')
                at += strspn(at + 1, "\n ");
        if (*value == '\0' && (*at == ' ' || *at == '\n'))
            return 1;
    }
    return 0;
}

static void usages(void)
{
    static tool_result help;
    for (const gops_verb *verb = gops_verbs; verb->name != NULL; verb++) {
        char words[64];
        snprintf(words, sizeof words, "%s --help", verb->name);
        tool_run(&help, words, NULL);
        for (const gops_flag *flag = gops_flags; flag->name != NULL; flag++)
            gops_test_check((flag->verbs & verb->bit) == 0 || has_usage(help.out, flag),
                            "%s does not show all of --%s=%s", words, flag->name, flag->value);
    }
}

static void write_dashed(const char *name, char *text, size_t bytes)
{
    size_t used = (size_t)snprintf(text, bytes, "\\-\\-");
    for (; *name != '\0' && used + 3 < bytes; name++) {
        if (*name == '-')
            text[used++] = '\\';
        text[used++] = *name;
    }
    text[used] = '\0';
}

/* Every flag is in the page of each verb that takes it, and in groupops(1), which every verb's page
 * names. */
static void manual_pages(void)
{
    static char manual[1 << 16];
    static tool_result page;
    FILE *file = fopen(MANUAL, "r");
    const size_t count = file != NULL ? fread(manual, 1, sizeof manual - 1, file) : 0;
    gops_test_check(count > 0 && fclose(file) == 0, "%s cannot be read", MANUAL);
    for (const gops_verb *verb = gops_verbs; verb->name != NULL; verb++) {
        char words[64], title[64], flag_text[64];
        snprintf(words, sizeof words, "help %s --man", verb->name);
        tool_run(&page, words, NULL);
        snprintf(title, sizeof title, "\n.SH NAME\ngroupops\\-%s \\- ", verb->name);
        gops_test_check(strstr(page.out, title) != NULL && strstr(page.out, ".BR groupops (1)"),
                        "%s", page.out);
        snprintf(title, sizeof title, "groupops\\-%s (1)", verb->name);
        gops_test_check(strstr(manual, title) != NULL, "groupops(1) does not name %s", title);
        for (const gops_flag *flag = gops_flags; flag->name != NULL; flag++) {
            write_dashed(flag->name, flag_text, sizeof flag_text);
            if ((flag->verbs & verb->bit) != 0)
                gops_test_check(strstr(page.out, flag_text) != NULL, "no %s in %s", flag_text,
                                words);
            gops_test_check(strstr(manual, flag_text) != NULL, "no %s in groupops(1)", flag_text);
        }
    }
    tool_expect("help plan --men", 2, "groupops: \"--men\" is not expected after help plan\n");
    tool_expect("help plan --man now", 2, "groupops: \"now\" is not expected after help plan\n");
}

static void expect_completed(const char *words, const char *expected)
{
    static tool_result result;
    char got[2048] = "";
    size_t used = 0;
    tool_run(&result, words, NULL);
    for (const char *at = result.out; *at != '\0'; at += strcspn(at, "\n") + 1)
        used +=
            (size_t)snprintf(got + used, sizeof got - used, "%.*s ", (int)strcspn(at, "\t\n"), at);
    gops_test_check(result.exit_code == 0 && strcmp(got, expected) == 0, "groupops %s: %s", words,
                    got);
}

static void completion(void)
{
    expect_completed("complete b", "bench ");
    expect_completed("complete --v", "--version ");
    expect_completed("complete help pl", "plan ");
    expect_completed("complete plan d", "deconv ");
    expect_completed("complete plan conv --output-", "--output-type= --output-scale= "
                                                     "--output-zero-point= ");
    expect_completed("complete plan deconv --output-s", "--output-shape= --output-shape-rule= "
                                                        "--output-scale= ");
    expect_completed("complete plan norm --e", "--epsilon= ");
    expect_completed("complete plan norm --epsilon=1 --e", "");
    expect_completed("complete run conv --auto-pad=same", "--auto-pad=same_upper "
                                                          "--auto-pad=same_lower ");
    expect_completed("complete run conv --type=b", "--type=bf16 ");
    expect_completed("complete run conv --activation=hard", "--activation=hard_swish "
                                                            "--activation=hard_sigmoid: ");
    expect_completed("complete run conv --algorithm=pointwise/p", "--algorithm=pointwise/pixels ");
    expect_completed("complete run conv --data=x", ":files ");
    expect_completed("complete bench --suite=smo", "--suite=smoke :files ");
    expect_completed("complete bench conv --suite=", "");
    expect_completed("complete compare a", ":files ");
    expect_completed("complete info --", "--help ");
    expect_completed("complete walk", "");
    expect_completed("complete walk about", "");
    expect_completed("complete", "");
}

int main(void)
{
    static const gops_test_case cases[] = {
        {"examples", examples},
        {"usages", usages},
        {"manual_pages", manual_pages},
        {"completion", completion},
        {0},
    };
    tool_folder_enter();
    const int status = gops_test_main("tool_help", cases);
    tool_folder_leave();
    return status;
}
