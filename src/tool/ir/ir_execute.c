/* ir_execute.c: runs the prepared layers of a model. */
#include "ir/ir_run.h"
#include "common/random_fill.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec * 1e-6;
}

/* Memory that would only be there until it is touched is refused. */
static bool reserve(gops_ir_run *run, int index, size_t bytes, gops_tool_error *error)
{
    if (bytes > run->most_bytes - run->live_bytes) {
        return gops_ir_refuse(run, index, error,
                              "it needs %zu bytes beside the %" PRIu64
                              " in use; this machine has a memory of %" PRIu64,
                              bytes, run->live_bytes, run->most_bytes);
    }
    run->live_bytes += bytes;
    return true;
}

static bool take_output(gops_ir_run *run, int index, gops_tool_error *error)
{
    gops_ir_step *step = &run->step[index];
    if (!reserve(run, index, step->bytes, error)) {
        return false;
    }
    step->elements = malloc(step->bytes != 0 ? step->bytes : 1);
    return step->elements != NULL ||
           gops_ir_refuse(run, index, error, "no memory for its %zu bytes", step->bytes);
}

static void drop(gops_ir_run *run, int index)
{
    gops_ir_step *step = &run->step[index];
    if (step->elements != NULL) {
        free(step->elements);
        step->elements = NULL;
        run->live_bytes -= step->bytes;
    }
}

/* The elements of a layer's output; NULL where there is none. */
static const void *elements_of(const gops_ir_run *run, int layer)
{
    return layer == GOPS_IR_NONE ? NULL : run->step[layer].elements;
}

/* The bit pattern of 1 in every type, in as many bytes as it has. */
static void fill_ones(gops_type type, void *elements, int64_t count)
{
    static const uint64_t ones[] = {
        [GOPS_F64] = UINT64_C(1023) << 52,
        [GOPS_F32] = UINT64_C(127) << 23,
        [GOPS_F16] = 15 << 10,
        [GOPS_BF16] = 127 << 7,
        [GOPS_F8E4M3] = 7 << 3,
        [GOPS_F8E5M2] = 15 << 2,
    };
    const uint64_t bits = type <= GOPS_F8E5M2 ? ones[type] : 1;
    const size_t bytes = gops_type_bytes(type);
    const unsigned char *lowest = (const unsigned char *)&bits;
    if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) {
        lowest += sizeof bits - bytes;
    }
    for (int64_t i = 0; i < count; i++) {
        memcpy((char *)elements + (size_t)i * bytes, lowest, bytes);
    }
}

static bool pack(gops_ir_run *run, int index, gops_packed_filter **filter, gops_tool_error *error)
{
    const gops_ir_step *step = &run->step[index];
    gops_error refusal;
    void *ones = NULL;
    *filter = NULL;
    if (step->weights == GOPS_IR_NONE && step->ones == 0) {
        return true;
    }
    if (!reserve(run, index, step->info.filter_bytes, error)) {
        return false;
    }
    if (step->ones != 0) {
        ones = malloc((size_t)step->ones * sizeof(uint64_t));
        if (ones == NULL) {
            return gops_ir_refuse(run, index, error, "no memory for its filter");
        }
        fill_ones(step->output.type, ones, step->ones);
    }
    const void *weights = ones != NULL ? ones : elements_of(run, step->weights);
    const gops_status status = gops_filter_create(step->plan, weights, filter, &refusal);
    free(ones);
    return status == GOPS_OK || gops_ir_refuse(run, index, error, "%s", refusal.message);
}

static bool execute_plan(gops_ir_run *run, int index, const void *data, const void *residual,
                         gops_tool_error *error)
{
    gops_ir_step *step = &run->step[index];
    gops_packed_filter *filter;
    gops_error refusal;
    if (!pack(run, index, &filter, error)) {
        return false;
    }
    const gops_arguments arguments = {
        .size = sizeof arguments,
        .data = data,
        .filter = filter,
        .scale = elements_of(run, step->scale),
        .bias = elements_of(run, step->bias),
        .residual = residual,
        .output = step->elements,
    };
    const double start = now();
    const gops_status status = gops_execute(step->plan, &arguments, &refusal);
    step->milliseconds = now() - start;
    run->live_bytes -= filter != NULL ? step->info.filter_bytes : 0;
    gops_filter_destroy(filter);
    return status == GOPS_OK || gops_ir_refuse(run, index, error, "%s", refusal.message);
}

/* The elements of a layer, repeated to the shape of this one's output; *memory is for the caller to
 * free. NULL after a refusal. */
