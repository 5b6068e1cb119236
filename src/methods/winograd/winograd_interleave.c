/* winograd_interleave.c: stores the outputs of a transposed convolution by Winograd's; winograd_deconv.c. */
#include "methods/winograd/winograd_quantized.h"

#include "methods/implicit/lanes_run.h"
#include "post_ops/post_ops.h"

enum { MAX_STRIDE = 16 }; /* the most lanes of a vector of sums */

void gops_winograd_interleave(const gops_implicit_item *item,
                              const gops_winograd_positions *positions)
{
    const gops_plan *plan = item->plan;
    const gops_winograd_layout *p = gops_winograd_layout_of(plan);
    const gops_axis *y = &plan->conv.axis[0], *x = &plan->conv.axis[1];
    const int64_t count = positions->count, bytes = gops_lanes_result_bytes(item->result);
    const int64_t rows = item->channels * p->repeat;
    const bool raw = item->result == GOPS_LANES_RAW;
    /* The outputs of the first position; p->begin is what the tap before the last reads. */
    const int64_t top = (positions->y + p->begin[0] + 1) * y->stride - y->pad_begin;
    const int64_t left = (positions->x + p->begin[1] + 1) * x->stride - x->pad_begin;
    const int64_t begin = gops_clamp(-left, 0, count * x->stride);
    const int64_t end = gops_clamp(x->output - left, begin, count * x->stride);
    unsigned char *const scratch = positions->scratch + rows * count * bytes;
    gops_lanes_transpose(item)(positions->scratch, count, positions->from, positions->ld, rows,
                               count);
    for (int64_t row = 0; row < rows; row += x->stride) {
        const int64_t channel = row / p->repeat, o = top + row % p->repeat / x->stride;
        const int64_t to =
            positions->element + channel * plan->output_plane + o * x->output + left + begin;
        gops_residue_rows residues[MAX_STRIDE];
        for (int64_t i = 0; i < x->stride; i++) {
            residues[i] = (gops_residue_rows){positions->scratch + (row + i) * count * bytes, 0};
        }
        if (o < 0 || o >= y->output || begin >= end) {
            continue;
        }
        gops_lanes_interleave(item)(&(gops_interleave){
            .to = raw ? scratch : gops_output_at(plan, item->job, to),
            .residues = residues,
            .stride = x->stride,
            .channels = 1,
            .begin = begin,
            .count = end - begin,
        });
        if (raw) {
            gops_store(plan, item->job, item->channel_of_all + channel, to, end - begin, scratch);
        }
    }
}
