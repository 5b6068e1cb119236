/* The protobuf reader on broken files: cut off anywhere, or with bytes changed. Every one lies
 * right before an unmapped page, so that a read beyond its end ends the program. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onnx_attributes.h"
#include "onnx_folder.h"
#include "onnx_writer.h"
#include "elements.h"
#include "harness.h"
#include "guarded_memory.h"

/* Goes through all that the reader can read of a tensor; returns whether it took it. */
static bool digest_tensor(gops_onnx_bytes bytes)
{
    gops_onnx_tensor tensor;
    if (!gops_onnx_read_tensor(bytes, &tensor))
        return false;
    void *values = gops_test_allocate(tensor.count * gops_test_type_bytes(tensor.tensor.type) + 1);
    gops_onnx_tensor_values(&tensor, values);
    free(values);
    return true;
}

static void digest_graph(gops_onnx_bytes graph)
{
    static const gops_tensor weights = {GOPS_F32, 4, {6, 4, 5, 7}};
    char why[GOPS_ONNX_WHY];
    gops_onnx_bytes rest = graph, message;
    while (gops_onnx_next_bytes(&rest, GOPS_ONNX_GRAPH_INITIALIZER, &message) == GOPS_ONNX_FOUND)
        digest_tensor(message);
    gops_onnx_content content;
    if (!gops_onnx_look(graph, &content) || content.operators == 0)
        return;
    gops_conv_attributes conv;
    gops_deconv_attributes deconv;
    gops_tensor filter;
    gops_onnx_conv_attributes(&content.node, &weights, &conv, &filter, why);
    gops_onnx_deconv_attributes(&content.node, &weights, &deconv, &filter, why);
}

static bool digest_model(gops_onnx_bytes bytes)
{
    gops_onnx_model model;
    if (!gops_onnx_read_model(bytes, &model))
        return false;
    digest_graph(model.graph);
    return true;
}

typedef bool digest_function(gops_onnx_bytes bytes);

/* Whether a message of `size` bytes would end between two fields of the whole one. */
static bool ends_between_fields(gops_onnx_bytes whole, size_t size)
{
    gops_onnx_bytes rest = whole;
    gops_onnx_field field;
    while (whole.size - rest.size < size && gops_onnx_next_field(&rest, &field) == GOPS_ONNX_FOUND)
        ;
    return whole.size - rest.size == size;
}

/* Returns how many prefixes were tried. */
static int try_prefixes(const char *what, gops_onnx_bytes whole, digest_function *digest)
{
    enum { ALL_UP_TO = 2048, PARTS = 97 };
    gops_test_guarded guarded = gops_test_guarded_create(whole.size);
    size_t step = whole.size <= ALL_UP_TO ? 1 : whole.size / PARTS;
    int tried = 0;
    for (size_t size = 0; size < whole.size; size += size < ALL_UP_TO / 2 ? 1 : step, tried++) {
        uint8_t *start = (uint8_t *)guarded.memory + (whole.size - size);
        if (size > 0)
            memcpy(start, whole.at, size);
        if (digest((gops_onnx_bytes){start, size}))
            gops_test_check(ends_between_fields(whole, size),
                            "%s: the first %zu of %zu bytes are taken for a message", what, size,
                            whole.size);
    }
    gops_test_guarded_destroy(&guarded);
    return tried;
}

/* Returns how many changes the reader did not notice; most it cannot, in the values. */
static int try_changes(gops_onnx_bytes whole, digest_function *digest)
{
    static const uint8_t masks[] = {0x01, 0x02, 0x80, 0x7f, 0xff};
    gops_test_guarded guarded = gops_test_guarded_create(whole.size);
    uint8_t *bytes = guarded.memory;
    int taken = 0;
    memcpy(bytes, whole.at, whole.size);
    for (size_t i = 0; i < whole.size; i++) {
        for (size_t m = 0; m < sizeof masks; m++) {
            bytes[i] ^= masks[m];
            taken += digest((gops_onnx_bytes){bytes, whole.size});
            bytes[i] ^= masks[m];
        }
    }
    gops_test_guarded_destroy(&guarded);
    return taken;
}

static void put_attribute(gops_onnx_writer *node, const char *name)
{
    gops_onnx_writer attribute = {.size = 0};
    gops_onnx_put_text(&attribute, 1, name);
    for (int64_t i = 0; i < 4; i++)
        gops_onnx_put_integer(&attribute, 8, 1 + i);
    gops_onnx_put_integer(&attribute, 20, GOPS_ONNX_INTS);
    gops_onnx_put_message(node, 5, &attribute);
}

