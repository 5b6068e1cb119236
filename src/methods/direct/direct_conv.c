/*
 * direct_conv.c: GroupConvolution by strips; the form of `implicit` that needs neither
 * column matrix nor frame.
 *
 * A strip is a run of neighbouring outputs of a row, or of some rows, by some vectors of output
 * channels (direct.h). It reads the data where it lies and skips each tap that falls on
 * padding: of a 3x3 kernel with pads 1 that saves 9% of the work on 14x14 and 18% on 7x7, of a
 * 3x3x3 one on 1x4x4 77%. Strips beside each other are a line; one work item makes a band of lines
 * of one image, for a part of the output channels of some groups:
 *
 *     for each chunk of lines:                  the sums stay in the first level cache
 *         for each block of output channels:
 *             for each block of input channels: the weights stay in the second level cache at least
 *                 for each line, for each strip of it: add to the sums
 *
 * All blocks of input channels but the last keep their sums in the workspace; the last one writes
 * the output, so where there is one block nothing but the data, the weights and the output is
 * touched.
 *
 * An edge of the image may cut a tap's range of spots at one end of a strip, not at both: rows
 * shorter than the least strip are not served.
 */
#include "methods/methods.h"
#include "methods/direct/direct_layout.h"

#include "base/checked.h"
#include "base/error.h"
#include "post_ops/post_ops.h"
#include "post_ops/epilogue.h"

#include <stdio.h>
#include <string.h>

static gops_status prepare(gops_plan *plan, int64_t worker_limit, gops_error *error)
{
    gops_direct_layout *p = gops_parameters(plan);
    const gops_conv_geometry *conv = &plan->conv;
    const gops_status status = gops_direct_lay_out(plan, worker_limit, error);
    if (status != GOPS_OK) {
        return status;
    }
    char joined[40] = "";
    if (p->strip->size.joined > 1) {
        snprintf(joined, sizeof joined, ", %d pixels share a vector", p->strip->size.joined);
    }
    snprintf(plan->why, sizeof plan->why,
             "the input where it lies, without taps on padding: strips of %lldx%lld pixels by %lld "
             "channels%s, C_IN %lld in blocks of %lld, estimated %.3f ms",
             (long long)p->height, (long long)p->spots, (long long)p->width, joined,
             (long long)conv->channels_in, (long long)p->depth_block, plan->cost / 1e6);
    return GOPS_OK;
}

/* Blocks of output channels, in each blocks of input channels, in each [tap][c][width], each weight
 * for all outputs that are joined in a vector. */
static void pack(const gops_plan *plan, const void *weights, void *packed)
{
    const gops_direct_layout *p = gops_direct_layout_of(plan);
    const gops_conv_geometry *conv = &plan->conv;
    const gops_type_row *type = plan->filter_type;
    const int64_t size = type->bytes, bytes = gops_compute_bytes(type->compute);
    const int64_t channels = conv->channels_out * conv->groups;
    unsigned char *to = packed;
    memset(packed, 0, (size_t)plan->filter_bytes);
    const int64_t joined = p->strip->size.joined;
    int64_t count;
    for (int64_t o = 0; o < channels; o += count) {
        const int64_t first = o % conv->channels_out;
        const int64_t width = gops_min(p->width, p->padded - first) * joined;
        count = gops_min(p->width, conv->channels_out - first);
        for (int64_t c0 = 0; c0 < conv->channels_in; c0 += p->depth_block) {
            const int64_t depth = gops_min(p->depth_block, conv->channels_in - c0);
            for (int64_t t = 0; t < conv->taps; t++) {
                for (int64_t c = c0; c < c0 + depth; c++, to += width * bytes) {
                    for (int64_t i = 0; i < count * joined; i++) {
                        const int64_t from =
                            ((o + i / joined) * conv->channels_in + c) * conv->taps + t;
                        type->load(to + i * bytes, (const unsigned char *)weights + from * size, 1);
                    }
                }
            }
        }
    }
}

/* What one item works on. */
typedef struct piece {
    const gops_plan *plan;
    const gops_job *job; /* less what the kernel does */
    const gops_job *whole;
    const gops_epilogue *trim;
    const gops_direct_tap *taps; /* of the strips of a row, one list after the other */
    const int64_t *tap_counts;   /* where a strip's list ends */
    gops_direct_tap *rows;
    unsigned char *sums, *outputs;
    const gops_direct_kernel *strip;  /* of the block of output channels */
    int64_t step_bytes;               /* its weights of a tap and an input channel */
    int64_t channel, channels;        /* counted over all groups */
    int64_t element;                  /* of the output: the channel's first */
    const unsigned char *weights_end; /* of all */
    int asks;                         /* not 0: the next block's weights are not at hand yet */
    int reads;     /* not 0: no block before this has read the data, which the caches do not hold */
    int64_t below; /* from tap 0 to the row that the next line reads and this does not; 0: none */
    gops_direct_ahead ahead[GOPS_DIRECT_AHEADS];
    gops_direct_work work;
} piece;

