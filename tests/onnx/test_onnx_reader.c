/* What the protobuf reader reads, and what it refuses. The bytes end where an unmapped page
 * begins, so that a read beyond them ends the program in every build. */
#include <string.h>

#include <CUnit/CUnit.h>

#include "onnx_attributes.h"
#include "onnx_writer.h"
#include "elements.h"
#include "harness.h"
#include "guarded_memory.h"

/* Field numbers of onnx.proto, written down a second time. */
enum { DIMS = 1, DATA_TYPE = 2, FLOATS = 4, INT32S = 5, INT64S = 7, TENSOR_NAME = 8, RAW = 9 };
enum { DOUBLES = 10, UINT64S = 11, EXTERNAL = 13, LOCATION = 14 };
enum { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_OP_TYPE = 4, NODE_ATTRIBUTE = 5, NODE_DOMAIN = 7 };
enum { ATTRIBUTE_NAME = 1, ATTRIBUTE_I = 3, ATTRIBUTE_S = 4, ATTRIBUTE_INTS = 8 };
enum { ATTRIBUTE_TYPE = 20 };
enum { FLOAT = 1, UINT8 = 2, INT8 = 3, INT32 = 6, INT64 = 7, STRING = 8, FLOAT16 = 10 };
enum { DOUBLE = 11, UINT64 = 13 };

static gops_test_guarded guarded_copy(const gops_onnx_writer *writer, gops_onnx_bytes *bytes)
{
    gops_test_guarded guarded = gops_test_guarded_create(writer->size);
    memcpy(guarded.memory, writer->bytes, writer->size);
    *bytes = (gops_onnx_bytes){guarded.memory, writer->size};
    return guarded;
}

static bool takes_varint(const char *bytes, size_t size, uint64_t *value)
{
    gops_test_guarded guarded = gops_test_guarded_create(size);
    gops_onnx_bytes rest = {guarded.memory, size};
    memcpy(guarded.memory, bytes, size);
    bool taken = gops_onnx_take_varint(&rest, value);
    gops_test_guarded_destroy(&guarded);
    return taken;
}

static void test_varints(void)
{
    static const uint64_t values[] = {0, 1, 127, 128, 300, 1u << 21, INT64_MAX, UINT64_MAX};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        gops_onnx_writer writer = {.size = 0};
        uint64_t value = ~values[i];
        gops_onnx_put_varint(&writer, values[i]);
        CU_ASSERT(takes_varint((const char *)writer.bytes, writer.size, &value));
        CU_ASSERT_EQUAL(value, values[i]);
        for (size_t size = 0; size < writer.size; size++)
            CU_ASSERT(!takes_varint((const char *)writer.bytes, size, &value));
    }
    uint64_t value;
    /* 2^64, and ten bytes that go on. */
    CU_ASSERT(!takes_varint("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02", 10, &value));
    CU_ASSERT(!takes_varint("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81\x00", 11, &value));
    /* Longer than need be is legal. */
    CU_ASSERT(takes_varint("\x85\x80\x00", 3, &value) && value == 5);
}

static gops_onnx_step first_field(const gops_onnx_writer *writer)
{
    gops_onnx_bytes bytes;
    gops_test_guarded guarded = guarded_copy(writer, &bytes);
    gops_onnx_field field;
    gops_onnx_step step = gops_onnx_next_field(&bytes, &field);
    gops_test_guarded_destroy(&guarded);
    return step;
}

