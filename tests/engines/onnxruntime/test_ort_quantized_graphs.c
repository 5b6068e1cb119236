/*
 * Random graphs of quantized layers, with the provider and without: the same bits. What the provider takes of them are
 * regions, in which values of 8 bits share memory, sums are written over what they add, and values are read by several
 * layers, by other regions and by the runtime, and some pairs of layers are computed by chunks. The first region
 * computes two convolutions of floats, too, one before all that is quantized and one behind it.
 */
#include "ort_host.h"
#include "ort_quantizer.h"

#include "elements.h"
#include "guarded_memory.h"
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GRAPHS = 60, MAX_VALUES = 12, PICTURE = 3, MAX_SIDE = 15, OPSET = 17, NAME_BYTES = 128 };
enum { MAX_CHANNELS = 48 };

typedef gops_quantized_value value;

/* A graph that is being drawn. */
typedef struct drawing {
    gops_quantizer net;
    value values[MAX_VALUES];
    int64_t side[MAX_VALUES];
    bool read[MAX_VALUES]; /* by a layer */
    int count;
} drawing;

static const gops_ort_form forms[] = {
    {"u8", GOPS_ONNX_UINT8, GOPS_ONNX_INT8, true, false, false, false},
    {"u8, biases of f32", GOPS_ONNX_UINT8, GOPS_ONNX_INT8, true, false, false, true},
    {"i8", GOPS_ONNX_INT8, GOPS_ONNX_INT8, true, false, false, false},
    {"u8, QLinearConv", GOPS_ONNX_UINT8, GOPS_ONNX_INT8, true, true, false, false},
    {"i8, QLinearConv", GOPS_ONNX_INT8, GOPS_ONNX_INT8, false, true, false, false},
};

static int draw(drawing *of, int low, int high)
{
    return (int)gops_test_random_range(&of->net.random, low, high);
}

static void keep(drawing *of, value made, int64_t side)
{
    of->values[of->count] = made;
    of->side[of->count++] = side;
}

/* A pair that a region computes by chunks, unless something else reads what lies between. */
static void add_pair(drawing *of, int from, gops_quantized_activation activation)
{
    const gops_quantized_layer expand = {MAX_CHANNELS, 1, 1, 1, activation, false};
    const gops_quantized_layer depthwise = {MAX_CHANNELS, 3,          1 + draw(of, 0, 1),
                                            MAX_CHANNELS, activation, false};
    const int64_t side = (of->side[from] + depthwise.stride - 1) / depthwise.stride;
    of->read[from] = of->read[of->count] = true;
    keep(of, gops_quantizer_convolve(&of->net, &of->values[from], expand), of->side[from]);
    keep(of, gops_quantizer_convolve(&of->net, &of->values[of->count - 1], depthwise), side);
}

/* The channels of the value and of others as large, in any order, the same one twice too. */
static value join(drawing *of, int from)
{
    const value *operands[GOPS_QUANTIZER_OPERANDS];
    const int count = draw(of, 1, GOPS_QUANTIZER_OPERANDS);
    int64_t channels = 0;
    int joined = 0;
    for (int which = from; joined < count; which = draw(of, 0, of->count - 1)) {
        which = of->side[which] == of->side[from] ? which : from;
        channels += of->values[which].channels;
        if (channels > MAX_CHANNELS) {
            break;
        }
        operands[joined++] = &of->values[which];
        of->read[which] = true;
    }
    return gops_quantizer_join(&of->net, operands, joined, draw(of, 0, 1) != 0);
}

/* Averages of windows, which may be of fewer elements than the kernel. */
static void add_average(drawing *of, int from)
{
    gops_quantized_window window = {
        .kernel = draw(of, 2, 3), .stride = draw(of, 1, 2), .counts_padding = draw(of, 0, 1) != 0};
    window.pad = draw(of, 0, (int)window.kernel - 1);
    keep(of, gops_quantizer_average(&of->net, &of->values[from], &window),
         (of->side[from] + 2 * window.pad - window.kernel) / window.stride + 1);
}

/* A value times a number for each channel, which is made of it, as in a squeeze-and-excitation block; else times a
 * function of itself, or such a function. */
static void add_gate(drawing *of, int from)
{
    const value *data = &of->values[from];
    const gops_quantized_layer layer = {data->channels, 1, 1, 1, GOPS_QUANTIZED_NONE, false};
    const bool squeezes = draw(of, 0, 1) != 0;
    value gate = *data;
    if (squeezes) {
        gate = gops_quantizer_average(&of->net, &gate, NULL);
        gate = gops_quantizer_convolve(&of->net, &gate, layer);
    }
    gate = gops_quantizer_bend(&of->net, "LeakyRelu", &gate);
    const bool alone = !squeezes && draw(of, 0, 1) != 0, second = draw(of, 0, 1) != 0;
    keep(of,
         alone    ? gate
         : second ? gops_quantizer_multiply(&of->net, &gate, data)
                  : gops_quantizer_multiply(&of->net, data, &gate),
         of->side[from]);
}

