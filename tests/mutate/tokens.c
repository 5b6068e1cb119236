/* tokens.c: reads the tokens of a C file. */
#include "tokens.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *grow(void *old, size_t bytes)
{
    void *grown = realloc(old, bytes);
    if (grown == NULL) {
        perror("mutations");
        exit(1);
    }
    return grown;
}

static void read_source(source *s, const char *file)
{
    FILE *stream = fopen(file, "rb");
    *s = (source){.file = file};
    size_t got = 0;
    if (stream == NULL) {
        perror(file);
        exit(1);
    }
    do {
        s->text = grow(s->text, s->bytes + 65536 + 1);
        got = fread(s->text + s->bytes, 1, 65536, stream);
        s->bytes += got;
    } while (got > 0);
    fclose(stream);
    s->text[s->bytes] = '\0';
}

static int is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* The end of a comment, of text in quotes, or of a line that is continued by backslashes. */
static size_t skip_quoted(const char *text, size_t at)
{
    const char quote = text[at++];
    for (; text[at] != '\0' && text[at] != quote; at++)
        at += text[at] == '\\' && text[at + 1] != '\0';
    return text[at] == '\0' ? at : at + 1;
}

static size_t skip_line(const char *text, size_t at)
{
    while (text[at] != '\0' && (text[at] != '\n' || text[at - 1] == '\\'))
        at++;
    return at;
}

static size_t skip_comment(const char *text, size_t at)
{
    const char *end = strstr(text + at + 2, "*/");
    return end == NULL ? strlen(text) : (size_t)(end - text) + 2;
}

/* The bytes of the operator or bracket there. */
static size_t operator_length(const char *at)
{
    static const char *const longer[] = {"<<=", ">>=", "...", "->", "++", "--", "<<", ">>",
                                         "<=",  ">=",  "==",  "!=", "&&", "||", "+=", "-=",
                                         "*=",  "/=",  "%=",  "&=", "|=", "^=", "##"};
    for (size_t i = 0; i < sizeof longer / sizeof longer[0]; i++)
        if (strncmp(at, longer[i], strlen(longer[i])) == 0)
            return strlen(longer[i]);
    return 1;
}

static size_t name_length(const char *at, int number)
{
    size_t length = 0;
    while (is_name(at[length]) || (number && at[length] == '.') ||
           (number && length > 0 && strchr("eEpP", at[length - 1]) != NULL &&
            strncmp(at, "0x", 2) != 0 && (at[length] == '-' || at[length] == '+')))
        length++;
    return length;
}

static void add_token(source *s, token_kind kind, size_t at, size_t length, int64_t line)
{
    if (s->count % 4096 == 0)
        s->tokens = grow(s->tokens, (s->count + 4096) * sizeof *s->tokens);
    s->tokens[s->count++] = (token){kind, at, length, line};
}

/* Comments, texts and preprocessor lines have no tokens; of #define, what comes after the word. */
static void find_tokens(source *s)
{
    const char *text = s->text;
    int64_t line = 1;
    for (size_t at = 0, end; text[at] != '\0'; at = end) {
        const char c = text[at];
        end = at + 1;
        if (c == '/' && text[at + 1] == '*')
            end = skip_comment(text, at);
        else if (c == '"' || c == '\'')
            end = skip_quoted(text, at);
        else if (c == '#' && strncmp(text + at, "#define", 7) == 0)
            end = at + 7;
        else if (c == '#' && (at == 0 || text[at - 1] == '\n'))
            end = skip_line(text, at);
        else if (isdigit((unsigned char)c))
            add_token(s, NUMBER, at, (end = at + name_length(text + at, 1)) - at, line);
        else if (is_name(c))
            add_token(s, WORD, at, (end = at + name_length(text + at, 0)) - at, line);
        else if (c != '\\' && !isspace((unsigned char)c))
            add_token(s, OPERATOR, at, (end = at + operator_length(text + at)) - at, line);
        for (size_t i = at; i < end; i++)
            line += text[i] == '\n';
    }
}

void read_tokens(source *s, const char *file)
{
    read_source(s, file);
    find_tokens(s);
}

int is(const source *s, size_t i, const char *text)
{
    return i < s->count && s->tokens[i].length == strlen(text) &&
           memcmp(s->text + s->tokens[i].at, text, s->tokens[i].length) == 0;
}