static void test_fields(void)
{
    gops_onnx_writer empty = {.size = 0};
    CU_ASSERT_EQUAL(first_field(&empty), GOPS_ONNX_END);
    for (unsigned wire = 0; wire < 8; wire++) {
        gops_onnx_writer writer = {.size = 0};
        bool known = wire == 0 || wire == 1 || wire == 2 || wire == 5;
        gops_onnx_put_tag(&writer, 3, wire);
        gops_onnx_put_fixed(&writer, 0, 8);
        CU_ASSERT_EQUAL(first_field(&writer), known ? GOPS_ONNX_FOUND : GOPS_ONNX_MALFORMED);
        writer.size = 1;
        CU_ASSERT_EQUAL(first_field(&writer), GOPS_ONNX_MALFORMED);
    }
    static const uint64_t bad_tags[] = {0, 2, (uint64_t)1 << 32, UINT64_MAX - 7};
    for (size_t i = 0; i < sizeof bad_tags / sizeof bad_tags[0]; i++) {
        gops_onnx_writer writer = {.size = 0};
        gops_onnx_put_varint(&writer, bad_tags[i]);
        gops_onnx_put_fixed(&writer, 0, 8);
        CU_ASSERT_EQUAL(first_field(&writer), GOPS_ONNX_MALFORMED);
    }
    static const uint64_t bad_sizes[] = {4, 1u << 31, (uint64_t)1 << 63, UINT64_MAX};
    for (size_t i = 0; i < sizeof bad_sizes / sizeof bad_sizes[0]; i++) {
        gops_onnx_writer writer = {.size = 0};
        gops_onnx_put_tag(&writer, 7, GOPS_ONNX_BYTES);
        gops_onnx_put_varint(&writer, bad_sizes[i]);
        gops_onnx_put_fixed(&writer, 0, 3);
        CU_ASSERT_EQUAL(first_field(&writer), GOPS_ONNX_MALFORMED);
    }
}

/* dims and type of a tensor; its values are for the caller to add. */
static gops_onnx_writer tensor_of(int64_t data_type, int rank, const int64_t *dims)
{
    gops_onnx_writer writer = {.size = 0};
    for (int i = 0; i < rank; i++)
        gops_onnx_put_integer(&writer, DIMS, dims[i]);
    gops_onnx_put_integer(&writer, DATA_TYPE, data_type);
    return writer;
}
#define TENSOR(type, ...)                                                                          \
    tensor_of((type), (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),                   \
              (const int64_t[]){__VA_ARGS__})

/* Whether the tensor is accepted; its values, at most 64 bytes, go to `values`. */
static bool reads(const gops_onnx_writer *writer, gops_type type, void *values)
{
    gops_onnx_bytes bytes;
    gops_test_guarded guarded = guarded_copy(writer, &bytes);
    gops_onnx_tensor tensor;
    bool good = gops_onnx_read_tensor(bytes, &tensor);
    if (good) {
        CU_ASSERT_EQUAL(tensor.tensor.type, type);
        CU_ASSERT_FATAL(tensor.count * gops_test_type_bytes(type) <= 64);
        gops_onnx_tensor_values(&tensor, values);
    }
    gops_test_guarded_destroy(&guarded);
    return good;
}

static bool refuses(const gops_onnx_writer *writer)
{
    uint64_t values[8];
    return !reads(writer, GOPS_F32, values);
}

static void test_raw_values(void)
{
    float values[16];
    gops_onnx_writer writer = TENSOR(FLOAT, 1, 3);
    gops_onnx_put_text(&writer, TENSOR_NAME, "X");
    gops_onnx_put_bytes(&writer, RAW, "\0\0\x80\x3f\0\0\0\xc0\0\0\xc0\x7f", 12);
    CU_ASSERT(reads(&writer, GOPS_F32, values));
    CU_ASSERT(values[0] == 1.0f && values[1] == -2.0f && values[2] != values[2]);

    uint16_t halves[32];
    writer = TENSOR(FLOAT16, 2);
    gops_onnx_put_bytes(&writer, RAW, "\x00\x3c\x01\x80", 4);
    CU_ASSERT(reads(&writer, GOPS_F16, halves) && halves[0] == 0x3c00 && halves[1] == 0x8001);

    int64_t scalar[8];
    writer = (gops_onnx_writer){.size = 0};
    gops_onnx_put_integer(&writer, DATA_TYPE, INT64);
    gops_onnx_put_bytes(&writer, RAW, "\xfe\xff\xff\xff\xff\xff\xff\xff", 8);
    CU_ASSERT(reads(&writer, GOPS_I64, scalar) && scalar[0] == -2);

    writer = TENSOR(FLOAT, 3, 0);
    CU_ASSERT(reads(&writer, GOPS_F32, values));
}

