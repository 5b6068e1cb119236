/*
 * lanes_floats.inc.h: f32_vector, floats beside lanes or sums of 32 bits.
 *
 * Parameter: FLOATS, string: the file that says what is done with them, with C, LANES and NAME of
 * isa/each_compute.inc.h
 */
#define C float
#define LANES LANES_OF_4
#define NAME(symbol) f32_##symbol
#include "isa/vectors.inc.h"
#include FLOATS
#undef C
#undef LANES
#undef NAME
#undef FLOATS
