/*
 * ort_member_last.c: what models write with the channels last, between two Transpose: a layer
 * normalization over the channels, which exporters below opset 17 decompose, and products by matrices,
 * which are convolutions by kernels of 1. Their data stay as they are, with the channels first:
 *
 *     ReduceMean, Sub, [Transpose], Pow, ReduceMean, Add, Sqrt, Div, Mul, Add
 *     { MatMul, Add or Reshape, Gemm, Reshape; [activation]; [Mul]; } [Transpose], [Mul], [Add]
 *
 * The first Transpose may also stand in front; the last three belong to whatever is before them. Either
 * all of it is read, up to where the channels are first again, or none.
 */
#include "ort_activation.h"
#include "ort_attributes.h"
#include "ort_member.h"

#include <stdlib.h>
#include <string.h>

typedef struct chain {
    const gops_ort_runtime *runtime;
    const gops_ort_graph *graph;
    ort_status *status;
    gops_ort_claim claim; /* of the member that is being read */
    gops_tensor data;     /* what it reads, channels first */
    bool is_last;         /* the claim's output is written with the channels last */
    gops_ort_member *first, **end;
} chain;

static int32_t channel_axis(const chain *of)
{
    return of->is_last ? of->data.rank - 1 : 1;
}

/* Claims the only reader of the claim's output if it has this type, and reads that first or `either`. */
static gops_ort_node *take(chain *of, const char *type, bool either)
{
    gops_ort_node *node = gops_ort_only_reader(of->graph, of->claim.output);
    if (of->status != NULL || node == NULL || strcmp(node->type, type) != 0 ||
        node->output_count != 1 || node->input_count < 1 ||
        of->claim.node_count == GOPS_ORT_MAX_NODES ||
        (!either && strcmp(node->input_names[0], of->claim.output) != 0)) {
        return NULL;
    }
    gops_ort_claim_add(&of->claim, node);
    return node;
}

static bool is_transpose(chain *of, const gops_ort_node *node, bool to_last)
{
    gops_ort_attributes attributes = {of->runtime, node, NULL, false};
    gops_list order = {0};
    const int32_t rank = of->data.rank;
    gops_ort_attribute_list(&attributes, "perm", &order);
    of->status = attributes.status;
    bool is = of->status == NULL && !attributes.malformed && order.count == rank &&
              strcmp(node->type, "Transpose") == 0;
    for (int32_t i = 0; i < rank && is; i++) {
        const int64_t last = i == 0 ? 0 : i == rank - 1 ? 1 : i + 1;
        const int64_t first = i == 0 ? 0 : i == 1 ? rank - 1 : i - 1;
        is = order.values[i] == (to_last ? last : first);
    }
    return is;
}

static bool take_transpose(chain *of, bool to_last)
{
    const gops_ort_node *node = gops_ort_only_reader(of->graph, of->claim.output);
    if (of->status != NULL || node == NULL || !is_transpose(of, node, to_last) ||
        take(of, "Transpose", false) == NULL) {
        return false;
    }
    of->is_last = to_last;
    return true;
}

static bool read_numbers(chain *of, const ort_value_info *info, gops_ort_constant *numbers)
{
    bool is = false;
    if (of->status == NULL) {
        of->status = gops_ort_read_constant(of->runtime, info, numbers, &is);
    }
    return is && numbers->tensor.type == GOPS_F32;
}

/* Claims an operator of the claim's output and of one number for each channel. */
static bool take_numbers(chain *of, const char *type, gops_ort_constant *numbers)
{
    const char *output = of->claim.output;
    const gops_ort_node *node = gops_ort_only_reader(of->graph, output);
    const int64_t channels = of->data.dims[1];
    if (node == NULL || strcmp(node->type, type) != 0 || node->input_count != 2 ||
        !read_numbers(of, node->inputs[strcmp(node->input_names[0], output) == 0], numbers) ||
        numbers->count != channels || numbers->tensor.rank > of->data.rank) {
        return false;
    }
    const int32_t axis = channel_axis(of) - (of->data.rank - numbers->tensor.rank);
    return axis >= 0 && numbers->tensor.dims[axis] == channels && take(of, type, true) != NULL;
}

/* A factor for each channel; none otherwise. */
static bool take_scales(chain *of, gops_ort_constant *scales)
{
    const bool taken = take_numbers(of, "Mul", scales);
    if (!taken) {
        *scales = (gops_ort_constant){.count = 0};
    }
    return taken;
}

