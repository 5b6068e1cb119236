/* tool_process.c: runs the groupops command. */
#include "tool_process.h"

#include "harness.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_WORDS = 64 };

/* What runs the tool of a build for another processor; words with a space between them. */
#ifndef TOOL_EMULATOR
#define TOOL_EMULATOR ""
#endif

static char folder[] = "/tmp/groupops-tool-XXXXXX";

static void die(const char *what)
{
    perror(what);
    exit(EXIT_FAILURE);
}

/* In the child. */
static void limit(__rlimit_resource_t resource, size_t most)
{
    const struct rlimit both = {most, most};
    if (most != 0 && setrlimit(resource, &both) != 0)
        _exit(126);
}

/* In the child: files may not grow beyond `most`. ThreadSanitizer keeps one of its own in TMPDIR
 * and maps its pages, clang's coverage maps its profile, and both die of a page that the limit cut
 * off; where there is no folder, the one goes without, and what the other writes is dropped. The
 * tool uses neither. */
static void limit_files(size_t most)
{
    limit(RLIMIT_FSIZE, most);
    if (most != 0 &&
        (setenv("TMPDIR", "/dev/null", 1) != 0 || setenv("LLVM_PROFILE_FILE", "/dev/null", 1) != 0))
        _exit(126);
}

/* In the child: never returns. */
static void become_tool(char **words, const tool_surroundings *surroundings, int out, int err)
{
    if (surroundings != NULL && surroundings->out_path != NULL)
        out = open(surroundings->out_path, O_WRONLY);
    if (surroundings != NULL) {
        limit_files(surroundings->most_file_bytes);
        limit(RLIMIT_AS, surroundings->most_memory);
    }
    if (surroundings != NULL && surroundings->variable != NULL &&
        setenv(surroundings->variable, surroundings->value, 1) != 0)
        _exit(126);
    if (dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0)
        _exit(126);
    execvp(words[0], words); /* a path, or an emulator's name */
    _exit(127);
}

/* The two ends of a terminal. */
static void open_terminal(int *ours, int *theirs)
{
    *ours = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (*ours < 0 || grantpt(*ours) != 0 || unlockpt(*ours) != 0)
        die("posix_openpt");
    *theirs = open(ptsname(*ours), O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (*theirs < 0)
        die("ptsname");
}

/* What went to a terminal; a few lines fit into what the system keeps of it. It hands them over in parts, and says
 * that there are no more only when nobody can write any. */
static void read_terminal(int ours, int theirs, char *text, size_t bytes)
{
    size_t length = 0;
    ssize_t count;
    close(theirs);
    while ((count = read(ours, text + length, bytes - 1 - length)) > 0)
        length += (size_t)count;
    text[length] = '\0';
    close(ours);
}

static void read_back(int descriptor, char *text, size_t bytes)
{
    const ssize_t count = pread(descriptor, text, bytes, 0);
    if (count < 0 || (size_t)count == bytes) {
        fprintf(stderr, "the tool wrote more than the test takes\n");
        exit(EXIT_FAILURE);
    }
    text[count] = '\0';
    close(descriptor);
}

/* Appends the line's words. */
static void split(char *line, char **words, int *count)
{
    char *rest = NULL;
    for (char *word = strtok_r(line, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        if (*count == MAX_WORDS) {
            fprintf(stderr, "a test runs the tool with too many words\n");
            exit(EXIT_FAILURE);
        }
        words[(*count)++] = word;
    }
}

void tool_run(tool_result *result, const char *line, const tool_surroundings *surroundings)
{
    char *words[MAX_WORDS + 1];
    char emulator[] = TOOL_EMULATOR;
    int word_count = 0;
    char *copy = strdup(line);
    const int on_terminal = surroundings != NULL && surroundings->on_terminal;
    const int out_on_terminal = surroundings != NULL && surroundings->out_on_terminal;
    int out = -1;
    int err = -1;
    int terminal = -1;
    int out_terminal = -1;
    struct rusage usage;
    int status;
    if (on_terminal)
        open_terminal(&terminal, &err);
    else
        err = memfd_create("err", MFD_CLOEXEC);
    if (out_on_terminal)
        open_terminal(&out_terminal, &out);
    else
        out = memfd_create("out", MFD_CLOEXEC);
    if (copy == NULL || out < 0 || err < 0)
        die("tool_run");
    split(emulator, words, &word_count);
    words[word_count++] = TOOL_PATH;
    split(copy, words, &word_count);
    words[word_count] = NULL;
    fflush(stdout);
    const pid_t child = fork();
    if (child < 0)
        die("fork");
    if (child == 0)
        become_tool(words, surroundings, out, err);
    if (wait4(child, &status, 0, &usage) != child)
        die("wait4");
    free(copy);
    result->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    result->peak_kib = usage.ru_maxrss;
    if (out_on_terminal)
        read_terminal(out_terminal, out, result->out, sizeof result->out);
    else
        read_back(out, result->out, sizeof result->out);
    if (on_terminal)
        read_terminal(terminal, err, result->err, sizeof result->err);
    else
        read_back(err, result->err, sizeof result->err);
}

void tool_expect(const char *line, int exit_code, const char *err)
{
    tool_result result;
    tool_run(&result, line, NULL);
    gops_test_check(result.exit_code == exit_code, "groupops %s: exit code %d instead of %d (%s)",
                    line, result.exit_code, exit_code, result.err);
    gops_test_check(strcmp(result.err, err) == 0,
                    "groupops %s: standard error is\n%sinstead of\n%s", line, result.err, err);
}

void tool_expect_refusal(const char *line, int exit_code, const char *part)
{
    tool_result result;
    tool_run(&result, line, NULL);
    const char *newline = strchr(result.err, '\n');
    gops_test_check(result.exit_code == exit_code, "groupops %s: exit code %d instead of %d (%s)",
                    line, result.exit_code, exit_code, result.err);
    gops_test_check(strncmp(result.err, "groupops: ", 10) == 0 && newline != NULL &&
                        newline[1] == '\0' && strstr(result.err, part) != NULL,
                    "groupops %s: standard error is not one line with \"%s\" but\n%s", line, part,
                    result.err);
    gops_test_check(result.out[0] == '\0', "groupops %s printed %s", line, result.out);
}

void tool_folder_enter(void)
{
    if (mkdtemp(folder) == NULL || chdir(folder) != 0)
        die(folder);
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

void tool_folder_leave(void)
{
    if (chdir("/") != 0 || nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS) != 0)
        die(folder);
}

int tool_folder_count(void)
{
    int count = 0;
    DIR *open_folder = opendir(".");
    if (open_folder == NULL)
        die(folder);
    while (readdir(open_folder) != NULL)
        count++;
    closedir(open_folder);
    return count - 2; /* "." and ".." */
}
