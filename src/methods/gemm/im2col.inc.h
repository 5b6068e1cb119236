/* Wants T, C, LOAD(T value) -> C, NAME(symbol); may have LOAD_BLOCK(to, from, length), or WIDEN and
 * LANES_LOAD, and SHIFTED where a zero point is to be taken off. */
/*
 * im2col.inc.h: copies a block of the input into matrix form and converts it on the way.
 *
 * Row r = (channel, kz, ky, kx) of the column matrix holds, for every output pixel, the input that
 * this tap of the filter meets:
 *
 *     column[r][oz, oy, ox] = data[channel][oz*sz + kz*dz - pz][oy*sy + ky*dy - py][ox*sx + kx*dx -
 * px]
 *
 * and 0 where that falls outside. Then output = filter x columns is one matrix product. Along ox
 * the source is a straight run, whose part inside the data, [first, last), depends on kx alone; so
 * the work is: zeros, a run, zeros, for each row of output pixels that the block touches.
 */

#include "types/runs.inc.h"

/* One row of the matrix: tap (kz, ky, kx) over the block's columns. */
static void NAME(im2col_row)(const gops_window *window, const gops_columns *part, const T *channel,
                             const int64_t tap[3], C *to)
{
    const gops_window_axis *az = &window->axis[0], *ay = &window->axis[1], *ax = &window->axis[2];
    /* The outputs whose tap meets data: 0 <= ox * stride + shift < data. */
    int64_t shift = tap[2] * ax->dilation - ax->pad;
    int64_t first = gops_clamp(gops_ceil_div(-shift, ax->stride), 0, ax->output);
    int64_t last = gops_clamp(gops_ceil_div(ax->data - shift, ax->stride), first, ax->output);
    int64_t row = part->column0 / ax->output;
    int64_t ox = part->column0 % ax->output;
    int64_t oz = row / ay->output;
    int64_t oy = row % ay->output;
    for (int64_t left = part->column1 - part->column0; left > 0;) {
        int64_t count = gops_min(left, ax->output - ox);
        int64_t iz = oz * az->stride + tap[0] * az->dilation - az->pad;
        int64_t iy = oy * ay->stride + tap[1] * ay->dilation - ay->pad;
        int64_t begin = gops_clamp(first, ox, ox + count);
        int64_t end = gops_clamp(last, begin, ox + count);
        if (iz < 0 || iz >= az->data || iy < 0 || iy >= ay->data || begin == end) {
            NAME(zero_run)(to, count);
        } else {
            const T *from = channel + (iz * ay->data + iy) * ax->data;
            NAME(zero_run)(to, begin - ox);
            NAME(copy_run)
            (to + (begin - ox), from + (begin * ax->stride + shift), ax->stride, end - begin);
#ifdef SHIFTED
            NAME(shift_run)(to + (begin - ox), end - begin, (C)part->zero);
#endif
            NAME(zero_run)(to + (end - ox), ox + count - end);
        }
        to += count;
        left -= count;
        ox = 0;
        if (++oy == ay->output) {
            oy = 0;
            oz++;
        }
    }
}

static void NAME(im2col)(const gops_window *window, const gops_columns *part, const void *data,
                         void *columns)
{
    const int64_t ky = window->axis[1].kernel, kx = window->axis[2].kernel;
    for (int64_t r = part->row0; r < part->row1; r++) {
        int64_t tap = r % window->taps;
        const int64_t taps[3] = {tap / kx / ky, tap / kx % ky, tap % kx};
        const T *channel = (const T *)data + r / window->taps * window->data_pixels;
        NAME(im2col_row)(window, part, channel, taps, (C *)columns + (r - part->row0) * part->ld);
    }
}
