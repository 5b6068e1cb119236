/*
 * depthwise_rows_plan.c: plans `depthwise/rows`, convolutions of one input channel a group and
 * their transposed form: any number of output channels, up to 3 spatial axes.
 *
 * A work item copies a block of a channel, padded with zeros and converted to the compute type, to
 * where it fits the first-level cache, runs every filter of the group over it
 * (depthwise_rows.inc.h), and goes on to its next channel; the zeros around the data stay. An image
 * is cut into blocks along y first, so that rows stay whole; each of two neighbouring blocks copies
 * the rows that both need. depthwise_rows_plan.h has the parameters.
 */
#include "methods/depthwise/depthwise_rows_plan.h"
#include "methods/methods.h"

#include "base/checked.h"
#include "base/error.h"
#include "methods/depthwise/depthwise.h"

#include <assert.h>
#include <stdio.h>

enum {
    /* The work is divided into at least so many items, to spread evenly over threads. */
    MIN_ITEMS = 32,
    /* More channels in an item save no more time. */
    MAX_PLANES = 64,
    /* MR, the rows of the kernels' highest tile. */
    TILE_ROWS = 7,
    /* Blocks of planes have at least this many rows where the image does. */
    MIN_ROWS = 4,
    /* Blocks along x have at least this many columns where the image does. */
    MIN_COLUMNS = 256,
};

static_assert(sizeof(gops_depthwise_rows_plan) <= GOPS_PARAMETER_BYTES,
              "parameters outgrow the plan's room");

static int64_t round_bytes(int64_t bytes)
{
    return bytes > INT64_MAX - GOPS_WORKSPACE_ALIGNMENT
               ? INT64_MAX
               : gops_round_up(bytes, GOPS_WORKSPACE_ALIGNMENT);
}

/* Elements of the copy of a block along an axis; saturated. */
static int64_t extent(const gops_depthwise_axis *axis)
{
    int64_t whole = gops_mul_saturate(axis->block - 1, axis->step);
    return gops_add(whole, axis->reach + 1, &whole) ? whole : INT64_MAX;
}

static int64_t add_saturate(int64_t a, int64_t b)
{
    int64_t sum;
    return gops_add(a, b, &sum) ? sum : INT64_MAX;
}

/* Sets the pitches and sizes that follow from the blocks; returns the bytes of the workspace,
 * saturated. */
static int64_t set_layout(const gops_plan *plan, gops_depthwise_rows_plan *p)
{
    const int64_t size = gops_compute_bytes(plan->type->compute);
    const int64_t line = GOPS_WORKSPACE_ALIGNMENT / size;
    const gops_depthwise_axis *x = &p->axis[2], *y = &p->axis[1];
    const int64_t stride = p->transposed ? 1 : x->stride;
    p->residues = gops_min(stride, x->reach + 1);
    p->residue_pitch = add_saturate(x->block, x->reach / stride);
    int64_t row = gops_mul_saturate(p->residues, p->residue_pitch);
    p->row_pitch = row > INT64_MAX - line ? INT64_MAX : gops_round_up(row, line);
    p->plane_pitch = gops_mul_saturate(extent(y), p->row_pitch);
    int64_t copy = gops_mul_saturate(gops_mul_saturate(extent(&p->axis[0]), p->plane_pitch), size);
    p->copy_bytes = round_bytes(add_saturate(copy, GOPS_DEPTHWISE_SLACK));
    p->output_pitch = x->block;
    /* Needed even in_place: where the residual is the output, the kernel must not overwrite it. */
    int64_t sums = gops_mul_saturate(gops_mul_saturate(x->block, y->block), x->subconvs);
    p->sums_bytes = round_bytes(gops_mul_saturate(sums, size));
    p->staging_bytes =
        round_bytes(gops_mul_saturate(gops_max(extent(x), x->block * x->subconvs), size));
    p->weights_bytes = round_bytes(gops_mul_saturate(plan->conv.taps, size));
    p->subconvs_bytes = round_bytes(p->axis[0].subconvs * y->subconvs * x->subconvs *
                                    (int64_t)sizeof(gops_depthwise_subconv));
    p->offsets_bytes = round_bytes(gops_mul_saturate(plan->conv.taps, (int64_t)sizeof(int64_t)));
    p->order_bytes = p->offsets_bytes;
    const int64_t sizes[] = {p->sums_bytes,     p->staging_bytes, p->weights_bytes,
                             p->subconvs_bytes, p->offsets_bytes, p->order_bytes};
    int64_t all = p->copy_bytes;
    for (int i = 0; i < (int)(sizeof sizes / sizeof sizes[0]); i++) {
        all = add_saturate(all, sizes[i]);
    }
    return all;
}

