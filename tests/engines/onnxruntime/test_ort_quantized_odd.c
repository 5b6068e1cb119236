/* Quantized models that are odd or wrong: the provider leaves them to the runtime, refuses them as
 * it does, or gives what it gives. */
#include "ort_host.h"

#include "elements.h"
#include "harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 2 images of 4 channels, 3 x 5, to 4 channels by 2 x 2. */
enum { IMAGES = 2, CHANNELS = 4, PIXELS = 15, TAPS = 4, WEIGHTS = CHANNELS * CHANNELS * TAPS };

/* A Conv between DequantizeLinear and QuantizeLinear, with what differs from an ordinary one. */
typedef struct odd {
    const char *name;
    bool claimed; /* as quantized; elsewhere the runtime may refuse the model */
    float x_scale, w_scale, y_scale;
    int64_t w_count; /* of scales */
    int64_t axis;
    bool no_x_zero, no_w_zero, no_y_zero;
    gops_onnx_element x_zero_type, y_zero_type;
    float bias_scale; /* over that of the sums; 0: a bias of floats */
    float bias;       /* one of the floats */
    int64_t bias_count;
    int64_t block_size;
    bool x_is_output, c_is_output; /* values within the chain that the model gives out */
    int64_t batch;                 /* that is fed; the model leaves it open */
    const char *activation;        /* of the convolution; NULL: none */
    int32_t integer;               /* the first one of a bias in units of the sums */
    bool fed_weights;
} odd;

#define ORDINARY                                                                                   \
    .claimed = true, .x_scale = 0.05F, .w_scale = 0.02F, .y_scale = 0.04F, .w_count = CHANNELS,    \
    .x_zero_type = GOPS_ONNX_UINT8, .y_zero_type = GOPS_ONNX_UINT8, .bias_scale = 1, .bias = 0.1F, \
    .bias_count = CHANNELS, .batch = IMAGES, .integer = 100

/* The last of two initializers of a member stands. */
#ifdef __clang__
#pragma clang diagnostic ignored "-Winitializer-overrides"
#else
#pragma GCC diagnostic ignored "-Woverride-init"
#endif

static const odd odds[] = {
    {.name = "ordinary", ORDINARY},
    {.name = "x scale 0", ORDINARY, .claimed = false, .x_scale = 0},
    {.name = "w scale 0", ORDINARY, .claimed = false, .w_scale = 0},
    {.name = "y scale 0", ORDINARY, .claimed = false, .y_scale = 0},
    {.name = "x scale below 0", ORDINARY, .claimed = false, .x_scale = -0.05F},
    {.name = "w scale infinite", ORDINARY, .claimed = false, .w_scale = INFINITY},
    {.name = "y scale NaN", ORDINARY, .claimed = false, .y_scale = NAN},
    {.name = "product of scales 0",
     ORDINARY,
     .claimed = false,
     .x_scale = 1e-30F,
     .w_scale = 1e-30F},
    {.name = "one scale", ORDINARY, .w_count = 1},
    {.name = "three scales for four channels", ORDINARY, .claimed = false, .w_count = 3},
    {.name = "scales of the input channels", ORDINARY, .claimed = false, .axis = 1},
    {.name = "axis counted from the end", ORDINARY, .axis = -4},
    {.name = "no zero point of x", ORDINARY, .no_x_zero = true},
    {.name = "no zero points of w", ORDINARY, .no_w_zero = true},
    {.name = "no zero point of y", ORDINARY, .no_y_zero = true},
    {.name = "zero point of x of another type",
     ORDINARY,
     .claimed = false,
     .x_zero_type = GOPS_ONNX_INT8},
    {.name = "zero point of y of i32", ORDINARY, .claimed = false, .y_zero_type = GOPS_ONNX_INT32},
    {.name = "bias in other units", ORDINARY, .claimed = false, .bias_scale = 1.5F},
    {.name = "activation", ORDINARY, .activation = "LeakyRelu"},
    {.name = "clipped bias in front of an activation",
     ORDINARY,
     .claimed = false,
     .activation = "LeakyRelu",
     .integer = INT32_MAX},
    {.name = "bias of floats", ORDINARY, .bias_scale = 0},
    {.name = "bias of floats, one of them NaN",
     ORDINARY,
     .claimed = false,
     .bias_scale = 0,
     .bias = NAN},
    {.name = "bias of floats, one beyond i32",
     ORDINARY,
     .claimed = false,
     .bias_scale = 0,
     .bias = 1e9F},
    {.name = "three values of bias", ORDINARY, .claimed = false, .bias_scale = 0, .bias_count = 3},
    {.name = "blocks", ORDINARY, .claimed = false, .block_size = 2},
    {.name = "the dequantized data are an output", ORDINARY, .x_is_output = true},
    {.name = "the convolution is an output", ORDINARY, .claimed = false, .c_is_output = true},
    {.name = "no image", ORDINARY, .batch = 0},
    {.name = "weights that are fed", ORDINARY, .claimed = false, .fed_weights = true},
};

