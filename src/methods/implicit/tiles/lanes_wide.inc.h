/*
 * lanes_wide.inc.h: the register tiles of AMX (isa/amx.h), of the pixels form: 16 or 32 channels by
 * one or two vectors of 16 pixels.
 *
 * A tile register of sums is 16 pixels by 16 channels. What it takes of the data is 16 pixels by 16
 * steps of K, each row of which is a cache line of the blocked padded input (lanes.h): a row that
 * crossed two of them would take three cycles, not half of one (Intel Xeon, Granite Rapids).
 * Of the weights it takes 16 steps by 16 channels, packed in that order. Two by two registers of
 * sums take one load for each product, and a load takes half its time. In the end the sums are
 * transposed.
 *
 * Parameters: those of implicit_tile.inc.h, and
 *
 *   WIDE_PRODUCT(amx, sums, a, b)   statement: the product of isa/amx.h
 *   WIDE_FIRST(work)                expression: what the sums of each channel begin with; NULL for 0
 *   WIDE_BYTES                      optional: if defined, lanes_wide_bytes.inc.h stores bytes
 *
 * WIDE_LIST is then their rows in the list of tiles, WIDE_CALLS(name) what begins and ends them.
 */
#include "isa/amx.h"
#include "isa/first_lanes.inc.h"

#define store_first NAME(store_first)
#define store_tile NAME(store_tile)
#define wide_amx NAME(wide_amx)
#define wide_begin NAME(wide_begin)
#define wide_end NAME(wide_end)
#define wide_multiply NAME(wide_multiply)
#define wide_tile NAME(wide_tile)
#define store_transposed NAME(store_transposed)
#define store_some_pixels NAME(store_some_pixels)
#define store_wide NAME(store_wide)

enum {
    WIDE_ROWS = GOPS_AMX_ROWS,
    WIDE_VALUES = WIDE_ROWS * WIDE_ROWS,
    /* A store behind more than 30 steps of K let all tiles wait for 800 cycles, as long as 10
     * steps take. A store of anything in between prevents that (Intel Xeon, Granite Rapids). */
    WIDE_STEPS = 16,
};

#ifdef WIDE_BYTES
#include "methods/implicit/tiles/lanes_wide_bytes.inc.h"
#endif

/* The thread's tiles. The processor has them; the emulation needs memory. */
static _Thread_local gops_amx_tiles wide_amx;

static void wide_begin(void)
{
    static const gops_amx_config config = GOPS_AMX_FULL;
    gops_amx_begin(&wide_amx, &config);
}

static void wide_end(void)
{
    gops_amx_end(&wide_amx);
}

/* Tile registers 0 to 3 are sums, those of pixels j and channels i are 2 * j + i; 4 and 5 are data,
 * 6 and 7 weights. Stores the sums, [pixels j][channels i][16][16]. */
GOPS_INLINE void wide_multiply(const gops_tile_work *work, const int mr, const int nr, C *sums)
{
    const bool two_rows = nr > 1, two_columns = mr > WIDE_ROWS;
    const C *const first = WIDE_FIRST(work);
    const C *const pixels0 = (const C *)work->input + work->columns[0];
    const C *const pixels1 = (const C *)work->input + work->columns[two_rows];
    const int64_t *offsets = work->offsets;
    const C *weights = work->weights;
    if (first != NULL) {
        gops_amx_load(&wide_amx, 0, first, 0);
        gops_amx_load(&wide_amx, 2, first, 0);
        gops_amx_load(&wide_amx, 1, first + (two_columns ? WIDE_ROWS : 0), 0);
        gops_amx_load(&wide_amx, 3, first + (two_columns ? WIDE_ROWS : 0), 0);
    } else {
        gops_amx_zero(&wide_amx, 0);
        gops_amx_zero(&wide_amx, 1);
        gops_amx_zero(&wide_amx, 2);
        gops_amx_zero(&wide_amx, 3);
    }
    for (int64_t k = work->depth; k > 0; k -= WIDE_ROWS) {
        gops_amx_load(&wide_amx, 4, pixels0 + *offsets, GOPS_AMX_BYTES);
        gops_amx_load(&wide_amx, 6, weights, GOPS_AMX_BYTES);
        WIDE_PRODUCT(&wide_amx, 0, 4, 6);
        if (two_columns) {
            gops_amx_load(&wide_amx, 7, weights + WIDE_VALUES, GOPS_AMX_BYTES);
            WIDE_PRODUCT(&wide_amx, 1, 4, 7);
        }
        if (two_rows) {
            gops_amx_load(&wide_amx, 5, pixels1 + *offsets, GOPS_AMX_BYTES);
            WIDE_PRODUCT(&wide_amx, 2, 5, 6);
        }
        if (two_rows && two_columns) {
            WIDE_PRODUCT(&wide_amx, 3, 5, 7);
        }
        if (k % (WIDE_STEPS * WIDE_ROWS) == 0) {
            gops_amx_store(&wide_amx, 4, sums, GOPS_AMX_BYTES);
        }
        offsets += WIDE_ROWS;
        weights += mr * WIDE_ROWS;
    }
    gops_amx_store(&wide_amx, 0, sums, GOPS_AMX_BYTES);
    if (two_columns) {
        gops_amx_store(&wide_amx, 1, sums + WIDE_VALUES, GOPS_AMX_BYTES);
    }
    if (two_rows) {
        gops_amx_store(&wide_amx, 2, sums + mr * WIDE_ROWS, GOPS_AMX_BYTES);
    }
    if (two_rows && two_columns) {
        gops_amx_store(&wide_amx, 3, sums + 3 * WIDE_VALUES, GOPS_AMX_BYTES);
    }
}

