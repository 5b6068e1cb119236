/*
 * depthwise_rolling_permute.inc.h: how depthwise_rolling.inc.h reads a row, where one instruction takes any lanes of
 * two registers.
 *
 * An unaligned load of a whole register nearly always crosses a cache line, and a mask costs it another instruction. So
 * two plain loads hold all data of a row of a tile, and each tap is a shuffle of them, whose mask puts zeros where the
 * image ends. Both loads lie inside the row: where the tile ends beyond it they begin earlier, and the shuffles take
 * other lanes. Only rows of fewer columns than a register has lanes are loaded with a mask.
 *
 * With stride S and K taps two registers hold the data of (2 * LANES - K) / S + 1 outputs, with stride 2 15, 14 and 13
 * of 16 lanes. Nothing is lost by that on the usual planes of 14, 28 and 56 columns.
 *
 * Parameters: as depthwise_rolling.inc.h, with its `vector`; LANES 16
 */
typedef int32_t NAME(lane_numbers) __attribute__((vector_size(LANES * sizeof(int32_t))));
#define lane_numbers NAME(lane_numbers)

/* Where the two loads begin, from the column of the tile's first tap on, the lanes that they load if the row is
 * shorter, and the shuffle of each tap. */
typedef struct NAME(row_taps) {
    int64_t begin[2];
    MASK loaded, within[MAX_TAPS];
    lane_numbers lane[MAX_TAPS];
} row_taps;

enum { ROW_TAPS_IN_REGISTERS = 1 };

/* The two loads of a row of a tile. */
typedef struct NAME(row_data) {
    vector part[2];
} row_data;

GOPS_INLINE int64_t tile_width(const int K, const int S)
{
    return gops_min(LANES, (2 * LANES - K) / S + 1);
}

GOPS_INLINE int first_tap(const int group, const int K, const int S)
{
    (void)K;
    return S * group;
}

GOPS_INLINE int find_taps(row_taps *taps, const gops_depthwise_image *a, int64_t x, int64_t step,
                          const int K, const int S, const int NR)
{
    (void)step;
    (void)NR;
    const int64_t width = a->width, begin = gops_clamp(x, 0, gops_max(width - 2 * LANES, 0)),
                  second = gops_clamp(width - LANES, 0, begin + LANES);
    taps->begin[0] = begin - x;
    taps->begin[1] = second - x;
    taps->loaded = (MASK)NAME(lane_mask)(0, width);
    /* As seen from the first load; numbers so far beyond it that all taps are outside, too, are small here. */
    const int32_t first = (int32_t)gops_clamp(x - begin, -S * LANES - K, 2 * LANES);
    const int32_t next = (int32_t)(second - begin),
                  end = (int32_t)gops_min(width - begin, 2 * LANES);
    const lane_numbers number = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    GOPS_UNROLL
    for (int k = 0; k < K; k++) {
        const lane_numbers column = number * S + (first + k);
        taps->lane[k] = column + ((column >= next) & (LANES - next));
        /* As unsigned numbers, negative ones are beyond the end too. */
        taps->within[k] = _mm512_cmplt_epu32_mask((__m512i)column, _mm512_set1_epi32(end));
    }
    return width < LANES ? ANYWHERE : INSIDE;
}

GOPS_INLINE row_data read_row(const C *row, const row_taps *taps, const int EDGE)
{
    row_data data;
    GOPS_UNROLL
    for (int i = 0; i < 2; i++) {
        const C *from = row + taps->begin[i];
        data.part[i] =
            EDGE ? NAME(load_masked)(from, taps->loaded) : *(const vector *)(const void *)from;
        GOPS_IN_REGISTER(data.part[i]);
    }
    return data;
}

GOPS_INLINE void read_taps(vector *x, row_data data, const row_taps *taps, int64_t dilation,
                           const int group, const int v, const int K, const int S, const int NR,
                           const int EDGE)
{
    const int kx = first_tap(group, K, S);
    (void)dilation;
    (void)v;
    (void)NR;
    (void)EDGE;
    GOPS_UNROLL
    for (int i = 0; i < gops_min(S, K - kx); i++) {
        x[i] = (vector)INTRINSIC(maskz_permutex2var)(taps->within[kx + i], (REGISTER)data.part[0],
                                                     (__m512i)taps->lane[kx + i],
                                                     (REGISTER)data.part[1]);
    }
}

#undef lane_numbers
