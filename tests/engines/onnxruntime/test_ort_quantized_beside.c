/* What stands beside quantized layers, between DequantizeLinear and QuantizeLinear: the provider takes no more of it than
 * leaves the runtime what it needs. */
#include "ort_host.h"

#include "elements.h"
#include "harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { IMAGES = 2, CHANNELS = 4, PIXELS = 15, TAPS = 4 }; /* 3 x 5; 2 x 2 */

/* Integers of 7 bits. */
static void fill(void *codes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ((unsigned char *)codes)[i] = (unsigned char)(i * 37 % 127);
    }
}

/* From f to c, values between DequantizeLinear and QuantizeLinear; before a Concat, a convolution. */
typedef enum front { CONVOLUTION, POOL, JOIN, FRONTS } front;

static void put_front(gops_onnx_builder *builder, front of)
{
    static const signed char weight = 64, none = 0;
    const float scale = 0.01F;
    const int64_t dims[] = {1, 1, 1, 1};
    const char *const convolved = of == CONVOLUTION ? "c" : "e";
    if (of != POOL) {
        gops_onnx_build_constant(builder, "w", GOPS_ONNX_INT8, 4, dims, &weight, 1);
        gops_onnx_build_constant(builder, "ws", GOPS_ONNX_FLOAT, 0, NULL, &scale, 4);
        gops_onnx_build_constant(builder, "wz", GOPS_ONNX_INT8, 0, NULL, &none, 1);
        gops_onnx_build_node(builder, "DequantizeLinear", "wf", (const char *[]){"w", "ws", "wz"},
                             3);
        gops_onnx_build_node(builder, "Conv", convolved, (const char *[]){"f", "wf"}, 2);
    } else {
        gops_onnx_build_node(builder, "MaxPool", "c", (const char *[]){"f"}, 1);
        gops_onnx_build_ints(builder, "kernel_shape", (const int64_t[]){1, 1}, 2);
    }
    if (of == JOIN) {
        gops_onnx_build_node(builder, "QuantizeLinear", "i", (const char *[]){"e", "s", "z"}, 3);
        gops_onnx_build_node(builder, "DequantizeLinear", "d", (const char *[]){"i", "s", "z"}, 3);
        gops_onnx_build_node(builder, "Concat", "c", (const char *[]){"d"}, 1);
        gops_onnx_build_int(builder, "axis", 1);
    }
}

static void dequantize(gops_onnx_builder *builder, const char *to, const char *from)
{
    gops_onnx_build_node(builder, "DequantizeLinear", to, (const char *[]){from, "s", "z"}, 3);
}

static void add(gops_onnx_builder *builder, const char *to, const char *one, const char *other,
                bool bounds)
{
    dequantize(builder, "g", one);
    dequantize(builder, "h", other);
    gops_onnx_build_node(builder, "Add", "a", (const char *[]){"g", "h"}, 2);
    if (bounds) {
        gops_onnx_build_node(builder, "Relu", "r", (const char *[]){"a"}, 1);
    }
    gops_onnx_build_node(builder, "QuantizeLinear", to,
                         (const char *[]){bounds ? "r" : "a", "s", "z"}, 3);
}

/* Of i8, f to c and an Add behind or before it, whose scales are vectors of one element: the runtime makes one node of
 * the Add and what is around it, if it does not see the QuantizeLinear before, or the DequantizeLinear behind, and that
 * node refuses them. So it does behind a Relu that the type bounds as much, which it leaves out. */
