/* flag_values.c: the kinds of values that a flag can have. */
#include "common/flag_values.h"

#include <groupops/plan.h>

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool __attribute__((format(printf, 2, 3))) wrong(char *why, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, GOPS_FLAG_WHY_BYTES, format, arguments);
    va_end(arguments);
    return false;
}

/* Appends ", name" to the list in `why`, without the comma to one that ends in ": ". */
static void append_name(char *why, const char *name)
{
    const size_t used = strlen(why);
    const char *comma = why[used - 1] == ' ' ? "" : ", ";
    snprintf(why + used, GOPS_FLAG_WHY_BYTES - used, "%s%s", comma, name);
}

bool gops_read_text(const gops_flag *flag, const char *value, void *field, char *why)
{
    (void)flag;
    if (*value == '\0') {
        return wrong(why, "is empty");
    }
    *(const char **)field = value;
    return true;
}

/* One decimal integer up to a character of `ends` (its final 0 included); *next is that
 * character. */
static bool read_number(const char *text, const char *ends, const char **next, int64_t *number,
                        char *why)
{
    const char *digits = *text == '-' ? text + 1 : text;
    char *end;
    if (!isdigit((unsigned char)*digits)) {
        return wrong(why, "is not made of integers");
    }
    errno = 0;
    const long long found = strtoll(text, &end, 10);
    if (errno == ERANGE) {
        return wrong(why, "has a number beyond 64 bits");
    }
    if (*end != '\0' && strchr(ends, *end) == NULL) {
        return wrong(why, "is not made of integers");
    }
    *number = found;
    *next = end;
    return true;
}

/* Comma-separated integers into values[0 .. most - 1]. */
static bool read_numbers(const char *value, int32_t most, int64_t *values, int32_t *count,
                         char *why)
{
    *count = 0;
    for (const char *at = value;; at++) {
        if (*count == most) {
            return wrong(why, "has more than %" PRId32 " numbers", most);
        }
        if (!read_number(at, ",", &at, &values[*count], why)) {
            return false;
        }
        ++*count;
        if (*at == '\0') {
            return true;
        }
    }
}

bool gops_read_shape(const gops_flag *flag, const char *value, void *field, char *why)
{
    (void)flag;
    gops_tool_dims *dims = field;
    return read_numbers(value, GOPS_MAX_RANK, dims->dims, &dims->rank, why);
}

bool gops_read_list(const gops_flag *flag, const char *value, void *field, char *why)
{
    (void)flag;
    gops_list *list = field;
    return read_numbers(value, GOPS_MAX_SPATIAL, list->values, &list->count, why);
}

bool gops_read_integer(const gops_flag *flag, const char *value, void *field, char *why)
{
    (void)flag;
    const char *end;
    return read_number(value, "", &end, field, why);
}

bool gops_read_i32(const gops_flag *flag, const char *value, void *field, char *why)
{
    int64_t number = 0;
    if (!gops_read_integer(flag, value, &number, why)) {
        return false;
    }
    if (number < INT32_MIN || number > INT32_MAX) {
        return wrong(why, "is beyond 32 bits");
    }
    *(int32_t *)field = (int32_t)number;
    return true;
}

static bool read_natural(const char *value, int64_t *number, char *why)
{
    const char *end;
    return read_number(value, "", &end, number, why) && (*number >= 0 || wrong(why, "is below 0"));
}

bool gops_read_reps(const gops_flag *flag, const char *value, void *field, char *why)
{
    int64_t *number = field;
    return gops_read_integer(flag, value, number, why) &&
           ((*number >= 1 && *number <= GOPS_TOOL_MAX_REPS) ||
            wrong(why, "is not from 1 to %d", GOPS_TOOL_MAX_REPS));
}

bool gops_read_threads(const gops_flag *flag, const char *value, void *field, char *why)
{
    (void)flag;
    int64_t number = 0;
    if (!read_natural(value, &number, why)) {
        return false;
    }
    if (number > INT32_MAX) {
        return wrong(why, "is beyond 32 bits");
    }
    *(int32_t *)field = (int32_t)number;
    return true;
}

bool gops_read_bytes(const gops_flag *flag, const char *value, void *field, char *why)
{
    (void)flag;
    if (strcmp(value, "unlimited") == 0) {
        *(int64_t *)field = GOPS_UNLIMITED;
        return true;
    }
    return read_natural(value, field, why);
}

bool gops_read_real(const gops_flag *flag, const char *value, void *field, char *why)
{
    (void)flag;
    char *end;
    const double number = strtod(value, &end);
    if (end == value || *end != '\0' || isspace((unsigned char)*value)) {
        return wrong(why, "is not a number");
    }
    *(double *)field = number;
    return true;
}