/* Two or three parts of a value. */
static void add_parts(drawing *of, int from)
{
    enum { PARTS = 3 };
    const int64_t channels = of->values[from].channels, some = draw(of, 1, (int)channels - 2);
    const int count = of->count + PARTS <= MAX_VALUES ? draw(of, 2, PARTS) : 2;
    const int64_t parts[PARTS] = {some, count == 2 ? channels - some : 1, channels - some - 1};
    value made[PARTS];
    gops_quantizer_split(&of->net, &of->values[from], parts, count, made);
    for (int i = 0; i < count; i++) {
        keep(of, made[i], of->side[from]);
    }
}

static void add_layer(drawing *of)
{
    static const int64_t kernels[] = {1, 1, 3};
    const int from = draw(of, of->count > 2 ? of->count - 3 : 0, of->count - 1);
    const value *data = &of->values[from];
    const gops_quantized_activation activation =
        draw(of, 0, 1) != 0 && !of->net.form->operators ? GOPS_QUANTIZED_RELU : GOPS_QUANTIZED_NONE;
    of->read[from] = true;
    if (draw(of, 0, 4) == 0 && of->count + 2 <= MAX_VALUES) {
        add_pair(of, from, activation);
        return;
    }
    if (draw(of, 0, 5) == 0 && of->side[from] > 3) {
        keep(of, gops_quantizer_pool(&of->net, data, 3), (of->side[from] + 1) / 2);
        return;
    }
    if (draw(of, 0, 4) == 0) {
        keep(of, join(of, from), of->side[from]);
        return;
    }
    if (draw(of, 0, 4) == 0 && of->side[from] > 3) {
        add_average(of, from);
        return;
    }
    if (draw(of, 0, 4) == 0) {
        add_gate(of, from);
        return;
    }
    if (draw(of, 0, 4) == 0 && data->channels > 2 && of->count + 2 <= MAX_VALUES) {
        add_parts(of, from);
        return;
    }
    for (int other = of->count - 1; other >= 0 && draw(of, 0, 2) != 0; other--) {
        if (other != from && of->side[other] == of->side[from] &&
            of->values[other].channels == data->channels) {
            of->read[other] = true;
            keep(of, gops_quantizer_add(&of->net, data, &of->values[other], activation),
                 of->side[from]);
            return;
        }
    }
    const bool depthwise = draw(of, 0, 3) == 0;
    const int64_t channels = depthwise || draw(of, 0, 1) == 0 ? data->channels : 4 * draw(of, 1, 9);
    const gops_quantized_layer layer = {
        channels, kernels[draw(of, 0, 2)], 1, depthwise ? data->channels : 1, activation, false};
    keep(of, gops_quantizer_convolve(&of->net, data, layer), of->side[from]);
}

/* The sums of a ConvInteger, as floats. */
static value convolve_codes(drawing *of, const value *data)
{
    enum { TO = 5, LIMIT = 63, TAPS = 9, MAX_WEIGHTS = TO * MAX_CHANNELS * TAPS };
    const int64_t dims[] = {TO, data->channels, 3, 3}, count = TO * data->channels * TAPS;
    signed char numbers[MAX_WEIGHTS];
    for (int64_t i = 0; i < count; i++) {
        numbers[i] = (signed char)draw(of, -LIMIT, LIMIT);
    }
    const value weights = gops_quantizer_next(&of->net), sums = gops_quantizer_next(&of->net);
    gops_onnx_build_constant(&of->net.builder, weights.name, GOPS_ONNX_INT8, 4, dims, numbers,
                             (size_t)count);
    gops_onnx_build_node(&of->net.builder, "ConvInteger", sums.name,
                         (const char *[]){data->name, weights.name}, 2);
    gops_onnx_build_ints(&of->net.builder, "pads", (const int64_t[]){1, 1, 1, 1}, 4);
    const value made = gops_quantizer_apply(&of->net, "Cast", &sums);
    gops_onnx_build_int(&of->net.builder, "to", GOPS_ONNX_FLOAT);
    of->net.layers.convolutions++;
    return made;
}

/* Half of each number, which is exact. */
static value halve(drawing *of, const value *data)
{
    static const float halves[] = {0.5F, 0.5F, 0.5F};
    static const int64_t dims[] = {PICTURE, 1, 1, 1};
    const value weights = gops_quantizer_next(&of->net), made = gops_quantizer_next(&of->net);
    gops_onnx_build_constant(&of->net.builder, weights.name, GOPS_ONNX_FLOAT, 4, dims, halves,
                             sizeof halves);
    gops_onnx_build_node(&of->net.builder, "Conv", made.name,
                         (const char *[]){data->name, weights.name}, 2);
    gops_onnx_build_int(&of->net.builder, "group", PICTURE);
    return made;
}

