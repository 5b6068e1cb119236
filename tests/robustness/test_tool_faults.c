/*
 * The command with its allocations failing in turn, by a preloaded malloc (fail_malloc.c): it ends
 * with exit code 1 and one line that says why, or does what it was to do; its output is whole or
 * absent, and no other file is left. GROUPOPS_TEST_FAULT_STEP: every so many-th allocation behind
 * the first few, 1 for all (`./cmake/dev faults`).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ir_files.h"
#include "elements.h"
#include "harness.h"
#include "guarded_memory.h"
#include "tool_npy.h"
#include "tool_process.h"

enum { SHORT_STEP = 7, MAX_BYTES = 1 << 16 };

static const char log_path[] = "failed";

static size_t read_file(const char *path, char *bytes)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return 0;
    const size_t size = fread(bytes, 1, MAX_BYTES, file);
    fclose(file);
    return size;
}

static int lines(const char *text)
{
    int count = 0;
    for (; *text != '\0'; text++)
        count += *text == '\n';
    return count;
}

/* One run; `whole` is the output file when nothing fails, NULL where the command writes none.
 * Returns whether an allocation was failed. */
static int run_failing(const char *line, const char *output, long at, const char *whole,
                       size_t whole_bytes)
{
    static char got[MAX_BYTES];
    static tool_result result;
    const tool_surroundings preloaded = {.variable = "LD_PRELOAD", .value = FAIL_MALLOC};
    char number[32];
    snprintf(number, sizeof number, "%ld", at);
    setenv("GROUPOPS_FAIL_AT", number, 1);
    if (output != NULL)
        unlink(output);
    unlink(log_path);
    const int files = tool_folder_count();
    tool_run(&result, line, &preloaded);
    const int failed = access(log_path, F_OK) == 0;
    unlink(log_path);
    gops_test_check(result.exit_code == 0 || (failed && result.exit_code == 1),
                    "groupops %s, allocation %ld: exit code %d (%s)", line, at, result.exit_code,
                    result.err);
    gops_test_check(result.exit_code == 0 || (lines(result.err) == 1 && result.err[0] != '\n'),
                    "groupops %s, allocation %ld: not one line: %s", line, at, result.err);
    const size_t bytes = output != NULL ? read_file(output, got) : 0;
    const int is_whole = bytes == whole_bytes && memcmp(got, whole, bytes) == 0;
    if (output != NULL)
        gops_test_check(is_whole || (result.exit_code != 0 && access(output, F_OK) != 0),
                        "groupops %s, allocation %ld: exit code %d, an output of %zu bytes", line,
                        at, result.exit_code, bytes);
    gops_test_check(tool_folder_count() == files + (output != NULL && bytes > 0),
                    "groupops %s, allocation %ld: files are left", line, at);
    return failed;
}

static void fail_every(const char *line, const char *output, long step)
{
    static char whole[MAX_BYTES];
    tool_result *result = gops_test_allocate(sizeof *result);
    unsetenv("GROUPOPS_FAIL_AT");
    tool_run(result, line, NULL);
    gops_test_check(result->exit_code == 0, "groupops %s: %s", line, result->err);
    const size_t bytes = output != NULL ? read_file(output, whole) : 0;
    gops_test_check(output == NULL || bytes > 0, "groupops %s: no output", line);
    long at = 1, failures = 0;
    for (; run_failing(line, output, at, whole, bytes); at += at < step ? 1 : step)
        failures++;
    printf("%ld of %ld: ", failures, at);
    gops_test_check(failures > 1, "groupops %s: %ld allocations failed", line, failures);
    if (output != NULL)
        unlink(output);
    free(result);
}

static void fail_in_turn(const char *line, const char *output)
{
    fail_every(line, output,
               (long)gops_test_environment_number("GROUPOPS_TEST_FAULT_STEP", SHORT_STEP));
}

static void run(void)
{
    fail_in_turn("run conv --data=x.npy --filter=w.npy --output=y.npy --threads=1", "y.npy");
}

