/*
 * gemm_conv.c: GroupConvolution by im2col and GEMM, the reference path.
 *
 * For each image and group,
 *
 *     output [C_OUT x P] = filter [C_OUT x K] * columns [K x P]
 *
 * with K = C_IN * taps and P output pixels. im2col (im2col.inc.h) writes the columns. The whole
 * matrix would be `taps` times as large as the input and would not fit a cache, so it is made in
 * blocks of `columns` pixels by `rows` of K. One GEMM multiplies each block, and the next block
 * overwrites it; all GEMMs along K but the first add to the output. With an unlimited budget there
 * is one block, that is one GEMM for each image and group.
 *
 * If the kernel is 1x1 with stride 1 and no pads, the input is the column matrix and the GEMM reads
 * the input. If the output is not in the compute type, the GEMM writes to a scratch block, which is
 * then converted.
 *
 * Work items are (image, group, block of columns).
 */
#include "plan/plan.h"

#include "base/checked.h"
#include "base/error.h"
#include "methods/gemm/gemm.h"
#include "post_ops/post_ops.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>

enum {
    /* A large image is cut into at least this many work items, so that every thread has some. */
    MIN_ITEMS = 8,
};

typedef struct parameters {
    gops_window window;
    int64_t k;        /* C_IN * taps */
    int64_t rows;     /* of K in a block */
    int64_t columns;  /* of a block */
    int64_t blocks;   /* of columns in an image */
    int64_t channels; /* of C_OUT in one GEMM: all of them unless the scratch block is too large */
    bool pointwise;   /* the input is the column matrix */
    bool in_place;    /* the GEMM writes to the output, not to a scratch block */
    /* Offsets in the workspace; the columns are at 0. */
    int64_t scratch_from; /* the product */
} parameters;

static_assert(sizeof(parameters) <= GOPS_PARAMETER_BYTES, "parameters outgrow the plan's room");

static const parameters *gemm_conv_read(const gops_plan *plan)
{
    return gops_read_parameters(plan);
}

static void fill_window(const gops_plan *plan, gops_window *window)
{
    for (int a = 0; a < 3; a++) {
        window->axis[a] = gops_zyx_axis(&plan->conv, a);
    }
    window->data_plane = plan->data_plane;
    window->taps = plan->conv.taps;
}

static int64_t columns_bytes(const gops_plan *plan, const parameters *p)
{
    if (p->pointwise) {
        return 0;
    }
    int64_t values = gops_mul_saturate(p->rows, p->columns);
    return gops_mul_saturate(values, gops_compute_bytes(plan->type->compute));
}

static int64_t scratch_bytes(const gops_plan *plan, const parameters *p)
{
    if (p->in_place) {
        return 0;
    }
    int64_t values = gops_mul_saturate(p->channels, p->columns);
    return gops_mul_saturate(values, gops_compute_bytes(plan->type->compute));
}

/* Halves whatever takes the most memory until the block fits. False if the smallest block does not
 * fit. */
static bool gemm_conv_fit(const gops_plan *plan, parameters *p, int64_t limit)
{
    for (;;) {
        int64_t columns = columns_bytes(plan, p), scratch = scratch_bytes(plan, p);
        if (columns <= limit - scratch - 3 * GOPS_WORKSPACE_ALIGNMENT ||
            (columns == 0 && scratch == 0)) {
            return true;
        }
        if (p->columns > GOPS_GEMM_COLUMN_STEP) {
            p->columns = gops_max(GOPS_GEMM_COLUMN_STEP, p->columns / 2);
        } else if (scratch > columns && p->channels > 1) {
            p->channels = gops_ceil_div(p->channels, 2);
        } else if (p->rows > 1 && columns > 0) {
            p->rows = gops_ceil_div(p->rows, 2);
        } else if (p->columns > 1) {
            p->columns = gops_ceil_div(p->columns, 2);
        } else {
            return false;
        }
    }
}

