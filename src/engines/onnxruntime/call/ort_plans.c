/* ort_plans.c: looks up the plan for a shape, and makes what is new. */
#include "engines/onnxruntime/call/ort_plans.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    /* Plans that are kept for one packing; a model that alternates between more shapes makes a plan
     * at every change, which takes some microseconds. */
    MAX_SHAPES = 16,
    /* Packings that are kept, for weights that come with changing dimensions and for shapes that
     * need another packing. */
    MAX_PACKINGS = 4,
};

static bool is_same(const gops_tensor *one, const gops_tensor *other)
{
    return one->type == other->type && gops_ort_same_shape(one, other);
}

bool gops_ort_plans_open(gops_ort_runtime *runtime, const gops_ort_operation *operation,
                         gops_ort_plans *plans)
{
    *plans = (gops_ort_plans){.runtime = runtime, .operation = operation};
    return pthread_mutex_init(&plans->lock, NULL) == 0;
}

static void destroy_packing(gops_ort_packing *packing)
{
    while (packing->spare != NULL) {
        gops_ort_packed *next = packing->spare->next;
        gops_filter_destroy(packing->spare->filter);
        free(packing->spare);
        packing->spare = next;
    }
    gops_filter_destroy(packing->constant);
    gops_plan_cache_destroy(packing->others);
    gops_plan_destroy(packing->plan);
    free(packing);
}

void gops_ort_plans_close(gops_ort_plans *plans)
{
    while (plans->first != NULL) {
        gops_ort_packing *next = plans->first->next;
        destroy_packing(plans->first);
        plans->first = next;
    }
    pthread_mutex_destroy(&plans->lock);
}

int32_t gops_ort_processors(void)
{
    static _Atomic int32_t first; /* of all calls: memory is laid out for as many threads */
    int32_t known = atomic_load(&first);
    if (known == 0) {
        const long count = sysconf(_SC_NPROCESSORS_ONLN);
        const int32_t now = count > GOPS_ORT_MAX_THREADS ? GOPS_ORT_MAX_THREADS
                            : count > 0                  ? (int32_t)count
                                                         : 1;
        known = atomic_compare_exchange_strong(&first, &known, now) ? now : known;
    }
    return known;
}

gops_options gops_ort_options(const gops_ort_runtime *runtime, const gops_ort_operation *operation,
                              const gops_host *host)
{
    return (gops_options){
        .size = sizeof(gops_options),
        .host = host,
        .output_type = operation->output_type,
        .residual_type =
            gops_ort_is_quantized(operation) ? operation->types[GOPS_ORT_RESIDUAL] : (gops_type)0,
        .activation = operation->activation,
        .accuracy = runtime->accuracy,
        .residual_after_activation = operation->residual_after_activation,
    };
}

gops_status gops_ort_plan_create(const gops_ort_operation *operation, const gops_tensor *data,
                                 const gops_tensor *filter, const gops_options *options,
                                 gops_plan **plan, gops_error *error)
{
    switch (operation->kind) {
    case GOPS_ORT_CONV:
        return gops_conv_plan_create(data, filter, &operation->conv, options, plan, error);
    case GOPS_ORT_DECONV:
        return gops_deconv_plan_create(data, filter, &operation->deconv, options, plan, error);
    default:
        return gops_norm_plan_create(data, filter, filter, &operation->norm, options, plan, error);
    }
}

static gops_status make_plan(const gops_ort_plans *plans, gops_ort_packing *made, gops_error *error)
{
    const gops_ort_operation *operation = plans->operation;
    const gops_host host = gops_ort_host(plans->runtime);
    gops_options options = gops_ort_options(plans->runtime, operation, &host);
    options.threads = gops_ort_processors();
    return gops_ort_plan_create(operation, &made->data, &made->filter, &options, &made->plan,
                                error);
}

static gops_status create_packing(const gops_ort_plans *plans, const gops_tensor *data,
                                  const gops_tensor *filter, const gops_ort_weights *constant,
                                  gops_ort_packing **packing, gops_error *error)
{
    gops_ort_packing *made = calloc(1, sizeof *made);
    if (made == NULL) {
        *error = (gops_error){GOPS_OUT_OF_MEMORY, "no memory for a plan"};
        return error->status;
    }
    made->data = *data;
    made->filter = *filter;
    gops_status status = make_plan(plans, made, error);
    if (status == GOPS_OK && constant != NULL) {
        status = gops_filter_create(made->plan, constant->values, constant->quantization,
                                    &made->constant, error);
    }
    if (status != GOPS_OK) {
        destroy_packing(made);
        return status;
    }
    *packing = made;
    return GOPS_OK;
}

