/* verb_ir.c: runs an OpenVINO IR. */
#include "verbs/verb_ir.h"

#include "common/memory.h"
#include "common/terminal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_name(const char *name, int width)
{
    const int used = gops_terminal_print(stdout, name);
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
        const bool is_timed =
            (timed->plan != NULL || timed->pointwise) && step->before == GOPS_IR_NONE;
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

/* The inputs among the words, which were found to be NAME=FILE. */
static bool take_inputs(gops_ir_model *model, const gops_command *command)
{
    static const char input[] = "--input=";
    model->given = gops_ir_take(model, (size_t)command->settings.inputs, sizeof *model->given);
    for (int i = 0; i < command->count && model->given != NULL; i++) {
        if (strncmp(command->words[i], input, sizeof input - 1) == 0) {
            model->given[model->given_count++].text = command->words[i] + sizeof input - 1;
        }
    }
    return model->given != NULL;
}

static bool start_run(gops_ir_run *run, const gops_command *command, gops_tool_error *error)
{
    run->options = (gops_options){.size = sizeof run->options,
                                  .threads = command->settings.threads,
                                  .accuracy = (gops_accuracy)command->settings.accuracy,
                                  .divisible = run->ranks != NULL};
    run->max_bytes = gops_memory_bytes();
    run->bin_path = make_bin_path(command->files[0]);
    run->step = calloc((size_t)run->model->layers, sizeof *run->step);
    for (int i = 0; run->step != NULL && i < run->model->layers; i++) {
        run->step[i] = gops_ir_step_initial(); /* before any failure: its file is closed */
    }
    return (run->step != NULL && run->bin_path != NULL) ||
           gops_tool_refuse(error, GOPS_EXIT_FAILED, "there is no memory for the model");
}

static bool load_model(const gops_command *command, gops_ir_model *model, gops_tool_error *error)
{
    const char *path = command->files[0];
    char *text;
    size_t count;
    if (!take_inputs(model, command)) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "there is no memory for the inputs");
    }
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

static bool run_model(gops_ir_run *run, const gops_command *command, gops_tool_error *error)
{
    const char *path = command->files[0], *given = command->settings.output_dir;
    const char *folder = given != NULL ? given : ".";
    bool done = start_run(run, command, error);
    done = (gops_ir_all(run, done, error) && gops_ir_prepare_all(run, error) &&
            gops_ir_all(run, gops_ir_check_names(run, error), error)) ||
           gops_tool_prefix(error, "%s", path);
    return done && gops_ir_all(run, gops_ir_make_folder(run, folder, error), error) &&
           (gops_ir_execute_all(run, error) || gops_tool_prefix(error, "%s", path)) &&
           gops_ir_write_outputs(run, folder, error);
}

bool gops_verb_ir_by(const gops_command *command, gops_ir_ranks *ranks, gops_tool_error *error)
{
    gops_ir_model model = {0};
    gops_ir_run run = {.model = &model, .bin = -1, .ranks = ranks};
    bool done = gops_ir_all(&run, load_model(command, &model, error), error) &&
                run_model(&run, command, error);
    if (done && (ranks == NULL || ranks->prints)) {
        print_table(&run);
    }
    gops_ir_run_release(&run);
    gops_ir_release(&model);
    return done;
}

bool gops_verb_ir(const gops_command *command, gops_tool_error *error)
{
    return gops_verb_ir_by(command, NULL, error);
}
