/* ort_operation.h: a claim: one Conv, ConvTranspose or GroupNormalization node, and the nodes after
 * it that the library does in the same store. */
#ifndef GROUPOPS_ENGINES_ORT_OPERATION_H
#define GROUPOPS_ENGINES_ORT_OPERATION_H

#include "ort_graph.h"

typedef enum gops_ort_kind {
    GOPS_ORT_CONV,
    GOPS_ORT_DECONV,
    GOPS_ORT_NORM,
} gops_ort_kind;

/* What the nodes say, in the library's terms. */
typedef struct gops_ort_operation {
    gops_ort_kind kind;
    gops_type type;
    int64_t groups;
    gops_list kernel; /* kernel_shape; count 0: not given */
    gops_conv_attributes conv;
    gops_deconv_attributes deconv;
    gops_norm_attributes norm;
    bool scale_of_groups; /* GroupNormalization-18: scale and bias have one value a group */
    gops_activation activation;
} gops_ort_operation;

enum {
    GOPS_ORT_DATA,
    GOPS_ORT_FILTER, /* a normalization's scale */
    GOPS_ORT_BIAS,
    GOPS_ORT_RESIDUAL,
    GOPS_ORT_INPUTS,
};

enum {
    GOPS_ORT_MAX_NODES = 4, /* Conv, Add, Sigmoid, Mul */
};

typedef struct gops_ort_claim {
    gops_ort_operation operation;
    gops_ort_node *nodes[GOPS_ORT_MAX_NODES];
    size_t node_count;
    const char *inputs[GOPS_ORT_INPUTS]; /* their names; NULL: it has none */
    const ort_value_info *infos[GOPS_ORT_INPUTS];
    const char *output;
} gops_ort_claim;

/* The shape that the model gives a value, -1 for a dimension that it leaves open, and its type (0:
 * none of ours). *known: the rank is given. */
ort_status *gops_ort_value_tensor(const gops_ort_runtime *runtime, const ort_value_info *info,
                                  gops_tensor *tensor, bool *known);

/* Reads one of the three operations. *serves false: it is none of them, or not one that the library
 * does; the runtime's own provider then takes it, or says what is wrong with it. */
ort_status *gops_ort_read_operation(const gops_ort_runtime *runtime, const gops_ort_node *node,
                                    gops_ort_claim *claim, bool *serves);

/* Reads the node and adds what follows it: Add of a tensor of the same shape, then an activation.
 */
ort_status *gops_ort_claim_start(const gops_ort_runtime *runtime, const gops_ort_graph *graph,
                                 gops_ort_node *node, gops_ort_claim *claim, bool *serves);

/* The descriptor of a convolution's filter from its dimensions in ONNX, which are the same bytes:
 * groups and the channels of one are one axis there. False: the numbers do not divide. */
bool gops_ort_filter_tensor(const gops_ort_operation *operation, const gops_tensor *weights,
                            gops_tensor *filter);

/* Shape inference for the operation. For a normalization `filter` is the scale as the library has
 * it: one value a channel. */
gops_status gops_ort_shape(const gops_ort_operation *operation, const gops_tensor *data,
                           const gops_tensor *filter, gops_shape *shape, gops_error *error);

#endif
