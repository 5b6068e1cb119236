/* reference_fusion.c: bias, residual and activation on one result at a time, with the bound of
 * their error. */
#include "reference_fusion.h"

#include <math.h>

#include "elements.h"

/* A function's value, how steep it is at most, and the roundings in evaluating it, in units of u
 * times the value. What the functions cost is in tests/unit/test_activations.c, for f64 and for all
 * others, in units in the last place, each at most 2 u of the value. `rest` are roundings of what the
 * value is a difference of, in units of u. */
typedef struct evaluated {
    long double value;
    long double steep;
    long double roundings;
    long double rest;
} evaluated;

static evaluated evaluate(const gops_activation *a, long double x, gops_type accumulator)
{
    const bool f64 = accumulator == GOPS_F64;
    long double alpha = a->alpha, raised = x < -3 ? 0 : x > 3 ? 6 : x + 3;
    switch (a->kind) {
    case GOPS_ACTIVATION_NONE:
        break;
    case GOPS_ACTIVATION_RELU:
        return (evaluated){x < 0 ? 0 : x, 1, 0, 0};
    case GOPS_ACTIVATION_CLAMP: /* bounds are rounded to the type that is computed in */
        return (evaluated){x < alpha ? alpha : x > a->beta ? (long double)a->beta : x, 1, 1, 0};
    case GOPS_ACTIVATION_LEAKY_RELU: /* the slope is rounded too */
        return (evaluated){x < 0 ? alpha * x : x, fmaxl(1, fabsl(alpha)), 2, 0};
    case GOPS_ACTIVATION_SIGMOID:
        return (evaluated){1 / (1 + expl(-x)), 0.25L, f64 ? 7 : 6, 0};
    case GOPS_ACTIVATION_TANH:
        return (evaluated){tanhl(x), 1, f64 ? 7 : 6, 0};
    case GOPS_ACTIVATION_HARD_SWISH: /* |2 x + 3| / 6 at x = 3; x + 3 is rounded */
        return (evaluated){x * raised / 6, 1.5L, 4, 0};
    case GOPS_ACTIVATION_SWISH: /* alpha and alpha x are rounded, which counts |alpha x| times where
                                   exp is not added to more than it */
        return (evaluated){x / (1 + expl(-alpha * x)), 1.1L,
                           (f64 ? 9 : 8) + (alpha * x > 0 ? 1 : 2 * fabsl(alpha * x)), 0};
    case GOPS_ACTIVATION_ELU: /* alpha is rounded */
        return (evaluated){x < 0 ? alpha * expm1l(x) : x, fmaxl(1, fabsl(alpha)), 8, 0};
    case GOPS_ACTIVATION_MISH: {
        const long double e = expl(-fabsl(x)), e2 = e * (2 + e);
        const long double share = x < 0 ? e2 / (2 + e2) : (1 + 2 * e) / (1 + 2 * e + 2 * e * e);
        return (evaluated){x * share, 1.1L, f64 ? 15 : 11, 0};
    }
    case GOPS_ACTIVATION_HARD_SIGMOID: { /* alpha, beta, product and sum; no more than 1 away */
        const long double line = alpha * x + a->beta;
        return (evaluated){line < 0   ? 0
                           : line > 1 ? 1
                                      : line,
                           fabsl(alpha), 1, 2 + 4 * fabsl(a->beta)};
    }
    case GOPS_ACTIVATION_PRELU: /* its slope is leaky_relu's */
        break;
    case GOPS_ACTIVATION_GELU:
        return (evaluated){x * erfcl(-x / sqrtl(2)) / 2, 1.13L, f64 ? 36 : 17, 0};
    }
    return (evaluated){x, 1, 0, 0};
}

