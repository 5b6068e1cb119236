/*
 * The provider inside ONNX Runtime with its own allocations, and the library's beneath it, failing
 * in turn (fail_malloc.c): opening and running a session is refused or works, nothing crashes, and
 * the next session has the right output.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ort_graphs.h"
#include "ort_layer.h"
#include "ort_quantized_layer.h"
#include "ort_quantizer.h"
#include "elements.h"
#include "harness.h"

enum { MAX_FAULTS = 600 };

typedef long fail_start(long at);

static fail_start *find_fail_start(void)
{
    fail_start *start = NULL;
    void *found = dlsym(RTLD_DEFAULT, "gops_fail_start");
    memcpy(&start, &found, sizeof start); /* ISO C has no such conversion */
    return start;
}

static const gops_ort_layer layers[] = {
    {.type = "Conv",
     .opset = 13,
     .element = GOPS_F32,
     .axes = 2,
     .batch = 1,
     .groups = 3,
     .channels_in = 2,
     .channels_out = 5,
     .data = {11, 13},
     .kernel = {3, 3},
     .bias = true,
     .activation = "Relu"},
    {.type = "Conv",
     .opset = 13,
     .element = GOPS_F32,
     .axes = 2,
     .batch = 2,
     .groups = 1,
     .channels_in = 3,
     .channels_out = 4,
     .data = {9, 7},
     .kernel = {3, 2},
     .fed_weights = true,
     .open = true},
    {.type = "ConvTranspose",
     .opset = 11,
     .element = GOPS_F32,
     .axes = 2,
     .batch = 1,
     .groups = 2,
     .channels_in = 2,
     .channels_out = 3,
     .data = {7, 9},
     .kernel = {3, 3},
     .strides = {true, {2, 2}}},
};
enum { LAYERS = sizeof layers / sizeof layers[0] };

/* A model and what is fed to it: that of a layer of floats, of a quantized one, or of a region of either. */
typedef struct subject {
    const char *name;
    gops_onnx_buffer model;
    const gops_ort_layer *layer;
    gops_ort_values_of_layer values;
    const gops_quantized_model *quantized; /* NULL: the layer's */
    const gops_ort_tensor *data;           /* of a region; else NULL */
    bool codes_by_floats; /* quantized, and the runtime has no integer kernel for it */
} subject;

static ort_status *run(const subject *of, ort_session *session, ort_value **output)
{
    return of->data != NULL ? gops_ort_run(session, of->data, 1, output)
           : of->quantized != NULL
               ? gops_ort_run(session, of->quantized->inputs, of->quantized->count, output)
               : gops_ort_layer_run(of->layer, GOPS_F32, &of->values, session, output);
}

/* Opens a session and runs it; whether both worked. The output's bytes go to `got`. */
static bool attempt(const subject *of, void *got, size_t most, size_t *bytes)
{
    const ort_api *api = gops_ort_load();
    const gops_ort_session_settings settings = {GROUPOPS_ORT_PROVIDER, 99, 1, true};
    ort_session *session = NULL;
    ort_value *output = NULL;
    ort_status *status = gops_ort_open(&of->model, &settings, &session);
    if (status == NULL)
        status = run(of, session, &output);
    if (status == NULL) {
        gops_tensor tensor;
        const void *made = gops_ort_values(output, &tensor);
        *bytes = (size_t)gops_test_elements(&tensor) * gops_test_type_bytes(tensor.type);
        memcpy(got, made, *bytes < most ? *bytes : most);
    } else {
        gops_test_check(api->get_error_message(status)[0] != '\0', "refused without a message");
        api->release_status(status);
    }
    const bool worked = output != NULL;
    if (output != NULL)
        api->release_value(output);
    if (session != NULL)
        api->release_session(session);
    return worked;
}

/* Where it is refused, the runtime computes the same: a region with sums in another order, codes by
 * floats, which may round to the next one. */
static bool same(const subject *of, const float *expected, const float *got, size_t bytes)
{
    for (size_t i = 0; of->data != NULL && i < bytes / sizeof *got; i++) {
        if (!(fabs((double)got[i] - (double)expected[i]) <=
              1e-5 * (1 + fabs((double)expected[i])))) {
            return false;
        }
    }
    for (size_t i = 0; of->codes_by_floats && i < bytes; i++) {
        const int apart = ((const uint8_t *)got)[i] - ((const uint8_t *)expected)[i];
        if (abs(apart) > 1 && abs(apart) != UINT8_MAX) { /* -1 and 0 of i8 are neighbours */
            return false;
        }
    }
    return of->data != NULL || of->codes_by_floats || memcmp(got, expected, bytes) == 0;
}

