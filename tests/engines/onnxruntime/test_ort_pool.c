/* MaxPool of 8-bit integers, by the provider and by the runtime alone: the same outputs. */
#include "ort_host.h"

#include "elements.h"
#include "guarded_memory.h"
#include "harness.h"
#include "random_numbers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AXES = 2, OPSET = 17, NAME_BYTES = 256 };

typedef struct pool {
    gops_onnx_element type;
    int64_t data[2 + AXES], kernel[AXES], strides[AXES], dilations[AXES], pads[2 * AXES];
    bool ceil_mode;
    bool floats;               /* between DequantizeLinear and QuantizeLinear */
    float scale, output_scale; /* of the two, which are one where the pool is claimed */
    bool open;                 /* images and channels */
} pool;

/* Whether a window that ceil_mode adds begins behind the data: the runtime infers a size that its kernel does not
 * make. */
static bool is_misjudged(const pool *of)
{
    bool is = false;
    for (int i = 0; i < AXES; i++) {
        const int64_t behind = of->data[2 + i] + of->pads[i];
        const int64_t room = behind + of->pads[AXES + i] - of->kernel[i];
        is = is || (room + of->strides[i] - 1) / of->strides[i] * of->strides[i] >= behind;
    }
    return is && of->ceil_mode;
}

static bool is_claimed(const pool *of)
{
    return of->dilations[0] == 1 && of->dilations[1] == 1 && !is_misjudged(of) &&
           (!of->floats || of->scale == of->output_scale);
}

static pool draw_pool(gops_test_random *random)
{
    pool of = {
        .type = gops_test_random_chance(random, 50) ? GOPS_ONNX_INT8 : GOPS_ONNX_UINT8,
        .data = {gops_test_random_range(random, 1, 3), gops_test_random_range(random, 1, 5)},
        .ceil_mode = gops_test_random_chance(random, 30),
        .floats = gops_test_random_chance(random, 50),
        .scale = 0.05F,
        .open = gops_test_random_chance(random, 30),
    };
    const bool around = gops_test_random_chance(random, 30); /* a window around each element */
    of.output_scale = gops_test_random_chance(random, 90) ? of.scale : 0.06F;
    for (int i = 0; i < AXES; i++) {
        of.kernel[i] = gops_test_random_range(random, 1, 5);
        of.strides[i] = gops_test_random_range(random, 1, 4);
        of.dilations[i] = gops_test_random_chance(random, 95) ? 1 : 2;
        of.pads[i] = gops_test_random_range(random, 0, of.kernel[i] - 1);
        of.pads[AXES + i] = gops_test_random_range(random, 0, of.kernel[i] - 1);
        const int64_t extent = (of.kernel[i] - 1) * of.dilations[i] + 1;
        of.data[2 + i] = gops_test_random_range(random, extent, extent + 37);
        if (around) {
            of.strides[i] = of.dilations[i] = 1;
            of.pads[AXES + i] = of.kernel[i] - 1 - of.pads[i];
            of.data[2 + i] = gops_test_random_range(random, 1, 60);
        }
    }
    return of;
}

static void write_model(const pool *of, gops_onnx_buffer *model)
{
    const int64_t open[] = {-1, -1, -1, -1};
    const int64_t data[] = {of->open ? -1 : of->data[0], of->open ? -1 : of->data[1], of->data[2],
                            of->data[3]};
    const unsigned char zero = 7;
    gops_onnx_builder builder;
    gops_onnx_build(&builder, OPSET);
    gops_onnx_build_input(&builder, "x", of->type, 4, data);
    gops_onnx_build_constant(&builder, "s", GOPS_ONNX_FLOAT, 0, NULL, &of->scale, 4);
    gops_onnx_build_constant(&builder, "t", GOPS_ONNX_FLOAT, 0, NULL, &of->output_scale, 4);
    gops_onnx_build_constant(&builder, "z", of->type, 0, NULL, &zero, 1);
    if (of->floats) {
        gops_onnx_build_node(&builder, "DequantizeLinear", "f", (const char *[]){"x", "s", "z"}, 3);
    }
    gops_onnx_build_node(&builder, "MaxPool", of->floats ? "p" : "y",
                         (const char *[]){of->floats ? "f" : "x"}, 1);
    gops_onnx_build_ints(&builder, "kernel_shape", of->kernel, AXES);
    gops_onnx_build_ints(&builder, "strides", of->strides, AXES);
    gops_onnx_build_ints(&builder, "dilations", of->dilations, AXES);
    gops_onnx_build_ints(&builder, "pads", of->pads, 2 * AXES);
    gops_onnx_build_int(&builder, "ceil_mode", of->ceil_mode);
    if (of->floats) {
        gops_onnx_build_node(&builder, "QuantizeLinear", "y", (const char *[]){"p", "t", "z"}, 3);
    }
    gops_onnx_build_output(&builder, "y", of->type, 4, open);
    gops_test_check(gops_onnx_build_end(&builder, model), "no memory for a model");
}

