/*
 * ort_pass_bytes.inc.h: the largest of the windows around each element of a small plane, for the compiler to vectorize.
 * Parameters: those of ort_pass_sets.inc.h.
 */
TARGET static void NAME(take_masked)(uint8_t *restrict to, const uint8_t *restrict from,
                                     const uint8_t *restrict mask, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        const uint8_t value = from[i] & mask[i];
        to[i] = to[i] > value ? to[i] : value;
    }
}

TARGET static void NAME(flip_all)(uint8_t *restrict to, const uint8_t *restrict from, uint8_t flip,
                                  int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        to[i] = from[i] ^ flip;
    }
}

/* Rows above and below the plane are zeros, the least. */
TARGET static void NAME(largest_around)(const gops_ort_pass *pass, const columns *masks,
                                        const uint8_t *plane, uint8_t *to)
{
    const gops_ort_window *window = &pass->window;
    const int64_t width = pass->in[X], count = pass->plane;
    const int64_t edge = window->kernel[Y] * width + window->kernel[X];
    const uint8_t flip = pass->type == GOPS_I8 ? 0x80 : 0;
    uint8_t padded[EDGE + SMALL_PLANE + EDGE], largest[SMALL_PLANE];
    memset(padded, 0, (size_t)edge);
    NAME(flip_all)(padded + edge, plane, flip, count);
    memset(padded + edge + count, 0, (size_t)edge);
    memset(largest, 0, (size_t)count);
    for (int64_t y = 0; y < window->kernel[Y]; y++) {
        for (int64_t x = 0; x < window->kernel[X]; x++) {
            const int64_t shift = (y - window->pads_begin[Y]) * width + x - window->pads_begin[X];
            NAME(take_masked)(largest, padded + edge + shift, masks->of[x], count);
        }
    }
    NAME(flip_all)(to, largest, flip, count);
}
