/* Wants what implicit_tile.inc.h wants, whose vector it uses, and LOW and HIGH: the indices that
 * interleave the lower and the upper halves of two vectors. Takes C, LANES, NAME, LOW and HIGH
 * away. */
/*
 * implicit_transpose.inc.h: from sums by pixel to sums by channel.
 *
 * The channels form leaves a vector of channels for each pixel, a tensor wants a run of pixels for
 * each channel. LANES vectors of LANES are transposed in registers: after log2(LANES) rotations of
 * an element's address (vector, lane) by one bit its two halves have changed places.
 */

#include "isa/transpose.inc.h"

static void NAME(transpose)(void *to, int64_t to_ld, const void *from, int64_t from_ld,
                            int64_t channels, int64_t pixels)
{
    for (int64_t c = 0; c < channels; c += LANES) {
        const int64_t height = channels - c < LANES ? channels - c : LANES;
        for (int64_t p = 0; p < pixels; p += LANES) {
            const C *block = (const C *)from + p * from_ld + c;
            C *out = (C *)to + c * to_ld + p;
            const int64_t width = pixels - p < LANES ? pixels - p : LANES;
            NAME(vector) rows[LANES];
            if (width == LANES) {
                UNROLL for (int i = 0; i < LANES; i++)
                {
                    rows[i] = *(const NAME(vector) *)(block + i * from_ld);
                }
            } else {
                UNROLL for (int i = 0; i < LANES; i++)
                {
                    const int64_t row = i < width ? i : 0;
                    rows[i] = *(const NAME(vector) *)(block + row * from_ld);
                }
            }
            NAME(rotate_address)(rows, LANES);
            if (width == LANES && height == LANES) {
                UNROLL for (int i = 0; i < LANES; i++)
                {
                    *(NAME(vector) *)(out + i * to_ld) = rows[i];
                }
            } else {
                for (int64_t i = 0; i < height; i++) {
                    memcpy(out + i * to_ld, &rows[i], (size_t)width * sizeof(C));
                }
            }
        }
    }
}

static inline __attribute__((always_inline)) void
NAME(interleave_row)(C *restrict to, const C *restrict from, int64_t step, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        to[i * step] = from != NULL ? from[i] : 0;
    }
}

static void NAME(interleave)(void *to, const void *const *from, int64_t rows, int64_t count)
{
    if (rows == 2 && from[0] != NULL && from[1] != NULL) { /* which becomes shuffles */
        const C *restrict even = from[0], *restrict odd = from[1];
        C *restrict pairs = to;
        for (int64_t i = 0; i < count; i++) {
            pairs[2 * i] = even[i];
            pairs[2 * i + 1] = odd[i];
        }
        return;
    }
    for (int64_t j = 0; j < rows; j++) {
        if (rows == 1) {
            NAME(interleave_row)(to, from[0], 1, count);
        } else {
            NAME(interleave_row)((C *)to + j, from[j], rows, count);
        }
    }
}

#undef C
#undef LANES
#undef NAME
#undef LOW
#undef HIGH
