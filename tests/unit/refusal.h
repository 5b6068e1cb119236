/* refusal.h: checks that a call is refused with one status and exactly one text. */
#ifndef GROUPOPS_TEST_REFUSAL_H
#define GROUPOPS_TEST_REFUSAL_H

#include "problem.h"

/* Asserts status and message, and that the error holds the same status. */
void gops_check_refusal(const char *what, gops_status got, const gops_error *error,
                        gops_status status, const char *message);

/* Asserts that shape inference and plan creation both refuse the problem that way, that neither
 * needs an error to write to, and that no plan comes out. */
void gops_check_problem_refusal(const gops_problem *problem, gops_status status,
                                const char *message);

/* The same of what legal() returns, as the statements change it: they call it p. */
#define GOPS_CHECK_REFUSED(status, message, ...)                                                   \
    do {                                                                                           \
        gops_problem p = legal();                                                                  \
        __VA_ARGS__;                                                                               \
        gops_check_problem_refusal(&p, status, message);                                           \
    } while (0)

/* An error to start a call with; a call that succeeds must leave it as it is. */
gops_error gops_fresh_error(void);
int gops_error_is_fresh(const gops_error *error);

#endif
