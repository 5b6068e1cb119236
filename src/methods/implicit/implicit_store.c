/* implicit_store.c: into the tiles' layout and out of it; implicit.h. */
#include "methods/implicit/implicit.h"

#include "base/checked.h"
#include "post_ops/post_ops.h"

#include <string.h>

void gops_implicit_pack_block(const gops_type_row *type, const unsigned char *from,
                              int64_t channel_step, int64_t depth_step, int64_t depth,
                              int64_t channels, int64_t width, unsigned char *to)
{
    const int64_t bytes = gops_compute_bytes(type->compute);
    for (int64_t k = 0; k < depth; k++) {
        for (int64_t i = 0; i < channels; i++) {
            type->load(to + (k * width + i) * bytes, from + i * channel_step + k * depth_step, 1);
        }
        memset(to + (k * width + channels) * bytes, 0, (size_t)((width - channels) * bytes));
    }
}

void gops_implicit_store_rows(const gops_plan *plan, const gops_job *job,
                              const gops_segments *segments, const gops_rows *rows)
{
    const gops_segments *s = segments;
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const int64_t pixels = plan->conv.output_pixels;
    unsigned char *sums = rows->sums;
    int64_t segment = rows->first / s->spots, spot = rows->first % s->spots;
    for (int64_t left = rows->count; left > 0; segment++, spot = 0) {
        const int64_t run = gops_min(left, s->spots - spot);
        /* The sums begin where the first spot does, which is not where the one before it ends when
         * that was moved back from its segment's end. */
        const int64_t from = gops_min(spot * s->step, s->last);
        const int64_t begin = spot * s->step;
        const int64_t end = gops_min(begin + run * s->step, s->length);
        for (int64_t row = begin / s->pitch; row * s->pitch < end; row++) {
            const int64_t x0 = gops_max(begin, row * s->pitch);
            const int64_t x1 = gops_min(end, row * s->pitch + s->width);
            const int64_t to = (segment * s->rows + row) * s->width + x0 - row * s->pitch;
            for (int64_t c = 0; c < rows->channels && x0 < x1; c++) {
                gops_store(plan, job, rows->channel + c, rows->element + c * pixels + to, x1 - x0,
                           sums + (c * rows->sums_ld + x0 - from) * bytes);
            }
        }
        sums += run * s->step * bytes;
        left -= run;
    }
}
