/* implicit_conv_estimate.c: what a convolution by implicit GEMM costs: its products (implicit_estimate.c), copies and
 * stores, and what caches make of them. */
#include "methods/implicit/implicit_estimate.h"

#include "base/checked.h"

enum { EVEN_GRANULES = 7 }; /* boxes of as many differ little */

/* 256 -> 512, 1x1 with stride 2 on 32x32, took AVX2 1.4 times what was estimated without it, and 512 -> 128 on
 * 64x64 AVX-512 (Zen 5). */
static const double CONFLICT_SLOWER = 1.3;
/* 512 -> 1024, 1x1 with stride 2 on 28x28, took AVX2 1.6 times as long as pointwise, which gathers the pixels
 * and was estimated longer (Intel Xeon, Granite Rapids class). */
static const double SKIPPING_SLOWER = 1.3;
/* Vectors shorter than a cache line have tiles of few pixels, which take each line of a channel more than twice,
 * from the second level cache where the first one does not hold the data of a block and its weights: 2048 -> 512
 * on 7x7 took AVX2 1.38 times what was estimated without it, 512 -> 512 on 14x14 1.24 (Zen 4). */
static const double NARROW_IN_PLACE_SLOWER = 1.2;
/* Sums that are copied to an output that the second level cache does not hold: 3 -> 32, 3x3 with stride 2 on
 * 299x299, took AVX-512 1.17 times as long as by direct, and was estimated at 0.86. */
static const double BEYOND_L2_SLOWER = 2.5;

/* Of the output of a quantized plan with a single tap, by two boxes, which two threads may write: 512 -> 1024
 * with stride 2 on 28x28, in 7 boxes, lost 60 of 226 microseconds by it. Tiles of AMX write theirs in less time:
 * 384 -> 96 on 14x14, in two boxes, lost 1.5 of 10.9 with one thread (Intel Xeon, Granite Rapids). */
static const double NS_PER_SHARED_LINE = 6, NS_PER_SHARED_LINE_WIDE = 15;
/* Of blocked inputs with few columns for weights that come from beyond a large second level cache: 1280 -> 1280,
 * 3x3 on 16x16, took AVX-512 1.14 times as long as by direct, and was estimated at 0.98 (Intel Xeon, Granite Rapids
 * class). Elsewhere they come sooner. */
static const double FEW_COLUMNS_SLOWER = 1.1;
/* Of blocked inputs for a single tap that the first level cache does not hold, where the second one is large
 * (implicit_estimate.c): 576 -> 96 on 14x14 took AVX2 0.235 ms, and pointwise 0.216, which was estimated at 1.05 of
 * it (Intel Xeon, Granite Rapids class). */
static const double BLOCKED_FROM_L2_SLOWER = 1.06;

/* Whether the input is read where it lies, and its planes lie so that their lines share the sets of the
 * first level cache, which has fewer of them than there are channels. */
static bool planes_conflict(const gops_plan *plan, const gops_implicit *p)
{
    return p->in_place &&
           gops_machine_planes_conflict(&plan->machine, plan->data_plane,
                                        gops_compute_bytes(plan->type->compute), p->planes);
}

/* Whether each tile of channels takes single pixels, and skips others, of data that is large beside the
 * second level cache. */
static bool skips_pixels(const gops_plan *plan, const gops_implicit *p)
{
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    return p->in_place && conv->taps == 1 && conv->axis[conv->axes - 1].stride > 1 &&
           gops_mul_saturate(p->planes * bytes, conv->data_pixels) > plan->machine.l2_bytes / 2;
}

/* Whether tiles of few pixels, for a single tap, read lines again that the first level cache has lost. */
static bool reads_lines_again(const gops_plan *plan, const gops_implicit *p)
{
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    return p->in_place && p->form == GOPS_TILE_CHANNELS && conv->taps == 1 && !plan->quantized &&
           conv->output_pixels == conv->data_pixels &&
           plan->kernels->vector_bytes < GOPS_CACHE_LINE &&
           p->depth_block * (p->mr + p->column_block) * bytes > plan->machine.l1_bytes;
}

/* Whether tiles of blocked inputs for a single tap without strides read all of a block of columns from a large second
 * level cache. */
static bool streams_columns(const gops_plan *plan, const gops_implicit *p, int64_t columns)
{
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const int64_t block = gops_min(columns, p->column_block);
    return p->form == GOPS_TILE_BLOCKED && !plan->quantized && conv->taps == 1 &&
           conv->output_pixels == conv->data_pixels && gops_machine_has_large_l2(&plan->machine) &&
           p->depth * (p->mr + block) * bytes > plan->machine.l1_bytes;
}

