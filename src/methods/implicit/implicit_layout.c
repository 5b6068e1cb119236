/* implicit_layout.c: items, blocks of channels, runs of columns and the workspace. */
#include "methods/implicit/implicit_layout.h"

#include "methods/implicit/implicit_boxes.h"

#include "base/checked.h"
#include "base/error.h"

enum {
    /* A large layer is divided into this many items at least, so that all threads find work ... */
    MIN_ITEMS = 8,
    /* ... unless an item would do fewer multiplications, for each channel of a lane, than are worth
     * the copies. */
    MIN_ITEM_MULTIPLIES = 200000,
    /* Storing the sums of a tile of AMX, and copying them to the output, in steps of K (Intel Xeon, Granite Rapids). */
    WIDE_STORE_STEPS = 54,
    WIDE_COPY_STEPS = 54,
    FEW_WIDE_CHANNELS = 128,
};

int gops_implicit_axes(const gops_plan *plan, const gops_implicit *p,
                       gops_axis axis[GOPS_MAX_SPATIAL])
{
    const gops_conv_geometry *conv = &plan->conv;
    if (p->flat) {
        axis[0] = (gops_axis){.data = conv->data_pixels,
                              .output = conv->output_pixels,
                              .kernel = 1,
                              .stride = 1,
                              .dilation = 1};
        return 1;
    }
    for (int a = 0; a < conv->axes; a++) {
        axis[a] = conv->axis[a];
    }
    if (p->form == GOPS_TILE_WIDE_JOINED) {
        const gops_lanes_join join = gops_implicit_join(plan);
        gops_axis *last = &axis[conv->axes - 1];
        *last = (gops_axis){
            .data = last->output, .output = last->output, .kernel = 1, .stride = 1, .dilation = 1};
        if (conv->axes > 1) {
            last[-1].kernel = gops_ceil_div(last[-1].kernel, join.rows);
            last[-1].dilation *= join.rows;
        }
    }
    return conv->axes;
}

bool gops_implicit_wants_more(const gops_plan *plan, const gops_implicit *p)
{
    const int64_t groups = gops_mul_saturate(plan->conv.batch, plan->conv.groups);
    const int64_t items = gops_mul_saturate(groups, p->channel_blocks * p->boxes);
    const int64_t wanted = gops_items_for_threads(plan);
    return items < (wanted > MIN_ITEMS ? wanted : plan->workers);
}

bool gops_implicit_wants_less(const gops_plan *plan)
{
    const int64_t wanted = gops_items_for_threads(plan);
    return plan->workers == 1 || (wanted < MIN_ITEMS && plan->conv.taps > 1);
}

/* Few threads need no more items than keep the data of one, its copy and its outputs in the second level cache. In 8
 * bits 64 -> 64 on 56x56 takes 0.96 of the time of eight items, 3x3 layers 0.96 to 0.98; 32 -> 16 on 112x112 took 1.04
 * in a single item. With two threads, of layers with several taps, 128 -> 128 with stride 2 on 56x56 0.95 (Zen 5). */
static int64_t fewer_items(const gops_plan *plan, int64_t data)
{
    const int64_t bytes = gops_mul_saturate(data, gops_compute_bytes(plan->type->compute));
    const int64_t items = gops_ceil_div(bytes, plan->machine.l2_bytes / 3);
    return plan->workers == 1
               ? items
               : gops_round_up(gops_max(items, gops_items_for_threads(plan)), plan->workers);
}

/* How many items the product of `data` values is worth. */
static int64_t count_items(const gops_plan *plan, const gops_implicit *p, int64_t data)
{
    const int64_t multiplies = plan->conv.flops / 2;
    int64_t items = MIN_ITEMS;
    if (p->for_threads && gops_implicit_wants_less(plan)) {
        items = gops_min(items, fewer_items(plan, data));
    } else if (p->for_threads) {
        items = gops_max(items, gops_items_for_threads(plan));
    }
    if (!plan->quantized) {
        return gops_clamp(multiplies / MIN_ITEM_MULTIPLIES, 1, items);
    }
    const int64_t least = MIN_ITEM_MULTIPLIES * gops_plan_tiles(plan)->lane_channels;
    /* N items do N times as many each, as boxes of few pixels that fill no tiles cost more. */
    while (items > 1 && multiplies / least < items * items) {
        items /= 2;
    }
    return items;
}

