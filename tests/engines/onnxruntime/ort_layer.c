/* ort_layer.c: writes and runs the models of one operator. */
#include "ort_layer.h"

#include "elements.h"
#include "harness.h"
#include "guarded_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_norm(const gops_ort_layer *layer)
{
    return strcmp(layer->type, "GroupNormalization") == 0;
}

static gops_onnx_element onnx_element(gops_type type)
{
    return type == GOPS_F16   ? GOPS_ONNX_FLOAT16
           : type == GOPS_F64 ? GOPS_ONNX_DOUBLE
                              : GOPS_ONNX_FLOAT;
}

static double draw(const gops_ort_layer *layer, gops_test_random *random)
{
    return is_norm(layer) ? (double)(float)gops_test_random_real(random)
                          : (double)gops_test_random_range(random, -16, 16) / 8;
}

void gops_ort_layer_draw(const gops_ort_layer *layer, gops_test_random *random,
                         gops_ort_numbers_of *of)
{
    const int64_t count = gops_test_elements(&of->tensor);
    of->values = gops_test_allocate((size_t)(count + 1) * sizeof *of->values);
    for (int64_t i = 0; i < count; i++) {
        of->values[i] = draw(layer, random);
        if (layer->element == GOPS_F16 && is_norm(layer)) { /* 8 bits, which f16 has */
            of->values[i] = (double)(int64_t)(of->values[i] * 256) / 256;
        }
    }
}

void gops_ort_layer_fill(const gops_ort_layer *layer, gops_test_random *random,
                         gops_ort_values_of_layer *values)
{
    const int64_t in = layer->groups * layer->channels_in,
                  out = layer->groups * layer->channels_out;
    const bool conv = strcmp(layer->type, "Conv") == 0;
    *values = (gops_ort_values_of_layer){0};
    values->data.tensor = (gops_tensor){GOPS_F32, layer->axes + 2, {layer->batch, in}};
    values->weights.tensor =
        (gops_tensor){GOPS_F32,
                      layer->axes + 2,
                      {conv ? out : in, conv ? layer->channels_in : layer->channels_out}};
    for (int i = 0; i < layer->axes; i++) {
        values->data.tensor.dims[i + 2] = layer->data[i];
        values->weights.tensor.dims[i + 2] = layer->kernel[i];
    }
    values->bias.tensor = (gops_tensor){GOPS_F32, 1, {out}};
    if (is_norm(layer)) { /* version 18 has one value a group */
        const int64_t count = layer->opset < 21 ? layer->groups : in;
        values->weights.tensor = values->bias.tensor = (gops_tensor){GOPS_F32, 1, {count}};
    }
    gops_ort_layer_draw(layer, random, &values->data);
    gops_ort_layer_draw(layer, random, &values->weights);
    gops_ort_layer_draw(layer, random, &values->bias);
}

void gops_ort_layer_free(gops_ort_values_of_layer *values)
{
    free(values->data.values);
    free(values->weights.values);
    free(values->bias.values);
    free(values->residual.values);
}

static void *convert(const gops_ort_numbers_of *of, gops_type element, size_t *bytes)
{
    const int64_t count = gops_test_elements(&of->tensor);
    *bytes = (size_t)count * gops_test_type_bytes(element);
    void *converted = gops_test_allocate(*bytes + 1);
    for (int64_t i = 0; i < count; i++) {
        gops_test_set_real(element, converted, i, (long double)of->values[i]);
    }
    return converted;
}

static void put_numbers(gops_onnx_builder *builder, const char *name, int axes,
                        const gops_ort_numbers *numbers)
{
    if (numbers->given) {
        gops_onnx_build_ints(builder, name, numbers->values, axes);
    }
}

static void put_attributes(gops_onnx_builder *builder, const gops_ort_layer *layer)
{
    int64_t pads[2 * GOPS_ORT_AXES];
    if (is_norm(layer)) {
        gops_onnx_build_int(builder, "num_groups", layer->groups);
        if (layer->strides.given) { /* otherwise the default, 1e-5 */
            gops_onnx_build_float(builder, "epsilon", 0.03125F);
        }
        return;
    }
    if (layer->groups != 1) {
        gops_onnx_build_int(builder, "group", layer->groups);
    }
    if (layer->says_kernel) {
        gops_onnx_build_ints(builder, "kernel_shape", layer->kernel, layer->axes);
    }
    put_numbers(builder, "strides", layer->axes, &layer->strides);
    put_numbers(builder, "dilations", layer->axes, &layer->dilations);
    put_numbers(builder, "output_padding", layer->axes, &layer->output_padding);
    put_numbers(builder, "output_shape", layer->axes, &layer->output_shape);
    if (layer->pads_begin.given) {
        for (int i = 0; i < layer->axes; i++) {
            pads[i] = layer->pads_begin.values[i];
            pads[layer->axes + i] = layer->pads_end.values[i];
        }
        gops_onnx_build_ints(builder, "pads", pads, 2 * layer->axes);
    }
    if (layer->auto_pad != NULL) {
        gops_onnx_build_string(builder, "auto_pad", layer->auto_pad);
    }
}

