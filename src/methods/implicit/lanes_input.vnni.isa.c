/*
 * lanes_input.vnni.isa.c: makes the padded input of a quantized plan, several channels to a value
 * (lanes.h).
 *
 * A row of the copy is padding, a run of data, and padding. A run is made of rows of bytes, one for
 * each channel of the lane, which are interleaved. Channels beyond the last one repeat the first of
 * the lane: their weights are 0.
 */
#include "methods/implicit/lanes.h"

#include "base/checked.h"
#include "isa/lanes.h"
#include "isa/register.h"
#include "isa/vector.h"

#include <string.h>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#ifdef GOPS_LANES_QUADS
enum { CHANNELS = 4 };
#else
enum { CHANNELS = 2 };
#endif

/* The rows of bytes of one lane's channels. */
typedef struct byte_rows {
    const uint8_t *row[CHANNELS];
    uint8_t flip, zero;
} byte_rows;

#ifdef GOPS_LANES_QUADS
#include "methods/implicit/lanes_quads.inc.h"
#else
#include "methods/implicit/lanes_pairs.inc.h"
#endif

/* What a pixel of padding is, in all channels: the zero point. */
static uint32_t padding_of(const gops_lanes_source *source)
{
#ifdef GOPS_LANES_QUADS
    return source->zero * UINT32_C(0x01010101);
#else
    (void)source;
    return 0;
#endif
}

static void fill_run(uint32_t *to, uint32_t value, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        to[i] = value;
    }
}

/* Interleaves `count` pixels that lie `stride` apart, gathered into rows of neighbours first. */
static void interleave_strided(const byte_rows *rows, int64_t stride, uint32_t *to, int64_t count)
{
    enum { BLOCK = 64 };
    uint8_t gathered[CHANNELS][BLOCK];
    byte_rows from = *rows;
    for (int c = 0; c < CHANNELS; c++) {
        from.row[c] = gathered[c];
    }
    for (int64_t i = 0; i < count; i += BLOCK) {
        const int64_t length = gops_min(BLOCK, count - i);
        for (int c = 0; c < CHANNELS; c++) {
            const uint8_t *row = rows->row[c] + i * stride;
            for (int64_t j = 0; j < length; j++) {
                gathered[c][j] = row[j * stride];
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
    byte_rows rows;
} plane_copy;

static void copy_row(const plane_copy *copy, int64_t from, uint32_t *to)
{
    const gops_padded_axis *axis = &copy->axis[copy->last];
    const gops_padded_range *range = &copy->range[copy->last];
    const int64_t count = range->last - range->first, pitch = range->pitch;
    byte_rows rows = copy->rows;
    for (int c = 0; c < CHANNELS; c++) {
        rows.row[c] += from;
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

void GOPS_ISA_NAME(gops_lanes_input)(const gops_padded_input *padded, const int64_t *origin,
                                     int64_t channels, const gops_lanes_source *source,
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
                           .padding = padding_of(source),
                           .rows = {.flip = source->flip, .zero = source->zero}};
        for (int64_t c = 0, plane = 0; c < channels; c += CHANNELS, plane += padded->plane) {
            for (int i = 0; i < CHANNELS; i++) {
                const int64_t channel = c + i < channels ? c + i : c;
                copy.rows.row[i] = source->data + channel * source->apart;
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
