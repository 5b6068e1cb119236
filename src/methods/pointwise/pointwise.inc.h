/*
 * pointwise.inc.h: the register tiles of pointwise.h.
 *
 * For each k a tile of MR channels by V vectors loads V vectors of pixels and broadcasts MR
 * weights, for MR * V multiply-adds: 11 loads for 24. As two of each can start in a cycle, the
 * multiplications take the time, even where each vector of pixels lies in two cache lines. With few
 * input channels the beginning and the end of a tile take as long as its loop. So one call computes
 * a column of tiles, whose pixels stay in the first level cache, and a tile applies the epilogue
 * and writes its sums to the output: the processor writes them while the next tile multiplies.
 *
 * Parameters: those of isa/each_compute.inc.h, of which this file itself uses C, LANES, NAME, EVEN
 * and EVEN_ODD; and GOPS_POINTWISE_TILES(TILE), GOPS_POINTWISE_MR, GOPS_POINTWISE_VECTORS and
 * GOPS_POINTWISE_MAX_TAIL, the tiles and their largest sizes (pointwise.isa.c); and those of
 * pointwise_channels.inc.h and pointwise_large.inc.h.
 */
#include "isa/vectors.inc.h"
#include "isa/first_lanes.inc.h"
#include "post_ops/epilogue.inc.h"

#define column NAME(column)
#define load_first NAME(load_first)
#define store_first NAME(store_first)
#define apply_epilogue NAME(apply_epilogue)
#define store_tile NAME(store_tile)
#define store_column NAME(store_column)
#define prefetch_plan NAME(prefetch_plan)
#define plan_prefetch NAME(plan_prefetch)
#define follow NAME(follow)
#define multiply_step NAME(multiply_step)
#define multiply NAME(multiply)
#define load_sums NAME(load_sums)
#define keep_sums NAME(keep_sums)
#define pointwise_tile NAME(pointwise_tile)
#define tile_list NAME(tile_list)
#define copy_rows NAME(copy_rows)
#define gather_vector NAME(gather_vector)
#define gather_rows NAME(gather_rows)
#define pointwise_kernels NAME(pointwise_kernels)
#define clamp NAME(clamp)

/* A tail pixel of MR channels. The lanes after a smaller tile's channels have no meaning. */
typedef C column
    __attribute__((vector_size(GOPS_POINTWISE_MR * sizeof(C)), aligned(sizeof(C)), may_alias));

/* Applies the epilogue to complete sums. `bias` and `residual` are those of the first channel. */
GOPS_INLINE void apply_epilogue(const gops_pointwise_work *work, const int mr, const int vectors,
                                const C *bias, const C *residual, vector *sum)
{
    const C *bounds = work->bounds;
    const vector low = broadcast(bounds[0]), high = broadcast(bounds[1]);
    const int64_t last = work->count - (vectors - 1) * LANES;
    GOPS_UNROLL
    for (int i = 0; i < mr; i++) {
        const vector add = broadcast(bias[i * work->bias_step]);
        GOPS_UNROLL
        for (int j = 0; j < vectors; j++) {
            vector value = sum[i * vectors + j] + add;
            if (residual != NULL) {
                const C *from = residual + i * work->output_ld + j * LANES;
                value += j < vectors - 1 || last >= LANES ? *(const vector *)from
                                                          : load_first(from, last);
            }
            sum[i * vectors + j] = clamp(value, low, high);
        }
    }
}

/* Stores complete sums. */
GOPS_INLINE void store_tile(const gops_pointwise_work *work, const int mr, const int vectors,
                            C *output, const vector *sum)
{
    const int64_t last = work->count - (vectors - 1) * LANES;
    GOPS_UNROLL
    for (int i = 0; i < mr; i++, output += work->output_ld) {
        GOPS_UNROLL
        for (int j = 0; j < vectors - 1; j++) {
            *(vector *)(output + j * LANES) = sum[i * vectors + j];
        }
        if (last >= LANES) {
            *(vector *)(output + (vectors - 1) * LANES) = sum[i * vectors + vectors - 1];
        } else {
            store_first(output + (vectors - 1) * LANES, last, sum[i * vectors + vectors - 1]);
        }
    }
}