static void check_vectors_of_one(front of, int vector, bool adds_first, bool bounds, int level)
{
    static signed char x[PIXELS];
    const signed char zero = bounds ? -128 : 3;
    const gops_ort_session_settings settings = {GROUPOPS_ORT_PROVIDER, level, 1, false};
    const int64_t dims[] = {1, 1, 3, 5}, one = 1;
    const float scale = 0.5F;
    const gops_ort_tensor input = {"x", ORT_INT8, 4, dims, x};
    gops_onnx_builder builder;
    gops_onnx_buffer model;
    ort_session *session = NULL;
    ort_value *output = NULL;
    char what[64];
    snprintf(what, sizeof what, "front %d, vector %d, level %d%s%s", (int)of, vector, level,
             adds_first ? ", added first" : "", bounds ? ", Relu" : "");
    gops_onnx_build(&builder, 13);
    gops_onnx_build_input(&builder, "x", GOPS_ONNX_INT8, 4, dims);
    gops_onnx_build_constant(&builder, "s", GOPS_ONNX_FLOAT, vector == 2, &one, &scale, 4);
    gops_onnx_build_constant(&builder, "z", GOPS_ONNX_INT8, vector == 1, &one, &zero, 1);
    if (adds_first) {
        add(&builder, "q", "x", "x", bounds);
    }
    dequantize(&builder, "f", adds_first ? "q" : "x");
    put_front(&builder, of);
    gops_onnx_build_node(&builder, "QuantizeLinear", adds_first ? "y" : "q",
                         (const char *[]){"c", "s", "z"}, 3);
    if (!adds_first) {
        add(&builder, "y", "q", "x", bounds);
    }
    gops_onnx_build_output(&builder, "y", GOPS_ONNX_INT8, 4, dims);
    gops_test_check(gops_onnx_build_end(&builder, &model), "no memory for a model");
    if (gops_ort_works(gops_ort_open(&model, &settings, &session), what)) {
        gops_ort_works(gops_ort_run(session, &input, 1, &output), what);
    }
    gops_ort_load()->release_value(output);
    gops_ort_load()->release_session(session);
    free(model.bytes);
}

static void vectors_of_one(void)
{
    enum { VECTORS = 3 }; /* numbers, the zero point is a vector, the scale is */
    gops_ort_load();
    for (int of = 0; of < FRONTS; of++) {
        for (int vector = 0; vector < VECTORS; vector++) {
            for (int n = 0; n < 4; n++) {
                const bool first = n % 2 != 0, bounds = n / 2 != 0;
                check_vectors_of_one((front)of, vector, first, bounds, ORT_OPTIMIZE_NONE);
                check_vectors_of_one((front)of, vector, first, bounds, ORT_OPTIMIZE_ALL);
            }
        }
    }
}

/* The last layers of a network, which were not quantized, are a region of floats behind a DequantizeLinear. */
static void floats_behind(void)
{
    static const float weights[] = {0.5F, -0.25F, 1.5F, 2, -3, 0.75F, 1, -1};
    static const unsigned char zero = 7;
    const float scale = 0.05F;
    const int64_t dims[] = {IMAGES, CHANNELS, 3, 5}, w_dims[] = {2, CHANNELS, 1, 1};
    unsigned char x[IMAGES * CHANNELS * PIXELS];
    const gops_ort_tensor input = {"x", ORT_UINT8, 4, dims, x};
    gops_onnx_builder builder;
    gops_onnx_buffer model;
    ort_session *sessions[2] = {NULL, NULL};
    ort_value *outputs[2] = {NULL, NULL};
    bool works = true;
    gops_ort_load();
    fill(x, sizeof x);
    gops_onnx_build(&builder, 13);
    gops_onnx_build_input(&builder, "x", GOPS_ONNX_UINT8, 4, dims);
    gops_onnx_build_constant(&builder, "s", GOPS_ONNX_FLOAT, 0, NULL, &scale, 4);
    gops_onnx_build_constant(&builder, "z", GOPS_ONNX_UINT8, 0, NULL, &zero, 1);
    gops_onnx_build_constant(&builder, "w", GOPS_ONNX_FLOAT, 4, w_dims, weights, sizeof weights);
    gops_onnx_build_node(&builder, "DequantizeLinear", "f", (const char *[]){"x", "s", "z"}, 3);
    gops_onnx_build_node(&builder, "AveragePool", "p", (const char *[]){"f"}, 1);
    gops_onnx_build_ints(&builder, "kernel_shape", (const int64_t[]){2, 2}, 2);
    gops_onnx_build_node(&builder, "Conv", "y", (const char *[]){"p", "w"}, 2);
    gops_onnx_build_output(&builder, "y", GOPS_ONNX_FLOAT, 4, (const int64_t[]){IMAGES, 2, 2, 4});
    gops_test_check(gops_onnx_build_end(&builder, &model), "no memory for a model");
    for (int with = 0; with < 2 && works; with++) {
        const gops_ort_session_settings settings = {with ? GROUPOPS_ORT_PROVIDER : NULL,
                                                    ORT_OPTIMIZE_ALL, 1, false};
        works =
            gops_ort_works(gops_ort_open(&model, &settings, &sessions[with]), "floats behind") &&
            gops_ort_works(gops_ort_run(sessions[with], &input, 1, &outputs[with]),
                           "floats behind");
    }
    if (works) {
        gops_tensor tensor;
        const float *expected = gops_ort_values(outputs[0], &tensor);
        const float *got = gops_ort_values(outputs[1], &tensor);
        gops_test_check(gops_ort_claimed_of(sessions[1], "AveragePool") == 1 &&
                            gops_ort_parts(sessions[1]) == 1,
                        "AveragePool and Conv are no region");
        for (int64_t i = 0; i < gops_test_elements(&tensor); i++) {
            gops_test_check(fabsf(got[i] - expected[i]) <= 1e-5F * (1 + fabsf(expected[i])),
                            "element %lld is %g, not %g", (long long)i, (double)got[i],
                            (double)expected[i]);
        }
    }
    for (int with = 0; with < 2; with++) {
        gops_ort_load()->release_value(outputs[with]);
        gops_ort_load()->release_session(sessions[with]);
    }
    free(model.bytes);
}

