/* mpi_brick.c: bricks of a tensor. */
#include "mpi_brick.h"

#include <string.h>

bool gops_brick_is_empty(const gops_brick *brick)
{
    return gops_brick_elements(brick) == 0;
}

bool gops_brick_equal(const gops_brick *a, const gops_brick *b)
{
    bool equal = a->rank == b->rank;
    for (int32_t i = 0; equal && i < a->rank; i++) {
        equal = a->begin[i] == b->begin[i] && a->end[i] == b->end[i];
    }
    return equal;
}

int64_t gops_brick_elements(const gops_brick *brick)
{
    int64_t elements = 1;
    for (int32_t i = 0; i < brick->rank; i++) {
        elements *= brick->end[i] > brick->begin[i] ? brick->end[i] - brick->begin[i] : 0;
    }
    return elements;
}

gops_tensor gops_brick_shape(const gops_brick *brick, gops_type type)
{
    gops_tensor shape = {.type = type, .rank = brick->rank};
    for (int32_t i = 0; i < brick->rank; i++) {
        shape.dims[i] = brick->end[i] - brick->begin[i];
    }
    return shape;
}

gops_mpi_part gops_brick_part(const gops_brick *brick, gops_type type)
{
    gops_mpi_part part = {.shape = gops_brick_shape(brick, type)};
    memcpy(part.offset, brick->begin, sizeof part.offset);
    return part;
}

gops_brick gops_brick_common(const gops_brick *a, const gops_brick *b)
{
    gops_brick both = {.rank = a->rank};
    for (int32_t i = 0; i < a->rank; i++) {
        both.begin[i] = a->begin[i] > b->begin[i] ? a->begin[i] : b->begin[i];
        both.end[i] = a->end[i] < b->end[i] ? a->end[i] : b->end[i];
        if (both.end[i] < both.begin[i]) {
            both.end[i] = both.begin[i];
        }
    }
    return both;
}

/* The elements in front of the index in its dense tensor. */
static int64_t distance(const gops_brick *brick, const int64_t *index)
{
    int64_t elements = 0;
    for (int32_t i = 0; i < brick->rank; i++) {
        elements = elements * (brick->end[i] - brick->begin[i]) + index[i] - brick->begin[i];
    }
    return elements;
}

static bool covers(const gops_brick *region, const gops_brick *brick, int32_t axis)
{
    return region->begin[axis] == brick->begin[axis] && region->end[axis] == brick->end[axis];
}

void gops_brick_copy(void *to, const gops_brick *to_brick, const void *from,
                     const gops_brick *from_brick, const gops_brick *region, size_t bytes)
{
    int64_t index[GOPS_MAX_RANK], run = 1;
    int32_t outer = region->rank; /* axes that are counted; the others are one run */
    if (gops_brick_is_empty(region)) {
        return;
    }
    while (outer > 0) {
        outer--;
        run *= region->end[outer] - region->begin[outer];
        if (!covers(region, to_brick, outer) || !covers(region, from_brick, outer)) {
            break;
        }
    }
    memcpy(index, region->begin, sizeof index);
    for (int32_t axis = 0; axis >= 0;) {
        memcpy((char *)to + (size_t)distance(to_brick, index) * bytes,
               (const char *)from + (size_t)distance(from_brick, index) * bytes,
               (size_t)run * bytes);
        for (axis = outer - 1; axis >= 0 && ++index[axis] == region->end[axis]; axis--) {
            index[axis] = region->begin[axis];
        }
    }
}
