/* ort_region.c: makes the object that the runtime calls for a region, and runs it. */
#include "ort_region.h"

#include "ort_call.h"
#include "ort_layout.h"
#include "ort_pass.h"
#include "ort_quantized.h"
#include "ort_team.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct step {
    gops_plan *plan; /* NULL: a pass */
    gops_packed_filter *filter;
    float *made; /* scales, biases: what follows points into it */
    const float *scales, *biases;
    void *slopes;
    size_t workspace_bytes;
    gops_ort_pass pass;
    int32_t threads; /* that it is worth */
    gops_ort_view data, other, output;
    bool has_other;
} step;

typedef struct region {
    ort_compute_info base; /* first: the runtime's pointer to it is one to this */
    gops_ort_runtime *runtime;
    step *steps;
    size_t step_count;
    gops_tensor *inputs, *outputs; /* their shapes */
    size_t input_count, output_count;
    size_t scratch_bytes, workspace_bytes, team_bytes; /* no team: 0 */
    char name[GOPS_ORT_NAME_BYTES];
} region;

static int64_t elements(const gops_tensor *tensor, int32_t from)
{
    int64_t count = 1;
    for (int32_t i = from; i < tensor->rank; i++) {
        count *= tensor->dims[i];
    }
    return count;
}

/* How many threads the work of a step is worth: handing some of it to another takes as long as a core
 * takes for half of this, to a thread of a team less. */
static int32_t worth_threads(const region *self, double flops, double bytes)
{
    const double worth_ns = self->runtime->may_spin ? 1500 : 8000;
    const double flops_a_ns = 60, bytes_a_ns = 30;
    const double parts = (flops / flops_a_ns + bytes / bytes_a_ns) / worth_ns;
    const int32_t most = gops_ort_processors();
    return parts >= most ? most : 1 + (int32_t)parts;
}

static ort_status *no_memory(const region *self)
{
    return gops_ort_fail(self->runtime, ORT_FAIL, "groupops, node \"%s\": no memory", self->name);
}

static gops_status create_plan(const region *self, const gops_ort_member *member, step *made,
                               gops_error *error)
{
    const gops_ort_operation *operation = &member->claim.operation;
    const gops_host host = gops_ort_host(self->runtime);
    gops_options options = gops_ort_options(self->runtime, operation, &host);
    const double data = (double)elements(&member->data, 0);
    const double output = (double)elements(&member->output, 0);
    const double weights = (double)elements(&member->filter, 0);
    const double macs =
        operation->kind == GOPS_ORT_CONV
            ? output * weights / (double)gops_ort_channels(operation, &member->filter)
        : operation->kind == GOPS_ORT_DECONV ? data * weights / (double)member->data.dims[1]
                                             : 0;
    made->threads = worth_threads(self, 2 * macs, 4 * (data + output + weights));
    options.threads = made->threads;
    switch (operation->kind) {
    case GOPS_ORT_CONV:
        return gops_conv_plan_create(&member->data, &member->filter, &operation->conv, &options,
                                     &made->plan, error);
    case GOPS_ORT_DECONV:
        return gops_deconv_plan_create(&member->data, &member->filter, &operation->deconv, &options,
                                       &made->plan, error);
    default:
        return gops_norm_plan_create(&member->data, &member->filter, &member->filter,
                                     &operation->norm, &options, &made->plan, error);
    }
}

/* Keeps the constants that a call reads: biases, and a normalization's scales. Weights are packed. */
static bool keep_constants(gops_ort_member *member, step *made)
{
    made->biases = member->biases;
    if (member->claim.operation.kind == GOPS_ORT_NORM) {
        made->scales = made->made = member->made;
        member->made = NULL;
    } else if (member->biases != NULL) {
        const size_t bytes =
            (size_t)gops_ort_channels(&member->claim.operation, &member->filter) * sizeof(float);
        made->biases = made->made = malloc(bytes);
        if (made->made == NULL) {
            return false;
        }
        memcpy(made->made, member->biases, bytes);
    }
    return true;
}

