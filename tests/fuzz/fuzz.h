/*
 * fuzz.h: what the fuzz targets share.
 *
 * A target is a file fuzz_NAME.c with the function that libFuzzer calls. Linked with libFuzzer it
 * is the program fuzz_NAME; linked with fuzz_replay.c, by any compiler, it is replay_NAME, which
 * runs the files of its corpus and of its findings.
 */
#ifndef GROUPOPS_TEST_FUZZ_H
#define GROUPOPS_TEST_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Runs one input. Returns 0; ends the program where something does not hold. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

/* Ends the program with the text on standard error, unless it holds. */
void gops_fuzz_require(int holds, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The bytes of an input, taken one after another; beyond the last there are zeros. */
typedef struct gops_fuzz_bytes {
    const uint8_t *at;
    size_t left;
} gops_fuzz_bytes;

uint8_t gops_fuzz_byte(gops_fuzz_bytes *bytes);
uint64_t gops_fuzz_word(gops_fuzz_bytes *bytes); /* 8 bytes, the lowest first */
/* One byte, as a number from low to high. */
int gops_fuzz_range(gops_fuzz_bytes *bytes, int low, int high);

/* A number at the edge of something: 0, -1, 2^31, 2^63 - 1 and their neighbours. */
int64_t gops_fuzz_edge(unsigned index);

#endif
