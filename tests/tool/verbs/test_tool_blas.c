/*
 * test_tool_blas.c: the command names the kernels that its BLAS runs, and plans by how fast they
 * are. Nothing is timed: each core of OpenBLAS that this processor can run is forced in turn.
 */
#include "blas_cores.h"
#include "harness.h"
#include "tool_process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DENSE "plan conv --data=1,67,29,31 --filter=1,71,67,3,3 --pads-begin=1,1 --pads-end=1,1"
#define TRANSPOSED "plan deconv --data=1,67,29,31 --filter=1,67,71,4,4 --strides=2,2"

static void read_blas(char *blas, size_t bytes)
{
    tool_result result;
    tool_run(&result, "info", NULL);
    const char *line = strstr(result.out, "\nBLAS  ");
    gops_test_check(line != NULL, "%s", result.out);
    snprintf(blas, bytes, "%s", line != NULL ? line + 1 : "");
    blas[strcspn(blas, "\n")] = '\0';
}

/* The next core that runs here, whose number goes to *index; NULL beyond the last. */
static const char *next_core(int *index)
{
    char blas[256];
    read_blas(blas, sizeof blas);
    gops_test_core core = gops_test_core_at(blas, *index);
    while (core.name != NULL && core.lacks != NULL)
        core = gops_test_core_at(blas, ++*index);
    return core.name;
}

static void plan_with(const char *core, const char *line, tool_result *result)
{
    const tool_surroundings forced = {.variable = "OPENBLAS_CORETYPE", .value = core};
    tool_run(result, line, &forced);
    gops_test_check(result->exit_code == 0, "%s: %d %s", line, result->exit_code, result->err);
}

/* What `gemm` is estimated to take, in ms. */
static double estimate(const char *core, const char *line)
{
    tool_result result;
    plan_with(core, line, &result);
    const char *at = strstr(result.out, "gemm estimated ");
    gops_test_check(at != NULL, "%s: %s", line, result.out);
    return at != NULL ? strtod(at + strlen("gemm estimated "), NULL) : 0;
}

static void info_names_the_core(void)
{
    int shown = 0;
    const char *core;
    for (int i = 0; (core = next_core(&i)) != NULL; i++, shown++) {
        const tool_surroundings forced = {.variable = "OPENBLAS_CORETYPE", .value = core};
        tool_result result;
        char expected[64];
        snprintf(expected, sizeof expected, "\nBLAS core         %s\n", core);
        tool_run(&result, "info", &forced);
        gops_test_check(strstr(result.out, expected) != NULL, "%s: %s", core, result.out);
    }
    if (shown == 0)
        gops_test_skip("the BLAS at hand has no kernels to choose among");
}

/* The cores come narrowest vectors first. */
static void gemm_is_estimated_by_the_core(void)
{
    static const char *const lines[] = {DENSE, DENSE " --type=f64", TRANSPOSED};
    int compared = 0, index = 0;
    const char *slowest = next_core(&index), *core;
    for (index++; slowest != NULL && (core = next_core(&index)) != NULL; index++, compared++) {
        if (strcmp(core, "Nehalem") == 0) /* vectors as narrow as the slowest's */
            continue;
        for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
            const double slow = estimate(slowest, lines[i]), fast = estimate(core, lines[i]);
            gops_test_check(slow > 1.5 * fast && fast > 0, "%s: %s %f ms, %s %f ms", lines[i],
                            slowest, slow, core, fast);
            gops_test_check(fast == estimate(core, lines[i]), "%s: not the same again", lines[i]);
        }
        /* Integers are not multiplied by it. */
        gops_test_check(estimate(slowest, DENSE " --type=i32") ==
                            estimate(core, DENSE " --type=i32"),
                        "i32 by %s is not as by %s", slowest, core);
    }
    if (compared == 0)
        gops_test_skip("there are not two of the BLAS's kernels to compare");
}

/* Portable kernels of our own are slower than a BLAS that knows the processor, and faster than one
 * that does not. */
static void auto_leaves_a_slow_blas(void)
{
    int found = 0, index = 0;
    tool_result slow, fast;
#ifdef __AVX__
    gops_test_skip("portable kernels are built for AVX here");
    return;
#endif
    const char *slowest = next_core(&index), *core;
    setenv("GROUPOPS_ISA", "portable", 1);
    for (index++; slowest != NULL && (core = next_core(&index)) != NULL; index++)
        if (strcmp(core, "Haswell") == 0) {
            plan_with(slowest, DENSE, &slow);
            plan_with(core, DENSE, &fast);
            gops_test_check(strstr(slow.out, "algorithm       direct\n") != NULL, "%s: %s", slowest,
                            slow.out);
            gops_test_check(strstr(fast.out, "algorithm       gemm\n") != NULL, "%s: %s", core,
                            fast.out);
            found = 1;
        }
    unsetenv("GROUPOPS_ISA");
    if (!found)
        gops_test_skip("the BLAS at hand has no Haswell kernels, or the processor cannot run them");
}

int main(void)
{
    static const gops_test_case cases[] = {
        {"info_names_the_core", info_names_the_core},
        {"gemm_is_estimated_by_the_core", gemm_is_estimated_by_the_core},
        {"auto_leaves_a_slow_blas", auto_leaves_a_slow_blas},
        {0},
    };
    return gops_test_main("tool_blas", cases);
}
