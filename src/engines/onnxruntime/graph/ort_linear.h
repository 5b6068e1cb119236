/* ort_linear.h: reads QuantizeLinear and DequantizeLinear, and what follows from them. */
#ifndef GROUPOPS_ENGINES_ORT_LINEAR_H
#define GROUPOPS_ENGINES_ORT_LINEAR_H

#include "engines/onnxruntime/graph/ort_operation.h"

/* What a DequantizeLinear says of its input. */
typedef struct gops_ort_dequantized {
    gops_ort_node *node;
    gops_tensor input;
    gops_ort_constant scales, zero_points; /* the latter empty: 0 */
    int64_t axis;                          /* of more than one scale */
} gops_ort_dequantized;

/* Reads the DequantizeLinear to f32 that writes the value for `reader` alone; its scales and zero
 * points are constants. *reads is false if there is none. */
ort_status *gops_ort_read_dequantized(const gops_ort_graph *graph, const char *value,
                                      const gops_ort_node *reader, gops_ort_dequantized *of,
                                      bool *reads);

/* Whether it has 8-bit integers with one scale. */
bool gops_ort_has_one_scale(const gops_ort_dequantized *of);

float gops_ort_only_scale(const gops_ort_dequantized *of);
int32_t gops_ort_only_zero_point(const gops_ort_dequantized *of);

/* Makes input `which` of the claim the integers that the node dequantizes. */
void gops_ort_take_input(gops_ort_claim *claim, int which, const gops_ort_dequantized *of);

/* Claims the QuantizeLinear that is the only reader of the claim's output, with a constant scale and
 * zero point and an 8-bit output: these become the claim's. */
ort_status *gops_ort_claim_quantize(const gops_ort_graph *graph, gops_ort_claim *claim,
                                    bool *serves);

/* Removes a Relu or Clip whose bounds are beyond what the output's type holds. Of these the runtime
 * makes QLinearConv and QLinearAdd, so that the bits must be those without an activation. */
void gops_ort_drop_redundant_activation(gops_ort_operation *operation);

#endif