static ort_status *make_plan(region *self, gops_ort_member *member, step *made)
{
    gops_plan_info info = {.size = sizeof info};
    gops_ort_operation folded = member->claim.operation;
    const int32_t *bias;
    gops_error error;
    gops_status status = create_plan(self, member, made, &error);
    if (status == GOPS_OK) {
        status = gops_plan_get_info(made->plan, &info, &error);
    }
    if (status == GOPS_OK && member->claim.operation.kind != GOPS_ORT_NORM) {
        status = gops_filter_create(made->plan, member->weights, NULL, &made->filter, &error);
    }
    if (status != GOPS_OK) {
        return gops_ort_refused(self->runtime, member->claim.nodes[0]->name, &error);
    }
    made->workspace_bytes = info.workspace_bytes;
    if (!gops_ort_fold(&member->claim, &folded, &made->slopes, &bias) ||
        !keep_constants(member, made)) {
        return no_memory(self);
    }
    return NULL;
}

static void make_pass(const region *self, const gops_ort_placed_step *placed, step *made)
{
    gops_ort_member *member = placed->member;
    const bool shuffles = member->kind == GOPS_ORT_SHUFFLE;
    const bool copies =
        member->kind == GOPS_ORT_CONCAT || member->kind == GOPS_ORT_SLICE || shuffles;
    const gops_tensor *data = copies ? &placed->data : &member->data;
    gops_ort_pass *pass = &made->pass;
    *pass = (gops_ort_pass){
        .images = data->dims[0], .channels = data->dims[1], .plane = elements(data, 2)};
    if (copies) {
        pass->kind = GOPS_ORT_PASS_COPY;
        pass->step = shuffles ? member->groups : 1;
    } else if (member->kind == GOPS_ORT_GLOBAL_AVERAGE) {
        pass->kind = GOPS_ORT_PASS_AVERAGE;
    } else if (member->kind == GOPS_ORT_PRODUCT) {
        pass->kind = member->is_gate ? GOPS_ORT_PASS_SCALE : GOPS_ORT_PASS_PRODUCT;
    } else if (member->kind == GOPS_ORT_MAX_POOL) {
        pass->kind = GOPS_ORT_PASS_MAX;
        pass->window = member->window;
        for (int i = 0; i < GOPS_ORT_WINDOW_AXES; i++) {
            pass->in[i] = data->dims[2 + i];
            pass->out[i] = member->output.dims[2 + i];
        }
    } else {
        pass->kind =
            member->kind == GOPS_ORT_CHANNEL_NORM ? GOPS_ORT_PASS_NORM : GOPS_ORT_PASS_AFFINE;
        pass->epsilon = (float)member->claim.operation.norm.epsilon;
        pass->relu = member->claim.operation.activation.kind == GOPS_ACTIVATION_RELU;
        pass->factors = member->weights;
        pass->summands = member->biases;
        made->made = member->made;
        member->made = NULL;
    }
    made->threads = worth_threads(self, 0, 8 * (double)elements(data, 0));
}

static ort_status *make_step(region *self, const gops_ort_placed_step *placed, step *made)
{
    gops_ort_member *member = placed->member;
    made->data = placed->inputs[0];
    made->other = placed->inputs[1];
    made->output = placed->output;
    made->has_other = (member->kind == GOPS_ORT_PLAN || member->kind == GOPS_ORT_PRODUCT) &&
                      member->input_count == 2;
    if (member->kind == GOPS_ORT_PLAN && !member->is_affine) {
        return make_plan(self, member, made);
    }
    make_pass(self, placed, made);
    return NULL;
}

static size_t round_up(size_t bytes)
{
    return (bytes + GOPS_WORKSPACE_ALIGNMENT - 1) / GOPS_WORKSPACE_ALIGNMENT *
           GOPS_WORKSPACE_ALIGNMENT;
}

