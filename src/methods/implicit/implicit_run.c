/*
 * implicit_run.c: a work item of an implicit convolution: a box of the pixels of one image and
 * group, for a block of the channels; implicit.h.
 */
#include "methods/implicit/implicit_layout.h"

#include "base/checked.h"
#include "methods/implicit/lanes_run.h"
#include "post_ops/epilogue.h"
#include "post_ops/post_ops.h"

#include <string.h>

/* The offset table: the offsets of all taps of all channels. */
static void fill_offsets(const gops_plan *plan, int64_t *offsets)
{
    const gops_implicit *p = gops_implicit_read(plan);
    gops_axis axis[GOPS_MAX_SPATIAL];
    const int axes = gops_implicit_axes(plan, p, axis);
    int64_t tap[GOPS_MAX_SPATIAL] = {0}, count = 1;
    const int64_t plane = p->in_place ? plan->data_plane : p->padded.plane;
    const bool in_blocks = gops_implicit_in_blocks(plan, p);
    int64_t *const taps = in_blocks ? offsets + p->depth : offsets;
    for (int a = 0; a < axes; a++) {
        count *= axis[a].kernel;
    }
    for (int64_t t = 0; t < count; t++) {
        int64_t offset = 0, residue = 0;
        for (int a = 0; a < axes; a++) {
            const int64_t reach = tap[a] * axis[a].dilation;
            if (p->in_place || !p->residues) {
                offset += reach * (p->pitch[a] / axis[a].stride);
            } else {
                const int64_t residues = p->padded.axis[a].residues;
                offset += reach / axis[a].stride * p->pitch[a];
                residue = residue * residues + tap[a] % residues;
            }
        }
        taps[t] = offset + residue * p->padded.positions;
        for (int a = axes - 1; a >= 0 && ++tap[a] == axis[a].kernel; a--) {
            tap[a] = 0;
        }
    }
    if (in_blocks) {
        const int64_t inner = count / axis[0].kernel;
        for (int64_t t = 0; t < count; t += inner) {
            gops_lanes_offsets(taps + t, inner, p->planes, plane, gops_tile_is_blocked(p->form),
                               offsets + t * p->planes);
        }
        return;
    }
    for (int64_t i = count; i < p->depth; i++) {
        offsets[i] = offsets[i - count] + plane;
    }
}

/* Whether nothing is left to do to what the tiles store. */
static bool tiles_finish(const gops_implicit_item *item)
{
    return item->plan->quantized ? item->result != GOPS_LANES_RAW && !item->adds
                                 : !item->job->fused;
}

/* A call of memcpy costs more than most rows take. */
static inline void copy_bytes(unsigned char *restrict to, const unsigned char *restrict from,
                              int64_t count)
{
    enum { BLOCK = 16, HALF = 8, QUARTER = 4 };
    if (count >= BLOCK) {
        for (int64_t i = 0; i < count; i += BLOCK) {
            const int64_t at = gops_min(i, count - BLOCK);
            memcpy(to + at, from + at, BLOCK);
        }
    } else if (count >= HALF) {
        memcpy(to, from, HALF);
        memcpy(to + count - HALF, from + count - HALF, HALF);
    } else if (count >= QUARTER) {
        memcpy(to, from, QUARTER);
        memcpy(to + count - QUARTER, from + count - QUARTER, QUARTER);
    } else {
        for (int64_t i = 0; i < count; i++) {
            to[i] = from[i];
        }
    }
}

/* Adds the residual to bytes of `rows` channels, which lie `ld` apart, and stores them. */
static void store_added(const gops_implicit_item *item, int64_t element, const unsigned char *codes,
                        int64_t ld, int64_t rows, int64_t count)
{
    const gops_plan *plan = item->plan;
    const gops_requantize_rows added = {.to = gops_output_at(plan, item->job, element),
                                        .residual = gops_residual_at(plan, item->job, element),
                                        .ld = plan->output_plane,
                                        .codes = codes,
                                        .codes_ld = ld,
                                        .rows = rows,
                                        .count = count};
    plan->kernels->post_ops->requantize->add(&added, &item->sum);
}

