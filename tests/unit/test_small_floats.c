/*
 * The floating point types below 32 bits: every code in and out, every rounding boundary, overflow
 * in both modes, on every instruction set that runs here.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "problem.h"
#include "elements.h"
#include "harness.h"

typedef struct format {
    gops_type type;
    int bits;
    int fraction_bits;
    int least_exponent; /* of normal numbers */
    long double largest;
} format;

static const format formats[] = {
    {GOPS_F16, 16, 10, -14, 65504},
    {GOPS_BF16, 16, 7, -126, 0x1.FEp127L},
    {GOPS_F8E4M3, 8, 3, -6, 448},
    {GOPS_F8E5M2, 8, 2, -14, 57344},
};
enum { FORMATS = sizeof formats / sizeof formats[0], CHANNELS = 3 };

/* 1x1 convolutions of three channels to one, in one group. */
static gops_problem sum_of_three(gops_type type, int64_t pixels)
{
    return (gops_problem){.operation = GOPS_PROBLEM_CONV,
                          .data = GOPS_TEST_TENSOR(type, 1, CHANNELS, pixels),
                          .filter = GOPS_TEST_TENSOR(type, 1, 1, CHANNELS, 1)};
}

static int bits_differ(const format *f, const void *a, const void *b, int64_t i)
{
    size_t bytes = (size_t)f->bits / 8;
    return memcmp((const char *)a + (size_t)i * bytes, (const char *)b + (size_t)i * bytes, bytes);
}

/* What a code's exponent is, the least one for subnormal numbers. */
static int exponent_of(const format *f, long double value)
{
    int exponent = f->least_exponent;
    if (value != 0 && isfinite(value))
        exponent = ilogbl(value);
    return exponent < f->least_exponent ? f->least_exponent : exponent;
}

/* Executes on every instruction set and compares with the codes that `expected` holds; where they
 * are NaN, any NaN will do on the first one, and the same bits on all others. */
static void run_everywhere(const gops_problem *problem, const format *f,
                           gops_problem_buffers *buffers, const void *expected, const char *what)
{
    int64_t pixels = problem->data.dims[2];
    size_t bytes = (size_t)pixels * (size_t)f->bits / 8;
    void *first = gops_test_allocate(bytes);
    bool runs;
    for (int isa = 0; gops_isa_name(isa, &runs) != NULL; isa++) {
        gops_error error = {GOPS_OK, ""};
        int64_t wrong = 0, at = -1;
        if (!runs)
            continue;
        setenv("GROUPOPS_ISA", gops_isa_name(isa, NULL), 1);
        gops_problem_clear_output(problem, buffers);
        gops_status status = gops_problem_run(problem, buffers, &error);
        gops_test_check(status == GOPS_OK, "%s: %s", gops_isa_name(isa, NULL), error.message);
        const void *got = buffers->output.memory;
        for (int64_t i = 0; i < pixels; i++) {
            int both_nan = isnan(gops_test_get_real(f->type, got, i)) &&
                           isnan(gops_test_get_real(f->type, expected, i));
            if (!both_nan && bits_differ(f, got, expected, i)) {
                at = wrong == 0 ? i : at;
                wrong++;
            }
        }
        gops_test_check(wrong == 0,
                        "%s, %s, %s: %lld of %lld wrong, the first is %lld: got %.9Lg, expected "
                        "%.9Lg",
                        gops_test_type_name(f->type), what, gops_isa_name(isa, NULL),
                        (long long)wrong, (long long)pixels, (long long)at,
                        at < 0 ? 0 : gops_test_get_real(f->type, got, at),
                        at < 0 ? 0 : gops_test_get_real(f->type, expected, at));
        if (isa == 0)
            memcpy(first, got, bytes);
        gops_test_check(memcmp(first, got, bytes) == 0, "%s, %s: other bits on %s than on %s",
                        gops_test_type_name(f->type), what, gops_isa_name(isa, NULL),
                        gops_isa_name(0, NULL));
    }
    free(first);
}

static gops_problem_buffers zero_buffers(const gops_problem *problem)
{
    gops_test_random random = gops_test_random_start(1, 1);
    gops_reference_geometry g;
    gops_tensor output;
    gops_problem_reference_shape(problem, &g, &output);
    gops_problem_buffers b = gops_problem_buffers_create(problem, &output, &random);
    memset(b.data.memory, 0,
           (size_t)gops_test_elements(&problem->data) * gops_test_type_bytes(problem->data.type));
    return b;
}

/* Every code times 1 plus zeros is itself. A sum that starts with +0 makes +0 of -0. */
static void every_code(void)
{
    gops_test_need_wide_long_double();
    for (int n = 0; n < FORMATS; n++) {
        const format *f = &formats[n];
        int64_t codes = INT64_C(1) << f->bits;
        gops_problem p = sum_of_three(f->type, codes);
        gops_problem_buffers b = zero_buffers(&p);
        void *expected = gops_test_allocate((size_t)codes * 2);
        for (int channel = 0; channel < CHANNELS; channel++)
            gops_test_set_real(f->type, b.weights.memory, channel, channel == 0 ? 1 : 0);
        for (int64_t code = 0; code < codes; code++) {
            uint16_t two = (uint16_t)code;
            uint8_t one = (uint8_t)code;
            memcpy((char *)b.data.memory + code * f->bits / 8,
                   f->bits == 16 ? (void *)&two : (void *)&one, (size_t)f->bits / 8);
            gops_test_set_real(f->type, expected, code,
                               gops_test_get_real(f->type, b.data.memory, code) + 0.0L);
        }
        run_everywhere(&p, f, &b, expected, "every code");
        free(expected);
        gops_problem_buffers_destroy(&b);
    }
}

