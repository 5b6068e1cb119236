/* ir_pointwise.c: Relu and Reshape, and the plans of Relu and Add.
 *
 * An Add or Relu that is not fused is computed by the post-ops of an operation that copies its data: a depthwise
 * convolution with a kernel of 1 and weights of 1. So it has the library's types and rounding. It copies -0 as 0, which
 * an Add of floating point must not: there it is a normalization by given moments, a mean of 0 and a variance of 1. */
#include "ir/ir_run.h"

#include <string.h>
#include <strings.h>

/* Plans output = data over [batch, channels, rest]: a depthwise convolution with a kernel of 1 whose
 * weights are 1. */
static bool plan_identity(gops_ir_run *run, int index, const int64_t shape[3],
                          gops_tool_error *error)
{
    gops_ir_step *step = &run->step[index];
    const gops_type type = step->output.type;
    const gops_tensor data = {type, 3, {shape[0], shape[1], shape[2]}};
    const gops_tensor filter = {type, 4, {shape[1], 1, 1, 1}};
    gops_options options = run->options;
    gops_error refusal;
    if (step->prepare == gops_ir_prepare_relu) {
        options.activation.kind = GOPS_ACTIVATION_RELU;
    }
    step->info.size = sizeof step->info;
    if (gops_conv_plan_create(&data, &filter, NULL, &options, &step->plan, &refusal) != GOPS_OK ||
        gops_plan_get_info(step->plan, &step->info, &refusal) != GOPS_OK) {
        return gops_ir_refuse(run, index, error, "%s", refusal.message);
    }
    step->ones = shape[1];
    return true;
}

/* Plans output = data + bias over [batch, channels, rest], which keeps the sign of a 0. */
static bool plan_sum(gops_ir_run *run, int index, const int64_t shape[3], gops_tool_error *error)
{
    gops_ir_step *step = &run->step[index];
    const gops_type type = step->output.type;
    const gops_tensor data = {type, 3, {shape[0], shape[1], shape[2]}};
    const gops_tensor channels = {type, 1, {shape[1]}};
    /* Too little to change the variance of 1. */
    const gops_norm_attributes attributes = {.num_groups = 1, .epsilon = 1e-30};
    gops_options options = run->options;
    gops_error refusal;
    options.moments = GOPS_MOMENTS_GIVEN;
    step->info.size = sizeof step->info;
    step->sums = true;
    return (gops_norm_plan_create(&data, &channels, &channels, &attributes, &options, &step->plan,
                                  &refusal) == GOPS_OK &&
            gops_plan_get_info(step->plan, &step->info, &refusal) == GOPS_OK) ||
           gops_ir_refuse(run, index, error, "%s", refusal.message);
}

/* A bias of several numbers needs an axis of channels; all else is one row. */
static bool plan_step(gops_ir_run *run, int index, gops_tool_error *error)
{
    const gops_ir_step *step = &run->step[index];
    const int64_t *dims = step->held.shape.dims;
    const gops_tensor *bias = step->bias != GOPS_IR_NONE ? &run->step[step->bias].output : NULL;
    int64_t count, biases = 1;
    if (!gops_ir_count(&step->held.shape, &count) ||
        (bias != NULL && !gops_ir_count(bias, &biases))) {
        return gops_ir_refuse(run, index, error, "its shape has more elements than 64 bits count");
    }
    if (count == 0) {
        return true;
    }
    const bool one = biases == 1;
    const int64_t shape[3] = {one ? 1 : dims[0], one ? 1 : dims[1],
                              one ? count : count / dims[0] / dims[1]};
    return step->prepare == gops_ir_prepare_add && step->output.type <= GOPS_F8E5M2
               ? plan_sum(run, index, shape, error)
               : plan_identity(run, index, shape, error);
}

bool gops_ir_plan_pointwise(gops_ir_run *run, gops_tool_error *error)
{
    for (int i = 0; i < run->model->layers; i++) {
        if (run->step[i].pointwise && !plan_step(run, i, error)) {
            return false;
        }
    }
    return true;
}

bool gops_ir_prepare_relu(gops_ir_run *run, int index, gops_tool_error *error)
{
    gops_ir_step *step = &run->step[index];
    (void)error;
    step->output = *gops_ir_input(run, index, 0);
    step->data = gops_ir_source(run, index, 0);
    step->pointwise = true;
    step->algorithm = "-";
    return true;
}

/* Computes the dimension that the shape leaves open (-1), so that there are as many elements as in the input. Sizes
 * that are `copied` from it count on neither side, as they may be 0. */
static bool resolve_unknown(gops_tensor *tensor, int unknown, const gops_tensor *input,
                            const bool *copied)
{
    gops_tensor known = *tensor, others = *input;
    int64_t count, known_count;
    if (unknown < 0) {
        return gops_ir_count(tensor, &known_count) && gops_ir_count(input, &count) &&
               known_count == count;
    }
    known.dims[unknown] = 1;
    for (int axis = 0; axis < known.rank; axis++) {
        if (copied[axis]) {
            known.dims[axis] = others.dims[axis] = 1;
        }
    }
    if (!gops_ir_count(&known, &known_count) || !gops_ir_count(&others, &count) ||
        known_count == 0 || count % known_count != 0) {
        return false;
    }
    tensor->dims[unknown] = count / known_count;
    return true;
}

/* Reads special_zero, false where it is missing. */
static bool read_special_zero(const gops_ir_run *run, int index, bool *special,
                              gops_tool_error *error)
{
    const char *text = gops_ir_attribute_value(&run->model->layer[index], "special_zero");
    *special = text != NULL && (strcasecmp(text, "true") == 0 || strcmp(text, "1") == 0);
    return text == NULL || *special || strcasecmp(text, "false") == 0 || strcmp(text, "0") == 0 ||
           gops_ir_refuse(run, index, error, "special_zero \"%.40s\" is neither true nor false",
                          text);
}

bool gops_ir_prepare_reshape(gops_ir_run *run, int index, gops_tool_error *error)
{
    gops_ir_step *step = &run->step[index];
    const gops_tensor *input = gops_ir_input(run, index, 0);
    gops_ir_text text, shape;
    bool special, fine = true, copied[GOPS_MAX_RANK] = {false};
    int unknown = -1;
    if (!read_special_zero(run, index, &special, error)) {
        return false;
    }
    const int rank = gops_ir_constant_input(run, index, 1, "the shape", step->output.dims, error);
    if (rank < 0) {
        return false;
    }
    step->output.type = input->type;
    step->output.rank = (int32_t)rank;
    const gops_tensor asked = step->output;
    step->data = gops_ir_source(run, index, 0);
    step->constant = run->step[step->data].constant;
    step->algorithm = step->constant ? "folded" : "-";
    for (int axis = 0; axis < rank; axis++) {
        int64_t *dim = &step->output.dims[axis];
        if (*dim == 0 && special) {
            fine = fine && axis < input->rank;
            copied[axis] = fine;
            *dim = fine ? input->dims[axis] : 0;
        } else if (*dim == -1) {
            fine = fine && unknown < 0;
            unknown = axis;
        } else {
            fine = fine && *dim >= 0;
        }
    }
    return (fine && resolve_unknown(&step->output, unknown, input, copied)) ||
           gops_ir_refuse(run, index, error, "the shape, %s, does not go with the input, %s",
                          gops_ir_call_tensor(&asked, &shape), gops_ir_call_tensor(input, &text));
}
