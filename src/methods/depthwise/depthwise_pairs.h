/* depthwise_pairs.h: the kernels of depthwise/pairs, the interface between planning and what is
 * compiled once for each instruction set. depthwise_pairs.vnni.isa.c derives them. */
#ifndef GOPS_DEPTHWISE_PAIRS_H
#define GOPS_DEPTHWISE_PAIRS_H

#include "isa/isa.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    /* The kernels compute blocks of so many outputs, the last one whole. */
    GOPS_DEPTHWISE_PAIRS_BLOCK = 64,
};

/*     sums[i] = sum over p: weights[p] * (data[i * step + offsets[p]], and the next one)
 *
 * for 0 <= i < count; a weight is two of i16. */
typedef struct gops_depthwise_pairs_call {
    const int16_t *data;
    const int64_t *offsets;
    const int32_t *weights;
    int64_t pairs, count;
    int64_t step; /* 1 or 2 */
    uint32_t *sums;
} gops_depthwise_pairs_call;

struct gops_depthwise_pairs {
    int64_t lanes;
    void (*run)(const gops_depthwise_pairs_call *call);
    /* to[i] = from[i] - zero, of u8 or i8. */
    void (*widen)(int16_t *to, const void *from, int64_t count, int32_t zero, bool is_signed);
};

#ifdef GOPS_ISA
extern const struct gops_depthwise_pairs GOPS_ISA_NAME(gops_depthwise_pairs);
#endif

#endif
