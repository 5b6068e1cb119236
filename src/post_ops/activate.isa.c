/*
 * activate.isa.c: activate.inc.h for floats and doubles, and their constants.
 *
 * All instruction sets give the same bits. So the compiler fuses nothing in this file
 * (src/CMakeLists.txt), which says itself how a b + c is rounded: of floats once, by an instruction, or
 * by doubles in ten times as long; of doubles twice, as nothing wider could stand in for the
 * instruction. A reciprocal by the processor's estimate is out for the same reason.
 *
 * The coefficients of A and B are Pade's, halved. The others are those of minimax approximations,
 * computed with 200 bits by Remez' algorithm.
 */
#include "post_ops/activate.h"

#include "isa/lanes.h"

#include <float.h>
#include <stdbool.h>
#include <string.h>

/* Associations for _Generic. ANY_ABOVE: whether a lane of x is above the same lane of `limit`, called with
 * both; NaN is above nothing. FUSED: a b + c, rounded once, called with all three. */
#if defined(__AVX512F__)
static inline bool any_above_f32(__m512 x, __m512 limit)
{
    return _mm512_cmp_ps_mask(x, limit, _CMP_GT_OQ) != 0;
}

static inline bool any_above_f64(__m512d x, __m512d limit)
{
    return _mm512_cmp_pd_mask(x, limit, _CMP_GT_OQ) != 0;
}
#define ANY_ABOVE                                                                                  \
    __m512:                                                                                        \
    any_above_f32, __m512d : any_above_f64,
#define FUSED                                                                                      \
    __m512:                                                                                        \
    _mm512_fmadd_ps, __m512d : _mm512_fmadd_pd,
#elif defined(__AVX2__)
static inline bool any_above_f32(__m256 x, __m256 limit)
{
    return _mm256_movemask_ps(_mm256_cmp_ps(x, limit, _CMP_GT_OQ)) != 0;
}

static inline bool any_above_f64(__m256d x, __m256d limit)
{
    return _mm256_movemask_pd(_mm256_cmp_pd(x, limit, _CMP_GT_OQ)) != 0;
}
#define ANY_ABOVE                                                                                  \
    __m256:                                                                                        \
    any_above_f32, __m256d : any_above_f64,
#define FUSED                                                                                      \
    __m256:                                                                                        \
    _mm256_fmadd_ps, __m256d : _mm256_fmadd_pd,
#else
#define ANY_ABOVE
#define FUSED
#endif

typedef float floats __attribute__((vector_size(LANES_OF_4 * sizeof(float))));

/* a b + c, rounded once. As doubles the product is exact and the sum is rounded. Rounding it again, to
 * a float, changes nothing but where it lies in the middle between two floats, as hardly any does, or
 * is a denormal, and those that activations have are exact sums. */
static floats multiply_add_floats(floats a, floats b, floats c)
{
    floats sum;
#if !defined(__FP_FAST_FMAF)
    const uint64_t beyond_float = ((uint64_t)1 << (DBL_MANT_DIG - FLT_MANT_DIG)) - 1;
    bool middle = false;
    for (int i = 0; i < LANES_OF_4; i++) {
        const double wide = (double)a[i] * (double)b[i] + (double)c[i];
        uint64_t bits;
        memcpy(&bits, &wide, sizeof bits);
        middle |= (bits & beyond_float) == beyond_float / 2 + 1;
        sum[i] = (float)wide;
    }
    if (!middle) {
        return sum;
    }
#endif
    for (int i = 0; i < LANES_OF_4; i++) {
        sum[i] = __builtin_fmaf(a[i], b[i], c[i]);
    }
    return sum;
}

#define C float
#define BITS uint32_t
#define LANES LANES_OF_4
#define NAME(symbol) f32_##symbol
#define MULTIPLY_ADD(a, b, c) _Generic((a), FUSED default : multiply_add_floats)(a, b, c)
#define FRACTION_BITS 23
#define EXPONENT_BIAS 127
#define LN2_HIGH 0x1.62e4p-1
#define LN2_LOW 0x1.7f7d1cf79abcap-20
/* Relative errors of exp(r): 2^-27. */
#define EXP_EVEN 0.5f, 1 / 20.f
#define EXP_ODD 1 / 4.f, 1 / 240.f
#define EXP_COEFFICIENTS                                                                           \
    0.5000000061f, 0.1666653879f, 0.04166627047f, 0.008367370757f, 0.001394773667f
#define NEAR 87
#define SCALE 64
#define DOWN 0x1p-64
#define EXP_END (-131)
#define TANH_END (-20)
#define GELU_NEAR 12
/* Relative error of R: 2^-27. */
#define RATIO_NUMERATOR 48.45912015f, 42.47881544f, 17.75885681f, 3.938110786f, 0.3989469102f
#define RATIO_DENOMINATOR 96.91823973f, 162.2872388f, 116.5446117f, 45.50034569f, 9.872004669f
#define RATIO_END 14.5
#include "post_ops/activate.inc.h"

#define C double
#define BITS uint64_t
#define LANES LANES_OF_8
#define NAME(symbol) f64_##symbol
#define MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
#define FRACTION_BITS 52
#define EXPONENT_BIAS 1023
#define LN2_HIGH 0x1.62e42feep-1
#define LN2_LOW 0x1.a39ef35793c76p-33
/* Relative errors of exp(r): 2^-62, 2^-56. */
#define EXP_EVEN 0.5, 5 / 88., 1 / 1584., 1 / 1330560.
#define EXP_ODD 1 / 4., 1 / 132., 1 / 31680.
#define EXP_COEFFICIENTS                                                                           \
    0.500000000000000442, 0.166666666666666856, 0.041666666666577854, 0.00833333333331407326,      \
        0.00138888889326899088, 0.000198412699055288637, 0.0000248015027358626605,                 \
        2.75572247119078368e-6, 2.76273884548279582e-7, 2.51157632289824159e-8
#define NEAR 708
#define SCALE 128
#define DOWN 0x1p-128
#define EXP_END (-797)
#define TANH_END (-42)
#define GELU_NEAR 36
/* Relative error of R: 2^-59. */
#define RATIO_NUMERATOR                                                                            \
    892927.017273811344, 1478077.00598476045, 1212942.08904732479, 637595.921990036708,            \
        235536.46533000999, 63602.8990053101028, 12697.4024136020623, 1852.76393851012234,         \
        189.836736058330737, 12.4206245537875151, 0.398942280401528058
#define RATIO_DENOMINATOR                                                                          \
    1785854.03454762269, 4381059.37398257633, 5028536.79528218864, 3571822.48337811432,            \
        1748668.00360200623, 621288.318220768678, 164010.748224791912, 32301.5180179607685,        \
        4675.32436355612062, 476.850130161640157, 31.1338886951551171
#define RATIO_END 38.6
#include "post_ops/activate.inc.h"

const struct gops_activate_kernels GOPS_ISA_NAME(gops_activate_kernels) = {
    .f32 = f32_activate,
    .f64 = f64_activate,
};