static void fail_in_turn(const subject *of, fail_start *start, long *faults, long *refused)
{
    static float expected[1 << 16], got[1 << 16];
    size_t bytes = 0, other = 0;
    start(0);
    gops_test_check(attempt(of, expected, sizeof expected, &bytes), "%s does not work", of->name);
    for (long at = 1; at < MAX_FAULTS; at++) {
        start(at);
        const bool worked = attempt(of, got, sizeof got, &other);
        const long asked = start(0);
        gops_test_check(!worked || (other == bytes && same(of, expected, got, bytes)),
                        "%s, allocation %ld failed: other values", of->name, at);
        if (asked < at) {
            gops_test_check(worked, "%s: nothing failed and it does not work", of->name);
            break;
        }
        ++*faults;
        *refused += !worked;
    }
    gops_test_check(attempt(of, got, sizeof got, &other) && other == bytes &&
                        same(of, expected, got, bytes),
                    "%s: other values after all faults", of->name);
}

static void fail_layer(const gops_ort_layer *layer, fail_start *start, long *faults, long *refused)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 97);
    subject of = {.name = layer->type, .layer = layer};
    gops_ort_layer_fill(layer, &random, &of.values);
    gops_ort_layer_model(layer, GOPS_F32, &of.values, &of.model);
    fail_in_turn(&of, start, faults, refused);
    gops_ort_layer_free(&of.values);
    free(of.model.bytes);
}

static void fail_quantized(gops_quantized_form form, fail_start *start, long *faults, long *refused)
{
    static const char *const names[] = {"ConvInteger", "QLinearConv", "quantized Conv",
                                        "quantized ConvTranspose"};
    gops_test_random random = gops_test_random_start(gops_test_seed(), 98);
    const gops_quantized_problem problem = gops_quantized_draw(&random, form);
    gops_quantized_values values = gops_quantized_draw_values(&random, &problem);
    gops_quantized_model model;
    subject of = {.name = names[form],
                  .quantized = &model,
                  .codes_by_floats =
                      form == GOPS_QUANTIZED_DECONV ||
                      (form == GOPS_QUANTIZED_CONV && !gops_quantized_is_fusible(&problem))};
    gops_quantized_write(&model, &problem, &values, false, &of.model);
    fail_in_turn(&of, start, faults, refused);
    gops_quantized_free(&values);
    free(of.model.bytes);
}

/* Every kind of member. Where the batch is open, each of two threads has an image of its own. */
static void fail_region(bool is_open, fail_start *start, long *faults, long *refused)
{
    static float x[2 * 3 * 7 * 9];
    const int64_t dims[] = {2, 3, 7, 9};
    const gops_ort_tensor data = {"x", ORT_FLOAT, 4, dims, x};
    subject of = {.name = is_open ? "a region of any images" : "a region", .data = &data};
    gops_ort_graph_builder graph;
    gops_ort_graph_leave_open(is_open);
    gops_ort_graph_start(&graph, 99, 13, dims, 4);
    gops_test_random_fill(&graph.random, GOPS_F32, x, sizeof x / sizeof x[0]);
    gops_ort_graph_conv(&graph, "a", "x", 3, 5, 3, 1);
    gops_ort_graph_batch_norm(&graph, "n", "a", 5);
    gops_ort_graph_conv(&graph, "b", "n", 5, 4, 1, 1);
    gops_ort_graph_node(&graph, "Concat", "c", (const char *[]){"a", "b", "x", NULL});
    gops_onnx_build_int(&graph.builder, "axis", 1);
    gops_ort_graph_node(&graph, "GlobalAveragePool", "g", (const char *[]){"c", NULL});
    gops_ort_graph_node(&graph, "Mul", "m", (const char *[]){"c", "g", NULL});
    gops_onnx_build_constant(&graph.builder, "s", GOPS_ONNX_FLOAT, 1, &(const int64_t){4},
                             (const float[]){1, 1, 2, 2}, 4 * sizeof(float));
    gops_ort_graph_node(&graph, "Resize", "r", (const char *[]){"m", "", "s", NULL});
    gops_onnx_build_string(&graph.builder, "mode", "linear");
    gops_ort_graph_node(&graph, "MaxPool", "y", (const char *[]){"r", NULL});
    gops_ort_graph_ints(&graph, "kernel_shape", 2, 2, 3, 0, 0);
    gops_onnx_build_output(&graph.builder, "y", GOPS_ONNX_FLOAT, -1, NULL);
    if (gops_test_check(gops_onnx_build_end(&graph.builder, &of.model), "no model")) {
        fail_in_turn(&of, start, faults, refused);
    }
    gops_ort_graph_leave_open(false);
    free(of.model.bytes);
}

