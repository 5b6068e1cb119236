/* depthwise_rows_run.c: runs a work item of `depthwise/rows`: a block of some channels. */
#include "methods/depthwise/depthwise_method.h"

#include "post_ops/epilogue.h"
#include "post_ops/post_ops.h"

#include <string.h>

/* What an item works on; arrays are by axis. */
typedef struct block {
    const gops_plan *plan;
    const gops_depthwise_rows_plan *p;
    const gops_depthwise_axis *axis;
    const gops_depthwise_kernels *kernels;
    const gops_job *job;
    const void *bounds; /* NULL, or what the kernel's epilogue applies with the bias */
    gops_epilogue_values bias;
    gops_depthwise_workspace ws;
    int64_t channel; /* group * C_OUT + output channel */
    int64_t start;   /* the channel's first output in the tensor */
    gops_depthwise_range positions[3];
    int64_t origin[3]; /* index of the data that the copy begins with; negative in the padding */
    int64_t begin[3], end[3]; /* the elements of the copy that are data */
    int64_t size;             /* bytes of the compute type */
    int64_t data_size;        /* bytes of the data's type */
} block;

/* Finds the block's positions and data along an axis; `index` is that of the block. */
static void locate(block *at, int a, int64_t index)
{
    const gops_depthwise_axis *axis = &at->axis[a];
    const int64_t first = index * axis->block;
    const int64_t count = gops_min(axis->block, axis->count - first);
    const int64_t extent = (count - 1) * axis->step + axis->reach + 1;
    at->positions[a] = (gops_depthwise_range){first, count};
    at->origin[a] = first * axis->step - axis->shift;
    at->begin[a] = gops_clamp(-at->origin[a], 0, extent);
    at->end[a] = gops_clamp(axis->data - at->origin[a], at->begin[a], extent);
}

/* Copies rows of compute-type data, of which `data` is the block's first along x, to the rows of
 * the copy from `row` on. */
static void copy_rows(const block *at, const void *data, unsigned char *row, int64_t rows)
{
    const gops_depthwise_layout *layout = &at->p->layout;
    const gops_depthwise_copy copy = {
        .from = data,
        .to = row,
        .from_pitch = at->axis[2].data,
        .to_pitch = layout->row_pitch,
        .residue_pitch = layout->residue_pitch,
        .rows = rows,
        .begin = at->begin[2],
        .end = at->end[2],
        .stride = layout->stride,
        .residues = layout->residues,
    };
    at->kernels->copy(&copy);
}

/* Copies the block's rows of a plane one by one: converts each, and skips rows that no window
 * reads. */
static void copy_single_rows(const block *at, const unsigned char *data, unsigned char *row)
{
    const gops_depthwise_axis *y_axis = &at->axis[1], *x_axis = &at->axis[2];
    const gops_type_row *type = at->plan->type;
    const int64_t length = at->end[2] - at->begin[2];
    for (int64_t y = at->begin[1]; y < at->end[1]; y++) {
        if (y % y_axis->step > y_axis->reach) {
            /* no window reads this row */
        } else if (type->native) {
            copy_rows(at, data, row, 1);
        } else if (x_axis->step == 1) {
            type->load(row + at->begin[2] * at->size, data, length);
        } else {
            type->load(at->ws.staging, data, length);
            copy_rows(at, at->ws.staging, row, 1);
        }
        row += at->p->layout.row_pitch * at->size;
        data += x_axis->data * at->data_size;
    }
}

/* Copies the block's data of a channel; the padding in the copy is 0 already. */
static void copy_block(const block *at, const unsigned char *channel)
{
    const gops_depthwise_layout *layout = &at->p->layout;
    const gops_depthwise_axis *z_axis = &at->axis[0], *y_axis = &at->axis[1];
    const int64_t width = at->axis[2].data;
    if (at->begin[2] == at->end[2] || at->begin[1] == at->end[1]) {
        return;
    }
    for (int64_t z = at->begin[0]; z < at->end[0]; z++) {
        if (z % z_axis->step > z_axis->reach) {
            continue; /* no window reads this plane */
        }
        const int64_t line = (at->origin[0] + z) * y_axis->data + at->origin[1] + at->begin[1];
        const unsigned char *data =
            channel + (line * width + at->origin[2] + at->begin[2]) * at->data_size;
        unsigned char *row =
            at->ws.copy + (z * layout->plane_pitch + at->begin[1] * layout->row_pitch) * at->size;
        if (at->plan->type->native && y_axis->step <= y_axis->reach + 1) {
            copy_rows(at, data, row, at->end[1] - at->begin[1]);
        } else {
            copy_single_rows(at, data, row);
        }
    }
}