typedef struct arrays {
    unsigned char x[IMAGES * CHANNELS * PIXELS];
    signed char w[WEIGHTS];
    int64_t x_dims[4], w_dims[4];
} arrays;

static arrays fill(const odd *of)
{
    arrays made = {.x_dims = {of->batch, CHANNELS, 3, 5}, .w_dims = {CHANNELS, CHANNELS, 2, 2}};
    for (int i = 0; i < (int)sizeof made.x; i++) {
        made.x[i] = (unsigned char)(i * 37 % 251);
    }
    for (int i = 0; i < WEIGHTS; i++) {
        made.w[i] = (signed char)(i * 29 % 127 - 63);
    }
    return made;
}

static void put_vector(gops_onnx_builder *builder, const char *name, gops_onnx_element type,
                       int64_t count, const void *values, size_t bytes)
{
    gops_onnx_build_constant(builder, name, type, count > 1 ? 1 : 0, &count, values, bytes);
}

static void put_constants(gops_onnx_builder *builder, const odd *of)
{
    const unsigned char zero[] = {7, 0, 0, 0}, zeros[CHANNELS] = {0};
    float scales[CHANNELS], bias_scales[CHANNELS], bias[CHANNELS] = {of->bias, -0.2F, 0.3F, 0};
    const int32_t integers[CHANNELS] = {of->integer, -200, 300, 0};
    for (int i = 0; i < CHANNELS; i++) {
        scales[i] = of->w_scale * (float)(of->w_count > 1 ? 4 + i : 4) / 4;
        bias_scales[i] = of->x_scale * scales[i] * of->bias_scale;
    }
    put_vector(builder, "sx", GOPS_ONNX_FLOAT, 1, &of->x_scale, 4);
    put_vector(builder, "sy", GOPS_ONNX_FLOAT, 1, &of->y_scale, 4);
    put_vector(builder, "sw", GOPS_ONNX_FLOAT, of->w_count, scales, (size_t)of->w_count * 4);
    put_vector(builder, "zx", of->x_zero_type, 1, zero, 1);
    put_vector(builder, "zy", of->y_zero_type, 1, zero, of->y_zero_type == GOPS_ONNX_INT32 ? 4 : 1);
    put_vector(builder, "zw", GOPS_ONNX_INT8, of->w_count, zeros, (size_t)of->w_count);
    if (of->bias_scale == 0) {
        gops_onnx_build_constant(builder, "bf", GOPS_ONNX_FLOAT, 1, &of->bias_count, bias,
                                 (size_t)of->bias_count * 4);
    } else {
        put_vector(builder, "b", GOPS_ONNX_INT32, of->bias_count, integers,
                   (size_t)of->bias_count * 4);
        put_vector(builder, "sb", GOPS_ONNX_FLOAT, of->w_count, bias_scales,
                   (size_t)of->w_count * 4);
    }
}

