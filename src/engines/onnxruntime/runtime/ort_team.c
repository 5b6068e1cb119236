/* ort_team.c: threads of the session that stay with one call until it ends. */
#include "engines/onnxruntime/runtime/ort_team.h"

#include <limits.h>
#include <sched.h>
#include <stdatomic.h>

enum { CACHE_LINE = 64 };

typedef enum state {
    IDLE,
    OFFERED, /* by the leader, to the slot's helper */
    TAKEN,   /* by the helper, which sets IDLE when it is done */
    CLOSED,  /* the call ends */
} state;

/* What one helper looks at: its own cache line. */
typedef struct slot {
    _Alignas(CACHE_LINE) _Atomic(state) state;
    void (*task)(void *argument, int64_t index);
    void *argument;
} slot;

struct gops_ort_team {
    const ort_kernel_context *context;
    void (*lead)(void *argument);
    void *argument;
    int32_t size;                            /* slots */
    int32_t came;                            /* before the end */
    _Alignas(CACHE_LINE) atomic_int arrived; /* threads so far; the first leads */
    slot slots[];                            /* the leader's is not used */
};

size_t gops_ort_team_bytes(int32_t threads)
{
    return sizeof(gops_ort_team) + (size_t)threads * sizeof(slot);
}

/* Until a slot has another state than these two. Whoever waits long lets others run: the thread for
 * which it waits may be one of them. */
static state wait_while(slot *on, state one, state other)
{
    enum { LOOKS = 2000 }; /* some 50 us */
    for (int looks = 0;; looks++) {
        const state now = atomic_load_explicit(&on->state, memory_order_acquire);
        if (now != one && now != other) {
            return now;
        }
        if (looks >= LOOKS) {
            sched_yield();
            continue;
        }
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#endif
    }
}

static bool move(slot *of, state from, state to)
{
    return atomic_compare_exchange_strong_explicit(&of->state, &from, to, memory_order_acq_rel,
                                                   memory_order_acquire);
}

static void help(slot *mine, int64_t index)
{
    while (wait_while(mine, IDLE, IDLE) != CLOSED) {
        if (move(mine, OFFERED, TAKEN)) {
            mine->task(mine->argument, index);
            atomic_store_explicit(&mine->state, IDLE, memory_order_release);
        }
    }
}

static void lead(gops_ort_team *team)
{
    gops_ort_enter(team->context, team);
    team->lead(team->argument);
    gops_ort_leave();
    /* Those who come from now on see that they are too late. */
    const int arrived = atomic_exchange_explicit(&team->arrived, INT_MAX / 2, memory_order_acq_rel);
    team->came = arrived < team->size ? arrived : team->size;
    for (int i = 1; i < team->came; i++) {
        atomic_store_explicit(&team->slots[i].state, CLOSED, memory_order_release);
    }
}

static void join(void *argument, size_t index)
{
    gops_ort_team *team = argument;
    const int number = atomic_fetch_add_explicit(&team->arrived, 1, memory_order_acq_rel);
    (void)index;
    if (number == 0) {
        lead(team);
    } else if (number < team->size) {
        help(&team->slots[number], number);
    }
}

static gops_ort_team *gather(void *memory, int32_t threads, const ort_kernel_context *context,
                             void (*leads)(void *argument), void *argument)
{
    gops_ort_team *team = memory;
    team->context = context;
    team->lead = leads;
    team->argument = argument;
    team->size = threads;
    atomic_init(&team->arrived, 0);
    for (int i = 0; i < team->size; i++) {
        atomic_init(&team->slots[i].state, IDLE);
    }
    return team;
}

void gops_ort_team_run_alone(const ort_kernel_context *context, void (*leads)(void *argument),
                             void *argument, void *memory)
{
    lead(gather(memory, 1, context, leads, argument));
}

int32_t gops_ort_team_run(const gops_ort_runtime *runtime, const ort_kernel_context *context,
                          int32_t threads, void (*leads)(void *argument), void *argument,
                          void *memory)
{
    gops_ort_team *team = gather(memory, threads, context, leads, argument);
    ort_status *status =
        runtime->api->context_parallel_for(context, join, (size_t)team->size, 0, team);
    if (status != NULL) {
        runtime->api->release_status(status);
    }
    if (atomic_load_explicit(&team->arrived, memory_order_acquire) == 0) {
        lead(team);
    }
    return team->came;
}

void gops_ort_team_for(gops_ort_team *team, void (*task)(void *argument, int64_t index),
                       void *argument, int64_t count)
{
    const int64_t shared = count < team->size ? count : team->size; /* also by who comes late */
    for (int64_t i = 1; i < shared; i++) {
        slot *to = &team->slots[i];
        to->task = task;
        to->argument = argument;
        atomic_store_explicit(&to->state, OFFERED, memory_order_release);
    }
    task(argument, 0);
    for (int64_t i = 1; i < count; i++) {
        if (i >= shared || move(&team->slots[i], OFFERED, IDLE)) {
            task(argument, i);
        } else {
            wait_while(&team->slots[i], OFFERED, TAKEN);
        }
    }
}
