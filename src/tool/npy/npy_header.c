/* npy_header.c: the preamble and the header of a .npy file, from memory; strict, no allocation. */
#include "npy/npy.h"

#include <inttypes.h>
#include <string.h>

static const unsigned char magic[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

static bool malformed(gops_tool_error *error, const char *what)
{
    return gops_tool_refuse(error, GOPS_EXIT_FAILED, "the header %s", what);
}

bool gops_npy_read_preamble(const unsigned char *bytes, size_t count, size_t *header_begin,
                            size_t *header_bytes, gops_tool_error *error)
{
    if (count < sizeof magic || memcmp(bytes, magic, sizeof magic) != 0) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "it does not begin as a .npy file does");
    }
    if (count < 10 || (bytes[6] > 1 && count < GOPS_NPY_PREAMBLE_BYTES)) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "it ends before the header");
    }
    if (bytes[6] < 1 || bytes[6] > 3 || bytes[7] != 0) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED,
                                "its format is version %d.%d; 1.0, 2.0 and 3.0 are read", bytes[6],
                                bytes[7]);
    }
    uint32_t length = (uint32_t)bytes[8] | (uint32_t)bytes[9] << 8;
    *header_begin = 10;
    if (bytes[6] > 1) {
        length |= (uint32_t)bytes[10] << 16 | (uint32_t)bytes[11] << 24;
        *header_begin = GOPS_NPY_PREAMBLE_BYTES;
    }
    if (length > GOPS_NPY_MAX_HEADER_BYTES) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED,
                                "its header has %" PRIu32 " bytes; at most %d are read", length,
                                GOPS_NPY_MAX_HEADER_BYTES);
    }
    *header_bytes = length;
    return true;
}

/* The text not read yet. */
typedef struct cursor {
    const char *at;
    const char *end;
} cursor;

static void skip_spaces(cursor *text)
{
    while (text->at < text->end && (*text->at == ' ' || *text->at == '\n' || *text->at == '\t')) {
        text->at++;
    }
}

/* Whether the next character after spaces is that one; skips it if so. */
static bool take_character(cursor *text, char character)
{
    skip_spaces(text);
    if (text->at < text->end && *text->at == character) {
        text->at++;
        return true;
    }
    return false;
}

static bool take_word(cursor *text, const char *word)
{
    const size_t length = strlen(word);
    skip_spaces(text);
    if ((size_t)(text->end - text->at) >= length && memcmp(text->at, word, length) == 0) {
        text->at += length;
        return true;
    }
    return false;
}

/* A Python string without escapes, in quotes of either kind. */
static bool take_string(cursor *text, const char **string, size_t *length)
{
    skip_spaces(text);
    if (text->at == text->end || (*text->at != '\'' && *text->at != '"')) {
        return false;
    }
    const char quote = *text->at;
    *string = text->at + 1;
    for (text->at++; text->at < text->end && *text->at != quote; text->at++) {
        if (*text->at == '\\' || *text->at == '\n') {
            return false;
        }
    }
    if (text->at == text->end) {
        return false;
    }
    *length = (size_t)(text->at - *string);
    text->at++;
    return true;
}

static bool read_dimension(cursor *text, int64_t *dimension, gops_tool_error *error)
{
    skip_spaces(text);
    const char *first = text->at;
    int64_t value = 0;
    if (first < text->end && *first == '-') {
        return malformed(error, "has a negative dimension in its shape");
    }
    for (; text->at < text->end && *text->at >= '0' && *text->at <= '9'; text->at++) {
        const int digit = *text->at - '0';
        if (value > (INT64_MAX - digit) / 10) {
            return malformed(error, "has a dimension beyond 2^63 - 1 in its shape");
        }
        value = value * 10 + digit;
    }
    if (text->at == first || (*first == '0' && text->at - first > 1)) {
        return malformed(error, "has a shape that is not a tuple of integers");
    }
    *dimension = value;
    return true;
}

