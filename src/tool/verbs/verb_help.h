/* verb_help.h: what the verb table and the flag table say, as help and as a manual page. */
#ifndef GOPS_VERBS_VERB_HELP_H
#define GOPS_VERBS_VERB_HELP_H

#include "verbs/verbs.h"

/* All print to standard output. */
void gops_tool_help(void);
void gops_verb_help(const gops_verb *verb);

/* The source of groupops-VERB(1), for man. */
void gops_verb_man(const gops_verb *verb);

#endif
