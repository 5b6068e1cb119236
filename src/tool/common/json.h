/* json.h: writes one JSON object on one line. Keys and texts are ASCII. */
#ifndef GOPS_COMMON_JSON_H
#define GOPS_COMMON_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct gops_json {
    FILE *out;
    bool begun; /* whether there is a member already */
} gops_json;

gops_json gops_json_begin(FILE *out);
void gops_json_text(gops_json *json, const char *key, const char *text);
void gops_json_integer(gops_json *json, const char *key, int64_t value);
void gops_json_integers(gops_json *json, const char *key, const int64_t *values, int32_t count);
/* Six digits; null when it is not finite, which JSON cannot write. */
void gops_json_real(gops_json *json, const char *key, double value);
void gops_json_null(gops_json *json, const char *key);
/* Ends the line. */
void gops_json_end(gops_json *json);

#endif
