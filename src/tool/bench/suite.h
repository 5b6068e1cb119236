/* suite.h: a file of layers to measure.
 *
 * Each line is a layer: its name, the operation, the element type, and then the tool's own flags
 * without their dashes, all with spaces between them:
 *
 *     resnext50-conv2  conv  f32  data=1,128,56,56 filter=32,4,4,3,3 pads-begin=1,1 pads-end=1,1
 *
 * Empty lines are ignored, and so is everything after a '#'. */
#ifndef GOPS_BENCH_SUITE_H
#define GOPS_BENCH_SUITE_H

#include "bench/bench_measure.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct gops_suite {
    char *text; /* the file; the layers point into it */
    gops_bench_layer *layers;
    size_t count;
} gops_suite;

/* The folder of the suites that come with the tool, with a '/' at its end. */
bool gops_suite_folder(char *folder, size_t bytes);

/* Reads NAME.txt from the folder of suites, or the file itself when the name has a '/' or ends in
 * ".txt". *suite is empty after a failure. */
bool gops_suite_read(const char *name, gops_suite *suite, gops_tool_error *error);
void gops_suite_release(gops_suite *suite);

/* Reads the layers of a text that ends with a 0. The suite takes over the text, which is changed.
 * `path` is for messages. */
bool gops_suite_parse(const char *path, char *text, gops_suite *suite, gops_tool_error *error);

#endif
