/* ort_quantized_layer.h: random quantized convolutions, as models of one operator or of one between
 * DequantizeLinear and QuantizeLinear. */
#ifndef GROUPOPS_TESTS_ORT_QUANTIZED_LAYER_H
#define GROUPOPS_TESTS_ORT_QUANTIZED_LAYER_H

#include "ort_host.h"
#include "random_numbers.h"

enum { GOPS_QUANTIZED_AXES = 3, GOPS_QUANTIZED_MAX_CHANNELS = 64 };

typedef enum gops_quantized_form {
    GOPS_QUANTIZED_INTEGER, /* ConvInteger */
    GOPS_QUANTIZED_LINEAR,  /* QLinearConv */
    GOPS_QUANTIZED_CONV,    /* between DequantizeLinear and QuantizeLinear */
    GOPS_QUANTIZED_DECONV,
} gops_quantized_form;

typedef enum gops_quantized_bias {
    GOPS_QUANTIZED_NO_BIAS,
    GOPS_QUANTIZED_BIAS_INTEGERS,
    GOPS_QUANTIZED_BIAS_FLOATS,
} gops_quantized_bias;

typedef struct gops_quantized_problem {
    gops_quantized_form form;
    int axes;
    int64_t batch, groups, channels_in, channels_out; /* of one group */
    int64_t data[GOPS_QUANTIZED_AXES], kernel[GOPS_QUANTIZED_AXES], strides[GOPS_QUANTIZED_AXES],
        dilations[GOPS_QUANTIZED_AXES], pads[2 * GOPS_QUANTIZED_AXES];
    gops_onnx_element x, w, y;
    int x_zero, y_zero;
    int64_t scale_count; /* of the weights: 1, or the channels of the filter's axis */
    float x_scale, y_scale, a_scale, w_scales[GOPS_QUANTIZED_MAX_CHANNELS];
    int w_zeros[GOPS_QUANTIZED_MAX_CHANNELS];
    gops_quantized_bias bias;
    const char *activation; /* NULL: none */
    bool residual;
    bool powers_of_two;
    bool open; /* the model leaves the data's dimensions open */
    bool fed;  /* scales and zero points are inputs of the model */
} gops_quantized_problem;

/* Integers as bytes, or as words. */
typedef struct gops_quantized_tensor {
    int64_t dims[GOPS_MAX_RANK];
    int rank;
    int64_t count;
    void *values;
} gops_quantized_tensor;

typedef struct gops_quantized_values {
    gops_quantized_tensor x, w, b, a;
    float *real_bias;
} gops_quantized_values;

/* The model that is being written, and what is fed to it. */
typedef struct gops_quantized_model {
    gops_onnx_builder builder;
    gops_ort_tensor inputs[GOPS_ORT_MAX_TENSORS];
    size_t count;
    unsigned char bytes[4][GOPS_QUANTIZED_MAX_CHANNELS]; /* zero points that are fed */
    int64_t count_of[4];
    bool fed;
} gops_quantized_model;

/* Whether the runtime has a QLinearConv for it. */
bool gops_quantized_is_fusible(const gops_quantized_problem *of);

gops_quantized_problem gops_quantized_draw(gops_test_random *random, gops_quantized_form form);

gops_quantized_values gops_quantized_draw_values(gops_test_random *random,
                                                 const gops_quantized_problem *of);
void gops_quantized_free(gops_quantized_values *of);

/* Writes the model, with "y" as its output. `as_floats`: the operator between DequantizeLinear and
 * QuantizeLinear in any case. `to` and `of` have what is fed, and stay until that is done. */
void gops_quantized_write(gops_quantized_model *to, const gops_quantized_problem *of,
                          const gops_quantized_values *from, bool as_floats,
                          gops_onnx_buffer *model);

/* A Conv of floats that gives what ConvInteger does: its operands are differences, for which `x` and
 * `w` have room, and its sums are exact. */
void gops_quantized_write_differences(gops_quantized_model *to, const gops_quantized_problem *of,
                                      const gops_quantized_values *from, float *x, float *w,
                                      gops_onnx_buffer *model);

#endif