/* The numbers behind an activation's name: as many as `count` tells, with commas between. */
static bool read_parameters(const char *text, int count, double *values)
{
    for (int i = 0; i < count; i++) {
        char *end;
        values[i] = strtod(text, &end);
        if (end == text || isspace((unsigned char)*text) || *end != (i + 1 < count ? ',' : '\0')) {
            return false;
        }
        text = end + 1;
    }
    return true;
}

/* The flag's value is a list of the kinds in their order, from relu on: NAME, NAME:A, NAME:A,B or NAME[:A]. */
bool gops_read_activation(const gops_flag *flag, const char *value, void *field, char *why)
{
    const size_t length = strcspn(value, ":");
    double numbers[2] = {1, 0}; /* swish by itself: SiLU, ALPHA 1 */
    int kind = GOPS_ACTIVATION_NONE;
    bool found = strcmp(value, "none") == 0;
    for (const char *form = flag->value; !found && form != NULL; kind++) {
        const size_t name = strcspn(form, "[:|"), all = strcspn(form, "|");
        const char *behind = form + name;
        const int count = name == all ? 0 : memchr(behind, ',', all - name) != NULL ? 2 : 1;
        if (name == length && memcmp(form, value, length) == 0) {
            found = value[length] == '\0'
                        ? count == 0 || *behind == '['
                        : count != 0 && read_parameters(value + length + 1, count, numbers);
        }
        form = form[all] == '|' ? form + all + 1 : NULL;
    }
    *(gops_activation *)field =
        (gops_activation){(gops_activation_kind)kind, numbers[0], numbers[1]};
    return found || wrong(why, "is none of: none|%s", flag->value);
}

bool gops_read_seconds(const gops_flag *flag, const char *value, void *field, char *why)
{
    if (!gops_read_real(flag, value, field, why)) {
        return false;
    }
    const double number = *(double *)field;
    if (!isfinite(number) || number < 0) {
        return wrong(why, "is not a time");
    }
    return true;
}

bool gops_read_difference(const gops_flag *flag, const char *value, void *field, char *why)
{
    if (!gops_read_real(flag, value, field, why)) {
        return false;
    }
    if (!(*(double *)field >= 0)) {
        return wrong(why, "is not 0 or above");
    }
    return true;
}

bool gops_read_ulp(const gops_flag *flag, const char *value, void *field, char *why)
{
    (void)flag;
    return read_natural(value, field, why);
}

bool gops_read_input(const gops_flag *flag, const char *value, void *field, char *why)
{
    const char *equals = strchr(value, '=');
    if (equals == NULL || equals[1] == '\0') {
        return wrong(why, "is not %s", flag->value);
    }
    ++*(int *)field;
    return true;
}

bool gops_read_choice(const gops_flag *flag, const char *value, void *field, char *why)
{
    const size_t length = strlen(value);
    int index = 0;
    for (const char *name = flag->value; name != NULL; index++) {
        const char *bar = strchr(name, '|');
        const size_t name_length = bar != NULL ? (size_t)(bar - name) : strlen(name);
        if (length == name_length && memcmp(name, value, length) == 0) {
            *(int *)field = index;
            return true;
        }
        name = bar != NULL ? bar + 1 : NULL;
    }
    return wrong(why, "is none of: %s", flag->value);
}

bool gops_read_type(const gops_flag *flag, const char *value, void *field, char *why)
{
    (void)flag;
    const gops_type type = gops_type_from_name(value);
    if (type == 0) {
        wrong(why, "is none of: ");
        for (int i = 1; gops_type_bytes((gops_type)i) != 0; i++) {
            append_name(why, gops_type_name((gops_type)i));
        }
        return false;
    }
    *(int *)field = (int)type;
    return true;
}

bool gops_read_algorithm(const gops_flag *flag, const char *value, void *field, char *why)
{
    (void)flag;
    const size_t length = strlen(value);
    bool known = strcmp(value, "auto") == 0 || strcmp(value, "fastest") == 0;
    const char *name;
    wrong(why, "is none of: auto, fastest");
    for (int32_t i = 0; (name = gops_algorithm_name(i)) != NULL; i++) {
        known = known || (strncmp(value, name, length) == 0 &&
                          (name[length] == '\0' || name[length] == '/'));
        append_name(why, name);
    }
    if (!known) {
        append_name(why, "or the part of one before its slash");
        return false;
    }
    *(const char **)field = value;
    return true;
}
