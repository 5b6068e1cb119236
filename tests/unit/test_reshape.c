/*
 * Plans from plans: gops_plan_reshape, the cache of them, and what both refuse. That their results
 * are right is the random test's.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "refusal.h"
#include "elements.h"
#include "harness.h"

enum { CAPACITY = 3, SHAPES = 7, THREADS = 4, ROUNDS = 400 };

static const gops_tensor filter_tensor = {GOPS_F32, 5, {3, 7, 5, 3, 2}};

static gops_tensor data_of(int64_t batch, int64_t rows, int64_t columns)
{
    return (gops_tensor){GOPS_F32, 4, {batch, 15, rows, columns}};
}

static gops_plan *conv_plan(const gops_host *host)
{
    gops_tensor data = data_of(1, 19, 23);
    gops_options options = {.size = sizeof options, .host = host, .threads = 2};
    gops_plan *plan = NULL;
    gops_status status = gops_conv_plan_create(&data, &filter_tensor, NULL, &options, &plan, NULL);
    gops_test_check(status == GOPS_OK, "no plan");
    return plan;
}

static void expect(gops_status got, const gops_error *error, gops_status status,
                   const char *message)
{
    gops_check_refusal("reshape", got, error, status, message);
}

static void refusals(void)
{
    gops_plan *plan = conv_plan(NULL), *made = plan;
    gops_tensor data = data_of(1, 19, 23);
    gops_list list = {2, {19, 23}};
    gops_error error = gops_fresh_error();
    expect(gops_plan_reshape(NULL, &data, NULL, &made, &error), &error, GOPS_INVALID,
           "plan is NULL");
    gops_test_check(made == NULL, "*reshaped is not NULL");
    expect(gops_plan_reshape(plan, NULL, NULL, &made, &error), &error, GOPS_INVALID,
           "data is NULL");
    expect(gops_plan_reshape(plan, &data, NULL, NULL, &error), &error, GOPS_INVALID,
           "reshaped is NULL");
    expect(gops_plan_reshape(plan, &data, &list, &made, &error), &error, GOPS_INVALID,
           "output_shape is given; only a transposed convolution has one");
    data.type = GOPS_F64;
    expect(gops_plan_reshape(plan, &data, NULL, &made, &error), &error, GOPS_INVALID,
           "data is f64; the plan was made for f32");
    data = data_of(1, 19, 1);
    gops_status status = gops_plan_reshape(plan, &data, NULL, &made, &error);
    gops_test_check(status == GOPS_INVALID && made == NULL, "a kernel larger than its data");
    data = data_of(1, 19, 23);
    data.dims[1] = 18;
    status = gops_plan_reshape(plan, &data, NULL, &made, &error);
    gops_test_check(status == GOPS_INVALID && made == NULL, "other channels");
    gops_plan_destroy(plan);

    data = data_of(0, 19, 23);
    gops_conv_plan_create(&data, &filter_tensor, NULL, NULL, &plan, NULL);
    data = data_of(1, 19, 23);
    expect(gops_plan_reshape(plan, &data, NULL, &made, &error), &error, GOPS_UNSUPPORTED,
           "the plan has an empty output and packed nothing; plans made from it would have no "
           "filter");
    gops_plan_destroy(plan);
}

/* A new output_shape, and the one before; an empty batch. */
static void shapes(void)
{
    gops_tensor data = {GOPS_F32, 3, {2, 6, 11}}, filter = {GOPS_F32, 4, {2, 3, 5, 4}};
    gops_deconv_attributes attributes = {.strides = {1, {2}}, .output_shape = {1, {23}}};
    gops_list wanted = {1, {26}};
    gops_plan *plan = NULL, *made = NULL;
    gops_plan_info info = {.size = sizeof info};
    gops_deconv_plan_create(&data, &filter, &attributes, NULL, &plan, NULL);
    data.dims[2] = 12;
    gops_plan_reshape(plan, &data, &wanted, &made, NULL);
    gops_plan_get_info(made, &info, NULL);
    gops_test_check(info.shape.output.dims[0] == 2 && info.shape.output.dims[2] == 26,
                    "output %lld", (long long)info.shape.output.dims[2]);
    gops_plan_destroy(plan);
    plan = made;
    data.dims[2] = 13;
    gops_plan_reshape(plan, &data, NULL, &made, NULL);
    gops_plan_get_info(made, &info, NULL);
    gops_test_check(info.shape.output.dims[2] == 26, "output_shape is not kept");
    gops_plan_destroy(made);
    data.dims[0] = 0;
    gops_status status = gops_plan_reshape(plan, &data, NULL, &made, NULL);
    gops_arguments arguments = {.size = sizeof arguments};
    gops_test_check(status == GOPS_OK && gops_execute(made, &arguments, NULL) == GOPS_OK,
                    "an empty batch");
    gops_plan_destroy(made);
    gops_plan_destroy(plan);
}

