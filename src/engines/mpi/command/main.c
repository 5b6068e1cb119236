/* main.c: the command groupops-mpi: reads the command line, which is that of groupops with --split
 * besides, and calls the verb on all ranks. */
#include "mpi_command.h"

#include "common/blas_threads.h"
#include "common/flags.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: mpirun -n RANKS groupops-mpi VERB --split=AXES [FLAG...]\n"
    "\n"
    "  run conv|deconv|norm --data=X.npy ... --output=Y.npy   as groupops run; each rank reads "
    "and\n"
    "                                                         writes its part of the files\n"
    "  bench conv|deconv|norm --data=N,C,... ...              each rank's time\n"
#if defined(GOPS_TOOL_IR)
    "  ir MODEL.xml --input=NAME=X.npy ... --output-dir=DIR   a whole model, as groupops ir\n"
#endif
    "\n"
    "  --split=AXES   batch, groups, z, y, x (the last axis), or several with commas, among which\n"
    "                 MPI_Dims_create divides the ranks\n"
    "\n"
    "All other flags are those of groupops (groupops VERB --help), without --choices, --reps,\n"
    "--seconds, --bare-gemm, --plot, --means and --variances.\n";

static const struct {
    const char *name;
    unsigned bit;
    bool has_operation;
    gops_mpi_verb *execute;
} verbs[] = {
    {"run", GOPS_IN_RUN, true, gops_mpi_verb_run},
    {"bench", GOPS_IN_BENCH, true, gops_mpi_verb_bench},
#if defined(GOPS_TOOL_IR)
    {"ir", GOPS_IN_IR, false, gops_mpi_verb_ir},
#endif
};
enum { VERBS = sizeof verbs / sizeof verbs[0] };

/* Refuses the flags of groupops that nothing here reads. */
static bool check_flags(const gops_settings *settings, gops_tool_error *error)
{
    static const char *const unused[] = {"choices", "reps",  "seconds",  "bare-gemm",
                                         "plot",    "means", "variances"};
    for (size_t i = 0; i < sizeof unused / sizeof unused[0]; i++) {
        if (gops_flags_given(settings, unused[i])) {
            return gops_tool_refuse(error, GOPS_EXIT_USAGE, "--%s does not go with groupops-mpi",
                                    unused[i]);
        }
    }
    return true;
}

static bool run_verb(int verb, gops_mpi_world *world, int count, char **words,
                     gops_tool_error *error)
{
    static const char split[] = "--split=";
    gops_command command = {0};
    char place[32];
    bool is_read = true, is_twice = false;
    int kept = 0;
    for (int i = 0; i < count; i++) {
        if (strncmp(words[i], split, sizeof split - 1) == 0) {
            is_twice = is_twice || world->split != NULL;
            world->split = words[i] + sizeof split - 1;
        } else {
            words[kept++] = words[i];
        }
    }
    if (verbs[verb].has_operation) {
        command.operation = kept > 0 ? gops_operation_find(words[0]) : NULL;
        is_read = command.operation != NULL ||
                  gops_tool_refuse(error, GOPS_EXIT_USAGE,
                                   "%s needs an operation: conv, deconv or norm", verbs[verb].name);
        words += is_read;
        kept -= is_read;
    }
    snprintf(place, sizeof place, "%s%s%s", verbs[verb].name, command.operation != NULL ? " " : "",
             command.operation != NULL ? command.operation->name : "");
    command.count = kept;
    command.words = words;
    const gops_words read = {
        .count = kept,
        .words = words,
        .dashes = "--",
        .place = place,
        .exit_code = GOPS_EXIT_USAGE,
        .verb = verbs[verb].bit,
        .operation = command.operation != NULL ? command.operation->bit : GOPS_OF_SUITE,
        .files = command.files,
        .max_files = verbs[verb].has_operation ? 0 : 1,
    };
    is_read =
        is_read &&
        (!is_twice || gops_tool_refuse(error, GOPS_EXIT_USAGE, "--split is given twice")) &&
        gops_mpi_check_split(world->split, error) &&
        gops_flags_read(&read, &command.settings, error) && check_flags(&command.settings, error) &&
        (verbs[verb].has_operation || command.files[0] != NULL ||
         gops_tool_refuse(error, GOPS_EXIT_USAGE, "%s needs a model: groupops-mpi %s MODEL.xml",
                          verbs[verb].name, verbs[verb].name));
    gops_tool_error others = *error;
    if (!gops_mpi_all(world, is_read, &others)) {
        *error = is_read ? others : *error;
        return false;
    }
    gops_mpi_progress(world, "beginning");
    return verbs[verb].execute(world, &command, error);
}

