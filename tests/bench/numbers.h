/* numbers.h: whole numbers with commas between them, as on a command line. */
#ifndef GROUPOPS_BENCH_NUMBERS_H
#define GROUPOPS_BENCH_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

enum { GOPS_MAX_NUMBERS = 8 };

typedef struct gops_numbers {
    int count;
    int64_t values[GOPS_MAX_NUMBERS];
} gops_numbers;

/* Whether the text is 1 to `room` numbers, each from `least` to `most`, and nothing else. */
bool gops_numbers_read(const char *text, int room, int64_t least, int64_t most, gops_numbers *read);

#endif
