/*
 * depthwise_image.c: plans the forms that read the image where it lies, without a padded copy:
 * depthwise convolutions in two dimensions and floating point, strides of 1 or 2, where the
 * instruction set has masked loads.
 *
 * - depthwise/shuffle loads each row once and shuffles lanes (depthwise_shuffle.isa.c). It serves
 *   the usual square kernels, and the transposed form with stride 2.
 * - depthwise/masked loads again for each tap (depthwise_masked.inc.h; by AVX2, and with stride 2,
 *   depthwise_rolling.inc.h and depthwise_bands.inc.h), and serves more shapes.
 *
 * A work item is some output channels (filters), or some rows of one where channels are few. It
 * needs workspace in two cases. Where the residual is the output tensor, sums go to the workspace,
 * so that they do not overwrite the residual. And f16, bf16 and the 8-bit floats are converted
 * there: as many images at a time as fit the first-level cache, with their sums.
 */
#include "methods/depthwise/depthwise_method.h"

#include "base/checked.h"
#include "base/error.h"
#include "methods/depthwise/depthwise.h"
#include "post_ops/epilogue.h"

#include <assert.h>
#include <stdio.h>

enum {
    /* The work is divided into at least so many items, to spread evenly over threads. */
    MIN_ITEMS = 32,
    /* Estimated nanoseconds of an item at least: starting one takes some tens. */
    MIN_COST = 600,
    /* Types that are converted need so many filters: their images are not divided. */
    MIN_CONVERTED = MIN_ITEMS / 2,
    /* More filters in an item save no more time. */
    MAX_FILTERS = 64,
    /* MR, the rows of the masked kernel's highest tile. */
    TILE_ROWS = 14,
    /* gops_plan.order of the shuffle kernel for small images with stride 1, which adds column by column
     * what the rolling one adds row by row. */
    ORDER_BY_COLUMNS = 1,
    /* More outputs in an item save no more time, and the workspace holds as many, or more where rows are long. */
    MAX_OUTPUTS = 1 << 16,
};

typedef gops_depthwise_image_plan image_plan;

static_assert(sizeof(image_plan) <= GOPS_PARAMETER_BYTES, "parameters outgrow the plan's room");
static_assert((int)MAX_FILTERS <= (int)GOPS_EPILOGUE_CHANNELS,
              "biases of a call outgrow gops_epilogue_values");

static const image_plan *image_read(const gops_plan *plan)
{
    return gops_read_parameters(plan);
}

static gops_depthwise_image_fn *choose_masked(const gops_plan *plan, const image_plan *p)
{
    const gops_depthwise_axis *y = &p->axis[1], *x = &p->axis[2];
    const bool taps = y->kernel == 3 || y->kernel == 5 || y->kernel == 7;
    const struct gops_depthwise_forms *forms = plan->kernels->depthwise;
    const bool square = y->kernel == x->kernel;
    const bool by_1 = y->stride == 1 && x->stride == 1 && (square || forms->masked_any_width);
    const bool by_2 =
        y->stride == 2 && x->stride == 2 && y->dilation == 1 && x->dilation == 1 && square;
    return taps && (by_1 || by_2) ? forms->masked[plan->type->compute] : NULL;
}

static gops_depthwise_image_fn *choose_shuffle(const gops_plan *plan, const image_plan *p)
{
    enum { MAX_SMALL_STRIDE1 = 8, MAX_SMALL_STRIDE2 = 16 }; /* rows and columns of their data */
    const gops_depthwise_shuffle_kernels *kernels =
        &plan->kernels->depthwise->shuffle[plan->type->compute];
    const gops_depthwise_axis *y = &p->axis[1], *x = &p->axis[2];
    const int64_t taps = y->kernel, half = taps / 2;
    if (x->kernel != taps || (taps != 3 && taps != 5 && taps != 7) || x->stride != y->stride ||
        x->dilation != y->dilation) {
        return NULL;
    }
    const bool dense = y->dilation == 1, by_1 = y->stride == 1;
    const bool same_x = x->output == x->data && x->pad == half * x->dilation;
    const bool same_y = y->output == y->data && y->pad == half * y->dilation;
    if (dense && y->stride == 2 && gops_max(y->data, x->data) <= MAX_SMALL_STRIDE2 &&
        gops_max(y->output, x->output) <= MAX_SMALL_STRIDE2 / 2 &&
        (y->pad == half || y->pad == half - 1)) {
        return kernels->small_stride2;
    }
    const bool by_columns = plan->order == ORDER_BY_COLUMNS;
    if (dense && by_1 && same_x && same_y && gops_max(y->data, x->data) <= MAX_SMALL_STRIDE1 &&
        kernels->small_stride1 != NULL && (by_columns || !plan->is_part)) {
        return kernels->small_stride1;
    }
    return !by_columns && y->dilation <= 2 && by_1 && same_x && taps <= 5 ? kernels->rolling : NULL;
}

