/*
 * Where MPI fails in the middle of an execution: nothing that was begun is left, which could write to memory that the
 * caller has again. By MPI's profiling interface, on all ranks at once: those that go on would wait for the others.
 */
#include <stdlib.h>
#include <string.h>

#include "elements.h"
#include "mpi_support.h"

enum { CHANNELS = 5, ROWS = 11, COLUMNS = 7, OUT = 3, MAX_PENDING = 16 };

/* The messages that were begun and are not complete, and what is to fail next. */
static struct {
    MPI_Request pending[MAX_PENDING];
    int count;
    bool send_fails, wait_fails;
} seen;

static int begun(int code, MPI_Request request)
{
    if (code == MPI_SUCCESS && seen.count < MAX_PENDING)
        seen.pending[seen.count++] = request;
    return code;
}

int MPI_Irecv(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    const int code = PMPI_Irecv(buffer, count, type, from, tag, comm, request);
    return begun(code, *request);
}

int MPI_Isend(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    if (seen.send_fails) {
        seen.send_fails = false;
        memset(request, 0x5a, sizeof *request); /* nothing is promised of it */
        return MPI_ERR_OTHER;
    }
    const int code = PMPI_Isend(buffer, count, type, to, tag, comm, request);
    return begun(code, *request);
}

/* A message that fails is complete. */
int MPI_Test(MPI_Request *request, int *done, MPI_Status *status)
{
    const MPI_Request tested = *request;
    int code = PMPI_Test(request, done, status), place = 0;
    while (place < seen.count && seen.pending[place] != tested)
        place++;
    if (code != MPI_SUCCESS || !*done || place == seen.count)
        return code;
    seen.pending[place] = seen.pending[--seen.count];
    code = seen.wait_fails ? MPI_ERR_OTHER : MPI_SUCCESS;
    seen.wait_fails = false;
    return code;
}

static const gops_tensor data = {GOPS_F32, 4, {1, CHANNELS, ROWS, COLUMNS}};
static const gops_tensor filter_tensor = {GOPS_F32, 5, {1, OUT, CHANNELS, 3, 3}};

static void faults(void)
{
    const gops_conv_attributes padded = {.pads_begin = {2, {1, 1}}, .pads_end = {2, {1, 1}}};
    const gops_mpi_grid grid = {1, 1, {2, {GOPS_MPI_DIVIDE, 1}}};
    gops_mpi_distribution *spread = NULL;
    gops_mpi_plan *plan = NULL;
    gops_mpi_filter *filter = NULL;
    gops_error error = {GOPS_OK, ""};
    gops_arguments arguments = GOPS_ARGUMENTS_INIT;
    gops_test_random random = gops_test_random_start(gops_test_seed(), (uint64_t)mpi_rank);
    float x[CHANNELS * ROWS * COLUMNS], expected[OUT * ROWS * COLUMNS] = {0};
    float y[OUT * ROWS * COLUMNS], weights[OUT * CHANNELS * 9];
    gops_test_random_fill(&random, GOPS_F32, x, sizeof x / sizeof *x);
    gops_test_random_fill(&random, GOPS_F32, weights, sizeof weights / sizeof *weights);
    gops_mpi_distribution_create(MPI_COMM_WORLD, &grid, &spread, &error);
    gops_mpi_conv_plan_create(spread, &data, &filter_tensor, &padded, NULL, &plan, &error);
    gops_mpi_filter_create(plan, weights, NULL, &filter, &error);
    arguments.data = x;
    arguments.output = expected;
    mpi_check(gops_mpi_execute(plan, filter, &arguments, NULL, &error) == GOPS_OK, "%s",
              error.message);
    arguments.output = y;
    for (int waits = 0; waits < 2; waits++) {
        seen.send_fails = !waits;
        seen.wait_fails = waits;
        gops_status status = gops_mpi_execute(plan, filter, &arguments, NULL, &error);
        mpi_check(status == GOPS_HOST_FAILED && strncmp(error.message, "rank 0: MPI: ", 13) == 0,
                  "status %d: %s", (int)status, error.message);
        mpi_check(seen.count == 0, "%d messages are under way", seen.count);
        memset(y, 0, sizeof y);
        status = gops_mpi_execute(plan, filter, &arguments, NULL, &error);
        mpi_check(status == GOPS_OK && memcmp(y, expected, sizeof y) == 0,
                  "the next execution, status %d: %s", (int)status, error.message);
    }
    gops_mpi_filter_destroy(filter);
    gops_mpi_plan_destroy(plan);
    gops_mpi_distribution_destroy(spread);
}

int main(int count, char **words)
{
    static const gops_test_case cases[] = {{"faults", faults}, {NULL, NULL}};
    return mpi_test_main(&count, &words, "mpi_faults", cases);
}