/* Lists a row of taps, unless it is outside for all `rows` rows of outputs from `row` on. */
static gops_direct_tap *list_row(const piece *at, const int64_t *tap, const int64_t *pitch,
                                 int64_t row, int64_t rows, gops_direct_tap *to)
{
    const gops_conv_geometry *conv = &at->plan->conv;
    const int64_t height = gops_direct_layout_of(at->plan)->height;
    const int last_axis = conv->axes - 2;
    *to = (gops_direct_tap){0, 0, 0};
    for (int i = 0; i <= last_axis; i++) {
        to->data += tap[i] * conv->axis[i].dilation * pitch[i];
        to->tap = (to->tap + tap[i]) * conv->axis[i + 1].kernel;
    }
    if (height > 1) {
        const gops_axis *axis = &conv->axis[last_axis];
        const int64_t at_first =
            row * axis->stride - axis->pad_begin + tap[last_axis] * axis->dilation;
        int64_t first = 0, last = rows;
        if (at_first < 0 || at_first + (rows - 1) * axis->stride >= axis->data) {
            gops_direct_outputs_inside(axis, row, rows, tap[last_axis], &first, &last);
        }
        to->range = gops_direct_range(height, height - 1, first, last);
        return to + (first < last);
    }
    return to + 1;
}

/* The rows of taps that are inside the data for a line, and where tap 0 would be. */
static void find_rows(piece *at, int64_t line)
{
    const gops_conv_geometry *conv = &at->plan->conv;
    const gops_direct_layout *p = gops_direct_layout_of(at->plan);
    const int64_t top = line % p->plane_lines * p->height;
    const int64_t rows = gops_min(p->height, p->plane_rows - top);
    int64_t first[GOPS_MAX_SPATIAL], last[GOPS_MAX_SPATIAL], tap[GOPS_MAX_SPATIAL];
    int64_t pitch[GOPS_MAX_SPATIAL], inner = 1, start = 0, outer = line / p->plane_lines;
    at->work.row_count = 0;
    at->work.count_rows = rows;
    at->below = 0;
    for (int a = conv->axes - 1; a >= 0; a--) {
        pitch[a] = inner;
        inner *= conv->axis[a].data;
        if (a < conv->axes - 1) {
            const gops_axis *axis = &conv->axis[a];
            const int rowed = a == conv->axes - 2;
            const int64_t output = rowed ? top : outer % axis->output;
            gops_direct_taps_inside(axis, output, &first[a], &last[a]);
            if (rowed) {
                /* Rows further down meet no later taps: together they meet at most these. */
                int64_t end;
                gops_direct_taps_inside(axis, top + rows - 1, &first[a], &end);
            } else {
                outer /= axis->output;
            }
            start += (output * axis->stride - axis->pad_begin) * pitch[a];
            tap[a] = first[a];
            if (first[a] >= last[a]) {
                return;
            }
        }
    }
    at->work.start = start;
    gops_direct_tap *to = at->rows;
    for (int a = 0; a >= 0;) {
        to = list_row(at, tap, pitch, top, rows, to);
        for (a = conv->axes - 2; a >= 0 && ++tap[a] == last[a]; a--) {
            tap[a] = first[a];
        }
    }
    at->work.row_count = to - at->rows;
    if (conv->axes > 1 && at->reads && line % p->plane_lines + 1 < p->plane_lines) {
        const gops_axis *y = &conv->axis[conv->axes - 2];
        const int64_t lowest =
            top * y->stride - y->pad_begin + (last[conv->axes - 2] - 1) * y->dilation;
        at->below = lowest + y->stride < y->data ? to[-1].data + at->work.row_step : 0;
    }
}

/* Has strips ask for the weights of the next block, which in a network the caches do not hold:
 * other layers were there in between. Asked for little by little, before each tap, they come while
 * this block's are used; asked for at once, before each strip, they were no quicker than never.
 * With weights not used for 160 MB, 512 -> 512 with 3x3 on 7x7 went from 1.35 to 0.87 ms, 32 groups
 * of 32 from 0.20 to 0.13; asked into the second level cache alone, in strips of two rows the
 * latter took 0.21 again. Where a kernel has one tap there is no such share: 1024 -> 2048 on 14x14
 * with stride 2 took 10% more. */
