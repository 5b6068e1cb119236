/* Wants C, LANES, NAME(symbol), UNROLL, GOPS_DIRECT_KERNELS, what direct_store.inc.h wants, and may
 * have GOPS_JOINED and GOPS_ADDS. */
/*
 * direct.inc.h: the kernel of direct.h.
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
 *
 * Neighbouring outputs that share a vector meet neighbouring data, which one instruction loads and
 * repeats for each channel: 8 channels cost half of what 16 do. Of those at the end of a range some
 * may not meet data; their lanes take zeros. With a stride of 2 a permutation drops what lies
 * between.
 */

typedef C NAME(vector)
    __attribute__((vector_size(LANES * sizeof(C)), aligned(sizeof(C)), may_alias));

static inline NAME(vector) NAME(spread)(C value)
{
    return value - (NAME(vector)){0};
}

#include "post_ops/epilogue.inc.h"

#include "methods/direct/direct_store.inc.h"

/* Some spots of some rows of a strip: rows top to bottom - 1, spots first to last - 1. */
typedef struct NAME(part) {
    int top, bottom, first, last;
} NAME(part);

/* Where the range with a number begins and ends; numbers beyond have none. */
static inline __attribute__((always_inline)) int NAME(range_first)(const int number, const int cut)
{
    return number <= cut ? number : 0;
}

static inline __attribute__((always_inline)) int NAME(range_last)(const int number, const int size,
                                                                  const int cut)
{
    return number <= cut ? size : number <= 2 * cut ? size - (number - cut) : 0;
}

#ifdef GOPS_JOINED
/* What `joined` outputs meet that share a vector, the first at `at`: those from `first` on and
 * before `last`, which may lie beyond them; 0 for the others, which are not read. */
static inline __attribute__((always_inline)) NAME(vector)
    NAME(meet)(const C *at, const int stride, const int joined, const int first, const int last)
{
    if (joined == 1) {
        return NAME(spread)(*at);
    }
    return GOPS_JOINED(at, stride, joined, first > 0 ? first : 0, last);
}
#else
static inline __attribute__((always_inline)) NAME(vector)
    NAME(meet)(const C *at, const int stride, const int joined, const int first, const int last)
{
    (void)stride;
    (void)joined;
    (void)first;
    (void)last;
    return NAME(spread)(*at);
}
#endif

/* Compilers choose among forms of the instruction by what they think will be needed, and with all
 * registers in use move and spill sums: 4 vectors by 7 spots took 1.1 of the time. */
static inline __attribute__((always_inline)) void
NAME(add)(NAME(vector) * sum, const NAME(vector) a, const NAME(vector) b, const int vectors)
{
#ifdef GOPS_ADDS
    if (vectors > 1) {
        __asm__(GOPS_ADDS " %2, %1, %0" : "+v"(*sum) : "v"(a), "v"(b));
        return;
    }
#else
    (void)vectors;
#endif
    *sum += a * b;
}

static inline __attribute__((always_inline)) void
NAME(add_read)(NAME(vector) * sum, const NAME(vector) a, const NAME(vector) * b)
{
#ifdef GOPS_ADDS
    __asm__(GOPS_ADDS " %2, %1, %0" : "+v"(*sum) : "v"(a), "m"(*b));
#else
    *sum += a * *b;
#endif
}

/* Some input channels of a tap, for a part of the strip. */
static inline __attribute__((always_inline)) void
NAME(steps)(const C *x, int64_t plane, int64_t row_step, const C *weights, int64_t count,
            const gops_direct_size of, const NAME(part) part, NAME(vector) * sum)
{
    const int vectors = of.vectors, height = of.height, joined = of.joined;
    const int columns = of.spots / joined;
    /* Where there is no register left for a weight, it is read for each multiplication. */
    const int held = vectors * height * columns + vectors < GOPS_DIRECT_REGISTERS
                         ? vectors
                         : GOPS_DIRECT_REGISTERS - 1 - vectors * height * columns;
    const int first = part.first / joined, met = (part.last + joined - 1) / joined - first;
    if (part.first >= part.last || part.top >= part.bottom) {
        __builtin_unreachable();
    }
    x += part.top * row_step + part.first * of.stride;
    do {
        NAME(vector) weight[GOPS_DIRECT_VECTORS];
        UNROLL for (int i = 0; i < held; i++)
        {
            weight[i] = *(const NAME(vector) *)(weights + i * LANES);
        }
        const C *at = x;
        /* One loop, as gcc does not unroll a larger nest. */
        UNROLL for (int n = 0; n < (part.bottom - part.top) * met; n++)
        {
            const int row = part.top + n / met, j = first + n % met;
            if (n > 0 && n % met == 0) {
                at += row_step;
                GOPS_OPAQUE(at); /* gcc would keep the place of each spot in a register */
            }
            const NAME(vector) spot =
                NAME(meet)(at + (j * joined - part.first) * of.stride, of.stride, joined,
                           part.first - j * joined, part.last - j * joined);
            UNROLL for (int i = 0; i < held; i++)
            {
                NAME(add)(&sum[(i * height + row) * columns + j], spot, weight[i], vectors);
            }
            UNROLL for (int i = held; i < vectors; i++)
            {
                GOPS_OPAQUE(weights);
                NAME(add_read)
                (&sum[(i * height + row) * columns + j], spot,
                 (const NAME(vector) *)(weights + i * LANES));
            }
        }
        UNROLL for (int i = 0; i < held; i++)
        {
            GOPS_STAYS(weight[i]); /* else its register may be taken for a sum, which moves */
        }
        x += plane;
        weights += vectors * LANES;
    } while (--count > 0);
}

