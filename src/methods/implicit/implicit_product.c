/* implicit_product.c: walks tiles over spots; implicit.h. */
#include "methods/implicit/implicit.h"

#include "base/checked.h"
#include "base/error.h"

#include <stddef.h>

/* The tile of `width` channels for `left` spots: the largest that they fill, or else the smallest
 * that holds them. */
static const gops_tile *tile_for(const gops_tile *tiles, int64_t width, int64_t left)
{
    const gops_tile *fit = NULL;
    for (; tiles->channels != 0; tiles++) {
        if (tiles->channels == width && (fit == NULL || tiles->spots >= left)) {
            fit = tiles;
        }
    }
    return fit;
}

/* Asks for part `part` of `parts` of the weights of the next block of depth, which the caches may
 * not hold: there is time for it while this block's are used. */
static void prefetch(const unsigned char *weights, int64_t bytes, int64_t part, int64_t parts)
{
    enum { CACHE_LINE = 64 };
    const int64_t end = (part + 1) * bytes / parts;
    for (int64_t i = part * bytes / parts; i < end; i += CACHE_LINE) {
        __builtin_prefetch(weights + i, 0, 2);
    }
}

void gops_implicit_multiply(const gops_implicit_pass *pass)
{
    gops_tile_work work = {
        .frame = pass->frame,
        .sums = pass->sums,
        .sums_ld = pass->sums_ld,
        .bias = pass->bias,
        .residual = pass->residual,
    };
    const gops_tile *full = tile_for(pass->tiles, pass->width, INT64_MAX);
    const gops_tile *rest = tile_for(pass->tiles, pass->width, pass->count % full->spots);
    for (int64_t k = 0; k < pass->depth; k += pass->depth_block) {
        work.offsets = pass->offsets + k;
        work.depth = gops_min(pass->depth_block, pass->depth - k);
        work.weights = pass->weights + k * pass->width * pass->bytes;
        work.accumulate = k > 0;
        work.bounds = k + work.depth == pass->depth ? pass->bounds : NULL;
        const unsigned char *const next =
            (const unsigned char *)work.weights + work.depth * pass->width * pass->bytes;
        const int64_t next_depth = gops_min(pass->depth_block, pass->depth - k - work.depth);
        for (int64_t i = 0; i < pass->count; i += full->spots) {
            work.spots = pass->spots + i;
            work.places = pass->places + i;
            if (pass->streams) {
                prefetch(next, next_depth * pass->width * pass->bytes, i / full->spots,
                         gops_ceil_div(pass->count, full->spots));
            }
            (i + full->spots <= pass->count ? full : rest)->run(&work);
        }
    }
}

gops_segments gops_implicit_segments(const gops_implicit *p, int axes, int64_t lanes,
                                     const gops_box *box)
{
    gops_segments s = {1, 1, 1, 1, p->pixels ? lanes : 1, 1, 0, 1, 0};
    for (int a = 0; a < axes; a++) {
        if (a < axes - p->merged) {
            s.count *= box->count[a];
        } else {
            s.width *= box->count[a];
        }
    }
    s.pitch = s.length = s.width;
    if (!p->dense) {
        s.rows = box->count[axes - 2];
        s.width = box->count[axes - 1];
        s.pitch = p->pitch[axes - 2];
        s.length = (s.rows - 1) * s.pitch + s.width;
    }
    s.spots = gops_ceil_div(s.length, s.step);
    /* A shorter last band may hold less than a vector. */
    s.direct = p->direct && s.length >= s.step;
    s.last = s.direct ? s.length - s.step : (s.spots - 1) * s.step;
    return s;
}

void gops_implicit_list_spots(const gops_implicit *p, int axes, const gops_segments *segments,
                              const gops_box *box, int64_t first, int64_t count, int direct,
                              int64_t apart, int64_t *spots, int64_t *places)
{
    int64_t segment = first / segments->spots;
    int64_t next = first % segments->spots;
    int64_t i = 0;
    for (; i < count; segment++, next = 0) {
        int64_t position = 0, rest = segment;
        for (int a = axes - p->merged - 1; a >= 0; a--) {
            position += rest % box->count[a] * p->pitch[a];
            rest /= box->count[a];
        }
        const int64_t begin = gops_min(next * segments->step, segments->last);
        const int64_t base = direct ? segment * segments->length + begin : i * apart;
        const int64_t scale = direct ? 1 : apart / segments->step;
        for (; i < count && next < segments->spots; i++, next++) {
            const int64_t along = gops_min(next * segments->step, segments->last);
            places[i] = base + (along - begin) * scale;
            spots[i] = position + along * p->pitch[axes - 1];
        }
    }
    for (int64_t j = 0; j < GOPS_MAX_SPOTS - 1; j++) {
        spots[i + j] = spots[i - 1];
        places[i + j] = places[i - 1];
    }
}

int64_t gops_implicit_width(const gops_tile *tiles, int pixels, int64_t tile, int64_t left)
{
    int64_t width = tile;
    if (left >= tile) {
        return tile;
    }
    for (; tiles->channels != 0; tiles++) {
        if (pixels && tiles->channels <= left) {
            return tiles->channels; /* exactly as many as there are: lists descend to 1 */
        }
        if (!pixels && tiles->channels >= left) {
            width = gops_min(width, tiles->channels);
        }
    }
    return width;
}

int64_t gops_implicit_padded(const gops_implicit *p, const gops_tiles *tiles, int64_t channels)
{
    const gops_tile *list = gops_implicit_tiles(p, tiles);
    const int64_t last = channels % p->tile;
    return p->pixels || last == 0 ? channels
                                  : channels - last + gops_implicit_width(list, 0, p->tile, last);
}

gops_status gops_implicit_refuse(const gops_plan *plan, int64_t worker_limit, int roomy,
                                 gops_error *error)
{
    if (roomy) {
        return gops_fail(error, GOPS_INVALID, "max_workspace is %lld; %s needs more for one thread",
                         (long long)worker_limit, plan->method->name);
    }
    return gops_fail(error, GOPS_UNSUPPORTED,
                     "%s does not serve C_IN %lld with %lld taps: what one output pixel reads is "
                     "more than the second level cache holds",
                     plan->method->name, (long long)plan->conv.channels_in,
                     (long long)plan->conv.taps);
}
