/* mpi_distribution.c: a grid of ranks over the axes of tensors. */
#include "mpi_distribution.h"

#include <stdlib.h>
#include <string.h>

enum { AXES = 2 + GOPS_MAX_SPATIAL }; /* images, groups, space */

/* The grid as one list. */
static int grid_axes(const gops_mpi_grid *grid, int *sizes)
{
    sizes[0] = grid->batch;
    sizes[1] = grid->groups;
    for (int32_t i = 0; i < grid->space.count; i++) {
        sizes[2 + i] = (int)grid->space.values[i];
    }
    return 2 + grid->space.count;
}

static gops_status refuse_size(int axis, int64_t size, int ranks, gops_error *error)
{
    static const char words[] = "it must be -1 (GOPS_MPI_DIVIDE) to";
    return axis < 2 ? gops_mpi_fail(error, GOPS_INVALID, "grid.%s is %lld; %s %d",
                                    axis == 0 ? "batch" : "groups", (long long)size, words, ranks)
                    : gops_mpi_fail(error, GOPS_INVALID, "grid.space[%d] is %lld; %s %d", axis - 2,
                                    (long long)size, words, ranks);
}

/* Fills in what the caller left to MPI_Dims_create. */
static gops_status divide(gops_mpi_grid *grid, int ranks, gops_error *error)
{
    int sizes[AXES], open = 0;
    int64_t product = 1;
    if (grid->space.count < 0 || grid->space.count > GOPS_MAX_SPATIAL) {
        return gops_mpi_fail(error, GOPS_INVALID, "grid.space has %d axes; it must have 0 to %d",
                             (int)grid->space.count, GOPS_MAX_SPATIAL);
    }
    const int count = grid_axes(grid, sizes);
    for (int i = 0; i < count; i++) {
        const int64_t size = i < 2 ? sizes[i] : grid->space.values[i - 2];
        if (size < GOPS_MPI_DIVIDE || size > ranks) {
            return refuse_size(i, size, ranks, error);
        }
        sizes[i] = size == GOPS_MPI_DIVIDE ? 0 : size == 0 ? 1 : (int)size;
        open += sizes[i] == 0;
        /* A product above the number of ranks is refused, whatever follows. */
        product *= sizes[i] == 0 || product > ranks ? 1 : sizes[i];
    }
    if (open == 0 ? product != ranks : ranks % product != 0) {
        return gops_mpi_fail(error, GOPS_INVALID,
                             "the grid has %s%lld ranks in all%s; the communicator has %d",
                             product > ranks ? "at least " : "", (long long)product,
                             open == 0 ? "" : " on the axes that are given", ranks);
    }
    GOPS_MPI_TRY(MPI_Dims_create(ranks, count, sizes));
    grid->batch = sizes[0];
    grid->groups = sizes[1];
    for (int32_t i = 0; i < grid->space.count; i++) {
        grid->space.values[i] = sizes[2 + i];
    }
    return GOPS_OK;
}

/* The caller's grid, the same on all ranks, in a new distribution. */
static gops_status prepare(gops_mpi_distribution *made, const gops_mpi_grid *grid,
                           gops_error *error)
{
    gops_error own = {GOPS_OK, ""};
    gops_status status = GOPS_OK;
    int sizes[AXES] = {0}, first[AXES] = {0};
    MPI_Request request;
    if (grid == NULL) {
        status = gops_mpi_fail(&own, GOPS_INVALID, "grid is NULL");
    } else {
        made->grid = *grid;
        status = divide(&made->grid, made->ranks, &own);
    }
    if (status == GOPS_OK) {
        grid_axes(&made->grid, sizes);
    }
    memcpy(first, sizes, sizeof first);
    GOPS_MPI_TRY(MPI_Ibcast(first, AXES, MPI_INT, 0, made->comm, &request));
    GOPS_MPI_WAIT(&request);
    if (status == GOPS_OK && first[0] != 0 && memcmp(first, sizes, sizeof first) != 0) {
        status = gops_mpi_fail(&own, GOPS_INVALID, "the grid differs from that of rank 0");
    }
    return gops_mpi_agree(made->comm, status, &own, error);
}

