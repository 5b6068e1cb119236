/* ort_networks.h: whole networks, built node by node as exporters write them, with random weights.
 */
#ifndef GROUPOPS_TESTS_ORT_NETWORKS_H
#define GROUPOPS_TESTS_ORT_NETWORKS_H

#include "onnx_builder.h"

#include <stdint.h>

typedef struct gops_ort_network {
    const char *name;
    void (*build)(gops_onnx_buffer *model); /* input "x", output "y" [1, 1000] */
    int64_t data[4];
    int convolutions;
} gops_ort_network;

/* Ended by one without a name. */
extern const gops_ort_network gops_ort_networks[];

#endif
