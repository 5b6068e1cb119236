/*
 * implicit_blocked.inc.h: the register tiles that read a blocked padded input (implicit_blocked.h).
 *
 * Parameters: C, LANES and NAME of isa/each_compute.inc.h, the vector of isa/vectors.inc.h, as `vector`;
 * start_tile and store_tile of implicit_tile.inc.h; and
 *
 *   MULTIPLY_ADD(sum, data, weight)
 *                     statement: adds the products of two vectors to a third one
 *   MULTIPLY_ADD_FROM(sum, data, weight)
 *                     optional: the same for a weight in memory, `const vector *`, which takes no register.
 *                     A tile whose sums leave no register for its last vector of weights takes that so.
 *   GOPS_BLOCKED_TILES, GOPS_MAX_SUMS, GOPS_MAX_VECTORS
 *                     those of implicit_sizes.h
 *   BLOCKED_LIST      declares the list of the tiles, `const gops_tile []`
 */
#define blocked_step NAME(blocked_step)
#define blocked_loop NAME(blocked_loop)
#define blocked_tile NAME(blocked_tile)

/* A step of K: columns come in runs of `run`, `apart` from each other, which begin at at[j]. */
GOPS_INLINE void blocked_step(const C *const *at, const C *weights, const int vectors, const int nr,
                              const int run, const int apart, vector *sum)
{
    if (vectors > GOPS_MAX_VECTORS) { /* a column; each is loaded where it is multiplied */
        const vector x = broadcast(*at[0]);
        GOPS_UNROLL
        for (int i = 0; i < vectors; i++) {
            const vector only = *(const vector *)(weights + i * LANES);
            MULTIPLY_ADD(sum[i], x, only);
        }
        return;
    }
#ifdef MULTIPLY_ADD_FROM
    /* One register more is for the data, one for the product. */
    const int loaded = vectors * (nr + 1) > GOPS_MAX_SUMS + 2 ? vectors - 1 : vectors;
#else
    const int loaded = vectors;
#endif
    vector weight[GOPS_MAX_VECTORS];
    GOPS_UNROLL
    for (int i = 0; i < loaded; i++) {
        weight[i] = *(const vector *)(weights + i * LANES);
        GOPS_IN_REGISTER(weight[i]);
    }
    GOPS_UNROLL
    for (int j = 0; j < nr; j++) {
        const vector x = broadcast(at[j / run][j % run * apart]);
        GOPS_UNROLL
        for (int i = 0; i < loaded; i++) {
            MULTIPLY_ADD(sum[i * nr + j], x, weight[i]);
        }
#ifdef MULTIPLY_ADD_FROM
        GOPS_UNROLL
        for (int i = loaded; i < vectors; i++) {
            MULTIPLY_ADD_FROM(sum[i * nr + j], x, (const vector *)(weights + i * LANES));
        }
#endif
    }
}

GOPS_INLINE void blocked_loop(const gops_tile_work *work, const int vectors, const int nr,
                              const int run, const int apart, vector *sum)
{
    enum { STEPS_OF_ENTRY = GOPS_BLOCKED_STEPS };
    const C *from[GOPS_MAX_NR], *weights = work->weights;
    const int64_t *offsets = work->offsets;
    const char *ahead = gops_tile_ahead(work);
    const int length = vectors * LANES;
    GOPS_UNROLL
    for (int j = 0; j < nr; j += run) {
        from[j / run] = (const C *)work->input + work->columns[j];
        GOPS_OPAQUE(from[j / run]);
    }
    for (int64_t k = work->depth; k > 0; k -= STEPS_OF_ENTRY, offsets += STEPS_OF_ENTRY) {
        const C *at[GOPS_MAX_NR];
        GOPS_UNROLL
        for (int j = 0; j < nr; j += run) {
            at[j / run] = from[j / run] + *offsets;
            if (nr <= 2 * run) {
                GOPS_OPAQUE(at[j / run]);
            }
        }
        GOPS_UNROLL
        for (int s = 0; s < STEPS_OF_ENTRY; s++, ahead += GOPS_CACHE_LINE, weights += length) {
            __builtin_prefetch(ahead, 0, 2);
            blocked_step(at, weights, vectors, nr, run, apart, sum);
            GOPS_UNROLL
            for (int j = 0; j < nr; j += run) {
                at[j / run]++;
            }
        }
    }
}

GOPS_INLINE void blocked_tile(const gops_tile_work *work, const int vectors, const int nr)
{
    vector sum[GOPS_MAX_SUMS];
    const int half = (nr + 1) / 2;
    NAME(start_tile)(work, vectors, nr, true, sum);
    if (gops_are_runs(work->columns, nr, half, GOPS_LANES_BLOCK)) {
        blocked_loop(work, vectors, nr, half, GOPS_LANES_BLOCK, sum);
    } else if (gops_are_runs(work->columns, nr, half, 2 * GOPS_LANES_BLOCK)) {
        blocked_loop(work, vectors, nr, half, 2 * GOPS_LANES_BLOCK, sum);
    } else {
        blocked_loop(work, vectors, nr, 1, 0, sum);
    }
    /* Sums that underflow are +0: whether -0 stays would depend on the taps on padding that a pass leaves out. Without
     * registers demanded gcc spills sums within the loops, which take 1.05 times as long (Zen 5). */
    GOPS_UNROLL
    for (int i = 0; i < vectors * nr; i++) {
        GOPS_IN_REGISTER(sum[i]);
        sum[i] += (vector){0};
    }
    NAME(store_tile)(work, 0, vectors, nr, LANES, true, sum);
}

#define TILE(vectors, nr)                                                                          \
    static void NAME(blocked_##vectors##x##nr)(gops_tile_work * work)                              \
    {                                                                                              \
        for (int64_t tile = work->tiles; tile > 0; tile--, gops_tile_move(work, nr)) {             \
            blocked_tile(work, vectors, nr);                                                       \
        }                                                                                          \
    }
GOPS_BLOCKED_TILES(TILE)
#undef TILE

#define TILE(vectors, nr) {vectors * LANES, nr, NAME(blocked_##vectors##x##nr)},
BLOCKED_LIST = {GOPS_BLOCKED_TILES(TILE){0, 0, NULL}};
#undef TILE
