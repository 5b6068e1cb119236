/* tool_json.c: a strict reader of JSON. Every function takes one thing at *text and moves on, or
 * returns 0. */
#include "tool_json.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int take_value(const char **text, int depth);

static void skip_spaces(const char **text)
{
    while (**text == ' ' || **text == '\t' || **text == '\r')
        ++*text;
}

static int take(const char **text, char character)
{
    skip_spaces(text);
    if (**text != character)
        return 0;
    ++*text;
    return 1;
}

static int take_escape(const char **text)
{
    if (**text != 'u')
        return **text != '\0' && strchr("\"\\/bfnrt", *(*text)++) != NULL;
    for (int i = 1; i <= 4; i++) {
        if (!isxdigit((unsigned char)(*text)[i]))
            return 0;
    }
    *text += 5;
    return 1;
}

static int take_string(const char **text)
{
    if (!take(text, '"'))
        return 0;
    while (**text != '"') {
        const unsigned char byte = (unsigned char)*(*text)++;
        if (byte < 0x20 || (byte == '\\' && !take_escape(text)))
            return 0;
    }
    ++*text;
    return 1;
}

static int take_digits(const char **text)
{
    const char *first = *text;
    while (isdigit((unsigned char)**text))
        ++*text;
    return *text > first;
}

static int take_number(const char **text)
{
    if (**text == '-')
        ++*text;
    if (**text == '0')
        ++*text;
    else if (!take_digits(text))
        return 0;
    if (**text == '.' && (++*text, !take_digits(text)))
        return 0;
    if (**text == 'e' || **text == 'E') {
        ++*text;
        if (**text == '+' || **text == '-')
            ++*text;
        return take_digits(text);
    }
    return 1;
}

static int take_array(const char **text, int depth)
{
    if (!take(text, '['))
        return 0;
    if (take(text, ']'))
        return 1;
    do {
        if (!take_value(text, depth))
            return 0;
    } while (take(text, ','));
    return take(text, ']');
}

static int take_object(const char **text, int depth, char *keys, size_t bytes)
{
    if (!take(text, '{'))
        return 0;
    if (take(text, '}'))
        return 1;
    do {
        skip_spaces(text);
        const char *key = *text + 1;
        if (!take_string(text))
            return 0;
        if (keys != NULL) {
            const size_t used = strlen(keys);
            snprintf(keys + used, bytes - used, "%s%.*s", used != 0 ? " " : "",
                     (int)(*text - 1 - key), key);
        }
        if (!take(text, ':') || !take_value(text, depth))
            return 0;
    } while (take(text, ','));
    return take(text, '}');
}

static int take_value(const char **text, int depth)
{
    static const char *const words[] = {"true", "false", "null"};
    skip_spaces(text);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strncmp(*text, words[i], strlen(words[i])) == 0) {
            *text += strlen(words[i]);
            return 1;
        }
    }
    if (depth == 0)
        return 0;
    switch (**text) {
    case '{':
        return take_object(text, depth - 1, NULL, 0);
    case '[':
        return take_array(text, depth - 1);
    case '"':
        return take_string(text);
    default:
        return take_number(text);
    }
}

enum { MAX_DEPTH = 8 };

int tool_json_object(const char **text, char *keys, size_t bytes)
{
    keys[0] = '\0';
    return take_object(text, MAX_DEPTH, keys, bytes) && take(text, '\n');
}

const char *tool_json_value(const char *object, const char *key, char *value, size_t bytes)
{
    const char *text = object;
    value[0] = '\0';
    if (!take(&text, '{'))
        return value;
    do {
        skip_spaces(&text);
        const char *name = text + 1;
        if (!take_string(&text) || !take(&text, ':'))
            return value;
        const size_t length = (size_t)(strchr(name, '"') - name);
        skip_spaces(&text);
        const char *first = text;
        if (!take_value(&text, MAX_DEPTH))
            return value;
        if (length == strlen(key) && memcmp(name, key, length) == 0 &&
            (size_t)(text - first) < bytes) {
            memcpy(value, first, (size_t)(text - first));
            value[text - first] = '\0';
            return value;
        }
    } while (take(&text, ','));
    return value;
}

double tool_json_number(const char *object, const char *key)
{
    char value[64];
    char *end;
    tool_json_value(object, key, value, sizeof value);
    const double number = strtod(value, &end);
    return value[0] != '\0' && *end == '\0' ? number : (double)NAN;
}
