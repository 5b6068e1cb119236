/*
 * post_ops.inc.h: the post-ops of a run of outputs of one channel:
 *
 *     value = activation(value + bias + residual)
 *
 * Floating point values are still in the compute type, so all of it is rounded once, later.
 * Integers have been stored already: sums modulo 2^bits can go on in the element type. Each
 * activation has a loop of its own, which the compiler vectorises; those for floating point alone
 * are in activate.inc.h. Comparisons are written so that NaN passes through.
 *
 * Parameters: ACTIVATE and POST_OPS_BLOCK of post_ops.isa.c, and from types/each_type.inc.h:
 *
 *   T                type: an element as it is stored
 *   C                type: the compute type
 *   LOAD(T) -> C     converts an element
 *   NAME(symbol)     puts the row's name in front of a symbol
 *   INTEGER          defined for integers
 *   ELEMENT          type: the element's own type, where T has only its size; else not defined
 */
#define value_type NAME(value_type)
#define add_operands NAME(add_operands)
#define residual_relu NAME(residual_relu)
#define apply_relu NAME(apply_relu)
#define apply_clamp NAME(apply_clamp)
#define post_ops_block NAME(post_ops_block)
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
    const C added = bias != NULL ? LOAD(*bias) : (C)-0.0; /* +0 would make -0 of the sums +0 */
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

static void post_ops_block(value_type *values, const T *bias, const T *residual, int64_t count,
                           const gops_activation *activation)
{
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
    default:
#ifndef INTEGER /* plan/options.c refuses the others for integers */
        ACTIVATE(&(gops_activate_rows){values, values, 0, 0, 1, count}, activation);
#endif
        break;
    }
}

/* In blocks that stay in the L1 cache from one loop to the next. */
static void post_ops(void *values, const void *bias, const void *residual, int64_t count,
                     const gops_activation *activation)
{
    for (int64_t i = 0; i < count; i += POST_OPS_BLOCK) {
        const T *added = residual != NULL ? (const T *)residual + i : NULL;
        post_ops_block((value_type *)values + i, bias, added, gops_min(POST_OPS_BLOCK, count - i),
                       activation);
    }
}

#undef OPERAND
#undef SUM
