/* random_numbers.c: draws numbers and elements from a seed and a stream. */
#include "random_numbers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "elements.h"

uint64_t gops_test_seed(void)
{
    static uint64_t seed;
    static int known;
    if (!known) {
        const char *text = getenv("GROUPOPS_TEST_SEED");
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        seed = text != NULL && text[0] != '\0'
                   ? strtoull(text, NULL, 10)
                   : ((uint64_t)now.tv_sec * 1000003 + (uint64_t)now.tv_nsec) % 1000000007;
        known = 1;
        printf("seed %" PRIu64 " (GROUPOPS_TEST_SEED=%" PRIu64 " brings it back)\n", seed, seed);
        fflush(stdout);
    }
    return seed;
}

/* splitmix64: Steele, Lea, Flood: Fast splittable pseudorandom number generators (2014). */
static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

uint64_t gops_test_random_bits(gops_test_random *random)
{
    random->state += UINT64_C(0x9e3779b97f4a7c15);
    return mix(random->state);
}

gops_test_random gops_test_random_start(uint64_t seed, uint64_t stream)
{
    gops_test_random random = {mix(seed + UINT64_C(0x9e3779b97f4a7c15)) ^ mix(~stream)};
    return random;
}

int64_t gops_test_random_range(gops_test_random *random, int64_t low, int64_t high)
{
    uint64_t width = (uint64_t)high - (uint64_t)low + 1;
    uint64_t bits = gops_test_random_bits(random);
    return width == 0 ? (int64_t)bits : (int64_t)((uint64_t)low + bits % width);
}

int gops_test_random_chance(gops_test_random *random, int percent)
{
    return gops_test_random_range(random, 1, 100) <= percent;
}

double gops_test_random_real(gops_test_random *random)
{
    /* An odd number of 2^-53 below 1, so never 0: a forgotten term always shows. */
    uint64_t bits = gops_test_random_bits(random);
    double magnitude = (double)((bits >> 12 << 1) | 1) * 0x1p-53;
    return (bits & 1) != 0 ? -magnitude : magnitude;
}

void gops_test_random_fill(gops_test_random *random, gops_type type, void *elements, int64_t count)
{
    int real = gops_test_type_is_real(type);
    for (int64_t i = 0; i < count; i++) {
        if (real)
            gops_test_set_real(type, elements, i, gops_test_random_real(random));
        else
            gops_test_set_integer(type, elements, i, gops_test_random_bits(random));
    }
}
