/* onnx_tensor.c: decodes a tensor's message into a descriptor and elements. */
#include "onnx_tensor.h"

#include <assert.h>

#include "elements.h"

/* The numbers of the fields of TensorProto. */
enum {
    DIMS = 1,
    DATA_TYPE = 2,
    SEGMENT = 3,
    FLOAT_DATA = 4,
    INT32_DATA = 5,
    STRING_DATA = 6,
    INT64_DATA = 7,
    NAME = 8,
    RAW_DATA = 9,
    DOUBLE_DATA = 10,
    UINT64_DATA = 11,
    EXTERNAL_DATA = 13,
    DATA_LOCATION = 14
};

/* By TensorProto.DataType: our type, and the field that holds its values if raw_data does not. The
 * floating point types of 8 and 16 bits are bit patterns in int32_data. */
static const struct {
    gops_type type;
    uint32_t field;
} data_types[] = {
    [1] = {GOPS_F32, FLOAT_DATA},     [2] = {GOPS_U8, INT32_DATA},
    [3] = {GOPS_I8, INT32_DATA},      [4] = {GOPS_U16, INT32_DATA},
    [5] = {GOPS_I16, INT32_DATA},     [6] = {GOPS_I32, INT32_DATA},
    [7] = {GOPS_I64, INT64_DATA},     [10] = {GOPS_F16, INT32_DATA},
    [11] = {GOPS_F64, DOUBLE_DATA},   [12] = {GOPS_U32, UINT64_DATA},
    [13] = {GOPS_U64, UINT64_DATA},   [16] = {GOPS_BF16, INT32_DATA},
    [17] = {GOPS_F8E4M3, INT32_DATA}, [19] = {GOPS_F8E5M2, INT32_DATA},
};

static uint32_t typed_field(gops_type type)
{
    for (size_t i = 0; i < sizeof data_types / sizeof data_types[0]; i++) {
        if (data_types[i].type == type)
            return data_types[i].field;
    }
    return 0;
}

/* Where the elements go, one after another. */
typedef struct element_sink {
    gops_type type;
    void *values; /* NULL: only count */
    size_t capacity;
    size_t count;
} element_sink;

/* A value of raw_data, float_data or double_data: the bit pattern of one element. */
static bool put_bits(element_sink *sink, uint64_t bits)
{
    static const gops_type of_bytes[] = {
        [1] = GOPS_U8, [2] = GOPS_U16, [4] = GOPS_U32, [8] = GOPS_U64};
    if (sink->values != NULL) {
        if (sink->count == sink->capacity)
            return false;
        gops_test_set_integer(of_bytes[gops_test_type_bytes(sink->type)], sink->values,
                              (int64_t)sink->count, bits);
    }
    sink->count++;
    return true;
}

/* A value of int32_data, int64_data or uint64_data, sign-extended to 64 bits in the file. */
static bool put_varint(element_sink *sink, uint64_t value)
{
    unsigned bits = 8 * (unsigned)gops_test_type_bytes(sink->type);
    bool is_signed = !gops_test_type_is_real(sink->type) && gops_test_type_is_signed(sink->type);
    if (bits < 64) {
        uint64_t half = (uint64_t)1 << (bits - 1);
        /* As unsigned numbers, -half .. half - 1 plus half is 0 .. 2 half - 1. */
        if (is_signed ? value + half >= 2 * half : value >= 2 * half)
            return false;
    }
    return put_bits(sink, value);
}

static bool put_packed(element_sink *sink, gops_onnx_bytes packed, size_t fixed_bytes)
{
    while (packed.size > 0) {
        uint64_t value;
        if (fixed_bytes == 0) {
            if (!gops_onnx_take_varint(&packed, &value) || !put_varint(sink, value))
                return false;
        } else if (!gops_onnx_take_fixed(&packed, fixed_bytes, &value) || !put_bits(sink, value)) {
            return false;
        }
    }
    return true;
}

