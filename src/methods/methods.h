/* methods.h: the methods by name; each is described in its file. */
#ifndef GOPS_METHODS_H
#define GOPS_METHODS_H

#include "plan/plan.h"

extern const gops_method gops_gemm_conv;
extern const gops_method gops_gemm_deconv;
extern const gops_method gops_implicit_conv;
extern const gops_method gops_implicit_blocked_conv;
extern const gops_method gops_direct_conv;
extern const gops_method gops_pointwise_conv;
extern const gops_method gops_pointwise_channels_conv;
extern const gops_method gops_winograd_f2_conv;
extern const gops_method gops_winograd_f4_conv;
extern const gops_method gops_winograd_f3_deconv;
extern const gops_method gops_subconv_deconv;
extern const gops_method gops_depthwise_blocked_deconv;
extern const gops_method gops_depthwise_rows_conv;
extern const gops_method gops_depthwise_rows_deconv;
extern const gops_method gops_depthwise_blocked_conv;
extern const gops_method gops_depthwise_shuffle_conv;
extern const gops_method gops_depthwise_shuffle_deconv;
extern const gops_method gops_depthwise_masked_conv;
extern const gops_method gops_depthwise_pairs_conv;
extern const gops_method gops_depthwise_pairs_deconv;
extern const gops_method gops_depthwise_permuted_conv;
extern const gops_method gops_depthwise_permuted_deconv;
extern const gops_method gops_norm;
extern const gops_method gops_nonfinite_conv;
extern const gops_method gops_nonfinite_deconv;

#endif
