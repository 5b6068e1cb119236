/* The provider against the runtime's own one, on models of one operator with random attributes:
 * over every level of graph optimization, with one thread and two. */
#include "ort_drawn_layer.h"

#include "compare.h"
#include "elements.h"
#include "harness.h"
#include "guarded_memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 1024 };

/* How far an output may be from the oracle's, which is computed in f32; `activated` is the value
 * that the activation was applied to. */
static long double bound_of(const gops_ort_layer *layer, long double expected,
                            long double activated)
{
    static const char *const exact[] = {"Relu", "Clip", "LeakyRelu", "PRelu"};
    long double bound = 0;
    bool is_exact = layer->activation == NULL;
    for (size_t i = 0; i < sizeof exact / sizeof exact[0] && !is_exact; i++) {
        is_exact = strcmp(layer->activation, exact[i]) == 0;
    }
    if (!is_exact) {
        /* Both sides approximate exp, tanh and erf to some units in the last place of values around
         * 1, and some multiply that by x. */
        bound += 16 * gops_test_unit_roundoff(GOPS_F32) * (1 + fabsl(activated));
    }
    if (strcmp(layer->type, "GroupNormalization") == 0) {
        /* The oracle sums each group's n values, and their squares, in f32. Values are below 1 and
         * the deviation is that of a uniform distribution, 0.58; but a few values may lie together
         * by chance, and then it is epsilon that bounds what errors are divided by. */
        enum { FEW = 32 };
        const long double usual = 0.58L, least = sqrtl(1e-5L);
        int64_t n = layer->channels_in;
        for (int i = 0; i < layer->axes; i++) {
            n *= layer->data[i];
        }
        bound += 4 * (long double)(n + 10) * gops_test_unit_roundoff(GOPS_F32) * usual /
                 (n < FEW ? least : usual);
    }
    if (layer->element == GOPS_F16) {
        bound += gops_test_unit_roundoff(GOPS_F16) * fabsl(expected) + gops_test_smallest(GOPS_F16);
    }
    return bound;
}

typedef struct oracle {
    ort_value *output;
    ort_value *activated; /* without the activation; NULL: the same */
} oracle;

static bool compare(const gops_ort_layer *layer, const char *what, const oracle *asked,
                    ort_value *got_value)
{
    gops_tensor expected_tensor, tensor;
    const void *expected_data = gops_ort_values(asked->output, &expected_tensor);
    const void *activated =
        asked->activated != NULL ? gops_ort_values(asked->activated, &tensor) : expected_data;
    const void *got = gops_ort_values(got_value, &tensor);
    bool same = expected_tensor.rank == tensor.rank && tensor.type == layer->element;
    for (int i = 0; same && i < tensor.rank; i++) {
        same = tensor.dims[i] == expected_tensor.dims[i];
    }
    if (!gops_test_check(same, "%s: the output's shape or type is another", what)) {
        return false;
    }
    const int64_t count = gops_test_elements(&tensor);
    long double *expected = gops_test_allocate((size_t)(2 * count + 1) * sizeof *expected);
    for (int64_t i = 0; i < count; i++) {
        expected[i] = gops_test_get_real(GOPS_F32, expected_data, i);
        expected[count + i] =
            bound_of(layer, expected[i], gops_test_get_real(GOPS_F32, activated, i));
    }
    same = gops_test_check(gops_test_compare(what, &tensor, got, expected, expected + count),
                           "%s: the values differ", what);
    free(expected);
    return same;
}

/* What the runtime alone makes of the layer, in f32, which it has kernels for. */
static ort_value *ask_once(const gops_ort_layer *layer, const char *what,
                           const gops_ort_values_of_layer *values)
{
    const gops_ort_session_settings alone = {NULL, ORT_OPTIMIZE_NONE, 1, false};
    ort_session *session = NULL;
    ort_value *output = NULL;
    gops_onnx_buffer model;
    gops_ort_layer_model(layer, GOPS_F32, values, &model);
    if (gops_ort_works(gops_ort_open(&model, &alone, &session), what)) {
        gops_ort_works(gops_ort_layer_run(layer, GOPS_F32, values, session, &output), what);
        gops_ort_load()->release_session(session);
    }
    free(model.bytes);
    return output;
}

static oracle ask_oracle(const gops_ort_layer *layer, const char *what,
                         const gops_ort_values_of_layer *values)
{
    gops_ort_layer before = *layer;
    before.activation = NULL;
    before.residual = layer->residual && !layer->residual_after;
    before.residual_after = false;
    return (oracle){ask_once(layer, what, values),
                    layer->activation != NULL ? ask_once(&before, what, values) : NULL};
}

static void forget(const oracle *asked)
{
    gops_ort_load()->release_value(asked->output);
    gops_ort_load()->release_value(asked->activated);
}

