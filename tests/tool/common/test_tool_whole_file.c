/* test_tool_whole_file.c: files that appear whole or not at all, when a signal comes in between. */
#include "harness.h"
#include "tool_process.h"

#include "common/whole_file.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void write_file(int ending_signal)
{
    static gops_tool_error error;
    static gops_whole_file file;
    if (!gops_whole_file_open("out", &file, &error) ||
        !gops_whole_file_write(&file, "half", 4, &error))
        _exit(99);
    if (ending_signal != 0)
        raise(ending_signal);
    if (!gops_whole_file_write(&file, "done", 4, &error) || !gops_whole_file_finish(&file, &error))
        _exit(98);
    _exit(0);
}

/* Another process writes "halfdone" to the file `out`, and sends itself a signal halfway. Returns
 * its status as of waitpid. */
static int write_in_a_child(int ending_signal, int ignored)
{
    int status = -1;
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        if (ignored)
            signal(ending_signal, SIG_IGN);
        write_file(ending_signal);
    }
    waitpid(child, &status, 0);
    return status;
}

static void expect_content(const char *expected)
{
    char text[16] = "";
    FILE *file = fopen("out", "r");
    if (file != NULL) {
        text[fread(text, 1, sizeof text - 1, file)] = '\0';
        fclose(file);
    }
    gops_test_check(strcmp(text, expected) == 0, "the file has \"%s\" instead of \"%s\"", text,
                    expected);
}

static const int signals[] = {SIGHUP, SIGINT, SIGTERM};
enum { SIGNALS = sizeof signals / sizeof signals[0] };

static void no_signal(void)
{
    remove("out");
    gops_test_check(write_in_a_child(0, 0) == 0, "it failed");
    expect_content("halfdone");
    gops_test_check(tool_folder_count() == 1, "something was left behind");
}

static void ending_signal(void)
{
    remove("out");
    for (int i = 0; i < SIGNALS; i++) {
        const int status = write_in_a_child(signals[i], 0);
        gops_test_check(WIFSIGNALED(status) && WTERMSIG(status) == signals[i], "status %d", status);
        gops_test_check(tool_folder_count() == 0, "something was left behind");
    }
}

/* A file that was there before stays as it was. */
static void ending_signal_with_an_old_file(void)
{
    write_in_a_child(0, 0);
    FILE *file = fopen("out", "w");
    if (file == NULL || fputs("old", file) == EOF || fclose(file) != 0) {
        perror("out");
        exit(EXIT_FAILURE);
    }
    write_in_a_child(SIGTERM, 0);
    expect_content("old");
    gops_test_check(tool_folder_count() == 1, "something was left behind");
}

/* As under nohup. */
static void ignored_signal(void)
{
    for (int i = 0; i < SIGNALS; i++) {
        remove("out");
        gops_test_check(write_in_a_child(signals[i], 1) == 0, "it failed");
        expect_content("halfdone");
    }
}

int main(void)
{
    static const gops_test_case cases[] = {
        {"no_signal", no_signal},
        {"ending_signal", ending_signal},
        {"ending_signal_with_an_old_file", ending_signal_with_an_old_file},
        {"ignored_signal", ignored_signal},
        {0},
    };
    tool_folder_enter();
    const int status = gops_test_main("tool_whole_file", cases);
    tool_folder_leave();
    return status;
}
