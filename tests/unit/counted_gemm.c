/* counted_gemm.c: a GEMM that notes what the library asks it for. */
#include "counted_gemm.h"

#include "elements.h"

#include <stddef.h>

static void note(gops_test_products *p, int32_t m, int32_t n, int32_t k, const void *b)
{
    pthread_mutex_lock(&p->lock);
    p->calls++;
    p->multiplications += (int64_t)m * n * k;
    p->m = m;
    p->n = n;
    p->k = k;
    p->b = b;
    if (p->lowest_b == NULL || b < p->lowest_b)
        p->lowest_b = b;
    if (p->highest_b == NULL || b > p->highest_b)
        p->highest_b = b;
    pthread_mutex_unlock(&p->lock);
}

#define PLAIN_GEMM(name, type)                                                                     \
    static void name(void *context, int32_t m, int32_t n, int32_t k, const type *a, int32_t lda,   \
                     const type *b, int32_t ldb, type beta, type *c, int32_t ldc)                  \
    {                                                                                              \
        note(context, m, n, k, b);                                                                 \
        for (int64_t i = 0; i < m; i++)                                                            \
            for (int64_t j = 0; j < n; j++) {                                                      \
                type sum = beta != 0 ? c[i * ldc + j] : 0;                                         \
                for (int64_t l = 0; l < k; l++)                                                    \
                    sum += a[i * lda + l] * b[l * ldb + j];                                        \
                c[i * ldc + j] = sum;                                                              \
            }                                                                                      \
    }
PLAIN_GEMM(plain_sgemm, float)
PLAIN_GEMM(plain_dgemm, double)

gops_gemm gops_test_counted_gemm(gops_test_products *products)
{
    return (gops_gemm){sizeof(gops_gemm), plain_sgemm, plain_dgemm, products};
}

gops_problem gops_test_gemm_conv(gops_type type)
{
    return (gops_problem){.operation = GOPS_PROBLEM_CONV,
                          .data = GOPS_TEST_TENSOR(type, 2, 15, 29, 31),
                          .filter = GOPS_TEST_TENSOR(type, 3, 7, 5, 3, 2),
                          .conv = {.strides = LIST(2, 1), .pads_begin = LIST(1, 0)},
                          .algorithm = "gemm",
                          .threads = 2};
}

gops_problem gops_test_gemm_deconv(gops_type type)
{
    return (gops_problem){.operation = GOPS_PROBLEM_DECONV,
                          .data = GOPS_TEST_TENSOR(type, 2, 15, 11, 13),
                          .filter = GOPS_TEST_TENSOR(type, 3, 5, 7, 3, 2),
                          .deconv = {.strides = LIST(2, 3), .pads_end = LIST(1, 0)},
                          .algorithm = "gemm",
                          .threads = 2};
}