static int nodes_of(const gops_ort_layer *layer)
{
    const char *activation = layer->activation != NULL ? layer->activation : "";
    const bool gated = strcmp(activation, "Swish") == 0 || strcmp(activation, "HardGate") == 0;
    const int more = strcmp(activation, "MishGate") == 0 ? 2 : gated;
    return 1 + layer->residual + (layer->activation != NULL) + more;
}

static bool check_session(const gops_ort_layer *layer, const char *what,
                          const gops_ort_values_of_layer *values, const gops_onnx_buffer *model,
                          const gops_ort_session_settings *settings, const oracle *expected)
{
    const ort_api *api = gops_ort_load();
    ort_session *session = NULL;
    ort_value *output = NULL;
    if (!gops_ort_works(gops_ort_open(model, settings, &session), what)) {
        return false;
    }
    const int claimed = gops_ort_claimed(session, false);
    bool right =
        gops_test_check(claimed == nodes_of(layer), "%s: %d of %d nodes were claimed", what,
                        claimed, nodes_of(layer)) &&
        gops_ort_works(gops_ort_layer_run(layer, layer->element, values, session, &output), what) &&
        compare(layer, what, expected, output);
    api->release_value(output);
    api->release_session(session);
    return right;
}

static void make_residual(const gops_ort_layer *layer, gops_ort_values_of_layer *values,
                          gops_test_random *random)
{
    gops_ort_layer alone = *layer;
    char name[NAME_BYTES];
    alone.residual = alone.residual_after = false;
    alone.activation = NULL;
    ort_value *output = ask_once(&alone, gops_ort_layer_name(&alone, name, sizeof name), values);
    gops_ort_values(output, &values->residual.tensor);
    const int64_t count = gops_test_elements(&values->residual.tensor);
    values->residual.values = gops_test_allocate((size_t)(count + 1) * sizeof(double));
    for (int64_t i = 0; i < count; i++) {
        values->residual.values[i] = (double)gops_test_random_range(random, -40, 40) / 8;
    }
    gops_ort_load()->release_value(output);
}

/* At all levels of optimization and with one thread and two, or at the one of number `some`. */
static bool check_layer(const gops_ort_layer *layer, gops_test_random *random, int some)
{
    static const int levels[] = {ORT_OPTIMIZE_NONE, 1, 2, 3, ORT_OPTIMIZE_ALL};
    enum { SETTINGS = 2 * sizeof levels / sizeof levels[0] };
    gops_ort_values_of_layer values;
    gops_onnx_buffer model;
    char name[NAME_BYTES], what[NAME_BYTES + 64];
    bool right = true;
    gops_ort_layer_name(layer, name, sizeof name);
    gops_ort_layer_fill(layer, random, &values);
    if (layer->residual) {
        make_residual(layer, &values, random);
    }
    const oracle expected = ask_oracle(layer, name, &values);
    gops_ort_layer_model(layer, layer->element, &values, &model);
    for (int i = 0; i < SETTINGS && expected.output != NULL && right; i++) {
        const gops_ort_session_settings settings = {GROUPOPS_ORT_PROVIDER, levels[i / 2], 1 + i % 2,
                                                    false};
        if (some < 0 || i == some % SETTINGS) {
            snprintf(what, sizeof what, "%s, level %d, %d threads", name, settings.level,
                     settings.threads);
            right = check_session(layer, what, &values, &model, &settings, &expected);
        }
    }
    forget(&expected);
    gops_ort_layer_free(&values);
    free(model.bytes);
    return right && expected.output != NULL;
}

enum { CASES = 80 };

static void conv(void)
{
    gops_ort_load();
    for (int i = 0; i < CASES; i++) {
        gops_test_random random = gops_test_random_start(gops_test_seed(), (uint64_t)i);
        const gops_ort_layer layer = gops_ort_draw_conv(&random, "Conv");
        if (!check_layer(&layer, &random, i < 10 ? -1 : i)) {
            return;
        }
    }
}

static void deconv(void)
{
    gops_ort_load();
    for (int i = 0; i < CASES; i++) {
        gops_test_random random = gops_test_random_start(gops_test_seed(), 1000 + (uint64_t)i);
        const gops_ort_layer layer = gops_ort_draw_deconv(&random);
        if (!check_layer(&layer, &random, i < 10 ? -1 : i)) {
            return;
        }
    }
}

static void norm(void)
{
    gops_ort_load();
    for (int i = 0; i < CASES; i++) {
        gops_test_random random = gops_test_random_start(gops_test_seed(), 2000 + (uint64_t)i);
        const gops_ort_layer layer = gops_ort_draw_norm(&random);
        if (!check_layer(&layer, &random, i < 10 ? -1 : i)) {
            return;
        }
    }
}

