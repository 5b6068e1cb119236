/* numbers.c: whole numbers with commas between them, as on a command line. */
#include "numbers.h"

#include <stdlib.h>

bool gops_numbers_read(const char *text, int room, int64_t least, int64_t most, gops_numbers *read)
{
    char *end;
    read->count = 0;
    for (;; text = end + 1) {
        const int64_t value = strtoll(text, &end, 10);
        if (end == text || value < least || value > most || read->count == room) {
            return false;
        }
        read->values[read->count++] = value;
        if (*end != ',') {
            return *end == '\0';
        }
    }
}
