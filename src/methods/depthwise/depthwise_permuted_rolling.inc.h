/*
 * depthwise_permuted_rolling.inc.h: rolling of depthwise_permuted.inc.h, after it.
 *
 * With stride S and KY rows of taps, row j of data adds to the rows of outputs t with
 * 0 <= j - t * S < KY, which are at most OPEN = KY / S, rounded up. Their sums wait in registers:
 * open[0] to open[OPEN - 1], of which one is complete after S rows; its place is taken by the next
 * row of outputs. So the places rotate, and OPEN groups of rows later they are where they were: the
 * loop is unrolled as often, and no sums are moved.
 *
 * Constants of all functions:
 *
 *   KY, QX  the kernel's rows, and quads of each
 *   S       the stride along both axes
 *   NV      vectors of a row of a tile, 1, 2 or 4: R = 4 / NV rows are stored together
 *   JR      rows of data of a load
 *   PER     vectors of a load; JR is 1 where it is less than NV
 */

enum { MAX_OPEN = 7, MAX_INDEX = 8 };

/* The sums of a row of outputs. */
typedef struct open_row {
    bytes sum[4];
} open_row;

/* A tile of a filter. */
typedef struct rolling_work {
    bytes start, weight[3]; /* weight: of KY = 3 */
    __m512 scale;
    bytes index[MAX_INDEX]; /* [QX, JR, PER] */
    const int32_t *weights;
    const uint8_t *from; /* the next row of data, `y` */
    int64_t y, height, width;
    int64_t next_load;     /* bytes between the loads of a row */
    uint64_t mask[4];      /* of the bytes inside the image, of a row */
    const uint64_t *masks; /* of the next loads of JR rows */
    bool codes;            /* gops_permuted_filter.codes */
    uint8_t *output;       /* of the next group */
    int64_t output_step;   /* to the group after it */
    int64_t left;          /* rows of outputs that are not computed yet */
    uint64_t stored;       /* mask of a group's codes */
    int64_t columns;       /* of the tile */
} rolling_work;

/* Load u of a row. */
GOPS_INLINE bytes load_row(const setting *at, const rolling_work *w, const int u)
{
    const uint64_t mask = (uint64_t)w->y < (uint64_t)w->height ? w->mask[u] : 0;
    return load_bytes(at, w->from + u * w->next_load, mask);
}

/* Adds row `r` of a load to the open rows: row TOP - n * S of the taps to open[PHASE + n]. */
GOPS_INLINE void add_row(const rolling_work *w, const bytes *data, const int r, open_row *open,
                         const int PHASE, const int TOP, const int KY, const int QX, const int S,
                         const int NV, const int JR, const int PER)
{
    const int OPEN = (KY + S - 1) / S;
    GOPS_UNROLL
    for (int q = 0; q < QX; q++) {
        GOPS_UNROLL
        for (int v = 0; v < NV; v++) {
            const bytes quads =
                _mm512_permutexvar_epi8(w->index[(q * JR + r) * PER + v % PER], data[v / PER]);
            GOPS_UNROLL
            for (int n = 0; n < OPEN; n++) {
                const int ky = TOP - n * S;
                if (ky >= 0 && ky < KY) {
                    bytes *sum = &open[(PHASE + n) % OPEN].sum[v];
                    const bytes weight =
                        KY == 3 ? w->weight[ky] : _mm512_set1_epi32(w->weights[ky * QX + q]);
                    *sum = add_products(ky == 0 && q == 0 ? w->start : *sum, quads, weight);
                }
            }
        }
    }
}

/* Stores a group of `rows` rows: numbers are what its sums were rounded to. */
GOPS_INLINE void store_rolling(const setting *at, const rolling_work *w, int64_t rows,
                               const bytes *sums, const bytes *numbers, const int NV)
{
    if (w->codes) {
        const bytes codes = _mm512_permutexvar_epi8(at->order, pack_codes(at, numbers));
        const uint64_t mask = rows < 4 / NV ? first_bits(rows * w->columns) : w->stored;
        _mm512_mask_storeu_epi8(w->output, mask, codes);
    } else {
        store_sums(at->shape, w->output, rows, w->columns, sums, NV);
    }
}