/* "(3,)", "(3, 4)", "(3, 4, )"; "()", of a single number, is read as "(1,)". */
static bool read_shape(cursor *text, gops_npy_header *header, gops_tool_error *error)
{
    gops_tensor *tensor = &header->tensor;
    bool comma = true;
    tensor->rank = 0;
    if (!take_character(text, '(')) {
        return malformed(error, "has a shape that is not a tuple of integers");
    }
    while (!take_character(text, ')')) {
        if (!comma) {
            return malformed(error, "has a shape that is not a tuple of integers");
        }
        if (tensor->rank == GOPS_MAX_RANK) {
            return gops_tool_refuse(error, GOPS_EXIT_FAILED,
                                    "its shape has more than %d dimensions", GOPS_MAX_RANK);
        }
        if (!read_dimension(text, &tensor->dims[tensor->rank], error)) {
            return false;
        }
        tensor->rank++;
        comma = take_character(text, ',');
    }
    if (tensor->rank == 0) {
        tensor->dims[tensor->rank++] = 1;
    }
    if (tensor->rank == 1 && !comma) {
        return malformed(error, "has a shape that is not a tuple of integers");
    }
    return true;
}

static bool read_descr(cursor *text, gops_npy_header *header, gops_tool_error *error)
{
    const char *dtype;
    size_t length;
    if (take_character(text, '[')) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED,
                                "its dtype is structured; only plain "
                                "numbers are read");
    }
    if (!take_string(text, &dtype, &length)) {
        return malformed(error, "has a descr that is not a string");
    }
    return gops_npy_read_dtype(dtype, length, header, error);
}

static bool read_fortran_order(cursor *text, gops_npy_header *header, gops_tool_error *error)
{
    header->fortran_order = take_word(text, "True");
    if (!header->fortran_order && !take_word(text, "False")) {
        return malformed(error, "has a fortran_order that is neither True nor False");
    }
    return true;
}

static const struct {
    const char *name;
    bool (*read)(cursor *text, gops_npy_header *header, gops_tool_error *error);
} keys[] = {
    {"descr", read_descr},
    {"fortran_order", read_fortran_order},
    {"shape", read_shape},
};
enum { KEYS = sizeof keys / sizeof keys[0] };

static bool read_entry(cursor *text, gops_npy_header *header, unsigned *seen,
                       gops_tool_error *error)
{
    const char *name;
    size_t length;
    if (!take_string(text, &name, &length) || !take_character(text, ':')) {
        return malformed(error, "is not a Python dictionary");
    }
    for (unsigned i = 0; i < KEYS; i++) {
        if (strlen(keys[i].name) == length && memcmp(keys[i].name, name, length) == 0) {
            if ((*seen & 1U << i) != 0) {
                return gops_tool_refuse(error, GOPS_EXIT_FAILED, "the header has %s twice",
                                        keys[i].name);
            }
            *seen |= 1U << i;
            return keys[i].read(text, header, error);
        }
    }
    return gops_tool_refuse(error, GOPS_EXIT_FAILED, "the header has an unknown key '%.*s'",
                            length < 40 ? (int)length : 40, name);
}

bool gops_npy_read_header(const char *text, size_t count, gops_npy_header *header,
                          gops_tool_error *error)
{
    cursor rest = {text, text + count};
    unsigned seen = 0;
    bool comma = true;
    if (count == 0 || text[count - 1] != '\n') {
        return malformed(error, "does not end with a newline");
    }
    if (!take_character(&rest, '{')) {
        return malformed(error, "is not a Python dictionary");
    }
    while (!take_character(&rest, '}')) {
        if (!comma) {
            return malformed(error, "is not a Python dictionary");
        }
        if (!read_entry(&rest, header, &seen, error)) {
            return false;
        }
        comma = take_character(&rest, ',');
    }
    for (unsigned i = 0; i < KEYS; i++) {
        if ((seen & 1U << i) == 0) {
            return gops_tool_refuse(error, GOPS_EXIT_FAILED, "the header has no %s", keys[i].name);
        }
    }
    skip_spaces(&rest);
    return rest.at == rest.end || malformed(error, "goes on after its dictionary");
}
