/* test_tool_output.c: groupops run: inputs that are refused, and outputs that are whole or absent.
 */
#include "elements.h"
#include "harness.h"
#include "tool_npy.h"
#include "tool_process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define UNDER_SANITIZER 1
#elif defined(__has_feature)
#define UNDER_SANITIZER                                                                            \
    (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                        \
     __has_feature(memory_sanitizer))
#else
#define UNDER_SANITIZER 0
#endif

/* Two small inputs for what follows. */
static void write_small(void)
{
    static const float numbers[14] = {1, 2, 3, 4, 5, 6, 7};
    const gops_tensor data = GOPS_TEST_TENSOR(GOPS_F32, 1, 2, 7);
    const gops_tensor filter = GOPS_TEST_TENSOR(GOPS_F32, 1, 1, 2, 3);
    tool_npy_write("x0.npy", "f4", &data, numbers);
    tool_npy_write("x1.npy", "f4", &filter, numbers);
}

#define RUN_SMALL "run conv --data=x0.npy --filter=x1.npy"

static void refused_inputs(void)
{
    static const double numbers[6] = {1, 2, 3, 4, 5, 6};
    const gops_tensor filter = GOPS_TEST_TENSOR(GOPS_F64, 1, 1, 2, 3);
    const gops_tensor wrong = GOPS_TEST_TENSOR(GOPS_F32, 1, 1, 3, 1);
    tool_result result;
    write_small();
    remove("y.npy");
    tool_expect("run conv --data=none.npy --filter=x1.npy --output=y.npy", 1,
                "groupops: none.npy: it cannot be opened: No such file or directory\n");
    tool_expect("run conv --data=x0.npy --filter=/dev/null --output=y.npy", 1,
                "groupops: /dev/null: it is not a regular file\n");
    tool_expect(RUN_SMALL " --output=y.npy --type=bf16", 1,
                "groupops: x0.npy: its elements are f32; type bf16 needs a file of u16\n");
    tool_npy_write("x1.npy", "f8", &filter, numbers);
    tool_run(&result, RUN_SMALL " --output=y.npy", NULL);
    gops_test_check(result.exit_code == 1 && strstr(result.err, "f64") != NULL, "%s", result.err);
    tool_npy_write("x1.npy", "f4", &wrong, numbers);
    tool_run(&result, RUN_SMALL " --output=y.npy", NULL);
    gops_test_check(result.exit_code == 1 && strncmp(result.err, "groupops: ", 10) == 0 &&
                        strstr(result.err, "3") != NULL,
                    "%s", result.err);
    gops_test_check(access("y.npy", F_OK) != 0, "there is an output");
}

static void whole_or_absent(void)
{
    write_small();
    remove("y.npy");
    const int files = tool_folder_count();
    /* Before the plan is made, which would be refused. */
    tool_expect(RUN_SMALL " --strides=1,1 --output=none/y.npy", 1,
                "groupops: none/y.npy: it cannot be written: No such file or directory\n");
    tool_expect(RUN_SMALL " --output=x0.npy/y.npy", 1,
                "groupops: x0.npy/y.npy: it cannot be written: Not a directory\n");
    tool_expect(RUN_SMALL " --output=.", 1, "groupops: .: it cannot be written: Is a directory\n");
    tool_expect(RUN_SMALL " --output=/dev/full", 1,
                "groupops: /dev/full: it cannot be written: No space left on device\n");
    struct stat status;
    gops_test_check(stat("/dev/full", &status) == 0 && S_ISCHR(status.st_mode),
                    "/dev/full was replaced");
    gops_test_check(tool_folder_count() == files, "something was left behind");
}

static const tool_surroundings short_files = {.most_file_bytes = 4096};

