/*
 * direct_conv.c: GroupConvolution by direct convolution, which needs neither a column matrix nor a
 * padded input.
 *
 * A register tile is a few vectors of output channels by neighbouring output pixels of one row or
 * of some rows (direct.h). It reads the data where it lies and skips each tap that falls on
 * padding: of a 3x3 kernel with pads 1 that saves 9% of the work on 14x14 and 18% on 7x7, of a
 * 3x3x3 one on 1x4x4 77%. Tiles beside each other are a tile row. One work item computes some tile
 * rows of one image, for some blocks of output channels of some groups:
 *
 *     for some tile rows at a time:             their sums stay in the first level cache
 *         for each block of output channels:
 *             for each block of input channels: its weights stay in the second level cache at least
 *                 for each tile row, for each tile of it: add to the sums
 *
 * All blocks of input channels but the last keep their sums in the workspace; the last one writes
 * the output. So with one block nothing but the data, the weights and the output is touched.
 *
 * An edge of the image may cut the range of a tap at one end of a tile, not at both: rows shorter
 * than the narrowest tile are not served.
 */
#include "methods/direct/direct_layout.h"

#include "post_ops/epilogue.h"
#include "post_ops/post_ops.h"

#include <string.h>

/* Blocks of output channels, in each blocks of input channels, in each [tap][c][MR], each weight
 * once for each of the pixels that share a vector. */
static void direct_pack(const gops_plan *plan, const void *weights, const int32_t *zero_points,
                        void *packed)
{
    (void)zero_points; /* serves no quantized plan */
    const gops_direct_layout *p = gops_direct_layout_of(plan);
    const gops_conv_geometry *conv = &plan->conv;
    const gops_type_row *type = plan->filter_type;
    const int64_t size = type->bytes, bytes = gops_compute_bytes(type->compute);
    const int64_t channels = conv->channels_out * conv->groups;
    unsigned char *to = packed;
    memset(packed, 0, (size_t)plan->filter_bytes);
    const int64_t copies = p->tile->size.per_vector;
    int64_t count;
    for (int64_t o = 0; o < channels; o += count) {
        const int64_t first = o % conv->channels_out;
        const int64_t width = gops_min(p->mr, p->padded_channels - first) * copies;
        count = gops_min(p->mr, conv->channels_out - first);
        for (int64_t c0 = 0; c0 < conv->channels_in; c0 += p->depth_block) {
            const int64_t depth = gops_min(p->depth_block, conv->channels_in - c0);
            for (int64_t t = 0; t < conv->taps; t++) {
                for (int64_t c = c0; c < c0 + depth; c++, to += width * bytes) {
                    for (int64_t i = 0; i < count * copies; i++) {
                        const int64_t from =
                            ((o + i / copies) * conv->channels_in + c) * conv->taps + t;
                        type->load(to + i * bytes, (const unsigned char *)weights + from * size, 1);
                    }
                }
            }
        }
    }
}

/* A work item in execution. */
typedef struct direct_item {
    const gops_plan *plan;
    const gops_job *job;
    const gops_epilogue *epilogue;
    const gops_job *rest;        /* the job less the epilogue */
    const gops_direct_tap *taps; /* of the last axis: the lists, one after the other */
    const int64_t *tap_ends;     /* where each list ends */
    gops_direct_tap *rows;
    unsigned char *sums, *outputs;
    /* A block of output channels. */
    const gops_direct_tile *tile;
    int64_t step_bytes;        /* its weights of one tap and one input channel */
    int64_t channel, channels; /* the first one is counted over all groups */
    int64_t element;           /* of the output: the channel's first */
    /* What is prefetched. */
    const unsigned char *weights_end; /* of all groups */
    bool weights_are_new;             /* no tile row before used the next block's weights */
    bool data_is_new;                 /* the data lies beyond the L2, and no block before read it */
    int64_t row_below; /* from tap 0 to the row that only the next tile row reads; 0: none */
    gops_direct_prefetch prefetch[GOPS_DIRECT_PREFETCHES];
    gops_direct_work work;
} direct_item;

