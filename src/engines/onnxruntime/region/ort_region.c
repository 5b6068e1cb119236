/* ort_region.c: makes the object that the runtime calls for a region, and runs it. */
#include "engines/onnxruntime/region/ort_region.h"

#include "engines/onnxruntime/call/ort_call.h"
#include "engines/onnxruntime/region/ort_chunked_step.h"
#include "engines/onnxruntime/region/ort_layout.h"
#include "engines/onnxruntime/region/ort_step.h"
#include "engines/onnxruntime/runtime/ort_team.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct region {
    gops_ort_callee base; /* first: the runtime's pointer to it is one to this */
    gops_ort_runtime *runtime;
    gops_ort_step *steps;
    size_t step_count;
    gops_tensor *inputs, *outputs; /* their shapes */
    size_t input_count, output_count;
    gops_ort_store store;                  /* plans and packed weights; empty if these are few */
    size_t scratch_bytes, workspace_bytes; /* of steps without chunks */
    size_t thread_bytes;                   /* for chunks, behind the workspace */
    /* Threads; no team: 0. To ask the system at each call took 12 to 95 us (Intel Xeon). */
    int32_t team;
    /* How often a team was gathered, and the most threads that came. */
    _Atomic int32_t gathered, came;
    char name[GOPS_ORT_NAME_BYTES];
} region;

static ort_status *no_memory(const region *self)
{
    return gops_ort_fail(self->runtime, ORT_FAIL, "groupops, node \"%s\": no memory", self->name);
}

/* One call. */
typedef struct call {
    region *self;
    ort_kernel_context *context;
    unsigned char **bases; /* as the runtime passed them, of the first image */
    int64_t images, end;   /* all; behind those that may be taken now */
    atomic_llong next;     /* to be taken */
    _Atomic(ort_status *) failed;
} call;

/* A share of a call, for who leads a team. */
typedef struct share {
    call *of;
    unsigned char **bases; /* of the image that it computes */
    unsigned char *workspace;
} share;

static size_t count_bases(const region *self)
{
    return 1 + self->input_count + self->output_count;
}

/* What a share takes that so many threads compute: their team, the bases, scratch memory, workspace, their own. */
static size_t share_bytes(const region *self, int32_t threads)
{
    return gops_ort_round_up(gops_ort_team_bytes(threads)) +
           gops_ort_round_up(count_bases(self) * sizeof(void *)) + self->scratch_bytes +
           self->workspace_bytes + self->thread_bytes * (size_t)threads;
}

static share make_share(call *of, int32_t threads, unsigned char *memory)
{
    const region *self = of->self;
    unsigned char *bases = memory + gops_ort_round_up(gops_ort_team_bytes(threads));
    unsigned char *scratch = bases + gops_ort_round_up(count_bases(self) * sizeof(void *));
    share made = {of, (unsigned char **)(void *)bases, scratch + self->scratch_bytes};
    made.bases[GOPS_ORT_SCRATCH] = scratch;
    return made;
}

static ort_status *run_steps(const share *of)
{
    const region *self = of->of->self;
    ort_status *status = NULL;
    for (size_t i = 0; i < self->step_count && status == NULL; i++) {
        const gops_ort_step *step = &self->steps[i];
        status = step->chunks != NULL
                     ? gops_ort_chunked_step_run(self->runtime, self->name, step, of->bases,
                                                 of->workspace + self->workspace_bytes,
                                                 self->thread_bytes)
                     : gops_ort_step_run(self->runtime, self->name, step, of->bases, of->workspace);
    }
    return status;
}

static ort_status *run_image(const share *of, int64_t image)
{
    const region *self = of->of->self;
    unsigned char *const *first = of->of->bases + 1;
    unsigned char **own = of->bases + 1;
    for (size_t i = 0; i < self->input_count; i++) {
        *own++ = *first++ + image * gops_ort_bytes(&self->inputs[i], 0);
    }
    for (size_t i = 0; i < self->output_count; i++) {
        *own++ = *first++ + image * gops_ort_bytes(&self->outputs[i], 0);
    }
    return run_steps(of);
}

static void run_images(void *argument)
{
    share *of = argument;
    call *whole = of->of;
    ort_status *status = NULL;
    int64_t image;
    while (status == NULL && (image = atomic_fetch_add_explicit(
                                  &whole->next, 1, memory_order_relaxed)) < whole->end) {
        status = run_image(of, image);
    }
    gops_ort_keep_status(whole->self->runtime, &whole->failed, status);
}

/* The threads of the session, which the runtime does not tell: as many as come when a team is gathered, once that has
 * been so often enough that all were awake; before, one for each processor. */
static int32_t count_threads(const region *self)
{
    enum { ENOUGH = 16 };
    const int32_t came = atomic_load_explicit(&self->came, memory_order_relaxed);
    const bool enough = atomic_load_explicit(&self->gathered, memory_order_relaxed) >= ENOUGH;
    return enough && came > 1 ? came : gops_ort_processors();
}

