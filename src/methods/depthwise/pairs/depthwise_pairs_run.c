/*
 * depthwise_pairs_run.c: runs a work item of `depthwise/pairs`.
 *
 * The sums of all positions become codes at once; the rows of these are then copied to the output.
 * Outputs of other types, and those with more post-ops, are made of the rows of sums.
 */
#include "methods/depthwise/pairs/depthwise_pairs_method.h"

#include "base/checked.h"
#include "post_ops/post_ops.h"
#include "post_ops/requantize.h"

#include <math.h>
#include <string.h>

/* What an item works on; arrays are by axis. */
typedef struct block {
    const gops_plan *plan;
    const gops_pairs_plan *p;
    const gops_job *job;
    const struct gops_depthwise_pairs *kernels;
    int16_t *copy;
    uint8_t *codes;
    int64_t *offsets;
    gops_pairs_subconv *subconvs; /* X inmost */
    uint32_t *sums;
    uint32_t *row;              /* of sums, interleaved */
    int64_t first[3], count[3]; /* outputs */
    int64_t origin[3];          /* of the copy, in the data */
    int64_t top, bottom, begin; /* rows and the first column of the copy that are data */
    bool to_codes;              /* 8-bit outputs without further post-ops */
    bool as_sums;               /* i32 outputs likewise, which are the sums */
    gops_depthwise_pairs_rows rows, stores; /* what is copied in, and out */
    gops_depthwise_pairs_call call;         /* what all channels have in common */
} block;

/* Where row y of plane z of the copy is. */
static int64_t row_at(const gops_pairs_plan *p, int64_t z, int64_t y)
{
    const int64_t step = p->axis[1].step;
    return z * p->plane + y % step * p->residue + y / step * p->pitch;
}

/* Number of the first of a filter's pairs of a sub-convolution. */
static int64_t first_weights(const gops_pairs_plan *p, const gops_depthwise_taps along[3])
{
    int64_t before[3] = {0}; /* taps along z and y, and pairs along x */
    for (int a = 0; a < 3; a++) {
        const int64_t end = along[a].first % p->axis[a].every;
        for (int64_t first = 0; first < end; first++) {
            const int64_t taps = gops_pairs_taps(&p->axis[a], first);
            before[a] += a == 2 ? gops_pairs_of_row(&p->axis[2], taps) : taps;
        }
    }
    return (before[0] * p->axis[1].kernel + before[1] * along[0].count) * p->row_pairs +
           before[2] * along[0].count * along[1].count;
}

/* Fills in a sub-convolution and its offsets, from number `offset` on; returns their end. */
static int64_t fill_subconv(const block *at, const gops_depthwise_taps along[3], int64_t offset,
                            gops_pairs_subconv *subconv)
{
    const gops_pairs_plan *p = at->p;
    const gops_depthwise_axis *x = &p->axis[2];
    const int64_t distance = x->spacing > 1 ? x->spacing : 2;
    /* A convolution copies only the planes that have taps. */
    const int64_t plane = p->axis[0].transposed ? p->axis[0].spacing : 1;
    const int64_t pairs = gops_pairs_of_row(x, along[2].count);
    *subconv = (gops_pairs_subconv){
        .rows = along[0].outputs > 0 ? along[1].outputs : 0,
        .pairs = along[0].count * along[1].count * pairs,
        .offsets = offset,
        .weights = first_weights(p, along),
        .odd_by_itself = gops_pairs_odd_by_itself(x, along[2].count),
    };
    for (int64_t z = 0; z < along[0].count; z++) {
        for (int64_t y = 0; y < along[1].count; y++) {
            const int64_t first = row_at(p, along[0].position + z * plane,
                                         along[1].position + y * p->axis[1].spacing) +
                                  along[2].position;
            for (int64_t pair = 0; pair < pairs; pair++) {
                at->offsets[offset++] = first + pair * distance;
            }
        }
    }
    return offset;
}

