/* depthwise.isa.c: the kernels of depthwise/rows and depthwise/blocked for each compute type. */
#include "methods/depthwise/depthwise.h"

#include "base/checked.h"
#include "isa/lanes.h"
#include "isa/register.h"
#include "isa/vector.h"

#include <string.h>

enum {
    /* The largest register tiles of rows: MR rows, NR vectors. */
    MAX_MR = 7,
    MAX_NR = 8,
    /* The largest register tile of blocked: 1 x 14 pixels. */
    MAX_PIXELS = 14,
};

#define EACH_INTEGER
#define EACH_COMPUTE "methods/depthwise/rows/depthwise_rows.inc.h"
#include "isa/each_compute.inc.h"
#undef EACH_COMPUTE
#define EACH_COMPUTE "methods/depthwise/rows/depthwise_copy.inc.h"
#include "isa/each_compute.inc.h"
#undef EACH_COMPUTE
#define EACH_COMPUTE "methods/depthwise/blocked/depthwise_blocked.inc.h"
#include "isa/each_compute.inc.h"

#undef EACH_COMPUTE

#if defined(__AVX2__)
#define EACH_COMPUTE "methods/depthwise/blocked/depthwise_plane.inc.h"
#define C float
#define LANES LANES_OF_4
#define NAME(symbol) f32_##symbol
#include "isa/one_compute.inc.h"
#define GOPS_FIND_PLANE .find_plane = f32_find_plane
#else
#define GOPS_FIND_PLANE .find_plane = NULL
#endif

#define GOPS_DEPTHWISE_KERNELS(name, ...)                                                          \
    {                                                                                              \
        .rows = name##_rows, .copy = name##_copy, .interleave = name##_interleave,                 \
        .blocked_rows = name##_blocked_rows, .to_blocked = name##_to_blocked,                      \
        .from_blocked = name##_from_blocked, __VA_ARGS__                                           \
    }

static const gops_depthwise_kernels rows[GOPS_COMPUTES] = {
    [GOPS_COMPUTE_F32] = GOPS_DEPTHWISE_KERNELS(f32, GOPS_FIND_PLANE),
    [GOPS_COMPUTE_F64] = GOPS_DEPTHWISE_KERNELS(f64, .find_plane = NULL),
    [GOPS_COMPUTE_U16] = GOPS_DEPTHWISE_KERNELS(u16, .find_plane = NULL),
    [GOPS_COMPUTE_U32] = GOPS_DEPTHWISE_KERNELS(u32, .find_plane = NULL),
    [GOPS_COMPUTE_U64] = GOPS_DEPTHWISE_KERNELS(u64, .find_plane = NULL),
};

const struct gops_depthwise_forms GOPS_ISA_NAME(gops_depthwise_forms) = {
    .rows = rows,
    .masked = GOPS_ISA_NAME(gops_depthwise_masked_table),
#if defined(__AVX512F__)
    .masked_any_width = true,
#endif
    .shuffle = GOPS_ISA_NAME(gops_depthwise_shuffle_table),
};
