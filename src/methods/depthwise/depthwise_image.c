/*
 * depthwise_image.c: `direct` on the image itself, without a padded copy: depthwise
 * convolution in two dimensions and floating point, strides of 1 or 2, where the instruction set
 * loads with a mask. In two forms: "lanes" loads each row once and moves lanes
 * (depthwise_shuffle.isa.c), for the usual square kernels, and the transposed form with stride 2;
 * "masked" loads for each tap (depthwise_masked.inc.h), for more.
 *
 * A work item is some channels, or some rows of one where the channels are few. There is no
 * workspace but for a residual that lies in the output, in whose place the sums must not go; and
 * for f16, bf16 and the 8-bit floats: as many images as the first level cache holds are converted
 * there, and their sums from there.
 */
#include "methods/depthwise/depthwise_method.h"
#include "methods/methods.h"

#include "base/checked.h"
#include "base/error.h"
#include "methods/depthwise/depthwise.h"
#include "post_ops/post_ops.h"
#include "post_ops/epilogue.h"

#include <assert.h>
#include <stdio.h>

enum {
    /* The least items to divide the work into, so that threads find some, and evenly. */
    SHARES = 32,
    /* Nanoseconds, for items not to be too short: what surrounds one takes some tens. */
    MIN_COST = 600,
    /* Channels of types to convert, of which images are not cut. */
    MIN_CONVERTED = SHARES / 2,
    /* Filters beyond this in an item no longer save anything. */
    MAX_FILTERS = 64,
    /* The rows of a tile of the kernels. */
    TILE_ROWS = 14,
    /* Outputs of an item beyond this no longer save anything, and room is kept for as many. */
    MAX_OUTPUTS = 1 << 16,
};

typedef struct parameters {
    gops_depthwise_axis axis[3];
    gops_depthwise_image_fn *kernel;
    int64_t row_block, row_blocks; /* rows of outputs of an item; how many make an image */
    int64_t filters;               /* output channels of all images */
    int64_t filter_block;          /* of an item */
    int64_t batch;                 /* of a call of the kernel */
    int converts;
    int64_t copy_bytes; /* of the data, in the workspace, before the sums */
} parameters;

static_assert(sizeof(parameters) <= GOPS_PARAMETER_BYTES, "parameters outgrow the plan's room");
static_assert((int)MAX_FILTERS <= (int)GOPS_EPILOGUE_CHANNELS,
              "biases of a call outgrow their room");

static const parameters *read_own(const gops_plan *plan)
{
    return (const parameters *)(const void *)plan->parameters.bytes;
}

static int is_flat(const gops_depthwise_axis *z)
{
    return z->data == 1 && z->pad == 0 && z->output == 1 && z->kernel == 1;
}

static gops_depthwise_image_fn *choose_masked(const gops_plan *plan, const parameters *p)
{
    const gops_depthwise_axis *y = &p->axis[1], *x = &p->axis[2];
    const int taps = y->kernel == 3 || y->kernel == 5 || y->kernel == 7;
    const int by_1 = y->stride == 1 && x->stride == 1;
    const int by_2 = y->stride == 2 && x->stride == 2 && y->dilation == 1 && x->dilation == 1 &&
                     y->kernel == x->kernel;
    return taps && (by_1 || by_2) ? plan->kernels->depthwise->masked[plan->type->compute] : NULL;
}

static gops_depthwise_image_fn *choose_lanes(const gops_plan *plan, const parameters *p)
{
    enum { PAIRED = 8, APART = 16 }; /* the longest rows of the kernels of that name */
    const gops_depthwise_shuffle_kernels *kernels =
        &plan->kernels->depthwise->shuffle[plan->type->compute];
    const gops_depthwise_axis *y = &p->axis[1], *x = &p->axis[2];
    const int64_t taps = y->kernel, half = taps / 2;
    if (x->kernel != taps || (taps != 3 && taps != 5 && taps != 7) || x->stride != y->stride ||
        x->dilation != y->dilation) {
        return NULL;
    }
    const int dense = y->dilation == 1, single = y->stride == 1;
    const int same_x = x->output == x->data && x->pad == half * x->dilation;
    const int same_y = y->output == y->data && y->pad == half * y->dilation;
    if (dense && y->stride == 2 && gops_max(y->data, x->data) <= APART &&
        gops_max(y->output, x->output) <= APART / 2 && (y->pad == half || y->pad == half - 1)) {
        return kernels->apart;
    }
    if (dense && single && same_x && same_y && gops_max(y->data, x->data) <= PAIRED &&
        kernels->pairs != NULL) {
        return kernels->pairs;
    }
    return y->dilation <= 2 && single && same_x && taps <= 5 ? kernels->stream : NULL;
}

