/* ort_attributes.c: reads the attributes of a node. */
#include "engines/onnxruntime/graph/ort_attributes.h"

#include "engines/onnxruntime/graph/ort_constant.h"

#include <string.h>

enum { TEXT_BYTES = 32, MAX_NUMBERS = 2 * GOPS_MAX_SPATIAL };

/* Reads up to `bytes` bytes; false if the attribute is missing or could not be read. */
static bool read_attribute(gops_ort_attributes *from, const char *name, ort_attribute_type type,
                           void *data, size_t bytes, size_t *needed)
{
    const ort_api *api = from->runtime->api;
    const ort_attribute *attribute = NULL;
    ort_attribute_type found;
    if (from->status != NULL || from->malformed) {
        return false;
    }
    ort_status *missing = api->node_attribute(from->node->handle, name, &attribute);
    if (missing != NULL) {
        api->release_status(missing);
        return false;
    }
    if (attribute == NULL) {
        return false;
    }
    from->status = api->attribute_type(attribute, &found);
    if (from->status == NULL && found != type) {
        from->malformed = true;
    }
    if (from->status != NULL || from->malformed) {
        return false;
    }
    *needed = 0;
    ort_status *status = api->read_attribute(attribute, type, data, bytes, needed);
    if (status != NULL && *needed > bytes) { /* longer than any that has a meaning here */
        api->release_status(status);
        from->malformed = true;
        return false;
    }
    from->status = status;
    return status == NULL;
}

static size_t read_numbers(gops_ort_attributes *from, const char *name, int64_t *numbers)
{
    size_t bytes = 0;
    return read_attribute(from, name, ORT_ATTRIBUTE_INTS, numbers, MAX_NUMBERS * sizeof *numbers,
                          &bytes)
               ? bytes / sizeof *numbers
               : 0;
}

static bool read_text(gops_ort_attributes *from, const char *name, char *text)
{
    size_t bytes = 0;
    memset(text, 0, TEXT_BYTES);
    return read_attribute(from, name, ORT_ATTRIBUTE_STRING, text, TEXT_BYTES - 1, &bytes);
}

void gops_ort_attribute_int(gops_ort_attributes *from, const char *name, int64_t *value)
{
    int64_t number;
    size_t bytes;
    if (read_attribute(from, name, ORT_ATTRIBUTE_INT, &number, sizeof number, &bytes)) {
        *value = number;
    }
}

void gops_ort_attribute_float(gops_ort_attributes *from, const char *name, float *value)
{
    float number;
    size_t bytes;
    if (read_attribute(from, name, ORT_ATTRIBUTE_FLOAT, &number, sizeof number, &bytes)) {
        *value = number;
    }
}

static void set_list(gops_list *list, const int64_t *numbers, size_t count)
{
    list->count = (int32_t)count;
    for (size_t i = 0; i < count; i++) {
        list->values[i] = numbers[i];
    }
}

void gops_ort_attribute_list(gops_ort_attributes *from, const char *name, gops_list *list)
{
    int64_t numbers[MAX_NUMBERS];
    const size_t count = read_numbers(from, name, numbers);
    if (count > GOPS_MAX_SPATIAL) {
        from->malformed = true;
        return;
    }
    set_list(list, numbers, count);
}

void gops_ort_attribute_axes(gops_ort_attributes *from, gops_list *axes)
{
    gops_ort_constant constant;
    bool is = false;
    if (from->node->version < 18) {
        gops_ort_attribute_list(from, "axes", axes);
        return;
    }
    axes->count = 0;
    if (from->status == NULL && from->node->input_count > 1) {
        from->status = gops_ort_read_constant(from->runtime, from->node->inputs[1], &constant, &is);
    }
    if (is && constant.tensor.type == GOPS_I64 && constant.count <= GOPS_MAX_SPATIAL) {
        set_list(axes, constant.values, (size_t)constant.count);
    }
}

void gops_ort_attribute_pads(gops_ort_attributes *from, gops_list *begin, gops_list *end)
{
    int64_t numbers[MAX_NUMBERS];
    const size_t count = read_numbers(from, "pads", numbers);
    if (count % 2 != 0) {
        from->malformed = true;
        return;
    }
    set_list(begin, numbers, count / 2);
    set_list(end, numbers + count / 2, count / 2);
}

void gops_ort_attribute_auto_pad(gops_ort_attributes *from, gops_auto_pad *value)
{
    static const char *const names[] = {
        [GOPS_AUTO_PAD_EXPLICIT] = "NOTSET",
        [GOPS_AUTO_PAD_SAME_UPPER] = "SAME_UPPER",
        [GOPS_AUTO_PAD_SAME_LOWER] = "SAME_LOWER",
        [GOPS_AUTO_PAD_VALID] = "VALID",
    };
    char text[TEXT_BYTES];
    if (!read_text(from, "auto_pad", text) || text[0] == '\0') {
        return;
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(text, names[i]) == 0) {
            *value = (gops_auto_pad)i;
            return;
        }
    }
    from->malformed = true;
}

bool gops_ort_attribute_is(gops_ort_attributes *from, const char *name, const char *expected)
{
    char text[TEXT_BYTES];
    return !read_text(from, name, text) || strcmp(text, expected) == 0;
}
