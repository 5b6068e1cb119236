/* direct_layout.c: strips, blocks, items, and a model of the time. */
#include "methods/direct/direct_layout.h"

#include "base/checked.h"
#include "base/error.h"

#include <assert.h>

static_assert(sizeof(gops_direct_layout) <= GOPS_PARAMETER_BYTES, "parameters outgrow the room");

enum {
    /* The least items to cut a large layer into, so that threads find work, and the multiplications
     * of an item below which that is not worth it. */
    SHARES = 16,
    SMALL_ITEM = 200000,
    SUMS_BYTES = 32 << 10, /* of a chunk, at least */
    MIN_DEPTH = 8,         /* a loop this short pays for its beginning and end */
    MAX_ENTRIES = 4096,    /* of the lists of taps: they are made anew by each item */
    MAX_TAPS = 1024,       /* of an axis; making a plan looks at each */
    MAX_SPOTS = 56,
    CACHE_LINE = 64,
    MAX_HEIGHT = 4,
    WIDE_REGISTERS = 32, /* of AVX-512; kernels for 16 have strips that fit */
};

/* Measured on a Zen 5 with AVX-512, one core of a virtual machine, 2026. */
static const double NS_PER_CYCLE = 0.26;
static const double CYCLES_PER_TAP = 15;   /* the switch; the loop's end, which comes unforeseen */
static const double CYCLES_PER_STRIP = 60; /* the call, its arguments */
static const double CYCLES_PER_SUM = 3;    /* a vector of sums kept, or turned and stored */
static const double CYCLES_PER_LINE = 3;   /* of data, from the second level cache */
static const double NS_PER_ITEM = 300;
static const double LOADS_PER_CYCLE = 1.75; /* at most; some wait for a line, or for another */
/* More for each step: a line of weights from the second level cache, a register too few, addresses
 * of more than one row, and loads of four values, of which some lie across two lines. Without them
 * the strip of the least estimate took up to 1.12 of the quickest one's time on dense layers,
 * and 1.19 on grouped ones. */
static const double CYCLES_PER_FAR_LINE = 0.4;
static const double CYCLES_PER_SPILL = 0.5;
static const double CYCLES_PER_SECOND_ROW = 0.5;
static const double CYCLES_PER_FOUR_JOINED = 1;

/* Cycles of one step with `spots` vectors for each of a strip's: two multiplications each, or
 * loads, or three of multiplications and of permutations, of which outputs that share a vector need
 * one with a stride; and a multiplication waits four for the one before it. */
static double step_cycles(gops_direct_size size, double spots)
{
    const double multiplies = size.vectors * spots / 2;
    const double loads = (size.vectors + spots) / LOADS_PER_CYCLE;
    const double units = size.joined > 1 && size.stride > 1 ? (size.vectors + 1) * spots / 3 : 0;
    const double most = multiplies > loads ? multiplies : loads;
    return most > 4 || units > 4 ? (most > units ? most : units) : 4;
}

/* What every step of a block takes beyond that. */
static double more_cycles(const gops_plan *plan, const gops_direct_layout *p,
                          const gops_direct_kernel *strip)
{
    const gops_direct_size size = strip->size;
    const int64_t step = size.vectors * plan->kernels->vector_bytes;
    const int64_t registers = size.vectors * (size.height * size.spots / size.joined + 1) + 1;
    double cycles = 0;
    if (p->depth_block * plan->conv.taps * step > plan->machine.l1_bytes / 2) {
        cycles += CYCLES_PER_FAR_LINE * (double)step / CACHE_LINE;
    }
    if (registers > WIDE_REGISTERS) {
        cycles += CYCLES_PER_SPILL;
    }
    return cycles + (size.height > 1 ? CYCLES_PER_SECOND_ROW : 0) +
           (size.joined == 4 ? CYCLES_PER_FOUR_JOINED : 0);
}

/* An axis cut into strips: `size` outputs each, the last may have less. Those at the ends, where
 * an edge may cut what a tap meets, differ; those in between are alike. */
typedef struct cuts {
    const gops_axis *axis;
    int64_t size, strips, before, after;
    int64_t most; /* outputs that a range may lack at one end */
} cuts;

