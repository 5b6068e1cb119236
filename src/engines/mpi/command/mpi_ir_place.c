/* mpi_ir_place.c: decides how the tensors of a model are distributed (mpi_ir.h), and plans its
 * convolutions and normalizations. */
#include "mpi_ir.h"

#include <stdlib.h>
#include <string.h>

gops_mpi_part gops_mpi_layout_part(const gops_mpi_layout *layout, const gops_tensor *tensor,
                                   int rank)
{
    gops_mpi_part part = {.shape = *tensor};
    if (layout->distribution != NULL) {
        gops_mpi_part_of(layout->distribution, tensor, layout->groups, rank, &part, NULL);
    }
    return part;
}

static gops_ir_part held_part(const gops_mpi_ir *state, const gops_mpi_layout *layout,
                              const gops_tensor *tensor)
{
    const gops_mpi_part part = gops_mpi_layout_part(layout, tensor, state->world->rank);
    gops_ir_part held = {.shape = part.shape};
    memcpy(held.begin, part.offset, sizeof held.begin);
    return held;
}

bool gops_mpi_ir_blame(const gops_ir_run *run, int index, gops_tool_error *error)
{
    const gops_tool_error said = *error;
    const int rank = strncmp(said.message, "rank ", 5) == 0 ? (int)strcspn(said.message, ":") : 0;
    gops_ir_refuse(run, index, error, "%s", said.message + (rank != 0 ? rank + 2 : 0));
    return rank != 0 && gops_tool_prefix(error, "%.*s", rank, said.message);
}

bool gops_mpi_ir_spread(gops_mpi_ir *state, int32_t axes, bool dense,
                        const gops_mpi_distribution **distribution, gops_tool_error *error)
{
    gops_mpi_distribution **made = &state->spread[axes][dense];
    gops_mpi_grid grid;
    gops_error refusal;
    if (*made == NULL) {
        if (!gops_mpi_read_split(state->world, axes + 2, &grid, error)) {
            return false;
        }
        if (dense && grid.groups == GOPS_MPI_DIVIDE) {
            bool divided = grid.batch == GOPS_MPI_DIVIDE;
            for (int32_t i = 0; i < axes; i++) {
                divided = divided || grid.space.values[i] == GOPS_MPI_DIVIDE;
            }
            grid.groups = 0;
            if (!divided && axes > 0) {
                grid.space.values[0] = GOPS_MPI_DIVIDE;
            } else if (!divided) {
                grid.batch = GOPS_MPI_DIVIDE;
            }
        }
        if (gops_mpi_distribution_create(MPI_COMM_WORLD, &grid, made, &refusal) != GOPS_OK) {
            return gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s", refusal.message);
        }
    }
    *distribution = *made;
    return true;
}

/* By the grid of --split, unless it has more ranks along the groups than there are groups. */
static bool place_operation(gops_ir_run *run, int index, gops_tool_error *error)
{
    gops_mpi_ir *state = gops_mpi_ir_of(run);
    const gops_ir_step *step = &run->step[index];
    const int32_t axes = step->problem.data.rank - 2;
    gops_mpi_layout *layout = &state->layer[index].layout;
    layout->groups = step->problem.operation == GOPS_IR_NORM
                         ? step->problem.attributes.norm.num_groups
                         : step->problem.second.dims[0];
    bool done = gops_mpi_ir_spread(state, axes, false, &layout->distribution, error);
    if (done && gops_mpi_distribution_grid(layout->distribution).groups > layout->groups) {
        done = gops_mpi_ir_spread(state, axes, true, &layout->distribution, error);
    }
    return done || gops_mpi_ir_blame(run, index, error);
}

/* For a tensor that no operation reads: where it has the axes that --split names, its grid. */
static gops_mpi_layout place_alone(gops_mpi_ir *state, const gops_tensor *tensor)
{
    gops_mpi_layout layout = {NULL, 1};
    gops_tool_error unread;
    if (tensor->rank < 2 || tensor->rank > GOPS_MAX_SPATIAL + 2 || tensor->dims[1] == 0 ||
        !gops_mpi_ir_spread(state, tensor->rank - 2, false, &layout.distribution, &unread)) {
        return (gops_mpi_layout){NULL, 1};
    }
    layout.groups = tensor->dims[1];
    return layout;
}

/* Finds how the outputs are read: the members read_whole and operation. */
static void find_readers(gops_ir_run *run)
{
    gops_mpi_ir_layer *layer = gops_mpi_ir_of(run)->layer;
    for (int i = run->model->layers - 1; i >= 0; i--) {
        const int index = run->model->order[i];
        const gops_ir_step *step = &run->step[index];
        const gops_ir_step *user = &run->step[step->user != GOPS_IR_NONE ? step->user : index];
        const int whole[] = {step->weights, step->scale, step->bias};
        for (int k = 0; k < 3; k++) {
            if (step->plan != NULL && whole[k] != GOPS_IR_NONE) {
                layer[whole[k]].read_whole = true;
            }
        }
        layer[index].operation = GOPS_IR_NONE;
        if (user == step) {
            continue;
        }
        if (user->problem.operation != GOPS_IR_NO_OPERATION) {
            /* Else it is the filter, or the like. */
            const bool is_data = step->output.rank == user->problem.data.rank;
            layer[index].operation = is_data ? step->user : GOPS_IR_NONE;
        } else if (gops_ir_same_shape(&user->output, &step->output)) {
            layer[index].operation = layer[step->user].operation;
        }
    }
}

