/* bench_bars.h: the times of layers as bars. */
#ifndef GOPS_BENCH_BARS_H
#define GOPS_BENCH_BARS_H

#include "bench/bench_measure.h"

#include <stddef.h>

typedef struct gops_bench_bar {
    const char *name;
    const char *algorithm;
    double ms;
    double gflops;
} gops_bench_bar;

/* Prints a line for each to standard output, a terminal, as wide as it is. */
void gops_bench_bars_print(const gops_bench_bar *bars, size_t count);

/* Writes them as a picture, whole or not at all. `title` is escaped. */
bool gops_bench_bars_write(const char *path, const char *title, const gops_bench_bar *bars,
                           size_t count, gops_tool_error *error);

#endif
