/* Wants NAME(symbol) and LANES; the tiles of one compute type, from implicit_tile.inc.h. */
/*
 * The sizes fill the registers: sums, the spots' or the weights' vectors of one k, and one more.
 * With 32 registers 8 x 3 and 4 x 6 pixel vectors, 2 vectors of channels x 14 pixels; with 16,
 * 4 x 3 and 2 vectors x 6. Smaller ones are for what is left over.
 */

#define PIXELS(channels, spots)                                                                    \
    static void NAME(pixels_##channels##x##spots)(const gops_tile_work *work)                      \
    {                                                                                              \
        NAME(pixels)(work, channels, spots);                                                       \
    }
#define CHANNELS(vectors, spots)                                                                   \
    static void NAME(channels_##vectors##x##spots)(const gops_tile_work *work)                     \
    {                                                                                              \
        NAME(channels)(work, vectors, spots);                                                      \
    }
GOPS_PIXEL_TILES(PIXELS)
GOPS_CHANNEL_TILES(CHANNELS)
#undef PIXELS
#undef CHANNELS

#define PIXELS(channels, spots) {channels, spots, NAME(pixels_##channels##x##spots)},
#define CHANNELS(vectors, spots) {vectors * LANES, spots, NAME(channels_##vectors##x##spots)},
static const gops_tile NAME(pixel_tiles)[] = {GOPS_PIXEL_TILES(PIXELS){0, 0, NULL}};
static const gops_tile NAME(channel_tiles)[] = {GOPS_CHANNEL_TILES(CHANNELS){0, 0, NULL}};
#undef PIXELS
#undef CHANNELS

static void NAME(transpose)(void *to, int64_t to_ld, const void *from, int64_t from_ld,
                            int64_t channels, int64_t pixels);
static void NAME(interleave)(void *to, const void *const *from, int64_t rows, int64_t count);

static const gops_tiles NAME(tiles) = {LANES, NAME(pixel_tiles), NAME(channel_tiles),
                                       NAME(transpose), NAME(interleave)};