static bool take_number(chain *of, const char *type, float *number)
{
    gops_ort_constant constant;
    const gops_ort_node *node = take(of, type, false);
    const bool is = node != NULL && node->input_count == 2 &&
                    read_numbers(of, node->inputs[1], &constant) && constant.count == 1;
    *number = is ? *(const float *)constant.values : 0;
    return is;
}

/* A mean over the channels that keeps their axis. */
static bool is_mean(chain *of, const gops_ort_node *node)
{
    gops_ort_attributes attributes = {of->runtime, node, NULL, false};
    gops_list axes = {0};
    int64_t keeps = 1;
    gops_ort_attribute_list(&attributes, "axes", &axes);
    gops_ort_attribute_int(&attributes, "keepdims", &keeps);
    of->status = attributes.status;
    return of->status == NULL && !attributes.malformed && node->version < 18 && keeps != 0 &&
           axes.count == 1 &&
           (axes.values[0] == channel_axis(of) ||
            axes.values[0] == channel_axis(of) - of->data.rank);
}

static bool has_readers(const chain *of, const char *value, const gops_ort_node *one,
                        const gops_ort_node *other)
{
    size_t count;
    const gops_ort_use *uses = gops_ort_uses(of->graph, value, &count);
    return count == 2 && (uses[0].reader == one || uses[0].reader == other) &&
           (uses[1].reader == one || uses[1].reader == other) && one != other;
}

static bool reads(const gops_ort_node *node, const char *first, const char *second)
{
    return node != NULL && node->input_count == 2 && strcmp(node->input_names[0], first) == 0 &&
           strcmp(node->input_names[1], second) == 0;
}

/* Claims the nodes from the first mean up to the division by the deviation. */
static bool take_deviations(chain *of, gops_ort_node *mean, float *epsilon)
{
    const char *x = mean->input_names[0];
    float two;
    if (!is_mean(of, mean)) {
        return false;
    }
    gops_ort_claim_add(&of->claim, mean);
    const gops_ort_node *difference = take(of, "Sub", true);
    if (!reads(difference, x, mean->output_names[0]) ||
        (of->is_last && !has_readers(of, x, mean, difference))) {
        return false;
    }
    if (!of->is_last) {
        take_transpose(of, true);
    }
    const char *centred = of->claim.output;
    size_t count;
    const gops_ort_use *uses = gops_ort_uses(of->graph, centred, &count);
    if (of->status != NULL || count != 2 || uses[0].reader == NULL || uses[1].reader == NULL) {
        return false;
    }
    const int second = strcmp(uses[1].reader->type, "Pow") == 0;
    gops_ort_node *power = &of->graph->nodes[uses[second].reader - of->graph->nodes];
    gops_ort_constant exponent;
    if (strcmp(power->type, "Pow") != 0 || power->claimed || power->input_count != 2 ||
        strcmp(power->input_names[0], centred) != 0 ||
        !read_numbers(of, power->inputs[1], &exponent) || exponent.count != 1) {
        return false;
    }
    two = *(const float *)exponent.values;
    gops_ort_claim_add(&of->claim, power);
    const gops_ort_node *variance = take(of, "ReduceMean", false);
    return two == 2 && variance != NULL && is_mean(of, variance) &&
           take_number(of, "Add", epsilon) && *epsilon > 0 && take(of, "Sqrt", false) != NULL &&
           reads(gops_ort_only_reader(of->graph, of->claim.output), centred, of->claim.output) &&
           take(of, "Div", true) != NULL;
}

static gops_ort_member *make(chain *of, gops_ort_member_kind kind, int64_t values)
{
    gops_ort_member *made = gops_ort_member_make(kind, &of->claim, &of->data);
    if (made != NULL) {
        made->made = malloc((size_t)values * sizeof *made->made);
    }
    if (made == NULL || made->made == NULL) {
        gops_ort_member_free(made);
        of->status = gops_ort_fail(of->runtime, ORT_FAIL, "groupops: no memory for a node");
        return NULL;
    }
    *of->end = made;
    of->end = &made->next;
    return made;
}

/* Begins with the claim of a next member. */
static void go_on(chain *of, const gops_ort_member *before)
{
    of->data = before->output;
    of->claim = (gops_ort_claim){.output = before->claim.output};
    of->claim.inputs[GOPS_ORT_DATA] = before->claim.output;
    of->claim.operation = (gops_ort_operation){.kind = GOPS_ORT_CONV, .groups = 1};
    of->claim.operation.types[GOPS_ORT_DATA] = of->claim.operation.types[GOPS_ORT_FILTER] =
        of->claim.operation.types[GOPS_ORT_BIAS] = GOPS_F32;
}