/* What all ranks see alike; the code is MPI's own. */
static int check_comm(MPI_Comm comm, gops_status *status, gops_error *error)
{
    int initialized = 0, finalized = 0, has_two_sides = 0, code = MPI_SUCCESS;
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    if (!initialized || finalized) {
        *status = gops_mpi_fail(error, GOPS_INVALID, "MPI is %s",
                                finalized ? "finalized" : "not initialized");
    } else if (comm == MPI_COMM_NULL) {
        *status = gops_mpi_fail(error, GOPS_INVALID, "comm is MPI_COMM_NULL");
    } else {
        code = MPI_Comm_test_inter(comm, &has_two_sides);
    }
    if (code == MPI_SUCCESS && has_two_sides) {
        *status = gops_mpi_fail(error, GOPS_INVALID, "comm is an intercommunicator");
    }
    return code;
}

gops_status gops_mpi_distribution_create(MPI_Comm comm, const gops_mpi_grid *grid,
                                         gops_mpi_distribution **distribution, gops_error *error)
{
    gops_error own = {GOPS_OK, ""};
    gops_mpi_distribution *made = calloc(1, sizeof *made);
    MPI_Comm duplicate = MPI_COMM_NULL;
    gops_status status = GOPS_OK;
    if (distribution != NULL) {
        *distribution = NULL;
    }
    int code = check_comm(comm, &status, error);
    if (code == MPI_SUCCESS && status == GOPS_OK) {
        code = MPI_Comm_dup(comm, &duplicate);
    }
    if (code != MPI_SUCCESS || status != GOPS_OK) {
        free(made);
        return status != GOPS_OK ? status : gops_mpi_failed(code, error);
    }
    if (made == NULL) {
        status = gops_mpi_fail(&own, GOPS_OUT_OF_MEMORY, "no memory for a distribution");
    } else if (distribution == NULL) {
        status = gops_mpi_fail(&own, GOPS_INVALID, "distribution is NULL");
    }
    status = gops_mpi_agree(duplicate, status, &own, error);
    if (status != GOPS_OK) {
        MPI_Comm_free(&duplicate);
        free(made);
        return status;
    }
    made->comm = duplicate;
    made->space = MPI_COMM_NULL;
    code = MPI_Comm_size(made->comm, &made->ranks);
    code = code == MPI_SUCCESS ? MPI_Comm_rank(made->comm, &made->rank) : code;
    status = code == MPI_SUCCESS ? prepare(made, grid, error) : gops_mpi_failed(code, error);
    if (status == GOPS_OK) {
        made->space_ranks = 1;
        for (int32_t i = 0; i < made->grid.space.count; i++) {
            made->space_ranks *= (int32_t)made->grid.space.values[i];
        }
        code = MPI_Comm_split(made->comm, made->rank / made->space_ranks, made->rank, &made->space);
        status = code == MPI_SUCCESS ? GOPS_OK : gops_mpi_failed(code, error);
    }
    if (status != GOPS_OK) {
        gops_mpi_distribution_destroy(made);
        return status;
    }
    *distribution = made;
    return GOPS_OK;
}

void gops_mpi_distribution_destroy(gops_mpi_distribution *distribution)
{
    if (distribution == NULL) {
        return;
    }
    if (distribution->space != MPI_COMM_NULL) {
        MPI_Comm_free(&distribution->space);
    }
    if (distribution->comm != MPI_COMM_NULL) {
        MPI_Comm_free(&distribution->comm);
    }
    free(distribution);
}

gops_mpi_grid gops_mpi_distribution_grid(const gops_mpi_distribution *distribution)
{
    return distribution->grid;
}

