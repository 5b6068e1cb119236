/* ort_pass_window.h: passes over the windows of planes. */
#ifndef GROUPOPS_ENGINES_ORT_PASS_WINDOW_H
#define GROUPOPS_ENGINES_ORT_PASS_WINDOW_H

#include "engines/onnxruntime/pass/ort_pass.h"

/* Planes first to last - 1 of a maximum or a sum, as of gops_ort_pass_run. */
void gops_ort_pass_windows(const gops_ort_pass *pass, const gops_ort_pass_operands *operands,
                           int64_t first, int64_t last);

#endif
