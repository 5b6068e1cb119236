/* base/error.h: filling in a gops_error. */
#ifndef GOPS_BASE_ERROR_H
#define GOPS_BASE_ERROR_H

#include <groupops/status.h>

/* Returns `status`; writes it and the message unless error is NULL. The message names the attribute
 * or argument, the axis and the values; no newline, no full stop. */
__attribute__((format(printf, 3, 4))) gops_status gops_fail(gops_error *error, gops_status status,
                                                            const char *format, ...);

/* Ends the function with the status of `call` unless that is GOPS_OK. */
#define GOPS_TRY(call)                                                                             \
    do {                                                                                           \
        const gops_status tried = (call);                                                          \
        if (tried != GOPS_OK) {                                                                    \
            return tried;                                                                          \
        }                                                                                          \
    } while (0)

#endif
