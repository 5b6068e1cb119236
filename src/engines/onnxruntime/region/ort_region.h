/*
 * ort_region.h: a part of the graph that is computed by one call of the runtime: many members, whose
 * values between them the runtime does not see.
 *
 * What that saves: a call of the runtime for each node, its reordering of tensors to its own layout
 * and back around pools and the like, and copies: a Concat is the memory to which others write.
 */
#ifndef GROUPOPS_ENGINES_ORT_REGION_H
#define GROUPOPS_ENGINES_ORT_REGION_H

#include "engines/onnxruntime/region/ort_member.h"

/* What the runtime passes at each call. Tensors and members are of one image, and a call computes image by image, some
 * at once: nothing that members do reads another one. */
typedef struct gops_ort_interface {
    const char *const *inputs;
    const gops_tensor *input_tensors;
    size_t input_count;
    const char *const *outputs;
    size_t output_count;
} gops_ort_interface;

/* Members in an order in which each comes behind those whose outputs it reads. */
typedef struct gops_ort_members {
    gops_ort_member **items;
    size_t count, capacity;
} gops_ort_members;

/* Adds the member and those that were read with it, which the list then owns, and marks their nodes as
 * claimed. */
ort_status *gops_ort_members_add(const gops_ort_runtime *runtime, gops_ort_members *members,
                                 gops_ort_member *member);

/* Adds the nodes that are not claimed yet, where they are members. All that the provider claims node
 * by node, and the members that are claims, must be marked or added before. */
ort_status *gops_ort_members_read(const gops_ort_graph *graph, gops_ort_members *members);

/* Sorts the members and sets their levels, from 1 up. Members of one level can be one region: no path
 * from one to another leads through a node that is none of them. */
ort_status *gops_ort_members_sort(const gops_ort_graph *graph, gops_ort_members *members);

void gops_ort_members_free(gops_ort_members *members);

/* Makes the object that the runtime calls for these members. Inputs and outputs are the call's, in
 * its order; an input's shape is that of an image of the model. */
ort_status *gops_ort_region_create(gops_ort_runtime *runtime, const gops_ort_members *members,
                                   const gops_ort_interface *interface, ort_compute_info **info);

#endif
