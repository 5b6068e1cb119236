/* ort_operation.c: reads convolutions and GroupNormalization of ONNX into the attributes of the library. */
#include "engines/onnxruntime/graph/ort_operation.h"

#include "engines/onnxruntime/graph/ort_attributes.h"

#include <string.h>

/* Whether each list that is given has a number for each of the data's axes. The runtime's own
 * provider refuses the others. */
static bool lists_fit(const gops_list *const *lists, size_t count, int32_t axes)
{
    for (size_t i = 0; i < count; i++) {
        if (lists[i]->count != 0 && axes != 0 && lists[i]->count != axes) {
            return false;
        }
        for (int32_t k = 0; k < lists[i]->count; k++) {
            if (lists[i]->values[k] < 0) { /* ONNX Runtime takes negative pads; the library none */
                return false;
            }
        }
    }
    return true;
}

static bool read_conv(gops_ort_attributes *from, gops_ort_operation *operation, int32_t axes)
{
    gops_conv_attributes *conv = &operation->conv;
    const gops_list *const lists[] = {&operation->kernel, &conv->strides, &conv->dilations,
                                      &conv->pads_begin, &conv->pads_end};
    gops_ort_attribute_list(from, "kernel_shape", &operation->kernel);
    gops_ort_attribute_list(from, "strides", &conv->strides);
    gops_ort_attribute_list(from, "dilations", &conv->dilations);
    gops_ort_attribute_pads(from, &conv->pads_begin, &conv->pads_end);
    gops_ort_attribute_auto_pad(from, &conv->auto_pad);
    gops_ort_attribute_int(from, "group", &operation->groups);
    return operation->groups > 0 && lists_fit(lists, sizeof lists / sizeof lists[0], axes);
}

static bool read_deconv(gops_ort_attributes *from, gops_ort_operation *operation, int32_t axes)
{
    gops_deconv_attributes *deconv = &operation->deconv;
    const gops_list *const lists[] = {&deconv->output_padding, &deconv->output_shape};
    if (!read_conv(from, operation, axes)) {
        return false;
    }
    gops_ort_attribute_list(from, "output_padding", &deconv->output_padding);
    gops_ort_attribute_list(from, "output_shape", &deconv->output_shape);
    deconv->strides = operation->conv.strides;
    deconv->dilations = operation->conv.dilations;
    deconv->pads_begin = operation->conv.pads_begin;
    deconv->pads_end = operation->conv.pads_end;
    deconv->auto_pad = operation->conv.auto_pad;
    deconv->output_shape_rule = GOPS_OUTPUT_SHAPE_ONNX;
    return lists_fit(lists, sizeof lists / sizeof lists[0], axes);
}

static bool read_norm(gops_ort_attributes *from, gops_ort_operation *operation, int version)
{
    float epsilon = 1e-5F; /* the operator's default */
    int64_t stash_type = ORT_FLOAT;
    gops_ort_attribute_float(from, "epsilon", &epsilon);
    gops_ort_attribute_int(from, "num_groups", &operation->norm.num_groups);
    gops_ort_attribute_int(from, "stash_type", &stash_type);
    operation->norm.epsilon = (double)epsilon;
    operation->scale_of_groups = version < 21;
    return operation->norm.num_groups > 0 && epsilon > 0 && version >= 18 &&
           stash_type == ORT_FLOAT;
}

/* The operators, and which of a node's inputs is what. */
typedef struct onnx_operator {
    const char *type;
    gops_ort_kind kind;
    gops_type output; /* of a quantized one; 0 for others and where it is the node's own */
    bool quantized;
    size_t min_inputs, max_inputs;
    size_t places[GOPS_ORT_INPUTS]; /* counted from 1; 0: it has none */
} onnx_operator;

static const onnx_operator operators[] = {
    {"Conv", GOPS_ORT_CONV, (gops_type)0, false, 2, 3, {1, 2, 3}},
    {"ConvTranspose", GOPS_ORT_DECONV, (gops_type)0, false, 2, 3, {1, 2, 3}},
    {"GroupNormalization", GOPS_ORT_NORM, (gops_type)0, false, 3, 3, {1, 2, 3}},
    {"ConvInteger", GOPS_ORT_CONV, GOPS_I32, true, 2, 4, {1, 2, 0, 0, 3, 4}},
    {"QLinearConv", GOPS_ORT_CONV, (gops_type)0, true, 8, 9, {1, 4, 9}},
};

