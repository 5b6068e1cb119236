/* bench_report.c: shows what was measured. */
#include "bench/bench_report.h"

#include "common/json.h"
#include "common/terminal.h"

#include <inttypes.h>
#include <stdio.h>

/* How much longer the execution takes than its matrix products. */
static double lowering_percent(const gops_bench_result *result)
{
    return (result->ms_min / result->gemm_ms_min - 1) * 100;
}

void gops_bench_report_begin(const gops_bench_table *table)
{
    if (!table->json) {
        printf("%s%-34s %-6s %-7s %-17s %7s %10s %10s %9s %8s %12s%s%s%s\n",
               gops_terminal_style_text(stdout, GOPS_STYLE_TITLE), "name", "op", "type",
               "algorithm", "threads", "ms min", "ms median", "GFLOP/s", "GB/s", "workspace B",
               table->bare_gemm ? "   GEMM ms  lowering" : "", table->times_f32 ? "   x f32" : "",
               gops_terminal_style_text(stdout, GOPS_STYLE_PLAIN));
    }
}

static void report_text(const gops_bench_table *table, const gops_bench_layer *layer,
                        const gops_bench_result *result)
{
    char types[32];
    if (result->output_type != 0) { /* data, filter, output: u8i8u8 */
        snprintf(types, sizeof types, "%s%s%s", gops_type_name(result->inputs[0].type),
                 gops_type_name(result->inputs[1].type), gops_type_name(result->output_type));
    } else {
        snprintf(types, sizeof types, "%s", gops_type_name(result->inputs[0].type));
    }
    printf("%-34s %-6s %-7s %-17s %7" PRId32 " %10.4f %10.4f %9.2f %8.2f %12zu", layer->name,
           layer->operation->name, types, result->algorithm, result->threads, result->ms_min,
           result->ms_median, result->gflops, result->gbytes_per_s, result->workspace_bytes);
    if (result->has_gemm) {
        printf(" %9.4f %8.1f%%", result->gemm_ms_min, lowering_percent(result));
    } else if (table->bare_gemm) {
        printf(" %9s %9s", "", "");
    }
    if (result->times_f32 > 0) {
        printf(" %7.2f", result->times_f32);
    }
    printf("\n");
}

static void report_json(const gops_bench_layer *layer, const gops_bench_result *result)
{
    const gops_tensor *inputs = result->inputs;
    gops_json json = gops_json_begin(stdout);
    gops_json_text(&json, "op", layer->operation->name);
    gops_json_text(&json, "name", layer->name);
    gops_json_text(&json, "type", gops_type_name(inputs[0].type));
    gops_json_integers(&json, "data", inputs[0].dims, inputs[0].rank);
    if (layer->operation->inputs == 2) {
        gops_json_integers(&json, "filter", inputs[1].dims, inputs[1].rank);
    } else {
        gops_json_null(&json, "filter");
    }
    gops_json_integer(&json, "threads", result->threads);
    gops_json_text(&json, "algorithm", result->algorithm);
    gops_json_real(&json, "ms_min", result->ms_min);
    gops_json_real(&json, "ms_median", result->ms_median);
    gops_json_real(&json, "gflops", result->gflops);
    gops_json_real(&json, "gbytes_per_s", result->gbytes_per_s);
    gops_json_integer(&json, "workspace_bytes", (int64_t)result->workspace_bytes);
    gops_json_integer(&json, "reps", result->reps);
    if (result->has_gemm) {
        gops_json_real(&json, "gemm_ms_min", result->gemm_ms_min);
        gops_json_real(&json, "lowering_percent", lowering_percent(result));
    } else if (layer->settings.bare_gemm) {
        gops_json_null(&json, "gemm_ms_min");
        gops_json_null(&json, "lowering_percent");
    }
    if (result->output_type != 0) {
        gops_json_text(&json, "filter_type", gops_type_name(inputs[1].type));
        gops_json_text(&json, "output_type", gops_type_name(result->output_type));
    }
    if (result->times_f32 > 0) {
        gops_json_real(&json, "times_f32", result->times_f32);
    }
    gops_json_end(&json);
}

bool gops_bench_report(const gops_bench_table *table, const gops_bench_layer *layer,
                       const gops_bench_result *result, gops_tool_error *error)
{
    if (table->json) {
        report_json(layer, result);
    } else {
        report_text(table, layer, result);
    }
    return gops_tool_flush_output(error);
}
