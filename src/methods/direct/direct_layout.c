/* direct_layout.c: chooses the tile; cuts blocks and work items; estimates the time. */
#include "methods/direct/direct_layout.h"

#include "base/error.h"

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
    MAX_ENTRIES = 4096,    /* of the lists of taps: each work item makes them anew */
    MAX_TAPS = 1024,       /* of an axis; making a plan looks at each */
    MAX_PIXELS = 56,       /* of a tile's row */
    MAX_ROWS = 4,          /* of a tile */
    CACHE_LINE = GOPS_DIRECT_CACHE_LINE,
    LARGE_L2 = 1 << 20,  /* choose_depth */
    WAY_BYTES = 4096,    /* addresses so far apart share a set of the first level cache */
    WIDE_REGISTERS = 32, /* of AVX-512; all tiles for 16 registers fit */
    PAGE_BYTES = 4096,
    MAX_PAGES = 64, /* that the processor's first table of pages (TLB) certainly holds */
};

/* Measured on a Zen 5 with AVX-512, one core of a virtual machine, 2026. */
static const double NS_PER_CYCLE = 0.26;
static const double CYCLES_PER_TAP = 15;  /* the switch, and the mispredicted end of the loop */
static const double CYCLES_PER_TILE = 60; /* the call and its arguments */
static const double CYCLES_PER_SUM = 3;   /* a vector of sums kept, or transposed and stored */
static const double CYCLES_PER_LINE = 3;  /* of data, from the second level cache */
static const double NS_PER_ITEM = 300;
/* Weights come no faster, from the second level cache or from beyond it; with few pixels a layer
 * takes as long as that. */
static const double L2_BYTES_PER_CYCLE = 48;
static const double BYTES_PER_CYCLE = 26;
static const double LOADS_PER_CYCLE = 1.75; /* 2 but for those that wait for a line */
/* What a step takes more where it loads weights from the second level cache, has a register too
 * few, has addresses of several rows, or loads four pixels at a time, some across two lines.
 * Without these the tile of the smallest estimate took up to 1.19 times as long as the fastest. */
static const double CYCLES_PER_L2_LINE = 0.4;
static const double CYCLES_PER_SPILL = 1; /* 0.5 on Zen 5, 2 and more on an Intel Xeon with AMX */
static const double CYCLES_PER_SECOND_ROW = 0.5;
static const double CYCLES_PER_FOUR_PIXELS = 1;
/* A step takes no less for each line that it reads where the lines of its channels evict each
 * other. So 128 -> 128 on 32x32 takes AVX2 1.9 times as long as implicit's padded copy. */
static const double CYCLES_PER_EVICTED_LINE = 7.5;
/* The same of a line of outputs: 64 -> 64 on 32x32 took AVX-512 1.08 times as long as by implicit. */
static const double CYCLES_PER_EVICTED_OUTPUT = 6;

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* Cycles of one input channel of a tap that adds to `columns` vectors of pixels. Two
 * multiplications or two loads can start in a cycle; or three of multiplications and permutations,
 * of which pixels that share a vector need one with a stride. A multiplication waits 4 cycles for
 * the sum of the one before it. */
static double step_cycles(gops_direct_size size, double columns)
{
    const double multiplies = size.vectors * columns / 2;
    const double loads = (size.vectors + columns) / LOADS_PER_CYCLE;
    const double permutes =
        size.per_vector > 1 && size.stride > 1 ? (size.vectors + 1) * columns / 3 : 0;
    return larger(larger(multiplies, loads), larger(permutes, 4));
}

/* Whether planes of so many pixels lie so that their lines share the sets of the first level cache,
 * and `channels` at a time are more than a set has lines. */
static bool planes_conflict(const gops_plan *plan, int64_t pixels, int64_t channels)
{
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    return pixels % WAY_BYTES * bytes % WAY_BYTES == 0 &&
           channels > plan->machine.l1_bytes / WAY_BYTES;
}

