/*
 * ort_member_matrix.c: products of data by matrices, with the channels last: convolutions by kernels of 1.
 */
#include "engines/onnxruntime/graph/ort_activation.h"
#include "engines/onnxruntime/graph/ort_attributes.h"
#include "engines/onnxruntime/region/ort_chain.h"

#include <string.h>

typedef struct product {
    gops_ort_constant matrix, bias; /* count 0: no bias */
    bool transposed;                /* a row of the matrix belongs to an output channel */
    int64_t channels_out;
} product;

static bool is_plain_gemm(gops_ort_chain *of, const gops_ort_node *node, bool *transposed)
{
    gops_ort_attributes attributes = {of->graph->runtime, node, NULL, false};
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

/* Whether a value is the data with so many channels last. */
static bool has_shape(gops_ort_chain *of, const ort_value_info *info, int64_t channels)
{
    gops_tensor expected = of->data, found;
    bool is;
    for (int32_t i = 2; i < expected.rank; i++) {
        expected.dims[i - 1] = expected.dims[i];
    }
    expected.dims[expected.rank - 1] = channels;
    of->status = gops_ort_read_fed(of->graph, info, &found, &is);
    return of->status == NULL && is && gops_ort_same_shape(&found, &expected);
}

/* Whether a value is the data with the channels last and a row for each pixel of all images. */
static bool is_flat(gops_ort_chain *of, const ort_value_info *info)
{
    const int64_t rows = of->graph->images * gops_ort_elements(&of->data, 2);
    gops_tensor found;
    bool is;
    of->status = gops_ort_value_tensor(of->graph->runtime, info, &found, &is);
    return of->status == NULL && is && found.type == GOPS_F32 && found.rank == 2 &&
           found.dims[0] == rows && found.dims[1] == of->data.dims[1];
}

static bool read_matrix(gops_ort_chain *of, const gops_ort_node *node, product *by)
{
    if (!gops_ort_chain_read_numbers(of, node->inputs[1], &by->matrix) ||
        by->matrix.tensor.rank != 2 || by->matrix.tensor.dims[by->transposed] != of->data.dims[1]) {
        return false;
    }
    by->channels_out = by->matrix.tensor.dims[!by->transposed];
    return by->channels_out > 0;
}

static bool take_matmul(gops_ort_chain *of, product *by)
{
    const gops_ort_node *node = gops_ort_chain_take(of, "MatMul", false);
    if (node == NULL || node->input_count != 2 || !read_matrix(of, node, by) ||
        !has_shape(of, node->outputs[0], by->channels_out)) {
        return false;
    }
    of->data.dims[1] = by->channels_out;
    gops_ort_chain_take_numbers(of, "Add", &by->bias);
    return true;
}

static const gops_ort_node *take_reshape(gops_ort_chain *of)
{
    const gops_ort_node *node = gops_ort_chain_take(of, "Reshape", false);
    bool is = false;
    if (node != NULL) {
        of->status = gops_ort_is_reshape(of->graph->runtime, node, &is);
    }
    return is ? node : NULL;
}

static bool take_gemm(gops_ort_chain *of, product *by)
{
    const gops_ort_node *before = take_reshape(of);
    if (before == NULL || of->status != NULL || !is_flat(of, before->outputs[0])) {
        return false;
    }
    const gops_ort_node *node = gops_ort_chain_take(of, "Gemm", false);
    if (node == NULL || node->input_count < 2 || !is_plain_gemm(of, node, &by->transposed) ||
        !read_matrix(of, node, by) ||
        (node->input_count == 3 && node->inputs[2] != NULL &&
         (!gops_ort_chain_read_numbers(of, node->inputs[2], &by->bias) ||
          by->bias.tensor.rank != 1 || by->bias.count != by->channels_out))) {
        return false;
    }
    const gops_ort_node *after = take_reshape(of);
    if (after == NULL || of->status != NULL ||
        !has_shape(of, after->outputs[0], by->channels_out)) {
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

static bool take_activation(gops_ort_chain *of)
{
    const gops_ort_claim before = of->claim;
    of->status = gops_ort_add_activation(of->graph, &of->claim);
    if (of->status == NULL && of->claim.node_count == before.node_count) {
        of->status = gops_ort_add_gelu(of->graph, &of->claim);
    }
    return of->claim.node_count > before.node_count;
}

bool gops_ort_chain_read_product(gops_ort_chain *of)
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
    const bool active = take_activation(of),
               scaled = !active && gops_ort_chain_take_numbers(of, "Mul", &scales);
    if (gops_ort_chain_take_transpose(of, false) && !active) {
        if (!scaled) {
            gops_ort_chain_take_numbers(of, "Mul", &scales);
        }
        of->status = gops_ort_member_add_post_ops(of->graph, &of->claim);
    }
    if (of->status != NULL) {
        return false;
    }
    const gops_tensor output = of->data;
    of->data = data;
    gops_ort_member *made =
        gops_ort_chain_make(of, GOPS_ORT_PLAN, (data.dims[1] + 1) * by.channels_out);
    if (made == NULL) {
        return false;
    }
    made->output = output;
    made->filter = (gops_tensor){GOPS_F32, data.rank + 1, {1, by.channels_out, data.dims[1]}};
    for (int32_t i = 3; i < made->filter.rank; i++) {
        made->filter.dims[i] = 1;
    }
    made->is_matrix = true;
    fill(made, &by, &scales);
    gops_ort_chain_go_on(of, made);
    return true;
}
