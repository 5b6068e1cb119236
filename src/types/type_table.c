/* types/type_table.c: names and sizes of the element types, from their rows. */
#include "types/types.h"

#include <string.h>

const gops_type_row *gops_type_row_of(const gops_kernels *kernels, gops_type type,
                                      gops_type_variant variant)
{
    if ((size_t)type >= GOPS_MAX_TYPES) {
        return NULL;
    }
    const gops_type_row *row = kernels->types->of[variant][type];
    return row != NULL ? row : kernels->types->of[GOPS_TYPE_USUAL][type];
}

/* Names and sizes are those of every instruction set. */
static const gops_type_row *row_of(gops_type type)
{
    return gops_type_row_of(&gops_kernels_portable, type, GOPS_TYPE_USUAL);
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
