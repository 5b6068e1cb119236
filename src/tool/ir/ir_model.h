/* ir_model.h: an OpenVINO IR as its .xml file states it: layers with attributes and ports, and the
 * edges between them. Nothing is computed here and nothing of the .bin file is read. */
#ifndef GOPS_IR_MODEL_H
#define GOPS_IR_MODEL_H

#include "common/tool_error.h"

#include <groupops/tensor.h>

#include <stddef.h>
#include <stdint.h>

/* No layer that is run has more inputs. */
enum { GOPS_IR_MAX_INPUTS = 8 };

typedef struct gops_ir_attribute {
    const char *name;
    const char *value;
} gops_ir_attribute;

typedef struct gops_ir_port {
    int64_t id;
    gops_tensor tensor; /* rank 0: a scalar; type 0: the file does not state it */
    int source; /* of an input: the index of the layer whose only output it reads; -1: none */
} gops_ir_port;

typedef struct gops_ir_layer {
    int64_t id;
    const char *name;
    const char *type;
    const void *node; /* libxml2's, while the file is parsed */
    int attributes;
    gops_ir_attribute *attribute; /* of the element <data> */
    int inputs;
    gops_ir_port *input;
    int outputs;
    gops_ir_port *output;
} gops_ir_layer;

/* The layers are ids; gops_ir_keep_live makes indices of them. */
typedef struct gops_ir_edge {
    int64_t from_layer, from_port, to_layer, to_port;
} gops_ir_edge;

typedef struct gops_ir_block gops_ir_block;

/* An input of the command line: --input=NAME=FILE. */
typedef struct gops_ir_given {
    const char *text; /* "NAME=FILE" */
    bool used;
} gops_ir_given;

typedef struct gops_ir_model {
    gops_ir_given *given; /* set before the file is parsed */
    int given_count;
    bool lone; /* the file is one <layer>, as the specification's pages print it */
    int layers;
    gops_ir_layer *layer;
    int edges;
    gops_ir_edge *edge;
    int *order;            /* indices of layers, each after its sources */
    gops_ir_block *blocks; /* memory that lives as long as the model */
} gops_ir_model;

/* Zeroed memory that is freed with the model; NULL if there is none. */
void *gops_ir_take(gops_ir_model *model, size_t count, size_t bytes);
void gops_ir_release(gops_ir_model *model);

/* Reads the whole .xml file into memory that the caller frees. Two habits of the specification's
 * examples are repaired: " ..." in a start-tag, outside of quotes, is blanked, and a lone layer
 * that ends after its <output> gets its end-tag. A document type declaration, and with it every
 * entity, is refused. */
bool gops_ir_read_text(const char *path, char **text, size_t *count, gops_tool_error *error);

/* Parses it. The message in `error` goes on after the file's name. */
bool gops_ir_parse(const char *text, size_t count, gops_ir_model *model, gops_tool_error *error);

/* Whether layers of that type are run (ir_layers.c has the table). */
bool gops_ir_is_run(const char *type);

/* Leaves out the layers that no Result reads, and the edges to them. Attributes and ports are read after it, so that
 * those layers may be anything. Parameters that the command line names stay. A model without a Result is refused. */
bool gops_ir_keep_live(gops_ir_model *model, gops_tool_error *error);

/* Connects inputs to their sources by the edges and orders the layers. The message in `error` goes
 * on after the file's name. */
bool gops_ir_connect(gops_ir_model *model, gops_tool_error *error);

/* The same for a lone layer: adds a Parameter for each input, named as in the specification, and a
 * Result. */
bool gops_ir_surround(gops_ir_model *model, gops_tool_error *error);

/* The file that the input gives to a layer of that name; NULL: it names another one. */
const char *gops_ir_given_file(const gops_ir_given *given, const char *name);

/* The value of an attribute; NULL where the layer has none of that name, or an empty one. */
const char *gops_ir_attribute_value(const gops_ir_layer *layer, const char *name);

/* "layer 5 (GroupConvolution, \"upsampling_node\")", for messages. */
typedef struct gops_ir_text {
    char text[256];
} gops_ir_text;
const char *gops_ir_call_layer(const gops_ir_layer *layer, gops_ir_text *text);

/* "f32 [1,12,224]" */
const char *gops_ir_call_tensor(const gops_tensor *tensor, gops_ir_text *text);

/* The type that a port's precision ("FP32") or an element_type ("f32") names; 0 where there is
 * none of that name. */
gops_type gops_ir_type(const char *name);

/* Comma-separated integers, with spaces around them, into values[0 .. most - 1]; -1 when it is not
 * that. An empty text has none. */
int gops_ir_integers(const char *text, int most, int64_t *values);

/* The bytes of a tensor, which may be a scalar. Fails with the library's message. */
bool gops_ir_bytes(const gops_tensor *tensor, size_t *bytes, gops_tool_error *error);

#endif
