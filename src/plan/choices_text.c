/*
 * plan/choices_text.c: choices as text, which a file may hold.
 *
 *     groupops-choices 2 lines=2
 *     conv data=1,64,56,56 filter=... threads=1 workspace=0 gemm=blas algorithm=gemm sum=8c1fd3a0
 *     norm data=...                                         algorithm=norm sum=5b21c09e
 *
 * The first line has the version of the format and the number of lines that follow, by which a file
 * that was cut off is noticed; `sum`, a checksum of the line before it, shows damage. What stands
 * before "algorithm" is compared as a whole and has no meaning here.
 */
#include "plan/choices.h"

#include "base/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* In version 1 "direct" was the name of what is "depthwise" now. */
enum { FORMAT_VERSION = 2 };

#define FIRST_WORD "groupops-choices "
#define FIRST_LINE FIRST_WORD "%d lines=%" PRId64
#define ALGORITHM " algorithm="
#define SUM " sum="
enum { SUM_DIGITS = 8 };

/* FNV-1a of 32 bits (Fowler, Noll, Vo). */
static uint32_t checksum(const char *text, size_t length)
{
    uint32_t sum = UINT32_C(2166136261);
    for (size_t i = 0; i < length; i++) {
        sum = (uint32_t)((uint64_t)(sum ^ (unsigned char)text[i]) * 16777619); /* modulo 2^32 */
    }
    return sum;
}

/* A line: a key, and the name of an algorithm. */
enum { NAME_BYTES = 64, LINE_BYTES = GOPS_CHOICE_KEY_BYTES + NAME_BYTES };

static size_t write_line(const gops_choice *choice, char line[LINE_BYTES])
{
    const size_t length =
        (size_t)snprintf(line, LINE_BYTES, "%s" ALGORITHM "%s", choice->key, choice->name);
    return length + (size_t)snprintf(line + length, LINE_BYTES - length, SUM "%08" PRIx32 "\n",
                                     checksum(line, length));
}

/* Writes the whole text, unless `text` is NULL; returns its length. */
static size_t write_text(const gops_choices *choices, char *text)
{
    char line[LINE_BYTES];
    size_t length = 0;
    for (int64_t i = -1; i < choices->count; i++) {
        const size_t more = i >= 0 ? write_line(choices->list[i], line)
                                   : (size_t)snprintf(line, LINE_BYTES, FIRST_LINE "\n",
                                                      FORMAT_VERSION, choices->count);
        if (text != NULL) {
            memcpy(text + length, line, more);
        }
        length += more;
    }
    return length;
}

gops_status gops_choices_write(const gops_choices *choices, char *text, size_t room, size_t *bytes,
                               gops_error *error)
{
    if (choices == NULL || bytes == NULL) {
        return gops_fail(error, GOPS_INVALID, "%s is NULL", choices == NULL ? "choices" : "bytes");
    }
    const size_t length = write_text(choices, NULL);
    if (room >= length && text == NULL) {
        return gops_fail(error, GOPS_INVALID, "text is NULL");
    }
    *bytes = length;
    if (room >= length) {
        write_text(choices, text);
    }
    return GOPS_OK;
}

/* Text that is being read, line by line. */
typedef struct reader {
    const char *next;
    const char *end;
    int64_t number; /* of the line last read, from 1 */
    char line[LINE_BYTES];
} reader;

/* Reads the next line, without its end; false if there is none, or not all of it. */
static bool read_line(reader *from)
{
    const size_t left = (size_t)(from->end - from->next);
    const char *newline = left > 0 ? memchr(from->next, '\n', left) : NULL;
    from->number++;
    const size_t length = newline != NULL ? (size_t)(newline - from->next) : sizeof from->line;
    if (length >= sizeof from->line || memchr(from->next, '\0', length) != NULL) {
        return false;
    }
    memcpy(from->line, from->next, length);
    from->line[length] = '\0';
    from->next = newline + 1;
    return true;
}

