/*
 * depthwise_rolling_load.inc.h: how depthwise_rolling.inc.h reads a row, where a load is cheaper than a shuffle.
 *
 * Tap kx is the row shifted by kx columns, an unaligned load. Tiles at the edge of the image mask off the lanes outside
 * it: they become 0, as in a padded copy, and no memory is touched there. A masked load costs as
 * much as about two others. So where only taps on one side of the kernel's middle reach beyond the image, or on
 * either side of it, only their loads have masks.
 *
 * With stride 2, two loads hold the data of taps kx and kx + 1 in their even and odd lanes. EVEN_LANES and ODD_LANES
 * bring these together, in whatever order one instruction can, and IN_ORDER puts the sums in order. The middle tap is
 * the first of its pair: if the image is padded by half of the kernel, the loads of that pair are aligned where the
 * image is, and lie inside it.
 *
 * Parameters: as depthwise_rolling.inc.h, with its `vector`
 */

/* How far apart the loads of two vectors are, and the lanes inside the image, of the loads of a row: by group of
 * taps. */
typedef struct NAME(row_taps) {
    int64_t step;
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

GOPS_INLINE int first_tap(const int group, const int K, const int S)
{
    return S * group - (S == 2 && group > 0 && K / 2 % 2 == 1 ? 1 : 0);
}

/* Where load number `load` of a group begins, from that of its first tap on. */
GOPS_INLINE int64_t load_column(const int load, int64_t step, const int S)
{
    return load / S * step + load % S * LANES;
}

GOPS_INLINE int find_taps(row_taps *taps, const gops_depthwise_image *a, int64_t x, int64_t step,
                          const int K, const int S, const int NR)
{
    const int groups = (K + S - 1) / S;
    const int64_t reach = K / 2 * a->dilation_x, middle = x + reach;
    const int64_t loaded = load_column(S * NR - 1, S * step, S) + LANES;
    const bool begins = x >= 0;
    const bool ends = x + first_tap(groups - 1, K, S) * a->dilation_x + loaded <= a->width;
    /* If of the taps on a side of the middle only one load reaches out, the first or the last. */
    const bool one = NR == 1 || S * step >= reach;
    const bool from_middle = one && middle >= 0;
    const bool to_middle = one && middle + loaded <= a->width;
    taps->step = S * step;
    for (int g = 0; !(begins && ends) && g < groups; g++) {
        GOPS_UNROLL
        for (int v = 0; v < S * NR; v++) {
            const int64_t from =
                x + first_tap(g, K, S) * a->dilation_x + load_column(v, taps->step, S);
            taps->set[g][v] = NAME(lanes_between)(-from, a->width - from);
        }
    }
    return begins && ends             ? INSIDE
           : from_middle && ends      ? LEFT
           : begins && to_middle      ? RIGHT
           : from_middle && to_middle ? SIDES
                                      : ANYWHERE;
}

GOPS_INLINE row_data read_row(const C *row, const row_taps *taps, const int EDGE)
{
    (void)taps;
    (void)EDGE;
    return (row_data){row};
}

/* Whether load number `load` of a group has lanes outside the image. */
GOPS_INLINE bool reaches_out(const int kx, const int load, const int loads, const int K,
                             const int EDGE)
{
    const bool left = EDGE == LEFT || EDGE == SIDES, right = EDGE == RIGHT || EDGE == SIDES;
    return EDGE == ANYWHERE || (left && kx < K / 2 && load == 0) ||
           (right && kx > K / 2 && load == loads - 1);
}

GOPS_INLINE void read_taps(vector *x, row_data data, const row_taps *taps, int64_t dilation,
                           const int group, const int v, const int K, const int S, const int NR,
                           const int EDGE)
{
    const int kx = first_tap(group, K, S);
    GOPS_UNROLL
    for (int i = 0; i < S; i++) {
        const int load = v * S + i;
        const C *from = data.row + kx * dilation + load_column(load, taps->step, S);
        if (reaches_out(kx, load, S * NR, K, EDGE)) {
            x[i] = NAME(load_lanes)(from, taps->set[group][load]);
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
