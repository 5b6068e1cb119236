/**
 * @file
 * groupops/plan.h: plan once, pack the filter once, execute often.
 *
 *     gops_plan *plan;
 *     gops_packed_filter *filter;
 *     gops_conv_plan_create(&data, &weights, &attributes, NULL, &plan, &error);
 *     gops_filter_create(plan, weight_values, NULL, &filter, &error);
 *     gops_arguments arguments = GOPS_ARGUMENTS_INIT;
 *     arguments.data = data_values;
 *     arguments.filter = filter;
 *     arguments.output = output_values;
 *     gops_execute(plan, &arguments, &error);          // again and again, from any thread
 *     gops_filter_destroy(filter);
 *     gops_plan_destroy(plan);
 *
 * Numbers. Floating point types follow IEEE 754 for every algorithm and instruction set alike:
 * - A convolution's output is the sum, begun with +0, of the products of weights with data elements
 *   that are there. Padding takes part in nothing: where a window hangs over the border, a NaN or
 *   infinite weight there adds nothing. (A packed filter with such weights is executed by plain
 *   loops over the definition, whatever the plan's algorithm.) A NaN or infinity in the data
 *   reaches every output whose window covers it: 0 times either is NaN.
 * - A sum whose terms are all zeros, of any signs, is +0. One that underflows is a zero of either
 *   sign. Where partial sums outgrow the accumulator (f64 for f64, f32 for all others), the output
 *   is infinite or NaN; which one depends on the order of the sum, and so on the algorithm.
 * - Denormals count, in all types. Where the calling thread flushes them to zero or reads them as
 *   zero (MXCSR, FPCR), all threads of the plan do so too, round as it does, and have their own
 *   modes back afterwards; f16 and 8-bit floats, whose denormals are normal numbers of the
 *   accumulator, keep theirs. Threads that a BLAS starts by itself (OpenBLAS built with pthreads,
 *   unless OPENBLAS_NUM_THREADS is 1) keep their modes.
 * - A NaN or infinity in the data of a normalization makes its image's group NaN, one in scale or
 *   bias its channel as the formula says; so does a variance that outgrows f64 (f64 alone can).
 *   The sign and payload of a NaN are not defined.
 *
 * Bounds, where the thread rounds to nearest and no partial sum outgrows the accumulator. Let u and t be 2^-24
 * and 2^-150, for f64 2^-53 and 2^-1075. Not counted are the roundings behind: one for a convolution's bias
 * and one for a residual, in the accumulator, the activation's (groupops/options.h), and one to the output's type.
 * - The sum of K products of a convolution differs from the exact one by at most
 *
 *       K u / (1 - K u) * sum of |x w| + K t.
 *
 *   A residual that is the output, added before the activation, may be one more term of that sum. Weights w
 *   that filter_scales multiply are their products, rounded to the filter's type.
 * - Let the groups of a normalization that finds its moments have n elements, up to 10^7, let z be
 *   (x - mean) / sqrt(variance + epsilon), and Z the largest |z| of the group. Then y = scale * z + bias is
 *   off by at most
 *
 *       u * (|scale| * (11 + 24 |z|) + |bias| + |y|) + 2 t |scale|,
 *       u * (|scale| * (3 log2(n) + 56) * Z + |y|) + 2 t |scale|     for f64,
 *
 *   and the mean and variance that are written, if normal numbers, with D the largest |x - mean|, by at most
 *
 *       u * (1.01 |mean| + 12 sqrt(variance)) and 40 u * variance,
 *       u * (65 |mean| + (2 log2(n) + 38) * D) and 65 u * variance     for f64.
 *
 * All of this is accuracy exact, the default. Relaxed (gops_options.accuracy) differs in two points:
 * - Convolutions of bf16 may multiply by instructions of the processor for that type. They read
 *   denormal data and weights as zero, make denormal sums zero, and round sums to nearest, whatever
 *   the calling thread's modes are. Up to K = 2^20 products, the sum (in f32, before bias, residual,
 *   activation and the rounding to bf16) then differs from the exact one by at most
 *
 *       2^-23 * (K + 32) * sum of |x w| + 2^-124 * (K + sum of |x| + sum of |w|).
 *
 * - Convolutions of f32 and f64 with two spatial axes, kernels of 3x3, and strides and dilations of 1
 *   may be computed by the algorithms winograd/f2 and winograd/f4 (M = 2 and 4 below), in a half to a
 *   third of the time. They transform tiles: outputs whose indices on each axis, divided by M and
 *   rounded down, are equal, and the M + 2 by M + 2 data elements that their windows cover. Let X_c be
 *   the largest |x| of a tile's data in input channel c, W_c the largest |w| of the nine weights,
 *   and C_IN, of a group, up to 2^18. The sum (before bias, residual, activation) then differs from the
 *   exact one by at most
 *
 *       u * N * (C_IN + 20) * sum of X_c W_c + t * (C_IN + sum of X_c + sum of W_c),
 *
 *   N = 66 and 500 for M = 2 and 4; u = 2^-24 and t = 2^-135 for f32, 2^-53 and 2^-1060 for f64. Of
 *   exact, the same terms would say u * 81 * C_IN * sum of X_c W_c: where C_IN is large, F(2,3) is
 *   bound to 0.8 times that, F(4,3) to 6.2 times. Partial sums may outgrow the type where 2^15 times
 *   the sum of X_c W_c does, or 2^6 X_c. A NaN or infinity in the data makes outputs whose window
 *   covers it NaN or infinite, either for either, and may do so to all outputs of the tiles that read
 *   it, in that group.
 *
 *   Where the processor has no such instructions, or the plan's algorithm is not one of these, relaxed
 *   is exact; gops_plan_info's `why` tells: it has the word relaxed.
 *
 * Quantized plans are always exact: where they use winograd/f2, or transposed winograd/f3, it is in integers.
 *
 * A plan and a packed filter are immutable once made: many threads may use one at once, to execute, to
 * query, or to make others from it. None may be updated or destroyed while another thread uses it. Different
 * ones may be made, updated and destroyed at once, but for plans that share choices (groupops/choices.h).
 */
