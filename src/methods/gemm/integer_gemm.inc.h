/*
 * integer_gemm.inc.h: the matrix product of integers modulo 2^bits.
 *
 * Unsigned arithmetic is modular, as the result is, and signed integers have the same bits, so the
 * product is exact with one multiplication and one addition for each element. A register tile of MR
 * x NR vectors of the result stays in registers while k runs: a row of B is loaded once for MR rows
 * of A, and each element of A is broadcast to a vector. The block of B comes from im2col and is in
 * the L2 cache. The rows that remain below the last full tile are computed by wider tiles of 4 and
 * 2 rows and by a loop for a single row; the columns that remain to the right by tiles of one
 * vector, the last of which may be partial.
 *
 * A BLAS would need integers cut into limbs whose products a float sums exactly: of 16 bits in a
 * double, three DGEMMs for 32 bits and ten for 64. tests/bench/bench_integers measures both; the
 * DGEMMs win only against the portable code, on large products of 32 bits.
 *
 * Parameters, which this file undefines at its end:
 *
 *     C                                type: uint16_t, uint32_t or uint64_t
 *     LANES                            int: elements of C in a vector
 *     SUM                              type: a vector of sums
 *     ADD(SUM sum, C a, vector row)    statement: adds a times the row to the sums
 *     TOTAL(SUM sum)                   vector: the sums modulo 2^bits
 *     LOAD_LANES(C *from, int count)   vector: the first `count` lanes, 0 in the others
 *     STORE_LANES(C *to, int count, vector)  statement: stores the first `count` lanes
 *     MR                               int, 4, 6 or 8: rows of a tile
 *     NR                               int, 1 to 3: vectors of a row of a tile
 *     NAME(symbol)                     the name of a function or type for C
 */
#define vector NAME(vector)
#define tile NAME(tile)
#define row_panel NAME(row_panel)
#define single_row NAME(single_row)
#define integer_gemm NAME(integer_gemm)

enum { NAME(MAX_NR) = 6 }; /* of any tile, the wider ones too */
#define MAX_NR NAME(MAX_NR)

/* A tile of `mr` rows by `nr` vectors; `lanes` is 0 for whole vectors, else how many lanes of the
 * vectors are inside the result. */
static inline __attribute__((always_inline)) void tile(int mr, int nr, int lanes, int64_t k,
                                                       const C *a, int64_t lda, const C *b,
                                                       int64_t ldb, bool accumulate, C *c,
                                                       int64_t ldc)
{
    SUM sums[MAX_NR * MR];
    memset(sums, 0, sizeof sums);
    for (int64_t p = 0; p < k; p++) {
        vector row[MAX_NR];
        for (int v = 0; v < nr; v++) {
            row[v] = lanes == 0 ? *(const vector *)(b + p * ldb + v * LANES)
                                : (vector)LOAD_LANES(b + p * ldb, lanes);
        }
        for (int i = 0; i < mr; i++) {
            for (int v = 0; v < nr; v++) {
                ADD(sums[i * nr + v], a[i * lda + p], row[v]);
            }
        }
    }
    for (int i = 0; i < mr; i++) {
        for (int v = 0; v < nr; v++) {
            C *to = c + i * ldc + v * LANES;
            vector total = (vector)TOTAL(sums[i * nr + v]);
            if (accumulate) {
                total += lanes == 0 ? *(const vector *)to : (vector)LOAD_LANES(to, lanes);
            }
            if (lanes == 0) {
                *(vector *)to = total;
            } else {
                STORE_LANES(to, lanes, total);
            }
        }
    }
}

/* A panel of `mr` whole rows of the result. */
static inline __attribute__((always_inline)) void row_panel(int mr, int nr, int64_t n, int64_t k,
                                                            const C *a, int64_t lda, const C *b,
                                                            int64_t ldb, bool accumulate, C *c,
                                                            int64_t ldc)
{
    int64_t j = 0;
    for (; j + nr * LANES <= n; j += nr * LANES) {
        tile(mr, nr, 0, k, a, lda, b + j, ldb, accumulate, c + j, ldc);
    }
    for (; j + LANES <= n; j += LANES) {
        tile(mr, 1, 0, k, a, lda, b + j, ldb, accumulate, c + j, ldc);
    }
    if (j < n) {
        tile(mr, 1, (int)(n - j), k, a, lda, b + j, ldb, accumulate, c + j, ldc);
    }
}

/* One row of the result. It stays in the L1 cache while B is read once, in the order of memory;
 * tiles of one row take half as much time again. */
static void single_row(int64_t n, int64_t k, const C *a, const C *b, int64_t ldb, bool accumulate,
                       C *restrict c)
{
    if (!accumulate) {
        memset(c, 0, (size_t)n * sizeof(C));
    }
    for (int64_t p = 0; p < k; p++) {
        for (int64_t j = 0; j < n; j++) {
            c[j] = (C)(c[j] + 1u * a[p] * b[p * ldb + j]); /* 16 bits are not to become int */
        }
    }
}

static void integer_gemm(int64_t m, int64_t n, int64_t k, const void *a, int64_t lda, const void *b,
                         int64_t ldb, bool accumulate, void *c, int64_t ldc)
{
    const C *left = a;
    C *to = c;
    int64_t i = 0;
    for (; i + MR <= m; i += MR) {
        row_panel(MR, NR, n, k, left + i * lda, lda, b, ldb, accumulate, to + i * ldc, ldc);
    }
    if (MR > 4 && m - i >= 4) {
        row_panel(4, MR * NR / 4, n, k, left + i * lda, lda, b, ldb, accumulate, to + i * ldc, ldc);
        i += 4;
    }
    for (; m - i >= 2; i += 2) {
        row_panel(2, MR * NR < 8 ? 2 : 4, n, k, left + i * lda, lda, b, ldb, accumulate,
                  to + i * ldc, ldc);
    }
    if (i < m) {
        single_row(n, k, left + i * lda, b, ldb, accumulate, to + i * ldc);
    }
}

#undef vector
#undef tile
#undef row_panel
#undef single_row
#undef integer_gemm
#undef MAX_NR
#undef C
#undef LANES
#undef SUM
#undef ADD
#undef TOTAL
#undef LOAD_LANES
#undef STORE_LANES
#undef MR
#undef NR
#undef NAME
