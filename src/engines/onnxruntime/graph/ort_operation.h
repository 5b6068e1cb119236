/* ort_operation.h: a claim: one convolution or GroupNormalization node, and the nodes around it that
 * become part of its call. */
#ifndef GROUPOPS_ENGINES_ORT_OPERATION_H
#define GROUPOPS_ENGINES_ORT_OPERATION_H

#include "engines/onnxruntime/graph/ort_constant.h"
#include "engines/onnxruntime/graph/ort_graph.h"

typedef enum gops_ort_kind {
    GOPS_ORT_CONV,
    GOPS_ORT_DECONV,
    GOPS_ORT_NORM,
} gops_ort_kind;

enum {
    GOPS_ORT_DATA,
    GOPS_ORT_FILTER, /* a normalization's scale */
    GOPS_ORT_BIAS,
    GOPS_ORT_RESIDUAL,
    GOPS_ORT_DATA_ZERO, /* zero points and scales that come with each call */
    GOPS_ORT_FILTER_ZERO,
    GOPS_ORT_OUTPUT_ZERO,
    GOPS_ORT_DATA_SCALE,
    GOPS_ORT_FILTER_SCALE,
    GOPS_ORT_OUTPUT_SCALE,
    GOPS_ORT_INPUTS,
};

/* The claimed nodes in the library's terms. */
typedef struct gops_ort_operation {
    gops_ort_kind kind;
    gops_type types[GOPS_ORT_INPUTS]; /* of the inputs that the claim has */
    gops_type output_type;            /* of a quantized convolution; 0: it is none */
    int64_t groups;
    gops_list kernel; /* kernel_shape; count 0: not given */
    gops_conv_attributes conv;
    gops_deconv_attributes deconv;
    gops_norm_attributes norm;
    bool scale_of_groups; /* GroupNormalization-18: scale and bias have one value a group */
    gops_activation activation;
    bool residual_after_activation;
    gops_quantization quantization; /* its arrays are set by gops_ort_fold */
} gops_ort_operation;

static inline bool gops_ort_is_quantized(const gops_ort_operation *operation)
{
    return operation->output_type != (gops_type)0;
}

enum {
    /* A convolution has 11: Conv with three DequantizeLinear, activation, QuantizeLinear; then Add with two, and both.
     * A Concat has one for each operand, and two more. */
    GOPS_ORT_MAX_OPERANDS = 64,
    GOPS_ORT_MAX_NODES = GOPS_ORT_MAX_OPERANDS + 2,
    GOPS_ORT_MAX_NODE_INPUTS = 9, /* QLinearConv */
};

typedef struct gops_ort_claim {
    gops_ort_operation operation;
    gops_ort_node *nodes[GOPS_ORT_MAX_NODES]; /* the first is the operation's */
    size_t node_count;
    const char *inputs[GOPS_ORT_INPUTS]; /* their names; NULL: missing */
    const ort_value_info *infos[GOPS_ORT_INPUTS];
    const char *output;
    /* Of a quantized convolution, empty if missing: one value, or one for each channel that the
     * filter's axis of output channels has; and a bias of real numbers. */
    gops_ort_constant filter_scales, filter_zero_points, real_bias;
    gops_ort_constant slopes; /* of prelu: one, or one for each output channel; empty: none */
    int64_t channels;         /* with slopes: of the output */
} gops_ort_claim;

/* Whether the node is one of the operators that a claim begins with. */
bool gops_ort_is_operation(const gops_ort_node *node);

/* Reads one of the operators. *serves is false if the node is none of them or the library does not
 * compute it; then the runtime's own provider takes or refuses it. Of QLinearConv, scales and zero
 * points are not read. */
ort_status *gops_ort_read_operation(const gops_ort_runtime *runtime, const gops_ort_node *node,
                                    gops_ort_claim *claim, bool *serves);

/* Reads the node and adds the nodes around it: for a convolution of floats an Add of a tensor of the
 * same shape and an activation, in this order or the other; else what ort_quantized.h says. */
ort_status *gops_ort_claim_start(const gops_ort_graph *graph, gops_ort_node *node,
                                 gops_ort_claim *claim, bool *serves);

/* Adds what follows a claim that is not quantized and nothing else reads. */
ort_status *gops_ort_add_post_ops(const gops_ort_graph *graph, gops_ort_claim *claim);

/* Adds a node whose output becomes the claim's. */
void gops_ort_claim_add(gops_ort_claim *claim, gops_ort_node *node);

/* Whether the node is an Add that is the only reader of the claim's output, and its other operand is
 * known to have the same shape; *other is that operand's place. A residual is not broadcast. */
ort_status *gops_ort_is_residual(const gops_ort_graph *graph, const gops_ort_claim *claim,
                                 const gops_ort_node *node, size_t *other, bool *is);

/* Whether the model gives types and shapes of both, and these are the same. */
ort_status *gops_ort_infos_are_alike(const gops_ort_runtime *runtime, const ort_value_info *one,
                                     const ort_value_info *other, bool *is);

/* Claims an activation that is the only reader of the claim's output. */
ort_status *gops_ort_add_activation(const gops_ort_graph *graph, gops_ort_claim *claim);

/* Claims 0.5 x (1 + erf(x / sqrt 2)) of the claim's output x, which has no operator of its own before
 * version 20 and is written as Div, Erf, Add and two Mul. */
ort_status *gops_ort_add_gelu(const gops_ort_graph *graph, gops_ort_claim *claim);

/* The descriptor of a convolution's filter from its dimensions in ONNX, where groups and channels
 * of a group are one axis; the bytes are the same. False if the dimensions do not fit the
 * attributes. */
bool gops_ort_filter_tensor(const gops_ort_operation *operation, const gops_tensor *weights,
                            gops_tensor *filter);

/* How many output channels a filter has, in all groups. */
int64_t gops_ort_channels(const gops_ort_operation *operation, const gops_tensor *filter);

/* Infers the operation's shape, as for floats. For a normalization `filter` is the scale, with one
 * value for each channel. */
gops_status gops_ort_shape(const gops_ort_operation *operation, const gops_tensor *data,
                           const gops_tensor *filter, gops_shape *shape);

#endif
