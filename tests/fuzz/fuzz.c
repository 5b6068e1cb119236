/* fuzz.c: takes numbers out of a fuzzer's bytes, and ends the program where something does not
 * hold. */
#include "fuzz.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void gops_fuzz_require(int holds, const char *format, ...)
{
    if (holds)
        return;
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\n");
    fflush(stdout);
    abort();
}

uint8_t gops_fuzz_byte(gops_fuzz_bytes *bytes)
{
    if (bytes->left == 0)
        return 0;
    bytes->left--;
    return *bytes->at++;
}

uint64_t gops_fuzz_word(gops_fuzz_bytes *bytes)
{
    uint64_t word = 0;
    for (int i = 0; i < 8; i++)
        word |= (uint64_t)gops_fuzz_byte(bytes) << (8 * i);
    return word;
}

int gops_fuzz_range(gops_fuzz_bytes *bytes, int low, int high)
{
    return low + gops_fuzz_byte(bytes) % (high - low + 1);
}

int64_t gops_fuzz_edge(unsigned index)
{
    static const int64_t edges[] = {
        0,
        1,
        -1,
        2,
        INT64_C(127),
        INT64_C(128),
        INT64_C(255),
        INT64_C(256),
        INT64_C(65535),
        INT64_C(65536),
        INT32_MAX,
        INT64_C(1) << 31,
        (INT64_C(1) << 31) + 1,
        INT32_MIN,
        INT64_C(1) << 32,
        INT64_C(3037000499), /* the largest number whose square is below 2^63 */
        INT64_C(3037000500),
        INT64_C(1) << 53,
        INT64_C(1) << 61,
        INT64_C(1) << 62,
        INT64_MAX / 2,
        INT64_MAX / 8,
        INT64_MAX - 1,
        INT64_MAX,
        INT64_MIN,
        INT64_MIN + 1,
    };
    return edges[index % (sizeof edges / sizeof edges[0])];
}
