/* ir_parse.c: from XML to a model, with libxml2.
 *
 * The parser has no network, replaces no entity and loads no DTD, and keeps its bounds on depth and
 * lengths (no XML_PARSE_HUGE). Unknown elements, such as rt_info, are skipped, and so are comments and processing
 * instructions. */
#include "ir/ir_model.h"

#include <errno.h>
#include <inttypes.h>
#include <libxml/parser.h>
#include <libxml/tree.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static bool is_element(const xmlNode *node, const char *name)
{
    return node->type == XML_ELEMENT_NODE && strcmp((const char *)node->name, name) == 0;
}

static const xmlNode *find_child(const xmlNode *parent, const char *name)
{
    for (const xmlNode *node = parent->children; node != NULL; node = node->next) {
        if (is_element(node, name)) {
            return node;
        }
    }
    return NULL;
}

static bool count_children(const xmlNode *parent, const char *name, int *count,
                           gops_tool_error *error)
{
    *count = 0;
    for (const xmlNode *node = parent != NULL ? parent->children : NULL; node != NULL;
         node = node->next) {
        if (is_element(node, name) && ++*count == INT_MAX / 2) {
            return gops_tool_refuse(error, GOPS_EXIT_FAILED, "it has too many <%s>", name);
        }
    }
    return true;
}

static bool no_memory(gops_tool_error *error)
{
    return gops_tool_refuse(error, GOPS_EXIT_FAILED, "there is no memory for the model");
}

/* The contents of an element or attribute that is nothing but text; else "". */
static const char *child_text(const xmlNode *first)
{
    const bool is_text = first != NULL && first->next == NULL && first->type == XML_TEXT_NODE;
    return is_text && first->content != NULL ? (const char *)first->content : "";
}

static bool copy_text(gops_ir_model *model, const char *from, const char **to,
                      gops_tool_error *error)
{
    const size_t bytes = strlen(from) + 1;
    char *copy = gops_ir_take(model, 1, bytes);
    if (copy == NULL) {
        return no_memory(error);
    }
    memcpy(copy, from, bytes);
    *to = copy;
    return true;
}

/* The attribute of an element; NULL where it has none of that name. */
static const char *find_attribute(const xmlNode *node, const char *name)
{
    for (const xmlAttr *attribute = node->properties; attribute != NULL;
         attribute = attribute->next) {
        if (strcmp((const char *)attribute->name, name) == 0) {
            return child_text(attribute->children);
        }
    }
    return NULL;
}

/* An id: digits alone, below 2^63. */
static bool read_id(const char *text, int64_t *id)
{
    char *end;
    if (text == NULL || text[0] < '0' || text[0] > '9') {
        return false;
    }
    errno = 0;
    *id = strtoll(text, &end, 10);
    return errno == 0 && *end == '\0';
}

static bool read_dims(const xmlNode *node, const gops_ir_layer *layer, gops_ir_port *port,
                      gops_tool_error *error)
{
    gops_ir_text name;
    for (const xmlNode *child = node->children; child != NULL; child = child->next) {
        if (!is_element(child, "dim")) {
            continue;
        }
        const char *text = child_text(child->children);
        int64_t dim;
        if (port->tensor.rank == GOPS_MAX_RANK) {
            return gops_tool_refuse(error, GOPS_EXIT_FAILED,
                                    "%s, port %" PRId64 ": it has more than %d dimensions",
                                    gops_ir_call_layer(layer, &name), port->id, GOPS_MAX_RANK);
        }
        if (gops_ir_integers(text, 1, &dim) != 1 || dim < 0) {
            return gops_tool_refuse(error, GOPS_EXIT_FAILED,
                                    "%s, port %" PRId64 ": its dimension \"%.40s\" is not a "
                                    "number from 0 on%s",
                                    gops_ir_call_layer(layer, &name), port->id, text,
                                    strcmp(text, "-1") == 0 ? " (dynamic shapes are not run)" : "");
        }
        port->tensor.dims[port->tensor.rank++] = dim;
    }
    return true;
}

static bool read_port(const xmlNode *node, const gops_ir_layer *layer, gops_ir_port *port,
                      gops_tool_error *error)
{
    gops_ir_text name;
    const char *precision = find_attribute(node, "precision");
    port->source = -1;
    if (!read_id(find_attribute(node, "id"), &port->id)) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s: a port's id is not a number",
                                gops_ir_call_layer(layer, &name));
    }
    if (precision != NULL) {
        port->tensor.type = gops_ir_type(precision);
        if (port->tensor.type == 0) {
            return gops_tool_refuse(error, GOPS_EXIT_FAILED,
                                    "%s, port %" PRId64 ": its precision \"%.40s\" is not offered",
                                    gops_ir_call_layer(layer, &name), port->id, precision);
        }
    }
    return read_dims(node, layer, port, error);
}

