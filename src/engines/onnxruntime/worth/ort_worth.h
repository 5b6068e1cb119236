/* ort_worth.h: what nodes gain if they are taken from the runtime, in ns of one core; below 0 they lose. An
 * estimate, from the shapes, the processor and the accuracy that the runtime's user admits. The only place
 * that has one. */
#ifndef GROUPOPS_ENGINES_ORT_WORTH_H
#define GROUPOPS_ENGINES_ORT_WORTH_H

#include "engines/onnxruntime/worth/ort_choice.h"
#include "engines/onnxruntime/region/ort_member.h"

void gops_ort_weigh_member(const gops_ort_runtime *runtime, const gops_ort_member *member,
                           gops_ort_item *item);

/* The same of a claim that is a call by itself. Sizes that the model leaves open count as usual ones. What is no
 * convolution of f32 is certain, but for 8 bits that gemm alone serves, and u8 by i8 where the processor has no
 * products of four; so is what has no shape of weights. */
ort_status *gops_ort_weigh_claim(const gops_ort_runtime *runtime, const gops_ort_claim *claim,
                                 gops_ort_item *item);

/* And of a pool of 8-bit integers, whose gain is the runtime's reordering of its neighbours. */
void gops_ort_weigh_pool(const gops_ort_claim *claim, gops_ort_item *item);

#endif