static void write_model(const odd *of, const arrays *from, gops_onnx_buffer *model)
{
    const int64_t open[] = {-1, -1, -1, -1}, x_dims[] = {-1, CHANNELS, 3, 5};
    gops_onnx_builder builder;
    gops_onnx_build(&builder, 21);
    gops_onnx_build_input(&builder, "x", GOPS_ONNX_UINT8, 4, x_dims);
    if (of->fed_weights) {
        gops_onnx_build_input(&builder, "w", GOPS_ONNX_INT8, 4, from->w_dims);
    } else {
        gops_onnx_build_constant(&builder, "w", GOPS_ONNX_INT8, 4, from->w_dims, from->w, WEIGHTS);
    }
    put_constants(&builder, of);
    gops_onnx_build_node(&builder, "DequantizeLinear", "xf", (const char *[]){"x", "sx", "zx"},
                         of->no_x_zero ? 2 : 3);
    gops_onnx_build_node(&builder, "DequantizeLinear", "wf", (const char *[]){"w", "sw", "zw"},
                         of->no_w_zero ? 2 : 3);
    gops_onnx_build_int(&builder, "axis", of->axis);
    if (of->block_size != 0) {
        gops_onnx_build_int(&builder, "block_size", of->block_size);
    }
    if (of->bias_scale != 0) {
        gops_onnx_build_node(&builder, "DequantizeLinear", "bf", (const char *[]){"b", "sb"}, 2);
        gops_onnx_build_int(&builder, "axis", 0);
    }
    gops_onnx_build_node(&builder, "Conv", "c", (const char *[]){"xf", "wf", "bf"}, 3);
    if (of->activation != NULL) {
        gops_onnx_build_node(&builder, of->activation, "a", (const char *[]){"c"}, 1);
    }
    gops_onnx_build_node(&builder, "QuantizeLinear", "y",
                         (const char *[]){of->activation != NULL ? "a" : "c", "sy", "zy"},
                         of->no_y_zero ? 2 : 3);
    gops_onnx_build_output(&builder, "y", GOPS_ONNX_UINT8, 4, open);
    if (of->x_is_output) {
        gops_onnx_build_output(&builder, "xf", GOPS_ONNX_FLOAT, 4, open);
    }
    if (of->c_is_output) {
        gops_onnx_build_output(&builder, "c", GOPS_ONNX_FLOAT, 4, open);
    }
    gops_test_check(gops_onnx_build_end(&builder, model), "no memory for a model");
}

typedef struct answer {
    ort_session *session;
    ort_value *output;
} answer;

/* What is refused has no output. */
static answer ask(const odd *of, const arrays *from, const gops_onnx_buffer *model,
                  const char *provider, int level)
{
    const ort_api *api = gops_ort_load();
    const gops_ort_session_settings settings = {provider, level, 1, true};
    const gops_ort_tensor inputs[] = {{"x", ORT_UINT8, 4, from->x_dims, (void *)from->x},
                                      {"w", ORT_INT8, 4, from->w_dims, (void *)from->w}};
    answer got = {NULL, NULL};
    ort_status *status = gops_ort_open(model, &settings, &got.session);
    if (status == NULL) {
        status = gops_ort_run(got.session, inputs, of->fed_weights ? 2 : 1, &got.output);
    }
    if (status != NULL) {
        api->release_status(status);
    }
    return got;
}

static void release(const answer *got)
{
    gops_ort_load()->release_value(got->output);
    gops_ort_load()->release_session(got->session);
}

static void compare(ort_value *alone, ort_value *ours, const char *what)
{
    gops_tensor expected_tensor, tensor;
    const unsigned char *expected = gops_ort_values(alone, &expected_tensor);
    const unsigned char *got = gops_ort_values(ours, &tensor);
    if (gops_test_check(memcmp(&tensor, &expected_tensor, sizeof tensor) == 0,
                        "%s: the output's shape or type is another", what)) {
        for (int64_t i = 0; i < gops_test_elements(&tensor); i++) {
            gops_test_check(abs(got[i] - expected[i]) <= 1, "%s: element %lld is %d, not %d", what,
                            (long long)i, got[i], expected[i]);
        }
    }
}