static const onnx_operator *find_operator(const gops_ort_node *node)
{
    for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++) {
        if (strcmp(node->type, operators[i].type) == 0) {
            return &operators[i];
        }
    }
    return NULL;
}

bool gops_ort_is_operation(const gops_ort_node *node)
{
    return find_operator(node) != NULL;
}

bool gops_ort_filter_tensor(const gops_ort_operation *operation, const gops_tensor *weights,
                            gops_tensor *filter)
{
    const gops_list *kernel = &operation->kernel;
    const int32_t axes = weights->rank - 2;
    if (axes < 1 || axes > GOPS_MAX_SPATIAL || weights->dims[0] % operation->groups != 0 ||
        (kernel->count != 0 && kernel->count != axes)) {
        return false;
    }
    *filter = (gops_tensor){.type = weights->type, .rank = weights->rank + 1};
    filter->dims[0] = operation->groups;
    filter->dims[1] = weights->dims[0] / operation->groups;
    for (int32_t i = 1; i < weights->rank; i++) {
        filter->dims[i + 1] = weights->dims[i];
        if (i >= 2 && kernel->count != 0 && kernel->values[i - 2] != weights->dims[i]) {
            return false;
        }
    }
    return true;
}

int64_t gops_ort_channels(const gops_ort_operation *operation, const gops_tensor *filter)
{
    return filter->dims[0] * filter->dims[operation->kind == GOPS_ORT_CONV ? 1 : 2];
}

gops_status gops_ort_shape(const gops_ort_operation *operation, const gops_tensor *data,
                           const gops_tensor *filter, gops_shape *shape)
{
    gops_tensor as_floats = *data, floats = *filter;
    as_floats.type = floats.type = GOPS_F32;
    switch (operation->kind) {
    case GOPS_ORT_CONV:
        return gops_conv_shape(&as_floats, &floats, &operation->conv, shape, NULL);
    case GOPS_ORT_DECONV:
        return gops_deconv_shape(&as_floats, &floats, &operation->deconv, shape, NULL);
    default:
        return gops_norm_shape(&as_floats, &floats, &floats, &operation->norm, shape, NULL);
    }
}

static bool is_open(const gops_tensor *tensor)
{
    for (int32_t i = 0; i < tensor->rank; i++) {
        if (tensor->dims[i] < 0) {
            return true;
        }
    }
    return false;
}

/* Whether the library takes the shapes, if the model gives all of them; those that it refuses are
 * left to the runtime's own provider. Shapes that the model leaves open are checked at each
 * call. */
static bool shapes_serve(const gops_ort_operation *operation, const gops_tensor *data,
                         const gops_tensor *weights, bool known)
{
    gops_tensor filter = {0};
    gops_shape shape;
    if (operation->kind == GOPS_ORT_NORM) {
        if (!known || is_open(data) || data->rank < 2) {
            return !known || data->rank >= 2;
        }
        filter = (gops_tensor){data->type, 1, {data->dims[1]}};
    } else if (!known || is_open(data) || weights->rank == 0 || is_open(weights)) {
        return true;
    } else if (!gops_ort_filter_tensor(operation, weights, &filter)) {
        return false;
    }
    return gops_ort_shape(operation, data, &filter, &shape) == GOPS_OK;
}

/* The library has Conv up to 3 spatial axes, ConvTranspose up to 6, normalization up to rank 8. */
static bool rank_serves(gops_ort_kind kind, int32_t rank)
{
    const int32_t max_axes = kind == GOPS_ORT_CONV ? 3 : GOPS_MAX_SPATIAL;
    return rank <= 2 + max_axes && rank >= (kind == GOPS_ORT_NORM ? 2 : 3);
}

/* Floats are of one type; integers are of 8 bits, with a bias of 32 and zero points of the type
 * whose zero they are. */
