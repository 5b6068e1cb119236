/* ort_pass_window.c: the largest or the sum of each window, by AVX2 where the processor has it. */
#include "engines/onnxruntime/region/ort_pass_window.h"

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
    enum { LEAST = 16 }; /* elements, for vectors */
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
#define LOAD(p) (*(p))
#define STORE(p, v) (*(p) = (v))
#define TIMES(v, factor) ((v) * (factor))
#define NAME(symbol) narrow_largest_##symbol
#define FIRST(v) larger_one(v, EMPTY)
#define COMBINE(v, w) larger_one(w, v)
#define COMBINE_ONE(a, b) larger_one(b, larger_one(a, EMPTY))
#define COMBINE_PAIRS(p) larger_one((p)[0], (p)[1])
#define COMBINE_THREES(p) larger_one(larger_one((p)[0], (p)[1]), (p)[2])
#define EMPTY (-INFINITY)
#include "engines/onnxruntime/region/ort_pass_window.inc.h"
#define NAME(symbol) narrow_sum_##symbol
#define FIRST(v) (v)
#define COMBINE(v, w) ((v) + (w))
#define COMBINE_ONE(a, b) ((a) + (b))
#define COMBINE_PAIRS(p) ((p)[0] + (p)[1])
#define COMBINE_THREES(p) ((p)[0] + (p)[1] + (p)[2])
#define EMPTY 0
#include "engines/onnxruntime/region/ort_pass_window.inc.h"
#undef VECTOR
#undef LANES
#undef LOAD
#undef STORE

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

#define VECTOR four
#define LANES 4
#define LOAD(p) (*(const four *)(p))
#define STORE(p, v) (*(four *)(p) = (v))
#define NAME(symbol) four_largest_##symbol
#define FIRST(v) larger_four(v, EMPTY - (four){0})
#define COMBINE(v, w) larger_four(w, v)
#define COMBINE_ONE(a, b) larger_one(b, larger_one(a, EMPTY))
#define COMBINE_PAIRS(p) larger_four(every_second(p), every_second((p) + 1))
#define COMBINE_THREES(p) larger_four(COMBINE_PAIRS(p), every_second((p) + 2))
#define EMPTY (-INFINITY)
#include "engines/onnxruntime/region/ort_pass_window.inc.h"
#define NAME(symbol) four_sum_##symbol
#define FIRST(v) (v)
#define COMBINE(v, w) ((v) + (w))
#define COMBINE_ONE(a, b) ((a) + (b))
#define COMBINE_PAIRS(p) (every_second(p) + every_second((p) + 1))
#define COMBINE_THREES(p) (COMBINE_PAIRS(p) + every_second((p) + 2))
#define EMPTY 0
#include "engines/onnxruntime/region/ort_pass_window.inc.h"
#undef TARGET
#undef VECTOR
#undef LANES
#undef LOAD
#undef STORE
#undef TIMES

#ifdef __x86_64__
#define TARGET __attribute__((target("avx2")))
#define VECTOR __m256
#define LANES 8
#define LOAD(p) _mm256_loadu_ps(p)
#define STORE(p, v) _mm256_storeu_ps(p, v)
#define TIMES(v, factor) _mm256_mul_ps(v, _mm256_set1_ps(factor))
/* Of 16 floats, first those of both halves' first halves; then in order. */
#define EVENS(p) _mm256_shuffle_ps(LOAD(p), LOAD((p) + LANES), 0x88)
#define ODDS(p) _mm256_shuffle_ps(LOAD(p), LOAD((p) + LANES), 0xDD)
#define IN_ORDER(v) _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(v), 0xD8))
#define NAME(symbol) avx2_largest_##symbol
#define FIRST(v) _mm256_max_ps(v, _mm256_set1_ps(EMPTY))
#define COMBINE(v, w) _mm256_max_ps(w, v)
#define COMBINE_ONE(a, b) larger_one(b, larger_one(a, EMPTY))
#define COMBINE_PAIRS(p) IN_ORDER(COMBINE(EVENS(p), ODDS(p)))
#define COMBINE_THREES(p) IN_ORDER(COMBINE(COMBINE(EVENS(p), ODDS(p)), EVENS((p) + 2)))
#define EMPTY (-INFINITY)
#include "engines/onnxruntime/region/ort_pass_window.inc.h"
#define NAME(symbol) avx2_sum_##symbol
#define FIRST(v) (v)
#define COMBINE(v, w) _mm256_add_ps(v, w)
#define COMBINE_ONE(a, b) ((a) + (b))
#define COMBINE_PAIRS(p) IN_ORDER(COMBINE(EVENS(p), ODDS(p)))
#define COMBINE_THREES(p) IN_ORDER(COMBINE(COMBINE(EVENS(p), ODDS(p)), EVENS((p) + 2)))
#define EMPTY 0
#include "engines/onnxruntime/region/ort_pass_window.inc.h"
#endif

typedef void plane_pass(const gops_ort_pass *pass, float *to, const float *plane);

static plane_pass *choose(const gops_ort_pass *pass)
{
    enum { FOUR = 4 };
    const bool sums = pass->kind == GOPS_ORT_PASS_SUM, around = is_around(pass);
    const int64_t width = pass->in[X];
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2") && (around || width >= LANES)) {
        return around ? (sums ? avx2_sum_windows_around : avx2_largest_windows_around)
                      : (sums ? avx2_sum_windows : avx2_largest_windows);
    }
#endif
    if (around) {
        return sums ? four_sum_windows_around : four_largest_windows_around;
    }
    if (width >= FOUR) {
        return sums ? four_sum_windows : four_largest_windows;
    }
    return sums ? narrow_sum_windows : narrow_largest_windows;
}

void gops_ort_pass_windows(const gops_ort_pass *pass, const gops_ort_pass_operands *operands,
                           int64_t first, int64_t last)
{
    plane_pass *const compute = choose(pass);
    for (int64_t i = first; i < last; i++) {
        const int64_t image = i / pass->channels, channel = i % pass->channels;
        compute(pass,
                operands->output + image * operands->output_stride +
                    channel * pass->out[Y] * pass->out[X],
                operands->data + image * operands->data_stride + channel * pass->plane);
    }
}
