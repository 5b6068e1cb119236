/* verb_help.c: the help and the manual pages, from the verb table and the flag table. */
#include "verbs/verb_help.h"

#include "common/flags.h"

#include <groupops/version.h>

#include <ctype.h>
#include <stdio.h>
#include <string.h>

void gops_tool_help(void)
{
    printf("groupops: grouped convolution, its transposed form and group normalization\n\n");
    for (const gops_verb *row = gops_verbs; row->name != NULL; row++) {
        printf("groupops %s\n    %s\n", row->usage, row->summary);
    }
    printf("groupops --version\ngroupops help VERB, or groupops VERB --help\n\n"
           "Flags are the specification's attributes: --name=value, lists with commas.\n"
           "Exit status: 0 done; 2 the words on the command line are wrong; 1 anything else.\n");
}

/* Prints each line of the text behind two spaces; an empty line is printed without them. */
static void print_indented(const char *text)
{
    while (*text != '\0') {
        const size_t length = strcspn(text, "\n");
        printf("%s%.*s\n", length != 0 ? "  " : "", (int)length, text);
        text += length + (text[length] == '\n');
    }
}

/* A flag and its values up to the column of its help; values that are too many for a line are broken
 * behind a bar, and a usage that is wider than its column has its own lines. */
static void print_flag_usage(const gops_flag *flag)
{
    enum { HELP_COLUMN = 27, INDENT = 6, LINE = 80 };
    int column = printf("  --%s%s", flag->name, flag->read != NULL ? "=" : "");
    for (const char *text = flag->value; *text != '\0';) {
        const int name = (int)strcspn(text, "|");
        const int length = name + (text[name] == '|');
        if (column + length > LINE) {
            column = printf("\n%*s", INDENT, "") - 1;
        }
        column += printf("%.*s", length, text);
        text += length;
    }
    if (column < HELP_COLUMN) {
        printf("%*s", HELP_COLUMN - column, "");
    } else {
        printf("\n%*s", HELP_COLUMN, "");
    }
}

static void print_flags(unsigned verb)
{
    bool first = true;
    for (const gops_flag *flag = gops_flags; flag->name != NULL; flag++) {
        if ((flag->verbs & verb) == 0) {
            continue;
        }
        printf("%s", first ? "\n" : "");
        print_flag_usage(flag);
        printf("%s%s\n", gops_flag_operations(flag), flag->help);
        first = false;
    }
}

void gops_verb_help(const gops_verb *verb)
{
    printf("groupops %s\n    %s\n\n", verb->usage, verb->summary);
    print_indented(verb->about);
    if (verb->operations != 0) {
        printf("\n");
        for (const gops_tool_operation *operation = gops_operations; operation->name != NULL;
             operation++) {
            printf("  %-8s %s\n", operation->name, operation->specification);
        }
    }
    print_flags(verb->bit);
    printf("\nExamples:\n");
    print_indented(verb->examples);
}

/* Characters that roff would take for something else. */
static void print_roff(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '-' || text[i] == '\\') {
            fputs(text[i] == '-' ? "\\-" : "\\e", stdout);
        } else {
            putchar(text[i]);
        }
    }
}

/* Words in capitals, which stand for others, in italics; long lists may be broken behind a bar. */
static void print_usage(const char *text)
{
    static const char capitals[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    while (*text != '\0') {
        const size_t length = strspn(text, capitals);
        if (length != 0) {
            printf("\\fI%.*s\\fR", (int)length, text);
            text += length;
            continue;
        }
        print_roff(text, 1);
        fputs(*text == '|' ? "\\:" : "", stdout);
        text++;
    }
}

/* A paragraph for each of the forms, with ", or " between them; its further lines are indented. */
static void print_synopsis(const char *usage)
{
    static const char between[] = ", or ";
    while (*usage != '\0') {
        const char *end = strstr(usage, between);
        const int length = end != NULL ? (int)(end - usage) : (int)strlen(usage);
        char form[256];
        snprintf(form, sizeof form, "%.*s", length, usage);
        printf(".in +4n\n.ti -4n\n\\fBgroupops\\fR ");
        print_usage(form);
        printf("\n.br\n.in -4n\n");
        usage = end != NULL ? end + strlen(between) : usage + length;
    }
}

static void print_paragraphs(const char *text)
{
    while (*text != '\0') {
        const size_t length = strcspn(text, "\n");
        if (length == 0) {
            printf(".PP");
        } else if (*text == '.' || *text == '\'') {
            printf("\\&");
        }
        print_roff(text, length);
        printf("\n");
        text += length + (text[length] == '\n');
    }
}

static void print_man_flags(unsigned verb)
{
    bool first = true;
    for (const gops_flag *flag = gops_flags; flag->name != NULL; flag++) {
        if ((flag->verbs & verb) == 0) {
            continue;
        }
        printf("%s.TP\n\\fB\\-\\-", first ? ".SH OPTIONS\n" : "");
        print_roff(flag->name, strlen(flag->name));
        printf("%s\\fR", flag->read != NULL ? "=" : "");
        print_usage(flag->value);
        printf("\n");
        const char *text[] = {gops_flag_operations(flag), flag->help};
        for (int i = 0; i < 2; i++) {
            print_roff(text[i], strlen(text[i]));
        }
        printf("\n");
        first = false;
    }
}

void gops_verb_man(const gops_verb *verb)
{
    char upper[32];
    size_t i = 0;
    for (; verb->name[i] != '\0' && i + 1 < sizeof upper; i++) {
        upper[i] = (char)toupper((unsigned char)verb->name[i]);
    }
    upper[i] = '\0';
    printf(".\\\" By groupops help %s --man, from the tables that --help shows.\n", verb->name);
    printf(".TH GROUPOPS\\-%s 1 \"\" \"groupops %s\" \"User Commands\"\n.ad l\n.nh\n", upper,
           gops_version());
    printf(".SH NAME\ngroupops\\-%s \\- ", verb->name);
    print_roff(verb->summary, strlen(verb->summary));
    printf("\n.SH SYNOPSIS\n");
    print_synopsis(verb->usage);
    printf(".SH DESCRIPTION\n");
    print_paragraphs(verb->about);
    for (const gops_tool_operation *row = gops_operations;
         verb->operations != 0 && row->name != NULL; row++) {
        printf(".TP 8\n.B %s\n", row->name);
        print_roff(row->specification, strlen(row->specification));
        printf("\n");
    }
    print_man_flags(verb->bit);
    printf(".SH EXIT STATUS\n0 done; 2 the words on the command line are wrong; 1 anything else, "
           "with one line\non standard error that says what and why.\n");
    printf(".SH EXAMPLES\n.nf\n");
    print_paragraphs(verb->examples);
    printf(".fi\n.SH SEE ALSO\n.BR groupops (1),\nwhich says more of flags, files and types");
    for (const gops_verb *row = gops_verbs; row->name != NULL; row++) {
        if (row != verb) {
            printf(",\n.BR groupops\\-%s (1)", row->name);
        }
    }
    printf("\n");
}
