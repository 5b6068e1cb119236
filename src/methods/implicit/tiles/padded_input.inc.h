/*
 * padded_input.inc.h: makes a padded input (padded_input.h) and converts values on the way.
 *
 * Along every axis the positions inside the data are a range, [first, last), the same for all rows
 * of a residue. So a row is zeros, a run of data, and zeros.
 *
 * Parameters: those of types/each_type.inc.h, of which this file itself uses
 *
 *   T             type: an element of the data as it is stored
 *   C             type: the compute type
 *   NAME(symbol)  puts the name of the type's row in front of a symbol
 */
#include "types/runs.inc.h"

#define zero_run NAME(zero_run)
#define copy_run NAME(copy_run)
#define write_zeros NAME(write_zeros)
#define pad_row NAME(pad_row)
#define pad_rows NAME(pad_rows)
#define pad_axes NAME(pad_axes)
#define pad_input NAME(pad_input)

/* Most pads are one or two zeros, and a call of memset costs more than these. */
static inline void write_zeros(C *to, int64_t count)
{
    if (count > 3) {
        zero_run(to, count);
        return;
    }
    if (count > 0) {
        to[0] = 0;
    }
    if (count > 1) {
        to[1] = 0;
    }
    if (count > 2) {
        to[2] = 0;
    }
}

/* One row: the positions of a residue along the innermost axis. */
GOPS_INLINE void pad_row(const gops_padded_axis *axis, const gops_padded_range *range,
                         const T *from, C *to)
{
    write_zeros(to, range->first);
    copy_run(to + range->first, from, axis->stride, range->last - range->first);
    write_zeros(to + range->last, axis->length - range->last);
}

/* The `rows` rows along the last axis but one. A call for each would cost as much as a short row
 * does. */
static void pad_rows(const gops_padded_input *padded, const gops_padded_range *outer, const T *from,
                     C *to, int64_t rows)
{
    const gops_padded_axis axis = padded->axis[padded->axes - 1];
    const gops_padded_range range = outer[1];
    const int64_t step = outer->step, pitch = outer->pitch;
    for (int64_t j = 0; j < rows; j++) {
        pad_row(&axis, &range, from + range.from + j * step, to + j * pitch);
    }
}

/* The positions of a residue along axis `a` and the axes within it; `from` is the data of the
 * position that the axes before `a` are at. */
static void pad_axes(const gops_padded_input *padded, int a, const gops_padded_range *range,
                     const T *from, C *to)
{
    const int64_t first = range[a].first, last = range[a].last, length = padded->axis[a].length;
    const int64_t pitch = range[a].pitch;
    from += range[a].from;
    if (a == padded->axes - 1) {
        pad_row(&padded->axis[a], &range[a], from, to);
        return;
    }
    zero_run(to, first * pitch);
    if (a == padded->axes - 2) {
        pad_rows(padded, &range[a], from, to + first * pitch, last - first);
    } else {
        for (int64_t j = first; j < last; j++, from += range[a].step) {
            pad_axes(padded, a + 1, range, from, to + j * pitch);
        }
    }
    zero_run(to + last * pitch, (length - last) * pitch);
}

static void pad_input(const gops_padded_input *padded, const int64_t *origin, int64_t channels,
                      const void *data, void *to)
{
    int64_t residue[GOPS_MAX_SPATIAL] = {0};
    C *next = to;
    for (int64_t done = 0; done < padded->values; done += padded->positions) {
        gops_padded_range range[GOPS_MAX_SPATIAL];
        gops_padded_ranges(padded, origin, residue, range);
        for (int64_t c = 0; c < channels; c++) {
            pad_axes(padded, 0, range, (const T *)data + c * padded->data_plane,
                     next + c * padded->plane);
        }
        next += padded->positions;
        gops_padded_next_residue(padded, residue);
    }
    /* Vectors reach into what is between the planes. Denormals there would be slow. */
    for (int64_t c = 0; c < channels && padded->plane > padded->values; c++) {
        zero_run((C *)to + c * padded->plane + padded->values, padded->plane - padded->values);
    }
}
