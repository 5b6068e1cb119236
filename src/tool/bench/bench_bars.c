/* bench_bars.c: bars of characters and of SVG. */
#include "bench/bench_bars.h"

#include "common/terminal.h"
#include "common/whole_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double longest(const gops_bench_bar *bars, size_t count)
{
    double most = 0;
    for (size_t i = 0; i < count; i++) {
        most = fmax(most, bars[i].ms);
    }
    return most;
}

/* A bar of that many columns, in eighths of one where the terminal has such characters; a time above
 * 0 shows. */
static void print_bar(double columns, bool utf8)
{
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    int units = (int)lround(columns * 8);
    if (!utf8) {
        units = (units + 4) / 8 * 8;
        units = units == 0 ? 8 : units;
    }
    units = units == 0 ? 1 : units;
    for (int i = 0; i < units / 8; i++) {
        fputs(utf8 ? "█" : "#", stdout);
    }
    fputs(eighths[units % 8], stdout);
}

void gops_bench_bars_print(const gops_bench_bar *bars, size_t count)
{
    enum { MAX_NAME = 34, TIME = 12, LEAST = 8 };
    const bool utf8 = gops_terminal_has_utf8();
    const double most = longest(bars, count);
    int name = 0;
    double total = 0;
    for (size_t i = 0; i < count; i++) {
        const int length = (int)strlen(bars[i].name);
        name = length > name ? length : name;
        total += bars[i].ms;
    }
    name = name < MAX_NAME ? name : MAX_NAME;
    /* One column stays free, for terminals that begin a new line when the last one is written. */
    const int room = gops_terminal_columns(stdout) - name - TIME - 2;
    printf("\n%s%-*s %*s%s\n", gops_terminal_style_text(stdout, GOPS_STYLE_TITLE), name, "",
           TIME - 1, "ms min", gops_terminal_style_text(stdout, GOPS_STYLE_PLAIN));
    for (size_t i = 0; i < count; i++) {
        printf("%-*.*s %*.4f %s", name, name, bars[i].name, TIME - 1, bars[i].ms,
               gops_terminal_style_text(stdout, GOPS_STYLE_BAR));
        print_bar(bars[i].ms / most * (room > LEAST ? room : LEAST), utf8);
        printf("%s\n", gops_terminal_style_text(stdout, GOPS_STYLE_PLAIN));
    }
    printf("%-*.*s %*.4f\n", name, name, "total", TIME - 1, total);
}

/* Text within an element. */
static void write_escaped(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        default:
            putc((unsigned char)*text < ' ' ? '?' : *text, out);
        }
    }
}

static void write_svg(FILE *out, const char *title, const gops_bench_bar *bars, size_t count)
{
    enum { WIDTH = 880, LEFT = 290, NUMBERS = 260, ROW = 22, BAR = 14, TOP = 60, BOTTOM = 16 };
    const double unit = (WIDTH - LEFT - NUMBERS) / longest(bars, count);
    const size_t height = TOP + count * ROW + BOTTOM;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%zu\" "
            "viewBox=\"0 0 %d %zu\" role=\"img\">\n"
            "<style>text{font:13px 'DejaVu Sans',Verdana,sans-serif;fill:#1a202c}"
            ".title{font-weight:bold;font-size:16px}.quiet{fill:#5a6472}.back{fill:#fff}"
            ".bar{fill:#2b6cb0}@media(prefers-color-scheme:dark){text{fill:#e6edf3}"
            ".quiet{fill:#9aa5b1}.back{fill:#0d1117}.bar{fill:#63a4e8}}</style>\n"
            "<rect class=\"back\" width=\"%d\" height=\"%zu\"/>\n"
            "<text class=\"title\" x=\"16\" y=\"30\">",
            WIDTH, height, WIDTH, height, WIDTH, height);
    write_escaped(out, title);
    fprintf(out, "</text>\n");
    for (size_t i = 0; i < count; i++) {
        const double width = fmax(bars[i].ms * unit, 1);
        const size_t top = TOP + i * ROW;
        fprintf(out, "<text x=\"%d\" y=\"%zu\" text-anchor=\"end\">", LEFT - 8, top + BAR - 2);
        write_escaped(out, bars[i].name);
        fprintf(out,
                "</text>\n<rect class=\"bar\" x=\"%d\" y=\"%zu\" width=\"%.1f\" height=\"%d\"/>\n"
                "<text x=\"%.1f\" y=\"%zu\">%.4g ms <tspan class=\"quiet\">%.1f GFLOP/s, %s</tspan>"
                "</text>\n",
                LEFT, top, width, BAR, LEFT + width + 8, top + BAR - 2, bars[i].ms, bars[i].gflops,
                bars[i].algorithm);
    }
    fprintf(out, "</svg>\n");
}

bool gops_bench_bars_write(const char *path, const char *title, const gops_bench_bar *bars,
                           size_t count, gops_tool_error *error)
{
    char *text = NULL;
    size_t bytes = 0;
    gops_whole_file file;
    FILE *memory = open_memstream(&text, &bytes);
    if (memory != NULL) {
        write_svg(memory, title, bars, count);
    }
    if (memory == NULL || fclose(memory) != 0) {
        free(text);
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s: no memory for the picture", path);
    }
    const bool done = gops_whole_file_open(path, &file, error) &&
                      gops_whole_file_write(&file, text, bytes, error) &&
                      gops_whole_file_finish(&file, error);
    free(text);
    return done;
}
