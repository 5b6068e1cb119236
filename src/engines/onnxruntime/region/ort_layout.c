/*
 * ort_layout.c: finds a place for every value of a region.
 *
 * The operands of a Concat are written to their places in its output. Concats are looked at from the
 * last to the first, so that one whose operands are the first of a later one's is a view of that: a
 * dense block, whose layers each concatenate all before them, copies nothing. An operand that already
 * has another place, as the call's inputs and outputs have, is copied; so is one whose integers become others.
 *
 * A sum is written over its residual, and a product over its first operand, where that is read for the
 * last time: its lines are in the cache, and those of other memory would have to come there, from another
 * core where that used them last.
 *
 * A slice is a view of what it is of, unless it has another place.
 *
 * The other values, and these outputs, are in one block of scratch memory, where those whose lives do
 * not overlap share bytes.
 */
#include "engines/onnxruntime/region/ort_layout.h"

#include "engines/onnxruntime/region/ort_chunks.h"
#include "engines/onnxruntime/region/ort_planes.h"
#include "engines/onnxruntime/region/ort_scratch.h"

#include <stdlib.h>
#include <string.h>

typedef struct value {
    const char *name;
    gops_tensor tensor;
    gops_ort_view view;
    size_t buffer; /* of those in scratch memory */
    bool placed;
    bool may_be_replaced; /* nothing but values that follow each other are in its buffer */
} value;

typedef struct making {
    const gops_ort_runtime *runtime;
    const gops_ort_members *members;
    value *values;
    size_t value_count;
    gops_ort_buffer *buffers;
    size_t buffer_count;
    gops_ort_layout *layout;
} making;

static value *find(const making *of, const char *name)
{
    for (size_t i = 0; i < of->value_count; i++) {
        if (strcmp(of->values[i].name, name) == 0) {
            return &of->values[i];
        }
    }
    return NULL;
}

static value *add(making *of, const char *name, const gops_tensor *tensor, int64_t plane)
{
    value *made = &of->values[of->value_count++];
    *made = (value){.name = name, .tensor = *tensor};
    made->view.element_bytes = (int64_t)gops_type_bytes(tensor->type);
    made->view.plane = plane;
    return made;
}

static void place(value *placed, size_t base)
{
    placed->view.base = base;
    placed->placed = true;
}

static void place_in_new(making *of, value *placed)
{
    placed->buffer = of->buffer_count++;
    of->buffers[placed->buffer] =
        (gops_ort_buffer){.bytes = gops_ort_channels_bytes(&placed->view, placed->tensor.dims[1])};
    place(placed, GOPS_ORT_SCRATCH);
}

/* Whether two values lie in one block of memory. */
static bool share(const value *one, const value *other)
{
    return one->view.base == other->view.base &&
           (one->view.base != GOPS_ORT_SCRATCH || one->buffer == other->buffer);
}

/* What integers of the operand become in the output of a Concat; NULL: they stay. */
static const uint8_t *codes_of(const gops_ort_member *concat, size_t operand)
{
    const uint8_t *codes = concat->codes != NULL ? concat->codes[operand] : NULL;
    bool stay = true;
    for (int i = 0; i < GOPS_ORT_CODES && codes != NULL; i++) {
        stay = stay && codes[i] == i;
    }
    return stay ? NULL : codes;
}

/* Makes the output the memory in which its operands already lie side by side. */
static bool is_view(const making *of, const gops_ort_member *concat, value *output)
{
    const value *first = find(of, concat->inputs[0]);
    bool is = first->placed && first->view.plane == output->view.plane;
    int64_t at = first->view.at;
    for (size_t i = 0; i < concat->input_count && is; i++) {
        const value *operand = find(of, concat->inputs[i]);
        is = codes_of(concat, i) == NULL && operand->placed && share(first, operand) &&
             operand->view.at == at;
        at += operand->tensor.dims[1] * first->view.plane;
    }
    if (is) {
        output->view = first->view;
        output->buffer = first->buffer;
        output->placed = true;
    }
    return is;
}

static void place_concat(making *of, const gops_ort_member *concat)
{
    value *output = find(of, concat->claim.output);
    if (!output->placed) {
        if (is_view(of, concat, output)) {
            return;
        }
        place_in_new(of, output);
    }
    gops_ort_view slice = output->view;
    for (size_t i = 0; i < concat->input_count; i++) {
        value *operand = find(of, concat->inputs[i]);
        if (!operand->placed && codes_of(concat, i) == NULL) {
            operand->view = slice;
            operand->buffer = output->buffer;
            operand->placed = true;
        }
        slice.at += operand->tensor.dims[1] * slice.plane;
    }
}

/* The part of a value that begins with a channel. */
static value part_of(const value *of, int64_t channel, const gops_tensor *tensor)
{
    value part = *of;
    part.tensor = *tensor;
    part.view.at += channel * of->view.plane;
    return part;
}

