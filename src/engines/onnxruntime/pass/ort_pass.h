/* ort_pass.h: what no plan of the library computes, plane by plane: on f32, and some of it on 8-bit integers. */
#ifndef GROUPOPS_ENGINES_ORT_PASS_H
#define GROUPOPS_ENGINES_ORT_PASS_H

#include "engines/onnxruntime/graph/ort_operands.h"
#include "engines/onnxruntime/graph/ort_resize.h"
#include "engines/onnxruntime/graph/ort_window.h"

typedef enum gops_ort_pass_kind {
    GOPS_ORT_PASS_COPY,   /* to every `step`th plane of the output */
    GOPS_ORT_PASS_CODES,  /* integers of 8 bits: what each becomes by a table */
    GOPS_ORT_PASS_AFFINE, /* data * factor + summand (+ other), then relu: of the plane's channel */
    GOPS_ORT_PASS_NORM,   /* each pixel over its channels, times factors, plus summands */
    /* Of f32 or 8-bit integers. */
    GOPS_ORT_PASS_SCALE,   /* data * the plane's number in other */
    GOPS_ORT_PASS_PRODUCT, /* data * other */
    GOPS_ORT_PASS_MAX,     /* of each window, times `factor`, which is 1 */
    GOPS_ORT_PASS_SUM,     /* of each window, times `factor`; of integers its average */
    GOPS_ORT_PASS_AVERAGE, /* of a plane */
    GOPS_ORT_PASS_NEAREST, /* planes in another size: of the nearest element */
    GOPS_ORT_PASS_LINEAR,  /* of four elements */
} gops_ort_pass_kind;

/* What passes are computed by, best last: not every pass has kernels for each. */
typedef enum gops_ort_vectors {
    GOPS_ORT_PLAIN,
    GOPS_ORT_AVX2,
    GOPS_ORT_AVX512,
    GOPS_ORT_VBMI, /* AVX-512 that permutes bytes */
} gops_ort_vectors;

enum { GOPS_ORT_CODES = 256 }; /* that 8 bits have */

/* The bits of the 8-bit integer nearest to units + zero_point, ties to even; it saturates. `least` is the type's least
 * integer less zero_point. Beyond 2^23 floats have no fractions: a sum with such a number is rounded. */
static inline uint8_t gops_ort_round_units(float units, float least, int32_t zero_point)
{
    const float whole = 0x1.8p23F, most = least + UINT8_MAX;
    units = units > least ? units : least;
    units = units < most ? units : most;
    return (uint8_t)((int32_t)(units + whole - whole) + zero_point);
}

/* Those of the instruction set that plans made now use: gops_isa. */
gops_ort_vectors gops_ort_find_vectors(void);

/* Elements of a plane are consecutive. Planes of f32 may have gaps between them: a pass writes
 * nothing there, and its results do not depend on what lies there. Planes of 8-bit integers have
 * none, and their passes do not read the steps. */
typedef struct gops_ort_pass {
    gops_ort_pass_kind kind;
    gops_type type;
    gops_ort_vectors vectors;
    int64_t channels; /* planes, of all images that there are */
    int64_t plane;    /* elements of the data's */
    /* Elements from where a plane begins to where the next one does. SCALE's other and AVERAGE's
     * output have planes of one element. */
    int64_t data_step, other_step, output_step;
    int64_t step; /* of COPY, in planes of the output: plane i of the data becomes plane i * step */
    const uint8_t *codes;             /* GOPS_ORT_CODES, by the bits of what becomes them */
    gops_ort_linear by[2], output_by; /* what integers of data, other and output stand for */
    const float *factors, *summands;
    bool relu;
    bool counts_padding; /* an average of integers divides by as many for all windows */
    float epsilon, factor;
    gops_ort_window window;
    const gops_ort_tap *taps[GOPS_ORT_WINDOW_AXES]; /* of planes in another size */
    int64_t in[GOPS_ORT_WINDOW_AXES], out[GOPS_ORT_WINDOW_AXES];
} gops_ort_pass;

typedef struct gops_ort_pass_operands {
    const void *data, *other; /* other: NULL where there is none */
    void *output;
} gops_ort_pass_operands;

/* A maximum of f32 or 8-bit integers, without gaps, and what of it other passes from planes to
 * planes of another size have. */
gops_ort_pass gops_ort_pass_of_pool(const gops_ort_window *window, const gops_tensor *data,
                                    const gops_tensor *output);

/* How much there is to divide: planes, or blocks of pixels. */
int64_t gops_ort_pass_units(const gops_ort_pass *pass);

/* Computes units first to last - 1. `other` is NULL where an affine pass adds nothing. A product's
 * output may be its data, where their steps are equal. Allocates nothing. */
void gops_ort_pass_run(const gops_ort_pass *pass, const gops_ort_pass_operands *operands,
                       int64_t first, int64_t last);

/* Rows of windows of f32, and rows that are interpolated, may not be longer; nor the rows of data together that a
 * window of integers is averaged over, with padding on both sides. */
enum { GOPS_ORT_MAX_ROW = 4096, GOPS_ORT_MAX_WINDOW_FLOATS = 8192 };

#endif
