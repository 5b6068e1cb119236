/* terminal.c: asks the terminal and the environment. */
#include "common/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

static bool is_set(const char *value)
{
    return value != NULL && value[0] != '\0';
}

bool gops_terminal_is(FILE *stream)
{
    const char *kind = getenv("TERM");
    return isatty(fileno(stream)) && (kind == NULL || strcmp(kind, "dumb") != 0);
}

int gops_terminal_columns(FILE *stream)
{
    struct winsize size;
    const bool known = ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return known ? size.ws_col : 80;
}

bool gops_terminal_has_utf8(void)
{
    /* In the order in which setlocale asks them. */
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = getenv(names[i]);
        if (is_set(value)) {
            return strcasestr(value, "UTF-8") != NULL || strcasestr(value, "utf8") != NULL;
        }
    }
    return false;
}

int gops_terminal_print(FILE *stream, const char *text)
{
    int bytes = 0;
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at++, bytes++) {
        /* U+0080 to U+009F in UTF-8 */
        const bool is_second = at[0] == 0xc2 && at[1] >= 0x80 && at[1] <= 0x9f;
        putc(at[0] < 0x20 || at[0] == 0x7f || is_second ? '?' : at[0], stream);
        at += is_second;
    }
    return bytes;
}

const char *gops_terminal_style_text(FILE *stream, gops_terminal_style style)
{
    static const char *const texts[] = {
        [GOPS_STYLE_PLAIN] = "\033[0m",
        [GOPS_STYLE_TITLE] = "\033[1m",
        [GOPS_STYLE_BAR] = "\033[34m",
        [GOPS_STYLE_ERROR] = "\033[1;31m",
    };
    return gops_terminal_is(stream) && !is_set(getenv("NO_COLOR")) ? texts[style] : "";
}
