/* Activations of floats and doubles: how far they are from the formulas' values, in units of the
 * last place, and that every instruction set gives the same bits. */
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <groupops/groupops.h>

#include "harness.h"
#include "random_numbers.h"

/* How many values an execution takes, which fill no number of vectors; how many instruction sets
 * there may be. */
enum { COUNT = 4093, MAX_ISAS = 16 };

/* A unit in the last place is the distance between the two numbers of the type that are around the
 * exact value, or the least denormal. The errors are the largest over all floats, rounded up; `at` is where it is.
 * Doubles are too many: the largest found among 10^7 to 10^8 of them, drawn where a function is just below a
 * power of two (sigmoid 2.7, tanh 2.5, swish 3.6, gelu 13.5, mish 5.8), and a quarter or more beyond.
 * That of hard_swish, from three roundings and that of 1/6, is exact. */
typedef struct function {
    gops_activation activation;
    const char *name;
    double f32_units, f64_units;
    float at;
} function;

static const function functions[] = {
    {{GOPS_ACTIVATION_SIGMOID, 0, 0}, "sigmoid", 2.5, 3.5, -0x1.1c48a8p+0F},
    {{GOPS_ACTIVATION_TANH, 0, 0}, "tanh", 2.5, 3.5, 0x1.205368p+2F},
    {{GOPS_ACTIVATION_SWISH, 1, 0}, "swish", 3.5, 4.5, -0x1.e3ed14p+0F},
    {{GOPS_ACTIVATION_SWISH, (double)1.702f, 0}, "swish 1.702", 3.5, 4.5, 0x1.4571f2p-1F},
    {{GOPS_ACTIVATION_SWISH, -0.25, 0}, "swish -0.25", 3.5, 4.5, -0x1.cb1dbep-1F},
    {{GOPS_ACTIVATION_GELU, 0, 0}, "gelu", 7.5, 18, -0x1.74a28cp+3F},
    {{GOPS_ACTIVATION_ELU, 1, 0}, "elu", 1.5, 3, -0x1.267e88p-2F},
    {{GOPS_ACTIVATION_MISH, 0, 0}, "mish", 5.5, 7.5, -0x1.5bf9f4p+6F},
    {{GOPS_ACTIVATION_HARD_SWISH, 0, 0}, "hard_swish", 2.5, 3, 0x1.fde802p-10F},
    {{GOPS_ACTIVATION_LEAKY_RELU, .01, 0}, "leaky_relu", 1.5, 1.5, -3},
    {{GOPS_ACTIVATION_LEAKY_RELU, -.7, 0}, "leaky_relu -0.7", 1.5, 1.5, -3},
    {{GOPS_ACTIVATION_HARD_SIGMOID, .2, .5}, "hard_sigmoid", 3, 3, -2.4F},
    {{GOPS_ACTIVATION_HARD_SIGMOID, -3.3, -.7}, "hard_sigmoid -3.3", 3, 3, -.3F},
    {{GOPS_ACTIVATION_PRELU, -.625, 0}, "prelu", 1.5, 1.5, -3}, /* alpha: the slope */
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

/* A plan for each instruction set that runs here, which applies the activation to its data. */
typedef struct plans {
    gops_plan *plan[MAX_ISAS];
    gops_packed_filter *filter[MAX_ISAS];
    const char *isa[MAX_ISAS];
    int count;
    gops_type type;
    double slope; /* of prelu */
} plans;

/* Makes a convolution with one weight of 1, for `count` pixels. */
static void add_plan(plans *all, gops_type type, const gops_activation *activation, int64_t count)
{
    const gops_tensor data = {type, 3, {1, 1, count}}, weights = {type, 4, {1, 1, 1, 1}};
    const float one = 1;
    const double one_f64 = 1;
    const void *weight = type == GOPS_F64 ? (const void *)&one_f64 : (const void *)&one;
    gops_options options = GOPS_OPTIONS_INIT;
    gops_error error = {.message = ""};
    const int i = all->count;
    options.threads = 1;
    options.activation = *activation;
    if (!gops_test_check(
            gops_conv_plan_create(&data, &weights, NULL, &options, &all->plan[i], &error) ==
                    GOPS_OK &&
                gops_filter_create(all->plan[i], weight, NULL, &all->filter[i], &error) == GOPS_OK,
            "%s", error.message))
        abort();
    all->isa[i] = gops_isa();
    all->count++;
}

static plans plans_of(gops_type type, const gops_activation *activation, int64_t count)
{
    plans all = {.type = type, .slope = activation->alpha};
    const char *given = getenv("GROUPOPS_ISA");
    char *before = given != NULL ? strdup(given) : NULL;
    bool runs;
    for (int i = 0; gops_isa_name(i, &runs) != NULL; i++)
        if (runs) {
            setenv("GROUPOPS_ISA", gops_isa_name(i, NULL), 1);
            add_plan(&all, type, activation, count);
        }
    if (before != NULL)
        setenv("GROUPOPS_ISA", before, 1);
    else
        unsetenv("GROUPOPS_ISA");
    free(before);
    return all;
}

static void destroy(plans *all)
{
    for (int i = 0; i < all->count; i++) {
        gops_filter_destroy(all->filter[i]);
        gops_plan_destroy(all->plan[i]);
    }
}

static void execute(const plans *all, int i, const void *data, void *output)
{
    gops_arguments arguments = GOPS_ARGUMENTS_INIT;
    gops_error error = {.message = ""};
    const float slope = (float)all->slope;
    arguments.data = data;
    arguments.filter = all->filter[i];
    arguments.output = output;
    arguments.slopes = all->type == GOPS_F64 ? (const void *)&all->slope : (const void *)&slope;
    gops_test_check(gops_execute(all->plan[i], &arguments, &error) == GOPS_OK, "%s", error.message);
}

/* Executes all plans, and checks that they agree but for what a NaN holds. */
static void execute_all(const function *f, const plans *all, int64_t bytes, int64_t count,
                        const void *data, void *output, void *other)
{
    execute(all, 0, data, output);
    for (int i = 1; i < all->count; i++) {
        execute(all, i, data, other);
        for (int64_t j = 0; j < count; j++) {
            const unsigned char *a = (unsigned char *)output + j * bytes;
            const unsigned char *b = (unsigned char *)other + j * bytes;
            const double x =
                bytes == 4 ? (double)((const float *)data)[j] : ((const double *)data)[j];
            const double u = bytes == 4 ? (double)*(const float *)(const void *)a
                                        : *(const double *)(const void *)a;
            const double v = bytes == 4 ? (double)*(const float *)(const void *)b
                                        : *(const double *)(const void *)b;
            if (memcmp(a, b, (size_t)bytes) != 0 && !(isnan(u) && isnan(v)))
                gops_test_check(0, "%s of %a is %a by %s, %a by %s", f->name, x, u, all->isa[0], v,
                                all->isa[i]);
        }
    }
}

/* The formulas, so that nothing overflows on the way; in double for floats, where that is 29 bits
 * more, because it is faster. */
#define DEFINE_EXACT(name, real, suffix)                                                           \
    static real name(const gops_activation *a, real x)                                             \
    {                                                                                              \
        const real steep = a->kind == GOPS_ACTIVATION_SWISH ? (real)a->alpha * x : x;              \
        const real e = exp##suffix(-fabs##suffix(steep));                                          \
        const real sigmoid = (steep < 0 ? e : 1) / (1 + e);                                        \
        switch (a->kind) {                                                                         \
        case GOPS_ACTIVATION_SIGMOID:                                                              \
            return sigmoid;                                                                        \
        case GOPS_ACTIVATION_SWISH:                                                                \
            return x * sigmoid;                                                                    \
        case GOPS_ACTIVATION_TANH:                                                                 \
            return tanh##suffix(x);                                                                \
        case GOPS_ACTIVATION_ELU:                                                                  \
            return x < 0 ? (real)a->alpha * expm1##suffix(x) : x;                                  \
        case GOPS_ACTIVATION_MISH:                                                                 \
            return x * (x < 0 ? e * (2 + e) / (2 + e * (2 + e))                                    \
                              : (1 + 2 * e) / (1 + 2 * e + 2 * e * e));                            \
        case GOPS_ACTIVATION_HARD_SWISH:                                                           \
            return x * ((x < -3 ? 0 : x > 3 ? 6 : x + 3) / 6);                                     \
        case GOPS_ACTIVATION_LEAKY_RELU:                                                           \
        case GOPS_ACTIVATION_PRELU:                                                                \
            return x < 0 ? (real)a->alpha * x : x;                                                 \
        case GOPS_ACTIVATION_HARD_SIGMOID: {                                                       \
            const real line = (real)a->alpha * x + (real)a->beta;                                  \
            return line < 0 ? 0 : line > 1 ? 1 : line;                                             \
        }                                                                                          \
        case GOPS_ACTIVATION_GELU:                                                                 \
            return x * erfc##suffix(-x / sqrt##suffix(2)) / 2;                                     \
        default:                                                                                   \
            abort();                                                                               \
        }                                                                                          \
    }
DEFINE_EXACT(exact_f32, double, )
DEFINE_EXACT(exact_f64, long double, l)
#undef DEFINE_EXACT

typedef struct worst {
    long double units;
    double at;
} worst;

/* Compares one value with the exact one. */
static void compare(const function *f, gops_type type, double x, double value, long double exact,
                    worst *most)
{
    const double alpha = (f->activation.kind == GOPS_ACTIVATION_SWISH ? f->activation.alpha : 1);
    const double units = type == GOPS_F32 ? f->f32_units : f->f64_units;
    const int digits = type == GOPS_F32 ? FLT_MANT_DIG : DBL_MANT_DIG;
    const int least = type == GOPS_F32 ? FLT_MIN_EXP : DBL_MIN_EXP;
    int exponent;
    if (isnan(exact) || isinf(exact) || isnan(value)) {
        if (!(isnan(exact) ? isnan(value) : (long double)value == exact))
            gops_test_check(0, "%s of %a is %a, expected %La", f->name, x, value, exact);
        return;
    }
    frexpl(f->activation.kind == GOPS_ACTIVATION_HARD_SIGMOID
               ? fabsl((long double)f->activation.alpha * x) + fabs(f->activation.beta)
               : exact,
           &exponent);
    exponent = exponent > least ? exponent : least;
    const long double error = fabsl(value - exact) / ldexpl(1, exponent - digits);
    /* The product alpha x is rounded, which exp makes so many units of. */
    const double allowed = units + (alpha != 1 && alpha * x < 0 ? fabs(alpha * x) : 0);
    if (!(error <= allowed))
        gops_test_check(0, "%s of %a is %a, %.2Lf units from %La; at most %.2f are allowed",
                        f->name, x, value, error, exact, allowed);
    if (error > most->units)
        *most = (worst){error, x};
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* GROUPOPS_TEST_FLOAT_STEP: every so many-th float, by its bits; 1: all of them. */
static void floats(void)
{
    static float data[COUNT], output[COUNT], other[COUNT];
    const int64_t step = gops_test_environment_number("GROUPOPS_TEST_FLOAT_STEP", 4099);
    const int64_t floats = (int64_t)1 << 32;
    for (int n = 0; n < FUNCTIONS; n++) {
        const function *f = &functions[n];
        plans all = plans_of(GOPS_F32, &f->activation, COUNT);
        worst most = {0, 0};
        for (int64_t bits = 0; bits < floats; bits += step * COUNT) {
            for (int64_t i = 0; i < COUNT; i++)
                data[i] = float_of((uint32_t)(bits + i * step < floats ? bits + i * step : 0));
            execute_all(f, &all, sizeof *data, COUNT, data, output, other);
            for (int64_t i = 0; i < COUNT; i++)
                compare(f, GOPS_F32, (double)data[i], (double)output[i],
                        exact_f32(&f->activation, (double)data[i]), &most);
        }
        printf("%s %.2Lf at %a, ", f->name, most.units, most.at);
        destroy(&all);
    }
}

/* Of several sizes, whole numbers and denormals among them. */
static double draw(gops_test_random *random)
{
    const double unit = gops_test_random_real(random);
    switch (gops_test_random_range(random, 0, 5)) {
    case 0:
        return unit;
    case 1:
        return unit * 8;
    case 2:
        return unit * 40;
    case 3:
        return unit * 1600;
    case 4:
        return floor(unit * 50);
    default:
        return ldexp(unit, (int)gops_test_random_range(random, -1074, 10));
    }
}

/* GROUPOPS_TEST_RANDOM_COUNT: how many doubles. */
static void doubles(void)
{
    static double data[COUNT], output[COUNT], other[COUNT];
    const int64_t count = gops_test_environment_number("GROUPOPS_TEST_RANDOM_COUNT", 300000);
    if (LDBL_MANT_DIG <= DBL_MANT_DIG)
        gops_test_skip("long double is no wider than double");
    gops_test_random random = gops_test_random_start(gops_test_seed(), 75);
    for (int n = 0; n < FUNCTIONS; n++) {
        const function *f = &functions[n];
        plans all = plans_of(GOPS_F64, &f->activation, COUNT);
        worst most = {0, 0};
        for (int64_t drawn = 0; drawn < count; drawn += COUNT) {
            for (int64_t i = 0; i < COUNT; i++)
                data[i] = draw(&random);
            execute_all(f, &all, sizeof *data, COUNT, data, output, other);
            for (int64_t i = 0; i < COUNT; i++)
                compare(f, GOPS_F64, data[i], output[i], exact_f64(&f->activation, data[i]), &most);
        }
        printf("%s %.2Lf at %a, ", f->name, most.units, most.at);
        destroy(&all);
    }
}

static void double_floats(const float *from, int64_t count, double *to)
{
    for (int64_t i = 0; i < count; i++)
        to[i] = (double)from[i];
}

/* The numbers around which the functions change their way, with neighbours on both sides, between numbers
 * that take the usual one; the extremes of both types. */
static void extremes(void)
{
    static const float turns[] = {0x1p-149F, 0x1p-127F, FLT_MIN, 0x1p-24F, 3,     6,      11.5F,
                                  12,        13,        14.5F,   20,       29,    36,     38.6F,
                                  42,        87,        88,      88.75F,   103,   104,    131,
                                  708,       745,       797,     1e4F,     1e30F, FLT_MAX};
    enum { TURNS = sizeof turns / sizeof *turns, VALUES = TURNS * 12 + 8 + FUNCTIONS };
    static float data[VALUES], output[VALUES], other[VALUES];
    static double wide[VALUES], wide_output[VALUES], wide_other[VALUES];
    int64_t count = 0;
    for (int i = 0; i < TURNS; i++)
        for (int sign = -1; sign <= 1; sign += 2) {
            const float x = (float)sign * turns[i];
            data[count++] = nextafterf(x, 0);
            data[count++] = x;
            data[count++] = 0.75F;
            data[count++] = nextafterf(x, (float)sign * INFINITY);
            data[count++] = -x / 2;
            data[count++] = -0.625F;
        }
    for (int sign = -1; sign <= 1; sign += 2) {
        data[count++] = (float)sign * 0.0F;
        data[count++] = (float)sign * INFINITY;
        data[count++] = (float)sign * NAN;
        data[count++] = 1;
    }
    for (int n = 0; n < FUNCTIONS; n++)
        data[count++] = functions[n].at;
    double_floats(data, count, wide);
    for (int n = 0; n < FUNCTIONS; n++) {
        const function *f = &functions[n];
        plans all = plans_of(GOPS_F32, &f->activation, count);
        worst most = {0, 0};
        execute_all(f, &all, sizeof *data, count, data, output, other);
        for (int64_t i = 0; i < count; i++)
            compare(f, GOPS_F32, wide[i], (double)output[i], exact_f32(&f->activation, wide[i]),
                    &most);
        destroy(&all);
        all = plans_of(GOPS_F64, &f->activation, count);
        execute_all(f, &all, sizeof *wide, count, wide, wide_output, wide_other);
        for (int64_t i = 0; LDBL_MANT_DIG > DBL_MANT_DIG && i < count; i++)
            compare(f, GOPS_F64, wide[i], wide_output[i], exact_f64(&f->activation, wide[i]),
                    &most);
        destroy(&all);
    }
}

/* A value's bits depend neither on where it lies nor on how many follow it. */
static void positions(void)
{
    enum { MOST = 41 };
    float data[MOST], output[MOST], first;
    for (int n = 0; n < FUNCTIONS; n++)
        for (int64_t count = 1; count <= MOST; count++) {
            plans all = plans_of(GOPS_F32, &functions[n].activation, count);
            for (int i = 0; i < all.count; i++) {
                for (int64_t j = 0; j < count; j++)
                    data[j] = -1.7f + 0.13f * (float)(j * 7 % 43);
                execute(&all, i, data, output);
                for (int64_t j = 0; j < count; j++)
                    data[j] = data[count - 1];
                first = output[count - 1];
                execute(&all, i, data, output);
                for (int64_t j = 0; j < count; j++)
                    gops_test_check(output[j] == first, "%s of %a: %a as value %lld of %lld, %a",
                                    functions[n].name, (double)data[j], (double)output[j],
                                    (long long)j, (long long)count, (double)first);
            }
            destroy(&all);
        }
}

int main(void)
{
    static const gops_test_case cases[] = {
        {"floats", floats},       {"doubles", doubles}, {"extremes", extremes},
        {"positions", positions}, {NULL, NULL},
    };
    return gops_test_main("activations", cases);
}