long double gops_reference_activate(const gops_activation *activation, long double x,
                                    long double *roundings)
{
    const evaluated f = evaluate(activation, x, GOPS_F32);
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

/* One element's bias, residual and activation. */
typedef struct fused {
    long double bias, residual;
    uint64_t integer_bias, integer_residual;
    gops_activation activation;
} fused;

static void fuse_real(gops_reference_result *result, int64_t i, const fused *e, int after)
{
    gops_type type = result->tensor.type;
    gops_type accumulator = type == GOPS_F64 ? GOPS_F64 : GOPS_F32;
    long double u = gops_test_unit_roundoff(accumulator);
    const long double before = after ? 0 : e->residual;
    long double sum = result->value[i] + e->bias + before;
    long double error = result->error[i] +
                        u * (fabsl(result->value[i] + e->bias) + fabsl(sum) + 2 * result->error[i]);
    evaluated f = evaluate(&e->activation, sum, accumulator);
    error = f.steep * error + f.roundings * u * (fabsl(f.value) + f.steep * error) + f.rest * u;
    if (e->activation.kind >= GOPS_ACTIVATION_SIGMOID)
        error += f.roundings * gops_test_smallest(accumulator); /* where the value is a denormal */
    if (after) {
        f.value += e->residual;
        error += u * (fabsl(f.value) + error);
    }
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

static uint64_t activate_integer(gops_type type, uint64_t x, const gops_activation *activation)
{
    if (activation->kind == GOPS_ACTIVATION_RELU && below(type, x, 0))
        return 0;
    if (activation->kind == GOPS_ACTIVATION_CLAMP) {
        const uint64_t low = integer_of(type, activation->alpha);
        const uint64_t high = integer_of(type, activation->beta);
        return below(type, x, low) ? low : below(type, high, x) ? high : x;
    }
    return x;
}

static void fuse_integer(gops_reference_result *result, int64_t i, const fused *e, int after)
{
    gops_type type = result->tensor.type;
    const uint64_t before = after ? 0 : e->integer_residual;
    const uint64_t sum = wrap(type, result->integer[i] + e->integer_bias + before);
    const uint64_t value = activate_integer(type, sum, &e->activation);
    result->integer[i] = after ? wrap(type, value + e->integer_residual) : value;
}

static fused read_fused(gops_type type, const gops_reference_operands *operands,
                        const gops_activation *activation, int64_t channel, int64_t i)
{
    const void *bias = operands->bias, *residual = operands->residual;
    fused e = {.activation = *activation};
    if (gops_test_type_is_real(type)) {
        e.bias = bias != NULL ? gops_test_get_real(type, bias, channel) : 0;
        e.residual = residual != NULL ? gops_test_get_real(type, residual, i) : 0;
    } else {
        e.integer_bias = bias != NULL ? gops_test_get_integer(type, bias, channel) : 0;
        e.integer_residual = residual != NULL ? gops_test_get_integer(type, residual, i) : 0;
    }
    if (activation->kind == GOPS_ACTIVATION_PRELU) {
        e.activation.kind = GOPS_ACTIVATION_LEAKY_RELU;
        e.activation.alpha = (double)gops_test_get_real(type, operands->slopes, channel);
    }
    return e;
}

void gops_reference_fuse(gops_reference_result *result, const gops_reference_operands *operands,
                         const gops_activation *activation)
{
    const gops_tensor *tensor = &result->tensor;
    const int after = operands->residual != NULL && operands->residual_after;
    if (gops_test_elements(tensor) == 0 || /* axes of any length */
        (operands->bias == NULL && operands->residual == NULL &&
         activation->kind == GOPS_ACTIVATION_NONE))
        return;
    const int64_t pixels = pixels_of(tensor);
    for (int64_t i = 0; i < gops_test_elements(tensor); i++) {
        const fused e =
            read_fused(tensor->type, operands, activation, i / pixels % tensor->dims[1], i);
        if (gops_test_type_is_real(tensor->type))
            fuse_real(result, i, &e, after);
        else
            fuse_integer(result, i, &e, after);
    }
}
