/* peer_problem.h: one layer of a suite with numbers in its tensors, for every contestant to work
 * on.
 */
#ifndef GROUPOPS_BENCH_PEER_PROBLEM_H
#define GROUPOPS_BENCH_PEER_PROBLEM_H

#include "bench/bench_measure.h"
#include "common/flags.h"

enum {
    /* ONNX Runtime runs that many equal layers in a row where the output has the shape of the
     * data, so that changing the layout before the first and after the last costs it little. */
    GOPS_CHAIN_DEPTH = 8,
};

/* A quantized layer: u8 data, i8 filter, u8 output, no zero points. */
typedef struct gops_peer_codes {
    uint8_t *data; /* NULL: the layer is one of f32 */
    int8_t *filter;
    float data_scale, output_scale;
    float *filter_scales; /* one for each output channel */
    uint8_t *expected;
    uint8_t *expected_chain;
} gops_peer_codes;

typedef struct gops_peer_problem {
    const char *name;
    const gops_tool_operation *operation;
    gops_settings settings; /* with the threads below; the algorithm is the contestant's choice */
    int threads;
    gops_tensor inputs[GOPS_TOOL_MAX_INPUTS]; /* f32 */
    gops_tensor output;
    int64_t flops; /* gops_plan_info's count */
    size_t data_elements;
    size_t output_elements;
    int spatial;
    int64_t groups; /* of channels; a normalization's num_groups */
    int64_t c_in;   /* of one group */
    int64_t c_out;
    int64_t taps; /* of the kernel */
    /* One number for each spatial axis in all of them; resolved from auto_pad and output_shape. A
     * transposed convolution's pads_end is what makes the output's shape with output_padding. */
    gops_list kernel, strides, dilations, pads_begin, pads_end, output_padding;
    float *values[GOPS_TOOL_MAX_INPUTS];
    int depth;             /* of the longest chain that the shapes allow: GOPS_CHAIN_DEPTH or 1 */
    float *expected;       /* by the library's reference path, algorithm gemm */
    float *expected_chain; /* the same after `depth` layers in a row */
    gops_peer_codes codes;
} gops_peer_problem;

/* Makes the tensors and computes what is expected. batch 0: as the suite has it. Quantized: those of
 * f32, and besides their like in 8 bits. */
bool gops_peer_problem_create(const gops_bench_layer *layer, int64_t batch, bool quantized,
                              gops_peer_problem *problem, gops_tool_error *error);
void gops_peer_problem_destroy(gops_peer_problem *problem);

/* grouped, depthwise, transposed, dense, pointwise or norm. */
const char *gops_peer_problem_kind(const gops_peer_problem *problem);

/* How far the result of `depth` layers may be from what is expected: the rounding of two orders of
 * summation. *error is the largest difference over that; the result is right when it is at most 1.
 * Quantized: *error is the largest difference of two codes, for peers that round a half otherwise.
 */
bool gops_peer_problem_compare(const gops_peer_problem *problem, const void *got, int depth,
                               double *error);

/* peer_codes.c: the quantized part of the above. */
bool gops_peer_codes_create(gops_peer_problem *problem, gops_tool_error *error);
void gops_peer_codes_destroy(gops_peer_codes *codes);
bool gops_peer_codes_compare(const gops_peer_problem *problem, const uint8_t *got, int depth,
                             double *error);

/* The settings and descriptors of the quantized layer with that output. */
void gops_peer_codes_settings(const gops_peer_problem *problem, gops_type output,
                              gops_settings *settings, gops_tensor *inputs);
gops_quantization gops_peer_codes_quantization(const gops_peer_problem *problem);

/* 64-byte aligned memory for floats, or NULL; free() releases it. */
float *gops_peer_floats(size_t count);

#endif
