/* lanes.h: indices for __builtin_shufflevector. */
#ifndef GOPS_ISA_LANES_H
#define GOPS_ISA_LANES_H

#include "isa/isa.h"
#include "isa/vector.h"

/* LOW_n and HIGH_n interleave the lower and the upper halves of two vectors of n lanes. */
#define LOW_2 0, 2
#define HIGH_2 1, 3
#define LOW_4 0, 4, 1, 5
#define HIGH_4 2, 6, 3, 7
#define LOW_8 0, 8, 1, 9, 2, 10, 3, 11
#define HIGH_8 4, 12, 5, 13, 6, 14, 7, 15
#define LOW_16 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define HIGH_16 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
/* clang-format off */
#define LOW_32                                                                                     \
    0, 32, 1, 33, 2, 34, 3, 35, 4, 36, 5, 37, 6, 38, 7, 39,                                        \
    8, 40, 9, 41, 10, 42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47
#define HIGH_32                                                                                    \
    16, 48, 17, 49, 18, 50, 19, 51, 20, 52, 21, 53, 22, 54, 23, 55,                                \
    24, 56, 25, 57, 26, 58, 27, 59, 28, 60, 29, 61, 30, 62, 31, 63
/* clang-format on */
/* For two vectors of 16 lanes, in groups of four lanes (quads): these interleave the lower or the
 * upper halves of each quad by single lanes, the same by pairs of lanes, and take the even or the
 * odd quads of both. */
#define LOW_OF_QUADS 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29
#define HIGH_OF_QUADS 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31
#define LOW_PAIRS_OF_QUADS 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29
#define HIGH_PAIRS_OF_QUADS 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31
#define EVEN_QUADS 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27
#define ODD_QUADS 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31
/* The first 8, or 4, of 16 lanes, two or four times each. */
#define TWICE_8 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7
#define FOUR_TIMES_4 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3
/* The even lanes of two vectors, and the even ones of the first with the odd ones of the second. */
#define EVEN_4 0, 2, 4, 6
#define EVEN_8 EVEN_4, 8, 10, 12, 14
#define EVEN_16 EVEN_8, 16, 18, 20, 22, 24, 26, 28, 30
#define EVEN_ODD_2 0, 3
#define EVEN_ODD_4 0, 2, 5, 7
#define EVEN_ODD_8 0, 2, 4, 6, 9, 11, 13, 15
#define EVEN_ODD_16 EVEN_8, 17, 19, 21, 23, 25, 27, 29, 31

/* Vectors of two halves: the lower halves of two, the upper ones; and in each half the lower
 * elements of two interleaved, the upper ones. */
#define LOW_HALVES_4 0, 1, 4, 5
#define HIGH_HALVES_4 2, 3, 6, 7
#define LOW_OF_HALVES_4 0, 4, 2, 6
#define HIGH_OF_HALVES_4 1, 5, 3, 7
#define LOW_HALVES_8 0, 1, 2, 3, 8, 9, 10, 11
#define HIGH_HALVES_8 4, 5, 6, 7, 12, 13, 14, 15
#define LOW_OF_HALVES_8 0, 8, 1, 9, 4, 12, 5, 13
#define HIGH_OF_HALVES_8 2, 10, 3, 11, 6, 14, 7, 15

/* How many elements of 2, of 4 and of 8 bytes a vector register has. */
#if GOPS_VECTOR_BYTES == 64
#define LANES_OF_2 32
#define LANES_OF_4 16
#define LANES_OF_8 8
#elif GOPS_VECTOR_BYTES == 32
#define LANES_OF_2 16
#define LANES_OF_4 8
#define LANES_OF_8 4
#else
#define LANES_OF_2 8
#define LANES_OF_4 4
#define LANES_OF_8 2
#endif

#endif