/* The steps of the range with a number. */
static inline __attribute__((always_inline)) void
NAME(range)(const C *x, int64_t plane, int64_t row_step, const C *weights, int64_t count,
            const gops_direct_size of, const int number, NAME(vector) * sum)
{
    const int cut = (int)gops_direct_cut(of), numbers = 2 * cut + 1;
    const int across = number % numbers, down = number / numbers;
    const NAME(part) part = {
        NAME(range_first)(down, of.height - 1), NAME(range_last)(down, of.height, of.height - 1),
        NAME(range_first)(across, cut), NAME(range_last)(across, of.spots, cut)};
    NAME(steps)(x, plane, row_step, weights, count, of, part, sum);
}

#define GOPS_RANGE(n)                                                                              \
    case n:                                                                                        \
        NAME(range)(x, plane, row_step, weights, count, of, n, sum);                               \
        break
#define GOPS_RANGES(n)                                                                             \
    GOPS_RANGE(n);                                                                                 \
    GOPS_RANGE((n) + 1);                                                                           \
    GOPS_RANGE((n) + 2);                                                                           \
    GOPS_RANGE((n) + 3);                                                                           \
    GOPS_RANGE((n) + 4);                                                                           \
    GOPS_RANGE((n) + 5);                                                                           \
    GOPS_RANGE((n) + 6)

/* Where nothing is optimized, as in the sanitizers' builds, a copy of this for each size gains
 * nothing; with their checks it took clang 3 to 10 minutes and 3 GB an instruction set. */
#ifdef __OPTIMIZE__
#define GOPS_EACH_SIZE inline __attribute__((always_inline))
#else
#define GOPS_EACH_SIZE
#endif
static GOPS_EACH_SIZE void NAME(strip)(const gops_direct_work *work, const gops_direct_size of)
{
    NAME(vector) sum[GOPS_DIRECT_SUMS];
    const int64_t ranges = 2 * gops_direct_cut(of) + 1;
    const int64_t plane = work->plane, row_step = work->row_step, count = work->channels_in;
    UNROLL for (int i = 0; i < of.vectors * of.height * of.spots / of.joined; i++)
    {
        sum[i] = (NAME(vector)){0};
    }
    const gops_direct_tap *const rows_end = work->rows + work->row_count;
    const gops_direct_tap *const taps_end = work->taps + work->tap_count;
    for (const gops_direct_tap *row = work->rows; row < rows_end; row++) {
        for (const gops_direct_tap *tap = work->taps; tap < taps_end; tap++) {
            const C *x = (const C *)work->data + (work->start + row->data + tap->data);
            const C *weights =
                (const C *)work->weights + (row->tap + tap->tap) * count * (of.vectors * LANES);
            gops_direct_ask(&work->ahead[GOPS_DIRECT_WEIGHTS], 1);
            if (work->asks) {
                gops_direct_ask(&work->ahead[GOPS_DIRECT_ROWS], 0);
                gops_direct_ask(&work->ahead[GOPS_DIRECT_OUTPUTS], 1);
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
    NAME(finish)(work, of, sum);
}

#define GOPS_DIRECT_NAME(vectors, height, spots, stride, joined)                                   \
    NAME(strip_##vectors##x##height##x##spots##_##stride##_##joined)
#define STRIP(vectors, height, spots, stride, joined)                                              \
    static void GOPS_DIRECT_NAME(vectors, height, spots, stride,                                   \
                                 joined)(const gops_direct_work *work)                             \
    {                                                                                              \
        NAME(strip)(work, (gops_direct_size){vectors, height, spots, stride, joined});             \
    }
GOPS_DIRECT_KERNELS(STRIP)
#undef STRIP
#define STRIP(vectors, height, spots, stride, joined)                                              \
    {{vectors, height, spots, stride, joined},                                                     \
     GOPS_DIRECT_NAME(vectors, height, spots, stride, joined)},
static const gops_direct_kernel NAME(strip_list)[] = {
    GOPS_DIRECT_KERNELS(STRIP){{0, 0, 0, 0, 0}, NULL}};
#undef STRIP
#undef GOPS_DIRECT_NAME
static const gops_direct_kernels NAME(strips) = {LANES, NAME(strip_list)};

#undef GOPS_EACH_SIZE
#undef GOPS_RANGES
#undef GOPS_RANGE
#undef GOPS_MASKED_STORE
#undef GOPS_QUADS
#undef GOPS_ADDS
#undef GOPS_JOINED
#undef GOPS_DIRECT_KERNELS
#undef C
#undef LANES
#undef NAME
#undef LOW
#undef HIGH
