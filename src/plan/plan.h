/*
 * plan/plan.h: what is decided once for a shape, and how an algorithm plugs in.
 *
 * An algorithm has a gops_method for each operation that it serves: a folder in methods/ and rows
 * in methods/table.c. Its `prepare` plans, `pack` packs the weights, and `run` executes one of the
 * plan's work items. Items do not depend on each other: each output element is written by one item,
 * always in the same way, whichever others the item writes. `prepare` finds in `workers` how many
 * threads are wanted, and may cut the items by that, but must not estimate by it. If some items need
 * the results of others, the plan has a barrier between them and shared workspace for these results.
 */
#ifndef GOPS_PLAN_PLAN_H
#define GOPS_PLAN_PLAN_H

#include <groupops/plan.h>

#include "base/checked.h"
#include "base/machine.h"
#include "geometry/geometry.h"
#include "types/types.h"

#include <stddef.h>

typedef enum gops_operation {
    GOPS_OPERATION_CONV,
    GOPS_OPERATION_DECONV,
    GOPS_OPERATION_NORM,
} gops_operation;

/* What a packed filter of a quantized plan has besides its weights: values for each of the G * C_OUT
 * output channels, and for all. */
typedef struct gops_quantized {
    const int32_t *zero_points; /* of the filter */
    const float *scales;        /* data_scale * filter_scales[o] */
    const float *multipliers;   /* the same over output_scale, or over sum_scale if that is not 0 */
    float max_multiplier;
    float output_scale, residual_scale, sum_scale;
    int32_t data_zero, output_zero, residual_zero, sum_zero;
    /* With a sum_scale: gops_requantize_sum, the part that the filter decides. */
    float sum_ratios[2], sum_constant;
    bool residual_first;
    bool divides; /* v by output_scale, in place of a product with the multiplier */
} gops_quantized;

/* Numbers of a worker in gops_job.kept. */
enum { GOPS_KEPT = 2 };

/* What one execution works on, checked. */
typedef struct gops_job {
    const void *data;
    const void *filter; /* as packed */
    bool nonfinite;     /* the filter is: gops_nonfinite runs */
    const void *scale;
    const void *bias;
    void *output;
    /* Elements between the end of one image and the beginning of the next, 0 where they are dense;
     * gops_data_at and its like count them in. */
    int64_t data_gap, output_gap, residual_gap;
    void *shared; /* the workspace, which begins with shared_bytes for all items */
    /* GOPS_KEPT numbers per worker, -1 before its first item: the method notes here what the worker's
     * workspace still holds. */
    int64_t *kept;
    const gops_quantized *quantized; /* the filter's; NULL unless the plan is */
    uint32_t data_zero; /* the zero point as the type loads it, subtracted from the data */
    const void *residual;
    const void *slopes; /* of prelu */
    bool fused; /* bias, residual or activation are to be applied when storing: post_ops.h */
    void *mean;
    void *variance;
    gops_moments *moments;
} gops_job;

/* `zero_points` are those of the filter, one for each of the G * C_OUT output channels; NULL unless
 * the plan is quantized. */
typedef void gops_pack_fn(const gops_plan *plan, const void *weights, const int32_t *zero_points,
                          void *packed);

