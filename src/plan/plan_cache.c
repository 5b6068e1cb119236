/*
 * plan/plan_cache.c: keeps the most recently used reshapes of one plan.
 *
 * The key is the data's dimensions and the output_shape; nothing else differs between reshapes. The
 * entries are few, so they are searched linearly. Plans are made and destroyed outside of the lock,
 * because both call functions of the host.
 */
#include "plan/plan.h"

#include "base/error.h"
#include "base/locks.h"

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
    /* A copy; but for the contexts of the host and of the GEMM table it points to constants alone. */
    gops_plan origin;
    int lock;
    uint64_t now; /* how often it was looked into; at a miss twice */
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
    made->lock = gops_lock_of(made);
    *cache = made;
    return GOPS_OK;
}

/* False if the lists are too long for a key. */
static bool write_key(const gops_tensor *data, const gops_list *output_shape, key *to)
{
    memset(to, 0, sizeof *to);
    to->output_axes = -1;
    if (data->rank < 0 || data->rank > GOPS_MAX_RANK ||
        (output_shape != NULL &&
         (output_shape->count < 0 || output_shape->count > GOPS_MAX_SPATIAL))) {
        return false;
    }
    to->rank = data->rank;
    memcpy(to->dims, data->dims, (size_t)data->rank * sizeof to->dims[0]);
    if (output_shape != NULL) {
        to->output_axes = output_shape->count;
        memcpy(to->output_shape, output_shape->values,
               (size_t)output_shape->count * sizeof to->output_shape[0]);
    }
    return true;
}

/* An empty entry, else the least recently used entry whose plan has no users, else NULL. */
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

/* Under the lock: the plan for the key, which gets one more user; NULL if there is none. */
static const gops_plan *take(gops_plan_cache *cache, const key *wanted)
{
    cache->now++;
    for (int32_t i = 0; i < cache->capacity; i++) {
        entry *at = &cache->entries[i];
        if (at->plan != NULL && memcmp(&at->key, wanted, sizeof *wanted) == 0) {
            at->users++;
            at->used = cache->now;
            return at->plan;
        }
    }
    return NULL;
}

/* Under the lock: stores a new plan, with one user, unless another thread has stored the same key
 * or all entries are in use. The plan that is given up for it goes to *old; the caller destroys it.
 * Returns the plan to use. */
static const gops_plan *keep(gops_plan_cache *cache, const key *wanted, gops_plan *made,
                             gops_plan **old)
{
    const gops_plan *there = take(cache, wanted);
    if (there != NULL) {
        *old = made;
        return there;
    }
    entry *at = find_room(cache);
    *old = NULL;
    if (at != NULL) { /* else its release destroys it */
        *old = at->plan;
        *at = (entry){.key = *wanted, .plan = made, .users = 1, .used = cache->now};
    }
    return made;
}

gops_status gops_plan_cache_get(gops_plan_cache *cache, const gops_tensor *data,
                                const gops_list *output_shape, const gops_plan **plan,
                                gops_error *error)
{
    key wanted;
    gops_plan *made, *old;
    if (plan == NULL) {
        return gops_fail(error, GOPS_INVALID, "plan is NULL");
    }
    *plan = NULL;
    if (cache == NULL || data == NULL) {
        return gops_fail(error, GOPS_INVALID, "%s is NULL", cache == NULL ? "cache" : "data");
    }
    if (data->type != cache->origin.type->type || !write_key(data, output_shape, &wanted)) {
        /* fails, with the message */
        return gops_plan_reshape(&cache->origin, data, output_shape, &made, error);
    }
    gops_lock(cache->lock);
    *plan = take(cache, &wanted);
    gops_unlock(cache->lock);
    if (*plan == NULL) {
        GOPS_TRY(gops_plan_reshape(&cache->origin, data, output_shape, &made, error));
        gops_lock(cache->lock);
        *plan = keep(cache, &wanted, made, &old);
        gops_unlock(cache->lock);
        gops_plan_destroy(old);
    }
    return GOPS_OK;
}

void gops_plan_cache_release(gops_plan_cache *cache, const gops_plan *plan)
{
    bool kept = false;
    if (cache == NULL || plan == NULL) {
        return;
    }
    gops_lock(cache->lock);
    for (int32_t i = 0; i < cache->capacity && !kept; i++) {
        kept = cache->entries[i].plan == plan;
        cache->entries[i].users -= kept;
    }
    gops_unlock(cache->lock);
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
        host.release(host.context, cache);
    }
}
