/* tool_npy.c: .npy files by hand. */
#include "tool_npy.h"

#include "elements.h"
#include "guarded_memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *open_or_die(const char *path, const char *mode)
{
    FILE *file = fopen(path, mode);
    if (file == NULL) {
        perror(path);
        exit(EXIT_FAILURE);
    }
    return file;
}

static void write_or_die(const void *bytes, size_t count, FILE *file)
{
    if (count != 0 && fwrite(bytes, 1, count, file) != count) {
        perror("a test's file");
        exit(EXIT_FAILURE);
    }
}

void tool_npy_write_raw(const char *path, int version, const char *header, const void *elements,
                        size_t bytes)
{
    const size_t begin = version == 1 ? 10 : 12;
    const size_t total = (begin + strlen(header) + 1 + 63) / 64 * 64;
    const size_t length = total - begin;
    const unsigned char start[12] = {0x93,
                                     'N',
                                     'U',
                                     'M',
                                     'P',
                                     'Y',
                                     (unsigned char)version,
                                     0,
                                     (unsigned char)(length & 0xff),
                                     (unsigned char)(length >> 8 & 0xff),
                                     (unsigned char)(length >> 16 & 0xff),
                                     (unsigned char)(length >> 24)};
    FILE *file = open_or_die(path, "wb");
    write_or_die(start, begin, file);
    fprintf(file, "%-*s\n", (int)length - 1, header);
    write_or_die(elements, bytes, file);
    if (fclose(file) != 0) {
        perror(path);
        exit(EXIT_FAILURE);
    }
}

char tool_npy_order(const char *dtype)
{
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    if (dtype[1] == '1')
        return '|';
    return first == 1 ? '<' : '>';
}

const char *tool_npy_header(char order, const char *dtype, int fortran, const gops_tensor *tensor,
                            tool_npy_text *text)
{
    char shape[256] = "";
    for (int32_t i = 0; i < tensor->rank; i++) {
        const size_t used = strlen(shape);
        snprintf(shape + used, sizeof shape - used, "%s%" PRId64, i == 0 ? "" : ", ",
                 tensor->dims[i]);
    }
    snprintf(text->text, sizeof text->text,
             "{'descr': '%c%s', 'fortran_order': %s, 'shape': (%s%s), }", order, dtype,
             fortran ? "True" : "False", shape, tensor->rank == 1 ? "," : "");
    return text->text;
}

static size_t elements_bytes(const char *dtype, const gops_tensor *tensor)
{
    return (size_t)gops_test_elements(tensor) * (size_t)(dtype[1] - '0');
}

void tool_npy_write(const char *path, const char *dtype, const gops_tensor *tensor,
                    const void *elements)
{
    tool_npy_text text;
    tool_npy_write_raw(path, 1, tool_npy_header(tool_npy_order(dtype), dtype, 0, tensor, &text),
                       elements, elements_bytes(dtype, tensor));
}

/* Whether the file begins with that header, behind a start that says its length. */
static int starts_with(FILE *file, const char *header)
{
    unsigned char start[10];
    char text[1024];
    if (fread(start, 1, sizeof start, file) != sizeof start ||
        memcmp(start, "\x93NUMPY\x01", 8) != 0)
        return 0;
    const size_t length = (size_t)start[8] + 256 * (size_t)start[9];
    if (length >= sizeof text || (length + sizeof start) % 64 != 0 ||
        fread(text, 1, length, file) != length)
        return 0;
    const size_t used = strlen(header);
    if (length <= used || memcmp(text, header, used) != 0 || text[length - 1] != '\n')
        return 0;
    text[length - 1] = '\0';
    return strspn(text + used, " ") == length - 1 - used;
}

void *tool_npy_read(const char *path, const char *dtype, const gops_tensor *tensor)
{
    tool_npy_text header;
    const size_t bytes = elements_bytes(dtype, tensor);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        printf("%s: is not there\n", path);
        return NULL;
    }
    tool_npy_header(tool_npy_order(dtype), dtype, 0, tensor, &header);
    char *elements = gops_test_allocate(bytes + 1);
    /* One byte more than there should be must not be had. */
    if (!starts_with(file, header.text) || fread(elements, 1, bytes + 1, file) != bytes) {
        printf("%s: is not a .npy file of %s and %zu bytes\n", path, header.text, bytes);
        free(elements);
        elements = NULL;
    }
    fclose(file);
    return elements;
}
