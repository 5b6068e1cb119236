/* reference_quantized.c: bias, scales, residual, activation and rounding of quantized sums. */
#include "reference_quantized.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "elements.h"
#include "guarded_memory.h"

/* The f32 operations on a and b, each rounded: what is volatile is stored, so that no compiler fuses
 * a product with a sum, nor keeps more bits than a float has. */
static float times(float a, float b)
{
    volatile float product = a * b;
    return product;
}

static float plus(float a, float b)
{
    volatile float sum = a + b;
    return sum;
}

static float over(float a, float b)
{
    volatile float quotient = a / b;
    return quotient;
}

/* One output element on its way. */
typedef struct element {
    gops_type type;
    int32_t sum; /* with the bias */
    float scale; /* of the data times that of the filter */
    int has_residual;
    float residual; /* in real units */
    int64_t code;   /* the residual as it is, of integer types */
} element;

static int calls_functions(const gops_activation *a)
{
    return a->kind == GOPS_ACTIVATION_SIGMOID || a->kind == GOPS_ACTIVATION_TANH ||
           a->kind == GOPS_ACTIVATION_SWISH || a->kind == GOPS_ACTIVATION_GELU ||
           a->kind == GOPS_ACTIVATION_ELU || a->kind == GOPS_ACTIVATION_MISH;
}

/* The activations that are a few operations of f32. */
static float simple_activation(const gops_activation *a, float v)
{
    const float alpha = (float)a->alpha, beta = (float)a->beta;
    switch (a->kind) {
    case GOPS_ACTIVATION_RELU:
        return v < 0 ? 0 : v;
    case GOPS_ACTIVATION_CLAMP:
        return v < alpha ? alpha : v > beta ? beta : v;
    case GOPS_ACTIVATION_LEAKY_RELU:
        return v < 0 ? times(v, alpha) : v;
    case GOPS_ACTIVATION_HARD_SWISH: {
        const float raised = plus(v, 3);
        return times(v, times(raised < 0 ? 0 : raised > 6 ? 6 : raised, 1 / 6.F));
    }
    case GOPS_ACTIVATION_HARD_SIGMOID: {
        const float line = plus(times(alpha, v), beta);
        return line < 0 ? 0 : line > 1 ? 1 : line;
    }
    default:
        return v;
    }
}

/* What comes before the activation. */
static float real_value(const element *e)
{
    const float v = times((float)e->sum, e->scale);
    return e->has_residual ? plus(v, e->residual) : v;
}

static uint64_t to_8_bits(gops_type type, long double r, int64_t zero_point)
{
    const int64_t least = gops_test_type_is_signed(type) ? -128 : 0;
    const long double low = (long double)(least - zero_point);
    const long double raised = r > low ? r : low; /* NaN too */
    const long double inside = raised < low + 255 ? raised : low + 255;
    return (uint64_t)(llrintl(inside) + zero_point);
}

/* Two quantized tensors are added as ONNX Runtime does it. */
static uint64_t add_codes(const element *e, const gops_reference_quantization *q, int relu)
{
    const int64_t least = gops_test_type_is_signed(e->type) ? -128 : 0;
    const int first = q->residual_first ? 1 : 0, second = 1 - first;
    const float r = q->divides ? over(times((float)e->sum, e->scale), q->sum_scale)
                               : times((float)e->sum, over(e->scale, q->sum_scale));
    const uint64_t rounded = to_8_bits(e->type, r, q->sum_zero_point);
    const float codes[] = {(float)(int64_t)rounded, (float)e->code};
    const float zeros[] = {(float)q->sum_zero_point, (float)q->residual_zero_point};
    const float ratios[] = {over(q->sum_scale, q->output_scale),
                            over(q->residual_scale, q->output_scale)};
    const float constant =
        plus((float)q->output_zero_point,
             -fmaf(ratios[first], zeros[first], times(ratios[second], zeros[second])));
    const float sum =
        fmaf(codes[first], ratios[first], fmaf(codes[second], ratios[second], constant));
    const float low = (float)(relu ? q->output_zero_point : least);
    const float raised = sum > low ? sum : low;
    const float high = (float)(least + 255);
    return (uint64_t)(int64_t)nearbyintf(raised < high ? raised : high);
}

