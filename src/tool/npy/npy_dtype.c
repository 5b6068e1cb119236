/* npy_dtype.c: NumPy's names of element types. */
#include "npy/npy.h"

#include <string.h>

static const struct {
    const char *name; /* without its byte order */
    gops_type type;
} dtypes[] = {
    {"f8", GOPS_F64}, {"f4", GOPS_F32}, {"f2", GOPS_F16}, {"i1", GOPS_I8},
    {"i2", GOPS_I16}, {"i4", GOPS_I32}, {"i8", GOPS_I64}, {"u1", GOPS_U8},
    {"u2", GOPS_U16}, {"u4", GOPS_U32}, {"u8", GOPS_U64},
};

/* The kinds that are known and refused, by their letter. */
static const struct {
    char letter;
    const char *name;
} refused[] = {
    {'b', "bool"},
    {'c', "complex"},
    {'O', "object (a pickle)"},
    {'S', "bytes"},
    {'a', "bytes"},
    {'U', "text"},
    {'V', "void (raw bytes)"},
    {'M', "datetime64"},
    {'m', "timedelta64"},
    {'f', "a float of another size"},
    {'i', "an integer of another size"},
    {'u', "an integer of another size"},
};

static const char *refused_name(char letter)
{
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        if (refused[i].letter == letter) {
            return refused[i].name;
        }
    }
    return "unknown";
}

/* 0 where there is none of that name. */
static gops_type find_type(const char *name, size_t count)
{
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        if (count == strlen(dtypes[i].name) && memcmp(name, dtypes[i].name, count) == 0) {
            return dtypes[i].type;
        }
    }
    return 0;
}

bool gops_npy_read_dtype(const char *text, size_t count, gops_npy_header *header,
                         gops_tool_error *error)
{
    const int shown = count < 40 ? (int)count : 40;
    const bool ordered = count != 0 && memchr("<>=|", text[0], 4) != NULL;
    const char *name = ordered ? text + 1 : text;
    const size_t length = count - ordered;
    const gops_type type = find_type(name, length);
    if (count != 0 && !ordered) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED,
                                "descr '%.*s' does not begin with the byte order, as '<f4' does",
                                shown, text);
    }
    if (type == 0) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED,
                                "descr '%.*s' is %s; the dtypes f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 "
                                "are read",
                                shown, text, length != 0 ? refused_name(*name) : "empty");
    }
    if (text[0] == '|' && gops_type_bytes(type) != 1) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "descr '%.*s' does not say the byte order",
                                shown, text);
    }
    header->tensor.type = type;
    header->big_endian =
        text[0] == '>' || (text[0] == '=' && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    return true;
}

gops_type gops_npy_stored_type(gops_type type)
{
    if (type == GOPS_BF16) {
        return GOPS_U16;
    }
    return type == GOPS_F8E4M3 || type == GOPS_F8E5M2 ? GOPS_U8 : type;
}

const char *gops_npy_dtype_name(gops_type stored)
{
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        if (dtypes[i].type == stored) {
            return dtypes[i].name;
        }
    }
    return NULL;
}
