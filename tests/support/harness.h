/* harness.h: the main function of a test program, around CUnit. */
#ifndef GROUPOPS_TEST_HARNESS_H
#define GROUPOPS_TEST_HARNESS_H

#include <stdint.h>

typedef struct gops_test_case {
    const char *name;
    void (*run)(void); /* NULL ends the list */
} gops_test_case;

/* Runs the cases as one CUnit suite, or only the one that the environment variable
 * GROUPOPS_TEST_CASE names. Returns the exit status of the program: 1 when an assertion failed, or
 * when nothing was asserted; 77, which ctest shows as skipped, when every case was skipped; else 0.
 */
int gops_test_main(const char *suite, const gops_test_case *cases);

/* Ends the running case as skipped and prints "NAME: skipped, because ..."; the text goes on after
 * "because". A case that cannot run here must end this way and no other. */
void gops_test_skip(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* Records one assertion of the running case. When it does not hold, the text is printed, and the
 * case goes on. Returns whether it held. */
int gops_test_check(int holds, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The whole number that an environment variable holds; `otherwise` where it is not set, or empty. */
int64_t gops_test_environment_number(const char *name, int64_t otherwise);

#endif
