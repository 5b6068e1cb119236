/*
 * implicit_tile.h: the register tiles of implicit GEMM.
 *
 *     sums[channel][column] (+)= sum over k of weights[k][channel] * input[column + offsets[k]]
 *
 * A tile keeps MR channels x NR columns of sums in registers while it loops over k. Its form
 * (gops_tile_form) says what a vector holds:
 *
 *   pixels    A vector holds `lanes` neighbouring pixels of one channel, and a column is such a
 *             vector. Weights are broadcast. The sums of channel i and column j go to
 *             sums[i * sums_ld + sum_offsets[j]], `lanes` of them.
 *   channels  A vector holds `lanes` channels of one pixel, and a column is one pixel, whose value
 *             is broadcast. MR is a multiple of `lanes`. The sums of column j go to
 *             sums[sum_offsets[j]], MR of them.
 *
 * A tile of AMX (lanes_wide.inc.h) holds pixels, and has GOPS_WIDE_MR channels or more; all others
 * of pixels have fewer. It reads a padded input that is blocked (lanes.h): a column begins at
 * a pixel's 16 values, those of the following pixels lie behind them, and of each 16 entries of the
 * offset table the first counts. Those of lanes_wide_planes.inc.h read an input as the others do.
 *
 * Weights are packed: weights[k * MR + i], or for AMX
 * weights[(k / 16 * MR + i / 16 * 16) * 16 + k % 16 * 16 + i % 16], or by planes
 * weights[(k / 16 * MR + i) * 16 + k % 16]. All sizes and offsets count
 * values of the compute type.
 */
#ifndef GOPS_IMPLICIT_TILE_H
#define GOPS_IMPLICIT_TILE_H

#include "base/machine.h"
#include "isa/register.h"
#include "methods/implicit/tiles/padded_input.h"
#include "types/types.h"

#include <stdbool.h>
#include <stdint.h>

/* What a vector of sums holds, channels or pixels, and what the tile reads: planes where no other is named. */
typedef enum gops_tile_form {
    GOPS_TILE_CHANNELS,
    GOPS_TILE_BLOCKED, /* channels, from a blocked input (lanes.h) */
    GOPS_TILE_PIXELS,
    /* Of AMX, pixels: from a blocked input, from planes, and from a blocked input of joined taps. */
    GOPS_TILE_WIDE_BLOCKS,
    GOPS_TILE_WIDE_PLANES,
    GOPS_TILE_WIDE_JOINED,
    GOPS_TILE_FORMS,
} gops_tile_form;

static inline bool gops_tile_has_pixels(gops_tile_form form)
{
    return form >= GOPS_TILE_PIXELS;
}

/* Whether it is of AMX. */
static inline bool gops_tile_is_wide(gops_tile_form form)
{
    return form >= GOPS_TILE_WIDE_BLOCKS;
}

static inline bool gops_tile_is_blocked(gops_tile_form form)
{
    return form == GOPS_TILE_BLOCKED || form == GOPS_TILE_WIDE_BLOCKS ||
           form == GOPS_TILE_WIDE_JOINED;
}

typedef struct gops_tile_work {
    const void *input;
    const int64_t *columns; /* the offset of each column's first pixel in the input */
    const int64_t *offsets; /* the offset table: one entry for each k */
    int64_t depth;          /* how many k */
    const void *weights;
    /* What is to be prefetched, a cache line for each k, by one tile after the other. */
    const unsigned char *ahead, *ahead_end;
    void *sums;
    const int64_t *sum_offsets;
    int64_t sums_ld;
    int64_t channels; /* AMX: how many of MR are stored */
    int64_t pixels;   /* AMX: how many of a column are stored; by planes, of a row of the sums */
    bool accumulate;  /* adds to the sums in memory; if not, overwrites them */
    /* NULL, or the low and the high bound of the epilogue (post_ops/epilogue.h), which is then
     * applied to the sums before they are stored. */
    const void *bounds;
    const void *bias; /* one value a channel */
    /* NULL, or what the epilogue adds, laid out like the sums; in the pixels form only. */
    const void *residual;
    /* Channels form, where gops_tiles has a least_row: rows of outputs whose ends leave out steps of K. 0:
     * none; 1: all columns are of one row; 2: they are two whole rows. K is `begin`, `middle` and `end` steps,
     * again and again, of which the first column of a row leaves out the former and the last one the latter. */
    int64_t rows, begin, middle, end;
    int64_t tiles; /* of a call */
} gops_tile_work;

/* Computes `tiles` tiles, one after the other, and moves columns, sum_offsets and ahead behind them. */
typedef void gops_tile_run_fn(gops_tile_work *work);

