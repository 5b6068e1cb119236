/* mpi_execute.c: executes plans: the exchange, and the pieces of a convolution. */
#include "mpi_plan.h"

#include <stdlib.h>
#include <string.h>

/* One execution of a convolution. */
typedef struct execution {
    const gops_mpi_plan *plan;
    const gops_packed_filter *filter;
    const gops_arguments *given;
    unsigned char *workspace;
    gops_mpi_times *times;
} execution;

/* Adds the time since `start` to a sum, and returns the time now. */
static double lap(double *sum, double start)
{
    const double now = MPI_Wtime();
    *sum += now - start;
    return now;
}

static MPI_Request *requests_of(const execution *running)
{
    return (MPI_Request *)(void *)(running->workspace + running->plan->requests_begin);
}

/* Waits for all requests, also behind one that failed: their buffers are in the workspace. */
static gops_status finish_exchange(const execution *running, gops_error *error)
{
    MPI_Request *requests = requests_of(running);
    const double start = MPI_Wtime();
    gops_status status = GOPS_OK;
    for (int i = 0; i < running->plan->requests; i++) {
        const gops_status waited = gops_mpi_wait(&requests[i], status == GOPS_OK ? error : NULL);
        status = status == GOPS_OK ? waited : status;
    }
    lap(&running->times->waiting, start);
    return status;
}

/* Gives up what was begun, so that MPI does not use the workspace afterwards. What it does not cancel is completed, as
 * Open MPI's sends. */
static void abandon_exchange(const execution *running)
{
    MPI_Request *requests = requests_of(running);
    for (int i = 0; i < running->plan->requests; i++) {
        if (requests[i] != MPI_REQUEST_NULL) {
            MPI_Cancel(&requests[i]);
        }
    }
    finish_exchange(running, NULL);
}

/* Begins a message, whose requests are those from *next on. Returns MPI's code. */
static int start_message(const execution *running, const gops_mpi_message *message, bool sends,
                         MPI_Request **next)
{
    const MPI_Comm space = running->plan->distribution->space;
    int code = MPI_SUCCESS;
    for (size_t done = 0; done < message->bytes && code == MPI_SUCCESS;
         done += GOPS_MPI_MESSAGE_BYTES) {
        unsigned char *buffer = running->workspace + message->begin + done;
        const size_t rest = message->bytes - done;
        const int bytes = (int)(rest < GOPS_MPI_MESSAGE_BYTES ? rest : GOPS_MPI_MESSAGE_BYTES);
        code = sends ? MPI_Isend(buffer, bytes, MPI_BYTE, message->peer, 0, space, *next)
                     : MPI_Irecv(buffer, bytes, MPI_BYTE, message->peer, 0, space, *next);
        if (code == MPI_SUCCESS) {
            ++*next;
        } else {
            **next = MPI_REQUEST_NULL; /* MPI does not say what it is */
        }
    }
    return code;
}

/* Begins to receive, and sends what others read. */
static gops_status start_exchange(const execution *running, gops_error *error)
{
    const gops_mpi_plan *plan = running->plan;
    MPI_Request *next = requests_of(running);
    const double start = MPI_Wtime();
    int code = MPI_SUCCESS;
    for (int i = 0; i < plan->requests; i++) {
        next[i] = MPI_REQUEST_NULL;
    }
    for (int i = 0; i < plan->receives + plan->sends && code == MPI_SUCCESS; i++) {
        const gops_mpi_message *message = &plan->messages[i];
        const bool sends = i >= plan->receives;
        if (sends) {
            gops_brick_copy(running->workspace + message->begin, &message->brick,
                            running->given->data, &plan->data, &message->brick,
                            gops_type_bytes(plan->data_type));
        }
        code = start_message(running, message, sends, &next);
    }
    lap(&running->times->copying, start);
    if (code != MPI_SUCCESS) {
        abandon_exchange(running);
        return gops_mpi_failed(code, error);
    }
    return GOPS_OK;
}

/* Copies together what the piece reads, of the rank's own data and of what came. */
static const void *gather_data(const execution *running, const gops_piece *piece)
{
    const gops_mpi_plan *plan = running->plan;
    unsigned char *data = running->workspace + plan->data_begin;
    const size_t bytes = gops_type_bytes(plan->data_type);
    if (piece->own_data) {
        return running->given->data;
    }
    const gops_brick own = gops_brick_common(&plan->data, &piece->data);
    gops_brick_copy(data, &piece->data, running->given->data, &plan->data, &own, bytes);
    for (int i = 0; i < plan->receives; i++) {
        const gops_mpi_message *message = &plan->messages[i];
        const gops_brick part = gops_brick_common(&message->brick, &piece->data);
        gops_brick_copy(data, &piece->data, running->workspace + message->begin, &message->brick,
                        &part, bytes);
    }
    return data;
}

