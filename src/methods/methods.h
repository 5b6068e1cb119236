/* methods.h: the methods by name; each is described in its file. */
#ifndef GOPS_METHODS_H
#define GOPS_METHODS_H

#include "plan/plan.h"

extern const gops_method gops_gemm_conv;
extern const gops_method gops_gemm_deconv;
extern const gops_method gops_implicit_conv;
extern const gops_method gops_strip_conv;
extern const gops_method gops_pointwise_conv;
extern const gops_method gops_phase_deconv;
extern const gops_method gops_direct_bundle_deconv;
extern const gops_method gops_direct_conv;
extern const gops_method gops_direct_deconv;
extern const gops_method gops_direct_bundle_conv;
extern const gops_method gops_direct_lanes_conv;
extern const gops_method gops_direct_lanes_deconv;
extern const gops_method gops_direct_masked_conv;
extern const gops_method gops_twopass_norm;

#endif
