/* Wants C, LANES, EVEN and EVEN_ODD (lanes.h) and NAME(symbol); takes them away. */
/*
 * pointwise.inc.h: the tiles of pointwise.h.
 *
 * For each k a tile of B channels by V vectors loads V vectors of pixels and broadcasts B weights
 * for B * V multiplications: 11 loads for 24, where two of each can begin in a cycle, so that it is
 * the multiplications that take the time even where each vector of pixels lies in two cache lines.
 * With few input channels what begins and ends a tile counts as much. So one call makes a column of
 * tiles, whose pixels stay in the first level cache, and a tile writes its sums where they belong,
 * with what is fused added to them: the processor writes them while the next tile multiplies.
 */

typedef C NAME(vector)
    __attribute__((vector_size(LANES * sizeof(C)), aligned(sizeof(C)), may_alias));

/* The channels of a tile, for an odd pixel; less of them have no meaning in the lanes beyond. */
typedef C NAME(column) __attribute__((vector_size(GOPS_POINTWISE_CHANNELS * sizeof(C)),
                                      aligned(sizeof(C)), may_alias));

static inline NAME(vector) NAME(spread)(C value)
{
    return value - (NAME(vector)){0};
}

#include "post_ops/epilogue.inc.h"

/* The first `count` lanes of a vector, less than all. */
static inline __attribute__((always_inline)) NAME(vector)
    NAME(load_first)(const C *from, int64_t count)
{
#ifdef GOPS_LOAD_FIRST
    return GOPS_LOAD_FIRST(from, count);
#else
    NAME(vector) value = {0};
    memcpy(&value, from, (size_t)count * sizeof(C));
    return value;
#endif
}

static inline __attribute__((always_inline)) void NAME(store_first)(C *to, int64_t count,
                                                                    NAME(vector) value)
{
#ifdef GOPS_STORE_FIRST
    GOPS_STORE_FIRST(to, count, value);
#else
    memcpy(to, &value, (size_t)count * sizeof(C));
#endif
}

/* What is fused, on complete sums of channels from `bias` on. */
static inline __attribute__((always_inline)) void NAME(fuse)(const gops_pointwise_work *work,
                                                             const int channels, const int vectors,
                                                             const C *bias, const C *residual,
                                                             NAME(vector) * sum)
{
    const C *bounds = work->bounds;
    const NAME(vector) low = NAME(spread)(bounds[0]), high = NAME(spread)(bounds[1]);
    const int64_t last = work->count - (vectors - 1) * LANES;
    GOPS_UNROLL for (int i = 0; i < channels; i++)
    {
        const NAME(vector) add = NAME(spread)(bias[i * work->bias_step]);
        GOPS_UNROLL for (int j = 0; j < vectors; j++)
        {
            NAME(vector) value = sum[i * vectors + j] + add;
            if (residual != NULL) {
                const C *from = residual + i * work->output_ld + j * LANES;
                value += j < vectors - 1 || last >= LANES ? *(const NAME(vector) *)from
                                                          : NAME(load_first)(from, last);
            }
            sum[i * vectors + j] = NAME(clamp)(value, low, high);
        }
    }
}

/* Complete sums to the output. */
static inline __attribute__((always_inline)) void NAME(put)(const gops_pointwise_work *work,
                                                            const int channels, const int vectors,
                                                            C *output, const NAME(vector) * sum)
{
    const int64_t last = work->count - (vectors - 1) * LANES;
    GOPS_UNROLL for (int i = 0; i < channels; i++, output += work->output_ld)
    {
        GOPS_UNROLL for (int j = 0; j < vectors - 1; j++)
        {
            *(NAME(vector) *)(output + j * LANES) = sum[i * vectors + j];
        }
        if (last >= LANES) {
            *(NAME(vector) *)(output + (vectors - 1) * LANES) = sum[i * vectors + vectors - 1];
        } else {
            NAME(store_first)(output + (vectors - 1) * LANES, last, sum[i * vectors + vectors - 1]);
        }
    }
}

