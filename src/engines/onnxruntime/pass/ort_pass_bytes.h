/* ort_pass_bytes.h: maxima of windows of 8-bit integers. */
#ifndef GROUPOPS_ENGINES_ORT_PASS_BYTES_H
#define GROUPOPS_ENGINES_ORT_PASS_BYTES_H

#include "engines/onnxruntime/pass/ort_pass.h"

/* Planes first to last - 1 of a maximum, as of gops_ort_pass_run. */
void gops_ort_pass_bytes(const gops_ort_pass *pass, const gops_ort_pass_operands *operands,
                         int64_t first, int64_t last);

#endif