/* Applies the epilogue to the complete sums of a tail pixel, and stores them. */
GOPS_INLINE void store_column(const gops_pointwise_work *work, const int mr, C *output,
                              const C *bias, const C *residual, const column *sum)
{
    const C *bounds = work->bounds;
    GOPS_UNROLL
    for (int i = 0; i < mr; i++) {
        C value = (*sum)[i];
        if (bounds != NULL) {
            value += bias[i * work->bias_step];
            if (residual != NULL) {
                value += residual[i * work->output_ld];
            }
            value = value < bounds[0] ? bounds[0] : value;
            value = value > bounds[1] ? bounds[1] : value;
        }
        output[i * work->output_ld] = value;
    }
}

/* What the loop over k prefetches: a line for each k, of two places in turn. */
typedef struct prefetch_plan {
    const C *at, *other;
    int64_t step, other_step;
} prefetch_plan;

/* The first blocks prefetch the next panel, a line of each k, in turn with weights where these are far too: a line has
 * the weights of two k and more. All other blocks prefetch weights. */
GOPS_INLINE prefetch_plan plan_prefetch(const gops_pointwise_work *work, int64_t block,
                                        const C *weights, const int mr, const int vectors)
{
    const int64_t ld = work->next_ld, line = work->far_weights ? block / 2 : block;
    const C *const ahead = weights + GOPS_POINTWISE_PREFETCH_BYTES / sizeof(C);
    if (work->next == NULL || line > vectors) {
        return (prefetch_plan){ahead, ahead + mr, 2 * mr, 2 * mr};
    }
    const C *const next = (const C *)work->next + line * LANES;
    return work->far_weights ? (prefetch_plan){ahead, next + block % 2 * ld, 2 * mr, 2 * ld}
                             : (prefetch_plan){next, next + ld, 2 * ld, 2 * ld};
}

/* To the k that follows. */
GOPS_INLINE prefetch_plan follow(prefetch_plan now)
{
    return (prefetch_plan){now.other, now.at + now.step, now.other_step, now.step};
}

/* Adds the products of one k to the sums. Where `copied` is not NULL, the pixels are copied to it. */
GOPS_INLINE void multiply_step(const C *x, const C *weights, const C *ahead, C *copied,
                               const int mr, const int vectors, const int tail, vector *sum,
                               column *columns)
{
    vector pixels[GOPS_POINTWISE_VECTORS];
    __builtin_prefetch(ahead, 0, 2);
    GOPS_UNROLL
    for (int j = 0; j < vectors; j++) {
        pixels[j] = *(const vector *)(x + j * LANES);
        GOPS_IN_REGISTER(pixels[j]);
    }
    if (copied != NULL) {
        GOPS_UNROLL
        for (int j = 0; j < vectors; j++) {
            *(vector *)(copied + j * LANES) = pixels[j];
        }
        GOPS_UNROLL
        for (int i = vectors * LANES; i < vectors * LANES + tail; i++) {
            copied[i] = x[i];
        }
    }
    GOPS_UNROLL
    for (int i = 0; i < mr; i++) {
        vector weight = broadcast(weights[i]);
        GOPS_IN_REGISTER(weight);
        GOPS_UNROLL
        for (int j = 0; j < vectors; j++) {
            sum[i * vectors + j] += pixels[j] * weight;
        }
    }
    GOPS_UNROLL
    for (int i = 0; i < tail; i++) {
        const column pixel = x[vectors * LANES + i] - (column){0};
        columns[i] += pixel * *(const column *)weights;
    }
}

