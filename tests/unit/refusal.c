/* refusal.c: checks the status and the text of a refusal. */
#include "refusal.h"

#include <string.h>

#include "harness.h"

static const char fresh_text[] = "untouched";

gops_error gops_fresh_error(void)
{
    gops_error error = {GOPS_OK, ""};
    strcpy(error.message, fresh_text);
    return error;
}

int gops_error_is_fresh(const gops_error *error)
{
    return error->status == GOPS_OK && strcmp(error->message, fresh_text) == 0;
}

void gops_check_refusal(const char *what, gops_status got, const gops_error *error,
                        gops_status status, const char *message)
{
    gops_test_check(got == status && error->status == status,
                    "%s: status \"%s\" (\"%s\" in the error), expected \"%s\": %s", what,
                    gops_status_name(got), gops_status_name(error->status),
                    gops_status_name(status), error->message);
    gops_test_check(strcmp(error->message, message) == 0,
                    "%s:\n    got      \"%s\"\n    expected \"%s\"", what, error->message, message);
}

void gops_check_problem_refusal(const gops_problem *problem, gops_status status,
                                const char *message)
{
    gops_problem_text text;
    gops_shape shape, before;
    gops_plan *plan = (gops_plan *)&shape; /* anything but NULL */
    memset(&shape, 0xa5, sizeof shape);
    before = shape;
    gops_error error = gops_fresh_error();
    const char *what = problem->data.rank > GOPS_MAX_RANK || (int)problem->data.type > GOPS_U64 ||
                               (int)problem->data.type < GOPS_F64
                           ? "a bad descriptor"
                           : gops_problem_describe(problem, &text);
    gops_check_refusal(what, gops_problem_shape(problem, &shape, &error), &error, status, message);
    error = gops_fresh_error();
    gops_check_refusal(what, gops_problem_plan(problem, &plan, &error), &error, status, message);
    gops_test_check(plan == NULL, "%s: a plan came out of the refusal", what);
    gops_test_check(gops_problem_shape(problem, &shape, NULL) == status &&
                        gops_problem_plan(problem, &plan, NULL) == status,
                    "%s: another status without an error to write to", what);
    gops_test_check(memcmp(&shape, &before, sizeof shape) == 0, "%s: the shape was written", what);
}