typedef struct gops_tile {
    int32_t mr; /* channels */
    int32_t nr; /* columns */
    gops_tile_run_fn *run;
} gops_tile;

enum {
    GOPS_MAX_NR = 14, /* of any tile */
    GOPS_WIDE_MR = 16,
};

/* Writes to[i * to_ld + j] = from[j * from_ld + i] for i < channels, j < pixels, and reads and
 * writes nothing else. Neither side needs to be aligned. */
typedef void gops_transpose_fn(void *to, int64_t to_ld, const void *from, int64_t from_ld,
                               int64_t channels, int64_t pixels);

/* Outputs of one residue: those of a channel follow each other, those of the next one are `ld` further. */
typedef struct gops_residue_rows {
    const void *from; /* NULL: all are 0 */
    int64_t ld;
} gops_residue_rows;

/* Rows of outputs, of which neighbours are of `stride` residues in turn. */
typedef struct gops_interleave {
    void *to;
    int64_t to_ld; /* from one channel to the next */
    const gops_residue_rows *residues;
    int64_t stride, channels;
    int64_t begin, count; /* the outputs of each row: begin to begin + count - 1 */
} gops_interleave;

/* Writes to[c * to_ld + i] = residues[o % stride].from[c * ld + o / stride], o = begin + i, for i < count, c < channels,
 * and reads and writes nothing else. */
typedef void gops_interleave_fn(const gops_interleave *of);

/* The tiles of one compute type. All lists are sorted by descending MR, then by descending NR, and
 * end with an MR of 0. */
typedef struct gops_tiles {
    int64_t lanes;
    int64_t lane_channels; /* of the input, in a value of it and of the weights: 1, or lanes.h */
    const gops_tile *pixels;
    const gops_tile *channels;
    gops_transpose_fn *transpose;
    gops_interleave_fn *interleave;
    /* Before and after a thread runs tiles of AMX; NULL where there are none. */
    void (*begin)(void), (*end)(void);
    /* The channels form for blocked padded inputs, and what makes these: implicit_blocked.h. NULL where
     * there are none, or the tiles above read them. */
    const gops_tile *blocked;
    gops_padded_input_fn *blocks;
    /* Those of AMX that read planes: lanes_wide_planes.inc.h. NULL where there are none. */
    const gops_tile *planes;
    int64_t
        least_row; /* columns of a row at whose ends the channels form leaves out steps; 0: none */
} gops_tiles;

/* What a tile prefetches: weights that are in the cache, where nothing is left. */
GOPS_INLINE const char *gops_tile_ahead(const gops_tile_work *work)
{
    return work->ahead < work->ahead_end ? (const void *)work->ahead : work->weights;
}

/* To the tile behind this one, of `nr` columns. */
GOPS_INLINE void gops_tile_move(gops_tile_work *work, const int nr)
{
    work->columns += nr;
    work->sum_offsets += nr;
    work->ahead += work->depth * GOPS_CACHE_LINE;
}

/* Whether columns come in runs of `run`, `apart` from each other. The last column may be repeated. */
GOPS_INLINE bool gops_are_runs(const int64_t *columns, const int nr, const int run,
                               const int64_t apart)
{
    bool yes = run > 1;
    GOPS_UNROLL
    for (int j = 1; j < nr; j++) {
        yes &= j % run == 0 || columns[j] - columns[j - 1] == apart;
    }
    return yes;
}

/* The list of a form. */
static inline const gops_tile *gops_tile_list(const gops_tiles *tiles, gops_tile_form form)
{
    if (gops_tile_has_pixels(form)) {
        return form == GOPS_TILE_WIDE_PLANES ? tiles->planes : tiles->pixels;
    }
    return form == GOPS_TILE_BLOCKED && tiles->blocked != NULL ? tiles->blocked : tiles->channels;
}

/* The channels of its smallest tile. */
static inline int64_t gops_tile_min_mr(const gops_tiles *tiles, gops_tile_form form)
{
    return gops_tile_is_wide(form) ? GOPS_WIDE_MR : gops_tile_has_pixels(form) ? 1 : tiles->lanes;
}

/* The pixels of a column. */
static inline int64_t gops_tile_pixels(const gops_tiles *tiles, gops_tile_form form)
{
    return gops_tile_has_pixels(form) ? tiles->lanes : 1;
}

/* The kernels of this folder, for one instruction set. */
struct gops_implicit_kernels {
    const gops_tiles *const *tiles;            /* by compute type */
    gops_padded_input_fn *const *padded_input; /* by the index of the type's row */
};

#endif
