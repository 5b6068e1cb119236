#include "blas_cores.h"

#include <stddef.h>
#include <string.h>

#ifdef __x86_64__
/* __builtin_cpu_supports takes nothing but literals. */
#define LACKS(feature) (__builtin_cpu_supports(feature) ? NULL : feature)

static const char *first(const char *a, const char *b)
{
    return a != NULL ? a : b;
}

gops_test_core gops_test_core_at(const char *blas, int index)
{
    const char *avx = LACKS("avx"), *fma = first(LACKS("avx2"), LACKS("fma"));
    const char *avx512 = first(first(LACKS("avx512f"), LACKS("avx512dq")),
                               first(LACKS("avx512bw"), LACKS("avx512vl")));
    const gops_test_core cores[] = {
        {"Prescott", LACKS("sse3")}, {"Nehalem", LACKS("sse4.2")},
        {"Sandybridge", avx},        {"Haswell", first(avx, fma)},
        {"Zen", first(avx, fma)},    {"SkylakeX", first(fma, avx512)},
    };
    const int count = sizeof cores / sizeof cores[0];
    const int chooses = strstr(blas, "OpenBLAS") != NULL && strstr(blas, "DYNAMIC_ARCH") != NULL;
    return index < count && chooses ? cores[index] : (gops_test_core){NULL, NULL};
}
#else
gops_test_core gops_test_core_at(const char *blas, int index)
{
    (void)blas, (void)index;
    return (gops_test_core){NULL, NULL};
}
#endif