#ifdef __x86_64__
/* Of the box, with whole rows: the pixel at which a column begins, or the first one behind it in a gap. */
static int64_t pixel_of(const gops_pixel_runs *runs, int64_t column)
{
    const int64_t at = column % runs->columns * runs->step;
    const int64_t row = column / runs->columns * runs->rows + at / runs->pitch;
    return row * runs->width + gops_min(at % runs->pitch, runs->width);
}
#endif

/* Has the lines of `count` channels of an output of bytes come to this core while tiles multiply. A residual may lie
 * there that another core read last, and each first store would wait for it: with two threads 128 -> 512 on 28x28 took
 * 1.18 times as long (Zen 5, cores of different dies). Compilers leave out calls that do nothing but
 * __builtin_prefetch; what processors have no prefetchw take it for no operation. */
static void prefetch_outputs(const gops_implicit_item *item, int64_t first, int64_t c,
                             int64_t count)
{
#ifdef __x86_64__
    const int64_t plane = item->plan->output_plane, pixels = item->plan->conv.output_pixels;
    const int64_t begin = pixel_of(&item->runs, first);
    const int64_t end = pixel_of(&item->runs, first + item->pass.count);
    const int64_t some = gops_min(end, pixels - item->element % plane) - begin;
    for (int64_t i = c; i < c + count; i++) {
        const unsigned char *line =
            gops_output_at(item->plan, item->job, item->element + i * plane + begin);
        for (int64_t k = 0; k < some; k += GOPS_CACHE_LINE) {
            __asm__ volatile("prefetchw %0" : : "m"(line[k]));
        }
    }
#else
    (void)item, (void)first, (void)c, (void)count;
#endif
}

/* Stores the sums of the pass in the channels form, those of the item's channels c to
 * c + count - 1. */
static void store_channels_form(const gops_implicit_item *item, const gops_epilogue *epilogue,
                                int64_t first, int64_t c, int64_t count)
{
    const gops_plan *plan = item->plan;
    const gops_implicit_pass *pass = &item->pass;
    const int64_t plane = plan->output_plane, element = item->element + c * plane + first;
    const bool direct =
        plan->quantized ? tiles_finish(item) : plan->type->native && !gops_adds_in_place(item->job);
    const int64_t ld = direct ? plane : pass->count;
    unsigned char *to = direct ? gops_output_at(plan, item->job, element)
                               : item->workspace + gops_implicit_read(plan)->transpose_begin;
    gops_lanes_transpose(item)(to, ld, pass->work.sums, pass->mr, count, pass->count);
    /* What lies in the output already is stored again only for its post-ops, while it is in the L1
     * cache. */
    const bool stores = !direct || (item->job->fused && !plan->quantized);
    if (item->adds && pass->count == plane) { /* channels without gaps */
        store_added(item, element, to, ld, 1, pass->count * count);
    } else if (item->adds) {
        store_added(item, element, to, ld, count, pass->count);
    }
    if (stores && !item->adds) {
        gops_store_rows(plan, item->job, epilogue, item->channel_of_all + c, element,
                        &(gops_store_values){to, ld, count, pass->count});
    }
}

/* The same in the pixels form, without what lies in the gaps between the rows of the box. */
static void store_pixels_form(const gops_implicit_item *item, const gops_epilogue *epilogue,
                              int64_t first, int64_t c, int64_t count)
{
    const gops_pixel_runs *runs = &item->runs;
    const gops_implicit_pass *pass = &item->pass;
    const int64_t plane = item->plan->output_plane;
    const bool copies = item->plan->quantized && item->result != GOPS_LANES_RAW;
    const int64_t bytes = copies ? gops_lanes_result_bytes(item->result) : pass->bytes;
    unsigned char *sums = pass->work.sums;
    int64_t run = first / runs->columns, column = first % runs->columns, some;
    for (int64_t left = pass->count; left > 0; left -= some, run++, column = 0) {
        some = gops_min(left, runs->columns - column);
        const int64_t begin = column * runs->step;
        const int64_t end = gops_min(begin + some * runs->step, runs->length);
        /* The position of the first sum. A last column that was moved back to end with its run
         * begins before the end of the column before it. */
        const int64_t from = gops_min(begin, runs->last);
        for (int64_t row = begin / runs->pitch; row * runs->pitch < end; row++) {
            const int64_t x0 = gops_max(begin, row * runs->pitch);
            const int64_t x1 = gops_min(end, row * runs->pitch + runs->width);
            const int64_t to = (run * runs->rows + row) * runs->width + x0 - row * runs->pitch;
            if (item->adds && x0 < x1) {
                store_added(item, item->element + c * plane + to, sums + x0 - from,
                            pass->work.sums_ld, count, x1 - x0);
                continue;
            }
            unsigned char *at = sums + (x0 - from) * bytes;
            const int64_t element = item->element + c * plane + to;
            for (int64_t i = 0; copies && i < count && x0 < x1; i++) {
                copy_bytes(gops_output_at(item->plan, item->job, element + i * plane),
                           at + i * pass->work.sums_ld * bytes, (x1 - x0) * bytes);
            }
            if (!copies && x0 < x1) {
                gops_store_rows(item->plan, item->job, epilogue, item->channel_of_all + c, element,
                                &(gops_store_values){at, pass->work.sums_ld, count, x1 - x0});
            }
        }
        sums += some * runs->step * bytes;
    }
}

