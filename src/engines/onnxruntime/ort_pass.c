/* ort_pass.c: passes over planes of f32, by AVX2 where the processor has it. */
#include "ort_pass.h"

#include <math.h>
#include <string.h>

enum { Y, X };

#define TARGET
#define NAME(symbol) plain_##symbol
#include "ort_pass.inc.h"

/* Without fused multiply-add, so that the bits are the same. */
#ifdef __x86_64__
#define TARGET __attribute__((target("avx2")))
#define NAME(symbol) avx2_##symbol
#include "ort_pass.inc.h"
#endif

void gops_ort_pass_run(const gops_ort_pass *pass, const gops_ort_pass_operands *operands,
                       int64_t first, int64_t last)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2")) {
        avx2_run(pass, operands, first, last);
        return;
    }
#endif
    plain_run(pass, operands, first, last);
}