/* One step of a call; the views' bases are those of the call. */
typedef struct running {
    const step *of;
    gops_ort_pass_operands operands;
} running;

static running start(const step *of, float *const *bases)
{
    return (running){of,
                     {.data = bases[of->data.base] + of->data.at,
                      .other = of->has_other ? bases[of->other.base] + of->other.at : NULL,
                      .output = bases[of->output.base] + of->output.at,
                      .data_stride = of->data.stride,
                      .other_stride = of->other.stride,
                      .output_stride = of->output.stride}};
}

static void run_part(void *argument, int64_t index)
{
    const running *now = argument;
    const gops_ort_pass *pass = &now->of->pass;
    const int64_t units = gops_ort_pass_units(pass), parts = now->of->threads;
    gops_ort_pass_run(pass, &now->operands, units * index / parts, units * (index + 1) / parts);
}

static ort_status *run_pass(const region *self, running *now)
{
    if (now->of->threads == 1) {
        run_part(now, 0);
        return NULL;
    }
    const gops_host host = gops_ort_host(self->runtime);
    return host.parallel_for(host.context, run_part, now, now->of->threads) == 0
               ? NULL
               : gops_ort_fail(self->runtime, ORT_FAIL, "groupops, node \"%s\": was not run",
                               self->name);
}

static ort_status *run_plan(const region *self, const running *now, void *workspace)
{
    const gops_arguments arguments = {
        .size = sizeof arguments,
        .data = now->operands.data,
        .filter = now->of->filter,
        .scale = now->of->scales,
        .bias = now->of->biases,
        .output = now->operands.output,
        .residual = now->operands.other,
        .workspace = workspace,
        .workspace_bytes = self->workspace_bytes,
        .data_stride = now->operands.data_stride,
        .output_stride = now->operands.output_stride,
        .residual_stride = now->operands.other_stride,
        .slopes = now->of->slopes,
    };
    gops_error error;
    return gops_execute(now->of->plan, &arguments, &error) == GOPS_OK
               ? NULL
               : gops_ort_refused(self->runtime, self->name, &error);
}

/* One call, for who leads a team. */
typedef struct call {
    const region *self;
    float *const *bases;
    void *workspace;
    ort_status *status;
} call;

static void run_steps(void *argument)
{
    call *of = argument;
    const region *self = of->self;
    for (size_t i = 0; i < self->step_count && of->status == NULL; i++) {
        running now = start(&self->steps[i], of->bases);
        of->status = self->steps[i].plan != NULL ? run_plan(self, &now, of->workspace)
                                                 : run_pass(self, &now);
    }
}

static ort_status *find_bases(const region *self, ort_kernel_context *context, float **bases)
{
    const ort_api *api = self->runtime->api;
    ort_status *status = NULL;
    for (size_t i = 0; i < self->input_count && status == NULL; i++) {
        const ort_value *value = NULL;
        gops_ort_input input;
        status = api->context_input(context, i, &value);
        if (status == NULL && value != NULL) {
            status = gops_ort_read_value(self->runtime, value, &input);
        }
        if (status == NULL && (value == NULL || input.tensor.type != GOPS_F32 ||
                               !gops_ort_same_shape(&input.tensor, &self->inputs[i]))) {
            status = gops_ort_fail(self->runtime, ORT_INVALID_ARGUMENT,
                                   "groupops, node \"%s\": input %zu has another shape than the "
                                   "model says",
                                   self->name, i);
        }
        bases[1 + i] = status == NULL ? (float *)(uintptr_t)input.data : NULL;
    }
    for (size_t i = 0; i < self->output_count && status == NULL; i++) {
        const gops_tensor *tensor = &self->outputs[i];
        ort_value *value = NULL;
        void *data = NULL;
        status = api->context_output(context, i, tensor->dims, (size_t)tensor->rank, &value);
        if (status == NULL) {
            status = api->get_tensor_data(value, &data);
        }
        bases[1 + self->input_count + i] = data;
    }
    return status;
}

