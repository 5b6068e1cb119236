/*
 * post_ops.inc.h: the post-ops of a run of outputs of one channel:
 *
 *     value = activation(value + bias + residual)
 *
 * Floating point values are still in the compute type, so all of it is rounded once, later.
 * Integers have been stored already: sums modulo 2^bits can go on in the element type. Each
 * activation has a loop of its own, which the compiler vectorises. Comparisons are written so that
 * NaN passes through.
 *
 * Parameters, all from types/each_type.inc.h but the last:
 *
 *   T                type: an element as it is stored
 *   C                type: the compute type
 *   LOAD(T) -> C     converts an element
 *   NAME(symbol)     puts the row's name in front of a symbol
 *   INTEGER          defined for integers
 *   ELEMENT          type: the element's own type, where T has only its size; else not defined
 *   POST_OPS_BLOCK   int: the values that one call of a vector function takes
 */
#define value_type NAME(value_type)
#define add_operands NAME(add_operands)
#define residual_relu NAME(residual_relu)
#define apply_relu NAME(apply_relu)
#define apply_clamp NAME(apply_clamp)
#define apply_leaky_relu NAME(apply_leaky_relu)
#define apply_hard_swish NAME(apply_hard_swish)
#define apply_sigmoid NAME(apply_sigmoid)
#define apply_swish NAME(apply_swish)
#define apply_tanh NAME(apply_tanh)
#define apply_gelu NAME(apply_gelu)
#define post_ops NAME(post_ops)

#ifdef INTEGER
#ifdef ELEMENT
typedef ELEMENT value_type;
#else
typedef T value_type;
#endif
/* Sums wrap, so they are formed without a sign. */
#define OPERAND (C)
#define SUM(a, b) (value_type)((C)(a) + (b))
#else
typedef C value_type;
#define OPERAND LOAD
#define SUM(a, b) ((a) + (b))
#endif

static void add_operands(value_type *values, const T *bias, const T *residual, int64_t count)
{
    if (bias != NULL) {
        for (int64_t i = 0; i < count; i++) {
            values[i] = SUM(values[i], OPERAND(*bias));
        }
    }
    if (residual != NULL) {
        for (int64_t i = 0; i < count; i++) {
            values[i] = SUM(values[i], OPERAND(residual[i]));
        }
    }
}

#ifndef INTEGER
/* The end of a residual block in one pass: max(value + bias + residual, 0). */
static void residual_relu(value_type *values, const T *bias, const T *residual, int64_t count)
{
    const C added = bias != NULL ? LOAD(*bias) : 0;
    for (int64_t i = 0; i < count; i++) {
        const C sum = (values[i] + added) + LOAD(residual[i]);
        values[i] = sum < 0 ? 0 : sum;
    }
}
#endif

/* `zero` is a parameter because compilers warn of an unsigned value that is compared with 0. */
static void apply_relu(value_type *values, int64_t count, value_type zero)
{
    for (int64_t i = 0; i < count; i++) {
        values[i] = values[i] < zero ? zero : values[i];
    }
}

static void apply_clamp(value_type *values, int64_t count, value_type low, value_type high)
{
    for (int64_t i = 0; i < count; i++) {
        const value_type raised = values[i] < low ? low : values[i];
        values[i] = raised > high ? high : raised;
    }
}

#ifndef INTEGER
#define FUNCTION(name) _Generic((C)0, float : name##f, double : name)

/* Defines an activation from its formula for x, in blocks, which the compiler makes calls of vector
 * functions (libmvec.h). The last block is filled up: an element's bits must not depend on how many
 * elements follow it. */
#define ACTIVATION_IN_BLOCKS(name, ...)                                                            \
    static inline void NAME(name##_block)(C * values, const C alpha)                               \
    {                                                                                              \
        (void)alpha;                                                                               \
        GOPS_VECTOR_CALLS                                                                          \
        for (int i = 0; i < POST_OPS_BLOCK; i++) {                                                 \
            const C x = values[i];                                                                 \
            values[i] = __VA_ARGS__;                                                               \
        }                                                                                          \
    }                                                                                              \
    static void name(C *values, int64_t count, const gops_activation *activation)                  \
    {                                                                                              \
        const C alpha = (C)activation->alpha;                                                      \
        int64_t i = 0;                                                                             \
        for (; i + POST_OPS_BLOCK <= count; i += POST_OPS_BLOCK) {                                 \
            NAME(name##_block)(values + i, alpha);                                                 \
        }                                                                                          \
        if (i < count) {                                                                           \
            C last[POST_OPS_BLOCK] = {0};                                                          \
            memcpy(last, values + i, (size_t)(count - i) * sizeof(C));                             \
            NAME(name##_block)(last, alpha);                                                       \
            memcpy(values + i, last, (size_t)(count - i) * sizeof(C));                             \
        }                                                                                          \
    }

ACTIVATION_IN_BLOCKS(apply_sigmoid, 1 / (1 + FUNCTION(exp)(-x)))
ACTIVATION_IN_BLOCKS(apply_swish, x / (1 + FUNCTION(exp)(-alpha * x)))
ACTIVATION_IN_BLOCKS(apply_tanh, FUNCTION(tanh)(x))
/* erfc(-z) = 1 + erf(z) keeps its digits where z is far below 0. */
ACTIVATION_IN_BLOCKS(apply_gelu, x *FUNCTION(erfc)(-x *(C)0.70710678118654752440L) / 2)
#undef ACTIVATION_IN_BLOCKS
#undef FUNCTION

static void apply_leaky_relu(C *values, int64_t count, C slope)
{
    for (int64_t i = 0; i < count; i++) {
        values[i] = values[i] < 0 ? values[i] * slope : values[i];
    }
}

static void apply_hard_swish(C *values, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        const C raised = values[i] + 3 < 0 ? 0 : values[i] + 3;
        values[i] = values[i] * (raised > 6 ? 6 : raised) / 6;
    }
}
#endif

static void post_ops(void *run, const void *bias, const void *residual, int64_t count,
                     const gops_activation *activation)
{
    value_type *values = run;
#ifndef INTEGER
    if (residual != NULL && activation->kind == GOPS_ACTIVATION_RELU) {
        residual_relu(values, bias, residual, count);
        return;
    }
#endif
    add_operands(values, bias, residual, count);
    switch (activation->kind) {
    case GOPS_ACTIVATION_NONE:
        break;
    case GOPS_ACTIVATION_RELU:
        apply_relu(values, count, 0);
        break;
    case GOPS_ACTIVATION_CLAMP:
        apply_clamp(values, count, (value_type)activation->alpha, (value_type)activation->beta);
        break;
#ifndef INTEGER
    case GOPS_ACTIVATION_LEAKY_RELU:
        apply_leaky_relu(values, count, (C)activation->alpha);
        break;
    case GOPS_ACTIVATION_SIGMOID:
        apply_sigmoid(values, count, activation);
        break;
    case GOPS_ACTIVATION_TANH:
        apply_tanh(values, count, activation);
        break;
    case GOPS_ACTIVATION_HARD_SWISH:
        apply_hard_swish(values, count);
        break;
    case GOPS_ACTIVATION_SWISH:
        apply_swish(values, count, activation);
        break;
    case GOPS_ACTIVATION_GELU:
        apply_gelu(values, count, activation);
        break;
#endif
    default:
        break; /* plan_create.c refuses the others for integers */
    }
}

#undef OPERAND
#undef SUM
