/* random_fill.c: random elements to measure with. */
#include "common/random_fill.h"

#include <string.h>

static const uint64_t GAMMA = UINT64_C(0x9e3779b97f4a7c15);

/* splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t next_random(uint64_t *state)
{
    uint64_t bits = *state += GAMMA;
    bits = (bits ^ (bits >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ (bits >> 27)) * UINT64_C(0x94d049bb133111eb);
    return bits ^ (bits >> 31);
}

/* The floating point types: which bits of a random number are kept (sign and significand), and the
 * exponent field of [0.5, 1), which is the bias minus 1. */
static const struct {
    gops_type type;
    uint64_t kept;
    uint64_t exponent;
} floats[] = {
    {GOPS_F64, UINT64_C(0x800fffffffffffff), UINT64_C(1022) << 52},
    {GOPS_F32, UINT64_C(0x807fffff), UINT64_C(126) << 23},
    {GOPS_F16, UINT64_C(0x83ff), UINT64_C(14) << 10},
    {GOPS_BF16, UINT64_C(0x807f), UINT64_C(126) << 7},
    {GOPS_F8E4M3, UINT64_C(0x87), UINT64_C(6) << 3},
    {GOPS_F8E5M2, UINT64_C(0x83), UINT64_C(14) << 2},
};

/* Stores the lowest bytes of a number, on machines of either byte order. */
static void store_element(void *element, uint64_t bits, size_t bytes)
{
    const uint8_t one = (uint8_t)bits;
    const uint16_t two = (uint16_t)bits;
    const uint32_t four = (uint32_t)bits;
    memcpy(element,
           bytes == 1   ? (const void *)&one
           : bytes == 2 ? (const void *)&two
           : bytes == 4 ? (const void *)&four
                        : (const void *)&bits,
           bytes);
}

uint64_t gops_random_skip(uint64_t seed, int64_t first)
{
    return seed + GAMMA * (uint64_t)first;
}

void gops_random_fill(gops_type type, void *elements, size_t bytes, uint64_t seed)
{
    const size_t element_bytes = gops_type_bytes(type);
    uint64_t kept = UINT64_MAX;
    uint64_t exponent = 0;
    for (size_t i = 0; i < sizeof floats / sizeof floats[0]; i++) {
        if (floats[i].type == type) {
            kept = floats[i].kept;
            exponent = floats[i].exponent;
        }
    }
    for (size_t at = 0; at < bytes; at += element_bytes) {
        store_element((char *)elements + at, (next_random(&seed) & kept) | exponent, element_bytes);
    }
}
