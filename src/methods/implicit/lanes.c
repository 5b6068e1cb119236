/* lanes.c: what tiles of lanes take: weights, offsets, data; lanes.h. */
#include "methods/implicit/implicit.h"

#include "base/checked.h"

#include <string.h>

int32_t gops_lanes_filter_shift(const gops_plan *plan)
{
    return plan->filter_type->type == GOPS_U8 ? INT8_MIN : 0;
}

int64_t gops_lanes_filter_bytes(const gops_plan *plan, int64_t depth, int64_t mr, int64_t rows)
{
    return gops_lanes_are_quads(plan) ? (depth * mr + rows) * (int64_t)sizeof(uint32_t) : 0;
}

gops_lanes_filter gops_lanes_filter_of(const gops_plan *plan, const void *packed, int64_t depth,
                                       int64_t mr, int64_t rows)
{
    const int64_t bytes = gops_lanes_filter_bytes(plan, depth, mr, rows);
    uint32_t *ones = (uint32_t *)packed + (plan->filter_bytes - bytes) / (int64_t)sizeof(uint32_t);
    return bytes > 0 ? (gops_lanes_filter){ones, ones + depth * mr} : (gops_lanes_filter){0};
}

/* The weights of the channels of a lane, of which `channels` are left. */
static uint32_t pack_bf16(const unsigned char *weights, int64_t apart, int64_t channels)
{
    uint16_t pair[GOPS_LANES_PAIR] = {0};
    for (int64_t i = 0; i < gops_min(GOPS_LANES_PAIR, channels); i++) {
        memcpy(&pair[i], weights + i * apart * (int64_t)sizeof pair[i], sizeof pair[i]);
    }
    return pair[0] | (uint32_t)pair[1] << 16;
}

/* The same for 8 bits. */
static uint32_t pack_lane(const gops_plan *plan, int32_t zero, const unsigned char *weights,
                          int64_t apart, int64_t channels, uint32_t *sum)
{
    const gops_type type = plan->filter_type->type;
    const bool quads = gops_lanes_are_quads(plan);
    const int32_t subtracted = quads ? -gops_lanes_filter_shift(plan) : zero;
    const int64_t count = gops_min(gops_plan_tiles(plan)->lane_channels, channels);
    uint32_t lane = 0;
    for (int64_t i = 0; i < count; i++) {
        const int32_t number = gops_8_bit_at(type, weights, i * apart) - subtracted;
        lane |=
            quads ? ((uint32_t)number & 0xff) << (8 * i) : ((uint32_t)number & 0xffff) << (16 * i);
        *sum = gops_wrapping_add(*sum, (uint32_t)number);
    }
    return lane;
}

int64_t gops_lanes_index(const gops_lanes_panel *panel, int64_t tap, int64_t taps, int64_t q,
                         int64_t row)
{
    const int64_t mr = panel->mr, plane = panel->first + q;
    const int64_t block = plane / GOPS_LANES_BLOCK * GOPS_LANES_BLOCK;
    const int64_t width = gops_min(GOPS_LANES_BLOCK, panel->planes - block);
    const int64_t step = (block * taps + tap * width) * mr;
    const int64_t wide = row / GOPS_WIDE_MR * GOPS_WIDE_MR;
    if (panel->form == GOPS_TILE_WIDE_PLANES) {
        return step + row * width + plane - block;
    }
    return gops_tile_is_wide(panel->form)
               ? step + wide * width + (plane - block) * GOPS_WIDE_MR + row - wide
               : step + (plane - block) * mr + row;
}

void gops_lanes_pack_tap(const gops_plan *plan, int32_t zero, const unsigned char *weights,
                         int64_t apart, int64_t tap, int64_t taps, const gops_lanes_panel *panel,
                         int64_t row, uint32_t *sum)
{
    const int64_t channels = plan->conv.channels_in;
    const int64_t lane = gops_plan_tiles(plan)->lane_channels,
                  planes = gops_ceil_div(channels, lane);
    const int64_t size = plan->filter_type->bytes;
    for (int64_t q = 0; q < planes; q++) {
        const int64_t at = gops_lanes_index(panel, tap, taps, q, row);
        const unsigned char *from = weights + q * lane * apart * size;
        panel->to[at] = plan->quantized
                            ? pack_lane(plan, zero, from, apart, channels - q * lane, sum)
                            : pack_bf16(from, apart, channels - q * lane);
    }
}

void gops_lanes_pack_ones(const gops_plan *plan, int64_t tap, int64_t taps,
                          const gops_lanes_panel *panel)
{
    static const uint32_t ones[GOPS_LANES_QUAD + 1] = {0, 0x01, 0x0101, 0x010101, 0x01010101};
    const int64_t channels = plan->conv.channels_in;
    for (int64_t q = 0; q * GOPS_LANES_QUAD < channels; q++) {
        for (int64_t row = 0; row < panel->mr; row++) {
            panel->to[gops_lanes_index(panel, tap, taps, q, row)] =
                ones[gops_min(channels - q * GOPS_LANES_QUAD, GOPS_LANES_QUAD)];
        }
    }
}

void gops_lanes_offsets(const int64_t *tap, int64_t taps, int64_t planes, int64_t pitch,
                        bool blocked, int64_t *offsets)
{
    const int64_t apart = blocked ? GOPS_LANES_BLOCK : 1, step = blocked ? 1 : pitch;
    for (int64_t plane = 0; plane < planes; plane += GOPS_LANES_BLOCK) {
        const int64_t count = gops_min(GOPS_LANES_BLOCK, planes - plane);
        for (int64_t t = 0; t < taps; t++) {
            for (int64_t q = 0; q < count; q++) {
                *offsets++ = plane * pitch + tap[t] * apart + q * step;
            }
        }
    }
}

gops_lanes_source gops_lanes_data(const gops_plan *plan, const gops_job *job, const void *data)
{
    const int32_t shift = gops_8_bit_shift(plan->type->type);
    return (gops_lanes_source){
        .data = data,
        .apart = plan->data_plane,
        .flip = (uint8_t)shift,
        .zero = (uint8_t)((int32_t)job->data_zero + shift),
    };
}
