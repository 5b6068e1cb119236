/* direct_layout.c: chooses the tile; cuts blocks and work items. */
#include "methods/direct/direct_layout.h"

#include "base/error.h"
#include "methods/direct/direct_estimate.h"

#include <assert.h>
#include <stdio.h>

static_assert(sizeof(gops_direct_layout) <= GOPS_PARAMETER_BYTES, "parameters outgrow the room");

enum {
    /* A large layer is cut into at least MIN_ITEMS work items, so that all threads find work, but
     * not into items of fewer than SMALL_ITEM multiplications. */
    MIN_ITEMS = 16,
    SMALL_ITEM = 200000,
    SUMS_BYTES = 32 << 10, /* of the tile rows that are computed at a time, at least */
    MIN_DEPTH = 8,         /* a loop this short pays for its beginning and end */
    MAX_TAPS = 1024,       /* of an axis; making a plan looks at each */
    /* What the processor's first table of pages (TLB) certainly holds: of data, beside weights and outputs,
     * where it has 64 entries, as processors without AVX-512 have. 64 -> 64 on 56x56 took AVX2 3.50 ms with
     * 64, 2.57 with 32 (Zen 3). */
    MAX_PAGES = 64,
    MAX_NARROW_PAGES = 32,
};

/* In how many parts the tile rows are cut where blocks of output channels are. Threads share a few blocks of an odd
 * number unevenly, and one not at all. Each part reads the weights again, and with few pixels its products take no
 * longer than that: with two threads 128 -> 32 on 14x14 takes 0.041 ms in place of 0.076 (Intel Xeon, Granite Rapids
 * class), on 7x7 it would lose. */
static int64_t row_parts(const gops_plan *plan, const gops_direct_layout *p, int64_t blocks)
{
    enum { FEW_BLOCKS = 8, PART_PIXELS = 64 };
    const int64_t most = gops_min(plan->conv.output_pixels / PART_PIXELS, p->tile_rows);
    if (blocks > FEW_BLOCKS || blocks % 2 == 0 || most < 2) {
        return 1;
    }
    return blocks == 1 && most >= 4 && p->tile_rows % 4 == 0 ? 4 : 2;
}

/* At least `least` work items, but small ones: images and groups; then tile rows, or, where the weights are more than
 * the data or there are few tile rows (one, with one axis), blocks of output channels. */
static void divide_into_items(const gops_plan *plan, gops_direct_layout *p, int64_t least)
{
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t items = gops_clamp(conv->flops / 2 / SMALL_ITEM, 1, least);
    /* An even number, as that of threads mostly is. */
    const int64_t min_items = items > 1 ? gops_round_up(items, 2) : 1;
    const int64_t groups = gops_mul_saturate(conv->batch, conv->groups);
    const int64_t blocks = gops_ceil_div(conv->channels_out, p->mr);
    p->items.groups = gops_ceil_div(conv->groups, gops_clamp(groups / min_items, 1, conv->groups));
    p->items.blocks = p->items.panels = 1;
    const int64_t wanted = gops_ceil_div(min_items, groups);
    const int64_t more = least > MIN_ITEMS ? wanted : 0; /* by cutting both */
    if (gops_mul_saturate(conv->k, conv->channels_out) >
            gops_mul_saturate(conv->data_pixels, conv->channels_in) ||
        p->tile_rows <= gops_min(wanted, blocks) / 2) {
        p->items.blocks = gops_min(wanted, blocks);
        p->items.panels = gops_min(row_parts(plan, p, blocks), wanted);
        p->items.panels = gops_clamp(more / p->items.blocks, p->items.panels, p->tile_rows);
    } else {
        p->items.panels = gops_min(wanted, p->tile_rows);
        p->items.blocks = gops_clamp(more / p->items.panels, 1, blocks);
    }
}

