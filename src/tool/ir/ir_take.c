/* ir_take.c: the elements that a layer's plan reads: those of its sources, or, where it reads another
 * shape or part of them, copies. */
#include "ir/ir_run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

bool gops_ir_reserve(gops_ir_run *run, int index, size_t bytes, gops_tool_error *error)
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

static bool is_part(const gops_ir_part *one, const gops_ir_part *other)
{
    return gops_ir_same_shape(&one->shape, &other->shape) &&
           memcmp(one->begin, other->begin, sizeof one->begin) == 0;
}

/* Collective: where the elements are the source's, or what the ranks exchange. */
static bool fetch(gops_ir_run *run, int index, int source, bool whole, gops_ir_taken *taken,
                  gops_tool_error *error)
{
    if (source == GOPS_IR_NONE) {
        return true;
    }
    const gops_ir_step *from = &run->step[source];
    *taken = (gops_ir_taken){.elements = from->elements, .part = from->held};
    return run->ranks == NULL || run->ranks->fetch(run, index, source, whole, taken, error);
}

/* Copies of the elements what the layer reads: the part `wanted`, to which they are broadcast. */
static bool cut(gops_ir_run *run, int index, const gops_ir_part *wanted, gops_ir_taken *taken,
                gops_tool_error *error)
{
    gops_ir_taken made = {.part = *wanted};
    gops_tool_error reason;
    int64_t count;
    if (taken->elements == NULL || is_part(&taken->part, wanted)) {
        return true;
    }
    if (!gops_ir_bytes(&wanted->shape, &made.bytes, &reason)) {
        return gops_ir_refuse(run, index, error, "%s", reason.message);
    }
    if (!gops_ir_reserve(run, index, made.bytes, error)) {
        return false;
    }
    count = (int64_t)(made.bytes / gops_type_bytes(wanted->shape.type));
    made.memory = malloc(made.bytes + 1);
    made.elements = made.memory;
    if (made.memory == NULL) {
        run->live_bytes -= made.bytes;
        return gops_ir_refuse(run, index, error, "no memory for its %zu bytes", made.bytes);
    }
    gops_ir_broadcast(&taken->part.shape, taken->elements, wanted, 0, count, made.memory);
    free(taken->memory);
    run->live_bytes -= taken->bytes;
    *taken = made;
    return true;
}

bool gops_ir_take_inputs(gops_ir_run *run, int index, gops_ir_inputs *inputs,
                         gops_tool_error *error)
{
    const gops_ir_step *step = &run->step[index];
    const int sources[] = {step->data, step->residual};
    gops_ir_taken *const taken[] = {&inputs->data, &inputs->residual};
    const gops_ir_part *const wanted[] = {step->pointwise ? &step->held : &step->reads,
                                          &step->held};
    bool done = true;
    *inputs = (gops_ir_inputs){0};
    for (int i = 0; done && i < 2; i++) {
        const bool broadcast = step->pointwise && sources[i] != GOPS_IR_NONE &&
                               !gops_ir_same_shape(&run->step[sources[i]].output, &step->output);
        done = fetch(run, index, sources[i], broadcast, taken[i], error);
    }
    done = done && fetch(run, index, step->weights, true, &inputs->weights, error) &&
           fetch(run, index, step->scale, true, &inputs->scale, error) &&
           fetch(run, index, step->bias, true, &inputs->bias, error);
    for (int i = 0; done && (step->plan != NULL || step->pointwise) && i < 2; i++) {
        done = cut(run, index, wanted[i], taken[i], error);
    }
    return done;
}

bool gops_ir_take_part(gops_ir_run *run, int index, int source, const gops_ir_part *wanted,
                       gops_ir_taken *taken, gops_tool_error *error)
{
    return fetch(run, index, source, false, taken, error) && cut(run, index, wanted, taken, error);
}

void gops_ir_release_taken(gops_ir_run *run, gops_ir_taken *taken)
{
    free(taken->memory);
    run->live_bytes -= taken->bytes;
}

void gops_ir_release_inputs(gops_ir_run *run, gops_ir_inputs *inputs)
{
    gops_ir_taken *const taken[] = {&inputs->data, &inputs->residual, &inputs->weights,
                                    &inputs->scale, &inputs->bias};
    for (int i = 0; i < 5; i++) {
        gops_ir_release_taken(run, taken[i]);
    }
}
