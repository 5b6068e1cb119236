/* ort_pass_window.c: the largest or the sum of each window, by AVX-512 or AVX2 where these are used. */
#include "engines/onnxruntime/pass/ort_pass_window.h"

#include <math.h>
#include <stdbool.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

enum { Y, X };

/* Small planes whose windows are three by three around each element. */
enum { SMALL_PLANE = 4096, SMALL_ROW = 64 };

static bool is_around(const gops_ort_pass *pass)
{
    enum { LEAST = 16 }; /* elements */
    bool is = pass->plane >= LEAST && pass->plane <= SMALL_PLANE && pass->in[X] >= 2 &&
              pass->in[X] <= SMALL_ROW;
    for (int axis = Y; axis <= X; axis++) {
        is = is && pass->window.kernel[axis] == 3 && pass->window.strides[axis] == 1 &&
             pass->window.pads_begin[axis] == 1 && pass->out[axis] == pass->in[axis];
    }
    return is;
}

/* Where a loop over vectors goes on: the last vector ends with the row. */
static inline int64_t next_vector(int64_t i, int64_t lanes, int64_t count)
{
    i += lanes;
    return i < count && i + lanes > count ? count - lanes : i;
}

/* As maxps: the second value where one is a NaN. What a window has so far comes second, and begins as EMPTY, so that
 * a NaN of the data is left out. */
static inline float larger_one(float one, float other)
{
    return one > other ? one : other;
}

/* Rows of fewer floats than a vector has. */
#define TARGET
#define VECTOR float
#define LANES 1
#define SET(symbol) narrow_##symbol
#define LOAD(p) (*(p))
#define STORE(p, v) (*(p) = (v))
#define ALL(f) (f)
#define ADD(v, w) ((v) + (w))
#define TIMES(v, w) ((v) * (w))
#define LARGER(v, w) larger_one(v, w)
#define EVENS(p) (p)[0]
#define ODDS(p) (p)[1]
#define IN_ORDER(v) (v)
#include "engines/onnxruntime/pass/ort_pass_windows.inc.h"

typedef float four __attribute__((vector_size(16), aligned(4), may_alias));
typedef int32_t four_masks __attribute__((vector_size(16)));

static inline four larger_four(four one, four other)
{
    const four_masks mask = one > other;
    return (four)((mask & (four_masks)one) | (~mask & (four_masks)other));
}

static inline four every_second(const float *of)
{
    return (four){of[0], of[2], of[4], of[6]};
}

#define TARGET
#define VECTOR four
#define LANES 4
#define SET(symbol) four_##symbol
#define LOAD(p) (*(const four *)(p))
#define STORE(p, v) (*(four *)(p) = (v))
#define ALL(f) ((f) - (four){0})
#define ADD(v, w) ((v) + (w))
#define TIMES(v, w) ((v) * (w))
#define LARGER(v, w) larger_four(v, w)
#define EVENS(p) every_second(p)
#define ODDS(p) every_second((p) + 1)
#define IN_ORDER(v) (v)
#include "engines/onnxruntime/pass/ort_pass_windows.inc.h"

#ifdef __x86_64__
#define TARGET __attribute__((target("avx2")))
#define VECTOR __m256
#define LANES 8
#define SET(symbol) avx2_##symbol
#define LOAD(p) _mm256_loadu_ps(p)
#define STORE(p, v) _mm256_storeu_ps(p, v)
#define ALL(f) _mm256_set1_ps(f)
#define ADD(v, w) _mm256_add_ps(v, w)
#define TIMES(v, w) _mm256_mul_ps(v, w)
#define LARGER(v, w) _mm256_max_ps(v, w)
/* Of 16 floats, first those of both halves' first halves; then in order. */
#define EVENS(p) _mm256_shuffle_ps(LOAD(p), LOAD((p) + LANES), 0x88)
#define ODDS(p) _mm256_shuffle_ps(LOAD(p), LOAD((p) + LANES), 0xDD)
#define IN_ORDER(v) _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(v), 0xD8))
#include "engines/onnxruntime/pass/ort_pass_windows.inc.h"

#define TARGET __attribute__((target("avx512f")))
#define VECTOR __m512
#define LANES 16
#define SET(symbol) avx512_##symbol
#define LOAD(p) _mm512_loadu_ps(p)
#define STORE(p, v) _mm512_storeu_ps(p, v)
#define ALL(f) _mm512_set1_ps(f)
#define ADD(v, w) _mm512_add_ps(v, w)
#define TIMES(v, w) _mm512_mul_ps(v, w)
#define LARGER(v, w) _mm512_max_ps(v, w)
/* The same by quarters. */
#define EVENS(p) _mm512_shuffle_ps(LOAD(p), LOAD((p) + LANES), 0x88)
#define ODDS(p) _mm512_shuffle_ps(LOAD(p), LOAD((p) + LANES), 0xDD)
#define IN_ORDER(v)                                                                                \
    _mm512_castpd_ps(                                                                              \
        _mm512_permutexvar_pd(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), _mm512_castps_pd(v)))
#include "engines/onnxruntime/pass/ort_pass_windows.inc.h"
#endif

typedef void plane_pass(const gops_ort_pass *pass, float *to, const float *plane);

/* Of rows of a vector of so many floats at least; around each element, of planes that have two more. */
typedef struct window_kernels {
    gops_ort_vectors vectors;
    int64_t lanes;
    plane_pass *around[2], *windows[2]; /* largest, sum */
} window_kernels;

#define KERNELS(vectors, lanes, name)                                                              \
    {                                                                                              \
        vectors, lanes, {name##_largest_windows_around, name##_sum_windows_around},                \
        {                                                                                          \
            name##_largest_windows, name##_sum_windows                                             \
        }                                                                                          \
    }

static plane_pass *choose(const gops_ort_pass *pass)
{
    /* Best first. */
    static const window_kernels kernels[] = {
#ifdef __x86_64__
        KERNELS(GOPS_ORT_AVX512, 16, avx512),
        KERNELS(GOPS_ORT_AVX2, 8, avx2),
#endif
        KERNELS(GOPS_ORT_PLAIN, 4, four),
    };
    const int sum = pass->kind == GOPS_ORT_PASS_SUM;
    const bool around = is_around(pass);
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        const window_kernels *of = &kernels[i];
        if (pass->vectors >= of->vectors &&
            (around ? pass->plane >= of->lanes + 2 : pass->in[X] >= of->lanes)) {
            return around ? of->around[sum] : of->windows[sum];
        }
    }
    return sum ? narrow_sum_windows : narrow_largest_windows;
}

void gops_ort_pass_windows(const gops_ort_pass *pass, const gops_ort_pass_operands *operands,
                           int64_t first, int64_t last)
{
    plane_pass *const compute = choose(pass);
    const float *data = operands->data;
    float *output = operands->output;
    for (int64_t i = first; i < last; i++) {
        compute(pass, output + i * pass->output_step, data + i * pass->data_step);
    }
}