static void strides_refused(void)
{
    float x[2 * 15 * 19 * 23] = {0}, y[2 * 21 * 17 * 22];
    gops_plan *one = conv_plan(NULL), *plan = NULL;
    gops_tensor data = data_of(2, 19, 23);
    gops_packed_filter *filter = NULL;
    gops_error error = gops_fresh_error();
    gops_plan_reshape(one, &data, NULL, &plan, NULL);
    gops_filter_create(one, x, NULL, &filter, NULL);
    gops_arguments arguments = {.size = sizeof arguments, .data = x, .filter = filter, .output = y};
    arguments.data_stride = 15 * 19 * 23 - 1;
    expect(gops_execute(plan, &arguments, &error), &error, GOPS_INVALID,
           "arguments.data_stride is 6554; an image has 6555 elements");
    arguments.data_stride = 0;
    arguments.output_stride = -1;
    expect(gops_execute(plan, &arguments, &error), &error, GOPS_INVALID,
           "arguments.output_stride is -1; an image has 7854 elements");
    arguments.output_stride = INT64_MAX / 4;
    expect(gops_execute(plan, &arguments, &error), &error, GOPS_TOO_LARGE,
           "arguments.output_stride is 2305843009213693951 for 2 images of 4 bytes an element");
    arguments.output_stride = 7855;
    arguments.residual = y;
    expect(gops_execute(plan, &arguments, &error), &error, GOPS_INVALID,
           "arguments.residual is the output, but its stride differs: 0, 7855");
    gops_filter_destroy(filter);
    gops_plan_destroy(plan);
    gops_plan_destroy(one);
}

/* Channel strides are the plan's: data and outputs of other sizes fit them, or do not. */
static void channel_strides_kept(void)
{
    const gops_tensor first = data_of(1, 19, 23), larger = data_of(2, 21, 24);
    const gops_tensor too_large = data_of(1, 21, 25);
    gops_options options = {.size = sizeof options, .data_channel_stride = 21 * 24};
    gops_plan *plan = NULL, *made = NULL;
    gops_error error = gops_fresh_error();
    gops_conv_plan_create(&first, &filter_tensor, NULL, &options, &plan, NULL);
    gops_test_check(gops_plan_reshape(plan, &larger, NULL, &made, &error) == GOPS_OK, "%s",
                    error.message);
    gops_arguments arguments = {.size = sizeof arguments, .data_stride = 15 * 21 * 24 - 1};
    float x[1], y[1];
    gops_packed_filter *filter = NULL;
    static const float weights[3 * 7 * 5 * 3 * 2];
    gops_filter_create(plan, weights, NULL, &filter, NULL);
    arguments.data = x;
    arguments.output = y;
    arguments.filter = filter;
    expect(gops_execute(made, &arguments, &error), &error, GOPS_INVALID,
           "arguments.data_stride is 7559; an image has 7560 elements");
    gops_filter_destroy(filter);
    gops_plan_destroy(made);
    expect(gops_plan_reshape(plan, &too_large, NULL, &made, &error), &error, GOPS_UNSUPPORTED,
           "data_channel_stride is 504; a channel has 525 elements");
    gops_plan_destroy(plan);
    options = (gops_options){.size = sizeof options, .output_channel_stride = 17 * 22};
    gops_conv_plan_create(&first, &filter_tensor, NULL, &options, &plan, NULL);
    expect(gops_plan_reshape(plan, &larger, NULL, &made, &error), &error, GOPS_UNSUPPORTED,
           "output_channel_stride is 374; a channel has 437 elements");
    gops_plan_destroy(plan);
}

