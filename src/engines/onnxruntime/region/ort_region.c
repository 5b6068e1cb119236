/* ort_region.c: makes the object that the runtime calls for a region, and runs it. */
#include "engines/onnxruntime/region/ort_region.h"

#include "engines/onnxruntime/call/ort_call.h"
#include "engines/onnxruntime/region/ort_chunked_step.h"
#include "engines/onnxruntime/region/ort_layout.h"
#include "engines/onnxruntime/region/ort_step.h"
#include "engines/onnxruntime/runtime/ort_team.h"

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
    bool is_open;         /* shapes are those of one image of as many as a call brings */
    gops_ort_store store; /* plans and packed weights; empty if these are few */
    size_t scratch_bytes, workspace_bytes; /* of steps without chunks */
    size_t thread_bytes;                   /* for chunks, behind the workspace */
    /* Threads; no team: 0. To ask the system at each call took 12 to 95 us (Intel Xeon). */
    int32_t team;
    char name[GOPS_ORT_NAME_BYTES];
} region;

static ort_status *no_memory(const region *self)
{
    return gops_ort_fail(self->runtime, ORT_FAIL, "groupops, node \"%s\": no memory", self->name);
}

/* One call, for who leads a team. */
typedef struct call {
    const region *self;
    unsigned char **bases;
    unsigned char *workspace;
    int64_t images;
    ort_status *status;
} call;

static void run_steps(call *of)
{
    const region *self = of->self;
    for (size_t i = 0; i < self->step_count && of->status == NULL; i++) {
        const gops_ort_step *step = &self->steps[i];
        of->status =
            step->chunks != NULL
                ? gops_ort_chunked_step_run(self->runtime, self->name, step, of->bases,
                                            of->workspace + self->workspace_bytes,
                                            self->thread_bytes)
                : gops_ort_step_run(self->runtime, self->name, step, of->bases, of->workspace);
    }
}

/* Moves what the runtime passed to the next image. */
static void go_on(const call *of)
{
    const region *self = of->self;
    for (size_t i = 0; i < self->input_count; i++) {
        of->bases[1 + i] += gops_ort_bytes(&self->inputs[i], 0);
    }
    for (size_t i = 0; i < self->output_count; i++) {
        of->bases[1 + self->input_count + i] += gops_ort_bytes(&self->outputs[i], 0);
    }
}

static void run_images(void *argument)
{
    call *of = argument;
    for (int64_t i = 0; i < of->images && of->status == NULL; i++) {
        run_steps(of);
        go_on(of);
    }
}

/* What an input must be: of the model's shape. The first one of an open region tells how many images all have. */
static ort_status *check_input(const region *self, size_t number, const gops_tensor *input,
                               int64_t *images)
{
    gops_tensor expected = self->inputs[number];
    if (self->is_open && input->rank > 0) {
        *images = number == 0 ? input->dims[0] : *images;
        expected.dims[0] = *images;
    }
    if (input->type == expected.type && gops_ort_same_shape(input, &expected)) {
        return NULL;
    }
    return gops_ort_fail(self->runtime, ORT_INVALID_ARGUMENT,
                         "groupops, node \"%s\": input %zu is %s; %s says %s", self->name, number,
                         gops_ort_name_tensor(input).text,
                         self->is_open && number > 0 ? "the model, by input 0," : "the model",
                         gops_ort_name_tensor(&expected).text);
}

static ort_status *find_bases(const region *self, ort_kernel_context *context,
                              unsigned char **bases, int64_t *images)
{
    ort_status *status = NULL;
    for (size_t i = 0; i < self->input_count && status == NULL; i++) {
        gops_ort_input input = {.data = NULL};
        status = gops_ort_read_input(self->runtime, self->name, context, i, &input);
        if (status == NULL) {
            status = check_input(self, i, &input.tensor, images);
        }
        bases[1 + i] = status == NULL ? (unsigned char *)(uintptr_t)input.data : NULL;
    }
    for (size_t i = 0; i < self->output_count && status == NULL; i++) {
        gops_tensor tensor = self->outputs[i];
        void *data = NULL;
        tensor.dims[0] = self->is_open ? *images : tensor.dims[0];
        status = gops_ort_make_output(self->runtime, self->name, context, i, &tensor, &data);
        bases[1 + self->input_count + i] = data;
    }
    return status;
}

static ort_status *region_call(ort_compute_info *info, void *state, ort_kernel_context *context)
{
    const region *self = (const region *)(const void *)info;
    const gops_host host = gops_ort_host(self->runtime);
    const size_t team_bytes =
        self->team > 0 ? gops_ort_round_up(gops_ort_team_bytes(self->team)) : 0;
    const size_t head =
        team_bytes +
        gops_ort_round_up((1 + self->input_count + self->output_count) * sizeof(void *));
    (void)state;
    gops_ort_enter(context, NULL);
    unsigned char *memory =
        host.allocate(host.context,
                      head + self->scratch_bytes + self->workspace_bytes +
                          self->thread_bytes * (size_t)gops_ort_processors() + 1,
                      GOPS_WORKSPACE_ALIGNMENT);
    ort_status *status = NULL;
    if (memory == NULL) {
        status = no_memory(self);
    } else {
        unsigned char **bases = (unsigned char **)(void *)(memory + team_bytes);
        bases[GOPS_ORT_SCRATCH] = memory + head;
        call now = {self, bases, memory + head + self->scratch_bytes, 1, NULL};
        now.status = find_bases(self, context, bases, &now.images);
        if (self->team > 0 && now.status == NULL) {
            gops_ort_team_run(self->runtime, context, self->team, run_images, &now, memory);
            gops_ort_enter(context, NULL);
        } else {
            run_images(&now);
        }
        status = now.status;
        host.release(host.context, memory);
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
    self->is_open = interface->is_open;
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
        if (member->kind == GOPS_ORT_PLAN && !member->is_affine) {
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
