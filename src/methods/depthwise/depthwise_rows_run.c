/* depthwise_rows_run.c: runs a work item of `depthwise/rows`: a block of some channels. */
#include "methods/depthwise/depthwise_rows_plan.h"

#include "base/checked.h"
#include "methods/depthwise/depthwise.h"
#include "post_ops/post_ops.h"
#include "post_ops/epilogue.h"

#include <string.h>

/* What an item works on; arrays are by axis. */
typedef struct block {
    const gops_plan *plan;
    const gops_depthwise_rows_plan *p;
    const gops_depthwise_kernels *kernels;
    const gops_job *job;
    const void *bounds; /* NULL, or what the kernel's epilogue applies with the bias */
    gops_epilogue_values bias;
    gops_depthwise_rows_workspace ws;
    int64_t channel;            /* group * C_OUT + output channel */
    int64_t start;              /* the channel's first output in the tensor */
    int64_t first[3], count[3]; /* positions */
    int64_t origin[3]; /* index of the data that the copy begins with; negative in the padding */
    int64_t begin[3], end[3];       /* the elements of the copy that are data */
    int64_t size;                   /* bytes of the compute type */
    int64_t data_size, output_size; /* bytes of the element types */
} block;

static gops_depthwise_rows_workspace divide_workspace(const gops_depthwise_rows_plan *p,
                                                      unsigned char *workspace)
{
    gops_depthwise_rows_workspace ws;
    ws.copy = workspace;
    ws.sums = workspace += p->copy_bytes;
    ws.staging = workspace += p->sums_bytes;
    ws.weights = workspace += p->staging_bytes;
    ws.subconvs = (gops_depthwise_subconv *)(void *)(workspace += p->weights_bytes);
    ws.offsets = (int64_t *)(void *)(workspace += p->subconvs_bytes);
    ws.order = (int64_t *)(void *)(workspace += p->offsets_bytes);
    return ws;
}

/* Finds the data of the block along each axis. */
static void locate_data(block *at)
{
    for (int i = 0; i < 3; i++) {
        const gops_depthwise_axis *a = &at->p->axis[i];
        const int64_t extent = (at->count[i] - 1) * a->step + a->reach + 1;
        at->origin[i] =
            at->p->transposed ? at->first[i] - a->max_shift : at->first[i] * a->step - a->pad;
        at->begin[i] = gops_clamp(-at->origin[i], 0, extent);
        at->end[i] = gops_clamp(a->data - at->origin[i], at->begin[i], extent);
    }
}

/* Copies rows of compute-type data, of which `data` is the block's first along x, to the rows of
 * the copy from `row` on. */
static void copy_rows(const block *at, const void *data, int64_t data_pitch, unsigned char *row,
                      int64_t rows)
{
    const gops_depthwise_rows_plan *p = at->p;
    const int64_t stride = p->transposed ? 1 : p->axis[2].stride;
    const int64_t begin = at->begin[2], end = at->end[2];
    gops_depthwise_copy copy = {.from = data,
                                .from_pitch = data_pitch,
                                .to_pitch = p->row_pitch,
                                .rows = rows,
                                .length = end - begin,
                                .stride = stride};
    if (stride == 1) {
        copy.to = row + begin * at->size;
        at->kernels->copy(&copy);
    } else if (stride == 2 && p->residues == 2) {
        /* The first element may belong to either residue. */
        copy.to = row + (begin % 2 * p->residue_pitch + begin / 2) * at->size;
        copy.odd = row + ((begin + 1) % 2 * p->residue_pitch + (begin + 1) / 2) * at->size;
        at->kernels->copy(&copy);
    } else {
        for (int64_t residue = 0; residue < p->residues; residue++) {
            const int64_t first = gops_ceil_div(begin - residue, stride);
            const int64_t from = first * stride + residue;
            if (from < end) {
                copy.from = (const unsigned char *)data + (from - begin) * at->size;
                copy.to = row + (residue * p->residue_pitch + first) * at->size;
                copy.length = end - from;
                at->kernels->copy(&copy);
            }
        }
    }
}

/* Copies the block's rows of a plane one by one: converts each, and skips rows that no window
 * reads. */
static void copy_single_rows(const block *at, const unsigned char *data, unsigned char *row)
{
    const gops_depthwise_axis *y_axis = &at->p->axis[1], *x_axis = &at->p->axis[2];
    const gops_type_row *type = at->plan->type;
    const int64_t length = at->end[2] - at->begin[2];
    const bool in_order = x_axis->step == 1 && !type->native;
    for (int64_t y = at->begin[1]; y < at->end[1]; y++) {
        if (y % y_axis->step <= y_axis->reach && in_order) {
            type->load(row + at->begin[2] * at->size, data, length);
        } else if (y % y_axis->step <= y_axis->reach) {
            const unsigned char *from = data;
            if (!type->native) {
                type->load(at->ws.staging, data, length);
                from = at->ws.staging;
            }
            copy_rows(at, from, 0, row, 1);
        }
        row += at->p->row_pitch * at->size;
        data += x_axis->data * at->data_size;
    }
}

