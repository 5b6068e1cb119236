/* ort_quantized_layer.c: draws and writes quantized convolutions. */
#include "ort_quantized_layer.h"

#include "guarded_memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPSET = 19 };

static bool is_signed(gops_onnx_element type)
{
    return type == GOPS_ONNX_INT8;
}

static int64_t all_channels(const gops_quantized_problem *of)
{
    return of->groups * of->channels_out;
}

bool gops_quantized_is_fusible(const gops_quantized_problem *of)
{
    const bool types = of->x == of->y && (!is_signed(of->x) || is_signed(of->w));
    bool same_zeros = true;
    for (int64_t i = 1; i < of->scale_count; i++) {
        same_zeros = same_zeros && of->w_zeros[i] == of->w_zeros[0];
    }
    return of->form != GOPS_QUANTIZED_DECONV && types && same_zeros && !of->residual &&
           of->activation == NULL;
}

static gops_onnx_element draw_type(gops_test_random *random)
{
    return gops_test_random_chance(random, 50) ? GOPS_ONNX_INT8 : GOPS_ONNX_UINT8;
}

static int draw_zero(gops_test_random *random, gops_onnx_element type)
{
    const int low = is_signed(type) ? -128 : 0;
    return gops_test_random_chance(random, 20)
               ? 0
               : (int)gops_test_random_range(random, low, low + 255);
}

static float draw_scale(gops_test_random *random, const gops_quantized_problem *of, double around)
{
    const double scale = around * exp2(gops_test_random_real(random) / 2);
    return (float)(of->powers_of_two ? exp2(rint(log2(scale))) : scale);
}

static void draw_geometry(gops_test_random *random, gops_quantized_problem *of)
{
    of->axes = (int)gops_test_random_range(random, 1, 3);
    of->batch = gops_test_random_range(random, 1, 2);
    of->groups = gops_test_random_chance(random, 50) ? 1 : gops_test_random_range(random, 2, 5);
    of->channels_in = gops_test_random_range(random, 1, 7);
    of->channels_out = gops_test_random_range(random, 1, 7);
    for (int i = 0; i < of->axes; i++) {
        of->kernel[i] = gops_test_random_range(random, 1, 3);
        of->strides[i] = gops_test_random_range(random, 1, 2);
        of->dilations[i] = gops_test_random_range(random, 1, 2);
        const int64_t extent = (of->kernel[i] - 1) * of->dilations[i] + 1;
        const int64_t most = of->form == GOPS_QUANTIZED_DECONV ? 0 : extent - 1;
        of->pads[i] = gops_test_random_range(random, 0, most);
        of->pads[of->axes + i] = gops_test_random_range(random, 0, most);
        of->data[i] = gops_test_random_range(random, extent, extent + 7);
    }
}

/* Where there is no VNNI the runtime multiplies by instructions that saturate, but for weights of 7
 * bits; u8 by u8 it widens. */
static bool has_7_bits(const gops_quantized_problem *of)
{
    return is_signed(of->w) || is_signed(of->x);
}

static void draw_scales(gops_test_random *random, gops_quantized_problem *of)
{
    int64_t terms = of->channels_in;
    for (int i = 0; i < of->axes; i++) {
        terms *= of->kernel[i];
    }
    const bool per_channel = gops_test_random_chance(random, 60);
    const int64_t channels =
        of->form == GOPS_QUANTIZED_DECONV ? of->channels_out : all_channels(of);
    of->scale_count = per_channel ? channels : 1;
    const bool same = gops_test_random_chance(random, 70);
    of->x_scale = draw_scale(random, of, 0.05);
    of->a_scale = draw_scale(random, of, 0.04);
    /* So that outputs use their type's range, and some saturate. */
    of->y_scale = draw_scale(random, of, 0.05 * 0.02 * 30 * sqrt((double)terms));
    for (int64_t i = 0; i < of->scale_count; i++) {
        of->w_scales[i] = draw_scale(random, of, 0.02);
        of->w_zeros[i] = i > 0 && same ? of->w_zeros[0] : draw_zero(random, of->w);
        if (has_7_bits(of)) { /* as small as the weights */
            of->w_zeros[i] /= 2;
        }
    }
    if (same) {
        for (int64_t i = 1; i < of->scale_count; i++) {
            of->w_zeros[i] = of->w_zeros[0];
        }
    }
}

