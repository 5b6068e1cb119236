/* ort_chunked_step.h: a step of a region that computes two convolutions by chunks (ort_chunks.h). */
#ifndef GROUPOPS_ENGINES_ORT_CHUNKED_STEP_H
#define GROUPOPS_ENGINES_ORT_CHUNKED_STEP_H

#include "engines/onnxruntime/region/ort_step.h"

/* Makes the step that was placed with a second member; then as gops_ort_step_make. */
ort_status *gops_ort_chunked_step_make(gops_ort_runtime *runtime,
                                       const gops_ort_placed_step *placed, gops_ort_step *made);

/* As gops_ort_step_run, for a step with chunks. */
ort_status *gops_ort_chunked_step_run(gops_ort_runtime *runtime, const char *name,
                                      const gops_ort_step *step, float *const *bases,
                                      void *workspace);

/* NULL is allowed. */
void gops_ort_chunks_free(gops_ort_chunks *chunks);

#endif
