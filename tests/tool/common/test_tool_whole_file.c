/*
 * test_tool_whole_file.c: files that appear whole or not at all, when a signal comes in between;
 * what becomes of the file that is replaced; and names that stand for something else than a file.
 */
#include "harness.h"
#include "tool_process.h"

#include "common/whole_file.h"

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Somebody who owns nothing here. */
enum { STRANGER = 65534 };

static void write_path(const char *path, int ending_signal)
{
    static gops_tool_error error;
    static gops_whole_file file;
    if (!gops_whole_file_open(path, &file, &error) ||
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
        const struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        if (ignored)
            signal(ending_signal, SIG_IGN);
        write_path("out", ending_signal);
    }
    waitpid(child, &status, 0);
    return status;
}

/* Another process writes "halfdone" to `path`, as the stranger where that is asked for. */
static int write_as(int stranger, const char *path)
{
    int status = -1;
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        if (stranger && (setgroups(0, NULL) != 0 || setgid(STRANGER) != 0 || setuid(STRANGER) != 0))
            _exit(97);
        write_path(path, 0);
    }
    waitpid(child, &status, 0);
    return status;
}

static void make_file(const char *path, const char *text, mode_t mode)
{
    remove(path);
    FILE *file = fopen(path, "w");
    if (file == NULL || fputs(text, file) == EOF || fclose(file) != 0 || chmod(path, mode) != 0) {
        perror(path);
        exit(EXIT_FAILURE);
    }
}

static struct stat look(const char *path)
{
    struct stat status = {.st_mode = 0};
    gops_test_check(lstat(path, &status) == 0, "%s is not there", path);
    return status;
}

static void expect_content_of(const char *path, const char *expected)
{
    char text[16] = "";
    FILE *file = fopen(path, "r");
    if (file != NULL) {
        text[fread(text, 1, sizeof text - 1, file)] = '\0';
        fclose(file);
    }
    gops_test_check(strcmp(text, expected) == 0, "%s has \"%s\" instead of \"%s\"", path, text,
                    expected);
}

static void expect_content(const char *expected)
{
    expect_content_of("out", expected);
}

static const int signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGXCPU};
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

/* A process that joined, and failed to write, leaves the file to the one that made it. */
static void ending_signal_after_a_failure(void)
{
    int status = -1;
    make_file("out", "made", 0644);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        static gops_tool_error error;
        static gops_whole_file file;
        if (!gops_whole_file_join("file", "out", &file, &error) || close(file.descriptor) != 0 ||
            gops_whole_file_write(&file, "half", 4, &error))
            _exit(99);
        raise(SIGTERM);
    }
    waitpid(child, &status, 0);
    gops_test_check(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM, "status %d", status);
    expect_content("made");
    remove("out");
}

/* A file that was there before stays as it was. */
static void ending_signal_with_an_old_file(void)
{
    make_file("out", "old", 0644);
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

/* Whatever the umask is. */
static void permissions_stay(void)
{
    static const mode_t modes[] = {0600, 0640, 0664, 0755, 0222};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        make_file("out", "old", modes[i]);
        gops_test_check(write_as(0, "out") == 0, "it failed");
        gops_test_check((look("out").st_mode & 07777) == modes[i], "%o became %o",
                        (unsigned)modes[i], (unsigned)look("out").st_mode & 07777);
    }
    make_file("out", "old", 04755);
    gops_test_check(write_as(0, "out") == 0 && (look("out").st_mode & 07777) == 0755,
                    "somebody else's program runs with its owner's rights");
}

static void need_root(void)
{
    if (geteuid() != 0)
        gops_test_skip("only root can give files away and become somebody else");
    if (chmod(".", 0755) != 0)
        perror("chmod");
}

static void owner_stays(void)
{
    need_root();
    make_file("out", "old", 0640);
    gops_test_check(chown("out", 71, 73) == 0, "chown");
    gops_test_check(write_as(0, "out") == 0, "it failed");
    const struct stat made = look("out");
    gops_test_check(made.st_uid == 71 && made.st_gid == 73 && (made.st_mode & 0777) == 0640,
                    "it belongs to %u:%u, mode %o", (unsigned)made.st_uid, (unsigned)made.st_gid,
                    (unsigned)made.st_mode);
    expect_content("halfdone");
}

/* Who cannot give a file away owns the new one; its group was one of the others. */
static void owner_cannot_stay(void)
{
    need_root();
    gops_test_check(mkdir("open", 0777) == 0 && chmod("open", 0777) == 0, "mkdir");
    make_file("open/out", "old", 0676);
    gops_test_check(chown("open/out", 71, 73) == 0, "chown");
    gops_test_check(write_as(1, "open/out") == 0, "it failed");
    const struct stat made = look("open/out");
    gops_test_check(made.st_uid == STRANGER && made.st_gid == STRANGER &&
                        (made.st_mode & 0777) == 0666,
                    "it belongs to %u:%u, mode %o", (unsigned)made.st_uid, (unsigned)made.st_gid,
                    (unsigned)made.st_mode);
    expect_content_of("open/out", "halfdone");
    remove("open/out");
    rmdir("open");
}

/* A file that is not to be written to, a folder that takes no other file, a folder whose files only
 * their owners may remove: all refused, and the file is as it was. */