static gops_depthwise_image_fn *choose_spread(const gops_plan *plan, const parameters *p)
{
    const gops_depthwise_axis *y = &p->axis[1], *x = &p->axis[2];
    const int square = y->kernel == x->kernel && y->kernel >= 2 && y->kernel <= 4;
    const int by_2 = y->stride == 2 && x->stride == 2 && y->dilation == 1 && x->dilation == 1;
    return square && by_2 ? plan->kernels->depthwise->shuffle[plan->type->compute].spread : NULL;
}

/* Vectors of outputs of a channel, of one row each. */
static double vectors_of(const gops_plan *plan, const parameters *p)
{
    const int64_t lanes = plan->kernels->vector_bytes / gops_compute_bytes(plan->type->compute);
    return (double)p->axis[1].output * (double)gops_ceil_div(p->axis[2].output, lanes);
}

/* Estimated nanoseconds of a filter on one thread: constants fitted to 12 layers of f32 of 7 to 112
 * columns on a Zen 5 with AVX-512, which they meet within 15%, dilated ones within 30%. */
static double estimate_masked(const gops_plan *plan, const parameters *p)
{
    static const double filter = 8, vector[] = {0.8, 2.0}, tap[] = {0.12, 0.18}; /* by stride */
    const int by_2 = p->axis[2].stride == 2;
    return filter + vectors_of(plan, p) * (vector[by_2] + (double)plan->conv.taps * tap[by_2]);
}

/* The same for the kernels that move lanes, of which two compute 4 vectors of 2 rows whatever the
 * image has: fitted to 15 layers of 7 to 112 columns. */
static double estimate_lanes(const gops_plan *plan, const parameters *p)
{
    static const double filter = 2, tap = 0.15, pairs = 4 * 0.16, apart = 4 * 0.24;
    const gops_depthwise_shuffle_kernels *kernels =
        &plan->kernels->depthwise->shuffle[plan->type->compute];
    const double taps = (double)plan->conv.taps;
    return filter + taps * (p->kernel == kernels->pairs   ? pairs
                            : p->kernel == kernels->apart ? apart
                                                          : tap * vectors_of(plan, p));
}

/* The same for the transposed form, whose vectors come in pairs: fitted to 6 layers of 32 to 256
 * columns. */
static double estimate_spread(const gops_plan *plan, const parameters *p)
{
    static const double filter = 5, strip = 5, vector = 0.35, tap = 0.15;
    const int64_t lanes = plan->kernels->vector_bytes / gops_compute_bytes(plan->type->compute);
    const double strips = (double)gops_ceil_div(p->axis[2].output, 2 * lanes);
    const double vectors = 2 * strips * (double)p->axis[1].output;
    return filter + strips * strip + vectors * (vector + tap * (double)plan->conv.taps / 4);
}

/* What the conversion to floats and from them adds to a filter: fitted to f16 and bf16 on images of
 * 7 to 56 columns, which take 1.2 to 2 times what f32 does. */
static double estimate_conversion(const gops_conv_geometry *conv)
{
    static const double filter = 3, element = 0.035;
    return filter + element * (double)(conv->data_pixels + conv->output_pixels);
}

/* Types that kernels take as they are, and those that `converts` is for. */
static int is_offered(const gops_plan *plan, const parameters *p)
{
    const gops_conv_geometry *conv = &plan->conv;
    if (!p->converts) {
        return plan->output_type->plain;
    }
    const int64_t pixels = gops_mul_saturate(gops_max(conv->data_pixels, conv->output_pixels),
                                             2 * gops_compute_bytes(plan->type->compute));
    return plan->type->store_wrapped == NULL && plan->output_type == plan->type &&
           p->filters >= MIN_CONVERTED && conv->output_pixels <= MAX_OUTPUTS &&
           pixels <= plan->machine.l2_bytes / 2;
}

/* Items, and calls of the kernel. */
static void cut(const gops_plan *plan, parameters *p, double cost)
{
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t rows = p->axis[1].output;
    const int64_t least = gops_max(SHARES / p->filters, conv->output_pixels / MAX_OUTPUTS);
    const int64_t blocks = gops_clamp(least, 1, gops_ceil_div(rows, TILE_ROWS));
    p->row_block = gops_min(rows, gops_round_up(gops_ceil_div(rows, blocks), TILE_ROWS));
    p->filter_block =
        gops_clamp(gops_max(p->filters / SHARES, (int64_t)(MIN_COST / cost)), 1, MAX_FILTERS);
    p->batch = p->filter_block;
    if (p->converts) {
        const int64_t bytes =
            (conv->data_pixels + conv->output_pixels) * gops_compute_bytes(plan->type->compute);
        p->row_block = rows;
        p->batch = gops_clamp(plan->machine.l1_bytes / 2 / bytes, 1, p->filter_block);
    }
    p->row_blocks = gops_ceil_div(rows, p->row_block);
}

