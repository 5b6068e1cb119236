/* layout_sizes.c: numbers of channels on both sides of every constant that a layout has. */
#include "layout_sizes.h"

int64_t gops_layout_size(int64_t index)
{
    /* Vectors of 16, 32 and 64 bytes hold 2 to 16 values of 4 or 8; a tile has up to 4 vectors. */
    static const int64_t constants[] = {3, 4, 8, 12, 16, 24, 32, 48, 64, 256, 512};
    const int64_t i = index % GOPS_LAYOUT_SIZES;
    return constants[i / 3] + i % 3 - 1;
}
