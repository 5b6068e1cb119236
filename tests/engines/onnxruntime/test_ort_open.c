/* Models that leave shapes open, run with many of them: those that the library refuses (nothing to
 * sum, nothing to write), those that the runtime refuses, and ordinary ones between them. What the
 * runtime's own provider makes of a shape is what a session with ours must make of it. */
#include "ort_drawn_layer.h"

#include "compare.h"
#include "elements.h"
#include "guarded_memory.h"
#include "harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 1280, MODELS = 100, SHAPES = 12 };

/* How many shapes were compared, and of them those with nothing to sum and those without an output;
 * and how many one side or both refused. */
typedef struct answers {
    int compared, sumless, empty, only_ours, neither;
} answers;

static int64_t one_of(gops_test_random *random, const int64_t *values, int count)
{
    return values[gops_test_random_range(random, 0, count - 1)];
}

/* Sizes around 0 and around the kernel's. */
static int64_t draw_size(gops_test_random *random)
{
    static const int64_t sizes[] = {0, 0, 1, 2, 3, 5, 7, 11};
    return one_of(random, sizes, sizeof sizes / sizeof sizes[0]);
}

static gops_ort_layer draw_layer(gops_test_random *random, const char *type)
{
    static const char *const activations[] = {NULL, NULL, "Relu", "Sigmoid", "Swish"};
    static const gops_type elements[] = {GOPS_F32, GOPS_F32, GOPS_F32, GOPS_F64, GOPS_F16};
    gops_ort_layer layer = {
        .type = type,
        .opset = 21,
        .element = elements[gops_test_random_range(random, 0, 4)],
        .axes = (int)gops_test_random_range(random, 1, 3),
        .batch = 1,
        .groups = gops_test_random_range(random, 1, 3),
        .channels_in = gops_test_random_range(random, 1, 3),
        .channels_out = gops_test_random_range(random, 1, 3),
        .bias = gops_test_random_chance(random, 60),
        .fed_weights = gops_test_random_chance(random, 60),
        .open = true,
        .activation = activations[gops_test_random_range(random, 0, 4)],
    };
    layer.open_weights = layer.fed_weights && gops_test_random_chance(random, 80);
    layer.says_kernel = gops_test_random_chance(random, layer.open_weights ? 10 : 50);
    for (int i = 0; i < layer.axes; i++) {
        layer.kernel[i] = gops_test_random_range(random, 1, 4);
        layer.data[i] = 5;
    }
    gops_ort_draw_numbers(random, layer.axes, 60, 1, 3, &layer.strides);
    gops_ort_draw_numbers(random, layer.axes, 40, 1, 2, &layer.dilations);
    gops_ort_draw_pads(random, 3, &layer);
    if (strcmp(type, "ConvTranspose") == 0) {
        gops_ort_draw_numbers(random, layer.axes, 30, 0, 2, &layer.output_padding);
        gops_ort_draw_numbers(random, layer.axes, 25, 0, 9, &layer.output_shape);
    } else if (strcmp(type, "GroupNormalization") == 0) {
        layer.bias = true;
        /* Writes an epsilon that keeps what is divided by away from 0. */
        layer.strides.given = true;
        layer.opset = gops_test_random_chance(random, 50) ? 18 : 21;
        layer.channels_out = layer.channels_in;
    }
    return layer;
}

/* Other sizes for what the model leaves open. */
static gops_ort_layer draw_shape(gops_test_random *random, const gops_ort_layer *layer)
{
    static const int64_t batches[] = {0, 1, 1, 1, 2}, channels[] = {0, 1, 1, 2, 2, 3, 3, 5};
    gops_ort_layer fed = *layer;
    fed.batch = one_of(random, batches, 5);
    for (int i = 0; i < layer->axes; i++) {
        fed.data[i] = draw_size(random);
    }
    if (layer->open_weights) {
        if (strcmp(layer->type, "GroupNormalization") == 0) {
            /* Of no channel the runtime, which reshapes by the data's dimensions, where 0 stands
             * for that of the input, makes an output that has not the data's shape. */
            fed.channels_in = fed.channels_out = one_of(random, channels + 1, 7);
        } else if (gops_test_random_chance(random, 50)) {
            fed.channels_in = one_of(random, channels, 8);
            fed.channels_out = one_of(random, channels, 8);
        }
        for (int i = 0; i < layer->axes && gops_test_random_chance(random, 60); i++) {
            fed.kernel[i] = gops_test_random_range(random, 1, 4);
        }
    }
    return fed;
}

