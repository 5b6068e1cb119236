/* ir_lone.c: makes a model of a lone <layer>: a Parameter for each of its inputs, and a Result. */
#include "ir/ir_model.h"

#include <string.h>

/* Of the specification's operations. */
enum { MAX_INPUTS = 3 };

static const char *input_name(const char *type, int input)
{
    static const char *const of_norm[MAX_INPUTS] = {"data", "scale", "bias"};
    static const char *const of_others[MAX_INPUTS] = {"data", "filter", "output_shape"};
    return strcmp(type, "GroupNormalization") == 0 ? of_norm[input] : of_others[input];
}

bool gops_ir_surround(gops_ir_model *model, gops_tool_error *error)
{
    const gops_ir_layer alone = model->layer[0];
    const int inputs = alone.inputs;
    const int layers = inputs + 2;
    gops_ir_text text;
    if (alone.outputs != 1 || inputs == 0 || inputs > MAX_INPUTS) {
        return gops_tool_refuse(
            error, GOPS_EXIT_FAILED,
            "%s: a lone layer is run that has inputs, at most %d, and one output",
            gops_ir_call_layer(&alone, &text), MAX_INPUTS);
    }
    gops_ir_layer *layer = gops_ir_take(model, (size_t)layers, sizeof *layer);
    gops_ir_port *result = gops_ir_take(model, 1, sizeof *result);
    model->order = gops_ir_take(model, (size_t)layers, sizeof *model->order);
    if (layer == NULL || result == NULL || model->order == NULL) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "there is no memory for the model");
    }
    /* The specification's examples state the type at the output, if at all. */
    const gops_type type = alone.output[0].tensor.type;
    for (int i = 0; i < inputs; i++) {
        gops_ir_port *port = &alone.input[i];
        port->source = i;
        const char *name = input_name(alone.type, i);
        if (port->tensor.type == 0 && strcmp(name, "output_shape") == 0) {
            port->tensor.type = GOPS_I64;
        } else if (port->tensor.type == 0) {
            port->tensor.type = type != 0 ? type : GOPS_F32;
        }
        layer[i] = (gops_ir_layer){
            .id = port->id, .name = name, .type = "Parameter", .outputs = 1, .output = port};
    }
    layer[inputs] = alone;
    *result = alone.output[0];
    result->source = inputs;
    layer[inputs + 1] = (gops_ir_layer){.id = result->id,
                                        .name = *alone.name != '\0' ? alone.name : alone.type,
                                        .type = "Result",
                                        .inputs = 1,
                                        .input = result};
    for (int i = 0; i < layers; i++) {
        model->order[i] = i;
    }
    model->layer = layer;
    model->layers = layers;
    return true;
}