/* Whether each block of channels may well copy all of the data, `data` values: a single tap reads it where the
 * second level cache holds it beside all else. For few channels tiles of AMX take less long: 64 -> 64 on 56x56
 * with two threads 19.1 us so, 17.3 in boxes; 64 -> 256 52.1, 55.3 (Intel Xeon, Granite Rapids class). */
static bool may_copy_again(const gops_plan *plan, const gops_implicit *p, int64_t data)
{
    const bool few = gops_tile_is_wide(p->form) && plan->conv.channels_out < FEW_WIDE_CHANNELS;
    const int64_t part = (few ? 16 : 8) * gops_compute_bytes(plan->type->compute);
    return gops_lanes_are_quads(plan) && p->flat && data <= plan->machine.l2_bytes / part;
}

/* The bytes of a padded input: the second level cache holds it beside weights. Each box reads all weights, so
 * where these are more than the data, a blocked input may be larger, as the tiles read it in lines one after the
 * other: 640 -> 640, 3x3 on 32x32, took AVX2 96.3 ms in boxes of half an L2 of 512 KB, 82.1 in two (Zen 3). Not where
 * the second level cache is large, as what lies behind it is far. AVX-512 was not measured. */
static int64_t input_limit(const gops_plan *plan, const gops_implicit *p, bool more_weights,
                           int64_t worker_limit)
{
    const bool large = p->form == GOPS_TILE_BLOCKED && more_weights && !plan->quantized &&
                       plan->kernels->vector_bytes < GOPS_CACHE_LINE &&
                       !gops_machine_has_large_l2(&plan->machine);
    const int64_t cached = plan->machine.l2_bytes / 2;
    return gops_min(worker_limit / 2, large ? INT64_MAX : cached);
}

/* Units in each of so many blocks of channels, of floats in a few more, if two threads then have as much to do. */
static int64_t block_units(const gops_plan *plan, int64_t units, int64_t blocks)
{
    const int64_t usual = gops_ceil_div(units, blocks);
    const int64_t end = plan->quantized || blocks == 1 ? usual : usual - gops_min(usual, 16) + 1;
    int64_t best = usual, least = INT64_MAX;
    for (int64_t each = usual; each >= end; each--) {
        const int64_t half = gops_ceil_div(gops_ceil_div(units, each), 2) * each;
        if (half < least) {
            best = each;
            least = half;
        }
    }
    return best;
}

/* Cuts channels into blocks of `each` units. Where tiles of three vectors would leave one, the last of them share the
 * rest (gops_implicit_whole_tiles), and no block ends among these. */
static void cut_channels(const gops_plan *plan, gops_implicit *p, int64_t channels, int64_t unit,
                         int64_t each)
{
    const int64_t units = gops_ceil_div(channels, unit);
    const bool shares =
        unit == p->mr && gops_implicit_whole_tiles(plan, p, channels) < channels / unit;
    while (shares && (units - 1) % each == 0) {
        each++;
    }
    p->channel_block = each * unit;
    p->channel_blocks = gops_ceil_div(channels, p->channel_block);
}

