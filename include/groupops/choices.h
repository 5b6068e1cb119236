/**
 * @file
 * groupops/choices.h: which algorithm was the fastest, kept for the next time: what FFTW calls
 * wisdom.
 *
 *     gops_choices *choices;
 *     gops_choices_create(NULL, &choices, &error);
 *     gops_choices_read(choices, text, bytes, &error);      // what an earlier run has written
 *     options.algorithm = "fastest";
 *     options.choices = choices;
 *     gops_conv_plan_create(..., &options, &plan, &error);  // measures what was not in the text
 *     ...
 *     gops_choices_write(choices, NULL, 0, &bytes, &error);     // how long the text is now
 *     gops_choices_write(choices, text, bytes, &bytes, &error);
 *     gops_choices_destroy(choices);
 *
 * A choice belongs to one problem: operation, shape, attributes, types, instruction set, number of
 * threads, workspace budget, accuracy, whether the matrix product is the host's, whether plans
 * must be divisible, and channel strides. It does not name the processor or the BLAS: on other
 * ones, measure again. What is fused into the store (bias, residual, activation) is not part of it.
 *
 * Plans with the algorithm "fastest" look their problem up, measure it where it is not there, and
 * put in what they found; plans with "auto" look it up and estimate where it is not there. A plan
 * does not keep the choices. While a thread makes a plan with "fastest", or is in gops_choices_read or
 * _destroy, no other may use the same choices in any way; all else only reads.
 */
#ifndef GROUPOPS_CHOICES_H
#define GROUPOPS_CHOICES_H

#include <groupops/host.h>
#include <groupops/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gops_choices gops_choices;

/** Makes an empty set. Memory is taken from the host's allocator (NULL: as for a plan); the host is
 * copied. *choices is NULL after a failure. GOPS_INVALID: choices is NULL, the host is incomplete.
 * GOPS_OUT_OF_MEMORY. */
GOPS_API gops_status gops_choices_create(const gops_host *host, gops_choices **choices,
                                         gops_error *error);

/** NULL is allowed. */
GOPS_API void gops_choices_destroy(gops_choices *choices);

/** How many problems there are; 0 for NULL. */
GOPS_API int64_t gops_choices_count(const gops_choices *choices);

/** Adds what gops_choices_write has written; `text` needs no 0 at its end. Of two choices for one
 * problem, the one read last counts. GOPS_INVALID, with the number of the line: the text is not of
 * this format and version, it was damaged or cut off, or names an algorithm that this library does
 * not have; GOPS_OUT_OF_MEMORY. Nothing has been added after a failure. */
GOPS_API gops_status gops_choices_read(gops_choices *choices, const char *text, size_t bytes,
                                       gops_error *error);

/** Writes the choices as text, a line for each in the order of the alphabet, so that the same
 * choices give the same bytes; no 0 follows. *bytes is set to the length of the whole text, and
 * nothing is written where `room` is less: call it with 0 to learn the length. GOPS_INVALID:
 * choices or bytes is NULL, or text is NULL with enough room. */
GOPS_API gops_status gops_choices_write(const gops_choices *choices, char *text, size_t room,
                                        size_t *bytes, gops_error *error);

#ifdef __cplusplus
}
#endif

#endif
