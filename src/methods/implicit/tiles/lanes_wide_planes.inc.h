/*
 * lanes_wide_planes.inc.h: the register tiles of AMX for 1x1 layers of 8 bits, whose pixels are one axis.
 *
 * The factors are those of lanes_wide.inc.h exchanged: weights, 16 channels by 16 steps of K, packed in that
 * order, times data, 16 steps by 16 pixels. The latter are rows of 16 planes of an input that is not blocked, each
 * row a cache line, as planes begin with one. The sums are 16 channels by 16 pixels, as the output has them:
 * neither they nor the data are transposed, and sums that need no epilogue go from the tiles to the output.
 *
 * `pixels` of the work is the length of a row of the sums: the last column may hold fewer than 16.
 *
 * Parameters: those of lanes_wide_bytes.inc.h, after lanes_wide.inc.h
 */
#define planes_sum NAME(planes_sum)
#define planes_keep NAME(planes_keep)
#define planes_left NAME(planes_left)
#define load_first NAME(load_first)
#define store_planes_words NAME(store_planes_words)
#define narrow_planes NAME(narrow_planes)
#define store_planes_bytes NAME(store_planes_bytes)
#define store_planes NAME(store_planes)
#define planes_tile NAME(planes_tile)

/* Tile registers 0 to 3 are sums, those of channels i and pixels j are 2 * i + j; 4 and 5 are weights, 6 and 7
 * data. `first` are the sums of 16 pixels to begin with, `scratch` what WIDE_STEPS needs. */
GOPS_INLINE void planes_sum(const gops_tile_work *work, const int mr, const int nr, const C *first,
                            C *scratch)
{
    const bool two_rows = mr > WIDE_ROWS, two_columns = nr > 1;
    const C *const pixels0 = (const C *)work->input + work->columns[0];
    const C *const pixels1 = (const C *)work->input + work->columns[two_columns];
    const int64_t *offsets = work->offsets;
    const int64_t ld = (offsets[1] - offsets[0]) * (int64_t)sizeof(C);
    const C *weights = work->weights;
    gops_amx_load(&wide_amx, 0, first, GOPS_AMX_BYTES);
    gops_amx_load(&wide_amx, 1, first, GOPS_AMX_BYTES);
    gops_amx_load(&wide_amx, 2, first + (two_rows ? WIDE_VALUES : 0), GOPS_AMX_BYTES);
    gops_amx_load(&wide_amx, 3, first + (two_rows ? WIDE_VALUES : 0), GOPS_AMX_BYTES);
    for (int64_t k = work->depth; k > 0; k -= WIDE_ROWS) {
        gops_amx_load(&wide_amx, 4, weights, GOPS_AMX_BYTES);
        gops_amx_load(&wide_amx, 6, pixels0 + *offsets, ld);
        gops_amx_signed_quads(&wide_amx, 0, 4, 6);
        if (two_columns) {
            gops_amx_load(&wide_amx, 7, pixels1 + *offsets, ld);
            gops_amx_signed_quads(&wide_amx, 1, 4, 7);
        }
        if (two_rows) {
            gops_amx_load(&wide_amx, 5, weights + WIDE_VALUES, GOPS_AMX_BYTES);
            gops_amx_signed_quads(&wide_amx, 2, 5, 6);
        }
        if (two_rows && two_columns) {
            gops_amx_signed_quads(&wide_amx, 3, 5, 7);
        }
        if (k % (WIDE_STEPS * WIDE_ROWS) == 0) {
            gops_amx_store(&wide_amx, 4, scratch, GOPS_AMX_BYTES);
        }
        offsets += WIDE_ROWS;
        weights += mr * WIDE_ROWS;
    }
}

/* Stores the sums: rows of channels lie `ld` apart, vectors of pixels `column`. */
GOPS_INLINE void planes_keep(const int mr, const int nr, C *to, int64_t column, int64_t ld)
{
    const int64_t bytes = ld * (int64_t)sizeof(C);
    C *const lower = to + WIDE_ROWS * ld;
    gops_amx_store(&wide_amx, 0, to, bytes);
    if (nr > 1) {
        gops_amx_store(&wide_amx, 1, to + column, bytes);
    }
    if (mr > WIDE_ROWS) {
        gops_amx_store(&wide_amx, 2, lower, bytes);
    }
    if (mr > WIDE_ROWS && nr > 1) {
        gops_amx_store(&wide_amx, 3, lower + column, bytes);
    }
}

