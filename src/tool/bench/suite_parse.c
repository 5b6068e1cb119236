/* suite_parse.c: parses the text of a suite into layers. */
#include "bench/suite.h"

#include "common/flags.h"

#include <stdlib.h>
#include <string.h>

enum {
    FIRST_WORDS = 3, /* name, operation, type */
    MAX_WORDS = FIRST_WORDS + 64,
};

static const char spaces[] = " \t\r";

/* Splits the line into words in place; returns MAX_WORDS + 1 if it has more. */
static int split_words(char *line, char **words)
{
    int count = 0;
    char *rest = NULL;
    for (char *word = strtok_r(line, spaces, &rest); word != NULL;
         word = strtok_r(NULL, spaces, &rest)) {
        if (count == MAX_WORDS) {
            return MAX_WORDS + 1;
        }
        words[count++] = word;
    }
    return count;
}

/* Names are printed in tables and JSON without escapes. */
static bool is_printable(const char *name)
{
    for (; *name != '\0'; name++) {
        if (*name <= ' ' || *name > '~') {
            return false;
        }
    }
    return true;
}

static bool parse_words(int count, char **words, gops_bench_layer *layer, gops_tool_error *error)
{
    if (count < FIRST_WORDS || count > MAX_WORDS) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED,
                                "a layer is a name, an operation, a type and at most %d flags",
                                MAX_WORDS - FIRST_WORDS);
    }
    memset(layer, 0, sizeof *layer);
    layer->name = words[0];
    const gops_type type = gops_type_from_name(words[2]);
    if (!is_printable(layer->name)) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "the name is not plain ASCII");
    }
    layer->operation = gops_operation_read(words[1], GOPS_EXIT_FAILED, error);
    if (layer->operation == NULL) {
        return false;
    }
    if (type == 0) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "\"%s\" is no element type", words[2]);
    }
    const gops_words flags = {
        .count = count - FIRST_WORDS,
        .words = words + FIRST_WORDS,
        .dashes = "",
        .place = layer->operation->name,
        .exit_code = GOPS_EXIT_FAILED,
        .verb = GOPS_IN_LAYER,
        .operation = layer->operation->bit,
    };
    if (!gops_flags_read(&flags, &layer->settings, error)) {
        return false;
    }
    if (gops_flags_given(&layer->settings, "type")) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED,
                                "type=%s is among the flags; a layer's type is its third word",
                                gops_type_name((gops_type)layer->settings.type));
    }
    layer->settings.type = (int)type;
    return true;
}

static bool grow_layers(gops_suite *suite, size_t *capacity, gops_tool_error *error)
{
    if (suite->count < *capacity) {
        return true;
    }
    const size_t larger = *capacity * 2 + 16;
    gops_bench_layer *layers = realloc(suite->layers, larger * sizeof *layers);
    if (layers == NULL) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "no memory for %zu layers", larger);
    }
    suite->layers = layers;
    *capacity = larger;
    return true;
}

bool gops_suite_parse(const char *path, char *text, gops_suite *suite, gops_tool_error *error)
{
    size_t capacity = 0;
    int number = 0;
    *suite = (gops_suite){text, NULL, 0};
    for (char *line = text, *next; line != NULL; line = next) {
        char *words[MAX_WORDS + 1];
        number++;
        next = strchr(line, '\n');
        if (next != NULL) {
            *next++ = '\0';
        }
        line[strcspn(line, "#")] = '\0';
        const int count = split_words(line, words);
        if (count == 0) {
            continue;
        }
        if (!grow_layers(suite, &capacity, error) ||
            !parse_words(count, words, &suite->layers[suite->count], error)) {
            gops_suite_release(suite);
            return gops_tool_prefix(error, "%s:%d", path, number);
        }
        suite->count++;
    }
    if (suite->count == 0) {
        gops_suite_release(suite);
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s: it has no layers", path);
    }
    return true;
}

void gops_suite_release(gops_suite *suite)
{
    free(suite->layers);
    free(suite->text);
    *suite = (gops_suite){NULL, NULL, 0};
}