void gops_mpi_split(int64_t size, int32_t parts, int32_t part, int64_t *begin, int64_t *end)
{
    const int64_t each = size / parts, rest = size % parts;
    *begin = each * part + (part < rest ? part : rest);
    *end = *begin + each + (part < rest);
}

gops_mpi_place gops_mpi_place_of(const gops_mpi_distribution *distribution, int rank)
{
    const gops_mpi_grid *grid = &distribution->grid;
    gops_mpi_place place = {0};
    for (int32_t i = grid->space.count - 1; i >= 0; i--) {
        place.space[i] = rank % (int32_t)grid->space.values[i];
        rank /= (int32_t)grid->space.values[i];
    }
    place.groups = rank % grid->groups;
    place.batch = rank / grid->groups;
    return place;
}

gops_brick gops_mpi_brick_of(const gops_mpi_distribution *distribution, const gops_tensor *tensor,
                             int64_t groups, int rank)
{
    const gops_mpi_grid *grid = &distribution->grid;
    const gops_mpi_place place = gops_mpi_place_of(distribution, rank);
    const int64_t channels = groups > 0 ? tensor->dims[1] / groups : 0;
    gops_brick brick = {.rank = tensor->rank};
    gops_mpi_split(tensor->dims[0], grid->batch, place.batch, &brick.begin[0], &brick.end[0]);
    gops_mpi_split(groups, grid->groups, place.groups, &brick.begin[1], &brick.end[1]);
    brick.begin[1] *= channels;
    brick.end[1] *= channels;
    for (int32_t i = 0; i < tensor->rank - 2; i++) {
        const bool split = i < grid->space.count;
        gops_mpi_split(tensor->dims[2 + i], split ? (int32_t)grid->space.values[i] : 1,
                       split ? place.space[i] : 0, &brick.begin[2 + i], &brick.end[2 + i]);
    }
    return brick;
}

gops_status gops_mpi_check_axes(const gops_mpi_distribution *distribution,
                                const gops_tensor *tensor, gops_error *error)
{
    const gops_list *space = &distribution->grid.space;
    if (tensor->rank < 2 || tensor->rank > GOPS_MAX_RANK - 1 ||
        (space->count != 0 && space->count != tensor->rank - 2)) {
        return gops_mpi_fail(error, GOPS_INVALID,
                             "the tensor has %d axes, the grid splits images, groups and %d "
                             "spatial axes",
                             (int)tensor->rank, (int)space->count);
    }
    for (int32_t axis = 0; axis < tensor->rank; axis++) {
        if (tensor->dims[axis] < 0) {
            return gops_mpi_fail(error, GOPS_INVALID, "dimension %d of the tensor is %lld",
                                 (int)axis, (long long)tensor->dims[axis]);
        }
    }
    return GOPS_OK;
}

gops_status gops_mpi_part_of(const gops_mpi_distribution *distribution, const gops_tensor *tensor,
                             int64_t groups, int rank, gops_mpi_part *part, gops_error *error)
{
    if (distribution == NULL || tensor == NULL || part == NULL) {
        return gops_mpi_fail(error, GOPS_INVALID, "%s is NULL",
                             distribution == NULL ? "distribution"
                             : tensor == NULL     ? "tensor"
                                                  : "part");
    }
    const gops_status status = gops_mpi_check_axes(distribution, tensor, error);
    if (status != GOPS_OK) {
        return status;
    }
    if (rank < 0 || rank >= distribution->ranks) {
        return gops_mpi_fail(error, GOPS_INVALID, "rank is %d; the distribution has %d", rank,
                             distribution->ranks);
    }
    if (groups < 1 || tensor->dims[1] % groups != 0) {
        return gops_mpi_fail(error, GOPS_INVALID, "groups is %lld; the tensor has %lld channels",
                             (long long)groups, (long long)tensor->dims[1]);
    }
    const gops_brick brick = gops_mpi_brick_of(distribution, tensor, groups, rank);
    *part = gops_brick_part(&brick, tensor->type);
    return GOPS_OK;
}
