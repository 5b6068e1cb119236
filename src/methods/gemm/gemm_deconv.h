/* gemm_deconv.h: the parameters of GEMM and col2im, which gemm_deconv.c plans. */
#ifndef GOPS_GEMM_DECONV_H
#define GOPS_GEMM_DECONV_H

#include "methods/gemm/gemm_kernels.h"
#include "plan/plan.h"

#include <assert.h>
#include <stdbool.h>

typedef struct gops_gemm_deconv_parameters {
    gops_scatter scatter; /* its boxes are the whole tensors */
    int64_t channels;     /* of a block */
    int64_t channel_blocks;
    int64_t columns;     /* of a block */
    int64_t depth;       /* input channels in one GEMM */
    int32_t cut;         /* the axis along which output tiles are cut */
    bool in_place;       /* the sums are formed in the output */
    int64_t tile_length; /* outputs of axis `cut` in a tile */
    int64_t tiles;
    int64_t tile_pixels; /* outputs of one channel in a tile, at most */
    /* Offsets in the workspace; the columns are at 0. */
    int64_t data_from; /* the converted data */
    int64_t sums_from;
} gops_gemm_deconv_parameters;

static_assert(sizeof(gops_gemm_deconv_parameters) <= GOPS_PARAMETER_BYTES,
              "parameters outgrow the plan's room");

static inline const gops_gemm_deconv_parameters *gops_gemm_deconv_read(const gops_plan *plan)
{
    return gops_read_parameters(plan);
}

/* gemm_deconv_run.c */
void gops_gemm_deconv_run(const gops_plan *plan, const gops_job *job, int64_t item,
                          void *workspace);

#endif
