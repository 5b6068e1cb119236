/* direct_estimate.c: what a direct convolution takes by one of its tiles. */
#include "methods/direct/direct_estimate.h"

#include <assert.h>
#include <math.h>

enum {
    MAX_ENTRIES = 4096,  /* of the lists of taps: each work item makes them anew */
    MAX_PIXELS = 56,     /* of a tile's row */
    MAX_ROWS = 4,        /* of a tile */
    WIDE_REGISTERS = 32, /* of AVX-512; all tiles for 16 registers fit */
};

/* Measured on a Zen 5 with AVX-512, one core of a virtual machine, 2026. */
static const double CYCLES_PER_TAP = 15;  /* the switch, and the mispredicted end of the loop */
static const double CYCLES_PER_TILE = 60; /* the call and its arguments */
static const double CYCLES_PER_SUM = 3;   /* a vector of sums kept, or transposed and stored */
static const double CYCLES_PER_LINE = 3;  /* of data, from the second level cache */
/* From beyond a large one, by AVX-512 (Intel Xeon, Granite Rapids class). */
static const double CYCLES_PER_FAR_LINE = 6;
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
/* On Intel's servers, known by their large L2, one of the two units that multiply vectors of 64 bytes permutes them
 * too. So pixels that share a vector cost more with a stride: 56 -> 56 on 28x28 took 1.16 times as long as by other
 * tiles (Intel Xeon, Granite Rapids class); and where an edge cuts a pair. Addresses of further rows cost more too. */
static const double LARGE_L2_UNITS = 2.47, OTHER_UNITS = 3;
static const double CYCLES_PER_CUT_ROW = 2.5;
/* A step takes no less for each line that it reads where the lines of its channels evict each
 * other. So 128 -> 128 on 32x32 takes AVX2 1.9 times as long as implicit's padded copy. */
static const double CYCLES_PER_EVICTED_LINE = 7.5;
/* Steps of vectors of 64 bytes hide most of that. Without the rest 320 -> 320, 3x3 on 32x32, went by direct, and takes
 * 0.93 of its time by implicit/blocked, 256 -> 256 on 64x16 0.89 (Zen 5; not measured on an Intel Xeon, and not
 * counted there). */
static const double CONFLICT_SLOWER = 1.04;
/* The same of a line of outputs: 64 -> 64 on 32x32 took AVX-512 1.08 times as long as by implicit. */
static const double CYCLES_PER_EVICTED_OUTPUT = 6;
/* Where the lines of a single tap outgrow the first level cache before the next tile of few pixels reads them again:
 * 960 -> 160 on 7x7 took AVX2 1.53 times the estimate without it (Zen 4). */
static const double NARROW_SLOWER = 1.25;
/* Of a kernel of 1 on a single pixel, whose sums are a vector at a time. 64 -> 1536 takes 2.1 times as long, and in a
 * network, where weights come from beyond the second level cache, 4 (Intel Xeon, Granite Rapids class). */
static const double PIXEL_SLOWER = 2;

/* Cycles of one input channel of a tap that adds to `columns` vectors of pixels. Two
 * multiplications or two loads can start in a cycle; or `units` of multiplications and permutations,
 * of which pixels that share a vector need one with a stride. A multiplication waits 4 cycles for
 * the sum of the one before it. */
static double step_cycles(const gops_plan *plan, gops_direct_size size, double columns)
{
    const double units = gops_machine_has_large_l2(&plan->machine) ? LARGE_L2_UNITS : OTHER_UNITS;
    const double multiplies = size.vectors * columns / 2;
    const double loads = (size.vectors + columns) / LOADS_PER_CYCLE;
    const double permutes =
        size.per_vector > 1 && size.stride > 1 ? (size.vectors + 1) * columns / units : 0;
    return fmax(fmax(multiplies, loads), fmax(permutes, 4));
}

/* Whether planes of so many pixels evict each other's lines, `channels` at a time. */
static bool planes_conflict(const gops_plan *plan, int64_t pixels, int64_t channels)
{
    return gops_machine_planes_conflict(&plan->machine, pixels,
                                        gops_compute_bytes(plan->type->compute), channels);
}

