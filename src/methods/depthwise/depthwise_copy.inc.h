/*
 * depthwise_copy.inc.h: copies rows of data into the padded copy.
 *
 * With stride s along x, output x and tap k meet at data x * s + k. Deinterleaving a row into its s
 * residues makes the data of neighbouring outputs neighbours again. The constant stride of 2 lets
 * the compiler turn the loop into shuffles.
 *
 * Parameters:
 *   C             the compute type
 *   NAME(symbol)  the name of a function or type of this instance
 * and NAME(LANES) of depthwise_rows.inc.h.
 */

#define LANES NAME(LANES)
#define copy_row NAME(copy_row)
#define deinterleave_row NAME(deinterleave_row)
#define copy_strided_row NAME(copy_strided_row)

/* Copies a row in whole vectors, of which the last one overlaps the one before it; a shorter row in
 * two overlapping halves or quarters of a vector. Reads nothing beyond the row. */
static inline __attribute__((always_inline)) void copy_row(C *restrict to, const C *restrict from,
                                                           int64_t count)
{
    int64_t i = 0;
    if (count >= LANES) {
        for (; i < count - LANES; i += LANES) {
            memcpy(to + i, from + i, LANES * sizeof(C));
        }
        memcpy(to + count - LANES, from + count - LANES, LANES * sizeof(C));
    } else if (count >= LANES / 2) {
        const int64_t second = count - LANES / 2;
        memcpy(to, from, LANES / 2 * sizeof(C));
        memcpy(to + second, from + second, LANES / 2 * sizeof(C));
    } else if (count >= LANES / 4) {
        const int64_t second = count - LANES / 4;
        memcpy(to, from, LANES / 4 * sizeof(C));
        memcpy(to + second, from + second, LANES / 4 * sizeof(C));
    } else {
        for (; i < count; i++) {
            to[i] = from[i];
        }
    }
}

static inline __attribute__((always_inline)) void
deinterleave_row(C *restrict to, C *restrict odd, const C *restrict from, int64_t length)
{
    for (int64_t i = 0; i < length / 2; i++) {
        to[i] = from[i * 2];
        odd[i] = from[i * 2 + 1];
    }
    if (length % 2 != 0) {
        to[length / 2] = from[length - 1];
    }
}

static inline __attribute__((always_inline)) void
copy_strided_row(C *restrict to, const C *restrict from, int64_t stride, int64_t length)
{
    for (int64_t i = 0; i * stride < length; i++) {
        to[i] = from[i * stride];
    }
}

static void NAME(copy)(const gops_depthwise_copy *a)
{
    C *to = a->to, *odd = a->odd;
    const C *from = a->from;
    for (int64_t r = 0; r < a->rows; r++, to += a->to_pitch, from += a->from_pitch) {
        if (a->stride == 1) {
            copy_row(to, from, a->length);
        } else if (a->odd != NULL) {
            deinterleave_row(to, odd + r * a->to_pitch, from, a->length);
        } else {
            copy_strided_row(to, from, a->stride, a->length);
        }
    }
}

#undef LANES
#undef copy_row
#undef deinterleave_row
#undef copy_strided_row