static bool weights_beyond_l1(const gops_plan *plan, const gops_direct_layout *p,
                              const gops_direct_tile *tile)
{
    return p->depth_block * plan->conv.taps * tile->size.vectors * plan->kernels->vector_bytes >
           plan->machine.l1_bytes / 2;
}

/* What each step of a tile takes in addition. */
static double more_cycles(const gops_plan *plan, const gops_direct_layout *p,
                          const gops_direct_tile *tile)
{
    const gops_direct_size size = tile->size;
    const int64_t step = size.vectors * plan->kernels->vector_bytes;
    const int64_t registers = size.vectors * (size.rows * size.pixels / size.per_vector + 1) + 1;
    double cycles = 0;
    if (weights_beyond_l1(plan, p, tile)) {
        cycles += CYCLES_PER_L2_LINE * (double)step / CACHE_LINE;
    }
    if (registers > WIDE_REGISTERS) {
        cycles += CYCLES_PER_SPILL;
    }
    return cycles + (size.rows > 1 ? CYCLES_PER_SECOND_ROW : 0) +
           (size.per_vector == 4 ? CYCLES_PER_FOUR_PIXELS : 0);
}

/* An axis cut into tiles of `size` outputs; the last one may have fewer. Those at the ends, where
 * an edge may cut the range of a tap, differ; those in between are alike. */
typedef struct axis_tiles {
    const gops_axis *axis;
    int64_t size, count, left, right;
    int64_t max_cut; /* outputs that a range may lack at one end */
} axis_tiles;

static axis_tiles cut_axis(const gops_axis *axis, int64_t size, int64_t max_cut)
{
    axis_tiles tiles = {axis, size, gops_ceil_div(axis->output, size), 0, 0, max_cut};
    int64_t first, last;
    while (tiles.left < tiles.count && tiles.left <= MAX_ENTRIES) {
        gops_direct_outputs_inside(axis, tiles.left * size, size, 0, &first, &last);
        if (first == 0 && last == size) {
            break;
        }
        tiles.left++;
    }
    while (tiles.left + tiles.right < tiles.count && tiles.left + tiles.right <= MAX_ENTRIES) {
        const int64_t begin = (tiles.count - tiles.right - 1) * size;
        if (begin + size <= axis->output) {
            gops_direct_outputs_inside(axis, begin, size, axis->kernel - 1, &first, &last);
            if (first == 0 && last == size) {
                break;
            }
        }
        tiles.right++;
    }
    return tiles;
}

/* Counts the pairs of a tile and a tap by the length of the range: pairs[1] to pairs[size].
 * *entries is the number of pairs without those of tiles like the one before. False where the
 * kernels do not have a range, or entries are too many. */
static bool count_ranges(const axis_tiles *tiles, double *pairs, int64_t *entries)
{
    *entries = 0;
    for (int64_t i = 0; i <= tiles->size; i++) {
        pairs[i] = 0;
    }
    if (gops_mul_saturate(tiles->left + tiles->right + 1, tiles->axis->kernel) > MAX_ENTRIES) {
        return false;
    }
    const int64_t inner = tiles->count - tiles->left - tiles->right;
    for (int64_t tile = 0, alike; tile < tiles->count; tile += alike) {
        const int64_t begin = tile * tiles->size,
                      count = gops_min(tiles->size, tiles->axis->output - begin);
        alike = tile == tiles->left && inner > 0 ? inner : 1;
        for (int64_t tap = 0; tap < tiles->axis->kernel; tap++) {
            int64_t first, last;
            gops_direct_outputs_inside(tiles->axis, begin, count, tap, &first, &last);
            if (first < last) {
                if ((first > 0 && last < tiles->size) || first > tiles->max_cut ||
                    tiles->size - last > tiles->max_cut) {
                    return false;
                }
                pairs[last - first] += (double)alike;
                ++*entries;
            }
        }
    }
    return true;
}

