/* mpi_verb_ir.c: runs an OpenVINO IR, each rank a part of every layer. */
#include "mpi_ir.h"
#include "mpi_npy.h"

#include "common/clock.h"
#include "verbs/verb_ir.h"

#include <stdlib.h>
#include <string.h>

static bool all(const gops_ir_run *run, bool done, gops_tool_error *error)
{
    return gops_mpi_all(gops_mpi_ir_of(run)->world, done, error);
}

/* The weights of the rank's groups. */
static const void *own_weights(const gops_ir_step *step, const gops_mpi_plan_info *info,
                               const void *weights)
{
    gops_tensor group = step->problem.second;
    size_t bytes = 0;
    group.dims[0] = 1;
    gops_tensor_bytes(&group, &bytes, NULL);
    return (const char *)weights + (size_t)info->first_group * bytes;
}

static bool execute(gops_ir_run *run, int index, const void *weights,
                    const gops_arguments *arguments, gops_tool_error *error)
{
    gops_mpi_ir *state = gops_mpi_ir_of(run);
    const gops_mpi_ir_layer *layer = &state->layer[index];
    gops_ir_step *step = &run->step[index];
    gops_mpi_filter *filter = NULL;
    gops_mpi_times times = {0};
    gops_error refusal;
    gops_status status = GOPS_OK;
    gops_ir_text name;
    gops_mpi_progress(state->world, "computing %s",
                      gops_ir_call_layer(&run->model->layer[index], &name));
    if (weights != NULL) {
        status = gops_mpi_filter_create(layer->plan, own_weights(step, &layer->info, weights), NULL,
                                        &filter, &refusal);
    }
    const double start = gops_clock_ms();
    if (status == GOPS_OK) {
        status = gops_mpi_execute(layer->plan, filter, arguments, &times, &refusal);
    }
    step->milliseconds = gops_clock_ms() - start;
    state->line.all += step->milliseconds;
    state->line.computing += times.computing * 1000;
    state->line.waiting += times.waiting * 1000;
    state->line.copying += times.copying * 1000;
    gops_mpi_filter_destroy(filter);
    if (status != GOPS_OK) {
        gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s", refusal.message);
        return gops_mpi_ir_blame(run, index, error);
    }
    return true;
}

static bool read_part(const gops_ir_step *step, void **elements, gops_tool_error *error)
{
    /* The file of a scalar has an axis of 1. */
    gops_mpi_part part = {.shape = step->output.rank == 0 ? step->file.tensor : step->held.shape};
    memcpy(part.offset, step->held.begin, sizeof part.offset);
    return gops_mpi_npy_read(&step->file, &part, elements, error);
}

/* What all ranks hold rank 0 writes. */
static bool write_parts(const gops_ir_run *run, int index, const char *path, gops_tool_error *error)
{
    const gops_mpi_ir *state = gops_mpi_ir_of(run);
    const gops_ir_step *step = &run->step[index];
    const gops_mpi_layout *layout = &state->layer[index].layout;
    const gops_mpi_part part = gops_mpi_layout_part(layout, &step->output, state->world->rank);
    const bool writes = layout->distribution != NULL || state->world->rank == 0;
    gops_mpi_progress(state->world, "writing %s", path);
    return gops_mpi_npy_write(state->world, path, &step->output,
                              gops_npy_stored_type(step->output.type), writes ? &part : NULL,
                              step->elements, error);
}

bool gops_mpi_verb_ir(const gops_mpi_world *world, const gops_command *command,
                      gops_tool_error *error)
{
    gops_mpi_ir state = {.ranks = {.all = all,
                                   .place = gops_mpi_ir_place,
                                   .fetch = gops_mpi_ir_fetch,
                                   .execute = execute,
                                   .write = write_parts,
                                   .read = read_part,
                                   .prints = world->rank == 0},
                         .world = world};
    const bool done = gops_verb_ir_by(command, &state.ranks, error) &&
                      gops_mpi_print_lines(world, &state.line, false, error);
    for (int i = 0; i < state.layers; i++) {
        gops_mpi_plan_destroy(state.layer != NULL ? state.layer[i].plan : NULL);
    }
    free(state.layer);
    for (int i = 0; i <= GOPS_MAX_SPATIAL; i++) {
        gops_mpi_distribution_destroy(state.spread[i][0]);
        gops_mpi_distribution_destroy(state.spread[i][1]);
    }
    return done;
}