/* Writes the lists of the taps of the last axis, one after the other, and where each ends. */
static void list_taps(const gops_plan *plan, gops_direct_tap *taps, int64_t *ends)
{
    const gops_direct_layout *p = gops_direct_layout_of(plan);
    const gops_axis *x = &plan->conv.axis[plan->conv.axes - 1];
    const int64_t max_cut = gops_direct_max_cut(p->tile->size);
    const int64_t inner_tiles = p->row_tiles - p->left_tiles - p->right_tiles;
    int64_t entries = 0;
    for (int64_t tile = 0; tile < p->row_tiles; tile++) {
        const int64_t begin = gops_direct_column(p, tile);
        const int64_t count = gops_direct_columns(p, tile, begin, x->output);
        const int64_t list = gops_direct_tap_list(p, tile);
        if (list > 0) {
            ends[list - 1] = entries; /* without inner tiles their list is empty */
        }
        for (int64_t tap = 0; tap < x->kernel; tap++) {
            int64_t first, last;
            gops_direct_outputs_inside(x, begin, count, tap, &first, &last);
            if (first < last) {
                const int64_t range = gops_direct_range(p->pixels, max_cut, first, last);
                taps[entries++] = (gops_direct_tap){tap * x->dilation, tap, range};
            }
        }
        ends[list] = entries;
        if (tile == p->left_tiles && inner_tiles > 1) {
            tile += inner_tiles - 1; /* they share this list */
        }
    }
}

/* Lists a row of taps, unless it is outside the data for all `rows` output rows from `row` on. */
static gops_direct_tap *list_row(const direct_item *item, const int64_t *tap, const int64_t *pitch,
                                 int64_t row, int64_t rows, gops_direct_tap *to)
{
    const gops_conv_geometry *conv = &item->plan->conv;
    const int64_t tile_rows = gops_direct_layout_of(item->plan)->rows;
    const int last_axis = conv->axes - 2;
    *to = (gops_direct_tap){0, 0, 0};
    for (int i = 0; i <= last_axis; i++) {
        to->data += tap[i] * conv->axis[i].dilation * pitch[i];
        to->tap = (to->tap + tap[i]) * conv->axis[i + 1].kernel;
    }
    if (tile_rows > 1) {
        const gops_axis *axis = &conv->axis[last_axis];
        int64_t first, last;
        gops_direct_outputs_inside(axis, row, rows, tap[last_axis], &first, &last);
        to->range = gops_direct_range(tile_rows, tile_rows - 1, first, last);
        return to + (first < last);
    }
    return to + 1;
}

/* Finds the rows of taps that are inside the data for a tile row, where pixel 0 reads tap 0, and
 * the row to prefetch. */