/* Other element types: f64 whose sums are exact, and f16, rounded once. */
static void types(void)
{
    static const gops_type elements[] = {GOPS_F64, GOPS_F16};
    gops_ort_load();
    for (int i = 0; i < 60; i++) {
        gops_test_random random = gops_test_random_start(gops_test_seed(), 3000 + (uint64_t)i);
        gops_ort_layer layer = i % 3 == 0   ? gops_ort_draw_conv(&random, "Conv")
                               : i % 3 == 1 ? gops_ort_draw_deconv(&random)
                                            : gops_ort_draw_norm(&random);
        layer.element = elements[i % 2];
        if (!check_layer(&layer, &random, i)) {
            return;
        }
    }
}

static void fused(void)
{
    static const char *const activations[] = {
        NULL,    "Relu",        "Clip",     "LeakyRelu", "Sigmoid", "Tanh", "Gelu",    "HardSwish",
        "Swish", "HardSigmoid", "HardGate", "Elu",       "PRelu",   "Mish", "MishGate"};
    enum { KINDS = sizeof activations / sizeof activations[0], CLIP = 2 };
    gops_ort_load();
    for (int i = 0; i < 9 * KINDS; i++) {
        gops_test_random random = gops_test_random_start(gops_test_seed(), 4000 + (uint64_t)i);
        gops_ort_layer layer = i / KINDS % 3 == 0   ? gops_ort_draw_conv(&random, "Conv")
                               : i / KINDS % 3 == 1 ? gops_ort_draw_deconv(&random)
                                                    : gops_ort_draw_norm(&random);
        layer.opset = 21;
        layer.activation = activations[i % KINDS];
        layer.element = i / KINDS % 2 == 1 && i % KINDS == CLIP ? GOPS_F16 : layer.element;
        layer.residual = i / KINDS % 2 == 1 || i / KINDS >= 6;
        layer.residual_after = i / KINDS >= 6 && layer.activation != NULL;
        if (layer.activation != NULL && strcmp(layer.activation, "PRelu") == 0 &&
            strcmp(layer.type, "GroupNormalization") == 0) {
            continue; /* slopes of a normalization's channels are the runtime's */
        }
        layer.open = layer.open && !layer.residual;
        /* Shape inference, which knows what may be added, and the oracle differ about these. */
        layer.output_shape.given = false;
        if (layer.auto_pad != NULL && layer.auto_pad[0] == 'S') {
            layer.output_padding.given = false;
        }
        if (!check_layer(&layer, &random, i)) {
            return;
        }
    }
}

/* One session, many shapes, more than it keeps plans for, and back to the first ones. */
static void shapes(void)
{
    const gops_ort_session_settings with = {GROUPOPS_ORT_PROVIDER, ORT_OPTIMIZE_ALL, 2, false};
    const ort_api *api = gops_ort_load();
    gops_test_random random = gops_test_random_start(gops_test_seed(), 5000);
    for (int kind = 0; kind < 3; kind++) {
        gops_ort_layer layer = kind == 0   ? gops_ort_draw_conv(&random, "Conv")
                               : kind == 1 ? gops_ort_draw_deconv(&random)
                                           : gops_ort_draw_norm(&random);
        gops_ort_values_of_layer values;
        gops_onnx_buffer model;
        ort_session *session = NULL;
        char name[NAME_BYTES];
        layer.open = true;
        layer.output_shape.given = false;
        gops_ort_layer_fill(&layer, &random, &values);
        gops_ort_layer_model(&layer, layer.element, &values, &model);
        bool right = gops_ort_works(gops_ort_open(&model, &with, &session), "opening");
        for (int i = 0; i < 50 && right; i++) {
            ort_value *output = NULL;
            gops_ort_values_of_layer fed = values;
            layer.batch = 1 + i % 3;
            layer.data[0] = 9 + i % 25;
            gops_test_random same = gops_test_random_start(gops_test_seed(), 6000);
            gops_ort_layer_name(&layer, name, sizeof name);
            gops_ort_layer_fill(&layer, &same, &fed);
            free(fed.weights.values);
            free(fed.bias.values);
            fed.weights = values.weights;
            fed.bias = values.bias;
            const oracle expected = ask_oracle(&layer, name, &fed);
            right = expected.output != NULL &&
                    gops_ort_works(
                        gops_ort_layer_run(&layer, layer.element, &fed, session, &output), name) &&
                    compare(&layer, name, &expected, output);
            forget(&expected);
            api->release_value(output);
            free(fed.data.values);
        }
        api->release_session(session);
        gops_ort_layer_free(&values);
        free(model.bytes);
    }
}

int main(void)
{
    const gops_test_case cases[] = {
        {"conv", conv},   {"deconv", deconv}, {"norm", norm}, {"types", types},
        {"fused", fused}, {"shapes", shapes}, {NULL, NULL},
    };
    const int status = gops_test_main("ONNX Runtime, one operator", cases);
    gops_ort_unload();
    return status;
}
