/* ir_pointwise.c: Add, Relu and Reshape.
 *
 * Add and Relu are a convolution with one channel a group and a 1 for its filter, whose bias,
 * residual and activation do the work: so they have the library's types and its roundings. */
#include "ir_run.h"

#include <string.h>

static bool count_elements(const gops_tensor *tensor, int64_t *count)
{
    gops_tool_error unread;
    size_t bytes;
    if (!gops_ir_bytes(tensor, &bytes, &unread)) {
        return false;
    }
    *count = (int64_t)(bytes / gops_type_bytes(tensor->type));
    return true;
}

/* Plans output = data, with the options, over [batch, channels, rest]. */
static bool plan_identity(gops_ir_run *run, int index, const int64_t shape[3],
                          const gops_options *options, gops_tool_error *error)
{
    gops_ir_step *step = &run->step[index];
    const gops_type type = step->output.type;
    const gops_tensor data = {type, 3, {shape[0], shape[1], shape[2]}};
    const gops_tensor filter = {type, 4, {shape[1], 1, 1, 1}};
    gops_error refusal;
    step->algorithm = "-";
    step->info.size = sizeof step->info;
    if (shape[0] == 0 || shape[1] == 0 || shape[2] == 0) {
        return true;
    }
    if (gops_conv_plan_create(&data, &filter, NULL, options, &step->plan, &refusal) != GOPS_OK ||
        gops_plan_get_info(step->plan, &step->info, &refusal) != GOPS_OK) {
        return gops_ir_refuse(run, index, error, "%s", refusal.message);
    }
    step->ones = shape[1];
    return true;
}

bool gops_ir_prepare_relu(gops_ir_run *run, int index, gops_tool_error *error)
{
    gops_ir_step *step = &run->step[index];
    gops_options options = run->options;
    int64_t count;
    step->output = *gops_ir_input(run, index, 0);
    step->data = 0;
    options.activation.kind = GOPS_ACTIVATION_RELU;
    if (!count_elements(&step->output, &count)) {
        return gops_ir_refuse(run, index, error, "it has too many elements");
    }
    return plan_identity(run, index, (const int64_t[3]){1, 1, count}, &options, error);
}

static bool equal_shapes(const gops_tensor *a, const gops_tensor *b)
{
    return a->rank == b->rank && memcmp(a->dims, b->dims, (size_t)a->rank * sizeof a->dims[0]) == 0;
}

/* Whether `added` has, by NumPy's broadcasting, a single element or one for each channel of the
 * data; *channels is how many. */
static bool is_bias(const gops_tensor *data, const gops_tensor *added, int64_t *channels)
{
    *channels = 1;
    if (added->rank > data->rank) {
        return false;
    }
    for (int32_t i = 0; i < added->rank; i++) {
        const int32_t axis = i + data->rank - added->rank;
        if (added->dims[i] != 1 && (axis != 1 || added->dims[i] != data->dims[1])) {
            return false;
        }
        *channels *= added->dims[i];
    }
    return true;
}

static bool add_bias(gops_ir_run *run, int index, int64_t channels, gops_tool_error *error)
{
    gops_ir_step *step = &run->step[index];
    int64_t count;
    if (!count_elements(&step->output, &count)) {
        return gops_ir_refuse(run, index, error, "it has too many elements");
    }
    if (channels == 1) {
        return plan_identity(run, index, (const int64_t[3]){1, 1, count}, &run->options, error);
    }
    const int64_t batch = step->output.dims[0];
    const int64_t rest = count != 0 ? count / batch / channels : 0;
    return plan_identity(run, index, (const int64_t[3]){batch, channels, rest}, &run->options,
                         error);
}

bool gops_ir_prepare_add(gops_ir_run *run, int index, gops_tool_error *error)
{
    gops_ir_step *step = &run->step[index];
    const char *broadcast = gops_ir_attribute_value(&run->model->layer[index], "auto_broadcast");
    const gops_tensor *inputs[2] = {gops_ir_input(run, index, 0), gops_ir_input(run, index, 1)};
    const bool none = broadcast != NULL && strcmp(broadcast, "none") == 0;
    gops_ir_text first;
    gops_ir_text second;
    int64_t channels;
    if (broadcast != NULL && !none && strcmp(broadcast, "numpy") != 0) {
        return gops_ir_refuse(run, index, error, "auto_broadcast \"%.40s\" is not run", broadcast);
    }
    const bool equal = equal_shapes(inputs[0], inputs[1]);
    for (int data = 0; data < 2 && inputs[0]->type == inputs[1]->type; data++) {
        step->output = *inputs[data];
        step->data = data;
        if (equal) {
            step->residual = 1 - data;
            return add_bias(run, index, 1, error);
        }
        if (!none && is_bias(inputs[data], inputs[1 - data], &channels)) {
            step->bias = 1 - data;
            return add_bias(run, index, channels, error);
        }
    }
    return gops_ir_refuse(run, index, error,
                          "%s and %s are not added: equal shapes are, and one with a single "
                          "element or [1,C,1,...]",
                          gops_ir_call_tensor(inputs[0], &first),
                          gops_ir_call_tensor(inputs[1], &second));
}

/* Puts the number in place of a -1, so that there are `count` elements. */
static bool resolve(gops_tensor *tensor, int unknown, int64_t count)
{
    int64_t known;
    if (unknown < 0) {
        return count_elements(tensor, &known) && known == count;
    }
    tensor->dims[unknown] = 1;
    if (!count_elements(tensor, &known) || known == 0 || count % known != 0) {
        return false;
    }
    tensor->dims[unknown] = count / known;
    return true;
}

bool gops_ir_prepare_reshape(gops_ir_run *run, int index, gops_tool_error *error)
{
    gops_ir_step *step = &run->step[index];
    const gops_tensor *input = gops_ir_input(run, index, 0);
    const char *zero = gops_ir_attribute_value(&run->model->layer[index], "special_zero");
    const bool special = zero != NULL && (strcmp(zero, "true") == 0 || strcmp(zero, "True") == 0 ||
                                          strcmp(zero, "1") == 0);
    gops_ir_text text;
    int64_t count = 0;
    int unknown = -1;
    bool fine = count_elements(input, &count);
    const int rank = gops_ir_constant_input(run, index, 1, "the shape", step->output.dims, error);
    if (rank < 0) {
        return false;
    }
    step->output.type = input->type;
    step->output.rank = (int32_t)rank;
    step->data = 0;
    step->algorithm = "-";
    for (int axis = 0; axis < rank; axis++) {
        int64_t *dim = &step->output.dims[axis];
        if (*dim == 0 && special) {
            fine = fine && axis < input->rank;
            *dim = fine ? input->dims[axis] : 0;
        } else if (*dim == -1) {
            fine = fine && unknown < 0;
            unknown = axis;
        } else {
            fine = fine && *dim >= 0;
        }
    }
    return (fine && resolve(&step->output, unknown, count)) ||
           gops_ir_refuse(run, index, error, "the shape does not go with the input, %s",
                          gops_ir_call_tensor(input, &text));
}
