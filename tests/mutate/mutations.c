/*
 * mutations.c: draws changes of one token each from C files, for ./cmake/dev mutate.
 *
 *     mutations COUNT SEED FILE...
 *
 * prints COUNT lines of tab-separated words: file, line, first byte, bytes, token, the changed line
 * as unchanged.txt would have it, and what takes the token's place. The same files and seed give
 * the same lines, and no line comes twice.
 *
 * What can be changed: relational, arithmetic and logical operators (by another of their kind),
 * integers (by 1 up or down), floating point numbers (1 more), an index (1 more), `!`, `~` and a
 * sign (dropped), min and max, true and false, break and continue. A binary operator is told from a
 * pointer's star by the blanks that clang-format puts around it.
 *
 * What is left out: comments, text, and preprocessor lines other than #define; the sizes of arrays,
 * which are room; and each statement that mentions a word of `left_out` below, and each function or
 * table whose head mentions one: messages, assertions, prefetches and estimates of time.
 */
#include "tokens.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Parts of names, in lower case. */
static const char *const left_out[] = {
    "snprintf", "gops_fail",   "refuse", "why", /* messages */
    "assert",   "unreachable",                  /* what only a bug can break */
    "prefetch", "ahead",                        /* what only moves data into caches */
    "estimate", "cost",        "cycles", "worth", "_ns", "seconds",
};

typedef struct swap {
    const char *token;
    const char *instead[2];
} swap;

static const swap binary[] = {
    {"<", {"<=", ">="}}, {"<=", {"<", ">"}}, {">", {">=", "<="}}, {">=", {">", "<"}},
    {"==", {"!="}},      {"!=", {"=="}},     {"&&", {"||"}},      {"||", {"&&"}},
    {"+", {"-"}},        {"-", {"+"}},       {"*", {"/"}},        {"/", {"*"}},
    {"%", {"/"}},        {"<<", {">>"}},     {">>", {"<<"}},      {"&", {"|"}},
    {"|", {"&"}},        {"^", {"|"}},       {"+=", {"-="}},      {"-=", {"+="}},
    {"*=", {"/="}},      {"/=", {"*="}},     {"|=", {"&="}},      {"&=", {"|="}},
    {"<<=", {">>="}},    {">>=", {"<<="}},   {NULL, {NULL}},
};
static const swap unary[] = {
    {"!", {""}}, {"~", {""}}, {"-", {""}}, {"++", {"--"}}, {"--", {"++"}}, {NULL, {NULL}},
};
static const swap words[] = {
    {"true", {"false"}},          {"false", {"true"}},
    {"break", {"continue"}},      {"continue", {"break"}},
    {"gops_min", {"gops_max"}},   {"gops_max", {"gops_min"}},
    {"INT64_MAX", {"INT64_MIN"}}, {NULL, {NULL}},
};

typedef struct change {
    const char *file, *text;
    int64_t line;
    size_t at, length;
    char before[40], after[40];
} change;

static change *changes;
static size_t change_count, change_room;

static void add_change(const source *s, size_t i, const char *after)
{
    const token *t = &s->tokens[i];
    change c = {
        .file = s->file, .text = s->text, .line = t->line, .at = t->at, .length = t->length};
    if (change_count == change_room) {
        change_room = 2 * change_room + 1024;
        changes = grow(changes, change_room * sizeof *changes);
    }
    snprintf(c.before, sizeof c.before, "%.*s", (int)t->length, s->text + t->at);
    snprintf(c.after, sizeof c.after, "%s", after);
    changes[change_count++] = c;
}

static void add_swaps(const source *s, size_t i, const swap *table)
{
    for (; table->token != NULL; table++)
        for (int k = 0; k < 2 && is(s, i, table->token); k++)
            if (table->instead[k] != NULL)
                add_change(s, i, table->instead[k]);
}

static void add_number(const source *s, size_t i)
{
    const char *text = s->text + s->tokens[i].at;
    const int length = (int)s->tokens[i].length;
    const int hex = strncmp(text, "0x", 2) == 0;
    char after[40], *suffix;
    if (memchr(text, '.', (size_t)length) != NULL || (!hex && memchr(text, 'e', (size_t)length))) {
        snprintf(after, sizeof after, "(%.*s + 1)", length, text);
        add_change(s, i, after);
        return;
    }
    const unsigned long long value = strtoull(text, &suffix, 0);
    const int rest = (int)(text + length - suffix);
    for (int step = -1; step <= 1; step += 2) {
        if (value == 0 && step < 0)
            continue;
        snprintf(after, sizeof after, hex ? "0x%llx%.*s" : "%llu%.*s",
                 value + (unsigned long long)step, rest, suffix);
        add_change(s, i, after);
    }
}

/* A word that stands before a value. */
static int is_before_value(const source *s, size_t i)
{
    return is(s, i, "return") || is(s, i, "else") || is(s, i, "case") || is(s, i, "sizeof");
}

/* Whether token i is the name in a declaration: a type stands before it, or the star of a pointer,
 * or, where `begin` begins a declaration, a comma outside of parentheses. */
static int is_declared(const source *s, size_t begin, size_t i)
{
    size_t before = i - 1;
    int depth = 0;
    if (i == 0 || i <= begin || s->tokens[i].kind != WORD)
        return 0;
    while (before > begin && is(s, before, "*") &&
           s->tokens[before].at + 1 == s->tokens[before + 1].at)
        before--;
    if (s->tokens[before].kind == WORD && !is_before_value(s, before))
        return 1;
    for (size_t k = begin; k < before; k++)
        depth += is(s, k, "(") - is(s, k, ")");
    return depth == 0 && is(s, before, ",") && s->tokens[begin].kind == WORD &&
           !is_before_value(s, begin) &&
           (s->tokens[begin + 1].kind == WORD || is(s, begin + 1, "*"));
}

