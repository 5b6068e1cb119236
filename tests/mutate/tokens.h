/* tokens.h: the tokens of a C file. */
#ifndef GROUPOPS_TEST_TOKENS_H
#define GROUPOPS_TEST_TOKENS_H

#include <stddef.h>
#include <stdint.h>

typedef enum token_kind { WORD, NUMBER, OPERATOR } token_kind;

typedef struct token {
    token_kind kind;
    size_t at, length;
    int64_t line;
} token;

typedef struct source {
    const char *file;
    char *text;
    size_t bytes;
    token *tokens;
    size_t count;
} source;

/* realloc; without memory the program ends. */
void *grow(void *old, size_t bytes);

/* Reads the file and finds its tokens. Comments, texts and preprocessor lines have none; of #define,
 * what comes after the word has. What it cannot read ends the program. */
void read_tokens(source *s, const char *file);

/* Whether there is a token i, and it is this. */
int is(const source *s, size_t i, const char *text);

#endif
