/**
 * @file
 * groupops/options.h: what a plan does besides the operation: what is fused into the store, by which
 * algorithm, with how many threads and how much memory, and how close the result must come.
 *
 *     gops_options options = GOPS_OPTIONS_INIT;
 *     options.threads = 4;
 *     options.activation.kind = GOPS_ACTIVATION_RELU;
 *     gops_conv_plan_create(&data, &weights, &attributes, &options, &plan, &error);
 */
#ifndef GROUPOPS_OPTIONS_H
#define GROUPOPS_OPTIONS_H

#include <stdbool.h>

#include <groupops/choices.h>
#include <groupops/host.h>
#include <groupops/sized.h>
#include <groupops/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What is applied to each output value before it is rounded to the output's type. */
typedef enum gops_activation_kind {
    GOPS_ACTIVATION_NONE = 0,
    GOPS_ACTIVATION_RELU = 1,       /**< max(x, 0) */
    GOPS_ACTIVATION_CLAMP = 2,      /**< min(max(x, alpha), beta); relu6: 0 and 6 */
    GOPS_ACTIVATION_LEAKY_RELU = 3, /**< x, or alpha * x where x is negative */
    GOPS_ACTIVATION_SIGMOID = 4,    /**< 1 / (1 + exp(-x)) */
    GOPS_ACTIVATION_TANH = 5,
    GOPS_ACTIVATION_HARD_SWISH = 6, /**< x * (min(max(x + 3, 0), 6) / 6) */
    GOPS_ACTIVATION_SWISH = 7,      /**< x / (1 + exp(-alpha * x)); SiLU: alpha 1 */
    GOPS_ACTIVATION_GELU = 8,       /**< x * (1 + erf(x / sqrt(2))) / 2 */
    GOPS_ACTIVATION_ELU = 9,        /**< x, or alpha * (exp(x) - 1) where x is negative */
    GOPS_ACTIVATION_MISH = 10,      /**< x * tanh(log(1 + exp(x))) */
    /** min(max(alpha * x + beta, 0), 1). ONNX's defaults are 0.2 and 0.5, PyTorch has 1/6 and 0.5. */
    GOPS_ACTIVATION_HARD_SIGMOID = 11,
    /** x, or the output channel's slope times x where x is negative: gops_arguments.slopes.
     * Convolutions that are not quantized take it. */
    GOPS_ACTIVATION_PRELU = 12,
    GOPS_ACTIVATION_LAST = GOPS_ACTIVATION_PRELU /**< of this version; kinds have no gaps */
} gops_activation_kind;

/** NaN stays NaN in all of them; infinities go through these formulas as written, so that -infinity
 * becomes NaN in hard_swish, swish, gelu and mish. Clamp takes alpha <= beta, infinities too; leaky_relu,
 * swish, elu and hard_sigmoid take any numbers; the others read none. Integers take none, relu, and clamp
 * between whole numbers of the type; 8-bit outputs of quantized plans, which stand for real numbers, take
 * all but prelu.
 *
 * The same argument gives the same bits on every instruction set. Before it is rounded to the
 * output's type, the value is within so many units in the last place of the formula's. Of f32, for
 * all types but f64: 1.5 for elu, 2.5 for hard_swish, sigmoid and tanh, 3.5 for swish, 5.5 for mish, 7.5
 * for gelu. Of f64, for f64: 3 for elu and hard_swish, 3.5 for sigmoid and tanh, 4.5 for swish, 7.5 for
 * mish, 18 for gelu. Of both, where alpha and beta are 0 or normal numbers of that type: 1.5 for
 * leaky_relu and prelu, and for hard_sigmoid 3 units of |alpha x| + |beta|. Swish rounds its alpha to
 * that type, which adds |alpha x| units where alpha x is negative, and is 0 where alpha x is below -131 (f64: -797). */
typedef struct gops_activation {
    gops_activation_kind kind;
    double alpha;
    double beta;
} gops_activation;

/** How close a result must come: the section on numbers of groupops/plan.h. */
typedef enum gops_accuracy {
    GOPS_ACCURACY_EXACT = 0,
    GOPS_ACCURACY_RELAXED = 1 /**< admits what rounds differently, or flushes denormals */
} gops_accuracy;

/** Where the means and variances of a normalization come from. */
typedef enum gops_moments_use {
    GOPS_MOMENTS_FOUND = 0, /**< from the data */
    /** From the caller, for each group of each image: gops_arguments.moments, or mean and variance.
     * Batch normalization by the moments of its training has a group for each channel; the caller
     * repeats these for each image. */
    GOPS_MOMENTS_GIVEN = 1,
    /** From the data, and nothing is normalized: scale, bias, output and residual are not read. */
    GOPS_MOMENTS_ONLY = 2
} gops_moments_use;

/** max_workspace without a bound. */
#define GOPS_UNLIMITED INT64_MAX

