/* depthwise_pairs.h: the kernels of depthwise/pairs, the interface between planning and what is
 * compiled once for each instruction set. depthwise_pairs.vnni.isa.c derives them. */
#ifndef GOPS_DEPTHWISE_PAIRS_H
#define GOPS_DEPTHWISE_PAIRS_H

#include "isa/isa.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    /* The kernels compute fewer outputs than this beyond the last one. */
    GOPS_DEPTHWISE_PAIRS_BLOCK = 128,
};

/*     sums[i] = start + sum over p: weights[p] * (data[i * step + offsets[p]], and the next one)
 *
 * for 0 <= i < count; a weight is two of i16. With step 1, offsets count from i of an even output,
 * and the odd one after it takes the same data, by other weights. */
typedef struct gops_depthwise_pairs_call {
    const int16_t *data;
    const int64_t *offsets;
    const int32_t *weights; /* [pairs, 2]: of even and of odd outputs; the first ones with step 2 */
    int64_t pairs, count;
    int64_t step; /* 1 or 2 */
    /* With step 1: odd outputs count from their own i, and take the first weights. */
    bool odd_by_itself;
    uint32_t *sums;
    /* So many planes, and how far apart their data are, their sums or codes, their weights, and their
     * elements of `start`, which is NULL for zeros, and of `scale`. */
    int64_t planes, data_apart, outputs_apart, weights_apart, channels_apart;
    const uint32_t *start;
    /* Unless NULL, what becomes of the sums: min(sum * scale, high), rounded, + middle, as u8 not
     * below least; the XOR with flip makes the codes. */
    uint8_t *codes;
    const float *scale;
    float high;
    int16_t middle;
    uint8_t least, flip;
} gops_depthwise_pairs_call;

/* Rows to be copied; steps are between rows. */
typedef struct gops_depthwise_pairs_rows {
    const uint8_t *from;
    void *to;
    int64_t from_step, to_step, rows, columns;
    /* So many planes of rows, and steps between them. */
    int64_t planes, from_plane, to_plane;
    /* Of interleave: column i is at i / ways of row i % ways of those that are `apart`. */
    int64_t ways, apart;
    /* Of widen: to = (from ^ flip) - zero. */
    uint8_t flip;
    int16_t zero;
} gops_depthwise_pairs_rows;

struct gops_depthwise_pairs {
    int64_t lanes;
    void (*run)(const gops_depthwise_pairs_call *call);
    /* Bytes to i16, bytes to bytes. */
    void (*widen)(const gops_depthwise_pairs_rows *rows);
    void (*copy)(const gops_depthwise_pairs_rows *rows);
    void (*interleave)(const gops_depthwise_pairs_rows *rows);
};

#ifdef GOPS_ISA
extern const struct gops_depthwise_pairs GOPS_ISA_NAME(gops_depthwise_pairs);
#endif

#endif