/* Computes rows of outputs of a sub-convolution: the first `count` positions of the block
 * along y, the whole block along x. `plane` is the plane of the copy of their position along z. */
static void run_rows(const block *at, const gops_depthwise_subconv *subconv,
                     const unsigned char *plane, int64_t count, unsigned char *output,
                     int64_t output_pitch)
{
    const gops_depthwise_axis *y_axis = &at->axis[1];
    const int64_t row_pitch = at->p->layout.row_pitch;
    /* With dilation only every `spacing`-th row shares data: rows of a residue make a tile. */
    const int64_t residues = subconv->column_taps > 1 && y_axis->step == 1 ? y_axis->spacing : 1;
    for (int64_t residue = 0; residue < gops_min(residues, count); residue++) {
        const gops_depthwise_rows rows = {
            .data = plane + residue * y_axis->step * row_pitch * at->size,
            .taps = subconv->taps,
            .weights = at->ws.weights + (subconv->taps - at->ws.taps) * at->size,
            .output = output + residue * output_pitch * at->size,
            .tap_columns = subconv->tap_columns,
            .single_taps = subconv->single_taps,
            .column_taps = subconv->column_taps,
            .step = y_axis->step * residues * row_pitch,
            .pitch = y_axis->spacing * row_pitch,
            .output_pitch = output_pitch * residues,
            .rows = gops_ceil_div(count - residue, residues),
            .width = at->positions[2].count,
            .bounds = at->bounds,
            .bias = &at->bias,
        };
        at->kernels->rows(&rows);
    }
}

static int64_t output_index(const block *at, int axis, int64_t position, int64_t residue)
{
    return (at->positions[axis].first + position) * at->axis[axis].subconvs + residue;
}

/* Interleaves the sub-convolutions along x of a row of outputs and stores it. `sums` is the row of
 * the first one, the next ones follow at distances of `pitch`; `first` is the first output of the
 * whole row in the tensor. */
static void store_row(const block *at, unsigned char *sums, int64_t pitch, int64_t first)
{
    const gops_depthwise_axis *x_axis = &at->axis[2];
    const int64_t ways = x_axis->subconvs, origin = output_index(at, 2, 0, 0);
    const int64_t count = gops_min(at->positions[2].count * ways, x_axis->output - origin);
    first += origin;
    if (ways == 1) {
        gops_store(at->plan, at->job, at->channel, first, count, sums);
        return;
    }
    const bool native = at->plan->output_type->native && !at->job->fused;
    const gops_depthwise_interleave interleave = {
        .to = native ? gops_output_at(at->plan, at->job, first) : at->ws.staging,
        .from = sums,
        .pitch = pitch,
        .ways = ways,
        .count = at->positions[2].count,
        .end = count,
    };
    at->kernels->interleave(&interleave);
    if (!native) {
        gops_store(at->plan, at->job, at->channel, first, count, at->ws.staging);
    }
}

/* Computes `count` rows of outputs from output `first` on, in the output tensor. */
static void run_in_place(const block *at, const gops_depthwise_subconv *subconv,
                         const unsigned char *plane, int64_t count, int64_t first, int64_t pitch)
{
    first += output_index(at, 2, 0, 0);
    unsigned char *output = gops_output_at(at->plan, at->job, first);
    run_rows(at, subconv, plane, count, output, pitch);
    int64_t length = at->positions[2].count;
    if (length == pitch) { /* rows without gaps are one: a call for each takes long */
        length *= count;
        count = 1;
    }
    for (int64_t y = 0; at->job->fused && y < count; y++) {
        gops_store(at->plan, at->job, at->channel, first + y * pitch, length,
                   output + y * pitch * at->size);
    }
}

/* Computes the block's outputs of position z and one residue along z and y; `subconvs` are its
 * sub-convolutions along x. */