static void put_tensor(gops_onnx_builder *builder, const gops_ort_layer *layer, const char *name,
                       gops_type element, const gops_ort_numbers_of *of)
{
    if (layer->fed_weights) {
        int64_t dims[GOPS_MAX_RANK];
        for (int i = 0; i < of->tensor.rank; i++) {
            dims[i] = layer->open_weights ? -1 : of->tensor.dims[i];
        }
        gops_onnx_build_input(builder, name, onnx_element(element), of->tensor.rank, dims);
        return;
    }
    size_t bytes;
    void *converted = convert(of, element, &bytes);
    gops_onnx_build_constant(builder, name, onnx_element(element), of->tensor.rank, of->tensor.dims,
                             converted, bytes);
    free(converted);
}

/* One slope for each channel, or one for all of them. */
static void put_slopes(gops_onnx_builder *builder, const gops_ort_layer *layer, gops_type element)
{
    const int64_t channels = layer->groups * layer->channels_out;
    gops_ort_numbers_of slopes = {
        .tensor = {GOPS_F32, layer->axes + 1, {layer->bias ? channels : 1}}};
    double values[64] = {0};
    for (int64_t c = 0; c < channels; c++) {
        values[c] = (double)(c - 3) / 8;
    }
    for (int i = 1; i <= layer->axes; i++) {
        slopes.tensor.dims[i] = 1;
    }
    slopes.values = values;
    size_t bytes;
    void *converted = convert(&slopes, element, &bytes);
    gops_onnx_build_constant(builder, "slopes", onnx_element(element), slopes.tensor.rank,
                             slopes.tensor.dims, converted, bytes);
    free(converted);
}

static void put_activation(gops_onnx_builder *builder, const gops_ort_layer *layer,
                           gops_type element, const char *from)
{
    const char *type = layer->activation;
    const char *to = layer->residual_after ? "v" : "y";
    if (strcmp(type, "Swish") == 0) {
        gops_onnx_build_node(builder, "Sigmoid", "s", (const char *[]){from}, 1);
        gops_onnx_build_node(builder, "Mul", to, (const char *[]){from, "s"}, 2);
    } else if (strcmp(type, "HardGate") == 0) {
        gops_onnx_build_node(builder, "HardSigmoid", "s", (const char *[]){from}, 1);
        gops_onnx_build_float(builder, "alpha", 1.0F / 6);
        gops_onnx_build_node(builder, "Mul", to, (const char *[]){"s", from}, 2);
    } else if (strcmp(type, "MishGate") == 0) {
        gops_onnx_build_node(builder, "Softplus", "p", (const char *[]){from}, 1);
        gops_onnx_build_node(builder, "Tanh", "s", (const char *[]){"p"}, 1);
        gops_onnx_build_node(builder, "Mul", to, (const char *[]){from, "s"}, 2);
    } else if (strcmp(type, "PRelu") == 0) {
        put_slopes(builder, layer, element);
        gops_onnx_build_node(builder, type, to, (const char *[]){from, "slopes"}, 2);
    } else if (strcmp(type, "Clip") == 0) {
        const double low = -0.75, high = 6;
        const gops_ort_numbers_of bounds[] = {{{GOPS_F32, 0, {0}}, (double *)(uintptr_t)&low},
                                              {{GOPS_F32, 0, {0}}, (double *)(uintptr_t)&high}};
        gops_onnx_build_node(builder, type, to, (const char *[]){from, "low", "high"}, 3);
        for (int i = 0; i < 2; i++) {
            size_t bytes;
            void *bound = convert(&bounds[i], element, &bytes);
            gops_onnx_build_constant(builder, i == 0 ? "low" : "high", onnx_element(element), 0,
                                     NULL, bound, bytes);
            free(bound);
        }
    } else {
        gops_onnx_build_node(builder, type, to, (const char *[]){from}, 1);
        if (strcmp(type, "LeakyRelu") == 0 || strcmp(type, "Elu") == 0) {
            gops_onnx_build_float(builder, "alpha", layer->bias ? 0.25F : -2);
        } else if (strcmp(type, "HardSigmoid") == 0 && layer->bias) { /* or its defaults */
            gops_onnx_build_float(builder, "alpha", -0.375F);
            gops_onnx_build_float(builder, "beta", 0.75F);
        }
    }
}