/* Stores the sums of 16 pixels of channels `row` on, of which there are `count`; `work` begins with
 * their column. */
GOPS_INLINE void store_transposed(const gops_tile_work *work, const int row, int64_t count,
                                  const C *sums)
{
    vector channel[WIDE_ROWS];
    load_transposed(channel, sums, WIDE_ROWS);
    if (count >= WIDE_ROWS) {
        store_tile(work, row, WIDE_ROWS, 1, work->sums_ld, false, channel);
        return;
    }
    vector stored[WIDE_ROWS];
    GOPS_UNROLL
    for (int i = 0; i < WIDE_ROWS; i++) {
        stored[i] = channel[i];
    }
    for (int i = 0; i < count; i++) {
        store_tile(work, row + i, 1, 1, work->sums_ld, false, &stored[i]);
    }
}

/* The same of the first pixels alone, which are stored for the first time. */
static void store_some_pixels(const gops_tile_work *work, int row, int64_t count, const C *sums)
{
    static const int64_t none[1] = {0};
    const int64_t ld = work->sums_ld, channels = gops_min(count, WIDE_ROWS);
    C values[WIDE_ROWS * 2 * WIDE_ROWS], *to = (C *)work->sums + *work->sum_offsets + row * ld;
    gops_tile_work all = *work;
    all.sums = values;
    all.sum_offsets = none;
    all.sums_ld = WIDE_ROWS;
    all.accumulate = false;
    store_transposed(&all, row, count, sums);
    for (int64_t i = 0; i < channels; i++) {
        const vector *from = (const vector *)(values + (row + i) * WIDE_ROWS);
        store_first(to + i * ld, work->pixels, *from);
    }
}

GOPS_INLINE void store_wide(const gops_tile_work *work, const int mr, const int nr, const C *sums)
{
    gops_tile_work part = *work;
#ifdef WIDE_BYTES
    if (stores_wide_bytes(work)) {
        store_wide_bytes(work, mr, nr, sums);
        return;
    }
#endif
    for (int j = 0; j < nr; j++, part.sum_offsets++) {
        for (int row = 0; row < mr; row += WIDE_ROWS, sums += WIDE_VALUES) {
            if (work->pixels == WIDE_ROWS) {
                store_transposed(&part, row, work->channels - row, sums);
            } else {
                store_some_pixels(&part, row, work->channels - row, sums);
            }
        }
    }
}

GOPS_INLINE void wide_tile(const gops_tile_work *work, const int mr, const int nr)
{
    C sums[4 * WIDE_VALUES] __attribute__((aligned(64)));
    wide_multiply(work, mr, nr, sums);
    store_wide(work, mr, nr, sums);
}

#define WIDE(mr, nr)                                                                               \
    static void NAME(wide_##mr##x##nr)(gops_tile_work * work)                                      \
    {                                                                                              \
        for (int64_t tile = work->tiles; tile > 0; tile--, gops_tile_move(work, nr)) {             \
            wide_tile(work, mr, nr);                                                               \
        }                                                                                          \
    }
WIDE(32, 2)
WIDE(32, 1)
WIDE(16, 2)
WIDE(16, 1)
#undef WIDE
#define WIDE(mr, nr) {mr, nr, NAME(wide_##mr##x##nr)},
#define WIDE_LIST WIDE(32, 2) WIDE(32, 1) WIDE(16, 2) WIDE(16, 1)
#define WIDE_CALLS(name) name##_wide_begin, name##_wide_end

#ifdef WIDE_BYTES
#include "methods/implicit/tiles/lanes_wide_planes.inc.h"
#endif

#undef store_tile
