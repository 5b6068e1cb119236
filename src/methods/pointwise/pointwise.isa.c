/* pointwise.isa.c: pointwise.inc.h for the floating point types. */
#include "methods/pointwise/pointwise.h"

#include "base/machine.h"
#include "isa/register.h"
#include "isa/vector.h"

#include <stddef.h>
#include <string.h>

/* TILE(mr, vectors, tail) for each tile, and TILE(mr) for those of large outputs. The largest has 24 sums
 * in 32 registers, or 12 in 16. The smaller MR are for numbers of channels that the largest does not
 * divide. A tail needs two registers more, so AVX2 has none: three vectors and one tail pixel took 1.6
 * times as long as estimated (Zen 5). */
#if defined(__AVX512F__)
enum { GOPS_POINTWISE_MAX_TAIL = 2 };
#define GOPS_POINTWISE_TAILS(TILE, mr) TILE(mr, 3, 1) TILE(mr, 3, 2)
#else
enum { GOPS_POINTWISE_MAX_TAIL = 0 };
#define GOPS_POINTWISE_TAILS(TILE, mr)
#endif
#define GOPS_POINTWISE_TILES_OF(TILE, mr)                                                          \
    TILE(mr, 1, 0)                                                                                 \
    TILE(mr, 2, 0)                                                                                 \
    TILE(mr, 3, 0)                                                                                 \
    GOPS_POINTWISE_TAILS(TILE, mr)
#define GOPS_POINTWISE_TILES_UP_TO_4(TILE)                                                         \
    GOPS_POINTWISE_TILES_OF(TILE, 1)                                                               \
    GOPS_POINTWISE_TILES_OF(TILE, 2)                                                               \
    GOPS_POINTWISE_TILES_OF(TILE, 3)                                                               \
    GOPS_POINTWISE_TILES_OF(TILE, 4)
#if defined(__AVX512F__) || defined(__aarch64__)
#define GOPS_POINTWISE_TILES(TILE)                                                                 \
    GOPS_POINTWISE_TILES_UP_TO_4(TILE)                                                             \
    GOPS_POINTWISE_TILES_OF(TILE, 5)                                                               \
    GOPS_POINTWISE_TILES_OF(TILE, 6)                                                               \
    GOPS_POINTWISE_TILES_OF(TILE, 7)                                                               \
    GOPS_POINTWISE_TILES_OF(TILE, 8)
#define GOPS_POINTWISE_LARGE_TILES(TILE)                                                           \
    TILE(1) TILE(2) TILE(3) TILE(4) TILE(5) TILE(6) TILE(7) TILE(8)
enum { GOPS_POINTWISE_MR = 8 };
#else
#define GOPS_POINTWISE_TILES(TILE) GOPS_POINTWISE_TILES_UP_TO_4(TILE)
#define GOPS_POINTWISE_LARGE_TILES(TILE) TILE(1) TILE(2) TILE(3) TILE(4)
enum { GOPS_POINTWISE_MR = 4 };
#endif
enum { GOPS_POINTWISE_VECTORS = 3 };

/* TILE(vectors, columns, chains) for each tile of the other form. It keeps the sums of so many k
 * apart, since an addition waits 4 cycles for the one before it, and one column of one vector would
 * have nothing else to do. The number does not depend on the columns, so neither do the bits of a
 * column on how many others there are. */
#define GOPS_COLUMN_TILES_OF_2(TILE, vectors, chains)                                              \
    TILE(vectors, 1, chains)                                                                       \
    TILE(vectors, 2, chains)
#if defined(__AVX512F__) || defined(__aarch64__)
enum { GOPS_POINTWISE_COLUMNS = 6 };
#define GOPS_COLUMN_TILES_OF(TILE, vectors, chains)                                                \
    GOPS_COLUMN_TILES_OF_2(TILE, vectors, chains)                                                  \
    TILE(vectors, 3, chains)                                                                       \
    TILE(vectors, 4, chains)                                                                       \
    TILE(vectors, 5, chains)                                                                       \
    TILE(vectors, 6, chains)
#else
/* Three columns of four vectors need 17 registers: with AVX2 they took 1.6 times as long as two. */
enum { GOPS_POINTWISE_COLUMNS = 2 };
#define GOPS_COLUMN_TILES_OF(TILE, vectors, chains) GOPS_COLUMN_TILES_OF_2(TILE, vectors, chains)
#endif
#define GOPS_POINTWISE_COLUMN_TILES(TILE)                                                          \
    GOPS_COLUMN_TILES_OF(TILE, 1, 4)                                                               \
    GOPS_COLUMN_TILES_OF(TILE, 2, 2)                                                               \
    GOPS_COLUMN_TILES_OF(TILE, 3, 1)                                                               \
    GOPS_COLUMN_TILES_OF(TILE, 4, 1)
enum { GOPS_POINTWISE_COLUMN_VECTORS = 4 };

#define EACH_COMPUTE "methods/pointwise/pointwise.inc.h"
#include "isa/each_compute.inc.h"

const gops_pointwise *const GOPS_ISA_NAME(gops_pointwise_table)[GOPS_COMPUTES] = {
    [GOPS_COMPUTE_F32] = &f32_pointwise_kernels,
    [GOPS_COMPUTE_F64] = &f64_pointwise_kernels,
};
