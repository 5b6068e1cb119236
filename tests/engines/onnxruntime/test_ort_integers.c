/*
 * What regions compute of 8-bit integers besides convolutions and maxima, behind a convolution: by the provider and by
 * the runtime alone. Averages, products and functions without an exp have the runtime's bits; others may be a unit away.
 */
#include "ort_host.h"
#include "ort_quantizer.h"

#include "elements.h"
#include "guarded_memory.h"
#include "harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPSET = 18, PICTURE = 3, MAX_SIDE = 130, NAME_BYTES = 160 };

typedef gops_quantized_value value;

static const gops_ort_form forms[] = {
    {"u8", GOPS_ONNX_UINT8, GOPS_ONNX_INT8, true, false, false, false},
    {"i8", GOPS_ONNX_INT8, GOPS_ONNX_INT8, true, false, false, false},
    {"u8 by operators on integers", GOPS_ONNX_UINT8, GOPS_ONNX_INT8, true, true, false, false},
    {"i8 by operators on integers", GOPS_ONNX_INT8, GOPS_ONNX_INT8, true, true, false, false},
};
enum { FORMS = sizeof forms / sizeof forms[0] };

/* A model that is being written. */
typedef struct writing {
    gops_quantizer net;
    int64_t side[2];
    char what[NAME_BYTES];
} writing;

static int64_t draw(writing *of, int64_t low, int64_t high)
{
    return gops_test_random_range(&of->net.random, low, high);
}

static void begin(writing *of, const gops_ort_form *form, uint64_t stream)
{
    *of = (writing){
        .net = {.form = form, .random = gops_test_random_start(gops_test_seed(), stream)}};
    of->side[0] = draw(of, 4, 40);
    of->side[1] = draw(of, 4, 40);
}

/* The output of a first convolution. */
static value start(writing *of, int64_t channels)
{
    const gops_quantized_layer layer = {channels, 1, 1, 1, GOPS_QUANTIZED_NONE, false};
    const value picture = {.name = "x"};
    gops_onnx_build(&of->net.builder, OPSET);
    gops_onnx_build_input(&of->net.builder, "x", GOPS_ONNX_FLOAT, 4,
                          (const int64_t[]){2, PICTURE, of->side[0], of->side[1]});
    const value data = gops_quantizer_choose(&of->net, GOPS_QUANTIZED_NONE, PICTURE);
    gops_quantizer_quantize(&of->net, &picture, &data);
    return gops_quantizer_convolve(&of->net, &data, layer);
}

/* Whether the outputs are no more than `units` of the last scale apart; none: of the same bits. */
static bool are_near(ort_value *const *outputs, float scale, float units)
{
    gops_tensor tensors[2];
    const float *expected = gops_ort_values(outputs[0], &tensors[0]);
    const float *got = gops_ort_values(outputs[1], &tensors[1]);
    bool are = memcmp(&tensors[0], &tensors[1], sizeof tensors[0]) == 0;
    for (int64_t i = 0; are && i < gops_test_elements(&tensors[0]); i++) {
        are = fabsf(got[i] - expected[i]) <= units * scale * 1.001F;
    }
    return are;
}

/* Ends a model with what `last` is, and compares. The provider takes `claimed` nodes of that type. */
static void compare(writing *of, const value *last, float units, const char *type, int claimed)
{
    static float data[2 * PICTURE * MAX_SIDE * MAX_SIDE];
    const int64_t dims[] = {2, PICTURE, of->side[0], of->side[1]}, open[] = {-1, -1, -1, -1};
    const gops_ort_tensor input = {"x", ORT_FLOAT, 4, dims, data};
    ort_session *sessions[2] = {NULL, NULL};
    ort_value *outputs[2] = {NULL, NULL};
    gops_onnx_buffer model;
    bool works = true;
    gops_quantizer_dequantize_as(&of->net, last, "y");
    gops_onnx_build_output(&of->net.builder, "y", GOPS_ONNX_FLOAT, 4, open);
    gops_test_check(gops_onnx_build_end(&of->net.builder, &model), "no memory for a model");
    gops_test_random_fill(&of->net.random, GOPS_F32, data, 2 * PICTURE * of->side[0] * of->side[1]);
    for (int64_t i = 0; i < 2 * PICTURE * of->side[0] * of->side[1]; i++) {
        data[i] *= 4;
    }
    for (int with = 0; with < 2 && works; with++) {
        const gops_ort_session_settings settings = {with ? GROUPOPS_ORT_PROVIDER : NULL,
                                                    ORT_OPTIMIZE_ALL, 2,
                                                    of->net.form->activations == GOPS_ONNX_INT8};
        works = gops_ort_works(gops_ort_open(&model, &settings, &sessions[with]), of->what) &&
                gops_ort_works(gops_ort_run(sessions[with], &input, 1, &outputs[with]), of->what);
    }
    if (works) {
        const int got = gops_ort_claimed_of(sessions[1], type);
        gops_test_check(got == claimed, "%s: %d nodes %s are claimed, not %d", of->what, got, type,
                        claimed);
        gops_test_check(are_near(outputs, last->scale, units), "%s: the outputs differ", of->what);
    }
    for (int with = 0; with < 2; with++) {
        gops_ort_load()->release_value(outputs[with]);
        gops_ort_load()->release_session(sessions[with]);
    }
    free(model.bytes);
}

