/* Wants C, LANES, LOW, HIGH (as kernels/tile_transpose.inc.h), NAME(symbol) and UNROLL. */
/*
 * kernels/strip.inc.h: the kernel of kernels/strip.h.
 *
 * For each tap the loop over the input channels is innermost. The sums stay in registers all the
 * while, so the spots that a tap adds to must be constants where the loop is compiled: there is a
 * loop for each range that an edge of the image can leave, and a switch picks it once a tap. With S
 * spots these are the S - 1 ranges without some of the first spots, as many without some of the
 * last, and all of them; with several rows as many of these in turn. A step costs `vectors` loads
 * of weights, a broadcast for each spot, and their product in multiplications. With one vector of
 * channels each multiplication loads its own spot, so that loads are what bounds a strip: 14 spots
 * take 15, of which a processor does as many at a time as multiplications, 28 in two rows take 29;
 * and 7 spots are less than the 8 multiplications under way that two units with a latency of 4
 * want.
 */

typedef C NAME(vector)
    __attribute__((vector_size(LANES * sizeof(C)), aligned(sizeof(C)), may_alias));

static inline NAME(vector) NAME(spread)(C value)
{
    return value - (NAME(vector)){0};
}

#include "kernels/trim.inc.h"

/* Some spots of some rows of a strip: rows top to bottom - 1, spots first to last - 1. */
typedef struct NAME(part) {
    int top, bottom, first, last;
} NAME(part);

/* The range with a number: *first to *last - 1, none for numbers beyond. */
static inline __attribute__((always_inline)) void
NAME(read_range)(const int number, const int size, const int cut, int *first, int *last)
{
    *first = number <= cut ? number : 0;
    *last = number <= cut ? size : number <= 2 * cut ? size - (number - cut) : 0;
}

/* Some input channels of a tap, for a part of the strip. */
static inline __attribute__((always_inline)) void
NAME(steps)(const C *x, int64_t plane, int64_t row_step, const C *weights, int64_t count,
            const int vectors, const int height, const int spots, const int stride,
            const NAME(part) part, NAME(vector) * sum)
{
    if (part.first >= part.last || part.top >= part.bottom) {
        __builtin_unreachable();
    }
    x += part.top * row_step + part.first * stride;
    do {
        NAME(vector) weight[GOPS_STRIP_VECTORS];
        UNROLL for (int i = 0; i < vectors; i++)
        {
            weight[i] = *(const NAME(vector) *)(weights + i * LANES);
        }
        const C *at = x;
        UNROLL for (int row = part.top; row < part.bottom; row++)
        {
            if (row > part.top) {
                at += row_step;
                GOPS_OPAQUE(at); /* gcc would keep the place of each spot in a register */
            }
            UNROLL for (int j = part.first; j < part.last; j++)
            {
                const NAME(vector) spot = NAME(spread)(at[(j - part.first) * stride]);
                UNROLL for (int i = 0; i < vectors; i++)
                {
                    sum[(i * height + row) * spots + j] += spot * weight[i];
                }
            }
        }
        UNROLL for (int i = 0; i < vectors; i++)
        {
            GOPS_STAYS(weight[i]); /* else its register may be taken for a sum, which moves */
        }
        x += plane;
        weights += vectors * LANES;
    } while (--count > 0);
}

/* Bits of an address change places: element (vector i, lane l) of P vectors moves to vector
 * l / (LANES / P) ..., lane (l % (LANES / P)) * P + i; interleaving vectors i and i + P / 2 for all
 * i rotates the address by one bit, and this log2(P) times. So vector v holds P values each of
 * channels v * LANES / P and those that follow. */
static inline __attribute__((always_inline)) void NAME(turn)(NAME(vector) * rows, const int p)
{
    NAME(vector) next[LANES];
    UNROLL for (int bits = 1; bits < p; bits *= 2)
    {
        UNROLL for (int i = 0; i < p / 2; i++)
        {
            next[2 * i] = __builtin_shufflevector(rows[i], rows[i + p / 2], LOW);
            next[2 * i + 1] = __builtin_shufflevector(rows[i], rows[i + p / 2], HIGH);
        }
        UNROLL for (int i = 0; i < p; i++)
        {
            rows[i] = next[i];
        }
    }
}

#ifdef GOPS_QUADS
/* The same of 16 vectors of 16 lanes, a transposition, by instructions that have no indices to
 * load: in quads of 4 vectors, then of quads. It takes 0.7 of the time with its stores. */