bool gops_implicit_divide(const gops_plan *plan, gops_implicit *p, int axes, const gops_axis *axis,
                          int64_t unit, int64_t max_channel_blocks, int64_t worker_limit)
{
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t images = gops_mul_saturate(conv->batch, conv->groups);
    const int64_t channels = conv->channels_out;
    const int64_t units = gops_ceil_div(channels, unit);
    const int64_t weights = gops_mul_saturate(gops_mul_saturate(p->planes, channels), conv->taps);
    const int64_t data = gops_mul_saturate(conv->data_pixels, p->planes);
    const int64_t items = count_items(plan, p, data);
    p->channel_blocks = 1;
    if (weights > data || may_copy_again(plan, p, data)) {
        const int64_t blocks = gops_min(items, max_channel_blocks);
        p->channel_blocks = gops_clamp(gops_ceil_div(blocks, images), 1, units);
    }
    cut_channels(plan, p, channels, unit, block_units(plan, units, p->channel_blocks));
    const int64_t limit = input_limit(plan, p, weights > data, worker_limit);
    /* Threads that want more have both cut. */
    const bool many = p->for_threads && plan->workers > 1;
    const int64_t min_boxes =
        p->channel_blocks > 1 && !many
            ? 1
            : gops_ceil_div(items, gops_mul_saturate(images, p->channel_blocks));
    const int64_t planes = gops_implicit_copied_planes(p),
                  bytes = gops_compute_bytes(plan->type->compute);
    /* Of integers what one pixel reads may be larger than the cache: `gemm` takes three to six times as long. What else
     * a worker needs has the last quarter. */
    if (!gops_implicit_cut_boxes(p, axes, axis, planes, bytes, limit, min_boxes) &&
        !(plan->quantized &&
          gops_implicit_cut_boxes(p, axes, axis, planes, bytes, worker_limit / 4 * 3, min_boxes))) {
        return false;
    }
    if (p->boxes > 1 && p->channel_blocks > 1 && !plan->quantized) {
        /* Each block of channels copies the boxes anew, so what boxes give to do needs no blocks. */
        const int64_t all = gops_mul_saturate(images, p->boxes);
        const int64_t blocks = gops_clamp(gops_ceil_div(items, all), 1, p->channel_blocks);
        cut_channels(plan, p, channels, unit, gops_ceil_div(units, blocks));
    }
    if (many && p->boxes > 1 && p->granule == 1) {
        gops_implicit_even_boxes(plan, p, axes, axis, gops_mul_saturate(images, p->channel_blocks));
    }
    p->padded.data_plane = plan->data_plane;
    return true;
}

int64_t gops_implicit_merge(gops_implicit *p, int axes, const gops_axis *axis, int64_t lanes,
                            bool can_write_outputs)
{
    int64_t count[GOPS_MAX_SPATIAL], length, rows = 1;
    gops_implicit_box_counts(p, axes, axis, count);
    p->merged = 1;
    p->dense = true;
    p->writes_outputs = false;
    length = count[axes - 1];
    for (int a = axes - 2; a >= p->cut && p->pitch[a] == p->pitch[a + 1] * count[a + 1]; a--) {
        length *= count[a];
        p->merged++;
    }
    for (int a = 0; a < axes - p->merged; a++) {
        rows *= count[a];
    }
    if (!gops_tile_has_pixels(p->form)) {
        return rows * length;
    }
    const int64_t columns = rows * gops_ceil_div(length, lanes);
    p->writes_outputs = can_write_outputs && (length >= lanes || gops_tile_is_wide(p->form));
    if (p->merged > 1 || axes < 2 || p->in_place) {
        return columns;
    }
    /* Runs that include the gaps between rows compute some pixels too many, and their sums have to
     * be copied. Runs that stop at the end of each row leave a part of its last vector unused. */
    const int64_t through = (count[axes - 2] - 1) * p->pitch[axes - 2] + count[axes - 1];
    const int64_t columns_through = rows / count[axes - 2] * gops_ceil_div(through, lanes);
    const bool wide = gops_tile_is_wide(p->form);
    const int64_t store = wide ? WIDE_STORE_STEPS : 0;
    const int64_t copy = !p->writes_outputs ? 0 : wide ? WIDE_COPY_STEPS : 8;
    if (gops_mul_saturate(columns_through, p->depth + store + copy) <
        gops_mul_saturate(columns, p->depth + store)) {
        p->dense = p->writes_outputs = false;
        p->merged = 2;
        return columns_through;
    }
    return columns;
}