/* The cache keeps the latest used, and never more than its capacity. */
static void cache_is_bounded(void)
{
    gops_test_heap heap;
    gops_test_heap_start(&heap);
    gops_host host = gops_test_heap_host(&heap);
    gops_plan *plan = conv_plan(&host);
    gops_plan_cache *cache = NULL;
    const gops_plan *held[SHAPES];
    gops_test_check(gops_plan_cache_create(plan, CAPACITY, &cache, NULL) == GOPS_OK, "no cache");
    gops_plan_destroy(plan);
    for (int i = 0; i < SHAPES; i++) { /* all in use: each is made, CAPACITY of them kept */
        gops_tensor data = data_of(1, 19, 20 + i);
        gops_status status = gops_plan_cache_get(cache, &data, NULL, &held[i], NULL);
        gops_test_check(status == GOPS_OK, "shape %d", i);
    }
    gops_test_check(heap.live == 1 + SHAPES, "%lld allocations", (long long)heap.live);
    for (int i = 0; i < SHAPES; i++)
        gops_plan_cache_release(cache, held[i]);
    gops_test_check(heap.live == 1 + CAPACITY, "%lld allocations are kept", (long long)heap.live);

    int64_t calls = heap.calls;
    for (int i = 0; i < CAPACITY; i++) { /* the first ones are found again */
        gops_tensor data = data_of(1, 19, 20 + i);
        const gops_plan *found = NULL;
        gops_plan_cache_get(cache, &data, NULL, &found, NULL);
        gops_test_check(found == held[i], "shape %d was not kept", i);
        gops_plan_cache_release(cache, found);
    }
    gops_test_check(heap.calls == calls, "a plan was made again");
    gops_tensor data = data_of(2, 19, 20); /* takes the place of the one unused longest: 20 */
    const gops_plan *found = NULL;
    gops_plan_cache_get(cache, &data, NULL, &found, NULL);
    gops_plan_cache_release(cache, found);
    for (int i = 1; i < CAPACITY; i++) {
        data = data_of(1, 19, 20 + i);
        gops_plan_cache_get(cache, &data, NULL, &found, NULL);
        gops_test_check(found == held[i] && heap.calls == calls + 1, "not the oldest one went");
        gops_plan_cache_release(cache, found);
    }
    gops_plan_cache_destroy(cache);
    gops_test_check(heap.live == 0 && heap.misuses == 0, "%lld allocations left",
                    (long long)heap.live);
}

