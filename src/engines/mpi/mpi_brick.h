/* mpi_brick.h: bricks of a tensor: a range on each of its axes, in the indices of the whole. */
#ifndef GOPS_MPI_BRICK_H
#define GOPS_MPI_BRICK_H

#include <groupops/mpi.h>

#include <stdbool.h>

typedef struct gops_brick {
    int32_t rank;
    int64_t begin[GOPS_MAX_RANK], end[GOPS_MAX_RANK];
} gops_brick;

bool gops_brick_is_empty(const gops_brick *brick);
bool gops_brick_equal(const gops_brick *a, const gops_brick *b);
int64_t gops_brick_elements(const gops_brick *brick);
gops_tensor gops_brick_shape(const gops_brick *brick, gops_type type);
gops_mpi_part gops_brick_part(const gops_brick *brick, gops_type type);

/* What both have; empty where that is nothing. */
gops_brick gops_brick_common(const gops_brick *a, const gops_brick *b);

/* Copies the elements of `region`, which lies in both bricks, from one dense tensor to another. */
void gops_brick_copy(void *to, const gops_brick *to_brick, const void *from,
                     const gops_brick *from_brick, const gops_brick *region, size_t bytes);

#endif
