/* choices_file.h: --choices=FILE: the choices that earlier runs have measured and this one adds. */
#ifndef GOPS_COMMON_CHOICES_FILE_H
#define GOPS_COMMON_CHOICES_FILE_H

#include "common/settings.h"
#include "common/tool_error.h"

/* Reads the file that the settings name into settings->choices; does nothing without a name. A file
 * that does not exist is refused; with --algorithm=fastest it counts as empty, unless it could not be written. */
bool gops_choices_file_read(gops_settings *settings, gops_tool_error *error);

/* If choices were added, writes them to the file, whole or not at all, together with those that
 * other processes have written meanwhile. Then frees the choices. A writer holds a lock on the file
 * (fcntl), which ends with the process; a reader needs none. On a file system without locks the
 * last writer wins. */
bool gops_choices_file_write(gops_settings *settings, gops_tool_error *error);

#endif
