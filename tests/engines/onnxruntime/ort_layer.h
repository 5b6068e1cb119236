/* ort_layer.h: a model of one operator, and of what may follow it, with numbers in its tensors. */
#ifndef GROUPOPS_TESTS_ORT_LAYER_H
#define GROUPOPS_TESTS_ORT_LAYER_H

#include "ort_host.h"
#include "random_numbers.h"

enum { GOPS_ORT_AXES = 3 };

/* One number for each spatial axis; an attribute that is not `given` is left out of the node. */
typedef struct gops_ort_numbers {
    bool given;
    int64_t values[GOPS_ORT_AXES];
} gops_ort_numbers;

typedef struct gops_ort_layer {
    const char *type; /* "Conv", "ConvTranspose", "GroupNormalization" */
    int opset;
    gops_type element;
    int axes;
    int64_t batch, groups, channels_in, channels_out; /* of one group */
    int64_t data[GOPS_ORT_AXES], kernel[GOPS_ORT_AXES];
    bool says_kernel; /* kernel_shape is written */
    gops_ort_numbers strides, dilations, pads_begin, pads_end, output_padding, output_shape;
    const char *auto_pad; /* NULL: left out */
    bool bias;
    bool fed_weights;    /* weights and bias are inputs of the model, not constants */
    bool open;           /* the model leaves data's dimensions open */
    bool open_weights;   /* and those of weights that are fed */
    bool residual;       /* Add of another input */
    bool residual_after; /* behind the activation, which there is */
    /* NULL, or the operator that follows; "Swish": x * Sigmoid(x), "HardGate": x * HardSigmoid(x), "MishGate": x *
     * Tanh(Softplus(x)) */
    const char *activation;
} gops_ort_layer;

/* The tensors, as numbers that all element types have: eighths for a convolution, so that its f32
 * result is exact in any order of summation. */
typedef struct gops_ort_numbers_of {
    gops_tensor tensor;
    double *values;
} gops_ort_numbers_of;

typedef struct gops_ort_values_of_layer {
    gops_ort_numbers_of data, weights, bias, residual;
} gops_ort_values_of_layer;

/* Random numbers for the layer's tensors; the residual is made when the output's shape is known. */
void gops_ort_layer_fill(const gops_ort_layer *layer, gops_test_random *random,
                         gops_ort_values_of_layer *values);
/* Random numbers for one tensor, whose shape is set; the caller frees them. */
void gops_ort_layer_draw(const gops_ort_layer *layer, gops_test_random *random,
                         gops_ort_numbers_of *of);
void gops_ort_layer_free(gops_ort_values_of_layer *values);

/* The model, with the layer's element type replaced by `element`. */
void gops_ort_layer_model(const gops_ort_layer *layer, gops_type element,
                          const gops_ort_values_of_layer *values, gops_onnx_buffer *model);

/* Runs a session of such a model on the values. */
ort_status *gops_ort_layer_run(const gops_ort_layer *layer, gops_type element,
                               const gops_ort_values_of_layer *values, ort_session *session,
                               ort_value **output);

/* A session of such a model with the provider, and random values for it. */
typedef struct gops_ort_opened {
    gops_ort_layer layer;
    gops_ort_values_of_layer values;
    ort_session *session;
} gops_ort_opened;

bool gops_ort_layer_open(const gops_ort_layer *layer, int threads, gops_ort_opened *made);
void gops_ort_layer_close(gops_ort_opened *made);

/* "Conv-21 f32 2x(3x4)x17 ..." for messages. */
const char *gops_ort_layer_name(const gops_ort_layer *layer, char *text, size_t size);

#endif
