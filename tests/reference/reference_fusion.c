/* reference_fusion.c: bias, residual and activation on one result at a time, with the bound of
 * their error. */
#include "reference_fusion.h"

#include <math.h>

#include "elements.h"

/* A function's value, how steep it is at most, and the roundings in evaluating it, in units of u
 * times the value. What the functions cost is in tests/unit/test_activations.c, in units in the last
 * place, each at most 2 u of the value. */
typedef struct evaluated {
    long double value;
    long double steep;
    long double roundings;
} evaluated;

static evaluated evaluate(const gops_activation *a, long double x)
{
    long double alpha = a->alpha, raised = x < -3 ? 0 : x > 3 ? 6 : x + 3;
    switch (a->kind) {
    case GOPS_ACTIVATION_NONE:
        break;
    case GOPS_ACTIVATION_RELU:
        return (evaluated){x < 0 ? 0 : x, 1, 0};
    case GOPS_ACTIVATION_CLAMP: /* bounds are rounded to the type that is computed in */
        return (evaluated){x < alpha ? alpha : x > a->beta ? (long double)a->beta : x, 1, 1};
    case GOPS_ACTIVATION_LEAKY_RELU: /* the slope is rounded too */
        return (evaluated){x < 0 ? alpha * x : x, fmaxl(1, fabsl(alpha)), 2};
    case GOPS_ACTIVATION_SIGMOID:
        return (evaluated){1 / (1 + expl(-x)), 0.25L, 5};
    case GOPS_ACTIVATION_TANH:
        return (evaluated){tanhl(x), 1, 6};
    case GOPS_ACTIVATION_HARD_SWISH: /* |2 x + 3| / 6 at x = 3; x + 3 is rounded */
        return (evaluated){x * raised / 6, 1.5L, 4};
    case GOPS_ACTIVATION_SWISH: /* alpha and alpha x are rounded, which counts |alpha x| times where
                                   exp is not added to more than it */
        return (evaluated){x / (1 + expl(-alpha * x)), 1.1L,
                           7 + (alpha * x > 0 ? 1 : 2 * fabsl(alpha * x))};
    case GOPS_ACTIVATION_GELU:
        return (evaluated){x * erfcl(-x / sqrtl(2)) / 2, 1.13L, 28};
    }
    return (evaluated){x, 1, 0};
}

long double gops_reference_activate(const gops_activation *activation, long double x,
                                    long double *roundings)
{
    const evaluated f = evaluate(activation, x);
    if (roundings != NULL)
        *roundings = f.roundings;
    return f.value;
}

static int64_t pixels_of(const gops_tensor *tensor)
{
    int64_t pixels = 1;
    for (int32_t i = 2; i < tensor->rank; i++)
        pixels *= tensor->dims[i];
    return pixels;
}

static void fuse_real(gops_reference_result *result, int64_t i, long double bias,
                      long double residual, const gops_activation *activation)
{
    gops_type type = result->tensor.type;
    gops_type accumulator = type == GOPS_F64 ? GOPS_F64 : GOPS_F32;
    long double u = gops_test_unit_roundoff(accumulator);
    long double sum = result->value[i] + bias + residual;
    long double error =
        result->error[i] + u * (fabsl(result->value[i] + bias) + fabsl(sum) + 2 * result->error[i]);
    evaluated f = evaluate(activation, sum);
    error = f.steep * error + f.roundings * u * (fabsl(f.value) + f.steep * error);
    if (activation->kind >= GOPS_ACTIVATION_SIGMOID)
        error += f.roundings * gops_test_smallest(accumulator); /* where the value is a denormal */
    result->value[i] = f.value;
    result->error[i] = error;
    result->bound[i] = error + gops_test_unit_roundoff(type) * (fabsl(f.value) + error) +
                       gops_test_smallest(type) / 2;
}

/* Element 0 of the type's array that holds `value` modulo 2^bits, as a number. */
static uint64_t wrap(gops_type type, uint64_t value)
{
    uint64_t element = 0;
    gops_test_set_integer(type, &element, 0, value);
    return gops_test_get_integer(type, &element, 0);
}

static int below(gops_type type, uint64_t a, uint64_t b)
{
    return gops_test_type_is_signed(type) ? (int64_t)a < (int64_t)b : a < b;
}

static uint64_t integer_of(gops_type type, double value)
{
    return gops_test_type_is_signed(type) ? (uint64_t)(int64_t)value : (uint64_t)value;
}

static void fuse_integer(gops_reference_result *result, int64_t i, uint64_t bias, uint64_t residual,
                         const gops_activation *activation)
{
    gops_type type = result->tensor.type;
    uint64_t x = wrap(type, result->integer[i] + bias + residual);
    if (activation->kind == GOPS_ACTIVATION_RELU && below(type, x, 0))
        x = 0;
    if (activation->kind == GOPS_ACTIVATION_CLAMP) {
        uint64_t low = integer_of(type, activation->alpha);
        uint64_t high = integer_of(type, activation->beta);
        x = below(type, x, low) ? low : below(type, high, x) ? high : x;
    }
    result->integer[i] = x;
}

void gops_reference_fuse(gops_reference_result *result, const void *bias, const void *residual,
                         const gops_activation *activation)
{
    const gops_tensor *tensor = &result->tensor;
    int64_t pixels = pixels_of(tensor);
    if (bias == NULL && residual == NULL && activation->kind == GOPS_ACTIVATION_NONE)
        return;
    for (int64_t i = 0; i < gops_test_elements(tensor); i++) {
        int64_t channel = i / pixels % tensor->dims[1];
        if (gops_test_type_is_real(tensor->type)) {
            long double b = bias != NULL ? gops_test_get_real(tensor->type, bias, channel) : 0;
            long double r = residual != NULL ? gops_test_get_real(tensor->type, residual, i) : 0;
            fuse_real(result, i, b, r, activation);
        } else {
            uint64_t b = bias != NULL ? gops_test_get_integer(tensor->type, bias, channel) : 0;
            uint64_t r = residual != NULL ? gops_test_get_integer(tensor->type, residual, i) : 0;
            fuse_integer(result, i, b, r, activation);
        }
    }
}
