/* post_ops.isa.c: post_ops.inc.h for each element type. */
#include "post_ops/post_ops.h"

#include "post_ops/requantize.h"

enum { POST_OPS_BLOCK = 1024 }; /* values */

/* The activations of the compute type. */
#define ACTIVATE                                                                                   \
    _Generic((C)0, float                                                                           \
             : GOPS_ISA_NAME(gops_activate_kernels).f32, double                                    \
             : GOPS_ISA_NAME(gops_activate_kernels).f64)

#define EACH_TYPE "post_ops/post_ops.inc.h"
#include "types/each_type.inc.h"

#define ENTRY(name, ...) [GOPS_ROW_##name] = name##_post_ops,
const struct gops_post_ops_kernels GOPS_ISA_NAME(gops_post_ops_kernels) = {
    .apply = {GOPS_FLOAT_ROWS(ENTRY) GOPS_INTEGER_ROWS(ENTRY)},
    .activate = &GOPS_ISA_NAME(gops_activate_kernels),
    .requantize = &GOPS_ISA_NAME(gops_requantize_kernels),
};