static inline __attribute__((always_inline)) void NAME(turn_quads)(NAME(vector) * rows)
{
    NAME(vector) next[LANES];
    UNROLL for (int i = 0; i < 16; i += 2)
    {
        next[i] = __builtin_shufflevector(rows[i], rows[i + 1], LOW_OF_QUADS);
        next[i + 1] = __builtin_shufflevector(rows[i], rows[i + 1], HIGH_OF_QUADS);
    }
    UNROLL for (int i = 0; i < 16; i += 4)
    {
        rows[i] = __builtin_shufflevector(next[i], next[i + 2], LOW_PAIRS_OF_QUADS);
        rows[i + 1] = __builtin_shufflevector(next[i], next[i + 2], HIGH_PAIRS_OF_QUADS);
        rows[i + 2] = __builtin_shufflevector(next[i + 1], next[i + 3], LOW_PAIRS_OF_QUADS);
        rows[i + 3] = __builtin_shufflevector(next[i + 1], next[i + 3], HIGH_PAIRS_OF_QUADS);
    }
    UNROLL for (int i = 0; i < 4; i++)
    {
        const NAME(vector)
            even[] = {__builtin_shufflevector(rows[i], rows[4 + i], EVEN_QUADS),
                      __builtin_shufflevector(rows[8 + i], rows[12 + i], EVEN_QUADS)};
        const NAME(vector) odd[] = {__builtin_shufflevector(rows[i], rows[4 + i], ODD_QUADS),
                                    __builtin_shufflevector(rows[8 + i], rows[12 + i], ODD_QUADS)};
        next[i] = __builtin_shufflevector(even[0], even[1], EVEN_QUADS);
        next[4 + i] = __builtin_shufflevector(odd[0], odd[1], EVEN_QUADS);
        next[8 + i] = __builtin_shufflevector(even[0], even[1], ODD_QUADS);
        next[12 + i] = __builtin_shufflevector(odd[0], odd[1], ODD_QUADS);
    }
    UNROLL for (int i = 0; i < 16; i++)
    {
        rows[i] = next[i];
    }
}
#endif

/* Lanes `from` to from + count - 1, which p is at least. */
static inline __attribute__((always_inline)) void
NAME(put_lanes)(C *to, const NAME(vector) * value, const int from, const int p, int64_t count)
{
#ifdef GOPS_MASKED_STORE
    (void)p;
    GOPS_MASKED_STORE(to - from, ((1u << count) - 1) << from, *value);
#else
    const C *lanes = (const C *)value + from;
    if (count == p) {
        memcpy(to, lanes, (size_t)p * sizeof(C));
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        to[i] = lanes[i];
    }
#endif
}

/* Sums of `size` places, turned, to the first `count` places after `at` of the output. */
static inline __attribute__((always_inline)) void
NAME(put_run)(const gops_strip_work *work, const int vectors, const int ld, const int size,
              int64_t at, int64_t places, const NAME(vector) * sum)
{
    const int needed = size > 8 ? 16 : size > 4 ? 8 : size > 2 ? 4 : 2;
    const int p = needed < LANES ? needed : LANES;
    UNROLL for (int i = 0; i < vectors; i++)
    {
        UNROLL for (int j = 0; j < size; j += p)
        {
            const int64_t count = places - j < p ? places - j : p;
            if (count > 0) {
                NAME(vector) rows[LANES];
                UNROLL for (int k = 0; k < p; k++)
                {
                    rows[k] = j + k < size ? sum[i * ld + j + k] : (NAME(vector)){0};
                }
#ifdef GOPS_QUADS
                if (p == LANES) {
                    NAME(turn_quads)(rows);
                } else {
                    NAME(turn)(rows, p);
                }
#else
                NAME(turn)(rows, p);
#endif
                UNROLL for (int c = 0; c < LANES; c++)
                {
                    const int channel = i * LANES + c;
                    if (channel < work->channels) {
                        NAME(put_lanes)
                        ((C *)work->output + channel * work->output_ld + at + j,
                         &rows[c / (LANES / p)], c % (LANES / p) * p, p, count);
                    }
                }
            }
        }
    }
}

/* The sums to where the output's channels lie: rows of which one ends where the next begins, as
 * those of an image as wide as the strip, as one. */
static inline __attribute__((always_inline)) void
NAME(put_output)(const gops_strip_work *work, const int vectors, const int height, const int spots,
                 const NAME(vector) * sum)
{
    const int size = height * spots;
    if (height == 1 || (work->output_row == spots && work->count == spots)) {
        NAME(put_run)
        (work, vectors, size, size, 0, height == 1 ? work->count : work->count_rows * spots, sum);
        return;
    }
    UNROLL for (int row = 0; row < height; row++)
    {
        if (row < work->count_rows) {
            NAME(put_run)
            (work, vectors, size, spots, row * work->output_row, work->count, sum + row * spots);
        }
    }
}

