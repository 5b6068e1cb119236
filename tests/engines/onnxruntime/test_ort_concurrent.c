/* One session, run by several threads at once. */
#include "ort_layer.h"

#include "elements.h"
#include "harness.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { CALLERS = 4, SHAPES = 2, RUNS = 40, MAX_INPUTS = 3 };

typedef struct shape {
    ort_value *inputs[MAX_INPUTS];
    void *memory[MAX_INPUTS];
    ort_value *expected;
    size_t bytes; /* of the output */
} shape;

typedef struct caller {
    pthread_t thread;
    const ort_api *api;
    ort_session *session;
    size_t input_count;
    const shape *shapes;
    int first;
    int wrong;
} caller;

static bool run_once(const caller *self, const shape *with, ort_value **output)
{
    static const char *const inputs[] = {"x", "w", "b"}, *const outputs[] = {"y"};
    *output = NULL;
    return self->api->run(self->session, NULL, inputs, (const ort_value *const *)with->inputs,
                          self->input_count, outputs, 1, output) == NULL;
}

/* Asserts nothing: CUnit counts on one thread alone. */
static void *call(void *argument)
{
    caller *self = argument;
    for (int i = 0; i < RUNS; i++) {
        const shape *with = &self->shapes[(self->first + i) % SHAPES];
        ort_value *output;
        void *expected, *got;
        self->wrong += !(run_once(self, with, &output) &&
                         self->api->get_tensor_data(with->expected, &expected) == NULL &&
                         self->api->get_tensor_data(output, &got) == NULL &&
                         memcmp(expected, got, with->bytes) == 0);
        self->api->release_value(output);
    }
    return NULL;
}

static ort_value *make_input(const char *name, const gops_tensor *tensor, gops_test_random *random,
                             void **memory)
{
    const int64_t count = gops_test_elements(tensor);
    *memory = malloc((size_t)count * sizeof(float) + 1);
    gops_test_random_fill(random, GOPS_F32, *memory, count);
    const gops_ort_tensor input = {name, ORT_FLOAT, tensor->rank, tensor->dims, *memory};
    return gops_ort_value(&input);
}

static void make_shapes(gops_ort_opened *made, const caller *first, shape *shapes)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 7);
    for (int i = 0; i < SHAPES; i++) {
        gops_tensor data = made->values.data.tensor, output;
        data.dims[2] += made->layer.open ? 4 * i : 0;
        shapes[i].inputs[0] = make_input("x", &data, &random, &shapes[i].memory[0]);
        shapes[i].inputs[1] =
            make_input("w", &made->values.weights.tensor, &random, &shapes[i].memory[1]);
        shapes[i].inputs[2] =
            make_input("b", &made->values.bias.tensor, &random, &shapes[i].memory[2]);
        if (gops_test_check(run_once(first, &shapes[i], &shapes[i].expected), "a run alone")) {
            gops_ort_values(shapes[i].expected, &output);
            shapes[i].bytes = (size_t)gops_test_elements(&output) * sizeof(float);
        }
    }
}

static void check(const gops_ort_layer *layer, int threads)
{
    const ort_api *api = gops_ort_load();
    shape shapes[SHAPES] = {0};
    caller callers[CALLERS];
    gops_ort_opened made;
    if (!gops_ort_layer_open(layer, threads, &made)) {
        return;
    }
    for (int i = 0; i < CALLERS; i++) {
        const size_t inputs = layer->fed_weights ? MAX_INPUTS : 1;
        callers[i] = (caller){.api = api,
                              .session = made.session,
                              .input_count = inputs,
                              .shapes = shapes,
                              .first = i};
    }
    make_shapes(&made, &callers[0], shapes);
    for (int i = 0; i < CALLERS; i++) {
        pthread_create(&callers[i].thread, NULL, call, &callers[i]);
    }
    for (int i = 0; i < CALLERS; i++) {
        pthread_join(callers[i].thread, NULL);
        gops_test_check(callers[i].wrong == 0, "%s: caller %d got %d wrong results of %d",
                        layer->type, i, callers[i].wrong, RUNS);
    }
    for (int i = 0; i < SHAPES; i++) {
        api->release_value(shapes[i].expected);
        for (int k = 0; k < MAX_INPUTS; k++) {
            api->release_value(shapes[i].inputs[k]);
            free(shapes[i].memory[k]);
        }
    }
    gops_ort_layer_close(&made);
}

/* Layers by themselves, and of closed shapes and constant weights regions, with an image for each thread. */
static void concurrent(void)
{
    static const char *const types[] = {"Conv", "ConvTranspose", "GroupNormalization"};
    gops_ort_load();
    for (size_t type = 0; type < sizeof types / sizeof types[0]; type++) {
        for (int kind = 0; kind < 4; kind++) {
            const gops_ort_layer layer = {
                .type = types[type],
                .opset = kind < 2 ? 18 : 21,
                .element = GOPS_F32,
                .axes = 2,
                .batch = gops_ort_cores(),
                .groups = 3,
                .channels_in = 5,
                .channels_out = type == 2 ? 5 : 7,
                .data = {23, 29},
                .kernel = {3, 2},
                .bias = true,
                .fed_weights = kind % 2 == 1,
                .open = kind >= 2,
            };
            check(&layer, 2);
        }
    }
}

int main(void)
{
    const gops_test_case cases[] = {{"concurrent", concurrent}, {NULL, NULL}};
    const int status = gops_test_main("ONNX Runtime, runs at once", cases);
    gops_ort_unload();
    return status;
}
