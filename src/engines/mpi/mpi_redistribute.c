/* mpi_redistribute.c: from one distribution of a tensor to another, by MPI_Ialltoallv. */
#include "mpi_distribution.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* What a rank sends to, or gets from, all others. */
typedef struct lot {
    int *counts, *starts;
    unsigned char *bytes;
} lot;

/* The brick that `from`'s rank a has and `to`'s rank b gets. */
static gops_brick common(const gops_mpi_distribution *from, const gops_mpi_distribution *to,
                         const gops_tensor *tensor, int64_t groups, int a, int b)
{
    const gops_brick has = gops_mpi_brick_of(from, tensor, groups, a);
    const gops_brick gets = gops_mpi_brick_of(to, tensor, groups, b);
    return gops_brick_common(&has, &gets);
}

/* Whether what the rank has and what it gets are parts of the tensor, and not too large. */
static gops_status check(const gops_mpi_distribution *source, const gops_mpi_distribution *target,
                         const gops_tensor *tensor, int64_t groups, gops_error *error)
{
    const gops_mpi_distribution *const distributions[] = {source, target};
    gops_status status = GOPS_OK;
    for (int i = 0; i < 2 && status == GOPS_OK; i++) {
        gops_mpi_part part;
        size_t bytes = 0;
        status = gops_mpi_part_of(distributions[i], tensor, groups, source->rank, &part, error);
        if (status == GOPS_OK) {
            status = gops_tensor_bytes(&part.shape, &bytes, error);
        }
        if (status == GOPS_OK && bytes > INT_MAX) {
            status = gops_mpi_fail(error, GOPS_TOO_LARGE,
                                   "the rank's part has %zu bytes; MPI_Alltoallv takes %d", bytes,
                                   INT_MAX);
        }
    }
    return status;
}

static gops_status allocate(lot *made, int ranks, size_t bytes, gops_error *error)
{
    made->counts = calloc((size_t)ranks, sizeof *made->counts);
    made->starts = calloc((size_t)ranks, sizeof *made->starts);
    made->bytes = malloc(bytes + 1);
    return made->counts != NULL && made->starts != NULL && made->bytes != NULL
               ? GOPS_OK
               : gops_mpi_fail(error, GOPS_OUT_OF_MEMORY, "no memory for %zu bytes to exchange",
                               bytes);
}

static void release(lot *made)
{
    free(made->counts);
    free(made->starts);
    free(made->bytes);
}

static gops_status exchange(const gops_mpi_distribution *source, const lot *sent, const lot *got,
                            gops_error *error)
{
    MPI_Request request;
    GOPS_MPI_TRY(MPI_Ialltoallv(sent->bytes, sent->counts, sent->starts, MPI_BYTE, got->bytes,
                                got->counts, got->starts, MPI_BYTE, source->comm, &request));
    GOPS_MPI_WAIT(&request);
    return GOPS_OK;
}

enum {
    GRID_WORDS = 2 + GOPS_MAX_SPATIAL,
    SOURCE_AT = 4 + GOPS_MAX_RANK, /* behind a word that is 1 and what describes the tensor */
    WORDS = SOURCE_AT + 2 * GRID_WORDS,
};

static void put_grid(const gops_mpi_grid *grid, int64_t *to)
{
    to[0] = grid->batch;
    to[1] = grid->groups;
    for (int32_t i = 0; i < grid->space.count; i++) {
        to[2 + i] = grid->space.values[i];
    }
}

