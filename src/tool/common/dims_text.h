/* dims_text.h: dimensions as text. */
#ifndef GOPS_COMMON_DIMS_TEXT_H
#define GOPS_COMMON_DIMS_TEXT_H

#include <groupops/tensor.h>

/* A sign, 19 digits and a comma for each; the last has the final 0 in place of the comma. */
enum { GOPS_DIMS_TEXT_BYTES = 21 * GOPS_MAX_RANK };

/* Writes up to GOPS_MAX_RANK dimensions with commas between them, "1,8,14,14". */
void gops_dims_text(const int64_t *dims, int32_t count, char text[GOPS_DIMS_TEXT_BYTES]);

#endif
