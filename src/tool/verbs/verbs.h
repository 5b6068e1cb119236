/* verbs.h: the verbs of the command line that take an operation or no words at all. */
#ifndef GOPS_VERBS_H
#define GOPS_VERBS_H

#include "common/operation.h"
#include "common/settings.h"
#include "common/tool_error.h"

/* A parsed command line. */
typedef struct gops_command {
    const gops_tool_operation *operation; /* NULL: bench --suite, info */
    gops_settings settings;
} gops_command;

typedef bool gops_verb_fn(const gops_command *command, gops_tool_error *error);

gops_verb_fn gops_verb_run;
gops_verb_fn gops_verb_plan;
gops_verb_fn gops_verb_bench;
gops_verb_fn gops_verb_info;

#endif
