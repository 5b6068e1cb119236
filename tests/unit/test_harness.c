/* That the tests' own tools notice what they are there for. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "reference.h"
#include "compare.h"
#include "elements.h"
#include "harness.h"
#include "guarded_memory.h"
#include "random_numbers.h"

/* A comparison that must fail prints; what it prints goes into `text` instead. */
typedef struct captured {
    FILE *file;
    int stdout_was;
} captured;

static captured capture(void)
{
    const captured c = {tmpfile(), dup(STDOUT_FILENO)};
    fflush(stdout);
    dup2(fileno(c.file), STDOUT_FILENO);
    return c;
}

static void end_capture(captured c, char *text, size_t size)
{
    fflush(stdout);
    dup2(c.stdout_was, STDOUT_FILENO);
    close(c.stdout_was);
    rewind(c.file);
    text[fread(text, 1, size - 1, c.file)] = '\0';
    fclose(c.file);
}

static int compare_quietly(const gops_tensor *tensor, const void *got, const long double *expected,
                           const long double *bound, char *text, size_t size)
{
    const captured c = capture();
    const int held = gops_test_compare("what", tensor, got, expected, bound);
    end_capture(c, text, size);
    return held;
}

static void comparison(void)
{
    gops_test_need_wide_long_double();
    gops_tensor tensor = GOPS_TEST_TENSOR(GOPS_F32, 1, 2, 3, 2);
    float got[12];
    long double expected[12], bound[12];
    char text[512];
    for (int i = 0; i < 12; i++) {
        got[i] = (float)i;
        expected[i] = (long double)i + 1e-3L;
        bound[i] = 1.01e-3L;
    }
    gops_test_check(compare_quietly(&tensor, got, expected, bound, text, sizeof text), "%s", text);
    got[3] = 3.0005f;
    got[9] = 9.5f;
    gops_test_check(!compare_quietly(&tensor, got, expected, bound, text, sizeof text),
                    "an error of 0.499 with a bound of 0.001 passed");
    gops_test_check(strstr(text, "1 of 12 elements of f32 [1, 2, 3, 2] are wrong; worst element 9 "
                                 "[n 0, c 1, spatial 1 1]: got 9.5, expected 9.00") != NULL,
                    "%s", text);
    got[9] = (float)NAN;
    gops_test_check(!compare_quietly(&tensor, got, expected, bound, text, sizeof text),
                    "a NaN passed");
    got[9] = (float)INFINITY;
    gops_test_check(!compare_quietly(&tensor, got, expected, bound, text, sizeof text),
                    "an infinity passed");
    got[9] = 9;
    bound[9] = 0;
    gops_test_check(!compare_quietly(&tensor, got, expected, bound, text, sizeof text),
                    "an error with a bound of 0 passed");
    expected[9] = (long double)NAN;
    gops_test_check(!compare_quietly(&tensor, got, expected, bound, text, sizeof text),
                    "9 passed for NaN");
}

/* Equality sees the sign of a zero; steps end at the ends of a type. */
static void comparison_by_equality(void)
{
    const gops_tensor floats = GOPS_TEST_TENSOR(GOPS_F32, 1, 3);
    const gops_tensor bytes = GOPS_TEST_TENSOR(GOPS_I8, 1, 3);
    const long double expected[] = {0, 1, (long double)INFINITY};
    const float right[] = {0, 1, INFINITY}, minus[] = {-0.0F, 1, INFINITY};
    const float near[] = {0, 1 + 0x1p-23F, INFINITY}, finite[] = {0, 1, 0x1.fffffep127F};
    const uint64_t numbers[] = {(uint64_t)-128, 127, 5};
    const int8_t same[] = {-128, 127, 5}, next[] = {-127, 126, 6}, around[] = {127, 127, 5};
    char text[4096];
    const captured c = capture();
    const int held[] = {gops_test_compare_exact("what", &floats, right, expected),
                        gops_test_compare_steps("what", &bytes, same, numbers, 0),
                        gops_test_compare_steps("what", &bytes, next, numbers, 1),
                        gops_test_compare_exact("-0 for 0", &floats, minus, expected),
                        gops_test_compare_exact("the next float", &floats, near, expected),
                        gops_test_compare_exact("no infinity", &floats, finite, expected),
                        gops_test_compare_steps("a step", &bytes, next, numbers, 0),
                        gops_test_compare_steps("127 for -128", &bytes, around, numbers, 1)};
    end_capture(c, text, sizeof text);
    for (int i = 0; i < 8; i++)
        gops_test_check(held[i] == (i < 3), "comparison %d: %d; %s", i, held[i], text);
}