static void quantized(void)
{
    fail_in_turn("run conv --data=q.npy --filter=p.npy --output=y.npy --threads=1 --output-type=u8 "
                 "--filter-scales=s.npy --filter-zero-points=z.npy --bias=b.npy --residual=r.npy",
                 "y.npy");
}

static void fused(void)
{
    fail_in_turn("run conv --data=x.npy --filter=w.npy --output=y.npy --threads=1 "
                 "--filter-scales=s.npy --activation=prelu --slopes=s.npy",
                 "y.npy");
}

static void moments(void)
{
    fail_in_turn("run norm --data=n.npy --scale=s.npy --bias=s.npy --output=y.npy --threads=1 "
                 "--num-groups=6 --epsilon=1e-3 --means=s.npy --variances=s.npy",
                 "y.npy");
}

static void plan(void)
{
    fail_in_turn("plan deconv --data=1,4,9,11 --filter=2,2,3,3,2 --strides=2,1 --json", NULL);
}

static void compare(void)
{
    fail_in_turn("compare x.npy x.npy", NULL);
}

static void info(void)
{
    fail_in_turn("info", NULL);
}

static void ir(void)
{
    fail_in_turn("ir net.xml --input=x=x.npy --output-dir=.", "y.npy");
}

/* Every allocation of the command and the library by themselves. */
static void ir_own(void)
{
    setenv("GROUPOPS_FAIL_IN", "groupops", 1);
    fail_every("ir net.xml --input=x=x.npy --output-dir=.", "y.npy", 1);
    unsetenv("GROUPOPS_FAIL_IN");
}

/* Tensors of u8 data [1,4,5] and of what a quantized convolution takes besides. */
static void write_quantized(void)
{
    static const signed char codes[36] = {1, 20, 3, 4, 5, 60};
    static const int32_t bias[6] = {1, -2, 3};
    static const float scales[6] = {0.5F, 0.25F, 1, 2, 3, 4};
    const struct {
        const char *path, *dtype;
        gops_tensor tensor;
        const void *elements;
    } files[] = {
        {"q.npy", "u1", GOPS_TEST_TENSOR(GOPS_U8, 1, 4, 5), codes},
        {"p.npy", "i1", GOPS_TEST_TENSOR(GOPS_I8, 2, 3, 2, 3), codes},
        {"r.npy", "u1", GOPS_TEST_TENSOR(GOPS_U8, 1, 6, 3), codes},
        {"z.npy", "i1", GOPS_TEST_TENSOR(GOPS_I8, 6), codes},
        {"b.npy", "i4", GOPS_TEST_TENSOR(GOPS_I32, 6), bias},
        {"s.npy", "f4", GOPS_TEST_TENSOR(GOPS_F32, 6), scales},
    };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        tool_npy_write(files[i].path, files[i].dtype, &files[i].tensor, files[i].elements);
}

int main(void)
{
    static const gops_test_case cases[] = {{"run", run},       {"quantized", quantized},
                                           {"fused", fused},   {"moments", moments},
                                           {"plan", plan},     {"info", info},
                                           {"ir", ir},         {"compare", compare},
                                           {"ir_own", ir_own}, {NULL, NULL}};
    const gops_tensor data = GOPS_TEST_TENSOR(GOPS_F32, 1, 4, 5);
    const gops_tensor filter = GOPS_TEST_TENSOR(GOPS_F32, 2, 3, 2, 3);
    const gops_tensor six = GOPS_TEST_TENSOR(GOPS_F32, 1, 6, 6);
    float values[36];
    for (int i = 0; i < 36; i++)
        values[i] = (float)(i * i % 17) / 8;
    tool_folder_enter();
    tool_npy_write("x.npy", "f4", &data, values);
    tool_npy_write("w.npy", "f4", &filter, values);
    tool_npy_write("n.npy", "f4", &six, values);
    write_quantized();
    ir_write_text("net.xml", ir_small_net);
    ir_write("net.bin", values, sizeof values);
    setenv("GROUPOPS_FAIL_LOG", log_path, 1);
    setenv("OMP_NUM_THREADS", "1", 1);
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    const int status = gops_test_main("faults of the command", cases);
    tool_folder_leave();
    return status;
}