/* What differs in any part of the key gets a plan of its own. */
static void keys_are_complete(void)
{
    gops_tensor base = {GOPS_F32, 4, {2, 6, 11, 13}}, filter = {GOPS_F32, 5, {2, 3, 5, 4, 3}};
    gops_deconv_attributes attributes = {.strides = {2, {2, 3}}, .output_shape = {2, {24, 40}}};
    gops_list lists[] = {{2, {24, 41}}, {2, {25, 40}}, {2, {24, 40}}, {0, {0}}};
    gops_plan *plan = NULL;
    gops_plan_cache *cache = NULL;
    const gops_plan *found[8];
    int count = 0;
    gops_deconv_plan_create(&base, &filter, &attributes, NULL, &plan, NULL);
    gops_plan_cache_create(plan, 16, &cache, NULL);
    gops_plan_cache_get(cache, &base, NULL, &found[count++], NULL);
    for (int axis = 0; axis < 4; axis++) {
        gops_tensor data = base;
        data.dims[axis]++;
        gops_status status = gops_plan_cache_get(cache, &data, NULL, &found[count], NULL);
        gops_test_check((status == GOPS_OK) == (axis != 1), "axis %d", axis);
        count += status == GOPS_OK;
    }
    for (int i = 0; i < 4; i++)
        gops_plan_cache_get(cache, &base, &lists[i], &found[count++], NULL);
    for (int i = 0; i < count; i++)
        for (int j = 0; j < i; j++)
            gops_test_check(found[i] != found[j], "keys %d and %d share a plan", j, i);
    for (int i = 0; i < count; i++)
        gops_plan_cache_release(cache, found[i]);
    gops_plan_cache_destroy(cache);
    gops_plan_destroy(plan);
}

/* Returns what is not NULL where a plan was not the one that was asked for: CUnit counts on one thread alone. */
static void *ask(void *argument)
{
    gops_plan_cache *cache = argument;
    void *wrong = NULL;
    for (int i = 0; i < ROUNDS; i++) {
        gops_tensor data = data_of(1 + i % 2, 19, 20 + i % SHAPES);
        gops_plan_info info = {.size = sizeof info};
        const gops_plan *plan;
        gops_status status = gops_plan_cache_get(cache, &data, NULL, &plan, NULL);
        gops_plan_get_info(plan, &info, NULL);
        if (status != GOPS_OK || info.shape.output.dims[3] != 19 + i % SHAPES ||
            info.shape.output.dims[0] != 1 + i % 2)
            wrong = argument;
        gops_plan_cache_release(cache, plan);
    }
    return wrong;
}

static void many_threads_ask(void)
{
    pthread_t threads[THREADS];
    gops_plan *plan = conv_plan(NULL);
    gops_plan_cache *cache = NULL;
    gops_plan_cache_create(plan, CAPACITY, &cache, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, ask, cache);
    for (int i = 0; i < THREADS; i++) {
        void *wrong = cache;
        pthread_join(threads[i], &wrong);
        gops_test_check(wrong == NULL, "the plan of another shape");
    }
    gops_plan_cache_destroy(cache);
    gops_plan_destroy(plan);
}

/* Lists that no key has room for. */
static void cache_refuses_lists(void)
{
    static const int32_t counts[] = {-1, INT32_MIN, GOPS_MAX_SPATIAL + 1, INT32_MAX};
    gops_tensor data = {GOPS_F32, 3, {2, 6, 11}}, filter = {GOPS_F32, 4, {2, 3, 5, 4}};
    gops_plan *plan = NULL;
    gops_plan_cache *cache = NULL;
    gops_deconv_plan_create(&data, &filter, NULL, NULL, &plan, NULL);
    gops_plan_cache_create(plan, 1, &cache, NULL);
    for (int i = 0; i < 4; i++) {
        const gops_list wanted = {counts[i], {23}};
        const gops_plan *found = plan;
        gops_error error = gops_fresh_error();
        gops_status status = gops_plan_cache_get(cache, &data, &wanted, &found, &error);
        gops_test_check(status == GOPS_INVALID && found == NULL &&
                            strstr(error.message, "output_shape") != NULL,
                        "a list of %d: %s", (int)counts[i], error.message);
    }
    gops_plan_cache_destroy(cache);
    gops_plan_destroy(plan);
}