#ifndef GROUPOPS_PLAN_H
#define GROUPOPS_PLAN_H

#include <stdbool.h>

#include <groupops/attributes.h>
#include <groupops/options.h>
#include <groupops/quantization.h>
#include <groupops/sized.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gops_plan gops_plan;
typedef struct gops_packed_filter gops_packed_filter;

/** Makes a plan for one shape; *plan is NULL after a failure. Of what the arguments point to, only the
 * functions and contexts of a host are used after the call. Arguments and their errors are those
 * of the shape inference function of the same operation; besides, GOPS_INVALID: a bad option, such as
 * a name that no algorithm has, or a max_workspace that is too small; GOPS_UNSUPPORTED: a type that is not
 * offered, but for the integers that a normalization does not take (GOPS_INVALID); an activation or residual that the
 * operation and its types do not take; an algorithm that does not serve the plan; a GROUPOPS_ISA that names no
 * instruction set of this processor; GOPS_TOO_LARGE: more than 2^52 elements; GOPS_OUT_OF_MEMORY; with "fastest",
 * GOPS_OUT_OF_MEMORY also where it would take more than the machine has, and GOPS_HOST_FAILED:
 * parallel_for said so. */
GOPS_API gops_status gops_conv_plan_create(const gops_tensor *data, const gops_tensor *filter,
                                           const gops_conv_attributes *attributes,
                                           const gops_options *options, gops_plan **plan,
                                           gops_error *error);
GOPS_API gops_status gops_deconv_plan_create(const gops_tensor *data, const gops_tensor *filter,
                                             const gops_deconv_attributes *attributes,
                                             const gops_options *options, gops_plan **plan,
                                             gops_error *error);
GOPS_API gops_status gops_norm_plan_create(const gops_tensor *data, const gops_tensor *scale,
                                           const gops_tensor *bias,
                                           const gops_norm_attributes *attributes,
                                           const gops_options *options, gops_plan **plan,
                                           gops_error *error);