/* How many pixels of column j are stored. */
GOPS_INLINE int64_t planes_left(const gops_tile_work *work, int j)
{
    return gops_min(work->pixels - work->sum_offsets[j], WIDE_ROWS);
}

/* Integers or floats. `sums` are rows of nr vectors of pixels. */
static void store_planes_words(const gops_tile_work *work, int mr, int nr, const C *sums)
{
    const gops_lanes_epilogue *by = work->bounds;
    const int64_t channels = gops_min(work->channels, mr);
    for (int64_t i = 0; i < channels; i++) {
        for (int j = 0; j < nr; j++) {
            C *to = (C *)work->sums + work->sum_offsets[j] + i * work->sums_ld;
            const int64_t count = planes_left(work, j);
            vector sum = *(const vector *)(sums + (i * nr + j) * WIDE_ROWS);
            if (work->accumulate) {
                sum += load_first(to, count);
            }
            if (by != NULL) {
                const f32_vector low = f32_broadcast(by->low), high = f32_broadcast(by->high);
                sum = (vector)f32_clamp(real_of(sum, f32_broadcast(by->scale[i])), low, high);
            }
            store_first(to, count, sum);
        }
    }
}

#if GOPS_REGISTER_BYTES == 64

/* The bytes of four vectors of sums, one behind the other; `scale` has the scale of each. */
GOPS_INLINE __m512i narrow_planes(const C *const sums[NARROWED_VECTORS],
                                  const float scale[NARROWED_VECTORS],
                                  const NAME(byte_epilogue) * by, const bool pack_clamps)
{
    f32_vector real[NARROWED_VECTORS];
    GOPS_UNROLL
    for (int v = 0; v < NARROWED_VECTORS; v++) {
        real[v] = real_of(*(const vector *)sums[v], f32_broadcast(scale[v]));
    }
    return gops_order_words(narrow(real, by, pack_clamps));
}

GOPS_INLINE void store_planes_bytes(const gops_tile_work *work, const int mr, const int nr,
                                    const C *sums, const NAME(byte_epilogue) * by,
                                    const bool pack_clamps)
{
    const float *scale = ((const gops_lanes_epilogue *)work->bounds)->scale;
    const int64_t ld = work->sums_ld, *at = work->sum_offsets;
    unsigned char *to = work->sums;
    /* Two vectors of pixels behind each other. */
    if (nr == 2 && at[1] - at[0] == WIDE_ROWS && planes_left(work, 1) == WIDE_ROWS &&
        work->channels >= mr) {
        to += at[0];
        GOPS_UNROLL
        for (int i = 0; i < mr; i += 2, sums += 4 * WIDE_ROWS, to += 2 * ld) {
            const C *const from[] = {sums, sums + WIDE_ROWS, sums + 2 * WIDE_ROWS,
                                     sums + 3 * WIDE_ROWS};
            const float scales[] = {scale[i], scale[i], scale[i + 1], scale[i + 1]};
            const __m512i bytes = narrow_planes(from, scales, by, pack_clamps);
            _mm256_storeu_si256((void *)to, _mm512_castsi512_si256(bytes));
            _mm256_storeu_si256((void *)(to + ld), _mm512_extracti64x4_epi64(bytes, 1));
        }
        return;
    }
    for (int j = 0; j < nr; j++) {
        const __mmask16 mask = (__mmask16)((1u << planes_left(work, j)) - 1);
        for (int i = 0; i < mr; i += NARROWED_VECTORS) {
            const C *const row = sums + (i * nr + j) * WIDE_ROWS;
            const C *const from[] = {row, row + nr * WIDE_ROWS, row + 2 * nr * WIDE_ROWS,
                                     row + 3 * nr * WIDE_ROWS};
            const float scales[] = {scale[i], scale[i + 1], scale[i + 2], scale[i + 3]};
            const __m512i bytes = narrow_planes(from, scales, by, pack_clamps);
            const __m128i part[] = {
                _mm512_castsi512_si128(bytes), _mm512_extracti32x4_epi32(bytes, 1),
                _mm512_extracti32x4_epi32(bytes, 2), _mm512_extracti32x4_epi32(bytes, 3)};
            GOPS_UNROLL
            for (int v = 0; v < NARROWED_VECTORS; v++) {
                if (i + v < work->channels) {
                    _mm_mask_storeu_epi8(to + at[j] + (i + v) * ld, mask, part[v]);
                }
            }
        }
    }
}