/* Bytes of an item, and of them those of the copy; saturated. */
static int64_t workspace(const gops_plan *plan, parameters *p)
{
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t size = gops_compute_bytes(plan->type->compute);
    if (!p->converts) {
        return gops_mul_saturate(gops_mul_saturate(p->row_block, p->axis[2].output), size);
    }
    const int64_t planes = gops_ceil_div(p->batch + conv->channels_out - 1, conv->channels_out);
    p->copy_bytes = gops_round_up(planes * conv->data_pixels * size, GOPS_WORKSPACE_ALIGNMENT);
    return p->copy_bytes + p->batch * conv->output_pixels * size;
}

/* `choose` has the kernel, or NULL for what it does not serve; `serves` says what it does. */
static gops_status prepare(gops_plan *plan, int64_t slot_limit, gops_error *error,
                           gops_depthwise_image_fn *(*choose)(const gops_plan *,
                                                              const parameters *),
                           double (*estimate)(const gops_plan *, const parameters *),
                           const char *serves, const char *padding)
{
    const gops_conv_geometry *conv = &plan->conv;
    parameters *p = (parameters *)(void *)plan->parameters.bytes;
    *p = (parameters){.filters = conv->batch * conv->groups * conv->channels_out,
                      .converts = !plan->type->plain};
    const gops_status status = gops_depthwise_axes(plan, p->axis, error);
    if (status != GOPS_OK) {
        return status;
    }
    if (is_flat(&p->axis[0]) && is_offered(plan, p)) {
        p->kernel = choose(plan, p);
    }
    if (p->kernel == NULL) {
        return gops_fail(error, GOPS_UNSUPPORTED,
                         "%s, where the instruction set has masks; smaller floats where their "
                         "channels are %d or more and stay in the cache",
                         serves, MIN_CONVERTED);
    }
    const double cost = estimate(plan, p) + (p->converts ? estimate_conversion(conv) : 0);
    cut(plan, p, cost);
    plan->items = gops_ceil_div(p->filters, p->filter_block) * p->row_blocks;
    plan->slot_bytes = workspace(plan, p);
    if (plan->slot_bytes > slot_limit - 2 * GOPS_WORKSPACE_ALIGNMENT) {
        return gops_fail(error, GOPS_UNSUPPORTED,
                         "direct without a copy has room for %lld bytes of %lld columns",
                         (long long)slot_limit, (long long)p->axis[2].output);
    }
    plan->slot_bytes = gops_round_up(plan->slot_bytes, GOPS_WORKSPACE_ALIGNMENT);
    plan->filter_bytes = gops_depthwise_filter_bytes(plan);
    plan->cost = (double)p->filters * cost;
    snprintf(plan->why, sizeof plan->why,
             "one channel a group: sliding window over the image where it lies, %s, "
             "%lld rows of %lld filters an item",
             padding, (long long)p->row_block, (long long)p->filter_block);
    return GOPS_OK;
}

static gops_status prepare_masked(gops_plan *plan, int64_t slot_limit, gops_error *error)
{
    return prepare(plan, slot_limit, error, choose_masked, estimate_masked,
                   "direct/masked serves f32 in two dimensions with 3, 5 or 7 taps along y",
                   "padding masked off");
}

static gops_status prepare_lanes(gops_plan *plan, int64_t slot_limit, gops_error *error)
{
    return prepare(
        plan, slot_limit, error, choose_lanes, estimate_lanes,
        "direct/lanes serves f32 and f64 in two dimensions with 3 x 3 or 5 x 5 taps and "
        "as many columns as the data has, and f32 of small images with 7 x 7 or stride 2",
        "each row loaded once and its lanes moved");
}

static gops_status prepare_spread(gops_plan *plan, int64_t slot_limit, gops_error *error)
{
    return prepare(plan, slot_limit, error, choose_spread, estimate_spread,
                   "direct/lanes serves f32 and f64 in two dimensions with 2 x 2 to 4 x 4 taps, "
                   "stride 2 and dilation 1",
                   "every second output in a vector, and two such interleaved");
}

