/* ir_execute.c: runs the prepared layers of a model. */
#include "common/machine.h"
#include "common/random_fill.h"
#include "ir/ir_run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Systems promise more memory than they have, so more than the machine has is refused here. */
static bool reserve(gops_ir_run *run, int index, size_t bytes, gops_tool_error *error)
{
    if (bytes > run->max_bytes - run->live_bytes) {
        return gops_ir_refuse(run, index, error,
                              "it needs %zu bytes beside the %" PRIu64
                              " in use; this machine has a memory of %" PRIu64,
                              bytes, run->live_bytes, run->max_bytes);
    }
    run->live_bytes += bytes;
    return true;
}

static bool allocate_output(gops_ir_run *run, int index, gops_tool_error *error)
{
    gops_ir_step *step = &run->step[index];
    if (!reserve(run, index, step->bytes, error)) {
        return false;
    }
    step->elements = malloc(step->bytes != 0 ? step->bytes : 1);
    return step->elements != NULL ||
           gops_ir_refuse(run, index, error, "no memory for its %zu bytes", step->bytes);
}

static void free_elements(gops_ir_run *run, int index)
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

/* Fills with the number 1, which for each type is a bit pattern in the lowest bytes. */
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

static bool pack_weights(gops_ir_run *run, int index, gops_packed_filter **filter,
                         gops_tool_error *error)
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
    const gops_status status = gops_filter_create(step->plan, weights, NULL, filter, &refusal);
    free(ones);
    return status == GOPS_OK || gops_ir_refuse(run, index, error, "%s", refusal.message);
}

static bool execute_plan(gops_ir_run *run, int index, const void *data, const void *residual,
                         gops_tool_error *error)
{
    gops_ir_step *step = &run->step[index];
    gops_packed_filter *filter;
    gops_error refusal;
    if (!pack_weights(run, index, &filter, error)) {
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
    const double start = gops_machine_ms();
    const gops_status status = gops_execute(step->plan, &arguments, &refusal);
    step->milliseconds = gops_machine_ms() - start;
    run->live_bytes -= filter != NULL ? step->info.filter_bytes : 0;
    gops_filter_destroy(filter);
    return status == GOPS_OK || gops_ir_refuse(run, index, error, "%s", refusal.message);
}

/* The elements of layer `source`, broadcast to the shape of this layer's output; NULL after a
 * refusal. The caller frees *memory. */
static const void *broadcast_input(gops_ir_run *run, int index, int source, void **memory,
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
    gops_ir_broadcast(&from->output, from->elements, &step->output, 0,
                      (int64_t)(step->bytes / gops_type_bytes(step->output.type)), *memory);
    return *memory;
}

static bool execute_broadcast(gops_ir_run *run, int index, gops_tool_error *error)
{
    const gops_ir_step *step = &run->step[index];
    void *memory[2] = {NULL, NULL};
    if (step->bytes > SIZE_MAX / 2 || !reserve(run, index, step->bytes * 2, error)) {
        return false;
    }
    const void *data = broadcast_input(run, index, step->data, &memory[0], error);
    const void *residual =
        data != NULL ? broadcast_input(run, index, step->residual, &memory[1], error) : NULL;
    const bool done = residual != NULL && execute_plan(run, index, data, residual, error);
    free(memory[0]);
    free(memory[1]);
    run->live_bytes -= step->bytes * 2;
    return done;
}

/* Replaces the allocated elements by those of the file that the command line gives. */
static bool read_given(gops_ir_run *run, int index, gops_tool_error *error)
{
    gops_ir_step *step = &run->step[index];
    free(step->elements);
    step->elements = NULL;
    const bool done = gops_npy_read(&step->file, &step->elements, error);
    gops_npy_close(&step->file);
    return done;
}

/* Whether the layer is fused or folded with one that follows, and so executed with it. */
static bool is_before_another(const gops_ir_run *run, int index)
{
    const gops_ir_step *step = &run->step[index];
    return step->users == 1 && run->step[step->user].before == index;
}

static bool execute_layer(gops_ir_run *run, int index, gops_tool_error *error)
{
    const gops_ir_layer *layer = &run->model->layer[index];
    gops_ir_step *step = &run->step[index];
    if (strcmp(layer->type, "Result") == 0 || is_before_another(run, index)) {
        return true;
    }
    if (!allocate_output(run, index, error)) {
        return false;
    }
    if (strcmp(layer->type, "Const") == 0) {
        return gops_ir_read_const(run, index, step->elements, error);
    }
    if (step->constant) {
        gops_ir_fold(run, index);
        return true;
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

/* Frees the inputs of the layer, and of the layers that are fused with it, that nothing will read
 * again. The input of a Result stays until the end. */
static void release_inputs(gops_ir_run *run, int index)
{
    const gops_ir_layer *layer = &run->model->layer[index];
    if (strcmp(layer->type, "Result") == 0 || is_before_another(run, index)) {
        return;
    }
    for (int at = index; at != GOPS_IR_NONE; at = run->step[at].before) {
        for (int i = 0; i < run->model->layer[at].inputs; i++) {
            const int source = gops_ir_source(run, at, i);
            if (--run->step[source].users == 0) {
                free_elements(run, source);
            }
        }
    }
    if (layer->outputs == 1 && run->step[index].users == 0) {
        free_elements(run, index);
    }
}

bool gops_ir_execute_all(gops_ir_run *run, gops_tool_error *error)
{
    for (int i = 0; i < run->model->layers; i++) {
        const int index = run->model->order[i];
        if (!execute_layer(run, index, error)) {
            return false;
        }
        release_inputs(run, index);
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
