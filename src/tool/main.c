/* main.c: the groupops command: reads the command line and calls the verb. */
#include "common/blas_threads.h"
#include "common/choices_file.h"
#include "demo/demo.h"
#include "common/flags.h"
#include "verbs/verb_ir.h"
#include "verbs/verbs.h"

#include <groupops/version.h>

#include <signal.h>
#include <string.h>

typedef struct verb {
    const char *name;
    unsigned bit;          /* GOPS_IN_RUN ... */
    gops_verb_fn *execute; /* NULL: `words` takes all the words itself, --help included */
    int (*words)(int count, char **words);
    unsigned operations; /* which may follow it; 0: none */
    const char *usage;
    const char *summary;
} verb;

enum { OPERATIONS = GOPS_OF_CONV | GOPS_OF_DECONV | GOPS_OF_NORM };

/* A new verb is a row here, and a bit in flags.h for its flags. */
static const verb verbs[] = {
    {"run", GOPS_IN_RUN, gops_verb_run, NULL, OPERATIONS,
     "run conv|deconv|norm --data=X.npy --filter=W.npy --output=Y.npy [flags]",
     "computes one operation on arrays in .npy files"},
    {"plan", GOPS_IN_PLAN, gops_verb_plan, NULL, OPERATIONS,
     "plan conv|deconv|norm --data=SHAPE --filter=SHAPE [flags]",
     "shows the output's shape, the pads, and the algorithm with its reason"},
    {"bench", GOPS_IN_BENCH, gops_verb_bench, NULL, OPERATIONS | GOPS_OF_SUITE,
     "bench conv|deconv|norm --data=SHAPE --filter=SHAPE [flags], or bench --suite=NAME [flags]",
     "times one layer, or the layers of a suite"},
    {"info", GOPS_IN_INFO, gops_verb_info, NULL, 0, "info",
     "shows version, BLAS, instruction sets, threads and caches"},
#if defined(GOPS_TOOL_DEMO)
    {"demo", GOPS_IN_DEMO, NULL, gops_tool_demo, 0,
     "demo [PICTURE.png] [--output=FILE.png] [--threads=N]",
     "takes a picture apart with the three operations and puts it together again"},
#endif
#if defined(GOPS_TOOL_IR)
    {"ir", GOPS_IN_IR, NULL, gops_tool_ir, 0,
     "ir MODEL.xml [--input=NAME=X.npy]... [--output-dir=DIR] [--threads=N]",
     "runs an OpenVINO IR made of these operations"},
#endif
    {NULL, 0, NULL, NULL, 0, NULL, NULL},
};

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static void print_help(void)
{
    printf("groupops: grouped convolution, its transposed form and group normalization\n\n");
    for (const verb *row = verbs; row->name != NULL; row++) {
        printf("groupops %s\n    %s\n", row->usage, row->summary);
    }
    printf("groupops --version\ngroupops help VERB, or groupops VERB --help\n\n"
           "Flags are the specification's attributes: --name=value, lists with commas.\n"
           "Exit status: 0 done; 2 the words on the command line are wrong; 1 anything else.\n");
}

static void print_verb_help(const verb *row)
{
    printf("groupops %s\n    %s\n", row->usage, row->summary);
    if (row->operations != 0) {
        printf("\n");
        for (const gops_tool_operation *operation = gops_operations; operation->name != NULL;
             operation++) {
            printf("  %-8s %s\n", operation->name, operation->specification);
        }
        printf("\n");
        gops_flags_help(stdout, row->bit);
    }
}

static const verb *find_verb(const char *name)
{
    for (const verb *row = verbs; row->name != NULL; row++) {
        if (strcmp(row->name, name) == 0) {
            return row;
        }
    }
    return NULL;
}

/* The word after the verb, an operation's name; `bench --suite=NAME` has none. */
static bool read_operation(const verb *row, int count, char **words, gops_command *command,
                           gops_tool_error *error)
{
    const bool has_word = count > 0 && strncmp(words[0], "--", 2) != 0;
    if (has_word) {
        command->operation = gops_operation_find(words[0]);
    }
    if (has_word && command->operation == NULL) {
        return gops_tool_refuse(error, GOPS_EXIT_USAGE,
                                "\"%s\" is no operation; there are conv, deconv and norm",
                                words[0]);
    }
    if (has_word) {
        return true;
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

static bool read_command(const verb *row, int count, char **words, gops_command *command,
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
    const gops_words read = {count, words, "--", place, GOPS_EXIT_USAGE, row->bit, operation};
    return gops_flags_read(&read, &command->settings, error);
}

static bool run_verb(const verb *row, int count, char **words, gops_tool_error *error)
{
    gops_command command;
    if (row->execute == NULL) {
        /* Such a verb prints its own error. */
        gops_blas_one_thread();
        error->exit_code = row->words(count, words);
        return error->exit_code == GOPS_EXIT_DONE;
    }
    for (int i = 0; i < count; i++) {
        if (is_help(words[i])) {
            print_verb_help(row);
            return true;
        }
    }
    gops_blas_one_thread();
    if (!read_command(row, count, words, &command, error) ||
        !gops_choices_file_read(&command.settings, error)) {
        return false;
    }
    if (!row->execute(&command, error)) {
        gops_choices_file_drop(&command.settings);
        return false;
    }
    return gops_choices_file_write(&command.settings, error);
}

static bool run_words(int count, char **words, gops_tool_error *error)
{
    if (count == 0) {
        return gops_tool_refuse(error, GOPS_EXIT_USAGE,
                                "a verb is missing; groupops --help shows them");
    }
    if (is_help(words[0])) {
        print_help();
        return true;
    }
    if (strcmp(words[0], "--version") == 0) {
        printf("groupops %s\n", gops_version());
        return true;
    }
    const bool help = strcmp(words[0], "help") == 0;
    if (help && count == 1) {
        print_help();
        return true;
    }
    const char *name = words[help ? 1 : 0];
    const verb *row = find_verb(name);
    if (row == NULL) {
        return gops_tool_refuse(error, GOPS_EXIT_USAGE,
                                "\"%s\" is no verb; groupops --help shows them", name);
    }
    return help ? run_verb(row, 1, (char *[]){"--help"}, error)
                : run_verb(row, count - 1, words + 1, error);
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
        gops_tool_print_error(&error);
    }
    return error.exit_code;
}
