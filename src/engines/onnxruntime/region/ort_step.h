/* ort_step.h: a step of a region: a plan of the library, or a pass, and where its operands lie. */
#ifndef GROUPOPS_ENGINES_ORT_STEP_H
#define GROUPOPS_ENGINES_ORT_STEP_H

#include "engines/onnxruntime/region/ort_layout.h"
#include "engines/onnxruntime/pass/ort_pass.h"

typedef struct gops_ort_chunks gops_ort_chunks;

typedef struct gops_ort_step {
    gops_ort_chunks *chunks; /* ort_chunked_step.h; NULL: it has none */
    gops_plan *plan;         /* NULL: a pass */
    gops_packed_filter *filter;
    void *made; /* scales and biases, what a pass multiplies by and adds, or a table of codes */
    const void *scales, *biases;
    void *slopes;
    size_t workspace_bytes;
    gops_ort_pass pass;
    int32_t threads; /* that it is worth */
    gops_ort_view data, other, output;
    bool has_other;
} gops_ort_step;

/* To a multiple of GOPS_WORKSPACE_ALIGNMENT. */
static inline size_t gops_ort_round_up(size_t bytes)
{
    return (bytes + GOPS_WORKSPACE_ALIGNMENT - 1) / GOPS_WORKSPACE_ALIGNMENT *
           GOPS_WORKSPACE_ALIGNMENT;
}

/* Makes the step that was placed, of a *made of zeros, for `most` threads and fewer; what its member
 * made, the step takes over. To be freed after a failure too. */
ort_status *gops_ort_step_make(gops_ort_runtime *runtime, const gops_ort_placed_step *placed,
                               int32_t most, gops_ort_step *made);
void gops_ort_step_free(gops_ort_step *step);

/* Runs the step. Bases are those of the call (gops_ort_view); the workspace has at least
 * step->workspace_bytes. `name` is for errors. */
ort_status *gops_ort_step_run(gops_ort_runtime *runtime, const char *name,
                              const gops_ort_step *step, unsigned char *const *bases,
                              void *workspace);

#endif
