/* norm.isa.c: norm.inc.h for each floating point type. */
#include "methods/norm/norm.h"

#include "base/checked.h"
#include "isa/vector.h"

#include <math.h>
#include <string.h>

enum {
    GOPS_NORM_LANES = 32, /* four AVX-512 vectors of double: enough chains to hide the additions */
    GOPS_NORM_BLOCK = 4096, /* of f64 elements fill the smallest first level cache */
};

#define EACH_TYPE "methods/norm/norm.inc.h"
#include "types/each_type.inc.h"

#define MEASURE(name) [GOPS_ROW_##name] = name##_norm_measure,
#define APPLY(name) [GOPS_ROW_##name] = name##_norm_apply,
#define APPLY_UNROUNDED(name) [GOPS_ROW_##name] = name##_norm_apply_unrounded,
const struct gops_norm_kernels GOPS_ISA_NAME(gops_norm_kernels) = {
    .measure = {GOPS_FLOAT_ROWS(MEASURE)},
    .apply = {GOPS_FLOAT_ROWS(APPLY)},
    .apply_unrounded = {GOPS_FLOAT_ROWS(APPLY_UNROUNDED)},
};
