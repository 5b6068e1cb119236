/* Quantized networks, with the provider and without: the same outputs, every convolution claimed. */
#include "ort_host.h"
#include "ort_quantized.h"

#include "elements.h"
#include "guarded_memory.h"
#include "harness.h"
#include "random_numbers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const gops_ort_form forms[] = {
    {"u8, i8 weights per channel", GOPS_ONNX_UINT8, GOPS_ONNX_INT8, true, false, false, false},
    {"i8, i8 weights per channel", GOPS_ONNX_INT8, GOPS_ONNX_INT8, true, false, false, false},
    {"u8, u8 weights", GOPS_ONNX_UINT8, GOPS_ONNX_UINT8, false, false, false, false},
    {"u8, QLinearConv", GOPS_ONNX_UINT8, GOPS_ONNX_INT8, true, true, false, false},
    {"i8, QLinearConv", GOPS_ONNX_INT8, GOPS_ONNX_INT8, false, true, false, false},
};

static bool is_same(ort_value *alone, ort_value *ours, const char *what)
{
    gops_tensor expected_tensor, tensor;
    const float *expected = gops_ort_values(alone, &expected_tensor);
    const float *got = gops_ort_values(ours, &tensor);
    if (!gops_test_check(memcmp(&tensor, &expected_tensor, sizeof tensor) == 0,
                         "%s: the output has another shape", what)) {
        return false;
    }
    const int64_t count = gops_test_elements(&tensor);
    float low = expected[0], high = expected[0];
    for (int64_t i = 0; i < count; i++) {
        low = expected[i] < low ? expected[i] : low;
        high = expected[i] > high ? expected[i] : high;
        if (!gops_test_check(got[i] == expected[i], "%s: element %lld is %g, not %g", what,
                             (long long)i, (double)got[i], (double)expected[i])) {
            return false;
        }
    }
    return gops_test_check(low < high, "%s: all of the output is %g", what, (double)low);
}

/* The runtime adds in this order where the processor has AVX2. */
static bool adds_are_claimed(void)
{
#ifdef __x86_64__
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return false;
#endif
}

static void check_claims(const ort_session *session, const gops_ort_layers *layers,
                         const gops_ort_form *form, const char *what)
{
    const int operators = gops_ort_claimed_of(session, "QLinearConv");
    const int convolutions = operators + gops_ort_claimed_of(session, "Conv") +
                             gops_ort_claimed_of(session, "ConvTranspose");
    const int additions =
        gops_ort_claimed_of(session, "Add") + gops_ort_claimed_of(session, "QLinearAdd");
    const int expected = adds_are_claimed() ? layers->additions : 0;
    const int pools = gops_ort_claimed_of(session, "MaxPool");
    const int joins =
        gops_ort_claimed_of(session, "Concat") + gops_ort_claimed_of(session, "QLinearConcat");
    /* A QuantizeLinear behind each convolution, pool, addition and Concat between floats. */
    const int rounded = operators + gops_ort_claimed_of(session, "QuantizeLinear") - pools -
                        (form->operators ? 0 : additions + joins);
    printf("  %s: %d of %d convolutions, %d of %d additions, %d nodes\n", what, convolutions,
           layers->convolutions, additions, layers->additions, gops_ort_claimed(session, false));
    gops_test_check(convolutions == layers->convolutions, "%s: %d of %d convolutions are claimed",
                    what, convolutions, layers->convolutions);
    gops_test_check(rounded == layers->convolutions, "%s: %d of %d are claimed as quantized", what,
                    rounded, layers->convolutions);
    gops_test_check(pools == layers->pools, "%s: %d of %d pools are claimed", what, pools,
                    layers->pools);
    gops_test_check(additions == expected, "%s: %d of %d additions are claimed", what, additions,
                    expected);
    gops_test_check(joins == layers->joins, "%s: %d of %d Concats are claimed", what, joins,
                    layers->joins);
    /* The runtime's own nodes end a region. */
    const int parts = gops_ort_parts(session);
    gops_test_check(parts == 1 || additions < layers->additions, "%s: %d parts", what, parts);
}

static void check_form(const gops_ort_quantized_network *network, const gops_ort_form *form,
                       int threads)
{
    static const gops_ort_extent extent = {64, 16, 2};
    const ort_api *api = gops_ort_load();
    const int64_t dims[] = {1, 3, extent.side, extent.side};
    const int64_t count = 3 * extent.side * extent.side;
    float *data = gops_test_allocate((size_t)count * sizeof *data);
    gops_test_random random = gops_test_random_start(gops_test_seed(), 1);
    gops_test_random_fill(&random, GOPS_F32, data, count);
    const gops_ort_tensor input = {"x", ORT_FLOAT, 4, dims, data};
    ort_session *sessions[2] = {NULL, NULL};
    ort_value *outputs[2] = {NULL, NULL};
    gops_onnx_buffer model;
    char what[256];
    bool works = true;
    const gops_ort_layers layers = network->build(form, &extent, &model);
    snprintf(what, sizeof what, "%s, %s, %d threads", network->name, form->name, threads);
    for (int with = 0; with < 2 && works; with++) {
        const gops_ort_session_settings settings = {with ? GROUPOPS_ORT_PROVIDER : NULL,
                                                    ORT_OPTIMIZE_ALL, threads, true};
        works = gops_ort_works(gops_ort_open(&model, &settings, &sessions[with]), what) &&
                gops_ort_works(gops_ort_run(sessions[with], &input, 1, &outputs[with]), what);
    }
    if (works) {
        check_claims(sessions[1], &layers, form, what);
        is_same(outputs[0], outputs[1], what);
    }
    for (int with = 0; with < 2; with++) {
        api->release_value(outputs[with]);
        api->release_session(sessions[with]);
    }
    free(model.bytes);
    free(data);
}

static void check_network(int which, bool powers_of_two)
{
    printf("\n");
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        gops_ort_form form = forms[i];
        form.powers_of_two = powers_of_two;
        check_form(&gops_ort_quantized_networks[which], &form, 1 + (int)i % 2);
    }
}

static void resnet(void)
{
    check_network(GOPS_ORT_RESNET, false);
}

static void mobilenet(void)
{
    check_network(GOPS_ORT_MOBILENET, false);
}

/* The runtime sums a ConvTranspose in floats. */
static void unet(void)
{
    check_network(GOPS_ORT_UNET, true);
}

int main(void)
{
    const gops_test_case cases[] = {
        {"resnet", resnet}, {"mobilenet", mobilenet}, {"unet", unet}, {NULL, NULL}};
    const int status = gops_test_main("ONNX Runtime, quantized networks", cases);
    gops_ort_unload();
    return status;
}
