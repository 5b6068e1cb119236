/* ir_model.c: the memory of a model, its names and its numbers. */
#include "ir/ir_model.h"

#include "common/dims_text.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct gops_ir_block {
    gops_ir_block *next;
    max_align_t memory[];
};

void *gops_ir_take(gops_ir_model *model, size_t count, size_t bytes)
{
    if (bytes != 0 && count > (SIZE_MAX / 2) / bytes) {
        return NULL;
    }
    gops_ir_block *block = calloc(1, sizeof *block + count * bytes);
    if (block == NULL) {
        return NULL;
    }
    block->next = model->blocks;
    model->blocks = block;
    return block->memory;
}

void gops_ir_release(gops_ir_model *model)
{
    while (model->blocks != NULL) {
        gops_ir_block *block = model->blocks;
        model->blocks = block->next;
        free(block);
    }
}

const char *gops_ir_given_file(const gops_ir_given *given, const char *name)
{
    const size_t length = strlen(name);
    const bool is_named = strncmp(given->text, name, length) == 0 && given->text[length] == '=';
    return is_named ? given->text + length + 1 : NULL;
}

const char *gops_ir_attribute_value(const gops_ir_layer *layer, const char *name)
{
    for (int i = 0; i < layer->attributes; i++) {
        if (strcmp(layer->attribute[i].name, name) == 0) {
            return *layer->attribute[i].value != '\0' ? layer->attribute[i].value : NULL;
        }
    }
    return NULL;
}

const char *gops_ir_call_layer(const gops_ir_layer *layer, gops_ir_text *text)
{
    snprintf(text->text, sizeof text->text, "layer %" PRId64 " (%.80s, \"%.80s\")", layer->id,
             layer->type, layer->name);
    return text->text;
}

const char *gops_ir_call_tensor(const gops_tensor *tensor, gops_ir_text *text)
{
    char dims[GOPS_DIMS_TEXT_BYTES];
    gops_dims_text(tensor->dims, tensor->rank, dims);
    snprintf(text->text, sizeof text->text, "%s [%s]",
             tensor->type != 0 ? gops_type_name(tensor->type) : "any", dims);
    return text->text;
}

gops_type gops_ir_type(const char *name)
{
    char lower[16];
    /* The precisions FP64, FP32 and FP16 are the element types f64, f32 and f16. */
    const bool real = strncmp(name, "FP", 2) == 0;
    const char *rest = name + (real ? 2 : 0);
    size_t used = 0;
    if (strlen(name) >= sizeof lower) {
        return 0;
    }
    if (real) {
        lower[used++] = 'f';
    }
    for (; *rest != '\0'; rest++) {
        lower[used++] = (char)tolower((unsigned char)*rest);
    }
    lower[used] = '\0';
    return gops_type_from_name(lower);
}

static const char *skip_spaces(const char *text)
{
    while (*text == ' ' || *text == '\t' || *text == '\n' || *text == '\r') {
        text++;
    }
    return text;
}

int gops_ir_integers(const char *text, int most, int64_t *values)
{
    int count = 0;
    text = skip_spaces(text);
    if (*text == '\0') {
        return 0;
    }
    for (;; text++) {
        char *end;
        text = skip_spaces(text);
        const char *digits = *text == '-' ? text + 1 : text;
        if (count == most || !isdigit((unsigned char)*digits)) {
            return -1;
        }
        errno = 0;
        const long long value = strtoll(text, &end, 10);
        if (errno != 0) {
            return -1;
        }
        values[count++] = value;
        text = skip_spaces(end);
        if (*text == '\0') {
            return count;
        }
        if (*text != ',') {
            return -1;
        }
    }
}

bool gops_ir_bytes(const gops_tensor *tensor, size_t *bytes, gops_tool_error *error)
{
    gops_error refusal;
    *bytes = gops_type_bytes(tensor->type);
    if (tensor->rank == 0) {
        return true;
    }
    return gops_tensor_bytes(tensor, bytes, &refusal) == GOPS_OK ||
           gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s", refusal.message);
}
