/* Wants C, BYTES of a vector, NAME(symbol). May have TALL: the taller register tile too. */
/*
 * depthwise_rows.inc.h: rows of a convolution with one channel.
 *
 * A vector holds neighbouring outputs of one row, so a tap is one (unaligned) load, shifted by the
 * tap's offset, and one multiplication by a weight that is the same for all lanes. By itself that
 * is one load for each multiplication, and loads bound it. But with R rows of outputs in registers,
 * a row of data serves the taps above and below it too: with KY taps along y,
 *
 *     for j = 0 .. R + KY - 2:  x = data row j;  for all r, k with r + k = j:  sum[r] += w[k] * x
 *
 * makes R * KY multiplications of R + KY - 1 loads. A "segment" is such a column of KY taps; a
 * filter is a list of segments, one for each tap along x and z (and for each piece of a tall
 * filter), and of single taps for what is left over. With stride 2 along y it is 2 * r + k = j. The
 * loop over segments counts at run time, all that is inside it is unrolled.
 *
 * Every output is summed up in the order of segments and singles, whatever tile it falls into. So
 * the last tile along y may begin earlier than the one before it ended and write the same values
 * again. Along x the last vector is stored in part. Loads may run over a row's end by
 * GOPS_DEPTHWISE_SLACK bytes; what they find there ends in lanes that are not stored.
 */

typedef C NAME(vector) __attribute__((vector_size(BYTES)));
typedef C NAME(loose) __attribute__((vector_size(BYTES), aligned(sizeof(C)), may_alias));

enum { NAME(LANES) = BYTES / sizeof(C) };

static inline __attribute__((always_inline)) NAME(vector) NAME(read)(const C *from)
{
    return *(const NAME(loose) *)(const void *)from;
}

#include "post_ops/epilogue.inc.h"

/* The first `lanes` of them, at most NAME(LANES). */
static inline __attribute__((always_inline)) void NAME(write)(C *to, NAME(vector) value,
                                                              int64_t lanes)
{
    if (lanes == NAME(LANES)) {
        *(NAME(loose) *)(void *)to = value;
    } else {
        gops_store_part(to, &value, BYTES, sizeof(C), lanes);
    }
}

/* R rows by V vectors, the last of them `lanes` wide. */
static inline __attribute__((always_inline)) void
NAME(tile)(const gops_depthwise_rows *a, const C *data, C *output, int64_t lanes, const int R,
           const int V, const int KY, const int SY)
{
    NAME(vector) sum[GOPS_DEPTHWISE_ROWS][GOPS_DEPTHWISE_VECTORS];
    const C *weight = a->weights;
    const int64_t *offset = a->offsets, *end = offset + a->segments;
    GOPS_UNROLL
    for (int r = 0; r < R; r++) {
        GOPS_UNROLL
        for (int v = 0; v < V; v++) {
            sum[r][v] = (NAME(vector)){0};
        }
    }
    for (; KY > 1 && offset < end; offset++, weight += KY) {
        const C *row = data + *offset;
        GOPS_UNROLL
        for (int j = 0; j < (R - 1) * SY + KY; j++, row += a->pitch) {
            GOPS_UNROLL
            for (int v = 0; v < V; v++) {
                NAME(vector) x = NAME(read)(row + v * NAME(LANES));
                GOPS_IN_REGISTER(x);
                GOPS_UNROLL
                for (int r = 0; r < R; r++) {
                    if (j - r * SY >= 0 && j - r * SY < KY) {
                        sum[r][v] += x * weight[j - r * SY];
                    }
                }
            }
        }
    }
    end = offset + a->singles;
    for (; offset < end; offset++, weight++) {
        const C *row = data + *offset;
        GOPS_UNROLL
        for (int r = 0; r < R; r++, row += a->step) {
            GOPS_UNROLL
            for (int v = 0; v < V; v++) {
                sum[r][v] += NAME(read)(row + v * NAME(LANES)) * *weight;
            }
        }
    }
    if (a->bounds != NULL) {
        const C *bounds = a->bounds;
        const NAME(vector) add = *(const C *)a->bias - (NAME(vector)){0};
        const NAME(vector) low = bounds[0] - (NAME(vector)){0};
        const NAME(vector) high = bounds[1] - (NAME(vector)){0};
        GOPS_UNROLL
        for (int r = 0; r < R; r++) {
            GOPS_UNROLL
            for (int v = 0; v < V; v++) {
                sum[r][v] = NAME(trimmed)(sum[r][v], add, low, high);
            }
        }
    }
    GOPS_UNROLL
    for (int r = 0; r < R; r++) {
        GOPS_UNROLL
        for (int v = 0; v < V; v++) {
            NAME(write)
            (output + r * a->output_pitch + v * NAME(LANES), sum[r][v],
             v < V - 1 ? NAME(LANES) : lanes);
        }
    }
}

