/*
 * plan/plan_cache.c: reshapes of one plan, the latest used ones kept.
 *
 * The key is the data's sizes and the output_shape: all else is the plan's own. The entries are
 * few, so they are searched one by one.
 */
#include "plan/plan.h"

#include "base/error.h"

#include <pthread.h>
#include <string.h>

/* Filled with zeros before it is written, so that keys are compared byte by byte. */
typedef struct key {
    int64_t dims[GOPS_MAX_RANK];
    int64_t rank;
    int64_t output_shape[GOPS_MAX_SPATIAL];
    int64_t output_axes; /* -1: the plan's own output_shape */
} key;

typedef struct entry {
    key key;
    gops_plan *plan; /* NULL: empty */
    int64_t users;
    uint64_t used; /* when it was asked for last */
} entry;

struct gops_plan_cache {
    gops_plan origin; /* a copy: of plain values and the host's functions */
    pthread_mutex_t lock;
    uint64_t now; /* how often the cache was asked */
    int32_t capacity;
    entry entries[];
};

enum { MAX_CAPACITY = 65536 };

gops_status gops_plan_cache_create(const gops_plan *plan, int32_t capacity, gops_plan_cache **cache,
                                   gops_error *error)
{
    if (cache == NULL || plan == NULL) {
        return gops_fail(error, GOPS_INVALID, "%s is NULL", cache == NULL ? "cache" : "plan");
    }
    *cache = NULL;
    if (capacity < 1 || capacity > MAX_CAPACITY) {
        return gops_fail(error, GOPS_INVALID, "capacity is %d; it must be from 1 to %d",
                         (int)capacity, MAX_CAPACITY);
    }
    const size_t bytes = sizeof **cache + (size_t)capacity * sizeof(entry);
    gops_plan_cache *made =
        plan->host.allocate(plan->host.context, bytes, GOPS_WORKSPACE_ALIGNMENT);
    if (made == NULL) {
        return gops_fail(error, GOPS_OUT_OF_MEMORY, "no memory for a plan cache of %zu bytes",
                         bytes);
    }
    memset(made, 0, bytes);
    made->origin = *plan;
    made->capacity = capacity;
    if (pthread_mutex_init(&made->lock, NULL) != 0) {
        plan->host.release(plan->host.context, made);
        return gops_fail(error, GOPS_OUT_OF_MEMORY, "no lock for a plan cache");
    }
    *cache = made;
    return GOPS_OK;
}

static int write_key(const gops_tensor *data, const gops_list *output_shape, key *to)
{
    memset(to, 0, sizeof *to);
    to->output_axes = -1;
    if (data->rank < 0 || data->rank > GOPS_MAX_RANK ||
        (output_shape != NULL &&
         (output_shape->count < 0 || output_shape->count > GOPS_MAX_SPATIAL))) {
        return 0;
    }
    to->rank = data->rank;
    memcpy(to->dims, data->dims, (size_t)data->rank * sizeof to->dims[0]);
    if (output_shape != NULL) {
        to->output_axes = output_shape->count;
        memcpy(to->output_shape, output_shape->values,
               (size_t)output_shape->count * sizeof to->output_shape[0]);
    }
    return 1;
}

static entry *find(gops_plan_cache *cache, const key *wanted)
{
    for (int32_t i = 0; i < cache->capacity; i++) {
        entry *at = &cache->entries[i];
        if (at->plan != NULL && memcmp(&at->key, wanted, sizeof *wanted) == 0) {
            return at;
        }
    }
    return NULL;
}

/* An empty entry, or else that of the plan that was asked for longest ago and is not in use; NULL
 * where all are. */
static entry *find_room(gops_plan_cache *cache)
{
    entry *oldest = NULL;
    for (int32_t i = 0; i < cache->capacity; i++) {
        entry *at = &cache->entries[i];
        if (at->plan == NULL) {
            return at;
        }
        if (at->users == 0 && (oldest == NULL || at->used < oldest->used)) {
            oldest = at;
        }
    }
    return oldest;
}

static gops_status get(gops_plan_cache *cache, const gops_tensor *data,
                       const gops_list *output_shape, const key *wanted, const gops_plan **plan,
                       gops_error *error)
{
    entry *at = find(cache, wanted);
    cache->now++;
    if (at == NULL) {
        gops_plan *made;
        gops_status status = gops_plan_reshape(&cache->origin, data, output_shape, &made, error);
        at = status == GOPS_OK ? find_room(cache) : NULL;
        if (at == NULL) {
            *plan = made; /* nobody else's: ends with its use */
            return status;
        }
        gops_plan_destroy(at->plan);
        *at = (entry){.key = *wanted, .plan = made};
    }
    at->users++;
    at->used = cache->now;
    *plan = at->plan;
    return GOPS_OK;
}

gops_status gops_plan_cache_get(gops_plan_cache *cache, const gops_tensor *data,
                                const gops_list *output_shape, const gops_plan **plan,
                                gops_error *error)
{
    key wanted;
    if (plan == NULL) {
        return gops_fail(error, GOPS_INVALID, "plan is NULL");
    }
    *plan = NULL;
    if (cache == NULL || data == NULL) {
        return gops_fail(error, GOPS_INVALID, "%s is NULL", cache == NULL ? "cache" : "data");
    }
    if (data->type != cache->origin.type->type || !write_key(data, output_shape, &wanted)) {
        gops_plan *none; /* refused, with the reason */
        return gops_plan_reshape(&cache->origin, data, output_shape, &none, error);
    }
    pthread_mutex_lock(&cache->lock);
    const gops_status status = get(cache, data, output_shape, &wanted, plan, error);
    pthread_mutex_unlock(&cache->lock);
    return status;
}

void gops_plan_cache_release(gops_plan_cache *cache, const gops_plan *plan)
{
    int kept = 0;
    if (cache == NULL || plan == NULL) {
        return;
    }
    pthread_mutex_lock(&cache->lock);
    for (int32_t i = 0; i < cache->capacity && !kept; i++) {
        kept = cache->entries[i].plan == plan;
        cache->entries[i].users -= kept;
    }
    pthread_mutex_unlock(&cache->lock);
    if (!kept) {
        const gops_host *host = &cache->origin.host;
        host->release(host->context, (void *)(uintptr_t)plan);
    }
}

void gops_plan_cache_destroy(gops_plan_cache *cache)
{
    if (cache != NULL) {
        const gops_host host = cache->origin.host;
        for (int32_t i = 0; i < cache->capacity; i++) {
            gops_plan_destroy(cache->entries[i].plan);
        }
        pthread_mutex_destroy(&cache->lock);
        host.release(host.context, cache);
    }
}