static void fill_subconvs(const block *at)
{
    const gops_depthwise_axis *axis = at->p->axis;
    gops_pairs_subconv *subconv = at->subconvs;
    gops_depthwise_range range[3];
    int64_t offset = 0;
    for (int a = 0; a < 3; a++) {
        range[a] = (gops_depthwise_range){at->first[a], at->count[a]};
    }
    for (int64_t z = 0; z < axis[0].subconvs; z++) {
        gops_depthwise_taps along[3] = {gops_depthwise_find_taps(&axis[0], range[0], z)};
        for (int64_t y = 0; y < axis[1].subconvs; y++) {
            along[1] = gops_depthwise_find_taps(&axis[1], range[1], y);
            for (int64_t x = 0; x < axis[2].subconvs; x++) {
                along[2] = gops_depthwise_find_taps(&axis[2], range[2], x);
                offset = fill_subconv(at, along, offset, subconv++);
            }
        }
    }
}

/* What of a channel's data is copied, and how: the rows of residue 0 of a plane, from the first one
 * on. The padding in the copy is 0 already. */
static void fill_rows(block *at)
{
    const gops_depthwise_axis *y = &at->p->axis[1], *x = &at->p->axis[2];
    const int64_t rows = (at->count[1] - 1) * y->step + y->reach + 1;
    const int64_t columns = (at->count[2] - 1) * x->step + x->reach + 1;
    const int64_t begin = gops_clamp(-at->origin[2], 0, columns);
    const int64_t end = gops_clamp(x->data - at->origin[2], begin, columns);
    const int32_t offset = gops_8_bit_shift(at->plan->type->type);
    at->top = gops_clamp(-at->origin[1], 0, rows);
    at->bottom = gops_clamp(y->data - at->origin[1], at->top, rows);
    at->begin = begin;
    at->rows = (gops_depthwise_pairs_rows){
        .from_step = y->step * x->data,
        .to_step = at->p->pitch,
        .columns = end - begin,
        .from_plane = at->plan->data_plane,
        .to_plane = at->p->copy,
        .flip = (uint8_t)offset,
        .zero = (int16_t)((int32_t)at->job->data_zero + offset),
    };
}

/* Copies rows top, top + step and so on of a plane of each channel. */
static void copy_rows(block *at, const uint8_t *plane, int16_t *copy, int64_t top)
{
    const gops_depthwise_axis *y = &at->p->axis[1], *x = &at->p->axis[2];
    at->rows.from = plane + (at->origin[1] + top) * x->data + at->origin[2] + at->begin;
    at->rows.to = copy + at->begin;
    at->rows.rows = at->bottom - top;
    if (y->step > 1) {
        at->rows.rows = (at->rows.rows - 1) / y->step + 1;
    }
    at->kernels->widen(&at->rows);
}

/* Copies `count` channels, of which `channel` is the first. */
static void copy_channels(block *at, const uint8_t *channel, int64_t count)
{
    const gops_pairs_plan *p = at->p;
    const gops_depthwise_axis *z_axis = &p->axis[0], *y_axis = &p->axis[1];
    const int64_t end = gops_min(at->bottom, at->top + y_axis->step);
    const int64_t step = z_axis->transposed ? 1 : z_axis->dilation;
    at->rows.planes = count;
    for (int64_t kz = 0; kz < p->depth && at->rows.columns > 0; kz++) {
        const int64_t z = at->origin[0] + kz * step;
        if (z < 0 || z >= z_axis->data) {
            continue;
        }
        for (int64_t top = at->top; top < end; top++) {
            const int64_t to =
                y_axis->step > 1 ? row_at(p, kz, top) : kz * p->plane + top * p->pitch;
            copy_rows(at, channel + z * y_axis->data * p->axis[2].data, at->copy + to, top);
        }
    }
}

/* Interleaves a row of the sums of all sub-convolutions along x. */
static void interleave_sums(const block *at, const uint32_t *sums, void *to)
{
    const gops_depthwise_interleave interleave = {
        .to = to,
        .from = sums,
        .pitch = at->p->positions,
        .ways = at->p->axis[2].subconvs,
        .count = at->count[2],
        .end = at->stores.columns,
    };
    at->plan->kernels->depthwise->rows[GOPS_COMPUTE_U32].interleave(&interleave);
}

/* Copies the sums of `count` channels to the outputs, which they are, from number `first` on. */
static void copy_sums(const block *at, int64_t count, int64_t first)
{
    enum { BYTES = sizeof(uint32_t) };
    gops_depthwise_pairs_rows rows = at->stores;
    rows.from = (const uint8_t *)at->sums;
    rows.to = gops_output_at(at->plan, at->job, first);
    rows.planes = count;
    rows.columns *= BYTES;
    rows.from_step *= BYTES;
    rows.to_step *= BYTES;
    rows.from_plane *= BYTES;
    rows.to_plane *= BYTES;
    if (at->p->axis[2].subconvs == 1) {
        at->kernels->copy(&rows);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        const uint32_t *sums = at->sums + i * at->stores.from_plane;
        uint8_t *to = (uint8_t *)rows.to + i * rows.to_plane;
        for (int64_t row = 0; row < rows.rows; row++, to += rows.to_step) {
            interleave_sums(at, sums + row * at->stores.from_step, to);
        }
    }
}

