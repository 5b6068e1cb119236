/* ort_chain.h: nodes with the channels last that follow each other, and the members that are made of
 * them (ort_member_last.c). */
#ifndef GROUPOPS_ENGINES_ORT_CHAIN_H
#define GROUPOPS_ENGINES_ORT_CHAIN_H

#include "engines/onnxruntime/region/ort_member.h"

typedef struct gops_ort_chain {
    const gops_ort_graph *graph;
    ort_status *status;
    gops_ort_claim claim; /* of the member that is being read */
    gops_tensor data;     /* what it reads, channels first */
    bool is_last;         /* the claim's output is written with the channels last */
    gops_ort_member *first, **end;
} gops_ort_chain;

/* The axis on which the claim's output has its channels. */
int32_t gops_ort_chain_axis(const gops_ort_chain *of);

/* Claims the only reader of the claim's output if it has this type, and reads that first or `either`;
 * NULL: it is not claimed. */
gops_ort_node *gops_ort_chain_take(gops_ort_chain *of, const char *type, bool either);

/* Whether a node moves the channels to the last axis, or back to where they are first. */
bool gops_ort_chain_is_transpose(gops_ort_chain *of, const gops_ort_node *node, bool to_last);
/* Claims the only reader of the claim's output if it is such a node. */
bool gops_ort_chain_take_transpose(gops_ort_chain *of, bool to_last);

/* Whether a value is a constant of f32, which *numbers then is. */
bool gops_ort_chain_read_numbers(gops_ort_chain *of, const ort_value_info *info,
                                 gops_ort_constant *numbers);
/* Claims an operator of the claim's output and of one number for each channel. */
bool gops_ort_chain_take_numbers(gops_ort_chain *of, const char *type, gops_ort_constant *numbers);

/* Makes a member of the claim, with memory for so many values, and adds it to those from `first` on;
 * NULL: no memory. */
gops_ort_member *gops_ort_chain_make(gops_ort_chain *of, gops_ort_member_kind kind, int64_t values);
/* Begins with the claim of a next member. */
void gops_ort_chain_go_on(gops_ort_chain *of, const gops_ort_member *before);

/* Reads a product by a matrix and what follows, up to a next one (ort_member_matrix.c). False: it is
 * none, or of->status says why not. */
bool gops_ort_chain_read_product(gops_ort_chain *of);

#endif
