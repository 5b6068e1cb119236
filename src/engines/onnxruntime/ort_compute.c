/* ort_compute.c: executes the calls of a claim. */
#include "ort_compute.h"

#include "ort_empty.h"
#include "ort_plans.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NOT_GIVEN = -1, NAME_BYTES = 96 };

typedef struct compute {
    ort_compute_info base;     /* first: the runtime's pointer to it is one to this */
    gops_ort_runtime *runtime; /* of the session */
    gops_ort_operation operation;
    int position[GOPS_ORT_INPUTS]; /* of each input among those of the call; NOT_GIVEN */
    bool constant;                 /* the weights never change */
    gops_ort_plans plans;
    char name[NAME_BYTES];
} compute;

typedef struct input {
    gops_tensor tensor;
    const void *data;
} input;

static ort_status *refuse(const compute *self, const gops_error *error)
{
    return gops_ort_refused(self->runtime, self->name, error);
}

static ort_status *refuse_shape(const compute *self, const char *what)
{
    return gops_ort_fail(self->runtime, ORT_INVALID_ARGUMENT, "groupops, node \"%s\": %s",
                         self->name, what);
}

static ort_status *read_value(const gops_ort_runtime *runtime, const ort_value *value, input *read)
{
    void *data = NULL;
    ort_status *status = gops_ort_describe(runtime, value, &read->tensor);
    if (status == NULL) {
        /* get_tensor_data lacks a const: it serves values that are written too. */
        status = runtime->api->get_tensor_data((ort_value *)(uintptr_t)value, &data);
    }
    read->data = data;
    return status;
}

static ort_status *read_inputs(const compute *self, const ort_kernel_context *context,
                               input *inputs)
{
    for (int i = 0; i < GOPS_ORT_INPUTS; i++) {
        const ort_value *value = NULL;
        inputs[i] = (input){.data = NULL};
        if (self->position[i] == NOT_GIVEN) {
            continue;
        }
        ort_status *status =
            self->runtime->api->context_input(context, (size_t)self->position[i], &value);
        if (status == NULL && value == NULL) {
            status = refuse_shape(self, "an input is missing");
        }
        if (status == NULL) {
            status = read_value(self->runtime, value, &inputs[i]);
        }
        if (status != NULL) {
            return status;
        }
        if (inputs[i].tensor.type != self->operation.type) {
            return refuse_shape(self, "the inputs differ in type");
        }
    }
    return NULL;
}

static bool holds(const gops_tensor *tensor, int64_t count)
{
    return tensor->rank == 1 && tensor->dims[0] == count;
}

/* The filter, or the scale of a normalization, as the library describes it. */
static ort_status *describe_weights(const compute *self, const input *inputs, gops_tensor *filter)
{
    const gops_ort_operation *operation = &self->operation;
    const gops_tensor *data = &inputs[GOPS_ORT_DATA].tensor;
    const gops_tensor *weights = &inputs[GOPS_ORT_FILTER].tensor;
    const gops_tensor *bias = &inputs[GOPS_ORT_BIAS].tensor;
    const bool has_bias = self->position[GOPS_ORT_BIAS] != NOT_GIVEN;
    if (operation->kind != GOPS_ORT_NORM) {
        if (!gops_ort_filter_tensor(operation, weights, filter)) {
            return refuse_shape(self, "W does not fit group and kernel_shape");
        }
        const int64_t channels =
            filter->dims[0] * filter->dims[operation->kind == GOPS_ORT_CONV ? 1 : 2];
        return !has_bias || holds(bias, channels)
                   ? NULL
                   : refuse_shape(self, "B has not one value for each output channel");
    }
    const int64_t channels = data->rank >= 2 ? data->dims[1] : 0;
    const int64_t count = operation->scale_of_groups ? operation->norm.num_groups : channels;
    /* A single value is allowed, because the runtime's own provider broadcasts it. */
    if ((!holds(weights, count) && !holds(weights, 1)) ||
        (!holds(bias, count) && !holds(bias, 1))) {
        return refuse_shape(self, operation->scale_of_groups
                                      ? "scale and bias must have one value for each group"
                                      : "scale and bias must have one value for each channel");
    }
    *filter = (gops_tensor){data->type, 1, {channels}};
    return NULL;
}

/* Gives each channel the value of its group, or the only value. */
static void broadcast_values(const input *values, int64_t channels, unsigned char *broadcast)
{
    const int64_t groups = values->tensor.dims[0];
    const size_t size = gops_type_bytes(values->tensor.type);
    for (int64_t c = 0; c < channels; c++) {
        memcpy(broadcast + (size_t)c * size,
               (const unsigned char *)values->data + (size_t)(c / (channels / groups)) * size,
               size);
    }
}

static ort_status *execute_plan(const compute *self, const gops_ort_taken *taken,
                                const gops_arguments *arguments, const ort_kernel_context *context)
{
    gops_error error;
    gops_ort_enter(context);
    const gops_status status = gops_execute(taken->plan, arguments, &error);
    gops_ort_leave();
    return status == GOPS_OK ? NULL : refuse(self, &error);
}

