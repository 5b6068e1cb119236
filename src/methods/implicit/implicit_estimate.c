/* implicit_estimate.c: a model of the time that implicit products take. */
#include "methods/implicit/implicit_estimate.h"

/* Measured with AVX-512 on one core of a Zen 5: what its units do in a cycle, and further costs. */
static const double MULTIPLIES_PER_CYCLE = 2, LOADS_PER_CYCLE = 2;
static const double NS_PER_ITEM = 400;    /* tables, boxes, the beginning of the copy */
static const double NS_PER_CHANNEL = 100; /* of a group of one channel with one tap, in place */
static const double CYCLES_PER_TILE = 30; /* the call, zeroing, the end of the loop */
static const double CYCLES_PER_SUM = 2;   /* storing a vector, and converting it later */
static const double NS_PER_COPIED_VALUE = 0.04, NS_PER_RUN = 4;
/* Of a blocked input of floats. */
static const double NS_PER_BLOCKED_VALUE = 0.1, NS_PER_BLOCKED_RUN = 20;
/* What these take more for a single tap, which multiplies a value so few times that it is felt: where the
 * second level cache does not hold the data, where these are skipped, and for each vector of sums that is
 * transposed, also where planes are few: 4 -> 320, 3x3 on 64x64, took 1.22 times as long as not blocked. Measured
 * by AVX2 on a Zen 3. */
static const double NS_PER_FAR_VALUE = 0.4, NS_PER_GATHERED_VALUE = 0.5, CYCLES_PER_TRANSPOSED = 5;
/* Of shorter vectors: a tile with one vector of channels, which has a load for each multiplication: 1x12 took 8.5 to
 * 9.1 cycles for a step, 6.5 are counted; and a row whose residues of a stride are copied apart (Zen 3). */
static const double ONE_VECTOR_SLOWER = 1.35, NS_PER_STRIDED_VALUE = 0.12;
/* Of blocked inputs on Intel's servers, known by their large L2, where the units that multiply compute addresses too,
 * of which these have few. All else was fitted without that, so a step counts as shorter, but that of a tile with one
 * vector of channels, which has a load for each multiplication: 128 -> 128, 3x3 on 28x28, took AVX-512 0.94 of the time
 * of direct (Intel Xeon, Granite Rapids class). For shorter vectors most of it is in their factors (methods/table.c),
 * which were fitted with these. */
static const double CYCLES_PER_COUNTED_STEP = 1.65, CYCLES_PER_SHORTER_STEP = 0.25;
static const double CYCLES_PER_WIDE_VECTOR_TRANSPOSED = 3.25;
/* Of steps of blocked inputs elsewhere, if of several blocks of planes: 64 -> 64, 3x3 on 64x64, takes 0.96 of the
 * time of implicit and was estimated at 1.00 of it, 128 -> 128 on 96x96 0.91 and 1.01 (Zen 5). */
static const double BLOCKED_FASTER = 0.96;
/* The same for quantized plans: a value is a lane, whose channels are interleaved; the sums are
 * requantized, and bytes are transposed in the channels form. Cycles of tiles were measured on tiles by
 * themselves, the others set by hand to meet the times of layers. A blocked run is that of a block of planes. */
static const double NS_PER_COPIED_LANE = 0.06, NS_PER_LANES_RUN = 8;
static const double NS_PER_BLOCKED_LANE = 0.12, NS_PER_BLOCKED_LANES_RUN = 80;
/* Of joined taps, fitted to 21 layers on an Intel Xeon (Granite Rapids class). */
static const double NS_PER_JOINED_LANE = 0.2, NS_PER_JOINED_ITEM = 150;
static const double NS_PER_WHOLE_LINE = 27, NS_PER_GATHERED_LINE = 120, NS_PER_GATHERED = 2;
static const double STREAMED_WEIGHTS_PER_CYCLE = 128, STREAMED_PIXELS_PER_CYCLE = 64;
static const double L2_BYTES_PER_CYCLE = 28;
/* Loads across two lines delay the multiplications of an Intel Xeon (Granite Rapids class), if not those
 * of a Zen 5. */
static const double LANES_CYCLES_PER_LOAD = 0.13;
/* A tile with one vector of channels has a load for each multiplication. The same processor. */
static const double ONE_VECTOR_OF_LANES_SLOWER = 1.15;
/* Of pairs by AVX2 1x10 took 9.4 cycles for a step, 7.5 are counted (Zen 3). */
static const double ONE_VECTOR_OF_PAIRS_SLOWER = 1.25;
static const double CYCLES_PER_LANES_TILE = 10, CYCLES_PER_LANES_ROWS = 120;
static const double CYCLES_PER_REQUANTIZED = 1.4;
static const double CYCLES_PER_TRANSPOSED_BYTE = 0.38, CYCLES_PER_TRANSPOSED_WORD = 0.8;
/* A pair's product and its sum are two instructions. A step of vectors of pixels takes some cycles besides, which fewer
 * sums share: tiles of 4 x 2 by themselves took 7.1 to 7.5 cycles for a step, of 6 x 2 9.4 to 10 (Intel Xeon, Granite
 * Rapids class). */
