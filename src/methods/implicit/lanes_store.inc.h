/*
 * lanes_store.inc.h: what implicit_store.inc.h is for quantized plans: sums begin with what
 * corrects for zero points, and are requantized before they are stored.
 *
 * Parameters: LANES and NAME of isa/each_compute.inc.h, for values of 32 bits; the vector of
 * isa/vectors.inc.h, as `vector`; GOPS_MAX_NR; f32_vector, f32_broadcast and f32_clamp
 */
#define start_tile NAME(start_tile)
#define store_tile NAME(store_tile)
#define store_sums NAME(store_sums)
#define store_bytes NAME(store_bytes)
#define requantize NAME(requantize)

typedef int32_t NAME(signed_vector) __attribute__((vector_size(LANES * sizeof(int32_t))));
typedef uint8_t NAME(byte_vector) __attribute__((vector_size(LANES), aligned(1), may_alias));

GOPS_INLINE void start_tile(const gops_tile_work *work, const int row, const int vectors,
                            const int nr, const bool channels_form, vector *sum)
{
    const uint32_t *first = work->accumulate ? NULL : work->bias;
    GOPS_UNROLL
    for (int i = 0; i < vectors; i++) {
        vector value = {0};
        if (first != NULL) {
            value =
                channels_form ? *(const vector *)(first + i * LANES) : broadcast(first[row + i]);
        }
        GOPS_UNROLL
        for (int j = 0; j < nr; j++) {
            sum[i * nr + j] = value;
        }
    }
}

/* The lower 8 bits of each lane. */
GOPS_INLINE void store_bytes(uint8_t *to, vector bits)
{
    *(NAME(byte_vector) *)to = __builtin_convertvector(bits, NAME(byte_vector));
}

GOPS_INLINE f32_vector requantize(vector sum, f32_vector scale, const gops_lanes_epilogue *by)
{
    const NAME(signed_vector) number = (NAME(signed_vector))sum;
    const f32_vector real = __builtin_convertvector(number, f32_vector) * scale;
    return f32_clamp(real, f32_broadcast(by->low), f32_broadcast(by->high));
}

GOPS_INLINE void store_sums(const gops_tile_work *work, const int row, const int vectors,
                            const int nr, const int64_t step, const vector *sum)
{
    GOPS_UNROLL
    for (int j = 0; j < nr; j++) {
        C *to = (C *)work->sums + work->sum_offsets[j];
        GOPS_UNROLL
        for (int i = 0; i < vectors; i++) {
            *(vector *)(to + (row + i) * step) = sum[i * nr + j];
        }
    }
}

GOPS_INLINE void store_tile(const gops_tile_work *work, const int row, const int vectors,
                            const int nr, const int64_t step, const bool channels_form, vector *sum)
{
    const gops_lanes_epilogue *by = work->bounds;
    if (work->accumulate) {
        GOPS_UNROLL
        for (int i = 0; i < vectors * nr; i++) {
            const C *at = (const C *)work->sums + work->sum_offsets[i % nr];
            sum[i] += *(const vector *)(at + (row + i / nr) * step);
        }
    }
    if (by == NULL) {
        store_sums(work, row, vectors, nr, step, sum);
        return;
    }
    GOPS_UNROLL
    for (int i = 0; i < vectors; i++) {
        const f32_vector scale = channels_form ? *(const f32_vector *)(by->scale + i * LANES)
                                               : f32_broadcast(by->scale[row + i]);
        GOPS_UNROLL
        for (int j = 0; j < nr; j++) {
            const f32_vector real = requantize(sum[i * nr + j], scale, by);
            const int64_t at = work->sum_offsets[j] + (row + i) * step;
            if (by->to_8_bit) {
                const vector bits = (vector)(real + GOPS_ROUNDING);
                store_bytes((uint8_t *)work->sums + at, bits + broadcast((uint32_t)by->zero));
            } else {
                *(f32_vector *)((float *)work->sums + at) = real;
            }
        }
    }
}

#undef start_tile
#undef store_tile