/* Adds the products of all k to the sums. Where `copied` is not NULL, the panel is copied to it. */
GOPS_INLINE void multiply(const C *x, int64_t ld, const C *weights, int64_t depth,
                          prefetch_plan next, C *copied, const int mr, const int vectors,
                          const int tail, vector *sum, column *columns)
{
    for (int64_t k = depth; k > 0; k--, x += ld, next = follow(next), weights += mr) {
        multiply_step(x, weights, next.at, copied, mr, vectors, tail, sum, columns);
        copied = copied == NULL ? NULL : copied + (vectors + (tail > 0)) * LANES;
    }
}

/* The sums of a tile that are kept: those of its vectors, then those of its columns. */
GOPS_INLINE void load_sums(const C *kept, const bool accumulate, const int mr, const int vectors,
                           const int tail, vector *sum, column *columns)
{
    GOPS_UNROLL
    for (int i = 0; i < mr * vectors; i++) {
        sum[i] = accumulate ? *(const vector *)(kept + i * LANES) : (vector){0};
    }
    kept += mr * vectors * LANES;
    GOPS_UNROLL
    for (int i = 0; i < tail; i++) {
        columns[i] = accumulate ? *(const column *)(kept + i * GOPS_POINTWISE_MR) : (column){0};
    }
}

GOPS_INLINE void keep_sums(C *kept, const int mr, const int vectors, const int tail,
                           const vector *sum, const column *columns)
{
    GOPS_UNROLL
    for (int i = 0; i < mr * vectors; i++) {
        *(vector *)(kept + i * LANES) = sum[i];
    }
    kept += mr * vectors * LANES;
    GOPS_UNROLL
    for (int i = 0; i < tail; i++) {
        *(column *)(kept + i * GOPS_POINTWISE_MR) = columns[i];
    }
}

GOPS_INLINE void pointwise_tile(const gops_pointwise_work *work, const int mr, const int vectors,
                                const int tail)
{
    const int64_t kept_step = mr * vectors * LANES + tail * GOPS_POINTWISE_MR;
    const int64_t copy_ld = (vectors + (tail > 0)) * LANES;
    int64_t ld = work->data_ld;
    const C *data = work->data;
    C *copy = work->copy;
    const C *weights = work->weights, *bias = work->bias, *residual = work->residual;
    C *kept = work->sums, *output = work->output;
    for (int64_t block = 0; block < work->blocks; block++, kept += kept_step) {
        vector sum[GOPS_POINTWISE_MR * GOPS_POINTWISE_VECTORS];
        column columns[GOPS_POINTWISE_MAX_TAIL + 1];
        const prefetch_plan next = plan_prefetch(work, block, weights, mr, vectors);
        load_sums(kept, work->accumulate, mr, vectors, tail, sum, columns);
        if (copy != NULL) {
            multiply(data, ld, weights, work->depth, next, copy, mr, vectors, tail, sum, columns);
            data = copy;
            ld = copy_ld;
            copy = NULL;
        } else {
            multiply(data, ld, weights, work->depth, next, NULL, mr, vectors, tail, sum, columns);
        }
        weights += mr * work->depth;
        if (output == NULL) {
            keep_sums(kept, mr, vectors, tail, sum, columns);
            continue;
        }
        GOPS_UNROLL
        for (int i = 0; i < tail; i++) {
            const int at = vectors * LANES + i;
            store_column(work, mr, output + at, bias, residual == NULL ? NULL : residual + at,
                         &columns[i]);
        }
        if (work->bounds != NULL) {
            apply_epilogue(work, mr, vectors, bias, residual, sum);
            bias += mr * work->bias_step;
            residual = residual == NULL ? NULL : residual + mr * work->output_ld;
        }
        store_tile(work, mr, vectors, output, sum);
        output += mr * work->output_ld;
    }
}

