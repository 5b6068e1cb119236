/* gemm.c: calls the GEMM of a product's compute type. */
#include "methods/gemm/gemm.h"

void gops_gemm_run(const gops_gemm *gemm, const gops_kernels *kernels, gops_compute compute,
                   const gops_product *p)
{
    if (compute == GOPS_COMPUTE_F32) {
        gemm->sgemm(gemm->context, p->m, p->n, p->k, p->a, p->lda, p->b, p->ldb,
                    p->accumulate ? 1.0f : 0.0f, p->c, p->ldc);
    } else if (compute == GOPS_COMPUTE_F64) {
        gemm->dgemm(gemm->context, p->m, p->n, p->k, p->a, p->lda, p->b, p->ldb,
                    p->accumulate ? 1.0 : 0.0, p->c, p->ldc);
    } else {
        kernels->gemm->integer[compute](p->m, p->n, p->k, p->a, p->lda, p->b, p->ldb, p->accumulate,
                                        p->c, p->ldc);
    }
}