static void lay_out_workspace(const gops_plan *plan, gops_direct_layout *p)
{
    const int64_t tap = sizeof(gops_direct_tap);
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const gops_axis *x = &plan->conv.axis[plan->conv.axes - 1];
    const int64_t rows = p->block_tile_rows * p->rows;
    p->worker_bytes = 0;
    gops_reserve(&p->worker_bytes, gops_mul_saturate(p->tap_entries, tap));
    p->ends_from = gops_reserve(&p->worker_bytes,
                                (p->left_tiles + p->right_tiles + 1) * (int64_t)sizeof(int64_t));
    p->rows_from =
        gops_reserve(&p->worker_bytes, gops_mul_saturate(plan->conv.taps / x->kernel, tap));
    p->sums_from = gops_reserve(&p->worker_bytes, rows * p->row_tiles * p->pixels * p->mr * bytes);
    p->outputs_from = gops_reserve(&p->worker_bytes, rows * x->output * p->mr * bytes);
}

/* The tile for the last `left` channels of a group (0: none): like `tile`, with no more vectors
 * than these channels need. */
static const gops_direct_tile *find_last_tile(const gops_direct_kernels *kernels,
                                              const gops_direct_tile *tile, int64_t left)
{
    const gops_direct_tile *last = tile;
    for (const gops_direct_tile *other = kernels->tiles; left > 0 && other->size.vectors != 0;
         other++) {
        if (other->size.vectors < last->size.vectors && other->size.rows == tile->size.rows &&
            other->size.pixels == tile->size.pixels && other->size.stride == tile->size.stride &&
            other->size.per_vector == tile->size.per_vector &&
            other->size.vectors * kernels->lanes >= left * tile->size.per_vector) {
            last = other;
        }
    }
    return last;
}

/* The variant of a packed filter encodes what the depth of blocks depends on: the tile, how many taps are read, as a
 * digit of this radix, and whether a plane fills a page. A plan for other data takes what the filter was packed for. */
enum { USED_TAPS_RADIX = MAX_TAPS * MAX_TAPS * MAX_TAPS + 1 };

static int64_t used_taps(const gops_plan *plan)
{
    return plan->wanted_variant != 0
               ? plan->wanted_variant / 2 % USED_TAPS_RADIX
               : gops_min(gops_direct_used_taps(&plan->conv, NULL), USED_TAPS_RADIX - 1);
}

static bool fills_pages(const gops_plan *plan)
{
    return plan->wanted_variant != 0
               ? plan->wanted_variant % 2 != 0
               : plan->data_plane * gops_compute_bytes(plan->type->compute) >= GOPS_PAGE_BYTES;
}

/* Input channels at a time: their weights stay in an eighth of the second level cache. The larger
 * caches of Intel's servers answer later: there the weights are as large as the first level, and
 * the taps of a row find its data still there. 512 -> 512 on 7x7 took 1.42 ms with 256 KB, 1.22 with
 * 48 (Xeon with AMX, 2 MB). Planes that fill pages are no more than a tap can go through without the walk
 * to another table. */
static int64_t choose_depth(const gops_plan *plan, const gops_direct_layout *p)
{
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const int64_t channel =
        gops_mul_saturate(used_taps(plan), p->mr * p->tile->size.per_vector * bytes);
    const int64_t weights = gops_machine_has_large_l2(&plan->machine) ? plan->machine.l1_bytes
                                                                      : plan->machine.l2_bytes / 8;
    const bool narrow = plan->kernels->vector_bytes < GOPS_CACHE_LINE;
    const int64_t pages = narrow ? MAX_NARROW_PAGES : MAX_PAGES;
    const int64_t planes = fills_pages(plan) ? pages : conv->channels_in;
    const int64_t max = gops_clamp(gops_min(planes, weights / channel),
                                   gops_min(MIN_DEPTH, conv->channels_in), conv->channels_in);
    return gops_ceil_div(conv->channels_in, gops_ceil_div(conv->channels_in, max));
}

/* Tile rows at a time: the weights of each block are read once for them. Where sums are kept
 * between blocks of input channels, 128 KB of them took 0.96 to 0.98 of the time of 32 KB for 640
 * -> 640 on 32x32 (Zen 5). */