static gops_onnx_writer handmade_tensor(void)
{
    gops_onnx_writer tensor = {.size = 0}, packed = {.size = 0};
    gops_onnx_put_integer(&tensor, 1, 2);
    gops_onnx_put_integer(&tensor, 1, 3);
    gops_onnx_put_integer(&tensor, 2, 7);
    for (uint64_t i = 0; i < 6; i++)
        gops_onnx_put_varint(&packed, (uint64_t)1 << (9 * i));
    gops_onnx_put_message(&tensor, 7, &packed);
    gops_onnx_put_text(&tensor, 8, "W");
    return tensor;
}

static gops_onnx_writer handmade_model(void)
{
    gops_onnx_writer node = {.size = 0}, graph = {.size = 0}, opset = {.size = 0};
    gops_onnx_writer tensor = handmade_tensor(), model = {.size = 0};
    gops_onnx_put_text(&node, 1, "X");
    gops_onnx_put_text(&node, 1, "W");
    gops_onnx_put_text(&node, 2, "Y");
    gops_onnx_put_text(&node, 4, "Conv");
    put_attribute(&node, "pads");
    put_attribute(&node, "strides");
    gops_onnx_put_message(&graph, 1, &node);
    gops_onnx_put_message(&graph, 5, &tensor);
    gops_onnx_put_integer(&opset, 2, 11);
    gops_onnx_put_integer(&model, 1, 6);
    gops_onnx_put_message(&model, 7, &graph);
    gops_onnx_put_message(&model, 8, &opset);
    return model;
}

static void test_handmade(void)
{
    gops_onnx_writer tensor = handmade_tensor(), model = handmade_model();
    gops_test_check(digest_tensor(gops_onnx_written(&tensor)), "the tensor is refused");
    gops_test_check(digest_model(gops_onnx_written(&model)), "the model is refused");
    try_prefixes("handmade tensor", gops_onnx_written(&tensor), digest_tensor);
    try_prefixes("handmade model", gops_onnx_written(&model), digest_model);
    int bad = 5 * (int)(tensor.size + model.size) -
              try_changes(gops_onnx_written(&tensor), digest_tensor) -
              try_changes(gops_onnx_written(&model), digest_model);
    gops_test_check(bad > 0, "no change was noticed");
    /* Any bytes as any message. */
    digest_tensor(gops_onnx_written(&model));
    digest_model(gops_onnx_written(&tensor));
}

/* Every file with that ending: whole, cut off, and the small ones with changed bytes. */
static void test_files(const char *suffix, digest_function *digest, bool all_are_good)
{
    enum { CHANGED_UP_TO = 512 };
    gops_onnx_folder files;
    int tried = 0, taken = 0;
    if (!gops_test_check(gops_onnx_list_files(gops_onnx_testdata(), suffix, &files),
                         "%s cannot be read", gops_onnx_testdata()))
        return;
    for (size_t i = 0; i < files.count; i++) {
        gops_onnx_bytes whole = gops_onnx_read_file(files.paths[i]);
        if (!gops_test_check(whole.at != NULL, "%s cannot be read", files.paths[i]))
            continue;
        bool good = digest(whole);
        taken += good;
        gops_test_check(good || !all_are_good, "%s is refused", files.paths[i]);
        tried += try_prefixes(files.paths[i], whole, digest);
        if (whole.size <= CHANGED_UP_TO && strstr(files.paths[i], "onv") != NULL)
            try_changes(whole, digest);
        free((void *)whole.at);
    }
    printf("\n  %zu files %s, %d taken; %d prefixes\n", files.count, suffix, taken, tried);
    gops_test_check(taken > 0, "no file %s", suffix);
    gops_onnx_free_files(&files);
}

static void test_package(void)
{
    if (!gops_onnx_is_folder(gops_onnx_testdata()))
        gops_test_skip("%s is not there; apt-get install libonnx-testdata", gops_onnx_testdata());
    test_files("/model.onnx", digest_model, true);
    /* Among the .pb files are strings, truth values and sequences, which are not read. */
    test_files(".pb", digest_tensor, false);
}

int main(void)
{
    static const gops_test_case cases[] = {
        {"handmade", test_handmade}, {"package", test_package}, {NULL, NULL}};
    return gops_test_main("onnx_hostile", cases);
}
