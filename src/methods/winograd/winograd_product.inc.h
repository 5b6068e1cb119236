/*
 * winograd_product.inc.h: the products of all positions of a block of tiles (winograd.h).
 *
 * Parameters: C, LANES and NAME of isa/each_compute.inc.h; the vector of isa/vectors.inc.h, as `vector`;
 * of winograd_sizes.h
 *
 *   GOPS_WINOGRAD_TILES(TILE)   TILE(vectors, tiles) for each register tile
 *   GOPS_WINOGRAD_MAX_VECTORS, GOPS_WINOGRAD_MAX_SUMS
 *                               int: of a register tile
 *   GOPS_WINOGRAD_MAX_TILES     int: with the fewest vectors
 *   max_tiles                   const int64_t[]: of a register tile, by its vectors - 1
 *
 * and
 *
 *   MULTIPLY_ADD(sum, data, weight)
 *                               statement: adds the products of two vectors to a third one
 */
#define LINE NAME(LINE)
#define multiply_tile NAME(multiply_tile)
#define tile_table NAME(tile_table)
#define multiply_all NAME(multiply_all)

/* Values of a cache line. */
enum { LINE = GOPS_CACHE_LINE / sizeof(C) };

/* A register tile: its sums stay in registers over all input channels of a position. For each of
 * them `lines` lines that lie `ahead` of its weights are prefetched. */
GOPS_INLINE void multiply_tile(const gops_winograd_product *product, const C *points,
                               const C *weights, C *sums, int64_t ahead, int64_t lines,
                               const int vectors, const int tiles)
{
    vector sum[GOPS_WINOGRAD_MAX_SUMS];
    GOPS_UNROLL
    for (int i = 0; i < vectors * tiles; i++) {
        sum[i] = (vector){0};
    }
    for (int64_t left = product->depth; left > 0; left -= LANES) {
        const C *end = points + gops_min(left, LANES);
        for (const C *x = points; x < end; x++, weights += vectors * LANES) {
            vector weight[GOPS_WINOGRAD_MAX_VECTORS];
            for (int64_t i = 0; i < lines; i++) {
                __builtin_prefetch(weights + ahead + i * LINE, 0, 2);
            }
            GOPS_UNROLL
            for (int i = 0; i < vectors; i++) {
                weight[i] = *(const vector *)(weights + i * LANES);
            }
            GOPS_UNROLL
            for (int t = 0; t < tiles; t++) {
                vector point = broadcast(x[t * LANES]);
                GOPS_IN_REGISTER(point);
                GOPS_UNROLL
                for (int i = 0; i < vectors; i++) {
                    MULTIPLY_ADD(sum[t * vectors + i], point, weight[i]);
                }
            }
        }
        points += product->points_block;
    }
    GOPS_UNROLL
    for (int i = 0; i < vectors * tiles; i++) {
        *(vector *)(sums + i * LANES) = sum[i];
    }
}

#define TILE_NAME(vectors, tiles) NAME(tile_##vectors##x##tiles)
#define TILE(vectors, tiles)                                                                       \
    static void TILE_NAME(vectors, tiles)(const gops_winograd_product *product, const C *points,   \
                                          const C *weights, C *sums, int64_t ahead, int64_t lines) \
    {                                                                                              \
        multiply_tile(product, points, weights, sums, ahead, lines, vectors, tiles);               \
    }
GOPS_WINOGRAD_TILES(TILE)
#undef TILE
#define TILE(vectors, tiles) [vectors - 1][tiles - 1] = TILE_NAME(vectors, tiles),
static void (*const tile_table[GOPS_WINOGRAD_MAX_VECTORS][GOPS_WINOGRAD_MAX_TILES])(
    const gops_winograd_product *product, const C *points, const C *weights, C *sums, int64_t ahead,
    int64_t lines) = {GOPS_WINOGRAD_TILES(TILE)};
#undef TILE
#undef TILE_NAME

/* Tiles are cut evenly into register tiles, since a small one would wait for its loads. Each part
 * prefetches some lines of what an input channel has in the next position's weights. */
static void multiply_all(const gops_winograd_product *product)
{
    const int64_t vectors = product->vectors, step = vectors * LANES, size = product->depth * step;
    const int64_t lines = product->prefetches ? gops_ceil_div(step, LINE) : 0;
    const int64_t parts = gops_ceil_div(product->tiles, max_tiles[vectors - 1]);
    const int64_t tiles = product->tiles / parts, further_tiles = product->tiles % parts;
    const int64_t each = lines / parts, further_lines = lines % parts;
    const C *weights = product->weights;
    for (int64_t position = 0; position < product->positions; position++, weights += size) {
        const C *points = (const C *)product->points + position * product->points_ld;
        C *sums = (C *)product->sums + position * product->sums_ld;
        int64_t ahead = size;
        for (int64_t part = 0; part < parts; part++) {
            const int64_t of_part = tiles + (part < further_tiles);
            const int64_t asked = each + (part < further_lines);
            tile_table[vectors - 1][of_part - 1](product, points, weights, sums, ahead, asked);
            points += of_part * LANES;
            sums += of_part * step;
            ahead += asked * LINE;
        }
    }
}
