/* depthwise_run.c: one work item of `direct`: a block of some channels. */
#include "methods/depthwise/depthwise_method.h"

#include "base/checked.h"
#include "methods/depthwise/depthwise.h"
#include "post_ops/post_ops.h"
#include "post_ops/epilogue.h"

#include <string.h>

/* What one item works on. */
typedef struct block {
    const gops_plan *plan;
    const gops_depthwise *p;
    const gops_depthwise_kernels *kernels;
    const gops_job *job;
    const void *bounds; /* NULL, or what the kernel applies with the bias */
    gops_epilogue_values bias;
    gops_depthwise_workspace parts;
    int64_t channel; /* group * C_OUT + output channel, and where its outputs begin in the tensor */
    int64_t start;
    int64_t first[3]; /* position */
    int64_t count[3];
    int64_t origin[3];              /* the data position that the copy begins with */
    int64_t begin[3], end[3];       /* what of the copy is data */
    int64_t size;                   /* bytes of the compute type */
    int64_t data_size, output_size; /* bytes of the element types */
} block;

static gops_depthwise_workspace divide(const gops_depthwise *p, unsigned char *workspace)
{
    gops_depthwise_workspace parts;
    parts.copy = workspace;
    parts.sums = workspace += p->copy_bytes;
    parts.line = workspace += p->sums_bytes;
    parts.weights = workspace += p->line_bytes;
    parts.classes = (gops_depthwise_class *)(void *)(workspace += p->weights_bytes);
    parts.offsets = (int64_t *)(void *)(workspace += p->classes_bytes);
    parts.order = (int64_t *)(void *)(workspace += p->offsets_bytes);
    return parts;
}

/* Where the block is along each axis. */
static void place(block *at)
{
    for (int i = 0; i < 3; i++) {
        const gops_depthwise_axis *a = &at->p->axis[i];
        const int64_t extent = (at->count[i] - 1) * a->step + a->reach + 1;
        at->origin[i] =
            at->p->transposed ? at->first[i] - a->most : at->first[i] * a->step - a->pad;
        at->begin[i] = gops_clamp(-at->origin[i], 0, extent);
        at->end[i] = gops_clamp(a->data - at->origin[i], at->begin[i], extent);
    }
}

/* Rows of a channel, from `data` on, which is at the beginning of the range along x, to the rows of
 * the copy from `row` on. */
static void copy_rows(const block *at, const void *data, int64_t data_pitch, unsigned char *row,
                      int64_t rows)
{
    const gops_depthwise *p = at->p;
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
    } else if (stride == 2 && p->phases == 2) {
        /* The row begins in one of the phases. */
        copy.to = row + (begin % 2 * p->phase_pitch + begin / 2) * at->size;
        copy.second = row + ((begin + 1) % 2 * p->phase_pitch + (begin + 1) / 2) * at->size;
        at->kernels->copy(&copy);
    } else {
        for (int64_t phase = 0; phase < p->phases; phase++) {
            const int64_t first = gops_ceil_div(begin - phase, stride);
            const int64_t from = first * stride + phase;
            if (from < end) {
                copy.from = (const unsigned char *)data + (from - begin) * at->size;
                copy.to = row + (phase * p->phase_pitch + first) * at->size;
                copy.length = end - from;
                at->kernels->copy(&copy);
            }
        }
    }
}

/* The same one by one, converted or with gaps between the windows left out. */
static void copy_single_rows(const block *at, const unsigned char *data, unsigned char *row)
{
    const gops_depthwise_axis *y_axis = &at->p->axis[1], *x_axis = &at->p->axis[2];
    const gops_type_row *type = at->plan->type;
    const int64_t length = at->end[2] - at->begin[2];
    const int whole = x_axis->step == 1 && !type->plain;
    for (int64_t y = at->begin[1]; y < at->end[1]; y++) {
        if (y % y_axis->step <= y_axis->reach && whole) {
            type->load(row + at->begin[2] * at->size, data, length);
        } else if (y % y_axis->step <= y_axis->reach) {
            const unsigned char *from = data;
            if (!type->plain) {
                type->load(at->parts.line, data, length);
                from = at->parts.line;
            }
            copy_rows(at, from, 0, row, 1);
        }
        row += at->p->row_pitch * at->size;
        data += x_axis->data * at->data_size;
    }
}

