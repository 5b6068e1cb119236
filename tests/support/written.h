/* written.h: tells MemorySanitizer what a function has written that it does not know. */
#ifndef GROUPOPS_TEST_WRITTEN_H
#define GROUPOPS_TEST_WRITTEN_H

#include <stddef.h>

#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#define GOPS_TEST_MEMORY_SANITIZER
#endif
#endif

#ifdef GOPS_TEST_MEMORY_SANITIZER
#include <sanitizer/msan_interface.h>
#endif

/* To be called where the function has succeeded. That of clang 14 follows stat by the name it had
 * before glibc 2.33, and mallinfo, but not mallinfo2. */
static inline void gops_test_written(const void *object, size_t bytes)
{
#ifdef GOPS_TEST_MEMORY_SANITIZER
    __msan_unpoison(object, bytes);
#else
    (void)object, (void)bytes;
#endif
}

#endif