/* Stores the sums of `rows` rows of outputs, of which `first` is the first one in the tensor;
 * `channel` is group * C_OUT + output channel. */
static void store_sums(const block *at, uint32_t *sums, int64_t channel, int64_t rows,
                       int64_t first)
{
    const gops_plan *plan = at->plan;
    const gops_depthwise_axis *x = &at->p->axis[2];
    const int64_t pitch = at->stores.from_step, columns = at->stores.columns;
    if (x->subconvs == 1 && columns == at->stores.to_step) {
        for (int64_t row = 1; row < rows; row++) {
            memmove(sums + row * columns, sums + row * pitch, (size_t)columns * sizeof(uint32_t));
        }
        gops_store(plan, at->job, channel, first, rows * columns, sums);
        return;
    }
    for (int64_t row = 0; row < rows; row++, first += at->stores.to_step) {
        uint32_t *of_row = sums + row * pitch;
        if (x->subconvs > 1) {
            interleave_sums(at, of_row, at->row);
            of_row = at->row;
        }
        gops_store(plan, at->job, channel, first, columns, of_row);
    }
}

/* Computes sub-convolutions of one residue along z and y of the copies of `count` channels; `channel`, that
 * of the first, is group * C_OUT + output channel. */
static void run_channels(block *at, const gops_pairs_subconv *subconvs, int64_t count,
                         int64_t channel)
{
    const gops_job *job = at->job;
    const gops_pairs_plan *p = at->p;
    gops_depthwise_pairs_call *call = &at->call;
    const int32_t *weights = (const int32_t *)job->filter + channel * p->pairs * 2;
    call->planes = count;
    if (at->to_codes) {
        call->scale = job->quantized->multipliers + channel;
    }
    if (at->to_codes || at->as_sums) {
        call->start = job->bias != NULL ? (const uint32_t *)job->bias + channel : NULL;
    }
    for (int64_t x = 0; x < p->axis[2].subconvs; x++) {
        call->codes = at->to_codes ? at->codes + x * p->positions : NULL;
        call->sums = at->sums + x * p->positions;
        call->offsets = at->offsets + subconvs[x].offsets;
        call->pairs = subconvs[x].pairs;
        call->odd_by_itself = subconvs[x].odd_by_itself;
        call->weights = weights + subconvs[x].weights * 2;
        at->kernels->run(call);
    }
}

/* Computes the outputs of residue z along z and y along y of output channel c of `count` planes of an
 * image that were copied, groups `group` and the next ones; `first` is the plane's first output. */
static void run_residue(block *at, int64_t group, int64_t count, int64_t c, int64_t z, int64_t y,
                        int64_t first)
{
    const gops_conv_geometry *conv = &at->plan->conv;
    const gops_pairs_plan *p = at->p;
    const gops_depthwise_axis *axis = p->axis;
    const int64_t outputs = conv->channels_out * at->plan->output_plane;
    const int64_t channel = group * conv->channels_out + c;
    const gops_pairs_subconv *subconvs =
        at->subconvs + (z * axis[1].subconvs + y) * axis[2].subconvs;
    const int64_t rows = subconvs->rows;
    if (rows == 0) {
        return;
    }
    first += (at->first[0] * axis[0].subconvs + z) * axis[1].output * axis[2].output;
    first += (at->first[1] * axis[1].subconvs + y) * axis[2].output;
    first += at->first[2] * axis[2].subconvs;
    at->call.count = (rows - 1) * at->stores.from_step + at->count[2];
    at->stores.rows = rows;
    run_channels(at, subconvs, count, channel);
    if (at->as_sums) {
        copy_sums(at, count, first);
        return;
    }
    for (int64_t i = 0; i < count && !at->to_codes; i++) {
        store_sums(at, at->sums + i * at->stores.from_plane, channel + i * conv->channels_out, rows,
                   first + i * outputs);
    }
    if (!at->to_codes) {
        return;
    }
    at->stores.planes = count;
    at->stores.from = at->codes;
    at->stores.to = gops_output_at(at->plan, at->job, first);
    if (axis[2].subconvs > 1) {
        at->kernels->interleave(&at->stores);
    } else {
        at->kernels->copy(&at->stores);
    }
}

