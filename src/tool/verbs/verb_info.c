/* verb_info.c: shows how the library was built and what it finds on this machine. */
#include "verbs/verbs.h"

#include <groupops/groupops.h>

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void print_isas(void)
{
    bool runs;
    const char *name;
    printf("instruction sets  ");
    for (int32_t i = 0; (name = gops_isa_name(i, &runs)) != NULL; i++) {
        printf("%s%s%s", i == 0 ? "" : ", ", name, runs ? "" : " (not on this processor)");
    }
    const char *used = gops_isa();
    const char *forced = getenv("GROUPOPS_ISA"); /* an empty one forces nothing */
    if (used != NULL) {
        printf("; used: %s%s\n", used,
               forced != NULL && *forced != '\0' ? " (by GROUPOPS_ISA)" : "");
    } else {
        printf("; used: none, for GROUPOPS_ISA names none of those that run\n");
    }
}

static void print_algorithms(void)
{
    const char *name;
    printf("algorithms        ");
    for (int32_t i = 0; (name = gops_algorithm_name(i)) != NULL; i++) {
        printf("%s%s", i == 0 ? "" : ", ", name);
    }
    printf("\n");
}

/* What the system tells; the library counts with it within the bounds of base/machine.c. */
static void print_caches(void)
{
    long l1 = 0, l2 = 0;
#if defined(_SC_LEVEL1_DCACHE_SIZE) && defined(_SC_LEVEL2_CACHE_SIZE)
    l1 = sysconf(_SC_LEVEL1_DCACHE_SIZE);
    l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
#endif
    if (l1 > 0 && l2 > 0) {
        printf("caches            L1 data %ld KB, L2 %ld KB\n", l1 / 1024, l2 / 1024);
    } else {
        printf("caches            unknown\n");
    }
}

bool gops_verb_info(const gops_command *command, gops_tool_error *error)
{
    (void)command;
    (void)error;
    printf("version           %s\n", gops_version());
    printf("BLAS              %s\n", gops_blas());
    printf("BLAS core         %s\n", gops_blas_core());
    print_isas();
    print_algorithms();
    printf("threads           %d by default, %ld processors\n", omp_get_max_threads(),
           sysconf(_SC_NPROCESSORS_ONLN));
    print_caches();
    return true;
}