/** Choices that are not the specification's. NULL in place of a pointer to one, and 0 in any field
 * but the first, mean the default; an activation's alpha and beta have none: swish with alpha 0 is
 * x / 2, clamp with 0 and 0 is 0. Not read, and so allowed to hold anything: saturate of other
 * types than the two that it names, choices beside an algorithm's name, alpha and beta of an
 * activation without them, residual_after_activation where there is no activation, or no residual is
 * given. Refused by name: an output_type that is none for the operation and its data. */
typedef struct gops_options {
    size_t size; /**< sizeof(gops_options): groupops/sized.h */
    /** NULL or "auto": the plan chooses by an estimate. "fastest": creating the plan executes every
     * algorithm that serves the shape, on buffers of its own as large as the tensors and with the
     * plan's threads, a few times or for a millisecond each, and keeps the fastest; `choices`
     * below keep what was measured for the next run. Else an algorithm's whole name
     * (gops_algorithm_name), such as "gemm" or "depthwise/masked", or the part before its slash,
     * "depthwise", of whose forms the plan then chooses by the estimate: refused with
     * GOPS_UNSUPPORTED and the reason where none of them serves the shape. */
    const char *algorithm;
    /** The most threads that work on one gops_execute; 0: as many as OpenMP would use where the plan is
     * made, also where the host lends a parallel_for, which cannot say how many it has. For want of
     * work or workspace, or beyond 64 where it calls the linked BLAS, a plan uses fewer
     * (gops_plan_info.threads). The result has the same bits for every number. */
    int32_t threads;
    /** The most bytes of workspace that one gops_execute may use, all threads together; 0: 4 MiB a
     * thread. GOPS_UNLIMITED: `gemm` then lowers each image and group whole, with one GEMM. The
     * workspace of one thread is laid out for a quarter of it, or for all of it where a quarter is too
     * little. Where it does not hold `threads` of them, the plan uses fewer threads
     * (gops_plan_info.threads); where it does not hold one, creation fails with GOPS_INVALID. */
    int64_t max_workspace;
    /** Copied. NULL: that of gops_set_default_host; without one, OpenMP, malloc and the linked CBLAS. */
    const gops_host *host;
    /** 0: the type of data and filter; to name that type means the same, but for i8 and u8. Where data and
     * filter are of these two, any type that is named makes the plan quantized (groupops/quantization.h),
     * with an output of that type: GOPS_I32, GOPS_U8, GOPS_I8, GOPS_F32, GOPS_F16 or GOPS_BF16. So an
     * output of i8 saturates with GOPS_I8, and wraps modulo 2^8 with 0. */
    gops_type output_type;
    /** An f8e4m3 or f8e5m2 result, or weight times its filter_scales, beyond the largest finite
     * value: true makes it that value, the OCP 8-bit floating point specification's saturating mode;
     * false, its other mode, NaN for f8e4m3 and infinity for f8e5m2. */
    bool saturate;
    gops_activation activation;
    /** NULL, or choices that were measured before (groupops/choices.h), for "auto" and "fastest";
     * the latter adds what it finds. Used while the plan is created, and not kept. */
    gops_choices *choices;
    /** Of a quantized plan: the residual's type, GOPS_U8 or GOPS_I8 where it is not the output's. 0:
     * the output's. */
    gops_type residual_type;
    /** GOPS_ACCURACY_RELAXED asks for nothing where there is nothing to relax: plans of all
     * operations and types take it. */
    gops_accuracy accuracy;
    /** true: the residual is added to what the activation makes, not to what it takes, but still before
     * the rounding to the output's type. A quantized plan with an activation refuses it. */
    bool residual_after_activation;
    /** true: "auto" and "fastest" leave out what gops_plan_part serves for no part: of floats, `gemm` and
     * `winograd`. It may still refuse a part of few outputs a row. Plans of all operations and types take
     * it, but convolutions of floats that nothing but `gemm` serves are refused with GOPS_UNSUPPORTED, such
     * as those where one output reads more data than half of the second level cache holds. */
    bool divisible;
    /** Of a normalization; a convolution takes none but GOPS_MOMENTS_FOUND. */
    gops_moments_use moments;
    /** Elements from the beginning of one channel to that of the next, for tensors with a gap behind
     * each channel's pixels, or that are some rows of larger ones; 0: no gap. At least the pixels of a
     * channel. What lies in gaps has no effect and is not written; the last one of a tensor need not be
     * memory. An image has as many of these as channels. The residual is laid out as the output; a
     * normalization whose output is its data has the same for both. Pixels of channels that are a multiple
     * of 4096 bytes apart evict each other from a cache: with a gap of 64 bytes 3x3 layers on 32x32 and
     * 64x64 take 0.95 of the time (Zen 5). */
    int64_t data_channel_stride;
    int64_t output_channel_stride;
} gops_options;

#define GOPS_OPTIONS_INIT GOPS_SIZED_INIT(gops_options)

#ifdef __cplusplus
}
#endif

#endif