/* Every code of the small types, and the numbers around each, come back. */
static void small_types(void)
{
    gops_test_need_wide_long_double();
    static const gops_type types[] = {GOPS_F16, GOPS_BF16, GOPS_F8E4M3, GOPS_F8E5M2};
    for (int t = 0; t < 4; t++) {
        size_t bytes = gops_test_type_bytes(types[t]);
        long double half = gops_test_smallest(types[t]) / 2;
        int64_t wrong = 0;
        for (uint32_t code = 0; code < UINT32_C(1) << (8 * bytes); code++) {
            unsigned char in[2], out[2] = {0, 0};
            const uint8_t narrow = (uint8_t)code;
            const uint16_t wide = (uint16_t)code;
            memcpy(in, bytes == 1 ? (const void *)&narrow : (const void *)&wide, bytes);
            long double value = gops_test_get_real(types[t], in, 0);
            gops_test_set_real(types[t], out, 0, value);
            wrong += isnan(value) ? !isnan(gops_test_get_real(types[t], out, 0))
                                  : memcmp(in, out, bytes) != 0;
            if (isfinite(value)) { /* less than half of any last place away */
                gops_test_set_real(types[t], out, 0, value + half * (value < 0 ? -0.99L : 0.99L));
                wrong += memcmp(in, out, bytes) != 0 && value != 0;
            }
        }
        gops_test_check(wrong == 0, "%lld codes of %s", (long long)wrong,
                        gops_test_type_name(types[t]));
    }
    uint16_t f16 = 0;
    gops_test_set_real(GOPS_F16, &f16, 0, 1.0L / 3);
    gops_test_check(f16 == 0x3555, "1/3 in f16 is %04x", f16);
    gops_test_set_real(GOPS_F16, &f16, 0, 65519.99L);
    gops_test_check(f16 == 0x7bff, "65519.99 in f16 is %04x", f16);
    gops_test_set_real(GOPS_F16, &f16, 0, 65520);
    gops_test_check(f16 == 0x7c00, "65520 in f16 is %04x", f16);
    gops_test_set_real(GOPS_BF16, &f16, 0, -1.00390625L);
    gops_test_check(f16 == 0xbf80, "-1 - 2^-8 in bf16 is %04x", f16);
    uint8_t f8 = 0;
    gops_test_set_real(GOPS_F8E4M3, &f8, 0, 464);
    gops_test_check(f8 == 0x7e, "464 in f8e4m3 is %02x", f8);
    gops_test_set_real(GOPS_F8E4M3, &f8, 0, 464.01L);
    gops_test_check(f8 == 0x7f, "464.01 in f8e4m3 is %02x", f8);
    gops_test_set_real(GOPS_F8E5M2, &f8, 0, -0x1p-16L);
    gops_test_check(f8 == 0x81, "-2^-16 in f8e5m2 is %02x", f8);
}

static void integers(void)
{
    int8_t i8 = 0;
    gops_test_set_integer(GOPS_I8, &i8, 0, 0x180);
    gops_test_check(i8 == -128 && gops_test_get_integer(GOPS_I8, &i8, 0) == UINT64_MAX - 127,
                    "0x180 in i8 is %d", i8);
    uint32_t u32 = 0;
    gops_test_set_integer(GOPS_U32, &u32, 0, UINT64_MAX);
    gops_test_check(gops_test_get_integer(GOPS_U32, &u32, 0) == UINT32_MAX, "-1 in u32");
}