typedef struct gops_method {
    const char *name; /* the whole one: "gemm", "depthwise/masked" */
    gops_operation operation;
    /* Reads the plan's geometry, type, machine and kernels; fills in items, worker_bytes,
     * filter_bytes, cost, why and its own parameters, and, where it wants them, barrier and
     * shared_bytes, which are 0 before. Plans whose worker_bytes and shared_bytes are more than
     * worker_limit together are refused (choose.c). The output is not empty. GOPS_UNSUPPORTED, with
     * the reason, where it does not serve the shape; GOPS_INVALID where worker_limit is too small. Only
     * items and the workspace may depend on `workers`: the cost, which chooses the method and so the bits,
     * and whether the plan is refused may not. */
    gops_status (*prepare)(gops_plan *plan, int64_t worker_limit, gops_error *error);
    /* Writes filter_bytes of packed weights; NULL for an operation without weights. Methods that
     * have this function in common take each other's filters. */
    gops_pack_fn *pack;
    /* Does one item; `workspace` is worker_bytes that no other call uses at the same time. */
    void (*run)(const gops_plan *plan, const gops_job *job, int64_t item, void *workspace);
    /* Serves quantized plans: gives gops_store the sums of (data - data_zero) * (filter -
     * zero_points), modulo 2^32. */
    bool quantized;
    /* Multiplies floats by the plan's GEMM. */
    bool calls_gemm;
    /* Adds up the floats of an output in an order that depends on other outputs, so that a part of them
     * may have other bits. */
    bool indivisible;
    /* Makes no padded copy, and so serves attributes that span any number of pixels. */
    bool any_span;
    /* How many items there are, where `prepare` does not say: it is NULL then. */
    int64_t (*items)(const gops_plan *plan);
} gops_method;

/* All methods, ended by NULL; of two that cost the same the earlier one is chosen. */
extern const gops_method *const gops_methods[];

/* What runs instead of any of them where a filter has NaN or infinite weights. It has no `prepare`:
 * it runs plans of convolutions and transposed ones that others have prepared, and takes weights as they were given. */
extern const gops_method gops_nonfinite;

/* What the method's estimates are multiplied by, for kernels with vectors of so many bytes:
 * table.c. */
double gops_estimate_scale(const gops_method *method, int64_t vector_bytes);

/* The time of a cycle in the methods' estimates, which were fitted on a Zen 5 with AVX-512. Other processors differ by
 * a factor that is much the same for all methods. */
#define GOPS_NS_PER_CYCLE 0.26

/* Everything that a packed filter depends on: plans with equal layouts take each other's filters.
 * Layouts are compared byte by byte, so the struct has no padding and is filled with zeros first.
 */
typedef struct gops_filter_layout {
    gops_pack_fn *pack;
    const gops_kernels *kernels;
    int64_t groups, channels_in, channels_out;
    int64_t kernel[GOPS_MAX_SPATIAL];
    int64_t axes;
    int64_t data_type, filter_type;
    int64_t output_type;
    int64_t quantized;
    int64_t relaxed;
    int64_t saturate; /* of 8-bit floats, which filter_scales may take beyond their range */
    int64_t variant;  /* the method's own */
} gops_filter_layout;

/* What a plan was made from, except the data: reshape makes a plan for other data from it. */
typedef struct gops_origin {
    gops_tensor filter;
    union {
        gops_conv_attributes conv;
        gops_deconv_attributes deconv;
        gops_norm_attributes norm;
    } attributes;
    int32_t threads;
    int64_t max_workspace;
    gops_type residual_type;                            /* 0: the output's */
    int64_t data_channel_stride, output_channel_stride; /* gops_options; 0: no gap */
} gops_origin;

enum {
    GOPS_PARAMETER_BYTES = 640,
    GOPS_WHY_BYTES = 600,
    /* The filter_variant of a plan with an empty output. It packs nothing, so its filter must not
     * fit any other plan. */
    GOPS_EMPTY_VARIANT = -1,
    /* The default budget of a thread: max_workspace of groupops/options.h. */
    GOPS_DEFAULT_WORKER_BYTES = 4 << 20,
};

