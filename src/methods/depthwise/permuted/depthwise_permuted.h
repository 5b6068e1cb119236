/* depthwise_permuted.h: the kernels of depthwise/permuted, the interface between planning and what
 * is compiled for AVX-512 with VNNI. depthwise_permuted.inc.h derives them. */
#ifndef GOPS_DEPTHWISE_PERMUTED_H
#define GOPS_DEPTHWISE_PERMUTED_H

#include "isa/isa.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    /* A register's bytes, and its lanes of 32 bits. */
    GOPS_PERMUTED_REGISTER = 64,
    GOPS_PERMUTED_LANES = 16,
    /* Taps of a lane. */
    GOPS_PERMUTED_QUAD = 4,
    /* Quads of a row of the kernel, and of a kernel over an image that one register holds. */
    GOPS_PERMUTED_ROW_QUADS = 4,
    GOPS_PERMUTED_WHOLE_QUADS = 16,
    /* Bytes of the largest image that one register holds: the last byte stands for the padding. */
    GOPS_PERMUTED_WHOLE_BYTES = 63,
    /* A weight less its zero point, -255 to 255, is the sum of at most so many i8. */
    GOPS_PERMUTED_PARTS = 3,
    /* Loads of a call that have masks of their own, of kernels that take several rows at once. */
    GOPS_PERMUTED_MASKS = 128,
    /* Of a transposed convolution: quads of the rows of outputs that the same data meet. */
    GOPS_PERMUTED_TERMS = 32,
    /* Filters of a call: more save no more time. */
    GOPS_PERMUTED_FILTERS = 128,
};

typedef enum gops_permuted_kernel {
    GOPS_PERMUTED_GENERAL,
    GOPS_PERMUTED_ROLLING, /* the general one serves its filters of several parts */
    GOPS_PERMUTED_JOINED,
    GOPS_PERMUTED_WHOLE,
    GOPS_PERMUTED_TRANSPOSED, /* all of a transposed one */
} gops_permuted_kernel;

/* What all filters of a plan have in common. Lengths are in pixels. A tile is a part of the columns
 * of the output, each of whose rows is 1, 2 or 4 vectors; four vectors are stored together. */
typedef struct gops_permuted_shape {
    gops_permuted_kernel kernel;
    int32_t rolling;        /* which of gops_depthwise_permuted.rolling */
    int32_t vectors;        /* of a row of a tile */
    int32_t vector_columns; /* outputs of a vector, at most GOPS_PERMUTED_LANES */
    int32_t vector_rows;    /* of GOPS_PERMUTED_JOINED: rows of outputs of a vector */
    int64_t tile_columns;
    int64_t height, width; /* of the data */
    int64_t rows, columns; /* of the output */
    int64_t kernel_y, kernel_x;
    int64_t row_quads;   /* of a row of the kernel */
    int64_t whole_quads; /* of the whole kernel */
    int64_t pad_y, pad_x, stride_y, stride_x, dilation_y, dilation_x;
    /* Of GOPS_PERMUTED_TRANSPOSED (depthwise_permuted_transposed.inc.h): */
    bool pairs_of_rows;
    int32_t load_vectors; /* vectors that a load serves */
    int64_t residue_taps; /* of a residue along x, at most */
    int64_t terms;        /* quads that meet an output */
    /* Where output i of the rows that are stored together is in the packed vectors: byte j of
     * vector v is byte j / 4 * 16 + v * 4 + j % 4. */
    uint8_t order[GOPS_PERMUTED_REGISTER];
} gops_permuted_shape;

enum { GOPS_PERMUTED_TAP_ROWS = 2 }; /* that a load of one group serves */

/* Of GOPS_PERMUTED_JOINED, for so many rows of outputs from the first one on: whether these are one group, of which
 * only the first and the last vector read rows beyond the image. Then the masks of the other vectors are the same, and a
 * load serves two rows of taps: each load with a mask, and each mask, takes a cycle of a unit that multiplies. */
static inline bool gops_permuted_is_one_group(const gops_permuted_shape *shape, int64_t first_row,
                                              int64_t rows)
{
    const int64_t top = first_row * shape->stride_y - shape->pad_y;
    const int64_t last = top + ((int64_t)3 * shape->vector_rows - 1) * shape->stride_y +
                         (shape->kernel_y - 1) * shape->dilation_y;
    const int64_t reach = (shape->vector_rows - 1) * shape->stride_y +
                          (GOPS_PERMUTED_TAP_ROWS - 1) * shape->dilation_y + 1;
    return rows <= (int64_t)4 * shape->vector_rows &&
           top + shape->vector_rows * shape->stride_y >= 0 && last < shape->height &&
           reach * shape->width < GOPS_PERMUTED_REGISTER;
}

/* Rows of outputs of some filters of an image, which follow each other. Sums are those of
 * (data - zero) * weight, with the bias. */
typedef struct gops_permuted_call {
    const gops_permuted_shape *shape;
    int64_t count;
    int64_t first_row, rows; /* all rows where the kernel is GOPS_PERMUTED_WHOLE */
    const uint8_t *data;     /* of the first filter's group */
    int64_t data_step;       /* from one group to the next */
    int64_t channels_out;    /* filters of a group */
    int64_t first_in_group;  /* the first filter's number in its group */
    const int32_t *weights;  /* [count, weights_step], packed (depthwise_permuted_run.c) */
    int64_t weights_step;
    const int32_t *parts;
    bool several_parts; /* all parts are above 1; else all are 1 */
    /* A filter starts with its bias, if there is one, less zero times the sum of its weights. */
    const int32_t *weight_sums;
    const uint32_t *bias; /* or NULL */
    uint32_t zero_of_sums;
    bool codes;          /* 8-bit outputs: rint(sum * scale) + zero; else uint32_t sums */
    const float *scales; /* of codes */
    void *output;        /* of the first filter's first row */
    int64_t output_step; /* from one filter to the next one, in bytes */
    /* The XOR with it makes u8 of the data, and of the outputs what they are. */
    uint8_t data_flip, output_flip;
    uint8_t data_zero; /* as the data are given */
    /* Of codes before output_flip. */
    int32_t zero, low, high;
} gops_permuted_call;

/* A kernel of GOPS_PERMUTED_ROLLING, for dilation 1 and one stride along both axes. */
typedef struct gops_permuted_rolling {
    int32_t kernel_y, row_quads, stride, vectors;
    int32_t data_rows; /* of a load: several only of data whose rows fill less than a register */
    int32_t vectors_of_load;
    int32_t rows; /* of outputs; 0 for any number */
} gops_permuted_rolling;

struct gops_depthwise_permuted {
    void (*run)(const gops_permuted_call *call); /* NULL where not offered */
    /* Whether the shape's kernel does. Without VBMI not all serve every shape. */
    bool (*serves)(const gops_permuted_shape *shape);
    const gops_permuted_rolling *rolling; /* ended by kernel_y 0 */
};

#ifdef GOPS_ISA
extern const struct gops_depthwise_permuted GOPS_ISA_NAME(gops_depthwise_permuted);
#endif

#endif
