/* implicit_tile.isa.c: the register tiles of each compute type, for one instruction set. */
#include "methods/implicit/tiles/implicit_blocked.h"
#include "methods/implicit/tiles/implicit_sizes.h"
#include "methods/implicit/tiles/implicit_tile.h"

#include "isa/register.h"
#include "isa/vector.h"

#include <stddef.h>
#include <string.h>

#define MULTIPLY_ADD(sum, data, weight) ((sum) += (data) * (weight))
#define STEPS 1
#define SHORT_STEPS 1
#define ROWS 0
#define BLOCKED 1
#define START_AND_STORE "methods/implicit/tiles/implicit_store.inc.h"
#define EACH_COMPUTE "methods/implicit/tiles/implicit_tile.inc.h"
#define EACH_INTEGER
#include "isa/each_compute.inc.h"

#define TILES(name, lanes, ...)                                                                    \
    &(const gops_tiles)                                                                            \
    {                                                                                              \
        lanes, 1, name##_pixels_list, name##_channels_list, name##_transpose, name##_interleave,   \
            NULL, NULL, __VA_ARGS__, NULL, ROWS                                                    \
    }
static const gops_tiles *const tiles[GOPS_COMPUTES] = {
    [GOPS_COMPUTE_F32] = TILES(f32, LANES_OF_4, GOPS_ISA_NAME(gops_implicit_blocked),
                               GOPS_ISA_NAME(gops_implicit_blocks)),
    [GOPS_COMPUTE_F64] = TILES(f64, LANES_OF_8, NULL, NULL),
    [GOPS_COMPUTE_U16] = TILES(u16, LANES_OF_2, NULL, NULL),
    [GOPS_COMPUTE_U32] = TILES(u32, LANES_OF_4, NULL, NULL),
    [GOPS_COMPUTE_U64] = TILES(u64, LANES_OF_8, NULL, NULL),
};

const struct gops_implicit_kernels GOPS_ISA_NAME(gops_implicit_kernels) = {
    .tiles = tiles,
    .padded_input = GOPS_ISA_NAME(gops_padded_input_table),
};
