/*
 * depthwise_pairs.c: `depthwise/pairs`, quantized depthwise convolutions and their transposed form, two
 * taps to a lane, on every processor (depthwise_pairs.vnni.isa.c).
 *
 * A work item copies a block of a channel into rows of i16, less the zero point and padded with
 * zeros, and takes all of it for one row: position i of an output is the index in the copy of its
 * first tap, and its other taps are at distances from it that are the same for all outputs. So rows
 * need not fill vectors. Between them are some positions that are no outputs; where two rows meet,
 * the padding of both is the same zeros. With stride s along y, rows of equal residue modulo s lie
 * together.
 *
 * A transposed convolution is a convolution for each residue of its outputs (depthwise_method.h), all
 * of the same copy; those along x are interleaved when their rows are copied to the output.
 */
#include "methods/depthwise/pairs/depthwise_pairs_method.h"

#include "base/error.h"

#include <assert.h>
#include <stdio.h>

enum {
    /* The work is divided into at least so many items, to spread evenly over threads. */
    MIN_ITEMS = 16,
    /* More channels in an item save no more time. */
    MAX_PLANES = 64,
    /* Of a batch: what is written is not read at once, which takes longer while it is on its way
     * to the cache. More save no more time. */
    MAX_BATCH = 8,
    /* Columns of a block: longer rows are cut. */
    MAX_COLUMNS = 4096,
    /* Strides along x that the kernels have. */
    MAX_STRIDE = 2,
    BLOCK = GOPS_DEPTHWISE_PAIRS_BLOCK,
};

static_assert(sizeof(gops_pairs_plan) <= GOPS_PARAMETER_BYTES,
              "parameters outgrow the plan's room");

/* The pairs of a row of the kernel, of all sub-convolutions. */
static int64_t row_pairs(const gops_depthwise_axis *x)
{
    int64_t pairs = 0;
    for (int64_t first = 0; first < x->every; first++) {
        pairs += gops_pairs_of_row(x, gops_pairs_taps(x, first));
    }
    return pairs;
}

/* Sets pitches, and the parts of the workspace; returns the end of those that are in use all the
 * time, and all its bytes. */
static int64_t lay_out(gops_pairs_plan *p, int64_t *bytes)
{
    const gops_depthwise_axis *y = &p->axis[1], *x = &p->axis[2];
    const int64_t extent = gops_depthwise_extent(x), rows = gops_depthwise_extent(y);
    const int64_t after = gops_clamp(extent - x->shift - x->data, 0, extent);
    /* A row has a position for each of its outputs, so it shares no more than the taps reach. */
    const int64_t shared = x->blocks == 1 ? gops_clamp(gops_min(x->shift, after), 0, x->reach) : 0;
    p->pitch = gops_round_up(extent - shared, x->step);
    p->residue = gops_ceil_div(rows, y->step) * p->pitch;
    p->plane = gops_min(y->step, rows) * p->residue;
    p->depth = p->axis[0].transposed ? p->axis[0].reach + 1 : p->axis[0].kernel;
    p->copy = p->depth * p->plane + extent;
    p->row_pairs = row_pairs(x);
    p->pairs = p->axis[0].kernel * y->kernel * p->row_pairs;
    p->positions = y->block * (p->pitch / x->step) + BLOCK;
    /* A whole block of the last copy reads beyond it, by the positions that it has. */
    const int64_t values = p->batch * p->copy + (BLOCK + 2) * MAX_STRIDE;
    int64_t end = 0;
    p->begin.copy = gops_reserve(&end, values * (int64_t)sizeof(int16_t));
    const int64_t rows_of_subconvs = p->axis[0].subconvs * y->subconvs;
    p->begin.codes = gops_reserve(&end, p->batch * p->positions * x->subconvs);
    p->begin.offsets = gops_reserve(&end, p->pairs * (int64_t)sizeof(int64_t));
    p->begin.subconvs =
        gops_reserve(&end, rows_of_subconvs * x->subconvs * (int64_t)sizeof(gops_pairs_subconv));
    const int64_t used = end;
    p->begin.sums =
        gops_reserve(&end, p->batch * p->positions * x->subconvs * (int64_t)sizeof(uint32_t));
    p->begin.row = gops_reserve(&end, x->block * x->subconvs * (int64_t)sizeof(uint32_t));
    *bytes = end;
    return used;
}

/* One plane of outputs, of rows whose parts fit half of the cache, and all of the workspace fits
 * `limit`; then as many planes as fit likewise. Returns the bytes. */
