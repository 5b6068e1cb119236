/* Wants C, an unsigned integer type; LANES, how many make a vector; SUM, the type of a vector of
 * sums; ADD(sum, a, row), which adds the products of the number a and the vector row; TOTAL(sum),
 * the vector; LOAD_PART(from, count) and STORE_PART(to, count, vector) for the first `count` lanes;
 * ROWS, 4 or 8, and VECTORS, how large a tile is; NAME(symbol). Takes the macros away. */
/*
 * integer_gemm.inc.h: the matrix product of integers modulo 2^bits.
 *
 * Unsigned arithmetic wraps as the result is to wrap, and signed integers have the same bits, so
 * the product is exact with no more than a multiplication and an addition each. A tile of ROWS x
 * VECTORS vectors of the result is kept in registers while k runs: a row of B is loaded once for
 * ROWS rows of A, each element of A is spread over a vector. B's block comes from im2col and is in
 * the second level cache. What is left over at the bottom is done by wider tiles of 4 and 2
 * rows and a row by itself, at the right by single vectors and the part of one.
 *
 * The alternative was limbs of 16 bits in DGEMMs, whose sums are exact to K = 2^21: three of them
 * for 32 bits, ten for 64. tests/bench/bench_integers measures both in turns, on a Zen 5 with the
 * Haswell kernels of OpenBLAS 0.3.21, one thread, milliseconds, least of 60 rounds; the DGEMMs are
 * without cutting and joining the limbs.
 *
 *        M x N x K        bits    avx512    avx2   portable   DGEMMs
 *     128 x  784 x 1152    32      1.28     2.69    14.4       12.7
 *                          64      2.36    12.5     32.7       42.7
 *       8 x  784 x   72    32      0.0046   0.0092   0.056      0.073
 *                          64      0.0093   0.047    0.129      0.245
 *       1 x 3136 x    9    32      0.0008   0.0011   0.0034     0.0145
 *                          64      0.0021   0.0039   0.0079     0.046
 *
 * Only the portable code loses, and on the largest product of i32 alone; a processor without AVX2
 * is not worth a second way.
 */

enum { NAME(WIDEST) = 6 }; /* vectors of one row of a tile */
#define WIDEST NAME(WIDEST)

static inline __attribute__((always_inline)) void NAME(tile)(int rows, int vectors, int part,
                                                             int64_t k, const C *a, int64_t lda,
                                                             const C *b, int64_t ldb,
                                                             int accumulate, C *c, int64_t ldc)
{
    SUM sums[WIDEST * ROWS];
    memset(sums, 0, sizeof sums);
    for (int64_t p = 0; p < k; p++) {
        NAME(vector) row[WIDEST];
        for (int v = 0; v < vectors; v++) {
            row[v] = part == 0 ? *(const NAME(vector) *)(b + p * ldb + v * LANES)
                               : (NAME(vector))LOAD_PART(b + p * ldb, part);
        }
        for (int i = 0; i < rows; i++) {
            for (int v = 0; v < vectors; v++) {
                ADD(sums[i * vectors + v], a[i * lda + p], row[v]);
            }
        }
    }
    for (int i = 0; i < rows; i++) {
        for (int v = 0; v < vectors; v++) {
            C *to = c + i * ldc + v * LANES;
            NAME(vector) total = (NAME(vector))TOTAL(sums[i * vectors + v]);
            if (accumulate) {
                total += part == 0 ? *(const NAME(vector) *)to : (NAME(vector))LOAD_PART(to, part);
            }
            if (part == 0) {
                *(NAME(vector) *)to = total;
            } else {
                STORE_PART(to, part, total);
            }
        }
    }
}

/* `rows` rows of the result. */
static inline __attribute__((always_inline)) void NAME(strip)(int rows, int vectors, int64_t n,
                                                              int64_t k, const C *a, int64_t lda,
                                                              const C *b, int64_t ldb,
                                                              int accumulate, C *c, int64_t ldc)
{
    int64_t j = 0;
    for (; j + vectors * LANES <= n; j += vectors * LANES) {
        NAME(tile)(rows, vectors, 0, k, a, lda, b + j, ldb, accumulate, c + j, ldc);
    }
    for (; j + LANES <= n; j += LANES) {
        NAME(tile)(rows, 1, 0, k, a, lda, b + j, ldb, accumulate, c + j, ldc);
    }
    if (j < n) {
        NAME(tile)(rows, 1, (int)(n - j), k, a, lda, b + j, ldb, accumulate, c + j, ldc);
    }
}

/* One row of the result, which stays in the first level cache; B is read in the order in which it
 * lies. A tile of one row is slower by a half. */
static void NAME(row)(int64_t n, int64_t k, const C *a, const C *b, int64_t ldb, int accumulate,
                      C *restrict c)
{
    if (!accumulate) {
        memset(c, 0, (size_t)n * sizeof(C));
    }
    for (int64_t p = 0; p < k; p++) {
        for (int64_t j = 0; j < n; j++) {
            c[j] += a[p] * b[p * ldb + j];
        }
    }
}

static void NAME(integer_gemm)(int64_t m, int64_t n, int64_t k, const void *a, int64_t lda,
                               const void *b, int64_t ldb, int accumulate, void *c, int64_t ldc)
{
    const C *left = a;
    C *to = c;
    int64_t i = 0;
    for (; i + ROWS <= m; i += ROWS) {
        NAME(strip)
        (ROWS, VECTORS, n, k, left + i * lda, lda, b, ldb, accumulate, to + i * ldc, ldc);
    }
    if (ROWS > 4 && m - i >= 4) {
        NAME(strip)
        (4, 2 * VECTORS, n, k, left + i * lda, lda, b, ldb, accumulate, to + i * ldc, ldc);
        i += 4;
    }
    for (; m - i >= 2; i += 2) {
        NAME(strip)
        (2, ROWS * VECTORS < 8 ? 2 : 4, n, k, left + i * lda, lda, b, ldb, accumulate, to + i * ldc,
         ldc);
    }
    if (i < m) {
        NAME(row)(n, k, left + i * lda, b, ldb, accumulate, to + i * ldc);
    }
}

#undef WIDEST
#undef C
#undef LANES
#undef SUM
#undef ADD
#undef TOTAL
#undef LOAD_PART
#undef STORE_PART
#undef ROWS
#undef VECTORS
#undef NAME
