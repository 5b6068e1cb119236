/* machine.c: the clock, the memory and the byte order of the machine. */
#include "common/machine.h"

#include <time.h>
#include <unistd.h>

double gops_machine_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

uint64_t gops_machine_bytes(void)
{
    return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
}

void gops_swap_bytes(void *elements, size_t bytes, size_t element_bytes)
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
