/* test_tool_choices.c: --algorithm=fastest and --choices: the file that is written and read. */
#include "harness.h"
#include "tool_json.h"
#include "tool_process.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LAYER "conv --data=1,15,29,31 --filter=3,7,5,3,2 --threads=1 --json"

static size_t read_file(const char *path, char *text, size_t bytes)
{
    FILE *file = fopen(path, "rb");
    const size_t count = file != NULL ? fread(text, 1, bytes - 1, file) : 0;
    if (file != NULL)
        fclose(file);
    text[count] = '\0';
    return count;
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    gops_test_check(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0, "writing %s",
                    path);
}

/* What the plan for the words says. */
static void plan(const char *words, char algorithm[32], char why[512])
{
    static tool_result result;
    tool_run(&result, words, NULL);
    gops_test_check(result.exit_code == 0, "%s: %s", words, result.err);
    tool_json_value(result.out, "algorithm", algorithm, 32);
    tool_json_value(result.out, "why", why, 512);
}

static void saved(void)
{
    char first[32], second[32], why[512], text[4096], again[4096];
    plan("plan " LAYER " --algorithm=fastest --choices=c.txt", first, why);
    gops_test_check(strstr(why, "implicit measured ") != NULL, "why: %s", why);
    gops_test_check(read_file("c.txt", text, sizeof text) > 0 &&
                        strstr(text, "groupops-choices 1 lines=1\nconv data=1,15,29,31 ") == text,
                    "the file is: %s", text);
    static const char *const words[] = {"plan " LAYER " --algorithm=fastest --choices=c.txt",
                                        "plan " LAYER " --choices=c.txt",
                                        "plan " LAYER " --algorithm=auto --choices=c.txt"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        plan(words[i], second, why);
        gops_test_check(strcmp(first, second) == 0 && strstr(why, "when it was measured") != NULL,
                        "%s: %s, because %s", words[i], second, why);
        read_file("c.txt", again, sizeof again);
        gops_test_check(strcmp(text, again) == 0, "%s changed the file to %s", words[i], again);
    }
    plan("plan conv --data=1,15,29,37 --filter=3,7,5,3,2 --json --algorithm=fastest "
         "--choices=c.txt",
         second, why);
    read_file("c.txt", again, sizeof again);
    gops_test_check(strstr(again, "groupops-choices 1 lines=2\n") == again &&
                        strstr(again, strchr(text, '\n') + 1) != NULL,
                    "two are: %s", again);
    gops_test_check(tool_folder_count() == 1, "%d files", tool_folder_count());
    unlink("c.txt");
}

/* A suite's layers all go into the file. */
static void suite(void)
{
    static tool_result result;
    char text[4096];
    write_file("s.txt", "a conv f32 data=1,6,11,13 filter=2,5,3,3,2\n"
                        "b norm f32 data=1,6,11,13 num-groups=3 epsilon=1e-5\n"
                        "c deconv bf16 data=1,6,11,13 filter=2,3,5,3,2\n");
    tool_run(&result,
             "bench --suite=./s.txt --reps=1 --seconds=0 --algorithm=fastest --choices=c.txt",
             NULL);
    gops_test_check(result.exit_code == 0, "%s", result.err);
    read_file("c.txt", text, sizeof text);
    gops_test_check(strstr(text, "groupops-choices 1 lines=3\n") == text, "the file is: %s", text);
    unlink("c.txt");
    unlink("s.txt");
}

static void refused(void)
{
    tool_expect("plan " LAYER " --choices=none.txt", 1,
                "groupops: none.txt: it cannot be read: No such file or directory\n");
    tool_expect("plan " LAYER " --choices=. --algorithm=fastest", 1,
                "groupops: .: it cannot be read: Is a directory\n");
    write_file("c.txt", "groupops-choices 1 lines=1\nconv algorithm=gemm sum=00000000\n");
    tool_expect("plan " LAYER " --choices=c.txt --algorithm=fastest", 1,
                "groupops: c.txt: line 2 of the choices was damaged: its sum is not that of its "
                "text\n");
    tool_expect("info --choices=c.txt", 2, "groupops: --choices does not go with info\n");
    tool_expect("plan " LAYER " --algorithm=fastest --choices=no/c.txt", 1,
                "groupops: no/c.txt: it cannot be written: No such file or directory\n");
    /* Of a plan that fails nothing is written. */
    tool_expect("plan conv --data=1,2,3 --filter=1,1,1,3 --choices=d.txt --algorithm=fastest", 1,
                "groupops: data has 2 channels, filter has GROUPS 1 times C_IN 1 = 1; they must be "
                "equal\n");
    gops_test_check(tool_folder_count() == 1, "%d files", tool_folder_count());
    unlink("c.txt");
}

int main(void)
{
    static const gops_test_case cases[] = {
        {"saved", saved}, {"suite", suite}, {"refused", refused}, {NULL, NULL}};
    tool_folder_enter();
    const int status = gops_test_main("tool_choices", cases);
    tool_folder_leave();
    return status;
}