/* Convolutions and what regions have besides, of 8-bit integers. */
static void fail_quantized_region(fail_start *start, long *faults, long *refused)
{
    static const gops_ort_form form = {
        .activations = GOPS_ONNX_UINT8, .weights = GOPS_ONNX_INT8, .per_channel = true};
    static const gops_quantized_layer layer = {3, 3, 1, 1, GOPS_QUANTIZED_RELU, false};
    static float x[3 * 7 * 9];
    const int64_t dims[] = {1, 3, 7, 9};
    const gops_ort_tensor data = {"x", ORT_FLOAT, 4, dims, x};
    const gops_quantized_value picture = {.name = "x"};
    subject of = {.name = "a quantized region", .data = &data};
    gops_quantizer net = {.form = &form, .random = gops_test_random_start(gops_test_seed(), 96)};
    gops_test_random_fill(&net.random, GOPS_F32, x, sizeof x / sizeof x[0]);
    gops_onnx_build(&net.builder, 17);
    gops_onnx_build_input(&net.builder, "x", GOPS_ONNX_FLOAT, 4, dims);
    const gops_quantized_value a = gops_quantizer_choose(&net, GOPS_QUANTIZED_NONE, 3);
    gops_quantizer_quantize(&net, &picture, &a);
    const gops_quantized_value b = gops_quantizer_convolve(&net, &a, layer);
    const gops_quantized_value c = gops_quantizer_convolve(&net, &b, layer);
    const gops_quantized_value sum = gops_quantizer_add(&net, &c, &b, GOPS_QUANTIZED_NONE);
    const gops_quantized_value bent = gops_quantizer_bend(&net, "LeakyRelu", &sum),
                               itself = gops_quantizer_multiply(&net, &sum, &bent),
                               mean = gops_quantizer_average(&net, &itself, NULL),
                               gated = gops_quantizer_multiply(&net, &itself, &mean);
    gops_quantized_value parts[2];
    gops_quantizer_split(&net, &gated, (const int64_t[]){1, 2}, 2, parts);
    const gops_quantized_value *const operands[] = {&parts[1], &c, &parts[0]};
    const gops_quantized_value joined = gops_quantizer_join(&net, operands, 3, false),
                               pooled = gops_quantizer_pool(&net, &joined, 2);
    gops_quantizer_dequantize_as(&net, &pooled, "y");
    gops_onnx_build_output(&net.builder, "y", GOPS_ONNX_FLOAT, -1, NULL);
    if (gops_test_check(gops_onnx_build_end(&net.builder, &of.model), "no model")) {
        fail_in_turn(&of, start, faults, refused);
    }
    free(of.model.bytes);
}

static void allocations(void)
{
    long faults = 0, refused = 0;
    fail_start *start = find_fail_start();
    if (start == NULL) {
        gops_test_check(0, "fail_malloc is not preloaded");
        return;
    }
    gops_ort_env(); /* skips the case where there is no runtime */
    for (int i = 0; i < LAYERS; i++)
        fail_layer(&layers[i], start, &faults, &refused);
    for (int form = GOPS_QUANTIZED_INTEGER; form <= GOPS_QUANTIZED_DECONV; form++)
        fail_quantized((gops_quantized_form)form, start, &faults, &refused);
    fail_region(false, start, &faults, &refused);
    fail_region(true, start, &faults, &refused);
    fail_quantized_region(start, &faults, &refused);
    printf("%ld faults, %ld refusals: ", faults, refused);
    gops_test_check(faults > 10, "%ld allocations failed", faults);
}

int main(void)
{
    static const gops_test_case cases[] = {{"allocations", allocations}, {NULL, NULL}};
    const int status = gops_test_main("faults of the provider", cases);
    gops_ort_unload();
    return status;
}
