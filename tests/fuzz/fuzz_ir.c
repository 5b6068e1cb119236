/*
 * fuzz_ir.c: the reader of OpenVINO IRs, and the execution of those that it takes. An input is the
 * .xml file; what follows a line "#bin" is the .bin file.
 *
 * The machine is one with little memory, so that what asks for much is refused, as it is elsewhere
 * when it asks for more; models of much work are not executed.
 */
#include "ir/ir_run.h"

#include <libxml/parser.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "fuzz_files.h"

static const uint64_t max_bytes = 16 << 20;
static const int64_t max_flops = 2000000;

static const char bin_mark[] = "\n#bin\n";

static void check_error(const gops_tool_error *error)
{
    gops_fuzz_require(error->exit_code == GOPS_EXIT_FAILED && error->message[0] != '\0' &&
                          memchr(error->message, 0, sizeof error->message) != NULL,
                      "a refusal without a reason");
}

static int is_small(const gops_ir_run *run)
{
    int64_t flops = 0;
    uint64_t bytes = 0;
    for (int i = 0; i < run->model->layers; i++) {
        const gops_ir_step *step = &run->step[i];
        bytes += step->bytes;
        if (step->plan == NULL)
            continue;
        if (step->info.flops > max_flops || step->info.workspace_bytes > max_bytes ||
            step->info.filter_bytes > max_bytes)
            return 0;
        flops += step->info.flops;
    }
    return flops <= max_flops && bytes <= 2 * max_bytes;
}

static void run_model(const gops_ir_model *model, const char *bin_path)
{
    gops_tool_error error = {0, ""};
    gops_ir_run run = {.model = model, .bin = -1, .max_bytes = max_bytes};
    run.options = (gops_options){.size = sizeof run.options, .threads = 1};
    run.bin_path = strdup(bin_path);
    run.step = calloc((size_t)model->layers, sizeof *run.step);
    gops_fuzz_require(run.step != NULL && run.bin_path != NULL, "no memory");
    for (int i = 0; i < model->layers; i++) {
        run.step[i] = gops_ir_step_initial();
    }
    int done = gops_ir_prepare_all(&run, &error) && gops_ir_check_names(&run, &error);
    if (done && is_small(&run)) {
        done = gops_ir_execute_all(&run, &error);
        if (done) {
            gops_fuzz_require(gops_ir_write_outputs(&run, gops_fuzz_folder(), &error), "%s",
                              error.message);
            gops_fuzz_require(gops_fuzz_folder_clean(NULL) > 0, "no output is there");
        }
    }
    if (!done)
        check_error(&error);
    gops_ir_run_release(&run);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    static gops_fuzz_file xml, bin;
    gops_ir_model model = {0};
    gops_tool_error error = {0, ""};
    char *text;
    size_t length;
    const size_t mark = sizeof bin_mark - 1;
    const uint8_t *found = memmem(bytes, count, bin_mark, mark);
    const size_t xml_bytes = found != NULL ? (size_t)(found - bytes) : count;
    const uint8_t *rest = found != NULL ? found + mark : bytes;
    gops_fuzz_file_set(&xml, bytes, xml_bytes);
    gops_fuzz_file_set(&bin, rest, found != NULL ? count - xml_bytes - mark : 0);
    if (!gops_ir_read_text(xml.path, &text, &length, &error)) {
        check_error(&error);
        return 0;
    }
    if (gops_ir_parse(text, length, &model, &error) &&
        (model.lone ? gops_ir_surround(&model, &error) : gops_ir_connect(&model, &error)))
        run_model(&model, bin.path);
    else
        check_error(&error);
    free(text);
    gops_ir_release(&model);
    return 0;
}
