/*
 * lanes_wide.inc.h: the register tiles of AMX (isa/amx.h), of the pixels form: 16 or 32 channels by
 * one or two vectors of 16 pixels.
 *
 * A tile register of sums is 16 channels by 16 pixels. What it takes of the weights is 16 channels by
 * 16 steps of K, packed in that order; of the data it takes 16 steps by 16 pixels, which lie in the
 * padded input as they are: the steps are 16 planes at one tap, and so apart by the same distance.
 * K of such plans is filled up to whole blocks of planes (lanes.h). Two by two registers of sums
 * take one load for each product.
 *
 * Parameters: those of implicit_tile.inc.h, and
 *
 *   WIDE_PRODUCT(amx, sums, a, b)   statement: the product of isa/amx.h
 *   WIDE_SUM(first, sum)            expression: what the sum of a vector is that begins with `first`
 *
 * WIDE_LIST is then their rows in the list of tiles.
 */
#include "isa/amx.h"

#define start_tile NAME(start_tile)
#define store_tile NAME(store_tile)
#define wide_tile NAME(wide_tile)
#define store_wide NAME(store_wide)

enum { WIDE_ROWS = GOPS_AMX_ROWS, WIDE_VALUES = WIDE_ROWS * WIDE_ROWS };

/* Stores the sums of a tile, [mr / 16][nr][16][16], a few channels at a time. */
GOPS_INLINE void store_wide(const gops_tile_work *work, const int mr, const int nr, const C *sums)
{
    enum { SOME = 4 };
    for (int row = 0; row < mr; row += SOME) {
        const C *from = sums + row / WIDE_ROWS * nr * WIDE_VALUES + row % WIDE_ROWS * WIDE_ROWS;
        vector sum[SOME * 2];
        start_tile(work, row, SOME, nr, false, sum);
        GOPS_UNROLL
        for (int i = 0; i < SOME; i++) {
            GOPS_UNROLL
            for (int j = 0; j < nr; j++) {
                const vector part = *(const vector *)(from + j * WIDE_VALUES + i * WIDE_ROWS);
                sum[i * nr + j] = WIDE_SUM(sum[i * nr + j], part);
            }
        }
        store_tile(work, row, SOME, nr, work->sums_ld, false, sum);
    }
}

/* Tile registers 0 to 3 hold sums, 4 and 5 weights, 6 and 7 data. */
GOPS_INLINE void wide_tile(const gops_tile_work *work, const int mr, const int nr)
{
    static const gops_amx_config config = GOPS_AMX_FULL;
    C sums[4 * WIDE_VALUES] __attribute__((aligned(64)));
    gops_amx_tiles amx;
    const C *const input = work->input;
    const C *weights = work->weights;
    gops_amx_begin(&amx, &config);
    gops_amx_zero(&amx, 0);
    gops_amx_zero(&amx, 1);
    gops_amx_zero(&amx, 2);
    gops_amx_zero(&amx, 3);
    for (int64_t k = 0; k < work->depth; k += WIDE_ROWS, weights += mr * WIDE_ROWS) {
        const int64_t *offsets = work->offsets + k;
        const int64_t apart = (offsets[1] - offsets[0]) * (int64_t)sizeof(C);
        const C *const from = input + offsets[0];
        gops_amx_load(&amx, 4, weights, GOPS_AMX_BYTES);
        gops_amx_load(&amx, 6, from + work->columns[0], apart);
        WIDE_PRODUCT(&amx, 0, 4, 6);
        if (nr == 2) {
            gops_amx_load(&amx, 7, from + work->columns[1], apart);
            WIDE_PRODUCT(&amx, 1, 4, 7);
        }
        if (mr > WIDE_ROWS) {
            gops_amx_load(&amx, 5, weights + WIDE_VALUES, GOPS_AMX_BYTES);
            WIDE_PRODUCT(&amx, 2, 5, 6);
            if (nr == 2) {
                WIDE_PRODUCT(&amx, 3, 5, 7);
            }
        }
    }
    gops_amx_store(&amx, 0, sums, GOPS_AMX_BYTES);
    if (nr == 2) {
        gops_amx_store(&amx, 1, sums + WIDE_VALUES, GOPS_AMX_BYTES);
    }
    if (mr > WIDE_ROWS) {
        gops_amx_store(&amx, 2, sums + nr * WIDE_VALUES, GOPS_AMX_BYTES);
    }
    if (mr > WIDE_ROWS && nr == 2) {
        gops_amx_store(&amx, 3, sums + (nr + 1) * WIDE_VALUES, GOPS_AMX_BYTES);
    }
    gops_amx_end(&amx);
    store_wide(work, mr, nr, sums);
}

#define WIDE(mr, nr)                                                                               \
    static void NAME(wide_##mr##x##nr)(const gops_tile_work *work)                                 \
    {                                                                                              \
        wide_tile(work, mr, nr);                                                                   \
    }
WIDE(32, 2)
WIDE(32, 1)
WIDE(16, 2)
WIDE(16, 1)
#undef WIDE
#define WIDE(mr, nr) {mr, nr, NAME(wide_##mr##x##nr)},
#define WIDE_LIST WIDE(32, 2) WIDE(32, 1) WIDE(16, 2) WIDE(16, 1)

#undef start_tile
#undef store_tile
