/*
 * A library to preload: allocation number GROUPOPS_FAIL_AT, counted from 1, of those that the
 * command, libxml2, libpng, zlib and the C library ask for gets NULL, and the file
 * GROUPOPS_FAIL_LOG is made. The dynamic linker, OpenMP and the BLAS get all they want: GCC's
 * OpenMP and OpenBLAS end the process when they do not. So does libxml2's xmlBufGrow: the parser of
 * version 2.9 reads through NULL after it.
 *
 * With GROUPOPS_FAIL_IN only those count that an object with these letters in its path asks for,
 * and gops_fail_start says which one fails, from then on.
 *
 * To close standard input ends the process: a descriptor that was never opened was closed.
 */
#define _GNU_SOURCE

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *memory, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);
extern int __close(int descriptor);

static atomic_long calls, wanted;
static _Thread_local int looking; /* dladdr and what follows may allocate */

static int is_counted(const void *caller)
{
    static const char *const spared[] = {"libgomp",     "libomp",  "libopenblas", "ld-linux",
                                         "libgfortran", "libblis", "libquadmath"};
    Dl_info info;
    if (dladdr(caller, &info) == 0 || info.dli_fname == NULL)
        return 0;
    const char *only = getenv("GROUPOPS_FAIL_IN");
    if (only != NULL)
        return strstr(info.dli_fname, only) != NULL;
    for (size_t i = 0; i < sizeof spared / sizeof spared[0]; i++)
        if (strstr(info.dli_fname, spared[i]) != NULL)
            return 0;
    return info.dli_sname == NULL || strcmp(info.dli_sname, "xmlBufGrow") != 0;
}

/* is_counted, remembered by caller: dladdr reads through all of an object's symbols. */
static int counts(const void *caller)
{
    static _Thread_local struct {
        const void *caller;
        int counts;
    } known[256];
    const size_t at = (uintptr_t)caller / 4 % (sizeof known / sizeof known[0]);
    if (known[at].caller != caller) {
        known[at].counts = is_counted(caller);
        known[at].caller = caller;
    }
    return known[at].counts;
}

static int fails(const void *caller)
{
    const char *at = getenv("GROUPOPS_FAIL_AT"), *log = getenv("GROUPOPS_FAIL_LOG");
    const long number = at != NULL ? atol(at) : atomic_load(&wanted);
    if (number == 0 || looking)
        return 0;
    looking = 1;
    const int failing = counts(caller) && atomic_fetch_add(&calls, 1) + 1 == number;
    if (failing && log != NULL) {
        const int file = open(log, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        if (file >= 0)
            close(file);
    }
    if (failing)
        errno = ENOMEM;
    looking = 0;
    return failing;
}

long gops_fail_start(long at);

/* 0: none fails. Returns how many were counted since the last time. */
long gops_fail_start(long at)
{
    const long counted = atomic_exchange(&calls, 0);
    atomic_store(&wanted, at);
    return counted;
}

int close(int descriptor)
{
    if (descriptor == STDIN_FILENO)
        abort();
    return __close(descriptor);
}

#define CALLER __builtin_return_address(0)

void *malloc(size_t bytes)
{
    return fails(CALLER) ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    return fails(CALLER) ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *memory, size_t bytes)
{
    return fails(CALLER) ? NULL : __libc_realloc(memory, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return fails(CALLER) ? NULL : __libc_memalign(alignment, bytes);
}

int posix_memalign(void **memory, size_t alignment, size_t bytes)
{
    void *found = fails(CALLER) ? NULL : __libc_memalign(alignment, bytes);
    if (found != NULL)
        *memory = found;
    return found != NULL ? 0 : ENOMEM;
}
