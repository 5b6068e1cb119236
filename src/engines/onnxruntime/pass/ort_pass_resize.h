/* ort_pass_resize.h: planes of f32 or 8-bit integers in another size. */
#ifndef GROUPOPS_ENGINES_ORT_PASS_RESIZE_H
#define GROUPOPS_ENGINES_ORT_PASS_RESIZE_H

#include "engines/onnxruntime/pass/ort_pass.h"

/* Units first to last - 1, as of gops_ort_pass_run. */
void gops_ort_pass_resize(const gops_ort_pass *pass, const gops_ort_pass_operands *operands,
                          int64_t first, int64_t last);

#endif
