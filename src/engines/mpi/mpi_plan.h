/*
 * mpi_plan.h: what a rank does in one execution.
 *
 * Its outputs are computed in pieces, each by a plan of the library for a part of the whole
 * (gops_plan_part). There are two ways:
 *
 * - In place: one piece for all of the rank's outputs, with the data that the rank has where they
 *   lie and zeros for all others. Then, when the halo has come, a piece for each border at which
 *   outputs lacked data, which are computed again. No large copy is made, and the first piece runs
 *   while messages are under way.
 * - Assembled: one piece, whose data are copied together from the rank's own and the halo. It is the
 *   way of ranks whose borders are most of their outputs, and of ranks whose data do not begin
 *   where their outputs' windows do.
 *
 * Which of them is taken changes no bit.
 */
#ifndef GOPS_MPI_PLAN_H
#define GOPS_MPI_PLAN_H

#include "mpi_axis.h"
#include "mpi_distribution.h"

typedef enum gops_mpi_operation {
    GOPS_MPI_CONV,
    GOPS_MPI_DECONV,
    GOPS_MPI_NORM,
} gops_mpi_operation;

enum { GOPS_MPI_MAX_PIECES = 1 + 2 * GOPS_MAX_SPATIAL };

typedef struct gops_piece {
    gops_brick wanted; /* outputs that nothing else computes, or not rightly */
    gops_brick output; /* those that the plan computes: wanted, and some around them */
    gops_brick data;   /* what the plan reads */
    gops_plan *plan;
    bool own_data;         /* the rank's part of the data, where it lies */
    bool own_output;       /* computes the rank's part of the output, where it lies */
    size_t residual_begin; /* in the workspace; unless own_output */
} gops_piece;

/* A brick of data on its way to or from another rank of the space. */
typedef struct gops_mpi_message {
    int peer;
    gops_brick brick;
    size_t begin; /* in the workspace */
    size_t bytes;
} gops_mpi_message;

struct gops_mpi_plan {
    const gops_mpi_distribution *distribution;
    gops_mpi_operation operation;
    gops_type data_type, output_type, residual_type;
    gops_shape shape;
    gops_brick data, output; /* the rank's */
    gops_brick reads;        /* of all pieces */
    int64_t group_begin, group_count;
    char algorithm[64];
    gops_mpi_axis axis[GOPS_MAX_SPATIAL];
    gops_plan *whole; /* never executed: the pieces are its parts */
    int piece_count;
    gops_piece pieces[GOPS_MPI_MAX_PIECES];
    /* Normalization, split along space: finds the moments of the rank's part; normalizes by those
     * of all. NULL where the rank has none. */
    gops_plan *measure, *normalize;
    bool merges; /* moments of several ranks */
    int sends, receives, requests;
    gops_mpi_message *messages; /* those received, then those sent */
    /* Offsets in the workspace: data and outputs of a piece, the library's own, requests. */
    size_t data_begin, output_begin, library_begin, library_bytes, requests_begin;
    size_t moments_begin; /* of the rank, then of all ranks of the space */
    size_t workspace_bytes;
    gops_host host; /* that of the options, for its allocator; empty where they have none */
};

/* The most bytes of one message. */
#define GOPS_MPI_MESSAGE_BYTES ((size_t)1 << 30)

/* Lays out a part of the workspace. */
static inline size_t gops_mpi_reserve(size_t *end, size_t bytes)
{
    const size_t begin = *end, unit = GOPS_WORKSPACE_ALIGNMENT;
    *end += (bytes + unit - 1) / unit * unit;
    return begin;
}

/* mpi_pieces.c: cuts the rank's outputs into pieces and plans them; sets plan->reads. */
gops_status gops_mpi_plan_pieces(gops_mpi_plan *plan, gops_error *error);

/* mpi_messages.c: collective; who sends what to whom, from what all ranks read of `data`, the whole
 * problem's. */
gops_status gops_mpi_plan_messages(gops_mpi_plan *plan, const gops_tensor *data, gops_error *error);

/* mpi_norm.c: plans the normalization of the rank's part, by its own moments or by those of all. */
gops_status gops_mpi_plan_norm(gops_mpi_plan *plan, const gops_norm_attributes *whole,
                               const gops_options *options, gops_error *error);

/* The same file: the moments are found, exchanged and merged, and the part is normalized. */
gops_status gops_mpi_execute_norm(const gops_mpi_plan *plan, const gops_arguments *arguments,
                                  unsigned char *workspace, gops_mpi_times *times,
                                  gops_error *error);

struct gops_mpi_filter {
    gops_packed_filter *packed; /* NULL on a rank without outputs */
};

#endif
