/* Wants C, BYTES of a vector, NAME(symbol), LOW and HIGH: the indices that interleave the lower and
 * the upper halves of two vectors. */
/*
 * depthwise_interleave.inc.h: the classes of a row of outputs put together.
 *
 * Output j is element j / ways of row j % ways. A vector of each row makes `ways` vectors of
 * outputs: interleaving vectors w and w + ways / 2 for all w rotates an output's address (w, lane)
 * by one bit, and after log2(ways) of that w has come to be the lowest bits.
 */

typedef C NAME(weft) __attribute__((vector_size(BYTES), aligned(sizeof(C)), may_alias));

enum { NAME(WEFT) = BYTES / sizeof(C) };

static inline __attribute__((always_inline)) void
NAME(weave_block)(const gops_depthwise_interleave *a, int64_t first, const int WAYS)
{
    const C *from = (const C *)a->from + first;
    C *to = a->to;
    NAME(weft) rows[8], next[8];
    GOPS_UNROLL
    for (int w = 0; w < WAYS; w++) {
        rows[w] = *(const NAME(weft) *)(const void *)(from + w * a->pitch);
    }
    GOPS_UNROLL
    for (int bits = 1; bits < WAYS; bits *= 2) {
        GOPS_UNROLL
        for (int w = 0; w < WAYS / 2; w++) {
            next[2 * w] = __builtin_shufflevector(rows[w], rows[w + WAYS / 2], LOW);
            next[2 * w + 1] = __builtin_shufflevector(rows[w], rows[w + WAYS / 2], HIGH);
        }
        GOPS_UNROLL
        for (int w = 0; w < WAYS; w++) {
            rows[w] = next[w];
        }
    }
    const int64_t start = first * WAYS;
    if (start >= a->begin && start + WAYS * NAME(WEFT) <= a->end) {
        GOPS_UNROLL
        for (int w = 0; w < WAYS; w++) {
            *(NAME(weft) *)(void *)(to + (start - a->begin) + w * NAME(WEFT)) = rows[w];
        }
        return;
    }
    const int64_t low = gops_max(start, a->begin);
    const int64_t high = gops_min(start + WAYS * NAME(WEFT), a->end);
    if (low < high) {
        memcpy(to + (low - a->begin), (const C *)(const void *)rows + (low - start),
               (size_t)(high - low) * sizeof(C));
    }
}

/* Whole vectors, the last ones overlapping those before them; 0 where a row has less than one. */
static inline __attribute__((always_inline)) int
NAME(weave_ways)(const gops_depthwise_interleave *a, const int WAYS)
{
    for (int64_t i = 0; i < a->count && a->count >= NAME(WEFT); i += NAME(WEFT)) {
        NAME(weave_block)(a, gops_min(i, a->count - NAME(WEFT)), WAYS);
    }
    return a->count >= NAME(WEFT);
}

static void NAME(weave)(const gops_depthwise_interleave *a)
{
    if ((a->ways == 2 && NAME(weave_ways)(a, 2)) || (a->ways == 4 && NAME(weave_ways)(a, 4)) ||
        (a->ways == 8 && NAME(weave_ways)(a, 8))) {
        return;
    }
    for (int64_t w = 0; w < a->ways; w++) {
        const C *from = (const C *)a->from + w * a->pitch;
        C *to = (C *)a->to;
        for (int64_t i = gops_ceil_div(a->begin - w, a->ways); i * a->ways + w < a->end; i++) {
            to[i * a->ways + w - a->begin] = from[i];
        }
    }
}
