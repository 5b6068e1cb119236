/* flags.h: reads the words of the command line that begin with "--" by a table of flags. */
#ifndef GOPS_COMMON_FLAGS_H
#define GOPS_COMMON_FLAGS_H

#include "common/settings.h"
#include "common/tool_error.h"

#include <stddef.h>

/* Where a flag may stand: the verbs, and the lines of a suite file. */
enum {
    GOPS_IN_RUN = 1,
    GOPS_IN_PLAN = 2,
    GOPS_IN_BENCH = 4,
    GOPS_IN_INFO = 8,
    GOPS_IN_DEMO = 16,
    GOPS_IN_LAYER = 32,
    GOPS_IN_IR = 64,
    GOPS_IN_COMPARE = 128,
};

/* The operations that a flag may be given with, and GOPS_OF_SUITE where there is none: bench --suite,
 * and verbs without operations. */
enum {
    GOPS_OF_CONV = 1,
    GOPS_OF_DECONV = 2,
    GOPS_OF_NORM = 4,
    GOPS_OF_SUITE = 8,
};

/* What stands beside them in gops_flag.operations. */
enum {
    GOPS_FLAG_QUANTIZED = 16, /* needs output-type */
    GOPS_FLAG_MANY = 32,      /* may be given more than once */
};

/* The size of the text that says what is wrong with a value. */
#define GOPS_FLAG_WHY_BYTES 512

typedef struct gops_flag gops_flag;
typedef bool gops_flag_read_fn(const gops_flag *flag, const char *value, void *field, char *why);

struct gops_flag {
    const char *name;
    gops_flag_read_fn *read; /* reads the value into the field; NULL: a switch without a value */
    unsigned verbs;
    unsigned operations;
    unsigned required; /* the operations that need it */
    size_t offset;     /* of the field in gops_settings */
    size_t bytes;      /* of the field */
    const char *value; /* what stands after "=" in the help; for a choice the names, "a|b|c" */
    const char *help;
};

/* The rows; a name that is NULL ends them. At most 64. */
extern const gops_flag gops_flags[];

/* The words to read, and how messages refer to them. */
typedef struct gops_words {
    int count;
    char *const *words;
    const char *dashes; /* what a flag begins with: "--", or "" in a suite file */
    const char *place;  /* "run conv", "plan norm"; for messages */
    int exit_code;      /* if something is wrong with them */
    unsigned verb;      /* one GOPS_IN_ bit */
    unsigned operation; /* one GOPS_OF_ bit */
    /* Where words that do not begin with '-' go, in their order; NULL where none may stand. */
    const char **files;
    int max_files;
} gops_words;

/* Reads every word into the settings, which begin as zeros, and checks that all required flags are
 * given. */
bool gops_flags_read(const gops_words *words, gops_settings *settings, gops_tool_error *error);

/* Whether the flag was given. */
bool gops_flags_given(const gops_settings *settings, const char *name);

/* The first of the flags of quantized convolutions that was given; NULL: none. */
const gops_flag *gops_flags_quantized(const gops_settings *settings);

/* Takes these flags as not given. */
void gops_flags_forget_quantized(gops_settings *settings);

/* Copies the flags that `over` was given into `settings`, if a line of a suite may have them. */
void gops_flags_override(gops_settings *settings, const gops_settings *over);

/* "conv, deconv: " for a flag that not every operation takes, else "". */
const char *gops_flag_operations(const gops_flag *flag);

#endif
