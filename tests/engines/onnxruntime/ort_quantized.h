/* ort_quantized.h: quantized networks, as quantizers write them, with random weights. */
#ifndef GROUPOPS_TESTS_ORT_QUANTIZED_H
#define GROUPOPS_TESTS_ORT_QUANTIZED_H

#include "onnx_builder.h"

typedef struct gops_ort_form {
    const char *name;
    gops_onnx_element activations; /* GOPS_ONNX_UINT8 or _INT8 */
    gops_onnx_element weights;
    bool per_channel; /* scales of the weights */
    bool
        operators; /* QLinearConv, QLinearAdd; else floats between Dequantize- and QuantizeLinear */
    /* All scales are powers of two, so that floats that are summed in any order are exact, and so are
     * their quotients. */
    bool powers_of_two;
    bool real_biases; /* of f32, between Dequantize- and QuantizeLinear */
} gops_ort_form;

typedef struct gops_ort_extent {
    int64_t side;  /* of the picture, a multiple of 32 */
    int64_t width; /* channels of the first layer, a multiple of 8 */
    int repeats;   /* of each block that a network repeats; 0: as the paper has it */
} gops_ort_extent;

typedef struct gops_ort_layers {
    int convolutions, additions, pools, joins; /* joins: Concat */
} gops_ort_layers;

typedef struct gops_ort_quantized_network {
    const char *name;
    /* Input "x" [1, 3, side, side], output "y", both f32; returns what the network has. */
    gops_ort_layers (*build)(const gops_ort_form *form, const gops_ort_extent *extent,
                             gops_onnx_buffer *model);
} gops_ort_quantized_network;

enum { GOPS_ORT_RESNET, GOPS_ORT_MOBILENET, GOPS_ORT_UNET };
extern const gops_ort_quantized_network gops_ort_quantized_networks[3];

#endif
