/* test_tool_quantized.c: groupops run of quantized convolutions: values against the reference, by
 * equality. */
#include "reference_quantized.h"
#include "compare.h"
#include "elements.h"
#include "harness.h"
#include "guarded_memory.h"
#include "random_numbers.h"
#include "tool_layer.h"
#include "tool_npy.h"
#include "tool_process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* NumPy's name of a type; bf16 goes by the integers of its size. */
static const char *dtype(gops_type type)
{
    return type == GOPS_U8    ? "u1"
           : type == GOPS_I8  ? "i1"
           : type == GOPS_I32 ? "i4"
           : type == GOPS_F32 ? "f4"
           : type == GOPS_F16 ? "f2"
                              : "u2";
}

typedef struct quantized_run {
    tool_layer layer;
    gops_tensor output; /* its descriptor */
    int64_t channels;
    void *x, *w, *residual;
    int32_t *bias;
    float *scales; /* one for each channel */
    int64_t *zeros;
    gops_reference_quantization quantization;
    gops_activation activation;
} quantized_run;

static gops_type draw_type(gops_test_random *random)
{
    return gops_test_random_chance(random, 50) ? GOPS_U8 : GOPS_I8;
}

static int64_t draw_zero(gops_test_random *random, gops_type type)
{
    return gops_test_random_range(random, 0, UINT8_MAX) + (type == GOPS_I8 ? INT8_MIN : 0);
}

static void *draw_tensor(quantized_run *run, const char *flag, const gops_tensor *tensor)
{
    return tool_layer_tensor(&run->layer, flag, dtype(tensor->type), tensor);
}

static void draw_shapes(quantized_run *run, gops_type output)
{
    const gops_type data = draw_type(&run->layer.random), filter = draw_type(&run->layer.random);
    tool_layer_draw(&run->layer, data, filter);
    run->layer.geometry.output.type = GOPS_I32;
    run->output = run->layer.geometry.output;
    run->output.type = output;
    run->channels = run->output.dims[1];
    tool_layer_add(&run->layer, " --output-type=%s", gops_test_type_name(output));
    run->x = draw_tensor(run, "data", &run->layer.data);
    run->w = draw_tensor(run, "filter", &run->layer.filter);
}

/* A scale near `middle`, or nothing said of it. */
static float draw_scale(quantized_run *run, const char *flag, double middle)
{
    if (gops_test_random_chance(&run->layer.random, 20))
        return 1;
    const float scale = (float)(middle * (1 + 0.9 * gops_test_random_real(&run->layer.random)));
    tool_layer_add(&run->layer, " --%s=%.9g", flag, (double)scale);
    return scale;
}

static int64_t draw_zero_point(quantized_run *run, const char *flag, gops_type type)
{
    if (gops_test_random_chance(&run->layer.random, 20))
        return 0;
    const int64_t zero = draw_zero(&run->layer.random, type);
    tool_layer_add(&run->layer, " --%s=%d", flag, (int)zero);
    return zero;
}

/* None, a number, or a file of f32 or f64. */
static void draw_filter_scales(quantized_run *run)
{
    const gops_tensor each = GOPS_TEST_TENSOR(GOPS_F32, run->channels);
    const int64_t how = gops_test_random_range(&run->layer.random, 0, 3);
    double *wide = gops_test_allocate((size_t)run->channels * sizeof *wide);
    run->scales = gops_test_allocate((size_t)run->channels * sizeof *run->scales);
    for (int64_t o = 0; o < run->channels; o++) {
        run->scales[o] = (float)(0.02 * (1.1 + gops_test_random_real(&run->layer.random)));
        if (how < 2)
            run->scales[o] = how == 0 ? 1 : run->scales[0];
        wide[o] = (double)run->scales[o];
    }
    if (how == 1)
        tool_layer_add(&run->layer, " --filter-scales=%.9g", (double)run->scales[0]);
    if (how == 2)
        tool_npy_write("scales.npy", "f4", &each, run->scales);
    if (how == 3)
        tool_npy_write("scales.npy", "f8", &each, wide);
    if (how > 1)
        tool_layer_add(&run->layer, " --filter-scales=scales.npy");
    free(wide);
}

