/*
 * ort_operands.h: reads what computes 8-bit integers of others: an operator of ONNX whose operands come from
 * DequantizeLinear and whose output goes to QuantizeLinear, or one of the runtime's own, as QLinearMul, which has a
 * scale and a zero point behind each operand.
 */
#ifndef GROUPOPS_ENGINES_ORT_OPERANDS_H
#define GROUPOPS_ENGINES_ORT_OPERANDS_H

#include "engines/onnxruntime/graph/ort_operation.h"

/* What 8-bit integers stand for: scale * (integer - zero_point). */
typedef struct gops_ort_linear {
    float scale;
    int32_t zero_point;
} gops_ort_linear;

typedef struct gops_ort_operand {
    const char *name;
    const ort_value_info *info;
    gops_ort_linear by;
} gops_ort_operand;

typedef struct gops_ort_operands {
    gops_ort_operand items[GOPS_ORT_MAX_OPERANDS], output;
    size_t count;
} gops_ort_operands;

/* The operator of ONNX that a node is, or that it is of integers: "Mul" of QLinearMul. */
const char *gops_ort_plain_type(const gops_ort_node *node);

/* Reads the first `count` inputs of nodes[0] of a claim, and what it writes; all have constant scales. Nodes that
 * become part of it are added to the claim, whose output is then that of integers. *reads is false if it is none of
 * these; the claim is then not to be used. */
ort_status *gops_ort_read_operands(const gops_ort_graph *graph, size_t count, gops_ort_claim *claim,
                                   gops_ort_operands *operands, bool *reads);

/* The bits of the integer of that type that QuantizeLinear makes of a number. */
uint8_t gops_ort_code_of(float number, gops_type type, const gops_ort_linear *to);

#endif