static void place_slice(making *of, const gops_ort_member *slice)
{
    value *data = find(of, slice->inputs[0]), *output = find(of, slice->claim.output);
    if (!data->placed) {
        place_in_new(of, data);
    }
    data->may_be_replaced = false; /* who reads the slice reads it */
    if (!output->placed) {
        const char *name = output->name;
        *output = part_of(data, slice->start, &output->tensor);
        output->name = name;
    }
}

static bool is_read_after(const making *of, const char *name, size_t step)
{
    for (size_t i = step + 1; i < of->members->count; i++) {
        const gops_ort_member *member = of->members->items[i];
        for (size_t k = 0; k < member->input_count; k++) {
            if (strcmp(member->inputs[k], name) == 0) {
                return true;
            }
        }
    }
    return false;
}

static void place_over_input(making *of, size_t step)
{
    const gops_ort_member *member = of->members->items[step];
    const bool multiplies = member->kind == GOPS_ORT_PRODUCT;
    if ((!multiplies && !gops_ort_has_plan(member)) || member->input_count < 2 ||
        strcmp(member->inputs[0], member->inputs[1]) == 0) {
        return;
    }
    const char *name = member->inputs[multiplies ? 0 : 1];
    value *output = find(of, member->claim.output), *input = find(of, name);
    if (output->placed || output->tensor.type != input->tensor.type ||
        output->view.plane != input->view.plane || (input->placed && !input->may_be_replaced) ||
        is_read_after(of, name, step)) {
        return;
    }
    if (!input->placed) {
        place_in_new(of, input);
    }
    output->view = input->view;
    output->buffer = input->buffer;
    output->placed = output->may_be_replaced = true;
}

static bool place_all(making *of, const gops_ort_interface *interface)
{
    const gops_ort_members *members = of->members;
    for (size_t i = 0; i < interface->input_count; i++) {
        const gops_tensor *tensor = &interface->input_tensors[i];
        place(add(of, interface->inputs[i], tensor, gops_ort_elements(tensor, 2)), 1 + i);
    }
    for (size_t i = 0; i < members->count; i++) {
        const gops_ort_member *member = members->items[i];
        value *output = add(of, member->claim.output, &member->output, member->plane);
        output->placed = member->chunks > 0; /* in memory of the threads (ort_chunked_step.h) */
    }
    for (size_t i = 0; i < members->count; i++) { /* all are known now */
        for (size_t k = 0; k < members->items[i]->input_count; k++) {
            if (find(of, members->items[i]->inputs[k]) == NULL) {
                return false;
            }
        }
    }
    for (size_t i = 0; i < interface->output_count; i++) {
        value *output = find(of, interface->outputs[i]);
        if (output == NULL || output->placed) {
            return false;
        }
        of->layout->output_tensors[i] = output->tensor;
        place(output, 1 + interface->input_count + i);
    }
    for (size_t i = members->count; i-- > 0;) {
        if (members->items[i]->kind == GOPS_ORT_CONCAT) {
            place_concat(of, members->items[i]);
        }
    }
    for (size_t i = 0; i < members->count; i++) {
        if (members->items[i]->kind == GOPS_ORT_SLICE) {
            place_slice(of, members->items[i]);
        }
    }
    for (size_t i = 0; i < members->count; i++) {
        place_over_input(of, i);
    }
    for (size_t i = 0; i < of->value_count; i++) {
        if (!of->values[i].placed) {
            place_in_new(of, &of->values[i]);
        }
    }
    return true;
}

static void use(making *of, const value *used, size_t step)
{
    if (used->view.base != GOPS_ORT_SCRATCH) {
        return;
    }
    gops_ort_buffer *in = &of->buffers[used->buffer];
    in->first = !in->used || step < in->first ? step : in->first;
    in->last = !in->used || step > in->last ? step : in->last;
    in->used = true;
}

static void add_step(making *of, gops_ort_member *member, const value *const *inputs, size_t count,
                     const value *output, const gops_ort_view *to)
{
    gops_ort_layout *layout = of->layout;
    gops_ort_placed_step *step = &layout->steps[layout->step_count];
    *step = (gops_ort_placed_step){.member = member, .data = inputs[0]->tensor, .output = *to};
    for (size_t i = 0; i < count; i++) {
        step->inputs[i] = inputs[i]->view;
        use(of, inputs[i], layout->step_count);
    }
    use(of, output, layout->step_count);
    layout->step_count++;
}

static void add_copy(making *of, gops_ort_member *member, const value *from, const uint8_t *codes,
                     const value *output, const gops_ort_view *to)
{
    if (codes != NULL || from->view.at != to->at || !share(from, output)) {
        add_step(of, member, &from, 1, output, to);
        of->layout->steps[of->layout->step_count - 1].codes = codes;
    }
}