static void cache_refusals(void)
{
    gops_plan *plan = conv_plan(NULL);
    gops_plan_cache *cache = NULL;
    const gops_plan *found = plan;
    gops_error error = gops_fresh_error();
    gops_tensor data = data_of(1, 19, 23);
    expect(gops_plan_cache_create(NULL, 1, &cache, &error), &error, GOPS_INVALID, "plan is NULL");
    expect(gops_plan_cache_create(plan, 1, NULL, &error), &error, GOPS_INVALID, "cache is NULL");
    expect(gops_plan_cache_create(plan, 0, &cache, &error), &error, GOPS_INVALID,
           "capacity is 0; it must be from 1 to 65536");
    expect(gops_plan_cache_create(plan, 65537, &cache, &error), &error, GOPS_INVALID,
           "capacity is 65537; it must be from 1 to 65536");
    gops_plan_cache_create(plan, 1, &cache, NULL);
    expect(gops_plan_cache_get(NULL, &data, NULL, &found, &error), &error, GOPS_INVALID,
           "cache is NULL");
    gops_test_check(found == NULL, "*plan is not NULL");
    expect(gops_plan_cache_get(cache, NULL, NULL, &found, &error), &error, GOPS_INVALID,
           "data is NULL");
    expect(gops_plan_cache_get(cache, &data, NULL, NULL, &error), &error, GOPS_INVALID,
           "plan is NULL");
    data.type = GOPS_BF16;
    expect(gops_plan_cache_get(cache, &data, NULL, &found, &error), &error, GOPS_INVALID,
           "data is bf16; the plan was made for f32");
    data.type = GOPS_F32;
    static const int32_t ranks[] = {1000, -1, INT32_MIN};
    for (int i = 0; i < 3; i++) {
        data.rank = ranks[i];
        gops_status status = gops_plan_cache_get(cache, &data, NULL, &found, &error);
        gops_test_check(status != GOPS_OK && found == NULL, "rank %d", (int)ranks[i]);
    }
    gops_plan_cache_release(cache, NULL);
    gops_plan_cache_destroy(cache);
    gops_plan_cache_destroy(NULL);
    gops_plan_destroy(plan);
    cache_refuses_lists();
}

/* Reshape, cache and its plans with every allocation failing in turn. */
static void out_of_memory(void)
{
    for (int64_t fail_at = 1;; fail_at++) {
        gops_test_heap heap;
        gops_test_heap_start(&heap);
        gops_host host = gops_test_heap_host(&heap);
        gops_plan *plan = conv_plan(&host), *made = NULL;
        gops_plan_cache *cache = NULL;
        const gops_plan *found = NULL;
        gops_tensor data = data_of(2, 29, 31);
        heap.fail_at = 1 + fail_at;
        gops_status status = gops_plan_reshape(plan, &data, NULL, &made, NULL);
        if (status == GOPS_OK)
            status = gops_plan_cache_create(plan, CAPACITY, &cache, NULL);
        if (status == GOPS_OK)
            status = gops_plan_cache_get(cache, &data, NULL, &found, NULL);
        gops_plan_cache_release(cache, found);
        gops_plan_cache_destroy(cache);
        gops_plan_destroy(made);
        gops_plan_destroy(plan);
        gops_test_check(heap.live == 0 && heap.misuses == 0, "%lld left", (long long)heap.live);
        if (fail_at == 4) {
            gops_test_check(status == GOPS_OK && heap.calls == 4, "%lld calls",
                            (long long)heap.calls);
            break;
        }
        gops_test_check(status == GOPS_OUT_OF_MEMORY, "call %lld failed: %s", (long long)fail_at,
                        gops_status_name(status));
    }
}

int main(void)
{
    static const gops_test_case cases[] = {{"refusals", refusals},
                                           {"shapes", shapes},
                                           {"strides_refused", strides_refused},
                                           {"channel_strides_kept", channel_strides_kept},
                                           {"cache_is_bounded", cache_is_bounded},
                                           {"keys_are_complete", keys_are_complete},
                                           {"many_threads_ask", many_threads_ask},
                                           {"cache_refusals", cache_refusals},
                                           {"out_of_memory", out_of_memory},
                                           {NULL, NULL}};
    return gops_test_main("plans from plans", cases);
}
