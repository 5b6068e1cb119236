/* verbs.h: the verbs of the command line. */
#ifndef GOPS_VERBS_H
#define GOPS_VERBS_H

#include "common/operation.h"
#include "common/settings.h"
#include "common/tool_error.h"

enum { GOPS_VERB_MAX_FILES = 2 };

/* A parsed command line. */
typedef struct gops_command {
    const gops_tool_operation *operation;   /* NULL: bench --suite, and verbs without operations */
    const char *files[GOPS_VERB_MAX_FILES]; /* the words without dashes; NULL behind the last */
    int count;                              /* all words behind verb and operation */
    char *const *words;
    gops_settings settings;
} gops_command;

typedef bool gops_verb_fn(const gops_command *command, gops_tool_error *error);

gops_verb_fn gops_verb_run;
gops_verb_fn gops_verb_plan;
gops_verb_fn gops_verb_bench;
gops_verb_fn gops_verb_compare;
gops_verb_fn gops_verb_info;
gops_verb_fn gops_verb_demo;
gops_verb_fn gops_verb_ir;

/* What the command line, --help, the manual page and the completion know of a verb; its flags are
 * those of the flag table that have its bit. */
typedef struct gops_verb {
    const char *name;
    unsigned bit; /* GOPS_IN_RUN ... */
    gops_verb_fn *execute;
    unsigned operations; /* which may follow it; 0: none */
    int min_files, max_files;
    const char *needs; /* the files, in the message where they are missing */
    const char *usage; /* behind "groupops "; between its forms, if there are two, ", or " */
    const char *summary;
    const char *about;    /* paragraphs, with empty lines between them */
    const char *examples; /* command lines that work, one a line */
} gops_verb;

/* A name that is NULL ends them. */
extern const gops_verb gops_verbs[];

/* NULL where there is none of that name. */
const gops_verb *gops_verb_find(const char *name);

#endif