#else

GOPS_INLINE void store_planes_bytes(const gops_tile_work *work, const int mr, const int nr,
                                    const C *sums, const NAME(byte_epilogue) * by,
                                    const bool pack_clamps)
{
    const float *scale = ((const gops_lanes_epilogue *)work->bounds)->scale;
    for (int i = 0; i < gops_min(work->channels, mr); i++) {
        for (int j = 0; j < nr; j++) {
            unsigned char bytes[WIDE_ROWS], *const at = bytes;
            unsigned char *to = (unsigned char *)work->sums + work->sum_offsets[j];
            f32_vector real = real_of(*(const vector *)(sums + (i * nr + j) * WIDE_ROWS),
                                      f32_broadcast(scale[i]));
            store_bytes(&at, false, &real, by, pack_clamps);
            memcpy(to + i * work->sums_ld, bytes, (size_t)planes_left(work, j));
        }
    }
}

#endif

GOPS_INLINE void store_planes(const gops_tile_work *work, const int mr, const int nr, const C *sums)
{
    const gops_lanes_epilogue *by = work->bounds;
    if (by == NULL || !by->to_8_bit) {
        store_planes_words(work, mr, nr, sums);
        return;
    }
    const NAME(byte_epilogue) bounds = byte_epilogue_of(by);
#ifdef NARROW
    if (bounds.pack_clamps) {
        store_planes_bytes(work, mr, nr, sums, &bounds, true);
        return;
    }
#endif
    store_planes_bytes(work, mr, nr, sums, &bounds, false);
}

GOPS_INLINE void planes_tile(gops_tile_work *work, const int mr, const int nr)
{
    C first[2 * WIDE_VALUES] __attribute__((aligned(64)));
    C sums[4 * WIDE_VALUES] __attribute__((aligned(64)));
    const C *const starts = WIDE_FIRST(work);
    const bool finished = work->bounds == NULL && !work->accumulate && work->channels >= mr;
    for (int i = 0; i < mr; i++) {
        *(vector *)(first + i * WIDE_ROWS) = broadcast(starts != NULL ? starts[i] : 0);
    }
    for (int64_t tile = work->tiles; tile > 0; tile--, gops_tile_move(work, nr)) {
        planes_sum(work, mr, nr, first, sums);
        if (finished && planes_left(work, nr - 1) == WIDE_ROWS) {
            const int64_t *at = work->sum_offsets;
            planes_keep(mr, nr, (C *)work->sums + at[0], nr > 1 ? at[1] - at[0] : 0, work->sums_ld);
        } else {
            planes_keep(mr, nr, sums, WIDE_ROWS, nr * WIDE_ROWS);
            store_planes(work, mr, nr, sums);
        }
    }
}

#define PLANES(mr, nr)                                                                             \
    static void NAME(planes_##mr##x##nr)(gops_tile_work * work)                                    \
    {                                                                                              \
        planes_tile(work, mr, nr);                                                                 \
    }
PLANES(32, 2)
PLANES(32, 1)
PLANES(16, 2)
PLANES(16, 1)
#undef PLANES
#define PLANES(mr, nr) {mr, nr, NAME(planes_##mr##x##nr)},
static const gops_tile NAME(planes_list)[] = {PLANES(32, 2) PLANES(32, 1) PLANES(16, 2)
                                                  PLANES(16, 1){0, 0, NULL}};
#undef PLANES
