/**
 * @file
 * groupops/mpi.h: convolutions, their transposed form and group normalizations spread over the
 * ranks of an MPI communicator.
 *
 *     gops_mpi_grid grid = {.space = {3, {GOPS_MPI_DIVIDE}}};       // slabs along z
 *     gops_mpi_distribution_create(MPI_COMM_WORLD, &grid, &distribution, &error);
 *     gops_mpi_conv_plan_create(distribution, &data, &weights, &attributes, NULL, &plan, &error);
 *     gops_mpi_plan_get_info(plan, &info, &error);                  // info.data, info.output
 *     gops_mpi_filter_create(plan, weight_values, NULL, &filter, &error);
 *     arguments.data = my_part_of_the_data;                         // of info.data.shape
 *     arguments.output = my_part_of_the_output;
 *     gops_mpi_execute(plan, filter, &arguments, NULL, &error);     // again and again
 *
 * Descriptors and attributes are those of the whole problem, the same on all ranks; buffers hold the
 * rank's part. A distribution is a grid of ranks over the axes of a tensor: images, groups of
 * channels, and spatial axes. Of n indices of an axis over p ranks, rank r has n / p, the first
 * n % p ranks one more, in order: gops_mpi_part_of. A rank may have none, and takes part all the
 * same. Data and output are distributed alike, each by its own sizes.
 *
 * Split along images or groups no data are exchanged. Split along spatial axes, a rank gets from
 * others the data that its outputs read and that it does not have, wherever they lie, by
 * nonblocking messages, while it computes what needs none of them. A normalization exchanges the moments of its groups.
 *
 * Bits. A convolution gives those of one process, whatever the distribution: those of gops_execute
 * for a plan of the whole problem with gops_options.divisible and the same options, on ranks whose
 * processors and libraries are alike. (A filter with NaN or infinite weights that is split along
 * groups: where all ranks' parts have such.) A normalization gives the same bits each time for the
 * same distribution. Split along spatial axes it merges the parts' moments in the order of the ranks,
 * and is within 2 units in the last place of one process, those of the largest of the channel's
 * values, before or after its bias is added, its scale and its bias. One of some 30,000
 * random problems took 3 (f32): one process sums in floats, and parts in another order. Of f64 both are
 * within the bound of groupops/plan.h, which grows with the size; of 700,000 elements a group 7 units were seen.
 *
 * Calls. All functions but the queries (get_info, part_of, grid) are collective: all ranks of the
 * distribution call them, in the same order, for the same problem. So are errors: if a call fails on
 * any rank, it fails on all of them with the same status, and the message begins with the rank
 * on which it did ("rank 3: ..."). But for NULL in place of the distribution, plan or source, which names
 * the ranks: that rank returns, and the others wait. What MPI itself reports is GOPS_HOST_FAILED where the
 * communicator's error handler returns; the usual handler ends all processes. Ranks that wait for a message
 * which MPI failed to begin on another rank go on waiting.
 * MPI is called by the calling thread alone, so that MPI_THREAD_FUNNELED suffices. A plan may be
 * executed by one thread at a time.
 */
#ifndef GROUPOPS_MPI_H
#define GROUPOPS_MPI_H

#include <groupops/groupops.h>

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/** In a gops_mpi_grid: as many as MPI_Dims_create gives to the axis. */
#define GOPS_MPI_DIVIDE (-1)

/** Ranks along each axis; 0 stands for 1, the axis is not split. Rank numbers count through the
 * space first, its last axis fastest, then the groups, then the images. */
typedef struct gops_mpi_grid {
    int32_t batch;
    int32_t groups;
    gops_list space; /**< for each spatial axis, outermost first; count 0: none is split */
} gops_mpi_grid;

typedef struct gops_mpi_distribution gops_mpi_distribution;
typedef struct gops_mpi_plan gops_mpi_plan;
typedef struct gops_mpi_filter gops_mpi_filter;

/** Spreads tensors over the ranks of `comm`, of which it makes a duplicate. *distribution is NULL
 * after a failure. GOPS_INVALID: an argument is NULL, MPI is not initialized or is finalized, `comm` is an
 * intercommunicator, the grid's product is not the number of ranks, or it differs from another rank's.
 * GOPS_OUT_OF_MEMORY. */
GOPS_API gops_status gops_mpi_distribution_create(MPI_Comm comm, const gops_mpi_grid *grid,
                                                  gops_mpi_distribution **distribution,
                                                  gops_error *error);

/** NULL is allowed. Collective; every plan made with it must have been destroyed. */
GOPS_API void gops_mpi_distribution_destroy(gops_mpi_distribution *distribution);

/** The grid with its numbers filled in. */
GOPS_API gops_mpi_grid gops_mpi_distribution_grid(const gops_mpi_distribution *distribution);

/** What of a tensor lies on a rank: a dense tensor, and where in the whole it begins. Dimensions may
 * be 0. */
typedef struct gops_mpi_part {
    gops_tensor shape;
    int64_t offset[GOPS_MAX_RANK];
} gops_mpi_part;

/** The part of the tensor [N, C, X...] that lies on a rank, where its channels are in so many
 * groups. GOPS_INVALID: an argument is NULL, the rank is none, groups do not divide C, or the grid
 * has other spatial axes. Not collective. */
