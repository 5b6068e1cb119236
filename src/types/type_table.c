/* types/type_table.c: the names and sizes of the element types. */
#include <groupops/tensor.h>

#include <string.h>

typedef struct type_name {
    const char *name;
    size_t bytes;
} type_name;

static const type_name names[] = {
    [GOPS_F64] = {"f64", 8},   [GOPS_F32] = {"f32", 4},       [GOPS_F16] = {"f16", 2},
    [GOPS_BF16] = {"bf16", 2}, [GOPS_F8E4M3] = {"f8e4m3", 1}, [GOPS_F8E5M2] = {"f8e5m2", 1},
    [GOPS_I8] = {"i8", 1},     [GOPS_I16] = {"i16", 2},       [GOPS_I32] = {"i32", 4},
    [GOPS_I64] = {"i64", 8},   [GOPS_U8] = {"u8", 1},         [GOPS_U16] = {"u16", 2},
    [GOPS_U32] = {"u32", 4},   [GOPS_U64] = {"u64", 8},
};

enum { TYPES = sizeof names / sizeof names[0] };

const char *gops_type_name(gops_type type)
{
    return gops_type_bytes(type) != 0 ? names[type].name : "unknown";
}

size_t gops_type_bytes(gops_type type)
{
    return (size_t)type < TYPES ? names[type].bytes : 0;
}

gops_type gops_type_from_name(const char *name)
{
    for (int type = 1; name != NULL && type < TYPES; type++) {
        if (strcmp(names[type].name, name) == 0) {
            return (gops_type)type;
        }
    }
    return (gops_type)0;
}