static const double PAIRS_SLOWER = 1.5, PAIRS_OF_PIXELS_SLOWER = 1.2;
static const double CYCLES_PER_PAIRS_OF_PIXELS = 2.3;
/* Bytes are transposed by so many channels, those of a tile of 24 as if they were 32: by AVX2 32 -> 192 on 28x28 took
 * 1.13 times as long by such tiles as by tiles of 16. Of quads they are no slower. */
enum { TRANSPOSED_CHANNELS = 16 };
static const double TRANSPOSED_IN_PART_SLOWER = 1.33;
/* Processors with AMX do not hurry with VDPBF16PS: its steps took 3.6 times as long as those of f32
 * (Intel Xeon, Granite Rapids), on Zen 5 as long. */
static const double BF16_BESIDE_AMX_SLOWER = 3.6;

/* Of a tile of AMX, measured on an Intel Xeon (Granite Rapids): a product takes 16 cycles where all data are
 * zeros, but more with others and their loads. Sums are stored from the tile, loaded and requantized. Tiles by
 * planes take 75 cycles for a register of these; at 40 they are taken where they gain, as vectors of pixels take
 * longer than estimated too: 40 -> 240 on 28x28 0.038 ms by these, 0.033 by AMX. */
static double wide_cycles(const gops_plan *plan, const gops_implicit *p, const gops_tile *tile,
                          int64_t depth)
{
    static const double CYCLES_PER_PRODUCT = 21, CYCLES_PER_LOAD = 10;
    static const double CYCLES_PER_WIDE_TILE = 60, CYCLES_PER_WIDE_SUMS = 100;
    static const double CYCLES_PER_WIDE_TRANSPOSED = 50;
    static const double CYCLES_PER_WIDE_PLANES = 40, CYCLES_PER_FAR_LOAD = 25;
    const bool bytes = plan->quantized && gops_is_8_bit(plan->output_type->type);
    const double rows = (double)tile->mr / GOPS_WIDE_MR, registers = rows * tile->nr;
    const double products = registers * CYCLES_PER_PRODUCT;
    const int64_t input = p->padded.plane * p->planes * (int64_t)sizeof(uint32_t);
    const bool planes = p->form == GOPS_TILE_WIDE_PLANES;
    const bool far = planes && input > plan->machine.l1_bytes / 2;
    const double data = tile->nr * (far ? CYCLES_PER_FAR_LOAD : CYCLES_PER_LOAD);
    const double loads = rows * CYCLES_PER_LOAD + data;
    const double sums = planes  ? CYCLES_PER_WIDE_PLANES
                        : bytes ? CYCLES_PER_WIDE_SUMS
                                : CYCLES_PER_WIDE_SUMS + CYCLES_PER_WIDE_TRANSPOSED;
    return (double)depth / GOPS_LANES_BLOCK * (products > loads ? products : loads) +
           CYCLES_PER_WIDE_TILE + registers * sums;
}

/* A tile takes
 *
 *     depth * step + begin + vectors * nr * sum
 *
 * cycles. A step is the products with one row of K. Its multiplications or its loads bound it, whichever take longer;
 * what else it waits for differs between floats and lanes. */
typedef struct step {
    double vectors;        /* of rows */
    double compute, loads; /* cycles, if it waits for no memory */
    bool pairs, of_pixels; /* of 16 bits; where vectors hold pixels */
} step;

static step step_of(const gops_plan *plan, const gops_implicit *p, const gops_tile *tile, double nr)
{
    const bool pairs = plan->quantized && !gops_lanes_are_quads(plan);
    const bool narrow = !plan->quantized && gops_plan_tiles(plan)->begin != NULL;
    const bool pixels = gops_tile_has_pixels(p->form);
    const bool of_pixels = pairs && pixels && gops_implicit_may_block(plan);
    const double slower = of_pixels ? PAIRS_OF_PIXELS_SLOWER
                          : pairs   ? PAIRS_SLOWER
                          : narrow  ? BF16_BESIDE_AMX_SLOWER
                                    : 1;
    const double vectors =
        pixels ? tile->mr : (double)tile->mr / (double)gops_plan_tiles(plan)->lanes;
    const double multiplies = slower * vectors * nr / MULTIPLIES_PER_CYCLE;
    /* Most vectors of pixels lie across two cache lines and cost two loads. */
    const double loads = ((pixels ? 2 : 1) * nr + vectors) / LOADS_PER_CYCLE;
    return (step){vectors, multiplies > loads ? multiplies : loads, loads, pairs, of_pixels};
}

