/* depthwise.h: the depthwise kernels, the interface between planning and what is compiled once for
 * each instruction set. Each form of the method has its own: depthwise_rows.inc.h,
 * depthwise_blocked.inc.h, depthwise_plane.inc.h, depthwise_masked.inc.h (AVX-512),
 * depthwise_rolling.inc.h (AVX2, and AVX-512 with stride 2), depthwise_bands.inc.h (AVX2) and
 * depthwise_shuffle.isa.c derive them. */
#ifndef GOPS_DEPTHWISE_H
#define GOPS_DEPTHWISE_H

#include "types/types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    /* Bytes that the rows kernel may read beyond the last element of a row that it needs: the
     * unused lanes of a tile's last vector. */
    GOPS_DEPTHWISE_SLACK = 64,
};

/* Where the data and the weight of a tap are. */
typedef struct gops_depthwise_tap {
    int64_t data, weight;
} gops_depthwise_tap;

/* Rows of outputs from a padded copy.
 *
 *     output[r * output_pitch + x * output_step] =
 *         sum over taps: weight of the tap * data[tap.data + r * step + x * x_step]
 *
 * depthwise/rows counts elements of the compute type. `taps` holds the taps of the tap columns,
 * which are `column_taps` taps below each other each, then the single taps; `weights` has the same
 * order. depthwise/blocked counts vectors, in which each lane is a channel; it has single taps
 * alone, and their weights are weights[tap.weight]. */
typedef struct gops_depthwise_rows {
    const void *data;
    const gops_depthwise_tap *taps;
    const void *weights;
    void *output;
    int64_t tap_columns, single_taps;
    int64_t column_taps; /* 2, 3, 5 or 7; 3, 5 or 7 with stride 2; 1 without tap columns */
    int64_t step;        /* pitch, or 2 * pitch for stride 2; any without tap columns */
    int64_t pitch;       /* between the taps of a column */
    int64_t output_pitch;
    int64_t x_step, output_step; /* depthwise/rows takes 1 for them */
    int64_t rows, width;         /* both at least 1 */
    /* NULL, or the low and the high bound of the epilogue (epilogue.h), which adds *bias;
     * depthwise/blocked has a bias for each lane. */
    const void *bounds, *bias;
} gops_depthwise_rows;

/* A plane of outputs of depthwise/blocked from the data without padding, stride * width columns of it for `width`
 * columns of outputs. It counts vectors; the kernel is square in each of its planes. Taps outside the data are left
 * out. */
typedef struct gops_depthwise_plane {
    const void *data;    /* the first plane that taps read: [height][stride * width] */
    const void *weights; /* of that plane: [planes][K][K] */
    void *output;        /* [rows][width] */
    int64_t planes, plane_pitch;
    int64_t height, rows;      /* of the data; of the outputs */
    int64_t pad;               /* along y; along x it is K / 2 */
    const void *bounds, *bias; /* as gops_depthwise_rows */
} gops_depthwise_plane;

typedef void gops_depthwise_plane_fn(const gops_depthwise_plane *plane);

/* Copies rows into the padded copy, deinterleaved into their residues modulo `stride`. Columns
 * begin to end - 1 of row r are at from[r * from_pitch]; column i goes to
 *
 *     to[r * to_pitch + i % stride * residue_pitch + i / stride]
 *
 * unless i % stride >= residues. */
typedef struct gops_depthwise_copy {
    const void *from;
    void *to;
    int64_t from_pitch, to_pitch, residue_pitch;
    int64_t rows;
    int64_t begin, end;
    int64_t stride, residues;
} gops_depthwise_copy;

/* Interleaves `ways` rows: to[j] = from[j % ways * pitch + j / ways] for 0 <= j < end, which is at
 * most ways * count. */
typedef struct gops_depthwise_interleave {
    void *to;
    const void *from;
    int64_t pitch, ways, count;
    int64_t end;
} gops_depthwise_interleave;

/* Rows of outputs of whole images without a padded copy: rows first_row to first_row + rows - 1 of
 * each filter's output, all columns. Taps outside the data count as 0.
 *
 * One call serves several filters. Their weights, biases and output images follow each other in
 * memory, and so do the images of data, one for each group of `filters_per_group` (C_OUT) filters.
 * The first filter of the call is number `filter_in_group` of its group. */
