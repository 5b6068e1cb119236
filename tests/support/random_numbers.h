/* random_numbers.h: random numbers that a printed seed brings back. */
#ifndef GROUPOPS_TEST_RANDOM_NUMBERS_H
#define GROUPOPS_TEST_RANDOM_NUMBERS_H

#include <groupops/tensor.h>

typedef struct gops_test_random {
    uint64_t state;
} gops_test_random;

/* The seed of this run: GROUPOPS_TEST_SEED where that is set, else drawn from the clock. The first
 * call prints it with what to set to get it again. */
uint64_t gops_test_seed(void);

/* Generator number `stream` of a seed. Different streams have nothing to do with each other. */
gops_test_random gops_test_random_start(uint64_t seed, uint64_t stream);

/* 64 random bits. */
uint64_t gops_test_random_bits(gops_test_random *random);

/* A number from low to high, both included. */
int64_t gops_test_random_range(gops_test_random *random, int64_t low, int64_t high);

/* 1 with a chance of `percent` in 100. */
int gops_test_random_chance(gops_test_random *random, int percent);

/* A number between -1 and 1, neither included. */
double gops_test_random_real(gops_test_random *random);

/* Fills `count` elements: floating point types with gops_test_random_real, rounded to the type;
 * integers with random bits. */
void gops_test_random_fill(gops_test_random *random, gops_type type, void *elements, int64_t count);

#endif