static gops_lanes_filter filter_of_lanes(const gops_implicit_item *item)
{
    const gops_plan *plan = item->plan;
    const gops_implicit *p = gops_implicit_read(plan);
    const int64_t rows = plan->conv.groups * plan->conv.channels_out;
    return gops_lanes_filter_of(plan, item->job->filter, p->depth, gops_implicit_ones_mr(plan, p),
                                rows);
}

/* The values of all channels of the item. */
static void begin_values(gops_implicit_item *item)
{
    const gops_implicit *p = gops_implicit_read(item->plan);
    const uint32_t *sums = filter_of_lanes(item).sums;
    const gops_lanes_rows rows = {
        .channel = item->channel_of_all,
        .repeat = 1,
        .count = item->channels,
        .k = item->plan->conv.k,
        .weight_sums = sums != NULL ? sums + item->channel_of_all : NULL,
    };
    item->values.first = (uint32_t *)(void *)(item->workspace + p->values_begin);
    item->values.scale = (float *)(item->values.first + p->channel_block + GOPS_EPILOGUE_CHANNELS);
    if (p->form != GOPS_TILE_PIXELS) { /* tiles read those beyond the last channel */
        memset(item->values.first + item->channels, 0, GOPS_EPILOGUE_CHANNELS * sizeof(uint32_t));
        memset(item->values.scale + item->channels, 0, GOPS_EPILOGUE_CHANNELS * sizeof(float));
    }
    gops_lanes_begin_rows(item, &rows);
}

/* Whether all items list the same columns once: there is one block of them, of the only box, and no tile of other
 * channels. */
static bool has_one_list(const gops_implicit_item *item)
{
    const gops_implicit *p = gops_implicit_read(item->plan);
    return p->boxes == 1 && p->channel_blocks == 1 && !item->windows &&
           item->runs.columns * item->runs.count <= p->column_block &&
           (gops_tile_has_pixels(p->form) || item->channels <= p->mr ||
            item->channels % p->mr == 0);
}

/* Has the tiles store the sums of channels `c` on in the output, or in the workspace. */
static void place_sums(gops_implicit_item *item, int64_t c, bool to_output)
{
    const gops_plan *plan = item->plan;
    const gops_implicit *p = gops_implicit_read(plan);
    gops_tile_work *work = &item->pass.work;
    if (!to_output) {
        work->sums = item->workspace + p->sums_begin;
        work->sums_ld = p->column_block * item->runs.step;
        return;
    }
    const int64_t plane = plan->output_plane, element = item->element + c * plane;
    work->sums = gops_output_at(plan, item->job, element);
    work->sums_ld = plane;
    work->residual =
        item->whole->residual != NULL ? gops_residual_at(plan, item->whole, element) : NULL;
}