/* Chooses blocks that stay in the L2 cache beside the filter and the copies that the GEMM makes. */
static void gemm_conv_block_for_cache(const gops_plan *plan, parameters *p)
{
    const int64_t pixels = plan->conv.output_pixels;
    const int64_t room = plan->machine.l2_bytes / 2 / gops_compute_bytes(plan->type->compute);
    int64_t wide = gops_min(pixels, GOPS_GEMM_MIN_COLUMNS);
    if (p->pointwise) {
        wide = GOPS_GEMM_MAX_COLUMNS;
    } else {
        int64_t row_blocks = gops_ceil_div(p->k, gops_max(1, room / wide));
        p->rows = gops_ceil_div(p->k, row_blocks);
        wide = gops_clamp(room / p->rows, wide, GOPS_GEMM_MAX_COLUMNS);
    }
    int64_t images = gops_mul_saturate(plan->conv.batch, plan->conv.groups);
    int64_t blocks = gops_ceil_div(pixels, wide);
    if (images < MIN_ITEMS && pixels > MIN_ITEMS * GOPS_GEMM_COLUMN_STEP) {
        blocks = gops_max(blocks, gops_ceil_div(MIN_ITEMS, images));
    }
    p->columns = gops_round_up(gops_ceil_div(pixels, blocks), GOPS_GEMM_COLUMN_STEP);
    p->columns = gops_min(p->columns, pixels);
}

static void gemm_conv_explain(gops_plan *plan, const parameters *p)
{
    const char *gemm = gops_gemm_name(plan->type->compute);
    long long m = (long long)plan->conv.channels_out, n = (long long)plan->conv.output_pixels;
    long long k = (long long)p->k;
    if (p->blocks == 1 && p->rows == p->k) {
        snprintf(plan->why, sizeof plan->why,
                 "%s, one %s per image and group: M %lld, N %lld, K %lld",
                 p->pointwise ? "the input is the column matrix" : "im2col whole", gemm, m, n, k);
    } else {
        snprintf(
            plan->why, sizeof plan->why,
            "%s in %lld blocks of %lld columns by %lld of K, one %s each: M %lld, N %lld, K %lld",
            p->pointwise ? "the input is the column matrix," : "im2col", (long long)p->blocks,
            (long long)p->columns, (long long)p->rows, gemm, m, n, k);
    }
}

/* Estimated nanoseconds. Fitted to ResNeXt-50's grouped 3x3 layers and to dense 3x3 and 1x1 layers,
 * with OpenBLAS 0.3.21's Haswell kernels on a Zen 5 with AVX-512. */
static double gemm_conv_estimate(const gops_plan *plan, const parameters *p)
{
    static const double NS_PER_FLOP = 0.009, NS_PER_COLUMN_VALUE = 0.06, NS_PER_RUN = 8;
    static const double NS_PER_PACKED_VALUE = 0.05, NS_PER_OUTPUT = 0.2, NS_PER_GEMM = 300;
    /* The BLAS copies the weights, which fewer pixels do not hide. */
    static const double NS_PER_PACKED_WEIGHT = 0.1, HIDING_PIXELS = 32;
    /* A BLAS multiplies the columns that its tiles do not divide more slowly: 320 -> 80 on 7x7 took 1.4 times as long
     * as whole tiles would (OpenBLAS's Zen kernels on a Zen 3). */
    static const int64_t TILE_COLUMNS = 16;
    /* A lone work item leaves all threads but one without work, and which method is chosen must not depend on
     * how many there are. By other methods two threads take 0.55 of one's time. */
    static const double LONE_ITEM_SLOWER = 1.15, SMALL_FLOPS = 2e6;
    const gops_conv_geometry *conv = &plan->conv;
    const double images = (double)conv->batch * (double)conv->groups;
    const double values = (double)p->k * (double)conv->output_pixels;
    const double outputs = (double)conv->channels_out * (double)conv->output_pixels;
    const double wide = (double)gops_compute_bytes(plan->type->compute) / sizeof(float);
    double image = NS_PER_PACKED_VALUE * values + NS_PER_OUTPUT * outputs +
                   NS_PER_GEMM * (double)p->blocks * (double)gops_ceil_div(p->k, p->rows);
    const double shown = 1 - (double)conv->output_pixels / HIDING_PIXELS;
    if (shown > 0) {
        image += NS_PER_PACKED_WEIGHT * shown * (double)p->k * (double)conv->channels_out;
    }
    if (!p->pointwise) {
        image += NS_PER_COLUMN_VALUE * values +
                 NS_PER_RUN * values / (double)conv->axis[conv->axes - 1].output;
    }
    const double speed = gops_gemm_speed(plan);
    const double lone =
        conv->batch * conv->groups * p->blocks == 1 && (double)conv->flops > SMALL_FLOPS
            ? LONE_ITEM_SLOWER
            : 1;
    const double filled =
        (double)conv->output_pixels / (double)gops_round_up(conv->output_pixels, TILE_COLUMNS);
    return lone * (images * image + NS_PER_FLOP * (double)conv->flops / speed / filled) * wide;
}

