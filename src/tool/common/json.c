/* json.c: writes one JSON object on one line (RFC 8259). */
#include "common/json.h"

#include <inttypes.h>
#include <math.h>

static void write_text(FILE *out, const char *text)
{
    putc('"', out);
    for (; *text != '\0'; text++) {
        const unsigned char byte = (unsigned char)*text;
        if (byte == '"' || byte == '\\') {
            fprintf(out, "\\%c", byte);
        } else if (byte < 0x20) {
            fprintf(out, "\\u%04x", byte);
        } else {
            putc(byte, out);
        }
    }
    putc('"', out);
}

static void write_key(gops_json *json, const char *key)
{
    fputs(json->begun ? ", " : "", json->out);
    json->begun = true;
    write_text(json->out, key);
    fputs(": ", json->out);
}

gops_json gops_json_begin(FILE *out)
{
    putc('{', out);
    return (gops_json){out, false};
}

void gops_json_text(gops_json *json, const char *key, const char *text)
{
    write_key(json, key);
    write_text(json->out, text);
}

void gops_json_integer(gops_json *json, const char *key, int64_t value)
{
    write_key(json, key);
    fprintf(json->out, "%" PRId64, value);
}

void gops_json_integers(gops_json *json, const char *key, const int64_t *values, int32_t count)
{
    write_key(json, key);
    putc('[', json->out);
    for (int32_t i = 0; i < count; i++) {
        fprintf(json->out, "%s%" PRId64, i == 0 ? "" : ", ", values[i]);
    }
    putc(']', json->out);
}

void gops_json_real(gops_json *json, const char *key, double value)
{
    write_key(json, key);
    if (isfinite(value)) {
        fprintf(json->out, "%.6g", value);
    } else {
        fputs("null", json->out);
    }
}

void gops_json_null(gops_json *json, const char *key)
{
    write_key(json, key);
    fputs("null", json->out);
}

void gops_json_end(gops_json *json)
{
    fputs("}\n", json->out);
}