gops_quantized_problem gops_quantized_draw(gops_test_random *random, gops_quantized_form form)
{
    static const char *const activations[] = {"Relu", "Clip", "LeakyRelu"};
    gops_quantized_problem of = {.form = form};
    draw_geometry(random, &of);
    of.x = draw_type(random);
    of.w = draw_type(random);
    of.y = gops_test_random_chance(random, 70) ? of.x : draw_type(random);
    of.powers_of_two = gops_test_random_chance(random, 50);
    of.x_zero = draw_zero(random, of.x);
    of.y_zero = draw_zero(random, of.y);
    draw_scales(random, &of);
    of.open = gops_test_random_chance(random, 30);
    if (form == GOPS_QUANTIZED_INTEGER || form == GOPS_QUANTIZED_LINEAR) {
        of.fed = gops_test_random_chance(random, 40);
        of.bias = form == GOPS_QUANTIZED_LINEAR && gops_test_random_chance(random, 50)
                      ? GOPS_QUANTIZED_BIAS_INTEGERS
                      : GOPS_QUANTIZED_NO_BIAS;
        return of;
    }
    of.bias = (gops_quantized_bias)gops_test_random_range(random, 0, 2);
    of.residual = !of.open && gops_test_random_chance(random, 40);
    if (gops_test_random_chance(random, 50)) {
        of.activation = activations[gops_test_random_range(random, 0, 2)];
    }
    return of;
}

static gops_quantized_tensor make_tensor(int rank, const int64_t *dims, size_t element)
{
    gops_quantized_tensor made = {.rank = rank, .count = 1};
    memcpy(made.dims, dims, (size_t)rank * sizeof *dims);
    for (int i = 0; i < rank; i++) {
        made.count *= dims[i];
    }
    made.values = gops_test_allocate((size_t)made.count * element + 1);
    return made;
}

static gops_quantized_tensor draw_bytes(gops_test_random *random, int rank, const int64_t *dims,
                                        int low, int high)
{
    gops_quantized_tensor made = make_tensor(rank, dims, 1);
    for (int64_t i = 0; i < made.count; i++) {
        ((unsigned char *)made.values)[i] =
            (unsigned char)gops_test_random_range(random, low, high);
    }
    return made;
}

gops_quantized_values gops_quantized_draw_values(gops_test_random *random,
                                                 const gops_quantized_problem *of)
{
    const int64_t in = of->groups * of->channels_in, out = all_channels(of);
    const bool transposed = of->form == GOPS_QUANTIZED_DECONV;
    int64_t x[GOPS_MAX_RANK] = {of->batch, in}, a[GOPS_MAX_RANK] = {of->batch, out};
    int64_t w[GOPS_MAX_RANK] = {transposed ? in : out,
                                transposed ? of->channels_out : of->channels_in};
    for (int i = 0; i < of->axes; i++) {
        const int64_t extent = (of->kernel[i] - 1) * of->dilations[i] + 1;
        const int64_t padded = of->data[i] + of->pads[i] + of->pads[of->axes + i];
        x[i + 2] = of->data[i];
        w[i + 2] = of->kernel[i];
        a[i + 2] = transposed ? (of->data[i] - 1) * of->strides[i] + extent
                              : (padded - extent) / of->strides[i] + 1;
    }
    gops_quantized_values made = {
        .x = draw_bytes(random, of->axes + 2, x, 0, 255),
        .w = draw_bytes(random, of->axes + 2, w, is_signed(of->w) ? -64 : 0,
                        is_signed(of->w) ? 63
                        : has_7_bits(of) ? 127
                                         : 255),
        .b = make_tensor(1, &out, sizeof(int32_t)),
        .a = draw_bytes(random, of->axes + 2, a, 0, 255),
        .real_bias = gops_test_allocate((size_t)out * sizeof(float)),
    };
    for (int64_t i = 0; i < out; i++) {
        const float unit = of->x_scale * of->w_scales[i % of->scale_count];
        const int32_t whole = (int32_t)gops_test_random_range(random, -9999, 9999);
        ((int32_t *)made.b.values)[i] = whole;
        made.real_bias[i] =
            unit *
            ((float)whole + (of->powers_of_two ? 0 : (float)gops_test_random_real(random) * 0.4F));
    }
    return made;
}

void gops_quantized_free(gops_quantized_values *of)
{
    free(of->x.values);
    free(of->w.values);
    free(of->b.values);
    free(of->a.values);
    free(of->real_bias);
}

static void feed(gops_quantized_model *to, const char *name, gops_onnx_element type, int rank,
                 const int64_t *dims, const void *data)
{
    to->inputs[to->count++] =
        (gops_ort_tensor){name, (ort_element)type, rank, dims, (void *)(uintptr_t)data};
}

/* A constant, or an input. */
static void put(gops_quantized_model *to, const char *name, gops_onnx_element type, int rank,
                const int64_t *dims, const void *data, size_t bytes)
{
    if (to->fed) {
        gops_onnx_build_input(&to->builder, name, type, rank, dims);
        feed(to, name, type, rank, dims, data);
    } else {
        gops_onnx_build_constant(&to->builder, name, type, rank, dims, data, bytes);
    }
}

