/* ort_provider.c: claims nodes, and makes the object that the runtime calls for each claim. */
#include "ort_provider.h"

#include "ort_compute.h"

#include <stdlib.h>

typedef struct provider {
    ort_ep base;              /* first: the runtime's pointer to it is one to this */
    gops_ort_runtime runtime; /* with the scratch of this session */
} provider;

static const char *provider_name(const ort_ep *ep)
{
    (void)ep;
    return GOPS_ORT_PROVIDER;
}

static ort_status *claim_node(const gops_ort_runtime *runtime, const gops_ort_graph *graph,
                              gops_ort_node *node, ort_graph_support *support)
{
    /* The runtime keeps passing the weights at each call: a new shape may need another packing. */
    const ort_fusion_options keep = {ORT_VERSION_PLUGINS, false};
    const ort_node *handles[GOPS_ORT_MAX_NODES];
    gops_ort_claim claim;
    bool serves;
    ort_status *status = gops_ort_claim_start(runtime, graph, node, &claim, &serves);
    if (status != NULL || !serves) {
        return status;
    }
    for (size_t i = 0; i < claim.node_count; i++) {
        handles[i] = claim.nodes[i]->handle;
        claim.nodes[i]->claimed = true;
    }
    return runtime->ep_api->claim_fused(support, handles, claim.node_count, &keep);
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

/* The inputs of the fused node are in the order in which a call will get them. */
static ort_status *make_compute(gops_ort_runtime *runtime, const gops_ort_claim *claim,
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
    return status != NULL ? status : gops_ort_compute_create(runtime, claim, names, count, info);
}

static ort_status *compile_one(gops_ort_runtime *runtime, const ort_graph *from,
                               const ort_node *fused, ort_compute_info **info)
{
    gops_ort_graph graph;
    gops_ort_claim claim;
    bool serves = false;
    ort_status *status = gops_ort_graph_read(runtime, from, &graph);
    if (status != NULL) {
        return status;
    }
    for (size_t i = 0; status == NULL && !serves && i < graph.node_count; i++) {
        status = gops_ort_claim_start(runtime, &graph, &graph.nodes[i], &claim, &serves);
    }
    if (status == NULL && (!serves || claim.node_count != graph.node_count)) {
        status = gops_ort_fail(runtime, ORT_FAIL,
                               "groupops: a graph of %zu nodes came back that was not claimed so",
                               graph.node_count);
    }
    if (status == NULL) {
        status = make_compute(runtime, &claim, fused, info);
    }
    gops_ort_graph_free(&graph);
    return status;
}

static void provider_release_compute_infos(ort_ep *ep, ort_compute_info **infos, size_t count)
{
    (void)ep;
    for (size_t i = 0; i < count; i++) {
        gops_ort_compute_destroy(infos[i]);
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