static int64_t choose_tile_rows(const gops_plan *plan, const gops_direct_layout *p,
                                int64_t worker_limit)
{
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const int64_t row_bytes = gops_mul_saturate(p->row_tiles * p->pixels, p->rows * p->mr * bytes);
    const int64_t kept = p->depth_block < plan->conv.channels_in
                             ? gops_min(plan->machine.l2_bytes, worker_limit / 2) / 8
                             : 0;
    return gops_clamp(gops_max(kept, SUMS_BYTES) / row_bytes, 1,
                      gops_ceil_div(p->tile_rows, p->items.panels));
}

/* Lays out the plan for one tile; false where it does not serve. */
static bool lay_out_tile(const gops_plan *plan, const gops_direct_tile *tile, int64_t worker_limit,
                         gops_direct_layout *p)
{
    const gops_conv_geometry *conv = &plan->conv;
    const gops_axis *x = &conv->axis[conv->axes - 1];
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const gops_direct_kernels *kernels = plan->kernels->direct[plan->type->compute];
    const int64_t vector_channels = kernels->lanes / tile->size.per_vector;
    *p = (gops_direct_layout){
        .tile = tile,
        .mr = tile->size.vectors * vector_channels,
        .rows = tile->size.rows,
        .pixels = tile->size.pixels,
    };
    p->last_tile = find_last_tile(kernels, tile, conv->channels_out % p->mr);
    p->padded_channels = gops_round_up(conv->channels_out, p->mr) - p->mr +
                         p->last_tile->size.vectors * vector_channels;
    p->plane_rows = conv->axes > 1 ? conv->axis[conv->axes - 2].output : 1;
    p->plane_tile_rows = gops_ceil_div(p->plane_rows, p->rows);
    p->tile_rows = conv->output_pixels / x->output / p->plane_rows * p->plane_tile_rows;
    p->row_tiles = gops_ceil_div(x->output, p->pixels);
    p->depth_block = choose_depth(plan, p);
    if (p->rows > 1 && p->plane_rows == 1) {
        return false;
    }
    const gops_direct_taps taps = gops_direct_count_taps(plan, p, tile);
    if (taps.cycles < 0) {
        return false;
    }
    p->left_tiles = taps.left_tiles;
    p->right_tiles = taps.right_tiles;
    p->apart = taps.apart;
    p->tap_entries = taps.entries;
    divide_into_items(plan, p, MIN_ITEMS);
    p->block_tile_rows = choose_tile_rows(plan, p, worker_limit);
    const int64_t l2_values = plan->machine.l2_bytes / 2 / bytes;
    p->data_beyond_l2 = gops_mul_saturate(conv->channels_in, conv->data_pixels) > l2_values;
    /* One prefetch for each row of outputs reaches all of its lines only if it fits one. */
    p->prefetches_outputs =
        gops_mul_saturate(conv->channels_out, conv->output_pixels) > l2_values &&
        p->pixels * bytes <= GOPS_CACHE_LINE;
    lay_out_workspace(plan, p);
    p->cost = gops_direct_estimate(plan, p, taps.cycles);
    return true;
}

/* What packing depends on: not the rows of a tile. How deep blocks of input channels are follows from it. */
static int64_t filter_variant(const gops_plan *plan, const gops_direct_layout *p)
{
    const gops_direct_size of = p->tile->size;
    const int64_t tiles = (of.vectors * 8 + p->last_tile->size.vectors) * 8 + of.per_vector;
    return (tiles * USED_TAPS_RADIX + used_taps(plan)) * 2 + fills_pages(plan);
}

/* Lays out the tile that costs least; false where there is none. Of the tiles that serve, but take more than
 * worker_limit, *needed is the least workspace. */
