/* fuzz_replay.c: runs a target on files, and on the files of folders, given as words. Folders that
 * are not there are passed over; that nothing at all was run is a failure. */
#include "fuzz.h"
#include "lent_host.h"
#include "written.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static int run;
static double slowest;
static char slowest_path[4096];

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void run_file(const char *path, size_t bytes)
{
    FILE *file = fopen(path, "rb");
    /* Exactly as large as the input, so that a sanitizer sees what reads beyond it. */
    uint8_t *input = malloc(bytes != 0 ? bytes : 1);
    gops_fuzz_require(file != NULL && input != NULL, "%s: it cannot be read", path);
    gops_fuzz_require(fread(input, 1, bytes, file) == bytes, "%s: it cannot be read", path);
    fclose(file);
    printf("%s\n", path); /* of an input that ends the program, the last line */
    fflush(stdout);
    const double start = now();
    LLVMFuzzerTestOneInput(input, bytes);
    const double seconds = now() - start;
    if (seconds > slowest) {
        slowest = seconds;
        snprintf(slowest_path, sizeof slowest_path, "%s", path);
    }
    run++;
    free(input);
}

static void run_path(const char *path)
{
    struct stat status;
    struct dirent *entry;
    if (stat(path, &status) != 0)
        return;
    gops_test_written(&status, sizeof status);
    if (!S_ISDIR(status.st_mode)) {
        run_file(path, (size_t)status.st_size);
        return;
    }
    DIR *folder = opendir(path);
    gops_fuzz_require(folder != NULL, "%s: it cannot be read", path);
    while ((entry = readdir(folder)) != NULL) {
        char inside[4096];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(inside, sizeof inside, "%s/%s", path, entry->d_name);
        run_path(inside);
    }
    closedir(folder);
}

int main(int argc, char **argv)
{
    gops_test_host_from_environment();
    for (int i = 1; i < argc; i++) {
        char *whole = realpath(argv[i], NULL); /* a target may enter a folder of its own */
        if (whole != NULL)
            run_path(whole);
        free(whole);
    }
    fprintf(stderr, "%d inputs; the slowest took %.3f s: %s\n", run, slowest, slowest_path);
    return run > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
