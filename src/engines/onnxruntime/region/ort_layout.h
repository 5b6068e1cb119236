/* ort_layout.h: where a region's values lie, and in which order it computes them. */
#ifndef GROUPOPS_ENGINES_ORT_LAYOUT_H
#define GROUPOPS_ENGINES_ORT_LAYOUT_H

#include "engines/onnxruntime/region/ort_region.h"

enum { GOPS_ORT_SCRATCH }; /* base 0; then the inputs and the outputs of the call */

/* A tensor in memory: where it begins behind the base, in elements of so many bytes, and how many of them lie from one
 * plane to the next. */
typedef struct gops_ort_view {
    size_t base;
    int64_t at, element_bytes, plane;
} gops_ort_view;

static inline unsigned char *gops_ort_view_start(const gops_ort_view *view,
                                                 unsigned char *const *bases)
{
    return bases[view->base] + view->at * view->element_bytes;
}

/* With the gap behind the last one. */
static inline int64_t gops_ort_channels_bytes(const gops_ort_view *view, int64_t channels)
{
    return channels * view->plane * view->element_bytes;
}

/* What a step reads and writes. A member that is a Concat has a step for each operand that was not
 * written to its place: a copy. So has a slice, and a shuffle for each group. */
typedef struct gops_ort_placed_step {
    gops_ort_member *member;
    gops_ort_member *second; /* NULL; else computed with it by chunks */
    gops_tensor data;        /* of a copy */
    const uint8_t *codes;    /* of a copy: what integers become; NULL: they stay */
    gops_ort_view inputs[2], output;
} gops_ort_placed_step;

typedef struct gops_ort_layout {
    gops_ort_placed_step *steps;
    size_t step_count;
    int64_t scratch_bytes;
    gops_tensor *output_tensors;
} gops_ort_layout;

/* The members' steps, in their order. Freed by gops_ort_layout_free. */
ort_status *gops_ort_layout_make(const gops_ort_runtime *runtime, const gops_ort_members *members,
                                 const gops_ort_interface *interface, gops_ort_layout *layout);
void gops_ort_layout_free(gops_ort_layout *layout);

#endif
