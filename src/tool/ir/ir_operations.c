/* ir_operations.c: the convolutions and the normalization of an IR, from attributes to plans. */
#include "ir/ir_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool read_list(const gops_ir_run *run, int index, const char *name, gops_list *list,
                      gops_tool_error *error)
{
    const char *text = gops_ir_attribute_value(&run->model->layer[index], name);
    list->count = 0;
    if (text == NULL) {
        return true;
    }
    list->count = (int32_t)gops_ir_integers(text, GOPS_MAX_SPATIAL, list->values);
    return list->count >= 0 ||
           gops_ir_refuse(run, index, error, "%s \"%.80s\" is not up to %d numbers", name, text,
                          GOPS_MAX_SPATIAL);
}

static bool read_auto_pad(const gops_ir_run *run, int index, gops_auto_pad *auto_pad,
                          gops_tool_error *error)
{
    static const char *const names[] = {"explicit", "same_upper", "same_lower", "valid"};
    const char *text = gops_ir_attribute_value(&run->model->layer[index], "auto_pad");
    *auto_pad = GOPS_AUTO_PAD_EXPLICIT;
    for (int i = 0; text != NULL && i < 4; i++) {
        if (strcasecmp(text, names[i]) == 0) {
            *auto_pad = (gops_auto_pad)i;
            return true;
        }
    }
    return text == NULL ||
           gops_ir_refuse(run, index, error,
                          "auto_pad \"%.40s\" is none of explicit, same_upper, same_lower, valid",
                          text);
}

/* Reads the attributes that convolution and transposed convolution share. */
static bool read_attributes(const gops_ir_run *run, int index, gops_conv_attributes *attributes,
                            gops_tool_error *error)
{
    return read_list(run, index, "strides", &attributes->strides, error) &&
           read_list(run, index, "pads_begin", &attributes->pads_begin, error) &&
           read_list(run, index, "pads_end", &attributes->pads_end, error) &&
           read_list(run, index, "dilations", &attributes->dilations, error) &&
           read_auto_pad(run, index, &attributes->auto_pad, error);
}

/* The filter's descriptor, with an axis of one group in front where the layer has none. */
static bool read_filter(const gops_ir_run *run, int index, gops_tensor *filter,
                        gops_tool_error *error)
{
    *filter = *gops_ir_input(run, index, 1);
    if (!run->step[index].ungrouped) {
        return true;
    }
    if (filter->rank == GOPS_MAX_RANK) {
        return gops_ir_refuse(run, index, error,
                              "the filter has rank %d; a Convolution's is at most %d",
                              (int)filter->rank, GOPS_MAX_RANK - 1);
    }
    memmove(filter->dims + 1, filter->dims, (size_t)filter->rank * sizeof *filter->dims);
    filter->dims[0] = 1;
    filter->rank++;
    return true;
}

static gops_status create_plan(const gops_ir_problem *problem, gops_plan **plan, gops_error *error)
{
    switch (problem->operation) {
    case GOPS_IR_CONV:
        return gops_conv_plan_create(&problem->data, &problem->second, &problem->attributes.conv,
                                     &problem->options, plan, error);
    case GOPS_IR_DECONV:
        return gops_deconv_plan_create(&problem->data, &problem->second,
                                       &problem->attributes.deconv, &problem->options, plan, error);
    default:
        return gops_norm_plan_create(&problem->data, &problem->second, &problem->third,
                                     &problem->attributes.norm, &problem->options, plan, error);
    }
}

/* Plans the step's problem, whose operation, attributes and second and third tensor are there. */
static bool make_plan(gops_ir_run *run, int index, gops_tool_error *error)
{
    gops_ir_step *step = &run->step[index];
    gops_error refusal;
    step->data = gops_ir_source(run, index, 0);
    step->problem.data = *gops_ir_input(run, index, 0);
    step->reads = gops_ir_whole(&step->problem.data);
    step->problem.options = run->options;
    step->info.size = sizeof step->info;
    if (create_plan(&step->problem, &step->plan, &refusal) != GOPS_OK ||
        gops_plan_get_info(step->plan, &step->info, &refusal) != GOPS_OK) {
        return gops_ir_refuse(run, index, error, "%s", refusal.message);
    }
    step->algorithm = step->info.algorithm;
    step->output = step->info.shape.output;
    return true;
}