/* The sums of a group of R rows of outputs, the first of which is open[PHASE]. */
GOPS_INLINE void rolling_group(rolling_work *w, const setting *at, open_row *open, bytes *sums,
                               const int PHASE, const int KY, const int QX, const int S,
                               const int NV, const int JR, const int PER)
{
    const int R = 4 / NV, OPEN = (KY + S - 1) / S;
    bytes data[4] = {0};
    GOPS_UNROLL
    for (int row = 0; row < R * S; row++) {
        const int r = row / S, i = row % S;
        if (JR == 1) {
            GOPS_UNROLL
            for (int u = 0; u < NV / PER; u++) {
                data[u] = load_row(at, w, u);
            }
            w->from += w->width;
            w->y++;
        } else if (row % JR == 0) {
            data[0] = load_bytes(at, w->from, *w->masks++);
            w->from += JR * w->width;
        }
        add_row(w, data, row % JR, open, (PHASE + r) % OPEN, KY - S + i, KY, QX, S, NV, JR, PER);
        if (i == S - 1) {
            GOPS_UNROLL
            for (int v = 0; v < NV; v++) {
                sums[r * NV + v] = open[(PHASE + r) % OPEN].sum[v];
            }
        }
    }
}

/* Rounds and stores a group while it computes the next one. */
GOPS_INLINE void rolling_step(rolling_work *w, const setting *at, open_row *open, bytes *sums,
                              const int PHASE, const int KY, const int QX, const int S,
                              const int NV, const int JR, const int PER)
{
    const int R = 4 / NV;
    bytes numbers[4], next[4];
    GOPS_UNROLL
    for (int v = 0; v < 4; v++) {
        numbers[v] = rounded(sums[v], w->scale);
    }
    rolling_group(w, at, open, next, PHASE, KY, QX, S, NV, JR, PER);
    store_rolling(at, w, R, sums, numbers, NV);
    w->output += w->output_step;
    w->left -= R;
    GOPS_UNROLL
    for (int v = 0; v < 4; v++) {
        sums[v] = next[v];
    }
}

/* The first KY - S rows of data, then all groups. */
GOPS_INLINE void rolling_tile(rolling_work *w, const setting *at, const int KY, const int QX,
                              const int S, const int NV, const int JR, const int PER)
{
    const int R = 4 / NV, OPEN = (KY + S - 1) / S;
    open_row open[MAX_OPEN];
    bytes data[4] = {0}, sums[4], numbers[4];
    GOPS_UNROLL
    for (int j = 0; j < KY - S; j++) {
        GOPS_UNROLL
        for (int u = 0; u < NV / PER; u++) {
            data[u] = load_row(at, w, u);
        }
        w->from += w->width;
        w->y++;
        add_row(w, data, 0, open, 0, j, KY, QX, S, NV, JR, PER);
    }
    rolling_group(w, at, open, sums, 0, KY, QX, S, NV, JR, PER);
#define GROUP(n)                                                                                   \
    if ((n) <= OPEN) {                                                                             \
        if (w->left <= R) {                                                                        \
            break;                                                                                 \
        }                                                                                          \
        rolling_step(w, at, open, sums, (n)*R % OPEN, KY, QX, S, NV, JR, PER);                     \
    }
    for (;;) {
        GROUP(1)
        GROUP(2)
        GROUP(3)
        GROUP(4)
        GROUP(5)
        GROUP(6)
        GROUP(7)
    }
#undef GROUP
    GOPS_UNROLL
    for (int v = 0; v < 4; v++) {
        numbers[v] = rounded(sums[v], w->scale);
    }
    store_rolling(at, w, w->left, sums, numbers, NV);
}

/* The bytes of the quads of a load. Where it is a row, byte 0 is the first that the first vector
 * reads. Of JR rows, byte 0 is their beginning, and the last one stands for the padding. */
static void rolling_index(const gops_permuted_shape *shape, bytes *index, const int QX, const int S,
                          const int JR, const int PER)
{
    for (int i = 0; i < QX * JR * PER; i++) {
        const int first = i / (JR * PER) * GOPS_PERMUTED_QUAD + i % PER * shape->vector_columns * S;
        if (JR == 1) {
            index[i] = _mm512_add_epi8(quad_bytes(S, 1), _mm512_set1_epi8((char)first));
            continue;
        }
        uint8_t joined[64];
        const int width = (int)shape->width, x = first - (int)shape->pad_x;
        const int row = i / PER % JR * width;
        for (int j = 0; j < 64; j++) {
            const int column = x + j / 4 * S + j % 4;
            joined[j] = (uint8_t)(column >= 0 && column < width ? row + column : 63);
        }
        index[i] = _mm512_loadu_si512(joined);
    }
}