static bool read_norm(chain *of, gops_ort_node *mean)
{
    gops_ort_constant scales, shifts;
    float epsilon;
    if (!take_deviations(of, mean, &epsilon) || !take_numbers(of, "Mul", &scales) ||
        !take_numbers(of, "Add", &shifts)) {
        return false;
    }
    if (of->is_last) {
        take_transpose(of, false);
    }
    const size_t channels = (size_t)of->data.dims[1];
    gops_ort_member *made = make(of, GOPS_ORT_CHANNEL_NORM, 2 * of->data.dims[1]);
    if (made == NULL) {
        return false;
    }
    memcpy(made->made, scales.values, channels * sizeof(float));
    memcpy(made->made + channels, shifts.values, channels * sizeof(float));
    made->weights = made->made;
    made->biases = made->made + channels;
    made->claim.operation.norm.epsilon = (double)epsilon;
    go_on(of, made);
    return true;
}

typedef struct product {
    gops_ort_constant matrix, bias; /* count 0: no bias */
    bool transposed;                /* a row of the matrix belongs to an output channel */
    int64_t channels_out;
} product;

static bool is_plain_gemm(chain *of, const gops_ort_node *node, bool *transposed)
{
    gops_ort_attributes attributes = {of->runtime, node, NULL, false};
    int64_t trans_a = 0, trans_b = 0;
    float alpha = 1, beta = 1;
    gops_ort_attribute_int(&attributes, "transA", &trans_a);
    gops_ort_attribute_int(&attributes, "transB", &trans_b);
    gops_ort_attribute_float(&attributes, "alpha", &alpha);
    gops_ort_attribute_float(&attributes, "beta", &beta);
    of->status = attributes.status;
    *transposed = trans_b != 0;
    return of->status == NULL && !attributes.malformed && trans_a == 0 && alpha == 1 && beta == 1;
}

/* Whether a value is the data with so many channels last, or if flat with all else as one axis. */
static bool has_shape(chain *of, const ort_value_info *info, int64_t channels, bool flat)
{
    const gops_tensor *data = &of->data;
    gops_tensor expected = {GOPS_F32, flat ? 2 : data->rank, {data->dims[0]}}, found;
    bool is;
    for (int32_t i = 2; i < data->rank; i++) {
        expected.dims[flat ? 0 : i - 1] = data->dims[i] * (flat ? expected.dims[0] : 1);
    }
    expected.dims[expected.rank - 1] = channels;
    of->status = gops_ort_read_fed(of->runtime, info, &found, &is);
    return of->status == NULL && is && gops_ort_same_shape(&found, &expected);
}

static bool read_matrix(chain *of, const gops_ort_node *node, product *by)
{
    if (!read_numbers(of, node->inputs[1], &by->matrix) || by->matrix.tensor.rank != 2 ||
        by->matrix.tensor.dims[by->transposed] != of->data.dims[1]) {
        return false;
    }
    by->channels_out = by->matrix.tensor.dims[!by->transposed];
    return by->channels_out > 0;
}

static bool take_matmul(chain *of, product *by)
{
    const gops_ort_node *node = take(of, "MatMul", false);
    if (node == NULL || node->input_count != 2 || !read_matrix(of, node, by) ||
        !has_shape(of, node->outputs[0], by->channels_out, false)) {
        return false;
    }
    of->data.dims[1] = by->channels_out;
    take_numbers(of, "Add", &by->bias);
    return true;
}

/* To a shape that is a constant: a region has no input but tensors of f32. */
static const gops_ort_node *take_reshape(chain *of)
{
    const gops_ort_node *node = take(of, "Reshape", false);
    bool is = node != NULL && node->input_count == 2 && node->inputs[1] != NULL;
    if (is) {
        of->status = of->runtime->api->is_constant_initializer(node->inputs[1], &is);
    }
    return is ? node : NULL;
}

