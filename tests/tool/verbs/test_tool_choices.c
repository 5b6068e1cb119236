/* test_tool_choices.c: --algorithm=fastest and --choices: the file that is written and read. */
#include "harness.h"
#include "tool_json.h"
#include "tool_process.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
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
    gops_test_check(strstr(why, "gemm measured ") != NULL, "why: %s", why);
    gops_test_check(read_file("c.txt", text, sizeof text) > 0 &&
                        strstr(text, "groupops-choices 2 lines=1\nconv data=1,15,29,31 ") == text,
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
    gops_test_check(strstr(again, "groupops-choices 2 lines=2\n") == again &&
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
    gops_test_check(strstr(text, "groupops-choices 2 lines=3\n") == text, "the file is: %s", text);
    unlink("c.txt");
    unlink("s.txt");
}

/* Runs a suite whose third layer is refused. */
static void run_failing_suite(const tool_surroundings *surroundings)
{
    static const char line[] =
        "bench --suite=./s.txt --reps=1 --seconds=0 --algorithm=fastest --choices=c.txt";
    static tool_result result;
    write_file("s.txt", "a conv f32 data=1,6,11,13 filter=2,5,3,3,2\n"
                        "b conv f32 data=1,6,11,17 filter=2,5,3,3,2\n"
                        "c conv f32 data=1,6,11,13 filter=2,5,7,3,2\n");
    tool_run(&result, line, surroundings);
    gops_test_check(result.exit_code == 1 &&
                        strcmp(result.err, "groupops: c: data has 6 channels, filter has GROUPS 2 "
                                           "times C_IN 7 = 14; they must be equal\n") == 0,
                    "%d %s", result.exit_code, result.err);
    unlink("s.txt");
}

/* What was measured before the layer that fails is kept. */
static void failing_suite(void)
{
    char text[4096];
    run_failing_suite(NULL);
    read_file("c.txt", text, sizeof text);
    gops_test_check(strstr(text, "groupops-choices 2 lines=2\n") == text, "the file is: %s", text);
    unlink("c.txt");
}

/* In another process: measures a layer of that width and adds it to the file. */
static pid_t add_in_background(int width, const char *path)
{
    char words[256];
    static tool_result result;
    snprintf(words, sizeof words,
             "plan conv --data=1,6,11,%d --filter=2,5,3,3,2 --threads=1 --algorithm=fastest "
             "--choices=%s",
             width, path);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        alarm(300);
        tool_run(&result, words, NULL);
        fputs(result.err, stderr);
        _exit(result.exit_code);
    }
    return child;
}

static int wait_for(pid_t child)
{
    int status = -1;
    waitpid(child, &status, 0);
    return status;
}

/* The file has the layers from the first width to the last, and no other. */
static void expect_widths(const char *path, int first, int last)
{
    char text[8192], part[64];
    read_file(path, text, sizeof text);
    snprintf(part, sizeof part, "groupops-choices 2 lines=%d\n", last - first + 1);
    gops_test_check(strstr(text, part) == text, "not %d lines: %s", last - first + 1, text);
    for (int width = first; width <= last; width++) {
        snprintf(part, sizeof part, "data=1,6,11,%d ", width);
        gops_test_check(strstr(text, part) != NULL, "%s is lost: %s", part, text);
    }
}

/* At first the file is not there, then it is; by its name and by a link, which may have pointed to
 * nothing. */
static void several_at_once(void)
{
    enum { PROCESSES = 4, ROUNDS = 4, FIRST = 13 };
    gops_test_check(symlink("c.txt", "link.txt") == 0, "symlink");
    for (int round = 0; round < ROUNDS; round++) {
        pid_t children[PROCESSES];
        for (int i = 0; i < PROCESSES; i++)
            children[i] =
                add_in_background(FIRST + round * PROCESSES + i, i % 2 ? "c.txt" : "link.txt");
        for (int i = 0; i < PROCESSES; i++)
            gops_test_check(wait_for(children[i]) == 0, "process %d failed", i);
        expect_widths("c.txt", FIRST, FIRST + (round + 1) * PROCESSES - 1);
    }
    struct stat status;
    gops_test_check(lstat("link.txt", &status) == 0 && S_ISLNK(status.st_mode), "the link is gone");
    gops_test_check(tool_folder_count() == 2, "%d files", tool_folder_count());
    unlink("link.txt");
    unlink("c.txt");
}

static int lock_file(const char *path)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    const int file = open(path, O_RDWR | O_CLOEXEC);
    gops_test_check(file >= 0 && fcntl(file, F_SETLK, &whole) == 0, "%s is not locked", path);
    return file;
}

/* While another process has the lock: who only reads does not wait; who writes adds to what the
 * file has then, though it be another file of that name; and a process that dies leaves nothing. */
