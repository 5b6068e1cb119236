/*
 * isa/vectors.inc.h: a vector of the compute type, and what its kernels do with it.
 *
 * Parameters: C, LANES, NAME, REGISTER, MASK and INTRINSIC of each_compute.inc.h
 */
typedef C NAME(vector)
    __attribute__((vector_size(LANES * sizeof(C)), aligned(sizeof(C)), may_alias));

#define vector NAME(vector)
#define broadcast NAME(broadcast)

static inline vector broadcast(C value)
{
    return value - (vector){0};
}

#ifdef INTRINSIC
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