static void draw_filter_zero_points(quantized_run *run)
{
    const gops_tensor each = GOPS_TEST_TENSOR(run->layer.filter.type, run->channels);
    const int64_t how = gops_test_random_range(&run->layer.random, 0, 3);
    signed char *codes = gops_test_allocate((size_t)run->channels);
    run->zeros = gops_test_allocate((size_t)run->channels * sizeof *run->zeros);
    for (int64_t o = 0; o < run->channels; o++) {
        run->zeros[o] = draw_zero(&run->layer.random, run->layer.filter.type);
        if (how < 2)
            run->zeros[o] = how == 0 ? 0 : run->zeros[0];
        gops_test_set_integer(run->layer.filter.type, codes, o, (uint64_t)run->zeros[o]);
    }
    if (how == 1)
        tool_layer_add(&run->layer, " --filter-zero-points=%d", (int)run->zeros[0]);
    if (how == 2)
        tool_npy_write("zeros.npy", dtype(run->layer.filter.type), &each, codes);
    if (how == 3)
        tool_npy_write("zeros.npy", "i8", &each, run->zeros);
    if (how > 1)
        tool_layer_add(&run->layer, " --filter-zero-points=zeros.npy");
    free(codes);
}

static void draw_bias(quantized_run *run)
{
    const gops_tensor tensor = GOPS_TEST_TENSOR(GOPS_I32, run->channels);
    if (gops_test_random_chance(&run->layer.random, 30))
        return;
    run->bias = gops_test_allocate((size_t)run->channels * sizeof *run->bias);
    for (int64_t o = 0; o < run->channels; o++)
        run->bias[o] = (int32_t)gops_test_random_range(&run->layer.random, -40000, 40000);
    tool_npy_write("bias.npy", "i4", &tensor, run->bias);
    tool_layer_add(&run->layer, " --bias=bias.npy");
}

static void draw_residual(quantized_run *run)
{
    gops_tensor residual = run->output;
    run->quantization.residual_type = run->output.type;
    run->quantization.residual_scale = 1;
    if (gops_test_random_chance(&run->layer.random, 50))
        return;
    if (run->output.type != GOPS_I32 && gops_test_random_chance(&run->layer.random, 70))
        residual.type = draw_type(&run->layer.random);
    run->quantization.residual_type = residual.type;
    run->residual = draw_tensor(run, "residual", &residual);
    if (run->output.type != GOPS_I32)
        run->quantization.residual_scale = draw_scale(run, "residual-scale", 0.5);
    if (residual.type == GOPS_U8 || residual.type == GOPS_I8)
        run->quantization.residual_zero_point =
            draw_zero_point(run, "residual-zero-point", residual.type);
}

/* Those that call no function that may round in two ways. */
static void draw_activation(quantized_run *run)
{
    static const struct {
        const char *text;
        gops_activation activation;
    } all[] = {
        {"none", {GOPS_ACTIVATION_NONE, 0, 0}},
        {"relu", {GOPS_ACTIVATION_RELU, 0, 0}},
        {"clamp:-11,57", {GOPS_ACTIVATION_CLAMP, -11, 57}},
        {"clamp:-3.5,60.25", {GOPS_ACTIVATION_CLAMP, -3.5, 60.25}},
        {"leaky_relu:0.125", {GOPS_ACTIVATION_LEAKY_RELU, 0.125, 0}},
        {"hard_swish", {GOPS_ACTIVATION_HARD_SWISH, 0, 0}},
        {"hard_sigmoid:0.03,0.5", {GOPS_ACTIVATION_HARD_SIGMOID, 0.03, 0.5}},
    };
    const int64_t at =
        gops_test_random_range(&run->layer.random, 0, run->output.type == GOPS_I32 ? 2 : 6);
    run->activation = all[at].activation;
    if (at != 0 || gops_test_random_chance(&run->layer.random, 50))
        tool_layer_add(&run->layer, " --activation=%s", all[at].text);
}

static void compare_run(const quantized_run *run)
{
    gops_reference_result expected;
    tool_result *result = gops_test_allocate(sizeof *result);
    void (*const reference)(const gops_reference_geometry *, gops_type, const void *, gops_type,
                            const void *, const gops_reference_zero_points *,
                            gops_reference_result *) =
        run->layer.transposed ? gops_reference_deconv : gops_reference_conv;
    reference(&run->layer.geometry, run->layer.data.type, run->x, run->layer.filter.type, run->w,
              &run->quantization.zero_points, &expected);
    gops_reference_quantize(&expected, run->output.type, &run->quantization, run->bias,
                            run->residual, &run->activation);
    tool_run(result, run->layer.line, NULL);
    gops_test_check(result->exit_code == 0 && result->err[0] == '\0', "%s: %d %s", run->layer.line,
                    result->exit_code, result->err);
    void *got = tool_npy_read("y.npy", dtype(run->output.type), &run->output);
    const int is_real = gops_test_type_is_real(run->output.type);
    gops_test_check(
        got != NULL &&
            (is_real ? gops_test_compare_exact(run->layer.line, &run->output, got, expected.value)
                     : gops_test_compare_integers(run->layer.line, &run->output, got,
                                                  expected.integer)),
        "%s: see the lines above", run->layer.line);
    free(got);
    free(result);
    gops_reference_result_destroy(&expected);
}