/* As many tiles of V vectors as fit between x and the width, the last of them in part; to where. */
static inline __attribute__((always_inline)) int64_t
NAME(tiles)(const gops_depthwise_rows *a, const C *data, C *output, int64_t x, const int R,
            const int V, const int KY, const int SY)
{
    for (; a->width - x > (V - 1) * NAME(LANES); x += V * NAME(LANES)) {
        const int64_t last = a->width - x - (V - 1) * NAME(LANES);
        NAME(tile)
        (a, data + x, output + x, gops_min(last, NAME(LANES)), R, V, KY, SY);
    }
    return x;
}

/* R rows over the whole width, V vectors at a time, then fewer. */
static inline __attribute__((always_inline)) void NAME(strip)(const gops_depthwise_rows *a,
                                                              int64_t row, const int R, const int V,
                                                              const int KY, const int SY)
{
    const C *data = (const C *)a->data + row * a->step;
    C *output = (C *)a->output + row * a->output_pitch;
    int64_t x = NAME(tiles)(a, data, output, 0, R, V, KY, SY);
    if (V > 4) {
        x = NAME(tiles)(a, data, output, x, R, 4, KY, SY);
    }
    if (V > 2) {
        x = NAME(tiles)(a, data, output, x, R, 2, KY, SY);
    }
    NAME(tiles)(a, data, output, x, R, 1, KY, SY);
}

/* All rows, in strips of R; the last one overlaps the one before it. */
#define GOPS_DEPTHWISE_STRIPS(name, R, V, KY, SY)                                                  \
    static void NAME(name)(const gops_depthwise_rows *a)                                           \
    {                                                                                              \
        for (int64_t row = 0; row < a->rows; row += R) {                                           \
            NAME(strip)(a, gops_min(row, a->rows - R), R, V, KY, SY);                              \
        }                                                                                          \
    }

#ifdef TALL
#define GOPS_DEPTHWISE_TALL(name, KY, SY) GOPS_DEPTHWISE_STRIPS(name##_7, 7, 2, KY, SY)
#define GOPS_DEPTHWISE_TALL_NAME(name) NAME(name##_7)
#else
#define GOPS_DEPTHWISE_TALL(name, KY, SY)
#define GOPS_DEPTHWISE_TALL_NAME(name) NAME(name##_4)
#endif

#define GOPS_DEPTHWISE_CHUNK(name, KY, SY)                                                         \
    GOPS_DEPTHWISE_TALL(name, KY, SY)                                                              \
    GOPS_DEPTHWISE_STRIPS(name##_4, 4, 2, KY, SY)                                                  \
    GOPS_DEPTHWISE_STRIPS(name##_1, 1, 2, KY, SY)

GOPS_DEPTHWISE_STRIPS(singles, 1, 8, 1, 1)
GOPS_DEPTHWISE_CHUNK(chunk2, 2, 1)
GOPS_DEPTHWISE_CHUNK(chunk3, 3, 1)
GOPS_DEPTHWISE_CHUNK(chunk5, 5, 1)
GOPS_DEPTHWISE_CHUNK(chunk7, 7, 1)
GOPS_DEPTHWISE_CHUNK(chunk3_by2, 3, 2)
GOPS_DEPTHWISE_CHUNK(chunk5_by2, 5, 2)
GOPS_DEPTHWISE_CHUNK(chunk7_by2, 7, 2)

/* By height of the tile. */
#define GOPS_DEPTHWISE_HEIGHTS(name)                                                               \
    {                                                                                              \
        NAME(name##_1), NAME(name##_4), GOPS_DEPTHWISE_TALL_NAME(name)                             \
    }

static void NAME(rows)(const gops_depthwise_rows *a)
{
    static void (*const tiles[2][8][3])(const gops_depthwise_rows *) = {
        {[2] = GOPS_DEPTHWISE_HEIGHTS(chunk2),
         [3] = GOPS_DEPTHWISE_HEIGHTS(chunk3),
         [5] = GOPS_DEPTHWISE_HEIGHTS(chunk5),
         [7] = GOPS_DEPTHWISE_HEIGHTS(chunk7)},
        {[3] = GOPS_DEPTHWISE_HEIGHTS(chunk3_by2),
         [5] = GOPS_DEPTHWISE_HEIGHTS(chunk5_by2),
         [7] = GOPS_DEPTHWISE_HEIGHTS(chunk7_by2)},
    };
    if (a->chunk == 1) {
        NAME(singles)(a);
        return;
    }
    /* 7 rows at a time where that computes no more rows twice than 4 at a time. */
    const int64_t by7 = gops_round_up(a->rows, 7), by4 = gops_round_up(a->rows, 4);
    const int height = a->rows < 4 ? 0 : a->rows < 7 || by7 > by4 + 2 ? 1 : 2;
    tiles[a->step != a->pitch][a->chunk][height](a);
}

#undef GOPS_DEPTHWISE_STRIPS
#undef GOPS_DEPTHWISE_TALL
#undef GOPS_DEPTHWISE_TALL_NAME
#undef GOPS_DEPTHWISE_CHUNK
#undef GOPS_DEPTHWISE_HEIGHTS
#undef C
#undef BYTES
#undef NAME
#undef TALL
