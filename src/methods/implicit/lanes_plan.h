/* lanes_plan.h: what plans of implicit and subconv do around tiles of lanes; lanes.h. */
#ifndef GOPS_IMPLICIT_LANES_PLAN_H
#define GOPS_IMPLICIT_LANES_PLAN_H

#include "methods/implicit/tiles/lanes.h"
#include "plan/plan.h"

#include <stdbool.h>

/* What the tiles leave. */
typedef enum gops_lanes_result {
    GOPS_LANES_RAW,  /* the sums that gops_store takes */
    GOPS_LANES_SUMS, /* i32 outputs */
    GOPS_LANES_FLOATS,
    GOPS_LANES_BYTES, /* 8-bit outputs */
} gops_lanes_result;

/* By channel, and readable up to the end of a tile: what its sums begin with, and the scale. */
typedef struct gops_lanes_values {
    uint32_t *first;
    float *scale;
} gops_lanes_values;

static inline int64_t gops_lanes_result_bytes(gops_lanes_result result)
{
    return result == GOPS_LANES_BYTES ? 1 : (int64_t)sizeof(uint32_t);
}

/* Whether the plan multiplies pairs of bf16 (lanes.h). */
static inline bool gops_plan_takes_bf16(const gops_plan *plan)
{
    return plan->relaxed && plan->type->type == GOPS_BF16 && plan->kernels->bf16 != NULL;
}

/* Whether values are lanes, and K is in their order. */
static inline bool gops_plan_has_lanes(const gops_plan *plan)
{
    return plan->quantized || gops_plan_takes_bf16(plan);
}

static inline bool gops_lanes_are_quads(const gops_plan *plan)
{
    return plan->quantized && plan->kernels->lanes->tiles.lane_channels == GOPS_LANES_QUAD;
}

/* What makes w' of w, for quads; gops_8_bit_shift makes x' of x. */
int32_t gops_lanes_filter_shift(const gops_plan *plan);

/* What follows the weights of a packed filter, for quads: `depth` weights of 1 for a tile of `mr`
 * channels (gops_implicit_ones_mr), and the sums of the weights of all rows. */
typedef struct gops_lanes_filter {
    uint32_t *ones, *sums;
} gops_lanes_filter;

/* Its bytes: 0 for pairs. */
int64_t gops_lanes_filter_bytes(const gops_plan *plan, int64_t depth, int64_t mr, int64_t rows);

/* Where it lies; `packed` is the whole filter. */
gops_lanes_filter gops_lanes_filter_of(const gops_plan *plan, const void *packed, int64_t depth,
                                       int64_t mr, int64_t rows);

/* The packed weights of a tile: implicit_tile.h. */
typedef struct gops_lanes_panel {
    uint32_t *to;
    int64_t mr;
    int64_t planes; /* of the padded input */
    gops_tile_form form;
    int64_t first; /* plane of the tap: 0, but where taps are joined */
} gops_lanes_panel;

/* Where the weight of plane q of a tap, of `taps`, and of a row lies in the panel. */
int64_t gops_lanes_index(const gops_lanes_panel *panel, int64_t tap, int64_t taps, int64_t q,
                         int64_t row);

/* Writes the weights of a row for one tap of `taps`: those of all steps of that tap. `weights` is
 * that of the first input channel, and each further one is `apart` elements behind. Adds the sum of
 * the weights, as quads have them, to *sum, which is not used for bf16. `zero` is the filter's zero
 * point. */
void gops_lanes_pack_tap(const gops_plan *plan, int32_t zero, const unsigned char *weights,
                         int64_t apart, int64_t tap, int64_t taps, const gops_lanes_panel *panel,
                         int64_t row, uint32_t *sum);

/* The same with weights of 1 for all rows of the tile, one vector of channels or, for AMX, one register. */
void gops_lanes_pack_ones(const gops_plan *plan, int64_t tap, int64_t taps,
                          const gops_lanes_panel *panel);

/* The offset table of these steps: tap[t] + plane * pitch; if `blocked`, the offset of the same pixel
 * in a blocked input (lanes.h). */
void gops_lanes_offsets(const int64_t *tap, int64_t taps, int64_t planes, int64_t pitch,
                        bool blocked, int64_t *offsets);

gops_lanes_source gops_lanes_data(const gops_plan *plan, const gops_job *job, const void *data);

#endif
