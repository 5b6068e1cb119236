/*
 * test_cores.c: test programs by every instruction set of our kernels that the processor has, and by
 * every core whose kernels OpenBLAS can run on it, so that no test passes by what one of them does.
 *
 * GROUPOPS_TEST_CORES_COMMAND, a command for the shell, takes the place of the few programs and is run by
 * every set times every core: of `./cmake/dev cores`, all unit tests.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <groupops/plan.h>

#include "blas_cores.h"
#include "harness.h"

/* Tells a child of this program which core its BLAS should have taken. */
static const char expected_core[] = "GROUPOPS_TEST_EXPECTED_CORE";

/* Runs the words with the environment as it is; what they print goes to `log` unless it is NULL.
 * The exit code; -1 where a signal ended it. */
static int run(const char *const *words, FILE *log)
{
    int status;
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        if (log == NULL || (dup2(fileno(log), 1) == 1 && dup2(fileno(log), 2) == 2))
            execv(words[0], (char *const *)(uintptr_t)words);
        _exit(126);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Shows what the program prints where it fails. */
static int run_quietly(const char *program)
{
    char text[4096];
    const char *const words[] = {program, NULL};
    FILE *log = tmpfile();
    if (log == NULL)
        return -1;
    const int code = run(words, log);
    rewind(log);
    while (code != 0 && fgets(text, sizeof text, log) != NULL)
        fputs(text, stdout);
    fclose(log);
    return code;
}

/* One core and instruction set, as the environment has them. */
static void run_programs(const char *core, const char *isa)
{
    enum { SKIPPED = 77 };
    static const char *const programs[] = {TEST_PROGRAMS};
    const char *command = getenv("GROUPOPS_TEST_CORES_COMMAND");
    if (command != NULL) {
        const char *const words[] = {"/bin/sh", "-c", command, NULL};
        printf("\n== %s kernels of the BLAS, %s of our own\n", core, isa);
        gops_test_check(run(words, NULL) == 0, "%s, %s: %s", core, isa, command);
        return;
    }
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
        const int code = run_quietly(programs[i]);
        gops_test_check(code == 0 || code == SKIPPED, "%s, %s: %s ended with %d", core, isa,
                        programs[i], code);
    }
}

static int count_sets(void)
{
    int count = 0;
    bool runs;
    for (int i = 0; gops_isa_name(i, &runs) != NULL; i++)
        count += runs;
    return count;
}

static int count_cores(void)
{
    int count = 0;
    gops_test_core core;
    for (int i = 0; (core = gops_test_core_at(gops_blas(), i)).name != NULL; i++)
        count += core.lacks == NULL;
    return count;
}

/* By core number `index` of `cores`: each set and each core has its turn, and the command all pairs. */
static void run_isas(const char *core, int index, int cores)
{
    const bool all = getenv("GROUPOPS_TEST_CORES_COMMAND") != NULL;
    const int sets = count_sets();
    const char *isa;
    bool runs;
    for (int i = 0, set = 0; (isa = gops_isa_name(i, &runs)) != NULL; i++) {
        if (runs && (all || index % sets == set || set % cores == index)) {
            setenv("GROUPOPS_ISA", isa, 1);
            run_programs(core, isa);
        }
        set += runs;
    }
}

static void every_core_and_instruction_set(void)
{
    static const char *const itself[] = {"/proc/self/exe", NULL};
    const int cores = count_cores();
    int index = 0;
    bool runs;
    const char *isa;
    gops_test_core core;
    for (int i = 0; (isa = gops_isa_name(i, &runs)) != NULL; i++)
        if (!runs)
            printf("\n%s: not run, because this processor does not have it", isa);
    if (gops_test_core_at(gops_blas(), 0).name == NULL) {
        printf("\n%s: its kernels are not to be chosen\n", gops_blas());
        run_isas(gops_blas_core(), 0, 1);
    }
    for (int i = 0; (core = gops_test_core_at(gops_blas(), i)).name != NULL; i++) {
        if (core.lacks != NULL) {
            printf("\n%s: not run, because this processor has no %s", core.name, core.lacks);
            continue;
        }
        setenv("OPENBLAS_CORETYPE", core.name, 1);
        setenv(expected_core, core.name, 1);
        const int took = run(itself, NULL) == 0;
        unsetenv(expected_core);
        if (gops_test_check(took, "OpenBLAS does not take %s when it is told to", core.name))
            run_isas(core.name, index, cores);
        index++;
    }
}

int main(void)
{
    static const gops_test_case cases[] = {
        {"every_core_and_instruction_set", every_core_and_instruction_set},
        {0},
    };
    const char *expected = getenv(expected_core);
    if (expected != NULL)
        return strcmp(gops_blas_core(), expected) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    return gops_test_main("cores", cases);
}