/* Copies what each piece adds of the residual, before any output is written: it may lie there. */
static void gather_residuals(const execution *running)
{
    const gops_mpi_plan *plan = running->plan;
    for (int i = 0; running->given->residual != NULL && i < plan->piece_count; i++) {
        const gops_piece *piece = &plan->pieces[i];
        if (!piece->own_output) {
            unsigned char *residual = running->workspace + piece->residual_begin;
            const size_t bytes = gops_type_bytes(plan->residual_type);
            memset(residual, 0, (size_t)gops_brick_elements(&piece->output) * bytes);
            gops_brick_copy(residual, &piece->output, running->given->residual, &plan->output,
                            &piece->wanted, bytes);
        }
    }
}

static gops_status run_piece(const execution *running, const gops_piece *piece, gops_error *error)
{
    const gops_mpi_plan *plan = running->plan;
    gops_arguments arguments = *running->given;
    unsigned char *output = running->workspace + plan->output_begin;
    double start = MPI_Wtime();
    arguments.filter = running->filter;
    arguments.data = gather_data(running, piece);
    if (!piece->own_output) {
        arguments.output = output;
        if (arguments.residual != NULL) {
            arguments.residual = running->workspace + piece->residual_begin;
        }
    }
    arguments.workspace = running->workspace + plan->library_begin;
    arguments.workspace_bytes = plan->library_bytes;
    start = lap(&running->times->copying, start);
    const gops_status status = gops_execute(piece->plan, &arguments, error);
    start = lap(&running->times->computing, start);
    if (status == GOPS_OK && !piece->own_output) {
        gops_brick_copy(running->given->output, &plan->output, output, &piece->output,
                        &piece->wanted, gops_type_bytes(plan->output_type));
        lap(&running->times->copying, start);
    }
    return status;
}

/* A convolution. */
static gops_status execute_pieces(const gops_mpi_plan *plan, const gops_packed_filter *filter,
                                  const gops_arguments *arguments, unsigned char *workspace,
                                  gops_mpi_times *times, gops_error *error)
{
    const execution running = {plan, filter, arguments, workspace, times};
    gops_status status = start_exchange(&running, error), exchanged;
    if (status != GOPS_OK) {
        return status;
    }
    gather_residuals(&running);
    int done = 0;
    while (status == GOPS_OK && done < plan->piece_count && plan->pieces[done].own_data) {
        status = run_piece(&running, &plan->pieces[done++], error);
    }
    exchanged = finish_exchange(&running, error);
    status = exchanged != GOPS_OK ? exchanged : status;
    while (status == GOPS_OK && done < plan->piece_count) {
        status = run_piece(&running, &plan->pieces[done++], error);
    }
    return status;
}

/* As gops_execute does. Split along space, each rank writes the moments itself. */
static gops_status check_moments(const gops_mpi_plan *plan, const gops_arguments *given,
                                 gops_error *error)
{
    const size_t bytes = plan->data_type == GOPS_F64 ? sizeof(double) : sizeof(float);
    const bool mean = (uintptr_t)given->mean % bytes != 0;
    if (plan->merges && (mean || (uintptr_t)given->variance % bytes != 0)) {
        return gops_mpi_fail(error, GOPS_INVALID,
                             "arguments.%s is not aligned to its elements' %zu bytes",
                             mean ? "mean" : "variance", bytes);
    }
    return GOPS_OK;
}

static gops_status check_arguments(const gops_mpi_plan *plan, const gops_mpi_filter *filter,
                                   const gops_arguments *given, gops_arguments *arguments,
                                   gops_error *error)
{
    if (given == NULL) {
        return gops_mpi_fail(error, GOPS_INVALID, "arguments is NULL");
    }
    if (given->size != sizeof *given) {
        return gops_mpi_fail(error, GOPS_INVALID, "arguments.size is %zu; it must be %zu",
                             given->size, sizeof *given);
    }
    *arguments = *given;
    if (given->filter != NULL || given->moments != NULL) {
        return gops_mpi_fail(error, GOPS_INVALID,
                             "arguments.%s is given; an execution over MPI takes none",
                             given->filter != NULL ? "filter" : "moments");
    }
    if (given->data_stride != 0 || given->output_stride != 0 ||
        (given->residual != NULL && given->residual_stride != 0)) {
        return gops_mpi_fail(error, GOPS_INVALID,
                             "arguments has strides %lld, %lld, %lld; the parts of tensors over "
                             "MPI are dense",
                             (long long)given->data_stride, (long long)given->output_stride,
                             (long long)given->residual_stride);
    }
    const bool no_data = given->data == NULL && !gops_brick_is_empty(&plan->data);
    if (no_data || (given->output == NULL && !gops_brick_is_empty(&plan->output))) {
        return gops_mpi_fail(error, GOPS_INVALID, "arguments.%s is NULL",
                             no_data ? "data" : "output");
    }
    if ((filter == NULL) != (plan->operation == GOPS_MPI_NORM)) {
        return gops_mpi_fail(error, GOPS_INVALID,
                             filter == NULL ? "filter is NULL"
                                            : "filter is given; a normalization has none");
    }
    if (given->workspace != NULL && (given->workspace_bytes < plan->workspace_bytes ||
                                     (uintptr_t)given->workspace % GOPS_WORKSPACE_ALIGNMENT != 0)) {
        return gops_mpi_fail(error, GOPS_INVALID,
                             "arguments.workspace has %zu bytes; the plan needs %zu, aligned to %d",
                             given->workspace_bytes, plan->workspace_bytes,
                             GOPS_WORKSPACE_ALIGNMENT);
    }
    return check_moments(plan, given, error);
}

