/*
 * ort_team.h: threads of the session that stay with one call until it ends.
 *
 * The runtime hands work to its threads in some microseconds, as long as whole layers of a small
 * network take. A region asks for them once. One of them, whichever comes first, leads: it runs the
 * steps. The others wait for what it shares out and take it in some tenths of a microsecond. The
 * leader waits for nobody who has not begun: whoever comes late, or never, is not missed.
 */
#ifndef GROUPOPS_ENGINES_ORT_TEAM_H
#define GROUPOPS_ENGINES_ORT_TEAM_H

#include "engines/onnxruntime/runtime/ort_runtime.h"

/* Bytes of memory for a team of so many threads, at a multiple of GOPS_WORKSPACE_ALIGNMENT. */
size_t gops_ort_team_bytes(int32_t threads);

/* Runs lead(argument) once, on a thread of the session or the calling one, between gops_ort_enter
 * with the team and gops_ort_leave. `memory` is for a team of at least so many threads. Returns how many
 * came before the end. */
int32_t gops_ort_team_run(const gops_ort_runtime *runtime, const ort_kernel_context *context,
                          int32_t threads, void (*lead)(void *argument), void *argument,
                          void *memory);

/* Runs lead(argument) on this thread, which has no others, as on one of a session that computes something else
 * meanwhile. `memory` is for a team of one. */
void gops_ort_team_run_alone(const ort_kernel_context *context, void (*lead)(void *argument),
                             void *argument, void *memory);

/* Calls the task with 0 to count - 1, for the leader, and returns when all calls have. */
void gops_ort_team_for(gops_ort_team *team, void (*task)(void *argument, int64_t index),
                       void *argument, int64_t count);

#endif