/* Of a sum that no convolution is part of the runtime makes a node of integers, with the Relu behind it. */
static void sum_left(void)
{
    static const unsigned char zero = 0;
    const float scale = 0.05F;
    const int64_t dims[] = {IMAGES, CHANNELS, 3, 5}, w_dims[] = {CHANNELS, CHANNELS, 2, 2};
    const gops_ort_session_settings settings = {GROUPOPS_ORT_PROVIDER, ORT_OPTIMIZE_ALL, 1, false};
    signed char w[CHANNELS * CHANNELS * TAPS];
    gops_onnx_builder builder;
    gops_onnx_buffer model;
    ort_session *session = NULL;
    gops_ort_load();
    fill(w, sizeof w);
    gops_onnx_build(&builder, 13);
    gops_onnx_build_input(&builder, "x", GOPS_ONNX_UINT8, 4, dims);
    gops_onnx_build_input(&builder, "x2", GOPS_ONNX_UINT8, 4, dims);
    gops_onnx_build_constant(&builder, "s", GOPS_ONNX_FLOAT, 0, NULL, &scale, 4);
    gops_onnx_build_constant(&builder, "z", GOPS_ONNX_UINT8, 0, NULL, &zero, 1);
    gops_onnx_build_constant(&builder, "wz", GOPS_ONNX_INT8, 0, NULL, &zero, 1);
    gops_onnx_build_constant(&builder, "w", GOPS_ONNX_INT8, 4, w_dims, w, sizeof w);
    gops_onnx_build_node(&builder, "DequantizeLinear", "f", (const char *[]){"x", "s", "z"}, 3);
    gops_onnx_build_node(&builder, "DequantizeLinear", "f2", (const char *[]){"x2", "s", "z"}, 3);
    gops_onnx_build_node(&builder, "Add", "a", (const char *[]){"f", "f2"}, 2);
    gops_onnx_build_node(&builder, "Relu", "r", (const char *[]){"a"}, 1);
    gops_onnx_build_node(&builder, "QuantizeLinear", "q", (const char *[]){"r", "s", "z"}, 3);
    gops_onnx_build_node(&builder, "DequantizeLinear", "g", (const char *[]){"q", "s", "z"}, 3);
    gops_onnx_build_node(&builder, "DequantizeLinear", "wf", (const char *[]){"w", "s", "wz"}, 3);
    gops_onnx_build_node(&builder, "Conv", "c", (const char *[]){"g", "wf"}, 2);
    gops_onnx_build_node(&builder, "QuantizeLinear", "y", (const char *[]){"c", "s", "z"}, 3);
    gops_onnx_build_output(&builder, "y", GOPS_ONNX_UINT8, 4,
                           (const int64_t[]){IMAGES, CHANNELS, 2, 4});
    gops_test_check(gops_onnx_build_end(&builder, &model), "no memory for a model");
    if (gops_ort_works(gops_ort_open(&model, &settings, &session), "a sum that is left")) {
        gops_test_check(gops_ort_claimed_of(session, "Conv") == 1 &&
                            gops_ort_claimed_of(session, "Add") == 0 &&
                            gops_ort_claimed_of(session, "Relu") == 0,
                        "the Add or the Relu is taken, or the Conv left");
    }
    gops_ort_load()->release_session(session);
    free(model.bytes);
}

