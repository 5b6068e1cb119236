/* ort_model.h: an ONNX model of one layer, or of several equal ones in a row, as the bytes that
 * ONNX Runtime reads. */
#ifndef GROUPOPS_BENCH_ORT_MODEL_H
#define GROUPOPS_BENCH_ORT_MODEL_H

#include "onnx_builder.h"
#include "peer_problem.h"

/* The names of its only input and output that is fed. */
#define GOPS_ORT_INPUT "x"
#define GOPS_ORT_OUTPUT "y"

/* Opset 21: Conv, ConvTranspose, GroupNormalization or, of a quantized layer, QLinearConv, `depth` of
 * them, with the values of the problem as constants. The caller frees the bytes. False when there is
 * no memory. */
bool gops_ort_model(const gops_peer_problem *problem, int depth, gops_onnx_buffer *model);

#endif
