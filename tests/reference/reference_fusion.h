/*
 * reference_fusion.h: what is fused into the store, as plain loops over its definition.
 */
#ifndef GROUPOPS_REFERENCE_FUSION_H
#define GROUPOPS_REFERENCE_FUSION_H

#include <groupops/plan.h>

#include "reference.h"

/* Each NULL or of the result's type. */
typedef struct gops_reference_operands {
    const void *bias;     /* a value for each channel (axis 1) */
    const void *residual; /* a tensor like the result */
    const void *slopes;   /* prelu: a value for each channel */
    int residual_after;   /* the residual is added to what the activation makes */
} gops_reference_operands;

/* Turns a result into that of activation(result + bias + residual), or of
 * activation(result + bias) + residual, and its bounds with it.
 *
 * The bound: with u and eta as in reference.h for the type that is computed in, the two additions
 * cost u times the magnitudes of their results; a function with Lipschitz constant L turns an error
 * e into at most L e, and evaluating it costs some u of its value, counted where each is defined;
 * storing it costs one rounding to the type, the only one.
 */
void gops_reference_fuse(gops_reference_result *result, const gops_reference_operands *operands,
                         const gops_activation *activation);

/* activation(x). *roundings, unless NULL: how many there are in evaluating it in f32, in units of u
 * times the value. */
long double gops_reference_activate(const gops_activation *activation, long double x,
                                    long double *roundings);

#endif