static void add_copies(making *of, gops_ort_member *member, const value *output)
{
    gops_ort_view to = output->view;
    for (size_t k = 0; k < member->input_count; k++) {
        const value *from = find(of, member->inputs[k]);
        add_copy(of, member, from, codes_of(member, k), output, &to);
        to.at += from->tensor.dims[1] * to.plane;
    }
}

static void add_groups(making *of, gops_ort_member *member, const value *output)
{
    gops_ort_view to = output->view;
    gops_tensor group = member->output;
    group.dims[1] /= member->groups;
    for (int64_t k = 0; k < member->groups; k++) {
        const bool split = member->input_count == 1;
        const value *data = find(of, member->inputs[split ? 0 : k]);
        const value part = part_of(data, split ? k * group.dims[1] : 0, &group);
        const value *from = &part;
        add_step(of, member, &from, 1, output, &to);
        to.at += to.plane;
    }
}

/* The member and the next one. */
static void add_chunks(making *of, size_t number)
{
    gops_ort_member *member = of->members->items[number], *second = of->members->items[number + 1];
    gops_ort_placed_step *step = &of->layout->steps[of->layout->step_count];
    const value *data = find(of, member->inputs[0]), *output = find(of, second->claim.output);
    add_step(of, member, &data, 1, output, &output->view);
    step->second = second;
}

static void add_steps(making *of)
{
    for (size_t i = 0; i < of->members->count; i++) {
        gops_ort_member *member = of->members->items[i];
        const value *output = find(of, member->claim.output), *inputs[2] = {NULL, NULL};
        if (member->chunks > 0) {
            add_chunks(of, i++);
        } else if (member->kind == GOPS_ORT_CONCAT) {
            add_copies(of, member, output);
        } else if (member->kind == GOPS_ORT_SHUFFLE) {
            add_groups(of, member, output);
        } else if (member->kind == GOPS_ORT_SLICE) {
            const value part = part_of(find(of, member->inputs[0]), member->start, &member->output);
            add_copy(of, member, &part, NULL, output, &output->view);
        } else {
            for (size_t k = 0; k < member->input_count; k++) {
                inputs[k] = find(of, member->inputs[k]);
            }
            add_step(of, member, inputs, member->input_count, output, &output->view);
        }
    }
}

/* Adds the places of buffers to those of values in them, in the steps. */
static ort_status *make(making *of, const gops_ort_interface *interface)
{
    if (!place_all(of, interface)) {
        return gops_ort_fail(of->runtime, ORT_FAIL,
                             "groupops: a value of a graph is neither read nor written in it");
    }
    add_steps(of);
    if (!gops_ort_share_scratch(of->buffers, of->buffer_count, &of->layout->scratch_bytes)) {
        return gops_ort_no_memory(of->runtime, "a graph");
    }
    for (size_t i = 0; i < of->value_count; i++) {
        value *moved = &of->values[i];
        if (moved->view.base == GOPS_ORT_SCRATCH) {
            moved->view.at += of->buffers[moved->buffer].at / moved->view.element_bytes;
        }
    }
    of->layout->step_count = 0;
    add_steps(of); /* the same ones, at their places */
    return NULL;
}

ort_status *gops_ort_layout_make(const gops_ort_runtime *runtime, const gops_ort_members *members,
                                 const gops_ort_interface *interface, gops_ort_layout *layout)
{
    size_t steps = 0;
    for (size_t i = 0; i < members->count; i++) {
        steps += members->items[i]->input_count + (size_t)members->items[i]->groups;
    }
    const size_t values = members->count + interface->input_count;
    making of = {.runtime = runtime, .members = members, .layout = layout};
    *layout = (gops_ort_layout){
        .steps = calloc(steps + 1, sizeof *layout->steps),
        .output_tensors = calloc(interface->output_count + 1, sizeof *layout->output_tensors),
    };
    of.values = calloc(values + 1, sizeof *of.values);
    of.buffers = calloc(values + 1, sizeof *of.buffers);
    ort_status *status = NULL;
    gops_ort_find_chunks(members, interface);
    gops_ort_find_planes(members, interface);
    if (layout->steps == NULL || layout->output_tensors == NULL || of.values == NULL ||
        of.buffers == NULL) {
        status = gops_ort_no_memory(runtime, "a graph");
    } else {
        status = make(&of, interface);
    }
    free(of.values);
    free(of.buffers);
    if (status != NULL) {
        gops_ort_layout_free(layout);
    }
    return status;
}

void gops_ort_layout_free(gops_ort_layout *layout)
{
    free(layout->steps);
    free(layout->output_tensors);
    *layout = (gops_ort_layout){.steps = NULL};
}
