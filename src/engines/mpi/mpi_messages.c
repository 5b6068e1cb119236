/* mpi_messages.c: who sends what to whom. */
#include "mpi_plan.h"

#include <stdlib.h>

/* The data that rank `peer` of the space has. */
static gops_brick data_of(const gops_mpi_plan *plan, const gops_tensor *data, int peer)
{
    const gops_mpi_distribution *spread = plan->distribution;
    const int first = spread->rank - spread->rank % spread->space_ranks;
    return gops_mpi_brick_of(spread, data, plan->shape.groups, first + peer);
}

/* Adds the bricks that the rank gets from others and those that others get from it. Where they lie
 * in the workspace does not depend on others. */
static void add_messages(gops_mpi_plan *plan, const gops_tensor *data, const gops_brick *reads,
                         bool sent)
{
    const gops_mpi_distribution *spread = plan->distribution;
    const int own = spread->rank % spread->space_ranks;
    for (int peer = 0; peer < spread->space_ranks; peer++) {
        const gops_brick theirs = data_of(plan, data, peer);
        const gops_brick brick = sent ? gops_brick_common(&plan->data, &reads[peer])
                                      : gops_brick_common(&theirs, &reads[own]);
        if (peer == own || gops_brick_is_empty(&brick)) {
            continue;
        }
        const size_t bytes = (size_t)gops_brick_elements(&brick) * gops_type_bytes(plan->data_type);
        plan->messages[plan->receives + plan->sends] =
            (gops_mpi_message){peer, brick, gops_mpi_reserve(&plan->workspace_bytes, bytes), bytes};
        plan->requests += (int)((bytes + GOPS_MPI_MESSAGE_BYTES - 1) / GOPS_MPI_MESSAGE_BYTES);
        plan->sends += sent;
        plan->receives += !sent;
    }
}

static gops_status exchange_bricks(gops_mpi_plan *plan, gops_brick *reads, gops_error *error)
{
    MPI_Request request;
    const int bytes = (int)sizeof plan->reads;
    GOPS_MPI_TRY(MPI_Iallgather(&plan->reads, bytes, MPI_BYTE, reads, bytes, MPI_BYTE,
                                plan->distribution->space, &request));
    GOPS_MPI_WAIT(&request);
    return GOPS_OK;
}

gops_status gops_mpi_plan_messages(gops_mpi_plan *plan, const gops_tensor *data, gops_error *error)
{
    const size_t peers = (size_t)plan->distribution->space_ranks;
    gops_error own = {GOPS_OK, ""};
    gops_status status = GOPS_OK;
    gops_brick *reads = calloc(peers, sizeof *reads);
    plan->messages = calloc(2 * peers, sizeof *plan->messages);
    if (reads == NULL || plan->messages == NULL) {
        status =
            gops_mpi_fail(&own, GOPS_OUT_OF_MEMORY, "no memory for a plan of %zu ranks", peers);
    }
    status = gops_mpi_agree(plan->distribution->comm, status, &own, error);
    if (status == GOPS_OK) {
        status = exchange_bricks(plan, reads, error);
    }
    if (status == GOPS_OK) {
        add_messages(plan, data, reads, false);
        add_messages(plan, data, reads, true);
        plan->requests_begin =
            gops_mpi_reserve(&plan->workspace_bytes, (size_t)plan->requests * sizeof(MPI_Request));
    }
    free(reads);
    return status;
}