static cuts cut(const gops_axis *axis, int64_t size, int64_t most)
{
    cuts made = {axis, size, gops_ceil_div(axis->output, size), 0, 0, most};
    int64_t first, last;
    while (made.before < made.strips && made.before <= MAX_ENTRIES) {
        gops_direct_outputs_inside(axis, made.before * size, size, 0, &first, &last);
        if (first == 0 && last == size) {
            break;
        }
        made.before++;
    }
    while (made.before + made.after < made.strips && made.before + made.after <= MAX_ENTRIES) {
        const int64_t begin = (made.strips - made.after - 1) * size;
        if (begin + size <= axis->output) {
            gops_direct_outputs_inside(axis, begin, size, axis->kernel - 1, &first, &last);
            if (first == 0 && last == size) {
                break;
            }
        }
        made.after++;
    }
    return made;
}

/* Counts pairs of a strip and a tap by the outputs that they have: pairs[1] to pairs[size]. And
 * *entries, the pairs without those of strips like the one before. 0 where the kernels have no such
 * range, or entries are too many. */
static int count_ranges(const cuts *c, double *pairs, int64_t *entries)
{
    *entries = 0;
    for (int64_t i = 0; i <= c->size; i++) {
        pairs[i] = 0;
    }
    if (gops_mul_saturate(c->before + c->after + 1, c->axis->kernel) > MAX_ENTRIES) {
        return 0;
    }
    const int64_t between = c->strips - c->before - c->after;
    for (int64_t s = 0, alike; s < c->strips; s += alike) {
        const int64_t begin = s * c->size, count = gops_min(c->size, c->axis->output - begin);
        alike = s == c->before && between > 0 ? between : 1;
        for (int64_t tap = 0; tap < c->axis->kernel; tap++) {
            int64_t first, last;
            gops_direct_outputs_inside(c->axis, begin, count, tap, &first, &last);
            if (first < last) {
                if ((first > 0 && last < c->size) || first > c->most || c->size - last > c->most) {
                    return 0;
                }
                pairs[last - first] += (double)alike;
                ++*entries;
            }
        }
    }
    return 1;
}

/* The pairs of an output and a tap of an axis that meet data. */
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

/* The cycles of all pairs of strips and taps of a block of output channels; negative where the
 * kernels do not have their ranges. */
static double count_cycles(const gops_plan *plan, gops_direct_layout *p,
                           const gops_direct_kernel *strip)
{
    const gops_conv_geometry *conv = &plan->conv;
    const double more = more_cycles(plan, p, strip);
    const cuts x = cut(&conv->axis[conv->axes - 1], p->spots, gops_direct_cut(strip->size));
    double across[MAX_SPOTS + 1], down[MAX_HEIGHT + 1] = {0, 1};
    double planes = 1, cycles = 0;
    int64_t entries;
    assert(p->spots <= MAX_SPOTS && p->height <= MAX_HEIGHT);
    p->before = x.before;
    p->after = x.after;
    if (!count_ranges(&x, across, &p->entries)) {
        return -1;
    }
    for (int a = 0; a < conv->axes - 2; a++) {
        planes *= count_pairs(&conv->axis[a]);
    }
    if (p->height > 1) {
        const cuts y = cut(&conv->axis[conv->axes - 2], p->height, p->height - 1);
        if (!count_ranges(&y, down, &entries)) {
            return -1;
        }
    } else if (conv->axes > 1) {
        down[1] = count_pairs(&conv->axis[conv->axes - 2]);
    }
    for (int64_t i = 1; i <= p->height; i++) {
        for (int64_t j = 1; j <= p->spots; j++) {
            cycles +=
                down[i] * across[j] *
                ((double)conv->channels_in *
                     (step_cycles(strip->size, (double)(i * gops_ceil_div(j, strip->size.joined))) +
                      more) +
                 CYCLES_PER_TAP);
        }
    }
    return cycles * planes;
}

/* Items: images and groups, then bands, or where the weights are more than the data or there are
 * few lines (one, with one axis), parts of the output channels. */
