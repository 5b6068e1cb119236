/* mpi_ir_fetch.c: tensors that a layer reads otherwise than they are distributed. */
#include "mpi_ir.h"
#include "mpi_npy.h"

#include <stdlib.h>
#include <string.h>

/* Memory for a part. Not collective. */
static bool take_memory(gops_ir_run *run, int index, const gops_tensor *shape, gops_ir_taken *taken,
                        gops_tool_error *error)
{
    gops_tool_error reason;
    *taken = (gops_ir_taken){.part = {.shape = *shape}};
    size_t bytes;
    if (!gops_ir_bytes(shape, &bytes, &reason)) {
        return gops_ir_refuse(run, index, error, "%s", reason.message);
    }
    if (!gops_ir_reserve(run, index, bytes, error)) {
        return false;
    }
    taken->bytes = bytes;
    taken->elements = taken->memory = calloc(bytes + 1, 1);
    return taken->memory != NULL ||
           gops_ir_refuse(run, index, error, "no memory for the %zu bytes that it reads", bytes);
}

/* Each rank puts its part, which no other has, among zeros; the union of all bits is the whole. */
static bool gather(gops_ir_run *run, int index, int source, gops_ir_taken *taken,
                   gops_tool_error *error)
{
    enum { MAX_BYTES = 1 << 28 };
    const gops_mpi_ir *state = gops_mpi_ir_of(run);
    const gops_ir_step *from = &run->step[source];
    const gops_mpi_part part =
        gops_mpi_layout_part(&state->layer[source].layout, &from->output, state->world->rank);
    const size_t bytes = gops_type_bytes(from->output.type);
    if (!gops_mpi_all(state->world, take_memory(run, index, &from->output, taken, error), error)) {
        return false;
    }
    gops_mpi_runs at = gops_mpi_first_run(&from->output, &part, false);
    const size_t run_bytes = (size_t)at.run * bytes;
    for (size_t done = 0; done < from->bytes; done += run_bytes) {
        memcpy((char *)taken->memory + (size_t)gops_mpi_run_begin(&at) * bytes,
               (const char *)from->elements + done, run_bytes);
        gops_mpi_next_run(&at);
    }
    for (size_t done = 0; done < taken->bytes; done += MAX_BYTES) {
        const size_t rest = taken->bytes - done;
        MPI_Request request;
        MPI_Iallreduce(MPI_IN_PLACE, (char *)taken->memory + done,
                       (int)(rest < MAX_BYTES ? rest : MAX_BYTES), MPI_BYTE, MPI_BOR,
                       MPI_COMM_WORLD, &request);
        gops_mpi_wait_for(&request);
    }
    return true;
}

/* Whether all ranks have the same parts of the tensor by both layouts. */
static bool is_same(const gops_mpi_ir *state, const gops_mpi_layout *one,
                    const gops_mpi_layout *other, const gops_tensor *tensor)
{
    bool same = true;
    for (int rank = 0; same && rank < state->world->ranks; rank++) {
        const gops_mpi_part a = gops_mpi_layout_part(one, tensor, rank);
        const gops_mpi_part b = gops_mpi_layout_part(other, tensor, rank);
        same = gops_ir_same_shape(&a.shape, &b.shape) &&
               memcmp(a.offset, b.offset, (size_t)tensor->rank * sizeof a.offset[0]) == 0;
    }
    return same;
}

/* One step of redistribution: what `held` has is replaced. */
static bool change(gops_ir_run *run, int index, const gops_tensor *tensor,
                   const gops_mpi_layout *from, const gops_mpi_layout *to, gops_ir_taken *held,
                   gops_tool_error *error)
{
    const gops_mpi_ir *state = gops_mpi_ir_of(run);
    const gops_mpi_part part = gops_mpi_layout_part(to, tensor, state->world->rank);
    gops_ir_taken made;
    gops_error refusal;
    /* That of the two whose groups ranks divide. */
    const bool divided = gops_mpi_distribution_grid(from->distribution).groups > 1;
    bool done =
        gops_mpi_all(state->world, take_memory(run, index, &part.shape, &made, error), error);
    if (done) {
        memcpy(made.part.begin, part.offset, sizeof part.offset);
        done = gops_mpi_redistribute(from->distribution, to->distribution, tensor,
                                     divided ? from->groups : to->groups, held->elements,
                                     made.memory, &refusal) == GOPS_OK;
        if (!done) {
            gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s", refusal.message);
            gops_mpi_ir_blame(run, index, error);
        }
    }
    if (!done) {
        gops_ir_release_taken(run, &made);
        return false;
    }
    gops_ir_release_taken(run, held);
    *held = made;
    return true;
}

/* From some groups to others, by way of a distribution that divides none. */
static bool redistribute(gops_ir_run *run, int index, int source, gops_ir_taken *taken,
                         gops_tool_error *error)
{
    gops_mpi_ir *state = gops_mpi_ir_of(run);
    const gops_tensor *tensor = &run->step[source].output;
    const gops_mpi_layout *from = &state->layer[source].layout, *to = &state->layer[index].layout;
    gops_mpi_layout between = *from;
    if (from->distribution != to->distribution) {
        return change(run, index, tensor, from, to, taken, error);
    }
    if (!gops_mpi_ir_spread(state, tensor->rank - 2, true, &between.distribution, error)) {
        return false;
    }
    return change(run, index, tensor, from, &between, taken, error) &&
           change(run, index, tensor, &between, to, taken, error);
}

bool gops_mpi_ir_fetch(gops_ir_run *run, int index, int source, bool whole, gops_ir_taken *taken,
                       gops_tool_error *error)
{
    const gops_mpi_ir *state = gops_mpi_ir_of(run);
    const gops_mpi_layout *from = &state->layer[source].layout, *to = &state->layer[index].layout;
    const gops_ir_step *step = &run->step[index];
    const gops_tensor *tensor = &run->step[source].output;
    if (from->distribution == NULL) {
        return true;
    }
    if (whole || to->distribution == NULL) {
        return gather(run, index, source, taken, error);
    }
    /* Of a Reshape that keeps the images each rank's part is its own. */
    const bool reshapes = step->prepare != gops_ir_prepare_concat && step->plan == NULL &&
                          !gops_ir_same_shape(tensor, &step->output);
    return reshapes || is_same(state, from, to, tensor) ||
           redistribute(run, index, source, taken, error);
}
