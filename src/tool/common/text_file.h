/* text_file.h: reads a whole text file of bounded length. */
#ifndef GOPS_COMMON_TEXT_FILE_H
#define GOPS_COMMON_TEXT_FILE_H

#include "common/tool_error.h"

#include <stddef.h>
#include <stdio.h>

/* Reads the rest of the file, up to max_bytes - 1 bytes and a 0 after them, into memory that the
 * caller frees. NULL after a refusal, which names `path`. */
char *gops_text_file_read(FILE *file, const char *path, int max_bytes, size_t *count,
                          gops_tool_error *error);

#endif
