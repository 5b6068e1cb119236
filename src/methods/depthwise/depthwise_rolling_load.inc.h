/*
 * depthwise_rolling_load.inc.h: how depthwise_rolling.inc.h reads a row, where a load is cheaper than a shuffle.
 *
 * Tap kx is the row shifted by kx columns, an unaligned load. Tiles at the edge of the image mask off the lanes outside
 * it: they become 0, as in a padded copy, and no memory is touched there. With stride 2, two loads hold the data of
 * taps kx and kx + 1 in their even and odd lanes. EVEN_LANES and ODD_LANES bring these together, in whatever order one
 * instruction can, and IN_ORDER puts the sums in order.
 *
 * Parameters: as depthwise_rolling.inc.h, with its `vector`
 */

/* The lanes inside the image, of the loads of a row: by tap, or pair of taps with stride 2. */
typedef struct NAME(row_taps) {
    NAME(lane_set) set[MAX_TAPS][MAX_NR * 2];
} row_taps;

enum { ROW_TAPS_IN_REGISTERS = 0 };

/* Where a row of a tile begins. */
typedef struct NAME(row_data) {
    const C *row;
} row_data;

GOPS_INLINE int64_t tile_width(const int K, const int S)
{
    (void)K;
    (void)S;
    return LANES;
}

GOPS_INLINE bool find_taps(row_taps *taps, const gops_depthwise_image *a, int64_t x, const int K,
                           const int S, const int NR)
{
    const int64_t step = S * a->dilation_x, end = x + (K - 1) / S * step + S * NR * LANES;
    const bool edge = x < 0 || end > a->width;
    for (int i = 0; edge && i < (K + S - 1) / S; i++) {
        GOPS_UNROLL
        for (int v = 0; v < S * NR; v++) {
            const int64_t from = x + i * step + v * LANES;
            taps->set[i][v] = NAME(lanes_between)(-from, a->width - from);
        }
    }
    return edge;
}

GOPS_INLINE row_data read_row(const C *row, const row_taps *taps, const int EDGE)
{
    (void)taps;
    (void)EDGE;
    return (row_data){row};
}

GOPS_INLINE void read_taps(vector *x, row_data data, const row_taps *taps, int64_t dilation,
                           const int kx, const int v, const int K, const int S, const int EDGE)
{
    (void)K;
    GOPS_UNROLL
    for (int i = 0; i < S; i++) {
        const C *from = data.row + kx * dilation + (v * S + i) * LANES;
        if (EDGE) {
            x[i] = NAME(load_lanes)(from, taps->set[kx / S][v * S + i]);
        } else {
            x[i] = *(const vector *)(const void *)from;
        }
        GOPS_IN_REGISTER(x[i]);
    }
    if (S == 2) {
        const vector odd = __builtin_shufflevector(x[0], x[1], ODD_LANES);
        x[0] = __builtin_shufflevector(x[0], x[1], EVEN_LANES);
        x[1] = odd;
    }
}