static bool take_gemm(chain *of, product *by)
{
    const gops_ort_node *before = take_reshape(of);
    if (before == NULL || of->status != NULL ||
        !has_shape(of, before->outputs[0], of->data.dims[1], true)) {
        return false;
    }
    const gops_ort_node *node = take(of, "Gemm", false);
    if (node == NULL || node->input_count < 2 || !is_plain_gemm(of, node, &by->transposed) ||
        !read_matrix(of, node, by) ||
        (node->input_count == 3 && node->inputs[2] != NULL &&
         (!read_numbers(of, node->inputs[2], &by->bias) || by->bias.tensor.rank != 1 ||
          by->bias.count != by->channels_out))) {
        return false;
    }
    const gops_ort_node *after = take_reshape(of);
    if (after == NULL || of->status != NULL ||
        !has_shape(of, after->outputs[0], by->channels_out, false)) {
        return false;
    }
    of->data.dims[1] = by->channels_out;
    return true;
}

/* Rows of weights for each output channel, and biases, both times the scales if there are any. */
static void fill(gops_ort_member *made, const product *by, const gops_ort_constant *scales)
{
    const float *matrix = by->matrix.values, *bias = by->bias.values, *scale = scales->values;
    const int64_t in = made->data.dims[1], out = by->channels_out;
    const int64_t step = by->transposed ? 1 : out, next = by->transposed ? in : 1;
    float *weights = made->made, *biases = made->made + in * out;
    for (int64_t o = 0; o < out; o++) {
        const float times = scales->count > 0 ? scale[o] : 1;
        for (int64_t i = 0; i < in; i++) {
            weights[o * in + i] = matrix[o * next + i * step] * times;
        }
        biases[o] = (by->bias.count > 0 ? bias[o] : 0) * times;
    }
    made->weights = weights;
    made->biases = biases;
}

static bool take_activation(chain *of)
{
    const gops_ort_claim before = of->claim;
    of->status = gops_ort_add_activation(of->runtime, of->graph, &of->claim);
    if (of->status == NULL && of->claim.node_count == before.node_count) {
        of->status = gops_ort_add_gelu(of->runtime, of->graph, &of->claim);
    }
    return of->claim.node_count > before.node_count;
}

static bool read_product(chain *of)
{
    const gops_tensor data = of->data;
    const gops_ort_node *node = gops_ort_only_reader(of->graph, of->claim.output);
    gops_ort_constant scales = {.count = 0};
    product by = {.transposed = false};
    if (node == NULL ||
        !(strcmp(node->type, "MatMul") == 0 ? take_matmul(of, &by) : take_gemm(of, &by)) ||
        of->status != NULL) {
        return false;
    }
    const bool active = take_activation(of), scaled = !active && take_scales(of, &scales);
    if (take_transpose(of, false) && !active) {
        if (!scaled) {
            take_scales(of, &scales);
        }
        of->status = gops_ort_member_add_post_ops(of->runtime, of->graph, &of->claim);
    }
    if (of->status != NULL) {
        return false;
    }
    const gops_tensor output = of->data;
    of->data = data;
    gops_ort_member *made = make(of, GOPS_ORT_PLAN, (data.dims[1] + 1) * by.channels_out);
    if (made == NULL) {
        return false;
    }
    made->output = output;
    made->filter = (gops_tensor){GOPS_F32, data.rank + 1, {1, by.channels_out, data.dims[1]}};
    for (int32_t i = 3; i < made->filter.rank; i++) {
        made->filter.dims[i] = 1;
    }
    made->is_product = true;
    fill(made, &by, &scales);
    go_on(of, made);
    return true;
}

ort_status *gops_ort_member_of_mean(const gops_ort_runtime *runtime, const gops_ort_graph *graph,
                                    gops_ort_node *node, const gops_tensor *data,
                                    gops_ort_member **member)
{
    chain of = {.runtime = runtime, .graph = graph, .data = *data};
    gops_ort_node *before = gops_ort_writer(graph, node->input_names[0]);
    of.end = &of.first;
    of.claim.inputs[GOPS_ORT_DATA] = node->input_names[0];
    if (before != NULL && !before->claimed && is_transpose(&of, before, true)) {
        bool serves;
        of.status = gops_ort_read_fed(runtime, before->inputs[0], &of.data, &serves);
        if (of.status != NULL || !serves) {
            return of.status;
        }
        of.claim.inputs[GOPS_ORT_DATA] = before->input_names[0];
        of.is_last = true;
        gops_ort_claim_add(&of.claim, before);
    }
    bool serves = of.status == NULL && read_norm(&of, node);
    while (serves && of.is_last) {
        serves = read_product(&of);
    }
    if (serves && of.status == NULL) {
        *member = of.first;
    } else {
        gops_ort_member_free(of.first);
    }
    return of.status;
}