/* Likewise, of all residues and output channels. */
static void run_planes(block *at, int64_t group, int64_t count, int64_t first)
{
    const gops_conv_geometry *conv = &at->plan->conv;
    const gops_depthwise_axis *axis = at->p->axis;
    for (int64_t c = 0; c < conv->channels_out; c++, first += at->plan->output_plane) {
        for (int64_t z = 0; z < axis[0].subconvs; z++) {
            for (int64_t y = 0; y < axis[1].subconvs; y++) {
                run_residue(at, group, count, c, z, y, first);
            }
        }
    }
}

static void fill_call(block *at)
{
    const gops_plan *plan = at->plan;
    const gops_depthwise_axis *x = &at->p->axis[2];
    const int32_t offset = gops_8_bit_shift(plan->output_type->type);
    const gops_requantize by = gops_requantize_read(plan, at->job, 0);
    const int64_t outputs = x->subconvs * at->p->positions, channels_out = plan->conv.channels_out;
    at->call = (gops_depthwise_pairs_call){
        .step = x->step,
        .data = at->copy,
        .data_apart = at->p->copy,
        .outputs_apart = outputs,
        .weights_apart = channels_out * at->p->pairs * 2,
        .channels_apart = channels_out,
        .high = by.high,
    };
    at->stores = (gops_depthwise_pairs_rows){
        .from_step = at->p->pitch / x->step,
        .to_step = at->p->axis[1].subconvs * x->output,
        .columns = gops_min(at->count[2] * x->subconvs, x->output - at->first[2] * x->subconvs),
        .from_plane = outputs,
        .to_plane = channels_out * plan->output_plane,
        .ways = x->subconvs,
        .apart = at->p->positions,
    };
    if (at->to_codes) {
        at->call.middle = (int16_t)(by.zero + offset);
        at->call.least = (uint8_t)((int32_t)rintf(by.low) + at->call.middle);
        at->call.flip = (uint8_t)offset;
    }
}

void gops_depthwise_pairs_run(const gops_plan *plan, const gops_job *job, int64_t item,
                              void *workspace)
{
    const gops_pairs_plan *p = gops_read_parameters(plan);
    const gops_conv_geometry *conv = &plan->conv;
    unsigned char *parts = workspace;
    block at = {
        .plan = plan,
        .p = p,
        .job = job,
        .kernels = plan->kernels->depthwise_pairs,
        .copy = (int16_t *)(void *)(parts + p->begin.copy),
        .codes = parts + p->begin.codes,
        .offsets = (int64_t *)(void *)(parts + p->begin.offsets),
        .subconvs = (gops_pairs_subconv *)(void *)(parts + p->begin.subconvs),
        .sums = (uint32_t *)(void *)(parts + p->begin.sums),
        .row = (uint32_t *)(void *)(parts + p->begin.row),
        .to_codes = gops_requantize_applies(plan, job) && gops_is_8_bit(plan->output_type->type),
        .as_sums = gops_requantize_is_none(plan, job),
    };
    for (int a = 2; a >= 0; a--) {
        const gops_depthwise_axis *axis = &p->axis[a];
        at.first[a] = item % axis->blocks * axis->block;
        at.count[a] = gops_min(axis->block, axis->count - at.first[a]);
        at.origin[a] = at.first[a] * axis->step - axis->shift;
        item /= axis->blocks;
    }
    memset(at.copy, 0, (size_t)(p->begin.codes - p->begin.copy));
    fill_subconvs(&at);
    fill_rows(&at);
    fill_call(&at);
    const int64_t end = gops_min((item + 1) * p->plane_block, p->planes);
    int64_t plane = item * p->plane_block;
    while (plane < end) {
        const int64_t image = plane / conv->groups, group = plane % conv->groups;
        const int64_t count = gops_min(gops_min(p->batch, end - plane), conv->groups - group);
        copy_channels(&at, gops_data_at(plan, job, image, plane * plan->data_plane), count);
        run_planes(&at, group, count, plane * conv->channels_out * plan->output_plane);
        plane += count;
    }
}