static double floats_cycles(const gops_plan *plan, const gops_implicit *p, double nr, int64_t depth,
                            const step *of)
{
    const bool shorter = plan->kernels->vector_bytes < GOPS_CACHE_LINE;
    const bool large_l2 = gops_machine_has_large_l2(&plan->machine);
    const bool blocked = p->form == GOPS_TILE_BLOCKED;
    const bool few = plan->conv.taps == 1 || p->planes < GOPS_LANES_BLOCK;
    double compute = of->compute;
    if (shorter && !gops_tile_has_pixels(p->form) && of->vectors <= 1) {
        compute *= ONE_VECTOR_SLOWER;
    }
    if (blocked && large_l2 && (shorter || of->vectors > 1)) {
        compute *=
            compute / (compute + (shorter ? CYCLES_PER_SHORTER_STEP : CYCLES_PER_COUNTED_STEP));
    } else if (blocked && !shorter && of->vectors > 1 && p->planes > GOPS_LANES_BLOCK) {
        compute *= BLOCKED_FASTER;
    }
    const double transposed = !blocked               ? 0
                              : shorter && few       ? CYCLES_PER_TRANSPOSED
                              : !shorter && large_l2 ? CYCLES_PER_WIDE_VECTOR_TRANSPOSED
                                                     : 0;
    return (double)depth * compute + CYCLES_PER_TILE +
           of->vectors * nr * (CYCLES_PER_SUM + transposed);
}

/* All of K is one block: where one vector a step fills half of the L1, weights come from the L2 for each tile, or
 * vectors of pixels, of which taps share about a third. The pixels of a single tap are read once by each tile, and
 * come from the L2 where those of a block of columns are larger than the L1. */
static double lanes_step(const gops_plan *plan, const gops_implicit *p, const gops_tile *tile,
                         int64_t depth, int64_t columns, const step *of)
{
    const double vector = (double)plan->kernels->vector_bytes, l1 = (double)plan->machine.l1_bytes;
    const double pixels = (double)tile->nr * vector;
    const bool streams = (double)depth * vector > l1 / 2;
    double compute = of->compute + (of->of_pixels ? CYCLES_PER_PAIRS_OF_PIXELS : 0);
    if (!gops_tile_has_pixels(p->form)) {
        compute *= tile->mr > gops_plan_tiles(plan)->lanes ? 1
                   : of->pairs                             ? ONE_VECTOR_OF_PAIRS_SLOWER
                                                           : ONE_VECTOR_OF_LANES_SLOWER;
        return compute + (streams ? tile->mr * 4 / STREAMED_WEIGHTS_PER_CYCLE : 0);
    }
    if (depth > p->planes) {
        compute += of->loads * LANES_CYCLES_PER_LOAD;
    }
    if (plan->conv.taps > 1) {
        return compute + (streams ? pixels / 3 / STREAMED_PIXELS_PER_CYCLE : 0);
    }
    /* The units wait for some of it even where it takes less time than they. */
    const double wait = pixels / L2_BYTES_PER_CYCLE;
    const bool waits = (double)depth * (double)columns * vector > l1 / 2;
    return waits ? (wait > compute ? wait : compute) + wait / 14 : compute;
}

static double lanes_cycles(const gops_plan *plan, const gops_implicit *p, const gops_tile *tile,
                           double nr, int64_t depth, int64_t columns, const step *of)
{
    const bool in_part =
        of->pairs && tile->mr > TRANSPOSED_CHANNELS && tile->mr % TRANSPOSED_CHANNELS != 0;
    const double transposed =
        gops_is_8_bit(plan->output_type->type)
            ? CYCLES_PER_TRANSPOSED_BYTE * (in_part ? TRANSPOSED_IN_PART_SLOWER : 1)
            : CYCLES_PER_TRANSPOSED_WORD;
    const double lanes = (double)gops_plan_tiles(plan)->lanes;
    const double sum =
        CYCLES_PER_REQUANTIZED + (gops_tile_has_pixels(p->form) ? 0 : lanes * transposed);
    return (double)depth * lanes_step(plan, p, tile, depth, columns, of) + CYCLES_PER_LANES_TILE +
           of->vectors * nr * sum;
}

/* Of one tile of `nr` columns, in a block of `columns`. */
static double tile_cycles(const gops_plan *plan, const gops_implicit *p, const gops_tile *tile,
                          double nr, int64_t depth, int64_t columns)
{
    if (gops_tile_is_wide(p->form)) {
        return wide_cycles(plan, p, tile, depth);
    }
    const step of = step_of(plan, p, tile, nr);
    return plan->quantized ? lanes_cycles(plan, p, tile, nr, depth, columns, &of)
                           : floats_cycles(plan, p, nr, depth, &of);
}

