/* implicit_store.c: packs weights for the tiles, and stores their sums; implicit.h. */
#include "methods/implicit/implicit.h"

#include "base/checked.h"
#include "post_ops/post_ops.h"

#include <string.h>

void gops_implicit_pack_tile(const gops_type_row *type, const unsigned char *from,
                             int64_t channel_step, int64_t depth_step, int64_t depth,
                             int64_t channels, int64_t mr, unsigned char *to)
{
    const int64_t bytes = gops_compute_bytes(type->compute);
    for (int64_t k = 0; k < depth; k++) {
        for (int64_t i = 0; i < channels; i++) {
            type->load(to + (k * mr + i) * bytes, from + i * channel_step + k * depth_step, 1);
        }
        memset(to + (k * mr + channels) * bytes, 0, (size_t)((mr - channels) * bytes));
    }
}

void gops_implicit_store_rows(const gops_plan *plan, const gops_job *job,
                              const gops_pixel_runs *runs, const gops_sum_rows *rows)
{
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const int64_t pixels = plan->conv.output_pixels;
    unsigned char *sums = rows->sums;
    int64_t run = rows->first / runs->columns, column = rows->first % runs->columns;
    for (int64_t left = rows->count; left > 0; run++, column = 0) {
        const int64_t count = gops_min(left, runs->columns - column);
        const int64_t begin = column * runs->step;
        const int64_t end = gops_min(begin + count * runs->step, runs->length);
        /* The position of the first sum. A last column that was moved back to end with its run
         * begins before the end of the column before it. */
        const int64_t from = gops_min(begin, runs->last);
        for (int64_t row = begin / runs->pitch; row * runs->pitch < end; row++) {
            const int64_t x0 = gops_max(begin, row * runs->pitch);
            const int64_t x1 = gops_min(end, row * runs->pitch + runs->width);
            const int64_t to = (run * runs->rows + row) * runs->width + x0 - row * runs->pitch;
            for (int64_t c = 0; c < rows->channels && x0 < x1; c++) {
                gops_store(plan, job, rows->channel + c, rows->element + c * pixels + to, x1 - x0,
                           sums + (c * rows->sums_ld + x0 - from) * bytes);
            }
        }
        sums += count * runs->step * bytes;
        left -= count;
    }
}