/* A length that does not fit the others, or is broadcast, as far as the model leaves it open. */
static void spoil(gops_test_random *random, const gops_ort_layer *layer,
                  gops_ort_values_of_layer *values)
{
    gops_ort_numbers_of *spoiled = &values->data;
    if (layer->open_weights && layer->bias && gops_test_random_chance(random, 60)) {
        spoiled = gops_test_random_chance(random, 50) ? &values->bias : &values->weights;
    }
    gops_tensor *tensor = &spoiled->tensor;
    if (tensor->rank == 1 && gops_test_random_chance(random, 50)) {
        tensor->dims[0] = 1;
    } else {
        tensor->dims[tensor->rank == 1 ? 0 : 1] += gops_test_random_range(random, 1, 3);
    }
    free(spoiled->values);
    gops_ort_layer_draw(layer, random, spoiled);
}

/* Shapes that the runtime's own provider cannot be asked for: of no channel its Conv does not
 * return, and its ConvTranspose adds to what nobody wrote; ConvTranspose of other than two axes
 * reads data of size 0, and dies of it. */
static bool has_oracle(const gops_ort_layer *fed)
{
    const bool deconv = strcmp(fed->type, "ConvTranspose") == 0;
    bool has = fed->channels_in > 0 || strcmp(fed->type, "GroupNormalization") == 0;
    for (int i = 0; i < fed->axes; i++) {
        has = has && (fed->data[i] > 0 || fed->axes == 2 || !deconv);
    }
    return has || (deconv && fed->batch == 0);
}

/* Where that is so there is nothing to sum, and an answer is the bias. */
static bool check_bias(const gops_ort_layer *fed, const gops_ort_values_of_layer *values,
                       const char *name, ort_session *ours)
{
    const ort_api *api = gops_ort_load();
    ort_value *got = NULL;
    gops_tensor tensor;
    bool right = true;
    ort_status *status = gops_ort_layer_run(fed, fed->element, values, ours, &got);
    if (status != NULL) {
        api->release_status(status);
        return true;
    }
    const void *data = gops_ort_values(got, &tensor);
    const int64_t count = gops_test_elements(&tensor);
    for (int64_t i = 0; i < count && fed->activation == NULL && right; i++) {
        const int64_t c = i / (count / tensor.dims[0] / tensor.dims[1]) % tensor.dims[1];
        const double expected = fed->bias ? values->bias.values[c] : 0;
        const double element = (double)gops_test_get_real(tensor.type, data, i);
        right = gops_test_check(element == expected, "%s: element %lld is %g, the bias %g", name,
                                (long long)i, element, expected);
    }
    api->release_value(got);
    return right;
}

static void write_name(const gops_ort_layer *fed, const gops_ort_values_of_layer *values,
                       char *name, size_t size)
{
    const gops_tensor *const tensors[] = {&values->data.tensor, &values->weights.tensor,
                                          &values->bias.tensor};
    gops_ort_layer_name(fed, name, size);
    size_t used = strlen(name);
    for (int i = 0; i < 3 && used + 128 < size; i++) {
        used += (size_t)snprintf(name + used, size - used, " %c", "xwb"[i]);
        for (int k = 0; k < tensors[i]->rank; k++) {
            used += (size_t)snprintf(name + used, size - used, "%c%lld", k == 0 ? '=' : ',',
                                     (long long)tensors[i]->dims[k]);
        }
    }
}

/* Sums are exact in f32; the functions after them, a normalization and the other element types
 * round. */
static bool is_same(const gops_ort_layer *fed, const char *name, ort_value *alone, ort_value *ours)
{
    gops_tensor expected_tensor, tensor;
    const void *expected_data = gops_ort_values(alone, &expected_tensor);
    const void *got = gops_ort_values(ours, &tensor);
    expected_tensor.type = tensor.type; /* the oracle's is f32 */
    if (!gops_test_check(tensor.type == fed->element &&
                             memcmp(&tensor, &expected_tensor, sizeof tensor) == 0,
                         "%s: the output's shape or type is another", name)) {
        return false;
    }
    const int64_t count = gops_test_elements(&tensor);
    long double *expected = gops_test_allocate((size_t)(2 * count + 1) * sizeof *expected);
    for (int64_t i = 0; i < count; i++) {
        expected[i] = gops_test_get_real(GOPS_F32, expected_data, i);
        expected[count + i] = (1 + fabsl(expected[i])) *
                              (256 * gops_test_unit_roundoff(GOPS_F32) +
                               (fed->element == GOPS_F16 ? gops_test_unit_roundoff(GOPS_F16) : 0));
    }
    const bool same =
        gops_test_check(gops_test_compare(name, &tensor, got, expected, expected + count),
                        "%s: the values differ", name);
    free(expected);
    return same;
}