static void divide(const gops_plan *plan, gops_direct_layout *p)
{
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t least = gops_clamp(conv->flops / 2 / SMALL_ITEM, 1, SHARES);
    const int64_t both = gops_mul_saturate(conv->batch, conv->groups);
    const int64_t blocks = gops_ceil_div(conv->channels_out, p->width);
    p->share = gops_clamp(both / least, 1, conv->groups);
    p->part = blocks;
    p->band = p->lines;
    const int64_t wanted = gops_ceil_div(least, gops_max(1, both));
    if (gops_mul_saturate(conv->k, conv->channels_out) >
            gops_mul_saturate(conv->data_pixels, conv->channels_in) ||
        p->lines <= gops_min(wanted, blocks) / 2) {
        p->part = gops_ceil_div(blocks, gops_min(wanted, blocks));
    } else {
        p->band = gops_ceil_div(p->lines, gops_min(wanted, p->lines));
    }
    p->parts = gops_ceil_div(blocks, p->part);
    p->bands = gops_ceil_div(p->lines, p->band);
}

static int64_t lay_out_workspace(const gops_plan *plan, gops_direct_layout *p)
{
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const gops_axis *x = &plan->conv.axis[plan->conv.axes - 1];
    const int64_t sizes[] = {
        gops_mul_saturate(p->entries, (int64_t)sizeof(gops_direct_tap)),
        (p->before + p->after + 1) * (int64_t)sizeof(int64_t),
        gops_mul_saturate(plan->conv.taps / x->kernel, (int64_t)sizeof(gops_direct_tap)),
        p->chunk * p->strips * p->height * p->spots * p->width * bytes,
        p->chunk * p->height * x->output * p->width * bytes,
    };
    int64_t *const ends[] = {&p->counts_from, &p->rows_from, &p->sums_from, &p->outputs_from, NULL};
    int64_t end = 0;
    for (int i = 0; i < 5; i++) {
        if (sizes[i] > INT64_MAX / 16) {
            return INT64_MAX;
        }
        end += gops_round_up(sizes[i], GOPS_WORKSPACE_ALIGNMENT);
        if (ends[i] != NULL) {
            *ends[i] = end;
        }
    }
    return end;
}

/* The strip for the last `left` channels of a group, 0 where there are blocks of `strip` only: it
 * has no more vectors than they need. */
static const gops_direct_kernel *find_rest(const gops_direct_kernels *strips,
                                           const gops_direct_kernel *strip, int64_t left)
{
    const gops_direct_kernel *rest = strip;
    for (const gops_direct_kernel *other = strips->list; left > 0 && other->size.vectors != 0;
         other++) {
        if (other->size.vectors < rest->size.vectors && other->size.height == strip->size.height &&
            other->size.spots == strip->size.spots && other->size.stride == strip->size.stride &&
            other->size.joined == strip->size.joined &&
            other->size.vectors * strips->lanes >= left * strip->size.joined) {
            rest = other;
        }
    }
    return rest;
}

