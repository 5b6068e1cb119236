/**
 * @file
 * groupops/quantization.h: convolutions of 8-bit integers that stand for real numbers.
 *
 * A quantized tensor holds integers q that stand for scale * (q - zero_point). A plan is quantized
 * where data and filter are i8 or u8, in any mix, and gops_options.output_type is set. It computes
 *
 *     acc = sum of (data - data_zero_point) * (filter - filter_zero_points[o])  + bias[o]
 *
 * for output channel o, exactly, modulo 2^32. Padding stands for data_zero_point, so it adds
 * nothing. The bias is i32, in units of data_scale * filter_scales[o]. The output is made of acc by
 * its type, in single precision and in this order:
 *
 *     i32             acc, plus an i32 residual, then relu or clamp: what ONNX calls ConvInteger
 *     f32, f16, bf16  v = (float)acc * (data_scale * filter_scales[o]), post-ops (residual and
 *                     activation), one rounding
 *     u8, i8          r = (float)acc * (data_scale * filter_scales[o] / output_scale), clamped to
 *                     what the type holds less output_zero_point, rounded to nearest even, plus
 *                     output_zero_point: bit for bit ONNX's QLinearConv
 *
 * Products, quotients and sums are taken from the left, each rounded to f32 (no fma): data_scale *
 * filter_scales[o] first.
 *
 * Post-ops work on v, in real units. A u8 or i8 output without a residual has relu and clamp work on r
 * instead, by alpha and beta rounded to f32 and divided by output_scale. With a residual, with another
 * activation, or with `divides` (ONNX's QuantizeLinear behind an operator of floats) it is v with its
 * post-ops, divided by output_scale, then clamped and rounded as above. A u8 or i8 residual adds
 * residual_scale * (residual - residual_zero_point). One of f32, f16 or bf16 adds residual_scale *
 * residual: leave residual_scale 0, which means 1, for a residual in real units.
 *
 * Every algorithm, instruction set and number of threads gives the same bits.
 *
 * Other plans. Of a floating point plan's filter, filter_scales alone may be given: what is packed is
 * each weight times its output channel's scale, rounded to the accumulator's type and then to the
 * filter's. That folds a batch normalization without a copy of the weights: scale / sqrt(variance +
 * epsilon) here, and the rest into the bias. Such scales may be negative or 0.
 *
 *     options.output_type = GOPS_U8;
 *     gops_conv_plan_create(&data, &weights, &attributes, &options, &plan, &error);
 *     gops_quantization quantization = GOPS_QUANTIZATION_INIT;
 *     quantization.data_scale = 0.02f;
 *     quantization.data_zero_point = 117;
 *     quantization.filter_scales = scales;             // one for each output channel
 *     quantization.filter_scales_count = channels_out;
 *     quantization.output_scale = 0.05f;
 *     gops_filter_create(plan, weight_values, &quantization, &filter, &error);
 */
#ifndef GROUPOPS_QUANTIZATION_H
#define GROUPOPS_QUANTIZATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <groupops/sized.h>

/** How the tensors of a quantized convolution stand for real numbers. All of it is folded when the
 * filter is packed; nothing is kept of the pointers. A scale of 0 means 1, except in filter_scales
 * and sum_scale. Not read, and so allowed to hold anything: scales where the output is i32,
 * output_scale, output_zero_point and divides where it is not 8-bit; sum_zero_point and residual_first without
 * sum_scale; residual_zero_point where no plan that takes the filter has an 8-bit residual. */
typedef struct gops_quantization {
    size_t size; /**< sizeof(gops_quantization): groupops/sized.h */
    float data_scale;
    int32_t data_zero_point; /**< gops_arguments.data_zero_point, if given, replaces it */
    /** One for each of the G * C_OUT output channels, or a single one for all (count 1). NULL and
     * count 0: 1. Floats, but doubles for a plan of f64. */
    const void *filter_scales;
    int64_t filter_scales_count;
    /** The same, of the filter's type. NULL and count 0: 0. */
    const void *filter_zero_points;
    int64_t filter_zero_points_count;
    float output_scale;
    int32_t output_zero_point;
    float residual_scale;
    int32_t residual_zero_point;
    /** Not 0: ONNX's QLinearConv followed by QLinearAdd, with the bits of ONNX Runtime. The sum without
     * the residual is rounded to the output's type, u8 or i8, with sum_scale and sum_zero_point in place
     * of output_scale and output_zero_point. Call that a, with its scale sa and zero point za, and the
     * residual, which has the same type, b with sb and zb. The output is
     *
     *     fma(a, sa / output_scale, fma(b, sb / output_scale, c)),
     *     c = output_zero_point - fma(sa / output_scale, za, sb / output_scale * zb),
     *
     * clamped to the type (with relu, from output_zero_point on) and rounded to nearest even; each
     * operation is rounded to f32. The activation is none or relu. Executions need a residual then. */
    float sum_scale;
    int32_t sum_zero_point;
    bool residual_first; /**< a is the residual and b the rounded sum */
    /** An 8-bit output is v divided by output_scale; with sum_scale, a is the sum divided by that. */
    bool divides;
} gops_quantization;

#define GOPS_QUANTIZATION_INIT GOPS_SIZED_INIT(gops_quantization)

#endif
