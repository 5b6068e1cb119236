/* ort_window.h: the windows of pools over two axes: which there are, and what each of them covers. */
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

/* The elements of an axis from `begin` to end - 1. */
typedef struct gops_ort_range {
    int64_t begin, end;
} gops_ort_range;

/* Those of `in` elements that window number `at` covers. */
static inline gops_ort_range gops_ort_covered(const gops_ort_window *window, int axis, int64_t in,
                                              int64_t at)
{
    const int64_t first = at * window->strides[axis] - window->pads_begin[axis];
    const int64_t end = first + window->kernel[axis];
    return (gops_ort_range){first > 0 ? first : 0, end < in ? end : in};
}

/* How many elements, padding counted, the first `count` windows of an axis reach over. */
static inline int64_t gops_ort_reach(const gops_ort_window *window, int axis, int64_t count)
{
    return (count - 1) * window->strides[axis] + window->kernel[axis];
}

/* Whether the last of `count` windows, and so each, begins before `in` elements end. */
static inline bool gops_ort_begin_within(int64_t in, int64_t count, int64_t stride,
                                         int64_t pad_begin)
{
    return (count - 1) * stride < in + pad_begin;
}

/* How many windows an axis of `in` elements has, by ONNX: with ceil_mode the last may end behind the padding. 0: the
 * kernel is larger than all of it. */
int64_t gops_ort_count_windows(const gops_ort_window *window, int axis, int64_t in, bool ceil_mode);

/* Reads the attributes of a pool that says what it pads and has no dilations; the first pads are smaller
 * than the kernel. *reads is false for any other, also one over other than two axes. */
ort_status *gops_ort_read_window(const gops_ort_runtime *runtime, const gops_ort_node *node,
                                 gops_ort_window *window, bool *reads);

/* The same, of four axes from `data` to `output`; *reads is also false unless each window begins, and has an element,
 * in the data. */
ort_status *gops_ort_read_max_windows(const gops_ort_runtime *runtime, const gops_ort_node *node,
                                      const gops_tensor *data, const gops_tensor *output,
                                      gops_ort_window *window, bool *reads);

/* The same of an average, where none ends behind the padding. *divides_alike: by as many elements in all windows. */
ort_status *gops_ort_read_average_windows(const gops_ort_runtime *runtime,
                                          const gops_ort_node *node, const gops_tensor *data,
                                          const gops_tensor *output, gops_ort_window *window,
                                          bool *divides_alike, bool *reads);

#endif