/* What the operator is called in a form. */
static const char *type_in(const gops_ort_form *form, const char *type, char *room)
{
    snprintf(room, NAME_BYTES, "%s%s", form->operators ? "QLinear" : "", type);
    return room;
}

static void averages(void)
{
    enum { AVERAGES = 96, CHANNELS = 5 };
    char room[NAME_BYTES];
    gops_ort_load();
    for (uint64_t i = 0; i < AVERAGES; i++) {
        writing of;
        begin(&of, &forms[i % FORMS], i);
        gops_quantized_window window = {.kernel = draw(&of, 1, 4),
                                        .stride = draw(&of, 1, 3),
                                        .counts_padding = draw(&of, 0, 1) != 0};
        const bool global = draw(&of, 0, 7) == 0;
        window.pad = draw(&of, 0, window.kernel - 1);
        if (draw(&of, 0, 9) == 0) { /* more rows than a block has */
            of.side[0] = of.side[1] = MAX_SIDE;
            window.kernel = 7;
        }
        snprintf(of.what, sizeof of.what, "%s, %lld x %lld, kernel %lld, stride %lld, pad %lld%s%s",
                 of.net.form->name, (long long)of.side[0], (long long)of.side[1],
                 (long long)window.kernel, (long long)window.stride, (long long)window.pad,
                 window.counts_padding ? ", which is counted" : "", global ? ", global" : "");
        const value data = start(&of, CHANNELS);
        const value made = gops_quantizer_average(&of.net, &data, global ? NULL : &window);
        compare(&of, &made, 0,
                type_in(of.net.form, global ? "GlobalAveragePool" : "AveragePool", room), 1);
    }
}

/* Alone, and times what they are of: a unit of the function then becomes as many as the largest of the data makes it. */
static void functions(void)
{
    /* The largest difference from a zero point: those of ort_quantizer.c lie near the middle. */
    enum { MOST = 131 };
    static const struct {
        const char *type;
        bool has_operator, is_exact;
    } all[] = {{"Sigmoid", true, false},      {"LeakyRelu", true, true},
               {"HardSigmoid", false, false}, {"HardSwish", false, false},
               {"Tanh", false, false},        {"Elu", false, false},
               {"Mish", false, false}};
    char room[NAME_BYTES];
    gops_ort_load();
    for (uint64_t i = 0; i < sizeof all / sizeof all[0] * FORMS * 2; i++) {
        const size_t which = (size_t)(i / (FORMS * 2));
        const bool is_gated = i % 2 != 0;
        writing of;
        begin(&of, &forms[i / 2 % FORMS], i);
        if (of.net.form->operators && !all[which].has_operator) {
            continue;
        }
        snprintf(of.what, sizeof of.what, "%s, %s%s", of.net.form->name, all[which].type,
                 is_gated ? " times its data" : "");
        const value data = start(&of, 1 + (int64_t)(i % 3));
        const value bent = gops_quantizer_bend(&of.net, all[which].type, &data);
        value made = bent;
        float units = all[which].is_exact ? 0 : 1;
        bool is_other = false; /* another type of integers */
        if (is_gated) {
            const bool first = draw(&of, 0, 1) != 0;
            is_other = !of.net.form->operators && draw(&of, 0, 3) == 0;
            of.net.form = is_other ? &forms[1 - i / 2 % FORMS] : of.net.form;
            made = gops_quantizer_multiply(&of.net, first ? &bent : &data, first ? &data : &bent);
            units += units * MOST * data.scale * bent.scale / made.scale;
        }
        compare(&of, &made, units, type_in(of.net.form, is_gated ? "Mul" : all[which].type, room),
                !is_other);
    }
}

/* Of a tensor and one like it, or a number for each of its channels, on either side. Numbers for pixels or images are
 * left to the runtime. */