static ort_value *run(const pool *of, const gops_onnx_buffer *model, unsigned char *data,
                      const char *provider, int level, const char *what)
{
    const gops_ort_session_settings settings = {provider, level, 2, true};
    const gops_ort_tensor input = {"x", (ort_element)of->type, 4, of->data, data};
    ort_session *session = NULL;
    ort_value *output = NULL;
    if (gops_ort_works(gops_ort_open(model, &settings, &session), what)) {
        const int claimed = gops_ort_claimed(session, false);
        const int expected = provider == NULL || !is_claimed(of) ? 0 : of->floats ? 3 : 1;
        gops_test_check(claimed == expected, "%s: %d nodes are claimed, not %d", what, claimed,
                        expected);
        gops_ort_works(gops_ort_run(session, &input, 1, &output), what);
    }
    gops_ort_load()->release_session(session);
    return output;
}

static bool is_same(ort_value *alone, ort_value *ours, const char *what)
{
    gops_tensor expected_tensor, tensor;
    const void *expected = gops_ort_values(alone, &expected_tensor);
    const void *got = gops_ort_values(ours, &tensor);
    return gops_test_check(memcmp(&tensor, &expected_tensor, sizeof tensor) == 0,
                           "%s: the output's shape or type is another", what) &&
           gops_test_check(gops_test_elements(&tensor) == 0 ||
                               memcmp(got, expected, (size_t)gops_test_elements(&tensor)) == 0,
                           "%s: the output is another", what);
}

static bool check_pool(const pool *of, gops_test_random *random, int level)
{
    char what[NAME_BYTES];
    gops_onnx_buffer model;
    int64_t count = 1;
    for (int i = 0; i < 2 + AXES; i++) {
        count *= of->data[i];
    }
    unsigned char *data = gops_test_allocate((size_t)count + 1);
    for (int64_t i = 0; i < count; i++) {
        data[i] = (unsigned char)gops_test_random_range(random, 0, 255);
    }
    snprintf(what, sizeof what,
             "type %d, %lldx%lldx%lldx%lld, kernel %lldx%lld, strides %lldx%lld, pads %lld %lld "
             "%lld %lld, %s%s, level %d",
             (int)of->type, (long long)of->data[0], (long long)of->data[1], (long long)of->data[2],
             (long long)of->data[3], (long long)of->kernel[0], (long long)of->kernel[1],
             (long long)of->strides[0], (long long)of->strides[1], (long long)of->pads[0],
             (long long)of->pads[1], (long long)of->pads[2], (long long)of->pads[3],
             of->floats ? "floats" : "integers", of->ceil_mode ? ", ceil_mode" : "", level);
    write_model(of, &model);
    ort_value *alone = run(of, &model, data, NULL, level, what);
    ort_value *ours = run(of, &model, data, GROUPOPS_ORT_PROVIDER, level, what);
    const bool same = alone != NULL && ours != NULL && is_same(alone, ours, what);
    gops_ort_load()->release_value(alone);
    gops_ort_load()->release_value(ours);
    free(model.bytes);
    free(data);
    return gops_test_check(same, "%s", what);
}

static void pools(void)
{
    static const int levels[] = {ORT_OPTIMIZE_NONE, 1, ORT_OPTIMIZE_ALL};
    enum { POOLS = 200 };
    int claimed = 0;
    gops_ort_load();
    for (int i = 0; i < POOLS; i++) {
        gops_test_random random = gops_test_random_start(gops_test_seed(), (uint64_t)i);
        pool of = draw_pool(&random);
        if (of.open && i % 5 == 0) {
            of.data[0] = 0;
        } else if (i % 10 == 1) { /* more than one work item */
            of.data[1] = 61;
            of.data[2] += 90;
            of.data[3] += 70;
        }
        claimed += is_claimed(&of);
        if (!check_pool(&of, &random, levels[i % 3])) {
            break;
        }
    }
    printf("%d pools, %d of them claimed\n", POOLS, claimed);
}

