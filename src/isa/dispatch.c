/* dispatch.c: picks an instruction set. This file is compiled once, for all processors. */
#include "isa/amx_works.h"
#include "isa/isa.h"

#include <groupops/plan.h>

/* What asks for a set asks for those that it is made of, which the build may lack. */
#if defined(GOPS_HAVE_ISA_AVX2) || defined(GOPS_HAVE_ISA_AVX512)
#define GOPS_ASKS_FOR_AVX2
#endif
#if defined(GOPS_HAVE_ISA_AVX512BF16) || defined(GOPS_HAVE_ISA_AMX)
#define GOPS_ASKS_FOR_BF16
#endif

#ifdef GOPS_ASKS_FOR_AVX2
#include <cpuid.h>
#include <stdatomic.h>
#endif
#include <stdlib.h>
#include <string.h>

/* Those of the sets that the build does not have are not used. */
extern const gops_kernels gops_kernels_amx_emulated, gops_kernels_avx2, gops_kernels_avx2vnni,
    gops_kernels_avx512, gops_kernels_avx512vnni, gops_kernels_avx512vbmi, gops_kernels_avx512bf16,
    gops_kernels_amx;

static bool runs_always(void)
{
    return true;
}

#ifdef GOPS_ASKS_FOR_AVX2
/* What clang 14's __builtin_cpu_supports does not know. The answer is kept, because CPUID takes
 * microseconds in a virtual machine. Threads that race here store the same answer. */
enum { ASKED = 1, HAS_F16C = 2, HAS_AVX_VNNI = 4, HAS_BF16 = 8, HAS_AMX = 16 };

static bool has(int feature)
{
    enum { AVX_VNNI = 1 << 4, AVX512_BF16 = 1 << 5 }; /* of EAX in leaf 7, 1 */
    enum {
        AMX = 1 << 24 /* tiles */ | 1 << 25 /* int8 */ | 1 << 22 /* bf16 */
    };                                                           /* of EDX in 7, 0 */
    static atomic_int known;
    int answer = atomic_load_explicit(&known, memory_order_relaxed);
    if (answer == 0) {
        unsigned a, b, c, d;
        answer = ASKED;
        if (__get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C) != 0) {
            answer |= HAS_F16C;
        }
        if (__get_cpuid_count(7, 1, &a, &b, &c, &d)) {
            answer |= (a & AVX_VNNI) != 0 ? HAS_AVX_VNNI : 0;
            answer |= (a & AVX512_BF16) != 0 ? HAS_BF16 : 0;
        }
        if (__get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & AMX) == AMX) {
            answer |= HAS_AMX;
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

#ifdef GOPS_ASKS_FOR_BF16
static bool runs_avx512bf16(void)
{
    return runs_avx512vbmi() && has(HAS_BF16);
}
#endif

#ifdef GOPS_HAVE_ISA_AMX
/* The kernel is asked, and the products are tried, once; threads that race here do both. */
static bool runs_amx(void)
{
    enum { YES = 1, NO = 2 };
    static atomic_int known;
    int answer = atomic_load_explicit(&known, memory_order_relaxed);
    if (answer == 0) {
        const bool works =
            runs_avx512bf16() && has(HAS_AMX) && gops_amx_permitted() && gops_amx_works_amx();
        answer = works ? YES : NO;
        atomic_store_explicit(&known, answer, memory_order_relaxed);
    }
    return answer == YES;
}
#endif

typedef struct isa_row {
    const gops_kernels *kernels;
    bool (*runs)(void);
    bool only_by_name;
} isa_row;

/* Best last, but for what is never chosen. */
static const isa_row sets[] = {
    {&gops_kernels_portable, runs_always, false},
#ifdef GOPS_HAVE_ISA_AMX_EMULATED
    {&gops_kernels_amx_emulated, runs_always, true},
#endif
#ifdef GOPS_HAVE_ISA_AVX2
    {&gops_kernels_avx2, runs_avx2, false},
#endif
#ifdef GOPS_HAVE_ISA_AVX2VNNI
    {&gops_kernels_avx2vnni, runs_avx2vnni, false},
#endif
#ifdef GOPS_HAVE_ISA_AVX512
    {&gops_kernels_avx512, runs_avx512, false},
#endif
#ifdef GOPS_HAVE_ISA_AVX512VNNI
    {&gops_kernels_avx512vnni, runs_avx512vnni, false},
#endif
#ifdef GOPS_HAVE_ISA_AVX512VBMI
    {&gops_kernels_avx512vbmi, runs_avx512vbmi, false},
#endif
#ifdef GOPS_HAVE_ISA_AVX512BF16
    {&gops_kernels_avx512bf16, runs_avx512bf16, false},
#endif
#ifdef GOPS_HAVE_ISA_AMX
    {&gops_kernels_amx, runs_amx, false},
#endif
};

enum { SETS = sizeof sets / sizeof sets[0] };

const gops_kernels *gops_kernels_select(void)
{
    const char *wanted = getenv("GROUPOPS_ISA");
    for (int i = SETS - 1; i >= 0; i--) {
        const bool any = wanted == NULL || wanted[0] == '\0';
        const bool fits = any ? !sets[i].only_by_name : strcmp(wanted, sets[i].kernels->isa) == 0;
        if (fits && sets[i].runs()) {
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
