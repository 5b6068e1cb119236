/* post_ops.isa.c: post_ops.inc.h for each element type. */
#include "post_ops/post_ops.h"

#include "post_ops/libmvec.h"
#include "post_ops/requantize.h"

enum { POST_OPS_BLOCK = 16 }; /* an AVX-512 vector of floats */

#define EACH_TYPE "post_ops/post_ops.inc.h"
#include "types/each_type.inc.h"

#define ENTRY(name) [GOPS_ROW_##name] = name##_post_ops,
const struct gops_post_ops_kernels GOPS_ISA_NAME(gops_post_ops_kernels) = {
    .apply = {GOPS_FLOAT_ROWS(ENTRY) GOPS_INTEGER_ROWS(ENTRY)},
    .requantize = &GOPS_ISA_NAME(gops_requantize_kernels),
};
