/* depthwise.isa.c: the sliding-window kernels of each compute type. */
#include "methods/depthwise/depthwise.h"

#include "base/checked.h"
#include "isa/lanes.h"
#include "isa/register.h"
#include "isa/vector.h"

#include <string.h>
#if defined(__AVX__)
#include <immintrin.h>
#endif

/* The largest tiles: rows, vectors. */
enum { GOPS_DEPTHWISE_ROWS = 7, GOPS_DEPTHWISE_VECTORS = 8, GOPS_DEPTHWISE_BLOCKED_PIXELS = 14 };

/* Stores the first lanes of a vector of `bytes` bytes, fewer than all, elements of `size` bytes. */
static inline __attribute__((always_inline)) void
gops_store_part(void *to, const void *vector, const int bytes, const int size, int64_t lanes)
{
#if defined(__AVX512F__)
    const __mmask16 some = (__mmask16)((1u << lanes) - 1);
    if (bytes == 64 && size == 4) {
        _mm512_mask_storeu_ps(to, some, *(const __m512 *)vector);
    } else if (bytes == 64) {
        _mm512_mask_storeu_pd(to, (__mmask8)some, *(const __m512d *)vector);
    } else if (size == 4) {
        _mm256_mask_storeu_ps(to, (__mmask8)some, *(const __m256 *)vector);
    } else {
        _mm256_mask_storeu_pd(to, (__mmask8)some, *(const __m256d *)vector);
    }
#elif defined(__AVX2__) && !defined(GOPS_MEMORY_SANITIZER)
    static const int32_t masks[] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
    const int32_t *from = masks + 8 - lanes * size / 4;
    if (bytes == 32) {
        _mm256_maskstore_ps(to, _mm256_loadu_si256((const __m256i *)(const void *)from),
                            *(const __m256 *)vector);
    } else {
        _mm_maskstore_ps(to, _mm_loadu_si128((const __m128i *)(const void *)from),
                         *(const __m128 *)vector);
    }
#else
    (void)bytes;
    memcpy(to, vector, (size_t)(lanes * size));
#endif
}

#define C float
#define BYTES GOPS_VECTOR_BYTES
#define NAME(symbol) f32_##symbol
#define TALL
#include "methods/depthwise/depthwise_rows.inc.h"
#define C float
#define NAME(symbol) f32_##symbol
#include "methods/depthwise/depthwise_lines.inc.h"
#define C float
#define BYTES GOPS_VECTOR_BYTES
#define NAME(symbol) f32_##symbol
#define LOW LOW_OF_4_BYTES
#define HIGH HIGH_OF_4_BYTES
#include "methods/depthwise/depthwise_interleave.inc.h"
#include "methods/depthwise/depthwise_blocked.inc.h"

/* Half as wide, for images of at most so many columns. */
#if GOPS_VECTOR_BYTES > 16
#define C float
#define BYTES (GOPS_VECTOR_BYTES / 2)
#define NAME(symbol) f32_half_##symbol
#define TALL
#include "methods/depthwise/depthwise_rows.inc.h"

static void f32_rows_fitted(const gops_depthwise_rows *a)
{
    if (a->width <= f32_half_LANES) {
        f32_half_rows(a);
    } else {
        f32_rows(a);
    }
}
#else
#define f32_rows_fitted f32_rows
#endif

#define C double
#define BYTES GOPS_VECTOR_BYTES
#define NAME(symbol) f64_##symbol
#include "methods/depthwise/depthwise_rows.inc.h"
#define C double
#define NAME(symbol) f64_##symbol
#include "methods/depthwise/depthwise_lines.inc.h"
#define C double
#define BYTES GOPS_VECTOR_BYTES
#define NAME(symbol) f64_##symbol
#define LOW LOW_OF_8_BYTES
#define HIGH HIGH_OF_8_BYTES
#include "methods/depthwise/depthwise_interleave.inc.h"
#include "methods/depthwise/depthwise_blocked.inc.h"

#define C uint32_t
#define BYTES GOPS_VECTOR_BYTES
#define NAME(symbol) u32_##symbol
#include "methods/depthwise/depthwise_rows.inc.h"
#define C uint32_t
#define NAME(symbol) u32_##symbol
#include "methods/depthwise/depthwise_lines.inc.h"
#define C uint32_t
#define BYTES GOPS_VECTOR_BYTES
#define NAME(symbol) u32_##symbol
#define LOW LOW_OF_4_BYTES
#define HIGH HIGH_OF_4_BYTES
#include "methods/depthwise/depthwise_interleave.inc.h"
#include "methods/depthwise/depthwise_blocked.inc.h"

#define C uint64_t
#define BYTES GOPS_VECTOR_BYTES
#define NAME(symbol) u64_##symbol
#include "methods/depthwise/depthwise_rows.inc.h"
#define C uint64_t
#define NAME(symbol) u64_##symbol
#include "methods/depthwise/depthwise_lines.inc.h"
#define C uint64_t
#define BYTES GOPS_VECTOR_BYTES
#define NAME(symbol) u64_##symbol
#define LOW LOW_OF_8_BYTES
#define HIGH HIGH_OF_8_BYTES
#include "methods/depthwise/depthwise_interleave.inc.h"
#include "methods/depthwise/depthwise_blocked.inc.h"

#define GOPS_DEPTHWISE_KERNELS(name, rows_function)                                                \
    {                                                                                              \
        .rows = rows_function, .copy = name##_copy, .weave = name##_weave, .lanes = name##_BUNDLE, \
        .bundle_rows = name##_bundle_rows, .bundle_in = name##_bundle_in,                          \
        .bundle_out = name##_bundle_out                                                            \
    }

static const gops_depthwise_kernels rows[GOPS_COMPUTES] = {
    [GOPS_COMPUTE_F32] = GOPS_DEPTHWISE_KERNELS(f32, f32_rows_fitted),
    [GOPS_COMPUTE_F64] = GOPS_DEPTHWISE_KERNELS(f64, f64_rows),
    [GOPS_COMPUTE_U32] = GOPS_DEPTHWISE_KERNELS(u32, u32_rows),
    [GOPS_COMPUTE_U64] = GOPS_DEPTHWISE_KERNELS(u64, u64_rows),
};

const struct gops_depthwise_forms GOPS_ISA_NAME(gops_depthwise_forms) = {
    .rows = rows,
    .masked = GOPS_ISA_NAME(gops_depthwise_masked_table),
    .shuffle = GOPS_ISA_NAME(gops_depthwise_shuffle_table),
};
