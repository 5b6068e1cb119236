/* ort_attributes.h: a node's attributes, read into what the operation was given as defaults. */
#ifndef GROUPOPS_ENGINES_ORT_ATTRIBUTES_H
#define GROUPOPS_ENGINES_ORT_ATTRIBUTES_H

#include "ort_graph.h"

/* Reads attributes one after another. Once one of them has failed, or is not of its type or too
 * long, nothing more is read. */
typedef struct gops_ort_attributes {
    const gops_ort_runtime *runtime;
    const gops_ort_node *node;
    ort_status *status;
    bool strange; /* one of them is not what the operator's definition says */
} gops_ort_attributes;

/* An attribute that is not there leaves *value as it was; a list has count 0 then. */
void gops_ort_attribute_int(gops_ort_attributes *from, const char *name, int64_t *value);
void gops_ort_attribute_float(gops_ort_attributes *from, const char *name, float *value);
void gops_ort_attribute_list(gops_ort_attributes *from, const char *name, gops_list *list);
/* Pads come as all the beginnings and then all the ends. */
void gops_ort_attribute_pads(gops_ort_attributes *from, const char *name, gops_list *begin,
                             gops_list *end);
void gops_ort_attribute_auto_pad(gops_ort_attributes *from, gops_auto_pad *value);
/* Whether a text is the expected one, or not there. */
bool gops_ort_attribute_is(gops_ort_attributes *from, const char *name, const char *expected);

#endif
