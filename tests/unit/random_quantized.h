/* random_quantized.h: random quantized problems, with values from one end of each type to the other. */
#ifndef GROUPOPS_TEST_RANDOM_QUANTIZED_H
#define GROUPOPS_TEST_RANDOM_QUANTIZED_H

#include "random_problem.h"

enum { GOPS_RANDOM_MAX_CHANNELS = 2048 };

/* What a problem's pointers point to. */
typedef struct gops_random_quantization {
    int64_t data_zero_point;
    int64_t filter_zero_points[GOPS_RANDOM_MAX_CHANNELS];
    float filter_scales[GOPS_RANDOM_MAX_CHANNELS];
    double unit; /* about as large as the outputs are before the residual, in real units */
} gops_random_quantization;

/* Which shapes: any with a few channels; one input channel a group; layers of several blocks and
 * tiles on each axis; so many products for each output that their sum does not fit 32 bits. */
typedef enum gops_random_shape {
    GOPS_RANDOM_ANY,
    GOPS_RANDOM_DEPTHWISE,
    GOPS_RANDOM_LARGE,
    GOPS_RANDOM_DEEP
} gops_random_shape;

/* A quantized problem of legal geometry: its types, scales and zero points, post-ops, slices. */
gops_problem gops_random_quantized(gops_problem_operation operation, gops_random_shape shape,
                                   gops_random_quantization *memory, gops_test_random *random);

/* The first step of that, with i8 or u8 data and filter and no output type. */
gops_problem gops_random_quantized_shape(gops_problem_operation operation, gops_random_shape shape,
                                         gops_test_random *random);

/* The products of one output element, padding counted. */
int64_t gops_random_depth(const gops_problem *problem);

/* Gives a convolution of 8-bit integers an output type and all that goes with it, unless it has more
 * channels than `memory` has room for. */
void gops_random_quantize(gops_problem *problem, gops_random_quantization *memory,
                          gops_test_random *random);

/* Fills the inputs: random bits, the ends of the type, or one number everywhere; a bias from small to
 * any 32 bits; a residual as large as the outputs. */
void gops_random_quantized_values(const gops_problem *problem,
                                  const gops_random_quantization *memory, const gops_tensor *output,
                                  const gops_problem_buffers *buffers, gops_test_random *random);

/* Changes the scale that an 8-bit output or sum is divided by such that some element lies in the
 * middle of two integers, or a rounding away from it: there the order of operations shows. */
void gops_random_tie(gops_problem *problem, const gops_problem_buffers *buffers,
                     gops_test_random *random);

#endif