/* The complete sums of an odd pixel, with what is fused. */
static inline __attribute__((always_inline)) void NAME(put_column)(const gops_pointwise_work *work,
                                                                   const int channels, C *output,
                                                                   const C *bias, const C *residual,
                                                                   const NAME(column) * sum)
{
    const C *bounds = work->bounds;
    GOPS_UNROLL for (int i = 0; i < channels; i++)
    {
        C value = (*sum)[i];
        if (bounds != NULL) {
            value += bias[i * work->bias_step];
            value += residual != NULL ? residual[i * work->output_ld] : 0;
            value = value < bounds[0] ? bounds[0] : value;
            value = value > bounds[1] ? bounds[1] : value;
        }
        output[i * work->output_ld] = value;
    }
}

static inline __attribute__((always_inline)) void
NAME(tile)(const gops_pointwise_work *work, const int channels, const int vectors, const int odd)
{
    const int64_t ld = work->data_ld;
    const C *weights = work->weights, *bias = work->bias, *residual = work->residual;
    C *kept = work->sums, *output = work->output;
    for (int64_t block = work->blocks; block > 0; block--) {
        NAME(vector) sum[GOPS_POINTWISE_CHANNELS * GOPS_POINTWISE_VECTORS];
        NAME(column) columns[GOPS_POINTWISE_ODD + 1];
        const C *x = work->data;
        /* A line of each k of the next panel for each of the first blocks; then weights. */
        const int64_t line = work->blocks - block;
        const int fetches = work->next != NULL && line <= vectors;
        const C *next = fetches ? (const C *)work->next + line * LANES
                                : weights + GOPS_POINTWISE_AHEAD / sizeof(C);
        const int64_t next_step = fetches ? ld : channels;
        GOPS_UNROLL for (int i = 0; i < channels * vectors; i++)
        {
            sum[i] =
                work->accumulate ? *(const NAME(vector) *)(kept + i * LANES) : (NAME(vector)){0};
        }
        C *const kept_columns = kept + channels * vectors * LANES;
        GOPS_UNROLL for (int i = 0; i < odd; i++)
        {
            columns[i] = work->accumulate
                             ? *(const NAME(column) *)(kept_columns + i * GOPS_POINTWISE_CHANNELS)
                             : (NAME(column)){0};
        }
        for (int64_t k = work->depth; k > 0; k--, x += ld, next += next_step, weights += channels) {
            NAME(vector) pixels[GOPS_POINTWISE_VECTORS];
            __builtin_prefetch(next, 0, 2);
            GOPS_UNROLL for (int j = 0; j < vectors; j++)
            {
                pixels[j] = *(const NAME(vector) *)(x + j * LANES);
                GOPS_IN_REGISTER(pixels[j]);
            }
            GOPS_UNROLL for (int i = 0; i < channels; i++)
            {
                NAME(vector) weight = NAME(spread)(weights[i]);
                GOPS_IN_REGISTER(weight);
                GOPS_UNROLL for (int j = 0; j < vectors; j++)
                {
                    sum[i * vectors + j] += pixels[j] * weight;
                }
            }
            GOPS_UNROLL for (int i = 0; i < odd; i++)
            {
                const NAME(column) pixel = x[vectors * LANES + i] - (NAME(column)){0};
                columns[i] += pixel * *(const NAME(column) *)weights;
            }
        }
        if (output == NULL) {
            GOPS_UNROLL for (int i = 0; i < channels * vectors; i++)
            {
                *(NAME(vector) *)(kept + i * LANES) = sum[i];
            }
            GOPS_UNROLL for (int i = 0; i < odd; i++)
            {
                *(NAME(column) *)(kept_columns + i * GOPS_POINTWISE_CHANNELS) = columns[i];
            }
            kept = kept_columns + odd * GOPS_POINTWISE_CHANNELS;
            continue;
        }
        GOPS_UNROLL for (int i = 0; i < odd; i++)
        {
            const int at = vectors * LANES + i;
            NAME(put_column)
            (work, channels, output + at, bias, residual == NULL ? NULL : residual + at,
             &columns[i]);
        }
        if (work->bounds != NULL) {
            NAME(fuse)(work, channels, vectors, bias, residual, sum);
            bias += channels * work->bias_step;
            residual = residual == NULL ? NULL : residual + channels * work->output_ld;
        }
        NAME(put)(work, channels, vectors, output, sum);
        kept = kept_columns + odd * GOPS_POINTWISE_CHANNELS;
        output += channels * work->output_ld;
    }
}