typedef struct gops_depthwise_image {
    const void *data;
    const void *weights; /* [filters, kernel_y, kernel_x] */
    void *output;        /* of row first_row */
    int64_t filters, filters_per_group, filter_in_group;
    int64_t height, width; /* of the data */
    int64_t first_row, rows, columns;
    /* From one image of the data, and from the outputs of one filter, to the next. */
    int64_t data_plane, output_plane;
    int64_t kernel_y, kernel_x;
    int64_t pad_y, pad_x;
    int64_t dilation_y, dilation_x;
    int64_t stride;            /* of both axes */
    const void *bounds, *bias; /* as gops_depthwise_rows, with a bias for each filter */
} gops_depthwise_image;

typedef void gops_depthwise_image_fn(const gops_depthwise_image *image);

/* Moves `image` on to its next filter; `size` is the bytes of an element. */
static inline void gops_depthwise_image_next(gops_depthwise_image *image, int64_t size)
{
    image->weights = (const char *)image->weights + image->kernel_y * image->kernel_x * size;
    image->output = (char *)image->output + image->output_plane * size;
    image->bias = image->bounds != NULL ? (const char *)image->bias + size : NULL;
    if (++image->filter_in_group == image->filters_per_group) {
        image->filter_in_group = 0;
        image->data = (const char *)image->data + image->data_plane * size;
    }
}

/* A loop over the filters of `image`, with the image `one` for its body. */
#define GOPS_EACH_FILTER(one, image, C)                                                            \
    gops_depthwise_image one = *(image);                                                           \
    for (int64_t one##_index = 0; one##_index < (image)->filters;                                  \
         one##_index++, gops_depthwise_image_next(&one, (int64_t)sizeof(C)))

/* The kernels of depthwise/shuffle, all for square kernels; NULL where not offered. */
typedef struct gops_depthwise_shuffle_kernels {
    /* 3 x 3 or 5 x 5 taps, stride 1, dilation 1 or 2, and "same" padding along x: as many columns
     * of outputs as of data. */
    gops_depthwise_image_fn *rolling;
    /* 3 x 3, 5 x 5 or 7 x 7 taps, stride 1, dilation 1, "same" padding along both axes, data of at
     * most 8 x 8; all rows in one call. */
    gops_depthwise_image_fn *small_stride1;
    /* 3 x 3, 5 x 5 or 7 x 7 taps, stride 2, dilation 1, data of at most 16 x 16 and outputs of at
     * most 8 x 8; pad_y is half the kernel or one less, pad_x is free; all rows in one call. */
    gops_depthwise_image_fn *small_stride2;
    /* Transposed convolutions: 2 x 2, 3 x 3 or 4 x 4 taps, stride 2, dilation 1. */
    gops_depthwise_image_fn *transposed;
} gops_depthwise_shuffle_kernels;

/* The kernels of depthwise/rows and depthwise/blocked. */
typedef struct gops_depthwise_kernels {
    void (*rows)(const gops_depthwise_rows *rows);
    void (*copy)(const gops_depthwise_copy *copy);
    void (*interleave)(const gops_depthwise_interleave *interleave);
    void (*blocked_rows)(const gops_depthwise_rows *rows);
    /* NULL, or what finds the kernel for outputs `width` columns wide and `kernel` taps along x and y, dilation 1;
     * that is NULL where not offered. */
    gops_depthwise_plane_fn *(*find_plane)(int64_t width, int64_t kernel, int64_t stride);
    /* copy[positions[i]], or copy[i] where positions are NULL, = pixel i of `channels` channels, which are `pitch`
     * elements apart; lanes without a channel hold a copy of the first one. */
    void (*to_blocked)(void *copy, const int64_t *positions, const void *from, int64_t pitch,
                       int64_t channels, int64_t pixels);
    /* Pixel i of `channels` channels, which are `pitch` elements apart = sums[i]. */
    void (*from_blocked)(void *to, int64_t pitch, const void *sums, int64_t channels,
                         int64_t pixels);
} gops_depthwise_kernels;

/* The kernels of one instruction set; each array is indexed by compute type. */
struct gops_depthwise_forms {
    const gops_depthwise_kernels *rows;
    gops_depthwise_image_fn *const *masked; /* an entry is NULL where not offered */
    bool masked_any_width;                  /* masked serves kernels that are not square too */
    const gops_depthwise_shuffle_kernels *shuffle;
};

#ifdef GOPS_ISA
extern gops_depthwise_image_fn *const GOPS_ISA_NAME(gops_depthwise_masked_table)[GOPS_COMPUTES];
extern const gops_depthwise_shuffle_kernels
    GOPS_ISA_NAME(gops_depthwise_shuffle_table)[GOPS_COMPUTES];
#endif

#endif
