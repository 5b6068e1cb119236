/* ort_provider.c: claims nodes, and makes the object that the runtime calls for each claim. */
#include "ort_provider.h"

#include "ort_compute.h"
#include "ort_pool.h"

#include <stdlib.h>
#include <string.h>

typedef struct provider {
    ort_ep base;              /* first: the runtime's pointer to it is one to this */
    gops_ort_runtime runtime; /* with the scratch of this session */
} provider;

static const char *provider_name(const ort_ep *ep)
{
    (void)ep;
    return GOPS_ORT_PROVIDER;
}

/* What a node starts: a claim of a plan, or a pool. */
typedef struct candidate {
    gops_ort_claim claim;
    gops_ort_pool pool;
    bool is_pool;
    gops_ort_node *const *nodes; /* of either */
    size_t node_count;
} candidate;

static ort_status *read_candidate(const gops_ort_runtime *runtime, const gops_ort_graph *graph,
                                  gops_ort_node *node, candidate *found, bool *serves)
{
    ort_status *status = gops_ort_claim_start(runtime, graph, node, &found->claim, serves);
    found->is_pool = false;
    found->nodes = found->claim.nodes;
    found->node_count = found->claim.node_count;
    if (status != NULL || *serves) {
        return status;
    }
    status = gops_ort_pool_claim(runtime, graph, node, &found->pool, serves);
    if (*serves) {
        found->is_pool = true;
        found->nodes = found->pool.nodes;
        found->node_count = found->pool.node_count;
    }
    return status;
}

static ort_status *claim_node(const gops_ort_runtime *runtime, const gops_ort_graph *graph,
                              gops_ort_node *node, ort_graph_support *support)
{
    /* The runtime keeps passing the weights at each call: a new shape may need another packing. */
    const ort_fusion_options keep = {ORT_VERSION_PLUGINS, false};
    const ort_node *handles[GOPS_ORT_MAX_NODES];
    candidate found;
    bool serves;
    ort_status *status = read_candidate(runtime, graph, node, &found, &serves);
    if (status != NULL || !serves) {
        return status;
    }
    for (size_t i = 0; i < found.node_count; i++) {
        handles[i] = found.nodes[i]->handle;
        found.nodes[i]->claimed = true;
    }
    return runtime->ep_api->claim_fused(support, handles, found.node_count, &keep);
}

static ort_status *provider_get_capability(ort_ep *ep, const ort_graph *from,
                                           ort_graph_support *support)
{
    gops_ort_runtime *runtime = &((provider *)(void *)ep)->runtime;
    gops_ort_graph graph;
    ort_status *status = gops_ort_graph_read(runtime, from, &graph);
    if (status != NULL) {
        return status;
    }
    for (size_t i = 0; status == NULL && i < graph.node_count; i++) {
        if (!graph.nodes[i].claimed) {
            status = claim_node(runtime, &graph, &graph.nodes[i], support);
        }
    }
    gops_ort_graph_free(&graph);
    return status;
}

/* The data of a pool among the inputs, which are those of DequantizeLinear if there is one. */
static ort_status *make_pool(gops_ort_runtime *runtime, const gops_ort_pool *pool,
                             const char *const *names, size_t count, ort_compute_info **info)
{
    const char *data = pool->nodes[pool->node_count > 1 ? 1 : 0]->input_names[0];
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], data) == 0) {
            return gops_ort_pool_create(runtime, pool, i, info);
        }
    }
    return gops_ort_fail(runtime, ORT_FAIL, "groupops: MaxPool has no input \"%s\"", data);
}

/* The inputs of the fused node are in the order in which a call will get them. */
static ort_status *make_compute(gops_ort_runtime *runtime, const candidate *found,
                                const ort_node *fused, ort_compute_info **info)
{
    enum { MAX_INPUTS = GOPS_ORT_MAX_NODES * GOPS_ORT_MAX_NODE_INPUTS };
    const ort_value_info *infos[MAX_INPUTS];
    const char *names[MAX_INPUTS];
    size_t count = 0;
    ort_status *status = runtime->api->node_input_count(fused, &count);
    if (status == NULL && count > MAX_INPUTS) {
        status = gops_ort_fail(runtime, ORT_FAIL, "groupops: a claim with %zu inputs", count);
    }
    if (status == NULL) {
        status = runtime->api->node_inputs(fused, infos, count);
    }
    if (status == NULL) {
        status = gops_ort_value_names(runtime, infos, count, names);
    }
    if (status != NULL) {
        return status;
    }
    return found->is_pool ? make_pool(runtime, &found->pool, names, count, info)
                          : gops_ort_compute_create(runtime, &found->claim, names, count, info);
}

static ort_status *compile_one(gops_ort_runtime *runtime, const ort_graph *from,
                               const ort_node *fused, ort_compute_info **info)
{
    gops_ort_graph graph;
    candidate found = {.is_pool = false};
    bool serves = false;
    ort_status *status = gops_ort_graph_read(runtime, from, &graph);
    if (status != NULL) {
        return status;
    }
    for (size_t i = 0; status == NULL && !serves && i < graph.node_count; i++) {
        status = read_candidate(runtime, &graph, &graph.nodes[i], &found, &serves);
    }
    if (status == NULL && (!serves || found.node_count != graph.node_count)) {
        status = gops_ort_fail(runtime, ORT_FAIL,
                               "groupops: a graph of %zu nodes came back that was not claimed so",
                               graph.node_count);
    }
    if (status == NULL) {
        status = make_compute(runtime, &found, fused, info);
    }
    gops_ort_graph_free(&graph);
    return status;
}

static void provider_release_compute_infos(ort_ep *ep, ort_compute_info **infos, size_t count)
{
    (void)ep;
    for (size_t i = 0; i < count; i++) {
        (gops_ort_is_pool(infos[i]) ? gops_ort_pool_destroy : gops_ort_compute_destroy)(infos[i]);
    }
}

static ort_status *provider_compile(ort_ep *ep, const ort_graph **graphs,
                                    const ort_node **fused_nodes, size_t count,
                                    ort_compute_info **infos, ort_node **context_nodes)
{
    gops_ort_runtime *runtime = &((provider *)(void *)ep)->runtime;
    ort_status *status = NULL;
    (void)context_nodes;
    for (size_t i = 0; i < count; i++) {
        infos[i] = NULL;
    }
    for (size_t i = 0; status == NULL && i < count; i++) {
        status = compile_one(runtime, graphs[i], fused_nodes[i], &infos[i]);
    }
    if (status != NULL) {
        provider_release_compute_infos(ep, infos, count);
        for (size_t i = 0; i < count; i++) {
            infos[i] = NULL;
        }
    }
    return status;
}

ort_status *gops_ort_provider_create(const gops_ort_runtime *runtime, ort_ep **ep)
{
    provider *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return gops_ort_fail(runtime, ORT_FAIL, "groupops: no memory for a provider");
    }
    made->base.version = ORT_VERSION_PLUGINS;
    made->base.get_name = provider_name;
    made->base.get_capability = provider_get_capability;
    made->base.compile = provider_compile;
    made->base.release_compute_infos = provider_release_compute_infos;
    made->runtime = *runtime;
    *ep = &made->base;
    return NULL;
}

void gops_ort_provider_destroy(ort_ep *ep)
{
    if (ep != NULL) {
        provider *self = (provider *)(void *)ep;
        if (self->runtime.scratch != NULL) {
            self->runtime.api->release_allocator(self->runtime.scratch);
        }
        free(self);
    }
}