static void run_plane(const block *at, const gops_depthwise_subconv *subconvs, int64_t z)
{
    const gops_depthwise_axis *y_axis = &at->axis[1], *x_axis = &at->axis[2];
    const int64_t row = x_axis->output, pitch = y_axis->subconvs * row;
    const int64_t *residue = subconvs->residue;
    const int64_t count = subconvs->count[1];
    if (count == 0) {
        return;
    }
    const unsigned char *plane =
        at->ws.copy + z * at->axis[0].step * at->p->layout.plane_pitch * at->size;
    /* The first output of the uppermost row in the tensor. */
    const int64_t first = at->start + (output_index(at, 0, z, residue[0]) * y_axis->output +
                                       output_index(at, 1, 0, residue[1])) *
                                          row;
    if (at->p->in_place && !gops_adds_in_place(at->job)) {
        run_in_place(at, subconvs, plane, count, first, pitch);
        return;
    }
    unsigned char *sums = at->ws.sums;
    const int64_t subconv_pitch = x_axis->block * count;
    for (int64_t x = 0; x < x_axis->subconvs; x++) {
        run_rows(at, &subconvs[x], plane, count, sums + x * subconv_pitch * at->size,
                 x_axis->block);
    }
    if (pitch == x_axis->block) {
        gops_store(at->plan, at->job, at->channel, first, count * row, sums);
        return;
    }
    for (int64_t y = 0; y < count; y++) {
        store_row(at, sums + y * x_axis->block * at->size, subconv_pitch, first + y * pitch);
    }
}

/* Computes the block's outputs of one output channel. */
static void run_channel(const block *at)
{
    const int64_t x_subconvs = at->axis[2].subconvs;
    const int64_t pairs = at->axis[0].subconvs * at->axis[1].subconvs;
    for (int64_t i = 0; i < pairs; i++) {
        const gops_depthwise_subconv *subconvs = &at->ws.subconvs[i * x_subconvs];
        for (int64_t z = 0; z < subconvs->count[0]; z++) {
            run_plane(at, subconvs, z);
        }
    }
}

/* Copies the weights of a filter into the order of the taps. */
static void order_weights(const block *at, const unsigned char *filter)
{
    const int64_t count = at->plan->conv.taps;
    const gops_depthwise_tap *taps = at->ws.taps;
    unsigned char *to = at->ws.weights;
    for (int64_t i = 0; i < count; i++) {
        if (at->size == 4) { /* a constant size becomes one move */
            memcpy(to + i * 4, filter + taps[i].weight * 4, 4);
        } else if (at->size == 8) {
            memcpy(to + i * 8, filter + taps[i].weight * 8, 8);
        } else {
            memcpy(to + i * 2, filter + taps[i].weight * 2, 2);
        }
    }
}

void gops_depthwise_rows_run(const gops_plan *plan, const gops_job *job, int64_t item,
                             void *workspace)
{
    const gops_depthwise_rows_plan *p = gops_read_parameters(plan);
    const gops_conv_geometry *conv = &plan->conv;
    const gops_epilogue epilogue = gops_epilogue_read(plan, job, GOPS_EPILOGUE_NO_RESIDUAL);
    block at = {
        .plan = plan,
        .p = p,
        .axis = p->layout.axis,
        .job = epilogue.applies ? &epilogue.rest : job,
        .bounds = epilogue.applies ? &epilogue.bounds : NULL,
        .kernels = &plan->kernels->depthwise->rows[plan->type->compute],
        .size = gops_compute_bytes(plan->type->compute),
        .data_size = plan->type->bytes,
    };
    for (int a = 2; a >= 0; a--) {
        locate(&at, a, item % at.axis[a].blocks);
        item /= at.axis[a].blocks;
    }
    at.ws = gops_depthwise_divide(&p->layout, at.positions, workspace);
    memset(at.ws.copy, 0, (size_t)(at.ws.sums - at.ws.copy));
    const int64_t end = gops_min((item + 1) * p->plane_block, p->planes);
    for (int64_t plane = item * p->plane_block; plane < end; plane++) {
        copy_block(&at, gops_data_at(plan, job, plane / conv->groups, plane * plan->data_plane));
        for (int64_t c = 0; c < conv->channels_out; c++) {
            at.channel = plane % conv->groups * conv->channels_out + c;
            at.start = (plane * conv->channels_out + c) * plan->output_plane;
            gops_epilogue_bias(plan, job, at.channel, 1, 1, 1, &at.bias);
            order_weights(&at,
                          (const unsigned char *)job->filter + at.channel * conv->taps * at.size);
            run_channel(&at);
        }
    }
}