/* Whether all ranks have the verb of rank 0 and its flags, whose values, such as files, may be each rank's own;
 * --threads is altogether. Ranks that do something else would wait for each other for ever. */
static bool check_words(const gops_mpi_world *world, int count, char **words,
                        gops_tool_error *error)
{
    static const char threads[] = "--threads=";
    uint64_t hash = GOPS_MPI_HASH;
    for (int i = 0; i < count; i++) {
        const bool is_flag = words[i][0] == '-';
        if (i == 0 || (is_flag && strncmp(words[i], threads, sizeof threads - 1) != 0)) {
            hash = gops_mpi_hash(hash, words[i], strcspn(words[i], "="));
        }
    }
    return gops_mpi_all_have(world, hash, "words", error);
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static void show_usage(const gops_mpi_world *world)
{
    if (world->rank == 0) {
        fputs(usage, stdout);
    }
}

/* -1 after a refusal. */
static int find_verb(const char *name, gops_tool_error *error)
{
    for (int i = 0; i < VERBS; i++) {
        if (strcmp(name, verbs[i].name) == 0) {
            return i;
        }
    }
    gops_tool_refuse(error, GOPS_EXIT_USAGE, "\"%s\" is no verb; groupops-mpi --help shows them",
                     name);
    return -1;
}

/* --version, help and help VERB, which is no other. */
static bool show_words(const gops_mpi_world *world, bool is_version, int count, char **words,
                       gops_tool_error *error)
{
    const int most = is_version ? 0 : 1;
    if (most == 1 && count > 0 && find_verb(words[0], error) < 0) {
        return false;
    }
    if (count > most) {
        return gops_tool_refuse(error, GOPS_EXIT_USAGE, "\"%s\" is not expected after %s%s",
                                words[most], is_version ? "--version" : "help ",
                                is_version ? "" : words[0]);
    }
    if (!is_version) {
        show_usage(world);
    } else if (world->rank == 0) {
        printf("groupops-mpi %s\n", gops_version());
    }
    return true;
}

static bool run_words(gops_mpi_world *world, int count, char **words, gops_tool_error *error)
{
    if (!check_words(world, count, words, error)) {
        return false;
    }
    if (count == 0 || is_help(words[0])) {
        show_usage(world);
        return true;
    }
    const bool is_version = strcmp(words[0], "--version") == 0;
    if (is_version || strcmp(words[0], "help") == 0) {
        return show_words(world, is_version, count - 1, words + 1, error);
    }
    const int verb = find_verb(words[0], error);
    if (verb < 0) {
        return false;
    }
    for (int i = 1; i < count; i++) {
        if (is_help(words[i])) {
            show_usage(world);
            return true;
        }
    }
    return run_verb(verb, world, count - 1, words + 1, error);
}

int main(int argc, char **argv)
{
    gops_tool_error error = {GOPS_EXIT_DONE, ""};
    gops_mpi_world world = {0};
    int provided;
    /* Then a file that exceeds a size limit is an error of pwrite(). */
    signal(SIGXFSZ, SIG_IGN);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world.ranks);
    gops_blas_one_thread();
    if (run_words(&world, argc > 0 ? argc - 1 : 0, argv + (argc > 0), &error)) {
        gops_tool_flush_output(&error);
    }
    /* All ranks know of the error; one says it. */
    if (error.message[0] != '\0' && world.rank == 0) {
        gops_tool_print_error("groupops-mpi", &error);
    }
    MPI_Finalize();
    return error.exit_code;
}