static void count_compared(const gops_ort_values_of_layer *values, ort_value *output, answers *seen)
{
    const int64_t *dims = values->data.tensor.dims;
    gops_tensor tensor;
    gops_ort_values(output, &tensor);
    const bool empty = gops_test_elements(&tensor) == 0;
    seen->compared++;
    seen->empty += empty;
    seen->sumless += !empty && dims[0] > 0 && gops_test_elements(&values->data.tensor) == 0;
}

/* What the runtime alone answers must be answered; false where it is not, or is another. */
static bool check_shape(const gops_ort_layer *fed, const gops_ort_values_of_layer *values,
                        ort_session *alone, ort_session *ours, answers *seen)
{
    const ort_api *api = gops_ort_load();
    char name[NAME_BYTES];
    ort_value *expected = NULL, *got = NULL;
    bool right = true;
    write_name(fed, values, name, sizeof name);
    if (!has_oracle(fed)) {
        return check_bias(fed, values, name, ours);
    }
    ort_status *refused = gops_ort_layer_run(fed, GOPS_F32, values, alone, &expected);
    ort_status *status = gops_ort_layer_run(fed, fed->element, values, ours, &got);
    if (refused == NULL) {
        right = gops_ort_works(status, name) && is_same(fed, name, expected, got);
        count_compared(values, expected, seen);
    } else {
        seen->only_ours += status == NULL;
        seen->neither += status != NULL;
        api->release_status(refused);
        if (status != NULL) {
            api->release_status(status);
        }
    }
    api->release_value(expected);
    api->release_value(got);
    return right;
}

static bool check_shapes(gops_test_random *random, const gops_ort_layer *layer,
                         const gops_ort_numbers_of *bias, ort_session *alone, ort_session *ours,
                         answers *seen)
{
    bool right = true;
    for (int i = 0; i < SHAPES && right; i++) {
        const gops_ort_layer fed = draw_shape(random, layer);
        gops_ort_values_of_layer given;
        gops_ort_layer_fill(&fed, random, &given);
        if (gops_test_random_chance(random, 20)) {
            spoil(random, &fed, &given);
        }
        if (!layer->fed_weights) { /* the model has its own */
            memcpy(given.bias.values, bias->values,
                   (size_t)gops_test_elements(&bias->tensor) * sizeof *bias->values);
        }
        right = check_shape(&fed, &given, alone, ours, seen);
        gops_ort_layer_free(&given);
    }
    return right;
}

static int nodes_of(const gops_ort_layer *layer)
{
    return layer->activation == NULL ? 1 : strcmp(layer->activation, "Swish") == 0 ? 3 : 2;
}

static bool check_model(gops_test_random *random, const char *type, answers *seen)
{
    const gops_ort_session_settings alone_settings = {NULL, ORT_OPTIMIZE_NONE, 1, false},
                                    settings = {GROUPOPS_ORT_PROVIDER, ORT_OPTIMIZE_ALL, 2, false};
    const ort_api *api = gops_ort_load();
    const gops_ort_layer layer = draw_layer(random, type);
    gops_ort_values_of_layer values;
    gops_onnx_buffer oracle_model, model;
    ort_session *alone = NULL, *ours = NULL;
    gops_ort_layer_fill(&layer, random, &values);
    gops_ort_layer_model(&layer, GOPS_F32, &values, &oracle_model);
    gops_ort_layer_model(&layer, layer.element, &values, &model);
    const bool right =
        gops_ort_works(gops_ort_open(&oracle_model, &alone_settings, &alone), "opening") &&
        gops_ort_works(gops_ort_open(&model, &settings, &ours), "opening") &&
        gops_test_check(gops_ort_claimed(ours, false) == nodes_of(&layer),
                        "not all nodes were claimed") &&
        check_shapes(random, &layer, &values.bias, alone, ours, seen);
    api->release_session(alone);
    api->release_session(ours);
    gops_ort_layer_free(&values);
    free(oracle_model.bytes);
    free(model.bytes);
    return right;
}