static inline __attribute__((always_inline)) void NAME(finish)(const gops_strip_work *work,
                                                               const int vectors, const int height,
                                                               const int spots, NAME(vector) * sum)
{
    const int size = height * spots;
    NAME(vector) *const kept = (NAME(vector) *)work->sums;
    if (work->accumulate) {
        UNROLL for (int i = 0; i < vectors * size; i++)
        {
            sum[i] += kept[i];
        }
    }
    if (work->output == NULL) {
        UNROLL for (int i = 0; i < vectors * size; i++)
        {
            kept[i] = sum[i];
        }
        return;
    }
    if (work->bounds != NULL) {
        const C *bounds = work->bounds, *bias = work->bias;
        const NAME(vector) low = NAME(spread)(bounds[0]), high = NAME(spread)(bounds[1]);
        UNROLL for (int i = 0; i < vectors; i++)
        {
            const NAME(vector) add = *(const NAME(vector) *)(bias + i * LANES);
            UNROLL for (int j = 0; j < size; j++)
            {
                sum[i * size + j] = NAME(trimmed)(sum[i * size + j], add, low, high);
            }
        }
    }
    NAME(put_output)(work, vectors, height, spots, sum);
}

/* The steps of the range with a number. */
static inline __attribute__((always_inline)) void
NAME(range)(const C *x, int64_t plane, int64_t row_step, const C *weights, int64_t count,
            const int vectors, const int height, const int spots, const int stride,
            const int number, NAME(vector) * sum)
{
    const int cut = (int)gops_strip_cut(height, spots), numbers = 2 * cut + 1;
    NAME(part) part;
    NAME(read_range)(number % numbers, spots, cut, &part.first, &part.last);
    NAME(read_range)(number / numbers, height, height - 1, &part.top, &part.bottom);
    NAME(steps)
    (x, plane, row_step, weights, count, vectors, height, spots, stride, part, sum);
}

#define GOPS_RANGE(n)                                                                              \
    case n:                                                                                        \
        NAME(range)                                                                                \
        (x, plane, row_step, weights, count, vectors, height, spots, stride, n, sum);              \
        break
#define GOPS_RANGES(n)                                                                             \
    GOPS_RANGE(n);                                                                                 \
    GOPS_RANGE((n) + 1);                                                                           \
    GOPS_RANGE((n) + 2);                                                                           \
    GOPS_RANGE((n) + 3);                                                                           \
    GOPS_RANGE((n) + 4);                                                                           \
    GOPS_RANGE((n) + 5);                                                                           \
    GOPS_RANGE((n) + 6)

static inline __attribute__((always_inline)) void NAME(strip)(const gops_strip_work *work,
                                                              const int vectors, const int height,
                                                              const int spots, const int stride)
{
    NAME(vector) sum[GOPS_STRIP_SUMS];
    const int64_t ranges = 2 * gops_strip_cut(height, spots) + 1;
    const int64_t plane = work->plane, row_step = work->row_step, count = work->channels_in;
    const unsigned char *ahead = work->ahead;
    const int64_t ahead_bytes = work->ahead_bytes;
    UNROLL for (int i = 0; i < vectors * height * spots; i++)
    {
        sum[i] = (NAME(vector)){0};
    }
    const gops_strip_tap *const rows_end = work->rows + work->row_count;
    const gops_strip_tap *const taps_end = work->taps + work->tap_count;
    for (const gops_strip_tap *row = work->rows; row < rows_end; row++) {
        for (const gops_strip_tap *tap = work->taps; tap < taps_end; tap++) {
            const C *x = (const C *)work->data + (work->start + row->data + tap->data);
            const C *weights =
                (const C *)work->weights + (row->tap + tap->tap) * count * (vectors * LANES);
            for (const unsigned char *end = ahead + ahead_bytes; ahead < end;
                 ahead += GOPS_STRIP_LINE) {
                __builtin_prefetch(ahead, 0, 3);
            }
            switch (row->range * ranges + tap->range) { /* 4 rows of 7 have 49 */
                GOPS_RANGES(0);
                GOPS_RANGES(7);
                GOPS_RANGES(14);
                GOPS_RANGES(21);
                GOPS_RANGES(28);
                GOPS_RANGES(35);
                GOPS_RANGES(42);
            default:
                __builtin_unreachable();
            }
        }
    }
    NAME(finish)(work, vectors, height, spots, sum);
}

#define STRIP(vectors, height, spots, stride)                                                      \
    static void NAME(strip_##vectors##x##height##x##spots##_##stride)(const gops_strip_work *work) \
    {                                                                                              \
        NAME(strip)(work, vectors, height, spots, stride);                                         \
    }
GOPS_STRIPS(STRIP)
#undef STRIP
#define STRIP(vectors, height, spots, stride)                                                      \
    {vectors, height, spots, stride, NAME(strip_##vectors##x##height##x##spots##_##stride)},
static const gops_strip NAME(strip_list)[] = {GOPS_STRIPS(STRIP){0, 0, 0, 0, NULL}};
#undef STRIP
static const gops_strips NAME(strips) = {LANES, NAME(strip_list)};

#undef GOPS_RANGES
#undef GOPS_RANGE
#undef GOPS_MASKED_STORE
#undef GOPS_QUADS
#undef C
#undef LANES
#undef NAME
#undef LOW
#undef HIGH
