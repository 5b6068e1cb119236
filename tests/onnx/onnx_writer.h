/* onnx_writer.h: writes protobuf messages, good ones and bad ones, for the tests of the reader. */
#ifndef GROUPOPS_TESTS_ONNX_WRITER_H
#define GROUPOPS_TESTS_ONNX_WRITER_H

#include "onnx_wire.h"

typedef struct gops_onnx_writer {
    uint8_t bytes[1024]; /* more than any message of the tests; writing more ends the program */
    size_t size;
} gops_onnx_writer;

gops_onnx_bytes gops_onnx_written(const gops_onnx_writer *writer);

void gops_onnx_put_varint(gops_onnx_writer *writer, uint64_t value);
/* `size` bytes of value, lowest first. */
void gops_onnx_put_fixed(gops_onnx_writer *writer, uint64_t value, size_t size);
void gops_onnx_put_tag(gops_onnx_writer *writer, uint32_t number, unsigned wire);

/* Whole fields. */
void gops_onnx_put_integer(gops_onnx_writer *writer, uint32_t number, int64_t value);
void gops_onnx_put_bytes(gops_onnx_writer *writer, uint32_t number, const void *bytes, size_t size);
void gops_onnx_put_text(gops_onnx_writer *writer, uint32_t number, const char *text);
void gops_onnx_put_message(gops_onnx_writer *writer, uint32_t number,
                           const gops_onnx_writer *message);

#endif