static ort_status *run_norm(const compute *self, const gops_ort_taken *taken, const input *inputs,
                            gops_arguments *arguments, const ort_kernel_context *context)
{
    const int64_t channels = taken->packing->filter.dims[0];
    unsigned char *memory = NULL;
    arguments->scale = inputs[GOPS_ORT_FILTER].data;
    arguments->bias = inputs[GOPS_ORT_BIAS].data;
    if (inputs[GOPS_ORT_FILTER].tensor.dims[0] != channels ||
        inputs[GOPS_ORT_BIAS].tensor.dims[0] != channels) {
        const size_t bytes = (size_t)channels * gops_type_bytes(self->operation.type);
        memory = malloc(bytes * 2);
        if (memory == NULL) {
            return refuse_shape(self, "no memory for scale and bias");
        }
        broadcast_values(&inputs[GOPS_ORT_FILTER], channels, memory);
        broadcast_values(&inputs[GOPS_ORT_BIAS], channels, memory + bytes);
        arguments->scale = memory;
        arguments->bias = memory + bytes;
    }
    ort_status *status = execute_plan(self, taken, arguments, context);
    free(memory);
    return status;
}

static ort_status *run_conv(compute *self, const gops_ort_taken *taken, const input *inputs,
                            gops_arguments *arguments, const ort_kernel_context *context)
{
    gops_ort_packed *packed = NULL;
    gops_error error;
    arguments->bias = inputs[GOPS_ORT_BIAS].data;
    arguments->filter = taken->packing->constant;
    if (taken->packing->constant == NULL) {
        if (gops_ort_pack(&self->plans, taken, inputs[GOPS_ORT_FILTER].data, &packed, &error) !=
            GOPS_OK) {
            return refuse(self, &error);
        }
        arguments->filter = packed->filter;
    }
    ort_status *status = execute_plan(self, taken, arguments, context);
    if (packed != NULL) {
        gops_ort_unpack(&self->plans, taken, packed);
    }
    return status;
}

static ort_status *make_output(const compute *self, const gops_tensor *tensor,
                               ort_kernel_context *context, void **data)
{
    ort_value *value = NULL;
    ort_status *status =
        self->runtime->api->context_output(context, 0, tensor->dims, (size_t)tensor->rank, &value);
    if (status == NULL && value == NULL) {
        status = refuse_shape(self, "the runtime gave no output");
    }
    return status != NULL ? status : self->runtime->api->get_tensor_data(value, data);
}

/* Makes the output, and the arguments that all operations share. */
static ort_status *start_call(const compute *self, const gops_tensor *output, const input *inputs,
                              ort_kernel_context *context, gops_arguments *arguments)
{
    *arguments = (gops_arguments){
        .size = sizeof *arguments,
        .data = inputs[GOPS_ORT_DATA].data,
        .residual = inputs[GOPS_ORT_RESIDUAL].data,
    };
    if (self->position[GOPS_ORT_RESIDUAL] != NOT_GIVEN &&
        !gops_ort_same_shape(&inputs[GOPS_ORT_RESIDUAL].tensor, output)) {
        return refuse_shape(self, "what is added has not the shape that the model says");
    }
    return make_output(self, output, context, &arguments->output);
}

static bool has_elements(const gops_tensor *tensor)
{
    bool has = true;
    for (int32_t i = 0; i < tensor->rank; i++) {
        has = has && tensor->dims[i] > 0;
    }
    return has;
}

static ort_status *run_plan(compute *self, const gops_ort_taken *taken, const input *inputs,
                            ort_kernel_context *context)
{
    gops_arguments arguments;
    ort_status *status = start_call(self, &taken->output, inputs, context, &arguments);
    /* A plan with an empty output packs no filter and takes none. */
    if (status != NULL || !has_elements(&taken->output)) {
        return status;
    }
    return self->operation.kind == GOPS_ORT_NORM
               ? run_norm(self, taken, inputs, &arguments, context)
               : run_conv(self, taken, inputs, &arguments, context);
}

static ort_status *run_empty(const compute *self, const gops_tensor *output, const input *inputs,
                             ort_kernel_context *context)
{
    gops_arguments arguments;
    gops_error error;
    ort_status *status = start_call(self, output, inputs, context, &arguments);
    if (status != NULL || !has_elements(output)) {
        return status;
    }
    arguments.bias = inputs[GOPS_ORT_BIAS].data;
    gops_ort_enter(context);
    const gops_status computed =
        gops_ort_empty_execute(self->runtime, &self->operation, output, &arguments, &error);
    gops_ort_leave();
    return computed == GOPS_OK ? NULL : refuse(self, &error);
}

