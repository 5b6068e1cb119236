/* bench_measure.h: times the execution of one layer. */
#ifndef GOPS_BENCH_MEASURE_H
#define GOPS_BENCH_MEASURE_H

#include "common/operation.h"

typedef struct gops_bench_layer {
    const char *name;
    const gops_tool_operation *operation;
    gops_settings settings; /* reps and seconds 0: the defaults */
} gops_bench_layer;

typedef struct gops_bench_result {
    gops_tensor inputs[GOPS_TOOL_MAX_INPUTS];
    gops_type output_type; /* of a quantized convolution; else 0 */
    const char *algorithm;
    int32_t threads;
    size_t workspace_bytes;
    int64_t reps;
    double ms_min;
    double ms_median;
    double gflops;       /* by ms_min */
    double gbytes_per_s; /* inputs read and output written once each, by ms_min */
    bool has_gemm;       /* whether gemm_ms_min was measured */
    double gemm_ms_min;
    double times_f32; /* ms_min divided by that of the suite's layer KIND/f32; 0: there is none */
} gops_bench_result;

/* Makes the plan, packs the filter, executes once to warm up, then times executions until both
 * their number and their time are enough. With bare_gemm, each one is followed by the matrix
 * products that it contains, which are timed by themselves. */
bool gops_bench_measure(const gops_bench_layer *layer, gops_bench_result *result,
                        gops_tool_error *error);

#endif