static gops_depthwise_image_fn *choose_transposed(const gops_plan *plan, const image_plan *p)
{
    const gops_depthwise_axis *y = &p->axis[1], *x = &p->axis[2];
    const bool square = y->kernel == x->kernel && y->kernel >= 2 && y->kernel <= 4;
    const bool by_2 = y->stride == 2 && x->stride == 2 && y->dilation == 1 && x->dilation == 1;
    return square && by_2 ? plan->kernels->depthwise->shuffle[plan->type->compute].transposed
                          : NULL;
}

/* The number of vectors of outputs of a filter; a vector holds `width` outputs of one row. */
static double vectors_of(const image_plan *p, int64_t width)
{
    return (double)p->axis[1].output * (double)gops_ceil_div(p->axis[2].output, width);
}

/* Estimated nanoseconds of a filter by depthwise_rolling.inc.h, whose tiles are one vector wide. The
 * constants were fitted to 41 layers of 4 to 112 columns on a Zen 3, whose times they meet within
 * 30%. Rows of less than a vector have masks for all taps. */
static double estimate_rolling(const gops_plan *plan, const image_plan *p)
{
    static const double filter = 1.7, tile = 5.5, tile_tap = 0.25, vector[] = {0.42, 1.5},
                        tap[] = {0.115, 0.18}, masked_tap[] = {0.123, 0.23}; /* by stride */
    const int64_t lanes = gops_depthwise_lanes(plan);
    const bool by_2 = p->axis[2].stride == 2, narrow = p->axis[2].output < lanes;
    const double taps = (double)plan->conv.taps, vectors = vectors_of(p, lanes);
    return filter + vectors / (double)p->axis[1].output * (tile + taps * tile_tap) +
           vectors * (vector[by_2] + taps * (narrow ? masked_tap : tap)[by_2]);
}

/* The same by depthwise_masked.inc.h, and with stride 2 by depthwise_rolling.inc.h, whose tiles are narrower than a
 * vector. The constants of stride 1 were fitted to f32 of 7 to 112 columns on a Zen 5 with AVX-512, and meet those
 * times within 15%, dilated ones within 30%; those of stride 2 to data of 28 to 112 columns on a Xeon (Granite Rapids),
 * within 15%, divided by 1.75, which is what that processor takes of the others' estimates. */
static double estimate_masked(const gops_plan *plan, const image_plan *p)
{
    enum { AVX2_BYTES = 32 };
    if (plan->kernels->vector_bytes == AVX2_BYTES) {
        return estimate_rolling(plan, p);
    }
    static const double filter = 8, vector[] = {0.8, 1.5}, tap[] = {0.12, 0.15}; /* by stride */
    const bool by_2 = p->axis[2].stride == 2;
    const int64_t lanes = gops_depthwise_lanes(plan),
                  width = by_2 ? (2 * lanes - p->axis[2].kernel) / 2 + 1 : lanes;
    return filter + vectors_of(p, width) * (vector[by_2] + (double)plan->conv.taps * tap[by_2]);
}

/* The same for the shuffle kernels, fitted to 15 layers of 7 to 112 columns. Those for small images
 * always compute 4 vectors of 2 rows each. */
static double estimate_shuffle(const gops_plan *plan, const image_plan *p)
{
    static const double filter = 2, tap = 0.15, small_stride1 = 4 * 0.16, small_stride2 = 4 * 0.24;
    const gops_depthwise_shuffle_kernels *kernels =
        &plan->kernels->depthwise->shuffle[plan->type->compute];
    const double taps = (double)plan->conv.taps;
    return filter + taps * (p->kernel == kernels->small_stride1 ? small_stride1
                            : p->kernel == kernels->small_stride2
                                ? small_stride2
                                : tap * vectors_of(p, gops_depthwise_lanes(plan)));
}