bool gops_ir_prepare_conv(gops_ir_run *run, int index, gops_tool_error *error)
{
    gops_ir_step *step = &run->step[index];
    step->problem = (gops_ir_problem){.operation = GOPS_IR_CONV};
    step->weights = gops_ir_source(run, index, 1);
    return read_attributes(run, index, &step->problem.attributes.conv, error) &&
           read_filter(run, index, &step->problem.second, error) && make_plan(run, index, error);
}

static bool read_output_shape(const gops_ir_run *run, int index, gops_list *list,
                              gops_tool_error *error)
{
    int64_t values[GOPS_MAX_RANK];
    if (run->model->layer[index].inputs < 3) {
        return true;
    }
    const int count = gops_ir_constant_input(run, index, 2, "output_shape", values, error);
    if (count > GOPS_MAX_SPATIAL || count == 0) {
        return gops_ir_refuse(
            run, index, error,
            "output_shape has %d numbers; it has one for each of 1 to %d spatial axes", count,
            GOPS_MAX_SPATIAL);
    }
    for (int i = 0; i < count; i++) {
        list->values[i] = values[i];
    }
    list->count = count;
    return count > 0;
}

bool gops_ir_prepare_deconv(gops_ir_run *run, int index, gops_tool_error *error)
{
    gops_ir_step *step = &run->step[index];
    gops_deconv_attributes *attributes = &step->problem.attributes.deconv;
    gops_conv_attributes conv = {0};
    /* IR files follow OpenVINO's rule: with an output_shape, explicit pads are kept. */
    step->problem = (gops_ir_problem){.operation = GOPS_IR_DECONV};
    attributes->output_shape_rule = GOPS_OUTPUT_SHAPE_OPENVINO;
    if (!read_attributes(run, index, &conv, error) ||
        !read_list(run, index, "output_padding", &attributes->output_padding, error) ||
        !read_output_shape(run, index, &attributes->output_shape, error) ||
        !read_filter(run, index, &step->problem.second, error)) {
        return false;
    }
    attributes->strides = conv.strides;
    attributes->pads_begin = conv.pads_begin;
    attributes->pads_end = conv.pads_end;
    attributes->dilations = conv.dilations;
    attributes->auto_pad = conv.auto_pad;
    step->weights = gops_ir_source(run, index, 1);
    return make_plan(run, index, error);
}

bool gops_ir_prepare_norm(gops_ir_run *run, int index, gops_tool_error *error)
{
    const gops_ir_layer *layer = &run->model->layer[index];
    gops_ir_step *step = &run->step[index];
    const char *groups = gops_ir_attribute_value(layer, "num_groups");
    const char *epsilon = gops_ir_attribute_value(layer, "epsilon");
    char *end = NULL;
    gops_norm_attributes *attributes = &step->problem.attributes.norm;
    step->problem = (gops_ir_problem){.operation = GOPS_IR_NORM};
    if (groups == NULL || gops_ir_integers(groups, 1, &attributes->num_groups) != 1) {
        return gops_ir_refuse(run, index, error, "num_groups \"%.40s\" is not a number",
                              groups != NULL ? groups : "");
    }
    attributes->epsilon = epsilon != NULL ? strtod(epsilon, &end) : NAN;
    if (end == NULL || end == epsilon || *end != '\0') {
        return gops_ir_refuse(run, index, error, "epsilon \"%.40s\" is not a number",
                              epsilon != NULL ? epsilon : "");
    }
    step->scale = gops_ir_source(run, index, 1);
    step->bias = gops_ir_source(run, index, 2);
    step->problem.second = *gops_ir_input(run, index, 1);
    step->problem.third = *gops_ir_input(run, index, 2);
    return make_plan(run, index, error);
}