static void put_zeros(gops_quantized_model *to, int slot, const char *name, gops_onnx_element type,
                      const int *zeros, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        to->bytes[slot][i] = (unsigned char)zeros[i];
    }
    to->count_of[slot] = count;
    put(to, name, type, count > 1 ? 1 : 0, &to->count_of[slot], to->bytes[slot], (size_t)count);
}

static void put_scales(gops_quantized_model *to, const char *name, const float *scales,
                       const int64_t *count)
{
    put(to, name, GOPS_ONNX_FLOAT, *count > 1 ? 1 : 0, count, scales,
        (size_t)*count * sizeof *scales);
}

static void put_attributes(gops_quantized_model *to, const gops_quantized_problem *of)
{
    gops_onnx_build_int(&to->builder, "group", of->groups);
    gops_onnx_build_ints(&to->builder, "strides", of->strides, of->axes);
    gops_onnx_build_ints(&to->builder, "dilations", of->dilations, of->axes);
    gops_onnx_build_ints(&to->builder, "pads", of->pads, 2 * of->axes);
}

static void dequantize(gops_quantized_model *to, const char *made, const char *from,
                       const char *scale, const char *zero, int axis)
{
    gops_onnx_build_node(&to->builder, "DequantizeLinear", made,
                         (const char *[]){from, scale, zero}, zero[0] != '\0' ? 3 : 2);
    gops_onnx_build_int(&to->builder, "axis", axis);
}

static void put_bias(gops_quantized_model *to, const gops_quantized_problem *of,
                     const gops_quantized_values *from, bool as_floats)
{
    const int64_t channels = all_channels(of), count = of->scale_count > 1 ? channels : 1;
    float scales[GOPS_QUANTIZED_MAX_CHANNELS];
    if (of->bias == GOPS_QUANTIZED_BIAS_FLOATS) {
        gops_onnx_build_constant(&to->builder, "bf", GOPS_ONNX_FLOAT, 1, &channels, from->real_bias,
                                 (size_t)channels * sizeof(float));
    } else if (of->bias == GOPS_QUANTIZED_BIAS_INTEGERS) {
        gops_onnx_build_constant(&to->builder, "b", GOPS_ONNX_INT32, 1, &channels, from->b.values,
                                 (size_t)channels * sizeof(int32_t));
    }
    if (of->bias == GOPS_QUANTIZED_BIAS_INTEGERS && as_floats) {
        for (int64_t i = 0; i < count; i++) {
            scales[i] = of->x_scale * of->w_scales[i % of->scale_count];
        }
        gops_onnx_build_constant(&to->builder, "sb", GOPS_ONNX_FLOAT, count > 1 ? 1 : 0, &count,
                                 scales, (size_t)count * sizeof(float));
        dequantize(to, "bf", "b", "sb", "", 0);
    }
}

static void put_activation(gops_quantized_model *to, const gops_quantized_problem *of,
                           const char *from)
{
    const float bounds[] = {-20 * of->y_scale, 40 * of->y_scale};
    const char *const inputs[] = {from, "low", "high"};
    const bool clip = strcmp(of->activation, "Clip") == 0;
    if (clip) {
        gops_onnx_build_constant(&to->builder, "low", GOPS_ONNX_FLOAT, 0, NULL, &bounds[0], 4);
        gops_onnx_build_constant(&to->builder, "high", GOPS_ONNX_FLOAT, 0, NULL, &bounds[1], 4);
    }
    gops_onnx_build_node(&to->builder, of->activation, "r", inputs, clip ? 3 : 1);
    if (strcmp(of->activation, "LeakyRelu") == 0) {
        gops_onnx_build_float(&to->builder, "alpha", 0.25F);
    }
}

/* Between DequantizeLinear and QuantizeLinear. */
static void put_floats(gops_quantized_model *to, const gops_quantized_problem *of,
                       const gops_quantized_values *from)
{
    const char *last = "c";
    dequantize(to, "xf", "x", "sx", "zx", 1);
    dequantize(to, "wf", "w", "sw", "zw", of->form == GOPS_QUANTIZED_DECONV ? 1 : 0);
    put_bias(to, of, from, true);
    gops_onnx_build_node(&to->builder, of->form == GOPS_QUANTIZED_DECONV ? "ConvTranspose" : "Conv",
                         "c", (const char *[]){"xf", "wf", "bf"},
                         of->bias == GOPS_QUANTIZED_NO_BIAS ? 2 : 3);
    put_attributes(to, of);
    if (of->residual) {
        const int64_t one = 1;
        gops_onnx_build_input(&to->builder, "a", of->x, from->a.rank, from->a.dims);
        feed(to, "a", of->x, from->a.rank, from->a.dims, from->a.values);
        gops_onnx_build_constant(&to->builder, "sa", GOPS_ONNX_FLOAT, 0, &one, &of->a_scale, 4);
        dequantize(to, "af", "a", "sa", "zx", 1);
        gops_onnx_build_node(&to->builder, "Add", "s", (const char *[]){"af", "c"}, 2);
        last = "s";
    }
    if (of->activation != NULL) {
        put_activation(to, of, last);
        last = "r";
    }
    gops_onnx_build_node(&to->builder, "QuantizeLinear", "y", (const char *[]){last, "sy", "zy"},
                         3);
}

