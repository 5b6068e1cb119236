/*
 * im2col.inc.h: copies a block of the input into matrix form and converts it on the way.
 *
 * Row r = (channel, kz, ky, kx) of the column matrix holds, for every output pixel, the input that
 * this tap of the filter meets:
 *
 *     column[r][oz, oy, ox] =
 *         data[channel][oz*sz + kz*dz - pz][oy*sy + ky*dy - py][ox*sx + kx*dx - px]
 *
 * and 0 where that lies outside the data. Then output = filter x columns is one matrix product.
 * Along ox the source is a run of elements, `sx` apart, and the outputs whose source lies inside
 * the data, [first, last), depend on kx alone. So each row of output pixels in the block is filled
 * with zeros, a run of data, and zeros.
 *
 * Parameters: those of an element type, as types/each_type.inc.h defines them. Used are
 *
 *     T             type: an element in memory
 *     C             type: the compute type
 *     NAME(symbol)  the name of a function for this type
 *     SHIFTED       defined if the zero point `block->zero` is to be subtracted
 *     LOAD and what runs.inc.h reads
 */
#define im2col_row NAME(im2col_row)
#define im2col NAME(im2col)

#include "types/runs.inc.h"

/* One row of the block: the inputs that tap (kz, ky, kx) of one channel meets. */
static void im2col_row(const gops_window *window, const gops_columns *block, const T *channel,
                       const int64_t tap[3], C *to)
{
    const gops_axis *az = &window->axis[0], *ay = &window->axis[1], *ax = &window->axis[2];
    /* The outputs whose input lies inside the data: 0 <= ox * stride + shift < data. */
    int64_t shift = tap[2] * ax->dilation - ax->pad_begin;
    int64_t first = gops_clamp(gops_ceil_div(-shift, ax->stride), 0, ax->output);
    int64_t last = gops_clamp(gops_ceil_div(ax->data - shift, ax->stride), first, ax->output);
    int64_t row = block->column0 / ax->output;
    int64_t ox = block->column0 % ax->output;
    int64_t oz = row / ay->output;
    int64_t oy = row % ay->output;
    for (int64_t left = block->column1 - block->column0; left > 0;) {
        int64_t count = gops_min(left, ax->output - ox);
        int64_t iz = oz * az->stride + tap[0] * az->dilation - az->pad_begin;
        int64_t iy = oy * ay->stride + tap[1] * ay->dilation - ay->pad_begin;
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
            if (block->zero != 0) {
                NAME(shift_run)(to + (begin - ox), end - begin, block->zero);
            }
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

static void im2col(const gops_window *window, const gops_columns *block, const void *data,
                   void *columns)
{
    const int64_t ky = window->axis[1].kernel, kx = window->axis[2].kernel;
    C *row = columns;
    for (int64_t r = block->row0; r < block->row1; r++, row += block->column1 - block->column0) {
        int64_t tap = r % window->taps;
        const int64_t taps[3] = {tap / kx / ky, tap / kx % ky, tap % kx};
        const T *channel = (const T *)data + r / window->taps * window->data_plane;
        im2col_row(window, block, channel, taps, row);
    }
}

#undef im2col_row
#undef im2col
