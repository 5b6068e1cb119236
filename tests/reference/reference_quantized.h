/*
 * reference_quantized.h: what a quantized convolution makes of its sums, step by step.
 *
 * The sums come from gops_reference_conv and gops_reference_deconv with zero points and an i32
 * geometry: exact modulo 2^64, and so modulo 2^32. All that follows is done in single precision, one
 * rounding a step, in the order that quantization.h gives.
 */
#ifndef GROUPOPS_REFERENCE_QUANTIZED_H
#define GROUPOPS_REFERENCE_QUANTIZED_H

#include "reference_fusion.h"

/* Every scale and zero point, with nothing left to a default. */
typedef struct gops_reference_quantization {
    gops_reference_zero_points zero_points;
    float data_scale;
    const float *filter_scales; /* one for each of the groups * c_out output channels */
    float output_scale;
    int64_t output_zero_point;
    gops_type residual_type;
    float residual_scale;
    int64_t residual_zero_point;
    float sum_scale; /* 0: the sum is not rounded before the residual is added */
    int64_t sum_zero_point;
    int residual_first;
    int divides;
} gops_reference_quantization;

/* Turns i32 sums into the output: `type` i32, u8, i8, f32, f16 or bf16. `bias`, NULL or one i32 for
 * each channel; `residual`, NULL or a tensor like the output, of residual_type.
 *
 *     a = sum + bias                            modulo 2^32
 *     i32:               a + residual, then relu or clamp, as for i32 data
 *     f32, f16, bf16:    v = float(a) * (sx * sw); v += (residual - zr) * sr; v = activation(v); one
 *                        rounding; zr is 0 for a residual that is no integer
 *     u8, i8, no residual, activation none, relu or clamp, if not `divides`:
 *                        r = float(a) * ((sx * sw) / sy), between bounds that are divided by sy
 *     u8, i8 otherwise:  v = float(a) * (sx * sw); v += (residual - zr) * sr; r = activation(v) / sy
 *     u8, i8:            r between least - zy and largest - zy, rounded to nearest even, + zy; a NaN
 *                        is the least
 *     u8, i8 with a sum scale ss and zero point zs: c, as without residual, activation, with ss and zs
 *                        in place of sy and zy, and divided by ss if `divides`; then with (x, sx, zx) = (c, ss, zs) and (y, sr, zr)
 *                        the residual, or the other way round if that is first:
 *                        k = zy - fma(sx / sy, zx, (sr / sy) * zr)
 *                        fma(x, sx / sy, fma(y, sr / sy, k)) in the type, with relu from zy on, and
 *                        rounded to nearest even
 *
 * Each step is one operation of f32. So there is one right result, and result->exact is set, unless
 * the activation calls exp, tanh or erfc: then result->bound is what those are off by and one
 * rounding, and result->steps is 1, for u8 and i8. */
void gops_reference_quantize(gops_reference_result *result, gops_type type,
                             const gops_reference_quantization *quantization, const void *bias,
                             const void *residual, const gops_activation *activation);

#endif
