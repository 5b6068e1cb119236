/* ort_provider.c: the provider of a session: says what it takes of a graph, and makes the object that the runtime
 * calls for each part. */
#include "engines/onnxruntime/provider/ort_provider.h"

#include "engines/onnxruntime/call/ort_pool_call.h"
#include "engines/onnxruntime/provider/ort_candidates.h"
#include "engines/onnxruntime/provider/ort_capability.h"
#include "engines/onnxruntime/provider/ort_compute.h"

#include <stdlib.h>
#include <string.h>

typedef struct provider {
    ort_ep base;              /* first: the runtime's pointer to it is one to this */
    gops_ort_runtime runtime; /* with the scratch of this session */
    const ort_logger *logger; /* of the session; NULL: none */
} provider;

static const char *provider_name(const ort_ep *ep)
{
    (void)ep;
    return GOPS_ORT_PROVIDER;
}

/* The data of a pool among the inputs, which are those of DequantizeLinear if there is one. */
static ort_status *make_pool(gops_ort_runtime *runtime, const gops_ort_candidate *found,
                             const char *const *names, size_t count, ort_compute_info **info)
{
    const char *data = found->claim.inputs[GOPS_ORT_DATA];
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], data) == 0) {
            return gops_ort_pool_create(runtime, &found->claim, &found->pool, i, info);
        }
    }
    return gops_ort_fail(runtime, ORT_FAIL, "groupops: MaxPool has no input \"%s\"", data);
}

/* The inputs of the fused node are in the order in which a call will get them. */
static ort_status *make_compute(gops_ort_runtime *runtime, const gops_ort_candidate *found,
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
    return found->is_pool ? make_pool(runtime, found, names, count, info)
                          : gops_ort_compute_create(runtime, &found->claim, names, count, info);
}

static ort_status *provider_get_capability(ort_ep *ep, const ort_graph *graph,
                                           ort_graph_support *support)
{
    const provider *self = (const provider *)(const void *)ep;
    return gops_ort_claim_nodes(&self->runtime, self->logger, graph, support);
}

static size_t count_nodes(const gops_ort_members *members)
{
    size_t count = 0;
    for (size_t i = 0; i < members->count; i++) {
        count += members->items[i]->claim.node_count;
    }
    return count;
}

/* The names and shapes of what the fused node reads and writes. */
static ort_status *make_region(gops_ort_runtime *runtime, const gops_ort_graph *graph,
                               const gops_ort_members *members, const ort_node *fused,
                               ort_compute_info **info)
{
    const ort_api *api = runtime->api;
    size_t counts[2] = {0, 0};
    ort_status *status = api->node_input_count(fused, &counts[0]);
    if (status != NULL || (status = api->node_output_count(fused, &counts[1])) != NULL) {
        return status;
    }
    const size_t count = counts[0] + counts[1];
    const ort_value_info **infos = calloc(count + 1, sizeof *infos);
    const char **names = calloc(count + 1, sizeof *names);
    gops_tensor *tensors = calloc(counts[0] + 1, sizeof *tensors);
    if (infos == NULL || names == NULL || tensors == NULL) {
        status = gops_ort_no_memory(runtime, "a graph");
    } else if ((status = api->node_inputs(fused, infos, counts[0])) == NULL &&
               (status = api->node_outputs(fused, infos + counts[0], counts[1])) == NULL) {
        status = gops_ort_value_names(runtime, infos, count, names);
    }
    for (size_t i = 0; i < counts[0] && status == NULL; i++) {
        bool is;
        status = gops_ort_read_operand(graph, infos[i], &tensors[i], &is);
        if (status == NULL && !is) {
            status = gops_ort_fail(
                runtime, ORT_FAIL,
                "groupops: input \"%s\" of a graph has another shape than before", names[i]);
        }
    }
    if (status == NULL) {
        const gops_ort_interface interface = {names, tensors, counts[0], names + counts[0],
                                              counts[1]};
        status = gops_ort_region_create(runtime, members, &interface, info);
    }
    free(infos);
    free(names);
    free(tensors);
    return status;
}

/* Looks for what was claimed: nodes that are one claim or pool, or else a region. What was found then refers to nodes,
 * values and constants of the graph around this one, so it is found anew, by the same functions. */
static ort_status *compile_graph(provider *self, gops_ort_graph *graph, const ort_node *fused,
                                 ort_compute_info **info)
{
    gops_ort_runtime *runtime = &self->runtime;
    gops_ort_members members = {NULL, 0, 0};
    gops_ort_candidate found;
    ort_status *status = NULL;
    for (size_t i = 0; status == NULL && i < graph->node_count; i++) {
        bool serves = false;
        status = gops_ort_candidate_read(graph, &graph->nodes[i], &found, &serves);
        if (status == NULL && serves && found.claim.node_count == graph->node_count) {
            return make_compute(runtime, &found, fused, info);
        }
    }
    if (status == NULL) {
        status = gops_ort_candidates_read(graph, &members, NULL);
    }
    if (status == NULL && count_nodes(&members) != graph->node_count) {
        status = gops_ort_fail(runtime, ORT_FAIL,
                               "groupops: a graph of %zu nodes came back that was not claimed so",
                               graph->node_count);
    }
    if (status == NULL) {
        status = make_region(runtime, graph, &members, fused, info);
    }
    gops_ort_members_free(&members);
    return status;
}

static ort_status *compile_one(provider *self, const ort_graph *from, const ort_node *fused,
                               ort_compute_info **info)
{
    gops_ort_graph graph;
    ort_status *status = gops_ort_graph_read(&self->runtime, from, &graph);
    if (status == NULL) {
        status = compile_graph(self, &graph, fused, info);
        gops_ort_graph_free(&graph);
    }
    return status;
}

static void provider_release_compute_infos(ort_ep *ep, ort_compute_info **infos, size_t count)
{
    (void)ep;
    for (size_t i = 0; i < count; i++) {
        gops_ort_destroy_callee(infos[i]);
    }
}

static ort_status *provider_compile(ort_ep *ep, const ort_graph **graphs,
                                    const ort_node **fused_nodes, size_t count,
                                    ort_compute_info **infos, ort_node **context_nodes)
{
    provider *self = (provider *)(void *)ep;
    ort_status *status = NULL;
    (void)context_nodes;
    for (size_t i = 0; i < count; i++) {
        infos[i] = NULL;
    }
    for (size_t i = 0; status == NULL && i < count; i++) {
        status = compile_one(self, graphs[i], fused_nodes[i], &infos[i]);
    }
    if (status != NULL) {
        provider_release_compute_infos(ep, infos, count);
        for (size_t i = 0; i < count; i++) {
            infos[i] = NULL;
        }
    }
    return status;
}

ort_status *gops_ort_provider_create(const gops_ort_runtime *runtime, const ort_logger *logger,
                                     ort_ep **ep)
{
    provider *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return gops_ort_no_memory(runtime, "a provider");
    }
    made->base.version = ORT_VERSION_PLUGINS;
    made->base.get_name = provider_name;
    made->base.get_capability = provider_get_capability;
    made->base.compile = provider_compile;
    made->base.release_compute_infos = provider_release_compute_infos;
    made->runtime = *runtime;
    made->logger = logger;
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
