/*
 * Tensors beyond 2^31 bytes and beyond 2^31 elements, and products beyond 2^63.
 *
 * The data are small whole numbers made from their index, so that any element of the result can be
 * worked out exactly, on its own, and all of them are.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "refusal.h"
#include "elements.h"
#include "harness.h"

enum { TAPS = 3 };
static const float taps[TAPS] = {2, -3, 5};

/* A whole number from -7 to 8 that depends on all bits of the index; 0 but for one huge page in 16, so
 * that most of the data take no memory. */
enum { PAGE = 1 << 19, PAGES = 16 };
static inline float datum(int64_t index)
{
    if (index / PAGE % PAGES != 0)
        return 0;
    uint64_t h = (uint64_t)index * UINT64_C(0x9e3779b97f4a7c15);
    return (float)((int)(h >> 60) - 7);
}

/* Big buffers come as fresh pages, huge ones where they can be had, and go back at once. */
static float *map(int64_t elements)
{
    void *memory = mmap(NULL, (size_t)elements * sizeof(float), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        gops_test_skip("%" PRId64 " MB could not be mapped", elements * 4 >> 20);
    madvise(memory, (size_t)elements * sizeof(float), MADV_HUGEPAGE);
    return memory;
}

/* Pages that are never written are one page of zeros. */
static float *map_data(int64_t elements)
{
    float *data = map(elements);
    for (int64_t page = 0; page < elements; page += PAGE * PAGES)
        for (int64_t i = page; i < page + PAGE && i < elements; i++)
            data[i] = datum(i);
    return data;
}

static void unmap(float *memory, int64_t elements)
{
    munmap(memory, (size_t)elements * sizeof(float));
}

/* Skips unless there is room for that many floats and a tenth more. */
static void need(int64_t elements)
{
    int64_t bytes = elements * (int64_t)sizeof(float);
    int64_t available = gops_test_available_memory();
    if (available < bytes + bytes / 10)
        gops_test_skip("it needs %" PRId64 " MB and %" PRId64 " MB are available",
                       (bytes + bytes / 10) >> 20, available >> 20);
}

static int execute(const gops_problem *problem, const float *weights, float *data, float *output)
{
    gops_error error = {GOPS_OK, ""};
    gops_plan *plan = NULL;
    gops_packed_filter *filter = NULL;
    gops_status status = gops_problem_plan(problem, &plan, &error);
    if (status == GOPS_OK)
        status = gops_filter_create(plan, weights, NULL, &filter, &error);
    gops_arguments arguments = {
        .size = sizeof arguments, .data = data, .filter = filter, .output = output};
    if (status == GOPS_OK)
        status = gops_execute(plan, &arguments, &error);
    gops_filter_destroy(filter);
    gops_plan_destroy(plan);
    return gops_test_check(status == GOPS_OK, "%s", error.message);
}

/* Two channels of `size`, each its own group, through three taps with the given stride. */
static void conv(int64_t size, int64_t stride)
{
    int64_t result = (size - TAPS) / stride + 1;
    gops_problem p = {.operation = GOPS_PROBLEM_CONV,
                      .data = GOPS_TEST_TENSOR(GOPS_F32, 1, 2, size),
                      .filter = GOPS_TEST_TENSOR(GOPS_F32, 2, 1, 1, TAPS),
                      .conv.strides = {1, {stride}}};
    const float weights[2 * TAPS] = {taps[0], taps[1], taps[2], -taps[2], taps[0], -taps[1]};
    need(2 * size / PAGES + 2 * result);
    float *data = map_data(2 * size), *output = map(2 * result);
    int64_t wrong = 0, first = -1;
    if (execute(&p, weights, data, output)) {
        for (int64_t i = 0; i < 2 * result; i++) {
            const float *w = i < result ? weights : weights + TAPS;
            int64_t at = i < result ? i * stride : size + (i - result) * stride;
            float expected = w[0] * datum(at) + w[1] * datum(at + 1) + w[2] * datum(at + 2);
            first = wrong == 0 && output[i] != expected ? i : first;
            wrong += output[i] != expected;
        }
    }
    gops_test_check(wrong == 0,
                    "%" PRId64 " of %" PRId64 " elements are wrong, the first is %" PRId64, wrong,
                    2 * result, first);
    unmap(data, 2 * size);
    unmap(output, 2 * result);
}

/* Two channels of `size` spread out by `stride`, each its own group. */
static void deconv(int64_t size, int64_t stride)
{
    int64_t result = (size - 1) * stride + TAPS;
    gops_problem p = {.operation = GOPS_PROBLEM_DECONV,
                      .data = GOPS_TEST_TENSOR(GOPS_F32, 1, 2, size),
                      .filter = GOPS_TEST_TENSOR(GOPS_F32, 2, 1, 1, TAPS),
                      .deconv.strides = {1, {stride}}};
    const float weights[2 * TAPS] = {taps[0], taps[1], taps[2], -taps[2], taps[0], -taps[1]};
    need(2 * size / PAGES + 2 * result);
    float *data = map_data(2 * size), *output = map(2 * result);
    int64_t wrong = 0, first = -1;
    if (execute(&p, weights, data, output)) {
        for (int64_t channel = 0; channel < 2; channel++)
            for (int64_t i = 0; i < size; i++)
                for (int64_t k = 0; k < stride && i * stride + k < result; k++) {
                    /* stride > taps: one product or none meets here. */
                    float expected =
                        k < TAPS ? weights[channel * TAPS + k] * datum(channel * size + i) : 0;
                    int64_t at = channel * result + i * stride + k;
                    first = wrong == 0 && output[at] != expected ? at : first;
                    wrong += output[at] != expected;
                }
    }
    gops_test_check(wrong == 0,
                    "%" PRId64 " of %" PRId64 " elements are wrong, the first is %" PRId64, wrong,
                    2 * result, first);
    unmap(data, 2 * size);
    unmap(output, 2 * result);
}

/* 2.3 GB of data, 1.2 GB of output. */
static void conv_beyond_2_31_bytes(void)
{
    conv(INT64_C(290000017), 2);
}

/* 2.2 * 10^9 elements, 8.8 GB of data. */
static void conv_beyond_2_31_elements(void)
{
    conv(INT64_C(1100000009), 11);
}

/* 0.5 GB of data, 2.6 GB of output. */
static void deconv_beyond_2_31_bytes(void)
{
    deconv(INT64_C(65000011), 5);
}

/* 2.2 * 10^9 elements, 8.8 GB of output. */
static void deconv_beyond_2_31_elements(void)
{
    deconv(INT64_C(100000007), 11);
}

/* One group of 2.2 * 10^9 elements, in place: a ramp from -1 to 1, whose mean is 0 and whose
 * variance is 1/3 but for what lies below the last digit. */
static void norm_beyond_2_31_elements(void)
{
    const int64_t channels = 2, size = INT64_C(1100000009), count = channels * size;
    const double step = 2.0 / (double)(count - 1);
    gops_problem p = {.operation = GOPS_PROBLEM_NORM,
                      .data = GOPS_TEST_TENSOR(GOPS_F32, 1, channels, size),
                      .norm = {1, 1e-5}};
    const float scale[] = {2, -3}, bias[] = {0.5f, 7};
    gops_error error = {GOPS_OK, ""};
    gops_plan *plan = NULL;
    need(count);
    float *data = map(count);
    for (int64_t i = 0; i < count; i++)
        data[i] = (float)((double)i * step - 1);
    gops_arguments arguments = {
        .size = sizeof arguments, .data = data, .scale = scale, .bias = bias, .output = data};
    gops_status status = gops_problem_plan(&p, &plan, &error);
    if (status == GOPS_OK)
        status = gops_execute(plan, &arguments, &error);
    gops_test_check(status == GOPS_OK, "%s", error.message);
    gops_plan_destroy(plan);
    /* The ramp's variance is (1 + step) / 3; rounding it to f32 adds less than u^2. An element is
     * then known to the 4 roundings of reference_normalization.c and its own, of at most 12.2. */
    const double factor = 1 / __builtin_sqrt((1 + step) / 3 + 1e-5);
    const double bound = 5 * 0x1p-24 * 12.2;
    int64_t wrong = 0, first = -1;
    for (int64_t i = 0; i < count; i++) {
        int channel = i >= size;
        double x = (double)(float)((double)i * step - 1);
        double error_here =
            (double)data[i] - ((double)scale[channel] * x * factor + (double)bias[channel]);
        int bad = !(error_here <= bound && error_here >= -bound);
        first = wrong == 0 && bad ? i : first;
        wrong += bad;
    }
    gops_test_check(wrong == 0, "%" PRId64 " elements are wrong, the first is %" PRId64, wrong,
                    first);
    unmap(data, count);
}

/* Every product that can pass 2^63: of a tensor, of channels, of an output. */
static void beyond_2_63(void)
{
    static const char message[] =
        "data: the product of its first 3 dimensions, in bytes, is above 9223372036854775807; "
        "they are 2147483648,1,2147483648 of f32";
    gops_problem p = {.operation = GOPS_PROBLEM_CONV,
                      .data = GOPS_TEST_TENSOR(GOPS_F32, INT64_C(1) << 31, 1, INT64_C(1) << 31),
                      .filter = GOPS_TEST_TENSOR(GOPS_F32, 1, 1, 1, 1)};
    gops_check_problem_refusal(&p, GOPS_TOO_LARGE, message);
    p.data.dims[0] = (INT64_C(1) << 30) - 1; /* a little below: legal, if there were the memory */
    gops_shape shape;
    gops_test_check(gops_problem_shape(&p, &shape, NULL) == GOPS_OK &&
                        shape.output.dims[2] == INT64_C(1) << 31,
                    "refused below 2^63 bytes");
    p.operation = GOPS_PROBLEM_DECONV;
    p.data = GOPS_TEST_TENSOR(GOPS_F32, 1, 1, INT64_C(1) << 40);
    p.deconv.strides = (gops_list){1, {INT64_C(1) << 22}};
    gops_check_problem_refusal(&p, GOPS_TOO_LARGE,
                               "output: the product of its first 3 dimensions, in bytes, is above "
                               "9223372036854775807; they are 1,1,4611686018423193601 of f32");
}

int main(void)
{
    static const gops_test_case cases[] = {{"conv_bytes", conv_beyond_2_31_bytes},
                                           {"conv_elements", conv_beyond_2_31_elements},
                                           {"deconv_bytes", deconv_beyond_2_31_bytes},
                                           {"deconv_elements", deconv_beyond_2_31_elements},
                                           {"norm_elements", norm_beyond_2_31_elements},
                                           {"products", beyond_2_63},
                                           {NULL, NULL}};
    return gops_test_main("large tensors", cases);
}