/* One block of columns, for all channels of the item. */
static void run_columns(gops_implicit_item *item, const gops_axis *axis,
                        const gops_epilogue *epilogue, const unsigned char *weights, int64_t first)
{
    const gops_plan *plan = item->plan;
    const gops_implicit *p = gops_implicit_read(plan);
    gops_implicit_pass *pass = &item->pass;
    gops_tile_work *work = &pass->work;
    const bool to_output = item->runs.writes_outputs && tiles_finish(item);
    const bool pixels = gops_tile_has_pixels(p->form);
    int64_t *const kept = &item->job->kept[GOPS_IMPLICIT_KEPT_TABLES];
    const bool listed = *kept == to_output && has_one_list(item);
    gops_epilogue_values bias;
    work->pixels = gops_implicit_stored_pixels(p, &item->runs, to_output);
    pass->mr = p->mr;
    if (plan->quantized || p->form == GOPS_TILE_BLOCKED) {
        gops_lanes_find_ranges(p, axis, &axis[p->padded.axes - 1], first, item);
    }
    if (item->windows) {
        gops_implicit_list_columns(p, item, first, false, item->runs.step);
        gops_lanes_sum_windows(p, item, first, filter_of_lanes(item).ones);
    }
    for (int64_t c = 0; c < item->channels; c += pass->mr) {
        const int64_t left = item->channels - c;
        const int64_t mr = gops_implicit_mr(plan, p, left);
        const int64_t count = gops_min(mr, left);
        if (!listed && (c == 0 || (mr != pass->mr && !pixels))) {
            gops_implicit_list_columns(p, item, first, to_output, pixels ? item->runs.step : mr);
        }
        pass->mr = mr;
        work->channels = count;
        if (epilogue->applies) {
            gops_epilogue_bias(plan, item->whole, item->channel_of_all + c, 1, count, mr, &bias);
            work->bounds = &epilogue->bounds;
            work->bias = &bias;
        }
        if (plan->quantized) {
            gops_lanes_take_values(item, c);
        }
        work->weights = weights;
        weights += mr * p->depth * pass->bytes;
        place_sums(item, c, to_output);
        if (item->adds) {
            prefetch_outputs(item, first, c, count);
        }
        gops_implicit_multiply(pass);
        if (item->windows) {
            const gops_lanes_rows of = {
                .channel = item->channel_of_all + c, .repeat = 1, .count = count};
            gops_lanes_subtract_windows(p, item, &of);
        }
        if (!to_output && pixels) {
            store_pixels_form(item, epilogue, first, c, count);
        } else if (!to_output) {
            store_channels_form(item, epilogue, first, c, count);
        }
    }
    *kept = to_output;
}

void gops_implicit_run(const gops_plan *plan, const gops_job *job, int64_t index, void *workspace)
{
    const gops_implicit *p = gops_implicit_read(plan);
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t padded = gops_implicit_padded_channels(plan, p, conv->channels_out);
    gops_implicit_item item;
    gops_axis axis[GOPS_MAX_SPATIAL];
    const int axes = gops_implicit_axes(plan, p, axis);
    gops_implicit_begin(plan, p, axis, job, index, workspace, &item);
    if (plan->quantized) {
        gops_lanes_begin(p, &item);
    }
    const int64_t weight_bytes = p->depth * item.pass.bytes;
    const unsigned char *const weights =
        (const unsigned char *)job->filter + (item.group * padded + item.channel) * weight_bytes;
    const gops_epilogue epilogue = gops_epilogue_read_most(
        plan, job,
        item.runs.writes_outputs ? GOPS_EPILOGUE_SEPARATE_RESIDUAL : GOPS_EPILOGUE_NO_RESIDUAL);
    item.job = epilogue.applies ? &epilogue.rest : job;
    if (plan->quantized) {
        begin_values(&item);
    }
    int64_t first_pixel = 0;
    for (int a = 0; a < axes; a++) {
        first_pixel = first_pixel * axis[a].output + item.box.begin[a];
    }
    item.element += first_pixel;
    int64_t *offsets = (int64_t *)(void *)(item.workspace + p->offsets_begin);
    if (job->kept[GOPS_IMPLICIT_KEPT_TABLES] < 0) {
        fill_offsets(plan, offsets);
    }
    item.pass.work.offsets = offsets;
    item.pass.work.depth = p->depth;
    const int64_t count = item.runs.columns * item.runs.count;
    for (int64_t first = 0; first < count; first += p->column_block) {
        item.pass.count = gops_min(p->column_block, count - first);
        run_columns(&item, axis, &epilogue, weights, first);
    }
    gops_implicit_end(p, &item);
}
