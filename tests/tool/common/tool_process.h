/* tool_process.h: runs the groupops command and shows what it did. */
#ifndef GROUPOPS_TEST_TOOL_PROCESS_H
#define GROUPOPS_TEST_TOOL_PROCESS_H

#include <stddef.h>

typedef struct tool_result {
    int exit_code; /* -N when signal N ended it */
    char out[32768];
    char err[32768];
    long peak_kib; /* the most memory it had resident */
} tool_result;

typedef struct tool_surroundings {
    size_t most_file_bytes; /* RLIMIT_FSIZE; 0: no limit */
    size_t most_memory;     /* RLIMIT_AS; 0: no limit */
    int on_terminal;        /* whether standard error is a terminal */
    int out_on_terminal;  /* whether standard output is one, of 80 columns; its lines end in \r\n */
    const char *out_path; /* what standard output is; NULL: result->out */
    const char *variable; /* an environment variable to set; NULL: none */
    const char *value;
} tool_surroundings;

/* Runs `groupops` with the words of `line`, which have single spaces between them. `surroundings`
 * may be NULL. A failure to run it at all ends the program. */
void tool_run(tool_result *result, const char *line, const tool_surroundings *surroundings);

/* Runs it, and asserts the exit code and the whole of standard error. */
void tool_expect(const char *line, int exit_code, const char *err);

/* Runs it, and asserts the exit code, that it printed nothing, and that standard error is one line with
 * `part` in it. */
void tool_expect_refusal(const char *line, int exit_code, const char *part);

/* Makes an empty folder for this program and works in it from then on. */
void tool_folder_enter(void);
/* Removes it with all that is in it. */
void tool_folder_leave(void);
/* The number of files in it. */
int tool_folder_count(void);

#endif