/* Flattens a value and adds it to the list of what becomes y. */
static void give_out(drawing *of, const value *floats, const char **names, char *rooms, int *count)
{
    const value flat = gops_quantizer_apply(&of->net, "Flatten", floats);
    char *name = rooms + (size_t)*count * sizeof flat.name;
    memcpy(name, flat.name, sizeof flat.name);
    names[(*count)++] = name;
}

/* What nothing reads is given out, and some of the others. */
static void end(drawing *of, const value *half, gops_onnx_buffer *model)
{
    char rooms[(MAX_VALUES + 2) * GOPS_QUANTIZER_NAME_BYTES];
    const char *names[MAX_VALUES + 2];
    const int64_t open[] = {GOPS_ONNX_BATCH, -1};
    int count = 0;
    const value floats = halve(of, half);
    give_out(of, &floats, names, rooms, &count);
    if (of->net.form->activations == GOPS_ONNX_UINT8) { /* the runtime's has no other data */
        const value sums = convolve_codes(of, &of->values[draw(of, 0, of->count - 1)]);
        give_out(of, &sums, names, rooms, &count);
    }
    for (int i = 0; i < of->count; i++) {
        if (!of->read[i] || draw(of, 0, 4) == 0) {
            const value real = gops_quantizer_dequantize(&of->net, &of->values[i]);
            give_out(of, &real, names, rooms, &count);
        }
    }
    gops_onnx_build_node(&of->net.builder, "Concat", "y", names, count);
    gops_onnx_build_int(&of->net.builder, "axis", 1);
    gops_onnx_build_output(&of->net.builder, "y", GOPS_ONNX_FLOAT, 2, open);
    gops_test_check(gops_onnx_build_end(&of->net.builder, model), "no memory for a model");
}

static bool are_same(ort_value *const *outputs)
{
    gops_tensor tensors[2];
    const void *expected = gops_ort_values(outputs[0], &tensors[0]);
    const void *got = gops_ort_values(outputs[1], &tensors[1]);
    return memcmp(&tensors[0], &tensors[1], sizeof tensors[0]) == 0 &&
           memcmp(expected, got, (size_t)gops_test_elements(&tensors[0]) * sizeof(float)) == 0;
}

/* Whether both give the same bits, at any level with the provider. What is left to the runtime, as a sum of two pools,
 * is one of integers at the highest level alone. Layers are left where they are weighed, without VNNI. */
static bool compare(const gops_onnx_buffer *model, const gops_ort_tensor *input, bool is_i8,
                    int level, bool takes_all, const gops_ort_layers *layers, const char *what)
{
    ort_session *sessions[2] = {NULL, NULL};
    ort_value *outputs[2] = {NULL, NULL};
    bool works = true;
    for (int with = 0; with < 2 && works; with++) {
        const gops_ort_session_settings settings = {with ? GROUPOPS_ORT_PROVIDER : NULL,
                                                    with ? level : ORT_OPTIMIZE_ALL, 2, is_i8};
        works = gops_ort_works(gops_ort_open(model, &settings, &sessions[with]), what) &&
                gops_ort_works(gops_ort_run(sessions[with], input, 1, &outputs[with]), what);
    }
    if (works) {
        const int convolutions = gops_ort_claimed_of(sessions[1], "Conv") +
                                 gops_ort_claimed_of(sessions[1], "QLinearConv") +
                                 gops_ort_claimed_of(sessions[1], "ConvInteger");
        const int sums = gops_ort_claimed_of(sessions[1], "Add") +
                         gops_ort_claimed_of(sessions[1], "QLinearAdd");
        const int expected = layers->convolutions + 2;
        const bool all = convolutions == expected && sums == layers->additions;
        works = gops_test_check(convolutions == expected || !takes_all,
                                "%s: %d of %d convolutions are claimed", what, convolutions,
                                expected) &&
                ((level != ORT_OPTIMIZE_ALL && !all) ||
                 gops_test_check(are_same(outputs), "%s: the outputs differ", what));
    }
    for (int with = 0; with < 2; with++) {
        gops_ort_load()->release_value(outputs[with]);
        gops_ort_load()->release_session(sessions[with]);
    }
    return works;
}

