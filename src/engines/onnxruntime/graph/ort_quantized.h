/*
 * ort_quantized.h: quantized convolutions: ConvInteger, QLinearConv, and the form in which
 * quantizers write most models, where the operators around a Conv or ConvTranspose tell what its
 * tensors stand for:
 *
 *     DequantizeLinear -> Conv or ConvTranspose -> [Add] -> [activation] -> QuantizeLinear
 *
 * The weights are constants behind a DequantizeLinear of their own; so may the bias be, or else a
 * constant; and what is added is behind one.
 */
#ifndef GROUPOPS_ENGINES_ORT_QUANTIZED_H
#define GROUPOPS_ENGINES_ORT_QUANTIZED_H

#include "engines/onnxruntime/graph/ort_operation.h"

/* Reads the scales and zero points of a QLinearConv, whose operands the claim has. If not all of
 * them are constants, all become inputs of the claim. *serves is false if the library does not take
 * one. */
ort_status *gops_ort_read_qlinear(const gops_ort_runtime *runtime, const gops_ort_node *node,
                                  gops_ort_claim *claim, bool *serves);

/* Makes the claim of a Conv or ConvTranspose of f32 one of the nodes between DequantizeLinear and
 * QuantizeLinear: its output_type is then set. The claim stays as it was where the nodes are not so. */
ort_status *gops_ort_claim_qdq(const gops_ort_graph *graph, gops_ort_claim *claim);

/* Make *serves false where the runtime cannot go on behind a value that a claim writes, or in front of one that it
 * reads, if that is of i8. Of an Add, Mul or AveragePool between DequantizeLinear and QuantizeLinear it makes one node,
 * also where a scale or zero point is a vector of one element, which that node refuses; only a QuantizeLinear that it
 * sees in front of all this, or a DequantizeLinear behind, keeps it from that. */
ort_status *gops_ort_serve_readers(const gops_ort_graph *graph, const char *value, gops_type type,
                                   bool *serves);
ort_status *gops_ort_serve_writer(const gops_ort_graph *graph, const char *value, gops_type type,
                                  bool *serves);

/* Adds what follows a quantized claim where the runtime makes a QLinearAdd of it, or where it is one:
 * its output, rounded, is added to a tensor of the same type and shape. The claim stays as it was
 * where nothing does. */
ort_status *gops_ort_claim_sum(const gops_ort_graph *graph, gops_ort_claim *claim);

/* Whether the library takes the claim's scales: their products, too, are finite and above 0. */
bool gops_ort_scales_serve(const gops_ort_claim *claim);

/* A slope for each output channel, freed by free(); NULL where the claim has none. False if there is no
 * memory. */
bool gops_ort_make_slopes(const gops_ort_claim *claim, void **slopes);

/* What a claim makes of its constants once: the arrays of operation->quantization, with a value for each
 * output channel, and the bias in i32; *bias is NULL if the bias, if any, is an input. Freed by
 * free(*memory). */
bool gops_ort_fold(const gops_ort_claim *claim, gops_ort_operation *operation, void **memory,
                   const int32_t **bias);

#endif