/* The same for the transposed form, fitted to 6 layers of 32 to 256 columns. A tile is two vectors
 * of outputs wide. */
static double estimate_transposed(const gops_plan *plan, const image_plan *p)
{
    static const double filter = 5, tile_column = 5, vector = 0.35, tap = 0.15;
    const double tile_columns =
        (double)gops_ceil_div(p->axis[2].output, 2 * gops_depthwise_lanes(plan));
    const double vectors = 2 * tile_columns * (double)p->axis[1].output;
    return filter + tile_columns * tile_column +
           vectors * (vector + tap * (double)plan->conv.taps / 4);
}

/* Estimated nanoseconds that converting to f32 and back adds to a filter, fitted to f16 and bf16 on
 * images of 7 to 56 columns. */
static double estimate_conversion(const gops_conv_geometry *conv)
{
    static const double filter = 3, element = 0.035;
    return filter + element * (double)(conv->data_pixels + conv->output_pixels);
}

/* Whether the types can be read where they lie, or converted. */
static bool is_offered(const gops_plan *plan, const image_plan *p)
{
    const gops_conv_geometry *conv = &plan->conv;
    if (!p->converts) {
        return true;
    }
    const int64_t pixels = gops_max(conv->data_pixels, conv->output_pixels);
    return (plan->is_part || p->filters >= MIN_CONVERTED) && conv->output_pixels <= MAX_OUTPUTS &&
           2 * pixels * gops_compute_bytes(plan->type->compute) <= plan->machine.l2_bytes / 2;
}

/* Divides the work into items, and items into calls of the kernel. */
static void divide_work(const gops_plan *plan, image_plan *p, double cost)
{
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t rows = p->axis[1].output;
    const int64_t min_blocks = gops_max(MIN_ITEMS / p->filters, conv->output_pixels / MAX_OUTPUTS);
    const int64_t blocks = gops_clamp(min_blocks, 1, gops_ceil_div(rows, TILE_ROWS));
    p->row_block = gops_min(rows, gops_round_up(gops_ceil_div(rows, blocks), TILE_ROWS));
    p->filter_block =
        gops_clamp(gops_max(p->filters / MIN_ITEMS, (int64_t)(MIN_COST / cost)), 1, MAX_FILTERS);
    p->call_filters = p->filter_block;
    if (p->converts) {
        const int64_t bytes =
            (conv->data_pixels + conv->output_pixels) * gops_compute_bytes(plan->type->compute);
        p->row_block = rows;
        p->call_filters = gops_clamp(plan->machine.l1_bytes / 2 / bytes, 1, p->filter_block);
    }
    p->row_blocks = gops_ceil_div(rows, p->row_block);
}

/* Sets copy_bytes; returns the bytes of workspace of an item. */
static int64_t workspace_bytes(const gops_plan *plan, image_plan *p)
{
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t size = gops_compute_bytes(plan->type->compute);
    if (!p->converts) {
        return gops_round_up(p->row_block * p->axis[2].output * size, GOPS_WORKSPACE_ALIGNMENT);
    }
    const int64_t planes =
        gops_ceil_div(p->call_filters + conv->channels_out - 1, conv->channels_out);
    p->copy_bytes = gops_round_up(planes * conv->data_pixels * size, GOPS_WORKSPACE_ALIGNMENT);
    return gops_round_up(p->copy_bytes + p->call_filters * conv->output_pixels * size,
                         GOPS_WORKSPACE_ALIGNMENT);
}

typedef struct image_form {
    /* Its kernel, or NULL for shapes that it does not serve. */
    gops_depthwise_image_fn *(*choose)(const gops_plan *plan, const image_plan *p);
    double (*estimate)(const gops_plan *plan, const image_plan *p); /* nanoseconds of a filter */
    const char *serves; /* for the message of a refusal */
    const char *how;    /* it works, for the explanation */
} image_form;

