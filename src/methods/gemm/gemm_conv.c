/*
 * gemm_conv.c: GroupConvolution by im2col and GEMM, the reference path.
 *
 * For each image and group,
 *
 *     output [C_OUT x P] = filter [C_OUT x K] * columns [K x P],   K = C_IN * taps, P = output
 * pixels,
 *
 * where im2col (im2col.inc.h) writes the columns. The whole matrix would be `taps` times the
 * input and leave every cache, so it is made in blocks of `columns` pixels by `rows` of K, each
 * used by one GEMM at once and overwritten by the next; GEMMs after the first along K add to the
 * output. A budget without bound makes it one block, that is one GEMM per image and group.
 *
 * A 1x1 kernel with stride 1 and no pads has columns = input: the GEMM then reads the input itself.
 * Where the output is not in the compute type, the GEMM writes to a scratch block, which is
 * converted.
 *
 * Work items are (image, group, block of columns).
 */
#include "methods/methods.h"

#include "base/checked.h"
#include "base/error.h"
#include "methods/gemm/gemm.h"
#include "post_ops/post_ops.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum {
    /* A block's columns are at least this many where the output has them: with fewer, the GEMM's
     * packing of the filter, done anew for each block, shows (measured with M 64, K 576 on a Zen 5:
     * 512 columns 5%, 128 columns 20%). */
    WIDE_BLOCK = 384,
    /* ... and at most this many: beyond, nothing is gained and work is harder to share. */
    WIDEST_BLOCK = 2048,
    /* Blocks are cut to multiples of a GEMM's register tile. */
    COLUMN_STEP = 48,
    /* The least items to cut a large image into, so that threads find work. */
    SHARES = 8,
    /* Sizes and leading dimensions that every BLAS takes. */
    LARGEST_SIZE = INT32_MAX - 64,
};

typedef struct parameters {
    gops_window window;
    int64_t k;        /* C_IN * taps */
    int64_t rows;     /* of K in a block */
    int64_t columns;  /* of a block */
    int64_t blocks;   /* of columns in an image */
    int64_t channels; /* of C_OUT in one GEMM: all of them unless the scratch block is too large */
    int pointwise;    /* the columns are the input itself */
    int direct;       /* the GEMM writes the output itself */
    int64_t scratch_from; /* in the workspace, behind the columns: the product, or the sums of a
                             wrapped plan */
    int64_t spare_from;   /* behind that: a wrapped plan's products after the first */
} parameters;

static_assert(sizeof(parameters) <= GOPS_PARAMETER_BYTES, "parameters outgrow the plan's room");

static parameters *own(gops_plan *plan)
{
    return (parameters *)(void *)plan->parameters.bytes;
}

static const parameters *read_own(const gops_plan *plan)
{
    return (const parameters *)(const void *)plan->parameters.bytes;
}

static void fill_window(const gops_conv_geometry *conv, gops_window *window)
{
    for (int a = 0; a < 3; a++) {
        window->axis[a] = (gops_window_axis){1, 1, 1, 1, 1, 0};
    }
    for (int a = 0; a < conv->axes; a++) {
        const gops_axis *axis = &conv->axis[a];
        window->axis[3 - conv->axes + a] = (gops_window_axis){
            axis->data, axis->kernel, axis->output, axis->stride, axis->dilation, axis->pad_begin};
    }
    window->data_pixels = conv->data_pixels;
    window->taps = conv->taps;
}

static int is_pointwise(const gops_conv_geometry *conv)
{
    for (int a = 0; a < conv->axes; a++) {
        const gops_axis *axis = &conv->axis[a];
        if (axis->kernel != 1 || axis->stride != 1 || axis->pad_begin != 0 || axis->pad_end != 0) {
            return 0;
        }
    }
    return 1;
}

static int64_t columns_bytes(const gops_plan *plan, const parameters *p)
{
    if (p->pointwise) {
        return 0;
    }
    int64_t values = gops_mul_saturate(p->rows, p->columns);
    return gops_mul_saturate(values, gops_compute_bytes(plan->type->compute));
}

