/* ort_activation.c: reads the operators that a plan applies as an activation. */
#include "engines/onnxruntime/graph/ort_activation.h"

#include "engines/onnxruntime/graph/ort_attributes.h"
#include "engines/onnxruntime/graph/ort_constant.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* A finite number of f16. */
static double number_of_f16(uint16_t code)
{
    enum { FRACTION_BITS = 10, LEAST_EXPONENT = -24 };
    const int exponent = code >> FRACTION_BITS & 0x1f, fraction = code & 0x3ff;
    const double magnitude =
        exponent == 0 ? ldexp(fraction, LEAST_EXPONENT)
                      : ldexp(fraction + (1 << FRACTION_BITS), exponent - 1 + LEAST_EXPONENT);
    return code >> 15 != 0 ? -magnitude : magnitude;
}

/* A bound of Clip: a constant of one element. */
static ort_status *read_bound(const gops_ort_runtime *runtime, const ort_value_info *info,
                              double *bound, bool *serves)
{
    gops_ort_constant constant;
    ort_status *status = gops_ort_read_constant(runtime, info, &constant, serves);
    *serves = *serves && constant.count == 1;
    if (status != NULL || !*serves) {
        return status;
    }
    switch (constant.tensor.type) {
    case GOPS_F32:
        *bound = (double)*(const float *)constant.values;
        break;
    case GOPS_F64:
        *bound = *(const double *)constant.values;
        break;
    case GOPS_F16: { /* infinity and NaN are left to the runtime */
        const uint16_t code = *(const uint16_t *)constant.values;
        *serves = (code & 0x7c00) != 0x7c00;
        *bound = number_of_f16(code);
        break;
    }
    default:
        *serves = false;
    }
    return NULL;
}

/* Reads the bounds of Clip, which are attributes up to version 10 and inputs from 11 on. One that is left
 * out is the type's least or largest number: infinity becomes it. The runtime fuses attributes in any order to
 * a Conv, but it loads no Clip by itself whose min is above its max; of inputs it does, and those are left to it. */
static ort_status *read_clip(const gops_ort_runtime *runtime, const gops_ort_node *node,
                             gops_activation *activation, bool *serves)
{
    const double largest_f16 = 65504;
    gops_tensor data;
    bool known;
    ort_status *failed = gops_ort_value_tensor(runtime, node->inputs[0], &data, &known);
    const double largest = data.type == GOPS_F64   ? DBL_MAX
                           : data.type == GOPS_F16 ? largest_f16
                                                   : (double)FLT_MAX;
    double bounds[] = {-largest, largest};
    *serves = failed == NULL;
    if (failed != NULL) {
        return failed;
    }
    if (node->version < 11) {
        gops_ort_attributes from = {runtime, node, NULL, false};
        float low = -FLT_MAX, high = FLT_MAX;
        gops_ort_attribute_float(&from, "min", &low);
        gops_ort_attribute_float(&from, "max", &high);
        bounds[0] = fmax((double)low, -INFINITY); /* NaN is none */
        bounds[1] = fmin((double)high, INFINITY);
        bounds[0] = bounds[0] > bounds[1] ? bounds[1] : bounds[0]; /* the maximum comes last */
        *serves = from.status == NULL && !from.malformed;
        if (from.status != NULL) {
            return from.status;
        }
    }
    for (size_t i = 1; i < node->input_count && i <= 2; i++) {
        if (node->inputs[i] != NULL) {
            ort_status *status = read_bound(runtime, node->inputs[i], &bounds[i - 1], serves);
            if (status != NULL || !*serves) {
                return status;
            }
        }
    }
    *activation = (gops_activation){GOPS_ACTIVATION_CLAMP, bounds[0], bounds[1]};
    *serves = *serves && bounds[0] <= bounds[1];
    return NULL;
}

/* The attributes that an activation has, with the operator's defaults. */
static void read_numbers(gops_ort_attributes *from, gops_activation *activation)
{
    float alpha = 0, beta = 0.5F;
    switch (activation->kind) {
    case GOPS_ACTIVATION_LEAKY_RELU:
        alpha = 0.01F;
        break;
    case GOPS_ACTIVATION_ELU:
        alpha = 1;
        break;
    case GOPS_ACTIVATION_HARD_SIGMOID:
        alpha = 0.2F;
        gops_ort_attribute_float(from, "beta", &beta);
        activation->beta = (double)beta;
        break;
    default:
        return;
    }
    gops_ort_attribute_float(from, "alpha", &alpha);
    activation->alpha = (double)alpha;
}

ort_status *gops_ort_read_activation(const gops_ort_runtime *runtime, const gops_ort_node *node,
                                     gops_activation *activation, bool *serves)
{
    static const struct {
        const char *type;
        gops_activation_kind kind;
    } activations[] = {
        {"Relu", GOPS_ACTIVATION_RELU}, {"LeakyRelu", GOPS_ACTIVATION_LEAKY_RELU},
        {"Tanh", GOPS_ACTIVATION_TANH}, {"Sigmoid", GOPS_ACTIVATION_SIGMOID},
        {"Gelu", GOPS_ACTIVATION_GELU}, {"HardSwish", GOPS_ACTIVATION_HARD_SWISH},
        {"Elu", GOPS_ACTIVATION_ELU},   {"HardSigmoid", GOPS_ACTIVATION_HARD_SIGMOID},
        {"Mish", GOPS_ACTIVATION_MISH},
    };
    gops_ort_attributes from = {runtime, node, NULL, false};
    *serves = false;
    if (strcmp(node->type, "Clip") == 0) {
        return read_clip(runtime, node, activation, serves);
    }
    for (size_t i = 0; i < sizeof activations / sizeof activations[0]; i++) {
        if (strcmp(node->type, activations[i].type) == 0) {
            *activation = (gops_activation){.kind = activations[i].kind};
            *serves = true;
        }
    }
    if (!*serves) {
        return NULL;
    }
    read_numbers(&from, activation);
    if (activation->kind == GOPS_ACTIVATION_GELU) {
        *serves = gops_ort_attribute_is(&from, "approximate", "none");
    }
    *serves = *serves && !from.malformed;
    return from.status;
}

bool gops_ort_is_hard_swish(const gops_activation *gate)
{
    const double sixth = 1.0 / 6, error = 1e-7; /* the attribute is a float */
    return gate->kind == GOPS_ACTIVATION_HARD_SIGMOID && gate->beta == 0.5 &&
           gate->alpha > sixth - error && gate->alpha < sixth + error;
}

ort_status *gops_ort_read_slopes(const gops_ort_runtime *runtime, const gops_ort_node *node,
                                 const gops_tensor *data, gops_ort_constant *slopes, bool *serves)
{
    *serves = strcmp(node->type, "PRelu") == 0 && node->input_count == 2;
    ort_status *status =
        *serves ? gops_ort_read_constant(runtime, node->inputs[1], slopes, serves) : NULL;
    if (status != NULL || !*serves) {
        return status;
    }
    *serves = slopes->tensor.type == data->type && gops_ort_is_for_channels(slopes, data);
    return NULL;
}
