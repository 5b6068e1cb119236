/* bits.h: masks of 64 bits, such as those of the lanes of a register. */
#ifndef GOPS_ISA_BITS_H
#define GOPS_ISA_BITS_H

#include "isa/register.h"

#include <stdint.h>

/* Bits begin to end - 1 of 64; both may lie outside of them. */
GOPS_INLINE uint64_t gops_bits_between(int64_t begin, int64_t end)
{
    const uint64_t all = ~UINT64_C(0);
    const uint64_t below = end >= 64 ? all : end <= 0 ? 0 : all >> (64 - end);
    return begin <= 0 ? below : begin >= 64 ? 0 : below & all << begin;
}

#endif