static void products(void)
{
    enum { PRODUCTS = 64, CHANNELS = 6 };
    char room[NAME_BYTES];
    gops_ort_load();
    for (uint64_t i = 0; i < PRODUCTS; i++) {
        const gops_quantized_layer one_channel = {1, 1, 1, 1, GOPS_QUANTIZED_NONE, false},
                                   as_many = {CHANNELS, 1, 1, 1, GOPS_QUANTIZED_NONE, false};
        const uint64_t kind = i / FORMS % 4;
        static const char *const kinds[] = {"one shape", "channels", "pixels", "itself"};
        writing of;
        begin(&of, &forms[i % FORMS], i);
        snprintf(of.what, sizeof of.what, "%s, a product by %s", of.net.form->name, kinds[kind]);
        const value data = start(&of, CHANNELS);
        value other = data;
        if (kind == 1) {
            other = gops_quantizer_average(&of.net, &data, NULL);
        } else if (kind != 3) {
            other = gops_quantizer_convolve(&of.net, &data, kind == 0 ? as_many : one_channel);
        }
        const bool first = draw(&of, 0, 1) != 0;
        value made =
            gops_quantizer_multiply(&of.net, first ? &other : &data, first ? &data : &other);
        compare(&of, &made, 0, type_in(of.net.form, "Mul", room), kind != 2);
    }
}

/* By the nearest element with the data's scale, as quantizers write it, and between elements with another. */
static void sizes(void)
{
    enum { SIZES = 96, CHANNELS = 3 };
    static const char *const coordinates[] = {"half_pixel", "pytorch_half_pixel", "align_corners",
                                              "asymmetric"};
    static const char *const rounds[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
                                         "ceil"};
    static const float factors[] = {2, 2, 1, 4, 0.5F, 1.5F, 3, 0.3F, 1.01F};
    gops_ort_load();
    for (uint64_t i = 0; i < SIZES; i++) {
        writing of;
        begin(&of, &forms[i % 2], i);
        of.side[0] += of.side[0] % 2; /* so that floats hold each size times a factor */
        of.side[1] += of.side[1] % 2;
        const bool linear = draw(&of, 0, 1) != 0;
        const float scales[] = {1, 1, factors[draw(&of, 0, 8)], factors[draw(&of, 0, 8)]};
        const char *const coordinate = coordinates[draw(&of, 0, 3)];
        const char *const round = rounds[draw(&of, 0, 3)];
        snprintf(of.what, sizeof of.what, "%s, %lld x %lld times %g x %g, %s, %s",
                 of.net.form->name, (long long)of.side[0], (long long)of.side[1], (double)scales[2],
                 (double)scales[3], linear ? "linear" : round, coordinate);
        const value data = start(&of, CHANNELS);
        value made = gops_quantizer_choose(&of.net, GOPS_QUANTIZED_NONE, CHANNELS);
        if (!linear) {
            made.scale = data.scale;
            made.zero = data.zero;
        }
        const value floats = gops_quantizer_dequantize(&of.net, &data),
                    resized = gops_quantizer_next(&of.net);
        gops_onnx_build_constant(&of.net.builder, "scales", GOPS_ONNX_FLOAT, 1,
                                 (const int64_t[]){4}, scales, sizeof scales);
        gops_onnx_build_node(&of.net.builder, "Resize", resized.name,
                             (const char *[]){floats.name, "", "scales"}, 3);
        gops_onnx_build_string(&of.net.builder, "mode", linear ? "linear" : "nearest");
        gops_onnx_build_string(&of.net.builder, "coordinate_transformation_mode", coordinate);
        gops_onnx_build_string(&of.net.builder, "nearest_mode", round);
        gops_quantizer_quantize(&of.net, &resized, &made);
        compare(&of, &made, 0, "Resize", 1);
    }
}

/* Parts of the channels, one of which is convolved, next to each other again. */
static void parts(void)
{
    enum { CHANNELS = 9, PARTS = 3 };
    static const int64_t channels[PARTS] = {4, 2, 3};
    const gops_quantized_layer layer = {5, 3, 1, 1, GOPS_QUANTIZED_NONE, false};
    gops_ort_load();
    for (uint64_t i = 0; i < 2 * FORMS; i++) {
        value made[PARTS];
        writing of;
        begin(&of, &forms[i % FORMS], i);
        snprintf(of.what, sizeof of.what, "%s, a Split", of.net.form->name);
        const value data = start(&of, CHANNELS);
        gops_quantizer_split(&of.net, &data, channels, PARTS, made);
        const value convolved = gops_quantizer_convolve(&of.net, &made[i / FORMS], layer);
        const value *const operands[] = {&made[2], &convolved, &made[0], &made[1]};
        const value joined = gops_quantizer_join(&of.net, operands, 4, true);
        compare(&of, &joined, 0, "Split", 1);
    }
}

int main(void)
{
    const gops_test_case cases[] = {{"averages", averages}, {"functions", functions},
                                    {"products", products}, {"sizes", sizes},
                                    {"parts", parts},       {NULL, NULL}};
    const int status = gops_test_main("ONNX Runtime, 8-bit integers besides convolutions", cases);
    gops_ort_unload();
    return status;
}
