/* Wants T, C, LOAD(T value) -> C, NAME(symbol), and what types/runs.inc.h wants. */
/*
 * padded_input.inc.h: copies the input into a frame and converts it on the way; padded_input.h.
 *
 * Along every axis the positions inside the data are a range, [first, last), the same for all rows
 * of a phase; a row is zeros, a run, zeros.
 */

#include "types/runs.inc.h"

/* A call of memset costs more than the one or two zeros of a usual pad. */
static inline void NAME(frame_zeros)(C *to, int64_t count)
{
    if (count > 3) {
        NAME(zero_run)(to, count);
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

/* The positions of a phase along the innermost axis. */
static inline __attribute__((always_inline)) void
NAME(frame_row)(const gops_padded_axis *axis, const gops_padded_range *range, const T *from, C *to)
{
    NAME(frame_zeros)(to, range->first);
    NAME(copy_run)(to + range->first, from, axis->stride, range->last - range->first);
    NAME(frame_zeros)(to + range->last, axis->length - range->last);
}

/* The same for the `rows` rows of the axis before it: a call each would cost as much as a short
 * row.
 */
static void NAME(frame_rows)(const gops_padded_input *frame, const gops_padded_range *outer,
                             const T *from, C *to, int64_t rows)
{
    const gops_padded_axis axis = frame->axis[frame->axes - 1];
    const gops_padded_range range = outer[1];
    const int64_t step = outer->step, block = outer->block;
    for (int64_t j = 0; j < rows; j++) {
        NAME(frame_row)(&axis, &range, from + range.from + j * step, to + j * block);
    }
}

/* The positions of a phase from axis `a` inwards; `from` is the channel's data pixel where the
 * axes further out are. */
static void NAME(frame_positions)(const gops_padded_input *frame, int a,
                                  const gops_padded_range *range, const T *from, C *to)
{
    const int64_t first = range[a].first, last = range[a].last, length = frame->axis[a].length;
    const int64_t block = range[a].block;
    from += range[a].from;
    if (a == frame->axes - 1) {
        NAME(frame_row)(&frame->axis[a], &range[a], from, to);
        return;
    }
    NAME(zero_run)(to, first * block);
    if (a == frame->axes - 2) {
        NAME(frame_rows)(frame, &range[a], from, to + first * block, last - first);
    } else {
        for (int64_t j = first; j < last; j++, from += range[a].step) {
            NAME(frame_positions)(frame, a + 1, range, from, to + j * block);
        }
    }
    NAME(zero_run)(to + last * block, (length - last) * block);
}

/* All of `channels` channels; the box begins at data pixel origin[a] of each axis. */
static void NAME(frame)(const gops_padded_input *frame, const int64_t *origin, int64_t channels,
                        const void *data, void *to)
{
    int64_t phase[GOPS_MAX_SPATIAL] = {0};
    C *next = to;
    for (int64_t done = 0; done < frame->plane; done += frame->positions) {
        gops_padded_range range[GOPS_MAX_SPATIAL];
        int64_t block = 1, pixels = 1;
        for (int a = (int)frame->axes - 1; a >= 0; a--) {
            const gops_padded_axis *axis = &frame->axis[a];
            const int64_t start = origin[a] + phase[a] * axis->turn % axis->stride;
            gops_padded_range *of = &range[a];
            of->first = gops_clamp(gops_ceil_div(-start, axis->stride), 0, axis->length);
            of->last = gops_clamp(gops_ceil_div(axis->data - start, axis->stride), of->first,
                                  axis->length);
            of->block = block;
            /* A stride beyond the data takes no step inside of it. */
            of->step = gops_min(axis->stride, axis->data) * pixels;
            of->from = of->first < of->last ? (start + of->first * axis->stride) * pixels : 0;
            block *= axis->length;
            pixels *= axis->data;
        }
        for (int64_t c = 0; c < channels; c++) {
            NAME(frame_positions)
            (frame, 0, range, (const T *)data + c * frame->data_pixels, next + c * frame->plane);
        }
        next += frame->positions;
        for (int a = (int)frame->axes - 1; a >= 0 && ++phase[a] == frame->axis[a].phases; a--) {
            phase[a] = 0;
        }
    }
}
