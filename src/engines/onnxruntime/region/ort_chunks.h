/*
 * ort_chunks.h: pairs of convolutions that a region computes a chunk of channels at a time.
 *
 * Where a 1x1 convolution that expands is followed by a depthwise one, as in MobileNet, the tensor between
 * them is the largest of the network: 96 channels of 112x112 are 4.8 MB. One step behind the other writes
 * it through the second level cache and reads it back from what lies behind that. But each channel of
 * the depthwise convolution reads one channel. So the first is computed for a chunk of its output
 * channels, that is with some rows of its weights, then the second for the same ones, and so on for the
 * next chunk, image by image. What lies between is as large as a chunk and stays in the cache, with the
 * first one's data, which every chunk of an image reads.
 *
 * Chunks do not depend on each other: threads take them as they come, each with memory for one, and
 * nothing that lies between goes from one core to another.
 *
 * A chunk costs: the first convolution lays out its data for each anew, and its tiles have fewer
 * channels to share a pixel. Tensors of up to twice the cache do not repay it: on an Intel Xeon (Granite
 * Rapids class, 2 MB of cache) 16 -> 64 channels of 112x112, 3.2 MB, take as long either way, 16 -> 96,
 * 4.8 MB, 0.78 of their time. Nor do groups of several channels, whose convolutions take longer.
 */
#ifndef GROUPOPS_ENGINES_ORT_CHUNKS_H
#define GROUPOPS_ENGINES_ORT_CHUNKS_H

#include "engines/onnxruntime/region/ort_region.h"

/* Sets `chunk` of the members that are computed together with the next one in the list. */
void gops_ort_find_chunks(const gops_ort_members *members, const gops_ort_interface *interface);

/* The threads that take chunks, and the elements of what lies between for one of them. */
int32_t gops_ort_chunk_threads(void);
int64_t gops_ort_chunk_elements(const gops_ort_member *member);

#endif