/* The bracket that opens what closes at token i. */
static size_t opening(const source *s, size_t i)
{
    int depth = 0;
    for (; i > 0; i--) {
        depth += is(s, i, "]") - is(s, i, "[");
        if (depth == 0)
            break;
    }
    return i;
}

/* Whether the bracket at token `open` begins the size of an array that is declared, in the
 * statement from token `begin` on. */
static int is_size(const source *s, size_t begin, size_t open)
{
    while (open > begin && is(s, open - 1, "]"))
        open = opening(s, open - 1);
    return open > begin && is_declared(s, begin, open - 1);
}

/* Whether token i, in the statement from token `begin` on, lies in the size of an array. */
static int is_in_size(const source *s, size_t begin, size_t i)
{
    int depth = 0;
    for (; i > begin; i--) {
        depth += is(s, i, "[") - is(s, i, "]");
        if (depth > 0)
            return is_size(s, begin, i);
    }
    return 0;
}

/* Whether the brackets that end at token i hold an index, and not a size or the place in an
 * initializer. */
static int is_index(const source *s, size_t begin, size_t i)
{
    const size_t open = opening(s, i);
    return open + 1 != i && open > 0 && !is(s, i + 1, "=") && !is_size(s, begin, open) &&
           (s->tokens[open - 1].kind == WORD || is(s, open - 1, "]") || is(s, open - 1, ")"));
}

/* Those of token i, in the statement from token `begin` on. */
static void add_changes(const source *s, size_t begin, size_t i)
{
    const token *t = &s->tokens[i];
    if (is_in_size(s, begin, i))
        return;
    if (t->kind == NUMBER) {
        add_number(s, i);
    } else if (t->kind == WORD) {
        add_swaps(s, i, words);
    } else if (is(s, i, "]")) {
        if (is_index(s, begin, i))
            add_change(s, i, " + 1]");
    } else {
        const int blank_before = t->at > 0 && isspace((unsigned char)s->text[t->at - 1]);
        const int blank_after = isspace((unsigned char)s->text[t->at + t->length]);
        add_swaps(s, i, blank_before && blank_after ? binary : unary);
    }
}

static int is_left_out(const source *s, size_t i)
{
    char word[64] = "";
    const token *t = &s->tokens[i];
    for (size_t k = 0; k < t->length && k < sizeof word - 1; k++)
        word[k] = (char)tolower((unsigned char)s->text[t->at + k]);
    for (size_t k = 0; t->kind == WORD && k < sizeof left_out / sizeof left_out[0]; k++)
        if (strstr(word, left_out[k]) != NULL)
            return 1;
    return 0;
}

/* The token after the brace that closes the one at token i. */
static size_t behind_braces(const source *s, size_t i)
{
    int depth = 0;
    for (; i < s->count; i++) {
        depth += is(s, i, "{") - is(s, i, "}");
        if (depth == 0)
            return i + 1;
    }
    return i;
}

/* Statement by statement: what lies between semicolons and braces. */
static void find_changes(const source *s)
{
    int depth = 0;
    for (size_t begin = 0, end; begin < s->count; begin = end + 1) {
        int left = 0;
        for (end = begin;
             end < s->count && !is(s, end, ";") && !is(s, end, "{") && !is(s, end, "}"); end++)
            left |= is_left_out(s, end);
        for (size_t i = begin; i < end && !left; i++)
            add_changes(s, begin, i);
        if (left && depth == 0 && is(s, end, "{"))
            end = behind_braces(s, end) - 1;
        else
            depth += is(s, end, "{") - is(s, end, "}");
    }
}

/* SplitMix64 (Steele, Lea and Flood, 2014). */
static uint64_t random_bits(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Without the folder, and without the blanks and the backslash around it. */
static void print_changed_line(const change *c)
{
    const char *folder = strrchr(c->file, '/');
    size_t begin = c->at, end = c->at + c->length;
    while (begin > 0 && c->text[begin - 1] != '\n')
        begin--;
    begin += strspn(c->text + begin, " ");
    end += strcspn(c->text + end, "\n");
    while (end > c->at + c->length && strchr(" \\", c->text[end - 1]) != NULL)
        end--;
    printf("%s: %.*s%s%.*s", folder == NULL ? c->file : folder + 1, (int)(c->at - begin),
           c->text + begin, c->after, (int)(end - c->at - c->length), c->text + c->at + c->length);
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: mutations COUNT SEED FILE...\n");
        return 2;
    }
    const size_t wanted = (size_t)strtoull(argv[1], NULL, 10);
    uint64_t state = strtoull(argv[2], NULL, 10);
    for (int i = 3; i < argc; i++) {
        source s;
        read_tokens(&s, argv[i]);
        find_changes(&s);
        free(s.tokens);
    }
    for (size_t i = 0; i < wanted && i < change_count; i++) {
        const size_t other = i + (size_t)(random_bits(&state) % (change_count - i));
        const change c = changes[other];
        changes[other] = changes[i];
        printf("%s\t%lld\t%zu\t%zu\t%s\t", c.file, (long long)c.line, c.at, c.length, c.before);
        print_changed_line(&c);
        printf("\t%s\n", c.after);
    }
    free(changes);
    return 0;
}
