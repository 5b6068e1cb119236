/* ort_model.h: an ONNX model of one layer, or of several equal ones in a row, as the bytes that
 * ONNX Runtime reads. */
#ifndef GROUPOPS_BENCH_ORT_MODEL_H
#define GROUPOPS_BENCH_ORT_MODEL_H

#include "peer_problem.h"

#include <stdint.h>

/* The names of its only input and output that is fed. */
#define GOPS_ORT_INPUT "x"
#define GOPS_ORT_OUTPUT "y"

typedef struct gops_ort_bytes {
    uint8_t *bytes;
    size_t size;
    size_t capacity;
    bool out_of_memory;
} gops_ort_bytes;

/* Opset 21: Conv, ConvTranspose or GroupNormalization, `depth` of them, with the values of the
 * problem as constants. False when there is no memory. */
bool gops_ort_model(const gops_peer_problem *problem, int depth, gops_ort_bytes *model);
void gops_ort_bytes_release(gops_ort_bytes *bytes);

#endif