/* The data of a channel into the copy; what is not data there is 0 already. */
static void copy_block(const block *at, const unsigned char *channel)
{
    const gops_depthwise *p = at->p;
    const gops_depthwise_axis *z_axis = &p->axis[0], *y_axis = &p->axis[1];
    const int64_t width = p->axis[2].data;
    if (at->begin[2] == at->end[2] || at->begin[1] == at->end[1]) {
        return;
    }
    const int together = at->plan->type->plain && y_axis->step <= y_axis->reach + 1;
    for (int64_t z = at->begin[0]; z < at->end[0]; z++) {
        if (z % z_axis->step > z_axis->reach) {
            continue; /* between the windows */
        }
        const int64_t line = (at->origin[0] + z) * y_axis->data + at->origin[1] + at->begin[1];
        const unsigned char *data =
            channel + (line * width + at->origin[2] + at->begin[2]) * at->data_size;
        unsigned char *row = (unsigned char *)at->parts.copy +
                             (z * p->plane_pitch + at->begin[1] * p->row_pitch) * at->size;
        if (together) {
            copy_rows(at, data, width, row, at->end[1] - at->begin[1]);
        } else {
            copy_single_rows(at, data, row);
        }
    }
}

/* Rows of outputs of one class: positions first to first + count - 1 of the block along y, the
 * whole block along x. `plane` is the copy's plane of their position along z. */
static void run_rows(const block *at, const gops_depthwise_class *class, const unsigned char *plane,
                     int64_t first, int64_t count, unsigned char *output, int64_t output_pitch)
{
    const gops_depthwise *p = at->p;
    const gops_depthwise_axis *y_axis = &p->axis[1];
    /* Rows that share data are as far apart as neighbouring taps. */
    const int64_t ways = class->chunk > 1 && y_axis->step == 1 ? y_axis->spacing : 1;
    for (int64_t way = 0; way < gops_min(ways, count); way++) {
        const gops_depthwise_rows rows = {
            .data = plane + (first + way) * y_axis->step * p->row_pitch * at->size,
            .offsets = at->parts.offsets + class->offset,
            .weights = (const unsigned char *)at->parts.weights + class->weight * at->size,
            .output = output + way * output_pitch * at->size,
            .segments = class->segments,
            .singles = class->singles,
            .chunk = class->chunk,
            .step = y_axis->step * ways * p->row_pitch,
            .pitch = y_axis->spacing * p->row_pitch,
            .output_pitch = output_pitch * ways,
            .rows = gops_ceil_div(count - way, ways),
            .width = at->count[2],
            .bounds = at->bounds,
            .bias = &at->bias,
        };
        at->kernels->rows(&rows);
    }
}

static int64_t output_range(const block *at, int axis, int64_t rho, int64_t *begin)
{
    return gops_depthwise_outputs(&at->p->axis[axis], at->p->transposed, rho, at->first[axis],
                                  at->count[axis], begin);
}

static int64_t output_index(const block *at, int axis, int64_t position, int64_t rho)
{
    return gops_depthwise_output(&at->p->axis[axis], at->p->transposed, at->first[axis] + position,
                                 rho);
}

/* Puts the classes of a row of outputs together and stores it; `sums` is the row of the first
 * class, the next one `pitch` elements further, `first` the row's first output in the tensor. */
static void store_row(const block *at, unsigned char *sums, int64_t pitch, int64_t first)
{
    const gops_depthwise_axis *x_axis = &at->p->axis[2];
    const int64_t ways = x_axis->classes, origin = output_index(at, 2, 0, 0);
    const int64_t count = gops_min(at->count[2] * ways, x_axis->output - origin);
    first += origin;
    if (ways == 1) {
        gops_store(at->plan, at->job, at->channel, first, count, sums);
        return;
    }
    const int itself = at->plan->output_type->plain && !at->job->fused;
    const gops_depthwise_interleave weave = {
        .to = itself ? gops_output_at(at->plan, at->job, first) : at->parts.line,
        .from = sums,
        .pitch = pitch,
        .ways = ways,
        .count = at->count[2],
        .end = count,
    };
    at->kernels->weave(&weave);
    if (!itself) {
        gops_store(at->plan, at->job, at->channel, first, count, at->parts.line);
    }
}