static void check_drawn(uint64_t stream, int transposed, gops_type output)
{
    quantized_run *run = gops_test_allocate(sizeof *run);
    memset(run, 0, sizeof *run);
    run->layer.random = gops_test_random_start(gops_test_seed(), stream);
    run->layer.transposed = transposed;
    draw_shapes(run, output);
    const int scaled = output != GOPS_I32;
    run->quantization.data_scale = scaled ? draw_scale(run, "data-scale", 0.03) : 1;
    run->quantization.zero_points.data =
        draw_zero_point(run, "data-zero-point", run->layer.data.type);
    draw_filter_scales(run);
    run->quantization.filter_scales = run->scales;
    draw_filter_zero_points(run);
    run->quantization.zero_points.filter = run->zeros;
    run->quantization.output_scale = 1;
    if (output == GOPS_U8 || output == GOPS_I8) {
        run->quantization.output_scale = draw_scale(run, "output-scale", 0.7);
        run->quantization.output_zero_point = draw_zero_point(run, "output-zero-point", output);
    }
    draw_bias(run);
    draw_residual(run);
    draw_activation(run);
    compare_run(run);
    void *const all[] = {run->x, run->w, run->residual, run->bias, run->scales, run->zeros};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]);
    free(run);
}

static void values(void)
{
    static const gops_type outputs[] = {GOPS_I32, GOPS_U8, GOPS_I8, GOPS_F32, GOPS_F16, GOPS_BF16};
    for (uint64_t draw = 0; draw < 20; draw++)
        for (size_t i = 0; i < sizeof outputs / sizeof outputs[0]; i++)
            check_drawn(draw * 16 + i, (int)((draw + i) % 2), outputs[i]);
}

/* bias, residual and activation of a convolution that is not quantized. */
static void not_quantized(void)
{
    const gops_tensor data = GOPS_TEST_TENSOR(GOPS_F32, 1, 2, 3);
    const gops_tensor filter = GOPS_TEST_TENSOR(GOPS_F32, 1, 2, 2, 2);
    const gops_tensor output = GOPS_TEST_TENSOR(GOPS_F32, 1, 2, 2);
    const gops_tensor bias = GOPS_TEST_TENSOR(GOPS_F32, 2);
    static const float x[] = {1, 2, 3, 4, 5, 6}, w[] = {1, 10, 100, 1000, 2, 0, 0, -1};
    static const float b[] = {0.5F, -1}, r[] = {1, 2, 3, 7};
    /* 1 + 20 + 400 + 5000, 2 + 30 + 500 + 6000; 2 - 5, 4 - 6 */
    static const float expected[] = {5421.5F + 1, 6532.5F + 2, 0, -2 - 1 + 7};
    tool_npy_write("x.npy", "f4", &data, x);
    tool_npy_write("w.npy", "f4", &filter, w);
    tool_npy_write("b.npy", "f4", &bias, b);
    tool_npy_write("r.npy", "f4", &output, r);
    tool_expect("run conv --data=x.npy --filter=w.npy --bias=b.npy --residual=r.npy "
                "--activation=relu --output=y.npy",
                0, "");
    float *got = tool_npy_read("y.npy", "f4", &output);
    gops_test_check(got != NULL && gops_test_compare_bytes("fused", &output, got, expected),
                    "see above");
    free(got);
    static const float after[] = {5421.5F + 1, 6532.5F + 2, 0 + 3, 0 + 7};
    tool_expect("run conv --data=x.npy --filter=w.npy --bias=b.npy --residual=r.npy "
                "--activation=relu --residual-after-activation --output=y.npy",
                0, "");
    got = tool_npy_read("y.npy", "f4", &output);
    gops_test_check(got != NULL && gops_test_compare_bytes("after", &output, got, after),
                    "see above");
    free(got);
    /* Positive values are their own elu, and these their own mish. */
    static const char *const same[] = {"elu:2", "mish"};
    static const float positive[] = {5421.5F, 6532.5F};
    for (int i = 0; i < 2; i++) {
        char words[200];
        snprintf(words, sizeof words,
                 "run conv --data=x.npy --filter=w.npy --bias=b.npy --activation=%s --output=y.npy",
                 same[i]);
        tool_expect(words, 0, "");
        got = tool_npy_read("y.npy", "f4", &output);
        gops_test_check(got != NULL && memcmp(got, positive, sizeof positive) == 0 && got[2] < 0 &&
                            got[3] < 0,
                        "%s: %g %g", same[i], got != NULL ? (double)got[0] : 0,
                        got != NULL ? (double)got[2] : 0);
        free(got);
    }
}

int main(void)
{
    static const gops_test_case cases[] = {
        {"values", values}, {"not_quantized", not_quantized}, {0}};
    tool_folder_enter();
    const int status = gops_test_main("tool_quantized", cases);
    tool_folder_leave();
    return status;
}
