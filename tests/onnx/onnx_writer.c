/* onnx_writer.c: appends the fields of a protobuf message. */
#include "onnx_writer.h"

#include <stdlib.h>
#include <string.h>

gops_onnx_bytes gops_onnx_written(const gops_onnx_writer *writer)
{
    return (gops_onnx_bytes){writer->bytes, writer->size};
}

static void put(gops_onnx_writer *writer, uint8_t byte)
{
    if (writer->size == sizeof writer->bytes)
        abort();
    writer->bytes[writer->size++] = byte;
}

void gops_onnx_put_varint(gops_onnx_writer *writer, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        put(writer, (uint8_t)(value | 0x80));
    put(writer, (uint8_t)value);
}

void gops_onnx_put_fixed(gops_onnx_writer *writer, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        put(writer, (uint8_t)(value >> (8 * i)));
}

void gops_onnx_put_tag(gops_onnx_writer *writer, uint32_t number, unsigned wire)
{
    gops_onnx_put_varint(writer, (uint64_t)number << 3 | wire);
}

void gops_onnx_put_integer(gops_onnx_writer *writer, uint32_t number, int64_t value)
{
    gops_onnx_put_tag(writer, number, GOPS_ONNX_VARINT);
    gops_onnx_put_varint(writer, (uint64_t)value);
}

void gops_onnx_put_bytes(gops_onnx_writer *writer, uint32_t number, const void *bytes, size_t size)
{
    gops_onnx_put_tag(writer, number, GOPS_ONNX_BYTES);
    gops_onnx_put_varint(writer, size);
    for (size_t i = 0; i < size; i++)
        put(writer, ((const uint8_t *)bytes)[i]);
}

void gops_onnx_put_text(gops_onnx_writer *writer, uint32_t number, const char *text)
{
    gops_onnx_put_bytes(writer, number, text, strlen(text));
}

void gops_onnx_put_message(gops_onnx_writer *writer, uint32_t number,
                           const gops_onnx_writer *message)
{
    gops_onnx_put_bytes(writer, number, message->bytes, message->size);
}