/* A pool that nothing reads, which the runtime keeps at level 0, is its own. */
static void dead(void)
{
    static const int64_t dims[] = {1, 2, 9, 7}, kernel[] = {2, 3};
    const gops_ort_session_settings settings = {GROUPOPS_ORT_PROVIDER, ORT_OPTIMIZE_NONE, 2, true};
    gops_onnx_builder builder;
    gops_onnx_buffer model;
    ort_session *session = NULL;
    gops_ort_load();
    gops_onnx_build(&builder, OPSET);
    gops_onnx_build_input(&builder, "x", GOPS_ONNX_UINT8, 4, dims);
    gops_onnx_build_node(&builder, "MaxPool", "nothing", (const char *[]){"x"}, 1);
    gops_onnx_build_ints(&builder, "kernel_shape", kernel, AXES);
    gops_onnx_build_node(&builder, "MaxPool", "y", (const char *[]){"x"}, 1);
    gops_onnx_build_ints(&builder, "kernel_shape", kernel, AXES);
    gops_onnx_build_output(&builder, "y", GOPS_ONNX_UINT8, -1, NULL);
    gops_onnx_build_end(&builder, &model);
    if (gops_ort_works(gops_ort_open(&model, &settings, &session), "opening")) {
        const int claimed = gops_ort_claimed(session, false);
        gops_test_check(claimed == 1, "%d nodes are claimed", claimed);
    }
    gops_ort_load()->release_session(session);
    free(model.bytes);
}

/* Behind a size that the runtime infers and its kernel does not make. */
static void misjudged(void)
{
    static unsigned char data[4 * 4 * 4];
    const int64_t dims[] = {1, 4, 4, 4}, two[] = {2, 2}, three[] = {3, 3}, ones[] = {1, 1, 1, 1};
    const int64_t open[] = {-1, -1, -1, -1};
    const pool of = {.type = GOPS_ONNX_UINT8, .data = {1, 4, 4, 4}, .ceil_mode = true};
    gops_onnx_builder builder;
    gops_onnx_buffer model;
    gops_ort_load();
    for (int i = 0; i < (int)sizeof data; i++) {
        data[i] = (unsigned char)(i * 37);
    }
    gops_onnx_build(&builder, OPSET);
    gops_onnx_build_input(&builder, "x", GOPS_ONNX_UINT8, 4, dims);
    gops_onnx_build_node(&builder, "MaxPool", "p", (const char *[]){"x"}, 1);
    gops_onnx_build_ints(&builder, "kernel_shape", two, AXES);
    gops_onnx_build_ints(&builder, "strides", three, AXES);
    gops_onnx_build_ints(&builder, "pads", ones, 2 * AXES);
    gops_onnx_build_int(&builder, "ceil_mode", 1);
    gops_onnx_build_node(&builder, "MaxPool", "y", (const char *[]){"p"}, 1);
    gops_onnx_build_ints(&builder, "kernel_shape", two, AXES);
    gops_onnx_build_output(&builder, "y", GOPS_ONNX_UINT8, 4, open);
    gops_test_check(gops_onnx_build_end(&builder, &model), "no memory for a model");
    ort_value *alone = run(&of, &model, data, NULL, ORT_OPTIMIZE_NONE, "misjudged");
    ort_value *ours = run(&of, &model, data, GROUPOPS_ORT_PROVIDER, ORT_OPTIMIZE_NONE, "misjudged");
    gops_test_check(alone != NULL && ours != NULL && is_same(alone, ours, "misjudged"),
                    "see the lines above");
    gops_ort_load()->release_value(alone);
    gops_ort_load()->release_value(ours);
    free(model.bytes);
}

int main(void)
{
    const gops_test_case cases[] = {
        {"pools", pools}, {"dead", dead}, {"misjudged", misjudged}, {NULL, NULL}};
    const int status = gops_test_main("ONNX Runtime, pools", cases);
    gops_ort_unload();
    return status;
}
