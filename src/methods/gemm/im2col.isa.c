/* im2col.isa.c: im2col.inc.h for each element type. */
#include "methods/gemm/gemm_kernels.h"

#define EACH_TYPE "methods/gemm/im2col.inc.h"
#include "types/each_type.inc.h"

#define ENTRY(name, ...) [GOPS_ROW_##name] = name##_im2col,
gops_im2col_fn *const GOPS_ISA_NAME(gops_im2col_table)[GOPS_ROWS] = {GOPS_FLOAT_ROWS(ENTRY)
                                                                         GOPS_INTEGER_ROWS(ENTRY)};