/* The reference's bound for one product and for sums is what reference.h says, and no wider. */
static void bounds(void)
{
    gops_test_need_wide_long_double();
    gops_tensor data = GOPS_TEST_TENSOR(GOPS_F32, 1, 1, 9),
                filter = GOPS_TEST_TENSOR(GOPS_F32, 1, 1, 1, 3);
    gops_conv_attributes none = {.auto_pad = GOPS_AUTO_PAD_SAME_UPPER};
    gops_reference_geometry g;
    gops_reference_result result;
    float values[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, weights[3] = {1, -1, 1};
    gops_reference_conv_geometry(&data, &filter, &none, &g);
    gops_reference_conv(&g, GOPS_F32, values, GOPS_F32, weights, NULL, &result);
    /* Element 4: 4 - 5 + 6; k = 3, sum |a||b| = 15, and one rounding of 5. Element 0: two products.
     */
    long double u = 0x1p-24L;
    gops_test_check(result.value[4] == 5 && result.value[0] == 1, "values");
    gops_test_check(result.bound[4] > (3 * 15 + 5) * u &&
                        result.bound[4] < (3 * 15 + 5) * u * 1.0001L,
                    "bound %.6Lg u", result.bound[4] / u);
    gops_test_check(result.bound[0] > (2 * 3 + 1) * u &&
                        result.bound[0] < (2 * 3 + 1) * u * 1.0001L,
                    "bound %.6Lg u", result.bound[0] / u);
    gops_reference_result_destroy(&result);
}

static void heap(void)
{
    gops_test_heap h;
    gops_test_heap_start(&h);
    char *memory = gops_test_heap_allocate(&h, 100, 64);
    gops_test_check((uintptr_t)memory % 64 == 0 && h.live == 1 && h.live_bytes == 100, "one block");
    memory[100] = 0;
    gops_test_heap_release(&h, memory);
    gops_test_check(h.misuses == 1 && h.live == 0, "a byte beyond the end went unnoticed");
    gops_test_check(gops_test_heap_allocate(&h, 0, 8) == NULL && h.misuses == 2, "0 bytes");
    gops_test_check(gops_test_heap_allocate(&h, 8, 24) == NULL && h.misuses == 3, "alignment 24");
    h.fail_at = h.calls + 1;
    gops_test_check(gops_test_heap_allocate(&h, 8, 8) == NULL, "a failure to order");
}

static void random_numbers(void)
{
    gops_test_random a = gops_test_random_start(5, 1), b = gops_test_random_start(5, 1);
    gops_test_random c = gops_test_random_start(5, 2);
    int differ = 0;
    int64_t seen[7] = {0};
    for (int i = 0; i < 700; i++) {
        uint64_t bits = gops_test_random_bits(&a);
        gops_test_check(bits == gops_test_random_bits(&b), "one seed, two sequences");
        differ += bits != gops_test_random_bits(&c);
        seen[gops_test_random_range(&c, -3, 3) + 3]++;
        double real = gops_test_random_real(&c);
        gops_test_check(real > -1 && real < 1 && real != 0, "%g", real);
    }
    gops_test_check(differ == 700, "two streams, one sequence");
    for (int i = 0; i < 7; i++)
        gops_test_check(seen[i] > 50, "%d came %lld times of 700", i - 3, (long long)seen[i]);
}

int main(void)
{
    static const gops_test_case cases[] = {{"comparison", comparison},
                                           {"comparison_by_equality", comparison_by_equality},
                                           {"small_types", small_types},
                                           {"integers", integers},
                                           {"bounds", bounds},
                                           {"heap", heap},
                                           {"random_numbers", random_numbers},
                                           {NULL, NULL}};
    return gops_test_main("the tests' own tools", cases);
}
