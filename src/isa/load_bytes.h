/* load_bytes.h: loads a part of a register. */
#ifndef GOPS_ISA_LOAD_BYTES_H
#define GOPS_ISA_LOAD_BYTES_H

#ifdef __SSE2__

#include "isa/register.h"

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

/* Loads 4, 8 or 16 bytes; the rest of the register is 0. */
GOPS_INLINE __m128i gops_load_bytes(const void *from, const int bytes)
{
    int32_t four;
    if (bytes == 16) {
        return _mm_loadu_si128(from);
    }
    if (bytes == 8) {
        return _mm_loadl_epi64(from);
    }
    memcpy(&four, from, sizeof four);
    return _mm_cvtsi32_si128(four);
}

#endif

#endif