bool gops_implicit_weights_beyond_l2(const gops_plan *plan, const gops_implicit *p)
{
    const int64_t row = plan->conv.channels_out * gops_compute_bytes(plan->type->compute);
    return gops_mul_saturate(row, p->depth) > plan->machine.l2_bytes / 2;
}

/* Cache lines of the output by two boxes each, which meet in every channel and, where these take several lines, at the
 * end of each; none where that is between lines of an output that begins with a line. */
static int64_t shared_lines(const gops_plan *plan, const gops_implicit *p)
{
    const int64_t line = GOPS_CACHE_LINE / plan->output_type->bytes;
    const int64_t pixels = plan->conv.output_pixels;
    const int64_t within = p->flat && p->cut_pixels % line == 0 ? 0 : p->boxes - 1;
    const int64_t ends = p->flat && p->boxes > 1 && pixels > line && pixels % line != 0;
    return plan->conv.channels_out * (within + ends);
}

/* Boxes of as many pixels as the largest. Of few granules the last counts whole, as two threads wait for another.
 * 144 -> 32 on 28x28, in boxes of 448 and 336 pixels, was estimated at 1.05 of single pixels so, and took AVX512-VNNI
 * 0.91 (Intel Xeon, Granite Rapids class). By AVX2 384 -> 96 on 14x14 lost by it with two threads. */
static double counted_boxes(const gops_plan *plan, const gops_implicit *p)
{
    const bool part = p->flat && p->form == GOPS_TILE_PIXELS && p->boxes > 1 &&
                      plan->kernels->vector_bytes >= GOPS_CACHE_LINE &&
                      p->cut_pixels / p->granule >= EVEN_GRANULES;
    return part ? (double)plan->conv.output_pixels / (double)p->cut_pixels : (double)p->boxes;
}

double gops_implicit_conv_cost(const gops_plan *plan, const gops_implicit *p, int64_t columns)
{
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t images = gops_mul_saturate(conv->batch, conv->groups);
    const double outputs = (double)conv->channels_out * (double)conv->output_pixels;
    const double rows =
        gops_tile_has_pixels(p->form) ? outputs / (double)conv->axis[conv->axes - 1].output : 0;
    const bool blocked = p->form == GOPS_TILE_BLOCKED && !plan->quantized;
    const bool few = blocked && columns < GOPS_IMPLICIT_COLUMNS_BEYOND_L2 / 2 &&
                     gops_implicit_weights_beyond_l2(plan, p) &&
                     gops_machine_has_large_l2(&plan->machine);
    /* Others were fitted with whole tiles for all channels. */
    const int64_t channels =
        blocked ? gops_min(p->channel_block, conv->channels_out) : p->channel_block;
    const double slower = (planes_conflict(plan, p) ? CONFLICT_SLOWER : 1) *
                          (skips_pixels(plan, p) ? SKIPPING_SLOWER : 1) *
                          (reads_lines_again(plan, p) ? NARROW_IN_PLACE_SLOWER : 1) *
                          (few ? FEW_COLUMNS_SLOWER : 1) *
                          (streams_columns(plan, p, columns) ? BLOCKED_FROM_L2_SLOWER : 1);
    const double item = slower * gops_implicit_product_cost(plan, p, channels, columns, p->depth) +
                        gops_implicit_copy_cost((double)p->depth, 0);
    const double boxes = counted_boxes(plan, p);
    /* Each worker copies a box once. Others than those of a single tap were fitted when each item did. */
    const double copies = boxes * (double)(blocked && conv->taps == 1 ? 1 : p->channel_blocks);
    const double input = gops_implicit_input_cost(plan, p) * copies;
    const bool beyond_l2 =
        outputs * (double)gops_compute_bytes(plan->type->compute) > (double)plan->machine.l2_bytes;
    const double copied = plan->quantized ? 0 : outputs * (beyond_l2 ? BEYOND_L2_SLOWER : 1);
    const double store = p->writes_outputs ? 0 : gops_implicit_copy_cost(copied, rows);
    const double line = gops_tile_is_wide(p->form) ? NS_PER_SHARED_LINE_WIDE : NS_PER_SHARED_LINE;
    const double shared =
        plan->quantized && conv->taps == 1 ? (double)shared_lines(plan, p) * line : 0;
    return (double)images * (item * boxes * (double)p->channel_blocks + input + store + shared);
}
