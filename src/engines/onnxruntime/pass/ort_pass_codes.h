/* ort_pass_codes.h: copies 8-bit integers, or what a table makes of them. */
#ifndef GROUPOPS_ENGINES_ORT_PASS_CODES_H
#define GROUPOPS_ENGINES_ORT_PASS_CODES_H

#include "engines/onnxruntime/pass/ort_pass.h"

void gops_ort_pass_codes(const gops_ort_pass *pass, const gops_ort_pass_operands *operands,
                         int64_t first, int64_t last);

#endif
