/* Wants C, LANES, NAME(symbol), and UNROLL, which unrolls the loop that follows it. */
/*
 * implicit_tile.inc.h: the two register tiles of implicit_tile.h.
 *
 * Without tiles the product reads
 *
 *     for each spot, channel, k:  sum[channel][spot] += weight[k][channel] * frame[spot +
 * offset[k]]
 *
 * two loads for each multiplication. A tile of NB channels by MV spots does the same for NB * MV
 * sums at once, so that each step of k costs NB + MV loads for NB * MV multiplications. The sums
 * must stay in registers: NB and MV are constants where these functions are inlined, every loop
 * over them is unrolled, and the arrays dissolve. What the offset table replaces is im2col: row k
 * of the column matrix is the frame itself, shifted by offsets[k].
 *
 * One vector of the tile is `LANES` pixels (pixels form) or channels (channels form).
 */

typedef C NAME(vector)
    __attribute__((vector_size(LANES * sizeof(C)), aligned(sizeof(C)), may_alias));

static inline NAME(vector) NAME(spread)(C value)
{
    return value - (NAME(vector)){0};
}

#include "post_ops/epilogue.inc.h"

/* What is fused, on sums that are complete. A vector of sums has a channel in each lane, or all of
 * its lanes are of one channel. */
static inline __attribute__((always_inline)) void NAME(trim)(const gops_tile_work *work,
                                                             const int vectors, const int spots,
                                                             const int channel_lanes,
                                                             NAME(vector) * sum)
{
    const C *bounds = work->bounds, *bias = work->bias;
    const NAME(vector) low = NAME(spread)(bounds[0]), high = NAME(spread)(bounds[1]);
    UNROLL for (int i = 0; i < vectors; i++)
    {
        const NAME(vector) add =
            channel_lanes ? *(const NAME(vector) *)(bias + i * LANES) : NAME(spread)(bias[i]);
        UNROLL for (int j = 0; j < spots; j++)
        {
            sum[i * spots + j] = NAME(epilogue)(sum[i * spots + j], add, low, high);
        }
    }
}

/* The same with a residual. */
static inline __attribute__((always_inline)) void
NAME(trim_residual)(const gops_tile_work *work, const int channels, const int spots,
                    const int64_t step, NAME(vector) * sum)
{
    const C *bounds = work->bounds, *bias = work->bias, *residual = work->residual;
    const NAME(vector) low = NAME(spread)(bounds[0]), high = NAME(spread)(bounds[1]);
    UNROLL for (int i = 0; i < channels; i++, residual += step)
    {
        const NAME(vector) add = NAME(spread)(bias[i]);
        UNROLL for (int j = 0; j < spots; j++)
        {
            sum[i * spots + j] =
                NAME(epilogue)(sum[i * spots + j] + add,
                               *(const NAME(vector) *)(residual + work->places[j]), low, high);
        }
    }
}

/* Vectors of sums to where the tile's work says: from[i * spots + j] to places[j] + i * step. */
static inline __attribute__((always_inline)) void
NAME(put)(const gops_tile_work *work, const int vectors, const int spots, const int64_t step,
          const int channel_lanes, NAME(vector) * from)
{
    C *at[GOPS_MAX_SPOTS];
    UNROLL for (int j = 0; j < spots; j++)
    {
        at[j] = (C *)work->sums + work->places[j];
    }
    if (work->accumulate) {
        UNROLL for (int j = 0; j < spots; j++)
        {
            UNROLL for (int i = 0; i < vectors; i++)
            {
                from[i * spots + j] += *(const NAME(vector) *)(at[j] + i * step);
            }
        }
    }
    if (work->bounds != NULL && work->residual != NULL && !channel_lanes) {
        NAME(trim_residual)(work, vectors, spots, step, from);
    } else if (work->bounds != NULL) {
        NAME(trim)(work, vectors, spots, channel_lanes, from);
    }
    UNROLL for (int j = 0; j < spots; j++)
    {
        UNROLL for (int i = 0; i < vectors; i++)
        {
            *(NAME(vector) *)(at[j] + i * step) = from[i * spots + j];
        }
    }
}

static inline __attribute__((always_inline)) void NAME(pixels)(const gops_tile_work *work,
                                                               const int channels, const int spots)
{
    const C *const frame = work->frame;
    const C *at[GOPS_MAX_SPOTS];
    NAME(vector) sum[GOPS_MAX_SUMS];
    UNROLL for (int j = 0; j < spots; j++)
    {
        at[j] = frame + work->spots[j];
        UNROLL for (int i = 0; i < channels; i++)
        {
            sum[i * spots + j] = (NAME(vector)){0};
        }
    }
    const int64_t *offsets = work->offsets;
    const C *weights = work->weights;
    for (int64_t k = work->depth; k > 0; k--, offsets++, weights += channels) {
        NAME(vector) x[GOPS_MAX_SPOTS];
        UNROLL for (int j = 0; j < spots; j++)
        {
            x[j] = *(const NAME(vector) *)(at[j] + *offsets);
        }
        UNROLL for (int i = 0; i < channels; i++)
        {
            const NAME(vector) weight = NAME(spread)(weights[i]);
            UNROLL for (int j = 0; j < spots; j++)
            {
                sum[i * spots + j] += x[j] * weight;
            }
        }
    }
    NAME(put)(work, channels, spots, work->sums_ld, 0, sum);
}

/* All steps of k. Where `runs` is not 0 the tile is two runs of neighbouring pixels, one after each
 * other half, which need two pointers instead of one for each pixel. */
static inline __attribute__((always_inline)) void
NAME(channel_steps)(const gops_tile_work *work, const int vectors, const int spots, const int runs,
                    NAME(vector) * sum)
{
    const C *at[GOPS_MAX_SPOTS];
    const int half = (spots + 1) / 2;
    UNROLL for (int j = 0; j < spots; j++)
    {
        at[j] = (const C *)work->frame + work->spots[j];
    }
    const int64_t *offsets = work->offsets;
    const C *weights = work->weights;
    for (int64_t k = work->depth; k > 0; k--, offsets++, weights += vectors * LANES) {
        NAME(vector) weight[GOPS_MAX_VECTORS];
        UNROLL for (int i = 0; i < vectors; i++)
        {
            weight[i] = *(const NAME(vector) *)(weights + i * LANES);
        }
        UNROLL for (int j = 0; j < spots; j++)
        {
            const C *from = !runs ? at[j] : j < half ? at[0] + j : at[half] + (j - half);
            const NAME(vector) x = NAME(spread)(from[*offsets]);
            UNROLL for (int i = 0; i < vectors; i++)
            {
                sum[i * spots + j] += x * weight[i];
            }
        }
    }
}

static inline __attribute__((always_inline)) void NAME(channels)(const gops_tile_work *work,
                                                                 const int vectors, const int spots)
{
    NAME(vector) sum[GOPS_MAX_SUMS];
    const int half = (spots + 1) / 2;
    const int64_t *at = work->spots;
    UNROLL for (int i = 0; i < vectors * spots; i++)
    {
        sum[i] = (NAME(vector)){0};
    }
    if (spots > 2 && at[half - 1] - at[0] == half - 1 &&
        at[spots - 1] - at[half] == spots - 1 - half) {
        NAME(channel_steps)(work, vectors, spots, 1, sum);
    } else {
        NAME(channel_steps)(work, vectors, spots, 0, sum);
    }
    NAME(put)(work, vectors, spots, LANES, 1, sum);
}
