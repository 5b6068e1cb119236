/* choice_problems.h: what the tests of choices choose for, and the text that choices become. */
#ifndef GROUPOPS_TEST_CHOICE_PROBLEMS_H
#define GROUPOPS_TEST_CHOICE_PROBLEMS_H

#include <groupops/choices.h>

#include "problem.h"

gops_problem gops_choice_grouped(void);
gops_problem gops_choice_depthwise(void);
gops_problem gops_choice_transposed(void);
gops_problem gops_choice_norm(void);

/* Empty choices. */
gops_choices *gops_choice_create(void);

/* The text, with a 0 behind it; to be freed. */
char *gops_choice_write_text(const gops_choices *choices, size_t *bytes);

/* Choices for several problems, as text; to be freed. */
char *gops_choice_some_text(size_t *bytes);

/* The algorithm of a plan with these options; 0 where it is refused. */
int gops_choice_algorithm(const gops_problem *problem, char algorithm[32]);

/* What stands behind " sum=" in a line: FNV-1a of 32 bits. */
unsigned gops_choice_sum(const char *line, size_t bytes);

/* The text of choices that hold one, with another algorithm and the sum that goes with it. */
void gops_choice_replace_algorithm(const char *text, const char *algorithm, char *result,
                                   size_t bytes);

#endif
