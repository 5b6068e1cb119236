/* ort_plans.h: the plans of one claim, one for each shape that occurs, with as few packings of the
 * weights as the shapes allow. */
#ifndef GROUPOPS_ENGINES_ORT_PLANS_H
#define GROUPOPS_ENGINES_ORT_PLANS_H

#include "engines/onnxruntime/graph/ort_operation.h"

#include <pthread.h>

/* A packed filter for weights that change from call to call. */
typedef struct gops_ort_packed {
    gops_packed_filter *filter;
    struct gops_ort_packed *next;
} gops_ort_packed;

/* A plan, and the plans for other shapes that its packed weights serve. */
typedef struct gops_ort_packing {
    gops_tensor data, filter; /* what the plan was made for */
    gops_plan *plan;
    gops_plan_cache *others;      /* NULL before there is another shape */
    gops_packed_filter *constant; /* the packed weights where they never change */
    gops_ort_packed *spare;       /* weights that change: packed filters that no call is using */
    int64_t users;                /* calls that are running one of the plans */
    uint64_t last_use;
    struct gops_ort_packing *next;
} gops_ort_packing;

typedef struct gops_ort_plans {
    gops_ort_runtime *runtime;
    const gops_ort_operation *operation;
    /* Protects the members below and the lists. It is held while a plan is looked up or made and
     * constant weights are packed, never while executing. */
    pthread_mutex_t lock;
    gops_ort_packing *first;
    int64_t count;
    uint64_t clock;
} gops_ort_plans;

/* A plan in use by a call. */
typedef struct gops_ort_taken {
    gops_ort_packing *packing;
    const gops_plan *plan;
    gops_tensor output;
} gops_ort_taken;

/* Weights to pack. `quantization` is the operation's, or NULL if it is not quantized. */
typedef struct gops_ort_weights {
    const void *values;
    const gops_quantization *quantization;
} gops_ort_weights;

/* The threads that plans are made for. The runtime does not tell how many a session has; a plan for
 * more than there are has the same work items. Every call returns what the first did. */
enum { GOPS_ORT_MAX_THREADS = 1024 };
int32_t gops_ort_processors(void);

/* The options of the operation's plans, all but the number of threads. */
gops_options gops_ort_options(const gops_ort_runtime *runtime, const gops_ort_operation *operation,
                              const gops_host *host);

/* A normalization's filter is the scale, which the bias is like. */
gops_status gops_ort_plan_create(const gops_ort_operation *operation, const gops_tensor *data,
                                 const gops_tensor *filter, const gops_options *options,
                                 gops_plan **plan, gops_error *error);

bool gops_ort_plans_open(gops_ort_runtime *runtime, const gops_ort_operation *operation,
                         gops_ort_plans *plans);
void gops_ort_plans_close(gops_ort_plans *plans);

/* The plan for the shapes, which stays until it is given back. `constant` are the weights if they
 * never change, else NULL. */
gops_status gops_ort_plans_take(gops_ort_plans *plans, const gops_tensor *data,
                                const gops_tensor *filter, const gops_ort_weights *constant,
                                gops_ort_taken *taken, gops_error *error);
void gops_ort_plans_give_back(gops_ort_plans *plans, const gops_ort_taken *taken);

/* Packs these weights for one call with the plan. */
gops_status gops_ort_pack(gops_ort_plans *plans, const gops_ort_taken *taken,
                          const gops_ort_weights *weights, gops_ort_packed **packed,
                          gops_error *error);
void gops_ort_unpack(gops_ort_plans *plans, const gops_ort_taken *taken, gops_ort_packed *packed);

#endif
