/* ort_pool_call.c: computes a MaxPool of 8-bit integers. */
#include "engines/onnxruntime/call/ort_pool_call.h"

#include "engines/onnxruntime/call/ort_call.h"
#include "engines/onnxruntime/pass/ort_pass.h"

#include <stdio.h>
#include <stdlib.h>

enum { Y, X };

typedef struct pool_compute {
    gops_ort_callee base; /* first: the runtime's pointer to it is one to this */
    gops_ort_runtime *runtime;
    gops_ort_pool pool;
    gops_type type;
    size_t input;
    char name[GOPS_ORT_NAME_BYTES];
} pool_compute;

/* A call, in work items of some planes each. */
typedef struct pool_work {
    gops_ort_pass pass;
    gops_ort_pass_operands operands;
    int64_t planes_of_item;
} pool_work;

enum { MIN_BYTES_OF_ITEM = 1 << 16 }; /* below it a work item is not worth a thread */

static void pool_planes(void *argument, int64_t index)
{
    const pool_work *work = argument;
    const int64_t first = index * work->planes_of_item;
    const int64_t last = first + work->planes_of_item, planes = gops_ort_pass_units(&work->pass);
    gops_ort_pass_run(&work->pass, &work->operands, first, last < planes ? last : planes);
}

static ort_status *execute(const pool_compute *self, pool_work *work,
                           const ort_kernel_context *context)
{
    ort_status *status = NULL;
    work->planes_of_item = 1 + MIN_BYTES_OF_ITEM / work->pass.plane;
    const int64_t planes = gops_ort_pass_units(&work->pass);
    const int64_t items = (planes + work->planes_of_item - 1) / work->planes_of_item;
    if (items == 1) {
        pool_planes(work, 0);
    } else if (items > 1) {
        gops_ort_enter(context, NULL);
        status = gops_ort_parallel_for(self->runtime, self->name, pool_planes, work, items);
        gops_ort_leave();
    }
    return status;
}

static ort_status *call(ort_compute_info *info, void *state, ort_kernel_context *context)
{
    const pool_compute *self = (const pool_compute *)(const void *)info;
    const gops_ort_pool *pool = &self->pool;
    gops_ort_input input;
    void *to = NULL;
    (void)state;
    ort_status *status =
        gops_ort_read_input(self->runtime, self->name, context, self->input, &input);
    if (status != NULL) {
        return status;
    }
    const gops_tensor *data = &input.tensor;
    if (data->type != self->type || data->rank != 4 || data->dims[2] != pool->in[Y] ||
        data->dims[3] != pool->in[X]) {
        return gops_ort_fail(
            self->runtime, ORT_INVALID_ARGUMENT,
            "groupops, node \"%s\": the data is %s; the model says %s {N,C,%lld,%lld}", self->name,
            gops_ort_name_tensor(data).text, gops_type_name(self->type), (long long)pool->in[Y],
            (long long)pool->in[X]);
    }
    const gops_tensor output = {
        self->type, 4, {data->dims[0], data->dims[1], pool->out[Y], pool->out[X]}};
    status = gops_ort_make_output(self->runtime, self->name, context, 0, &output, &to);
    if (status != NULL) {
        return status;
    }
    pool_work work = {.operands = {.data = input.data, .output = to}};
    work.pass = gops_ort_pass_of_pool(&pool->window, data, &output);
    return execute(self, &work, context);
}

static void destroy(ort_compute_info *info)
{
    free(info);
}

ort_status *gops_ort_pool_create(gops_ort_runtime *runtime, const gops_ort_claim *claim,
                                 const gops_ort_pool *pool, size_t input, ort_compute_info **info)
{
    pool_compute *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return gops_ort_no_memory(runtime, "a node");
    }
    made->base = gops_ort_make_callee(call, destroy);
    made->runtime = runtime;
    made->pool = *pool;
    made->type = claim->operation.types[GOPS_ORT_DATA];
    made->input = input;
    snprintf(made->name, sizeof made->name, "%s", claim->nodes[0]->name);
    *info = &made->base.info;
    return NULL;
}
