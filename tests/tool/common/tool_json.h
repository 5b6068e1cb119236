/* tool_json.h: a strict reader of JSON (RFC 8259), to see that the tool writes it. */
#ifndef GROUPOPS_TEST_TOOL_JSON_H
#define GROUPOPS_TEST_TOOL_JSON_H

#include <stddef.h>

/* Reads one object from *text and moves it beyond the newline that must follow. Writes its keys,
 * in their order and with spaces between them, to `keys`. Returns 0 when it is not a JSON object.
 */
int tool_json_object(const char **text, char *keys, size_t bytes);

/* The text of the value of a key of the object (not of one within it), copied to `value`; "" where
 * there is none. */
const char *tool_json_value(const char *object, const char *key, char *value, size_t bytes);

/* That value as a number; NaN where it is none. */
double tool_json_number(const char *object, const char *key);

#endif
