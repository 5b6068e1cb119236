/* base/sized.h: the caller's structs that begin with their size: groupops/sized.h has the rule. */
#ifndef GOPS_BASE_SIZED_H
#define GOPS_BASE_SIZED_H

#include <groupops/status.h>

#include <stddef.h>

enum { GOPS_MAX_RELEASES = 4 };

typedef struct gops_sized {
    const char *name; /* of the caller's struct, in messages */
    const char *type;
    size_t bytes; /* of our struct; it begins with a size_t, as the caller's does */
    size_t released[GOPS_MAX_RELEASES]; /* the sizes that releases had; 0 after the last */
} gops_sized;

extern const gops_sized gops_sized_options, gops_sized_arguments, gops_sized_plan_info,
    gops_sized_host, gops_sized_gemm, gops_sized_quantization;

/* Copies the caller's struct to ours at `read`, with 0 in the fields that the caller's lacks and
 * our own size. GOPS_INVALID: groupops/sized.h; *read is as it was. */
gops_status gops_sized_read(const gops_sized *sized, const void *given, void *read,
                            gops_error *error);

/* Copies our struct at `written` to the caller's, up to the size of that, and sets what the
 * caller's has behind ours to 0. The caller's size stays. GOPS_INVALID: groupops/sized.h; nothing
 * is written. */
gops_status gops_sized_write(const gops_sized *sized, const void *written, void *given,
                             gops_error *error);

#endif
