/*
 * depthwise_plan.c: `direct`, depthwise convolution and its transposed form: one input
 * channel a group, any number of output channels, up to 3 spatial axes.
 *
 * A work item copies a block of a channel, padded with zeros and converted, to where the first
 * level cache holds it, runs every filter of the group over it (depthwise_rows.inc.h), and goes on
 * to the next channel of its share; the zeros around the data stay. An image is cut into blocks
 * along y first, so that rows stay whole; the rows that two blocks share are copied for both. The
 * parameters and the transposed form are derived in depthwise_method.h.
 */
#include "methods/depthwise/depthwise_method.h"
#include "methods/methods.h"

#include "base/checked.h"
#include "base/error.h"
#include "methods/depthwise/depthwise.h"

#include <assert.h>
#include <stdio.h>

enum {
    /* The least items to divide the work into, so that threads find some, and evenly. */
    SHARES = 32,
    /* Channels beyond this in an item no longer save anything. */
    MAX_PLANES = 64,
    /* A tile of the kernels is at most 7 rows high. */
    TILE_ROWS = 7,
    /* Blocks of planes have at least this many rows where the image does. */
    MIN_ROWS = 4,
    /* Blocks along x have at least this many columns where the image does. */
    MIN_COLUMNS = 256,
};

static_assert(sizeof(gops_depthwise) <= GOPS_PARAMETER_BYTES, "parameters outgrow the plan's room");

static int64_t round_bytes(int64_t bytes)
{
    return bytes > INT64_MAX - GOPS_WORKSPACE_ALIGNMENT
               ? INT64_MAX
               : gops_round_up(bytes, GOPS_WORKSPACE_ALIGNMENT);
}

/* How many elements of the copy the block has along an axis; saturated. */
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

/* Pitches and sizes that follow from the blocks; returns the bytes of the workspace, saturated. */
static int64_t lay_out(const gops_plan *plan, gops_depthwise *p)
{
    const int64_t size = gops_compute_bytes(plan->type->compute);
    const int64_t line = GOPS_WORKSPACE_ALIGNMENT / size;
    const gops_depthwise_axis *x = &p->axis[2], *y = &p->axis[1];
    const int64_t stride = p->transposed ? 1 : x->stride;
    p->phases = gops_min(stride, x->reach + 1);
    p->phase_pitch = add_saturate(x->block, x->reach / stride);
    int64_t row = gops_mul_saturate(p->phases, p->phase_pitch);
    p->row_pitch = row > INT64_MAX - line ? INT64_MAX : gops_round_up(row, line);
    p->plane_pitch = gops_mul_saturate(extent(y), p->row_pitch);
    int64_t copy = gops_mul_saturate(gops_mul_saturate(extent(&p->axis[0]), p->plane_pitch), size);
    p->copy_bytes = round_bytes(add_saturate(copy, GOPS_DEPTHWISE_SLACK));
    p->output_pitch = x->block;
    /* There even if it is in_place: a residual may be the output. */
    int64_t sums = gops_mul_saturate(gops_mul_saturate(x->block, y->block), x->classes);
    p->sums_bytes = round_bytes(gops_mul_saturate(sums, size));
    p->line_bytes =
        round_bytes(gops_mul_saturate(gops_max(extent(x), x->block * x->classes), size));
    p->weights_bytes = round_bytes(gops_mul_saturate(plan->conv.taps, size));
    p->classes_bytes = round_bytes(p->axis[0].classes * y->classes * x->classes *
                                   (int64_t)sizeof(gops_depthwise_class));
    p->offsets_bytes = round_bytes(gops_mul_saturate(plan->conv.taps, (int64_t)sizeof(int64_t)));
    p->order_bytes = p->offsets_bytes;
    const int64_t parts[] = {p->sums_bytes,    p->line_bytes,    p->weights_bytes,
                             p->classes_bytes, p->offsets_bytes, p->order_bytes};
    int64_t all = p->copy_bytes;
    for (int i = 0; i < (int)(sizeof parts / sizeof parts[0]); i++) {
        all = add_saturate(all, parts[i]);
    }
    return all;
}

/* Cuts an axis into as many equal blocks as make them at most `block` long. */
static void cut(gops_depthwise_axis *axis, int64_t block)
{
    axis->blocks = gops_ceil_div(axis->count, gops_clamp(block, 1, axis->count));
    axis->block = gops_ceil_div(axis->count, axis->blocks);
}

/* Halves the blocks along an axis, if they are longer than `least`, until the workspace fits, what
 * is not used of it left out if it is for a cache. */
static void shrink(const gops_plan *plan, gops_depthwise *p, int axis, int64_t least, int64_t room,
                   int cached)
{
    gops_depthwise_axis *a = &p->axis[axis];
    while (a->block > gops_max(1, least)) {
        const int64_t bytes = lay_out(plan, p);
        if (bytes - (cached && p->in_place ? p->sums_bytes : 0) <= room) {
            return;
        }
        cut(a, gops_max(least, a->block / 2));
    }
}

/* Blocks that the caches hold. Halos make small blocks costly: a block is not much smaller than
 * what its taps reach over. */