static bool types_serve(const gops_ort_operation *operation, bool quantized)
{
    const gops_type *types = operation->types;
    const gops_type data = types[GOPS_ORT_DATA], filter = types[GOPS_ORT_FILTER];
    const gops_type expected[GOPS_ORT_INPUTS] = {
        [GOPS_ORT_DATA] = data,
        [GOPS_ORT_FILTER] = quantized ? filter : data,
        [GOPS_ORT_BIAS] = quantized ? GOPS_I32 : data,
        [GOPS_ORT_DATA_ZERO] = data,
        [GOPS_ORT_FILTER_ZERO] = filter,
    };
    for (int i = 0; i < GOPS_ORT_INPUTS; i++) {
        if (types[i] != (gops_type)0 && types[i] != expected[i]) {
            return false;
        }
    }
    return quantized ? gops_ort_is_8_bit(data) && gops_ort_is_8_bit(filter)
                     : data == GOPS_F32 || data == GOPS_F64 || data == GOPS_F16;
}

/* Reads the operands; *reads is false if a type is none of the library's. */
static ort_status *read_operands(const gops_ort_runtime *runtime, const gops_ort_node *node,
                                 const onnx_operator *of, gops_ort_claim *claim,
                                 gops_tensor *tensors, bool *known, bool *reads)
{
    *reads = true;
    for (int i = 0; i < GOPS_ORT_INPUTS; i++) {
        const size_t place = of->places[i] - 1;
        if (of->places[i] == 0 || place >= node->input_count || node->inputs[place] == NULL) {
            continue;
        }
        ort_status *status =
            gops_ort_value_tensor(runtime, node->inputs[place], &tensors[i], &known[i]);
        if (status != NULL) {
            return status;
        }
        claim->inputs[i] = node->input_names[place];
        claim->infos[i] = node->inputs[place];
        claim->operation.types[i] = tensors[i].type;
        *reads = *reads && tensors[i].type != (gops_type)0;
    }
    return NULL;
}

/* Reads the attributes and checks the shapes as far as the model gives them. */
static ort_status *read_attributes(const gops_ort_runtime *runtime, const gops_ort_node *node,
                                   gops_ort_operation *operation, const gops_tensor *tensors,
                                   const bool *known, bool *serves)
{
    gops_ort_attributes from = {runtime, node, NULL, false};
    const bool norm = operation->kind == GOPS_ORT_NORM;
    const gops_tensor *ranked =
        &tensors[known[GOPS_ORT_DATA] || norm ? GOPS_ORT_DATA : GOPS_ORT_FILTER];
    /* If the model leaves the rank open, a convolution may get more axes than the library has; a
     * normalization of a rank above 8 does not occur. */
    if ((ranked->rank == 0 && !norm) ||
        (ranked->rank > 0 && !rank_serves(operation->kind, ranked->rank))) {
        return NULL;
    }
    const int32_t axes = ranked->rank > 0 ? ranked->rank - 2 : 0;
    const bool reads = operation->kind == GOPS_ORT_CONV ? read_conv(&from, operation, axes)
                       : operation->kind == GOPS_ORT_DECONV
                           ? read_deconv(&from, operation, axes)
                           : read_norm(&from, operation, node->version);
    *serves = from.status == NULL && reads && !from.malformed &&
              shapes_serve(operation, &tensors[GOPS_ORT_DATA], &tensors[GOPS_ORT_FILTER],
                           known[GOPS_ORT_DATA]);
    return from.status;
}

ort_status *gops_ort_read_operation(const gops_ort_runtime *runtime, const gops_ort_node *node,
                                    gops_ort_claim *claim, bool *serves)
{
    const onnx_operator *of = find_operator(node);
    gops_ort_operation *operation = &claim->operation;
    gops_tensor tensors[GOPS_ORT_INPUTS] = {0};
    bool known[GOPS_ORT_INPUTS] = {false}, reads;
    *claim = (gops_ort_claim){.operation = {.groups = 1}, .node_count = 1};
    *serves = false;
    if (of == NULL || node->output_count != 1 || node->input_count < of->min_inputs ||
        node->input_count > of->max_inputs) {
        return NULL;
    }
    operation->kind = of->kind;
    operation->output_type = of->output;
    claim->output = node->output_names[0];
    ort_status *status = read_operands(runtime, node, of, claim, tensors, known, &reads);
    const int needed = of->kind == GOPS_ORT_NORM ? GOPS_ORT_BIAS : GOPS_ORT_FILTER;
    if (status != NULL || !reads || claim->inputs[GOPS_ORT_DATA] == NULL ||
        claim->inputs[GOPS_ORT_FILTER] == NULL || claim->inputs[needed] == NULL ||
        !types_serve(operation, of->quantized)) {
        return status;
    }
    return read_attributes(runtime, node, operation, tensors, known, serves);
}
