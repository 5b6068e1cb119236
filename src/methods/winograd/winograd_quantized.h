/* winograd_quantized.h: what the integer forms of Winograd's convolution share; winograd_quantized.c. */
#ifndef GOPS_WINOGRAD_QUANTIZED_H
#define GOPS_WINOGRAD_QUANTIZED_H

#include "methods/implicit/implicit.h"
#include "methods/winograd/winograd_layout.h"

void gops_winograd_pack_quantized(const gops_plan *plan, const void *weights,
                                  const int32_t *zero_points, void *packed);

/* Transforms `count` x `count` taps of a row and an input channel, 2 or 3 an axis, and writes them. */
void gops_winograd_pack_taps(const gops_plan *plan, const gops_winograd_row *row, int64_t channel,
                             const int32_t *taps, int64_t count, void *packed);

/* Transforms the sums of a block of tiles and of rows first to first + count - 1 of its group, and stores
 * them. */
void gops_winograd_store_quantized(const gops_plan *plan, const gops_job *job,
                                   const gops_winograd_block *block, int64_t first, int64_t count,
                                   int64_t vectors, unsigned char *workspace);

/* Positions that are neighbours in a row, and all rows of an item for them. */
typedef struct gops_winograd_positions {
    int64_t element; /* of the output: the first of the item's first channel */
    int64_t y, x, count;
    const void *from; /* [position][ld] */
    int64_t ld;
    /* A row of `count` for each of the item; transposed, one more for each residue along x. */
    unsigned char *scratch;
} gops_winograd_positions;

/* winograd_interleave.c: stores them. */
void gops_winograd_interleave(const gops_implicit_item *item,
                              const gops_winograd_positions *positions);

#endif