/* As the first operation behind it is. */
static gops_mpi_layout place_parameter(gops_ir_run *run, int index)
{
    gops_mpi_ir *state = gops_mpi_ir_of(run);
    const gops_mpi_ir_layer *layer = &state->layer[index];
    if (layer->read_whole) {
        return (gops_mpi_layout){NULL, 1};
    }
    return layer->operation != GOPS_IR_NONE ? state->layer[layer->operation].layout
                                            : place_alone(state, &run->step[index].output);
}

/* As that of its operands which has the output's shape, if one is distributed. */
static gops_mpi_layout place_pointwise(const gops_ir_run *run, int index)
{
    const gops_mpi_ir *state = gops_mpi_ir_of(run);
    const gops_ir_step *step = &run->step[index];
    const int sources[] = {step->data, step->residual};
    for (int i = 0; i < 2; i++) {
        if (sources[i] != GOPS_IR_NONE && state->layer[sources[i]].layout.distribution != NULL &&
            gops_ir_same_shape(&run->step[sources[i]].output, &step->output)) {
            return state->layer[sources[i]].layout;
        }
    }
    return (gops_mpi_layout){NULL, 1};
}

static bool divides_images(const gops_mpi_ir *state, const gops_mpi_layout *layout)
{
    return layout->distribution != NULL &&
           gops_mpi_distribution_grid(layout->distribution).batch == state->world->ranks;
}

/* Where ranks divide images alone, a Reshape that keeps them is each rank's own: of data and output. */
static gops_mpi_layout place_reshape(gops_ir_run *run, int index)
{
    gops_mpi_ir *state = gops_mpi_ir_of(run);
    const gops_ir_step *step = &run->step[index];
    const gops_mpi_layout *from = &state->layer[step->data].layout, whole = {NULL, 1};
    const gops_tensor *data = &run->step[step->data].output;
    if (!divides_images(state, from) || step->output.rank < 2 ||
        step->output.rank > GOPS_MAX_SPATIAL + 2 || step->output.dims[0] != data->dims[0]) {
        return whole;
    }
    for (int dense = 0; dense < 2; dense++) {
        gops_mpi_layout layout = whole;
        gops_tool_error unread;
        if (gops_mpi_ir_spread(state, step->output.rank - 2, dense, &layout.distribution,
                               &unread) &&
            divides_images(state, &layout)) {
            return layout;
        }
    }
    return whole;
}

/* The ranks along an axis of tensors. */
static int64_t ranks_along(const gops_mpi_distribution *distribution, int32_t axis)
{
    const gops_mpi_grid grid = gops_mpi_distribution_grid(distribution);
    return axis == 0 ? grid.batch : axis == 1 ? grid.groups : grid.space.values[axis - 2];
}

/* As its first operand that is distributed; where ranks divide the groups whose channels it joins, they
 * divide what they do for dense layers. */
static gops_mpi_layout place_concat(gops_ir_run *run, int index)
{
    gops_mpi_ir *state = gops_mpi_ir_of(run);
    const gops_ir_step *step = &run->step[index];
    const gops_mpi_layout whole = {NULL, 1};
    gops_mpi_layout layout = whole;
    gops_tool_error unread;
    for (int i = 0; layout.distribution == NULL && i < run->model->layer[index].inputs; i++) {
        layout = state->layer[gops_ir_source(run, index, i)].layout;
    }
    if (layout.distribution != NULL && step->axis == 1) {
        layout.groups = 1;
        if (ranks_along(layout.distribution, 1) > 1 &&
            !gops_mpi_ir_spread(state, step->output.rank - 2, true, &layout.distribution,
                                &unread)) {
            return whole;
        }
    }
    return layout.distribution != NULL && ranks_along(layout.distribution, step->axis) == 1 ? layout
                                                                                            : whole;
}

static gops_mpi_layout place_layer(gops_ir_run *run, int index)
{
    const gops_mpi_ir *state = gops_mpi_ir_of(run);
    const gops_ir_step *step = &run->step[index];
    if (step->prepare == gops_ir_prepare_concat) {
        return place_concat(run, index);
    }
    if (step->constant || step->prepare == gops_ir_prepare_result) {
        return (gops_mpi_layout){NULL, 1};
    }
    if (step->problem.operation != GOPS_IR_NO_OPERATION) {
        return state->layer[index].layout;
    }
    if (step->prepare == gops_ir_prepare_parameter) {
        return place_parameter(run, index);
    }
    return step->prepare == gops_ir_prepare_reshape ? place_reshape(run, index)
                                                    : place_pointwise(run, index);
}

