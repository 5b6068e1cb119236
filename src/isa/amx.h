/*
 * amx.h: the tile instructions of AMX, and for the set amx_emulated the same in plain C.
 *
 * A processor with AMX has eight registers, tiles, of up to 16 rows of up to 64 bytes. A product
 * adds to a tile of 32-bit sums, M rows by N, what rows of M x K and of K x N make, where each of
 * the K values is 32 bits of neighbouring numbers: four of 8 bits or two of bf16.
 *
 * In all of these `amx` is a gops_amx_tiles of the thread, and tiles are literal numbers from 0 to 7.
 *
 *   gops_amx_begin(amx, config)            loads a configuration; the tiles are then zero
 *   gops_amx_end(amx)                      gives the tiles back. Both together take 170 cycles
 *                                          (Intel Xeon, Granite Rapids)
 *   gops_amx_zero(amx, tile)
 *   gops_amx_load(amx, tile, from, ld)     rows that begin `ld` bytes apart
 *   gops_amx_store(amx, tile, to, ld)
 *   gops_amx_quads(amx, sums, a, b)        sums += a * b: u8 times i8, modulo 2^32
 *   gops_amx_signed_quads(amx, sums, a, b) the same of i8 times u8
 *   gops_amx_pairs(amx, sums, a, b)        sums += a * b: bf16, sums of f32
 *
 * Any other code may run in between; calls of functions leave the tiles as they are.
 */
#ifndef GOPS_ISA_AMX_H
#define GOPS_ISA_AMX_H

#include "isa/amx_config.h"
#include "isa/vector.h"

/* The MemorySanitizer does not see what the instructions write: it checks the emulation. */
#if !defined(GOPS_EMULATED_ISA) && !defined(GOPS_MEMORY_SANITIZER)
#include <immintrin.h>

typedef struct gops_amx_tiles {
    char unused;
} gops_amx_tiles;

#define gops_amx_begin(amx, config) ((void)(amx), _tile_loadconfig(config))
#define gops_amx_end(amx) ((void)(amx), _tile_release())
#define gops_amx_zero(amx, tile) _tile_zero(tile)
/* The compiler does not know what the instruction reads; at this point all of it is in memory. */
#define gops_amx_load(amx, tile, from, ld)                                                         \
    do {                                                                                           \
        __asm__ volatile("" ::: "memory");                                                         \
        _tile_loadd(tile, from, ld);                                                               \
    } while (0)
#define gops_amx_store(amx, tile, to, ld) _tile_stored(tile, to, ld)
#define gops_amx_quads(amx, sums, a, b) _tile_dpbusd(sums, a, b)
#define gops_amx_signed_quads(amx, sums, a, b) _tile_dpbsud(sums, a, b)
#define gops_amx_pairs(amx, sums, a, b) _tile_dpbf16ps(sums, a, b)
#else
#include "isa/amx_emulated.h"

typedef gops_amx_emulated gops_amx_tiles;
#define gops_amx_begin gops_amx_emulated_begin
#define gops_amx_end gops_amx_emulated_end
#define gops_amx_zero gops_amx_emulated_zero
#define gops_amx_load gops_amx_emulated_load
#define gops_amx_store gops_amx_emulated_store
#define gops_amx_quads gops_amx_emulated_quads
#define gops_amx_signed_quads gops_amx_emulated_signed_quads
#define gops_amx_pairs gops_amx_emulated_pairs
#endif

#endif
