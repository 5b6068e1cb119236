/* verb_demo.c: a picture through all three operations and back. */
#include "demo/demo.h"
#include "verbs/verbs.h"

bool gops_verb_demo(const gops_command *command, gops_tool_error *error)
{
    const gops_settings *settings = &command->settings;
    return gops_demo_show(command->files[0], settings->output_file, settings->threads, error);
}