/* i8 that a Mul or Add behind the convolution reads, of which the runtime makes a node of integers once DequantizeLinear
 * and QuantizeLinear are one with each other: scales of one axis, of com.microsoft's operators, it refuses then. */
static void check_behind(const char *type, bool dequantizes)
{
    static const signed char zero = 3;
    const float scale = 0.05F;
    const int64_t one = 1, dims[] = {IMAGES, CHANNELS, 3, 5}, w_dims[] = {CHANNELS, CHANNELS, 1, 1};
    signed char w[CHANNELS * CHANNELS];
    gops_onnx_builder builder;
    gops_onnx_buffer model;
    ort_session *sessions[2] = {NULL, NULL};
    fill(w, sizeof w);
    gops_onnx_build(&builder, 13);
    gops_onnx_build_input(&builder, "x", GOPS_ONNX_INT8, 4, dims);
    gops_onnx_build_input(&builder, "x2", GOPS_ONNX_INT8, 4, dims);
    gops_onnx_build_constant(&builder, "s", GOPS_ONNX_FLOAT, 0, NULL, &scale, 4);
    gops_onnx_build_constant(&builder, "z", GOPS_ONNX_INT8, 0, NULL, &zero, 1);
    gops_onnx_build_constant(&builder, "s1", GOPS_ONNX_FLOAT, 1, &one, &scale, 4);
    gops_onnx_build_constant(&builder, "z1", GOPS_ONNX_INT8, 1, &one, &zero, 1);
    gops_onnx_build_constant(&builder, "w", GOPS_ONNX_INT8, 4, w_dims, w, sizeof w);
    gops_onnx_build_node(&builder, "DequantizeLinear", "f", (const char *[]){"x", "s", "z"}, 3);
    gops_onnx_build_node(&builder, "DequantizeLinear", "wf", (const char *[]){"w", "s"}, 2);
    gops_onnx_build_node(&builder, "Conv", "c", (const char *[]){"f", "wf"}, 2);
    gops_onnx_build_node(&builder, "QuantizeLinear", "q", (const char *[]){"c", "s", "z"}, 3);
    gops_onnx_build_node(
        &builder, "DequantizeLinear", "g",
        dequantizes ? (const char *[]){"q", "s1", "z1"} : (const char *[]){"q", "s", "z"}, 3);
    if (dequantizes) {
        gops_onnx_build_domain(&builder, "com.microsoft");
    }
    gops_onnx_build_node(&builder, "DequantizeLinear", "f2", (const char *[]){"x2", "s", "z"}, 3);
    gops_onnx_build_node(&builder, type, "a", (const char *[]){"g", "f2"}, 2);
    gops_onnx_build_node(
        &builder, "QuantizeLinear", "y",
        dequantizes ? (const char *[]){"a", "s", "z"} : (const char *[]){"a", "s1", "z1"}, 3);
    if (!dequantizes) {
        gops_onnx_build_domain(&builder, "com.microsoft");
    }
    gops_onnx_build_output(&builder, "y", GOPS_ONNX_INT8, 4, dims);
    gops_test_check(gops_onnx_build_end(&builder, &model), "no memory for a model");
    for (int with = 0; with < 2; with++) {
        const gops_ort_session_settings settings = {with ? GROUPOPS_ORT_PROVIDER : NULL,
                                                    ORT_OPTIMIZE_ALL, 1, false};
        gops_ort_works(gops_ort_open(&model, &settings, &sessions[with]), type);
        gops_ort_load()->release_session(sessions[with]);
    }
    free(model.bytes);
}

static void of_microsoft(void)
{
    gops_ort_load();
    check_behind("Mul", false);
    check_behind("Mul", true);
    check_behind("Add", false);
    check_behind("Add", true);
}