static gops_status gemm_conv_prepare(gops_plan *plan, int64_t worker_limit, gops_error *error)
{
    parameters *p = gops_parameters(plan);
    const gops_conv_geometry *conv = &plan->conv;
    *p = (parameters){.k = conv->k, .channels = conv->channels_out};
    fill_window(plan, &p->window);
    const bool narrow = plan->output_plane <= GOPS_GEMM_MAX_SIZE;
    p->pointwise = plan->type->native && plan->data_plane <= GOPS_GEMM_MAX_SIZE &&
                   gops_conv_is_pointwise(conv);
    /* A residual that is the output grows by the products, which is before the activation. */
    p->in_place = plan->type->native && narrow && !plan->residual_after;
    p->rows = p->k;
    p->columns = conv->output_pixels;
    if (worker_limit != GOPS_UNLIMITED) {
        gemm_conv_block_for_cache(plan, p);
    }
    p->rows = gops_min(p->rows, GOPS_GEMM_MAX_SIZE);
    p->columns = gops_min(p->columns, GOPS_GEMM_MAX_SIZE);
    /* A single row of the filter has no leading dimension that counts. */
    p->channels = p->k > GOPS_GEMM_MAX_SIZE ? 1 : gops_min(p->channels, GOPS_GEMM_MAX_SIZE);
    if (!gemm_conv_fit(plan, p, worker_limit)) {
        return gops_fail(error, GOPS_INVALID,
                         "max_workspace is %lld; gemm needs at least %lld bytes for one thread",
                         (long long)worker_limit,
                         (long long)(columns_bytes(plan, p) + scratch_bytes(plan, p) +
                                     3 * GOPS_WORKSPACE_ALIGNMENT));
    }
    p->blocks = gops_ceil_div(conv->output_pixels, p->columns);
    p->scratch_from = gops_round_up(columns_bytes(plan, p), GOPS_WORKSPACE_ALIGNMENT);
    plan->worker_bytes =
        p->scratch_from + gops_round_up(scratch_bytes(plan, p), GOPS_WORKSPACE_ALIGNMENT);
    plan->items = conv->batch * conv->groups * p->blocks;
    plan->filter_bytes =
        conv->groups * conv->channels_out * p->k * gops_compute_bytes(plan->type->compute);
    plan->cost = gemm_conv_estimate(plan, p);
    gemm_conv_explain(plan, p);
    return GOPS_OK;
}

/* The GEMM reads the weights in their given order; packing only converts their type. */
static void gemm_conv_pack(const gops_plan *plan, const void *weights, const int32_t *zero_points,
                           void *packed)
{
    plan->filter_type->load(packed, weights,
                            plan->filter_bytes / gops_compute_bytes(plan->type->compute));
    gops_gemm_subtract_zero_points(plan, zero_points, packed);
}

/* A work item: a block of columns of one image and group. */
typedef struct block {
    const gops_job *job;
    int64_t image;
    int64_t channel;             /* the first output channel of the group */
    const unsigned char *data;   /* of the group, in T */
    const unsigned char *filter; /* of the group, in C */
    unsigned char *output;       /* of the group, in T */
    int64_t column0, columns;
} block;

/* The product for rows row0 to row1 - 1 of the block: writes its columns to the workspace, or
 * points to them in the input. */
static gops_product lower(const gops_plan *plan, const block *at, int64_t row0, int64_t row1,
                          void *workspace)
{
    const parameters *p = gemm_conv_read(plan);
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    gops_product product = {.k = (int32_t)(row1 - row0), .n = (int32_t)at->columns};
    if (p->pointwise) {
        product.b = at->data + (row0 * p->window.data_plane + at->column0) * bytes;
        product.ldb = (int32_t)p->window.data_plane;
    } else {
        const gops_columns part = {row0, row1, at->column0, at->column0 + at->columns,
                                   at->job->data_zero};
        plan->kernels->gemm->im2col[plan->type->index](&p->window, &part, at->data, workspace);
        product.b = workspace;
        product.ldb = (int32_t)at->columns;
    }
    product.accumulate = row0 > 0;
    product.lda = (int32_t)gops_min(p->k, GOPS_GEMM_MAX_SIZE);
    return product;
}