/* Whether ONNX says what the integers are: not of numbers that are none, nor of divisions by 0. */
static bool is_defined(const odd *of)
{
    return isfinite(of->x_scale) && isfinite(of->w_scale) && of->y_scale > 0 && isfinite(of->bias);
}

/* The runtime alone does what the operators say only without its optimizations: those ignore an
 * axis, blocks and the units of a bias. */
static void check_odd(const odd *of, int level)
{
    const arrays from = fill(of);
    gops_onnx_buffer model;
    write_model(of, &from, &model);
    const answer alone = ask(of, &from, &model, NULL, ORT_OPTIMIZE_NONE);
    const answer ours = ask(of, &from, &model, GROUPOPS_ORT_PROVIDER, level);
    const bool claimed =
        ours.session != NULL && gops_ort_claimed_of(ours.session, "QuantizeLinear") == 1;
    printf("  %s, level %d: %s%s\n", of->name, level, claimed ? "claimed" : "not claimed",
           alone.session == NULL  ? ", refused"
           : alone.output == NULL ? ", not run"
                                  : "");
    if (level == ORT_OPTIMIZE_NONE || of->claimed) {
        gops_test_check(claimed == of->claimed, "%s: %s", of->name,
                        claimed ? "claimed" : "not claimed");
        gops_test_check((alone.output != NULL) == (ours.output != NULL),
                        "%s: only one of runtime and provider answers", of->name);
        if (alone.output != NULL && ours.output != NULL && is_defined(of)) {
            compare(alone.output, ours.output, of->name);
        }
    }
    release(&alone);
    release(&ours);
    free(model.bytes);
}

static void chain(void)
{
    gops_ort_load();
    printf("\n");
    for (size_t i = 0; i < sizeof odds / sizeof odds[0]; i++) {
        check_odd(&odds[i], ORT_OPTIMIZE_NONE);
        check_odd(&odds[i], ORT_OPTIMIZE_ALL);
    }
}

static bool is_zero_point(ort_value *output, unsigned char zero)
{
    gops_tensor tensor;
    const unsigned char *values = output != NULL ? gops_ort_values(output, &tensor) : NULL;
    bool is = values != NULL && gops_test_elements(&tensor) > 0;
    for (int64_t i = 0; is && i < gops_test_elements(&tensor); i++) {
        is = values[i] == zero;
    }
    return is;
}

