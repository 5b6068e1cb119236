/*
 * amx_emulated.h: the tile instructions of AMX in plain C, as Intel's manual describes them; for
 * isa/amx.h.
 *
 * What the instructions fault on, assertions do: no configuration, or sizes that do not fit.
 */
#ifndef GOPS_ISA_AMX_EMULATED_H
#define GOPS_ISA_AMX_EMULATED_H

#include "isa/amx_config.h"
#include "isa/bf16_product.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

typedef struct gops_amx_emulated {
    gops_amx_config config;
    uint8_t tile[GOPS_AMX_TILES][GOPS_AMX_ROWS][GOPS_AMX_BYTES];
} gops_amx_emulated;

static inline void gops_amx_emulated_begin(gops_amx_emulated *amx, const gops_amx_config *config)
{
    assert(config->palette == GOPS_AMX_PALETTE && config->start_row == 0);
    *amx = (gops_amx_emulated){.config = *config};
}

static inline void gops_amx_emulated_end(gops_amx_emulated *amx)
{
    amx->config.palette = 0;
}

static inline int gops_amx_emulated_rows(const gops_amx_emulated *amx, int tile)
{
    assert(amx->config.palette == GOPS_AMX_PALETTE && amx->config.rows[tile] <= GOPS_AMX_ROWS &&
           amx->config.bytes[tile] <= GOPS_AMX_BYTES);
    return amx->config.rows[tile];
}

static inline void gops_amx_emulated_zero(gops_amx_emulated *amx, int tile)
{
    memset(amx->tile[tile], 0, sizeof amx->tile[tile]);
}

static inline void gops_amx_emulated_load(gops_amx_emulated *amx, int tile, const void *from,
                                          int64_t ld)
{
    const int rows = gops_amx_emulated_rows(amx, tile);
    gops_amx_emulated_zero(amx, tile);
    for (int row = 0; row < rows; row++) {
        memcpy(amx->tile[tile][row], (const unsigned char *)from + row * ld,
               amx->config.bytes[tile]);
    }
}

static inline void gops_amx_emulated_store(const gops_amx_emulated *amx, int tile, void *to,
                                           int64_t ld)
{
    const int rows = gops_amx_emulated_rows(amx, tile);
    for (int row = 0; row < rows; row++) {
        memcpy((unsigned char *)to + row * ld, amx->tile[tile][row], amx->config.bytes[tile]);
    }
}

/* M, N and K of a product, in values of 32 bits. */
typedef struct gops_amx_sizes {
    int m, n, k;
} gops_amx_sizes;

static inline gops_amx_sizes gops_amx_emulated_sizes(const gops_amx_emulated *amx, int sums, int a,
                                                     int b)
{
    const gops_amx_config *config = &amx->config;
    (void)a; /* where assertions are left out */
    const gops_amx_sizes sizes = {gops_amx_emulated_rows(amx, sums), config->bytes[sums] / 4,
                                  gops_amx_emulated_rows(amx, b)};
    assert(gops_amx_emulated_rows(amx, a) == sizes.m && config->bytes[a] == sizes.k * 4 &&
           config->bytes[b] == config->bytes[sums] && sums != a && sums != b && a != b);
    return sizes;
}

/* Value number `at` of a row. Its lowest bits come first also where memory has them last. */
static inline uint32_t gops_amx_value(const uint8_t *row, int at)
{
    uint32_t value;
    memcpy(&value, row + at * 4, sizeof value);
    return value;
}

/* The bytes of `a` have a sign, or those of b. */
static inline void gops_amx_emulated_bytes(gops_amx_emulated *amx, int sums, int a, int b,
                                           int a_signed)
{
    const gops_amx_sizes sizes = gops_amx_emulated_sizes(amx, sums, a, b);
    for (int m = 0; m < sizes.m; m++) {
        for (int n = 0; n < sizes.n; n++) {
            uint32_t sum = gops_amx_value(amx->tile[sums][m], n);
            for (int k = 0; k < sizes.k * 4; k++) {
                const uint32_t left = gops_amx_value(amx->tile[a][m], k / 4) >> (k % 4 * 8);
                const uint32_t right = gops_amx_value(amx->tile[b][k / 4], n) >> (k % 4 * 8);
                sum += (uint32_t)(a_signed ? (int8_t)left * (uint8_t)right
                                           : (uint8_t)left * (int8_t)right);
            }
            memcpy(amx->tile[sums][m] + n * 4, &sum, sizeof sum);
        }
    }
}

static inline void gops_amx_emulated_quads(gops_amx_emulated *amx, int sums, int a, int b)
{
    gops_amx_emulated_bytes(amx, sums, a, b, 0);
}

static inline void gops_amx_emulated_signed_quads(gops_amx_emulated *amx, int sums, int a, int b)
{
    gops_amx_emulated_bytes(amx, sums, a, b, 1);
}

/* The products of lower and of upper halves are summed up apart, over all of K, then together, then
 * added to what the tile holds. */
static inline void gops_amx_emulated_pairs(gops_amx_emulated *amx, int sums, int a, int b)
{
    const gops_amx_sizes sizes = gops_amx_emulated_sizes(amx, sums, a, b);
    for (int m = 0; m < sizes.m; m++) {
        for (int n = 0; n < sizes.n; n++) {
            float lower = 0, upper = 0, sum;
            for (int k = 0; k < sizes.k; k++) {
                const uint32_t left = gops_amx_value(amx->tile[a][m], k);
                const uint32_t right = gops_amx_value(amx->tile[b][k], n);
                lower = gops_bf16_multiply_add(lower, left, right);
                upper = gops_bf16_multiply_add(upper, left >> 16, right >> 16);
            }
            memcpy(&sum, amx->tile[sums][m] + n * 4, sizeof sum);
            sum = gops_bf16_flush(gops_bf16_flush(sum) + gops_bf16_flush(lower + upper));
            memcpy(amx->tile[sums][m] + n * 4, &sum, sizeof sum);
        }
    }
}

#endif
