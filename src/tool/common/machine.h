/* machine.h: the clock, the memory and the byte order of the machine. */
#ifndef GOPS_COMMON_MACHINE_H
#define GOPS_COMMON_MACHINE_H

#include <stddef.h>
#include <stdint.h>

/* Milliseconds of a clock that never goes back; only differences mean something. */
double gops_machine_ms(void);

/* The bytes of physical memory. */
uint64_t gops_machine_bytes(void);

/* Reverses the bytes of each element of a buffer of `bytes` bytes. */
void gops_swap_bytes(void *elements, size_t bytes, size_t element_bytes);

#endif
