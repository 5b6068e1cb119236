/* base/locks.h: the locks of the library, which a fork leaves free in the child.
 *
 * They are few and belong to the process, so that a fork can take them all first: then no other
 * thread holds one when the process is copied. Objects that come and go share them. No call of a
 * host's function is made under one: it may fork itself. */
#ifndef GOPS_BASE_LOCKS_H
#define GOPS_BASE_LOCKS_H

enum {
    GOPS_LOCK_DEFAULT_HOST,
    GOPS_LOCK_SERIAL_BLAS,
    GOPS_LOCK_SHARED, /* the first of those that gops_lock_of spreads objects over */
    GOPS_LOCKS = GOPS_LOCK_SHARED + 16,
};

/* The lock of an object; others may have the same. */
int gops_lock_of(const void *object);

/* A thread holds one at a time. */
void gops_lock(int lock);
void gops_unlock(int lock);

#endif
