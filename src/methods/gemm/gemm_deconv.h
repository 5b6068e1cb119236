/* gemm_deconv.h: what planning and running GEMM and col2im share; gemm_deconv.c. */
#ifndef GOPS_GEMM_DECONV_H
#define GOPS_GEMM_DECONV_H

#include "methods/gemm/gemm_kernels.h"
#include "plan/plan.h"

#include <assert.h>

typedef struct gops_gemm_deconv_parameters {
    gops_scatter scatter; /* its boxes: the whole tensors */
    int64_t channels;     /* of a block */
    int64_t channel_blocks;
    int64_t columns; /* of a block */
    int64_t depth;   /* of C_IN in one GEMM */
    int32_t cut;     /* the axis that bands cut */
    int32_t banded;
    int64_t band; /* outputs of that axis in a band */
    int64_t bands;
    int64_t band_pixels; /* the most of one channel in a band */
    int in_place;        /* the sums grow in the output */
    int64_t data_from;   /* in the workspace: converted data, behind the columns */
    int64_t sums_from;   /* the sums, behind those */
} gops_gemm_deconv_parameters;

static_assert(sizeof(gops_gemm_deconv_parameters) <= GOPS_PARAMETER_BYTES,
              "parameters outgrow the plan's room");

static inline const gops_gemm_deconv_parameters *gops_gemm_deconv_read(const gops_plan *plan)
{
    return (const gops_gemm_deconv_parameters *)(const void *)plan->parameters.bytes;
}

/* gemm_deconv_run.c */
void gops_gemm_deconv_run(const gops_plan *plan, const gops_job *job, int64_t item,
                          void *workspace);

#endif
