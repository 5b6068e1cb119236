/*
 * pointwise_channels.inc.h: the register tiles whose vectors hold channels (pointwise.h).
 *
 * For each k a tile loads its vectors of weights and broadcasts a value of each column. With few
 * columns it takes as long as reading the weights, so it reads them once, one after the other, and
 * prefetches them.
 *
 * Parameters: C, LANES and NAME of isa/each_compute.inc.h; load_first, store_first, clamp and
 * broadcast of the template that includes this one; GOPS_POINTWISE_COLUMN_TILES(TILE), the tiles,
 * and GOPS_POINTWISE_COLUMNS and GOPS_POINTWISE_COLUMN_VECTORS, their largest sizes
 * (pointwise.isa.c).
 */
#define add_step NAME(add_step)
#define finish_column NAME(finish_column)
#define column_tile NAME(column_tile)
#define column_tile_list NAME(column_tile_list)
#define transpose_sums NAME(transpose_sums)

/* Adds the products of one k, whose values lie `offset` after the first ones. */
GOPS_INLINE void add_step(const C *const *x, int64_t offset, const C *weights, const int vectors,
                          const int columns, vector *sum)
{
    vector weight[GOPS_POINTWISE_COLUMN_VECTORS];
    GOPS_UNROLL
    for (int i = 0; i < vectors; i++) {
        weight[i] = *(const vector *)(weights + i * LANES);
        if (columns > 1) {
            GOPS_IN_REGISTER(weight[i]);
        }
    }
    GOPS_UNROLL
    for (int j = 0; j < columns; j++) {
        vector value = broadcast(x[j][offset]);
        GOPS_IN_REGISTER(value);
        GOPS_UNROLL
        for (int i = 0; i < vectors; i++) {
            sum[j * vectors + i] += value * weight[i];
        }
    }
    if (columns > 1) {
        GOPS_UNROLL
        for (int i = 0; i < vectors; i++) {
            GOPS_STAYS(weight[i]); /* else a sum may be moved to its register */
        }
    }
}

/* Applies the epilogue to a column of complete sums, and stores it. */
GOPS_INLINE void finish_column(const gops_pointwise_channels_work *work, const int vectors, int j,
                               const vector *sum)
{
    const C *bounds = work->bounds, *bias = work->bias;
    const C *residual = (const C *)work->residual;
    C *output = (C *)work->output + j * work->output_ld;
    const int64_t last = work->channels - (vectors - 1) * LANES;
    GOPS_UNROLL
    for (int i = 0; i < vectors; i++) {
        const bool whole = i < vectors - 1 || last >= LANES;
        vector value = sum[i];
        if (bounds != NULL) {
            value += *(const vector *)(bias + i * LANES);
            if (residual != NULL) {
                const C *from = residual + j * work->residual_ld + i * LANES;
                value += whole ? *(const vector *)from : load_first(from, last);
            }
            value = clamp(value, broadcast(bounds[0]), broadcast(bounds[1]));
        }
        if (whole) {
            *(vector *)(output + i * LANES) = value;
        } else {
            store_first(output + i * LANES, last, value);
        }
    }
}

GOPS_INLINE void column_tile(const gops_pointwise_channels_work *work, const int vectors,
                             const int columns, const int chains)
{
    const int64_t ld = work->data_ld, step = vectors * LANES;
    const int sums = vectors * columns;
    const C *weights = work->weights, *kept = work->kept;
    const C *x[GOPS_POINTWISE_COLUMNS];
    vector sum[4 * GOPS_POINTWISE_COLUMNS];
    GOPS_UNROLL
    for (int j = 0; j < columns; j++) {
        x[j] = work->columns[j];
    }
    GOPS_UNROLL
    for (int i = 0; i < chains * sums; i++) {
        sum[i] = kept != NULL && i < sums ? *(const vector *)(kept + i * LANES) : (vector){0};
    }
    int64_t offset = 0, left = work->depth;
    for (; left >= chains; left -= chains) {
        if (work->prefetches) {
            const char *ahead = (const char *)weights + GOPS_POINTWISE_STREAM_BYTES;
            GOPS_UNROLL
            for (int i = 0; i < chains * vectors * (int)sizeof(vector); i += GOPS_CACHE_LINE) {
                __builtin_prefetch(ahead + i, 0, 3);
            }
        }
        GOPS_UNROLL
        for (int i = 0; i < chains; i++, offset += ld, weights += step) {
            add_step(x, offset, weights, vectors, columns, sum + i * sums);
        }
    }
    for (; chains > 1 && left > 0; left--, offset += ld, weights += step) {
        add_step(x, offset, weights, vectors, columns, sum);
    }
    GOPS_UNROLL
    for (int i = sums; i < chains * sums; i++) {
        sum[i % sums] += sum[i];
    }
    GOPS_UNROLL
    for (int j = 0; j < columns; j++) {
        finish_column(work, vectors, j, sum + j * vectors);
    }
}

static void transpose_sums(void *to, int64_t to_ld, const void *from, int64_t from_ld,
                           int64_t channels, int64_t columns)
{
    C *row = to;
    for (const C *at = from; channels > 0; channels--, at++, row += to_ld) {
        for (int64_t j = 0; j < columns; j++) {
            row[j] = at[j * from_ld];
        }
    }
}

#define TILE(vectors, columns, chains)                                                             \
    static void NAME(column_tile_##vectors##x##columns)(const gops_pointwise_channels_work *work)  \
    {                                                                                              \
        column_tile(work, vectors, columns, chains);                                               \
    }
GOPS_POINTWISE_COLUMN_TILES(TILE)
#undef TILE
#define TILE(vectors, columns, chains) NAME(column_tile_##vectors##x##columns),
static gops_pointwise_channels_fn *const column_tile_list[] = {GOPS_POINTWISE_COLUMN_TILES(TILE)};
#undef TILE