static void test_typed_values(void)
{
    float floats[16];
    gops_onnx_writer packed = {.size = 0}, writer = TENSOR(FLOAT, 3);
    gops_onnx_put_fixed(&packed, 0x3f800000, 4);
    gops_onnx_put_fixed(&packed, 0x40400000, 4);
    gops_onnx_put_message(&writer, FLOATS, &packed);
    CU_ASSERT(refuses(&writer)); /* one is missing yet */
    gops_onnx_put_tag(&writer, FLOATS, GOPS_ONNX_FIXED32);
    gops_onnx_put_fixed(&writer, 0xbf800000, 4);
    CU_ASSERT(reads(&writer, GOPS_F32, floats));
    CU_ASSERT(floats[0] == 1.0f && floats[1] == 3.0f && floats[2] == -1.0f);

    double doubles[8];
    writer = TENSOR(DOUBLE, 1);
    gops_onnx_put_tag(&writer, DOUBLES, GOPS_ONNX_FIXED64);
    gops_onnx_put_fixed(&writer, 0x4008000000000000, 8);
    CU_ASSERT(reads(&writer, GOPS_F64, doubles) && doubles[0] == 3.0);

    int8_t bytes[64];
    writer = TENSOR(INT8, 2, 1);
    gops_onnx_put_integer(&writer, INT32S, -128);
    gops_onnx_put_integer(&writer, INT32S, 127);
    CU_ASSERT(reads(&writer, GOPS_I8, bytes) && bytes[0] == -128 && bytes[1] == 127);

    int64_t longs[8];
    writer = TENSOR(INT64, 1);
    gops_onnx_put_integer(&writer, INT64S, INT64_MIN);
    CU_ASSERT(reads(&writer, GOPS_I64, longs) && longs[0] == INT64_MIN);

    uint64_t unsigneds[8];
    packed.size = 0;
    gops_onnx_put_varint(&packed, UINT64_MAX);
    writer = TENSOR(UINT64, 1);
    gops_onnx_put_message(&writer, UINT64S, &packed);
    CU_ASSERT(reads(&writer, GOPS_U64, unsigneds) && unsigneds[0] == UINT64_MAX);
}

static void test_values_out_of_range(void)
{
    static const struct {
        int64_t data_type, value;
        bool good;
    } cases[] = {
        {UINT8, 255, true},
        {UINT8, 256, false},
        {UINT8, -1, false},
        {INT8, -128, true},
        {INT8, -129, false},
        {INT8, 128, false},
        {FLOAT16, 0xffff, true},
        {FLOAT16, 0x10000, false},
        {INT32, INT32_MIN, true},
        {INT32, INT32_MAX, true},
        {INT32, (int64_t)INT32_MAX + 1, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        gops_onnx_writer writer = TENSOR(cases[i].data_type, 1);
        gops_onnx_put_integer(&writer, INT32S, cases[i].value);
        gops_onnx_tensor tensor;
        gops_test_check(gops_onnx_read_tensor(gops_onnx_written(&writer), &tensor) == cases[i].good,
                        "type %lld, value %lld", (long long)cases[i].data_type,
                        (long long)cases[i].value);
    }
}

static void test_refused_tensors(void)
{
    gops_onnx_writer writer = TENSOR(FLOAT, 2);
    CU_ASSERT(refuses(&writer)); /* no values */
    gops_onnx_put_bytes(&writer, RAW, "1234567", 7);
    CU_ASSERT(refuses(&writer)); /* half a value */

    writer = TENSOR(FLOAT, 1);
    gops_onnx_put_bytes(&writer, RAW, "1234", 4);
    CU_ASSERT(!refuses(&writer));
    gops_onnx_put_tag(&writer, FLOATS, GOPS_ONNX_FIXED32);
    gops_onnx_put_fixed(&writer, 0, 4);
    CU_ASSERT(refuses(&writer)); /* values in two places */

    static const int64_t dims[][3] = {
        {INT64_C(1) << 62, 4, 1}, /* the product is 0 modulo 2^64 */
        {INT64_C(1) << 40, 1, 1}, /* more than is there */
        {-1, -1, 1},
    };
    for (size_t i = 0; i < sizeof dims / sizeof dims[0]; i++) {
        writer = tensor_of(FLOAT, 3, dims[i]);
        gops_onnx_put_bytes(&writer, RAW, "1234", i == 0 ? 0 : 4);
        CU_ASSERT(refuses(&writer));
    }
    writer = TENSOR(FLOAT, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1);
    gops_onnx_put_bytes(&writer, RAW, "1234", 4);
    CU_ASSERT(refuses(&writer)); /* rank 10 */

    writer = TENSOR(FLOAT, 1);
    gops_onnx_put_integer(&writer, LOCATION, 1);
    gops_onnx_put_bytes(&writer, RAW, "1234", 4);
    CU_ASSERT(refuses(&writer));
    writer = TENSOR(FLOAT, 1);
    gops_onnx_put_text(&writer, EXTERNAL, "");
    gops_onnx_put_bytes(&writer, RAW, "1234", 4);
    CU_ASSERT(refuses(&writer));
    static const int64_t types[] = {0, STRING, 9, 14, 15, 18, 20, 21, 1000, -1};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        writer = TENSOR(types[i], 0);
        CU_ASSERT(refuses(&writer));
    }
}