/* Cuts an axis into as many equal blocks as make them at most `block` long. */
static void cut_axis(gops_depthwise_axis *axis, int64_t block)
{
    axis->blocks = gops_ceil_div(axis->count, gops_clamp(block, 1, axis->count));
    axis->block = gops_ceil_div(axis->count, axis->blocks);
}

/* Halves the blocks along an axis until the workspace fits `room`, but not below `min_block`. With
 * `cached`, `room` is that of a cache, and sums that in_place leaves unused do not count. */
static void shrink(const gops_plan *plan, gops_depthwise_rows_plan *p, int axis, int64_t min_block,
                   int64_t room, bool cached)
{
    gops_depthwise_axis *a = &p->axis[axis];
    while (a->block > gops_max(1, min_block)) {
        const int64_t bytes = set_layout(plan, p);
        if (bytes - (cached && p->in_place ? p->sums_bytes : 0) <= room) {
            return;
        }
        cut_axis(a, gops_max(min_block, a->block / 2));
    }
}

/* Chooses blocks that fit the caches. A block is not made much smaller than the reach of its taps,
 * because its halo is copied along with it. */
static void choose_blocks(const gops_plan *plan, gops_depthwise_rows_plan *p)
{
    const int64_t l1 = plan->machine.l1_bytes * 3 / 4, l2 = plan->machine.l2_bytes / 4;
    gops_depthwise_axis *y = &p->axis[1];
    /* Cut rows first where only planes have a halo: then no data is copied twice. */
    if (y->reach == 0 && p->axis[0].reach > 0) {
        shrink(plan, p, 1, MIN_ROWS, l2, true);
    }
    for (int a = 0; a < 3; a++) {
        const gops_depthwise_axis *axis = &p->axis[a];
        const int64_t halo = axis->reach / axis->step;
        const int64_t min_block[] = {halo / 2 + 1, gops_max(halo, TILE_ROWS),
                                     gops_max(halo, MIN_COLUMNS)};
        shrink(plan, p, a, min_block[a], a == 0 ? l2 : l1, true);
    }
    /* Blocks of whole tiles. */
    if (y->block > 2 * TILE_ROWS && y->blocks > 1) {
        cut_axis(y, gops_round_up(y->block, TILE_ROWS));
        y->block = gops_round_up(y->block, TILE_ROWS);
        y->blocks = gops_ceil_div(y->count, y->block);
    }
}

/* Estimated nanoseconds on one thread. The constants were fitted to 28 layers of f32, from 1 to
 * 1152 channels and from 7 to 512 columns, on a Zen 5 with AVX-512, and meet their times within
 * 30%. */
