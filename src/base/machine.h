/* base/machine.h: sizes of the processor's caches, for choosing blocks, and of the memory. */
#ifndef GOPS_BASE_MACHINE_H
#define GOPS_BASE_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct gops_machine {
    int64_t l1_bytes; /* data cache of one core */
    int64_t l2_bytes; /* of one core */
} gops_machine;

/* Whether its second level cache is as large as those of Intel's processors from Ice Lake servers and Alder
 * Lake on. They answer later than others, and what else differs on these processors is told by it. */
static inline bool gops_machine_has_large_l2(const gops_machine *machine)
{
    return machine->l2_bytes > 1 << 20;
}

/* Read from the system, with defaults where it does not say. Cheap; keeps no state. */
gops_machine gops_machine_read(void);

/* Bytes of main memory; INT64_MAX where the system does not tell. */
int64_t gops_machine_memory(void);

#endif
