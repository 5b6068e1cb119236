/* bench_report.h: shows what was measured, as a table for people or as JSON lines. */
#ifndef GOPS_BENCH_REPORT_H
#define GOPS_BENCH_REPORT_H

#include "bench/bench_measure.h"

typedef struct gops_bench_table {
    bool json;
    bool bare_gemm, times_f32; /* columns that some layer fills */
} gops_bench_table;

/* The table's first line; nothing for JSON. */
void gops_bench_report_begin(const gops_bench_table *table);

/* One line, written at once; false when it cannot be. */
bool gops_bench_report(const gops_bench_table *table, const gops_bench_layer *layer,
                       const gops_bench_result *result, gops_tool_error *error);

#endif