static void note_team(region *self, int32_t came)
{
    int32_t most = atomic_load_explicit(&self->came, memory_order_relaxed);
    while (most < came &&
           !atomic_compare_exchange_weak_explicit(&self->came, &most, came, memory_order_relaxed,
                                                  memory_order_relaxed)) {
    }
    if (atomic_load_explicit(&self->gathered, memory_order_relaxed) < INT32_MAX / 2) {
        atomic_fetch_add_explicit(&self->gathered, 1, memory_order_relaxed);
    }
}

/* Computes images with so many threads, in memory of its own. The thread has entered the call. */
static void run_share(call *of, int32_t threads)
{
    region *self = of->self;
    const gops_host host = gops_ort_host(self->runtime);
    unsigned char *memory =
        host.allocate(host.context, share_bytes(self, threads), GOPS_WORKSPACE_ALIGNMENT);
    if (memory == NULL) {
        gops_ort_keep_status(self->runtime, &of->failed, no_memory(self));
        return;
    }
    share made = make_share(of, threads, memory);
    if (threads == 1) {
        gops_ort_team_run_alone(of->context, run_images, &made, memory);
        gops_ort_enter(of->context, NULL);
    } else if (self->team > 0) {
        note_team(self, gops_ort_team_run(self->runtime, of->context, self->team, run_images, &made,
                                          memory));
        gops_ort_enter(of->context, NULL);
    } else {
        run_images(&made);
    }
    host.release(host.context, memory);
}

/* A thread computes images of its own; one that comes when all are taken needs no memory. */
static void run_apart(void *argument, int64_t index)
{
    call *of = argument;
    (void)index;
    if (atomic_load_explicit(&of->next, memory_order_relaxed) < of->end) {
        gops_ort_enter(of->context, NULL);
        run_share(of, 1);
        gops_ort_leave();
    }
}

/* As many images for each thread as there are, then those that are left, of which all threads compute one together.
 * What threads compute apart they do not wait for, and each finds it in its own cache. */
static ort_status *run_call(call *of)
{
    region *self = of->self;
    const int32_t processors = gops_ort_processors(), threads = count_threads(self);
    const int64_t apart = threads > 1 ? of->images - of->images % threads : 0;
    of->end = apart;
    if (apart > 0) {
        ort_status *status =
            gops_ort_parallel_for(self->runtime, self->name, run_apart, of, processors);
        gops_ort_keep_status(self->runtime, &of->failed, status);
        gops_ort_enter(of->context, NULL);
    }
    if (apart < of->images && atomic_load(&of->failed) == NULL) {
        atomic_store(&of->next, apart);
        of->end = of->images;
        run_share(of, processors);
    }
    return atomic_load(&of->failed);
}

/* What an input must be: of the model's shape. The first one tells how many images all have; of none there is nothing
 * to read, and some of the runtime's kernels make other shapes of it than usual. */
static ort_status *check_input(const region *self, size_t number, const gops_tensor *input,
                               int64_t *images)
{
    gops_tensor expected = self->inputs[number];
    if (input->rank > 0) {
        *images = number == 0 ? input->dims[0] : *images;
        expected.dims[0] = *images;
    }
    const bool none =
        *images == 0 && input->rank > 0 && input->rank == expected.rank && input->dims[0] == 0;
    if (input->type == expected.type && (none || gops_ort_same_shape(input, &expected))) {
        return NULL;
    }
    return gops_ort_fail(
        self->runtime, ORT_INVALID_ARGUMENT, "groupops, node \"%s\": input %zu is %s; %s says %s",
        self->name, number, gops_ort_name_tensor(input).text,
        number > 0 ? "the model, by input 0," : "the model", gops_ort_name_tensor(&expected).text);
}

static ort_status *find_bases(call *of)
{
    const region *self = of->self;
    unsigned char **base = of->bases + 1;
    ort_status *status = NULL;
    for (size_t i = 0; i < self->input_count && status == NULL; i++) {
        gops_ort_input input = {.data = NULL};
        status = gops_ort_read_input(self->runtime, self->name, of->context, i, &input);
        if (status == NULL) {
            status = check_input(self, i, &input.tensor, &of->images);
        }
        *base++ = status == NULL ? (unsigned char *)(uintptr_t)input.data : NULL;
    }
    for (size_t i = 0; i < self->output_count && status == NULL; i++) {
        gops_tensor tensor = self->outputs[i];
        void *data = NULL;
        tensor.dims[0] = of->images;
        status = gops_ort_make_output(self->runtime, self->name, of->context, i, &tensor, &data);
        *base++ = data;
    }
    return status;
}