/** Makes the plan for another batch or other spatial sizes: `data` has the type, rank and channels
 * that `plan` was made for; attributes, options and host are those of `plan`. What was packed with
 * one is a filter for the other, so nothing is packed again, and so the algorithm is the same, or
 * one with the same packing, chosen by the estimate: choices are not looked up, and nothing is
 * measured, also where `plan` was made with "fastest". Threads and workspace_bytes may differ from those of
 * `plan`, channel strides (gops_options) do not. Costs microseconds. `output_shape`, for a transposed convolution,
 * replaces the attribute; NULL keeps it. `plan` may be in use by other threads, and may be destroyed before
 * *reshaped. *reshaped is NULL after a failure.
 *
 * Errors are those of making the plan. GOPS_UNSUPPORTED, besides: the packing does not serve the
 * new shape within max_workspace, a channel of it is longer than the channel stride, or `plan` has an empty output
 * and hence packed nothing; the new shape then needs a plan and a filter of its own. */
GOPS_API gops_status gops_plan_reshape(const gops_plan *plan, const gops_tensor *data,
                                       const gops_list *output_shape, gops_plan **reshaped,
                                       gops_error *error);

/** Makes the plan for a part of what the convolution `plan` computes: some of its images and groups,
 * and a brick of its outputs, each of which gets the bits that `plan` gives it. `data` is what the
 * part reads: it has the type and rank that `plan` was made for, any number of images, the
 * channels of one or more groups, and a brick of the data, its spatial axes cut to ranges. The lists
 * replace the attributes of the same name, NULL for zeros, and auto_pad and output_shape are left out.
 * With P the pads_begin that `plan` has (gops_plan_info.shape), outputs a to b - 1 of an axis read the data
 *
 *     from  first = a * stride - P  to  last = (b - 1) * stride - P + (K - 1) * dilation;
 *
 * the brick is those of them that are data, and the pads count those that are not, before it and behind it:
 * with 10 data, K 5 and P 2, outputs 1 to 3 read -1 to 5, a brick of data 0 to 5 with pads 1 and 0. Of a
 * transposed convolution the brick has all data i that add to one of them, those for which i * stride - P <= b - 1
 * and i * stride - P + (K - 1) * dilation >= a; with f the first of n, pads_begin is a + P - f * stride, and with
 * full = stride * (n - 1) + (K - 1) * dilation + 1 - pads_begin, pads_end is full - (b - a), or where that
 * is below 0, output_padding is (b - a) - full.
 *
 * The channel strides (gops_options) are those of `plan`. So where these were given, if only those of channels without
 * gaps, a part of some rows of the first axis reads and writes them within the whole tensors.
 *
 * A part's filter is packed of the weights, scales and zero points of its groups; bias, slopes and
 * residual are those of its outputs. Plans with equally many groups take each other's packed filters,
 * `plan` too.
 *
 * Errors are those of making the plan. GOPS_UNSUPPORTED, besides: `plan` is a normalization, has an
 * empty output, its algorithm does not serve the part (`direct` no rows of fewer outputs than its tile
 * needs; some packings of a transposed convolution want pads_begin that are those of `plan` modulo the strides), or,
 * of floats, is `gemm`, whose sums the BLAS
 * adds in an order that depends on the shape, or one of `winograd`, whose tiles begin where the outputs do
 * (gops_options.divisible). */
GOPS_API gops_status gops_plan_part(const gops_plan *plan, const gops_tensor *data,
                                    const gops_list *pads_begin, const gops_list *pads_end,
                                    const gops_list *output_padding, gops_plan **part,
                                    gops_error *error);

/** Plans of one operation for the shapes that come by: reshapes of one plan, the latest used ones
 * kept. All functions may be called by many threads at once, and in the child of a fork; they take
 * a lock, which is not held while a plan executes, nor while one is made or any function of the
 * host runs. In the child, plans that other threads of the parent were using stay in use. */
typedef struct gops_plan_cache gops_plan_cache;

/** Makes an empty cache of reshapes of `plan`, which is copied. `capacity`, at least 1, bounds the
 * plans that are kept, of some 3 KB each; more are made only for as long as they are in use.
 * *cache is NULL after a failure. GOPS_INVALID: an argument is NULL, capacity is below 1 or above
 * 65536. GOPS_OUT_OF_MEMORY. */
