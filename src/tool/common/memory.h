/* memory.h: how much memory the machine has, and the byte order of elements in it. */
#ifndef GOPS_COMMON_MEMORY_H
#define GOPS_COMMON_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* The bytes of physical memory. */
uint64_t gops_memory_bytes(void);

/* Reverses the bytes of each element of a buffer of `bytes` bytes. */
void gops_memory_swap(void *elements, size_t bytes, size_t element_bytes);

#endif
