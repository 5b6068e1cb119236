/* A convolution of rows that lie on several ranks: each has its part of data and output, and gets from
 * its neighbours what its outputs read besides. mpirun -n 2 ./mpi */
#include <groupops/mpi.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    gops_tensor data = {GOPS_F32, 4, {1, 1, 8, 5}}; /* of all ranks together */
    gops_tensor filter = {GOPS_F32, 5, {1, 1, 1, 3, 1}};
    gops_conv_attributes attributes = {.pads_begin = {2, {1, 0}}, .pads_end = {2, {1, 0}}};
    gops_mpi_grid rows = {.space = {2, {GOPS_MPI_DIVIDE}}};
    const float weights[3] = {1, 1, 1};

    gops_mpi_distribution *distribution = NULL;
    gops_mpi_plan *plan = NULL;
    gops_mpi_filter *packed = NULL;
    gops_mpi_plan_info info;
    gops_error error;
    if (gops_mpi_distribution_create(MPI_COMM_WORLD, &rows, &distribution, &error) != GOPS_OK ||
        gops_mpi_conv_plan_create(distribution, &data, &filter, &attributes, NULL, &plan, &error) !=
            GOPS_OK ||
        gops_mpi_plan_get_info(plan, &info, &error) != GOPS_OK ||
        gops_mpi_filter_create(plan, weights, NULL, &packed, &error) != GOPS_OK) {
        fprintf(stderr, "%s\n", error.message);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    const int64_t *mine = info.data.shape.dims; /* rows are split alike in data and output */
    const int count = (int)(mine[2] * mine[3]);
    float *x = calloc((size_t)count + 1, sizeof *x), *y = calloc((size_t)count + 1, sizeof *y);
    for (int i = 0; i < count; i++) {
        x[i] = 1;
    }
    gops_arguments arguments = GOPS_ARGUMENTS_INIT;
    arguments.data = x;
    arguments.output = y;
    if (gops_mpi_execute(plan, packed, &arguments, NULL, &error) != GOPS_OK) {
        fprintf(stderr, "%s\n", error.message);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }

    float sum = 0, total = 0; /* 3 for each output, but 2 in the first and the last row */
    for (int i = 0; i < count; i++) {
        sum += y[i];
    }
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Reduce(&sum, &total, 1, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("the sum of all outputs is %g\n", (double)total);
    }
    gops_mpi_filter_destroy(packed);
    gops_mpi_plan_destroy(plan);
    gops_mpi_distribution_destroy(distribution);
    free(x);
    free(y);
    MPI_Finalize();
    return 0;
}
