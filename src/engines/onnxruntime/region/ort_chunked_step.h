/* ort_chunked_step.h: a step of a region that computes two convolutions by chunks (ort_chunks.h). */
#ifndef GROUPOPS_ENGINES_ORT_CHUNKED_STEP_H
#define GROUPOPS_ENGINES_ORT_CHUNKED_STEP_H

#include "engines/onnxruntime/region/ort_step.h"

/* Makes the step that was placed with a second member; then as gops_ort_step_make, but for
 * made->workspace_bytes, which are those of one thread: what lies between, and a workspace. */
ort_status *gops_ort_chunked_step_make(gops_ort_runtime *runtime,
                                       const gops_ort_placed_step *placed, gops_ort_step *made);

/* As gops_ort_step_run, for a step with chunks. Of the memory, `thread_bytes` are each thread's. If all steps have the
 * same number of them, a thread finds what it wrote there last, in whichever step, in its own core's cache. */
ort_status *gops_ort_chunked_step_run(gops_ort_runtime *runtime, const char *name,
                                      const gops_ort_step *step, unsigned char *const *bases,
                                      void *memory, size_t thread_bytes);

/* NULL is allowed. */
void gops_ort_chunks_free(gops_ort_chunks *chunks);

#endif
