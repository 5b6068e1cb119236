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
#ifdef GOPS_HAVE_ISA_AVX2VNNI
extern const gops_kernels gops_kernels_avx2vnni;
#endif
#ifdef GOPS_HAVE_ISA_AVX512
extern const gops_kernels gops_kernels_avx512;
#endif
#ifdef GOPS_HAVE_ISA_AVX512VNNI
extern const gops_kernels gops_kernels_avx512vnni;
#endif
#ifdef GOPS_HAVE_ISA_AVX512VBMI
extern const gops_kernels gops_kernels_avx512vbmi;
#endif

static bool runs_always(void)
{
    return true;
}

#ifdef GOPS_HAVE_ISA_AVX2
/* What clang 14's __builtin_cpu_supports does not know. The answer is kept, because CPUID takes
 * microseconds in a virtual machine. Threads that race here store the same answer. */
enum { ASKED = 1, HAS_F16C = 2, HAS_AVX_VNNI = 4 };

static bool has(int feature)
{
    enum { AVX_VNNI = 1 << 4 }; /* of EAX in leaf 7, subleaf 1 */
    static atomic_int known;
    int answer = atomic_load_explicit(&known, memory_order_relaxed);
    if (answer == 0) {
        unsigned a, b, c, d;
        answer = ASKED;
        if (__get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C) != 0) {
            answer |= HAS_F16C;
        }
        if (__get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & AVX_VNNI) != 0) {
            answer |= HAS_AVX_VNNI;
        }
        atomic_store_explicit(&known, answer, memory_order_relaxed);
    }
    return (answer & feature) != 0;
}

static bool runs_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has(HAS_F16C);
}
#endif

#ifdef GOPS_HAVE_ISA_AVX2VNNI
static bool runs_avx2vnni(void)
{
    return runs_avx2() && has(HAS_AVX_VNNI);
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

#ifdef GOPS_HAVE_ISA_AVX512VNNI
static bool runs_avx512vnni(void)
{
    return runs_avx512() && __builtin_cpu_supports("avx512vnni");
}
#endif

#ifdef GOPS_HAVE_ISA_AVX512VBMI
static bool runs_avx512vbmi(void)
{
    return runs_avx512() && __builtin_cpu_supports("avx512vnni") &&
           __builtin_cpu_supports("avx512vbmi");
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
#ifdef GOPS_HAVE_ISA_AVX2VNNI
    {&gops_kernels_avx2vnni, runs_avx2vnni},
#endif
#ifdef GOPS_HAVE_ISA_AVX512
    {&gops_kernels_avx512, runs_avx512},
#endif
#ifdef GOPS_HAVE_ISA_AVX512VNNI
    {&gops_kernels_avx512vnni, runs_avx512vnni},
#endif
#ifdef GOPS_HAVE_ISA_AVX512VBMI
    {&gops_kernels_avx512vbmi, runs_avx512vbmi},
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