/* A file system that is full after 4096 bytes, more or less. */
static void no_room(void)
{
    static float numbers[2 * 1400];
    const gops_tensor data = GOPS_TEST_TENSOR(GOPS_F32, 1, 2, 1400);
    const gops_tensor output = GOPS_TEST_TENSOR(GOPS_F32, 1, 1, 1398);
    tool_result result;
    write_small();
    tool_npy_write("x0.npy", "f4", &data, numbers);
    remove("y.npy");
    const int files = tool_folder_count();
    tool_run(&result, RUN_SMALL " --output=y.npy", &short_files);
    gops_test_check(
        result.exit_code == 1 &&
            strcmp(result.err, "groupops: y.npy: it cannot be written: File too large\n") == 0,
        "%d %s", result.exit_code, result.err);
    gops_test_check(tool_folder_count() == files, "something was left behind");

    /* An output that was there before stays as it was. */
    tool_expect(RUN_SMALL " --output=y.npy", 0, "");
    void *before = tool_npy_read("y.npy", "f4", &output);
    tool_run(&result, RUN_SMALL " --output=y.npy --pads-begin=1", &short_files);
    void *after = tool_npy_read("y.npy", "f4", &output);
    gops_test_check(result.exit_code == 1 && before != NULL && after != NULL &&
                        memcmp(before, after, 1398 * 4) == 0,
                    "the old output is gone");
    gops_test_check(tool_folder_count() == files + 1, "something was left behind");
    free(before);
    free(after);
}

/* Data of 6.4 GB (with holes, so that the disk need not have them) in 2 GB of memory. */
static void no_memory(void)
{
    if (UNDER_SANITIZER)
        gops_test_skip("sanitizers need all of the address space");
#ifdef TOOL_EMULATOR
    gops_test_skip("the limit does not hold for a program that is emulated");
#endif
    static const tool_surroundings little = {.most_memory = (size_t)2 << 30};
    const gops_tensor data = GOPS_TEST_TENSOR(GOPS_F32, 1, 1, 1600000000);
    const gops_tensor filter = GOPS_TEST_TENSOR(GOPS_F32, 1, 1, 1, 1);
    static const float weight = 3;
    tool_npy_text header;
    tool_result result;
    tool_npy_write_raw("x0.npy", 1, tool_npy_header(tool_npy_order("f4"), "f4", 0, &data, &header),
                       NULL, 0);
    gops_test_check(truncate("x0.npy", 128 + 6400000000) == 0, "truncate");
    tool_npy_write("x1.npy", "f4", &filter, &weight);
    tool_run(&result, RUN_SMALL " --output=y.npy", &little);
    gops_test_check(
        result.exit_code == 1 &&
            strcmp(result.err, "groupops: x0.npy: no memory for its 6400000000 bytes\n") == 0,
        "%d %s", result.exit_code, result.err);
}

/* A link stays a link; an input may be the output; others may read what the umask lets them. */
static void replacing(void)
{
    const gops_tensor output = GOPS_TEST_TENSOR(GOPS_F32, 1, 1, 5);
    struct stat status;
    write_small();
    remove("y.npy");
    remove("link.npy");
    gops_test_check(symlink("y.npy", "link.npy") == 0, "symlink");
    tool_expect(RUN_SMALL " --output=y.npy", 0, "");
    tool_expect(RUN_SMALL " --output=link.npy", 0, "");
    gops_test_check(lstat("link.npy", &status) == 0 && S_ISLNK(status.st_mode), "the link is gone");
    const mode_t mask = umask(0);
    umask(mask);
    gops_test_check(stat("y.npy", &status) == 0 && (status.st_mode & 0777) == (0666 & ~mask),
                    "its mode is %o", (unsigned)status.st_mode);
    tool_expect(RUN_SMALL " --output=x0.npy", 0, "");
    void *from = tool_npy_read("x0.npy", "f4", &output);
    void *to = tool_npy_read("y.npy", "f4", &output);
    gops_test_check(from != NULL && to != NULL && memcmp(from, to, 20) == 0, "they differ");
    free(from);
    free(to);
    remove("link.npy");
}

int main(void)
{
    static const gops_test_case cases[] = {
        {"refused_inputs", refused_inputs},
        {"whole_or_absent", whole_or_absent},
        {"no_room", no_room},
        {"no_memory", no_memory},
        {"replacing", replacing},
        {0},
    };
    tool_folder_enter();
    const int status = gops_test_main("tool_output", cases);
    tool_folder_leave();
    return status;
}
