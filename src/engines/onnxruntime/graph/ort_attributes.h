/* ort_attributes.h: reads the attributes of a node; those that are missing keep their defaults. */
#ifndef GROUPOPS_ENGINES_ORT_ATTRIBUTES_H
#define GROUPOPS_ENGINES_ORT_ATTRIBUTES_H

#include "engines/onnxruntime/graph/ort_graph.h"

/* Reads attributes one after another. After one that cannot be read, has another type or is too
 * long, nothing more is read. */
typedef struct gops_ort_attributes {
    const gops_ort_runtime *runtime;
    const gops_ort_node *node;
    ort_status *status;
    bool malformed; /* an attribute is not as the operator's definition says */
} gops_ort_attributes;

/* A missing attribute leaves *value as it was; a missing list has count 0. */
void gops_ort_attribute_int(gops_ort_attributes *from, const char *name, int64_t *value);
void gops_ort_attribute_float(gops_ort_attributes *from, const char *name, float *value);
void gops_ort_attribute_list(gops_ort_attributes *from, const char *name, gops_list *list);
/* The attribute "pads" has all beginnings and then all ends. */
void gops_ort_attribute_pads(gops_ort_attributes *from, gops_list *begin, gops_list *end);
void gops_ort_attribute_auto_pad(gops_ort_attributes *from, gops_auto_pad *value);
/* The axes of a reduction, an input from version 18 on; none where that is no constant. */
void gops_ort_attribute_axes(gops_ort_attributes *from, gops_list *axes);
/* Whether a text is the expected one or missing. */
bool gops_ort_attribute_is(gops_ort_attributes *from, const char *name, const char *expected);

#endif