static void find_rows(direct_item *item, int64_t tile_row)
{
    const gops_conv_geometry *conv = &item->plan->conv;
    const gops_direct_layout *p = gops_direct_layout_of(item->plan);
    const int64_t top = tile_row % p->plane_tile_rows * p->rows;
    const int64_t rows = gops_min(p->rows, p->plane_rows - top);
    int64_t first[GOPS_MAX_SPATIAL], last[GOPS_MAX_SPATIAL], tap[GOPS_MAX_SPATIAL];
    int64_t pitch[GOPS_MAX_SPATIAL], inner = 1, start = 0, outer = tile_row / p->plane_tile_rows;
    item->work.row_count = 0;
    item->work.output_rows = rows;
    item->row_below = 0;
    for (int a = conv->axes - 1; a >= 0; a--) {
        pitch[a] = inner;
        inner *= conv->axis[a].data;
        if (a < conv->axes - 1) {
            const gops_axis *axis = &conv->axis[a];
            const bool is_row = a == conv->axes - 2;
            const int64_t output = is_row ? top : outer % axis->output;
            const gops_range inside = gops_taps_inside(axis, output);
            first[a] = inside.begin;
            last[a] = inside.end;
            if (is_row) {
                /* A lower row reads earlier taps: its first, and the last of the top row. */
                first[a] = gops_taps_inside(axis, top + rows - 1).begin;
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
    item->work.start = start;
    gops_direct_tap *to = item->rows;
    for (int a = 0; a >= 0;) {
        to = list_row(item, tap, pitch, top, rows, to);
        for (a = conv->axes - 2; a >= 0 && ++tap[a] == last[a]; a--) {
            tap[a] = first[a];
        }
    }
    item->work.row_count = to - item->rows;
    if (conv->axes > 1 && item->data_is_new &&
        tile_row % p->plane_tile_rows + 1 < p->plane_tile_rows) {
        const gops_axis *y = &conv->axis[conv->axes - 2];
        const int64_t lowest =
            top * y->stride - y->pad_begin + (last[conv->axes - 2] - 1) * y->dilation;
        item->row_below = lowest + y->stride < y->data ? to[-1].data + item->work.row_step : 0;
    }
}

/* Has the tiles prefetch the weights of the next block, `next`, which in a network the caches do
 * not hold, since other layers ran in between. They prefetch a little before each tap, while this
 * block's weights are used; all at once before each tile was no faster than none. With weights not
 * used for 160 MB, 512 -> 512 with 3x3 on 7x7 went from 1.35 to 0.87 ms (Zen 5). A kernel of one
 * tap has no taps to spread them over, and took 10% longer with it. */
static void prefetch_weights(direct_item *item, const unsigned char *next, int64_t tiles)
{
    const gops_conv_geometry *conv = &item->plan->conv;
    const int64_t tap_bytes = item->work.channels_in * item->step_bytes;
    int64_t first;
    const int64_t taps = gops_direct_used_taps(conv, &first);
    const unsigned char *from = next + first * tap_bytes;
    const int64_t left = gops_clamp(item->weights_end - from, 0, taps * tap_bytes);
    const int64_t lines =
        conv->taps > 1 && item->weights_are_new ? gops_ceil_div(left, GOPS_CACHE_LINE) : 0;
    item->prefetch[GOPS_DIRECT_PREFETCH_WEIGHTS] =
        (gops_direct_prefetch){from, GOPS_CACHE_LINE, gops_ceil_div(lines, tiles * taps), lines};
}

/* Has a tile prefetch the row below its own, in each channel, and its outputs. Without
 * the row 56 -> 56 channels of 56x56 took 1.07 of the time, without the outputs 1.08 (Zen 5). */
static void prefetch_row_and_outputs(const direct_item *item, gops_direct_work *work)
{
    const gops_conv_geometry *conv = &item->plan->conv;
    const gops_direct_layout *p = gops_direct_layout_of(item->plan);
    const gops_axis *x = &conv->axis[conv->axes - 1];
    const int64_t bytes = gops_compute_bytes(item->plan->type->compute);
    const bool outputs = p->prefetches_outputs && work->output != NULL && !item->rest->fused;
    const int64_t last = work->output_pixels - 1;
    const int64_t below = work->start + item->row_below + x->pad_begin + last * x->stride;
    work->prefetches_all = item->row_below != 0 || outputs;
    work->prefetch[GOPS_DIRECT_PREFETCH_ROW] = (gops_direct_prefetch){
        (const unsigned char *)work->data + below * bytes, work->plane * bytes,
        gops_ceil_div(work->channels_in, conv->taps), item->row_below != 0 ? work->channels_in : 0};
    work->prefetch[GOPS_DIRECT_PREFETCH_OUTPUTS] = (gops_direct_prefetch){
        outputs ? (const unsigned char *)work->output + last * bytes : NULL,
        work->output_ld * bytes, gops_ceil_div(p->mr, conv->taps), outputs ? work->channels : 0};
}

/* Runs tile rows first to first + count - 1 for one block of output and one of input channels. */
static void run_tile_rows(direct_item *item, int64_t first, int64_t count, bool last_depth)
{
    const gops_plan *plan = item->plan;
    const gops_direct_layout *p = gops_direct_layout_of(plan);
    const gops_axis *x = &plan->conv.axis[plan->conv.axes - 1];
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const int64_t first_pixel = gops_direct_first_row(p, first) * x->output;
    const int64_t pixels = gops_direct_first_row(p, first + count) * x->output - first_pixel;
    const bool stores = item->rest->fused;
    unsigned char *sums = item->sums;
    /* Filled in where it is. A copy for each tile would load what was just stored by narrower
     * stores, and wait until these are in the cache, behind the outputs of the tile before. */
    gops_direct_work *work = &item->work;
    work->output = NULL;
    work->output_ld = stores ? pixels : plan->output_plane;
    for (int64_t tile_row = first; tile_row < first + count; tile_row++) {
        find_rows(item, tile_row);
        const int64_t start = work->start - x->pad_begin;
        for (int64_t tile = 0; tile < p->row_tiles; tile++) {
            const int64_t list = gops_direct_tap_list(p, tile);
            const int64_t begin = list == 0 ? 0 : item->tap_ends[list - 1];
            const int64_t column = gops_direct_column(p, tile);
            work->taps = item->taps + begin;
            work->tap_count = item->tap_ends[list] - begin;
            work->start = start + column * x->stride;
            work->sums = sums;
            work->output_pixels = gops_direct_columns(p, tile, column, x->output);
            if (last_depth) {
                const int64_t pixel = gops_direct_first_row(p, tile_row) * x->output + column;
                work->output = stores ? item->outputs + (pixel - first_pixel) * bytes
                                      : gops_output_at(plan, item->rest, item->element + pixel);
            }
            work->prefetches_all = false;
            if (item->row_below != 0 || p->prefetches_outputs) {
                prefetch_row_and_outputs(item, work);
            }
            item->tile->run(work);
            sums += p->mr * p->rows * p->pixels * bytes;
        }
    }
    if (last_depth && stores) {
        gops_store_rows(
            plan, item->rest, item->epilogue, item->channel, item->element + first_pixel,
            &(gops_store_values){
                .values = item->outputs, .ld = pixels, .rows = item->channels, .count = pixels});
    }
}

/* Runs a block of output channels for tile rows first to first + count - 1. */
static void run_block(direct_item *item, const unsigned char *data, const unsigned char *weights,
                      int64_t first, int64_t count)
{
    const gops_conv_geometry *conv = &item->plan->conv;
    const gops_direct_layout *p = gops_direct_layout_of(item->plan);
    const int64_t bytes = gops_compute_bytes(item->plan->type->compute);
    gops_epilogue_values bias;
    const gops_axis *x = &conv->axis[conv->axes - 1];
    item->work = (gops_direct_work){
        .plane = item->plan->data_plane,
        .row_step = conv->axes > 1 ? conv->axis[conv->axes - 2].stride * x->data : 0,
        .rows = item->rows,
        .channels = item->channels,
        .output_row = x->output,
        .prefetch = item->prefetch,
    };
    for (int64_t c = 0; c < conv->channels_in; c += p->depth_block) {
        const bool last_depth = c + p->depth_block >= conv->channels_in;
        const int64_t depth = gops_min(p->depth_block, conv->channels_in - c);
        const unsigned char *block = weights + c * conv->taps * item->step_bytes;
        item->work.channels_in = depth;
        item->work.data = data + c * item->plan->data_plane * bytes;
        item->work.weights = block;
        item->work.accumulate = c > 0;
        prefetch_weights(item, block + depth * conv->taps * item->step_bytes, count * p->row_tiles);
        if (last_depth && item->epilogue->applies) {
            gops_epilogue_bias(item->plan, item->job, item->channel, 1, item->channels, p->mr,
                               &bias);
            item->work.bounds = &item->epilogue->bounds;
            item->work.bias = &bias;
        }
        run_tile_rows(item, first, count, last_depth);
    }
}

static void direct_run(const gops_plan *plan, const gops_job *job, int64_t index, void *workspace)
{
    const gops_direct_layout *p = gops_direct_layout_of(plan);
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const int64_t blocks = gops_ceil_div(conv->channels_out, p->mr);
    const gops_item of =
        gops_find_item(&p->items, &(gops_items){conv->groups, blocks, p->tile_rows}, index);
    const gops_range rows = of.panels, part = of.blocks;
    const gops_epilogue epilogue = gops_epilogue_read_most(plan, job, GOPS_EPILOGUE_NO_RESIDUAL);
    unsigned char *const base = workspace;
    direct_item item = {
        .plan = plan,
        .job = job,
        .epilogue = &epilogue,
        .rest = epilogue.applies ? &epilogue.rest : job,
        .taps = (const gops_direct_tap *)workspace,
        .tap_ends = (const int64_t *)(const void *)(base + p->ends_from),
        .rows = (gops_direct_tap *)(void *)(base + p->rows_from),
        .sums = base + p->sums_from,
        .outputs = base + p->outputs_from,
        .weights_end = (const unsigned char *)job->filter + plan->filter_bytes,
    };
    list_taps(plan, workspace, (int64_t *)(void *)(base + p->ends_from));
    for (int64_t group = of.groups.begin; group < of.groups.end; group++) {
        const int64_t image_group = of.image * conv->groups + group;
        const void *data =
            gops_data_at(plan, job, of.image, image_group * conv->channels_in * plan->data_plane);
        for (int64_t row = rows.begin; row < rows.end; row += p->block_tile_rows) {
            for (int64_t b = part.begin; b < part.end; b++) {
                const int64_t width = gops_min(p->mr, p->padded_channels - b * p->mr);
                item.data_is_new = p->data_beyond_l2 && p->rows == 1 && b == part.begin;
                item.weights_are_new =
                    b + 1 < part.end ? row == rows.begin : row + p->block_tile_rows >= rows.end;
                item.channel = group * conv->channels_out + b * p->mr;
                item.channels = gops_min(p->mr, conv->channels_out - b * p->mr);
                item.tile = b + 1 < blocks ? p->tile : p->last_tile;
                item.step_bytes = width * p->tile->size.per_vector * bytes;
                item.element = (of.image * conv->groups * conv->channels_out + item.channel) *
                               plan->output_plane;
                run_block(
                    &item, data,
                    (const unsigned char *)job->filter +
                        gops_direct_weight_bytes(plan, group * p->padded_channels + b * p->mr),
                    row, gops_min(p->block_tile_rows, rows.end - row));
            }
        }
    }
}

const gops_method gops_direct_conv = {
    .name = "direct",
    .operation = GOPS_OPERATION_CONV,
    .prepare = gops_direct_prepare,
    .pack = direct_pack,
    .run = direct_run,
};