/* The masks of the loads of JR rows, the first of which is data row y. */
static void rolling_masks(const gops_permuted_shape *shape, uint64_t *masks, int64_t count,
                          int64_t y, const int JR)
{
    for (int64_t i = 0; i < count; i++, y += JR) {
        const int64_t begin = gops_clamp(-y, 0, JR);
        const int64_t end = gops_clamp(shape->height - y, begin, JR);
        masks[i] = first_bits(end * shape->width) & ~first_bits(begin * shape->width);
    }
}

#include "methods/depthwise/depthwise_permuted_three.inc.h"

/* All tiles of a filter; `w` has what the filters of a call have in common. */
GOPS_INLINE void rolling_filter(const gops_permuted_filter *filter, const setting *at,
                                rolling_work w, pending *group, const int KY, const int QX,
                                const int S, const int NV, const int JR, const int PER)
{
    const gops_permuted_shape *shape = at->shape;
    const int64_t size = w.codes ? 1 : (int64_t)sizeof(int32_t);
    w.start = _mm512_set1_epi32((int32_t)filter->start);
    w.weights = filter->row_weights;
    w.scale = _mm512_set1_ps(filter->scale);
    w.output_step *= size;
    GOPS_UNROLL
    for (int k = 0; k < 3; k++) {
        w.weight[k] = KY == 3 ? _mm512_set1_epi32(w.weights[k]) : w.start;
    }
    const uint8_t *first = filter->data + w.y * w.width;
    for (int64_t column = 0; column < shape->columns; column += shape->tile_columns) {
        rolling_work tile = w;
        const int64_t x = JR == 1 ? column * S - shape->pad_x : 0;
        tile.from = first + x;
        tile.output = (uint8_t *)filter->output + column * size;
        tile.columns = gops_min(shape->tile_columns, shape->columns - column);
        tile.stored = first_bits(4 / NV * tile.columns);
        GOPS_UNROLL
        for (int u = 0; u < NV / PER; u++) {
            tile.mask[u] =
                JR == 1 ? columns_within(x + u * w.next_load, w.width) : first_bits(w.width);
        }
        if (group != NULL) {
            three_tile(&tile, at, group, NV, JR, PER);
        } else {
            rolling_tile(&tile, at, KY, QX, S, NV, JR, PER);
        }
    }
}

/* All filters of a call. */
GOPS_INLINE void rolling(const setting *at, const gops_permuted_call *call, const int KY,
                         const int QX, const int S, const int NV, const int JR, const int PER)
{
    const int R = 4 / NV;
    const gops_permuted_shape *shape = at->shape;
    uint64_t masks[GOPS_PERMUTED_MASKS];
    rolling_work w = {
        .y = call->first_row * S - shape->pad_y,
        .height = shape->height,
        .width = shape->width,
        .next_load = PER * shape->vector_columns * S,
        .masks = masks,
        .codes = call->filters[0].codes,
        .output_step = R * shape->columns,
        .left = call->rows,
    };
    rolling_index(shape, w.index, QX, S, JR, PER);
    if (JR > 1) {
        /* The last one is of a load ahead. */
        const int64_t loads = gops_ceil_div(call->rows, R) * R * S / JR + 1;
        rolling_masks(shape, masks, loads, w.y + KY - S, JR);
    }
    pending group = {.output = call->filters[0].output};
    const bool three = KY == 3 && S == 1 && w.codes;
    for (int64_t i = 0; i < call->count; i++) {
        const gops_permuted_filter *filter = &call->filters[i];
        if (filter->parts > 1) {
            general_kernels[NV](at, call, filter);
        } else if (three) {
            rolling_filter(filter, at, w, &group, KY, QX, S, NV, JR, PER);
        } else {
            rolling_filter(filter, at, w, NULL, KY, QX, S, NV, JR, PER);
        }
    }
    if (three) {
        bytes numbers[4];
        round_pending(&group, numbers);
        store_three(at, &group, numbers);
    }
}