static ort_status *region_call(ort_compute_info *info, void *state, ort_kernel_context *context)
{
    const region *self = (const region *)(const void *)info;
    const gops_host host = gops_ort_host(self->runtime);
    const size_t head =
        self->team_bytes + round_up((1 + self->input_count + self->output_count) * sizeof(float *));
    (void)state;
    gops_ort_enter(context, NULL);
    unsigned char *memory =
        host.allocate(host.context, head + self->scratch_bytes + self->workspace_bytes + 1,
                      GOPS_WORKSPACE_ALIGNMENT);
    ort_status *status = NULL;
    if (memory == NULL) {
        status = no_memory(self);
    } else {
        float **bases = (float **)(void *)(memory + self->team_bytes);
        bases[GOPS_ORT_SCRATCH] = (float *)(void *)(memory + head);
        status = find_bases(self, context, bases);
        call now = {self, bases, memory + head + self->scratch_bytes, status};
        if (self->team_bytes > 0 && status == NULL) {
            gops_ort_team_run(self->runtime, context, run_steps, &now, memory);
            gops_ort_enter(context, NULL);
        } else {
            run_steps(&now);
        }
        status = now.status;
        host.release(host.context, memory);
    }
    gops_ort_leave();
    return status;
}

/* The state is the compute info itself: the runtime makes one for each claim and session. */
static ort_status *create_state(ort_compute_info *info, ort_compute_context *context, void **state)
{
    (void)context;
    *state = info;
    return NULL;
}

static void release_state(ort_compute_info *info, void *state)
{
    (void)info;
    (void)state;
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
    self->scratch_bytes = round_up((size_t)layout->scratch * sizeof(float));
    ort_status *status = NULL;
    for (size_t i = 0; i < layout->step_count && status == NULL; i++) {
        status = make_step(self, &layout->steps[i], &self->steps[i]);
        self->step_count++;
        if (self->steps[i].threads > 1 && self->runtime->may_spin) {
            self->team_bytes = round_up(gops_ort_team_bytes());
        }
        if (self->workspace_bytes < self->steps[i].workspace_bytes) {
            self->workspace_bytes = self->steps[i].workspace_bytes;
        }
    }
    return status;
}

ort_status *gops_ort_region_create(gops_ort_runtime *runtime, const gops_ort_members *members,
                                   const gops_ort_interface *interface, ort_compute_info **info)
{
    gops_ort_layout layout;
    region *self = calloc(1, sizeof *self);
    if (self == NULL) {
        return gops_ort_fail(runtime, ORT_FAIL, "groupops: no memory for a node");
    }
    self->base = (ort_compute_info){ORT_VERSION_PLUGINS, create_state, region_call, release_state};
    self->runtime = runtime;
    snprintf(self->name, sizeof self->name, "%s", members->items[0]->claim.nodes[0]->name);
    ort_status *status = gops_ort_layout_make(runtime, members, interface, &layout);
    if (status == NULL) {
        status = fill(self, interface, &layout);
        gops_ort_layout_free(&layout);
    }
    if (status != NULL) {
        gops_ort_region_destroy(&self->base);
        return status;
    }
    *info = &self->base;
    return NULL;
}

bool gops_ort_is_region(const ort_compute_info *info)
{
    return info != NULL && info->compute == region_call;
}

void gops_ort_region_destroy(ort_compute_info *info)
{
    region *self = (region *)(void *)info;
    for (size_t i = 0; i < self->step_count; i++) {
        gops_filter_destroy(self->steps[i].filter);
        gops_plan_destroy(self->steps[i].plan);
        free(self->steps[i].made);
        free(self->steps[i].slopes);
    }
    free(self->steps);
    free(self->inputs);
    free(self->outputs);
    free(self);
}
