/*
 * lanes_input.inc.h: makes the padded input of lanes (lanes.h).
 *
 * A row of the copy is padding, a run of data, and padding. A run is made of rows of elements, one
 * for each channel of the lane, which are interleaved.
 *
 * Parameters:
 *
 *   T                 type: an element of the data, with fewer than 32 bits
 *   CHANNELS          int: how many make a lane
 *   FILLS_UP(first)   what the rows of channels beyond the last one are, in place of `const T *`; the
 *                     argument is the row of the lane's first channel
 *   lane_rows         type: has `const T *row[CHANNELS]`, and more
 *   interleave(rows, to, count)
 *                     function: makes `count` lanes of the beginnings of the rows
 */
#include "base/checked.h"
#include "isa/lanes.h"

#include <stdint.h>

static void fill_run(uint32_t *to, uint32_t value, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        to[i] = value;
    }
}

/* Interleaves `count` pixels that lie `stride` apart, gathered into rows of neighbours first. */
static void interleave_strided(const lane_rows *rows, int64_t stride, uint32_t *to, int64_t count)
{
    enum { BLOCK = 64 };
    T gathered[CHANNELS][BLOCK];
    lane_rows from = *rows;
    for (int c = 0; c < CHANNELS; c++) {
        from.row[c] = rows->row[c] != NULL ? gathered[c] : NULL;
    }
    for (int64_t i = 0; i < count; i += BLOCK) {
        const int64_t length = gops_min(BLOCK, count - i);
        for (int c = 0; c < CHANNELS; c++) {
            for (int64_t j = 0; j < length && from.row[c] != NULL; j++) {
                gathered[c][j] = rows->row[c][(i + j) * stride];
            }
        }
        interleave(&from, to + i, length);
    }
}

/* What all rows of a plane have in common. */
typedef struct plane_copy {
    const gops_padded_axis *axis;
    const gops_padded_range *range;
    int last; /* axis: those behind it are merged with it */
    uint32_t padding;
    lane_rows rows;
} plane_copy;

static void copy_row(const plane_copy *copy, int64_t from, uint32_t *to)
{
    const gops_padded_axis *axis = &copy->axis[copy->last];
    const gops_padded_range *range = &copy->range[copy->last];
    const int64_t count = range->last - range->first, pitch = range->pitch;
    lane_rows rows = copy->rows;
    for (int c = 0; c < CHANNELS; c++) {
        rows.row[c] = rows.row[c] != NULL ? rows.row[c] + from : NULL;
    }
    fill_run(to, copy->padding, range->first * pitch);
    if (axis->stride == 1 || count < 2) {
        interleave(&rows, to + range->first * pitch, count * pitch);
    } else {
        interleave_strided(&rows, axis->stride, to + range->first, count);
    }
    fill_run(to + range->last * pitch, copy->padding, (axis->length - range->last) * pitch);
}

/* The positions of a residue along axis `a` and the axes within it; `from` is the data of the
 * position that the axes before `a` are at. */
static void copy_axes(const plane_copy *copy, int a, int64_t from, uint32_t *to)
{
    const gops_padded_range *range = &copy->range[a];
    const int64_t pitch = range->pitch;
    from += range->from;
    if (a == copy->last) {
        copy_row(copy, from, to);
        return;
    }
    fill_run(to, copy->padding, range->first * pitch);
    for (int64_t j = range->first; j < range->last; j++, from += range->step) {
        copy_axes(copy, a + 1, from, to + j * pitch);
    }
    fill_run(to + range->last * pitch, copy->padding, (copy->axis[a].length - range->last) * pitch);
}

/* The last axis whose rows lie side by side in the data and in the copy: those behind it have no
 * padding. */
static int merge_axes(const gops_padded_input *padded, const gops_padded_range *range)
{
    int last = (int)padded->axes - 1;
    for (; last > 0; last--) {
        const gops_padded_axis *axis = &padded->axis[last], *outer = axis - 1;
        const bool whole = range[last].first == 0 && range[last].last == axis->length;
        if (!whole || axis->length != axis->data || axis->stride != 1 || outer->stride != 1) {
            break;
        }
    }
    return last;
}

/* Makes the padded input of `channels` channels that lie `apart` elements from each other; `rows` has
 * all but the rows. */
static void make_input(const gops_padded_input *padded, const int64_t *origin, int64_t channels,
                       const T *data, int64_t apart, const lane_rows *rows, uint32_t padding,
                       uint32_t *to)
{
    int64_t residue[GOPS_MAX_SPATIAL] = {0};
    uint32_t *next = to;
    for (int64_t done = 0; done < padded->plane; done += padded->positions) {
        gops_padded_range range[GOPS_MAX_SPATIAL];
        gops_padded_ranges(padded, origin, residue, range);
        plane_copy copy = {.axis = padded->axis,
                           .range = range,
                           .last = merge_axes(padded, range),
                           .padding = padding,
                           .rows = *rows};
        for (int64_t c = 0, plane = 0; c < channels; c += CHANNELS, plane += padded->plane) {
            for (int i = 0; i < CHANNELS; i++) {
                copy.rows.row[i] =
                    c + i < channels ? data + (c + i) * apart : FILLS_UP(data + c * apart);
            }
            copy_axes(&copy, 0, 0, next + plane);
        }
        next += padded->positions;
        gops_padded_next_residue(padded, residue);
    }
    /* A run's last vector may read these. Their products are dropped, but memcheck and
     * MemorySanitizer do not follow each lane through the multiplications. */
    fill_run(to + gops_ceil_div(channels, CHANNELS) * padded->plane, 0, LANES_OF_4);
}