/* A Concat of that many, in front of a convolution: of floats, or a QLinearConcat. */
static void check_many(int operands, bool floats, bool taken)
{
    enum { MOST = 65, NAME_BYTES = 16 };
    static const unsigned char zero = 7;
    const float scale = 0.05F;
    const int64_t dims[] = {1, 1, 3, 5}, w_dims[] = {1, operands, 1, 1};
    const gops_ort_session_settings settings = {GROUPOPS_ORT_PROVIDER, ORT_OPTIMIZE_ALL, 1, false};
    char rooms[MOST][NAME_BYTES], scales[MOST][NAME_BYTES];
    const char *names[MOST], *integers[2 + 3 * MOST] = {"s", "z"};
    signed char w[MOST];
    gops_onnx_builder builder;
    gops_onnx_buffer model;
    ort_session *session = NULL;
    fill(w, sizeof w);
    gops_onnx_build(&builder, 13);
    gops_onnx_build_input(&builder, "x", GOPS_ONNX_UINT8, 4, dims);
    gops_onnx_build_constant(&builder, "s", GOPS_ONNX_FLOAT, 0, NULL, &scale, 4);
    gops_onnx_build_constant(&builder, "z", GOPS_ONNX_UINT8, 0, NULL, &zero, 1);
    gops_onnx_build_constant(&builder, "w", GOPS_ONNX_INT8, 4, w_dims, w, (size_t)operands);
    for (int i = 0; i < operands; i++) {
        const float own = scale * (1 + (float)i / MOST); /* the runtime joins equal nodes */
        snprintf(rooms[i], sizeof rooms[i], "f%d", i);
        snprintf(scales[i], sizeof scales[i], "s%d", i);
        names[i] = rooms[i];
        gops_onnx_build_constant(&builder, scales[i], GOPS_ONNX_FLOAT, 0, NULL, &own, 4);
        if (floats) {
            gops_onnx_build_node(&builder, "DequantizeLinear", names[i],
                                 (const char *[]){"x", scales[i], "z"}, 3);
        }
        integers[2 + 3 * i] = "x";
        integers[3 + 3 * i] = scales[i];
        integers[4 + 3 * i] = "z";
    }
    if (floats) {
        gops_onnx_build_node(&builder, "Concat", "c", names, operands);
        gops_onnx_build_int(&builder, "axis", 1);
        gops_onnx_build_node(&builder, "QuantizeLinear", "q", (const char *[]){"c", "s", "z"}, 3);
    } else {
        gops_onnx_build_node(&builder, "QLinearConcat", "q", integers, 2 + 3 * operands);
        gops_onnx_build_domain(&builder, "com.microsoft");
        gops_onnx_build_int(&builder, "axis", 1);
    }
    gops_onnx_build_node(&builder, "ConvInteger", "y", (const char *[]){"q", "w"}, 2);
    gops_onnx_build_output(&builder, "y", GOPS_ONNX_INT32, 4, dims);
    gops_test_check(gops_onnx_build_end(&builder, &model), "no memory for a model");
    if (gops_ort_works(gops_ort_open(&model, &settings, &session), "many operands")) {
        gops_test_check(gops_ort_claimed_of(session, "ConvInteger") == 1 &&
                            gops_ort_claimed_of(session, floats ? "Concat" : "QLinearConcat") ==
                                taken,
                        "%d operands: the Concat is%s taken, or the convolution left", operands,
                        taken ? " not" : "");
    }
    gops_ort_load()->release_session(session);
    free(model.bytes);
}

static void many_operands(void)
{
    gops_ort_load();
    for (int floats = 0; floats < 2; floats++) {
        check_many(64, floats != 0, true);
        check_many(65, floats != 0, false);
    }
}

int main(void)
{
    const gops_test_case cases[] = {{"vectors_of_one", vectors_of_one},
                                    {"floats_behind", floats_behind},
                                    {"sum_left", sum_left},
                                    {"of_microsoft", of_microsoft},
                                    {"many_operands", many_operands},
                                    {NULL, NULL}};
    const int status = gops_test_main("ONNX Runtime, beside quantized layers", cases);
    gops_ort_unload();
    return status;
}
