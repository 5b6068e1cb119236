/*
 * types/blocks.h: processes runs of elements in blocks of a constant length.
 *
 * A row of an image is often only 7 to 56 elements long. A loop over any count is vectorized for
 * blocks of up to 64 elements, and executes shorter runs one element at a time. Blocks of 16, 8 and
 * 4 elements compile to a few instructions each. The last block ends where the run ends, so it may
 * process some elements a second time.
 */
#ifndef GOPS_TYPES_BLOCKS_H
#define GOPS_TYPES_BLOCKS_H

#define GOPS_BLOCKS_OF(length, block, to, from, count)                                             \
    for (int64_t at = 0; at < (count); at += (length)) {                                           \
        const int64_t place = at < (count) - (length) ? at : (count) - (length);                   \
        block((to) + place, (from) + place, length);                                               \
    }

/* to[i] = convert(from[i]) for all i < count. block(to, from, length) does this for `length`
 * elements. The two buffers must not overlap. */
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
