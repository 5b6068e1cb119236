/*
 * depthwise_rows_plan.c: plans `depthwise/rows`, convolutions of one input channel a group and
 * their transposed form: any number of output channels, up to 3 spatial axes.
 *
 * A work item copies a block of a channel, padded with zeros and converted to the compute type, to
 * where it fits the first-level cache, runs every filter of the group over it
 * (depthwise_rows.inc.h), and goes on to its next channel; the zeros around the data stay. An image
 * is cut into blocks along y first, so that rows stay whole; each of two neighbouring blocks copies
 * the rows that both need.
 */
#include "methods/depthwise/depthwise_method.h"

#include "base/error.h"

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

/* Sets the pitches and sizes that follow from the blocks; returns the bytes of the workspace. With
 * `cached`, only of what in_place uses. */
static int64_t set_layout(const gops_plan *plan, gops_depthwise_rows_plan *p, bool cached)
{
    const int64_t size = gops_compute_bytes(plan->type->compute);
    gops_depthwise_layout *layout = &p->layout;
    const gops_depthwise_axis *y = &layout->axis[1], *x = &layout->axis[2];
    const int64_t outputs = x->block * x->subconvs;
    layout->residues = gops_min(layout->stride, x->reach + 1);
    layout->residue_pitch = x->block + x->reach / layout->stride;
    layout->row_pitch =
        gops_round_up(layout->residues * layout->residue_pitch, GOPS_WORKSPACE_ALIGNMENT / size);
    layout->plane_pitch = gops_depthwise_extent(y) * layout->row_pitch;
    const int64_t copy = gops_depthwise_extent(&layout->axis[0]) * layout->plane_pitch * size;
    /* in_place too: where the residual is the output, the kernel must not overwrite it. */
    const int64_t sums = cached && p->in_place ? 0 : y->block * outputs * size;
    const int64_t staging = gops_max(gops_depthwise_extent(x), outputs) * size;
    return gops_depthwise_lay_out(layout, copy + GOPS_DEPTHWISE_SLACK, sums, staging,
                                  plan->conv.taps * size, 0);
}

/* Halves the blocks along an axis until the workspace fits `room`, which is that of a cache if
 * `cached`, but not below `min_block`. */
static void shrink(const gops_plan *plan, gops_depthwise_rows_plan *p, int axis, int64_t min_block,
                   int64_t room, bool cached)
{
    gops_depthwise_axis *a = &p->layout.axis[axis];
    while (a->block > gops_max(1, min_block) && set_layout(plan, p, cached) > room) {
        gops_depthwise_cut(a, gops_max(min_block, a->block / 2));
    }
}

/* Chooses blocks that fit the caches. A block is not made much smaller than the reach of its taps,
 * because its halo is copied along with it. */
static void choose_blocks(const gops_plan *plan, gops_depthwise_rows_plan *p)
{
    const int64_t l1 = plan->machine.l1_bytes * 3 / 4, l2 = plan->machine.l2_bytes / 4;
    gops_depthwise_axis *y = &p->layout.axis[1];
    /* Cut rows first where only planes have a halo: then no data is copied twice. */
    if (y->reach == 0 && p->layout.axis[0].reach > 0) {
        shrink(plan, p, 1, MIN_ROWS, l2, true);
    }
    for (int a = 0; a < 3; a++) {
        const gops_depthwise_axis *axis = &p->layout.axis[a];
        const int64_t halo = axis->reach / axis->step;
        const int64_t min_block[] = {halo / 2 + 1, gops_max(halo, TILE_ROWS),
                                     gops_max(halo, MIN_COLUMNS)};
        shrink(plan, p, a, min_block[a], a == 0 ? l2 : l1, true);
    }
    /* Blocks of whole tiles. */
    if (y->block > 2 * TILE_ROWS && y->blocks > 1) {
        gops_depthwise_cut(y, gops_round_up(y->block, TILE_ROWS));
        y->block = gops_round_up(y->block, TILE_ROWS);
        y->blocks = gops_ceil_div(y->count, y->block);
    }
}

/* Estimated nanoseconds on one thread. The constants were fitted to 28 layers of f32, from 1 to
 * 1152 channels and from 7 to 512 columns, on a Zen 5 with AVX-512, and meet their times within
 * 30%; those of bytes that are split by strides, and of sums that are converted, to 17 layers of i8. */