void gops_ort_layer_model(const gops_ort_layer *layer, gops_type element,
                          const gops_ort_values_of_layer *values, gops_onnx_buffer *model)
{
    const gops_onnx_element type = onnx_element(element);
    const gops_tensor *data = &values->data.tensor;
    int64_t open[GOPS_MAX_RANK];
    gops_onnx_builder builder;
    memset(open, 0xff, sizeof open); /* -1 */
    gops_onnx_build(&builder, layer->opset);
    gops_onnx_build_input(&builder, "x", type, data->rank, layer->open ? open : data->dims);
    put_tensor(&builder, layer, "w", element, &values->weights);
    if (layer->bias) {
        put_tensor(&builder, layer, "b", element, &values->bias);
    }
    const char *first = layer->residual ? "c" : layer->activation != NULL ? "r" : "y";
    gops_onnx_build_node(&builder, layer->type, first, (const char *[]){"x", "w", "b"},
                         layer->bias ? 3 : 2);
    put_attributes(&builder, layer);
    const char *added_to = layer->residual_after ? "v" : "c";
    if (layer->residual_after) {
        put_activation(&builder, layer, element, "c");
    }
    if (layer->residual) {
        const gops_tensor *added = &values->residual.tensor;
        const bool last = layer->activation == NULL || layer->residual_after;
        gops_onnx_build_input(&builder, "a", type, added->rank, added->dims);
        gops_onnx_build_node(&builder, "Add", last ? "y" : "r", (const char *[]){"a", added_to}, 2);
    }
    if (layer->activation != NULL && !layer->residual_after) {
        put_activation(&builder, layer, element, "r");
    }
    gops_onnx_build_output(&builder, "y", type, data->rank, open);
    if (!gops_onnx_build_end(&builder, model)) {
        fprintf(stderr, "no memory for a model\n");
        exit(EXIT_FAILURE);
    }
}

static gops_ort_tensor feed(const char *name, gops_type element, const gops_ort_numbers_of *of)
{
    size_t bytes;
    void *data = convert(of, element, &bytes);
    return (gops_ort_tensor){name, (ort_element)onnx_element(element), of->tensor.rank,
                             of->tensor.dims, data};
}

ort_status *gops_ort_layer_run(const gops_ort_layer *layer, gops_type element,
                               const gops_ort_values_of_layer *values, ort_session *session,
                               ort_value **output)
{
    gops_ort_tensor inputs[GOPS_ORT_MAX_TENSORS];
    size_t count = 0;
    inputs[count++] = feed("x", element, &values->data);
    if (layer->fed_weights) {
        inputs[count++] = feed("w", element, &values->weights);
        if (layer->bias) {
            inputs[count++] = feed("b", element, &values->bias);
        }
    }
    if (layer->residual) {
        inputs[count++] = feed("a", element, &values->residual);
    }
    ort_status *status = gops_ort_run(session, inputs, count, output);
    for (size_t i = 0; i < count; i++) {
        free(inputs[i].data);
    }
    return status;
}

bool gops_ort_layer_open(const gops_ort_layer *layer, int threads, gops_ort_opened *made)
{
    const gops_ort_session_settings settings = {GROUPOPS_ORT_PROVIDER, ORT_OPTIMIZE_ALL, threads,
                                                false};
    gops_test_random random = gops_test_random_start(gops_test_seed(), 1);
    gops_onnx_buffer model;
    *made = (gops_ort_opened){.layer = *layer};
    gops_ort_layer_fill(layer, &random, &made->values);
    gops_ort_layer_model(layer, layer->element, &made->values, &model);
    const bool works = gops_ort_works(gops_ort_open(&model, &settings, &made->session), "opening");
    free(model.bytes);
    return works;
}

void gops_ort_layer_close(gops_ort_opened *made)
{
    gops_ort_load()->release_session(made->session);
    gops_ort_layer_free(&made->values);
}

static size_t write_numbers(char *text, size_t size, const char *name, int axes,
                            const gops_ort_numbers *numbers)
{
    size_t used = 0;
    if (numbers->given && size > 96) {
        used += (size_t)snprintf(text, size, " %s", name);
        for (int i = 0; i < axes; i++) {
            used += (size_t)snprintf(text + used, size - used, "%c%lld", i == 0 ? '=' : ',',
                                     (long long)numbers->values[i]);
        }
    }
    return used;
}

const char *gops_ort_layer_name(const gops_ort_layer *layer, char *text, size_t size)
{
    gops_ort_numbers data = {true, {0}}, kernel = {true, {0}};
    memcpy(data.values, layer->data, sizeof data.values);
    memcpy(kernel.values, layer->kernel, sizeof kernel.values);
    size_t used = (size_t)snprintf(
        text, size, "%s-%d %s batch=%lld groups=%lld of %lld to %lld%s%s%s%s%s", layer->type,
        layer->opset, gops_test_type_name(layer->element), (long long)layer->batch,
        (long long)layer->groups, (long long)layer->channels_in, (long long)layer->channels_out,
        layer->bias ? " bias" : "", layer->fed_weights ? " fed" : "", layer->open ? " open" : "",
        layer->residual_after ? " residual after "
        : layer->residual     ? " residual "
                              : " ",
        layer->activation != NULL ? layer->activation : "");
    const struct {
        const char *name;
        const gops_ort_numbers *numbers;
    } lists[] = {{"data", &data},
                 {"kernel", &kernel},
                 {"strides", &layer->strides},
                 {"dilations", &layer->dilations},
                 {"pads_begin", &layer->pads_begin},
                 {"pads_end", &layer->pads_end},
                 {"output_padding", &layer->output_padding},
                 {"output_shape", &layer->output_shape}};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        used +=
            write_numbers(text + used, size - used, lists[i].name, layer->axes, lists[i].numbers);
    }
    if (layer->auto_pad != NULL) {
        snprintf(text + used, size - used, " auto_pad=%s", layer->auto_pad);
    }
    return text;
}