/* How many filters from `filter` on to run in one call: of one image, whose data follow each other,
 * and one at a time if the outputs are wanted while they are in the cache. */
static int64_t batch(const gops_plan *plan, int64_t filter, int64_t end, int single)
{
    const int64_t all = plan->conv.groups * plan->conv.channels_out;
    return single ? 1 : gops_min(gops_min(end - filter, read_own(plan)->batch), all - filter % all);
}

/* The data of the filters in floats. */
static const void *converted(const gops_plan *plan, const gops_depthwise_image *image,
                             void *workspace)
{
    const int64_t planes = gops_ceil_div(image->done + image->filters, image->shared);
    plan->type->load(workspace, image->data, planes * plan->conv.data_pixels);
    return workspace;
}

/* Fuses and stores the sums that are not in their places. */
static void store(const gops_plan *plan, const gops_job *job, const gops_depthwise_image *image,
                  int64_t channel, int64_t start, unsigned char *sums)
{
    const int64_t pixels = plan->conv.output_pixels, rows = image->rows * image->columns;
    const int64_t size = gops_compute_bytes(plan->type->compute);
    if (!job->fused && rows == pixels) {
        gops_store(plan, job, channel, start, image->filters * pixels, sums);
        return;
    }
    for (int64_t i = 0; i < image->filters; i++) {
        gops_store(plan, job, channel + i, start + i * pixels, rows, sums + i * pixels * size);
    }
}

static void run(const gops_plan *plan, const gops_job *job, int64_t item, void *workspace)
{
    const parameters *p = read_own(plan);
    const gops_conv_geometry *conv = &plan->conv;
    const gops_depthwise_axis *y = &p->axis[1], *x = &p->axis[2];
    const gops_epilogue trim = gops_epilogue_read(plan, job, 0);
    const gops_job *rest = trim.applies ? &trim.rest : job;
    const int apart = gops_adds_in_place(job) || p->converts;
    const int64_t size = gops_compute_bytes(plan->type->compute);
    unsigned char *sums = (unsigned char *)workspace + p->copy_bytes;
    gops_epilogue_values bias;
    gops_depthwise_image image = {
        .shared = conv->channels_out,
        .height = y->data,
        .width = x->data,
        .first = item % p->row_blocks * p->row_block,
        .columns = x->output,
        .image_rows = y->output,
        .kernel_y = y->kernel,
        .kernel_x = x->kernel,
        .pad_y = y->pad,
        .pad_x = x->pad,
        .dilation_y = y->dilation,
        .dilation_x = x->dilation,
        .stride = x->stride,
        .bounds = trim.applies ? &trim.bounds : NULL,
        .bias = &bias,
    };
    image.rows = gops_min(p->row_block, y->output - image.first);
    int64_t filter = item / p->row_blocks * p->filter_block;
    const int64_t end = gops_min(filter + p->filter_block, p->filters);
    for (; filter < end; filter += image.filters) {
        const int64_t plane = filter / conv->channels_out;
        const int64_t channel = filter % (conv->groups * conv->channels_out);
        const int64_t start = filter * conv->output_pixels + image.first * image.columns;
        image.filters = batch(plan, filter, end, rest->fused && !p->converts);
        image.done = filter % conv->channels_out;
        image.data = gops_data_at(plan, job, plane / conv->groups, plane * conv->data_pixels);
        image.weights = (const char *)job->filter + channel * conv->taps * size;
        if (trim.applies) {
            gops_epilogue_bias(plan, job, channel, 1, image.filters, image.filters, &bias);
        }
        if (p->converts) {
            image.data = converted(plan, &image, workspace);
        }
        image.output = apart ? sums : gops_output_at(plan, job, start);
        p->kernel(&image);
        if (rest->fused || p->converts) {
            store(plan, rest, &image, channel, start, image.output);
        }
    }
}

const gops_method gops_depthwise_masked_conv = {
    .algorithm = "direct",
    .form = "masked",
    .operation = GOPS_OPERATION_CONV,
    .prepare = prepare_masked,
    .pack = gops_depthwise_pack,
    .run = run,
};

const gops_method gops_depthwise_shuffle_conv = {
    .algorithm = "direct",
    .form = "lanes",
    .operation = GOPS_OPERATION_CONV,
    .prepare = prepare_lanes,
    .pack = gops_depthwise_pack,
    .run = run,
};

const gops_method gops_depthwise_shuffle_deconv = {
    .algorithm = "direct",
    .form = "lanes",
    .operation = GOPS_OPERATION_DECONV,
    .prepare = prepare_spread,
    .pack = gops_depthwise_pack,
    .run = run,
};