/* The pairs of an output and a tap of an axis that are inside the data. */
static double count_pairs(const gops_axis *axis)
{
    double pairs = 0;
    for (int64_t tap = 0; tap < axis->kernel; tap++) {
        int64_t first, last;
        gops_direct_outputs_inside(axis, 0, axis->output, tap, &first, &last);
        pairs += (double)(last - first);
    }
    return pairs;
}

/* The cycles of all pairs of tiles and taps for one block of output channels; negative where the
 * kernels do not have their ranges. Sets the layout's tiles at the ends, and its entries. */
static double tap_cycles(const gops_plan *plan, gops_direct_layout *p, const gops_direct_tile *tile)
{
    const gops_conv_geometry *conv = &plan->conv;
    const double more = more_cycles(plan, p, tile);
    const axis_tiles x =
        cut_axis(&conv->axis[conv->axes - 1], p->pixels, gops_direct_max_cut(tile->size));
    double across[MAX_PIXELS + 1], down[MAX_ROWS + 1] = {0, 1};
    const int64_t row_bytes = tile->size.stride * gops_compute_bytes(plan->type->compute);
    /* However few pixels a step has, its weights arrive no faster. */
    const double arrive =
        weights_beyond_l1(plan, p, tile)
            ? (double)(tile->size.vectors * plan->kernels->vector_bytes) / L2_BYTES_PER_CYCLE
            : 0;
    const double line = planes_conflict(plan, conv->data_pixels, p->depth_block)
                            ? CYCLES_PER_EVICTED_LINE / GOPS_DIRECT_CACHE_LINE
                            : 0;
    double planes = 1, cycles = 0;
    int64_t entries;
    assert(p->pixels <= MAX_PIXELS && p->rows <= MAX_ROWS);
    p->left_tiles = x.left;
    p->right_tiles = x.right;
    if (!count_ranges(&x, across, &p->tap_entries)) {
        return -1;
    }
    for (int a = 0; a < conv->axes - 2; a++) {
        planes *= count_pairs(&conv->axis[a]);
    }
    if (p->rows > 1) {
        const axis_tiles y = cut_axis(&conv->axis[conv->axes - 2], p->rows, p->rows - 1);
        if (!count_ranges(&y, down, &entries)) {
            return -1;
        }
    } else if (conv->axes > 1) {
        down[1] = count_pairs(&conv->axis[conv->axes - 2]);
    }
    for (int64_t i = 1; i <= p->rows; i++) {
        for (int64_t j = 1; j <= p->pixels; j++) {
            const double columns = (double)(i * gops_ceil_div(j, tile->size.per_vector));
            const double read = (double)(i * (GOPS_DIRECT_CACHE_LINE + j * row_bytes)) * line;
            const double step =
                larger(larger(step_cycles(tile->size, columns), arrive), read) + more;
            cycles += down[i] * across[j] * ((double)conv->channels_in * step + CYCLES_PER_TAP);
        }
    }
    return cycles * planes;
}

/* Work items: images and groups; then tile rows, or, where the weights are more than the data or
 * there are few tile rows (one, with one axis), blocks of output channels. */
