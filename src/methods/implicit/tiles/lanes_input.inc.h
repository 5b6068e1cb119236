/*
 * lanes_input.inc.h: makes the padded input of lanes (lanes.h), and of blocks of floats (implicit_blocked.isa.c).
 *
 * A row of the copy is padding, a run of data, and padding. A run is made of rows of elements, one
 * for each channel of the lane, which are interleaved.
 *
 * Parameters:
 *
 *   T                 type: an element of the data, of 32 bits at most
 *   LANE              type: a position of the copy: a lane, or, blocked, all lanes of a block of planes
 *   CHANNELS          int: how many make a LANE
 *   FILLS_UP(first)   what the rows of channels beyond the last one are, in place of `const T *`; the
 *                     argument is the row of the lane's first channel
 *   lane_rows         type: has `const T *row[CHANNELS]`, and more
 *   interleave(rows, to, count)
 *                     function: makes `count` lanes of the beginnings of the rows
 *   GOPS_LANES_ROWS   defined where there is interleave_row(rows, row, padding, to) instead, which
 *                     makes a row of the copy with its padding; `rows` begin with its first pixel
 */
#include "base/checked.h"
#include "isa/lanes.h"

#include <stdint.h>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

static void fill_run(LANE *to, LANE value, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        to[i] = value;
    }
}

#ifndef GOPS_LANES_ROWS

static void gather(const T *from, int64_t stride, T *to, int64_t count)
{
    int64_t i = 0;
#ifdef __SSE2__
    /* The second load ends with the last element that is needed. */
    for (; sizeof(T) == 1 && stride == 2 && i + 16 <= count; i += 16) {
        const __m128i low = _mm_loadu_si128((const void *)(from + 2 * i));
        const __m128i high = _mm_loadu_si128((const void *)(from + 2 * i + 15));
        _mm_storeu_si128(
            (void *)(to + i),
            _mm_packus_epi16(_mm_and_si128(low, _mm_set1_epi16(0xff)), _mm_srli_epi16(high, 8)));
    }
    for (; sizeof(T) == 4 && stride == 2 && i + 4 <= count; i += 4) {
        const __m128 low = _mm_loadu_ps((const void *)(from + 2 * i));
        const __m128 high = _mm_loadu_ps((const void *)(from + 2 * i + 3));
        _mm_storeu_ps((void *)(to + i), _mm_shuffle_ps(low, high, _MM_SHUFFLE(3, 1, 2, 0)));
    }
#endif
    for (; i < count; i++) {
        to[i] = from[i * stride];
    }
}

/* Interleaves `count` pixels that lie `stride` apart, gathered into rows of neighbours first. */
static void interleave_strided(const lane_rows *rows, int64_t stride, LANE *to, int64_t count)
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
            if (from.row[c] != NULL) {
                gather(rows->row[c] + i * stride, stride, gathered[c], length);
            }
        }
        interleave(&from, to + i, length);
    }
}

/* `rows` begin with the first pixel. */
static void interleave_row(const lane_rows *rows, const gops_lanes_row *row, LANE padding, LANE *to)
{
    const int64_t count = row->last - row->first;
    fill_run(to, padding, row->first);
    if (row->stride == 1 || count < 2) {
        interleave(rows, to + row->first, count);
    } else {
        interleave_strided(rows, row->stride, to + row->first, count);
    }
    fill_run(to + row->last, padding, row->length - row->last);
}

#endif

/* What all rows of a plane have in common. */
typedef struct plane_copy {
    const gops_padded_axis *axis;
    const gops_padded_range *range;
    int last;           /* axis: those behind it are merged with it */
    gops_lanes_row row; /* along it */
    int64_t from;       /* the first pixel of such a row */
    LANE padding;
    lane_rows rows;
} plane_copy;

static inline void move_rows(lane_rows *rows, int64_t by)
{
    for (int c = 0; c < CHANNELS; c++) {
        rows->row[c] = rows->row[c] != NULL ? rows->row[c] + by : NULL;
    }
}

/* `count` rows of the copy, which begin `pitch` apart, and `step` in the data. */
static void copy_rows(const plane_copy *copy, int64_t from, int64_t step, int64_t count, LANE *to,
                      int64_t pitch)
{
    lane_rows rows = copy->rows;
    move_rows(&rows, from + copy->from);
    for (int64_t i = 0; i < count; i++, to += pitch) {
        interleave_row(&rows, &copy->row, copy->padding, to);
        move_rows(&rows, i + 1 < count ? step : 0);
    }
}

/* The positions of a residue along axis `a`, which is not the last, and the axes within it; `from` is
 * the data of the position that the axes before `a` are at. */
static void copy_axes(const plane_copy *copy, int a, int64_t from, LANE *to)
{
    const gops_padded_range *range = &copy->range[a];
    const int64_t pitch = range->pitch, inside = range->last - range->first;
    from += range->from;
    fill_run(to, copy->padding, range->first * pitch);
    if (a + 1 == copy->last) {
        copy_rows(copy, from, range->step, inside, to + range->first * pitch, pitch);
    } else {
        for (int64_t j = range->first; j < range->last; j++, from += range->step) {
            copy_axes(copy, a + 1, from, to + j * pitch);
        }
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
                       const T *data, int64_t apart, const lane_rows *rows, LANE padding, LANE *to)
{
    /* A run's last vector may read these behind a plane. Their products are dropped, but memcheck and
     * MemorySanitizer do not follow each lane through the multiplications. */
    const int64_t gap = gops_min(padded->plane - padded->values, LANES_OF_4);
    const int64_t planes = gops_ceil_div(channels, CHANNELS);
    int64_t residue[GOPS_MAX_SPATIAL] = {0};
    LANE *next = to;
    for (int64_t done = 0; done < padded->values; done += padded->positions) {
        gops_padded_range range[GOPS_MAX_SPATIAL];
        gops_padded_ranges(padded, origin, residue, range);
        const int last = merge_axes(padded, range);
        const int64_t pitch = range[last].pitch;
        plane_copy copy = {.axis = padded->axis,
                           .range = range,
                           .last = last,
                           .row = {.first = range[last].first * pitch,
                                   .last = range[last].last * pitch,
                                   .length = padded->axis[last].length * pitch,
                                   .stride = padded->axis[last].stride},
                           .from = range[last].from,
                           .padding = padding,
                           .rows = *rows};
        for (int64_t c = 0, plane = 0; c < channels; c += CHANNELS, plane += padded->plane) {
            for (int i = 0; i < CHANNELS; i++) {
                copy.rows.row[i] =
                    c + i < channels ? data + (c + i) * apart : FILLS_UP(data + c * apart);
            }
            if (last == 0) {
                move_rows(&copy.rows, copy.from);
                interleave_row(&copy.rows, &copy.row, padding, next + plane);
            } else {
                copy_axes(&copy, 0, 0, next + plane);
            }
            if (done + padded->positions == padded->values) {
                fill_run(next + plane + padded->positions, (LANE){0}, gap);
            }
        }
        next += padded->positions;
        gops_padded_next_residue(padded, residue);
    }
    fill_run(to + (planes - 1) * padded->plane + padded->values + gap, (LANE){0}, LANES_OF_4);
}
