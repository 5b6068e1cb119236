/* mpi_norm.c: normalization of a part by the moments of all parts. */
#include "mpi_plan.h"

#include <limits.h>
#include <string.h>

gops_status gops_mpi_plan_norm(gops_mpi_plan *plan, const gops_norm_attributes *whole,
                               const gops_options *options, gops_error *error)
{
    const gops_tensor data = gops_brick_shape(&plan->data, plan->data_type);
    const gops_tensor channels = {plan->data_type, 1, {data.dims[1]}};
    gops_norm_attributes attributes = *whole;
    gops_options part = *options;
    gops_plan_info info = GOPS_PLAN_INFO_INIT;
    gops_status status = GOPS_OK;
    const size_t moments = (size_t)(data.dims[0] * plan->group_count) * sizeof(gops_moments);
    plan->merges = plan->distribution->space_ranks > 1;
    attributes.num_groups = plan->group_count;
    part.algorithm = NULL;
    if (plan->merges) {
        plan->moments_begin = gops_mpi_reserve(
            &plan->workspace_bytes, moments * (size_t)(1 + plan->distribution->space_ranks));
    }
    if (gops_brick_is_empty(&plan->data)) {
        return GOPS_OK;
    }
    if (plan->merges) {
        part.moments = GOPS_MOMENTS_ONLY;
        status = gops_norm_plan_create(&data, &channels, &channels, &attributes, &part,
                                       &plan->measure, error);
        part.moments = GOPS_MOMENTS_GIVEN;
    }
    if (status == GOPS_OK) {
        status = gops_norm_plan_create(&data, &channels, &channels, &attributes, &part,
                                       &plan->normalize, error);
    }
    for (int i = 0; status == GOPS_OK && i < 2; i++) {
        gops_plan_get_info(i == 0 && plan->measure != NULL ? plan->measure : plan->normalize, &info,
                           NULL);
        plan->library_bytes =
            info.workspace_bytes > plan->library_bytes ? info.workspace_bytes : plan->library_bytes;
    }
    plan->library_begin = gops_mpi_reserve(&plan->workspace_bytes, plan->library_bytes);
    return status;
}

/* Merges the moments of each group in the order of the ranks of the space into `all`, whose first
 * `count` moments are the first rank's. Ranks without elements have a count of 0. */
static void merge(gops_moments *all, size_t count, int ranks)
{
    for (size_t group = 0; group < count; group++) {
        gops_moments *sum = &all[group];
        for (int rank = 1; rank < ranks; rank++) {
            const gops_moments *other = &all[(size_t)rank * count + group];
            if (sum->count == 0) {
                *sum = *other;
            } else if (other->count != 0) {
                gops_moments_merge(sum, other);
            }
        }
        /* Near the mean, x - center is exact. */
        const double center = sum->center + sum->rest;
        sum->rest += sum->center - center;
        sum->center = center;
    }
}

static void write_moments(const gops_mpi_plan *plan, const gops_arguments *arguments,
                          const gops_moments *moments, size_t count)
{
    const bool doubles = plan->data_type == GOPS_F64;
    for (size_t i = 0; i < count; i++) {
        const double mean = moments[i].center + moments[i].rest;
        const double variance = moments[i].squares / moments[i].count;
        for (int which = 0; which < 2; which++) {
            void *to = which == 0 ? arguments->mean : arguments->variance;
            const double value = which == 0 ? mean : variance;
            if (to != NULL && doubles) {
                ((double *)to)[i] = value;
            } else if (to != NULL) {
                ((float *)to)[i] = (float)value;
            }
        }
    }
}

static gops_status exchange(const gops_mpi_plan *plan, gops_moments *own, gops_moments *all,
                            size_t count, gops_error *error)
{
    const size_t bytes = count * sizeof *own;
    if (bytes > INT_MAX) {
        return gops_mpi_fail(error, GOPS_TOO_LARGE,
                             "%zu groups and images have %zu bytes of moments", count, bytes);
    }
    MPI_Request request;
    GOPS_MPI_TRY(MPI_Iallgather(own, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE,
                                plan->distribution->space, &request));
    GOPS_MPI_WAIT(&request);
    return GOPS_OK;
}

gops_status gops_mpi_execute_norm(const gops_mpi_plan *plan, const gops_arguments *given,
                                  unsigned char *workspace, gops_mpi_times *times,
                                  gops_error *error)
{
    gops_arguments arguments = *given;
    const size_t count = (size_t)((plan->data.end[0] - plan->data.begin[0]) * plan->group_count);
    gops_moments *own = (gops_moments *)(void *)(workspace + plan->moments_begin);
    gops_moments *all = own + count;
    gops_status status = GOPS_OK;
    double start = MPI_Wtime(), now;
    arguments.workspace = workspace + plan->library_begin;
    arguments.workspace_bytes = plan->library_bytes;
    if (plan->merges) {
        memset(own, 0, count * sizeof *own);
        arguments.mean = arguments.variance = NULL;
        arguments.moments = own;
        if (plan->measure != NULL) {
            status = gops_execute(plan->measure, &arguments, error);
        }
        now = MPI_Wtime();
        times->computing += now - start;
        const gops_status exchanged = exchange(plan, own, all, count, error);
        start = MPI_Wtime();
        times->waiting += start - now;
        status = exchanged != GOPS_OK ? exchanged : status;
        if (status == GOPS_OK) {
            merge(all, count, plan->distribution->space_ranks);
            write_moments(plan, given, all, count);
            arguments.moments = all;
        }
    }
    if (status == GOPS_OK && plan->normalize != NULL) {
        status = gops_execute(plan->normalize, &arguments, error);
    }
    times->computing += MPI_Wtime() - start;
    return status;
}