static gops_status image_prepare(gops_plan *plan, const image_form *form, int64_t worker_limit,
                                 gops_error *error)
{
    const gops_conv_geometry *conv = &plan->conv;
    image_plan *p = gops_parameters(plan);
    *p = (image_plan){.filters = conv->batch * conv->groups * conv->channels_out,
                      .converts = !plan->type->native};
    GOPS_TRY(gops_depthwise_axes(plan, p->axis, error));
    if (gops_depthwise_is_flat(&p->axis[0]) && is_offered(plan, p)) {
        p->kernel = form->choose(plan, p);
    }
    if (p->kernel == NULL) {
        return gops_fail(error, GOPS_UNSUPPORTED,
                         "%s, where the instruction set has masks; smaller floats where their "
                         "channels are %d or more and stay in the cache",
                         form->serves, MIN_CONVERTED);
    }
    const double cost = form->estimate(plan, p) + (p->converts ? estimate_conversion(conv) : 0);
    divide_work(plan, p, cost);
    plan->items = gops_ceil_div(p->filters, p->filter_block) * p->row_blocks;
    plan->worker_bytes = workspace_bytes(plan, p);
    while (p->converts && p->call_filters > 1 && plan->worker_bytes > worker_limit) {
        p->call_filters /= 2;
        plan->worker_bytes = workspace_bytes(plan, p);
    }
    plan->filter_bytes = gops_depthwise_filter_bytes(plan);
    plan->cost = (double)p->filters * cost;
    snprintf(plan->why, sizeof plan->why,
             "one channel a group: sliding window over the image where it lies, %s, "
             "%lld rows of %lld filters an item",
             form->how, (long long)p->row_block, (long long)p->filter_block);
    return GOPS_OK;
}

static gops_status prepare_masked(gops_plan *plan, int64_t worker_limit, gops_error *error)
{
    static const image_form form = {
        .choose = choose_masked,
        .estimate = estimate_masked,
        .serves = "depthwise/masked serves f32 in two dimensions with 3, 5 or 7 taps along y, with "
                  "AVX2 as many along x",
        .how = "padding masked off",
    };
    return image_prepare(plan, &form, worker_limit, error);
}

static gops_status prepare_shuffle(gops_plan *plan, int64_t worker_limit, gops_error *error)
{
    static const image_form form = {
        .choose = choose_shuffle,
        .estimate = estimate_shuffle,
        .serves = "depthwise/shuffle serves f32 and f64 in two dimensions with 3 x 3 or 5 x 5 taps "
                  "and as many columns as the data has, and f32 of small images with 7 x 7 or "
                  "stride 2",
        .how = "each row loaded once and its lanes moved",
    };
    const gops_status status = image_prepare(plan, &form, worker_limit, error);
    gops_depthwise_image_fn *const small =
        plan->kernels->depthwise->shuffle[plan->type->compute].small_stride1;
    if (status == GOPS_OK && small != NULL && image_read(plan)->kernel == small) {
        plan->order = ORDER_BY_COLUMNS;
    }
    return status;
}

static gops_status prepare_shuffle_deconv(gops_plan *plan, int64_t worker_limit, gops_error *error)
{
    static const image_form form = {
        .choose = choose_transposed,
        .estimate = estimate_transposed,
        .serves =
            "depthwise/shuffle serves f32 and f64 in two dimensions with 2 x 2 to 4 x 4 taps, "
            "stride 2 and dilation 1",
        .how = "every second output in a vector, and two such interleaved",
    };
    return image_prepare(plan, &form, worker_limit, error);
}

const gops_method gops_depthwise_masked_conv = {
    .name = "depthwise/masked",
    .operation = GOPS_OPERATION_CONV,
    .prepare = prepare_masked,
    .pack = gops_depthwise_pack,
    .run = gops_depthwise_image_run,
};

const gops_method gops_depthwise_shuffle_conv = {
    .name = "depthwise/shuffle",
    .operation = GOPS_OPERATION_CONV,
    .prepare = prepare_shuffle,
    .pack = gops_depthwise_pack,
    .run = gops_depthwise_image_run,
};

const gops_method gops_depthwise_shuffle_deconv = {
    .name = "depthwise/shuffle",
    .operation = GOPS_OPERATION_DECONV,
    .prepare = prepare_shuffle_deconv,
    .pack = gops_depthwise_pack,
    .run = gops_depthwise_image_run,
};
