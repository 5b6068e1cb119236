/* main.c: the groupops command: reads the command line and calls the verb. */
#include "common/blas_threads.h"
#include "common/choices_file.h"
#include "common/flags.h"
#include "verbs/verb_complete.h"
#include "verbs/verb_help.h"
#include "verbs/verbs.h"

#include <groupops/version.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* The word after the verb, an operation's name; `bench --suite=NAME` has none. */
static bool read_operation(const gops_verb *row, int count, char **words, gops_command *command,
                           gops_tool_error *error)
{
    if (count > 0 && strncmp(words[0], "--", 2) != 0) {
        command->operation = gops_operation_read(words[0], GOPS_EXIT_USAGE, error);
        return command->operation != NULL;
    }
    if ((row->operations & GOPS_OF_SUITE) == 0) {
        return gops_tool_refuse(error, GOPS_EXIT_USAGE, "%s needs an operation: %s", row->name,
                                row->usage);
    }
    for (int i = 0; i < count; i++) {
        if (strncmp(words[i], "--suite", strlen("--suite")) == 0) {
            return true;
        }
    }
    return gops_tool_refuse(error, GOPS_EXIT_USAGE, "%s needs an operation or a suite: %s",
                            row->name, row->usage);
}

static bool read_command(const gops_verb *row, int count, char **words, gops_command *command,
                         gops_tool_error *error)
{
    char place[32];
    unsigned operation = GOPS_OF_SUITE;
    memset(command, 0, sizeof *command);
    if (row->operations != 0) {
        if (!read_operation(row, count, words, command, error)) {
            return false;
        }
        if (command->operation != NULL) {
            operation = command->operation->bit;
            count--;
            words++;
        }
    }
    snprintf(place, sizeof place, "%s%s%s", row->name, command->operation != NULL ? " " : "",
             command->operation != NULL ? command->operation->name : "");
    command->count = count;
    command->words = words;
    const gops_words read = {
        .count = count,
        .words = words,
        .dashes = "--",
        .place = place,
        .exit_code = GOPS_EXIT_USAGE,
        .verb = row->bit,
        .operation = operation,
        .files = command->files,
        .max_files = row->max_files,
    };
    if (!gops_flags_read(&read, &command->settings, error)) {
        return false;
    }
    return row->min_files == 0 || command->files[row->min_files - 1] != NULL ||
           gops_tool_refuse(error, GOPS_EXIT_USAGE, "%s needs %s", row->name, row->needs);
}

static bool run_verb(const gops_verb *row, int count, char **words, gops_tool_error *error)
{
    gops_command command;
    for (int i = 0; i < count; i++) {
        if (is_help(words[i])) {
            gops_verb_help(row);
            return true;
        }
    }
    gops_blas_one_thread();
    if (!read_command(row, count, words, &command, error) ||
        !gops_choices_file_read(&command.settings, error)) {
        return false;
    }
    /* A failure keeps what was measured before it; its message is the one that is shown. */
    gops_tool_error unshown;
    const bool done = row->execute(&command, error);
    return gops_choices_file_write(&command.settings, done ? error : &unshown) && done;
}

static const gops_verb *find_verb(const char *name, gops_tool_error *error)
{
    const gops_verb *row = gops_verb_find(name);
    if (row == NULL) {
        gops_tool_refuse(error, GOPS_EXIT_USAGE, "\"%s\" is no verb; groupops --help shows them",
                         name);
    }
    return row;
}

/* help, help VERB, and help VERB --man for the build, which makes the verb's manual page of it. */
static bool show_help(int count, char **words, gops_tool_error *error)
{
    if (count == 0) {
        gops_tool_help();
        return true;
    }
    const gops_verb *row = find_verb(words[0], error);
    const bool man = count > 1 && strcmp(words[1], "--man") == 0;
    if (row == NULL) {
        return false;
    }
    if (count > 1 + man) {
        return gops_tool_refuse(error, GOPS_EXIT_USAGE, "\"%s\" is not expected after help %s",
                                words[1 + man], row->name);
    }
    (man ? gops_verb_man : gops_verb_help)(row);
    return true;
}

static bool run_words(int count, char **words, gops_tool_error *error)
{
    if (count == 0) {
        return gops_tool_refuse(error, GOPS_EXIT_USAGE,
                                "a verb is missing; groupops --help shows them");
    }
    if (is_help(words[0])) {
        gops_tool_help();
        return true;
    }
    if (strcmp(words[0], "--version") == 0) {
        if (count > 1) {
            return gops_tool_refuse(error, GOPS_EXIT_USAGE,
                                    "\"%s\" is not expected after --version", words[1]);
        }
        printf("groupops %s\n", gops_version());
        return true;
    }
    if (strcmp(words[0], "complete") == 0) {
        gops_verb_complete(count - 1, words + 1);
        return true;
    }
    if (strcmp(words[0], "help") == 0) {
        return show_help(count - 1, words + 1, error);
    }
    const gops_verb *row = find_verb(words[0], error);
    return row != NULL && run_verb(row, count - 1, words + 1, error);
}

int main(int argc, char **argv)
{
    gops_tool_error error = {GOPS_EXIT_DONE, ""};
    /* Then a file that exceeds a size limit is an error of write(), and its temporary file is
     * removed. */
    signal(SIGXFSZ, SIG_IGN);
    if (run_words(argc > 0 ? argc - 1 : 0, argv + (argc > 0), &error)) {
        gops_tool_flush_output(&error);
    }
    if (error.message[0] != '\0') {
        gops_tool_print_error("groupops", &error);
    }
    return error.exit_code;
}
