/* subconv_store.c: interleaves the sums of the sub-convolutions into the output. */
#include "methods/subconv/subconv_deconv.h"

#include "base/checked.h"
#include "post_ops/post_ops.h"

#include <string.h>

/* Positions that are neighbours in the sums and along the last axis. */
typedef struct position_run {
    int64_t from;  /* in a row of the sums */
    int64_t row;   /* of the box */
    int64_t begin; /* along the last axis of the box */
    int64_t count;
} position_run;

/* The output pixel where the row of outputs begins that belongs to a row of the box and to
 * combination `outer` of the residues of the axes before the last; -1 where the output has no such
 * row. */
static int64_t output_row(const gops_subconv_work *work, int64_t row, int64_t outer)
{
    const gops_subconv_geometry *geometry = &work->geometry;
    int64_t pixel = 0, step = geometry->axis[geometry->axes - 1].output;
    for (int a = geometry->axes - 2; a >= 0; a--) {
        const gops_subconv_axis *axis = &geometry->axis[a];
        const int64_t j = work->item.box.begin[a] + row % work->item.box.count[a];
        const int64_t o = j * axis->stride + outer % axis->stride - axis->lead;
        if (o < 0 || o >= axis->output) {
            return -1;
        }
        pixel += o * step;
        step *= axis->output;
        row /= work->item.box.count[a];
        outer /= axis->stride;
    }
    return pixel;
}

/* Finds where the outputs of each residue begin of channel c of the panel, in a run of positions. */
static void find_residues(const gops_subconv_work *work, const position_run *run, int64_t outer,
                          int64_t c, gops_residue_rows *residues)
{
    const gops_subconv_parameters *p = gops_subconv_read(work->item.plan);
    const unsigned char *sums = work->item.workspace + p->implicit.sums_begin;
    const int64_t stride = work->geometry.axis[work->geometry.axes - 1].stride;
    const gops_subconv_row *table =
        (const gops_subconv_row *)(void *)(work->item.workspace + p->rows_begin);
    for (int64_t x = 0; x < stride; x++) {
        const gops_subconv_row *of = &table[outer * stride + x];
        const int64_t at = (of->row + c * of->step) * work->sums_ld + run->from;
        residues[x].from = of->row >= 0 ? sums + at * work->sum_bytes : NULL;
        residues[x].ld = of->step * work->sums_ld;
    }
}

/* Stores one run of positions of the item's channels c to c + count - 1, for one combination of the
 * residues of the axes before the last. */
static void store_run(const gops_subconv_work *work, const position_run *run, int64_t outer,
                      int64_t c, int64_t count)
{
    const gops_plan *plan = work->item.plan;
    const gops_subconv_parameters *p = gops_subconv_read(plan);
    const gops_conv_geometry *conv = &plan->conv;
    const gops_subconv_axis *last = &work->geometry.axis[conv->axes - 1];
    gops_residue_rows *residues =
        (gops_residue_rows *)(void *)(work->item.workspace + p->residues_begin);
    const int64_t row = output_row(work, run->row, outer);
    if (row < 0) {
        return;
    }
    /* The outputs of the run begin at `first` of the row; begin to end - 1 of them exist. */
    const int64_t j = work->item.box.begin[conv->axes - 1] + run->begin;
    const int64_t first = j * last->stride - last->lead;
    const int64_t begin = gops_clamp(-first, 0, run->count * last->stride);
    const int64_t end = gops_clamp(last->output - first, begin, run->count * last->stride);
    const bool to_output = work->finished || (plan->type->native && !work->item.job->fused);
    gops_interleave outputs = {
        .to = work->item.workspace + p->output_row_begin,
        .to_ld = plan->output_plane,
        .residues = residues,
        .stride = last->stride,
        .channels = to_output ? count : 1,
        .begin = begin,
        .count = end - begin,
    };
    for (int64_t i = 0; i < count && begin < end; i += outputs.channels) {
        const int64_t to = work->item.element + (c + i) * plan->output_plane + row + first + begin;
        find_residues(work, run, outer, i, residues);
        if (to_output) {
            outputs.to = gops_output_at(plan, work->item.job, to);
        }
        work->interleave(&outputs);
        if (!to_output) {
            gops_store(plan, work->item.job, work->item.channel_of_all + c + i, to, end - begin,
                       outputs.to);
        }
    }
}

/* Stores the sums of a single position, which are the outputs in their order. */
static void store_single_position(const gops_subconv_work *work, int64_t c, int64_t count)
{
    const gops_plan *plan = work->item.plan;
    const int64_t pixels = plan->conv.output_pixels, plane = plan->output_plane;
    const int64_t bytes = work->sum_bytes;
    unsigned char *sums = work->item.workspace + gops_subconv_read(plan)->implicit.sums_begin;
    const int64_t element = work->item.element + c * plane;
    if (work->finished || (plan->type->native && !work->item.job->fused)) {
        const int64_t together = plane == pixels ? count : 1; /* channels */
        for (int64_t i = 0; i < count; i += together) {
            memcpy(gops_output_at(plan, work->item.job, element + i * plane),
                   sums + i * pixels * bytes, (size_t)(together * pixels * bytes));
        }
        return;
    }
    gops_store_channels(plan, work->item.job, work->item.channel_of_all + c, element,
                        &(gops_store_values){sums, pixels, count, pixels});
}

void gops_subconv_store(const gops_subconv_work *work, int64_t first, int64_t c, int64_t count)
{
    const gops_conv_geometry *conv = &work->item.plan->conv;
    const gops_pixel_runs *runs = &work->item.runs;
    if (gops_subconv_read(work->item.plan)->single_position) {
        store_single_position(work, c, count);
        return;
    }
    const int64_t width = work->item.box.count[conv->axes - 1];
    const int64_t outers =
        gops_subconv_count(&work->geometry) / work->geometry.axis[conv->axes - 1].stride;
    /* A dense run may be several rows of the box, which are `width` apart. */
    const int64_t pitch = runs->rows > 1 ? runs->pitch : width;
    const int64_t rows = gops_ceil_div(runs->length, pitch);
    int64_t run = first / runs->columns, column = first % runs->columns, from = 0;
    for (int64_t left = work->item.pass.count; left > 0; run++, column = 0) {
        const int64_t some = gops_min(left, runs->columns - column);
        const int64_t begin = column * runs->step;
        const int64_t end = gops_min(begin + some * runs->step, runs->length);
        for (int64_t row = begin / pitch; row * pitch < end; row++) {
            const int64_t x0 = gops_max(begin, row * pitch);
            const int64_t x1 = gops_min(end, row * pitch + width);
            const position_run of_row = {.from = from + x0 - begin,
                                         .row = run * rows + row,
                                         .begin = x0 - row * pitch,
                                         .count = x1 - x0};
            for (int64_t outer = 0; outer < outers && x0 < x1; outer++) {
                store_run(work, &of_row, outer, c, count);
            }
        }
        from += some * runs->step;
        left -= some;
    }
}
