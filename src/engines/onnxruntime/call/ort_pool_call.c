/* ort_pool_call.c: computes a MaxPool of 8-bit integers. */
#include "engines/onnxruntime/call/ort_pool_call.h"

#include "engines/onnxruntime/call/ort_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { Y, X };

typedef struct pool_compute {
    gops_ort_callee base; /* first: the runtime's pointer to it is one to this */
    gops_ort_runtime *runtime;
    gops_ort_pool pool;
    size_t input;
    char name[GOPS_ORT_NAME_BYTES];
} pool_compute;

/* A call, in work items of some planes each. */
typedef struct pool_work {
    const gops_ort_pool *pool;
    const uint8_t *data;
    uint8_t *output;
    int64_t planes, planes_of_item;
} pool_work;

enum {
    MIN_BYTES_OF_ITEM = 1 << 16,           /* below it a work item is not worth a thread */
    MAX_ROW = GOPS_ORT_POOL_MAX_WIDTH * 3, /* data, and on both sides pads below the kernel */
};

static void take_larger(uint8_t *restrict to, const uint8_t *restrict from, uint8_t flip,
                        int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        const uint8_t value = from[i] ^ flip;
        to[i] = to[i] > value ? to[i] : value;
    }
}

static void pick(uint8_t *restrict to, const uint8_t *restrict from, uint8_t flip, int64_t stride,
                 int64_t count)
{
    if (stride == 2) { /* a constant, for vectors */
        for (int64_t i = 0; i < count; i++) {
            to[i] = from[2 * i] ^ flip;
        }
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        to[i] = from[i * stride] ^ flip;
    }
}

/* One row of output: the largest of each column, then of its neighbours. Signed integers are made
 * unsigned ones in the same order by `flip`, so that 0 is the least, for padding. */
static void pool_row(const gops_ort_pool *pool, const uint8_t *plane, int64_t row, uint8_t *to)
{
    const int64_t width = pool->data[X], kernel = pool->window.kernel[X];
    const int64_t span = (pool->output[X] - 1) * pool->window.strides[X] + 1;
    const int64_t first = row * pool->window.strides[Y] - pool->window.pads_begin[Y];
    const int64_t begin = first > 0 ? first : 0;
    const int64_t end = first + pool->window.kernel[Y] < pool->data[Y]
                            ? first + pool->window.kernel[Y]
                            : pool->data[Y];
    const uint8_t flip = pool->type == GOPS_I8 ? 0x80 : 0;
    uint8_t columns[MAX_ROW], largest[MAX_ROW];
    memset(columns, 0, (size_t)(span + kernel - 1));
    for (int64_t y = begin; y < end; y++) {
        const int64_t covered = span + kernel - 1 - pool->window.pads_begin[X];
        take_larger(columns + pool->window.pads_begin[X], plane + y * width, flip,
                    covered < width ? covered : width);
    }
    memcpy(largest, columns, (size_t)span);
    for (int64_t x = 1; x < kernel; x++) {
        take_larger(largest, columns + x, 0, span);
    }
    pick(to, largest, flip, pool->window.strides[X], pool->output[X]);
}

static void pool_planes(void *argument, int64_t index)
{
    const pool_work *work = argument;
    const gops_ort_pool *pool = work->pool;
    const int64_t first = index * work->planes_of_item;
    const int64_t left = work->planes - first;
    const int64_t count = left < work->planes_of_item ? left : work->planes_of_item;
    for (int64_t plane = first; plane < first + count; plane++) {
        const uint8_t *data = work->data + plane * pool->data[Y] * pool->data[X];
        for (int64_t row = 0; row < pool->output[Y]; row++) {
            pool_row(pool, data, row,
                     work->output + (plane * pool->output[Y] + row) * pool->output[X]);
        }
    }
}

static ort_status *execute(const pool_compute *self, pool_work *work,
                           const ort_kernel_context *context)
{
    const gops_host host = gops_ort_host(self->runtime);
    const int64_t bytes = self->pool.data[Y] * self->pool.data[X];
    int failed = 0;
    work->planes_of_item = 1 + MIN_BYTES_OF_ITEM / bytes;
    const int64_t items = (work->planes + work->planes_of_item - 1) / work->planes_of_item;
    if (items == 1) {
        pool_planes(work, 0);
    } else if (items > 1) {
        gops_ort_enter(context, NULL);
        failed = host.parallel_for(host.context, pool_planes, work, items);
        gops_ort_leave();
    }
    return failed == 0 ? NULL
                       : gops_ort_fail(self->runtime, ORT_FAIL,
                                       "groupops, node \"%s\": was not run", self->name);
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
    if (data->type != pool->type || data->rank != 4 || data->dims[2] != pool->data[Y] ||
        data->dims[3] != pool->data[X]) {
        return gops_ort_fail(
            self->runtime, ORT_INVALID_ARGUMENT,
            "groupops, node \"%s\": the data is %s; the model says %s {N,C,%lld,%lld}", self->name,
            gops_ort_name_tensor(data).text, gops_type_name(pool->type), (long long)pool->data[Y],
            (long long)pool->data[X]);
    }
    const gops_tensor output = {
        pool->type, 4, {data->dims[0], data->dims[1], pool->output[Y], pool->output[X]}};
    status = gops_ort_make_output(self->runtime, self->name, context, 0, &output, &to);
    if (status != NULL) {
        return status;
    }
    pool_work work = {
        .pool = pool, .data = input.data, .output = to, .planes = output.dims[0] * output.dims[1]};
    return execute(self, &work, context);
}

static void destroy(ort_compute_info *info)
{
    free(info);
}

ort_status *gops_ort_pool_create(gops_ort_runtime *runtime, const gops_ort_pool *pool, size_t input,
                                 ort_compute_info **info)
{
    pool_compute *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return gops_ort_no_memory(runtime, "a node");
    }
    made->base = gops_ort_make_callee(call, destroy);
    made->runtime = runtime;
    made->pool = *pool;
    made->input = input;
    snprintf(made->name, sizeof made->name, "%s", pool->nodes[0]->name);
    *info = &made->base.info;
    return NULL;
}