/* Copies the block's data of a channel; the padding in the copy is 0 already. */
static void copy_block(const block *at, const unsigned char *channel)
{
    const gops_depthwise_rows_plan *p = at->p;
    const gops_depthwise_axis *z_axis = &p->axis[0], *y_axis = &p->axis[1];
    const int64_t width = p->axis[2].data;
    if (at->begin[2] == at->end[2] || at->begin[1] == at->end[1]) {
        return;
    }
    const bool contiguous = at->plan->type->native && y_axis->step <= y_axis->reach + 1;
    for (int64_t z = at->begin[0]; z < at->end[0]; z++) {
        if (z % z_axis->step > z_axis->reach) {
            continue; /* no window reads this plane */
        }
        const int64_t line = (at->origin[0] + z) * y_axis->data + at->origin[1] + at->begin[1];
        const unsigned char *data =
            channel + (line * width + at->origin[2] + at->begin[2]) * at->data_size;
        unsigned char *row = (unsigned char *)at->ws.copy +
                             (z * p->plane_pitch + at->begin[1] * p->row_pitch) * at->size;
        if (contiguous) {
            copy_rows(at, data, width, row, at->end[1] - at->begin[1]);
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
    const gops_depthwise_rows_plan *p = at->p;
    const gops_depthwise_axis *y_axis = &p->axis[1];
    /* With dilation only every `spacing`-th row shares data: rows of a residue make a tile. */
    const int64_t residues = subconv->column_taps > 1 && y_axis->step == 1 ? y_axis->spacing : 1;
    for (int64_t residue = 0; residue < gops_min(residues, count); residue++) {
        const gops_depthwise_rows rows = {
            .data = plane + residue * y_axis->step * p->row_pitch * at->size,
            .offsets = at->ws.offsets + subconv->offset,
            .weights = (const unsigned char *)at->ws.weights + subconv->weight * at->size,
            .output = output + residue * output_pitch * at->size,
            .tap_columns = subconv->tap_columns,
            .single_taps = subconv->single_taps,
            .column_taps = subconv->column_taps,
            .step = y_axis->step * residues * p->row_pitch,
            .pitch = y_axis->spacing * p->row_pitch,
            .output_pitch = output_pitch * residues,
            .rows = gops_ceil_div(count - residue, residues),
            .width = at->count[2],
            .bounds = at->bounds,
            .bias = &at->bias,
        };
        at->kernels->rows(&rows);
    }
}

static int64_t output_count(const block *at, int axis, int64_t residue)
{
    return gops_depthwise_subconv_outputs(&at->p->axis[axis], at->p->transposed, residue,
                                          at->first[axis], at->count[axis]);
}

static int64_t output_index(const block *at, int axis, int64_t position, int64_t residue)
{
    return gops_depthwise_output_index(&at->p->axis[axis], at->p->transposed,
                                       at->first[axis] + position, residue);
}

/* Interleaves the sub-convolutions along x of a row of outputs and stores it. `sums` is the row of
 * the first one, the next ones follow at distances of `pitch`; `first` is the first output of the
 * whole row in the tensor. */
static void store_row(const block *at, unsigned char *sums, int64_t pitch, int64_t first)
{
    const gops_depthwise_axis *x_axis = &at->p->axis[2];
    const int64_t ways = x_axis->subconvs, origin = output_index(at, 2, 0, 0);
    const int64_t count = gops_min(at->count[2] * ways, x_axis->output - origin);
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
        .count = at->count[2],
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
    for (int64_t y = 0; at->job->fused && y < count; y++) {
        gops_store(at->plan, at->job, at->channel, first + y * pitch, at->count[2],
                   output + y * pitch * at->output_size);
    }
}

/* Computes the block's outputs of one position along z and one residue along z and y. `subconvs`
 * are the sub-convolutions along x, `first` is the first output of the plane in the tensor. */
static void run_plane(const block *at, const gops_depthwise_subconv *subconvs,
                      const unsigned char *plane, int64_t y_residue, int64_t first)
{
    const gops_depthwise_rows_plan *p = at->p;
    const gops_depthwise_axis *y_axis = &p->axis[1], *x_axis = &p->axis[2];
    const int64_t row = x_axis->output, pitch = y_axis->subconvs * row;
    const int64_t count = output_count(at, 1, y_residue);
    if (count == 0) {
        return;
    }
    first += output_index(at, 1, 0, y_residue) * row;
    if (p->in_place && !gops_adds_in_place(at->job)) {
        run_in_place(at, subconvs, plane, count, first, pitch);
        return;
    }
    unsigned char *sums = at->ws.sums;
    const int64_t subconv_pitch = p->output_pitch * count;
    for (int64_t x = 0; x < x_axis->subconvs; x++) {
        run_rows(at, &subconvs[x], plane, count, sums + x * subconv_pitch * at->size,
                 p->output_pitch);
    }
    if (!p->transposed && p->output_pitch == row) {
        gops_store(at->plan, at->job, at->channel, first, count * row, sums);
        return;
    }
    for (int64_t y = 0; y < count; y++) {
        store_row(at, sums + y * p->output_pitch * at->size, subconv_pitch, first + y * pitch);
    }
}

/* Computes the block's outputs of one output channel. */
static void run_channel(const block *at)
{
    const gops_depthwise_rows_plan *p = at->p;
    const int64_t output_plane = p->axis[1].output * p->axis[2].output;
    const gops_depthwise_subconv *subconvs = at->ws.subconvs;
    for (int64_t z_residue = 0; z_residue < p->axis[0].subconvs; z_residue++) {
        const int64_t count = output_count(at, 0, z_residue);
        for (int64_t y_residue = 0; y_residue < p->axis[1].subconvs;
             y_residue++, subconvs += p->axis[2].subconvs) {
            for (int64_t z = 0; z < count; z++) {
                run_plane(at, subconvs,
                          (const unsigned char *)at->ws.copy +
                              z * p->axis[0].step * p->plane_pitch * at->size,
                          y_residue, at->start + output_index(at, 0, z, z_residue) * output_plane);
            }
        }
    }
}

/* Copies the weights of a filter into the order of the tables. */
static void order_weights(const block *at, const unsigned char *filter)
{
    const int64_t taps = at->plan->conv.taps;
    const int64_t *order = at->ws.order;
    if (at->size == 4) {
        uint32_t *to = at->ws.weights;
        for (int64_t i = 0; i < taps; i++) {
            memcpy(&to[i], filter + order[i] * 4, 4);
        }
    } else {
        uint64_t *to = at->ws.weights;
        for (int64_t i = 0; i < taps; i++) {
            memcpy(&to[i], filter + order[i] * 8, 8);
        }
    }
}

void gops_depthwise_rows_run(const gops_plan *plan, const gops_job *job, int64_t item,
                             void *workspace)
{
    const gops_depthwise_rows_plan *p = gops_depthwise_rows_read(plan);
    const gops_conv_geometry *conv = &plan->conv;
    const gops_epilogue epilogue = gops_epilogue_read(plan, job, GOPS_EPILOGUE_NO_RESIDUAL);
    block at = {
        .plan = plan,
        .p = p,
        .job = epilogue.applies ? &epilogue.rest : job,
        .bounds = epilogue.applies ? &epilogue.bounds : NULL,
        .kernels = &plan->kernels->depthwise->rows[plan->type->compute],
        .ws = divide_workspace(p, workspace),
        .size = gops_compute_bytes(plan->type->compute),
        .data_size = plan->type->bytes,
        .output_size = plan->output_type->bytes,
    };
    for (int a = 2; a >= 0; a--) {
        const gops_depthwise_axis *axis = &p->axis[a];
        const int64_t from = item % axis->blocks * axis->block;
        at.first[a] = axis->first + from;
        at.count[a] = gops_min(axis->block, axis->count - from);
        item /= axis->blocks;
    }
    locate_data(&at);
    gops_depthwise_rows_tables(p, &at.ws);
    memset(at.ws.copy, 0, (size_t)p->copy_bytes);
    const int64_t end = gops_min((item + 1) * p->plane_block, p->planes);
    for (int64_t plane = item * p->plane_block; plane < end; plane++) {
        copy_block(&at, gops_data_at(plan, job, plane / conv->groups, plane * conv->data_pixels));
        for (int64_t c = 0; c < conv->channels_out; c++) {
            at.channel = plane % conv->groups * conv->channels_out + c;
            at.start = (plane * conv->channels_out + c) * conv->output_pixels;
            gops_epilogue_bias(plan, job, at.channel, 1, 1, 1, &at.bias);
            order_weights(&at,
                          (const unsigned char *)job->filter + at.channel * conv->taps * at.size);
            run_channel(&at);
        }
    }
}
