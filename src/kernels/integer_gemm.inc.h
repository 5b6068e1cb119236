/* Wants C, an unsigned integer type, LANES, how many make a vector, and NAME(symbol). */
/*
 * kernels/integer_gemm.inc.h: the matrix product of integers modulo 2^bits.
 *
 * Unsigned arithmetic wraps as the result is to wrap, and signed integers have the same bits, so
 * the product is exact with no more than a multiplication and an addition each. A tile of ROWS x
 * VECTORS vectors of the result is kept in registers while k runs: a row of B is loaded once for
 * ROWS rows of A, each element of A is spread over a vector. B's block comes from im2col and is in
 * the cache.
 *
 * The alternative was limbs: i32 as two 16-bit limbs is three DGEMMs, i64 as four is ten, exact to
 * K = 2^21. Measured on a Zen 5 (AVX-512, ms, this kernel / DGEMMs alone, without splitting and
 * joining limbs), M x N x K: see integer_gemm.c.
 */

typedef C NAME(vector)
    __attribute__((vector_size(LANES * sizeof(C)), aligned(sizeof(C)), may_alias));

enum { NAME(ROWS) = 4, NAME(VECTORS) = 3 };

static inline void NAME(tile)(int64_t k, const C *a, int64_t lda, const C *b, int64_t ldb,
                              int accumulate, C *c, int64_t ldc)
{
    NAME(vector) sums[NAME(ROWS)][NAME(VECTORS)] = {{{0}}};
    for (int64_t p = 0; p < k; p++) {
        NAME(vector) row[NAME(VECTORS)];
        for (int v = 0; v < NAME(VECTORS); v++) {
            row[v] = *(const NAME(vector) *)(b + p * ldb + v * LANES);
        }
        for (int i = 0; i < NAME(ROWS); i++) {
            for (int v = 0; v < NAME(VECTORS); v++) {
                sums[i][v] += a[i * lda + p] * row[v];
            }
        }
    }
    for (int i = 0; i < NAME(ROWS); i++) {
        for (int v = 0; v < NAME(VECTORS); v++) {
            NAME(vector) *to = (NAME(vector) *)(c + i * ldc + v * LANES);
            if (accumulate) {
                sums[i][v] += *to;
            }
            *to = sums[i][v];
        }
    }
}

/* What the tiles leave over at the right and at the bottom. */
static void NAME(edge)(int64_t m, int64_t n, int64_t k, const C *a, int64_t lda, const C *b,
                       int64_t ldb, int accumulate, C *c, int64_t ldc)
{
    for (int64_t i = 0; i < m; i++) {
        C *restrict to = c + i * ldc;
        if (!accumulate) {
            memset(to, 0, (size_t)n * sizeof(C));
        }
        for (int64_t p = 0; p < k; p++) {
            const C factor = a[i * lda + p];
            for (int64_t j = 0; j < n; j++) {
                to[j] += factor * b[p * ldb + j];
            }
        }
    }
}

static void NAME(integer_gemm)(int64_t m, int64_t n, int64_t k, const void *a, int64_t lda,
                               const void *b, int64_t ldb, int accumulate, void *c, int64_t ldc)
{
    const C *left = a, *right = b;
    C *to = c;
    const int64_t width = NAME(VECTORS) * LANES;
    int64_t i = 0, wide = n / width * width;
    for (; i + NAME(ROWS) <= m; i += NAME(ROWS)) {
        for (int64_t j = 0; j < wide; j += width) {
            NAME(tile)(k, left + i * lda, lda, right + j, ldb, accumulate, to + i * ldc + j, ldc);
        }
        NAME(edge)
        (NAME(ROWS), n - wide, k, left + i * lda, lda, right + wide, ldb, accumulate,
         to + i * ldc + wide, ldc);
    }
    NAME(edge)(m - i, n, k, left + i * lda, lda, right, ldb, accumulate, to + i * ldc, ldc);
}

#undef C
#undef LANES
#undef NAME
