/* ir_layers.c: the types of layers that are run, and the preparation of a whole model. */
#include "ir/ir_run.h"

#include <inttypes.h>
#include <string.h>

/* A new type is a row here. */
static const struct {
    const char *type;
    gops_ir_prepare_fn *prepare;
    int min_inputs, max_inputs, outputs;
    bool ungrouped; /* its filter has no axis of groups */
} layer_types[] = {
    {"Parameter", gops_ir_prepare_parameter, 0, 0, 1, false},
    {"Const", gops_ir_prepare_const, 0, 0, 1, false},
    {"Convolution", gops_ir_prepare_conv, 2, 2, 1, true},
    {"GroupConvolution", gops_ir_prepare_conv, 2, 2, 1, false},
    {"ConvolutionBackpropData", gops_ir_prepare_deconv, 2, 3, 1, true},
    {"GroupConvolutionBackpropData", gops_ir_prepare_deconv, 2, 3, 1, false},
    {"GroupNormalization", gops_ir_prepare_norm, 3, 3, 1, false},
    {"Add", gops_ir_prepare_add, 2, 2, 1, false},
    {"Relu", gops_ir_prepare_relu, 1, 1, 1, false},
    {"ReLU", gops_ir_prepare_relu, 1, 1, 1, false}, /* as versions 10 and 11 spell it */
    {"Reshape", gops_ir_prepare_reshape, 2, 2, 1, false},
    {"Convert", gops_ir_prepare_convert, 1, 1, 1, false},
    {"Subtract", gops_ir_prepare_subtract, 2, 2, 1, false},
    {"Multiply", gops_ir_prepare_multiply, 2, 2, 1, false},
    {"Concat", gops_ir_prepare_concat, 1, GOPS_IR_MAX_INPUTS, 1, false},
    {"Result", gops_ir_prepare_result, 1, 1, 0, false},
};

static int find_layer_type(const char *type)
{
    for (int i = 0; i < (int)(sizeof layer_types / sizeof layer_types[0]); i++) {
        if (strcmp(layer_types[i].type, type) == 0) {
            return i;
        }
    }
    return -1;
}

bool gops_ir_is_run(const char *type)
{
    return find_layer_type(type) >= 0;
}

gops_ir_step gops_ir_step_initial(void)
{
    return (gops_ir_step){
        .file.descriptor = -1,
        .user = GOPS_IR_NONE,
        .weights = GOPS_IR_NONE,
        .data = GOPS_IR_NONE,
        .scale = GOPS_IR_NONE,
        .bias = GOPS_IR_NONE,
        .residual = GOPS_IR_NONE,
        .before = GOPS_IR_NONE,
        .last = GOPS_IR_NONE,
    };
}

static bool matches_stated(const gops_tensor *stated, const gops_tensor *found)
{
    return (stated->type == 0 || stated->type == found->type) && gops_ir_same_shape(stated, found);
}

static bool check_stated(const gops_ir_run *run, int index, const gops_ir_port *port,
                         const gops_tensor *found, const char *side, gops_tool_error *error)
{
    gops_ir_text stated_text;
    gops_ir_text found_text;
    return matches_stated(&port->tensor, found) ||
           gops_ir_refuse(run, index, error, "the file states %s at %s port %" PRId64 "; it is %s",
                          gops_ir_call_tensor(&port->tensor, &stated_text), side, port->id,
                          gops_ir_call_tensor(found, &found_text));
}

static bool prepare_layer(gops_ir_run *run, int index, gops_tool_error *error)
{
    const gops_ir_layer *layer = &run->model->layer[index];
    gops_ir_step *step = &run->step[index];
    const int kind = find_layer_type(layer->type);
    if (layer->inputs < layer_types[kind].min_inputs ||
        layer->inputs > layer_types[kind].max_inputs ||
        layer->outputs != layer_types[kind].outputs) {
        return gops_ir_refuse(run, index, error,
                              "it has %d inputs and %d outputs; this type has %d to %d and %d",
                              layer->inputs, layer->outputs, layer_types[kind].min_inputs,
                              layer_types[kind].max_inputs, layer_types[kind].outputs);
    }
    for (int i = 0; i < layer->inputs; i++) {
        if (!check_stated(run, index, &layer->input[i], gops_ir_input(run, index, i), "input",
                          error)) {
            return false;
        }
    }
    step->prepare = layer_types[kind].prepare;
    step->ungrouped = layer_types[kind].ungrouped;
    if (!step->prepare(run, index, error) ||
        (layer->outputs == 1 &&
         !check_stated(run, index, &layer->output[0], &step->output, "output", error))) {
        return false;
    }
    if (layer->outputs == 0) {
        return true;
    }
    gops_tool_error reason;
    if (!gops_ir_bytes(&step->output, &step->bytes, &reason)) {
        return gops_ir_refuse(run, index, error, "%s", reason.message);
    }
    step->held = gops_ir_whole(&step->output);
    return step->bytes <= run->max_bytes || run->ranks != NULL ||
           gops_ir_refuse(run, index, error,
                          "its output has %zu bytes; this machine has a memory of %" PRIu64,
                          step->bytes, run->max_bytes);
}

static bool prepare_layers(gops_ir_run *run, gops_tool_error *error)
{
    for (int i = 0; i < run->model->layers; i++) {
        const int index = run->model->order[i];
        if (!prepare_layer(run, index, error)) {
            return false;
        }
        for (int input = 0; input < run->model->layer[index].inputs; input++) {
            gops_ir_step *source = &run->step[gops_ir_source(run, index, input)];
            source->users++;
            source->user = index;
        }
    }
    for (int i = 0; i < run->model->given_count; i++) {
        if (!run->model->given[i].used) {
            return gops_tool_refuse(error, GOPS_EXIT_FAILED,
                                    "--input=%s: the model has no Parameter of that name",
                                    run->model->given[i].text);
        }
    }
    gops_ir_fold_all(run);
    return gops_ir_fuse_all(run, error);
}

bool gops_ir_prepare_all(gops_ir_run *run, gops_tool_error *error)
{
    return gops_ir_all(run, prepare_layers(run, error), error) &&
           (run->ranks == NULL || run->ranks->place(run, error));
}
