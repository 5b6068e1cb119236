/* compare.c: compares a result with what is expected, and prints where it is worst. */
#include "compare.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "elements.h"

/* Writes where element `index` is: "element 77 [n 0, c 1, spatial 2 3]". */
static void print_place(const gops_tensor *tensor, int64_t index)
{
    int64_t place[GOPS_MAX_RANK] = {0};
    int64_t rest = index;
    for (int32_t axis = tensor->rank - 1; axis >= 0; axis--) {
        place[axis] = rest % tensor->dims[axis];
        rest /= tensor->dims[axis];
    }
    printf("element %" PRId64 " [", index);
    for (int32_t axis = 0; axis < tensor->rank; axis++) {
        const char *name = axis == 0 ? "n " : axis == 1 ? ", c " : axis == 2 ? ", spatial " : " ";
        printf("%s%" PRId64, name, place[axis]);
    }
    printf("]");
}

static void print_head(const char *what, const gops_tensor *tensor, int64_t wrong)
{
    gops_test_text text;
    printf("\n%s: %" PRId64 " of %" PRId64 " elements of %s are wrong; worst ", what, wrong,
           gops_test_elements(tensor), gops_test_describe(tensor, &text));
}

/* The error in units of the bound; above 1 is wrong. */
static long double excess(long double got, long double expected, long double bound)
{
    if (isnan(got) || isnan(expected))
        return isnan(got) && isnan(expected) ? 0.0L : (long double)INFINITY;
    if (got == expected)
        return 0.0L;
    long double error = fabsl(got - expected);
    return bound > 0 ? error / bound : (long double)INFINITY;
}

/* The least number that the type rounds to infinity. */
static long double overflow_of(gops_type type)
{
    const long double u = gops_test_unit_roundoff(type);
    const long double least_normal = gops_test_smallest(type) / (2 * u);
    return 4 / least_normal * (1 - u / 2);
}

/* `bound` NULL: all are equal, zeros with their signs. */
static int compare_reals(const char *what, const gops_tensor *tensor, const void *got,
                         const long double *expected, const long double *bound)
{
    int64_t count = gops_test_elements(tensor);
    int64_t wrong = 0;
    int64_t worst = 0;
    long double worst_excess = 0;
    /* Where long double is no wider than double, what is expected of f64 is off by as much as what
     * is compared may be. */
    const int sides = tensor->type == GOPS_F64 && !gops_test_long_double_is_wide() ? 2 : 1;
    for (int64_t i = 0; i < count; i++) {
        long double value = gops_test_get_real(tensor->type, got, i);
        /* Infinity is right where what rounds to it is within the bound. */
        if (isinf(value) && isfinite(expected[i]) && bound != NULL)
            value = copysignl(overflow_of(tensor->type), value);
        long double e = excess(value, expected[i], bound != NULL ? sides * bound[i] : 0);
        if (bound == NULL && value == 0 && signbit(value) != signbit(expected[i]))
            e = (long double)INFINITY;
        wrong += !(e <= 1.0L);
        if (e > worst_excess) {
            worst_excess = e;
            worst = i;
        }
    }
    if (wrong != 0) {
        long double value = gops_test_get_real(tensor->type, got, worst);
        print_head(what, tensor, wrong);
        print_place(tensor, worst);
        printf(": got %.17Lg, expected %.17Lg, error %.3Lg, bound %.3Lg\n", value, expected[worst],
               fabsl(value - expected[worst]), bound != NULL ? bound[worst] : 0);
        fflush(stdout);
    }
    return wrong == 0;
}

int gops_test_compare(const char *what, const gops_tensor *tensor, const void *got,
                      const long double *expected, const long double *bound)
{
    return compare_reals(what, tensor, got, expected, bound);
}

int gops_test_compare_exact(const char *what, const gops_tensor *tensor, const void *got,
                            const long double *expected)
{
    return compare_reals(what, tensor, got, expected, NULL);
}

int gops_test_compare_integers(const char *what, const gops_tensor *tensor, const void *got,
                               const uint64_t *expected)
{
    return gops_test_compare_steps(what, tensor, got, expected, 0);
}

/* How far apart two numbers of a type are. */
static uint64_t distance(gops_type type, uint64_t a, uint64_t b)
{
    const int a_is_less = gops_test_type_is_signed(type) ? (int64_t)a < (int64_t)b : a < b;
    return a_is_less ? b - a : a - b;
}

int gops_test_compare_steps(const char *what, const gops_tensor *tensor, const void *got,
                            const uint64_t *expected, int64_t steps)
{
    int64_t count = gops_test_elements(tensor);
    int64_t wrong = 0;
    int64_t first = 0;
    for (int64_t i = 0; i < count; i++) {
        uint64_t wrapped;
        gops_test_set_integer(tensor->type, &wrapped, 0, expected[i]);
        if (distance(tensor->type, gops_test_get_integer(tensor->type, got, i),
                     gops_test_get_integer(tensor->type, &wrapped, 0)) > (uint64_t)steps) {
            first = wrong == 0 ? i : first;
            wrong++;
        }
    }
    if (wrong != 0) {
        uint64_t wrapped;
        gops_test_set_integer(tensor->type, &wrapped, 0, expected[first]);
        print_head(what, tensor, wrong);
        print_place(tensor, first);
        printf(": got %" PRId64 ", expected %" PRId64 "\n",
               (int64_t)gops_test_get_integer(tensor->type, got, first),
               (int64_t)gops_test_get_integer(tensor->type, &wrapped, 0));
        fflush(stdout);
    }
    return wrong == 0;
}

int gops_test_compare_bytes(const char *what, const gops_tensor *tensor, const void *got,
                            const void *expected)
{
    int64_t count = gops_test_elements(tensor);
    size_t bytes = gops_test_type_bytes(tensor->type);
    int64_t wrong = 0;
    int64_t first = 0;
    if (count == 0 || memcmp(got, expected, (size_t)count * bytes) == 0)
        return 1;
    for (int64_t i = count - 1; i >= 0; i--) {
        size_t at = (size_t)i * bytes;
        if (memcmp((const char *)got + at, (const char *)expected + at, bytes) != 0) {
            first = i;
            wrong++;
        }
    }
    print_head(what, tensor, wrong);
    print_place(tensor, first);
    printf(": bytes");
    for (size_t i = 0; i < bytes; i++)
        printf(" %02x", ((const unsigned char *)got)[(size_t)first * bytes + i]);
    printf(", expected");
    for (size_t i = 0; i < bytes; i++)
        printf(" %02x", ((const unsigned char *)expected)[(size_t)first * bytes + i]);
    printf("\n");
    fflush(stdout);
    return 0;
}
