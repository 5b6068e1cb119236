/* What the provider refuses, and what it leaves to the runtime. */
#include "ort_layer.h"

#include "harness.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A runtime whose tables are `table` from version `oldest` on. */
static struct {
    ort_api table;
    uint32_t oldest;
    bool none; /* not even the first version */
} fake;

static const ort_api *fake_get_api(uint32_t version)
{
    return fake.none || (version > 1 && version < fake.oldest)  ? NULL
           : version == 1 || fake.oldest <= ORT_VERSION_PLUGINS ? &fake.table
                                                                : NULL;
}

static const char *fake_get_version(void)
{
    return "1.99.0";
}

static ort_create_ep_factories *find_create(ort_release_ep_factory **give_back)
{
    ort_create_ep_factories *create = NULL;
    void *library = dlopen(GROUPOPS_ORT_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    void *found = library != NULL ? dlsym(library, "CreateEpFactories") : NULL;
    void *other = library != NULL ? dlsym(library, "ReleaseEpFactory") : NULL;
    gops_test_check(found != NULL && other != NULL, "the provider's functions are not there");
    memcpy(&create, &found, sizeof create); /* ISO C has no such conversion */
    memcpy(give_back, &other, sizeof *give_back);
    return create;
}

static ort_status *load_fake(size_t most, size_t *count)
{
    static const ort_api_base base = {fake_get_api, fake_get_version};
    ort_release_ep_factory *give_back;
    ort_create_ep_factories *create = find_create(&give_back);
    ort_ep_factory *made[1] = {NULL};
    *count = 99;
    if (create == NULL || give_back == NULL) {
        return NULL;
    }
    ort_status *status = create("groupops", &base, NULL, made, most, count);
    if (made[0] != NULL) {
        give_back(made[0]);
    }
    return status;
}

static void start_fake(void)
{
    memcpy(&fake.table, gops_ort_load(), sizeof fake.table);
    fake.oldest = ORT_VERSION_PLUGINS;
    fake.none = false;
}

static void old_runtime(void)
{
    size_t count;
    start_fake();
    gops_ort_works(load_fake(1, &count), "a runtime that is new enough");
    gops_test_check(count == 1, "%zu factories", count);
    gops_ort_is_refused(load_fake(0, &count), "no room", "no room for a factory");
    gops_test_check(count == 0, "%zu factories without room", count);
    fake.oldest = ORT_VERSION_PLUGINS + 1;
    gops_ort_is_refused(load_fake(1, &count), "older", "an old runtime");
    gops_test_check(count == 0, "%zu factories for an old runtime", count);
    fake.none = true;
    gops_ort_works(load_fake(1, &count), "a runtime that cannot even make a status");
    gops_test_check(count == 0, "%zu factories for no runtime", count);
}

/* Every slot of the table empty in turn: those that the provider calls are refused by name. */
static void empty_slots(void)
{
    enum { SLOTS = sizeof(ort_api) / sizeof(ort_slot *) };
    int refused = 0;
    size_t count;
    start_fake();
    for (size_t slot = 1; slot < SLOTS; slot++) {
        ort_slot **slots = (ort_slot **)(void *)&fake.table;
        ort_slot *const kept = slots[slot];
        char expected[32];
        slots[slot] = NULL;
        ort_status *status = load_fake(1, &count);
        snprintf(expected, sizeof expected, "slot %zu,", slot);
        gops_test_check(count == (status == NULL), "slot %zu: %zu factories", slot, count);
        if (status != NULL) {
            gops_ort_is_refused(status, expected, "an empty slot");
            refused++;
        }
        slots[slot] = kept;
    }
    gops_test_check(refused >= 40, "only %d slots are looked at", refused);
}

/* Runs on data of other dimensions than the session was opened for. */
static ort_status *run_on(const gops_ort_opened *made, const int64_t *dims, const int64_t *weights)
{
    static float zeros[4096];
    const gops_tensor *w = &made->values.weights.tensor;
    const gops_ort_tensor inputs[] = {
        {"x", ORT_FLOAT, 4, dims, zeros},
        {"w", ORT_FLOAT, w->rank, weights != NULL ? weights : w->dims, zeros},
        {"b", ORT_FLOAT, 1, made->values.bias.tensor.dims, zeros},
    };
    ort_value *output = NULL;
    ort_status *status = gops_ort_run(
        made->session, inputs, made->layer.fed_weights ? made->layer.bias ? 3 : 2 : 1, &output);
    gops_ort_load()->release_value(output);
    return status;
}

static const gops_ort_layer plain = {
    .type = "Conv",
    .opset = 21,
    .element = GOPS_F32,
    .axes = 2,
    .batch = 2,
    .groups = 3,
    .channels_in = 2,
    .channels_out = 5,
    .data = {7, 11},
    .kernel = {3, 4},
    .open = true,
};

static void shapes(void)
{
    gops_ort_layer layer = plain;
    gops_ort_opened made;
    gops_ort_load();
    if (gops_ort_layer_open(&layer, 2, &made)) {
        gops_ort_works(run_on(&made, (const int64_t[]){2, 6, 7, 11}, NULL), "the shape it has");
        gops_ort_is_refused(run_on(&made, (const int64_t[]){2, 6, 2, 11}, NULL), "groupops",
                            "data smaller than the kernel");
        gops_ort_is_refused(run_on(&made, (const int64_t[]){2, 5, 7, 11}, NULL), "groupops",
                            "another number of channels");
        gops_ort_is_refused(run_on(&made, (const int64_t[]){2, 6, 0, 11}, NULL), "groupops",
                            "an empty axis");
        gops_ort_works(run_on(&made, (const int64_t[]){0, 6, 7, 11}, NULL), "an empty batch");
        gops_ort_works(run_on(&made, (const int64_t[]){1, 6, 5, 9}, NULL), "another shape");
    }
    gops_ort_layer_close(&made);
    layer.type = "GroupNormalization";
    layer.channels_out = 2;
    layer.bias = true;
    if (gops_ort_layer_open(&layer, 1, &made)) {
        gops_ort_is_refused(run_on(&made, (const int64_t[]){2, 7, 7, 11}, NULL),
                            "scale is f32 {6}, bias is f32 {6}; 7 channels need one value each",
                            "channels that scale has no values for");
        gops_ort_works(run_on(&made, (const int64_t[]){2, 6, 3, 5}, NULL), "another shape");
    }
    gops_ort_layer_close(&made);
}

/* Weights that the model leaves open are refused when they come. */
static void weights(void)
{
    gops_ort_layer layer = plain;
    gops_ort_opened made;
    gops_ort_load();
    layer.fed_weights = true;
    layer.open_weights = true;
    if (gops_ort_layer_open(&layer, 2, &made)) {
        const int64_t data[] = {2, 6, 7, 11};
        gops_ort_works(run_on(&made, data, NULL), "the shape it has");
        gops_ort_is_refused(run_on(&made, data, (const int64_t[]){14, 2, 3, 4}),
                            "W is f32 {14,2,3,4}; it does not fit group 3",
                            "output channels that the groups do not divide");
        gops_ort_is_refused(run_on(&made, data, (const int64_t[]){15, 3, 3, 4}), "groupops",
                            "input channels that are not the data's");
        for (int64_t i = 1; i <= 7; i++) { /* more packings than are kept */
            gops_ort_works(run_on(&made, data, (const int64_t[]){15, 2, 1, i}), "another kernel");
        }
        gops_ort_works(run_on(&made, data, NULL), "the shape it has");
    }
    gops_ort_layer_close(&made);
}

/* The model says how many channels the result has, and the weights that come give it another number. */
static void slopes_of_other_weights(void)
{
    static const int64_t dims[] = {1, 2, 5, 7}, open[] = {-1, 2, 1, 1}, said[] = {1, 4, 5, 7};
    static const int64_t one[] = {1, 1, 1};
    static const float slope = 0.5F;
    static float zeros[1024];
    const gops_ort_session_settings with = {GROUPOPS_ORT_PROVIDER, ORT_OPTIMIZE_NONE, 1, false};
    gops_onnx_builder builder;
    gops_onnx_buffer model;
    ort_session *session = NULL;
    gops_ort_load();
    gops_onnx_build(&builder, 21);
    gops_onnx_build_input(&builder, "x", GOPS_ONNX_FLOAT, 4, dims);
    gops_onnx_build_input(&builder, "w", GOPS_ONNX_FLOAT, 4, open);
    gops_onnx_build_constant(&builder, "slope", GOPS_ONNX_FLOAT, 3, one, &slope, sizeof slope);
    gops_onnx_build_node(&builder, "Conv", "c", (const char *[]){"x", "w"}, 2);
    gops_onnx_build_value(&builder, "c", GOPS_ONNX_FLOAT, 4, said);
    gops_onnx_build_node(&builder, "PRelu", "y", (const char *[]){"c", "slope"}, 2);
    gops_onnx_build_output(&builder, "y", GOPS_ONNX_FLOAT, -1, NULL);
    gops_onnx_build_end(&builder, &model);
    bool works = gops_ort_works(gops_ort_open(&model, &with, &session), "opening");
    for (int64_t channels = 4; channels <= 8 && works; channels += 4) {
        const int64_t w_dims[] = {channels, 2, 1, 1};
        const gops_ort_tensor inputs[] = {{"x", ORT_FLOAT, 4, dims, zeros},
                                          {"w", ORT_FLOAT, 4, w_dims, zeros}};
        ort_value *output = NULL;
        ort_status *status = gops_ort_run(session, inputs, 2, &output);
        gops_test_check(gops_ort_claimed(session, false) == 2, "PRelu was not claimed");
        if (channels == 4) {
            gops_ort_works(status, "as many channels");
        } else {
            gops_ort_is_refused(status, "the model's shapes give PRelu 4 channels",
                                "twice as many channels");
        }
        gops_ort_load()->release_value(output);
    }
    gops_ort_load()->release_session(session);
    free(model.bytes);
}

/* Conv whose result is read twice, or is an output itself, keeps it: what follows is not fused, but
 * a step of its own. */
static void read_twice(void)
{
    const int64_t dims[] = {1, 2, 5, 7}, w_dims[] = {2, 1, 1, 1};
    const float w[] = {2, 3};
    gops_ort_load();
    for (int is_output = 0; is_output < 2; is_output++) {
        const gops_ort_session_settings with = {GROUPOPS_ORT_PROVIDER, ORT_OPTIMIZE_ALL, 1, false};
        gops_onnx_builder builder;
        gops_onnx_buffer model;
        ort_session *session = NULL;
        ort_value *output = NULL;
        gops_tensor tensor;
        float x[70];
        gops_test_random random = gops_test_random_start(gops_test_seed(), 2);
        gops_test_random_fill(&random, GOPS_F32, x, 70);
        gops_onnx_build(&builder, 21);
        gops_onnx_build_input(&builder, "x", GOPS_ONNX_FLOAT, 4, dims);
        gops_onnx_build_constant(&builder, "w", GOPS_ONNX_FLOAT, 4, w_dims, w, sizeof w);
        gops_onnx_build_node(&builder, "Conv", "c", (const char *[]){"x", "w"}, 2);
        gops_onnx_build_int(&builder, "group", 2);
        gops_onnx_build_node(&builder, "Relu", "r", (const char *[]){"c"}, 1);
        gops_onnx_build_node(&builder, "Sub", "y", (const char *[]){"r", is_output ? "x" : "c"}, 2);
        gops_onnx_build_output(&builder, "y", GOPS_ONNX_FLOAT, 4, dims);
        if (is_output) {
            gops_onnx_build_output(&builder, "c", GOPS_ONNX_FLOAT, 4, dims);
        }
        gops_onnx_build_end(&builder, &model);
        const gops_ort_tensor input = {"x", ORT_FLOAT, 4, dims, x};
        if (gops_ort_works(gops_ort_open(&model, &with, &session), "opening") &&
            gops_ort_works(gops_ort_run(session, &input, 1, &output), "a run")) {
            const int claimed = gops_ort_claimed(session, false);
            gops_test_check(claimed == 2, "%d nodes claimed", claimed);
            const float *y = gops_ort_values(output, &tensor);
            for (int i = 0; i < 70; i++) {
                const float c = x[i] * w[i / 35], r = c > 0 ? c : 0;
                gops_test_check(y[i] == r - (is_output ? x[i] : c), "output %d is %g", i,
                                (double)y[i]);
            }
        }
        gops_ort_load()->release_value(output);
        gops_ort_load()->release_session(session);
        free(model.bytes);
    }
}

/* A region of two inputs whose batches have one name takes any number of images, if it is the same. */
static void open_batch(void)
{
    enum { C = 2, H = 5, W = 7, MOST = 3, IMAGE = C * H * W };
    static const float w[] = {2, 3};
    const int64_t dims[] = {GOPS_ONNX_BATCH, C, H, W}, w_dims[] = {C, 1, 1, 1};
    const gops_ort_session_settings with = {GROUPOPS_ORT_PROVIDER, ORT_OPTIMIZE_ALL, 2, false};
    static const int64_t runs[][2] = {{3, 3}, {0, 0}, {1, 1}, {2, 3}, {2, 2}};
    gops_onnx_builder builder;
    gops_onnx_buffer model;
    ort_session *session = NULL;
    float x[MOST * IMAGE], z[MOST * IMAGE]; /* whole numbers, so that sums are exact */
    gops_test_random random = gops_test_random_start(gops_test_seed(), 3);
    for (int i = 0; i < MOST * IMAGE; i++) {
        x[i] = (float)gops_test_random_range(&random, -100, 100);
        z[i] = (float)gops_test_random_range(&random, -100, 100);
    }
    gops_ort_load();
    gops_onnx_build(&builder, 21);
    gops_onnx_build_input(&builder, "x", GOPS_ONNX_FLOAT, 4, dims);
    gops_onnx_build_input(&builder, "z", GOPS_ONNX_FLOAT, 4, dims);
    gops_onnx_build_constant(&builder, "w", GOPS_ONNX_FLOAT, 4, w_dims, w, sizeof w);
    gops_onnx_build_node(&builder, "Conv", "c", (const char *[]){"x", "w"}, 2);
    gops_onnx_build_int(&builder, "group", C);
    gops_onnx_build_node(&builder, "Relu", "r", (const char *[]){"c"}, 1);
    gops_onnx_build_node(&builder, "Conv", "d", (const char *[]){"r", "w"}, 2);
    gops_onnx_build_int(&builder, "group", C);
    gops_onnx_build_node(&builder, "Add", "y", (const char *[]){"d", "z"}, 2);
    gops_onnx_build_output(&builder, "y", GOPS_ONNX_FLOAT, 4, dims);
    gops_onnx_build_end(&builder, &model);
    bool works = gops_ort_works(gops_ort_open(&model, &with, &session), "opening");
    for (size_t i = 0; i < sizeof runs / sizeof runs[0] && works; i++) {
        const int64_t x_dims[] = {runs[i][0], C, H, W}, z_dims[] = {runs[i][1], C, H, W};
        const gops_ort_tensor inputs[] = {{"x", ORT_FLOAT, 4, x_dims, x},
                                          {"z", ORT_FLOAT, 4, z_dims, z}};
        ort_value *output = NULL;
        gops_tensor tensor;
        ort_status *status = gops_ort_run(session, inputs, 2, &output);
        if (x_dims[0] != z_dims[0]) {
            gops_ort_is_refused(status,
                                "is f32 {3,2,5,7}; the model, by input 0, says f32 {2,2,5,7}",
                                "batches of one name");
        } else if (gops_ort_works(status, "a batch")) {
            const float *y = gops_ort_values(output, &tensor);
            gops_test_check(tensor.dims[0] == x_dims[0] && gops_ort_parts(session) == 1,
                            "%lld images come of %lld", (long long)tensor.dims[0],
                            (long long)x_dims[0]);
            for (int64_t k = 0; k < tensor.dims[0] * IMAGE; k++) {
                const float by = w[k / (H * W) % C], c = x[k] * by, r = c > 0 ? c : 0;
                gops_test_check(y[k] == r * by + z[k], "output %lld is %g", (long long)k,
                                (double)y[k]);
            }
        }
        gops_ort_load()->release_value(output);
    }
    gops_ort_load()->release_session(session);
    free(model.bytes);
}

/* Images of a closed batch are a region's, whatever else in the model is open. */
static void closed_beside_open(void)
{
    static const int64_t dims[] = {2, 2, 5, 7}, w_dims[] = {2, 1, 1, 1};
    static const int64_t open_dims[] = {GOPS_ONNX_BATCH, 3};
    static const float w[] = {2, 3};
    const gops_ort_session_settings with = {GROUPOPS_ORT_PROVIDER, ORT_OPTIMIZE_NONE, 1, false};
    gops_onnx_builder builder;
    gops_onnx_buffer model;
    ort_session *session = NULL;
    gops_ort_load();
    gops_onnx_build(&builder, 21);
    gops_onnx_build_input(&builder, "z", GOPS_ONNX_FLOAT, 2, open_dims);
    gops_onnx_build_input(&builder, "x", GOPS_ONNX_FLOAT, 4, dims);
    gops_onnx_build_constant(&builder, "w", GOPS_ONNX_FLOAT, 4, w_dims, w, sizeof w);
    gops_onnx_build_node(&builder, "Neg", "n", (const char *[]){"z"}, 1);
    gops_onnx_build_node(&builder, "Conv", "c", (const char *[]){"x", "w"}, 2);
    gops_onnx_build_int(&builder, "group", 2);
    gops_onnx_build_node(&builder, "GlobalAveragePool", "g", (const char *[]){"c"}, 1);
    gops_onnx_build_node(&builder, "Mul", "y", (const char *[]){"c", "g"}, 2);
    gops_onnx_build_output(&builder, "y", GOPS_ONNX_FLOAT, 4, dims);
    gops_onnx_build_output(&builder, "n", GOPS_ONNX_FLOAT, 2, open_dims);
    gops_onnx_build_end(&builder, &model);
    if (gops_ort_works(gops_ort_open(&model, &with, &session), "opening")) {
        const int claimed = gops_ort_claimed(session, false);
        gops_test_check(claimed == 3 && gops_ort_parts(session) == 1, "%d nodes claimed", claimed);
    }
    gops_ort_load()->release_session(session);
    free(model.bytes);
}

/* Weights and a bias in a file, aligned to their elements or not: then the runtime, which reads them, has the nodes. */
static void unaligned(void)
{
    enum { C = 2, TAPS = 9, PIXELS = 35 };
    static const int64_t dims[] = {1, C, 5, 7}, w_dims[] = {C, 1, 3, 3}, b_dims[] = {C};
    static const int64_t out_dims[] = {1, C, 3, 5};
    const gops_ort_session_settings with = {GROUPOPS_ORT_PROVIDER, ORT_OPTIMIZE_NONE, 1, false};
    char path[] = "/tmp/groupops-external-XXXXXX", name[sizeof path + sizeof "/data"];
    float numbers[C * TAPS + C], x[C * PIXELS];
    const gops_ort_tensor input = {"x", ORT_FLOAT, 4, dims, x};
    gops_ort_load();
    if (!gops_test_check(mkdtemp(path) != NULL, "no folder")) {
        return;
    }
    snprintf(name, sizeof name, "%s/data", path);
    for (int i = 0; i < C * TAPS + C; i++) {
        numbers[i] = (float)(i % 5);
    }
    for (int i = 0; i < C * PIXELS; i++) {
        x[i] = (float)(i % 7);
    }
    gops_ort_set_folder(path);
    for (int offset = 0; offset < 8; offset++) {
        const bool weights_are = offset % 4 == 0, bias_is = offset >= 4;
        gops_onnx_builder builder;
        gops_onnx_buffer model;
        ort_session *session = NULL;
        ort_value *output = NULL;
        FILE *file = fopen(name, "wb");
        gops_test_check(file != NULL && fseek(file, offset, SEEK_SET) == 0 &&
                            fwrite(numbers, sizeof numbers, 1, file) == 1 && fclose(file) == 0,
                        "no file");
        gops_onnx_build(&builder, 17);
        gops_onnx_build_input(&builder, "x", GOPS_ONNX_FLOAT, 4, dims);
        if (bias_is) {
            gops_onnx_build_constant(&builder, "w", GOPS_ONNX_FLOAT, 4, w_dims, numbers,
                                     C * TAPS * sizeof(float));
            gops_onnx_build_external(&builder, "b", GOPS_ONNX_FLOAT, 1, b_dims, "data", offset);
        } else {
            gops_onnx_build_external(&builder, "w", GOPS_ONNX_FLOAT, 4, w_dims, "data", offset);
            gops_onnx_build_constant(&builder, "b", GOPS_ONNX_FLOAT, 1, b_dims, numbers,
                                     C * sizeof(float));
        }
        gops_onnx_build_node(&builder, "Conv", "y", (const char *[]){"x", "w", "b"}, 3);
        gops_onnx_build_int(&builder, "group", C);
        gops_onnx_build_output(&builder, "y", GOPS_ONNX_FLOAT, 4, out_dims);
        gops_onnx_build_end(&builder, &model);
        if (gops_ort_works(gops_ort_open(&model, &with, &session), "external data") &&
            gops_ort_works(gops_ort_run(session, &input, 1, &output), "external data")) {
            gops_tensor tensor;
            const float *y = gops_ort_values(output, &tensor);
            double expected = (double)numbers[0];
            for (int tap = 0; tap < TAPS; tap++) {
                expected += (double)numbers[tap] * (double)x[tap / 3 * 7 + tap % 3];
            }
            gops_test_check((double)y[0] == expected, "offset %d: %g, not %g", offset, (double)y[0],
                            expected);
            gops_test_check(gops_ort_claimed(session, false) == weights_are,
                            "offset %d: %d nodes are claimed", offset,
                            gops_ort_claimed(session, false));
        }
        gops_ort_load()->release_value(output);
        gops_ort_load()->release_session(session);
        free(model.bytes);
    }
    gops_ort_set_folder(NULL);
    unlink(name);
    rmdir(path);
}

enum { CHANNELS = 64, GROUPS = 4, SIDE = 28, VALUES = CHANNELS * SIDE * SIDE };
enum { WEIGHTS = CHANNELS * CHANNELS / GROUPS * 9 };
static const int64_t data_dims[] = {1, CHANNELS, SIDE, SIDE};
static const int64_t weight_dims[] = {CHANNELS, CHANNELS / GROUPS, 3, 3};

/* Runs a 3x3 layer of fed weights with the accuracy that is set; false where the session was refused
 * with this text. */
static bool run_accuracy(const gops_onnx_buffer *model, const char *refused, float *output)
{
    static float data[VALUES], weights[WEIGHTS];
    const gops_ort_session_settings settings = {GROUPOPS_ORT_PROVIDER, ORT_OPTIMIZE_ALL, 1, false};
    gops_test_random random = gops_test_random_start(gops_test_seed(), 7);
    gops_test_random_fill(&random, GOPS_F32, data, VALUES);
    gops_test_random_fill(&random, GOPS_F32, weights, WEIGHTS);
    ort_session *session = NULL;
    ort_value *value = NULL;
    gops_tensor tensor;
    ort_status *status = gops_ort_open(model, &settings, &session);
    if (refused != NULL) {
        return !gops_ort_is_refused(status, refused, "an accuracy");
    }
    bool good = gops_ort_works(status, "opening") &&
                gops_ort_works(gops_ort_run(session,
                                            (const gops_ort_tensor[]){
                                                {"x", ORT_FLOAT, 4, data_dims, data},
                                                {"w", ORT_FLOAT, 4, weight_dims, weights},
                                            },
                                            2, &value),
                               "a run");
    if (good) {
        memcpy(output, gops_ort_values(value, &tensor),
               sizeof(float) * CHANNELS * (SIDE - 2) * (SIDE - 2));
    }
    gops_ort_load()->release_value(value);
    gops_ort_load()->release_session(session);
    return good;
}

/* A Conv whose weights come with a call. */
static bool write_layer(gops_onnx_buffer *model)
{
    gops_onnx_builder builder;
    gops_onnx_build(&builder, 21);
    gops_onnx_build_input(&builder, "x", GOPS_ONNX_FLOAT, 4, data_dims);
    gops_onnx_build_input(&builder, "w", GOPS_ONNX_FLOAT, 4, weight_dims);
    gops_onnx_build_node(&builder, "Conv", "y", (const char *[]){"x", "w"}, 2);
    gops_onnx_build_int(&builder, "group", GROUPS);
    gops_onnx_build_output(&builder, "y", GOPS_ONNX_FLOAT, -1, NULL);
    return gops_test_check(gops_onnx_build_end(&builder, model), "no memory for a model");
}

/* The provider's option counts above the environment, and relaxed takes another algorithm, with other
 * bits in some places and nearly the same values; for small groups in portable code, too. */
static void accuracy(void)
{
    enum { COUNT = CHANNELS * (SIDE - 2) * (SIDE - 2) };
    static float exact[COUNT], other[COUNT];
    static const struct {
        const char *option, *environment, *refused;
        bool relaxed;
    } trials[] = {
        {NULL, "exact", NULL, false},
        {"exact", "relaxed", NULL, false},
        {"relaxed", NULL, NULL, true},
        {NULL, "relaxed", NULL, true},
        {"fast", NULL, "\"fast\"; it must be exact or relaxed", false},
        {NULL, "1", "\"1\"; it must be exact or relaxed", false},
    };
    gops_onnx_buffer model;
    gops_ort_load();
    bool good = write_layer(&model) && run_accuracy(&model, NULL, exact);
    for (size_t i = 0; good && i < sizeof trials / sizeof trials[0]; i++) {
        gops_ort_set_accuracy(trials[i].option);
        if (trials[i].environment != NULL) {
            setenv("GROUPOPS_ACCURACY", trials[i].environment, 1);
        }
        if (run_accuracy(&model, trials[i].refused, other)) {
            double most = 0;
            for (int j = 0; j < COUNT; j++) {
                const double away = fabs((double)other[j] - (double)exact[j]);
                most = away <= most ? most : away; /* NaN too */
            }
            gops_test_check((most > 0) == trials[i].relaxed && most < 1e-2, "trial %d: %g away",
                            (int)i, most);
        }
        unsetenv("GROUPOPS_ACCURACY");
    }
    gops_ort_set_accuracy(NULL);
    gops_ort_set_claim("none");
    run_accuracy(&model, "claim is \"none\"; it must be worthwhile or all", other);
    gops_ort_set_claim("a word of thirty-one characters");
    run_accuracy(&model, "claim is \"a word of thirty-one characters\"; it must be", other);
    char longer[65] = "";
    memset(longer, 'x', sizeof longer - 1);
    gops_ort_set_claim(longer);
    run_accuracy(
        &model, "option ep.groupopsexecutionprovider.claim has 64 characters; it may have up to 63",
        other);
    gops_ort_set_claim("all");
    free(model.bytes);
}

/* A compiled model is asked for, and the provider has none: it takes nothing, and the session is as without it. */
static void context(void)
{
    const char *const path = "groupops_test_context.onnx";
    const gops_ort_session_settings settings = {GROUPOPS_ORT_PROVIDER, ORT_OPTIMIZE_ALL, 1, false};
    gops_onnx_buffer model;
    ort_session *session = NULL;
    gops_ort_load();
    gops_ort_set_context(path);
    if (write_layer(&model) &&
        gops_ort_works(gops_ort_open(&model, &settings, &session), "a session with a context")) {
        gops_test_check(gops_ort_claimed(session, false) == 0, "nodes are taken");
    }
    gops_ort_set_context(NULL);
    remove(path);
    gops_ort_load()->release_session(session);
    free(model.bytes);
}

int main(void)
{
    const gops_test_case cases[] = {
        {"old_runtime", old_runtime},
        {"empty_slots", empty_slots},
        {"shapes", shapes},
        {"weights", weights},
        {"slopes_of_other_weights", slopes_of_other_weights},
        {"read_twice", read_twice},
        {"open_batch", open_batch},
        {"closed_beside_open", closed_beside_open},
        {"unaligned", unaligned},
        {"accuracy", accuracy},
        {"context", context},
        {NULL, NULL},
    };
    const int status = gops_test_main("ONNX Runtime, provider", cases);
    gops_ort_unload();
    return status;
}
