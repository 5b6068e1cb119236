/* depthwise_rows_tables.c: the taps of each sub-convolution and where they are in the copy. */
#include "methods/depthwise/depthwise_rows_plan.h"

#include "base/checked.h"

static int64_t x_offset(const gops_depthwise_rows_plan *p, const gops_depthwise_taps *list,
                        int64_t index)
{
    const gops_depthwise_axis *axis = &p->axis[2];
    if (p->transposed) {
        return list->position + index * axis->spacing;
    }
    const int64_t distance = index * axis->dilation;
    return distance % axis->stride * p->residue_pitch + distance / axis->stride;
}

/* How many taps a tap column has: of those that the kernels offer, the number that needs the fewest
 * loads for a tile of 7 rows. 1 stands for single taps only. */
static int64_t choose_column_taps(int64_t taps, int64_t stride)
{
    static const int64_t offered[2][4] = {{7, 5, 3, 2}, {7, 5, 3, 3}};
    int64_t best = 1, best_loads = taps * 7;
    for (int i = 0; i < 4 && stride <= 2; i++) {
        const int64_t height = offered[stride - 1][i];
        const int64_t loads = taps / height * (6 * stride + height) + taps % height * 7;
        if (taps >= height && loads < best_loads) {
            best = height;
            best_loads = loads;
        }
    }
    return best;
}

/* Writes the tap columns that begin with tap (z, y), one for each x; `column_taps` taps each, 1 for
 * single taps. */
static void write_tap_columns(const gops_depthwise_rows_plan *p, const gops_depthwise_taps lists[3],
                              int64_t z, int64_t y, int64_t column_taps, int64_t **offsets,
                              int64_t **order)
{
    const int64_t row = lists[1].position + y * p->axis[1].spacing;
    const int64_t plane = lists[0].position + z * p->axis[0].spacing;
    for (int64_t x = 0; x < lists[2].count; x++) {
        *(*offsets)++ = plane * p->plane_pitch + row * p->row_pitch + x_offset(p, &lists[2], x);
        for (int64_t i = 0; i < column_taps; i++) {
            const int64_t kz = lists[0].first + z * lists[0].step;
            const int64_t ky = lists[1].first + (y + i) * lists[1].step;
            const int64_t kx = lists[2].first + x * lists[2].step;
            *(*order)++ = (kz * p->axis[1].kernel + ky) * p->axis[2].kernel + kx;
        }
    }
}

static void fill_subconv(const gops_depthwise_rows_plan *p, const gops_depthwise_taps lists[3],
                         gops_depthwise_subconv *subconv, int64_t **offsets, int64_t **order)
{
    const gops_depthwise_axis *y_axis = &p->axis[1];
    const int64_t taps = lists[1].count;
    /* The kernels go from row to row of outputs by the distance between two taps of a column, or by
     * twice as much. */
    const bool fits = y_axis->step == 1 || (y_axis->step == 2 && y_axis->spacing == 1);
    subconv->column_taps = fits ? choose_column_taps(taps, y_axis->step) : 1;
    const int64_t whole =
        subconv->column_taps > 1 ? taps / subconv->column_taps * subconv->column_taps : 0;
    for (int64_t z = 0; z < lists[0].count; z++) {
        for (int64_t y = 0; y < whole; y += subconv->column_taps) {
            write_tap_columns(p, lists, z, y, subconv->column_taps, offsets, order);
        }
    }
    for (int64_t z = 0; z < lists[0].count; z++) {
        for (int64_t y = whole; y < taps; y++) {
            write_tap_columns(p, lists, z, y, 1, offsets, order);
        }
    }
    const int64_t columns = lists[0].count * lists[2].count;
    subconv->tap_columns = whole / subconv->column_taps * columns;
    subconv->single_taps = (taps - whole) * columns;
}

void gops_depthwise_rows_tables(const gops_depthwise_rows_plan *p,
                                const gops_depthwise_rows_workspace *ws)
{
    int64_t *offsets = ws->offsets, *order = ws->order;
    gops_depthwise_subconv *subconv = ws->subconvs;
    gops_depthwise_taps lists[3];
    for (int64_t z = 0; z < p->axis[0].subconvs; z++) {
        lists[0] = gops_depthwise_subconv_taps(&p->axis[0], p->transposed, z);
        for (int64_t y = 0; y < p->axis[1].subconvs; y++) {
            lists[1] = gops_depthwise_subconv_taps(&p->axis[1], p->transposed, y);
            for (int64_t x = 0; x < p->axis[2].subconvs; x++, subconv++) {
                lists[2] = gops_depthwise_subconv_taps(&p->axis[2], p->transposed, x);
                subconv->offset = offsets - ws->offsets;
                subconv->weight = order - ws->order;
                fill_subconv(p, lists, subconv, &offsets, &order);
            }
        }
    }
}
