/* base/machine.c: sizes of caches and memory from sysconf. */
#define _GNU_SOURCE /* the names of the cache sizes */

#include "base/machine.h"

#include "base/checked.h"

#include <unistd.h>

/* Nearly every processor since 2015 has caches between these bounds. The lower ones are used if the
 * system does not tell (qemu, musl, some containers); values outside the bounds are clamped. */
enum {
    MIN_L1_BYTES = 32 << 10,
    MIN_L2_BYTES = 256 << 10,
    MAX_L1_BYTES = 256 << 10,
    MAX_L2_BYTES = 4 << 20,
};

gops_machine gops_machine_read(void)
{
    gops_machine machine = {MIN_L1_BYTES, MIN_L2_BYTES};
#if defined(_SC_LEVEL1_DCACHE_SIZE) && defined(_SC_LEVEL2_CACHE_SIZE)
    machine.l1_bytes = gops_clamp(sysconf(_SC_LEVEL1_DCACHE_SIZE), MIN_L1_BYTES, MAX_L1_BYTES);
    machine.l2_bytes = gops_clamp(sysconf(_SC_LEVEL2_CACHE_SIZE), MIN_L2_BYTES, MAX_L2_BYTES);
#endif
    return machine;
}

int64_t gops_machine_memory(void)
{
#if defined(_SC_PHYS_PAGES) && defined(_SC_PAGESIZE)
    const int64_t pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
    if (pages > 0 && bytes > 0) {
        return gops_mul_saturate(pages, bytes);
    }
#endif
    return INT64_MAX;
}