static void NAME(gather)(void *to, int64_t vectors, const void *from, int64_t from_ld,
                         int64_t depth, int64_t count)
{
    const int64_t whole = count / LANES, rest = count % LANES;
    const C *row = from;
    C *next = to;
    for (int64_t k = 0; k < depth; k++, row += from_ld, next += vectors * LANES) {
        for (int64_t j = 0; j < vectors; j++) {
            NAME(vector) values = {0};
            if (j < whole) {
                values = *(const NAME(vector) *)(row + j * LANES);
            } else if (j == whole && rest > 0) {
                values = NAME(load_first)(row + j * LANES, rest);
            }
            *(NAME(vector) *)(next + j * LANES) = values;
        }
    }
}

/* from[0], from[step] ... to the first `count` lanes, all of them at most. */
static inline __attribute__((always_inline)) void NAME(pick_vector)(C *to, const C *from,
                                                                    int64_t step, int64_t count)
{
    if (step == 2 && count == LANES) {
        /* The row may end with the last of them. */
        const NAME(vector) low = *(const NAME(vector) *)from;
        const NAME(vector) high = *(const NAME(vector) *)(from + LANES - 1);
        *(NAME(vector) *)to = __builtin_shufflevector(low, high, EVEN_ODD);
        return;
    }
#ifdef GOPS_LOAD_FIRST
    if (step == 2) {
        const int64_t values = 2 * count - 1;
        const NAME(vector) low =
            values < LANES ? NAME(load_first)(from, values) : *(const NAME(vector) *)from;
        const NAME(vector) high =
            values > LANES ? NAME(load_first)(from + LANES, values - LANES) : (NAME(vector)){0};
        *(NAME(vector) *)to = __builtin_shufflevector(low, high, EVEN);
        return;
    }
#endif
    for (int64_t i = 0; i < count; i++) {
        to[i] = from[i * step];
    }
}

static void NAME(pick)(void *to, const gops_pointwise_panel *panel, const void *from,
                       int64_t from_ld, int64_t depth)
{
    const int64_t step = panel->step;
    const C *plane = from;
    C *row = to;
    for (int64_t k = 0; k < depth; k++, plane += from_ld, row += panel->ld) {
        C *next = row;
        /* The tiles multiply what is beyond the last pixel too: what memory happens to hold there
         * could be denormals, which are slow, or raise a floating point exception. */
        *(NAME(vector) *)(row + panel->ld - LANES) = (NAME(vector)){0};
        for (int64_t s = 0; s < panel->count; s++) {
            const C *at = plane + panel->segments[s].from;
            for (int64_t left = panel->segments[s].count; left > 0;) {
                const int64_t count = left < LANES ? left : LANES;
                NAME(pick_vector)(next, at, step, count);
                next += count;
                at += count * step;
                left -= count;
            }
        }
    }
}

#define TILE(channels, vectors, odd)                                                               \
    static void NAME(tile_##channels##x##vectors##_##odd)(const gops_pointwise_work *work)         \
    {                                                                                              \
        NAME(tile)(work, channels, vectors, odd);                                                  \
    }
GOPS_POINTWISE_TILES(TILE)
#undef TILE
#define TILE(channels, vectors, odd) NAME(tile_##channels##x##vectors##_##odd),
static gops_pointwise_run_fn *const NAME(tile_list)[] = {GOPS_POINTWISE_TILES(TILE)};
#undef TILE
static const gops_pointwise NAME(pointwise) = {LANES,
                                               GOPS_POINTWISE_CHANNELS,
                                               GOPS_POINTWISE_VECTORS,
                                               GOPS_POINTWISE_ODD,
                                               NAME(tile_list),
                                               NAME(gather),
                                               NAME(pick)};

#undef GOPS_FIRST
#undef GOPS_LOAD_FIRST
#undef GOPS_STORE_FIRST
#undef C
#undef EVEN
#undef EVEN_ODD
#undef LANES
#undef NAME
