/* numbers.h: what a flag of NUMBER|FILE holds: a number, or a .npy file with one for each output channel
 * or group. */
#ifndef GOPS_OPERANDS_NUMBERS_H
#define GOPS_OPERANDS_NUMBERS_H

#include "common/tool_error.h"

#include <groupops/tensor.h>

typedef struct gops_tool_numbers {
    const char *flag; /* for messages */
    const char *text;
    gops_type type; /* of the elements; 0: the text is a number */
    double number;
    void *elements; /* for the caller to free */
    int64_t count;
} gops_tool_numbers;

/* Reads `text` into all that stands below it, which begins as zeros. `type`: what the elements of
 * a file must be (gops_npy_retype); 0: any. */
bool gops_numbers_read(gops_tool_numbers *numbers, gops_type type, gops_tool_error *error);

/* Whether the elements of a file are f32 or f64. */
bool gops_numbers_check_real(const gops_tool_numbers *numbers, gops_tool_error *error);

/* Whether there is one of them, or one for each output channel. */
bool gops_numbers_check_count(const gops_tool_numbers *numbers, const gops_tensor *output,
                              gops_tool_error *error);

/* The number at `index`. */
double gops_numbers_element(const gops_tool_numbers *numbers, int64_t index);

/* Where a message says that it is: "[3]" in a file, "" in a text. */
typedef struct gops_numbers_place {
    char text[24];
} gops_numbers_place;
gops_numbers_place gops_numbers_place_of(const gops_tool_numbers *numbers, int64_t index);

#endif
