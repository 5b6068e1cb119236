/* base/locks.c: the locks of the library, which a fork leaves free in the child. */
#include "base/locks.h"

#include <pthread.h>
#include <stdint.h>

static pthread_mutex_t locks[GOPS_LOCKS] = {[0 ... GOPS_LOCKS - 1] = PTHREAD_MUTEX_INITIALIZER};

static void take_all(void)
{
    for (int i = 0; i < GOPS_LOCKS; i++) {
        pthread_mutex_lock(&locks[i]);
    }
}

static void give_all(void)
{
    for (int i = GOPS_LOCKS - 1; i >= 0; i--) {
        pthread_mutex_unlock(&locks[i]);
    }
}

/* Runs once, when the library is loaded, before any lock is taken. pthread_atfork fails only
 * without memory; forks are then unprotected. The shared library is never unloaded; when a plug-in
 * with the static library is unloaded, the C library removes these functions. */
__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(take_all, give_all, give_all);
}

int gops_lock_of(const void *object)
{
    /* Objects are aligned to 64 bytes. */
    return GOPS_LOCK_SHARED + (int)((uintptr_t)object / 64 % (GOPS_LOCKS - GOPS_LOCK_SHARED));
}

void gops_lock(int lock)
{
    pthread_mutex_lock(&locks[lock]);
}

void gops_unlock(int lock)
{
    pthread_mutex_unlock(&locks[lock]);
}