/*
 * For every finite code x: x + h and x + h a quarter more or less, where h is half of x's last
 * place, with the sign of x; and the same with h subtracted. With fraction_bits M, exponent e and
 * q = 2^-(M + 1), h = 2^e q and its quarter is 2^(e - 2) q, each a product of numbers of the type.
 * The sum has at most M + 4 bits, so it is exact in f32 and rounded when it is stored, once.
 */
static void boundaries(const format *f, int saturate)
{
    int64_t codes = INT64_C(1) << f->bits;
    gops_problem p = sum_of_three(f->type, codes);
    gops_problem_buffers b = zero_buffers(&p);
    void *expected = gops_test_allocate((size_t)codes * 2);
    const long double q = ldexpl(1, -f->fraction_bits - 1);
    p.saturate = saturate;
    for (int channel = 0; channel < CHANNELS; channel++)
        gops_test_set_real(f->type, b.weights.memory, channel, channel == 0 ? 1 : q);
    for (int variant = 0; variant < 6; variant++) {
        const int side = variant % 3 - 1, sign = variant < 3 ? 1 : -1;
        for (int64_t code = 0; code < codes; code++) {
            uint16_t two = (uint16_t)code;
            uint8_t one = (uint8_t)code;
            const void *bits = f->bits == 16 ? (const void *)&two : (const void *)&one;
            long double x = gops_test_get_real(f->type, bits, 0);
            x = isfinite(x) ? x : 0;
            long double step = ldexpl(signbit(x) ? -sign : sign, exponent_of(f, x));
            gops_test_set_real(f->type, b.data.memory, code, x);
            gops_test_set_real(f->type, b.data.memory, codes + code, step);
            gops_test_set_real(f->type, b.data.memory, 2 * codes + code,
                               (long double)side * step / 4);
            long double exact = x + q * step + q * (long double)side * step / 4;
            gops_test_set_real(f->type, expected, code, exact);
            if (saturate && !isfinite(gops_test_get_real(f->type, expected, code)))
                gops_test_set_real(f->type, expected, code, copysignl(f->largest, exact));
        }
        run_everywhere(&p, f, &b, expected, saturate ? "boundaries, saturating" : "boundaries");
    }
    free(expected);
    gops_problem_buffers_destroy(&b);
}

static void every_rounding_boundary(void)
{
    gops_test_need_wide_long_double();
    for (int n = 0; n < FORMATS; n++)
        boundaries(&formats[n], 0);
}

static void every_boundary_saturating(void)
{
    gops_test_need_wide_long_double();
    boundaries(&formats[2], 1);
    boundaries(&formats[3], 1);
}

/* Far beyond the largest number, infinite, and NaN: in both modes. */
static void overflow(void)
{
    gops_test_need_wide_long_double();
    for (int n = 0; n < FORMATS; n++)
        for (int saturate = 0; saturate <= (formats[n].bits == 8); saturate++) {
            const format *f = &formats[n];
            gops_problem p = sum_of_three(f->type, 8);
            gops_problem_buffers b = zero_buffers(&p);
            char expected[16];
            const long double inputs[] = {f->largest, -f->largest, INFINITY, -INFINITY, NAN};
            p.saturate = saturate;
            for (int channel = 0; channel < CHANNELS; channel++)
                gops_test_set_real(f->type, b.weights.memory, channel, channel == 0 ? 2 : 0);
            for (int i = 0; i < 8; i++) {
                long double x = i < 5 ? inputs[i] : (long double)(i - 6);
                gops_test_set_real(f->type, b.data.memory, i, x);
                x = 2 * gops_test_get_real(f->type, b.data.memory, i);
                gops_test_set_real(f->type, expected, i, x);
                if (saturate && !isnan(x) && fabsl(x) > f->largest)
                    gops_test_set_real(f->type, expected, i, copysignl(f->largest, x));
            }
            run_everywhere(&p, f, &b, expected, saturate ? "overflow, saturating" : "overflow");
            gops_problem_buffers_destroy(&b);
        }
}

/* Sums are kept in f32 and rounded once: 1 + 4096 times 2^-13 in f16 is 1.5, where an f16 sum would
 * stay at 1; and so for the others with their own numbers. */
static void rounded_once(void)
{
    for (int n = 0; n < FORMATS; n++) {
        const format *f = &formats[n];
        const int64_t terms = 4096;
        gops_problem p = {.operation = GOPS_PROBLEM_CONV,
                          .data = GOPS_TEST_TENSOR(f->type, 1, terms + 1, 1),
                          .filter = GOPS_TEST_TENSOR(f->type, 1, 1, terms + 1, 1)};
        gops_problem_buffers b = zero_buffers(&p);
        gops_error error = {GOPS_OK, ""};
        for (int64_t i = 0; i <= terms; i++) {
            gops_test_set_real(f->type, b.data.memory, i, i == 0 ? 1 : 0x1p-6L);
            gops_test_set_real(f->type, b.weights.memory, i, i == 0 ? 1 : 0x1p-7L);
        }
        gops_test_check(gops_problem_run(&p, &b, &error) == GOPS_OK, "%s", error.message);
        long double got = gops_test_get_real(f->type, b.output.memory, 0);
        gops_test_check(got == 1.5L, "%s: %.9Lg", gops_test_type_name(f->type), got);
        gops_problem_buffers_destroy(&b);
    }
}

int main(void)
{
    static const gops_test_case cases[] = {{"every_code", every_code},
                                           {"every_rounding_boundary", every_rounding_boundary},
                                           {"every_boundary_saturating", every_boundary_saturating},
                                           {"overflow", overflow},
                                           {"rounded_once", rounded_once},
                                           {NULL, NULL}};
    return gops_test_main("small floating point types", cases);
}
