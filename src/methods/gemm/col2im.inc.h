/*
 * col2im.inc.h: adds matrix columns back onto an image; the transpose of im2col.
 *
 * The product filter^T x data has a row for each (output channel, tap) and a column for each data
 * pixel. The element of tap k and pixel i belongs to output pixel i * stride + k * dilation - pad,
 * on every axis; elements that meet there are added up in the order of the taps, and those that
 * fall outside the output are skipped. Along the last axis a row of pixels goes to a run of
 * outputs, `stride` apart, and which of them lie inside the output depends on the last tap alone.
 * The outer axes are counted by index arrays, so one code path serves every rank.
 *
 * Parameters, from isa/each_compute.inc.h:
 *
 *     C             type: the compute type
 *     NAME(symbol)  the name of a function for this type
 */
#define add_run NAME(add_run)
#define output_row NAME(output_row)
#define col2im_row NAME(col2im_row)
#define col2im NAME(col2im)

static inline void add_run(C *restrict to, int64_t stride, const C *restrict from, int64_t count)
{
    if (stride == 1) {
        for (int64_t i = 0; i < count; i++) {
            to[i] = (C)(to[i] + from[i]);
        }
    } else {
        for (int64_t i = 0; i < count; i++) {
            to[i * stride] = (C)(to[i * stride] + from[i]);
        }
    }
}

/* The first output, in the box, of the row to which pixel `index` and tap `tap` of the outer axes
 * contribute; -1 if that row is outside the box. */
static inline int64_t output_row(const gops_scatter *scatter, const int64_t *index,
                                 const int64_t *tap)
{
    int64_t row = 0;
    for (int a = 0; a < scatter->axes - 1; a++) {
        const gops_scatter_axis *axis = &scatter->axis[a];
        int64_t o = index[a] * axis->stride + tap[a] * axis->dilation - axis->pad;
        if (o < axis->output0 || o >= axis->output1) {
            return -1;
        }
        row = row * (axis->output1 - axis->output0) + o - axis->output0;
    }
    const gops_scatter_axis *last = &scatter->axis[scatter->axes - 1];
    return row * (last->output1 - last->output0);
}

/* Adds one row of the block to one channel. */
static void col2im_row(const gops_scatter *scatter, const gops_scatter_block *block,
                       const int64_t *tap, const C *from, C *channel)
{
    const int inner = scatter->axes - 1;
    const gops_scatter_axis *x = &scatter->axis[inner];
    const int64_t shift = tap[inner] * x->dilation - x->pad;
    /* The pixels of a data row whose outputs are in the box. */
    const int64_t first =
        gops_clamp(gops_ceil_div(x->output0 - shift, x->stride), x->data0, x->data1);
    const int64_t last = gops_clamp(gops_ceil_div(x->output1 - shift, x->stride), first, x->data1);
    const int64_t width = x->data1 - x->data0;
    int64_t index[GOPS_MAX_SPATIAL] = {0};
    int64_t row = block->column0 / width;
    int64_t start = x->data0 + block->column0 % width;
    for (int a = inner - 1; a >= 0; a--) {
        int64_t size = scatter->axis[a].data1 - scatter->axis[a].data0;
        index[a] = scatter->axis[a].data0 + row % size;
        row /= size;
    }
    for (int64_t left = block->column1 - block->column0; left > 0;) {
        int64_t count = gops_min(left, x->data1 - start);
        int64_t begin = gops_clamp(first, start, start + count);
        int64_t end = gops_clamp(last, begin, start + count);
        int64_t base = begin < end ? output_row(scatter, index, tap) : -1;
        if (base >= 0) {
            add_run(channel + base + (begin * x->stride + shift - x->output0), x->stride,
                    from + (begin - start), end - begin);
        }
        from += count;
        left -= count;
        start = x->data0;
        for (int a = inner - 1; a >= 0 && ++index[a] == scatter->axis[a].data1; a--) {
            index[a] = scatter->axis[a].data0;
        }
    }
}

static void col2im(const gops_scatter *scatter, const gops_scatter_block *block,
                   const void *columns, void *output, int64_t output_ld)
{
    const int64_t ld = block->column1 - block->column0;
    const C *row = columns;
    for (int64_t channel = 0; channel < block->channels; channel++) {
        int64_t tap[GOPS_MAX_SPATIAL] = {0};
        for (int64_t t = 0; t < scatter->taps; t++, row += ld) {
            col2im_row(scatter, block, tap, row, (C *)output + channel * output_ld);
            for (int a = scatter->axes - 1; a >= 0 && ++tap[a] == scatter->axis[a].kernel; a--) {
                tap[a] = 0;
            }
        }
    }
}

#undef add_run
#undef output_row
#undef col2im_row
#undef col2im