static double rows_estimate(const gops_plan *plan, const gops_depthwise_rows_plan *p)
{
    static const double item = 78, filter = 30, row = 0.7, vector = 1.0, split_vector = 1.3,
                        sum_vector = 0.54, tap_vector = 0.14, single_tap = 0.3,
                        subconv_vector = 3.5, copied_vector = 1.75, split_bytes_row = 6.5;
    const gops_depthwise_axis *axis = p->layout.axis;
    const int64_t lanes = gops_depthwise_lanes(plan);
    const double planes = (double)p->planes;
    const double filters = planes * (double)plan->conv.channels_out;
    /* 8- and 16-bit integers take 1.2 times as long as f32. */
    const double conversion = plan->type->native ? 1 : 1.2;
    double rows = 1, positions = 1, subconvs = 1;
    for (int a = 0; a < 3; a++) {
        if (a < 2) {
            rows *= (double)axis[a].blocks *
                    (double)gops_min(gops_depthwise_extent(&axis[a]), axis[a].data);
            positions *= (double)axis[a].count;
        }
        subconvs *= (double)axis[a].subconvs;
    }
    positions *= (double)gops_ceil_div(axis[2].count, lanes);
    const double tap = axis[1].step > 2 ? single_tap : tap_vector;
    const bool splits = p->layout.residues > 1;
    const double store = (subconvs > 1 ? subconv_vector : copied_vector) * conversion;
    return (double)plan->items * item + gops_depthwise_clear_ns(plan, p->layout.begin.sums) +
           filters * filter * (double)(axis[0].subconvs * axis[1].subconvs) +
           planes * rows *
               (row + (splits && plan->type->bytes == 1 ? split_bytes_row : 0) +
                (double)gops_ceil_div(axis[2].data, lanes) * conversion *
                    (splits ? split_vector : vector)) +
           filters * positions *
               (tap * (double)plan->conv.taps + subconvs * (p->in_place ? sum_vector : store));
}

static gops_status rows_prepare(gops_plan *plan, int64_t worker_limit, gops_error *error)
{
    gops_depthwise_rows_plan *p = gops_parameters(plan);
    const gops_depthwise_axis *axis = p->layout.axis;
    const bool transposed = plan->operation == GOPS_OPERATION_DECONV;
    *p = (gops_depthwise_rows_plan){.planes = plan->conv.batch * plan->conv.groups};
    GOPS_TRY(gops_depthwise_axes(plan, p->layout.axis, error));
    p->layout.columns = true;
    p->layout.stride = axis[2].step;
    p->in_place = plan->output_type->native && axis[2].subconvs == 1;
    choose_blocks(plan, p);
    for (int a = 0; a < 3; a++) {
        shrink(plan, p, a, 1, worker_limit, false);
    }
    plan->worker_bytes = set_layout(plan, p, false);
    const int64_t blocks = axis[0].blocks * axis[1].blocks * axis[2].blocks;
    p->plane_block = gops_clamp(gops_mul_saturate(p->planes, blocks) / MIN_ITEMS, 1, MAX_PLANES);
    plan->items = gops_ceil_div(p->planes, p->plane_block) * blocks;
    plan->filter_bytes = gops_depthwise_filter_bytes(plan);
    plan->cost = rows_estimate(plan, p);
    snprintf(plan->why, sizeof plan->why,
             "one channel a group: sliding window over padded blocks of %lld x %lld x %lld "
             "positions%s, %lld channels an item",
             (long long)axis[0].block, (long long)axis[1].block, (long long)axis[2].block,
             transposed ? ", a sub-convolution for each residue of the stride" : "",
             (long long)p->plane_block);
    return GOPS_OK;
}

const gops_method gops_depthwise_rows_conv = {
    .name = "depthwise/rows",
    .operation = GOPS_OPERATION_CONV,
    .prepare = rows_prepare,
    .pack = gops_depthwise_pack,
    .run = gops_depthwise_rows_run,
};

const gops_method gops_depthwise_rows_deconv = {
    .name = "depthwise/rows",
    .operation = GOPS_OPERATION_DECONV,
    .prepare = rows_prepare,
    .pack = gops_depthwise_pack,
    .run = gops_depthwise_rows_run,
};
