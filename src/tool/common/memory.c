/* memory.c: how much memory the machine has, and the byte order of elements in it. */
#include "common/memory.h"

#include <unistd.h>

uint64_t gops_memory_bytes(void)
{
    return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
}

void gops_memory_swap(void *elements, size_t bytes, size_t element_bytes)
{
    unsigned char *element = elements;
    for (size_t at = 0; at < bytes; at += element_bytes, element += element_bytes) {
        for (size_t i = 0; i < element_bytes / 2; i++) {
            const unsigned char byte = element[i];
            element[i] = element[element_bytes - 1 - i];
            element[element_bytes - 1 - i] = byte;
        }
    }
}