/* The ports of <input> or <output>, which may be absent. */
static bool read_ports(gops_ir_model *model, const xmlNode *parent, const gops_ir_layer *layer,
                       int *count, gops_ir_port **ports, gops_tool_error *error)
{
    gops_ir_text name;
    int read = 0;
    if (!count_children(parent, "port", count, error)) {
        return false;
    }
    if (*count > GOPS_IR_MAX_INPUTS) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED,
                                "%s: it has %d ports on one side; no layer that is run has more "
                                "than %d",
                                gops_ir_call_layer(layer, &name), *count, GOPS_IR_MAX_INPUTS);
    }
    *ports = gops_ir_take(model, (size_t)*count, sizeof **ports);
    if (*ports == NULL) {
        return no_memory(error);
    }
    for (const xmlNode *node = parent != NULL ? parent->children : NULL; node != NULL;
         node = node->next) {
        if (!is_element(node, "port")) {
            continue;
        }
        gops_ir_port *port = &(*ports)[read];
        if (!read_port(node, layer, port, error)) {
            return false;
        }
        for (int i = 0; i < read; i++) {
            if ((*ports)[i].id == port->id) {
                return gops_tool_refuse(error, GOPS_EXIT_FAILED,
                                        "%s: two of its ports have the id %" PRId64,
                                        gops_ir_call_layer(layer, &name), port->id);
            }
        }
        read++;
    }
    return true;
}

static bool read_attributes(gops_ir_model *model, const xmlNode *data, gops_ir_layer *layer,
                            gops_tool_error *error)
{
    size_t count = 0;
    for (const xmlAttr *at = data != NULL ? data->properties : NULL; at != NULL; at = at->next) {
        count++;
    }
    layer->attribute = gops_ir_take(model, count, sizeof *layer->attribute);
    if (layer->attribute == NULL) {
        return no_memory(error);
    }
    for (const xmlAttr *at = data != NULL ? data->properties : NULL; at != NULL; at = at->next) {
        gops_ir_attribute *to = &layer->attribute[layer->attributes++];
        if (!copy_text(model, (const char *)at->name, &to->name, error) ||
            !copy_text(model, child_text(at->children), &to->value, error)) {
            return false;
        }
    }
    return true;
}

static bool read_layer(gops_ir_model *model, const xmlNode *node, gops_ir_layer *layer,
                       gops_tool_error *error)
{
    const char *id = find_attribute(node, "id");
    const char *name = find_attribute(node, "name");
    const char *type = find_attribute(node, "type");
    if (model->lone && id == NULL) {
        id = "0";
    }
    if (!read_id(id, &layer->id)) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "a layer's id \"%.40s\" is not a number",
                                id != NULL ? id : "");
    }
    if (type == NULL || *type == '\0') {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "layer %" PRId64 " has no type",
                                layer->id);
    }
    return copy_text(model, type, &layer->type, error) &&
           copy_text(model, name != NULL ? name : "", &layer->name, error);
}

/* Reads what is checked only in layers whose type is run. */
static bool read_contents(gops_ir_model *model, const xmlNode *node, gops_ir_layer *layer,
                          gops_tool_error *error)
{
    return read_attributes(model, find_child(node, "data"), layer, error) &&
           read_ports(model, find_child(node, "input"), layer, &layer->inputs, &layer->input,
                      error) &&
           read_ports(model, find_child(node, "output"), layer, &layer->outputs, &layer->output,
                      error);
}

/* Layers of other sets of operations, such as a user's extension, may do something else. */
static bool is_opset(const char *version)
{
    static const char digits[] = "0123456789", set[] = "opset";
    const char *number = version + strlen(set);
    return strncmp(version, set, strlen(set)) == 0 && *number >= '1' && *number <= '9' &&
           number[strspn(number, digits)] == '\0';
}

static bool read_layers(gops_ir_model *model, const xmlNode *parent, gops_tool_error *error)
{
    if (!count_children(parent, "layer", &model->layers, error)) {
        return false;
    }
    if (model->layers == 0) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "it has no layers");
    }
    model->layer = gops_ir_take(model, (size_t)model->layers, sizeof *model->layer);
    if (model->layer == NULL) {
        return no_memory(error);
    }
    gops_ir_layer *layer = model->layer;
    for (const xmlNode *node = parent->children; node != NULL; node = node->next) {
        if (!is_element(node, "layer")) {
            continue;
        }
        if (!read_layer(model, node, layer, error)) {
            return false;
        }
        layer++->node = node;
    }
    return true;
}

/* Of layers whose type is run, all others are refused. */
static bool read_all_contents(gops_ir_model *model, gops_tool_error *error)
{
    for (int i = 0; i < model->layers; i++) {
        gops_ir_layer *layer = &model->layer[i];
        const char *version = find_attribute(layer->node, "version");
        gops_ir_text name;
        if (!gops_ir_is_run(layer->type)) {
            return gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s: a layer of this type is not run",
                                    gops_ir_call_layer(layer, &name));
        }
        if (version != NULL && !is_opset(version)) {
            return gops_tool_refuse(error, GOPS_EXIT_FAILED,
                                    "%s: version \"%.40s\" is not run, only opset1 and later ones",
                                    gops_ir_call_layer(layer, &name), version);
        }
        if (!read_contents(model, layer->node, layer, error)) {
            return false;
        }
    }
    return true;
}

