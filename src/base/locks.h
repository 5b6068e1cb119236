/* base/locks.h: the locks of the library, which a fork leaves free in the child.
 *
 * They are few and static, so that a fork can take all of them first: then no other thread holds a
 * lock while the process is copied. Objects that are allocated share them. No function of a host is
 * called under a lock, because it may fork. */
#ifndef GOPS_BASE_LOCKS_H
#define GOPS_BASE_LOCKS_H

enum {
    GOPS_LOCK_DEFAULT_HOST,
    GOPS_LOCK_SERIAL_BLAS,
    GOPS_LOCK_SHARED, /* the first of those that gops_lock_of distributes objects to */
    GOPS_LOCKS = GOPS_LOCK_SHARED + 16,
};

/* The lock of an object; other objects may have the same lock. */
int gops_lock_of(const void *object);

/* A thread holds one lock at a time. */
void gops_lock(int lock);
void gops_unlock(int lock);

#endif