/* Applies the post-ops to channels m to m + count - 1 of the block and stores them. The first
 * channel's sums begin at `values`; the next channel's lie `ld` elements of C further. */
static void gemm_conv_store(const gops_plan *plan, const block *at, int64_t m, int64_t count,
                            unsigned char *values, int64_t ld)
{
    const int64_t channel = at->channel + m;
    const int64_t first =
        (at->image * plan->conv.groups * plan->conv.channels_out + channel) * plan->output_plane +
        at->column0;
    gops_store_channels(plan, at->job, channel, first,
                        &(gops_store_values){values, ld, count, at->columns});
}

/* Channels m to m + count - 1 of a block whose GEMMs write to the scratch block. */
static void run_scratch(const gops_plan *plan, const block *at, int64_t m, int64_t count,
                        unsigned char *workspace)
{
    const parameters *p = gemm_conv_read(plan);
    const gops_compute compute = plan->type->compute;
    unsigned char *scratch = workspace + p->scratch_from;
    for (int64_t row = 0; row < p->k; row += p->rows) {
        gops_product product = lower(plan, at, row, gops_min(row + p->rows, p->k), workspace);
        product.m = (int32_t)count;
        product.a = at->filter + (m * p->k + row) * gops_compute_bytes(compute);
        product.c = scratch;
        product.ldc = (int32_t)at->columns;
        gops_gemm_run(&plan->gemm, plan->kernels, compute, &product);
    }
    gemm_conv_store(plan, at, m, count, scratch, at->columns);
}

/* A block whose GEMMs write to the output. */
static void run_in_place(const gops_plan *plan, const block *at, unsigned char *workspace)
{
    const parameters *p = gemm_conv_read(plan);
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const int64_t channels = plan->conv.channels_out, plane = plan->output_plane;
    const bool adds = gops_adds_in_place(at->job);
    for (int64_t row = 0; row < p->k; row += p->rows) {
        gops_product product = lower(plan, at, row, gops_min(row + p->rows, p->k), workspace);
        product.accumulate = product.accumulate || adds;
        for (int64_t m = 0; m < channels; m += p->channels) {
            product.m = (int32_t)gops_min(p->channels, channels - m);
            product.a = at->filter + (m * p->k + row) * bytes;
            product.c = at->output + (m * plane + at->column0) * bytes;
            product.ldc = (int32_t)plane;
            gops_gemm_run(&plan->gemm, plan->kernels, plan->type->compute, &product);
        }
    }
    if (at->job->fused) {
        gops_job rest = *at->job;
        block after = *at;
        rest.residual = adds ? NULL : rest.residual;
        after.job = &rest;
        gemm_conv_store(plan, &after, 0, channels, at->output + at->column0 * bytes, plane);
    }
}

static void gemm_conv_run(const gops_plan *plan, const gops_job *job, int64_t item, void *workspace)
{
    const parameters *p = gemm_conv_read(plan);
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const int64_t image_group = item / p->blocks;
    const int64_t group = image_group % conv->groups;
    const int64_t column0 = item % p->blocks * p->columns;
    const block at = {
        .job = job,
        .image = image_group / conv->groups,
        .channel = group * conv->channels_out,
        .data = gops_data_at(plan, job, image_group / conv->groups,
                             image_group * conv->channels_in * plan->data_plane),
        .filter = (const unsigned char *)job->filter + group * conv->channels_out * p->k * bytes,
        .output = gops_output_at(plan, job, image_group * conv->channels_out * plan->output_plane),
        .column0 = column0,
        .columns = gops_min(p->columns, conv->output_pixels - column0),
    };
    if (p->in_place) {
        run_in_place(plan, &at, workspace);
        return;
    }
    for (int64_t m = 0; m < conv->channels_out; m += p->channels) {
        run_scratch(plan, &at, m, gops_min(p->channels, conv->channels_out - m), workspace);
    }
}

const gops_method gops_gemm_conv = {
    .name = "gemm",
    .operation = GOPS_OPERATION_CONV,
    .prepare = gemm_conv_prepare,
    .pack = gemm_conv_pack,
    .run = gemm_conv_run,
    .quantized = true,
    .calls_gemm = true,
    .indivisible = true,
    .any_span = true,
};
