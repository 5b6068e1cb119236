/* base/machine.h: sizes of the processor's caches, for choosing blocks, and of the memory. */
#ifndef GOPS_BASE_MACHINE_H
#define GOPS_BASE_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    GOPS_CACHE_LINE = 64,   /* bytes of a line, in each cache */
    GOPS_PAGE_BYTES = 4096, /* of a small page, where the prefetch of lines in order ends */
    /* Addresses so far apart share a set of the first level cache: it is indexed by the bits that virtual and physical
     * addresses have in common. */
    GOPS_WAY_BYTES = 4096,
};

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

/* Whether planes of `pixels` values, of `bytes` each, lie so that their lines share the sets of the first level cache,
 * and `planes` of them are more than a set has lines. */
static inline bool gops_machine_planes_conflict(const gops_machine *machine, int64_t pixels,
                                                int64_t bytes, int64_t planes)
{
    return pixels % GOPS_WAY_BYTES * bytes % GOPS_WAY_BYTES == 0 &&
           planes > machine->l1_bytes / GOPS_WAY_BYTES;
}

/* Read from the system, with defaults where it does not say. Cheap; keeps no state. */
gops_machine gops_machine_read(void);

/* Bytes of main memory; INT64_MAX where the system does not tell. */
int64_t gops_machine_memory(void);

#endif