static void choose_blocks(const gops_plan *plan, gops_depthwise *p)
{
    const int64_t l1 = plan->machine.l1_bytes * 3 / 4, l2 = plan->machine.l2_bytes / 4;
    gops_depthwise_axis *y = &p->axis[1];
    /* Rows without a halo first: cutting planes apart costs reading their halos again. */
    if (y->reach == 0 && p->axis[0].reach > 0) {
        shrink(plan, p, 1, MIN_ROWS, l2, 1);
    }
    for (int a = 0; a < 3; a++) {
        const gops_depthwise_axis *axis = &p->axis[a];
        const int64_t halo = axis->reach / axis->step;
        const int64_t least[] = {halo / 2 + 1, gops_max(halo, TILE_ROWS),
                                 gops_max(halo, MIN_COLUMNS)};
        shrink(plan, p, a, least[a], a == 0 ? l2 : l1, 1);
    }
    /* Whole tiles. */
    if (y->block > 2 * TILE_ROWS && y->blocks > 1) {
        cut(y, gops_round_up(y->block, TILE_ROWS));
        y->block = gops_round_up(y->block, TILE_ROWS);
        y->blocks = gops_ceil_div(y->count, y->block);
    }
}

/* Estimated nanoseconds on one thread: constants fitted to 28 layers of f32 from 1 to 1152 channels
 * and 7 to 512 columns on a Zen 5 with AVX-512, which they meet within 30% on a shared machine;
 * scaled with the width of the vectors for others. */
static double estimate(const gops_plan *plan, const gops_depthwise *p)
{
    static const double item = 78, filter = 30, row = 0.7, vector = 1.0, split_vector = 1.3,
                        sum_vector = 0.54, tap_vector = 0.14, single_tap = 0.3, class_vector = 3.5;
    const gops_depthwise_axis *axis = p->axis;
    const int64_t lanes = plan->kernels->vector_bytes / gops_compute_bytes(plan->type->compute);
    const double planes = (double)p->planes;
    const double filters = planes * (double)plan->conv.channels_out;
    /* f16 and bf16 take what f32 does on 240 channels of 28x28, 8- and 16-bit integers 1.2 times.
     */
    const double typed = plan->type->plain ? 1 : 1.2;
    double rows = 1, positions = 1, classes = 1;
    for (int a = 0; a < 3; a++) {
        if (a < 2) {
            rows *= (double)gops_min(gops_mul_saturate(axis[a].blocks, extent(&axis[a])),
                                     gops_mul_saturate(axis[a].blocks, axis[a].data));
            positions *= (double)axis[a].count;
        }
        classes *= (double)axis[a].classes;
    }
    positions *= (double)axis[2].count <= (double)lanes / 2
                     ? 0.7
                     : (double)gops_ceil_div(axis[2].count, lanes);
    const double tap = axis[1].step > 2 ? single_tap : tap_vector;
    return (double)plan->items * item +
           filters * filter * (double)(axis[0].classes * axis[1].classes) +
           planes * rows *
               (row + (double)gops_ceil_div(axis[2].data, lanes) * typed *
                          (p->phases > 1 ? split_vector : vector)) +
           filters * positions *
               (tap * (double)plan->conv.taps +
                classes * (p->in_place ? sum_vector : class_vector * typed));
}

static void explain(gops_plan *plan, const gops_depthwise *p)
{
    const gops_depthwise_axis *axis = p->axis;
    snprintf(plan->why, sizeof plan->why,
             "one channel a group: sliding window over padded blocks of %lld x %lld x %lld "
             "positions%s, %lld channels an item",
             (long long)axis[0].block, (long long)axis[1].block, (long long)axis[2].block,
             p->transposed ? ", an output class for each phase of the stride" : "",
             (long long)p->plane_block);
}

static gops_status prepare(gops_plan *plan, int64_t slot_limit, gops_error *error)
{
    gops_depthwise *p = (gops_depthwise *)(void *)plan->parameters.bytes;
    *p = (gops_depthwise){.transposed = plan->operation == GOPS_OPERATION_DECONV};
    gops_status status = gops_depthwise_axes(plan, p->axis, error);
    if (status != GOPS_OK) {
        return status;
    }
    p->in_place = plan->output_type->plain && p->axis[2].classes == 1;
    p->planes = plan->conv.batch * plan->conv.groups;
    choose_blocks(plan, p);
    for (int a = 0; a < 3; a++) {
        shrink(plan, p, a, 1, slot_limit, 0);
    }
    plan->slot_bytes = lay_out(plan, p);
    if (plan->slot_bytes > slot_limit) {
        return gops_fail(error, GOPS_INVALID,
                         "max_workspace is %lld; direct needs at least %lld bytes for one thread",
                         (long long)slot_limit, (long long)plan->slot_bytes);
    }
    const int64_t blocks = p->axis[0].blocks * p->axis[1].blocks * p->axis[2].blocks;
    p->plane_block = gops_clamp(gops_mul_saturate(p->planes, blocks) / SHARES, 1, MAX_PLANES);
    plan->items = gops_ceil_div(p->planes, p->plane_block) * blocks;
    plan->filter_bytes = gops_depthwise_filter_bytes(plan);
    plan->cost = estimate(plan, p);
    explain(plan, p);
    return GOPS_OK;
}

const gops_method gops_depthwise_rows_conv = {
    .algorithm = "direct",
    .operation = GOPS_OPERATION_CONV,
    .prepare = prepare,
    .pack = gops_depthwise_pack,
    .run = gops_depthwise_run,
    .modular = 1,
};

const gops_method gops_depthwise_rows_deconv = {
    .algorithm = "direct",
    .operation = GOPS_OPERATION_DECONV,
    .prepare = prepare,
    .pack = gops_depthwise_pack,
    .run = gops_depthwise_run,
    .modular = 1,
};