/* Scales and zero points of a QLinearConv that come with the call, refused by what is wrong. */
static void fed(void)
{
    static const struct {
        const char *refusal; /* NULL: there is an answer; where x_scale is 0 it is y's zero point */
        float x_scale, w_scales[CHANNELS], y_scale;
        int64_t w_count, zero_count, x_count;
    } calls[] = {
        {NULL, 0.05F, {0.02F, 0.03F, 0.04F, 0.05F}, 0.04F, CHANNELS, CHANNELS, 1},
        {NULL, 0.05F, {0.02F}, 0.04F, 1, CHANNELS, 1},
        {NULL, 0.05F, {0.02F, 0.03F, 0.04F, 0.05F}, 0.04F, CHANNELS, 1, 1},
        {NULL, 0, {0.02F}, 0.04F, 1, 1, 1},
        {NULL, 0, {0.02F, 0.03F, 0.04F, 0.05F}, 1e-30F, CHANNELS, CHANNELS, 1},
        {"y_scale", 0.05F, {0.02F}, 0, 1, 1, 1},
        {"scale", -0.05F, {0.02F}, 0.04F, 1, 1, 1},
        {"scale", 0.05F, {0.02F, 0.03F, 0, 0.05F}, 0.04F, CHANNELS, 1, 1},
        {"scale", NAN, {0.02F}, 0.04F, 1, 1, 1},
        {"filter_scales", 0.05F, {0.02F, 0.03F, 0.04F}, 0.04F, 3, 1, 1},
        {"filter_zero_points", 0.05F, {0.02F}, 0.04F, 1, 2, 1},
        {"one value", 0.05F, {0.02F}, 0.04F, 1, 1, 2},
    };
    static const char *const names[] = {"x", "sx", "zx", "w", "sw", "zw", "sy", "zy"};
    static const gops_onnx_element types[] = {GOPS_ONNX_UINT8, GOPS_ONNX_FLOAT, GOPS_ONNX_UINT8,
                                              GOPS_ONNX_INT8,  GOPS_ONNX_FLOAT, GOPS_ONNX_INT8,
                                              GOPS_ONNX_FLOAT, GOPS_ONNX_UINT8};
    const gops_ort_session_settings settings = {GROUPOPS_ORT_PROVIDER, ORT_OPTIMIZE_ALL, 1, false};
    const int64_t open[] = {-1, -1, -1, -1}, one = 1;
    const odd ordinary = odds[0];
    const arrays from = fill(&ordinary);
    unsigned char zeros[CHANNELS] = {7, 0, 0, 0};
    gops_onnx_builder builder;
    gops_onnx_buffer model;
    ort_session *session = NULL;
    gops_ort_load();
    gops_onnx_build(&builder, 21);
    for (int i = 0; i < 8; i++) {
        gops_onnx_build_input(&builder, names[i], types[i], i % 3 == 0 && i < 6 ? 4 : 1, open);
    }
    gops_onnx_build_node(&builder, "QLinearConv", "y", names, 8);
    gops_onnx_build_output(&builder, "y", GOPS_ONNX_UINT8, 4, open);
    gops_test_check(gops_onnx_build_end(&builder, &model), "no memory for a model");
    const bool works = gops_ort_works(gops_ort_open(&model, &settings, &session), "QLinearConv") &&
                       gops_test_check(gops_ort_claimed(session, false) == 1, "is not claimed");
    for (size_t i = 0; works && i < sizeof calls / sizeof calls[0]; i++) {
        float x_scales[] = {calls[i].x_scale, 1};
        const gops_ort_tensor inputs[] = {
            {"x", ORT_UINT8, 4, from.x_dims, (void *)from.x},
            {"sx", ORT_FLOAT, 1, &calls[i].x_count, x_scales},
            {"zx", ORT_UINT8, 1, &one, zeros},
            {"w", ORT_INT8, 4, from.w_dims, (void *)from.w},
            {"sw", ORT_FLOAT, 1, &calls[i].w_count, (void *)calls[i].w_scales},
            {"zw", ORT_INT8, 1, &calls[i].zero_count, zeros},
            {"sy", ORT_FLOAT, 1, &one, (void *)&calls[i].y_scale},
            {"zy", ORT_UINT8, 1, &one, zeros}};
        ort_value *output = NULL;
        ort_status *status = gops_ort_run(session, inputs, 8, &output);
        if (calls[i].refusal == NULL) {
            gops_ort_works(status, "QLinearConv with what is fed");
            gops_test_check(calls[i].x_scale != 0 || is_zero_point(output, zeros[0]),
                            "x_scale 0: the output is not its zero point");
        } else {
            gops_ort_is_refused(status, calls[i].refusal, calls[i].refusal);
        }
        gops_ort_load()->release_value(output);
    }
    gops_ort_load()->release_session(session);
    free(model.bytes);
}

/* What the runtime makes no QLinearConv of is divided by the output's scale: 91 / 14 is 6.5, and 91 * (1 / 14) a bit
 * more. */
