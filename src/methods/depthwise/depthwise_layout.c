/* depthwise_layout.c: the workspace of `rows` and `blocked`, with the taps of each sub-convolution
 * and where they are in the copy. */
#include "methods/depthwise/depthwise_method.h"

int64_t gops_depthwise_lay_out(gops_depthwise_layout *layout, int64_t copy, int64_t sums,
                               int64_t staging, int64_t weights, int64_t positions)
{
    const gops_depthwise_axis *axis = layout->axis;
    const int64_t subconvs = axis[0].subconvs * axis[1].subconvs * axis[2].subconvs;
    const int64_t taps = axis[0].kernel * axis[1].kernel * axis[2].kernel;
    int64_t end = 0;
    layout->begin.copy = gops_reserve(&end, copy);
    layout->begin.sums = gops_reserve(&end, sums);
    layout->begin.staging = gops_reserve(&end, staging);
    layout->begin.subconvs = gops_reserve(&end, subconvs * (int64_t)sizeof(gops_depthwise_subconv));
    layout->begin.taps = gops_reserve(&end, taps * (int64_t)sizeof(gops_depthwise_tap));
    layout->begin.weights = gops_reserve(&end, weights);
    layout->begin.positions = gops_reserve(&end, positions);
    return end;
}

/* How many taps a tap column has: of those that the kernels offer, the number that needs the fewest
 * loads for a tile of 7 rows. 1 stands for single taps only. */
static int64_t choose_column_taps(int64_t taps, int64_t stride)
{
    static const int64_t offered[2][4] = {{7, 5, 3, 2}, {7, 5, 3, 3}};
    int64_t best = 1, best_loads = taps * 7;
    for (int i = 0; i < 4; i++) {
        const int64_t height = offered[stride - 1][i];
        const int64_t loads = taps / height * (6 * stride + height) + taps % height * 7;
        if (taps >= height && loads < best_loads) {
            best = height;
            best_loads = loads;
        }
    }
    return best;
}

/* Writes, for each x, the tap at (z, y) of the axes and those below it: `height` taps. */
static gops_depthwise_tap *write_taps(const gops_depthwise_layout *layout,
                                      const gops_depthwise_taps along[3], int64_t z, int64_t y,
                                      int64_t height, gops_depthwise_tap *to)
{
    const gops_depthwise_axis *axis = layout->axis;
    const int64_t stride = layout->stride;
    const int64_t plane = (along[0].position + z * axis[0].spacing) * layout->plane_pitch;
    const int64_t row_step = axis[1].spacing * layout->row_pitch;
    const int64_t row = along[1].position * layout->row_pitch + y * row_step;
    const int64_t kz = along[0].first + z * along[0].step;
    const int64_t ky = along[1].first + y * along[1].step;
    for (int64_t x = 0; x < along[2].count; x++) {
        const int64_t column = along[2].position + x * axis[2].spacing;
        const int64_t kx = along[2].first + x * along[2].step;
        const int64_t at =
            stride == 1 ? column : column % stride * layout->residue_pitch + column / stride;
        for (int64_t i = 0; i < height; i++) {
            *to++ = (gops_depthwise_tap){
                .data = plane + row + i * row_step + at,
                .weight = (kz * axis[1].kernel + ky + i * along[1].step) * axis[2].kernel + kx,
            };
        }
    }
    return to;
}

/* Fills in a sub-convolution and its taps from `to` on; returns their end. */
static gops_depthwise_tap *fill_subconv(const gops_depthwise_layout *layout,
                                        const gops_depthwise_taps along[3], gops_depthwise_tap *to,
                                        gops_depthwise_subconv *subconv)
{
    const gops_depthwise_axis *y_axis = &layout->axis[1];
    const int64_t taps = along[1].count, columns = along[0].count * along[2].count;
    /* The kernels go from row to row of outputs by the distance between two taps of a column, or by
     * twice as much. */
    const bool fits = y_axis->step == 1 || (y_axis->step == 2 && y_axis->spacing == 1);
    const int64_t height = layout->columns && fits ? choose_column_taps(taps, y_axis->step) : 1;
    const int64_t whole = height > 1 ? taps / height * height : 0;
    for (int a = 0; a < 3; a++) {
        subconv->residue[a] = along[a].residue;
        subconv->count[a] = along[a].outputs;
    }
    subconv->taps = to;
    subconv->tap_columns = whole / height * columns;
    subconv->single_taps = (taps - whole) * columns;
    subconv->column_taps = height;
    for (int64_t z = 0; z < along[0].count; z++) {
        for (int64_t y = 0; y < whole; y += height) {
            to = write_taps(layout, along, z, y, height, to);
        }
    }
    for (int64_t z = 0; z < along[0].count; z++) {
        for (int64_t y = whole; y < taps; y++) {
            to = write_taps(layout, along, z, y, 1, to);
        }
    }
    return to;
}

gops_depthwise_workspace gops_depthwise_divide(const gops_depthwise_layout *layout,
                                               const gops_depthwise_range block[3], void *workspace)
{
    const gops_depthwise_axis *axis = layout->axis;
    unsigned char *at = workspace;
    const gops_depthwise_workspace parts = {
        .copy = at + layout->begin.copy,
        .sums = at + layout->begin.sums,
        .staging = at + layout->begin.staging,
        .subconvs = (gops_depthwise_subconv *)(void *)(at + layout->begin.subconvs),
        .taps = (gops_depthwise_tap *)(void *)(at + layout->begin.taps),
        .weights = at + layout->begin.weights,
        .positions = (int64_t *)(void *)(at + layout->begin.positions),
    };
    gops_depthwise_subconv *subconv = parts.subconvs;
    gops_depthwise_tap *taps = parts.taps;
    gops_depthwise_taps along[3];
    for (int64_t z = 0; z < axis[0].subconvs; z++) {
        along[0] = gops_depthwise_find_taps(&axis[0], block[0], z);
        for (int64_t y = 0; y < axis[1].subconvs; y++) {
            along[1] = gops_depthwise_find_taps(&axis[1], block[1], y);
            for (int64_t x = 0; x < axis[2].subconvs; x++) {
                along[2] = gops_depthwise_find_taps(&axis[2], block[2], x);
                taps = fill_subconv(layout, along, taps, subconv++);
            }
        }
    }
    return parts;
}
