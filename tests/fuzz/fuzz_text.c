/*
 * fuzz_text.c: mutations for inputs that are text: numbers at the edge of something, lines put
 * elsewhere, twice or away; in turn with libFuzzer's own. Linked into the fuzzers alone.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fuzz.h"

size_t LLVMFuzzerMutate(uint8_t *bytes, size_t count, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t count, size_t most, unsigned seed);

static unsigned next(unsigned *state)
{
    *state = *state * 1103515245U + 12345U;
    return *state >> 8;
}

/* bytes[at .. at + old - 1] become the text; the new count, or the old one where there is no room.
 */
static size_t replace(uint8_t *bytes, size_t count, size_t most, size_t at, size_t old,
                      const char *text, size_t length)
{
    if (count - old + length > most)
        return count;
    memmove(bytes + at + length, bytes + at + old, count - at - old);
    memcpy(bytes + at, text, length);
    return count - old + length;
}

/* One of the text's numbers becomes another. */
static size_t change_number(uint8_t *bytes, size_t count, size_t most, unsigned *state)
{
    const size_t start = next(state) % count;
    char text[32];
    for (size_t i = 0; i < count; i++) {
        size_t at = (start + i) % count, end = at;
        while (end < count && isdigit(bytes[end]))
            end++;
        if (end == at)
            continue;
        const unsigned how = next(state) % 4;
        const int64_t number = how == 0 ? gops_fuzz_edge(next(state)) : (int64_t)(next(state) % 9);
        const int length = snprintf(text, sizeof text, "%" PRId64, number);
        return replace(bytes, count, most, at, end - at, text, (size_t)length);
    }
    return count;
}

/* The line around a place: its first byte, and behind its newline. */
static void find_line(const uint8_t *bytes, size_t count, size_t place, size_t *from, size_t *to)
{
    *from = place;
    *to = place;
    while (*from > 0 && bytes[*from - 1] != '\n')
        --*from;
    while (*to < count && bytes[*to] != '\n')
        ++*to;
    *to += *to < count;
}

/* A line goes, or comes again elsewhere. */
static size_t change_line(uint8_t *bytes, size_t count, size_t most, unsigned *state)
{
    char copy[512];
    size_t from, to, other, unused;
    find_line(bytes, count, next(state) % count, &from, &to);
    if (next(state) % 2 == 0)
        return replace(bytes, count, most, from, to - from, "", 0);
    const size_t length = to - from < sizeof copy ? to - from : sizeof copy;
    memcpy(copy, bytes + from, length);
    find_line(bytes, count, next(state) % count, &other, &unused);
    return replace(bytes, count, most, other, 0, copy, length);
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t count, size_t most, unsigned seed)
{
    unsigned state = seed;
    switch (count == 0 ? 0 : next(&state) % 4) {
    case 1:
        return change_number(bytes, count, most, &state);
    case 2:
        return change_line(bytes, count, most, &state);
    default:
        return LLVMFuzzerMutate(bytes, count, most);
    }
}