/* What the rank holds of each output. */
static bool hold(gops_ir_run *run, int index, gops_tool_error *error)
{
    const gops_mpi_ir *state = gops_mpi_ir_of(run);
    gops_ir_step *step = &run->step[index];
    const gops_mpi_layout *layout = &state->layer[index].layout;
    gops_tool_error reason;
    if (layout->distribution == NULL) {
        return true;
    }
    step->held = held_part(state, layout, &step->output);
    return gops_ir_bytes(&step->held.shape, &step->bytes, &reason) ||
           gops_ir_refuse(run, index, error, "%s", reason.message);
}

/* Collective. */
static bool plan_operation(gops_ir_run *run, int index, gops_tool_error *error)
{
    gops_mpi_ir *state = gops_mpi_ir_of(run);
    gops_mpi_ir_layer *layer = &state->layer[index];
    gops_ir_step *step = &run->step[index];
    const gops_ir_problem *problem = &step->problem;
    const gops_mpi_distribution *spread = layer->layout.distribution;
    gops_error refusal;
    gops_status status;
    switch (problem->operation) {
    case GOPS_IR_CONV:
        status = gops_mpi_conv_plan_create(spread, &problem->data, &problem->second,
                                           &problem->attributes.conv, &problem->options,
                                           &layer->plan, &refusal);
        break;
    case GOPS_IR_DECONV:
        status = gops_mpi_deconv_plan_create(spread, &problem->data, &problem->second,
                                             &problem->attributes.deconv, &problem->options,
                                             &layer->plan, &refusal);
        break;
    default:
        status = gops_mpi_norm_plan_create(spread, &problem->data, &problem->second,
                                           &problem->third, &problem->attributes.norm,
                                           &problem->options, &layer->plan, &refusal);
    }
    if (status != GOPS_OK) {
        gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s", refusal.message);
        return gops_mpi_ir_blame(run, index, error);
    }
    gops_mpi_plan_get_info(layer->plan, &layer->info, NULL);
    step->reads = held_part(state, &layer->layout, &problem->data);
    state->line.sent += (double)layer->info.sent_bytes;
    state->line.received += (double)layer->info.received_bytes;
    state->line.messages += layer->info.messages;
    return true;
}

/* Ranks that read other layers would wait for each other for ever. */
static bool check_model(const gops_ir_run *run, gops_tool_error *error)
{
    const gops_mpi_ir *state = gops_mpi_ir_of(run);
    const gops_ir_model *model = run->model;
    uint64_t hash = GOPS_MPI_HASH;
    for (int i = 0; i < model->layers; i++) {
        const gops_ir_step *step = &run->step[model->order[i]];
        const char *type = model->layer[model->order[i]].type;
        gops_ir_text text;
        const char *output = gops_ir_call_tensor(&step->output, &text);
        hash = gops_mpi_hash(hash, type, strlen(type));
        hash = gops_mpi_hash(hash, output, strlen(output));
        for (int k = 0; k < model->layer[model->order[i]].inputs; k++) {
            const int source = gops_ir_source(run, model->order[i], k);
            hash = gops_mpi_hash(hash, (const char *)&source, sizeof source);
        }
        hash = gops_mpi_hash(hash, (const char *)&step->axis, sizeof step->axis);
    }
    return gops_mpi_all_have(state->world, hash, "layers", error);
}

bool gops_mpi_ir_place(gops_ir_run *run, gops_tool_error *error)
{
    gops_mpi_ir *state = gops_mpi_ir_of(run);
    const gops_ir_model *model = run->model;
    bool done = true;
    if (!check_model(run, error)) {
        return false;
    }
    state->layers = model->layers;
    state->layer = calloc((size_t)model->layers, sizeof *state->layer);
    if (!gops_mpi_all(state->world,
                      state->layer != NULL ||
                          gops_tool_refuse(error, GOPS_EXIT_FAILED, "no memory for the model"),
                      error)) {
        return false;
    }
    find_readers(run);
    for (int i = 0; done && i < model->layers; i++) {
        done = run->step[model->order[i]].problem.operation == GOPS_IR_NO_OPERATION ||
               place_operation(run, model->order[i], error);
    }
    for (int i = 0; done && i < model->layers; i++) {
        state->layer[model->order[i]].layout = place_layer(run, model->order[i]);
    }
    for (int i = 0; done && i < model->layers; i++) {
        done = hold(run, i, error);
    }
    done = gops_mpi_all(state->world, done, error);
    for (int i = 0; done && i < model->layers; i++) {
        done = run->step[i].problem.operation == GOPS_IR_NO_OPERATION ||
               run->step[i].plan == NULL || plan_operation(run, i, error);
    }
    return gops_mpi_all(state->world, done, error);
}
