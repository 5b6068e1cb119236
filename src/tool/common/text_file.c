/* text_file.c: reads a whole text file of bounded length. */
#include "common/text_file.h"

#include <errno.h>
#include <stdlib.h>

char *gops_text_file_read(FILE *file, const char *path, int max_bytes, size_t *count,
                          gops_tool_error *error)
{
    const size_t room = (size_t)max_bytes;
    char *text = malloc(room);
    if (text == NULL) {
        gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s: no memory to read it", path);
        return NULL;
    }
    errno = 0;
    *count = fread(text, 1, room, file);
    if (ferror(file)) {
        gops_tool_refuse_errno(error, "%s: it cannot be read", path);
    } else if (*count == room) {
        gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s: it has more than %d bytes", path,
                         max_bytes - 1);
    } else {
        text[*count] = '\0';
        return text;
    }
    free(text);
    return NULL;
}
