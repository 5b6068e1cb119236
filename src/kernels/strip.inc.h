/* Wants C, LANES, LOW, HIGH (as kernels/tile_transpose.inc.h), NAME(symbol) and UNROLL. */
/*
 * kernels/strip.inc.h: the kernel of kernels/strip.h.
 *
 * For each tap the loop over the input channels is innermost. The sums stay in registers all the
 * while, so the spots that a tap adds to must be constants where the loop is compiled: there is a
 * loop for each range that an edge of the image can leave, and a switch picks it once a tap. With S
 * spots these are the S - 1 ranges without some of the first spots, as many without some of the
 * last, and all of them. A step costs `vectors` loads of weights, a broadcast for each spot, and
 * their product in multiplications.
 */

typedef C NAME(vector)
    __attribute__((vector_size(LANES * sizeof(C)), aligned(sizeof(C)), may_alias));

static inline NAME(vector) NAME(spread)(C value)
{
    return value - (NAME(vector)){0};
}

#include "kernels/trim.inc.h"

/* A tap, for spots first to last - 1. */
static inline __attribute__((always_inline)) void
NAME(steps)(const C *x, int64_t plane, const C *weights, int64_t count, const int vectors,
            const int spots, const int stride, const int first, const int last, NAME(vector) * sum)
{
    if (first >= last) {
        return;
    }
    x += first * stride;
    do {
        NAME(vector) weight[GOPS_STRIP_VECTORS];
        UNROLL for (int i = 0; i < vectors; i++)
        {
            weight[i] = *(const NAME(vector) *)(weights + i * LANES);
        }
        UNROLL for (int j = first; j < last; j++)
        {
            const NAME(vector) spot = NAME(spread)(x[(j - first) * stride]);
            UNROLL for (int i = 0; i < vectors; i++)
            {
                sum[i * spots + j] += spot * weight[i];
            }
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

/* The sums, turned, to where the output's channels lie. */
static inline __attribute__((always_inline)) void NAME(put_output)(const gops_strip_work *work,
                                                                   const int vectors,
                                                                   const int spots,
                                                                   const NAME(vector) * sum)
{
    const int needed = spots > 8 ? 16 : spots > 4 ? 8 : spots > 2 ? 4 : 2;
    const int p = needed < LANES ? needed : LANES;
    UNROLL for (int i = 0; i < vectors; i++)
    {
        UNROLL for (int j = 0; j < spots; j += p)
        {
            const int64_t count = work->count - j < p ? work->count - j : p;
            if (count > 0) {
                NAME(vector) rows[LANES];
                UNROLL for (int k = 0; k < p; k++)
                {
                    rows[k] = j + k < spots ? sum[i * spots + j + k] : (NAME(vector)){0};
                }
                NAME(turn)(rows, p);
                UNROLL for (int c = 0; c < LANES; c++)
                {
                    const int channel = i * LANES + c;
                    if (channel < work->channels) {
                        NAME(put_lanes)
                        ((C *)work->output + channel * work->output_ld + j, &rows[c / (LANES / p)],
                         c % (LANES / p) * p, p, count);
                    }
                }
            }
        }
    }
}

static inline __attribute__((always_inline)) void
NAME(finish)(const gops_strip_work *work, const int vectors, const int spots, NAME(vector) * sum)
{
    NAME(vector) *const kept = (NAME(vector) *)work->sums;
    if (work->accumulate) {
        UNROLL for (int i = 0; i < vectors * spots; i++)
        {
            sum[i] += kept[i];
        }
    }
    if (work->output == NULL) {
        UNROLL for (int i = 0; i < vectors * spots; i++)
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
            UNROLL for (int j = 0; j < spots; j++)
            {
                sum[i * spots + j] = NAME(trimmed)(sum[i * spots + j], add, low, high);
            }
        }
    }
    NAME(put_output)(work, vectors, spots, sum);
}

#define GOPS_RANGE(n)                                                                              \
    case n:                                                                                        \
        NAME(steps)                                                                                \
        (x, plane, weights, count, vectors, spots, stride, (n) < spots ? (n) : 0,                  \
         (n) < spots           ? spots                                                             \
         : (n) < 2 * spots - 1 ? (n)-spots + 1                                                     \
                               : 0,                                                                \
         sum);                                                                                     \
        break

static inline __attribute__((always_inline)) void
NAME(strip)(const gops_strip_work *work, const int vectors, const int spots, const int stride)
{
    NAME(vector) sum[GOPS_STRIP_SUMS];
    const int64_t plane = work->plane, count = work->channels_in;
    const unsigned char *ahead = work->ahead;
    const int64_t ahead_bytes = work->ahead_bytes;
    UNROLL for (int i = 0; i < vectors * spots; i++)
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
                __builtin_prefetch(ahead, 0, 2);
            }
            switch (tap->range) {
                GOPS_RANGE(0);
                GOPS_RANGE(1);
                GOPS_RANGE(2);
                GOPS_RANGE(3);
                GOPS_RANGE(4);
                GOPS_RANGE(5);
                GOPS_RANGE(6);
                GOPS_RANGE(7);
                GOPS_RANGE(8);
                GOPS_RANGE(9);
                GOPS_RANGE(10);
                GOPS_RANGE(11);
                GOPS_RANGE(12);
                GOPS_RANGE(13);
                GOPS_RANGE(14);
                GOPS_RANGE(15);
                GOPS_RANGE(16);
                GOPS_RANGE(17);
                GOPS_RANGE(18);
                GOPS_RANGE(19);
                GOPS_RANGE(20);
                GOPS_RANGE(21);
                GOPS_RANGE(22);
                GOPS_RANGE(23);
                GOPS_RANGE(24);
                GOPS_RANGE(25);
                GOPS_RANGE(26);
            default:
                __builtin_unreachable();
            }
        }
    }
    NAME(finish)(work, vectors, spots, sum);
}

#define STRIP(vectors, spots, stride)                                                              \
    static void NAME(strip_##vectors##x##spots##_##stride)(const gops_strip_work *work)            \
    {                                                                                              \
        NAME(strip)(work, vectors, spots, stride);                                                 \
    }
GOPS_STRIPS(STRIP)
#undef STRIP
#define STRIP(vectors, spots, stride)                                                              \
    {vectors, spots, stride, NAME(strip_##vectors##x##spots##_##stride)},
static const gops_strip NAME(strip_list)[] = {GOPS_STRIPS(STRIP){0, 0, 0, NULL}};
#undef STRIP
static const gops_strips NAME(strips) = {LANES, NAME(strip_list)};

#undef GOPS_RANGE
#undef GOPS_MASKED_STORE
#undef C
#undef LANES
#undef NAME
#undef LOW
#undef HIGH
