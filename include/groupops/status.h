/**
 * @file
 * groupops/status.h: how a call that can fail says so.
 *
 * Such a call returns a gops_status and takes a `gops_error *` as its last argument. The caller
 * owns the error (usually on its stack), so nothing is allocated and no thread sees another's
 * message. Passing NULL is allowed: the status alone is returned then. After GOPS_OK the error is
 * untouched. A call that fails leaves what it was to create NULL and has no other effect, except for
 * GOPS_HOST_FAILED.
 */
#ifndef GROUPOPS_STATUS_H
#define GROUPOPS_STATUS_H

#include <groupops/export.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum gops_status {
    GOPS_OK = 0,
    /** An argument contradicts the specification or this manual: the caller's to mend. */
    GOPS_INVALID = 1,
    /** Legal, but not offered: a type, a rank, or an algorithm that was asked for by name. */
    GOPS_UNSUPPORTED = 2,
    /** A size, or a product of sizes, is beyond 2^63 - 1 or beyond the address space; a tensor of a plan
     * has more than 2^52 elements. */
    GOPS_TOO_LARGE = 3,
    /** The allocator (the host's, or malloc) had nothing to give. */
    GOPS_OUT_OF_MEMORY = 4,
    /** A hook of the host reported failure. After gops_execute the output, what shares its memory, and
     * moments that were to be written hold anything. */
    GOPS_HOST_FAILED = 5
} gops_status;

/** A message is one line without a newline, cut off at this many bytes, the final 0 included. */
#define GOPS_MESSAGE_BYTES 320

typedef struct gops_error {
    gops_status status;
    /** Names the attribute or argument, the axis, and the values that do not fit, for example
     * "strides[1] is 0; it must be at least 1". */
    char message[GOPS_MESSAGE_BYTES];
} gops_error;

/** "ok", "invalid", "unsupported", "too large", "out of memory", "host failed"; "unknown" for a
 * number that is none of them. A constant string. */
GOPS_API const char *gops_status_name(gops_status status);

#ifdef __cplusplus
}
#endif

#endif
