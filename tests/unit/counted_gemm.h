/* counted_gemm.h: a GEMM that notes what the library asks it for, and problems for it. */
#ifndef GROUPOPS_TEST_COUNTED_GEMM_H
#define GROUPOPS_TEST_COUNTED_GEMM_H

#include "problem.h"

#include <groupops/host.h>

#include <pthread.h>
#include <stdint.h>

/* What was asked for. It begins with a lock: {.lock = PTHREAD_MUTEX_INITIALIZER}. */
typedef struct gops_test_products {
    pthread_mutex_t lock;
    int64_t calls;
    int64_t multiplications; /* the sum of m n k */
    int32_t m, n, k;         /* of the last one */
    const void *b;
    const void *lowest_b, *highest_b;
} gops_test_products;

/* Plain loops by the definition in groupops/host.h, which write to *products. */
gops_gemm gops_test_counted_gemm(gops_test_products *products);

/* Problems for the algorithm gemm and two threads. */
gops_problem gops_test_gemm_conv(gops_type type);
gops_problem gops_test_gemm_deconv(gops_type type);

#endif
