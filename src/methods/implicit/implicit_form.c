/* implicit_form.c: which forms of tiles a plan may have, the planes that they read, and which tiles of a form take so
 * many channels; gops_tile_form. */
#include "methods/implicit/implicit.h"

#include "base/checked.h"

/* Without what fills blocks up. */
static int64_t data_planes(const gops_plan *plan)
{
    return gops_ceil_div(plan->conv.channels_in, gops_plan_tiles(plan)->lane_channels);
}

/* From half a block of planes on. Quads are blocked only where several taps share a pixel. */
bool gops_implicit_may_block(const gops_plan *plan)
{
    return plan->quantized && plan->kernels->lanes->blocks != NULL &&
           (plan->conv.taps > 1 || !gops_lanes_are_quads(plan)) &&
           data_planes(plan) >= GOPS_LANES_BLOCK / 2;
}

gops_tile_form gops_implicit_form(const gops_plan *plan, gops_tile_form listed, int64_t mr)
{
    if (listed == GOPS_TILE_PIXELS && mr >= GOPS_WIDE_MR) {
        return GOPS_TILE_WIDE_BLOCKS;
    }
    return listed == GOPS_TILE_CHANNELS && gops_implicit_may_block(plan) ? GOPS_TILE_BLOCKED
                                                                         : listed;
}

/* Quads that the first level cache holds as they are cost no more: 512 -> 512, 3x3 on 7x7 took an Intel Xeon 0.95 of
 * the time that it took blocked. */
gops_tile_form gops_implicit_settled_form(const gops_plan *plan, const gops_implicit *p)
{
    const int64_t held = plan->machine.l1_bytes / (int64_t)sizeof(uint32_t);
    const bool unblocks = p->form == GOPS_TILE_BLOCKED && gops_lanes_are_quads(plan) &&
                          p->padded.plane * p->planes <= held;
    return unblocks ? GOPS_TILE_CHANNELS : p->form;
}

int64_t gops_implicit_planes(const gops_plan *plan, gops_tile_form form)
{
    const int64_t planes = data_planes(plan);
    if (form == GOPS_TILE_WIDE_JOINED) {
        const gops_lanes_join join = gops_implicit_join(plan);
        return gops_round_up(join.rows * join.taps * planes, GOPS_LANES_BLOCK);
    }
    if (gops_tile_is_wide(form)) {
        return gops_round_up(planes, GOPS_LANES_BLOCK);
    }
    return form == GOPS_TILE_BLOCKED && gops_plan_tiles(plan)->blocked != NULL
               ? gops_round_up(planes, GOPS_BLOCKED_STEPS)
               : planes;
}

int64_t gops_implicit_whole_tiles(const gops_plan *plan, const gops_implicit *p, int64_t left)
{
    const int64_t whole = left / p->mr, rest = left % p->mr, lanes = gops_plan_tiles(plan)->lanes;
    const bool leaves_one = rest > 0 && rest <= lanes;
    const bool shares = plan->operation == GOPS_OPERATION_CONV && !gops_tile_has_pixels(p->form);
    return whole - (shares && p->mr == 3 * lanes && whole > 0 && leaves_one);
}

int64_t gops_implicit_mr(const gops_plan *plan, const gops_implicit *p, int64_t left)
{
    const gops_tiles *tiles = gops_plan_tiles(plan);
    const int64_t least = gops_max(left, gops_tile_min_mr(tiles, p->form));
    int64_t smallest = p->mr;
    if (gops_implicit_whole_tiles(plan, p, left) > 0) {
        return p->mr;
    }
    if (left > p->mr) {
        return p->mr - tiles->lanes;
    }
    for (const gops_tile *tile = gops_implicit_tiles(plan, p); tile->mr != 0; tile++) {
        if (p->form == GOPS_TILE_PIXELS && tile->mr <= left) {
            return tile->mr; /* MR descends to 1, so that some tile fits exactly */
        }
        if (p->form != GOPS_TILE_PIXELS && tile->mr >= least) {
            smallest = gops_min(smallest, tile->mr);
        }
    }
    return smallest;
}

int64_t gops_implicit_padded_channels(const gops_plan *plan, const gops_implicit *p,
                                      int64_t channels)
{
    const int64_t last = channels % p->mr;
    return p->form == GOPS_TILE_PIXELS || last == 0
               ? channels
               : channels - last + gops_implicit_mr(plan, p, last);
}