static void divide_into_items(const gops_plan *plan, gops_direct_layout *p)
{
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t min_items = gops_clamp(conv->flops / 2 / SMALL_ITEM, 1, MIN_ITEMS);
    const int64_t groups = gops_mul_saturate(conv->batch, conv->groups);
    const int64_t blocks = gops_ceil_div(conv->channels_out, p->mr);
    p->item_groups = gops_clamp(groups / min_items, 1, conv->groups);
    p->item_blocks = blocks;
    p->item_tile_rows = p->tile_rows;
    const int64_t wanted = gops_ceil_div(min_items, groups);
    if (gops_mul_saturate(conv->k, conv->channels_out) >
            gops_mul_saturate(conv->data_pixels, conv->channels_in) ||
        p->tile_rows <= gops_min(wanted, blocks) / 2) {
        p->item_blocks = gops_ceil_div(blocks, gops_min(wanted, blocks));
    } else {
        p->item_tile_rows = gops_ceil_div(p->tile_rows, gops_min(wanted, p->tile_rows));
    }
    p->block_items = gops_ceil_div(blocks, p->item_blocks);
    p->row_items = gops_ceil_div(p->tile_rows, p->item_tile_rows);
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

/* Whether a plane fills a page. A plan for other data and the same packed filter takes what the filter
 * was packed for, as blocks are as deep as that says. */
static bool fills_pages(const gops_plan *plan)
{
    return plan->wanted_variant != 0
               ? plan->wanted_variant % 2 != 0
               : plan->conv.data_pixels * gops_compute_bytes(plan->type->compute) >= PAGE_BYTES;
}

/* Input channels at a time: their weights stay in an eighth of the second level cache. 512 -> 512
 * on 7x7 took 0.96 ms with 24 KB of weights, 0.88 with 96, 0.84 with 192 and 384 (Zen 5). The larger
 * caches of Intel's servers answer later: there the weights are as large as the first level, and
 * the taps of a row find its data still there. 512 -> 512 on 7x7 took 1.42 ms with 256 KB, 1.22 with
 * 48; 128 -> 128 on 112x112 27.2 and 24.7 (Xeon with AMX, 2 MB). Planes that fill pages are no more
 * than a tap can go through without the walk to another table. */
static int64_t choose_depth(const gops_plan *plan, const gops_direct_layout *p)
{
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const int64_t channel = gops_mul_saturate(conv->taps, p->mr * p->tile->size.per_vector * bytes);
    const int64_t l2_bytes = plan->machine.l2_bytes;
    const int64_t weights = l2_bytes > LARGE_L2 ? plan->machine.l1_bytes : l2_bytes / 8;
    const int64_t planes = fills_pages(plan) ? MAX_PAGES : conv->channels_in;
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
    return gops_clamp(gops_max(kept, SUMS_BYTES) / row_bytes, 1, p->item_tile_rows);
}

/* The plan's time; `cycles` are the tap_cycles of a block. */
static double estimate(const gops_plan *plan, gops_direct_layout *p, double cycles)
{
    const gops_conv_geometry *conv = &plan->conv;
    const gops_axis *x = &conv->axis[conv->axes - 1];
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const gops_direct_kernels *kernels = plan->kernels->direct[plan->type->compute];
    const int64_t blocks = gops_ceil_div(conv->channels_out, p->mr);
    const double passes = (double)gops_ceil_div(conv->channels_in, p->depth_block);
    const double calls = (double)p->tile_rows * (double)p->row_tiles;
    const double sum_cycles = CYCLES_PER_SUM * (double)(p->padded_channels * p->rows * p->pixels) /
                              (double)kernels->lanes;
    const double stores = planes_conflict(plan, conv->output_pixels, p->mr)
                              ? CYCLES_PER_EVICTED_OUTPUT * (double)(p->padded_channels * p->rows)
                              : 0;
    const double all = cycles * (double)(blocks - 1) + tap_cycles(plan, p, p->last_tile) +
                       calls * passes * (CYCLES_PER_TILE * (double)blocks + sum_cycles) +
                       calls * stores;
    double lines = (double)conv->channels_in * (double)x->data * (double)bytes / CACHE_LINE;
    for (int a = 0; a < conv->axes - 1; a++) {
        const gops_axis *axis = &conv->axis[a];
        lines *= (double)gops_min(axis->data, gops_mul_saturate(axis->output, axis->kernel));
    }
    const double groups = (double)conv->batch * (double)conv->groups;
    const double computed = all + (double)blocks * lines * CYCLES_PER_LINE;
    const int64_t weights = gops_mul_saturate(conv->groups * conv->k, conv->channels_out * bytes);
    const double streamed =
        (double)conv->k * (double)(p->padded_channels * bytes) /
        (weights <= plan->machine.l2_bytes ? L2_BYTES_PER_CYCLE : BYTES_PER_CYCLE);
    return groups * larger(computed, streamed) * NS_PER_CYCLE + NS_PER_ITEM * (double)p->row_items *
                                                                    (double)p->block_items *
                                                                    groups / (double)p->item_groups;
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
    const double cycles = p->rows > 1 && p->plane_rows == 1 ? -1 : tap_cycles(plan, p, tile);
    if (cycles < 0) {
        return false;
    }
    divide_into_items(plan, p);
    p->block_tile_rows = choose_tile_rows(plan, p, worker_limit);
    const int64_t l2_values = plan->machine.l2_bytes / 2 / bytes;
    p->data_beyond_l2 = gops_mul_saturate(conv->channels_in, conv->data_pixels) > l2_values;
    /* One prefetch for each row of outputs reaches all of its lines only if it fits one. */
    p->prefetches_outputs =
        gops_mul_saturate(conv->channels_out, conv->output_pixels) > l2_values &&
        p->pixels * bytes <= CACHE_LINE;
    lay_out_workspace(plan, p);
    p->cost = estimate(plan, p, cycles);
    return true;
}

gops_status gops_direct_prepare(gops_plan *plan, int64_t worker_limit, gops_error *error)
{
    const gops_conv_geometry *conv = &plan->conv;
    const gops_direct_kernels *kernels = plan->kernels->direct[plan->type->compute];
    const int64_t stride = conv->axis[conv->axes - 1].stride;
    gops_direct_layout *own = gops_parameters(plan);
    bool found = false, too_large = false;
    if (kernels == NULL || !plan->type->native || plan->output_type != plan->type) {
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
    for (const gops_direct_tile *tile = kernels->tiles; tile->size.vectors != 0; tile++) {
        gops_direct_layout p;
        if (tile->size.stride != stride ||
            (tile->size.vectors - 1) * kernels->lanes >=
                conv->channels_out * tile->size.per_vector ||
            !lay_out_tile(plan, tile, worker_limit, &p)) {
            continue;
        }
        /* Packed weights do not depend on the rows of a tile, and how deep their blocks are follows
         * from what is in the variant. */
        const int64_t variant =
            ((tile->size.vectors * 8 + p.last_tile->size.vectors) * 8 + tile->size.per_vector) * 2 +
            fills_pages(plan);
        if (p.worker_bytes > worker_limit) {
            too_large = true;
        } else if ((!found || p.cost < own->cost) &&
                   (plan->wanted_variant == 0 || plan->wanted_variant == variant)) {
            *own = p;
            found = true;
            plan->filter_variant = variant;
        }
    }
    if (!found && too_large) {
        return gops_fail(error, GOPS_INVALID,
                         "max_workspace is %lld; direct needs more for one thread",
                         (long long)worker_limit);
    }
    if (!found) {
        return gops_fail(error, GOPS_UNSUPPORTED,
                         "direct does not serve rows of %lld outputs with stride %lld "
                         "over %lld padded values",
                         (long long)conv->axis[conv->axes - 1].output, (long long)stride,
                         (long long)conv->axis[conv->axes - 1].pad_begin);
    }
    plan->cost = own->cost;
    plan->worker_bytes = own->worker_bytes;
    plan->items = conv->batch * gops_ceil_div(conv->groups, own->item_groups) * own->block_items *
                  own->row_items;
    plan->filter_bytes = conv->groups * gops_direct_weight_bytes(plan, own->padded_channels);
    char shared[40] = "";
    if (own->tile->size.per_vector > 1) {
        snprintf(shared, sizeof shared, ", %d pixels share a vector", own->tile->size.per_vector);
    }
    snprintf(plan->why, sizeof plan->why,
             "the input where it lies, without taps on padding: tiles of %lldx%lld pixels by %lld "
             "channels%s, C_IN %lld in blocks of %lld, estimated %.3f ms",
             (long long)own->rows, (long long)own->pixels, (long long)own->mr, shared,
             (long long)conv->channels_in, (long long)own->depth_block, plan->cost / 1e6);
    return GOPS_OK;
}