static void put_ints(gops_onnx_writer *node, const char *name, int count, const int64_t *values)
{
    gops_onnx_writer attribute = {.size = 0};
    gops_onnx_put_text(&attribute, ATTRIBUTE_NAME, name);
    for (int i = 0; i < count; i++)
        gops_onnx_put_integer(&attribute, ATTRIBUTE_INTS, values[i]);
    gops_onnx_put_integer(&attribute, ATTRIBUTE_TYPE, GOPS_ONNX_INTS);
    gops_onnx_put_message(node, NODE_ATTRIBUTE, &attribute);
}

static void put_int(gops_onnx_writer *node, const char *name, int64_t value)
{
    gops_onnx_writer attribute = {.size = 0};
    gops_onnx_put_text(&attribute, ATTRIBUTE_NAME, name);
    gops_onnx_put_integer(&attribute, ATTRIBUTE_I, value);
    gops_onnx_put_integer(&attribute, ATTRIBUTE_TYPE, GOPS_ONNX_INT);
    gops_onnx_put_message(node, NODE_ATTRIBUTE, &attribute);
}

static void put_string(gops_onnx_writer *node, const char *name, const char *value)
{
    gops_onnx_writer attribute = {.size = 0};
    gops_onnx_put_text(&attribute, ATTRIBUTE_NAME, name);
    gops_onnx_put_text(&attribute, ATTRIBUTE_S, value);
    gops_onnx_put_integer(&attribute, ATTRIBUTE_TYPE, GOPS_ONNX_STRING);
    gops_onnx_put_message(node, NODE_ATTRIBUTE, &attribute);
}

static gops_onnx_writer transposed_node(void)
{
    gops_onnx_writer node = {.size = 0};
    gops_onnx_put_text(&node, NODE_INPUT, "X");
    gops_onnx_put_text(&node, NODE_INPUT, "W");
    gops_onnx_put_text(&node, NODE_OUTPUT, "Y");
    gops_onnx_put_text(&node, NODE_OP_TYPE, "ConvTranspose");
    put_int(&node, "group", 3);
    put_ints(&node, "kernel_shape", 2, (const int64_t[]){5, 7});
    put_ints(&node, "strides", 2, (const int64_t[]){2, 3});
    put_ints(&node, "pads", 4, (const int64_t[]){1, 2, 3, 4});
    put_ints(&node, "dilations", 2, (const int64_t[]){6, 1});
    put_ints(&node, "output_padding", 2, (const int64_t[]){0, 8});
    put_ints(&node, "output_shape", 2, (const int64_t[]){41, 43});
    put_string(&node, "auto_pad", "SAME_LOWER");
    return node;
}

