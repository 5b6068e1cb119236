/* dispatch.c: picks an instruction set. This file is compiled once, for all processors. */
#include "isa/isa.h"

#include <groupops/plan.h>

#ifdef GOPS_HAVE_ISA_AVX2
#include <cpuid.h>
#include <stdatomic.h>
#endif
#include <stdlib.h>
#include <string.h>

#ifdef GOPS_HAVE_ISA_AVX2
extern const gops_kernels gops_kernels_avx2;
#endif
#ifdef GOPS_HAVE_ISA_AVX512
extern const gops_kernels gops_kernels_avx512;
#endif

static bool runs_always(void)
{
    return true;
}

#ifdef GOPS_HAVE_ISA_AVX2
/* clang 14's __builtin_cpu_supports does not know "f16c". The answer is kept, because CPUID takes
 * microseconds in a virtual machine. Threads that race here store the same answer. */
static bool has_f16c(void)
{
    enum { UNKNOWN, ABSENT, PRESENT };
    static atomic_int known = UNKNOWN;
    int answer = atomic_load_explicit(&known, memory_order_relaxed);
    if (answer == UNKNOWN) {
        unsigned a, b, c = 0, d;
        answer = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C) != 0 ? PRESENT : ABSENT;
        atomic_store_explicit(&known, answer, memory_order_relaxed);
    }
    return answer == PRESENT;
}

static bool runs_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
}
#endif

#ifdef GOPS_HAVE_ISA_AVX512
static bool runs_avx512(void)
{
    return runs_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512cd");
}
#endif

typedef struct isa_row {
    const gops_kernels *kernels;
    bool (*runs)(void);
} isa_row;

/* Best last. */
static const isa_row sets[] = {
    {&gops_kernels_portable, runs_always},
#ifdef GOPS_HAVE_ISA_AVX2
    {&gops_kernels_avx2, runs_avx2},
#endif
#ifdef GOPS_HAVE_ISA_AVX512
    {&gops_kernels_avx512, runs_avx512},
#endif
};

enum { SETS = sizeof sets / sizeof sets[0] };

const gops_kernels *gops_kernels_select(void)
{
    const char *wanted = getenv("GROUPOPS_ISA");
    for (int i = SETS - 1; i >= 0; i--) {
        const bool named =
            wanted == NULL || wanted[0] == '\0' || strcmp(wanted, sets[i].kernels->isa) == 0;
        if (named && sets[i].runs()) {
            return sets[i].kernels;
        }
    }
    return NULL;
}

const char *gops_isa_name(int32_t index, bool *runs)
{
    if (index < 0 || index >= SETS) {
        return NULL;
    }
    if (runs != NULL) {
        *runs = sets[index].runs();
    }
    return sets[index].kernels->isa;
}

const char *gops_isa(void)
{
    const gops_kernels *kernels = gops_kernels_select();
    return kernels != NULL ? kernels->isa : NULL;
}