GOPS_API gops_status gops_mpi_part_of(const gops_mpi_distribution *distribution,
                                      const gops_tensor *tensor, int64_t groups, int rank,
                                      gops_mpi_part *part, gops_error *error);

/** Makes the rank's plan. Arguments are those of gops_conv_plan_create and its like, of the whole
 * problem. *plan is NULL after a failure. Errors are those of these functions, and besides,
 * GOPS_INVALID: arguments differ from another rank's (but for options.threads, host and choices, which are each
 * rank's own), the grid has other spatial axes.
 * GOPS_UNSUPPORTED: the algorithm that options name gives a part other bits than the whole
 * (gops_plan_part), "fastest", moments, channel strides. */
GOPS_API gops_status gops_mpi_conv_plan_create(const gops_mpi_distribution *distribution,
                                               const gops_tensor *data, const gops_tensor *filter,
                                               const gops_conv_attributes *attributes,
                                               const gops_options *options, gops_mpi_plan **plan,
                                               gops_error *error);
GOPS_API gops_status gops_mpi_deconv_plan_create(const gops_mpi_distribution *distribution,
                                                 const gops_tensor *data, const gops_tensor *filter,
                                                 const gops_deconv_attributes *attributes,
                                                 const gops_options *options, gops_mpi_plan **plan,
                                                 gops_error *error);
GOPS_API gops_status gops_mpi_norm_plan_create(const gops_mpi_distribution *distribution,
                                               const gops_tensor *data, const gops_tensor *scale,
                                               const gops_tensor *bias,
                                               const gops_norm_attributes *attributes,
                                               const gops_options *options, gops_mpi_plan **plan,
                                               gops_error *error);

/** NULL is allowed. */
GOPS_API void gops_mpi_plan_destroy(gops_mpi_plan *plan);

/** What a rank's plan is about. */
typedef struct gops_mpi_plan_info {
    gops_shape shape;      /**< of the whole problem */
    gops_mpi_part data;    /**< the rank's part of it */
    gops_mpi_part output;  /**< and of the output */
    gops_mpi_part reads;   /**< what the rank's outputs read of the whole data */
    int64_t first_group;   /**< of the rank's groups: its filter, bias, scale are theirs */
    int64_t groups;        /**< of the rank */
    const char *algorithm; /**< as gops_plan_info has it; a constant string */
    size_t workspace_bytes;
    int64_t sent_bytes;     /**< by one execution, of data */
    int64_t received_bytes; /**< by one execution, of data: the halo */
    int32_t messages;       /**< sent and received by one execution */
} gops_mpi_plan_info;

/** Fills in *info. Not collective. GOPS_INVALID: an argument is NULL. */
GOPS_API gops_status gops_mpi_plan_get_info(const gops_mpi_plan *plan, gops_mpi_plan_info *info,
                                            gops_error *error);

/** Packs the weights of the rank's groups, a slice of the filter's first axis; arguments are those of
 * gops_filter_create, `quantization` for the rank's output channels. A rank without outputs
 * reads none. *filter is NULL after a failure. */
GOPS_API gops_status gops_mpi_filter_create(const gops_mpi_plan *plan, const void *weights,
                                            const gops_quantization *quantization,
                                            gops_mpi_filter **filter, gops_error *error);

/** NULL is allowed. */
GOPS_API void gops_mpi_filter_destroy(gops_mpi_filter *filter);

/** Seconds of executions, added to what is there. */
typedef struct gops_mpi_times {
    double computing;
    double waiting; /**< for other ranks */
    double copying; /**< to and from messages, and bricks of data and outputs */
} gops_mpi_times;

/** Runs the plan. `arguments` are those of gops_execute for the rank's part of each tensor: data,
 * output, residual, and bias, scale, slopes, mean, variance of its groups; size is exactly
 * sizeof(gops_arguments), data_stride and its like are 0, moments and filter are NULL; the filter's
 * place is taken by `filter`, which is NULL for a normalization.
 * The output must not be the data. With a workspace given (gops_mpi_plan_info) nothing is allocated; else it comes
 * from the allocator of options.host. Without that it is aligned_alloc's, also where gops_set_default_host has another.
 * `times` may be NULL. Errors are those of gops_execute. */
GOPS_API gops_status gops_mpi_execute(const gops_mpi_plan *plan, const gops_mpi_filter *filter,
                                      const gops_arguments *arguments, gops_mpi_times *times,
                                      gops_error *error);

/** Changes how a tensor is distributed, by MPI_Ialltoallv: `from` has the rank's part by the one
 * distribution, `to` gets that by the other, made from the same communicator's ranks.
 * `groups` as in gops_mpi_part_of. Allocates buffers as large as both parts.
 * GOPS_INVALID: an argument is NULL, the distributions do not fit the tensor or each other, or tensor, groups or
 * grids differ from those of rank 0.
 * GOPS_TOO_LARGE: a part has more than INT_MAX bytes. GOPS_OUT_OF_MEMORY. */
GOPS_API gops_status gops_mpi_redistribute(const gops_mpi_distribution *source,
                                           const gops_mpi_distribution *target,
                                           const gops_tensor *tensor, int64_t groups,
                                           const void *from, void *to, gops_error *error);

#ifdef __cplusplus
}
#endif

#endif