static bool check_graph(int number, bool takes_all)
{
    const gops_ort_form *form = &forms[number % (int)(sizeof forms / sizeof forms[0])];
    drawing of = {.net = {.form = form,
                          .random = gops_test_random_start(gops_test_seed(), (uint64_t)number)}};
    const bool is_open = draw(&of, 0, 1) != 0;
    const int level = draw(&of, 0, 1) != 0 ? ORT_OPTIMIZE_ALL : ORT_OPTIMIZE_NONE;
    const int64_t side = draw(&of, 4, MAX_SIDE), images = draw(&of, 1, 3);
    const int64_t dims[] = {images, PICTURE, side, side};
    const int64_t given[] = {is_open ? GOPS_ONNX_BATCH : images, PICTURE, side, side};
    float data[3 * PICTURE * MAX_SIDE * MAX_SIDE];
    const gops_ort_tensor input = {"x", ORT_FLOAT, 4, dims, data};
    const value picture = {.name = "x"};
    char what[NAME_BYTES];
    gops_onnx_buffer model;
    gops_onnx_build(&of.net.builder, OPSET);
    gops_onnx_build_input(&of.net.builder, "x", GOPS_ONNX_FLOAT, 4, given);
    keep(&of, gops_quantizer_choose(&of.net, GOPS_QUANTIZED_NONE, PICTURE), side);
    gops_quantizer_quantize(&of.net, &picture, &of.values[0]);
    const value half = halve(&of, &picture);
    for (int values = draw(&of, 4, MAX_VALUES); of.count < values;) {
        add_layer(&of);
    }
    end(&of, &half, &model);
    gops_test_random_fill(&of.net.random, GOPS_F32, data, images * PICTURE * side * side);
    snprintf(what, sizeof what, "graph %d: %s, %d images of %d x %d%s, level %d", number,
             form->name, (int)images, (int)side, (int)side, is_open ? ", the batch is open" : "",
             level);
    const bool same = compare(&model, &input, form->activations == GOPS_ONNX_INT8, level, takes_all,
                              &of.net.layers, what);
    free(model.bytes);
    return same;
}

static void graphs(void)
{
    gops_ort_load();
    for (int i = 0; i < GRAPHS && check_graph(i, true); i++) {
    }
}

/* What the provider takes if it is not told to take all. */
static void worthwhile(void)
{
    gops_ort_load();
    gops_ort_set_claim(NULL);
    for (int i = 0; i < GRAPHS && check_graph(i, false); i++) {
    }
    gops_ort_set_claim("all");
}

/* Parts of a Split of which a grouped layer reads one, and layers that lose by AVX2 the other. All of it is taken or
 * left. */
static void split(void)
{
    enum { SIDE = 56, WHOLE = 64, GROUPED = 48, REST = WHOLE - GROUPED, MANY = 256 };
    static const int64_t dims[] = {1, WHOLE, SIDE, SIDE}, open[] = {-1, -1, -1, -1};
    static const char *const names[] = {"y", "u", "v"};
    const gops_quantized_layer grouped = {GROUPED, 3, 1, GROUPED / 4, GOPS_QUANTIZED_NONE, false},
                               strided = {MANY, 3, 2, 1, GOPS_QUANTIZED_NONE, false};
    const gops_ort_session_settings settings = {GROUPOPS_ORT_PROVIDER, ORT_OPTIMIZE_ALL, 1, false};
    gops_quantizer net = {.form = &forms[0],
                          .random = gops_test_random_start(gops_test_seed(), GRAPHS)};
    const value picture = {.name = "x"};
    value parts[2];
    gops_onnx_buffer model;
    ort_session *session = NULL;
    gops_ort_load();
    gops_ort_set_claim(NULL);
    gops_onnx_build(&net.builder, OPSET);
    gops_onnx_build_input(&net.builder, "x", GOPS_ONNX_FLOAT, 4, dims);
    const value data = gops_quantizer_choose(&net, GOPS_QUANTIZED_NONE, WHOLE);
    gops_quantizer_quantize(&net, &picture, &data);
    gops_quantizer_split(&net, &data, (const int64_t[]){GROUPED, REST}, 2, parts);
    for (int i = 0; i < 3; i++) {
        const value made = gops_quantizer_convolve(&net, &parts[i > 0], i > 0 ? strided : grouped);
        gops_quantizer_dequantize_as(&net, &made, names[i]);
        gops_onnx_build_output(&net.builder, names[i], GOPS_ONNX_FLOAT, 4, open);
    }
    gops_test_check(gops_onnx_build_end(&net.builder, &model), "no memory for a model");
    gops_ort_works(gops_ort_open(&model, &settings, &session), "a Split");
    gops_ort_load()->release_session(session);
    gops_ort_set_claim("all");
    free(model.bytes);
}

int main(void)
{
    const gops_test_case cases[] = {
        {"graphs", graphs}, {"worthwhile", worthwhile}, {"split", split}, {NULL, NULL}};
    const int status = gops_test_main("ONNX Runtime, graphs of quantized layers", cases);
    gops_ort_unload();
    return status;
}