/* The packing's plan for data of this shape; GOPS_UNSUPPORTED if its packed weights do not fit. */
static gops_status get_plan(gops_ort_packing *packing, const gops_tensor *data,
                            const gops_plan **plan, gops_error *error)
{
    if (is_same(&packing->data, data)) {
        *plan = packing->plan;
        return GOPS_OK;
    }
    gops_status status = GOPS_OK;
    if (packing->others == NULL) {
        status = gops_plan_cache_create(packing->plan, MAX_SHAPES, &packing->others, error);
    }
    return status == GOPS_OK ? gops_plan_cache_get(packing->others, data, NULL, plan, error)
                             : status;
}

/* Removes from the list the least recently used packing that no call is using; NULL if all are in
 * use. */
static gops_ort_packing *evict_packing(gops_ort_plans *plans)
{
    gops_ort_packing **oldest = NULL;
    for (gops_ort_packing **at = &plans->first; *at != NULL; at = &(*at)->next) {
        if ((*at)->users == 0 && (oldest == NULL || (*at)->last_use < (*oldest)->last_use)) {
            oldest = at;
        }
    }
    if (oldest == NULL) {
        return NULL;
    }
    gops_ort_packing *evicted = *oldest;
    *oldest = evicted->next;
    plans->count--;
    return evicted;
}

/* The caller holds the lock, and destroys *evicted after it has released the lock. */
static gops_status take_plan(gops_ort_plans *plans, const gops_tensor *data,
                             const gops_tensor *filter, const gops_ort_weights *constant,
                             gops_ort_taken *taken, gops_ort_packing **evicted, gops_error *error)
{
    gops_status status = GOPS_UNSUPPORTED;
    gops_ort_packing *packing = plans->first;
    for (; packing != NULL; packing = packing->next) {
        if (is_same(&packing->filter, filter)) {
            status = get_plan(packing, data, &taken->plan, error);
            if (status != GOPS_UNSUPPORTED) {
                break;
            }
        }
    }
    if (packing == NULL) {
        status = create_packing(plans, data, filter, constant, &packing, error);
        if (status == GOPS_OK) {
            *evicted = plans->count >= MAX_PACKINGS ? evict_packing(plans) : NULL;
            packing->next = plans->first;
            plans->first = packing;
            plans->count++;
            taken->plan = packing->plan;
        }
    }
    if (status == GOPS_OK) {
        taken->packing = packing;
        packing->users++;
        packing->last_use = ++plans->clock;
    }
    return status;
}

gops_status gops_ort_plans_take(gops_ort_plans *plans, const gops_tensor *data,
                                const gops_tensor *filter, const gops_ort_weights *constant,
                                gops_ort_taken *taken, gops_error *error)
{
    gops_plan_info info = {.size = sizeof info};
    gops_ort_packing *evicted = NULL;
    pthread_mutex_lock(&plans->lock);
    gops_status status = take_plan(plans, data, filter, constant, taken, &evicted, error);
    pthread_mutex_unlock(&plans->lock);
    if (evicted != NULL) {
        destroy_packing(evicted);
    }
    if (status == GOPS_OK) {
        status = gops_plan_get_info(taken->plan, &info, error);
        taken->output = info.shape.output;
    }
    return status;
}

void gops_ort_plans_give_back(gops_ort_plans *plans, const gops_ort_taken *taken)
{
    pthread_mutex_lock(&plans->lock);
    if (taken->plan != taken->packing->plan) {
        gops_plan_cache_release(taken->packing->others, taken->plan);
    }
    taken->packing->users--;
    pthread_mutex_unlock(&plans->lock);
}

gops_status gops_ort_pack(gops_ort_plans *plans, const gops_ort_taken *taken,
                          const gops_ort_weights *weights, gops_ort_packed **packed,
                          gops_error *error)
{
    pthread_mutex_lock(&plans->lock);
    gops_ort_packed *spare = taken->packing->spare;
    if (spare != NULL) {
        taken->packing->spare = spare->next;
    }
    pthread_mutex_unlock(&plans->lock);
    *packed = spare;
    if (spare != NULL) {
        gops_status status = gops_filter_update(taken->plan, spare->filter, weights->values,
                                                weights->quantization, error);
        if (status != GOPS_OK) {
            gops_ort_unpack(plans, taken, spare);
        }
        return status;
    }
    spare = calloc(1, sizeof *spare);
    if (spare == NULL) {
        *error = (gops_error){GOPS_OUT_OF_MEMORY, "no memory for a packed filter"};
        return error->status;
    }
    gops_status status = gops_filter_create(taken->plan, weights->values, weights->quantization,
                                            &spare->filter, error);
    if (status != GOPS_OK) {
        free(spare);
        return status;
    }
    *packed = spare;
    return GOPS_OK;
}

void gops_ort_unpack(gops_ort_plans *plans, const gops_ort_taken *taken, gops_ort_packed *packed)
{
    pthread_mutex_lock(&plans->lock);
    packed->next = taken->packing->spare;
    taken->packing->spare = packed;
    pthread_mutex_unlock(&plans->lock);
}
