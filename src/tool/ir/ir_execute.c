/* ir_execute.c: runs the prepared layers of a model. */
#include "common/clock.h"
#include "common/random_fill.h"
#include "ir/ir_run.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool allocate_output(gops_ir_run *run, int index, gops_tool_error *error)
{
    gops_ir_step *step = &run->step[index];
    if (!gops_ir_reserve(run, index, step->bytes, error)) {
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

static bool pack_weights(gops_ir_run *run, int index, const void *weights,
                         gops_packed_filter **filter, gops_tool_error *error)
{
    const gops_ir_step *step = &run->step[index];
    gops_error refusal;
    *filter = NULL;
    if (weights == NULL) {
        return true;
    }
    if (!gops_ir_reserve(run, index, step->info.filter_bytes, error)) {
        return false;
    }
    return gops_filter_create(step->plan, weights, NULL, filter, &refusal) == GOPS_OK ||
           gops_ir_refuse(run, index, error, "%s", refusal.message);
}

static bool execute_plan(gops_ir_run *run, int index, const void *weights,
                         const gops_arguments *given, gops_tool_error *error)
{
    gops_ir_step *step = &run->step[index];
    gops_packed_filter *filter;
    gops_arguments arguments = *given;
    gops_error refusal;
    if (!pack_weights(run, index, weights, &filter, error)) {
        return false;
    }
    arguments.filter = filter;
    const double start = gops_clock_ms();
    const gops_status status = gops_execute(step->plan, &arguments, &refusal);
    step->milliseconds = gops_clock_ms() - start;
    run->live_bytes -= filter != NULL ? step->info.filter_bytes : 0;
    gops_filter_destroy(filter);
    return status == GOPS_OK || gops_ir_refuse(run, index, error, "%s", refusal.message);
}

/* Of a number for each channel, those of the channels that are held; a single number is for all. */
static const void *of_channels(const gops_ir_step *step, const gops_ir_taken *taken)
{
    int64_t count;
    if (taken->elements == NULL || !gops_ir_count(&taken->part.shape, &count) || count == 1) {
        return taken->elements;
    }
    return (const char *)taken->elements +
           (size_t)step->held.begin[1] * gops_type_bytes(taken->part.shape.type);
}

/* The elements are those of the file that the command line gives. */
static bool read_given(gops_ir_run *run, int index, gops_tool_error *error)
{
    gops_ir_step *step = &run->step[index];
    const bool done = run->ranks != NULL ? run->ranks->read(step, &step->elements, error)
                                         : gops_npy_read(&step->file, &step->elements, error);
    gops_npy_close(&step->file);
    return done;
}

/* Random elements, which do not depend on what is held: row by row of the last axis. */
static void fill_random(const gops_ir_step *step, uint64_t seed)
{
    const gops_ir_part *held = &step->held;
    const int32_t last = held->shape.rank - 1;
    const size_t row =
        (size_t)(last >= 0 ? held->shape.dims[last] : 1) * gops_type_bytes(held->shape.type);
    for (size_t done = 0, at = 0; done < step->bytes; done += row, at++) {
        size_t rest = at;
        int64_t first = last >= 0 ? held->begin[last] : 0;
        int64_t stride = last >= 0 ? step->output.dims[last] : 1;
        for (int32_t axis = last - 1; axis >= 0; axis--) {
            const size_t dim = (size_t)held->shape.dims[axis];
            first += (held->begin[axis] + (int64_t)(rest % dim)) * stride;
            stride *= step->output.dims[axis];
            rest /= dim;
        }
        gops_random_fill(held->shape.type, (char *)step->elements + done, row,
                         gops_random_skip(seed, first));
    }
}

/* Whether the layer is fused or folded with one that follows, and so executed with it. */
static bool is_before_another(const gops_ir_run *run, int index)
{
    const gops_ir_step *step = &run->step[index];
    return step->users == 1 && run->step[step->user].before == index;
}

/* Of a layer that reads no elements of another rank. */
static bool make_elements(gops_ir_run *run, int index, gops_tool_error *error)
{
    gops_ir_step *step = &run->step[index];
    if (step->file.descriptor >= 0) {
        return gops_ir_reserve(run, index, step->bytes, error) && read_given(run, index, error);
    }
    if (!allocate_output(run, index, error)) {
        return false;
    }
    if (step->prepare == gops_ir_prepare_const) {
        return gops_ir_read_const(run, index, step->elements, error);
    }
    if (step->constant) {
        gops_ir_fold(run, index);
        return true;
    }
    if (step->prepare == gops_ir_prepare_parameter) {
        fill_random(step, (uint64_t)index + 1);
    }
    return true;
}

/* Of a layer that reads elements, but for a Concat. */
static bool compute(gops_ir_run *run, int index, const gops_ir_inputs *inputs,
                    gops_tool_error *error)
{
    gops_ir_step *step = &run->step[index];
    if (step->pointwise) {
        const double start = gops_clock_ms();
        gops_ir_compute_pointwise(step, inputs);
        step->milliseconds = gops_clock_ms() - start;
        return true;
    }
    if (step->plan == NULL) { /* Reshape, Convert */
        gops_ir_convert(inputs->data.part.shape.type, inputs->data.elements, step->output.type,
                        step->elements,
                        (int64_t)(step->bytes / gops_type_bytes(step->output.type)));
        return true;
    }
    const gops_arguments arguments = {
        .size = sizeof arguments,
        .data = inputs->data.elements,
        .scale = of_channels(step, &inputs->scale),
        .bias = of_channels(step, &inputs->bias),
        .residual = inputs->residual.elements,
        .output = step->elements,
    };
    return run->ranks != NULL
               ? run->ranks->execute(run, index, inputs->weights.elements, &arguments, error)
               : execute_plan(run, index, inputs->weights.elements, &arguments, error);
}

static bool execute_layer(gops_ir_run *run, int index, gops_tool_error *error)
{
    const gops_ir_step *step = &run->step[index];
    gops_ir_inputs inputs;
    if (run->model->layer[index].outputs == 0 || is_before_another(run, index)) {
        return true;
    }
    if (!gops_ir_all(run, make_elements(run, index, error), error)) {
        return false;
    }
    if (step->prepare == gops_ir_prepare_concat) {
        return gops_ir_concat(run, index, error);
    }
    if (step->constant || step->data == GOPS_IR_NONE) {
        return true;
    }
    const bool done = gops_ir_all(run, gops_ir_take_inputs(run, index, &inputs, error), error) &&
                      compute(run, index, &inputs, error);
    gops_ir_release_inputs(run, &inputs);
    return done;
}

/* Frees the inputs of the layer, and of the layers that are fused with it, that nothing will read
 * again. The input of a Result stays until the end. */
static void release_inputs(gops_ir_run *run, int index)
{
    const gops_ir_layer *layer = &run->model->layer[index];
    if (run->step[index].prepare == gops_ir_prepare_result || is_before_another(run, index)) {
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
        if (!gops_ir_all(run, execute_layer(run, index, error), error)) {
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
