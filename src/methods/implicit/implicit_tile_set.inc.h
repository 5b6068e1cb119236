/*
 * implicit_tile_set.inc.h: the tiles of one compute type, from implicit_tile.inc.h and
 * implicit_transpose.inc.h.
 *
 * The sizes fill the vector registers with the sums, the vectors of one step of k (of the columns
 * in the pixels form, of the weights in the channels form), and one more. With 32 registers that is
 * 8 x 3 or 4 x 6 in the pixels form, and 2 vectors of channels x 14 in the channels form; with 16
 * registers, 4 x 3 and 2 vectors x 6. The smaller tiles compute what these leave over.
 *
 * Parameters:
 *
 *   LANES                    integer: values of the compute type in a vector
 *   NAME(symbol)             puts the type's name in front of a symbol
 *   GOPS_PIXEL_TILES(TILE)   TILE(mr, nr) for each size of the pixels form
 *   GOPS_CHANNEL_TILES(TILE) TILE(vectors, nr) for each size of the channels form; MR is
 *                            vectors * LANES
 */
#define pixels_tile NAME(pixels_tile)
#define channels_tile NAME(channels_tile)
#define pixels_list NAME(pixels_list)
#define channels_list NAME(channels_list)

#define PIXELS(mr, nr)                                                                             \
    static void NAME(pixels_##mr##x##nr)(const gops_tile_work *work)                               \
    {                                                                                              \
        pixels_tile(work, mr, nr);                                                                 \
    }
#define CHANNELS(vectors, nr)                                                                      \
    static void NAME(channels_##vectors##x##nr)(const gops_tile_work *work)                        \
    {                                                                                              \
        channels_tile(work, vectors, nr);                                                          \
    }
GOPS_PIXEL_TILES(PIXELS)
GOPS_CHANNEL_TILES(CHANNELS)
#undef PIXELS
#undef CHANNELS

#define PIXELS(mr, nr) {mr, nr, NAME(pixels_##mr##x##nr)},
#define CHANNELS(vectors, nr) {vectors * LANES, nr, NAME(channels_##vectors##x##nr)},
static const gops_tile pixels_list[] = {GOPS_PIXEL_TILES(PIXELS){0, 0, NULL}};
static const gops_tile channels_list[] = {GOPS_CHANNEL_TILES(CHANNELS){0, 0, NULL}};
#undef PIXELS
#undef CHANNELS

static const gops_tiles NAME(tiles) = {LANES, pixels_list, channels_list, NAME(transpose),
                                       NAME(interleave)};

#undef pixels_tile
#undef channels_tile
#undef pixels_list
#undef channels_list