static ort_status *region_call(ort_compute_info *info, void *state, ort_kernel_context *context)
{
    region *self = (region *)info;
    const gops_host host = gops_ort_host(self->runtime);
    (void)state;
    gops_ort_enter(context, NULL);
    call now = {.self = self, .context = context, .images = 1};
    now.bases = host.allocate(host.context, count_bases(self) * sizeof *now.bases,
                              GOPS_WORKSPACE_ALIGNMENT);
    ort_status *status = now.bases == NULL ? no_memory(self) : find_bases(&now);
    if (status == NULL) {
        status = run_call(&now);
    }
    if (now.bases != NULL) {
        host.release(host.context, now.bases);
    }
    gops_ort_leave();
    return status;
}

static ort_status *fill(region *self, const gops_ort_interface *interface, gops_ort_layout *layout)
{
    self->inputs = calloc(interface->input_count + 1, sizeof *self->inputs);
    self->steps = calloc(layout->step_count + 1, sizeof *self->steps);
    if (self->inputs == NULL || self->steps == NULL) {
        return no_memory(self);
    }
    memcpy(self->inputs, interface->input_tensors, interface->input_count * sizeof *self->inputs);
    self->outputs = layout->output_tensors;
    layout->output_tensors = NULL;
    self->input_count = interface->input_count;
    self->output_count = interface->output_count;
    self->scratch_bytes = gops_ort_round_up((size_t)layout->scratch_bytes);
    ort_status *status = NULL;
    for (size_t i = 0; i < layout->step_count && status == NULL; i++) {
        const gops_ort_placed_step *placed = &layout->steps[i];
        status =
            placed->second != NULL
                ? gops_ort_chunked_step_make(self->runtime, placed, &self->steps[i])
                : gops_ort_step_make(self->runtime, placed, gops_ort_processors(), &self->steps[i]);
        self->step_count++;
        if (self->steps[i].threads > 1 && self->runtime->may_spin) {
            self->team = gops_ort_processors();
        }
        const size_t bytes = gops_ort_round_up(self->steps[i].workspace_bytes);
        size_t *most = placed->second != NULL ? &self->thread_bytes : &self->workspace_bytes;
        *most = *most < bytes ? bytes : *most;
    }
    return status;
}

/* Makes room for the weights of all steps in one piece, for which there are huge pages: each call reads them once,
 * mostly from memory, and with pages of 4 KB waits to look these up. */
static void make_store(region *self, const gops_ort_members *members)
{
    enum {
        STEP_BYTES = 16 << 10, /* for a plan, and what its kernels pad */
        WIDENED = 2            /* without VNNI 8 bits are packed as 16 */
    };
    const gops_host host = gops_ort_host(self->runtime);
    size_t bytes = 0;
    for (size_t i = 0; i < members->count; i++) {
        const gops_ort_member *member = members->items[i];
        if (gops_ort_has_plan(member)) {
            const size_t widened = gops_ort_is_quantized(&member->claim.operation) ? WIDENED : 1;
            bytes += (size_t)gops_ort_bytes(&member->filter, 0) * widened + STEP_BYTES;
        }
    }
    bytes += bytes / 8;
    if (bytes >= GOPS_ORT_HUGE_FROM) {
        self->store.memory = host.allocate(host.context, bytes, GOPS_WORKSPACE_ALIGNMENT);
        self->store.next = self->store.memory;
        self->store.end = self->store.memory != NULL ? self->store.memory + bytes : NULL;
    }
}

static void destroy(ort_compute_info *info)
{
    region *self = (region *)(void *)info;
    for (size_t i = 0; i < self->step_count; i++) {
        gops_ort_chunks_free(self->steps[i].chunks);
        gops_ort_step_free(&self->steps[i]);
    }
    if (self->store.memory != NULL) {
        const gops_host host = gops_ort_host(self->runtime);
        host.release(host.context, self->store.memory);
    }
    free(self->steps);
    free(self->inputs);
    free(self->outputs);
    free(self);
}

ort_status *gops_ort_region_create(gops_ort_runtime *runtime, const gops_ort_members *members,
                                   const gops_ort_interface *interface, ort_compute_info **info)
{
    gops_ort_layout layout;
    region *self = calloc(1, sizeof *self);
    if (self == NULL) {
        return gops_ort_no_memory(runtime, "a node");
    }
    self->base = gops_ort_make_callee(region_call, destroy);
    self->runtime = runtime;
    snprintf(self->name, sizeof self->name, "%s", members->items[0]->claim.nodes[0]->name);
    ort_status *status = gops_ort_layout_make(runtime, members, interface, &layout);
    if (status == NULL) {
        make_store(self, members);
        gops_ort_store_open(&self->store);
        status = fill(self, interface, &layout);
        gops_ort_store_close();
        gops_ort_layout_free(&layout);
    }
    if (status != NULL) {
        destroy(&self->base.info);
        return status;
    }
    *info = &self->base.info;
    return NULL;
}
