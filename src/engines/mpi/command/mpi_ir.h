/* mpi_ir.h: a model of the IR, run by the ranks: each holds a part of every tensor.
 *
 * A tensor is distributed as the layer that makes it: a convolution or normalization by the grid of
 * --split; Add, Relu and Convert as their data; a Parameter as the layer that reads it. Where the grid has
 * more ranks along the groups than the layer has groups, these ranks divide space or images instead. What
 * has no such axes - constants, weights, what a Reshape makes - every rank holds whole, and computes whole.
 *
 * Where a layer reads a tensor that is distributed in another way, it is redistributed; where it reads one
 * whole, gathered. Along images and space neither happens but for a Reshape and for what is broadcast. */
#ifndef GOPS_MPI_IR_H
#define GOPS_MPI_IR_H

#include "mpi_command.h"

#include "ir/ir_run.h"

/* How a tensor is distributed. */
typedef struct gops_mpi_layout {
    const gops_mpi_distribution *distribution; /* NULL: every rank holds all of it */
    int64_t groups;                            /* of its channels */
} gops_mpi_layout;

typedef struct gops_mpi_ir_layer {
    gops_mpi_layout layout;
    bool read_whole; /* every rank takes all of the output, as weights or the like */
    /* The operation whose data are the output, or made of it by layers that keep its shape; GOPS_IR_NONE. */
    int operation;
    gops_mpi_plan *plan; /* of a convolution or normalization */
    gops_mpi_plan_info info;
} gops_mpi_ir_layer;

typedef struct gops_mpi_ir {
    gops_ir_ranks ranks; /* the first: gops_ir_run has its address */
    const gops_mpi_world *world;
    /* By the number of spatial axes; [1]: where no ranks divide the groups. NULL until one is needed. */
    gops_mpi_distribution *spread[GOPS_MAX_SPATIAL + 1][2];
    int layers;
    gops_mpi_ir_layer *layer;
    gops_mpi_line line; /* of all layers */
} gops_mpi_ir;

static inline gops_mpi_ir *gops_mpi_ir_of(const gops_ir_run *run)
{
    return (gops_mpi_ir *)(void *)run->ranks;
}

/* The part of the tensor that a rank has. */
gops_mpi_part gops_mpi_layout_part(const gops_mpi_layout *layout, const gops_tensor *tensor,
                                   int rank);

/* Puts the layer in front of the message, but behind the rank that the library may have put there. Returns false. */
bool gops_mpi_ir_blame(const gops_ir_run *run, int index, gops_tool_error *error);

/* Members of gops_ir_ranks: mpi_ir_place.c, mpi_ir_fetch.c. */
bool gops_mpi_ir_place(gops_ir_run *run, gops_tool_error *error);
bool gops_mpi_ir_fetch(gops_ir_run *run, int index, int source, bool whole, gops_ir_taken *taken,
                       gops_tool_error *error);

/* mpi_ir_place.c: the distribution over tensors of so many spatial axes. `dense`: none of the ranks divide
 * the groups. */
bool gops_mpi_ir_spread(gops_mpi_ir *state, int32_t axes, bool dense,
                        const gops_mpi_distribution **distribution, gops_tool_error *error);

#endif