static bool weights_beyond_l1(const gops_plan *plan, const gops_direct_layout *p,
                              const gops_direct_tile *tile)
{
    return p->depth_block * gops_direct_used_taps(&plan->conv, NULL) * tile->size.vectors *
               plan->kernels->vector_bytes >
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
        cycles += CYCLES_PER_L2_LINE * (double)step / GOPS_CACHE_LINE;
    }
    if (registers > WIDE_REGISTERS) {
        cycles += CYCLES_PER_SPILL;
    }
    const int further = gops_machine_has_large_l2(&plan->machine) ? size.rows - 1 : size.rows > 1;
    return cycles + CYCLES_PER_SECOND_ROW * further +
           (size.per_vector == 4 ? CYCLES_PER_FOUR_PIXELS : 0);
}

/* An axis cut into tiles of `size` outputs at most. Those at the ends, where an edge may cut the range of a tap,
 * differ; those in between are alike. A range lacks outputs at one end alone, so the left ones have all; if `evenly`,
 * those behind them share what is left: 48 pixels are 14, 12, 12 and 10, as of few pixels each takes longer. */
typedef struct axis_tiles {
    const gops_axis *axis;
    int64_t size, count, left, right;
    int64_t apart;   /* outputs of those behind the left ones; the last may have fewer */
    int64_t max_cut; /* outputs that a range may lack at one end */
} axis_tiles;

static int64_t begin_of(const axis_tiles *tiles, int64_t tile)
{
    return gops_direct_begin(tile, tiles->size, tiles->left, tiles->apart);
}

