/* verb_ir.c: runs an OpenVINO IR. */
#include "verbs/verb_ir.h"

#include "common/flags.h"
#include "common/machine.h"
#include "ir/ir_run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct ir_words {
    const char *path;
    gops_ir_given *given;
    int given_count;
    gops_settings settings;
} ir_words;

static const char usage[] =
    "groupops ir MODEL.xml [--input=NAME=X.npy]... [--output-dir=DIR] [--threads=N]\n"
    "    runs an OpenVINO IR (version 10 or 11) of these operations, or a lone <layer>\n";

static bool take_input(ir_words *words, const char *text, gops_tool_error *error)
{
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals[1] == '\0') {
        return gops_tool_refuse(error, GOPS_EXIT_USAGE, "--input=%s is not NAME=FILE", text);
    }
    words->given[words->given_count++] = (gops_ir_given){text, false};
    return true;
}

/* `others` has room for all the words. */
static bool split_words(int count, char **argv, ir_words *words, char **others,
                        gops_tool_error *error)
{
    static const char input[] = "--input=";
    int other_count = 0;
    for (int i = 0; i < count; i++) {
        if (strncmp(argv[i], input, sizeof input - 1) == 0) {
            if (!take_input(words, argv[i] + sizeof input - 1, error)) {
                return false;
            }
        } else if (strncmp(argv[i], "--", 2) != 0 && words->path == NULL) {
            words->path = argv[i];
        } else {
            others[other_count++] = argv[i];
        }
    }
    const gops_words read = {other_count,     others,     "--",         "ir",
                             GOPS_EXIT_USAGE, GOPS_IN_IR, GOPS_OF_SUITE};
    if (!gops_flags_read(&read, &words->settings, error)) {
        return false;
    }
    return words->path != NULL ||
           gops_tool_refuse(error, GOPS_EXIT_USAGE, "ir needs the file of a model: MODEL.xml");
}

static void print_name(const char *name, int width)
{
    int used = 0;
    for (; *name != '\0'; name++, used++) {
        const unsigned char byte = (unsigned char)*name;
        putchar(byte < 0x20 || byte == 0x7f ? '?' : byte);
    }
    printf("%*s  ", used < width ? width - used : 0, "");
}

static void print_table(const gops_ir_run *run)
{
    printf("%6s  %-24s  %-28s  %-24s  %-17s  %10s\n", "id", "name", "type", "shape", "algorithm",
           "ms");
    for (int i = 0; i < run->model->layers; i++) {
        const int index = run->model->order[i];
        const gops_ir_layer *layer = &run->model->layer[index];
        const gops_ir_step *step = &run->step[index];
        /* The time of fused layers is shown at the first one. */
        const gops_ir_step *timed = step->last != GOPS_IR_NONE ? &run->step[step->last] : step;
        const bool is_timed = timed->plan != NULL && step->before == GOPS_IR_NONE;
        gops_ir_text shape;
        printf("%6" PRId64 "  ", layer->id);
        print_name(layer->name, 24);
        printf("%-28s  %-24s  %-17s  ", layer->type, gops_ir_call_tensor(&step->output, &shape),
               step->algorithm);
        if (is_timed) {
            printf("%10.3f\n", timed->milliseconds);
        } else {
            printf("%10s\n", "-");
        }
    }
}

/* MODEL.bin of MODEL.xml. */
static char *make_bin_path(const char *path)
{
    const size_t length = strlen(path);
    const bool has_end = length > 4 && strcmp(path + length - 4, ".xml") == 0;
    const size_t kept = has_end ? length - 4 : length;
    char *bin_path = malloc(kept + sizeof ".bin");
    if (bin_path != NULL) {
        memcpy(bin_path, path, kept);
        memcpy(bin_path + kept, ".bin", sizeof ".bin");
    }
    return bin_path;
}

static bool start_run(gops_ir_run *run, const ir_words *words, gops_tool_error *error)
{
    run->options = (gops_options){.size = sizeof run->options, .threads = words->settings.threads};
    run->given = words->given;
    run->given_count = words->given_count;
    run->max_bytes = gops_machine_bytes();
    run->bin_path = make_bin_path(words->path);
    run->step = calloc((size_t)run->model->layers, sizeof *run->step);
    if (run->step == NULL || run->bin_path == NULL) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "there is no memory for the model");
    }
    for (int i = 0; i < run->model->layers; i++) {
        run->step[i] = gops_ir_step_initial();
    }
    return true;
}

static bool load_model(const char *path, gops_ir_model *model, gops_tool_error *error)
{
    char *text;
    size_t count;
    if (!gops_ir_read_text(path, &text, &count, error)) {
        return false;
    }
    const bool done =
        (gops_ir_parse(text, count, model, error) &&
         (model->lone ? gops_ir_surround(model, error) : gops_ir_connect(model, error))) ||
        gops_tool_prefix(error, "%s", path);
    free(text);
    return done;
}

static bool run_model(const ir_words *words, gops_tool_error *error)
{
    const char *folder = words->settings.output_dir != NULL ? words->settings.output_dir : ".";
    gops_ir_model model = {0};
    gops_ir_run run = {.model = &model, .bin = -1};
    bool done = load_model(words->path, &model, error);
    if (done) {
        done = (start_run(&run, words, error) && gops_ir_prepare_all(&run, error) &&
                gops_ir_check_names(&run, error) && gops_ir_execute_all(&run, error)) ||
               gops_tool_prefix(error, "%s", words->path);
    }
    done = done && gops_ir_write_outputs(&run, folder, error);
    if (done) {
        print_table(&run);
    }
    gops_ir_run_release(&run);
    gops_ir_release(&model);
    return done;
}

int gops_tool_ir(int count, char **words)
{
    gops_tool_error error = {GOPS_EXIT_DONE, ""};
    ir_words read = {0};
    for (int i = 0; i < count; i++) {
        if (strcmp(words[i], "--help") == 0 || strcmp(words[i], "-h") == 0) {
            printf("%s\n  --input=NAME=FILE        the elements of a Parameter, a .npy file, again "
                   "for each (else random)\n",
                   usage);
            gops_flags_help(stdout, GOPS_IN_IR);
            return GOPS_EXIT_DONE;
        }
    }
    const size_t room = (size_t)count + 1;
    char **others = calloc(room, sizeof *others);
    read.given = calloc(room, sizeof *read.given);
    if (others == NULL || read.given == NULL) {
        gops_tool_refuse(&error, GOPS_EXIT_FAILED, "there is no memory for the words");
    } else if (split_words(count, words, &read, others, &error)) {
        run_model(&read, &error);
    }
    free(others);
    free(read.given);
    if (error.exit_code != GOPS_EXIT_DONE) {
        gops_tool_print_error(&error);
    }
    return error.exit_code;
}
