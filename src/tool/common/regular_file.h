/* regular_file.h: opens files that are neither devices nor FIFOs, and reads them. */
#ifndef GOPS_COMMON_REGULAR_FILE_H
#define GOPS_COMMON_REGULAR_FILE_H

#include "common/tool_error.h"

#include <stddef.h>
#include <stdint.h>

/* Opens the file and says how long it is. *descriptor is -1 after a refusal, which names the path. */
bool gops_regular_file_open(const char *path, int *descriptor, int64_t *bytes,
                            gops_tool_error *error);

/* Reads `count` bytes that the file had when it was opened, from `offset` on. Refusals do not name it. */
bool gops_regular_file_read(int descriptor, void *memory, size_t count, int64_t offset,
                            gops_tool_error *error);

#endif
