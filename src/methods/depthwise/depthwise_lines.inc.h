/* Wants C and NAME(symbol); NAME(vector), NAME(loose) and NAME(LANES) from depthwise_rows.inc.h. */
/*
 * depthwise_lines.inc.h: rows of data into the copy, and elements of a row apart and together.
 *
 * With stride s along x, output x and tap k meet at x * s + k. A row taken apart into its s phases
 * makes that neighbouring elements of one phase again; a transposed convolution computes the phases
 * of its output, which are put together. Constant strides let the compiler make shuffles of it.
 */

/* A row is copied in whole vectors, the last one overlapping the one before it; a row shorter than
 * a vector in two overlapping quarters of a vector if it has one. Neither reads beyond the row. */
static inline __attribute__((always_inline)) void
NAME(copy_row)(C *restrict to, const C *restrict from, int64_t count)
{
    int64_t i = 0;
    if (count >= NAME(LANES)) {
        for (; i < count - NAME(LANES); i += NAME(LANES)) {
            memcpy(to + i, from + i, NAME(LANES) * sizeof(C));
        }
        memcpy(to + count - NAME(LANES), from + count - NAME(LANES), NAME(LANES) * sizeof(C));
    } else if (count >= NAME(LANES) / 2) {
        const int64_t second = count - NAME(LANES) / 2;
        memcpy(to, from, NAME(LANES) / 2 * sizeof(C));
        memcpy(to + second, from + second, NAME(LANES) / 2 * sizeof(C));
    } else if (count >= NAME(LANES) / 4) {
        const int64_t second = count - NAME(LANES) / 4;
        memcpy(to, from, NAME(LANES) / 4 * sizeof(C));
        memcpy(to + second, from + second, NAME(LANES) / 4 * sizeof(C));
    } else {
        for (; i < count; i++) {
            to[i] = from[i];
        }
    }
}

static inline __attribute__((always_inline)) void
NAME(split_row)(C *restrict to, C *restrict second, const C *restrict from, int64_t length)
{
    for (int64_t i = 0; i < length / 2; i++) {
        to[i] = from[i * 2];
        second[i] = from[i * 2 + 1];
    }
    if (length % 2 != 0) {
        to[length / 2] = from[length - 1];
    }
}

static inline __attribute__((always_inline)) void
NAME(gather_row)(C *restrict to, const C *restrict from, int64_t stride, int64_t length)
{
    for (int64_t i = 0; i * stride < length; i++) {
        to[i] = from[i * stride];
    }
}

static void NAME(copy)(const gops_depthwise_copy *a)
{
    C *to = a->to, *second = a->second;
    const C *from = a->from;
    for (int64_t r = 0; r < a->rows; r++, to += a->to_pitch, from += a->from_pitch) {
        if (a->stride == 1) {
            NAME(copy_row)(to, from, a->length);
        } else if (a->second != NULL) {
            NAME(split_row)(to, second + r * a->to_pitch, from, a->length);
        } else {
            NAME(gather_row)(to, from, a->stride, a->length);
        }
    }
}

#undef C
#undef NAME
