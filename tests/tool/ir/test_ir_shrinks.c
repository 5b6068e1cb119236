/* test_ir_shrinks.c: a .bin that becomes shorter between the check of its size and the reading of
 * its elements. */
#include "ir_files.h"
#include "ir/ir_run.h"
#include "harness.h"
#include "tool_process.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void shrinks(void)
{
    static const char bin[IR_SMALL_BIN_BYTES];
    gops_tool_error error = {0, ""};
    gops_ir_model model = {0};
    gops_ir_run run = {.model = &model, .bin = -1, .max_bytes = 1 << 20};
    ir_write("m.bin", bin, sizeof bin);
    run.options = (gops_options){.size = sizeof run.options, .threads = 1};
    run.bin_path = strdup("m.bin");
    if (!gops_test_check(gops_ir_parse(ir_small_net, strlen(ir_small_net), &model, &error) &&
                             gops_ir_connect(&model, &error),
                         "%s", error.message))
        return;
    run.step = calloc((size_t)model.layers, sizeof *run.step);
    for (int i = 0; i < model.layers; i++)
        run.step[i] = gops_ir_step_initial();
    gops_test_check(gops_ir_prepare_all(&run, &error), "%s", error.message);
    gops_test_check(truncate("m.bin", IR_SMALL_BIN_BYTES - 1) == 0, "truncate");
    gops_test_check(!gops_ir_execute_all(&run, &error) && error.exit_code == GOPS_EXIT_FAILED &&
                        strcmp(error.message, "m.bin: it has become shorter while it was read") ==
                            0,
                    "%d, %s", error.exit_code, error.message);
    gops_ir_run_release(&run);
    gops_ir_release(&model);
}

int main(void)
{
    static const gops_test_case cases[] = {{"shrinks", shrinks}, {0}};
    tool_folder_enter();
    const int status = gops_test_main("ir_shrinks", cases);
    tool_folder_leave();
    return status;
}