/* Goes on, up to 10 times as long, until there was a shape without a sum and one without an output
 * where there have to be: of some seeds' transposed convolutions none of the first is so. */
static answers check(const char *type, uint64_t stream, bool rare)
{
    answers seen = {0};
    gops_ort_load();
    for (int i = 0;
         i < MODELS || (rare && i < 10 * MODELS && (seen.sumless == 0 || seen.empty == 0)); i++) {
        gops_test_random random = gops_test_random_start(gops_test_seed(), stream + (uint64_t)i);
        if (!check_model(&random, type, &seen)) {
            break;
        }
    }
    printf("%s: %d shapes compared, %d with nothing to sum, %d with nothing to write; refused by "
           "the runtime alone %d, by both %d\n",
           type, seen.compared, seen.sumless, seen.empty, seen.only_ours, seen.neither);
    gops_test_check(seen.compared > MODELS, "only %d shapes were compared", seen.compared);
    return seen;
}

static void check_convolution(const char *type, uint64_t stream)
{
    const answers seen = check(type, stream, true);
    gops_test_check(seen.sumless > 0 && seen.empty > 0,
                    "no shape without a sum, or none without an output");
}

static void conv(void)
{
    check_convolution("Conv", 0);
}

static void deconv(void)
{
    check_convolution("ConvTranspose", 1000);
}

static void norm(void)
{
    check("GroupNormalization", 2000, false);
}

/* A convolution whose rank is open too may come with four spatial axes, which the library has none
 * for and the runtime has. */
static void ranks(void)
{
    const ort_api *api = gops_ort_load();
    const gops_ort_session_settings settings = {GROUPOPS_ORT_PROVIDER, ORT_OPTIMIZE_ALL, 1, false};
    const int64_t data_dims[] = {1, 2, 2, 3, 1, 2}, weights_dims[] = {1, 2, 1, 2, 1, 2};
    float data[2 * 12], weights[2 * 4] = {1, 0, 0, -1, 2, 0, 0, 3};
    gops_onnx_builder builder;
    gops_onnx_buffer model;
    ort_session *session = NULL;
    ort_value *output = NULL;
    gops_tensor tensor;
    for (int i = 0; i < 2 * 12; i++) {
        data[i] = (float)(i * i % 29);
    }
    gops_onnx_build(&builder, 21);
    gops_onnx_build_input(&builder, "x", GOPS_ONNX_FLOAT, -1, NULL);
    gops_onnx_build_input(&builder, "w", GOPS_ONNX_FLOAT, -1, NULL);
    gops_onnx_build_node(&builder, "Conv", "y", (const char *[]){"x", "w"}, 2);
    gops_onnx_build_output(&builder, "y", GOPS_ONNX_FLOAT, -1, NULL);
    if (gops_test_check(gops_onnx_build_end(&builder, &model), "no memory") &&
        gops_ort_works(gops_ort_open(&model, &settings, &session), "opening") &&
        gops_ort_works(gops_ort_run(session,
                                    (const gops_ort_tensor[]){
                                        {"x", ORT_FLOAT, 6, data_dims, data},
                                        {"w", ORT_FLOAT, 6, weights_dims, weights},
                                    },
                                    2, &output),
                       "four axes")) {
        const float *values = gops_ort_values(output, &tensor);
        /* The first window begins at 0 of channel 0 and at 12 of channel 1; 3 is its last tap. */
        const float expected = data[0] - data[3] + 2 * data[12] + 3 * data[15];
        gops_test_check(gops_test_elements(&tensor) == 4 && values[0] == expected,
                        "%g of %lld, not %g of 4", (double)values[0],
                        (long long)gops_test_elements(&tensor), (double)expected);
    }
    api->release_value(output);
    api->release_session(session);
    free(model.bytes);
}

int main(void)
{
    const gops_test_case cases[] = {
        {"conv", conv}, {"deconv", deconv}, {"norm", norm}, {"ranks", ranks}, {NULL, NULL}};
    const int status = gops_test_main("ONNX Runtime, open shapes", cases);
    gops_ort_unload();
    return status;
}
