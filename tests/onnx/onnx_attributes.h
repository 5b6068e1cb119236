/*
 * onnx_attributes.h: ONNX operators in the library's terms.
 *
 * Conv's weights [G*C_OUT, C_IN, K...] are, byte for byte, our filter [G, C_OUT, C_IN, K...], and
 * ConvTranspose's [G*C_IN, C_OUT, K...] our [G, C_IN, C_OUT, K...]. ConvTranspose takes the
 * output_shape_rule onnx, which holds since its version 11 and so for all that the package has.
 */
#ifndef GROUPOPS_TESTS_ONNX_ATTRIBUTES_H
#define GROUPOPS_TESTS_ONNX_ATTRIBUTES_H

#include <groupops/attributes.h>

#include "onnx_case.h"

/* Both return false when an attribute is malformed or contradicts the tensors; *why names it. */
bool gops_onnx_conv_attributes(const gops_onnx_node *node, const gops_tensor *weights,
                               gops_conv_attributes *attributes, gops_tensor *filter,
                               char why[GOPS_ONNX_WHY]);
bool gops_onnx_deconv_attributes(const gops_onnx_node *node, const gops_tensor *weights,
                                 gops_deconv_attributes *attributes, gops_tensor *filter,
                                 char why[GOPS_ONNX_WHY]);

#endif
