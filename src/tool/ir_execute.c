/* ir_execute.c: runs the prepared layers of a model. */
#include "ir_run.h"
#include "random_fill.h"

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
    free(step->elements);
    step->elements = NULL;
    run->live_bytes -= step->bytes;
}

/* The elements of an input; NULL where there is none. */
static const void *elements_of(const gops_ir_run *run, int index, int input)
{
    if (input == GOPS_IR_NONE) {
        return NULL;
    }
    return run->step[run->model->layer[index].input[input].source].elements;
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

static bool pack(gops_ir_run *run, int index, gops_filter **filter, gops_tool_error *error)
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
    const void *weights = ones != NULL ? ones : elements_of(run, index, step->weights);
    const gops_status status = gops_filter_create(step->plan, weights, filter, &refusal);
    free(ones);
    return status == GOPS_OK || gops_ir_refuse(run, index, error, "%s", refusal.message);
}

static bool execute_plan(gops_ir_run *run, int index, gops_tool_error *error)
{
    gops_ir_step *step = &run->step[index];
    gops_filter *filter;
    gops_error refusal;
    if (!pack(run, index, &filter, error)) {
        return false;
    }
    const gops_arguments arguments = {
        .size = sizeof arguments,
        .data = elements_of(run, index, step->data),
        .filter = filter,
        .scale = elements_of(run, index, step->scale),
        .bias = elements_of(run, index, step->bias),
        .residual = elements_of(run, index, step->residual),
        .output = step->elements,
    };
    const double start = now();
    const gops_status status = gops_execute(step->plan, &arguments, &refusal);
    step->milliseconds = now() - start;
    run->live_bytes -= filter != NULL ? step->info.filter_bytes : 0;
    gops_filter_destroy(filter);
    return status == GOPS_OK || gops_ir_refuse(run, index, error, "%s", refusal.message);
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

static bool execute(gops_ir_run *run, int index, gops_tool_error *error)
{
    const gops_ir_layer *layer = &run->model->layer[index];
    gops_ir_step *step = &run->step[index];
    if (strcmp(layer->type, "Result") == 0) {
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
        memcpy(step->elements, elements_of(run, index, 0), step->bytes);
        return true;
    }
    return step->plan == NULL || execute_plan(run, index, error);
}

/* Lets go of inputs that nothing will read again; a Result keeps its own until the end. */
static void let_go(gops_ir_run *run, int index)
{
    const gops_ir_layer *layer = &run->model->layer[index];
    for (int i = 0; strcmp(layer->type, "Result") != 0 && i < layer->inputs; i++) {
        if (--run->step[layer->input[i].source].users == 0) {
            drop(run, layer->input[i].source);
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
