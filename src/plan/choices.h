/* plan/choices.h: saved choices, looked up by a plan. */
#ifndef GOPS_PLAN_CHOICES_H
#define GOPS_PLAN_CHOICES_H

#include "plan/make.h"

enum {
    /* The longest key: seven lists of at most 9 numbers of 19 digits, and their names. */
    GOPS_CHOICE_KEY_BYTES = 2048,
};

typedef struct gops_choice {
    const char
        *name;  /* of the algorithm, as gops_options.algorithm takes it; lies behind the key */
    char key[]; /* ends with 0, as the name does */
} gops_choice;

struct gops_choices {
    gops_host host;
    gops_choice **list; /* in the order of their keys */
    int64_t count;
    int64_t room;
};

/* By gops_operation, as keys begin with them. */
extern const char *const gops_operation_names[];

/* The plan's problem as one line without its end: everything that the choice may depend on. */
void gops_choice_key(const gops_plan *plan, const gops_request *wanted,
                     char key[GOPS_CHOICE_KEY_BYTES]);

/* The name of what was chosen for the key; NULL: nothing was. */
const char *gops_choices_find(const gops_choices *choices, const char *key);

/* Adds or replaces; both texts are copied. GOPS_OUT_OF_MEMORY, and nothing has changed. */
gops_status gops_choices_put(gops_choices *choices, const char *key, const char *name,
                             gops_error *error);

/* Moves all of `from` into `to` and leaves `from` empty. GOPS_OUT_OF_MEMORY, and nothing has
 * changed. */
gops_status gops_choices_move(gops_choices *from, gops_choices *to, gops_error *error);

/* Releases all but the struct itself. */
void gops_choices_clear(gops_choices *choices);

#endif
