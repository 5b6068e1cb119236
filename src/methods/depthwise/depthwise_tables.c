/* depthwise_tables.c: which taps a class of outputs has, and where in the copy they are. */
#include "methods/depthwise/depthwise_method.h"

#include "base/checked.h"

static int64_t x_offset(const gops_depthwise *p, const gops_depthwise_taps *list, int64_t index)
{
    const gops_depthwise_axis *axis = &p->axis[2];
    if (p->transposed) {
        return list->position + index * axis->spacing;
    }
    const int64_t distance = index * axis->dilation;
    return distance % axis->stride * p->phase_pitch + distance / axis->stride;
}

/* How many taps along y a segment shall have, of those that the kernels offer: what makes the loads
 * for a tile of 7 rows fewest. 1: single taps only. */
static int64_t choose_chunk(int64_t taps, int64_t stride)
{
    static const int64_t offered[2][4] = {{7, 5, 3, 2}, {7, 5, 3, 3}};
    int64_t best = 1, least = taps * 7;
    for (int i = 0; i < 4 && stride <= 2; i++) {
        const int64_t chunk = offered[stride - 1][i];
        const int64_t loads = taps / chunk * (6 * stride + chunk) + taps % chunk * 7;
        if (taps >= chunk && loads < least) {
            best = chunk;
            least = loads;
        }
    }
    return best;
}

/* Writes the segments or the single taps of a class; `chunk` taps along y each, from tap `y` on. */
static void write_column(const gops_depthwise *p, const gops_depthwise_taps lists[3], int64_t z,
                         int64_t y, int64_t chunk, int64_t **offsets, int64_t **order)
{
    const int64_t row = lists[1].position + y * p->axis[1].spacing;
    const int64_t plane = lists[0].position + z * p->axis[0].spacing;
    for (int64_t x = 0; x < lists[2].count; x++) {
        *(*offsets)++ = plane * p->plane_pitch + row * p->row_pitch + x_offset(p, &lists[2], x);
        for (int64_t i = 0; i < chunk; i++) {
            const int64_t kz = lists[0].first + z * lists[0].step;
            const int64_t ky = lists[1].first + (y + i) * lists[1].step;
            const int64_t kx = lists[2].first + x * lists[2].step;
            *(*order)++ = (kz * p->axis[1].kernel + ky) * p->axis[2].kernel + kx;
        }
    }
}

static void fill_class(const gops_depthwise *p, const gops_depthwise_taps lists[3],
                       gops_depthwise_class *class, int64_t **offsets, int64_t **order)
{
    const gops_depthwise_axis *y_axis = &p->axis[1];
    const int64_t taps = lists[1].count;
    /* The kernels step along y over the rows between two taps of a segment, or twice as far. */
    const int fits = y_axis->step == 1 || (y_axis->step == 2 && y_axis->spacing == 1);
    class->chunk = fits ? choose_chunk(taps, y_axis->step) : 1;
    const int64_t whole = class->chunk > 1 ? taps / class->chunk * class->chunk : 0;
    for (int64_t z = 0; z < lists[0].count; z++) {
        for (int64_t y = 0; y < whole; y += class->chunk) {
            write_column(p, lists, z, y, class->chunk, offsets, order);
        }
    }
    for (int64_t z = 0; z < lists[0].count; z++) {
        for (int64_t y = whole; y < taps; y++) {
            write_column(p, lists, z, y, 1, offsets, order);
        }
    }
    const int64_t columns = lists[0].count * lists[2].count;
    class->segments = whole / class->chunk * columns;
    class->singles = (taps - whole) * columns;
}

void gops_depthwise_tables(const gops_depthwise *p, const gops_depthwise_workspace *parts)
{
    int64_t *offsets = parts->offsets, *order = parts->order;
    gops_depthwise_class *class = parts->classes;
    gops_depthwise_taps lists[3];
    for (int64_t z = 0; z < p->axis[0].classes; z++) {
        lists[0] = gops_depthwise_list(&p->axis[0], p->transposed, z);
        for (int64_t y = 0; y < p->axis[1].classes; y++) {
            lists[1] = gops_depthwise_list(&p->axis[1], p->transposed, y);
            for (int64_t x = 0; x < p->axis[2].classes; x++, class ++) {
                lists[2] = gops_depthwise_list(&p->axis[2], p->transposed, x);
                class->offset = offsets - parts->offsets;
                class->weight = order - parts->order;
                fill_class(p, lists, class, &offsets, &order);
            }
        }
    }
}
