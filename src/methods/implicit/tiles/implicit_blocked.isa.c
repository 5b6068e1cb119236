/*
 * implicit_blocked.isa.c: blocked padded inputs of floats, and the register tiles that read them.
 *
 * With [block of planes][position][plane of the block] a pixel's values of GOPS_LANES_BLOCK planes are a
 * cache line. A tile of the channels form that reads one plane after the other touches a line, and on
 * large images a page, of each plane for each tap. Here it takes neighbouring planes from the same
 * lines, at distances that are constants: GOPS_BLOCKED_STEPS steps of K share an entry of the offset
 * table, and so do their address computations, which take the ports that multiply on an Intel processor.
 */
#include "methods/implicit/tiles/implicit_blocked.h"

#include "isa/lanes.h"
#include "isa/register.h"
#include "isa/vector.h"
#include "methods/implicit/tiles/implicit_sizes.h"
#include "methods/implicit/tiles/lanes.h"

#include <stddef.h>
#include <string.h>

#define C float
#define LANES LANES_OF_4
#define NAME(symbol) f32_##symbol
#define LOW GOPS_PASTE(LOW, LANES)
#define HIGH GOPS_PASTE(HIGH, LANES)
#include "isa/vectors.inc.h"
#include "isa/first_lanes.inc.h"
#include "isa/transpose.inc.h"
#include "methods/implicit/tiles/implicit_store.inc.h"

enum { PLANES = GOPS_LANES_BLOCK };

/* A position of a block. */
typedef struct position {
    float plane[PLANES];
} position;

typedef struct plane_rows {
    const float *row[PLANES];
} plane_rows;

/* `count` pixels from number `at` on, of planes `first` to first + LANES - 1; with `whole`, LANES. */
GOPS_INLINE void interleave_vectors(const plane_rows *rows, const int first, int64_t at,
                                    const bool whole, int64_t count, position *to)
{
    f32_vector planes[LANES];
    GOPS_UNROLL
    for (int i = 0; i < LANES; i++) {
        const float *row = rows->row[first + i];
        planes[i] = row == NULL ? (f32_vector){0}
                    : whole     ? *(const f32_vector *)(row + at)
                                : f32_load_first(row + at, count);
    }
    f32_rotate_address(planes, LANES);
    GOPS_UNROLL
    for (int i = 0; i < LANES; i++) {
        if (whole || i < count) {
            *(f32_vector *)(to[at + i].plane + first) = planes[i];
        }
    }
}

static void interleave(const plane_rows *rows, position *to, int64_t count)
{
    for (int first = 0; first < PLANES; first += LANES) {
        int64_t at = 0;
        for (; at + LANES <= count; at += LANES) {
            interleave_vectors(rows, first, at, true, LANES, to);
        }
        if (at < count && count >= LANES) { /* the last vector ends with the last pixel */
            interleave_vectors(rows, first, count - LANES, true, LANES, to);
        } else if (at < count) {
            interleave_vectors(rows, first, 0, false, count, to);
        }
    }
}

#define T float
#define LANE position
#define CHANNELS PLANES
#define FILLS_UP(first) NULL /* data may be infinite */
#define lane_rows plane_rows
#include "methods/implicit/tiles/lanes_input.inc.h"

void GOPS_ISA_NAME(gops_implicit_blocks)(const gops_padded_input *padded, const int64_t *origin,
                                         int64_t channels, const void *data, void *to)
{
    const plane_rows rows = {{NULL}};
    make_input(padded, origin, channels, data, padded->data_plane, &rows, (position){{0}}, to);
}

/* *sum += a * b. gcc would also choose forms of the instruction that overwrite a factor, and move sums
 * from register to register, or to memory. */
GOPS_INLINE void multiply_add(f32_vector *sum, f32_vector a, f32_vector b)
{
#if defined(__FMA__) && !defined(GOPS_MEMORY_SANITIZER) /* which cannot follow assembly */
    __asm__("vfmadd231ps %2, %1, %0" : "+v"(*sum) : "v"(a), "v"(b));
#else
    *sum += a * b;
#endif
}

#define MULTIPLY_ADD(sum, data, weight) multiply_add(&(sum), data, weight)
#define BLOCKED_LIST const gops_tile GOPS_ISA_NAME(gops_implicit_blocked)[]
#include "methods/implicit/tiles/implicit_blocked.inc.h"
