/*
 * onnx_wire.h: the protobuf wire format, as much of it as ONNX files use.
 *
 * A message is a sequence of fields; a field is a tag (field number and wire type) and a value. The
 * reader walks over bytes that stay where they are: nothing is copied or allocated, and nothing
 * outside of the given bytes is read, whatever they hold. Groups, which proto2 dropped long before
 * ONNX, are refused. Source: the "Encoding" page of the protobuf manual.
 */
#ifndef GROUPOPS_TESTS_ONNX_WIRE_H
#define GROUPOPS_TESTS_ONNX_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gops_onnx_bytes {
    const uint8_t *at;
    size_t size;
} gops_onnx_bytes;

typedef enum gops_onnx_wire {
    GOPS_ONNX_VARINT = 0,
    GOPS_ONNX_FIXED64 = 1,
    GOPS_ONNX_BYTES = 2,
    GOPS_ONNX_FIXED32 = 5
} gops_onnx_wire;

typedef struct gops_onnx_field {
    uint32_t number;
    gops_onnx_wire wire;
    uint64_t value;        /* GOPS_ONNX_VARINT, _FIXED64, _FIXED32 */
    gops_onnx_bytes bytes; /* GOPS_ONNX_BYTES: inside of the message */
} gops_onnx_field;

typedef enum gops_onnx_step {
    GOPS_ONNX_END = 0,
    GOPS_ONNX_FOUND = 1,
    GOPS_ONNX_MALFORMED = 2
} gops_onnx_step;

/* Takes the next field off the front of *rest. */
gops_onnx_step gops_onnx_next_field(gops_onnx_bytes *rest, gops_onnx_field *field);

/* Takes fields off the front of *rest up to and with the next one of that number, which must hold
 * bytes (a string or a message). */
gops_onnx_step gops_onnx_next_bytes(gops_onnx_bytes *rest, uint32_t number, gops_onnx_bytes *bytes);

bool gops_onnx_take_varint(gops_onnx_bytes *rest, uint64_t *value);
/* `size` is 4 or 8. */
bool gops_onnx_take_fixed(gops_onnx_bytes *rest, size_t size, uint64_t *value);

/* Appends what one field of a `repeated int64` holds, packed or not. False when the field is
 * malformed or the values would exceed the capacity. */
bool gops_onnx_append_integers(const gops_onnx_field *field, int64_t *values, int capacity,
                               int *count);

bool gops_onnx_equal(gops_onnx_bytes bytes, const char *text);

#endif
