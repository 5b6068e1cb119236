/* test_tool_moments.c: groupops run norm by means and variances that are given. */
#include "elements.h"
#include "harness.h"
#include "guarded_memory.h"
#include "random_numbers.h"
#include "tool_npy.h"
#include "tool_process.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { IMAGES = 3, CHANNELS = 12, PIXELS = 35, GROUPS = 4, ALL = IMAGES * GROUPS };
static const double epsilon = 1e-3;
static const char norm[] = "run norm --data=x.npy --scale=s.npy --bias=b.npy --num-groups=4 "
                           "--epsilon=1e-3 --output=y.npy";

typedef struct moments_case {
    const char *words;
    gops_type type; /* of the moments' files */
    int count;      /* of the moments in them; 0: mean 2 and variance 0.25, as numbers */
} moments_case;

static void *write_random(gops_test_random *random, const char *path, const gops_tensor *tensor)
{
    const int64_t count = gops_test_elements(tensor);
    void *elements = gops_test_allocate((size_t)count * gops_test_type_bytes(tensor->type));
    gops_test_random_fill(random, tensor->type, elements, count);
    tool_npy_write(path, tensor->type == GOPS_F64 ? "f8" : "f4", tensor, elements);
    return elements;
}

static void write_moments(const moments_case *of, const char *path, const double *moments)
{
    const gops_tensor tensor = GOPS_TEST_TENSOR(of->type, of->count);
    double elements[ALL]; /* room for either type */
    for (int i = 0; i < of->count; i++)
        gops_test_set_real(of->type, elements, i, (long double)moments[i]);
    tool_npy_write(path, of->type == GOPS_F64 ? "f8" : "f4", &tensor, elements);
}

static void check_values(const char *line, gops_type type, void *const *elements,
                         const double *means, const double *variances, const void *output)
{
    const double unit = type == GOPS_F64 ? 0x1p-53 : 0x1p-24;
    int wrong = 0;
    for (int i = 0; i < IMAGES * CHANNELS * PIXELS; i++) {
        const int channel = i / PIXELS % CHANNELS, group = i / PIXELS / (CHANNELS / GROUPS);
        const double x = (double)gops_test_get_real(type, elements[0], i);
        const double scale = (double)gops_test_get_real(type, elements[1], channel);
        const double bias = (double)gops_test_get_real(type, elements[2], channel);
        const double factor = scale / sqrt(variances[group] + epsilon);
        const double terms = (fabs(x) + fabs(means[group])) * fabs(factor) + fabs(bias);
        const double error =
            (double)gops_test_get_real(type, output, i) - ((x - means[group]) * factor + bias);
        /* Four roundings of the library's, as many of the test's. */
        wrong += !(fabs(error) <= 8 * unit * terms);
    }
    gops_test_check(wrong == 0, "%s: %d values are wrong", line, wrong);
}

static void check_case(const moments_case *of, gops_type type)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 0);
    const gops_tensor data = GOPS_TEST_TENSOR(type, IMAGES, CHANNELS, 7, PIXELS / 7);
    const gops_tensor channels = GOPS_TEST_TENSOR(type, CHANNELS);
    double means[ALL], variances[ALL];
    void *const elements[] = {write_random(&random, "x.npy", &data),
                              write_random(&random, "s.npy", &channels),
                              write_random(&random, "b.npy", &channels)};
    char line[256];
    for (int i = 0; i < ALL; i++) { /* floats hold all of them */
        const int at = of->count > 0 ? i % of->count : 0;
        means[i] = of->count > 0 ? 1.5 - at : 2;
        variances[i] = of->count > 1 ? 0.5 + at : 0.25;
    }
    if (of->count > 0) {
        write_moments(of, "m.npy", means);
        write_moments(of, "v.npy", variances);
    }
    snprintf(line, sizeof line, "%s %s", norm, of->words);
    remove("y.npy");
    tool_expect(line, 0, "");
    void *output = tool_npy_read("y.npy", type == GOPS_F64 ? "f8" : "f4", &data);
    if (gops_test_check(output != NULL, "%s: see the line above", line))
        check_values(line, type, elements, means, variances, output);
    free(output);
    for (int i = 0; i < 3; i++)
        free(elements[i]);
}

static void values(void)
{
    static const moments_case cases[] = {
        {"--means=2 --variances=0.25", GOPS_F32, 0},
        {"--means=m.npy --variances=0.25", GOPS_F32, 1},
        {"--means=m.npy --variances=v.npy", GOPS_F32, GROUPS},
        {"--means=m.npy --variances=v.npy", GOPS_F64, GROUPS},
        {"--means=m.npy --variances=v.npy", GOPS_F64, ALL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_case(&cases[i], GOPS_F32);
        check_case(&cases[i], GOPS_F64);
    }
}

static void refusals(void)
{
    static const struct {
        const char *words, *message;
        int exit_code;
    } refused[] = {
        {"--means=1", "--means needs --variances=NUMBER|FILE", 2},
        {"--variances=1", "--variances needs --means=NUMBER|FILE", 2},
        {"--means=1 --variances=e.npy",
         "--variances: e.npy has 11 elements; there must be 1, or one for each of the 4 groups, of "
         "one image or of all",
         1},
        {"--means=i.npy --variances=1",
         "--means: the elements of i.npy are i32; f32 or f64 is needed", 1},
        {"--means=none.npy --variances=1",
         "--means: none.npy: it cannot be opened: No such file or directory", 1},
        {"--means=1 --variances=-0.25",
         "--variances: element 0 of -0.25 is -0.25; with epsilon 0.001 it must be above 0", 1},
    };
    static const float zeros[2 * CHANNELS];
    const gops_tensor data = GOPS_TEST_TENSOR(GOPS_F32, 2, CHANNELS, 1);
    const gops_tensor channels = GOPS_TEST_TENSOR(GOPS_F32, CHANNELS);
    const gops_tensor eleven = GOPS_TEST_TENSOR(GOPS_F32, 11);
    const gops_tensor four = GOPS_TEST_TENSOR(GOPS_I32, GROUPS);
    tool_npy_write("x.npy", "f4", &data, zeros);
    tool_npy_write("s.npy", "f4", &channels, zeros);
    tool_npy_write("b.npy", "f4", &channels, zeros);
    tool_npy_write("e.npy", "f4", &eleven, zeros);
    tool_npy_write("i.npy", "i4", &four, zeros);
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        char line[256], message[256];
        snprintf(line, sizeof line, "%s %s", norm, refused[i].words);
        snprintf(message, sizeof message, "groupops: %s\n", refused[i].message);
        tool_expect(line, refused[i].exit_code, message);
    }
    tool_expect("run conv --data=x.npy --filter=x.npy --output=y.npy --means=1 --variances=1", 2,
                "groupops: --means does not go with run conv\n");
}

int main(void)
{
    static const gops_test_case cases[] = {{"values", values}, {"refusals", refusals}, {0}};
    tool_folder_enter();
    const int status = gops_test_main("tool_moments", cases);
    tool_folder_leave();
    return status;
}
