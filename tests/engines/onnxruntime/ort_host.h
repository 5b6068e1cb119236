/*
 * ort_host.h: a host of ONNX Runtime, as C programs are: it loads the library, registers our
 * provider, opens sessions with it and without, and runs them. What the runtime refuses ends the
 * running case as failed, but for the calls that are asked for their status.
 */
#ifndef GROUPOPS_TESTS_ORT_HOST_H
#define GROUPOPS_TESTS_ORT_HOST_H

#include "engines/onnxruntime/runtime/ort_abi.h"
#include "onnx_builder.h"

#include <groupops/tensor.h>

enum { GOPS_ORT_MAX_TENSORS = 9 }; /* QLinearConv has as many */

/* The library to register instead of the provider itself; before anything else. */
void gops_ort_use(const char *path);

/* Has the runtime's log kept, from information up; before anything else. */
void gops_ort_listen(void);
/* The last line of the log that begins with "groupops"; "" if there was none. */
const char *gops_ort_heard(void);

/* As many as the provider counts: threads that a step is shared by. */
int64_t gops_ort_cores(void);

/* The runtime's table; with an environment in which the provider library is registered. The case is
 * skipped where the npm package is not there. Made once for the process. */
const ort_api *gops_ort_load(void);
ort_env *gops_ort_env(void);
/* Releases all of it; without a runtime nothing. */
void gops_ort_unload(void);

/* Whether a call succeeded; prints the message, and counts a failed assertion, where it did not. */
bool gops_ort_works(ort_status *status, const char *what);
/* Whether it was refused with a message that has the text in it. */
bool gops_ort_is_refused(ort_status *status, const char *text, const char *what);

typedef struct gops_ort_session_settings {
    const char *provider; /* NULL: the runtime alone; else the registered name */
    int level;            /* of graph optimization */
    int threads;
    bool int8; /* i8 tensors stay i8, which the runtime on x86-64 makes u8 or floats otherwise */
} gops_ort_session_settings;

/* The provider's options of these names, for sessions that are opened from now on; NULL: not given, as
 * accuracy is at first. claim is "all" at first. */
void gops_ort_set_accuracy(const char *accuracy);
void gops_ort_set_claim(const char *claim);
/* Whether the runtime's threads may wait without going to sleep; at first they may. */
void gops_ort_set_spinning(bool may);
/* The file that the runtime is to write a compiled model to; NULL: none, as at first. */
void gops_ort_set_context(const char *path);

/* Where the external data of models lie; NULL, as at first: they have none. */
void gops_ort_set_folder(const char *path);

ort_status *gops_ort_open(const gops_onnx_buffer *model, const gops_ort_session_settings *settings,
                          ort_session **session);

typedef struct gops_ort_tensor {
    const char *name;
    ort_element element;
    int rank;
    const int64_t *dims;
    void *data;
} gops_ort_tensor;

ort_value *gops_ort_value(const gops_ort_tensor *tensor);

/* Runs with these inputs; *output is what the runtime made for "y". */
ort_status *gops_ort_run(ort_session *session, const gops_ort_tensor *inputs, size_t count,
                         ort_value **output);

/* The descriptor and the values. */
const void *gops_ort_values(ort_value *value, gops_tensor *tensor);

/* How many nodes of the model the provider was given; printed one by one where `print`. */
int gops_ort_claimed(const ort_session *session, bool print);
/* In how many parts, each a call of its own. */
int gops_ort_parts(const ort_session *session);
/* How many of that type. */
int gops_ort_claimed_of(const ort_session *session, const char *type);

#endif