static int64_t choose_blocks(gops_pairs_plan *p, int64_t cache, int64_t limit)
{
    int64_t bytes;
    p->batch = 1;
    gops_depthwise_cut(&p->axis[0], 1);
    gops_depthwise_cut(&p->axis[2], MAX_COLUMNS);
    while ((lay_out(p, &bytes) > cache / 2 || bytes > limit) && p->axis[1].block > 1) {
        gops_depthwise_cut(&p->axis[1], p->axis[1].block / 2);
    }
    do {
        p->batch++;
    } while (p->batch <= gops_min(MAX_BATCH, p->planes) && lay_out(p, &bytes) <= cache / 2 &&
             bytes <= limit);
    p->batch--;
    lay_out(p, &bytes);
    return bytes;
}

/* Estimated nanoseconds on one thread, fitted to what 21 layers took a Zen 5 with each instruction
 * set; within 0.7 to 1.3 of that, but for planes of 7x7, down to 0.4 of it. */
static double pairs_estimate(const gops_plan *plan, const gops_pairs_plan *p)
{
    static const double item = 52, plane = 4, row = 2.3, vector = 0.38, pair = 0.18;
    static const double interleaved = 1.6; /* of a vector */
    const gops_depthwise_axis *axis = p->axis;
    const double rows = (double)axis[0].count * (double)axis[1].count * (double)axis[2].blocks;
    const double vectors =
        rows * (double)(p->pitch / axis[2].step) / (double)plan->kernels->depthwise_pairs->lanes;
    const double filters = (double)p->planes * (double)plan->conv.channels_out;
    const double subconvs =
        (double)(axis[0].subconvs * axis[1].subconvs) * (double)axis[2].subconvs;
    const double each = axis[2].subconvs > 1 ? interleaved : vector;
    return (double)plan->items * item +
           gops_depthwise_clear_ns(plan, p->begin.codes - p->begin.copy) +
           (double)p->planes * rows * row * (double)(p->depth * axis[1].step) +
           filters * subconvs * plane +
           filters * vectors * (each * subconvs + pair * (double)p->pairs);
}

/* What packing depends on besides the shape of the filter: the order of the taps, which sub-convolutions there are, at
 * most 256 along an axis, and whether the taps of a row make pairs. */
static int64_t filter_variant(const gops_depthwise_axis axis[3])
{
    enum { BITS = 10 };
    int64_t variant = axis[2].transposed * 2 + (axis[2].spacing > 1);
    for (int a = 0; a < 3; a++) {
        variant = variant << BITS | axis[a].every;
    }
    return variant;
}

static gops_status pairs_prepare(gops_plan *plan, int64_t worker_limit, gops_error *error)
{
    const gops_conv_geometry *conv = &plan->conv;
    gops_pairs_plan *p = gops_parameters(plan);
    *p = (gops_pairs_plan){.planes = conv->batch * conv->groups};
    GOPS_TRY(gops_depthwise_axes(plan, p->axis, error));
    if (!plan->quantized || p->axis[2].step > MAX_STRIDE) {
        return gops_fail(
            error, GOPS_UNSUPPORTED,
            "depthwise/pairs serves quantized convolutions with a stride of at most %d along the "
            "last axis, not %lld of %s",
            MAX_STRIDE, (long long)p->axis[2].step, plan->type->name);
    }
    plan->worker_bytes = choose_blocks(p, plan->machine.l1_bytes, worker_limit);
    const int64_t blocks = p->axis[0].blocks * p->axis[1].blocks * p->axis[2].blocks;
    p->plane_block = gops_clamp(gops_mul_saturate(p->planes, blocks) / MIN_ITEMS, 1, MAX_PLANES);
    plan->items = gops_ceil_div(p->planes, p->plane_block) * blocks;
    plan->filter_bytes =
        conv->groups * conv->channels_out * p->pairs * 2 * (int64_t)sizeof(int32_t);
    plan->filter_variant = filter_variant(p->axis);
    plan->cost = pairs_estimate(plan, p);
    snprintf(plan->why, sizeof plan->why,
             "quantized, one channel a group: two taps a lane, over padded blocks of %lld x %lld "
             "outputs, %lld channels an item",
             (long long)p->axis[1].block, (long long)p->axis[2].block, (long long)p->plane_block);
    return GOPS_OK;
}

const gops_method gops_depthwise_pairs_conv = {
    .name = "depthwise/pairs",
    .operation = GOPS_OPERATION_CONV,
    .prepare = pairs_prepare,
    .pack = gops_depthwise_pairs_pack,
    .run = gops_depthwise_pairs_run,
    .quantized = true,
};

const gops_method gops_depthwise_pairs_deconv = {
    .name = "depthwise/pairs",
    .operation = GOPS_OPERATION_DECONV,
    .prepare = pairs_prepare,
    .pack = gops_depthwise_pairs_pack,
    .run = gops_depthwise_pairs_run,
    .quantized = true,
};
