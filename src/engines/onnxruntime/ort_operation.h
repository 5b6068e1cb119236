/* ort_operation.h: a claim: one Conv, ConvTranspose or GroupNormalization node, and the nodes after
 * it that become its post-ops. */
#ifndef GROUPOPS_ENGINES_ORT_OPERATION_H
#define GROUPOPS_ENGINES_ORT_OPERATION_H

#include "ort_graph.h"

typedef enum gops_ort_kind {
    GOPS_ORT_CONV,
    GOPS_ORT_DECONV,
    GOPS_ORT_NORM,
} gops_ort_kind;

/* The claimed nodes in the library's terms. */
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
    const char *inputs[GOPS_ORT_INPUTS]; /* their names; NULL: missing */
    const ort_value_info *infos[GOPS_ORT_INPUTS];
    const char *output;
} gops_ort_claim;

/* The shape that the model gives for a value, with -1 for an open dimension, and its type, or 0 if
 * the library lacks it. *known tells whether the rank is given. */
ort_status *gops_ort_value_tensor(const gops_ort_runtime *runtime, const ort_value_info *info,
                                  gops_tensor *tensor, bool *known);

/* Reads one of the three operations. *serves is false if the node is none of them or the library
 * does not compute it; then the runtime's own provider takes or refuses it. */
ort_status *gops_ort_read_operation(const gops_ort_runtime *runtime, const gops_ort_node *node,
                                    gops_ort_claim *claim, bool *serves);

/* Reads the node and adds the nodes after it: an Add of a tensor of the same shape, then an
 * activation. */
ort_status *gops_ort_claim_start(const gops_ort_runtime *runtime, const gops_ort_graph *graph,
                                 gops_ort_node *node, gops_ort_claim *claim, bool *serves);

/* The descriptor of a convolution's filter from its dimensions in ONNX, where groups and channels
 * of a group are one axis; the bytes are the same. False if the dimensions do not fit the
 * attributes. */
bool gops_ort_filter_tensor(const gops_ort_operation *operation, const gops_tensor *weights,
                            gops_tensor *filter);

/* Infers the operation's shape. For a normalization `filter` is the scale, with one value for each
 * channel. */
gops_status gops_ort_shape(const gops_ort_operation *operation, const gops_tensor *data,
                           const gops_tensor *filter, gops_shape *shape, gops_error *error);

#endif