static void while_locked(void)
{
    char algorithm[32], why[512];
    gops_test_check(wait_for(add_in_background(17, "c.txt")) == 0 &&
                        wait_for(add_in_background(17, "d.txt")) == 0 &&
                        wait_for(add_in_background(18, "d.txt")) == 0,
                    "it failed");
    const int locked = lock_file("c.txt");
    plan("plan conv --data=1,6,11,17 --filter=2,5,3,3,2 --threads=1 --json --choices=c.txt",
         algorithm, why);
    gops_test_check(strstr(why, "when it was measured") != NULL, "why: %s", why);
    const pid_t waits = add_in_background(19, "c.txt");
    usleep(300000); /* with more it has surely come to the lock; with less it finds the new file */
    int status = -1;
    gops_test_check(waitpid(waits, &status, WNOHANG) == 0, "it did not wait for the lock");
    gops_test_check(rename("d.txt", "c.txt") == 0, "rename");
    close(locked);
    gops_test_check(wait_for(waits) == 0, "it failed");
    expect_widths("c.txt", 17, 19);
    fflush(stdout);
    const pid_t dies = fork();
    if (dies == 0) {
        lock_file("c.txt");
        raise(SIGKILL);
    }
    wait_for(dies);
    gops_test_check(wait_for(add_in_background(20, "c.txt")) == 0, "it failed");
    expect_widths("c.txt", 17, 20);
    gops_test_check(tool_folder_count() == 1, "%d files", tool_folder_count());
    unlink("c.txt");
}

/* A file that cannot be written keeps its text. */
static void full(void)
{
#ifdef __clang__
    gops_test_skip("LLVM's OpenMP makes a file of 1 KB itself, and dies of the limit");
#endif
    static tool_result result;
    static const tool_surroundings short_files = {.most_file_bytes = 64};
    gops_test_check(wait_for(add_in_background(17, "c.txt")) == 0, "it failed");
    tool_run(&result,
             "plan conv --data=1,6,11,18 --filter=2,5,3,3,2 --threads=1 --algorithm=fastest "
             "--choices=c.txt",
             &short_files);
    gops_test_check(
        result.exit_code == 1 &&
            strcmp(result.err, "groupops: c.txt: it cannot be written: File too large\n") == 0,
        "%d %s", result.exit_code, result.err);
    expect_widths("c.txt", 17, 17);
    /* Of two errors the first is shown, of which 64 bytes would not be all. */
    static const tool_surroundings short_and_silent = {.most_file_bytes = 128,
                                                       .out_path = "/dev/null"};
    run_failing_suite(&short_and_silent);
    expect_widths("c.txt", 17, 17);
    unlink("c.txt");
}

/* What cannot be merged is not replaced; the permissions stay. */
static void kept(void)
{
    char text[4096];
    struct stat status;
    gops_test_check(wait_for(add_in_background(17, "c.txt")) == 0 && chmod("c.txt", 0640) == 0,
                    "it failed");
    gops_test_check(wait_for(add_in_background(18, "c.txt")) == 0 && stat("c.txt", &status) == 0 &&
                        (status.st_mode & 0777) == 0640,
                    "its mode is %o", (unsigned)status.st_mode);
    const int locked = lock_file("c.txt");
    const pid_t waits = add_in_background(19, "c.txt");
    usleep(300000);
    gops_test_check(ftruncate(locked, 100) == 0, "ftruncate");
    close(locked);
    gops_test_check(wait_for(waits) != 0 && read_file("c.txt", text, sizeof text) == 100,
                    "a damaged file was replaced by %s", text);
    gops_test_check(tool_folder_count() == 1, "%d files", tool_folder_count());
    unlink("c.txt");
}

static void refused(void)
{
    tool_expect("plan " LAYER " --choices=none.txt", 1,
                "groupops: none.txt: it cannot be read: No such file or directory\n");
    tool_expect("plan " LAYER " --choices=. --algorithm=fastest", 1,
                "groupops: .: it cannot be written: it is not a regular file\n");
    tool_expect("plan " LAYER " --choices=.", 1,
                "groupops: .: it cannot be read: Is a directory\n");
    /* A file that is there and cannot be replaced, before anything is measured or read. */
    tool_expect("plan " LAYER " --choices=/proc/version --algorithm=fastest", 1,
                access("/proc/version", W_OK) == 0
                    ? "groupops: /proc/version: it cannot be replaced by a new file in its folder: "
                      "No such file or directory\n"
                    : "groupops: /proc/version: it cannot be written: Permission denied\n");
    write_file("c.txt", "groupops-choices 2 lines=1\nconv algorithm=gemm sum=00000000\n");
    tool_expect("plan " LAYER " --choices=c.txt --algorithm=fastest", 1,
                "groupops: c.txt: line 2 of the choices was damaged: its sum is not that of its "
                "text\n");
    tool_expect("info --choices=c.txt", 2, "groupops: --choices does not go with info\n");
    /* Before anything is measured: even of a plan that would be refused. */
    tool_expect("plan conv --data=1,2,3 --filter=1,1,1,3 --choices=no/c.txt --algorithm=fastest", 1,
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
    static const gops_test_case cases[] = {{"saved", saved},
                                           {"suite", suite},
                                           {"failing_suite", failing_suite},
                                           {"several_at_once", several_at_once},
                                           {"while_locked", while_locked},
                                           {"full", full},
                                           {"kept", kept},
                                           {"refused", refused},
                                           {NULL, NULL}};
    tool_folder_enter();
    const int status = gops_test_main("tool_choices", cases);
    tool_folder_leave();
    return status;
}