static int64_t product_bytes(const gops_plan *plan, const parameters *p)
{
    if (p->direct) {
        return 0;
    }
    int64_t values = gops_mul_saturate(p->channels, p->columns);
    return gops_mul_saturate(values, gops_compute_bytes(plan->type->compute));
}

static int64_t scratch_bytes(const gops_plan *plan, const parameters *p)
{
    return gops_mul_saturate(product_bytes(plan, p), plan->wrapped && p->rows < p->k ? 2 : 1);
}

/* Halves what takes most until the block fits. False where even the least does not. */
static int fit(const gops_plan *plan, parameters *p, int64_t limit)
{
    for (;;) {
        int64_t columns = columns_bytes(plan, p), scratch = scratch_bytes(plan, p);
        if (columns <= limit - scratch - 3 * GOPS_WORKSPACE_ALIGNMENT ||
            (columns == 0 && scratch == 0)) {
            return 1;
        }
        if (p->columns > COLUMN_STEP) {
            p->columns = gops_max(COLUMN_STEP, p->columns / 2);
        } else if (scratch > columns && p->channels > 1) {
            p->channels = gops_ceil_div(p->channels, 2);
        } else if (p->rows > 1 && columns > 0) {
            p->rows = gops_ceil_div(p->rows, 2);
        } else if (p->columns > 1) {
            p->columns = gops_ceil_div(p->columns, 2);
        } else {
            return 0;
        }
    }
}

/* Blocks that stay in the second level cache beside the filter and the GEMM's own copies. */
static void block_for_cache(const gops_plan *plan, parameters *p)
{
    const int64_t pixels = plan->conv.output_pixels;
    const int64_t room = plan->machine.l2_bytes / 2 / gops_compute_bytes(plan->type->compute);
    int64_t wide = gops_min(pixels, WIDE_BLOCK);
    if (p->pointwise) {
        wide = WIDEST_BLOCK;
    } else {
        int64_t pieces = gops_ceil_div(p->k, gops_max(1, room / wide));
        p->rows = gops_ceil_div(p->k, pieces);
        wide = gops_clamp(room / p->rows, wide, WIDEST_BLOCK);
    }
    int64_t images = gops_mul_saturate(plan->conv.batch, plan->conv.groups);
    int64_t blocks = gops_ceil_div(pixels, wide);
    if (images > 0 && images < SHARES && pixels > SHARES * COLUMN_STEP) {
        blocks = gops_max(blocks, gops_ceil_div(SHARES, images));
    }
    p->columns = gops_round_up(gops_ceil_div(pixels, gops_max(1, blocks)), COLUMN_STEP);
    p->columns = gops_min(p->columns, pixels);
}