/* One field of the type's own, which is repeated, packed or not. */
static bool put_typed(element_sink *sink, const gops_onnx_field *field)
{
    size_t fixed_bytes = field->number == FLOAT_DATA ? 4 : field->number == DOUBLE_DATA ? 8 : 0;
    gops_onnx_wire alone = fixed_bytes == 4   ? GOPS_ONNX_FIXED32
                           : fixed_bytes == 8 ? GOPS_ONNX_FIXED64
                                              : GOPS_ONNX_VARINT;
    if (field->wire == GOPS_ONNX_BYTES)
        return put_packed(sink, field->bytes, fixed_bytes);
    if (field->wire != alone)
        return false;
    return fixed_bytes == 0 ? put_varint(sink, field->value) : put_bits(sink, field->value);
}

static bool put_raw(element_sink *sink, gops_onnx_bytes raw)
{
    size_t bytes = gops_test_type_bytes(sink->type);
    while (raw.size >= bytes) {
        uint64_t value = 0;
        for (size_t i = 0; i < bytes; i++)
            value |= (uint64_t)raw.at[i] << (8 * i);
        if (!put_bits(sink, value))
            return false;
        raw.at += bytes;
        raw.size -= bytes;
    }
    return raw.size == 0;
}

static bool put_values(gops_onnx_bytes message, element_sink *sink)
{
    uint32_t own = typed_field(sink->type);
    uint32_t source = 0; /* the field that the first values were in */
    gops_onnx_field field;
    gops_onnx_step step;
    while ((step = gops_onnx_next_field(&message, &field)) == GOPS_ONNX_FOUND) {
        if (field.number != own && field.number != RAW_DATA)
            continue;
        if (source != 0 && (source != field.number || source == RAW_DATA))
            return false;
        source = field.number;
        if (source == RAW_DATA) {
            if (field.wire != GOPS_ONNX_BYTES || !put_raw(sink, field.bytes))
                return false;
        } else if (!put_typed(sink, &field)) {
            return false;
        }
    }
    return step == GOPS_ONNX_END;
}

/* Values in a place or of a form that is not read here. */
static bool is_foreign(const gops_onnx_field *field)
{
    return field->number == SEGMENT || field->number == STRING_DATA ||
           field->number == EXTERNAL_DATA || (field->number == DATA_LOCATION && field->value != 0);
}

static bool set_type(const gops_onnx_field *field, gops_tensor *tensor)
{
    if (field->wire != GOPS_ONNX_VARINT || field->value >= sizeof data_types / sizeof data_types[0])
        return false;
    tensor->type = data_types[field->value].type;
    return tensor->type != 0;
}

static bool read_descriptor(gops_onnx_bytes message, gops_onnx_tensor *tensor)
{
    int rank = 0;
    gops_onnx_field field;
    gops_onnx_step step;
    while ((step = gops_onnx_next_field(&message, &field)) == GOPS_ONNX_FOUND) {
        if (is_foreign(&field))
            return false;
        if (field.number == DIMS) {
            if (!gops_onnx_append_integers(&field, tensor->tensor.dims, GOPS_MAX_RANK, &rank))
                return false;
        } else if (field.number == DATA_TYPE) {
            if (!set_type(&field, &tensor->tensor))
                return false;
        } else if (field.number == NAME && field.wire == GOPS_ONNX_BYTES) {
            tensor->name = field.bytes;
        }
    }
    tensor->tensor.rank = (int32_t)rank;
    return step == GOPS_ONNX_END && tensor->tensor.type != 0;
}

static bool multiply_dims(const gops_tensor *tensor, size_t *count)
{
    *count = 1;
    for (int32_t axis = 0; axis < tensor->rank; axis++) {
        if (tensor->dims[axis] < 0 ||
            __builtin_mul_overflow(*count, (uint64_t)tensor->dims[axis], count))
            return false;
    }
    return true;
}

bool gops_onnx_read_tensor(gops_onnx_bytes message, gops_onnx_tensor *tensor)
{
    *tensor = (gops_onnx_tensor){.message = message};
    if (!read_descriptor(message, tensor) || !multiply_dims(&tensor->tensor, &tensor->count))
        return false;
    element_sink sink = {.type = tensor->tensor.type};
    return put_values(message, &sink) && sink.count == tensor->count;
}

void gops_onnx_tensor_values(const gops_onnx_tensor *tensor, void *values)
{
    element_sink sink = {tensor->tensor.type, values, tensor->count, 0};
    bool complete = put_values(tensor->message, &sink) && sink.count == tensor->count;
    assert(complete);
    (void)complete;
}