static void look_ahead(piece *at, const unsigned char *next, int64_t strips)
{
    const gops_conv_geometry *conv = &at->plan->conv;
    const int64_t size = at->work.channels_in * conv->taps * at->step_bytes;
    const int64_t lines =
        conv->taps > 1 && at->asks
            ? gops_ceil_div(gops_min(size, at->weights_end - next), GOPS_DIRECT_LINE)
            : 0;
    at->ahead[GOPS_DIRECT_WEIGHTS] = (gops_direct_ahead){
        next, GOPS_DIRECT_LINE, gops_ceil_div(lines, strips * conv->taps), lines};
}

/* Has a strip ask for the row below its own, in each channel, and for its outputs: with 64 -> 64
 * channels of 112x112 the outputs took 0.94 of the time, the row 0.99. */
static void look_around(const piece *at, gops_direct_work *work)
{
    const gops_conv_geometry *conv = &at->plan->conv;
    const gops_direct_layout *p = gops_direct_layout_of(at->plan);
    const gops_axis *x = &conv->axis[conv->axes - 1];
    const int64_t bytes = gops_compute_bytes(at->plan->type->compute);
    const int claims = p->claims && work->output != NULL && !at->job->fused;
    const int64_t last = work->count - 1;
    work->asks = at->below != 0 || claims;
    work->ahead[GOPS_DIRECT_ROWS] =
        (gops_direct_ahead){(const unsigned char *)work->data +
                                (work->start + at->below + x->pad_begin + last * x->stride) * bytes,
                            work->plane * bytes, gops_ceil_div(work->channels_in, conv->taps),
                            at->below != 0 ? work->channels_in : 0};
    work->ahead[GOPS_DIRECT_OUTPUTS] = (gops_direct_ahead){
        (const unsigned char *)work->output + last * bytes, work->output_ld * bytes,
        gops_ceil_div(p->width, conv->taps), claims ? work->channels : 0};
}

/* The strips of lines first to first + count - 1 for one block of both kinds of channels. */
static void run_lines(piece *at, int64_t first, int64_t count, int last_block)
{
    const gops_plan *plan = at->plan;
    const gops_direct_layout *p = gops_direct_layout_of(plan);
    const gops_axis *x = &plan->conv.axis[plan->conv.axes - 1];
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const int64_t first_pixel = gops_direct_row(p, first) * x->output;
    const int64_t pixels = gops_direct_row(p, first + count) * x->output - first_pixel;
    const int fused = at->job->fused;
    unsigned char *sums = at->sums;
    /* Filled in where it is: a copy for each strip would read what was stored just before, in other
     * pieces, and wait until it is in the cache, behind the outputs of the strip before. */
    gops_direct_work *work = &at->work;
    work->output = NULL;
    work->output_ld = fused ? pixels : plan->conv.output_pixels;
    for (int64_t line = first; line < first + count; line++) {
        find_rows(at, line);
        const int64_t start = work->start - x->pad_begin;
        for (int64_t s = 0; s < p->strips; s++, sums += p->width * p->height * p->spots * bytes) {
            const int64_t list = gops_direct_list(p, s);
            const int64_t spot = s * p->spots;
            const int64_t begin = list == 0 ? 0 : at->tap_counts[list - 1];
            work->taps = at->taps + begin;
            work->tap_count = at->tap_counts[list] - begin;
            work->start = start + spot * x->stride;
            work->sums = sums;
            work->count = gops_min(p->spots, x->output - spot);
            if (last_block) {
                const int64_t pixel = gops_direct_row(p, line) * x->output + spot;
                work->output = fused ? at->outputs + (pixel - first_pixel) * bytes
                                     : gops_output_at(plan, at->job, at->element + pixel);
            }
            work->asks = 0;
            if (at->below != 0 || p->claims) {
                look_around(at, work);
            }
            at->strip->run(work);
        }
    }
    for (int64_t c = 0; c < at->channels && last_block && fused; c++) {
        gops_store(plan, at->job, at->channel + c,
                   at->element + c * plan->conv.output_pixels + first_pixel, pixels,
                   at->outputs + c * pixels * bytes);
    }
}