static bool choose_tile(gops_plan *plan, int64_t worker_limit, int64_t *needed)
{
    const gops_conv_geometry *conv = &plan->conv;
    const gops_direct_kernels *kernels = plan->kernels->direct[plan->type->compute];
    gops_direct_layout *best = gops_parameters(plan);
    bool found = false;
    *needed = INT64_MAX;
    for (const gops_direct_tile *tile = kernels->tiles; tile->size.vectors != 0; tile++) {
        const gops_direct_size of = tile->size;
        gops_direct_layout p;
        if (of.stride != conv->axis[conv->axes - 1].stride ||
            (of.vectors - 1) * kernels->lanes >= conv->channels_out * of.per_vector ||
            !lay_out_tile(plan, tile, worker_limit, &p)) {
            continue;
        }
        const int64_t variant = filter_variant(plan, &p);
        if (p.worker_bytes > worker_limit) {
            *needed = gops_min(*needed, p.worker_bytes);
        } else if ((!found || p.cost < best->cost) &&
                   (plan->wanted_variant == 0 || plan->wanted_variant == variant)) {
            *best = p;
            found = true;
            plan->filter_variant = variant;
        }
    }
    return found;
}

static void explain(gops_plan *plan, const gops_direct_layout *p)
{
    char shared[40] = "";
    if (p->tile->size.per_vector > 1) {
        snprintf(shared, sizeof shared, ", %d pixels share a vector", p->tile->size.per_vector);
    }
    snprintf(plan->why, sizeof plan->why,
             "the input where it lies, without taps on padding: tiles of %lldx%lld pixels by %lld "
             "channels%s, C_IN %lld in blocks of %lld",
             (long long)p->rows, (long long)p->pixels, (long long)p->mr, shared,
             (long long)plan->conv.channels_in, (long long)p->depth_block);
}

/* Divides the work anew for many threads, or for one. One needs one item, unless items are blocks whose weights stay in
 * the caches for all tile rows: lists of taps are made for each, and more tile rows at a time read weights less often.
 * Layers of 16 and 24 channels take 0.95 to 0.99 of the time on 7x7 to 28x28 (Zen 5). Not where the workspace would be
 * beyond the limit. */
static void divide_for_threads(const gops_plan *plan, int64_t worker_limit,
                               gops_direct_layout *chosen)
{
    const int64_t wanted = gops_items_for_threads(plan);
    gops_direct_layout p = *chosen;
    if (plan->workers == 1 && p.items.blocks == 1) {
        p.items.groups = p.items.panels = 1;
    } else if (wanted > MIN_ITEMS) {
        divide_into_items(plan, &p, wanted);
    }
    p.block_tile_rows = choose_tile_rows(plan, &p, worker_limit);
    lay_out_workspace(plan, &p);
    if (p.worker_bytes <= worker_limit) {
        *chosen = p;
    }
}

gops_status gops_direct_prepare(gops_plan *plan, int64_t worker_limit, gops_error *error)
{
    const gops_conv_geometry *conv = &plan->conv;
    const gops_axis *last = &conv->axis[conv->axes - 1];
    int64_t needed;
    if (plan->kernels->direct[plan->type->compute] == NULL || !plan->type->native) {
        return gops_fail(error, GOPS_UNSUPPORTED, "direct serves f32 and f64, not %s",
                         plan->type->name);
    }
    for (int a = 0; a < conv->axes; a++) {
        if (conv->axis[a].kernel > MAX_TAPS) {
            return gops_fail(error, GOPS_UNSUPPORTED,
                             "direct serves up to %d taps of an axis; axis %d has %lld", MAX_TAPS,
                             a, (long long)conv->axis[a].kernel);
        }
    }
    if (!choose_tile(plan, worker_limit, &needed)) {
        if (needed < INT64_MAX) {
            return gops_fail(
                error, GOPS_INVALID,
                "max_workspace is %lld; direct needs at least %lld bytes for one thread",
                (long long)worker_limit, (long long)needed);
        }
        return gops_fail(error, GOPS_UNSUPPORTED,
                         "direct does not serve rows of %lld outputs with stride %lld "
                         "over %lld padded values",
                         (long long)last->output, (long long)last->stride,
                         (long long)last->pad_begin);
    }
    gops_direct_layout *p = gops_parameters(plan);
    divide_for_threads(plan, worker_limit, p);
    plan->cost = p->cost;
    plan->worker_bytes = p->worker_bytes;
    plan->items = conv->batch * gops_count_items(&p->items);
    plan->filter_bytes = conv->groups * gops_direct_weight_bytes(plan, p->padded_channels);
    explain(plan, p);
    return GOPS_OK;
}