/* Collective: whether what is `fine` on this rank is what rank 0 was asked for, as counts of bytes follow from it. */
static gops_status compare(const gops_mpi_distribution *source, const gops_mpi_distribution *target,
                           const gops_tensor *tensor, int64_t groups, bool fine, gops_error *error)
{
    int64_t own[WORDS] = {0}, first[WORDS];
    MPI_Request request;
    if (fine) {
        own[0] = 1;
        own[1] = tensor->type;
        own[2] = tensor->rank;
        own[3] = groups;
        memcpy(own + 4, tensor->dims, (size_t)tensor->rank * sizeof *own);
        put_grid(&source->grid, own + SOURCE_AT);
        put_grid(&target->grid, own + SOURCE_AT + GRID_WORDS);
    }
    memcpy(first, own, sizeof first);
    GOPS_MPI_TRY(MPI_Ibcast(first, WORDS, MPI_INT64_T, 0, source->comm, &request));
    GOPS_MPI_WAIT(&request);
    return !fine || first[0] == 0 || memcmp(first, own, sizeof first) == 0
               ? GOPS_OK
               : gops_mpi_fail(error, GOPS_INVALID,
                               "the tensor, groups or grids are not those of rank 0");
}

gops_status gops_mpi_redistribute(const gops_mpi_distribution *source,
                                  const gops_mpi_distribution *target, const gops_tensor *tensor,
                                  int64_t groups, const void *from, void *to, gops_error *error)
{
    gops_error own = {GOPS_OK, ""};
    gops_status status = GOPS_OK;
    lot sent = {0}, got = {0};
    gops_brick has = {0}, gets = {0};
    if (source == NULL) {
        return gops_mpi_fail(error, GOPS_INVALID, "source is NULL");
    }
    const int ranks = source->ranks, rank = source->rank;
    if (target == NULL) {
        status = gops_mpi_fail(&own, GOPS_INVALID, "target is NULL");
    } else if (ranks != target->ranks || rank != target->rank) {
        status = gops_mpi_fail(&own, GOPS_INVALID, "the distributions have other ranks");
    } else {
        status = check(source, target, tensor, groups, &own);
    }
    const gops_status compared =
        compare(source, target, tensor, groups, status == GOPS_OK, status == GOPS_OK ? &own : NULL);
    status = status == GOPS_OK ? compared : status;
    if (status == GOPS_OK) {
        const size_t size = gops_type_bytes(tensor->type);
        has = gops_mpi_brick_of(source, tensor, groups, rank);
        gets = gops_mpi_brick_of(target, tensor, groups, rank);
        const bool no_from = from == NULL && !gops_brick_is_empty(&has);
        if (no_from || (to == NULL && !gops_brick_is_empty(&gets))) {
            status = gops_mpi_fail(&own, GOPS_INVALID, "%s is NULL", no_from ? "from" : "to");
        } else {
            status = allocate(&sent, ranks, (size_t)gops_brick_elements(&has) * size, &own);
        }
        if (status == GOPS_OK) {
            status = allocate(&got, ranks, (size_t)gops_brick_elements(&gets) * size, &own);
        }
    }
    status = gops_mpi_agree(source->comm, status, &own, error);
    if (status == GOPS_OK) {
        const size_t size = gops_type_bytes(tensor->type);
        int sends = 0, gains = 0;
        for (int peer = 0; peer < ranks; peer++) {
            const gops_brick out = common(source, target, tensor, groups, rank, peer);
            const gops_brick in = common(source, target, tensor, groups, peer, rank);
            sent.starts[peer] = sends;
            sent.counts[peer] = (int)((size_t)gops_brick_elements(&out) * size);
            got.starts[peer] = gains;
            got.counts[peer] = (int)((size_t)gops_brick_elements(&in) * size);
            gops_brick_copy(sent.bytes + sends, &out, from, &has, &out, size);
            sends += sent.counts[peer];
            gains += got.counts[peer];
        }
        status = exchange(source, &sent, &got, error);
        for (int peer = 0; status == GOPS_OK && peer < ranks; peer++) {
            const gops_brick in = common(source, target, tensor, groups, peer, rank);
            gops_brick_copy(to, &gets, got.bytes + got.starts[peer], &in, &in, size);
        }
    }
    release(&sent);
    release(&got);
    return status;
}
