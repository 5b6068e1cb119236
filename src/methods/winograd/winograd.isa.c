/* winograd.isa.c: winograd.inc.h for the floating point types. */
#include "methods/winograd/winograd.h"

#include "isa/register.h"
#include "isa/vector.h"

#include <stddef.h>
#include <string.h>

enum { CACHE_LINE = 64 };

/* TILE(vectors, tiles): register tiles have up to 24 sums in 32 registers, or 12 in 16, so that the
 * weights of all vectors and a broadcast value have one too. */
#define GOPS_WINOGRAD_ROW(TILE, vectors)                                                           \
    TILE(vectors, 1)                                                                               \
    TILE(vectors, 2)                                                                               \
    TILE(vectors, 3)                                                                               \
    TILE(vectors, 4)                                                                               \
    TILE(vectors, 5)                                                                               \
    TILE(vectors, 6)
#if defined(__AVX512F__) || defined(__aarch64__)
#define GOPS_WINOGRAD_LONG_ROW(TILE, vectors)                                                      \
    GOPS_WINOGRAD_ROW(TILE, vectors)                                                               \
    TILE(vectors, 7)                                                                               \
    TILE(vectors, 8)
#define GOPS_WINOGRAD_TILES(TILE)                                                                  \
    GOPS_WINOGRAD_LONG_ROW(TILE, 1)                                                                \
    GOPS_WINOGRAD_LONG_ROW(TILE, 2)                                                                \
    GOPS_WINOGRAD_LONG_ROW(TILE, 3)                                                                \
    GOPS_WINOGRAD_ROW(TILE, 4)
enum { GOPS_WINOGRAD_MAX_VECTORS = 4, GOPS_WINOGRAD_MAX_TILES = 8, GOPS_WINOGRAD_MAX_SUMS = 24 };
static const int64_t max_tiles[GOPS_WINOGRAD_MAX_VECTORS] = {8, 8, 8, 6};
#else
#define GOPS_WINOGRAD_TILES(TILE)                                                                  \
    GOPS_WINOGRAD_ROW(TILE, 1)                                                                     \
    GOPS_WINOGRAD_ROW(TILE, 2)
enum { GOPS_WINOGRAD_MAX_VECTORS = 2, GOPS_WINOGRAD_MAX_TILES = 6, GOPS_WINOGRAD_MAX_SUMS = 12 };
static const int64_t max_tiles[GOPS_WINOGRAD_MAX_VECTORS] = {6, 6};
#endif

#if defined(__AVX__) && !defined(__AVX512F__) && !defined(GOPS_MEMORY_SANITIZER)
typedef int32_t f32_lane_number;
typedef int64_t f64_lane_number;
typedef f32_lane_number f32_lane_numbers __attribute__((vector_size(32)));
typedef f64_lane_number f64_lane_numbers __attribute__((vector_size(32)));
static const f32_lane_numbers f32_all_lanes = {0, 1, 2, 3, 4, 5, 6, 7};
static const f64_lane_numbers f64_all_lanes = {0, 1, 2, 3};

static inline __m256 f32_load_lanes(const float *from, f32_lane_numbers mask)
{
    return _mm256_maskload_ps(from, (__m256i)mask);
}

static inline __m256d f64_load_lanes(const double *from, f64_lane_numbers mask)
{
    return _mm256_maskload_pd(from, (__m256i)mask);
}
#endif

#define EACH_COMPUTE "methods/winograd/winograd.inc.h"
#include "isa/each_compute.inc.h"

const gops_winograd_kernels *const GOPS_ISA_NAME(gops_winograd_table)[GOPS_COMPUTES] = {
    [GOPS_COMPUTE_F32] = &f32_winograd_kernels,
    [GOPS_COMPUTE_F64] = &f64_winograd_kernels,
};