double gops_implicit_product_cost(const gops_plan *plan, const gops_implicit *p, int64_t channels,
                                  int64_t columns, int64_t depth)
{
    const gops_tile *list = gops_implicit_tiles(plan, p);
    double cycles = 0;
    for (int64_t c = 0; c < channels;) {
        const int64_t whole = gops_implicit_whole_tiles(plan, p, channels - c);
        const int64_t mr = gops_implicit_mr(plan, p, channels - c);
        const gops_tile *tile = list;
        while (tile->mr != mr) {
            tile++;
        }
        const int64_t block = gops_min(columns, gops_max(1, p->column_block));
        const int64_t rest = plan->quantized ? columns % tile->nr : 0;
        const int64_t calls = rest > 0 ? columns / tile->nr : gops_ceil_div(columns, tile->nr);
        const double rows = plan->quantized ? CYCLES_PER_LANES_ROWS : 0;
        /* Others were fitted with whole tiles for all columns. */
        const bool even = plan->conv.taps == 1 && !plan->quantized && calls > 1 &&
                          gops_implicit_splits_evenly(tile);
        const double nr = even ? (double)columns / (double)calls : (double)tile->nr;
        double pass = (double)calls * tile_cycles(plan, p, tile, nr, depth, block) +
                      (double)gops_ceil_div(columns, block) * rows;
        if (rest > 0) {
            const gops_tile *last = gops_implicit_tile(list, mr, rest);
            pass += tile_cycles(plan, p, last, (double)last->nr, depth, block);
        }
        cycles += (double)gops_max(1, whole) * pass;
        c += gops_max(1, whole) * mr;
    }
    const bool single = p->in_place && depth == 1 && !plan->quantized;
    return cycles * GOPS_NS_PER_CYCLE + (single ? NS_PER_CHANNEL : NS_PER_ITEM);
}

double gops_implicit_copy_cost(double values, double runs)
{
    return values * NS_PER_COPIED_VALUE + runs * NS_PER_RUN;
}

/* Of a copy with joined taps: lanes_joined.inc.h gathers rows where the output has not those of the data. */
static double joined_cost(const gops_plan *plan, const gops_implicit *p, double values)
{
    const gops_axis *last = &plan->conv.axis[plan->conv.axes - 1];
    const double length = (double)p->padded.axis[p->padded.axes - 1].length;
    const bool whole = last->stride == 1 && last->output == last->data;
    const double lines = values / GOPS_LANES_BLOCK / length;
    const double line = whole ? NS_PER_WHOLE_LINE : NS_PER_GATHERED_LINE + length * NS_PER_GATHERED;
    return values * NS_PER_JOINED_LANE + lines * line + NS_PER_JOINED_ITEM;
}

double gops_implicit_input_cost(const gops_plan *plan, const gops_implicit *p)
{
    const double values = (double)gops_implicit_padded_values(plan, p);
    const double runs = values / (double)p->padded.axis[p->padded.axes - 1].length;
    if (p->form == GOPS_TILE_BLOCKED && !plan->quantized) {
        const gops_conv_geometry *conv = &plan->conv;
        const int64_t data = conv->channels_in * gops_compute_bytes(plan->type->compute);
        const bool far = gops_mul_saturate(data, conv->data_pixels) > plan->machine.l2_bytes / 2;
        const bool skips = conv->axis[conv->axes - 1].stride > 1;
        const double more = (far ? NS_PER_FAR_VALUE : 0) + (skips ? NS_PER_GATHERED_VALUE : 0);
        return values * (NS_PER_BLOCKED_VALUE + (conv->taps == 1 ? more : 0)) +
               runs / GOPS_LANES_BLOCK * NS_PER_BLOCKED_RUN;
    }
    if (p->form == GOPS_TILE_WIDE_JOINED) {
        return joined_cost(plan, p, values);
    }
    if (gops_tile_is_blocked(p->form)) {
        return values * NS_PER_BLOCKED_LANE + runs / GOPS_LANES_BLOCK * NS_PER_BLOCKED_LANES_RUN;
    }
    if (plan->quantized) {
        return values * NS_PER_COPIED_LANE + runs * NS_PER_LANES_RUN;
    }
    const bool strided = p->residues && p->padded.axis[p->padded.axes - 1].stride > 1 &&
                         plan->kernels->vector_bytes < GOPS_CACHE_LINE;
    return gops_implicit_copy_cost(values, runs) + (strided ? values * NS_PER_STRIDED_VALUE : 0);
}