static uint64_t eight_bits(const element *e, const gops_reference_quantization *q,
                           const gops_activation *activation)
{
    const float sy = q->output_scale;
    gops_activation a = *activation;
    if (q->sum_scale != 0)
        return add_codes(e, q, a.kind == GOPS_ACTIVATION_RELU);
    if (calls_functions(&a))
        return to_8_bits(e->type, gops_reference_activate(&a, real_value(e), NULL) / sy,
                         q->output_zero_point);
    if (e->has_residual || q->divides || a.kind > GOPS_ACTIVATION_CLAMP)
        return to_8_bits(e->type, over(simple_activation(&a, real_value(e)), sy),
                         q->output_zero_point);
    a.alpha = over((float)a.alpha, sy);
    a.beta = over((float)a.beta, sy);
    const float r = times((float)e->sum, over(e->scale, sy));
    return to_8_bits(e->type, simple_activation(&a, r), q->output_zero_point);
}

static void set_real(gops_reference_result *result, int64_t i, const element *e,
                     const gops_activation *activation)
{
    const float v = real_value(e);
    uint64_t bits;
    if (!calls_functions(activation)) {
        gops_test_set_real(e->type, &bits, 0, simple_activation(activation, v));
        result->value[i] = gops_test_get_real(e->type, &bits, 0);
        result->bound[i] = 0;
        return;
    }
    long double roundings;
    const long double value = gops_reference_activate(activation, v, &roundings);
    const long double error = roundings * (gops_test_unit_roundoff(GOPS_F32) * fabsl(value) +
                                           gops_test_smallest(GOPS_F32));
    gops_test_set_real(e->type, &bits, 0, copysignl(fabsl(value) - error, value));
    const long double nearer = gops_test_get_real(e->type, &bits, 0);
    result->value[i] = isinf(nearer) ? nearer : value;
    result->bound[i] = error + gops_test_unit_roundoff(e->type) * (fabsl(value) + error) +
                       gops_test_smallest(e->type) / 2;
}

static int32_t wrapped(uint64_t sum)
{
    const uint32_t bits = (uint32_t)sum;
    int32_t number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

static int64_t code_of(const gops_reference_quantization *q, const void *residual, int64_t i)
{
    return gops_test_type_is_real(q->residual_type)
               ? 0
               : (int64_t)gops_test_get_integer(q->residual_type, residual, i);
}

static float real_residual(const gops_reference_quantization *q, const void *residual, int64_t i)
{
    if (gops_test_type_is_real(q->residual_type))
        return times((float)gops_test_get_real(q->residual_type, residual, i), q->residual_scale);
    return times((float)(code_of(q, residual, i) - q->residual_zero_point), q->residual_scale);
}

static int64_t pixels_of(const gops_tensor *tensor)
{
    int64_t pixels = 1;
    for (int32_t i = 2; i < tensor->rank; i++)
        pixels *= tensor->dims[i];
    return pixels;
}

void gops_reference_quantize(gops_reference_result *result, gops_type type,
                             const gops_reference_quantization *quantization, const void *bias,
                             const void *residual, const gops_activation *activation)
{
    const gops_reference_quantization *q = quantization;
    const int64_t count = gops_test_elements(&result->tensor);
    const int64_t pixels = pixels_of(&result->tensor), channels = result->tensor.dims[1];
    const int real = gops_test_type_is_real(type);
    result->exact = !calls_functions(activation);
    if (type == GOPS_I32) {
        const gops_reference_operands operands = {.bias = bias, .residual = residual};
        gops_reference_fuse(result, &operands, activation);
        return;
    }
    result->tensor.type = type;
    result->steps = result->exact ? 0 : 1;
    if (real) {
        result->value = gops_test_allocate((size_t)count * sizeof *result->value);
        result->bound = gops_test_allocate((size_t)count * sizeof *result->bound);
    }
    for (int64_t i = 0; i < count; i++) {
        const int64_t channel = i / pixels % channels;
        const uint64_t added =
            bias != NULL ? gops_test_get_integer(GOPS_I32, bias, channel) : UINT64_C(0);
        const element e = {.type = type,
                           .sum = wrapped(result->integer[i] + added),
                           .scale = times(q->data_scale, q->filter_scales[channel]),
                           .has_residual = residual != NULL,
                           .residual = residual != NULL ? real_residual(q, residual, i) : 0,
                           .code = residual != NULL ? code_of(q, residual, i) : 0};
        if (real)
            set_real(result, i, &e, activation);
        else
            result->integer[i] = eight_bits(&e, q, activation);
    }
}