struct gops_plan {
    gops_operation operation;
    /* Items in work at once, at most: threads that have workspace. For `prepare`: how many are wanted. */
    int32_t workers;
    gops_conv_geometry conv; /* conv and deconv */
    gops_norm_geometry norm;
    gops_shape shape;
    const gops_kernels *kernels;
    const gops_type_row *type;          /* of the data, and in general of all */
    const gops_type_row *filter_type;   /* has the same compute type */
    const gops_type_row *output_type;   /* too, unless the plan is quantized */
    const gops_type_row *residual_type; /* output_type, unless the plan is quantized */
    bool quantized;      /* groupops/quantization.h; sums are those of 32 bits of `type` */
    bool saturate;       /* gops_options */
    bool relaxed;        /* gops_options.accuracy */
    bool residual_after; /* gops_options.residual_after_activation, of plans with an activation */
    gops_moments_use moments;
    bool is_part; /* of another plan, by gops_plan_part: methods serve it at whatever cost */
    /* In which order the method adds the floats of an output, where it has several: a number of its
     * own, which `prepare` sets. A part finds that of the whole plan in it, and must keep to it. */
    int32_t order;
    gops_activation activation;
    gops_machine machine;
    gops_host host; /* complete but for gemm and log */
    gops_gemm gemm; /* complete */
    const gops_method *method;
    /* Elements from one channel to the next: its pixels, and a gap where gops_options wants one. */
    int64_t data_plane, output_plane;
    int64_t image_data;    /* elements of one image of the data, the gaps counted */
    int64_t image_outputs; /* and of the output */
    int64_t items;
    int64_t barrier;      /* items from this one on begin when all before it are done; 0: none */
    int64_t worker_bytes; /* a multiple of GOPS_WORKSPACE_ALIGNMENT, as is shared_bytes */
    int64_t shared_bytes; /* of the workspace, in front of the workers' */
    int64_t apart_bytes;  /* in front of each worker's: choose.c */
    int64_t filter_bytes;
    int64_t filter_variant;
    /* Not 0: `prepare` must choose this filter_variant, or refuse. */
    int64_t wanted_variant;
    gops_origin origin;
    double cost; /* estimated nanoseconds of one execution on one thread */
    gops_filter_layout layout;
    char why[GOPS_WHY_BYTES];
    /* The method's own; each asserts that it fits. */
    union {
        max_align_t align;
        unsigned char bytes[GOPS_PARAMETER_BYTES];
    } parameters;
};

/* The method's own. */
static inline void *gops_parameters(gops_plan *plan)
{
    return plan->parameters.bytes;
}

static inline const void *gops_read_parameters(const gops_plan *plan)
{
    return plan->parameters.bytes;
}

/* Lays out a part of the workspace behind those that end at *end: returns where it begins. */
static inline int64_t gops_reserve(int64_t *end, int64_t bytes)
{
    const int64_t begin = *end;
    *end = gops_min(gops_add_saturate(begin, bytes), INT64_MAX - GOPS_WORKSPACE_ALIGNMENT);
    *end = gops_round_up(*end, GOPS_WORKSPACE_ALIGNMENT);
    return begin;
}

/* Bytes that one execution needs. */
static inline size_t gops_workspace_bytes(const gops_plan *plan)
{
    return (size_t)plan->shared_bytes +
           (size_t)(plan->apart_bytes + plan->worker_bytes) * (size_t)plan->workers;
}

/* Axis a of Z, Y and X; one that the operation, which has three at most, lacks has length 1. */
static inline gops_axis gops_zyx_axis(const gops_conv_geometry *conv, int a)
{
    const int at = a - 3 + conv->axes;
    return at >= 0 ? conv->axis[at]
                   : (gops_axis){.data = 1, .kernel = 1, .output = 1, .stride = 1, .dilation = 1};
}

/* Whether each output pixel of a convolution reads the data pixel of its own number alone: the data is the column
 * matrix, and all pixels may be taken as those of one axis. */
static inline bool gops_conv_is_pointwise(const gops_conv_geometry *conv)
{
    for (int a = 0; a < conv->axes; a++) {
        const gops_axis *axis = &conv->axis[a];
        if (axis->kernel != 1 || axis->stride != 1 || axis->output != axis->data) {
            return false;
        }
    }
    return true;
}

/* How many items many threads want, so that one that is held up leaves some to the others. */
static inline int64_t gops_items_for_threads(const gops_plan *plan)
{
    enum { MOST = 1 << 16 };
    return gops_min(2 * (int64_t)plan->workers, MOST);
}

