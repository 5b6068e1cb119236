/* onnx_wire.c: steps through the fields of a protobuf message. */
#include "onnx_wire.h"

#include <string.h>

static void advance(gops_onnx_bytes *rest, size_t size)
{
    rest->at += size;
    rest->size -= size;
}

bool gops_onnx_take_varint(gops_onnx_bytes *rest, uint64_t *value)
{
    enum { LAST = 9 }; /* ten bytes of seven bits hold 64; the tenth has room for one bit */
    uint64_t result = 0;
    for (size_t i = 0; i <= LAST && i < rest->size; i++) {
        uint8_t byte = rest->at[i];
        if (i == LAST && byte > 1)
            return false;
        result |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte < 0x80) {
            advance(rest, i + 1);
            *value = result;
            return true;
        }
    }
    return false;
}

bool gops_onnx_take_fixed(gops_onnx_bytes *rest, size_t size, uint64_t *value)
{
    if (rest->size < size)
        return false;
    uint64_t result = 0;
    for (size_t i = 0; i < size; i++)
        result |= (uint64_t)rest->at[i] << (8 * i);
    advance(rest, size);
    *value = result;
    return true;
}

static bool take_bytes(gops_onnx_bytes *rest, gops_onnx_bytes *bytes)
{
    uint64_t size;
    if (!gops_onnx_take_varint(rest, &size) || size > rest->size)
        return false;
    *bytes = (gops_onnx_bytes){rest->at, (size_t)size};
    advance(rest, (size_t)size);
    return true;
}

static bool take_value(gops_onnx_bytes *rest, uint64_t wire, gops_onnx_field *field)
{
    switch (wire) {
    case GOPS_ONNX_VARINT:
        return gops_onnx_take_varint(rest, &field->value);
    case GOPS_ONNX_FIXED64:
        return gops_onnx_take_fixed(rest, 8, &field->value);
    case GOPS_ONNX_FIXED32:
        return gops_onnx_take_fixed(rest, 4, &field->value);
    case GOPS_ONNX_BYTES:
        return take_bytes(rest, &field->bytes);
    default:
        return false;
    }
}

gops_onnx_step gops_onnx_next_field(gops_onnx_bytes *rest, gops_onnx_field *field)
{
    static const uint64_t largest_number = (1u << 29) - 1;
    if (rest->size == 0)
        return GOPS_ONNX_END;
    uint64_t tag;
    if (!gops_onnx_take_varint(rest, &tag) || tag >> 3 == 0 || tag >> 3 > largest_number)
        return GOPS_ONNX_MALFORMED;
    *field = (gops_onnx_field){(uint32_t)(tag >> 3), (gops_onnx_wire)(tag & 7), 0, {NULL, 0}};
    return take_value(rest, tag & 7, field) ? GOPS_ONNX_FOUND : GOPS_ONNX_MALFORMED;
}

gops_onnx_step gops_onnx_next_bytes(gops_onnx_bytes *rest, uint32_t number, gops_onnx_bytes *bytes)
{
    gops_onnx_field field;
    gops_onnx_step step;
    do
        step = gops_onnx_next_field(rest, &field);
    while (step == GOPS_ONNX_FOUND && field.number != number);
    if (step == GOPS_ONNX_FOUND && field.wire != GOPS_ONNX_BYTES)
        return GOPS_ONNX_MALFORMED;
    if (step == GOPS_ONNX_FOUND)
        *bytes = field.bytes;
    return step;
}

static bool append_integer(uint64_t value, int64_t *values, int capacity, int *count)
{
    if (*count == capacity)
        return false;
    values[(*count)++] = (int64_t)value;
    return true;
}

bool gops_onnx_append_integers(const gops_onnx_field *field, int64_t *values, int capacity,
                               int *count)
{
    if (field->wire == GOPS_ONNX_VARINT)
        return append_integer(field->value, values, capacity, count);
    if (field->wire != GOPS_ONNX_BYTES)
        return false;
    gops_onnx_bytes packed = field->bytes;
    while (packed.size > 0) {
        uint64_t value;
        if (!gops_onnx_take_varint(&packed, &value) ||
            !append_integer(value, values, capacity, count))
            return false;
    }
    return true;
}

bool gops_onnx_equal(gops_onnx_bytes bytes, const char *text)
{
    size_t size = strlen(text);
    return bytes.size == size && (size == 0 || memcmp(bytes.at, text, size) == 0);
}