static ort_status *compute_once(ort_compute_info *info, void *state, ort_kernel_context *context)
{
    compute *self = (compute *)(void *)info;
    input inputs[GOPS_ORT_INPUTS];
    gops_tensor filter, output;
    gops_ort_taken taken;
    gops_error error;
    (void)state;
    ort_status *status = read_inputs(self, context, inputs);
    if (status == NULL) {
        status = describe_weights(self, inputs, &filter);
    }
    if (status != NULL) {
        return status;
    }
    if (gops_ort_empty_shape(&self->operation, &inputs[GOPS_ORT_DATA].tensor, &filter, &output)) {
        return run_empty(self, &output, inputs, context);
    }
    if (gops_ort_plans_take(&self->plans, &inputs[GOPS_ORT_DATA].tensor, &filter,
                            self->constant ? inputs[GOPS_ORT_FILTER].data : NULL, &taken,
                            &error) != GOPS_OK) {
        return refuse(self, &error);
    }
    status = run_plan(self, &taken, inputs, context);
    gops_ort_plans_give_back(&self->plans, &taken);
    return status;
}

/* The state is the compute info itself: the runtime makes one for each claim and session. */
static ort_status *compute_create_state(ort_compute_info *info, ort_compute_context *context,
                                        void **state)
{
    (void)context;
    *state = info;
    return NULL;
}

static void compute_release_state(ort_compute_info *info, void *state)
{
    (void)info;
    (void)state;
}

/* Packs constant weights while the model is loaded, so that the first call is as fast as the
 * others. If the shapes are not known yet, or the library refuses, the first call tries again. */
static ort_status *pack_constant(compute *self, const gops_ort_claim *claim)
{
    const gops_ort_runtime *runtime = self->runtime;
    const ort_value *value = NULL;
    input inputs[GOPS_ORT_INPUTS] = {{.data = NULL}};
    gops_tensor filter;
    gops_ort_taken taken;
    gops_error error;
    bool known;
    ort_status *status =
        runtime->api->is_constant_initializer(claim->infos[GOPS_ORT_FILTER], &self->constant);
    if (status != NULL || !self->constant || self->operation.kind == GOPS_ORT_NORM) {
        self->constant = self->constant && self->operation.kind != GOPS_ORT_NORM;
        return status;
    }
    if ((status = gops_ort_value_tensor(runtime, claim->infos[GOPS_ORT_DATA],
                                        &inputs[GOPS_ORT_DATA].tensor, &known)) != NULL ||
        (status = runtime->api->get_initializer(claim->infos[GOPS_ORT_FILTER], &value)) != NULL ||
        value == NULL || (status = read_value(runtime, value, &inputs[GOPS_ORT_FILTER])) != NULL) {
        return status;
    }
    for (int32_t i = 0; i < inputs[GOPS_ORT_DATA].tensor.rank; i++) {
        known = known && inputs[GOPS_ORT_DATA].tensor.dims[i] >= 0;
    }
    if (known &&
        gops_ort_filter_tensor(&self->operation, &inputs[GOPS_ORT_FILTER].tensor, &filter) &&
        gops_ort_plans_take(&self->plans, &inputs[GOPS_ORT_DATA].tensor, &filter,
                            inputs[GOPS_ORT_FILTER].data, &taken, &error) == GOPS_OK) {
        gops_ort_plans_give_back(&self->plans, &taken);
    }
    return NULL;
}

static ort_status *find_positions(compute *self, const gops_ort_claim *claim,
                                  const char *const *inputs, size_t input_count)
{
    for (int i = 0; i < GOPS_ORT_INPUTS; i++) {
        self->position[i] = NOT_GIVEN;
        if (claim->inputs[i] == NULL) {
            continue;
        }
        for (size_t k = 0; k < input_count && self->position[i] == NOT_GIVEN; k++) {
            if (strcmp(inputs[k], claim->inputs[i]) == 0) {
                self->position[i] = (int)k;
            }
        }
        if (self->position[i] == NOT_GIVEN) {
            return refuse_shape(self, "an input of the node is none of the claim's");
        }
    }
    return NULL;
}

ort_status *gops_ort_compute_create(gops_ort_runtime *runtime, const gops_ort_claim *claim,
                                    const char *const *inputs, size_t input_count,
                                    ort_compute_info **info)
{
    compute *self = calloc(1, sizeof *self);
    if (self == NULL || !gops_ort_plans_open(runtime, &self->operation, &self->plans)) {
        free(self);
        return gops_ort_fail(runtime, ORT_FAIL, "groupops: no memory for a node");
    }
    self->base = (ort_compute_info){ORT_VERSION_PLUGINS, compute_create_state, compute_once,
                                    compute_release_state};
    self->runtime = runtime;
    self->operation = claim->operation;
    snprintf(self->name, sizeof self->name, "%s", claim->nodes[0]->name);
    ort_status *status = find_positions(self, claim, inputs, input_count);
    if (status == NULL) {
        status = pack_constant(self, claim);
    }
    if (status != NULL) {
        gops_ort_compute_destroy(&self->base);
        return status;
    }
    *info = &self->base;
    return NULL;
}

void gops_ort_compute_destroy(ort_compute_info *info)
{
    if (info != NULL) {
        compute *self = (compute *)(void *)info;
        gops_ort_plans_close(&self->plans);
        free(self);
    }
}
