/* verb_info.c: shows how the library was built and what it finds on this machine. */
#include "verbs/verbs.h"

#include <groupops/groupops.h>

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* One line of a file in /sys, without its newline; empty where there is none. */
static void read_line(const char *path, char *line, int bytes)
{
    FILE *file = fopen(path, "r");
    line[0] = '\0';
    if (file != NULL) {
        if (fgets(line, bytes, file) != NULL) {
            line[strcspn(line, "\n")] = '\0';
        }
        fclose(file);
    }
}

/* The caches of the first processor, as Linux shows them. */
static void print_caches(void)
{
    enum { MAX_CACHES = 16, TEXT_BYTES = 32 };
    static const char *const parts[3] = {"level", "type", "size"};
    int shown = 0;
    printf("caches            ");
    for (int i = 0; i < MAX_CACHES; i++) {
        char texts[3][TEXT_BYTES];
        for (int part = 0; part < 3; part++) {
            char path[96];
            snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", i,
                     parts[part]);
            read_line(path, texts[part], TEXT_BYTES);
        }
        if (texts[2][0] != '\0') {
            printf("%sL%s %s %s", shown++ == 0 ? "" : ", ", texts[0], texts[1], texts[2]);
        }
    }
    printf("%s\n", shown == 0 ? "unknown" : "");
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
