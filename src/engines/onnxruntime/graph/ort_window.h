/* ort_window.h: the windows of pools over two axes. */
#ifndef GROUPOPS_ENGINES_ORT_WINDOW_H
#define GROUPOPS_ENGINES_ORT_WINDOW_H

#include "engines/onnxruntime/graph/ort_graph.h"

enum {
    GOPS_ORT_WINDOW_AXES = 2,
    /* Of an axis of 8-bit integers and of a kernel over it: a pass has six times as many bytes on its stack. */
    GOPS_ORT_MAX_BYTES = 8192,
};

typedef struct gops_ort_window {
    int64_t kernel[GOPS_ORT_WINDOW_AXES], strides[GOPS_ORT_WINDOW_AXES];
    int64_t pads_begin[GOPS_ORT_WINDOW_AXES], pads_end[GOPS_ORT_WINDOW_AXES];
} gops_ort_window;

/* Reads the attributes of a pool that says what it pads and has no dilations; the first pads are smaller
 * than the kernel. *reads is false for any other, also one over other than two axes. */
ort_status *gops_ort_read_window(const gops_ort_runtime *runtime, const gops_ort_node *node,
                                 gops_ort_window *window, bool *reads);

#endif
