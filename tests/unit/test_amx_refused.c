/*
 * A kernel that refuses the state of AMX's tiles, as old ones and some sandboxes do, leaves the process
 * with the instruction sets that need none. A filter of system calls refuses here.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <groupops/groupops.h>

#include "harness.h"

#if defined(__linux__) && defined(__x86_64__)
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* Every later arch_prctl of this process fails; false where no filter may be set. */
static bool refuse(void)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_arch_prctl, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {sizeof steps / sizeof steps[0], steps};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}
#else
static bool refuse(void)
{
    return false;
}
#endif

enum { NONE, RUNS, NO_FILTER };

/* Whether the instruction set of that name runs here: NONE or RUNS. */
static int runs(const char *name)
{
    bool found = false;
    const char *isa;
    for (int32_t i = 0; (isa = gops_isa_name(i, &found)) != NULL; i++)
        if (strcmp(isa, name) == 0)
            return found ? RUNS : NONE;
    return NONE;
}

static int amx_runs(void)
{
    return runs("amx");
}

static int amx_runs_refused(void)
{
    return refuse() ? runs("amx") : NO_FILTER;
}

static int bf16_runs_refused(void)
{
    return refuse() ? runs("avx512bf16") : NO_FILTER;
}

/* Whether a layer that AMX would compute is right without it: RUNS. */
static int compute_refused(void)
{
    enum { CHANNELS = 67, PIXELS = 37, OUT = 19 };
    static uint8_t x[CHANNELS * PIXELS];
    static int8_t w[OUT * CHANNELS];
    static int32_t y[OUT * PIXELS];
    const gops_tensor data = {GOPS_U8, 3, {1, CHANNELS, PIXELS}};
    const gops_tensor filter = {GOPS_I8, 4, {1, OUT, CHANNELS, 1}};
    const gops_options options = {.size = sizeof options, .threads = 1, .output_type = GOPS_I32};
    gops_plan *plan = NULL;
    gops_packed_filter *packed = NULL;
    if (!refuse())
        return NO_FILTER;
    for (int i = 0; i < CHANNELS * PIXELS; i++)
        x[i] = (uint8_t)(i * 37);
    for (int i = 0; i < OUT * CHANNELS; i++)
        w[i] = (int8_t)(i * 59);
    gops_arguments arguments = GOPS_ARGUMENTS_INIT;
    if (gops_conv_plan_create(&data, &filter, NULL, &options, &plan, NULL) != GOPS_OK ||
        gops_filter_create(plan, w, NULL, &packed, NULL) != GOPS_OK)
        return NONE;
    arguments.data = x;
    arguments.filter = packed;
    arguments.output = y;
    if (gops_execute(plan, &arguments, NULL) != GOPS_OK)
        return NONE;
    for (int o = 0; o < OUT; o++)
        for (int i = 0; i < PIXELS; i++) {
            int32_t sum = 0;
            for (int c = 0; c < CHANNELS; c++)
                sum += x[c * PIXELS + i] * w[o * CHANNELS + c];
            if (sum != y[o * PIXELS + i])
                return NONE;
        }
    return RUNS;
}

/* What `ask` answers in a child, as a process asks the kernel once. */
static int in_child(int (*ask)(void))
{
    int status = 0;
    const pid_t child = fork();
    if (child == 0)
        _exit(ask());
    gops_test_check(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status),
                    "the child ended with %d", status);
    return WEXITSTATUS(status);
}

static void refused(void)
{
    if (in_child(amx_runs) == NONE)
        gops_test_skip("no AMX");
    const int answer = in_child(amx_runs_refused);
    if (answer == NO_FILTER)
        gops_test_skip("no filter of system calls may be set");
    gops_test_check(answer == NONE, "AMX runs though the kernel refused its state");
    gops_test_check(in_child(bf16_runs_refused) == RUNS, "avx512bf16 does not run either");
    gops_test_check(in_child(compute_refused) == RUNS, "a layer is wrong or refused");
}

int main(void)
{
    static const gops_test_case cases[] = {{"refused", refused}, {NULL, NULL}};
    unsetenv("GROUPOPS_ISA");
    return gops_test_main("AMX refused", cases);
}