int64_t gops_implicit_column_block(const gops_plan *plan, const gops_implicit *p, int axes,
                                   const gops_axis *axis, int64_t columns, int64_t nr, int64_t most)
{
    int64_t column = p->planes * gops_tile_pixels(gops_plan_tiles(plan), p->form);
    for (int a = 0; a < axes; a++) {
        /* Rows between the taps are not read, pixels between them share their cache lines. */
        const bool rows = a < axes - 1;
        column = gops_mul_saturate(column, rows ? gops_min(axis[a].stride, axis[a].kernel)
                                                : axis[a].stride);
    }
    const int64_t cached = plan->machine.l2_bytes / 2 /
                           gops_mul_saturate(column, gops_compute_bytes(plan->type->compute));
    const int64_t largest = gops_max(1, most / nr) * nr;
    const int64_t blocks =
        gops_ceil_div(columns, p->in_place ? gops_clamp(cached, 1, largest) : largest);
    return gops_round_up(gops_ceil_div(columns, blocks), nr);
}

int64_t gops_implicit_depth_block(const gops_plan *plan, const gops_implicit *p)
{
    const int64_t bytes = p->mr * gops_compute_bytes(plan->type->compute);
    /* Sums of lanes that are complete need not go through memory. AMX takes whole blocks of planes.
     */
    const int64_t cache = plan->machine.l2_bytes / 4 / bytes / GOPS_LANES_BLOCK * GOPS_LANES_BLOCK;
    const bool from_l2 =
        gops_plan_has_lanes(plan) || (p->form == GOPS_TILE_BLOCKED && plan->conv.taps > 1);
    return gops_max(64, from_l2 ? cache : plan->machine.l1_bytes / 2 / bytes);
}

int64_t gops_implicit_workspace(const gops_plan *plan, gops_implicit *p, int64_t offsets,
                                int64_t sums)
{
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const int64_t lanes = gops_plan_tiles(plan)->lanes;
    const int64_t transpose = gops_tile_has_pixels(p->form) ? 0 : p->mr * p->column_block;
    const int64_t list = (p->column_block + GOPS_MAX_NR) * (int64_t)sizeof(int64_t);
    int64_t end = 0;
    const int64_t taps = gops_implicit_in_blocks(plan, p) ? plan->conv.taps : 0;
    gops_reserve(&end, gops_implicit_padded_values(plan, p) * bytes);
    p->offsets_begin = gops_reserve(&end, (offsets + taps) * (int64_t)sizeof(int64_t));
    p->columns_begin = gops_reserve(&end, list);
    p->sum_offsets_begin = gops_reserve(&end, list);
    p->sums_begin = gops_reserve(&end, (sums + (plan->quantized ? lanes : 0)) * bytes);
    p->transpose_begin = gops_reserve(&end, transpose * bytes);
    p->windows_begin = gops_reserve(&end, plan->quantized ? p->column_block * lanes * bytes : 0);
    const int64_t values = 2 * (p->channel_block + GOPS_EPILOGUE_CHANNELS);
    p->values_begin = gops_reserve(&end, plan->quantized ? values * bytes : 0);
    return end;
}

gops_status gops_implicit_fit(gops_plan *plan, gops_implicit_find *find, int64_t worker_limit,
                              gops_error *error)
{
    enum { MIN_BUDGET = 512 };
    if (find(plan, worker_limit)) {
        return GOPS_OK;
    }
    for (int64_t limit = worker_limit - worker_limit / 8; limit >= MIN_BUDGET; limit -= limit / 8) {
        if (find(plan, limit)) {
            return GOPS_OK;
        }
    }
    if (find(plan, GOPS_UNLIMITED)) {
        int64_t enough = MIN_BUDGET;
        while (enough <= worker_limit || !find(plan, enough)) {
            enough = gops_mul_saturate(enough, 2);
        }
        return gops_fail(error, GOPS_INVALID,
                         "max_workspace is %lld; %s needs more for one thread, %lld bytes suffice",
                         (long long)worker_limit, plan->method->name, (long long)enough);
    }
    return gops_fail(error, GOPS_UNSUPPORTED,
                     "%s does not serve C_IN %lld with %lld taps: what one output pixel reads is "
                     "more than half of the second level cache holds",
                     plan->method->name, (long long)plan->conv.channels_in,
                     (long long)plan->conv.taps);
}
