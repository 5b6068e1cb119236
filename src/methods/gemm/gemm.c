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

const char *gops_gemm_name(gops_compute compute)
{
    static const char *const names[GOPS_COMPUTES] = {
        [GOPS_COMPUTE_F32] = "SGEMM",           [GOPS_COMPUTE_F64] = "DGEMM",
        [GOPS_COMPUTE_U16] = "integer product", [GOPS_COMPUTE_U32] = "integer product",
        [GOPS_COMPUTE_U64] = "integer product",
    };
    return names[compute];
}

void gops_gemm_subtract_zero_points(const gops_plan *plan, const int32_t *zero_points, void *packed)
{
    const int64_t channels = plan->conv.groups * plan->conv.channels_out, run = plan->conv.k;
    for (int64_t o = 0; zero_points != NULL && o < channels; o++) {
        if (zero_points[o] != 0) {
            plan->filter_type->subtract_zero((uint32_t *)packed + o * run, run,
                                             (uint32_t)zero_points[o]);
        }
    }
}