static void put_operator(gops_quantized_model *to, const gops_quantized_problem *of,
                         const gops_quantized_values *from)
{
    const bool has_bias = of->bias != GOPS_QUANTIZED_NO_BIAS;
    if (of->form == GOPS_QUANTIZED_INTEGER) {
        gops_onnx_build_node(&to->builder, "ConvInteger", "y",
                             (const char *[]){"x", "w", "zx", "zw"}, 4);
    } else {
        put_bias(to, of, from, false);
        gops_onnx_build_node(&to->builder, "QLinearConv", "y",
                             (const char *[]){"x", "sx", "zx", "w", "sw", "zw", "sy", "zy", "b"},
                             has_bias ? 9 : 8);
    }
    put_attributes(to, of);
}

void gops_quantized_write(gops_quantized_model *to, const gops_quantized_problem *of,
                          const gops_quantized_values *from, bool as_floats,
                          gops_onnx_buffer *model)
{
    static const int64_t one = 1;
    int64_t open[GOPS_MAX_RANK];
    memset(open, 0xff, sizeof open); /* -1 */
    *to = (gops_quantized_model){.fed = of->fed && !as_floats};
    gops_onnx_build(&to->builder, OPSET);
    gops_onnx_build_input(&to->builder, "x", of->x, from->x.rank, of->open ? open : from->x.dims);
    feed(to, "x", of->x, from->x.rank, from->x.dims, from->x.values);
    put_zeros(to, 0, "zx", of->x, &of->x_zero, 1);
    put_zeros(to, 1, "zw", of->w, of->w_zeros, of->scale_count);
    if (of->form != GOPS_QUANTIZED_INTEGER) {
        put_scales(to, "sx", &of->x_scale, &one);
        put_scales(to, "sw", of->w_scales, &of->scale_count);
        put_scales(to, "sy", &of->y_scale, &one);
        put_zeros(to, 2, "zy", of->y, &of->y_zero, 1);
    }
    to->fed = false;
    put(to, "w", of->w, from->w.rank, from->w.dims, from->w.values, (size_t)from->w.count);
    (of->form >= GOPS_QUANTIZED_CONV || as_floats ? put_floats : put_operator)(to, of, from);
    gops_onnx_build_output(&to->builder, "y",
                           of->form == GOPS_QUANTIZED_INTEGER ? GOPS_ONNX_INT32 : of->y,
                           from->x.rank, open);
    if (!gops_onnx_build_end(&to->builder, model)) {
        fprintf(stderr, "no memory for a model\n");
        exit(EXIT_FAILURE);
    }
}

void gops_quantized_write_differences(gops_quantized_model *to, const gops_quantized_problem *of,
                                      const gops_quantized_values *from, float *x, float *w,
                                      gops_onnx_buffer *model)
{
    const int64_t channels = all_channels(of), inner = from->w.count / channels;
    const unsigned char *x_bytes = from->x.values, *w_bytes = from->w.values;
    for (int64_t i = 0; i < from->x.count; i++) {
        x[i] = (float)((is_signed(of->x) ? (int8_t)x_bytes[i] : x_bytes[i]) - of->x_zero);
    }
    for (int64_t i = 0; i < from->w.count; i++) {
        w[i] = (float)((is_signed(of->w) ? (int8_t)w_bytes[i] : w_bytes[i]) -
                       of->w_zeros[i / inner % of->scale_count]);
    }
    *to = (gops_quantized_model){.fed = false};
    gops_onnx_build(&to->builder, OPSET);
    gops_onnx_build_input(&to->builder, "x", GOPS_ONNX_FLOAT, from->x.rank, from->x.dims);
    feed(to, "x", GOPS_ONNX_FLOAT, from->x.rank, from->x.dims, x);
    put(to, "w", GOPS_ONNX_FLOAT, from->w.rank, from->w.dims, w, (size_t)from->w.count * sizeof *w);
    gops_onnx_build_node(&to->builder, "Conv", "y", (const char *[]){"x", "w"}, 2);
    put_attributes(to, of);
    gops_onnx_build_output(&to->builder, "y", GOPS_ONNX_FLOAT, from->x.rank, from->x.dims);
    gops_onnx_build_end(&to->builder, model);
}
