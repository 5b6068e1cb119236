/* type_rows.isa.c: the rows of the element types. */
#include "types/types.h"

#define INDEX(name, ...) name##_index = GOPS_ROW_##name,
enum { GOPS_FLOAT_ROWS(INDEX) GOPS_INTEGER_ROWS(INDEX) };
#undef INDEX

#define EACH_TYPE "types/type.inc.h"
#include "types/each_type.inc.h"

#define ENTRY(name, type, variant) [GOPS_TYPE_##variant][GOPS_##type] = &name##_row,
const struct gops_type_rows GOPS_ISA_NAME(gops_type_rows) = {
    .of = {GOPS_FLOAT_ROWS(ENTRY) GOPS_INTEGER_ROWS(ENTRY)}};