static axis_tiles cut_axis(const gops_axis *axis, int64_t size, int64_t max_cut, bool evenly)
{
    axis_tiles tiles = {axis, size, gops_ceil_div(axis->output, size), 0, 0, size, max_cut};
    int64_t first, last;
    while (tiles.left < tiles.count && tiles.left <= MAX_ENTRIES) {
        gops_direct_outputs_inside(axis, tiles.left * size, size, 0, &first, &last);
        if (first == 0 && last == size) {
            break;
        }
        tiles.left++;
    }
    if (evenly && tiles.left < tiles.count) {
        tiles.apart = gops_ceil_div(axis->output - tiles.left * size, tiles.count - tiles.left);
    }
    while (tiles.left + tiles.right < tiles.count && tiles.left + tiles.right <= MAX_ENTRIES) {
        const int64_t begin = begin_of(&tiles, tiles.count - tiles.right - 1);
        if (begin + tiles.apart <= axis->output) {
            gops_direct_outputs_inside(axis, begin, tiles.apart, axis->kernel - 1, &first, &last);
            if (first == 0 && last == tiles.apart) {
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
        const int64_t begin = begin_of(tiles, tile);
        const int64_t most = tile < tiles->left ? tiles->size : tiles->apart;
        const int64_t count = gops_min(most, tiles->axis->output - begin);
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

gops_direct_taps gops_direct_count_taps(const gops_plan *plan, const gops_direct_layout *p,
                                        const gops_direct_tile *tile)
{
    const gops_conv_geometry *conv = &plan->conv;
    const double more = more_cycles(plan, p, tile);
    const int64_t max_cut = gops_direct_max_cut(tile->size);
    const axis_tiles x =
        cut_axis(&conv->axis[conv->axes - 1], p->pixels, max_cut, max_cut == p->pixels - 1);
    double across[MAX_PIXELS + 1], down[MAX_ROWS + 1] = {0, 1};
    const int64_t row_bytes = tile->size.stride * gops_compute_bytes(plan->type->compute);
    /* However few pixels a step has, its weights arrive no faster. */
    const double arrive =
        weights_beyond_l1(plan, p, tile)
            ? (double)(tile->size.vectors * plan->kernels->vector_bytes) / L2_BYTES_PER_CYCLE
            : 0;
    const double line = planes_conflict(plan, plan->data_plane, p->depth_block)
                            ? CYCLES_PER_EVICTED_LINE / GOPS_CACHE_LINE
                            : 0;
    const double cut = tile->size.per_vector == 2 && gops_machine_has_large_l2(&plan->machine)
                           ? CYCLES_PER_CUT_ROW
                           : 0;
    gops_direct_taps taps = {
        .cycles = -1, .left_tiles = x.left, .right_tiles = x.right, .apart = x.apart};
    double planes = 1, cycles = 0;
    int64_t unused;
    assert(p->pixels <= MAX_PIXELS && p->rows <= MAX_ROWS);
    if (!count_ranges(&x, across, &taps.entries)) {
        return taps;
    }
    for (int a = 0; a < conv->axes - 2; a++) {
        planes *= count_pairs(&conv->axis[a]);
    }
    if (p->rows > 1) {
        const axis_tiles y = cut_axis(&conv->axis[conv->axes - 2], p->rows, p->rows - 1, false);
        if (!count_ranges(&y, down, &unused)) {
            return taps;
        }
    } else if (conv->axes > 1) {
        down[1] = count_pairs(&conv->axis[conv->axes - 2]);
    }
    for (int64_t i = 1; i <= p->rows; i++) {
        for (int64_t j = 1; j <= p->pixels; j++) {
            const double columns = (double)(i * gops_ceil_div(j, tile->size.per_vector));
            const double read = (double)(i * (GOPS_CACHE_LINE + j * row_bytes)) * line;
            const double step = fmax(fmax(step_cycles(plan, tile->size, columns), arrive), read) +
                                more + (j < p->pixels ? cut * (double)i : 0);
            cycles += down[i] * across[j] * ((double)conv->channels_in * step + CYCLES_PER_TAP);
        }
    }
    taps.cycles = cycles * planes;
    return taps;
}

double gops_direct_estimate(const gops_plan *plan, const gops_direct_layout *p, double cycles)
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
    const double stores = planes_conflict(plan, plan->output_plane, p->mr)
                              ? CYCLES_PER_EVICTED_OUTPUT * (double)(p->padded_channels * p->rows)
                              : 0;
    const double last =
        p->last_tile == p->tile ? cycles : gops_direct_count_taps(plan, p, p->last_tile).cycles;
    const double all = cycles * (double)(blocks - 1) + last +
                       calls * passes * (CYCLES_PER_TILE * (double)blocks + sum_cycles) +
                       calls * stores;
    double lines = (double)conv->channels_in * (double)x->data * (double)bytes / GOPS_CACHE_LINE;
    for (int a = 0; a < conv->axes - 1; a++) {
        const gops_axis *axis = &conv->axis[a];
        lines *= (double)gops_min(axis->data, gops_mul_saturate(axis->output, axis->kernel));
    }
    const bool far = gops_machine_has_large_l2(&plan->machine) &&
                     plan->kernels->vector_bytes >= GOPS_CACHE_LINE &&
                     gops_mul_saturate(conv->channels_in * bytes, conv->data_pixels) >
                         plan->machine.l2_bytes / 2;
    const bool conflicts = plan->kernels->vector_bytes >= GOPS_CACHE_LINE &&
                           !gops_machine_has_large_l2(&plan->machine) &&
                           planes_conflict(plan, plan->data_plane, p->depth_block);
    const double groups = (double)conv->batch * (double)conv->groups;
    const bool again =
        conv->taps == 1 && conv->output_pixels > 1 &&
        plan->kernels->vector_bytes < GOPS_CACHE_LINE &&
        p->depth_block * (p->mr * bytes + GOPS_CACHE_LINE) > plan->machine.l1_bytes * 3 / 4;
    const bool single = conv->taps == 1 && conv->output_pixels == 1;
    const double computed = (single      ? PIXEL_SLOWER
                             : again     ? NARROW_SLOWER
                             : conflicts ? CONFLICT_SLOWER
                                         : 1) *
                                all +
                            (double)blocks * lines * (far ? CYCLES_PER_FAR_LINE : CYCLES_PER_LINE);
    const int64_t depth = gops_direct_used_taps(conv, NULL) * conv->channels_in;
    const int64_t weights = gops_mul_saturate(conv->groups * depth, conv->channels_out * bytes);
    const double streamed =
        (double)depth * (double)(p->padded_channels * bytes) /
        (weights <= plan->machine.l2_bytes ? L2_BYTES_PER_CYCLE : BYTES_PER_CYCLE);
    return groups * fmax(computed, streamed) * GOPS_NS_PER_CYCLE +
           NS_PER_ITEM * (double)gops_count_items(&p->items) * (double)conv->batch;
}
