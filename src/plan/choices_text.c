/*
 * plan/choices_text.c: choices as text, which a file may hold.
 *
 *     groupops-choices 2 lines=2
 *     conv data=1,64,56,56 filter=... threads=1 workspace=0 gemm=blas algorithm=gemm sum=8c1fd3a0
 *     norm data=...                                         algorithm=norm sum=5b21c09e
 *
 * The first line tells the version of the format and how many lines follow, so that a file that was
 * cut off is noticed; sum is a checksum of its line up to there, so that damage is. What stands
 * before "algorithm" is compared as a whole and has no meaning here.
 */
#include "plan/choices.h"

#include "base/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* 1 had other names: "direct" stood for what is "depthwise" now. */
enum { FORMAT_VERSION = 2 };

#define FIRST_WORD "groupops-choices "
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

enum { NAME_BYTES = 64 };

static size_t write_line(const gops_choice *choice, char line[GOPS_CHOICE_KEY_BYTES + NAME_BYTES])
{
    enum { ROOM = GOPS_CHOICE_KEY_BYTES + NAME_BYTES };
    const size_t length =
        (size_t)snprintf(line, ROOM, "%s" ALGORITHM "%s", choice->key, choice->name);
    return length + (size_t)snprintf(line + length, ROOM - length, SUM "%08" PRIx32 "\n",
                                     checksum(line, length));
}

gops_status gops_choices_write(const gops_choices *choices, char *text, size_t room, size_t *bytes,
                               gops_error *error)
{
    char line[GOPS_CHOICE_KEY_BYTES + NAME_BYTES];
    if (choices == NULL || bytes == NULL) {
        return gops_fail(error, GOPS_INVALID, "%s is NULL", choices == NULL ? "choices" : "bytes");
    }
    size_t length = (size_t)snprintf(line, sizeof line, FIRST_WORD "%d lines=%" PRId64 "\n",
                                     FORMAT_VERSION, choices->count);
    *bytes = length;
    for (int64_t i = 0; i < choices->count; i++) {
        *bytes += write_line(choices->list[i], line);
    }
    if (room < *bytes) {
        return GOPS_OK;
    }
    if (text == NULL) {
        return gops_fail(error, GOPS_INVALID, "text is NULL");
    }
    snprintf(line, sizeof line, FIRST_WORD "%d lines=%" PRId64 "\n", FORMAT_VERSION,
             choices->count);
    memcpy(text, line, length);
    for (int64_t i = 0; i < choices->count; i++) {
        const size_t more = write_line(choices->list[i], line);
        memcpy(text + length, line, more);
        length += more;
    }
    return GOPS_OK;
}

/* Text that is being read, line by line. */
typedef struct reader {
    const char *next;
    const char *end;
    int64_t number; /* of the line last read, from 1 */
    char line[GOPS_CHOICE_KEY_BYTES + NAME_BYTES];
    size_t length;
} reader;

/* The next line without its end; 0 where there is none, or not all of it. */
static int read_line(reader *from)
{
    const size_t left = (size_t)(from->end - from->next);
    const char *newline = left > 0 ? memchr(from->next, '\n', left) : NULL;
    from->number++;
    if (newline == NULL) {
        return 0;
    }
    from->length = (size_t)(newline - from->next);
    if (from->length >= sizeof from->line || memchr(from->next, '\0', from->length) != NULL) {
        return 0;
    }
    memcpy(from->line, from->next, from->length);
    from->line[from->length] = '\0';
    from->next = newline + 1;
    return 1;
}

static gops_status refuse(const reader *from, const char *why, gops_error *error)
{
    return gops_fail(error, GOPS_INVALID, "line %" PRId64 " of the choices %s", from->number, why);
}

/* A line that was written differently, with other spaces or zeros, is not one of ours. */
static gops_status read_first(reader *from, int64_t *lines, gops_error *error)
{
    char again[sizeof FIRST_WORD + 64];
    int version;
    if (!read_line(from) ||
        sscanf(from->line, FIRST_WORD "%d lines=%" SCNd64, &version, lines) != 2 || *lines < 0) {
        return refuse(from, "does not begin with \"" FIRST_WORD "2 lines=\"", error);
    }
    if (version != FORMAT_VERSION) {
        return gops_fail(error, GOPS_INVALID,
                         "line 1 of the choices tells of version %d of the format; this library "
                         "reads version %d: measure again",
                         version, FORMAT_VERSION);
    }
    snprintf(again, sizeof again, FIRST_WORD "%d lines=%" PRId64, version, *lines);
    return strcmp(again, from->line) == 0 ? GOPS_OK : refuse(from, "was damaged", error);
}

/* The last place of the words; NULL where they are not. */
static char *find_last(char *text, const char *words)
{
    char *found = NULL;
    for (char *at = text; (at = strstr(at, words)) != NULL; at++) {
        found = at;
    }
    return found;
}

/* Whether a method for the key's operation has the name. */
static int is_offered(const char *key, const char *name)
{
    int found = 0;
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
        status = gops_choices_reserve(choices, fresh.count, error);
    }
    if (status == GOPS_OK) {
        gops_choices_move(&fresh, choices);
    }
    gops_choices_clear(&fresh);
    return status;
}
