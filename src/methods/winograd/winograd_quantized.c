/*
 * winograd_quantized.c: F(2,3) of quantized plans, in integers; winograd_conv.c derives it, and F(3,2) of
 * transposed ones is the same with 4 taps for 9 (winograd_deconv.c).
 *
 * The data's transform B^T has entries of 0 and +-1, that of the weights, G, also halves. So 2 G is taken,
 * and the sums are four times those of the definition. All else are additions: modulo 2^32 the result is
 * 4 y for the sum y of the definition, and exactly y where 4 y is between -2^31 and 2^31. With
 * |x - zx| <= 255 and |w - zw| <= 255 that is so if
 *
 *     9 C_IN 255^2 < 2^29,  C_IN <= 917.
 *
 * Two entries of 1 in each row of B^T, and three in those of 2 G, keep the transformed data within 4 * 255
 * and the weights within 9 * 255: pairs of channels of 16 bits, which the tiles of quantized plans multiply
 * where there is no VNNI (implicit/tiles/lanes.h). VNNI multiplies twice as many channels, and 16 for 36
 * multiplications make up for that, but not for the transforms.
 *
 * Zero points are subtracted before the transforms; so padding is 0.
 */
#include "methods/winograd/winograd_quantized.h"

#include "methods/implicit/lanes_run.h"
#include "post_ops/post_ops.h"

#include <string.h>

enum { TAPS = 3, POINTS = 4, PAIR = GOPS_LANES_PAIR };

/* One axis of the transform of the weights: 2 G g, for the 2 or 3 taps `step` apart. */
static void transform_axis(const int32_t *g, int64_t taps, int64_t step, int32_t *to,
                           int64_t to_step)
{
    const int32_t last = g[(taps - 1) * step], even = taps > 2 ? g[0] + last : g[0];
    to[0] = 2 * g[0];
    to[to_step] = even + g[step];
    to[2 * to_step] = even - g[step];
    to[3 * to_step] = 2 * last;
}

void gops_winograd_pack_taps(const gops_plan *plan, const gops_winograd_row *row, int64_t channel,
                             const int32_t *taps, int64_t count, void *packed)
{
    const gops_winograd_layout *p = gops_winograd_layout_of(plan);
    int32_t half[POINTS * TAPS], points[POINTS * POINTS]; /* half: [point of the rows][tap] */
    uint16_t *to = packed;
    for (int64_t i = 0; i < count; i++) {
        transform_axis(taps + i, count, count, half + i, count);
    }
    for (int64_t i = 0; i < POINTS; i++) {
        transform_axis(half + i * count, count, 1, points + i * POINTS, 1);
    }
    for (int64_t i = 0; i < POINTS * POINTS; i++) {
        const int64_t at = row->from + (i * p->depth + channel / PAIR) * row->width;
        to[at * PAIR + channel % PAIR] = (uint16_t)points[i];
    }
}

void gops_winograd_pack_quantized(const gops_plan *plan, const void *weights,
                                  const int32_t *zero_points, void *packed)
{
    const gops_conv_geometry *conv = &plan->conv;
    const uint8_t *from = weights;
    memset(packed, 0, (size_t)plan->filter_bytes);
    for (int64_t o = 0; o < conv->groups * conv->channels_out; o++) {
        const gops_winograd_row row = gops_winograd_find_row(plan, o);
        for (int64_t c = 0; c < conv->channels_in; c++, from += TAPS * TAPS) {
            int32_t taps[TAPS * TAPS];
            for (int64_t t = 0; t < TAPS * TAPS; t++) {
                taps[t] = gops_8_bit_at(plan->filter_type->type, from, t) - zero_points[o];
            }
            gops_winograd_pack_taps(plan, &row, c, taps, TAPS, packed);
        }
    }
}

/* Writes a row of outputs; or has gops_store do all to its sums, which are transposed first. */
static void store_row(const gops_implicit_item *item, const gops_winograd_positions *positions)
{
    const gops_plan *plan = item->plan;
    const int64_t count = positions->count;
    const int64_t element =
        positions->element + positions->y * plan->conv.axis[1].output + positions->x;
    if (item->result != GOPS_LANES_RAW) {
        gops_lanes_transpose(item)(gops_output_at(plan, item->job, element), plan->output_plane,
                                   positions->from, positions->ld, item->channels, count);
        return;
    }
    gops_lanes_transpose(item)(positions->scratch, count, positions->from, positions->ld,
                               item->channels, count);
    gops_store_channels(plan, item->job, item->channel_of_all, element,
                        &(gops_store_values){positions->scratch, count, item->channels, count});
}

void gops_winograd_store_quantized(const gops_plan *plan, const gops_job *job,
                                   const gops_winograd_block *block, int64_t first, int64_t count,
                                   int64_t vectors, unsigned char *workspace)
{
    const gops_winograd_layout *p = gops_winograd_layout_of(plan);
    const gops_conv_geometry *conv = &plan->conv;
    const gops_winograd_kernels *kernels = plan->kernels->winograd[plan->type->compute];
    const int64_t ld = vectors * kernels->lanes;
    const int64_t channel = block->group * conv->channels_out + first / p->repeat;
    gops_implicit_item item = {
        .plan = plan, .job = job, .channel_of_all = channel, .channels = count / p->repeat};
    const gops_lanes_rows rows = {.channel = channel, .repeat = p->repeat, .count = count};
    uint32_t begins[GOPS_EPILOGUE_CHANNELS] = {0};
    float scale[GOPS_EPILOGUE_CHANNELS] = {0};
    gops_lanes_begin_epilogue(&item, true);
    if (item.adds) {
        gops_lanes_keep_raw(&item);
    }
    item.values = (gops_lanes_values){begins, scale};
    gops_lanes_begin_rows(&item, &rows);
    gops_lanes_take_values(&item, 0);
    const int64_t bytes = gops_lanes_result_bytes(item.result);
    gops_winograd_output output = {
        .sums_ld = p->sums_ld,
        .vectors = vectors,
        .pixels = workspace + p->outputs_from,
        .bounds = item.pass.work.bounds,
        .bias = begins,
    };
    for (int64_t tile = block->tiles.begin; tile < block->tiles.end; tile += output.tiles) {
        const int64_t y = tile / p->row_tiles * p->m, x = tile % p->row_tiles * p->m;
        output.tiles = gops_winograd_row_tiles(p, tile, block->tiles.end, p->output_tiles);
        output.sums =
            workspace + p->sums_from + (tile - block->tiles.begin) * ld * (int64_t)sizeof(uint32_t);
        kernels->output[p->form](&output);
        for (int64_t i = 0; i < gops_min(p->m, p->outputs[0] - y); i++) {
            const gops_winograd_positions positions = {
                .element = (block->image * conv->groups * conv->channels_out + channel) *
                           plan->output_plane,
                .y = y + i,
                .x = x,
                .count = gops_min(p->m * output.tiles, p->outputs[1] - x),
                .from = workspace + p->outputs_from + i * p->m * output.tiles * ld * bytes,
                .ld = ld,
                .scratch = workspace + p->transposed_from,
            };
            (p->form == GOPS_WINOGRAD_F3 ? gops_winograd_interleave : store_row)(&item, &positions);
        }
    }
}
