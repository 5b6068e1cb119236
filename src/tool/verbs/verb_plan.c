/* verb_plan.c: shows the plan of an operation. */
#include "common/dims_text.h"
#include "common/json.h"
#include "operands/slopes.h"
#include "operands/tool_quantization.h"
#include "verbs/verbs.h"

#include <inttypes.h>
#include <stdlib.h>

static void print_numbers(const char *key, const int64_t *values, int32_t count)
{
    char text[GOPS_DIMS_TEXT_BYTES];
    gops_dims_text(values, count, text);
    printf("%-16s%s\n", key, count == 0 ? "none" : text);
}

static void print_text(const gops_command *command, const gops_tensor *inputs,
                       const gops_plan_info *info)
{
    const gops_shape *shape = &info->shape;
    printf("%-16s%s, ", "operation", command->operation->specification);
    if (command->settings.output_type != 0) {
        printf("%s * %s -> ", gops_type_name(inputs[0].type), gops_type_name(inputs[1].type));
    }
    printf("%s\n", gops_type_name(shape->output.type));
    print_numbers("output_shape", shape->output.dims, shape->output.rank);
    print_numbers("pads_begin", shape->pads_begin.values, shape->pads_begin.count);
    print_numbers("pads_end", shape->pads_end.values, shape->pads_end.count);
    printf("%-16s%" PRId64 "\n", "groups", shape->groups);
    printf("%-16s%s\n", "algorithm", info->algorithm);
    printf("%-16s%s\n", "why", info->why);
    printf("%-16s%zu\n", "workspace_bytes", info->workspace_bytes);
    printf("%-16s%zu\n", "filter_bytes", info->filter_bytes);
    printf("%-16s%" PRId32 "\n", "threads", info->threads);
    printf("%-16s%" PRId64 "\n", "flops", info->flops);
}

static void print_json(const gops_plan_info *info)
{
    const gops_shape *shape = &info->shape;
    gops_json json = gops_json_begin(stdout);
    gops_json_integers(&json, "output_shape", shape->output.dims, shape->output.rank);
    gops_json_integers(&json, "pads_begin", shape->pads_begin.values, shape->pads_begin.count);
    gops_json_integers(&json, "pads_end", shape->pads_end.values, shape->pads_end.count);
    gops_json_integer(&json, "groups", shape->groups);
    gops_json_text(&json, "algorithm", info->algorithm);
    gops_json_text(&json, "why", info->why);
    gops_json_integer(&json, "workspace_bytes", (int64_t)info->workspace_bytes);
    gops_json_integer(&json, "flops", info->flops);
    gops_json_end(&json);
}

/* What execution would refuse. */
static bool check_convolution(const gops_settings *settings, const gops_tensor *inputs,
                              const gops_plan_info *info, gops_tool_error *error)
{
    gops_tool_quantization quantization;
    void *slopes;
    if (settings->bias.rank != 0 &&
        !gops_operation_check_bias(&settings->bias, &info->shape.output, error)) {
        return false;
    }
    if (!gops_tool_quantization_read(settings, inputs, &info->shape.output, &quantization, error)) {
        return false;
    }
    gops_tool_quantization_release(&quantization);
    const bool done = gops_tool_slopes_read(settings, &info->shape.output, &slopes, error);
    free(slopes);
    return done;
}

bool gops_verb_plan(const gops_command *command, gops_tool_error *error)
{
    gops_tensor inputs[GOPS_TOOL_MAX_INPUTS];
    gops_plan *plan;
    gops_plan_info info;
    const gops_settings *settings = &command->settings;
    gops_operation_tensors(command->operation, settings, inputs);
    if (!gops_operation_plan(command->operation, settings, inputs, NULL, &plan, &info, error)) {
        return false;
    }
    if (command->operation->inputs == 2 && !check_convolution(settings, inputs, &info, error)) {
        gops_plan_destroy(plan);
        return false;
    }
    if (settings->json) {
        print_json(&info);
    } else {
        print_text(command, inputs, &info);
    }
    gops_plan_destroy(plan);
    return true;
}
