/* depthwise.h: the sliding-window kernels of one channel; their method is in
 * depthwise_rows.inc.h. */
#ifndef GOPS_DEPTHWISE_H
#define GOPS_DEPTHWISE_H

#include "types/types.h"

#include <stddef.h>
#include <stdint.h>

enum {
    /* The most that a kernel reads beyond the last element of a row that it needs, in bytes: the
     * other lanes of its widest tile. */
    GOPS_DEPTHWISE_SLACK = 8 * 64,
};

/* Rows of outputs. All distances are in elements of the compute type.
 *
 *     output[r * output_pitch + x] =
 *         sum over segments s, 0 <= k < chunk:
 *             weight * data[offset[s] + r * step + k * pitch + x]
 *       + sum over single taps: weight * data[offset + r * step + x]
 *
 * with the segments' offsets first and the weights in the same order, `chunk` for a segment. */
typedef struct gops_depthwise_rows {
    const void *data;
    const int64_t *offsets;
    const void *weights;
    void *output;
    int64_t segments, singles;
    int64_t chunk; /* 2, 3, 5 or 7 taps; 3, 5 or 7 with stride 2; 1 without segments */
    int64_t step;  /* pitch, or 2 * pitch: stride 2; without segments anything */
    int64_t pitch;
    int64_t output_pitch;
    int64_t rows, width; /* both at least 1 */
    /* NULL, or two values: the sums plus *bias are put between them. epilogue.h */
    const void *bounds;
    const void *bias;
} gops_depthwise_rows;

/* Rows that are copied, every stride-th element of them: to[r * to_pitch + i] =
 * from[r * from_pitch + i * stride]. With `second`, for stride 2, those between go there:
 * second[r * to_pitch + i] = from[r * from_pitch + i * 2 + 1], where i * 2 + 1 is within. */
typedef struct gops_depthwise_copy {
    const void *from;
    void *to;
    void *second;
    int64_t from_pitch, to_pitch;
    int64_t rows;
    int64_t length; /* of a row of `from`, from its first element to the last one that is read */
    int64_t stride;
} gops_depthwise_copy;

/* A tap of a bundle: where its data and its weight are. */
typedef struct gops_depthwise_blocked_tap {
    int64_t data, weight;
} gops_depthwise_blocked_tap;

/* Rows of outputs of as many channels as a vector has lanes. All distances are in vectors.
 *     output[r * output_pitch + x * output_step] =
 *         sum over taps: weights[tap.weight] * data[tap.data + r * y_step + x * x_step] */
typedef struct gops_depthwise_blocked {
    const void *data;
    const gops_depthwise_blocked_tap *taps;
    const void *weights;
    void *output;
    int64_t count; /* of the taps */
    int64_t y_step, x_step;
    int64_t output_pitch, output_step;
    int64_t rows, width;
    const void *bounds, *bias; /* as for the rows, a bias in each lane */
} gops_depthwise_blocked;

/* to[j - begin] = from[j % ways * pitch + j / ways] for begin <= j < end, which is at most
 * ways * count. */
typedef struct gops_depthwise_interleave {
    void *to;
    const void *from;
    int64_t pitch, ways, count;
    int64_t begin, end;
} gops_depthwise_interleave;

/* Convolutions of one channel, which lies there without padding, in part: `rows` rows of outputs
 * from row `first` on, each of all `columns`; `output` is where row `first` goes. Strides and pads
 * along y and x; what the taps meet beyond the data is 0.
 *
 * There are `filters` of them, whose weights, biases and whole outputs follow each other, as do the
 * data, of which `shared` filters in turn have the same; of those of the first data `done` came
 * before. */
typedef struct gops_depthwise_image {
    const void *data;
    const void *weights; /* [filters, kernel_y, kernel_x] */
    void *output;
    int64_t filters, shared, done;
    int64_t height, width; /* of the data */
    int64_t first, rows, columns;
    int64_t image_rows; /* of outputs, of which those are some */
    int64_t kernel_y, kernel_x;
    int64_t pad_y, pad_x;
    int64_t dilation_y, dilation_x;
    int64_t stride;
    const void *bounds, *bias; /* as for the rows; a bias for each filter */
} gops_depthwise_image;

typedef void gops_depthwise_image_fn(const gops_depthwise_image *image);

/* `of` goes on to the next filter, `size` bytes being those of an element. */
static inline void gops_depthwise_image_next(gops_depthwise_image *of, int64_t size)
{
    of->weights = (const char *)of->weights + of->kernel_y * of->kernel_x * size;
    of->output = (char *)of->output + of->image_rows * of->columns * size;
    of->bias = of->bounds != NULL ? (const char *)of->bias + size : NULL;
    if (++of->done == of->shared) {
        of->done = 0;
        of->data = (const char *)of->data + of->height * of->width * size;
    }
}

/* Kernels for square images' windows, depthwise_shuffle.isa.c; NULL where not offered. */
typedef struct gops_depthwise_shuffle_kernels {
    /* 3 x 3 or 5 x 5 taps, stride 1, dilation 1 or 2; as many columns as the data has, the pad
     * before them half of what the taps reach over. */
    gops_depthwise_image_fn *stream;
    /* The same, and 7 x 7, without dilation, with as many rows too, all of them, of data of at most
     * 8 x 8. */
    gops_depthwise_image_fn *pairs;
    /* 3 x 3, 5 x 5 or 7 x 7 taps, stride 2, dilation 1; data of at most 16 x 16, of which pad_y,
     * half the kernel or one less, and any pad_x make at most 8 x 8 outputs, all of them. */
    gops_depthwise_image_fn *apart;
    /* The transposed form: 2 x 2, 3 x 3 or 4 x 4 taps, stride 2, dilation 1, any pads and number of
     * rows and columns. */
    gops_depthwise_image_fn *spread;
} gops_depthwise_shuffle_kernels;

typedef struct gops_depthwise_kernels {
    void (*rows)(const gops_depthwise_rows *rows);
    void (*copy)(const gops_depthwise_copy *copy);
    void (*weave)(const gops_depthwise_interleave *weave);
    /* Small images, depthwise_blocked.inc.h; `lanes` channels in a bundle. */
    int64_t lanes;
    void (*bundle_rows)(const gops_depthwise_blocked *bundle);
    /* copy[positions[i]] = pixel i of `channels` channels, which are `pitch` elements apart */
    void (*bundle_in)(void *copy, const int64_t *positions, const void *from, int64_t pitch,
                      int64_t channels, int64_t pixels);
    /* pixel i of `channels` channels = sums[i] */
    void (*bundle_out)(void *to, int64_t pitch, const void *sums, int64_t channels, int64_t pixels);
} gops_depthwise_kernels;

/* For each instruction set, each by compute type. */
struct gops_depthwise_forms {
    const gops_depthwise_kernels *rows; /* depthwise_rows.inc.h, depthwise_blocked.inc.h */
    /* On the image itself; NULL where it is not offered. depthwise_masked.inc.h */
    gops_depthwise_image_fn *const *masked;
    /* The same by moving lanes. depthwise_shuffle.isa.c */
    const gops_depthwise_shuffle_kernels *shuffle;
};

#ifdef GOPS_ISA
extern gops_depthwise_image_fn *const GOPS_ISA_NAME(gops_depthwise_masked_table)[GOPS_COMPUTES];
extern const gops_depthwise_shuffle_kernels
    GOPS_ISA_NAME(gops_depthwise_shuffle_table)[GOPS_COMPUTES];
#endif

#endif