static const void *repeat(gops_ir_run *run, int index, int source, void **memory,
                          gops_tool_error *error)
{
    const gops_ir_step *from = &run->step[source];
    const gops_ir_step *step = &run->step[index];
    if (gops_ir_same_shape(&from->output, &step->output)) {
        return from->elements;
    }
    *memory = malloc(step->bytes);
    if (*memory == NULL) {
        gops_ir_refuse(run, index, error, "no memory for its %zu bytes", step->bytes);
        return NULL;
    }
    gops_ir_repeat(&from->output, from->elements, &step->output, *memory);
    return *memory;
}

static bool execute_broadcast(gops_ir_run *run, int index, gops_tool_error *error)
{
    const gops_ir_step *step = &run->step[index];
    void *memory[2] = {NULL, NULL};
    if (step->bytes > SIZE_MAX / 2 || !reserve(run, index, step->bytes * 2, error)) {
        return false;
    }
    const void *data = repeat(run, index, step->data, &memory[0], error);
    const void *residual =
        data != NULL ? repeat(run, index, step->residual, &memory[1], error) : NULL;
    const bool done = residual != NULL && execute_plan(run, index, data, residual, error);
    free(memory[0]);
    free(memory[1]);
    run->live_bytes -= step->bytes * 2;
    return done;
}

/* The elements of a given file take the place of those taken. */
static bool read_given(gops_ir_run *run, int index, gops_tool_error *error)
{
    gops_ir_step *step = &run->step[index];
    free(step->elements);
    step->elements = NULL;
    const bool done = gops_npy_read(&step->file, &step->elements, error);
    gops_npy_close(&step->file);
    return done;
}

/* Whether the layer is executed with one that follows. */
static bool is_before_another(const gops_ir_run *run, int index)
{
    const gops_ir_step *step = &run->step[index];
    return step->users == 1 && run->step[step->user].before == index;
}

static bool execute(gops_ir_run *run, int index, gops_tool_error *error)
{
    const gops_ir_layer *layer = &run->model->layer[index];
    gops_ir_step *step = &run->step[index];
    if (strcmp(layer->type, "Result") == 0 || is_before_another(run, index)) {
        return true;
    }
    if (!take_output(run, index, error)) {
        return false;
    }
    if (strcmp(layer->type, "Const") == 0) {
        return gops_ir_read_const(run, index, step->elements, error);
    }
    if (strcmp(layer->type, "Parameter") == 0 && step->file.descriptor >= 0) {
        return read_given(run, index, error);
    }
    if (strcmp(layer->type, "Parameter") == 0) {
        gops_random_fill(step->output.type, step->elements, step->bytes, (uint64_t)index + 1);
        return true;
    }
    if (strcmp(layer->type, "Reshape") == 0) {
        memcpy(step->elements, elements_of(run, step->data), step->bytes);
        return true;
    }
    if (strcmp(layer->type, "Convert") == 0) {
        const gops_tensor *from = &run->step[step->data].output;
        gops_ir_convert(from->type, elements_of(run, step->data), step->output.type, step->elements,
                        (int64_t)(step->bytes / gops_type_bytes(step->output.type)));
        return true;
    }
    if (step->plan != NULL && step->broadcast) {
        return execute_broadcast(run, index, error);
    }
    return step->plan == NULL || execute_plan(run, index, elements_of(run, step->data),
                                              elements_of(run, step->residual), error);
}

/* Lets go of inputs that nothing will read again, those of layers that were executed with this one
 * too; a Result keeps its own until the end. */
static void let_go(gops_ir_run *run, int index)
{
    const gops_ir_layer *layer = &run->model->layer[index];
    if (strcmp(layer->type, "Result") == 0 || is_before_another(run, index)) {
        return;
    }
    for (int at = index; at != GOPS_IR_NONE; at = run->step[at].before) {
        for (int i = 0; i < run->model->layer[at].inputs; i++) {
            const int source = gops_ir_source(run, at, i);
            if (--run->step[source].users == 0) {
                drop(run, source);
            }
        }
    }
    if (layer->outputs == 1 && run->step[index].users == 0) {
        drop(run, index);
    }
}

bool gops_ir_execute_all(gops_ir_run *run, gops_tool_error *error)
{
    for (int i = 0; i < run->model->layers; i++) {
        const int index = run->model->order[i];
        if (!execute(run, index, error)) {
            return false;
        }
        let_go(run, index);
    }
    return true;
}

void gops_ir_run_release(gops_ir_run *run)
{
    for (int i = 0; run->step != NULL && i < run->model->layers; i++) {
        free(run->step[i].elements);
        gops_plan_destroy(run->step[i].plan);
        gops_npy_close(&run->step[i].file);
    }
    free(run->step);
    free(run->bin_path);
    if (run->bin >= 0) {
        close(run->bin);
    }
}