/* `count` rows of outputs from `first` on, that the kernel is to write itself. */
static void run_in_place(const block *at, const gops_depthwise_class *class,
                         const unsigned char *plane, int64_t begin, int64_t count, int64_t first,
                         int64_t pitch)
{
    first += output_index(at, 2, 0, 0);
    unsigned char *output = gops_output_at(at->plan, at->job, first);
    run_rows(at, class, plane, begin, count, output, pitch);
    for (int64_t y = 0; at->job->fused && y < count; y++) {
        gops_store(at->plan, at->job, at->channel, first + y * pitch, at->count[2],
                   output + y * pitch * at->output_size);
    }
}

/* All outputs of the block for one z and one class along z and y, in the plane of outputs that
 * begins with `first`. `classes` are those along x. */
static void run_plane(const block *at, const gops_depthwise_class *classes,
                      const unsigned char *plane, int64_t y_class, int64_t first)
{
    const gops_depthwise *p = at->p;
    const gops_depthwise_axis *y_axis = &p->axis[1], *x_axis = &p->axis[2];
    const int64_t row = x_axis->output, pitch = y_axis->classes * row;
    int64_t begin;
    const int64_t end = output_range(at, 1, y_class, &begin), count = end - begin;
    if (count == 0) {
        return;
    }
    first += output_index(at, 1, begin, y_class) * row;
    if (p->in_place && !gops_adds_in_place(at->job)) {
        run_in_place(at, classes, plane, begin, count, first, pitch);
        return;
    }
    unsigned char *sums = at->parts.sums;
    const int64_t class_pitch = p->output_pitch * count;
    for (int64_t x = 0; x < x_axis->classes; x++) {
        run_rows(at, &classes[x], plane, begin, count, sums + x * class_pitch * at->size,
                 p->output_pitch);
    }
    if (!p->transposed && p->output_pitch == row) {
        gops_store(at->plan, at->job, at->channel, first, count * row, sums);
        return;
    }
    for (int64_t y = 0; y < count; y++) {
        store_row(at, sums + y * p->output_pitch * at->size, class_pitch, first + y * pitch);
    }
}

/* All outputs of the block in one output channel. */
static void run_channel(const block *at)
{
    const gops_depthwise *p = at->p;
    const int64_t output_plane = p->axis[1].output * p->axis[2].output;
    const gops_depthwise_class *classes = at->parts.classes;
    for (int64_t zc = 0; zc < p->axis[0].classes; zc++) {
        int64_t begin;
        const int64_t end = output_range(at, 0, zc, &begin);
        for (int64_t yc = 0; yc < p->axis[1].classes; yc++, classes += p->axis[2].classes) {
            for (int64_t z = begin; z < end; z++) {
                run_plane(at, classes,
                          (const unsigned char *)at->parts.copy +
                              z * p->axis[0].step * p->plane_pitch * at->size,
                          yc, at->start + output_index(at, 0, z, zc) * output_plane);
            }
        }
    }
}

/* The weights of one filter in the order of the tables. */
static void order_weights(const block *at, const unsigned char *filter)
{
    const int64_t taps = at->plan->conv.taps;
    const int64_t *order = at->parts.order;
    if (at->size == 4) {
        uint32_t *to = at->parts.weights;
        for (int64_t i = 0; i < taps; i++) {
            memcpy(&to[i], filter + order[i] * 4, 4);
        }
    } else {
        uint64_t *to = at->parts.weights;
        for (int64_t i = 0; i < taps; i++) {
            memcpy(&to[i], filter + order[i] * 8, 8);
        }
    }
}

void gops_depthwise_run(const gops_plan *plan, const gops_job *job, int64_t item, void *workspace)
{
    const gops_depthwise *p = gops_depthwise_read(plan);
    const gops_conv_geometry *conv = &plan->conv;
    const gops_epilogue trim = gops_epilogue_read(plan, job, 0);
    block at = {
        .plan = plan,
        .p = p,
        .job = trim.applies ? &trim.rest : job,
        .bounds = trim.applies ? &trim.bounds : NULL,
        .kernels = &plan->kernels->depthwise->rows[plan->type->compute],
        .parts = divide(p, workspace),
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
    place(&at);
    gops_depthwise_tables(p, &at.parts);
    memset(at.parts.copy, 0, (size_t)p->copy_bytes);
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
