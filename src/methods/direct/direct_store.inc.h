/* Wants C, LANES, LOW, HIGH (as implicit_transpose.inc.h), NAME(symbol), UNROLL, and the
 * vector, NAME(spread) and NAME(epilogue) of direct.inc.h; may have GOPS_MASKED_STORE,
 * GOPS_QUADS and GOPS_JOINED. */
/*
 * direct_store.inc.h: the end of a strip: sums are kept, or trimmed, turned and stored.
 *
 * A strip leaves a vector of channels for each output, and a tensor wants a run of outputs for each
 * channel: vectors are turned in registers, as implicit_transpose.inc.h does.
 */

/* The first LANES / joined lanes, each `joined` times. */
static inline __attribute__((always_inline)) NAME(vector)
    NAME(each)(const NAME(vector) lanes, const int joined)
{
#ifdef GOPS_JOINED
    if (joined == 4) {
        return __builtin_shufflevector(lanes, lanes, FOUR_TIMES_4);
    }
    if (joined == 2) {
        return __builtin_shufflevector(lanes, lanes, TWICE_8);
    }
    return lanes;
#else
    (void)joined;
    return lanes;
#endif
}

#include "isa/transpose.inc.h"

#ifdef GOPS_QUADS
/* The same of 16 / joined vectors of 16 lanes, by instructions that have no indices to load: in
 * quads of lanes, then of quads; where outputs share vectors, their lanes stay side by side. A
 * transposition of 16 takes 0.7 of the time with its stores. */
static inline __attribute__((always_inline)) void NAME(turn_quads)(NAME(vector) * rows,
                                                                   const int joined)
{
    NAME(vector) next[LANES];
    const int count = 16 / joined, quads = 4 / joined;
    if (joined == 1) {
        UNROLL for (int i = 0; i < 16; i += 2)
        {
            next[i] = __builtin_shufflevector(rows[i], rows[i + 1], LOW_OF_QUADS);
            next[i + 1] = __builtin_shufflevector(rows[i], rows[i + 1], HIGH_OF_QUADS);
        }
        /* Those whose pairs of lanes belong together beside each other. */
        UNROLL for (int i = 0; i < 16; i += 4)
        {
            rows[i] = next[i];
            rows[i + 1] = next[i + 2];
            rows[i + 2] = next[i + 1];
            rows[i + 3] = next[i + 3];
        }
    }
    if (joined < 4) {
        UNROLL for (int i = 0; i < count; i += 2)
        {
            next[i] = __builtin_shufflevector(rows[i], rows[i + 1], LOW_PAIRS_OF_QUADS);
            next[i + 1] = __builtin_shufflevector(rows[i], rows[i + 1], HIGH_PAIRS_OF_QUADS);
        }
        UNROLL for (int i = 0; i < count; i++)
        {
            rows[i] = next[i];
        }
    }
    UNROLL for (int i = 0; i < quads; i++)
    {
        const NAME(vector) a = rows[i], b = rows[quads + i];
        const NAME(vector) c = rows[2 * quads + i], d = rows[3 * quads + i];
        const NAME(vector) even[] = {__builtin_shufflevector(a, b, EVEN_QUADS),
                                     __builtin_shufflevector(c, d, EVEN_QUADS)};
        const NAME(vector) odd[] = {__builtin_shufflevector(a, b, ODD_QUADS),
                                    __builtin_shufflevector(c, d, ODD_QUADS)};
        next[i] = __builtin_shufflevector(even[0], even[1], EVEN_QUADS);
        next[quads + i] = __builtin_shufflevector(odd[0], odd[1], EVEN_QUADS);
        next[2 * quads + i] = __builtin_shufflevector(even[0], even[1], ODD_QUADS);
        next[3 * quads + i] = __builtin_shufflevector(odd[0], odd[1], ODD_QUADS);
    }
    UNROLL for (int i = 0; i < count; i++)
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

#ifdef GOPS_JOINED
/* NAME(put_run) of vectors that outputs share. */
static inline __attribute__((always_inline)) void
NAME(put_joined_run)(const gops_direct_work *work, const gops_direct_size of, const int size,
                     int64_t at, int64_t places, const NAME(vector) * sum)
{
    const int joined = of.joined, ld = of.height * of.spots / joined;
    const int channels = LANES / joined, turns = (size + channels - 1) / channels;
    UNROLL for (int turn = 0; turn < of.vectors * turns; turn++)
    {
        const int i = turn / turns, j = turn % turns * channels;
        const int64_t left = places - j * joined, count = left < LANES ? left : LANES;
        if (count > 0) {
            NAME(vector) rows[LANES];
            UNROLL for (int k = 0; k < channels; k++)
            {
                rows[k] = j + k < size ? sum[i * ld + j + k] : (NAME(vector)){0};
            }
            NAME(turn_quads)(rows, joined);
            UNROLL for (int c = 0; c < channels; c++)
            {
                const int channel = i * channels + c;
                if (channel < work->channels) {
                    NAME(put_lanes)
                    ((C *)work->output + channel * work->output_ld + at + j * joined, &rows[c], 0,
                     LANES, count);
                }
            }
        }
    }
}
#endif

/* Sums of `size` places, turned, to the first `count` places after `at` of the output. */
static inline __attribute__((always_inline)) void
NAME(put_run)(const gops_direct_work *work, const gops_direct_size of, const int size, int64_t at,
              int64_t places, const NAME(vector) * sum)
{
    const int vectors = of.vectors, ld = of.height * of.spots / of.joined;
#ifdef GOPS_JOINED
    if (of.joined > 1) {
        NAME(put_joined_run)(work, of, size, at, places, sum);
        return;
    }
#endif
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
                    NAME(turn_quads)(rows, 1);
                } else {
                    NAME(rotate_address)(rows, p);
                }
#else
                NAME(rotate_address)(rows, p);
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
NAME(put_output)(const gops_direct_work *work, const gops_direct_size of, const NAME(vector) * sum)
{
    const int columns = of.spots / of.joined;
    if (of.height == 1 || (work->output_row == of.spots && work->count == of.spots)) {
        NAME(put_run)
        (work, of, of.height * columns, 0,
         of.height == 1 ? work->count : work->count_rows * of.spots, sum);
        return;
    }
    UNROLL for (int row = 0; row < of.height; row++)
    {
        if (row < work->count_rows) {
            NAME(put_run)
            (work, of, columns, row * work->output_row, work->count, sum + row * columns);
        }
    }
}

static inline __attribute__((always_inline)) void
NAME(finish)(const gops_direct_work *work, const gops_direct_size of, NAME(vector) * sum)
{
    const int vectors = of.vectors, size = of.height * of.spots / of.joined;
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
            const NAME(vector) add =
                NAME(each)(*(const NAME(vector) *)(bias + i * (LANES / of.joined)), of.joined);
            UNROLL for (int j = 0; j < size; j++)
            {
                sum[i * size + j] = NAME(epilogue)(sum[i * size + j], add, low, high);
            }
        }
    }
    NAME(put_output)(work, of, sum);
}
