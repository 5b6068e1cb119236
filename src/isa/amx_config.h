/* amx_config.h: the sizes of AMX's tiles. */
#ifndef GOPS_ISA_AMX_CONFIG_H
#define GOPS_ISA_AMX_CONFIG_H

#include <stdint.h>

enum { GOPS_AMX_TILES = 8, GOPS_AMX_ROWS = 16, GOPS_AMX_BYTES = 64, GOPS_AMX_PALETTE = 1 };

/* As LDTILECFG reads it: the bytes of a row and the rows of each tile. */
typedef struct gops_amx_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t bytes[16];
    uint8_t rows[16];
} gops_amx_config;

/* All tiles as large as they can be. */
/* clang-format off */
#define GOPS_AMX_FULL                                                                              \
    {GOPS_AMX_PALETTE, 0, {0}, {64, 64, 64, 64, 64, 64, 64, 64}, {16, 16, 16, 16, 16, 16, 16, 16}}
/* clang-format on */

#endif
