/* onnx_model.c: finds the nodes and attributes in a model's message. */
#include "onnx_model.h"

#include <string.h>

static bool walks(gops_onnx_bytes message)
{
    gops_onnx_field field;
    gops_onnx_step step;
    do
        step = gops_onnx_next_field(&message, &field);
    while (step == GOPS_ONNX_FOUND);
    return step == GOPS_ONNX_END;
}

/* OperatorSetIdProto; an absent domain is the default one, which is also called "ai.onnx". */
static bool read_opset(gops_onnx_bytes message, int64_t *opset)
{
    enum { DOMAIN = 1, VERSION = 2 };
    gops_onnx_bytes domain = {NULL, 0};
    int64_t version = 0;
    gops_onnx_field field;
    gops_onnx_step step;
    while ((step = gops_onnx_next_field(&message, &field)) == GOPS_ONNX_FOUND) {
        if (field.number == DOMAIN && field.wire == GOPS_ONNX_BYTES)
            domain = field.bytes;
        else if (field.number == VERSION && field.wire == GOPS_ONNX_VARINT)
            version = (int64_t)field.value;
    }
    if (domain.size == 0 || gops_onnx_equal(domain, "ai.onnx"))
        *opset = version;
    return step == GOPS_ONNX_END;
}

bool gops_onnx_read_model(gops_onnx_bytes message, gops_onnx_model *model)
{
    enum { GRAPH = 7, OPSET_IMPORT = 8 };
    *model = (gops_onnx_model){{NULL, 0}, 0};
    int graphs = 0;
    gops_onnx_field field;
    gops_onnx_step step;
    while ((step = gops_onnx_next_field(&message, &field)) == GOPS_ONNX_FOUND) {
        if (field.number != GRAPH && field.number != OPSET_IMPORT)
            continue;
        if (field.wire != GOPS_ONNX_BYTES)
            return false;
        if (field.number == OPSET_IMPORT) {
            if (!read_opset(field.bytes, &model->opset))
                return false;
        } else {
            model->graph = field.bytes;
            graphs++;
        }
    }
    return step == GOPS_ONNX_END && graphs == 1 && walks(model->graph);
}

bool gops_onnx_read_node(gops_onnx_bytes message, gops_onnx_node *node)
{
    enum { INPUT = 1, OUTPUT = 2, OP_TYPE = 4, DOMAIN = 7 };
    *node = (gops_onnx_node){.message = message};
    int outputs = 0;
    gops_onnx_field field;
    gops_onnx_step step;
    while ((step = gops_onnx_next_field(&message, &field)) == GOPS_ONNX_FOUND) {
        if (field.wire != GOPS_ONNX_BYTES)
            continue;
        if (field.number == INPUT) {
            if (node->input_count < GOPS_ONNX_MAX_INPUTS)
                node->inputs[node->input_count] = field.bytes;
            node->input_count++;
        } else if (field.number == OUTPUT) {
            if (outputs++ == 0)
                node->output = field.bytes;
        } else if (field.number == OP_TYPE) {
            node->op_type = field.bytes;
        } else if (field.number == DOMAIN) {
            node->domain = field.bytes;
        }
    }
    return step == GOPS_ONNX_END;
}

static bool read_attribute_field(const gops_onnx_field *field, gops_onnx_bytes *name,
                                 uint64_t *type, gops_onnx_attribute *attribute)
{
    enum { NAME = 1, I = 3, S = 4, T = 5, INTS = 8, TYPE = 20 };
    switch (field->number) {
    case NAME:
        *name = field->bytes;
        return field->wire == GOPS_ONNX_BYTES;
    case I:
        attribute->i = (int64_t)field->value;
        return field->wire == GOPS_ONNX_VARINT;
    case S:
        attribute->s = field->bytes;
        return field->wire == GOPS_ONNX_BYTES;
    case T:
        attribute->t = field->bytes;
        return field->wire == GOPS_ONNX_BYTES;
    case INTS:
        return gops_onnx_append_integers(field, attribute->ints, GOPS_ONNX_MAX_INTS,
                                         &attribute->int_count);
    case TYPE:
        *type = field->value;
        return field->wire == GOPS_ONNX_VARINT;
    default:
        return true;
    }
}

static bool read_attribute(gops_onnx_bytes message, gops_onnx_bytes *name, uint64_t *type,
                           gops_onnx_attribute *attribute)
{
    *name = (gops_onnx_bytes){NULL, 0};
    *type = 0;
    memset(attribute, 0, sizeof *attribute);
    gops_onnx_field field;
    gops_onnx_step step;
    while ((step = gops_onnx_next_field(&message, &field)) == GOPS_ONNX_FOUND) {
        if (!read_attribute_field(&field, name, type, attribute))
            return false;
    }
    return step == GOPS_ONNX_END;
}

gops_onnx_step gops_onnx_find_attribute(const gops_onnx_node *node, const char *name,
                                        gops_onnx_attribute_type type,
                                        gops_onnx_attribute *attribute)
{
    enum { ATTRIBUTE = 5 };
    gops_onnx_bytes rest = node->message, message, found_name;
    gops_onnx_step step;
    int found = 0;
    while ((step = gops_onnx_next_bytes(&rest, ATTRIBUTE, &message)) == GOPS_ONNX_FOUND) {
        gops_onnx_attribute candidate;
        uint64_t candidate_type;
        if (!read_attribute(message, &found_name, &candidate_type, &candidate))
            return GOPS_ONNX_MALFORMED;
        if (!gops_onnx_equal(found_name, name))
            continue;
        if (candidate_type != (uint64_t)type || found++ > 0)
            return GOPS_ONNX_MALFORMED;
        *attribute = candidate;
    }
    if (step == GOPS_ONNX_END && found == 1)
        return GOPS_ONNX_FOUND;
    return step;
}