static bool maps(const gops_onnx_writer *writer, const gops_tensor *weights,
                 gops_deconv_attributes *attributes, gops_tensor *filter)
{
    char why[GOPS_ONNX_WHY];
    gops_onnx_node node;
    return gops_onnx_read_node(gops_onnx_written(writer), &node) &&
           gops_onnx_deconv_attributes(&node, weights, attributes, filter, why);
}

static void test_attributes(void)
{
    gops_tensor weights = GOPS_TEST_TENSOR(GOPS_F32, 6, 4, 5, 7), filter;
    gops_deconv_attributes a;
    gops_onnx_writer node = transposed_node();
    CU_ASSERT_FATAL(maps(&node, &weights, &a, &filter));
    CU_ASSERT(filter.rank == 5 && filter.dims[0] == 3 && filter.dims[1] == 2);
    CU_ASSERT(filter.dims[2] == 4 && filter.dims[3] == 5 && filter.dims[4] == 7);
    CU_ASSERT(a.strides.count == 2 && a.strides.values[0] == 2 && a.strides.values[1] == 3);
    CU_ASSERT(a.pads_begin.values[0] == 1 && a.pads_begin.values[1] == 2);
    CU_ASSERT(a.pads_end.count == 2 && a.pads_end.values[0] == 3 && a.pads_end.values[1] == 4);
    CU_ASSERT(a.dilations.values[0] == 6 && a.dilations.values[1] == 1);
    CU_ASSERT(a.output_padding.values[0] == 0 && a.output_padding.values[1] == 8);
    CU_ASSERT(a.output_shape.values[0] == 41 && a.output_shape.values[1] == 43);
    CU_ASSERT_EQUAL(a.auto_pad, GOPS_AUTO_PAD_SAME_LOWER);
    CU_ASSERT_EQUAL(a.output_shape_rule, GOPS_OUTPUT_SHAPE_ONNX);

    weights.dims[3] = 6; /* not kernel_shape */
    CU_ASSERT(!maps(&node, &weights, &a, &filter));
    weights.dims[3] = 7;
    weights.dims[0] = 7; /* not a multiple of group */
    CU_ASSERT(!maps(&node, &weights, &a, &filter));

    gops_onnx_writer bare = {.size = 0};
    CU_ASSERT(maps(&bare, &weights, &a, &filter) && filter.dims[0] == 1);
    CU_ASSERT(a.strides.count == 0 && a.auto_pad == GOPS_AUTO_PAD_EXPLICIT);
}

static void test_refused_attributes(void)
{
    static const int64_t many[13] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    gops_tensor weights = GOPS_TEST_TENSOR(GOPS_F32, 6, 4, 5, 7), filter;
    gops_deconv_attributes a;
    for (int count = 1; count <= 13; count++) {
        gops_onnx_writer node = {.size = 0};
        put_ints(&node, "strides", count, many);
        gops_test_check(maps(&node, &weights, &a, &filter) == (count == 2), "%d strides", count);
    }
    gops_onnx_writer node = transposed_node();
    put_int(&node, "group", 3); /* twice */
    CU_ASSERT(!maps(&node, &weights, &a, &filter));
    node = (gops_onnx_writer){.size = 0};
    put_int(&node, "strides", 2); /* an INT in place of INTS */
    CU_ASSERT(!maps(&node, &weights, &a, &filter));
    node = (gops_onnx_writer){.size = 0};
    put_string(&node, "auto_pad", "SAME");
    CU_ASSERT(!maps(&node, &weights, &a, &filter));
    for (int64_t group = -1; group <= 0; group++) {
        node = (gops_onnx_writer){.size = 0};
        put_int(&node, "group", group);
        CU_ASSERT(!maps(&node, &weights, &a, &filter));
    }
}

int main(void)
{
    static const gops_test_case cases[] = {
        {"varints", test_varints},
        {"fields", test_fields},
        {"raw_values", test_raw_values},
        {"typed_values", test_typed_values},
        {"values_out_of_range", test_values_out_of_range},
        {"refused_tensors", test_refused_tensors},
        {"attributes", test_attributes},
        {"refused_attributes", test_refused_attributes},
        {NULL, NULL},
    };
    return gops_test_main("onnx_reader", cases);
}