static gops_status refuse(const reader *from, const char *why, gops_error *error)
{
    return gops_fail(error, GOPS_INVALID, "line %" PRId64 " of the choices %s", from->number, why);
}

/* Refuses a line that was written differently: with other spaces, with leading zeros. */
static gops_status read_first(reader *from, int64_t *lines, gops_error *error)
{
    char again[sizeof FIRST_WORD + 64];
    int version;
    if (!read_line(from) ||
        sscanf(from->line, FIRST_WORD "%9d lines=%18" SCNd64, &version, lines) != 2 || *lines < 0) {
        return refuse(from, "does not begin with \"" FIRST_WORD "VERSION lines=COUNT\"", error);
    }
    if (version != FORMAT_VERSION) {
        return gops_fail(error, GOPS_INVALID,
                         "line 1 of the choices tells of version %d of the format; this library "
                         "reads version %d: measure again",
                         version, FORMAT_VERSION);
    }
    snprintf(again, sizeof again, FIRST_LINE, version, *lines);
    return strcmp(again, from->line) == 0 ? GOPS_OK : refuse(from, "was damaged", error);
}

/* The last occurrence of the words; NULL if there is none. */
static char *find_last(char *text, const char *words)
{
    char *found = NULL;
    for (char *at = text; (at = strstr(at, words)) != NULL; at++) {
        found = at;
    }
    return found;
}

/* Whether a method for the key's operation has the name. */
static bool is_offered(const char *key, const char *name)
{
    bool found = false;
    for (const gops_method *const *method = gops_methods; *method != NULL && !found; method++) {
        const char *operation = gops_operation_names[(*method)->operation];
        const size_t length = strlen(operation);
        found = gops_is_named(*method, name) && strncmp(key, operation, length) == 0 &&
                key[length] == ' ';
    }
    return found;
}

static gops_status read_choice(reader *from, gops_choices *to, gops_error *error)
{
    if (!read_line(from)) {
        return refuse(from, "is missing or cut off", error);
    }
    char *sum = find_last(from->line, SUM);
    char expected[sizeof SUM + SUM_DIGITS];
    if (sum != NULL) {
        snprintf(expected, sizeof expected, SUM "%08" PRIx32,
                 checksum(from->line, (size_t)(sum - from->line)));
    }
    if (sum == NULL || strcmp(sum, expected) != 0) {
        return refuse(from, "was damaged: its sum is not that of its text", error);
    }
    *sum = '\0';
    char *algorithm = find_last(from->line, ALGORITHM);
    if (algorithm == NULL || algorithm - from->line >= GOPS_CHOICE_KEY_BYTES) {
        return refuse(from, "names no algorithm", error);
    }
    *algorithm = '\0';
    const char *name = algorithm + strlen(ALGORITHM);
    if (!is_offered(from->line, name)) {
        return refuse(from, "names an algorithm that this library does not have", error);
    }
    return gops_choices_put(to, from->line, name, error);
}

gops_status gops_choices_read(gops_choices *choices, const char *text, size_t bytes,
                              gops_error *error)
{
    if (choices == NULL || (text == NULL && bytes > 0)) {
        return gops_fail(error, GOPS_INVALID, "%s is NULL", choices == NULL ? "choices" : "text");
    }
    gops_choices fresh = {choices->host, NULL, 0, 0};
    reader from = {.next = text, .end = bytes > 0 ? text + bytes : text};
    int64_t lines = 0;
    gops_status status = read_first(&from, &lines, error);
    for (int64_t i = 0; i < lines && status == GOPS_OK; i++) {
        status = read_choice(&from, &fresh, error);
    }
    if (status == GOPS_OK && from.next != from.end) {
        from.number++;
        status = refuse(&from, "is one more than the first line tells of", error);
    }
    if (status == GOPS_OK) {
        status = gops_choices_move(&fresh, choices, error);
    }
    gops_choices_clear(&fresh);
    return status;
}
