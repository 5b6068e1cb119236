/* Wants T, C, LOAD(T) -> C, NAME(symbol). For integers: WRAPPED, and ELEMENT, the element's own
 * type, where T is only as large. */
/*
 * post_ops.inc.h: what is fused into the store of a run of one channel's outputs:
 *
 *     value = activation(value + bias + residual)
 *
 * A floating point run is still in the compute type, so that all of it is rounded once. An integer
 * run has been stored: sums modulo 2^bits can go on there. Each activation has a loop of its own,
 * which vectorises. Comparisons are such that NaN passes through.
 */
#ifdef WRAPPED
#ifdef ELEMENT
typedef ELEMENT NAME(fused);
#else
typedef T NAME(fused);
#endif
/* Sums wrap, so they are formed without a sign. */
#define OPERAND (WRAPPED)
#define SUM(a, b) (NAME(fused))((WRAPPED)(a) + (b))
#else
typedef C NAME(fused);
#define OPERAND LOAD
#define SUM(a, b) ((a) + (b))
#endif

static void NAME(fuse_sum)(NAME(fused) * values, const T *bias, const T *residual, int64_t count)
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

#ifndef WRAPPED
/* What ends a residual block, in one pass: the sums, and the larger of each and 0. */
static void NAME(fuse_residual_raise)(NAME(fused) * values, const T *bias, const T *residual,
                                      int64_t count)
{
    const C added = bias != NULL ? LOAD(*bias) : 0;
    for (int64_t i = 0; i < count; i++) {
        const C sum = (values[i] + added) + LOAD(residual[i]);
        values[i] = sum < 0 ? 0 : sum;
    }
}
#endif

static void NAME(fuse_clamp)(NAME(fused) * values, int64_t count, NAME(fused) low, NAME(fused) high)
{
    for (int64_t i = 0; i < count; i++) {
        const NAME(fused) raised = values[i] < low ? low : values[i];
        values[i] = raised > high ? high : raised;
    }
}

static void NAME(fuse_raise)(NAME(fused) * values, int64_t count, NAME(fused) low)
{
    for (int64_t i = 0; i < count; i++) {
        values[i] = values[i] < low ? low : values[i];
    }
}

#ifndef WRAPPED
#define FUNCTION(name) _Generic((C)0, float : name##f, double : name)

/* In blocks, of which the compiler makes calls of vector functions (libmvec.h). A rest is
 * filled up to one: an element's bits must not depend on its neighbours' number. */
#define FUSE_IN_BLOCKS(name, ...)                                                                  \
    static inline void NAME(name##_block)(C * values, const C alpha)                               \
    {                                                                                              \
        (void)alpha;                                                                               \
        GOPS_VECTOR_CALLS for (int i = 0; i < FUSE_BLOCK; i++)                                     \
        {                                                                                          \
            const C x = values[i];                                                                 \
            values[i] = __VA_ARGS__;                                                               \
        }                                                                                          \
    }                                                                                              \
    static void NAME(name)(C * values, int64_t count, const gops_activation *activation)           \
    {                                                                                              \
        const C alpha = (C)activation->alpha;                                                      \
        int64_t i = 0;                                                                             \
        for (; i + FUSE_BLOCK <= count; i += FUSE_BLOCK) {                                         \
            NAME(name##_block)(values + i, alpha);                                                 \
        }                                                                                          \
        if (i < count) {                                                                           \
            C last[FUSE_BLOCK] = {0};                                                              \
            memcpy(last, values + i, (size_t)(count - i) * sizeof(C));                             \
            NAME(name##_block)(last, alpha);                                                       \
            memcpy(values + i, last, (size_t)(count - i) * sizeof(C));                             \
        }                                                                                          \
    }

FUSE_IN_BLOCKS(fuse_sigmoid, 1 / (1 + FUNCTION(exp)(-x)))
FUSE_IN_BLOCKS(fuse_swish, x / (1 + FUNCTION(exp)(-alpha * x)))
FUSE_IN_BLOCKS(fuse_tanh, FUNCTION(tanh)(x))
/* By the complement, erfc(-z) = 1 + erf(z), which keeps its digits where z is far below 0. */
FUSE_IN_BLOCKS(fuse_gelu, x *FUNCTION(erfc)(-x *(C)0.70710678118654752440L) / 2)
#undef FUSE_IN_BLOCKS
#undef FUNCTION

static void NAME(fuse_leaky_relu)(C *values, int64_t count, C slope)
{
    for (int64_t i = 0; i < count; i++) {
        values[i] = values[i] < 0 ? values[i] * slope : values[i];
    }
}

static void NAME(fuse_hard_swish)(C *values, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        const C raised = values[i] + 3 < 0 ? 0 : values[i] + 3;
        values[i] = values[i] * (raised > 6 ? 6 : raised) / 6;
    }
}
#endif

static void NAME(fuse)(void *run, const void *bias, const void *residual, int64_t count,
                       const gops_activation *activation)
{
    NAME(fused) *values = run;
#ifndef WRAPPED
    if (residual != NULL && activation->kind == GOPS_ACTIVATION_RELU) {
        NAME(fuse_residual_raise)(values, bias, residual, count);
        return;
    }
#endif
    NAME(fuse_sum)(values, bias, residual, count);
    switch (activation->kind) {
    case GOPS_ACTIVATION_NONE:
        break;
    case GOPS_ACTIVATION_RELU:
        NAME(fuse_raise)(values, count, 0);
        break;
    case GOPS_ACTIVATION_CLAMP:
        NAME(fuse_clamp)
        (values, count, (NAME(fused))activation->alpha, (NAME(fused))activation->beta);
        break;
#ifndef WRAPPED
    case GOPS_ACTIVATION_LEAKY_RELU:
        NAME(fuse_leaky_relu)(values, count, (C)activation->alpha);
        break;
    case GOPS_ACTIVATION_SIGMOID:
        NAME(fuse_sigmoid)(values, count, activation);
        break;
    case GOPS_ACTIVATION_TANH:
        NAME(fuse_tanh)(values, count, activation);
        break;
    case GOPS_ACTIVATION_HARD_SWISH:
        NAME(fuse_hard_swish)(values, count);
        break;
    case GOPS_ACTIVATION_SWISH:
        NAME(fuse_swish)(values, count, activation);
        break;
    case GOPS_ACTIVATION_GELU:
        NAME(fuse_gelu)(values, count, activation);
        break;
#endif
    default:
        break; /* plan_create.c refuses the others for integers */
    }
}
#undef OPERAND
#undef SUM