/* A block of output channels of a chunk of lines. */
static void run_block(piece *at, const unsigned char *data, const unsigned char *weights,
                      int64_t first, int64_t count)
{
    const gops_conv_geometry *conv = &at->plan->conv;
    const gops_direct_layout *p = gops_direct_layout_of(at->plan);
    const int64_t bytes = gops_compute_bytes(at->plan->type->compute);
    gops_epilogue_values bias;
    const gops_axis *x = &conv->axis[conv->axes - 1];
    at->work = (gops_direct_work){
        .plane = conv->data_pixels,
        .row_step = conv->axes > 1 ? conv->axis[conv->axes - 2].stride * x->data : 0,
        .rows = at->rows,
        .channels = at->channels,
        .output_row = x->output,
        .ahead = at->ahead,
    };
    for (int64_t c = 0; c < conv->channels_in; c += p->depth_block) {
        const int last_block = c + p->depth_block >= conv->channels_in;
        at->work.channels_in = gops_min(p->depth_block, conv->channels_in - c);
        at->work.data = data + c * conv->data_pixels * bytes;
        at->work.weights = weights + c * conv->taps * at->step_bytes;
        at->work.accumulate = c > 0;
        look_ahead(at,
                   (const unsigned char *)at->work.weights +
                       at->work.channels_in * conv->taps * at->step_bytes,
                   count * p->strips);
        if (last_block && at->trim->applies) {
            gops_epilogue_bias(at->plan, at->whole, at->channel, 1, at->channels, p->width, &bias);
            at->work.bounds = &at->trim->bounds;
            at->work.bias = &bias;
        }
        run_lines(at, first, count, last_block);
    }
}

static void run(const gops_plan *plan, const gops_job *job, int64_t item, void *workspace)
{
    const gops_direct_layout *p = gops_direct_layout_of(plan);
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const int64_t blocks = gops_ceil_div(conv->channels_out, p->width);
    const int64_t band = item % p->bands, part = item / p->bands % p->parts;
    const int64_t shares = gops_ceil_div(conv->groups, p->share);
    const int64_t share = item / p->bands / p->parts % shares;
    const int64_t image = item / p->bands / p->parts / shares;
    const int64_t last_line = gops_min((band + 1) * p->band, p->lines);
    const gops_epilogue trim = gops_epilogue_read(plan, job, GOPS_EPILOGUE_NO_RESIDUAL);
    unsigned char *const base = workspace;
    piece at = {
        .plan = plan,
        .job = trim.applies ? &trim.rest : job,
        .whole = job,
        .trim = &trim,
        .taps = (const gops_direct_tap *)workspace,
        .tap_counts = (const int64_t *)(const void *)(base + p->counts_from),
        .rows = (gops_direct_tap *)(void *)(base + p->rows_from),
        .sums = base + p->sums_from,
        .outputs = base + p->outputs_from,
        .weights_end = (const unsigned char *)job->filter + plan->filter_bytes,
    };
    gops_direct_list_taps(plan, workspace, (int64_t *)(void *)(base + p->counts_from));
    const int64_t group_end = gops_min((share + 1) * p->share, conv->groups);
    const int64_t block_end = gops_min((part + 1) * p->part, blocks);
    for (int64_t group = share * p->share; group < group_end; group++) {
        const int64_t image_group = image * conv->groups + group;
        const void *data =
            gops_data_at(plan, job, image, image_group * conv->channels_in * conv->data_pixels);
        for (int64_t line = band * p->band; line < last_line; line += p->chunk) {
            for (int64_t b = part * p->part; b < block_end; b++) {
                at.reads = p->fetches && p->height == 1 && b == part * p->part;
                at.asks = b + 1 < block_end ? line == band * p->band : line + p->chunk >= last_line;
                at.channel = group * conv->channels_out + b * p->width;
                at.channels = gops_min(p->width, conv->channels_out - b * p->width);
                at.strip = b + 1 < blocks ? p->strip : p->rest;
                at.step_bytes =
                    gops_min(p->width, p->padded - b * p->width) * p->strip->size.joined * bytes;
                at.element =
                    (image * conv->groups * conv->channels_out + at.channel) * conv->output_pixels;
                run_block(&at, data,
                          (const unsigned char *)job->filter +
                              gops_direct_weights(plan, group * p->padded + b * p->width),
                          line, gops_min(p->chunk, last_line - line));
            }
        }
    }
}

const gops_method gops_direct_conv = {
    .name = "direct",
    .operation = GOPS_OPERATION_CONV,
    .prepare = prepare,
    .pack = pack,
    .run = run,
};
