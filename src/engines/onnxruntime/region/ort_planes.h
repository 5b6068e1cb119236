/*
 * ort_planes.h: gaps between the planes of a region's values.
 *
 * Where planes are a multiple of 4096 bytes apart, as of 32x32, 64x64 and 128x128 floats, pixels of all
 * channels lie in the same sets of a cache and evict each other. So a line of memory lies between such
 * planes, unless the runtime reads or writes the value.
 */
#ifndef GROUPOPS_ENGINES_ORT_PLANES_H
#define GROUPOPS_ENGINES_ORT_PLANES_H

#include "engines/onnxruntime/region/ort_region.h"

/* Elements from one plane of the tensor to the next, if nothing asks for planes that follow each other. */
int64_t gops_ort_plane(const gops_tensor *tensor);

/* Sets `plane` of the members. */
void gops_ort_find_planes(const gops_ort_members *members, const gops_ort_interface *interface);

#endif
