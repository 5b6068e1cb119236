/*
 * types/blocks.h: runs of elements in blocks whose length the compiler knows.
 *
 * A row of an image is some 7 to 56 elements long. A loop that is vectorised for any count takes
 * as many elements at a time as a register has bytes, 64, and does such a run one by one. Blocks of
 * 16, 8 and 4 become a few instructions each; the last one ends where the run ends and may do some
 * elements a second time.
 */
#ifndef GOPS_TYPES_BLOCKS_H
#define GOPS_TYPES_BLOCKS_H

#define GOPS_BLOCKS_OF(length, block, to, from, count)                                             \
    for (int64_t at = 0; at < (count); at += (length)) {                                           \
        const int64_t place = at < (count) - (length) ? at : (count) - (length);                   \
        block((to) + place, (from) + place, length);                                               \
    }

/* Does to[i] = convert(from[i]) for i below count; block(to, from, length) does so for as many. The
 * two must not overlap. */
#define GOPS_IN_BLOCKS(block, to, from, count, convert)                                            \
    if ((count) >= 16) {                                                                           \
        GOPS_BLOCKS_OF(16, block, to, from, count)                                                 \
    } else if ((count) >= 8) {                                                                     \
        GOPS_BLOCKS_OF(8, block, to, from, count)                                                  \
    } else if ((count) >= 4) {                                                                     \
        GOPS_BLOCKS_OF(4, block, to, from, count)                                                  \
    } else {                                                                                       \
        for (int64_t at = 0; at < (count); at++) {                                                 \
            (to)[at] = convert((from)[at]);                                                        \
        }                                                                                          \
    }

#endif