static double rows_estimate(const gops_plan *plan, const gops_depthwise_rows_plan *p)
{
    static const double item = 78, filter = 30, row = 0.7, vector = 1.0, split_vector = 1.3,
                        sum_vector = 0.54, tap_vector = 0.14, single_tap = 0.3,
                        subconv_vector = 3.5;
    const gops_depthwise_axis *axis = p->axis;
    const int64_t lanes = plan->kernels->vector_bytes / gops_compute_bytes(plan->type->compute);
    const double planes = (double)p->planes;
    const double filters = planes * (double)plan->conv.channels_out;
    /* 8- and 16-bit integers take 1.2 times as long as f32. */
    const double conversion = plan->type->native ? 1 : 1.2;
    double rows = 1, positions = 1, subconvs = 1;
    for (int a = 0; a < 3; a++) {
        if (a < 2) {
            rows *= (double)gops_min(gops_mul_saturate(axis[a].blocks, extent(&axis[a])),
                                     gops_mul_saturate(axis[a].blocks, axis[a].data));
            positions *= (double)axis[a].count;
        }
        subconvs *= (double)axis[a].subconvs;
    }
    positions *= (double)axis[2].count <= (double)lanes / 2
                     ? 0.7
                     : (double)gops_ceil_div(axis[2].count, lanes);
    const double tap = axis[1].step > 2 ? single_tap : tap_vector;
    return (double)plan->items * item +
           filters * filter * (double)(axis[0].subconvs * axis[1].subconvs) +
           planes * rows *
               (row + (double)gops_ceil_div(axis[2].data, lanes) * conversion *
                          (p->residues > 1 ? split_vector : vector)) +
           filters * positions *
               (tap * (double)plan->conv.taps +
                subconvs * (p->in_place ? sum_vector : subconv_vector * conversion));
}

static void rows_explain(gops_plan *plan, const gops_depthwise_rows_plan *p)
{
    const gops_depthwise_axis *axis = p->axis;
    snprintf(plan->why, sizeof plan->why,
             "one channel a group: sliding window over padded blocks of %lld x %lld x %lld "
             "positions%s, %lld channels an item",
             (long long)axis[0].block, (long long)axis[1].block, (long long)axis[2].block,
             p->transposed ? ", a sub-convolution for each residue of the stride" : "",
             (long long)p->plane_block);
}

static gops_status rows_prepare(gops_plan *plan, int64_t worker_limit, gops_error *error)
{
    gops_depthwise_rows_plan *p = gops_parameters(plan);
    *p = (gops_depthwise_rows_plan){.transposed = plan->operation == GOPS_OPERATION_DECONV};
    gops_status status = gops_depthwise_axes(plan, p->axis, error);
    if (status != GOPS_OK) {
        return status;
    }
    p->in_place = plan->output_type->native && p->axis[2].subconvs == 1;
    p->planes = plan->conv.batch * plan->conv.groups;
    choose_blocks(plan, p);
    for (int a = 0; a < 3; a++) {
        shrink(plan, p, a, 1, worker_limit, false);
    }
    plan->worker_bytes = set_layout(plan, p);
    if (plan->worker_bytes > worker_limit) {
        return gops_fail(
            error, GOPS_INVALID,
            "max_workspace is %lld; depthwise/rows needs at least %lld bytes for one thread",
            (long long)worker_limit, (long long)plan->worker_bytes);
    }
    const int64_t blocks = p->axis[0].blocks * p->axis[1].blocks * p->axis[2].blocks;
    p->plane_block = gops_clamp(gops_mul_saturate(p->planes, blocks) / MIN_ITEMS, 1, MAX_PLANES);
    plan->items = gops_ceil_div(p->planes, p->plane_block) * blocks;
    plan->filter_bytes = gops_depthwise_filter_bytes(plan);
    plan->cost = rows_estimate(plan, p);
    rows_explain(plan, p);
    return GOPS_OK;
}

const gops_method gops_depthwise_rows_conv = {
    .name = "depthwise/rows",
    .operation = GOPS_OPERATION_CONV,
    .prepare = rows_prepare,
    .pack = gops_depthwise_pack,
    .run = gops_depthwise_rows_run,
    .modular = 1,
};

const gops_method gops_depthwise_rows_deconv = {
    .name = "depthwise/rows",
    .operation = GOPS_OPERATION_DECONV,
    .prepare = rows_prepare,
    .pack = gops_depthwise_pack,
    .run = gops_depthwise_rows_run,
    .modular = 1,
};
