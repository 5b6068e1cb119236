/* verb_complete.c: completes a command line from the verb table and the flag table. */
#include "verbs/verb_complete.h"

#include "bench/suite.h"
#include "common/flag_values.h"
#include "verbs/verbs.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static const char files[] = ":files";

static bool begins_with(const char *text, const char *begin)
{
    return strncmp(text, begin, strlen(begin)) == 0;
}

static void offer(const char *begin, const char *candidate, const char *help)
{
    if (begins_with(candidate, begin)) {
        printf("%s\t%s\n", candidate, help);
    }
}

static void offer_verbs(const char *begin)
{
    for (const gops_verb *verb = gops_verbs; verb->name != NULL; verb++) {
        offer(begin, verb->name, verb->summary);
    }
}

/* `flag` is "--type=", `begin` what stands behind it. */
static void offer_value(const char *flag, const char *begin, const char *name, size_t length)
{
    if (length >= strlen(begin) && begins_with(name, begin)) {
        printf("%s%.*s\t\n", flag, (int)length, name);
    }
}

/* The names in "a|b:ALPHA|c"; one with parameters ends in ':'. */
static void offer_choices(const char *flag, const char *begin, const char *choices)
{
    while (*choices != '\0') {
        const size_t length = strcspn(choices, "|");
        const size_t name = strcspn(choices, "|:[");
        offer_value(flag, begin, choices, choices[name] == ':' ? name + 1 : name);
        choices += length + (choices[length] == '|');
    }
}

static void offer_suites(const char *flag, const char *begin)
{
    char folder[PATH_MAX];
    DIR *directory = gops_suite_folder(folder, sizeof folder) ? opendir(folder) : NULL;
    const struct dirent *entry;
    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        const size_t length = strlen(entry->d_name);
        if (length > 4 && strcmp(entry->d_name + length - 4, ".txt") == 0) {
            offer_value(flag, begin, entry->d_name, length - 4);
        }
    }
    if (directory != NULL) {
        closedir(directory);
    }
}

static void offer_names(const gops_flag *flag, const char *text, const char *begin)
{
    const char *name;
    if (flag->read == gops_read_choice || flag->read == gops_read_activation) {
        offer_choices(text, begin, flag->value);
    } else if (flag->read == gops_read_type) {
        for (int i = 1; gops_type_bytes((gops_type)i) != 0; i++) {
            name = gops_type_name((gops_type)i);
            offer_value(text, begin, name, strlen(name));
        }
    } else if (flag->read == gops_read_algorithm) {
        offer_choices(text, begin, "auto|fastest");
        for (int32_t i = 0; (name = gops_algorithm_name(i)) != NULL; i++) {
            offer_value(text, begin, name, strlen(name));
        }
    } else if (strcmp(flag->name, "suite") == 0) {
        offer_suites(text, begin);
        puts(files);
    } else if (flag->read == gops_read_text ||
               (flag->read == gops_read_input && strchr(begin, '=') != NULL)) {
        puts(files);
    }
}

/* The flags of the verb for that operation, and once "=" is there the values. */
static void offer_flags(const gops_verb *verb, unsigned operation, int count, char *const *words)
{
    const char *begin = words[count - 1];
    const char *equals = strchr(begin, '=');
    for (const gops_flag *flag = gops_flags; flag->name != NULL; flag++) {
        char text[64];
        bool given = false;
        const int length =
            snprintf(text, sizeof text, "--%s%s", flag->name, flag->read != NULL ? "=" : "");
        if ((flag->verbs & verb->bit) == 0 || (flag->operations & operation) == 0) {
            continue;
        }
        for (int i = 0; i + 1 < count && (flag->operations & GOPS_FLAG_MANY) == 0; i++) {
            given = given || strncmp(words[i], text, (size_t)length) == 0;
        }
        if (equals == NULL && !given) {
            offer(begin, text, flag->help);
        } else if (equals != NULL && begins_with(begin, text)) {
            offer_names(flag, text, equals + 1);
        }
    }
    if (equals == NULL) {
        offer(begin, "--help", "all flags, with examples");
    }
}

void gops_verb_complete(int count, char *const *words)
{
    if (count == 0) {
        return;
    }
    const char *begin = words[count - 1];
    const bool help = strcmp(words[0], "help") == 0;
    const gops_verb *verb = gops_verb_find(words[0]);
    if (count == 1 || (help && count == 2)) {
        offer_verbs(begin);
    }
    if (count == 1) {
        offer(begin, "help", "shows the flags of a verb");
        offer(begin, "--help", "shows the verbs");
        offer(begin, "--version", "shows the version");
    }
    if (count == 1 || help || verb == NULL) {
        return;
    }
    const gops_tool_operation *operation = count > 2 ? gops_operation_find(words[1]) : NULL;
    if (count == 2 && verb->operations != 0) {
        for (const gops_tool_operation *row = gops_operations; row->name != NULL; row++) {
            offer(begin, row->name, row->specification);
        }
    }
    /* Before the operation there is only the suite; which one it is decides on the rest. */
    if (count > 2 || verb->operations == 0 || (verb->operations & GOPS_OF_SUITE) != 0) {
        offer_flags(verb, operation != NULL ? operation->bit : GOPS_OF_SUITE, count - 1, words + 1);
    }
    if (verb->max_files > 0 && begin[0] != '-') {
        puts(files);
    }
}