static void explain(gops_plan *plan, const parameters *p)
{
    const char *gemm = gops_compute_product(plan->type->compute);
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

/* Estimated nanoseconds. Fitted to ResNeXt-50's four grouped 3x3 layers, dense 3x3 ones and 1x1
 * ones with OpenBLAS 0.3.21's Haswell kernels on a Zen 5 with AVX-512, one core of a virtual
 * machine, 2026. */
static double estimate(const gops_plan *plan, const parameters *p)
{
    static const double NS_PER_FLOP = 0.009, NS_PER_COLUMN_VALUE = 0.06, NS_PER_RUN = 8;
    static const double NS_PER_PACKED_VALUE = 0.05, NS_PER_OUTPUT = 0.2, NS_PER_GEMM = 300;
    const gops_conv_geometry *conv = &plan->conv;
    const double images = (double)conv->batch * (double)conv->groups;
    const double values = (double)p->k * (double)conv->output_pixels;
    const double outputs = (double)conv->channels_out * (double)conv->output_pixels;
    const double wide = (double)gops_compute_bytes(plan->type->compute) / sizeof(float);
    double image = NS_PER_PACKED_VALUE * values + NS_PER_OUTPUT * outputs +
                   NS_PER_GEMM * (double)p->blocks * (double)gops_ceil_div(p->k, p->rows);
    if (!p->pointwise) {
        image += NS_PER_COLUMN_VALUE * values +
                 NS_PER_RUN * values / (double)conv->axis[conv->axes - 1].output;
    }
    const double speed = gops_gemm_speed(&plan->gemm, plan->type->compute);
    return (images * image + NS_PER_FLOP * (double)conv->flops / speed) * wide;
}

static gops_status prepare(gops_plan *plan, int64_t slot_limit, gops_error *error)
{
    parameters *p = own(plan);
    const gops_conv_geometry *conv = &plan->conv;
    *p = (parameters){.k = conv->k, .channels = conv->channels_out};
    fill_window(conv, &p->window);
    const int narrow = conv->output_pixels <= LARGEST_SIZE;
    p->pointwise = plan->type->plain && narrow && is_pointwise(conv);
    p->direct = plan->type->plain && narrow; /* never wrapped: those types are not plain */
    p->rows = p->k;
    p->columns = conv->output_pixels;
    if (slot_limit != GOPS_UNLIMITED) {
        block_for_cache(plan, p);
    }
    p->rows = gops_min(p->rows, LARGEST_SIZE);
    if (plan->wrapped) {
        p->rows = gops_min(p->rows, plan->exact_k);
    }
    p->columns = gops_min(p->columns, LARGEST_SIZE);
    p->channels = gops_min(p->channels, LARGEST_SIZE);
    if (!fit(plan, p, slot_limit)) {
        return gops_fail(error, GOPS_INVALID,
                         "max_workspace is %lld; gemm needs at least %lld bytes for one thread",
                         (long long)slot_limit,
                         (long long)(columns_bytes(plan, p) + scratch_bytes(plan, p) +
                                     3 * GOPS_WORKSPACE_ALIGNMENT));
    }
    p->blocks = gops_ceil_div(conv->output_pixels, p->columns);
    p->scratch_from = gops_round_up(columns_bytes(plan, p), GOPS_WORKSPACE_ALIGNMENT);
    p->spare_from =
        p->scratch_from + gops_round_up(product_bytes(plan, p), GOPS_WORKSPACE_ALIGNMENT);
    plan->slot_bytes = gops_round_up(p->spare_from, GOPS_WORKSPACE_ALIGNMENT);
    if (plan->wrapped && p->rows < p->k) {
        plan->slot_bytes += gops_round_up(product_bytes(plan, p), GOPS_WORKSPACE_ALIGNMENT);
    }
    plan->items = conv->batch * conv->groups * p->blocks;
    plan->filter_bytes =
        conv->groups * conv->channels_out * p->k * gops_compute_bytes(plan->type->compute);
    plan->cost = estimate(plan, p);
    explain(plan, p);
    return GOPS_OK;
}

/* The GEMM takes the weights as they lie; only their type may have to change. */
static void pack(const gops_plan *plan, const void *weights, void *packed)
{
    plan->filter_type->load(packed, weights,
                            plan->filter_bytes / gops_compute_bytes(plan->type->compute));
}

/* One block of one image and group, where it lies. */
typedef struct block {
    const gops_job *job;
    int64_t image, channel;      /* the channel: the group's first output channel */
    const unsigned char *data;   /* of the group, in T */
    const unsigned char *filter; /* of the group, in C */
    unsigned char *output;       /* of the group, in T */
    int64_t column0, columns;
    double data_zero;
} block;

/* Writes rows row0 to row1 of the block's columns, or finds them in the input. */
static gops_product lower(const gops_plan *plan, const block *at, int64_t row0, int64_t row1,
                          void *workspace)
{
    const parameters *p = read_own(plan);
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    gops_product product = {.k = (int32_t)(row1 - row0), .n = (int32_t)at->columns};
    if (p->pointwise) {
        product.b = at->data + (row0 * p->window.data_pixels + at->column0) * bytes;
        product.ldb = (int32_t)p->window.data_pixels;
    } else {
        const gops_columns part = {
            row0, row1, at->column0, at->column0 + at->columns, at->columns, at->data_zero};
        plan->kernels->gemm->im2col[plan->type->index](&p->window, &part, at->data, workspace);
        product.b = workspace;
        product.ldb = (int32_t)at->columns;
    }
    product.accumulate = row0 > 0 && !plan->wrapped;
    product.lda = (int32_t)p->k;
    return product;
}

/* Finishes channels m to m + count - 1 of the block; `values` is the first one's run, `ld` elements
 * of C from one to the next. */
static void finish(const gops_plan *plan, const block *at, int64_t m, int64_t count,
                   unsigned char *values, int64_t ld)
{
    for (int64_t c = at->channel + m; c < at->channel + m + count; c++) {
        const int64_t first = (at->image * plan->conv.groups * plan->conv.channels_out + c) *
                                  plan->conv.output_pixels +
                              at->column0;
        gops_store(plan, at->job, c, first, at->columns, values);
        values += ld * gops_compute_bytes(plan->type->compute);
    }
}

/* Channels m to m + count - 1 of a block whose GEMMs write to the workspace. */
static void run_scratch(const gops_plan *plan, const block *at, int64_t m, int64_t count,
                        unsigned char *workspace)
{
    const parameters *p = read_own(plan);
    const gops_compute compute = plan->type->compute;
    unsigned char *scratch = workspace + p->scratch_from;
    for (int64_t row = 0; row < p->k; row += p->rows) {
        gops_product product = lower(plan, at, row, gops_min(row + p->rows, p->k), workspace);
        product.m = (int32_t)count;
        product.a = at->filter + (m * p->k + row) * gops_compute_bytes(compute);
        product.c = plan->wrapped && row > 0 ? workspace + p->spare_from : scratch;
        product.ldc = (int32_t)at->columns;
        gops_gemm_run(&plan->gemm, plan->kernels, compute, &product);
        if (plan->wrapped) {
            plan->kernels->gemm->wrap[compute](product.c, count * at->columns,
                                               row > 0 ? scratch : NULL);
        }
    }
    finish(plan, at, m, count, scratch, at->columns);
}

/* A block whose GEMMs write the output itself. */
static void run_direct(const gops_plan *plan, const block *at, unsigned char *workspace)
{
    const parameters *p = read_own(plan);
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const int64_t channels = plan->conv.channels_out, pixels = plan->conv.output_pixels;
    const int adds = gops_adds_in_place(at->job);
    for (int64_t row = 0; row < p->k; row += p->rows) {
        gops_product product = lower(plan, at, row, gops_min(row + p->rows, p->k), workspace);
        product.accumulate |= adds;
        for (int64_t m = 0; m < channels; m += p->channels) {
            product.m = (int32_t)gops_min(p->channels, channels - m);
            product.a = at->filter + (m * p->k + row) * bytes;
            product.c = at->output + (m * pixels + at->column0) * bytes;
            product.ldc = (int32_t)pixels;
            gops_gemm_run(&plan->gemm, plan->kernels, plan->type->compute, &product);
        }
    }
    if (at->job->fused) {
        gops_job rest = *at->job;
        block after = *at;
        rest.residual = adds ? NULL : rest.residual;
        after.job = &rest;
        finish(plan, &after, 0, channels, at->output + at->column0 * bytes, pixels);
    }
}

static void run_block(const gops_plan *plan, const block *at, unsigned char *workspace)
{
    const parameters *p = read_own(plan);
    const int64_t channels = plan->conv.channels_out;
    if (p->direct) {
        run_direct(plan, at, workspace);
        return;
    }
    for (int64_t m = 0; m < channels; m += p->channels) {
        run_scratch(plan, at, m, gops_min(p->channels, channels - m), workspace);
    }
}

static void run(const gops_plan *plan, const gops_job *job, int64_t item, void *workspace)
{
    const parameters *p = read_own(plan);
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
                             image_group * conv->channels_in * conv->data_pixels),
        .filter = (const unsigned char *)job->filter + group * conv->channels_out * p->k * bytes,
        .output = gops_output_at(plan, job, image_group * conv->channels_out * conv->output_pixels),
        .column0 = column0,
        .columns = gops_min(p->columns, conv->output_pixels - column0),
        .data_zero = job->data_zero,
    };
    run_block(plan, &at, workspace);
}

const gops_method gops_gemm_conv = {
    .name = "gemm",
    .operation = GOPS_OPERATION_CONV,
    .prepare = prepare,
    .pack = pack,
    .run = run,
    .wraps = 1,
};
