/*
 * isa/vectors.inc.h: a vector of the compute type, and what its kernels do with it.
 *
 * Parameters: C, LANES, NAME, REGISTER, MASK and INTRINSIC of each_compute.inc.h
 */
#include "base/checked.h"
#include "isa/register.h"

typedef C NAME(vector)
    __attribute__((vector_size(LANES * sizeof(C)), aligned(sizeof(C)), may_alias));

#define vector NAME(vector)
#define broadcast NAME(broadcast)

static inline vector broadcast(C value)
{
    return value - (vector){0};
}

#ifdef INTRINSIC
/* The mask of lanes begin to end - 1 of a vector; both may lie outside of it. */
GOPS_INLINE unsigned NAME(lane_mask)(int64_t begin, int64_t end)
{
    return ((1u << gops_clamp(end, 0, LANES)) - 1) & ~((1u << gops_clamp(begin, 0, LANES)) - 1);
}

/* Loads the lanes of a mask, the others are 0; stores the lanes of a mask. */
GOPS_INLINE vector NAME(load_masked)(const C *from, unsigned mask)
{
    return (vector)INTRINSIC(maskz_loadu)((MASK)mask, from);
}

GOPS_INLINE void NAME(store_masked)(C *to, unsigned mask, vector value)
{
    INTRINSIC(mask_storeu)(to, (MASK)mask, (REGISTER)value);
}
#endif
