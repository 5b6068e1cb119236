/* tool_layer.h: a grouped layer with random values, and the command line that runs it. */
#ifndef GROUPOPS_TESTS_TOOL_LAYER_H
#define GROUPOPS_TESTS_TOOL_LAYER_H

#include "random_numbers.h"
#include "reference.h"

typedef struct tool_layer {
    gops_test_random random;
    int transposed;
    gops_tensor data, filter;
    gops_reference_geometry geometry;
    char line[1024]; /* the words behind the command's name */
} tool_layer;

/* Appends to the line. */
__attribute__((format(printf, 2, 3))) void tool_layer_add(tool_layer *layer, const char *format,
                                                          ...);

/* Random values of the tensor, which FLAG.npy holds and --FLAG names; the caller frees them. `dtype` is
 * NumPy's name of their type. */
void *tool_layer_tensor(tool_layer *layer, const char *flag, const char *dtype,
                        const gops_tensor *tensor);

/* Sets the shapes, by `transposed`, and begins the line with the verb and the attributes. */
void tool_layer_draw(tool_layer *layer, gops_type data, gops_type filter);

#endif
