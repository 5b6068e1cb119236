/* depthwise.isa.c: the kernels of depthwise/rows and depthwise/blocked for each compute type. */
#include "methods/depthwise/depthwise.h"

#include "base/checked.h"
#include "isa/lanes.h"
#include "isa/register.h"
#include "isa/vector.h"

#include <string.h>
#if defined(__AVX__)
#include <immintrin.h>
#endif

enum {
    /* The largest register tiles of rows: MR rows, NR vectors. */
    MAX_MR = 7,
    MAX_NR = 8,
    /* The largest register tile of blocked: 1 x 14 pixels. */
    MAX_PIXELS = 14,
};

/* Stores the first `lanes` lanes, fewer than all, of a vector of `bytes` bytes; elements have
 * `size` bytes. */
static inline __attribute__((always_inline)) void
store_first_lanes(void *to, const void *vector, const int bytes, const int size, int64_t lanes)
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
#define LOW LOW_OF_4_BYTES
#define HIGH HIGH_OF_4_BYTES
#define TALL
#include "methods/depthwise/depthwise_rows.inc.h"
#include "methods/depthwise/depthwise_copy.inc.h"
#include "methods/depthwise/depthwise_interleave.inc.h"
#include "methods/depthwise/depthwise_blocked.inc.h"
#undef TALL
#undef C
#undef BYTES
#undef NAME
#undef LOW
#undef HIGH

/* Vectors half as wide, for images of at most so many columns. */
#if GOPS_VECTOR_BYTES > 16
#define C float
#define BYTES (GOPS_VECTOR_BYTES / 2)
#define NAME(symbol) f32_half_##symbol
#define TALL
#include "methods/depthwise/depthwise_rows.inc.h"
#undef TALL
#undef C
#undef BYTES
#undef NAME

static void f32_rows_by_width(const gops_depthwise_rows *a)
{
    if (a->width <= f32_half_LANES) {
        f32_half_rows(a);
    } else {
        f32_rows(a);
    }
}
#else
#define f32_rows_by_width f32_rows
#endif

#define C double
#define BYTES GOPS_VECTOR_BYTES
#define NAME(symbol) f64_##symbol
#define LOW LOW_OF_8_BYTES
#define HIGH HIGH_OF_8_BYTES
#include "methods/depthwise/depthwise_rows.inc.h"
#include "methods/depthwise/depthwise_copy.inc.h"
#include "methods/depthwise/depthwise_interleave.inc.h"
#include "methods/depthwise/depthwise_blocked.inc.h"
#undef C
#undef BYTES
#undef NAME
#undef LOW
#undef HIGH

#define C uint32_t
#define BYTES GOPS_VECTOR_BYTES
#define NAME(symbol) u32_##symbol
#define LOW LOW_OF_4_BYTES
#define HIGH HIGH_OF_4_BYTES
#include "methods/depthwise/depthwise_rows.inc.h"
#include "methods/depthwise/depthwise_copy.inc.h"
#include "methods/depthwise/depthwise_interleave.inc.h"
#include "methods/depthwise/depthwise_blocked.inc.h"
#undef C
#undef BYTES
#undef NAME
#undef LOW
#undef HIGH

#define C uint64_t
#define BYTES GOPS_VECTOR_BYTES
#define NAME(symbol) u64_##symbol
#define LOW LOW_OF_8_BYTES
#define HIGH HIGH_OF_8_BYTES
#include "methods/depthwise/depthwise_rows.inc.h"
#include "methods/depthwise/depthwise_copy.inc.h"
#include "methods/depthwise/depthwise_interleave.inc.h"
#include "methods/depthwise/depthwise_blocked.inc.h"
#undef C
#undef BYTES
#undef NAME
#undef LOW
#undef HIGH

#define GOPS_DEPTHWISE_KERNELS(name, rows_function)                                                \
    {                                                                                              \
        .rows = rows_function, .copy = name##_copy, .interleave = name##_interleave,               \
        .lanes = name##_LANES, .blocked_rows = name##_blocked_rows,                                \
        .to_blocked = name##_to_blocked, .from_blocked = name##_from_blocked                       \
    }

static const gops_depthwise_kernels rows[GOPS_COMPUTES] = {
    [GOPS_COMPUTE_F32] = GOPS_DEPTHWISE_KERNELS(f32, f32_rows_by_width),
    [GOPS_COMPUTE_F64] = GOPS_DEPTHWISE_KERNELS(f64, f64_rows),
    [GOPS_COMPUTE_U32] = GOPS_DEPTHWISE_KERNELS(u32, u32_rows),
    [GOPS_COMPUTE_U64] = GOPS_DEPTHWISE_KERNELS(u64, u64_rows),
};

const struct gops_depthwise_forms GOPS_ISA_NAME(gops_depthwise_forms) = {
    .rows = rows,
    .masked = GOPS_ISA_NAME(gops_depthwise_masked_table),
    .shuffle = GOPS_ISA_NAME(gops_depthwise_shuffle_table),
};