static void divided(void)
{
    enum { SIDE = 16, COUNT = SIDE * SIDE, X_ZERO = 128, Y_ZERO = 100, WEIGHT = 7, SCALE = 14 };
    static unsigned char x[COUNT];
    static const signed char weight = WEIGHT, none = 0;
    static const unsigned char x_zero = X_ZERO, y_zero = Y_ZERO;
    const float one = 1, scale = SCALE;
    const int64_t dims[] = {1, 1, SIDE, SIDE}, filter[] = {1, 1, 1, 1};
    const gops_ort_tensor input = {"x", ORT_UINT8, 4, dims, x};
    const gops_ort_session_settings settings = {GROUPOPS_ORT_PROVIDER, ORT_OPTIMIZE_ALL, 1, false};
    gops_ort_load();
    for (int i = 0; i < COUNT; i++) {
        x[i] = (unsigned char)i;
    }
    for (int relu = 0; relu < 2; relu++) {
        gops_onnx_builder made;
        gops_onnx_buffer model;
        ort_session *session = NULL;
        ort_value *output = NULL;
        gops_tensor tensor;
        gops_onnx_build(&made, 13);
        gops_onnx_build_input(&made, "x", GOPS_ONNX_UINT8, 4, dims);
        gops_onnx_build_constant(&made, "one", GOPS_ONNX_FLOAT, 0, NULL, &one, sizeof one);
        gops_onnx_build_constant(&made, "sy", GOPS_ONNX_FLOAT, 0, NULL, &scale, sizeof scale);
        gops_onnx_build_constant(&made, "zx", GOPS_ONNX_UINT8, 0, NULL, &x_zero, 1);
        gops_onnx_build_constant(&made, "zy", GOPS_ONNX_UINT8, 0, NULL, &y_zero, 1);
        gops_onnx_build_constant(&made, "zw", GOPS_ONNX_INT8, 0, NULL, &none, 1);
        gops_onnx_build_constant(&made, "w", GOPS_ONNX_INT8, 4, filter, &weight, 1);
        gops_onnx_build_node(&made, "DequantizeLinear", "f", (const char *[]){"x", "one", "zx"}, 3);
        gops_onnx_build_node(&made, "DequantizeLinear", "wf", (const char *[]){"w", "one", "zw"},
                             3);
        gops_onnx_build_node(&made, relu ? "Conv" : "ConvTranspose", relu ? "c" : "r",
                             (const char *[]){"f", "wf"}, 2);
        if (relu) {
            gops_onnx_build_node(&made, "Relu", "r", (const char *[]){"c"}, 1);
        }
        gops_onnx_build_node(&made, "QuantizeLinear", "y", (const char *[]){"r", "sy", "zy"}, 3);
        gops_onnx_build_output(&made, "y", GOPS_ONNX_UINT8, 4, dims);
        gops_test_check(gops_onnx_build_end(&made, &model), "no memory for a model");
        const char *what = relu ? "a Relu" : "a ConvTranspose";
        if (gops_ort_works(gops_ort_open(&model, &settings, &session), what) &&
            gops_ort_works(gops_ort_run(session, &input, 1, &output), what)) {
            const unsigned char *y = gops_ort_values(output, &tensor);
            gops_test_check(gops_ort_claimed(session, false) == 4 + relu, "%s: %d nodes", what,
                            gops_ort_claimed(session, false));
            for (int i = 0; i < COUNT; i++) {
                const float sum = (float)((i - X_ZERO) * WEIGHT);
                const int expected = (int)nearbyintf((relu && sum < 0 ? 0 : sum) / scale) + Y_ZERO;
                gops_test_check(y[i] == expected, "%s: %d is %d, not %d", what, i, y[i], expected);
            }
        }
        gops_ort_load()->release_value(output);
        gops_ort_load()->release_session(session);
        free(model.bytes);
    }
}

int main(void)
{
    const gops_test_case cases[] = {
        {"chain", chain}, {"fed", fed}, {"divided", divided}, {NULL, NULL}};
    const int status = gops_test_main("ONNX Runtime, odd quantized models", cases);
    gops_ort_unload();
    return status;
}