GOPS_API gops_status gops_plan_cache_create(const gops_plan *plan, int32_t capacity,
                                            gops_plan_cache **cache, gops_error *error);

/** Finds or makes the reshape for `data` and `output_shape` (gops_plan_reshape), for the caller to
 * use until gops_plan_cache_release. *plan is NULL after a failure; errors are those of
 * gops_plan_reshape. */
GOPS_API gops_status gops_plan_cache_get(gops_plan_cache *cache, const gops_tensor *data,
                                         const gops_list *output_shape, const gops_plan **plan,
                                         gops_error *error);

/** Ends one use of a plan: once for each gops_plan_cache_get of this cache that gave it. Such plans are not
 * for gops_plan_destroy, nor others for this function. NULL is allowed. */
GOPS_API void gops_plan_cache_release(gops_plan_cache *cache, const gops_plan *plan);

/** NULL is allowed. Every plan must have been released. */
GOPS_API void gops_plan_cache_destroy(gops_plan_cache *cache);

/** NULL is allowed; no call may be using the plan. The filters made with the plan live on until they
 * are destroyed themselves. */
GOPS_API void gops_plan_destroy(gops_plan *plan);

typedef struct gops_plan_info {
    size_t size; /**< sizeof(gops_plan_info), set before the call: groupops/sized.h */
    gops_shape shape;
    const char *algorithm; /**< its whole name (gops_algorithm_name); a constant string */
    /** The choice in a sentence; its words are those of the glossary in src/README.md. Lives as long as
     * the plan. */
    const char *why;
    int32_t threads; /**< the most that one gops_execute uses */
    size_t workspace_bytes;
    size_t filter_bytes; /**< of the packed filter; 0 for a normalization */
    /** Multiplications and additions of the definition, padding counted like data; a normalization
     * counts 6 for an element. INT64_MAX where the count is larger. */
    int64_t flops;
} gops_plan_info;

#define GOPS_PLAN_INFO_INIT GOPS_SIZED_INIT(gops_plan_info)

/** Fills *info, all but its size. May be called by many threads at once. GOPS_INVALID: an argument is
 * NULL, or info->size is not taken (groupops/sized.h); *info is then as it was. */
GOPS_API gops_status gops_plan_get_info(const gops_plan *plan, gops_plan_info *info,
                                        gops_error *error);

/** Packs the weights of a convolution into a filter that gops_execute takes. It serves the plan it was made with, those
 * that gops_plan_reshape and gops_plan_cache_get make of it, and those of gops_plan_part with as many groups. Any
 * other plan may pack otherwise, even one of the same descriptors: gops_execute then refuses the filter and says what
 * differs. The types of data, filter and output, algorithm, sizes, channel strides, attributes, accuracy,
 * max_workspace, instruction set and, of 8-bit floats, saturate decide; the number of threads alone does not, unless
 * algorithms were measured. `weights` has the shape of the plan's filter descriptor and is read only during the call.
 * *filter is NULL after a failure. May be called for one plan by many threads at once. `quantization` is for a
 * quantized plan; NULL there means scales of 1 and zero points of 0. For a floating point plan it is NULL or has
 * filter_scales alone, which the weights are multiplied with. GOPS_INVALID: an argument is NULL or misaligned, the
 * plan has no filter; quantization: the plan takes none of it, a scale is not finite and positive (of a floating point
 * plan: not finite), products or quotients of them are not finite, a count fits nothing, a zero point is not in its
 * type. GOPS_UNSUPPORTED: quantization.sum_scale is given, and output and residual are not of one 8-bit type or the
 * activation is neither none nor relu. GOPS_OUT_OF_MEMORY.
 *
 * The order of weights elsewhere, with in and out the channels of all groups:
 * - Convolution, [G, C_OUT, C_IN, K...]: OIHW, the [out, in / G, K...] of PyTorch, ONNX and ncnn, is
 *   the same bytes, as its first axis is G times C_OUT.
 * - Transposed convolution, [G, C_IN, C_OUT, K...]: the [in, out / G, K...] of PyTorch and ONNX is
 *   the same bytes, as its first axis is G times C_IN. ncnn's deconvolutions store
 *   [G, C_OUT, C_IN, K...]: swap the two channel axes of each group first. No kernel is flipped in
 *   any of them. */
