/*
 * winograd_deconv.c: GroupConvolutionBackpropData of quantized plans by Winograd's F(3,2), for kernels of
 * twice the stride.
 *
 * Output o of an axis gets, from data pixel i and tap k, data[i] * w[k] where o + pad = i * stride + k. Write
 * o + pad = j * stride + r with 0 <= r < stride. There are two such taps, r and r + stride, and
 *
 *     y[j, r] = data[j - 1] * w[r + stride] + data[j] * w[r]:
 *
 * for each residue r a convolution of two taps with stride 1 over the positions j (methods/subconv/subconv.h),
 * and all of them read the same data. So residues of both axes count as more output channels, rows here: row
 * (channel, r of the rows, r of the columns), the last of them the fastest. What a vector of rows has is that
 * of whole channels.
 *
 * F(3,2) has the points of F(2,3), 0, 1, -1 and infinity, and so the same transform of the data; three
 * outputs of two taps take 4 multiplications in place of 6, on two axes 16 in place of 36:
 *
 *     2 G = (2 0; 1 1; 1 -1; 0 2),      A^T = (1 1 1 0; 0 1 -1 0; 0 1 1 -1).
 *
 * As in winograd_quantized.c, twice G makes four times the sums, and |4 y| < 2^31 for C_IN <= 2064.
 */
#include "methods/winograd/winograd_quantized.h"

#include <string.h>

enum { TAPS = 2 };

/* The weights of an input and an output channel, for all residues: rows of the filter from `row` on. */
static void pack_channels(const gops_plan *plan, const uint8_t *weights, int32_t zero, int64_t row,
                          int64_t channel, void *packed)
{
    const gops_axis *axis = plan->conv.axis;
    const gops_type type = plan->filter_type->type;
    for (int64_t y = 0; y < axis[0].stride; y++) {
        for (int64_t x = 0; x < axis[1].stride; x++, row++) {
            int32_t taps[TAPS * TAPS];
            for (int64_t t = 0; t < TAPS * TAPS; t++) {
                const int64_t ky = y + (1 - t / TAPS) * axis[0].stride;
                const int64_t kx = x + (1 - t % TAPS) * axis[1].stride;
                taps[t] = gops_8_bit_at(type, weights, ky * axis[1].kernel + kx) - zero;
            }
            const gops_winograd_row of = gops_winograd_find_row(plan, row);
            gops_winograd_pack_taps(plan, &of, channel, taps, TAPS, packed);
        }
    }
}

static void pack(const gops_plan *plan, const void *weights, const int32_t *zero_points,
                 void *packed)
{
    const gops_winograd_layout *p = gops_winograd_layout_of(plan);
    const gops_conv_geometry *conv = &plan->conv;
    const uint8_t *from = weights;
    memset(packed, 0, (size_t)plan->filter_bytes);
    for (int64_t g = 0; g < conv->groups; g++) {
        for (int64_t c = 0; c < conv->channels_in; c++) {
            for (int64_t o = 0; o < conv->channels_out; o++, from += conv->taps) {
                pack_channels(plan, from, zero_points[g * conv->channels_out + o],
                              g * p->rows + o * p->repeat, c, packed);
            }
        }
    }
}

static gops_status prepare(gops_plan *plan, int64_t worker_limit, gops_error *error)
{
    return gops_winograd_prepare(plan, GOPS_WINOGRAD_F3, worker_limit, error);
}

const gops_method gops_winograd_f3_deconv = {
    .name = "winograd/f3",
    .operation = GOPS_OPERATION_DECONV,
    .prepare = prepare,
    .pack = pack,
    .run = gops_winograd_run,
    .quantized = true, /* its sums are integers, whatever tiles a part has */
};