/* Lays out one size of strip; *worker_bytes and the plan's time in *cost. */
static int lay_out(const gops_plan *plan, const gops_direct_kernel *strip, int64_t worker_limit,
                   gops_direct_layout *p, int64_t *worker_bytes, double *cost)
{
    const gops_conv_geometry *conv = &plan->conv;
    const gops_axis *x = &conv->axis[conv->axes - 1];
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const gops_direct_kernels *strips = plan->kernels->direct[plan->type->compute];
    const int64_t lanes = strips->lanes / strip->size.joined;
    *p = (gops_direct_layout){.strip = strip,
                              .height = strip->size.height,
                              .spots = strip->size.spots,
                              .width = strip->size.vectors * lanes};
    p->rest = find_rest(strips, strip, conv->channels_out % p->width);
    p->padded = gops_round_up(conv->channels_out, p->width) - p->width;
    p->padded += p->rest->size.vectors * lanes;
    p->plane_rows = conv->axes > 1 ? conv->axis[conv->axes - 2].output : 1;
    p->plane_lines = gops_ceil_div(p->plane_rows, p->height);
    p->lines = conv->output_pixels / x->output / p->plane_rows * p->plane_lines;
    p->strips = gops_ceil_div(x->output, p->spots);
    const int64_t blocks = gops_ceil_div(conv->channels_out, p->width);
    const int64_t step = gops_mul_saturate(conv->taps, p->width * strip->size.joined * bytes);
    /* 512 -> 512 on 7x7 took 0.96 ms with blocks of 24 KB, 0.88 with 96, 0.84 with 192 and 384. */
    const int64_t room = plan->machine.l2_bytes / 8;
    p->depth_block =
        gops_clamp(room / step, gops_min(MIN_DEPTH, conv->channels_in), conv->channels_in);
    p->depth_block =
        gops_ceil_div(conv->channels_in, gops_ceil_div(conv->channels_in, p->depth_block));
    const double cycles = p->height > 1 && p->plane_rows == 1 ? -1 : count_cycles(plan, p, strip);
    if (cycles < 0) {
        return 0;
    }
    divide(plan, p);
    const int64_t row_bytes = gops_mul_saturate(p->strips * p->spots, p->height * p->width * bytes);
    /* Lines at a time: each block's weights are read once for them. Where sums are kept between
     * blocks, 128 KB of them took 0.96 to 0.98 of the time of 32 KB for 640 -> 640 on 32x32 and
     * 1280 -> 1280 on 16x16, 512 KB no less. */
    const int64_t kept = p->depth_block < conv->channels_in
                             ? gops_min(plan->machine.l2_bytes, worker_limit / 2) / 8
                             : 0;
    p->chunk = gops_clamp(gops_max(kept, SUMS_BYTES) / row_bytes, 1, p->band);
    const int64_t far = plan->machine.l2_bytes / 2 / bytes;
    p->fetches = gops_mul_saturate(conv->channels_in, conv->data_pixels) > far;
    p->claims = gops_mul_saturate(conv->channels_out, conv->output_pixels) > far &&
                p->spots * bytes <= CACHE_LINE; /* the lines that strips end in are then all */
    *worker_bytes = lay_out_workspace(plan, p);
    const double passes = (double)gops_ceil_div(conv->channels_in, p->depth_block);
    const double calls = (double)p->lines * (double)p->strips;
    const double all =
        cycles * (double)(blocks - 1) + count_cycles(plan, p, p->rest) +
        calls * passes *
            (CYCLES_PER_STRIP * (double)blocks +
             CYCLES_PER_SUM * (double)(p->padded * p->height * p->spots) / (double)strips->lanes);
    double lines = (double)conv->channels_in * (double)x->data * (double)bytes / CACHE_LINE;
    for (int a = 0; a < conv->axes - 1; a++) {
        const gops_axis *axis = &conv->axis[a];
        lines *= (double)gops_min(axis->data, gops_mul_saturate(axis->output, axis->kernel));
    }
    const double images = (double)conv->batch * (double)conv->groups;
    *cost = images * ((all + (double)blocks * lines * CYCLES_PER_LINE) * NS_PER_CYCLE) +
            NS_PER_ITEM * (double)p->bands * (double)p->parts * images / (double)p->share;
    return 1;
}

gops_status gops_direct_lay_out(gops_plan *plan, int64_t worker_limit, gops_error *error)
{
    const gops_conv_geometry *conv = &plan->conv;
    const gops_direct_kernels *strips = plan->kernels->direct[plan->type->compute];
    const int64_t stride = conv->axis[conv->axes - 1].stride;
    gops_direct_layout *own = gops_parameters(plan);
    int found = 0, roomy = 0;
    if (strips == NULL || !plan->type->native || plan->output_type != plan->type) {
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
    for (const gops_direct_kernel *strip = strips->list; strip->size.vectors != 0; strip++) {
        gops_direct_layout p;
        int64_t worker_bytes, variant;
        double cost;
        if (strip->size.stride != stride ||
            (strip->size.vectors - 1) * strips->lanes >= conv->channels_out * strip->size.joined ||
            !lay_out(plan, strip, worker_limit, &p, &worker_bytes, &cost)) {
            continue;
        }
        /* Packed weights do not tell heights; how deep their blocks are follows from the rest. */
        variant = (strip->size.vectors * 8 + p.rest->size.vectors) * 8 + strip->size.joined;
        if (worker_bytes > worker_limit) {
            roomy = 1;
        } else if ((!found || cost < plan->cost) &&
                   (plan->wanted_variant == 0 || plan->wanted_variant == variant)) {
            *own = p;
            found = 1;
            plan->cost = cost;
            plan->worker_bytes = worker_bytes;
            plan->filter_variant = variant;
        }
    }
    if (!found && roomy) {
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
    plan->items = conv->batch * gops_ceil_div(conv->groups, own->share) * own->parts * own->bands;
    plan->filter_bytes = conv->groups * gops_direct_weights(plan, own->padded);
    return GOPS_OK;
}