GOPS_API gops_status gops_filter_create(const gops_plan *plan, const void *weights,
                                        const gops_quantization *quantization,
                                        gops_packed_filter **filter, gops_error *error);

/** Packs other weights into the same memory, for a filter that changes from call to call. Allocates
 * nothing but, where a floating point plan has filter_scales, a copy of the weights during the call.
 * No execution may be using the filter. Errors are those of gops_filter_create; besides, GOPS_INVALID: the filter
 * is NULL or was packed for another layout. The filter is then as it was. */
GOPS_API gops_status gops_filter_update(const gops_plan *plan, gops_packed_filter *filter,
                                        const void *weights, const gops_quantization *quantization,
                                        gops_error *error);

/** NULL is allowed. */
GOPS_API void gops_filter_destroy(gops_packed_filter *filter);

/** The moments of a set of elements, for a group that lies on several machines: each finds those of
 * its part (GOPS_MOMENTS_ONLY), all merge the parts' in the same order, which fixes the last bits,
 * and each normalizes its part by them (GOPS_MOMENTS_GIVEN). The mean is center + rest, so that f64
 * loses no digits of it; the population variance is squares / count. */
typedef struct gops_moments {
    double count; /**< of elements, above 0 */
    double center;
    double rest;
    double squares; /**< the sum of the squared distances from the mean */
} gops_moments;

/** Adds the elements of `other` to those of `moments`: the update of Chan, Golub and LeVeque
 * ("Updating formulae and a pairwise algorithm for computing sample variances", 1979). */
static inline void gops_moments_merge(gops_moments *moments, const gops_moments *other)
{
    const double count = moments->count + other->count;
    const double weight = other->count / count;
    const double distance = (other->center - moments->center) + (other->rest - moments->rest);
    moments->rest += distance * weight;
    moments->squares += other->squares + distance * distance * (moments->count * weight);
    moments->count = count;
}

/** What one execution works on. Buffers have the sizes of their descriptors, with the gaps between channels if there
 * are any (gops_options.data_channel_stride), and are aligned to their elements. The output must not overlap any
 * input, which is not checked, with two exceptions: it may be the residual's own buffer, if their elements are
 * equally large, and a normalization's may be its data. The two then have the same strides.
 *
 * What an earlier call has left in a field that does not matter here does no harm. Not read, and so
 * allowed to hold anything: filter of a normalization, scale of a convolution, residual_stride
 * without a residual, workspace_bytes without a workspace, slopes of another activation than prelu.
 * Refused by name, since the caller would wait for something that does not come: mean, variance and
 * moments of a convolution, data_zero_point of a plan that is not quantized.
 */
typedef struct gops_arguments {
    size_t size; /**< sizeof(gops_arguments): groupops/sized.h */
    const void *data;
    const gops_packed_filter *filter; /**< convolutions */
    const void *scale;                /**< normalization: required */
    /** Normalization: required. Convolutions: NULL, or one value for each of the G * C_OUT output
     * channels, which is added: of the output's type, or of i32 where the plan is quantized: a
     * float bias is for the caller to divide by data_scale * filter_scales[o] and to round. */
    const void *bias;
    void *output;
    /** NULL, or a tensor like the output, added before the activation, or after it:
     * gops_options.residual_type, residual_after_activation. */
    const void *residual;
    /** Normalization, NULL or written: [N, num_groups] means and population variances, doubles for
     * f64 data and floats for all others. With GOPS_MOMENTS_GIVEN and without `moments` they are
     * read. */
    void *mean;
    void *variance;
    /** Quantized plans: one value of the data's type that stands for 0, in the padding too. NULL: the
     * filter's gops_quantization.data_zero_point. */
    const void *data_zero_point;
    /** NULL: gops_execute takes workspace_bytes (gops_plan_info) from the plan's allocator and gives
     * them back. Else at least that many bytes at a multiple of GOPS_WORKSPACE_ALIGNMENT, whatever
     * they hold, for this call alone; then nothing is allocated. */
    void *workspace;
    size_t workspace_bytes;
    /** Elements from the beginning of one image to that of the next, for a tensor that is a slice of
     * the channels of a larger one, so that concat and split need no copy; 0: dense. At least the
     * elements of an image, its gaps counted. Whoever shares memory with the output shares its stride. */
    int64_t data_stride;
    int64_t output_stride;
    int64_t residual_stride;
    /** prelu: one slope for each of the G * C_OUT output channels, of the output's type. */
    const void *slopes;
    /** Normalization, NULL or written: [N, num_groups]; with GOPS_MOMENTS_GIVEN, read in place of
     * mean and variance, which then are NULL. */
    gops_moments *moments;
} gops_arguments;

