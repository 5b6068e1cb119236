/*
 * implicit_store.inc.h: the first values of a tile's sums, and what is done with them at last.
 *
 * Parameters: C, LANES and NAME of isa/each_compute.inc.h; the vector of isa/vectors.inc.h, as
 * `vector`; GOPS_MAX_NR
 */
#include "post_ops/epilogue.inc.h"

#define clamp NAME(clamp)
#define add_epilogue NAME(add_epilogue)
#define start_tile NAME(start_tile)
#define store_tile NAME(store_tile)

/* The tile computes complete sums, which begin with 0, or adds to those in memory at last. */
GOPS_INLINE void start_tile(const gops_tile_work *work, const int vectors, const int nr,
                            const bool channels_form, vector *sum)
{
    (void)work;
    (void)channels_form;
    GOPS_UNROLL
    for (int i = 0; i < vectors * nr; i++) {
        sum[i] = (vector){0};
    }
}

/* Applies the epilogue. The lanes of a vector are channels in the channels form; in the pixels form
 * they are of one channel. Only the pixels form has a residual. */
GOPS_INLINE void add_epilogue(const gops_tile_work *work, const int row, const int vectors,
                              const int nr, const bool channels_form, const bool adds_residual,
                              vector *sum)
{
    const C *bounds = work->bounds, *bias = work->bias, *residual = work->residual;
    const vector low = broadcast(bounds[0]), high = broadcast(bounds[1]);
    GOPS_UNROLL
    for (int i = 0; i < vectors; i++) {
        const vector add =
            channels_form ? *(const vector *)(bias + i * LANES) : broadcast(bias[row + i]);
        GOPS_UNROLL
        for (int j = 0; j < nr; j++) {
            vector value = sum[i * nr + j] + add;
            if (adds_residual) {
                value +=
                    *(const vector *)(residual + (row + i) * work->sums_ld + work->sum_offsets[j]);
            }
            sum[i * nr + j] = clamp(value, low, high);
        }
    }
}

GOPS_INLINE void store_tile(const gops_tile_work *work, const int row, const int vectors,
                            const int nr, const int64_t step, const bool channels_form, vector *sum)
{
    C *to[GOPS_MAX_NR];
    GOPS_UNROLL
    for (int j = 0; j < nr; j++) {
        to[j] = (C *)work->sums + work->sum_offsets[j] + row * step;
    }
    if (work->accumulate) {
        GOPS_UNROLL
        for (int j = 0; j < nr; j++) {
            GOPS_UNROLL
            for (int i = 0; i < vectors; i++) {
                sum[i * nr + j] += *(const vector *)(to[j] + i * step);
            }
        }
    }
    if (work->bounds != NULL && work->residual != NULL && !channels_form) {
        add_epilogue(work, row, vectors, nr, channels_form, true, sum);
    } else if (work->bounds != NULL) {
        add_epilogue(work, row, vectors, nr, channels_form, false, sum);
    }
    GOPS_UNROLL
    for (int j = 0; j < nr; j++) {
        GOPS_UNROLL
        for (int i = 0; i < vectors; i++) {
            *(vector *)(to[j] + i * step) = sum[i * nr + j];
        }
    }
}

#undef start_tile
#undef store_tile
