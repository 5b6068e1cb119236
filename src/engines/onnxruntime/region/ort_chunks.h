/*
 * ort_chunks.h: pairs of convolutions that a region computes a chunk of channels at a time.
 *
 * Where a 1x1 convolution that expands is followed by a depthwise one, as in MobileNet, the tensor between
 * them is the largest of the network: 96 channels of 112x112 are 4.8 MB. One step behind the other writes
 * it through the second level cache and reads it back from what lies behind that. But each channel of
 * the depthwise convolution reads one channel. So the first is computed for a chunk of its output
 * channels, that is with some rows of its weights, then the second for the same ones, and so on for the
 * next chunk. What lies between is as large as a chunk and stays in the cache, with the
 * first one's data, which every chunk reads.
 *
 * Chunks do not depend on each other. Each thread has memory for one, and nothing that lies between goes
 * from one core to another: to write a line that another core used last takes several times as long as
 * one's own, even where neither core's cache still has it. Without chunks one convolution divides the pixels
 * between threads and the other the channels, so half of the lines are such. On an Intel Xeon (Granite Rapids
 * class, 2 MB of cache) two threads take with chunks 0.75 of the time for 40 -> 240 channels of 28x28 with
 * hard swish and 0.78 for 160 -> 960 of 7x7, where one thread takes 0.75, as the activation finds its input
 * in a nearer cache. 16 -> 64 of 112x112, whose outputs 1x1 layers prefetch, takes as long either way. Of 8 bits the
 * 16 pairs of a MobileNet v2 take two threads 0.62 to 0.87, one 0.99 to 1.09 (AMD EPYC, Zen 5).
 *
 * A chunk costs: the first convolution lays out its data for each anew, which each core reads whole, and
 * its tiles have fewer channels to share a pixel. Planes of several pages whose tensor fits the cache gain
 * as much as they lose (24 -> 72 of 56x56, 24 -> 144).
 */
#ifndef GROUPOPS_ENGINES_ORT_CHUNKS_H
#define GROUPOPS_ENGINES_ORT_CHUNKS_H

#include "engines/onnxruntime/region/ort_region.h"

/* Sets `chunks` of the members that are computed together with the next one in the list. */
void gops_ort_find_chunks(const gops_ort_members *members, const gops_ort_interface *interface);

/* The first output channel of a chunk; of chunk `chunks`, how many channels there are. */
int64_t gops_ort_chunk_start(const gops_ort_member *member, int64_t chunk);

#endif
