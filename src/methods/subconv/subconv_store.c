/* subconv_store.c: the phases' sums interleaved into the output. */
#include "methods/subconv/subconv_deconv.h"

#include "base/checked.h"
#include "post_ops/post_ops.h"

#include <string.h>

/* A run of positions in the sums, which lie side by side there and along the last axis. */
typedef struct pixel_run {
    int64_t from;  /* in a row of the sums */
    int64_t row;   /* of the box */
    int64_t begin; /* along the last axis of the box */
    int64_t count;
} pixel_run;

/* The output pixel where the run's row begins for the outer axes' phases `outer`; -1 where the
 * output has no such row. */
static int64_t output_row(const gops_subconv_piece *at, int64_t row, int64_t outer)
{
    const gops_subconv_view *view = &at->view;
    int64_t pixel = 0, step = view->side[view->axes - 1].output;
    for (int a = view->axes - 2; a >= 0; a--) {
        const gops_subconv_side *side = &view->side[a];
        const int64_t j = at->box.begin[a] + row % at->box.count[a];
        const int64_t o = j * side->stride + outer % side->stride - side->lead;
        if (o < 0 || o >= side->output) {
            return -1;
        }
        pixel += o * step;
        step *= side->output;
        row /= at->box.count[a];
        outer /= side->stride;
    }
    return pixel;
}

/* One run, all channels, one combination of the outer axes' phases. */
static void store_run(const gops_subconv_piece *at, const pixel_run *run, int64_t outer, int64_t c0,
                      int64_t count)
{
    const gops_plan *plan = at->plan;
    const gops_subconv_parameters *p = gops_subconv_read(plan);
    const gops_conv_geometry *conv = &plan->conv;
    const gops_tiles *tiles = plan->kernels->implicit->tiles[plan->type->compute];
    const gops_subconv_side *last = &at->view.side[conv->axes - 1];
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const int64_t ld = at->sums_ld;
    const gops_subconv_row *table =
        (const gops_subconv_row *)(void *)(at->workspace + p->table_from);
    const unsigned char *sums = at->workspace + p->implicit.sums_from;
    const void **rows = (const void **)(void *)(at->workspace + p->pointers_from);
    unsigned char *line = at->workspace + p->line_from;
    const int64_t row = output_row(at, run->row, outer);
    if (row < 0) {
        return;
    }
    /* The run's outputs, and which of them there are. */
    const int64_t j = at->box.begin[conv->axes - 1] + run->begin;
    const int64_t first = j * last->stride - last->lead;
    const int64_t begin = gops_clamp(-first, 0, run->count * last->stride);
    const int64_t end = gops_clamp(last->output - first, begin, run->count * last->stride);
    const int whole =
        plan->type->native && !at->job->fused && end - begin == run->count * last->stride;
    for (int64_t c = 0; c < count && begin < end; c++) {
        for (int64_t x = 0; x < last->stride; x++) {
            const gops_subconv_row *of = &table[outer * last->stride + x];
            const int64_t index = (of->row + c * of->step) * ld + run->from;
            rows[x] = of->row >= 0 ? sums + index * bytes : NULL;
        }
        const int64_t to = at->element + (c0 + c) * conv->output_pixels + row + first + begin;
        if (whole) {
            tiles->interleave(gops_output_at(plan, at->job, to), rows, last->stride, run->count);
        } else {
            tiles->interleave(line, rows, last->stride, run->count);
            gops_store(plan, at->job, at->channel + c0 + c, to, end - begin, line + begin * bytes);
        }
    }
}

/* The sums of a single position, which are the outputs. */
static void store_single(const gops_subconv_piece *at, int64_t c, int64_t count)
{
    const gops_plan *plan = at->plan;
    const int64_t pixels = plan->conv.output_pixels;
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    unsigned char *sums = at->workspace + gops_subconv_read(plan)->implicit.sums_from;
    const int64_t element = at->element + c * pixels;
    if (plan->type->native && !at->job->fused) {
        memcpy(gops_output_at(plan, at->job, element), sums, (size_t)(count * pixels * bytes));
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        gops_store(plan, at->job, at->channel + c + i, element + i * pixels, pixels,
                   sums + i * pixels * bytes);
    }
}

void gops_subconv_store(const gops_subconv_piece *at, int64_t first, int64_t spots, int64_t c,
                        int64_t count)
{
    const gops_conv_geometry *conv = &at->plan->conv;
    const gops_segments *s = &at->segments;
    if (gops_subconv_read(at->plan)->single) {
        store_single(at, c, count);
        return;
    }
    const int64_t width = at->box.count[conv->axes - 1];
    const int64_t outers = gops_subconv_count(&at->view) / at->view.side[conv->axes - 1].stride;
    /* Of a dense segment, whose `width` may be several rows, the rows are `width` apart. */
    const int64_t pitch = s->rows > 1 ? s->pitch : width;
    const int64_t rows = gops_ceil_div(s->length, pitch);
    int64_t segment = first / s->spots, spot = first % s->spots, from = 0;
    for (int64_t left = spots; left > 0; segment++, spot = 0) {
        const int64_t run = gops_min(left, s->spots - spot);
        const int64_t begin = spot * s->step;
        const int64_t end = gops_min(begin + run * s->step, s->length);
        for (int64_t row = begin / pitch; row * pitch < end; row++) {
            const int64_t x0 = gops_max(begin, row * pitch);
            const int64_t x1 = gops_min(end, row * pitch + width);
            const pixel_run part = {from + x0 - begin, segment * rows + row, x0 - row * pitch,
                                    x1 - x0};
            for (int64_t outer = 0; outer < outers && x0 < x1; outer++) {
                store_run(at, &part, outer, c, count);
            }
        }
        from += run * s->step;
        left -= run;
    }
}