static void refused_stays(void)
{
    static const struct {
        mode_t file, folder;
    } forbidden[] = {{0644, 0777}, {0666, 0755}, {0666, 01777}};
    need_root();
    for (size_t i = 0; i < sizeof forbidden / sizeof forbidden[0]; i++) {
        gops_test_check(mkdir("shut", 0777) == 0 && chmod("shut", forbidden[i].folder) == 0,
                        "mkdir");
        make_file("shut/out", "old", forbidden[i].file);
        const struct stat before = look("shut/out");
        const int status = write_as(1, "shut/out");
        const struct stat after = look("shut/out");
        gops_test_check(WIFEXITED(status) &&
                            (WEXITSTATUS(status) == 99 || WEXITSTATUS(status) == 98),
                        "%zu: status %d", i, status);
        expect_content_of("shut/out", "old");
        gops_test_check(before.st_ino == after.st_ino && before.st_mode == after.st_mode,
                        "%zu: it is another file", i);
        remove("shut/out");
        gops_test_check(rmdir("shut") == 0, "%zu: something was left behind", i);
    }
}

/* What a link points to is made, wherever that is from the link's own folder. */
static void links_stay(void)
{
    static const char *const targets[] = {"made", "../made", "sub/../made"};
    char here[256], absolute[512];
    gops_test_check(getcwd(here, sizeof here) != NULL && mkdir("sub", 0755) == 0, "mkdir");
    snprintf(absolute, sizeof absolute, "%s/made", here);
    for (int i = 0; i < 4; i++) {
        const char *to = i < 3 ? targets[i] : absolute;
        const char *link = i == 1 ? "sub/link" : "link";
        remove("made");
        gops_test_check(symlink(to, link) == 0 && symlink(link, "first") == 0, "symlink");
        for (int again = 0; again < 2; again++) { /* the second time it is there */
            gops_test_check(write_as(0, "first") == 0, "%s: it failed", to);
            gops_test_check(S_ISLNK(look("first").st_mode) && S_ISLNK(look(link).st_mode) &&
                                S_ISREG(look("made").st_mode),
                            "%s: a link is gone", to);
            expect_content_of("made", "halfdone");
        }
        remove("first");
        remove(link);
    }
    remove("made");
    gops_test_check(rmdir("sub") == 0, "something was left behind");
    gops_test_check(symlink("b", "a") == 0 && symlink("a", "b") == 0, "symlink");
    gops_test_check(write_as(0, "a") != 0 && S_ISLNK(look("a").st_mode), "links in a circle");
    remove("a");
    remove("b");
}

static void hard_links_keep_the_old(void)
{
    make_file("out", "old", 0640);
    gops_test_check(link("out", "other") == 0, "link");
    gops_test_check(write_as(0, "out") == 0, "it failed");
    expect_content("halfdone");
    expect_content_of("other", "old");
    remove("other");
}

static void fifo(void)
{
    char text[16] = "";
    remove("out");
    gops_test_check(mkfifo("out", 0600) == 0, "mkfifo");
    const int reader = open("out", O_RDONLY | O_NONBLOCK);
    gops_test_check(write_as(0, "out") == 0, "it failed");
    gops_test_check(read(reader, text, sizeof text - 1) == 8 && strcmp(text, "halfdone") == 0,
                    "\"%s\" came through", text);
    gops_test_check(S_ISFIFO(look("out").st_mode), "the FIFO is gone");
    close(reader);
    remove("out");
}

/* What the standard output was redirected to goes on where it is, with or without a name. */
static void standard_output(void)
{
    static const char *const names[] = {"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "link"};
    gops_test_check(symlink("/dev/stdout", "link") == 0, "symlink");
    for (int i = 0; i < 8; i++) {
        int status = -1;
        make_file("out", "", 0640);
        const struct stat before = look("out");
        const int file = open("out", O_RDWR);
        gops_test_check(write(file, "head", 4) == 4, "write");
        if (i >= 4)
            remove("out");
        fflush(stdout);
        const pid_t child = fork();
        if (child == 0) {
            dup2(file, STDOUT_FILENO);
            write_path(names[i % 4], 0);
        }
        waitpid(child, &status, 0);
        char text[16] = "";
        gops_test_check(status == 0 && pread(file, text, sizeof text - 1, 0) == 12 &&
                            strcmp(text, "headhalfdone") == 0,
                        "%s: status %d, \"%s\"", names[i % 4], status, text);
        gops_test_check(i >= 4 || look("out").st_ino == before.st_ino, "it is another file");
        gops_test_check(tool_folder_count() == 1 + (i < 4), "something was left behind");
        close(file);
    }
    remove("link");
    remove("out");
}

int main(void)
{
    static const gops_test_case cases[] = {
        {"no_signal", no_signal},
        {"ending_signal", ending_signal},
        {"ending_signal_after_a_failure", ending_signal_after_a_failure},
        {"ending_signal_with_an_old_file", ending_signal_with_an_old_file},
        {"ignored_signal", ignored_signal},
        {"permissions_stay", permissions_stay},
        {"owner_stays", owner_stays},
        {"owner_cannot_stay", owner_cannot_stay},
        {"refused_stays", refused_stays},
        {"links_stay", links_stay},
        {"hard_links_keep_the_old", hard_links_keep_the_old},
        {"fifo", fifo},
        {"standard_output", standard_output},
        {0},
    };
    tool_folder_enter();
    const int status = gops_test_main("tool_whole_file", cases);
    tool_folder_leave();
    return status;
}