static void *take_workspace(const gops_mpi_plan *plan)
{
    const gops_host *host = &plan->host;
    const size_t bytes = plan->workspace_bytes + GOPS_WORKSPACE_ALIGNMENT; /* not 0 */
    return host->allocate != NULL ? host->allocate(host->context, bytes, GOPS_WORKSPACE_ALIGNMENT)
                                  : aligned_alloc(GOPS_WORKSPACE_ALIGNMENT, bytes);
}

static void give_back(const gops_mpi_plan *plan, void *workspace)
{
    if (plan->host.release != NULL) {
        plan->host.release(plan->host.context, workspace);
    } else {
        free(workspace);
    }
}

gops_status gops_mpi_execute(const gops_mpi_plan *plan, const gops_mpi_filter *filter,
                             const gops_arguments *given, gops_mpi_times *times, gops_error *error)
{
    gops_error own = {GOPS_OK, ""};
    gops_mpi_times unread = {0};
    gops_arguments arguments = GOPS_ARGUMENTS_INIT;
    unsigned char *workspace = NULL;
    if (plan == NULL) {
        return gops_mpi_fail(error, GOPS_INVALID, "plan is NULL");
    }
    times = times != NULL ? times : &unread;
    const MPI_Comm comm = plan->distribution->comm;
    gops_status status = check_arguments(plan, filter, given, &arguments, &own);
    if (status == GOPS_OK) {
        workspace = arguments.workspace != NULL ? arguments.workspace : take_workspace(plan);
        if (workspace == NULL) {
            status = gops_mpi_fail(&own, GOPS_OUT_OF_MEMORY, "no memory for %zu bytes of workspace",
                                   plan->workspace_bytes);
        }
    }
    /* A rank that cannot take part in the exchange must be known before it. */
    double start = MPI_Wtime();
    status = gops_mpi_agree(comm, status, &own, error);
    lap(&times->waiting, start);
    if (status == GOPS_OK) {
        status = plan->operation == GOPS_MPI_NORM
                     ? gops_mpi_execute_norm(plan, &arguments, workspace, times, &own)
                     : execute_pieces(plan, filter->packed, &arguments, workspace, times, &own);
        start = MPI_Wtime();
        status = gops_mpi_agree(comm, status, &own, error);
        lap(&times->waiting, start);
    }
    if (workspace != NULL && workspace != arguments.workspace) {
        give_back(plan, workspace);
    }
    return status;
}

gops_status gops_mpi_filter_create(const gops_mpi_plan *plan, const void *weights,
                                   const gops_quantization *quantization, gops_mpi_filter **filter,
                                   gops_error *error)
{
    gops_error own = {GOPS_OK, ""};
    gops_status status = GOPS_OK;
    if (filter != NULL) {
        *filter = NULL;
    }
    if (plan == NULL) {
        return gops_mpi_fail(error, GOPS_INVALID, "plan is NULL");
    }
    gops_mpi_filter *made = calloc(1, sizeof *made);
    if (made == NULL) {
        status = gops_mpi_fail(&own, GOPS_OUT_OF_MEMORY, "no memory for a filter");
    } else if (filter == NULL) {
        status = gops_mpi_fail(&own, GOPS_INVALID, "filter is NULL");
    } else if (plan->operation == GOPS_MPI_NORM) {
        status = gops_mpi_fail(&own, GOPS_INVALID, "a normalization has no filter");
    } else if (plan->piece_count > 0) {
        status =
            gops_filter_create(plan->pieces[0].plan, weights, quantization, &made->packed, &own);
    }
    status = gops_mpi_agree(plan->distribution->comm, status, &own, error);
    if (status != GOPS_OK) {
        gops_mpi_filter_destroy(made);
        return status;
    }
    *filter = made;
    return GOPS_OK;
}

void gops_mpi_filter_destroy(gops_mpi_filter *filter)
{
    if (filter != NULL) {
        gops_filter_destroy(filter->packed);
        free(filter);
    }
}