static bool read_edges(gops_ir_model *model, const xmlNode *parent, gops_tool_error *error)
{
    if (!count_children(parent, "edge", &model->edges, error)) {
        return false;
    }
    model->edge = gops_ir_take(model, (size_t)model->edges, sizeof *model->edge);
    if (model->edge == NULL) {
        return no_memory(error);
    }
    gops_ir_edge *edge = model->edge;
    for (const xmlNode *node = parent != NULL ? parent->children : NULL; node != NULL;
         node = node->next) {
        if (!is_element(node, "edge")) {
            continue;
        }
        if (!read_id(find_attribute(node, "from-layer"), &edge->from_layer) ||
            !read_id(find_attribute(node, "from-port"), &edge->from_port) ||
            !read_id(find_attribute(node, "to-layer"), &edge->to_layer) ||
            !read_id(find_attribute(node, "to-port"), &edge->to_port)) {
            return gops_tool_refuse(error, GOPS_EXIT_FAILED,
                                    "edge %d does not say from-layer, from-port, to-layer and "
                                    "to-port in numbers",
                                    (int)(edge - model->edge) + 1);
        }
        edge++;
    }
    return true;
}

static bool read_net(gops_ir_model *model, const xmlNode *net, gops_tool_error *error)
{
    const char *version = find_attribute(net, "version");
    const xmlNode *layers = find_child(net, "layers");
    if (version == NULL || (strcmp(version, "10") != 0 && strcmp(version, "11") != 0)) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED,
                                "it is of IR version \"%.40s\"; 10 and 11 are read",
                                version != NULL ? version : "");
    }
    if (layers == NULL) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "it has no <layers>");
    }
    return read_layers(model, layers, error) &&
           read_edges(model, find_child(net, "edges"), error) && gops_ir_keep_live(model, error) &&
           read_all_contents(model, error);
}

static bool read_document(gops_ir_model *model, xmlDoc *document, gops_tool_error *error)
{
    const xmlNode *root = xmlDocGetRootElement(document);
    if (document->intSubset != NULL) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED,
                                "it has a document type declaration; an IR has none");
    }
    if (root != NULL && is_element(root, "net")) {
        return read_net(model, root, error);
    }
    if (root == NULL || !is_element(root, "layer")) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED,
                                "its root is <%.40s>; an IR's is <net>, or a lone <layer>",
                                root != NULL ? (const char *)root->name : "");
    }
    model->lone = true;
    return read_layers(model, (const xmlNode *)document, error) && read_all_contents(model, error);
}

#if LIBXML_VERSION >= 21200
typedef const xmlError *error_argument;
#else
typedef xmlErrorPtr error_argument;
#endif

/* Where libxml2 has no parser context it reports a lack of memory only to this handler, and goes on
 * without the element or attribute. Behind another error it says so of texts that are too long. */
static void note_first(void *first_code, error_argument problem)
{
    int *first = first_code;
    if (problem != NULL && *first == XML_ERR_OK && problem->level == XML_ERR_FATAL) {
        *first = problem->code;
    }
}

bool gops_ir_parse(const char *text, size_t count, gops_ir_model *model, gops_tool_error *error)
{
    /* The specification's examples begin with spaces, which XML allows if no declaration
     * follows. */
    while (count > 0 && strchr(" \t\r\n", *text) != NULL) {
        text++;
        count--;
    }
    if (count == 0) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "it is empty");
    }
    int first_error = XML_ERR_OK;
    xmlSetStructuredErrorFunc(&first_error, note_first);
    xmlParserCtxt *parser = xmlNewParserCtxt();
    if (parser == NULL) {
        xmlSetStructuredErrorFunc(NULL, NULL);
        return no_memory(error);
    }
    /* No nodes, so that the text around them is one. */
    parser->sax->comment = NULL;
    parser->sax->processingInstruction = NULL;
    /* ir_text.c reads at most 256 MB. */
    xmlDoc *document = xmlCtxtReadMemory(parser, text, (int)count, NULL, "UTF-8",
                                         XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING |
                                             XML_PARSE_NOCDATA | XML_PARSE_COMPACT);
    xmlSetStructuredErrorFunc(NULL, NULL);
    bool done;
    if (first_error == XML_ERR_NO_MEMORY) {
        done = no_memory(error);
    } else if (document == NULL) {
        const xmlError *problem = xmlCtxtGetLastError(parser);
        const char *message = problem != NULL && problem->message != NULL ? problem->message : "?";
        done = gops_tool_refuse(error, GOPS_EXIT_FAILED, "line %d: it is not XML: %.*s",
                                problem != NULL ? problem->line : 0, (int)strcspn(message, "\n"),
                                message);
    } else {
        done = read_document(model, document, error);
    }
    xmlFreeDoc(document);
    xmlFreeParserCtxt(parser);
    return done;
}
