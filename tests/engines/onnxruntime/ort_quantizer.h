/* ort_quantizer.h: writes quantized layers, as quantizers write them, with random weights. */
#ifndef GROUPOPS_TESTS_ORT_QUANTIZER_H
#define GROUPOPS_TESTS_ORT_QUANTIZER_H

#include "ort_quantized.h"
#include "random_numbers.h"

enum { GOPS_QUANTIZER_NAME_BYTES = 32, GOPS_QUANTIZER_OPERANDS = 10 };

typedef struct gops_quantizer {
    gops_onnx_builder builder;
    gops_test_random random;
    const gops_ort_form *form;
    int names;
    gops_ort_layers layers; /* written so far */
} gops_quantizer;

/* A tensor: floats, or integers with a scale and a zero point. */
typedef struct gops_quantized_value {
    char name[GOPS_QUANTIZER_NAME_BYTES];
    float scale;
    int zero;
    int64_t channels;
} gops_quantized_value;

typedef enum gops_quantized_activation {
    GOPS_QUANTIZED_NONE,
    GOPS_QUANTIZED_RELU,
    GOPS_QUANTIZED_RELU6,
} gops_quantized_activation;

typedef struct gops_quantized_layer {
    int64_t to, kernel, stride, groups;
    gops_quantized_activation activation;
    bool transposed;
} gops_quantized_layer;

typedef struct gops_quantized_window {
    int64_t kernel, stride, pad;
    bool counts_padding;
} gops_quantized_window;

/* A new name. */
gops_quantized_value gops_quantizer_next(gops_quantizer *to);
double gops_quantizer_draw(gops_quantizer *to, double low, double high);

/* A new tensor, with scale and zero point for what a layer with that activation gives. */
gops_quantized_value gops_quantizer_choose(gops_quantizer *to, gops_quantized_activation of,
                                           int64_t channels);
/* QuantizeLinear and DequantizeLinear. */
void gops_quantizer_quantize(gops_quantizer *to, const gops_quantized_value *from,
                             const gops_quantized_value *made);
gops_quantized_value gops_quantizer_dequantize(gops_quantizer *to,
                                               const gops_quantized_value *from);
/* DequantizeLinear that writes a value of that name. */
void gops_quantizer_dequantize_as(gops_quantizer *to, const gops_quantized_value *from,
                                  const char *name);

/* A node of one input. */
gops_quantized_value gops_quantizer_apply(gops_quantizer *to, const char *type,
                                          const gops_quantized_value *data);

/* Layers of quantized tensors. A pool takes the largest of `kernel` x `kernel`, with stride 2. */
gops_quantized_value gops_quantizer_convolve(gops_quantizer *to, const gops_quantized_value *data,
                                             gops_quantized_layer of);
gops_quantized_value gops_quantizer_add(gops_quantizer *to, const gops_quantized_value *one,
                                        const gops_quantized_value *other,
                                        gops_quantized_activation of);
gops_quantized_value gops_quantizer_pool(gops_quantizer *to, const gops_quantized_value *data,
                                         int64_t kernel);
/* Of two tensors of one shape, or of one and a number for each of its channels. */
gops_quantized_value gops_quantizer_multiply(gops_quantizer *to, const gops_quantized_value *one,
                                             const gops_quantized_value *other);
/* An activation alone, as "LeakyRelu". */
gops_quantized_value gops_quantizer_bend(gops_quantizer *to, const char *type,
                                         const gops_quantized_value *data);
/* NULL: over the whole plane. */
gops_quantized_value gops_quantizer_average(gops_quantizer *to, const gops_quantized_value *data,
                                            const gops_quantized_window *window);
/* Into parts of so many channels, not more than GOPS_QUANTIZER_OPERANDS. */
void gops_quantizer_split(gops_quantizer *to, const gops_quantized_value *data,
                          const int64_t *channels, int count, gops_quantized_value *made);
/* Of not more than GOPS_QUANTIZER_OPERANDS; with the first one's scale and zero point, or others. */
gops_quantized_value gops_quantizer_join(gops_quantizer *to,
                                         const gops_quantized_value *const *operands, int count,
                                         bool keeps_scale);

#endif
