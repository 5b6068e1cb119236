/* gemm_kernels.h: what gemm has for each instruction set. */
#ifndef GOPS_GEMM_KERNELS_H
#define GOPS_GEMM_KERNELS_H

#include "methods/gemm/integer_gemm.h"
#include "methods/gemm/scatter.h"
#include "methods/gemm/window.h"
#include "types/types.h"

/* Writes a block of the column matrix of `data`, one group of one image, to `columns`;
 * im2col.inc.h. */
typedef void gops_im2col_fn(const gops_window *window, const gops_columns *block, const void *data,
                            void *columns);

struct gops_gemm_kernels {
    /* By gops_type_row.index. */
    gops_im2col_fn *const *im2col;
    /* By compute type: adds a block of the column matrix to the output; col2im.inc.h. */
    gops_col2im_fn *const *col2im;
    /* By compute type, of integers alone: the matrix product; integer_gemm.inc.h. */
    gops_integer_gemm_fn *const *integer;
};

#ifdef GOPS_ISA
extern gops_im2col_fn *const GOPS_ISA_NAME(gops_im2col_table)[GOPS_ROWS];
extern gops_col2im_fn *const GOPS_ISA_NAME(gops_col2im_table)[GOPS_COMPUTES];
extern gops_integer_gemm_fn *const GOPS_ISA_NAME(gops_integer_gemm_table)[GOPS_COMPUTES];
#endif

#endif
