/* padded_input.isa.c: padded_input.inc.h for each element type. */
#include "methods/implicit/tiles/padded_input.h"

#include "isa/register.h"

#define EACH_TYPE "methods/implicit/tiles/padded_input.inc.h"
#include "types/each_type.inc.h"

#define ENTRY(name, ...) [GOPS_ROW_##name] = name##_pad_input,
gops_padded_input_fn *const GOPS_ISA_NAME(gops_padded_input_table)[GOPS_ROWS] = {
    GOPS_FLOAT_ROWS(ENTRY) GOPS_INTEGER_ROWS(ENTRY)};
