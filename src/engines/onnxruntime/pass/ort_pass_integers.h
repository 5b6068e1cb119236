/* ort_pass_integers.h: averages and products of 8-bit integers with scales. */
#ifndef GROUPOPS_ENGINES_ORT_PASS_INTEGERS_H
#define GROUPOPS_ENGINES_ORT_PASS_INTEGERS_H

#include "engines/onnxruntime/pass/ort_pass.h"

/* Units first to last - 1, as of gops_ort_pass_run. */
void gops_ort_pass_integers(const gops_ort_pass *pass, const gops_ort_pass_operands *operands,
                            int64_t first, int64_t last);

#endif
