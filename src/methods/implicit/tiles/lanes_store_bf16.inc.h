/*
 * lanes_store_bf16.inc.h: what implicit_store.inc.h is for pairs of bf16. The values of the tile are
 * those of its data, 32 bits without a type: as floats some pairs would be denormal or signalling.
 * Its sums are the bits of floats.
 *
 * Parameters: NAME of isa/each_compute.inc.h, for values of 32 bits; the vector of
 * isa/vectors.inc.h, as `vector`; f32_vector, f32_start_tile and f32_store_tile
 */
GOPS_INLINE void NAME(start_tile)(const gops_tile_work *work, const int vectors, const int nr,
                                  const bool channels_form, vector *sum)
{
    f32_start_tile(work, vectors, nr, channels_form, (f32_vector *)sum);
}

GOPS_INLINE void NAME(store_tile)(const gops_tile_work *work, const int row, const int vectors,
                                  const int nr, const int64_t step, const bool channels_form,
                                  vector *sum)
{
    f32_store_tile(work, row, vectors, nr, step, channels_form, (f32_vector *)sum);
}
