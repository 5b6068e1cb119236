/* ort_resize.h: Resize and Upsample of two spatial axes, by the nearest element or between two on each axis. */
#ifndef GROUPOPS_ENGINES_ORT_RESIZE_H
#define GROUPOPS_ENGINES_ORT_RESIZE_H

#include "engines/onnxruntime/graph/ort_graph.h"
#include "engines/onnxruntime/graph/ort_window.h"

/* The elements that one of the output is made of, on one axis, and the share of each. By the nearest element they are
 * one. */
typedef struct gops_ort_tap {
    int32_t first, second;
    float of_first, of_second;
} gops_ort_tap;

typedef struct gops_ort_resize {
    bool linear;
    gops_ort_tap *taps[GOPS_ORT_WINDOW_AXES]; /* in one piece of memory, freed by free(taps[0]) */
} gops_ort_resize;

/* Reads a node from `data` to `output`, of four axes and known sizes. *reads is false, and nothing to be freed, if it
 * is another one: the runtime's positions are made for the modes of ONNX that exporters write. */
ort_status *gops_ort_read_resize(const gops_ort_runtime *runtime, const gops_ort_node *node,
                                 const gops_tensor *data, const gops_tensor *output,
                                 gops_ort_resize *resize, bool *reads);

#endif