/* Images in the data. */
static inline int64_t gops_batch(const gops_plan *plan)
{
    return plan->operation == GOPS_OPERATION_NORM ? plan->norm.batch : plan->conv.batch;
}

static inline int64_t gops_flops(const gops_plan *plan)
{
    return plan->operation == GOPS_OPERATION_NORM ? plan->norm.flops : plan->conv.flops;
}

/* Whether there are gaps between the channels of the data or the output. */
static inline bool gops_has_channel_gaps(const gops_plan *plan)
{
    const bool is_norm = plan->operation == GOPS_OPERATION_NORM;
    const int64_t in = is_norm ? plan->norm.pixels : plan->conv.data_pixels;
    const int64_t out = is_norm ? plan->norm.pixels : plan->conv.output_pixels;
    return plan->data_plane > in || plan->output_plane > out;
}

/* The address of an element, which is counted as if images followed each other; `image` is the element's
 * image. */
static inline const void *gops_data_at(const gops_plan *plan, const gops_job *job, int64_t image,
                                       int64_t element)
{
    return (const unsigned char *)job->data + (element + image * job->data_gap) * plan->type->bytes;
}

static inline void *gops_output_at(const gops_plan *plan, const gops_job *job, int64_t element)
{
    const int64_t image = job->output_gap != 0 ? element / plan->image_outputs : 0;
    return (unsigned char *)job->output +
           (element + image * job->output_gap) * plan->output_type->bytes;
}

static inline const void *gops_residual_at(const gops_plan *plan, const gops_job *job,
                                           int64_t element)
{
    const int64_t image = job->residual_gap != 0 ? element / plan->image_outputs : 0;
    return (const unsigned char *)job->residual +
           (element + image * job->residual_gap) * plan->residual_type->bytes;
}

/* Whether the residual is the output buffer: then it must be added before the output is
 * overwritten. */
static inline bool gops_adds_in_place(const gops_job *job)
{
    return job->residual != NULL && job->residual == job->output;
}

struct gops_packed_filter {
    gops_filter_layout layout;
    gops_host host;
    void *packed;
    bool nonfinite; /* has NaN or infinite weights: they lie in `packed` as they were given */
    gops_quantized quantized; /* its arrays lie between this struct and `packed` */
};

/* plan/filter_layout.c: GOPS_INVALID, with what differs, where the filter was packed for another layout than
 * the plan's. `name` is the argument's. */
gops_status gops_check_layout(const char *name, const gops_packed_filter *filter,
                              const gops_plan *plan, gops_error *error);

/* quantization.c: what a quantized plan's filter has besides its weights. */

/* The bytes of the arrays of gops_quantized; 0 unless the plan is quantized. */
int64_t gops_quantized_bytes(const gops_plan *plan);

/* Whether the zero point is a value of the type; of types that have none it is not read. */
gops_status gops_check_zero_point(const char *name, int32_t zero, const gops_type_row *type,
                                  gops_error *error);

/* Reads and checks what the caller gave, NULL for nothing. Errors are those of gops_filter_create.
 */
gops_status gops_quantization_read(const gops_plan *plan, const gops_quantization *given,
                                   gops_quantization *read, gops_error *error);

/* What the weights of an output channel are multiplied with where a floating point plan was given
 * filter_scales. */
double gops_multiplier(const gops_plan *plan, const gops_quantization *read, int64_t channel);

/* Folds what was read; writes gops_quantized_bytes to `arrays`. */
void gops_quantization_fold(const gops_plan *plan, const gops_quantization *read, void *arrays,
                            gops_quantized *folded);

/* arguments.c: checks plan and arguments, whatever the size of these, and fills in *job; nothing of
 * it where the plan has no items. job->shared is the workspace that was given. Errors are those of
 * gops_execute. */
gops_status gops_read_arguments(const gops_plan *plan, const gops_arguments *given, gops_job *job,
                                gops_error *error);

#endif
