/* types/type_table.c: names and sizes of the element types, from their rows. */
#include <groupops/tensor.h>

#include "isa/isa.h"

#include <string.h>

/* Names and sizes are those of every instruction set; this one is always there. */
extern const gops_kernels gops_kernels_portable;

static const gops_type_row *row_of(gops_type type)
{
    return gops_kernels_portable.type_row(type, GOPS_TYPE_USUAL);
}

const char *gops_type_name(gops_type type)
{
    const gops_type_row *row = row_of(type);
    return row != NULL ? row->name : "unknown";
}

size_t gops_type_bytes(gops_type type)
{
    const gops_type_row *row = row_of(type);
    return row != NULL ? (size_t)row->bytes : 0;
}

gops_type gops_type_from_name(const char *name)
{
    const gops_type_row *row;
    for (int type = 1; name != NULL && (row = row_of((gops_type)type)) != NULL; type++) {
        if (strcmp(row->name, name) == 0) {
            return row->type;
        }
    }
    return (gops_type)0;
}