#define GOPS_ARGUMENTS_INIT GOPS_SIZED_INIT(gops_arguments)

/** The length of a cache line and of the widest vector, so that vectors do not lie across two lines
 * and threads do not share one. malloc and calloc promise less: leave `workspace` NULL, take
 * aligned_alloc, or ask malloc for GOPS_WORKSPACE_ALIGNMENT - 1 bytes more and round up:
 *
 *     char *memory = malloc(info.workspace_bytes + GOPS_WORKSPACE_ALIGNMENT - 1);
 *     arguments.workspace = memory + -(uintptr_t)memory % GOPS_WORKSPACE_ALIGNMENT;
 *     arguments.workspace_bytes = info.workspace_bytes;
 */
#define GOPS_WORKSPACE_ALIGNMENT 64

/** Runs the plan. Reads the inputs, and writes all of the output, the workspace, and the mean, variance and moments
 * that are to be written, and nothing else; takes no lock, but over OpenBLAS's serial build. A plan with an empty
 * output does nothing, and reads no buffer or filter. GOPS_INVALID: an argument is NULL, misaligned or too small, the
 * filter was packed for another layout, its residual_zero_point is not in the type of the residual, its sum_scale
 * does not fit the plan's residual and activation or no residual is given, or a plan with GOPS_MOMENTS_ONLY has
 * nowhere to write them. GOPS_TOO_LARGE: images at a stride are beyond the address space. GOPS_OUT_OF_MEMORY: no
 * workspace was given and none could be had. GOPS_HOST_FAILED: parallel_for said so. */
GOPS_API gops_status gops_execute(const gops_plan *plan, const gops_arguments *arguments,
                                  gops_error *error);

/** The whole names of the algorithms by number, from 0; NULL beyond the last. Constant strings. Where
 * an algorithm has several forms it has a name for each, with a slash: "depthwise/masked". A form
 * that an instruction set has no kernels for is listed all the same, and serves no shape there. */
GOPS_API const char *gops_algorithm_name(int32_t index);

/** The instruction sets that the library was built for, best last, from 0; NULL beyond the last.
 * *runs, unless NULL, tells whether this processor has it; for "amx" the kernel is asked to permit
 * the process its registers. "amx_emulated" does in plain C, slowly, what AMX and AVX512-BF16 do,
 * for tests: it runs everywhere, and is used only where GROUPOPS_ISA names it. */
GOPS_API const char *gops_isa_name(int32_t index, bool *runs);

/** The instruction set that plans made now use: the best that runs, or the one that the environment
 * variable GROUPOPS_ISA names. NULL, and plan creation refused, when that is not one that runs. */
GOPS_API const char *gops_isa(void);

/** The BLAS that runs, as it names itself ("OpenBLAS 0.3.21 ..."); a constant string. It need not be
 * the one that the library was built with: a host that links another build of it gets that one. */
GOPS_API const char *gops_blas(void);

/** The processor whose kernels that BLAS runs on this one, by its own name for it ("Haswell", of
 * BLIS "zen3"); "reference" for the reference BLAS. A BLAS that is older than the processor may
 * take kernels that are several times slower than need be; plans know how fast each is. A constant
 * string. */
GOPS_API const char *gops_blas_core(void);

#ifdef __cplusplus
}
#endif

#endif
