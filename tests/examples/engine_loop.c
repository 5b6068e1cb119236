/*
 * A small engine's inner loop: it lends the library its threads and its memory, makes plans and
 * packs weights once when a model is loaded, and then runs batches of whatever size comes.
 *
 * The model is a residual block:  y = relu(conv(norm(x)) + x),  16 groups of 4 channels.
 */
#include <groupops/groupops.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { CHANNELS = 64, GROUPS = 16, THREADS = 2, PLANS = 8, MAX_BATCH = 3, SIDE = 20 };

/* The engine's threads. A real one keeps them waiting; this one starts them for each loop. */
typedef struct work {
    void (*task)(void *argument, int64_t index);
    void *argument;
    int64_t index;
} work;

static void *run_work(void *given)
{
    const work *mine = given;
    mine->task(mine->argument, mine->index);
    return NULL;
}

static int parallel_for(void *context, void (*task)(void *argument, int64_t index), void *argument,
                        int64_t count)
{
    work works[THREADS];
    pthread_t threads[THREADS];
    int64_t started = 0;
    (void)context;
    for (int64_t i = 0; i < count; i++) {
        works[i] = (work){task, argument, i};
    }
    while (started < count - 1 &&
           pthread_create(&threads[started], NULL, run_work, &works[started]) == 0) {
        started++;
    }
    for (int64_t i = started; i < count; i++) { /* the last one, and those without a thread */
        run_work(&works[i]);
    }
    for (int64_t i = 0; i < started; i++) {
        pthread_join(threads[i], NULL);
    }
    return 0;
}

/* The engine's memory, counted. Plans, packed weights and caches come from here, for any thread that calls
 * the library: so the count is atomic. */
static void *allocate(void *context, size_t bytes, size_t alignment)
{
    atomic_fetch_add((atomic_long *)context, 1);
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void give_back(void *context, void *memory)
{
    atomic_fetch_sub((atomic_long *)context, 1);
    free(memory);
}

/* The loaded model: for each layer its plans for the sizes that come by, and its weights. */
typedef struct model {
    gops_plan_cache *norm, *conv;
    gops_packed_filter *filter;
    float scale[CHANNELS], bias[CHANNELS];
} model;

static gops_tensor batch_of(int64_t images, int64_t side)
{
    return (gops_tensor){GOPS_F32, 4, {images, CHANNELS, side, side}};
}

static gops_status load(model *to, const gops_host *host, const float *weights, gops_error *error)
{
    const gops_tensor data = batch_of(1, SIDE), c = {GOPS_F32, 1, {CHANNELS}};
    const gops_tensor filter = {GOPS_F32, 5, {GROUPS, 4, 4, 3, 3}};
    const gops_norm_attributes norm = {GROUPS, 1e-5};
    const gops_conv_attributes conv = {.pads_begin = {2, {1, 1}}, .pads_end = {2, {1, 1}}};
    gops_options options = {.size = sizeof options, .threads = THREADS, .host = host};
    gops_plan *plan = NULL;
    gops_status status = gops_norm_plan_create(&data, &c, &c, &norm, &options, &plan, error);
    if (status == GOPS_OK) {
        status = gops_plan_cache_create(plan, PLANS, &to->norm, error);
        gops_plan_destroy(plan);
    }
    if (status == GOPS_OK) {
        options.activation.kind = GOPS_ACTIVATION_RELU;
        status = gops_conv_plan_create(&data, &filter, &conv, &options, &plan, error);
    }
    if (status == GOPS_OK) {
        status = gops_filter_create(plan, weights, NULL, &to->filter, error);
        if (status == GOPS_OK) {
            status = gops_plan_cache_create(plan, PLANS, &to->conv, error);
        }
        gops_plan_destroy(plan);
    }
    return status;
}

/* One layer of one request; `workspace` is the request's own and grows as layers ask for more. */
static gops_status run_layer(gops_plan_cache *plans, const gops_tensor *data,
                             gops_arguments *arguments, gops_error *error)
{
    const gops_plan *plan;
    gops_plan_info info = {.size = sizeof info};
    gops_status status = gops_plan_cache_get(plans, data, NULL, &plan, error);
    if (status != GOPS_OK) {
        return status;
    }
    gops_plan_get_info(plan, &info, NULL);
    if (info.workspace_bytes > arguments->workspace_bytes) {
        free(arguments->workspace);
        arguments->workspace_bytes = (info.workspace_bytes + 4095) / 4096 * 4096;
        arguments->workspace = aligned_alloc(4096, arguments->workspace_bytes);
        if (arguments->workspace == NULL) {
            arguments->workspace_bytes = 0; /* the library will ask the host for it */
        }
    }
    status = gops_execute(plan, arguments, error);
    gops_plan_cache_release(plans, plan);
    return status;
}

static gops_status run(const model *loaded, const gops_tensor *data, const float *x, float *y,
                       float *between, gops_error *error)
{
    gops_arguments norm = {.size = sizeof norm, .data = x, .output = between};
    norm.scale = loaded->scale;
    norm.bias = loaded->bias;
    gops_status status = run_layer(loaded->norm, data, &norm, error);
    gops_arguments conv = {.size = sizeof conv, .data = between, .output = y};
    conv.filter = loaded->filter;
    conv.residual = x;
    conv.workspace = norm.workspace; /* one workspace serves layer after layer */
    conv.workspace_bytes = norm.workspace_bytes;
    if (status == GOPS_OK) {
        status = run_layer(loaded->conv, data, &conv, error);
    }
    free(conv.workspace);
    return status;
}

int main(void)
{
    const size_t most = (size_t)MAX_BATCH * CHANNELS * (SIDE + MAX_BATCH) * (SIDE + MAX_BATCH);
    static float weights[GROUPS * 4 * 4 * 3 * 3];
    float *x = malloc(most * sizeof *x), *y = malloc(most * sizeof *y);
    float *between = malloc(most * sizeof *between);
    atomic_long live = 0;
    const gops_host host = {.size = sizeof host,
                            .parallel_for = parallel_for,
                            .allocate = allocate,
                            .release = give_back,
                            .context = &live};
    model loaded = {.norm = NULL};
    gops_error error = {GOPS_OK, ""};
    for (size_t i = 0; x != NULL && i < most; i++) {
        x[i] = (float)(i * 7919 % 1009) / 1009 - 0.5F;
    }
    for (size_t i = 0; i < sizeof weights / sizeof weights[0]; i++) {
        weights[i] = (float)(i * 104729 % 997) / 997 - 0.5F;
    }
    for (int c = 0; c < CHANNELS; c++) {
        loaded.scale[c] = 1;
    }
    gops_status status = x == NULL || y == NULL || between == NULL
                             ? GOPS_OUT_OF_MEMORY
                             : load(&loaded, &host, weights, &error);
    for (int64_t request = 0; request < 6 && status == GOPS_OK; request++) {
        const gops_tensor data = batch_of(1 + request % MAX_BATCH, SIDE + request % 2);
        status = run(&loaded, &data, x, y, between, &error);
        printf("request %d: %d x %d x %d x %d, first output %.6f\n", (int)request,
               (int)data.dims[0], (int)data.dims[1], (int)data.dims[2], (int)data.dims[3],
               (double)y[0]);
    }
    gops_filter_destroy(loaded.filter);
    gops_plan_cache_destroy(loaded.conv);
    gops_plan_cache_destroy(loaded.norm);
    printf("%s; %ld of the engine's allocations left\n", status == GOPS_OK ? "done" : error.message,
           atomic_load(&live));
    free(between);
    free(y);
    free(x);
    return status != GOPS_OK || atomic_load(&live) != 0;
}
