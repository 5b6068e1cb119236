/*
 * GroupNormalization of every floating point type where a careless method loses its digits: a mean
 * far above the spread, a million elements to a group, values as large as the type has; on
 * every instruction set, in place and not, against long double within the bound that tests/reference derives.
 * Groups of one element are run on the set in use.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "problem.h"
#include "elements.h"
#include "harness.h"

typedef struct real_type {
    gops_type type;
    long double largest; /* a power of ten in its range */
} real_type;

static const real_type types[] = {{GOPS_F64, 1e30L}, {GOPS_F32, 1e30L},   {GOPS_BF16, 1e30L},
                                  {GOPS_F16, 1e4L},  {GOPS_F8E5M2, 1e4L}, {GOPS_F8E4M3, 100}};
enum { TYPES = sizeof types / sizeof types[0] };

static void run_in_place(const gops_problem *problem, const gops_problem_buffers *buffers)
{
    gops_error error = {GOPS_OK, ""};
    gops_problem_text text;
    const size_t bytes =
        (size_t)gops_test_elements(&problem->data) * gops_test_type_bytes(problem->data.type);
    gops_problem_buffers in_place = *buffers;
    in_place.data = buffers->output;
    memcpy(buffers->output.memory, buffers->data.memory, bytes);
    gops_test_check(gops_problem_run(problem, &in_place, &error) == GOPS_OK, "%s in place: %s",
                    gops_problem_describe(problem, &text), error.message);
}

/* Of every instruction set, and in place. Most have the bits of the one before, which are right: to compare
 * a million values with the reference takes longer than to compute them. */
static void check(const gops_problem *problem, const gops_problem_buffers *buffers)
{
    const size_t bytes =
        (size_t)gops_test_elements(&problem->data) * gops_test_type_bytes(problem->data.type);
    void *right = calloc(bytes, 1);
    bool has_right = false;
    gops_reference_result result;
    gops_error error = {GOPS_OK, ""};
    bool runs;
    gops_test_check(right != NULL, "no memory");
    gops_problem_reference(problem, buffers, &result);
    for (int i = 0; gops_isa_name(i, &runs) != NULL; i++) {
        for (int in_place = 0; runs && in_place <= 1; in_place++) {
            setenv("GROUPOPS_ISA", gops_isa_name(i, NULL), 1);
            if (in_place) {
                run_in_place(problem, buffers);
            } else {
                gops_problem_clear_output(problem, buffers);
                gops_test_check(gops_problem_run(problem, buffers, &error) == GOPS_OK, "%s",
                                error.message);
            }
            const void *output = buffers->output.memory;
            if (has_right && memcmp(output, right, bytes) == 0) {
                continue;
            }
            has_right =
                gops_test_check(gops_problem_compare(problem, &result, output), "wrong on %s%s",
                                gops_isa_name(i, NULL), in_place ? " in place" : "");
            memcpy(right, output, bytes);
        }
    }
    unsetenv("GROUPOPS_ISA");
    gops_reference_result_destroy(&result);
    free(right);
}

static void with_mean(gops_problem problem, long double mean, long double spread)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 65);
    gops_problem_buffers buffers = gops_problem_buffers_of_mean(&problem, mean, spread, &random);
    check(&problem, &buffers);
    gops_problem_buffers_destroy(&buffers);
}

/* Mean 10^4, spread 1, where the type tells such values apart; in the narrow ones most are equal
 * and the differences are those of the format. */
static void large_mean(void)
{
    static const int64_t pixels[] = {1, 7, 33, 97, 4099, 10007};
    for (int t = 0; t < TYPES; t++) {
        const long double mean = types[t].type == GOPS_F8E4M3 ? 300 : 1e4L;
        for (size_t i = 0; i < sizeof pixels / sizeof pixels[0]; i++) {
            const gops_problem p = gops_problem_of_norm(types[t].type, 2, 15, pixels[i], 5, 1e-5);
            with_mean(p, mean, 1);
            with_mean(p, -mean, mean / 8);
            with_mean(p, 3, 40);
        }
    }
}

static void largest_values(void)
{
    for (int t = 0; t < TYPES; t++) {
        const gops_problem p = gops_problem_of_norm(types[t].type, 3, 14, 101, 2, 1e-5);
        with_mean(p, 0, types[t].largest);
        with_mean(p, types[t].largest, types[t].largest);
        with_mean(p, -types[t].largest, types[t].largest / 16);
    }
}

/* test_norm.c has ten million, of f64, f32 and f16. */
static void million_elements(void)
{
    for (int t = 2; t < TYPES; t++) {
        const long double mean = types[t].type == GOPS_F8E4M3 ? 300 : 1e4L;
        with_mean(gops_problem_of_norm(types[t].type, 1, 10, 100003, 1, 1e-5), mean, mean / 1e4L);
    }
}

/* A group of one element is its own mean: the output is the bias, exactly. */
static void one_element(void)
{
    for (int t = 0; t < TYPES; t++) {
        gops_test_random random = gops_test_random_start(gops_test_seed(), 66);
        const gops_problem p = gops_problem_of_norm(types[t].type, 3, 7, 1, 7, 1e-5);
        gops_problem_buffers b = gops_problem_buffers_create(&p, &p.data, &random);
        gops_error error = {GOPS_OK, ""};
        gops_test_check(gops_problem_run(&p, &b, &error) == GOPS_OK, "%s", error.message);
        for (int64_t i = 0; i < 21; i++) {
            const long double got = gops_test_get_real(p.data.type, b.output.memory, i);
            const long double bias = gops_test_get_real(p.data.type, b.bias.memory, i % 7);
            gops_test_check(got == bias, "%s: %Lg, the bias is %Lg",
                            gops_test_type_name(p.data.type), got, bias);
        }
        gops_problem_buffers_destroy(&b);
    }
}

int main(void)
{
    static const gops_test_case cases[] = {{"large_mean", large_mean},
                                           {"largest_values", largest_values},
                                           {"million_elements", million_elements},
                                           {"one_element", one_element},
                                           {NULL, NULL}};
    return gops_test_main("GroupNormalization of every type", cases);
}
