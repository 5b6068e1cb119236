/* choices_file.h: --choices=FILE: what an earlier run has measured, and what this one adds. */
#ifndef GOPS_COMMON_CHOICES_FILE_H
#define GOPS_COMMON_CHOICES_FILE_H

#include "common/settings.h"
#include "common/tool_error.h"

/* Reads the file that the settings name into settings->choices; without a name does nothing. A file
 * that is not there is refused, but with --algorithm=fastest stands for no choices. */
bool gops_choices_file_read(gops_settings *settings, gops_tool_error *error);

/* Where some were added, writes the choices back, whole or not at all, together with what others
 * have written meanwhile; then nothing is left of them. Who writes holds a lock on the file
 * (fcntl), which ends with the process; who reads needs none. Where the file system has no locks,
 * the last to write counts. */
bool gops_choices_file_write(gops_settings *settings, gops_tool_error *error);

/* Lets go of the choices without writing them. */
void gops_choices_file_drop(gops_settings *settings);

#endif
