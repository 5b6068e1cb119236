/* ir_text.c: reads the .xml file of an IR, before any of it is parsed.
 *
 * A document type declaration is refused here and not left to the parser: a document without one
 * has only XML's five predefined entities, whatever the parser does. "<!" cannot hide in another
 * encoding, because bytes of 0 are refused and the parser is told that the text is UTF-8. */
#include "ir/ir_model.h"

#include "common/regular_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Ten times the .xml file of a large language model, which has some 10^4 layers. */
enum { MAX_TEXT_BYTES = 256 << 20 };

static bool read_whole(int descriptor, int64_t bytes, char **text, gops_tool_error *error)
{
    if (bytes > MAX_TEXT_BYTES) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED,
                                "it has %" PRId64 " bytes; an IR of up to %d is read", bytes,
                                MAX_TEXT_BYTES);
    }
    *text = malloc((size_t)bytes + sizeof "</layer>");
    if (*text == NULL) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "no memory for its %" PRId64 " bytes",
                                bytes);
    }
    (*text)[bytes] = '\0';
    return gops_regular_file_read(descriptor, *text, (size_t)bytes, 0, error);
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* The character after the first `end` in the text; its final 0 if there is none. */
static char *skip_past(char *text, const char *end)
{
    char *found = strstr(text, end);
    return found != NULL ? found + strlen(end) : text + strlen(text);
}

/* Skips a tag, from its "<" to after its ">", and blanks the specification's dots in it. */
static char *skip_tag(char *text)
{
    char quote = '\0';
    for (; *text != '\0'; text++) {
        if (quote != '\0') {
            quote = *text == quote ? '\0' : quote;
        } else if (*text == '"' || *text == '\'') {
            quote = *text;
        } else if (begins(text, " ...")) {
            memset(text, ' ', 4);
        } else if (*text == '>') {
            return text + 1;
        }
    }
    return text;
}

static bool skip_markup(const char *path, char *text, gops_tool_error *error)
{
    while ((text = strchr(text, '<')) != NULL) {
        if (begins(text, "<!--")) {
            text = skip_past(text + 4, "-->");
        } else if (begins(text, "<![CDATA[")) {
            text = skip_past(text, "]]>");
        } else if (begins(text, "<?")) {
            text = skip_past(text, "?>");
        } else if (begins(text, "<!")) {
            return gops_tool_refuse(error, GOPS_EXIT_FAILED,
                                    "%s: it has a document type declaration; an IR has none", path);
        } else {
            text = skip_tag(text);
        }
    }
    return true;
}

static const char lone_begin[] = "<layer";
static const char lone_end[] = "</layer>";
static const char last_child[] = "</output>";

/* The examples of GroupConvolution-1 end after their <output>, without the layer's end-tag; the
 * text has room for it. */
static void close_lone_layer(char *text, size_t *count)
{
    static const char spaces[] = " \t\r\n";
    const size_t last = sizeof last_child - 1;
    while (*count > 0 && strchr(spaces, text[*count - 1]) != NULL) {
        --*count;
    }
    text[*count] = '\0';
    if (begins(text + strspn(text, spaces), lone_begin) && *count >= last &&
        strcmp(text + *count - last, last_child) == 0) {
        memcpy(text + *count, lone_end, sizeof lone_end);
        *count += sizeof lone_end - 1;
    }
}

bool gops_ir_read_text(const char *path, char **text, size_t *count, gops_tool_error *error)
{
    int descriptor;
    int64_t bytes;
    *text = NULL;
    if (!gops_regular_file_open(path, &descriptor, &bytes, error)) {
        return false;
    }
    bool done = read_whole(descriptor, bytes, text, error) || gops_tool_prefix(error, "%s", path);
    close(descriptor);
    *count = (size_t)bytes;
    if (done && memchr(*text, '\0', *count) != NULL) {
        done = gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s: it is not a text in UTF-8", path);
    }
    if (!done || !skip_markup(path, *text, error)) {
        free(*text);
        *text = NULL;
        return false;
    }
    close_lone_layer(*text, count);
    return true;
}