static void copy_rows(void *to, int64_t vectors, const void *from, int64_t from_ld, int64_t depth,
                      int64_t count)
{
    const int64_t whole = count / LANES, rest = count % LANES;
    const C *row = from;
    C *next = to;
    for (int64_t k = 0; k < depth; k++, row += from_ld, next += vectors * LANES) {
        for (int64_t j = 0; j < vectors; j++) {
            vector values = {0};
            if (j < whole) {
                values = *(const vector *)(row + j * LANES);
            } else if (j == whole && rest > 0) {
                values = load_first(row + j * LANES, rest);
            }
            *(vector *)(next + j * LANES) = values;
        }
    }
}

/* Gathers from[0], from[stride], ...: `count` elements, at most a vector. */
GOPS_INLINE void gather_vector(C *to, const C *from, int64_t stride, int64_t count)
{
    if (stride == 2 && count == LANES) {
        /* The data may end with the last element, so the second load ends there. */
        const vector low = *(const vector *)from;
        const vector high = *(const vector *)(from + LANES - 1);
        *(vector *)to = __builtin_shufflevector(low, high, EVEN_ODD);
        return;
    }
#ifdef __AVX2__ /* loads the first lanes by a mask */
    if (stride == 2) {
        const int64_t values = 2 * count - 1;
        const vector low = values < LANES ? load_first(from, values) : *(const vector *)from;
        const vector high = values > LANES ? load_first(from + LANES, values - LANES) : (vector){0};
        *(vector *)to = __builtin_shufflevector(low, high, EVEN);
        return;
    }
#endif
    for (int64_t i = 0; i < count; i++) {
        to[i] = from[i * stride];
    }
}

static void gather_rows(void *to, const gops_pointwise_gather *gather, const void *from,
                        int64_t from_ld, int64_t depth)
{
    const int64_t stride = gather->stride;
    const C *plane = from;
    C *out = to;
    for (int64_t k = 0; k < depth; k++, plane += from_ld, out += gather->ld) {
        C *next = out;
        /* The tiles also multiply what follows the last pixel. If it were not set, it could be
         * denormals, which are slow, or raise a floating point exception. */
        *(vector *)(out + gather->ld - LANES) = (vector){0};
        for (int64_t r = 0; r < gather->row_count; r++) {
            const C *at = plane + gather->rows[r].from;
            for (int64_t left = gather->rows[r].count; left > 0;) {
                const int64_t count = left < LANES ? left : LANES;
                __builtin_prefetch(at + GOPS_POINTWISE_GATHER_AHEAD * from_ld);
                gather_vector(next, at, stride, count);
                next += count;
                at += count * stride;
                left -= count;
            }
        }
    }
}

#include "methods/pointwise/pointwise_channels.inc.h"
#include "methods/pointwise/pointwise_large.inc.h"

#define TILE(mr, vectors, tail)                                                                    \
    static void NAME(tile_##mr##x##vectors##_##tail)(const gops_pointwise_work *work)              \
    {                                                                                              \
        pointwise_tile(work, mr, vectors, tail);                                                   \
    }
GOPS_POINTWISE_TILES(TILE)
#undef TILE
#define TILE(mr, vectors, tail) NAME(tile_##mr##x##vectors##_##tail),
static gops_pointwise_tile_fn *const tile_list[] = {GOPS_POINTWISE_TILES(TILE)};
#undef TILE
static const gops_pointwise pointwise_kernels = {
    .lanes = LANES,
    .mr = GOPS_POINTWISE_MR,
    .vectors = GOPS_POINTWISE_VECTORS,
    .max_tail = GOPS_POINTWISE_MAX_TAIL,
    .tiles = tile_list,
    .large_tiles = large_tile_list,
    .copy_panel = copy_rows,
    .gather_panel = gather_rows,
    .column_vectors = GOPS_POINTWISE_COLUMN_VECTORS,
    .max_columns = GOPS_POINTWISE_COLUMNS,
    .column_tiles = column_tile_list,
    .transpose = transpose_sums,
};
