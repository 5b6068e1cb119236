/* terminal.h: what goes to a terminal beside what goes to files: colours, bars, progress. */
#ifndef GOPS_COMMON_TERMINAL_H
#define GOPS_COMMON_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

/* Whether the stream is a terminal that knows more than plain lines: TERM is not "dumb". */
bool gops_terminal_is(FILE *stream);

/* The width of that terminal; 80 where it does not tell. */
int gops_terminal_columns(FILE *stream);

/* Whether the locale's characters are UTF-8. */
bool gops_terminal_has_utf8(void);

typedef enum gops_terminal_style {
    GOPS_STYLE_PLAIN, /* ends the others */
    GOPS_STYLE_TITLE,
    GOPS_STYLE_BAR,
    GOPS_STYLE_ERROR,
} gops_terminal_style;

/* What turns the style on: "" where the stream is no terminal, or NO_COLOR is set and not empty
 * (no-color.org). */
const char *gops_terminal_style_text(FILE *stream, gops_terminal_style style);

/* Prints the text with ? for its control characters, of which a terminal makes commands; returns the bytes printed. */
int gops_terminal_print(FILE *stream, const char *text);

#endif
