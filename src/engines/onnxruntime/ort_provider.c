/* ort_provider.c: claims nodes, and makes the object that the runtime calls for each claim. */
#include "ort_provider.h"

#include "ort_compute.h"
#include "ort_pool.h"
#include "ort_region.h"
#include "ort_worth.h"

#include <stdio.h>
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

/* What a node starts: a claim of a plan, or a pool. */
typedef struct candidate {
    gops_ort_claim claim;
    gops_ort_pool pool;
    bool is_pool;
    gops_ort_node *const *nodes; /* of either */
    size_t node_count;
} candidate;

/* Whether nothing reads what the claim computes: a call of it would get no output to write. */
static bool is_dead(const gops_ort_graph *graph, const gops_ort_claim *claim)
{
    size_t count;
    gops_ort_uses(graph, claim->output, &count);
    return count == 0 && !graph->nested;
}

static ort_status *read_candidate(const gops_ort_runtime *runtime, const gops_ort_graph *graph,
                                  gops_ort_node *node, candidate *found, bool *serves)
{
    ort_status *status = gops_ort_claim_start(runtime, graph, node, &found->claim, serves);
    found->is_pool = false;
    found->nodes = found->claim.nodes;
    found->node_count = found->claim.node_count;
    if (status != NULL || *serves) {
        *serves = *serves && !is_dead(graph, &found->claim);
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

/* Claims nodes as one, each with its constants among its inputs or without. */
static ort_status *claim(const gops_ort_runtime *runtime, gops_ort_node *const *nodes, size_t count,
                         bool constants, ort_graph_support *support)
{
    const ort_fusion_options options = {ORT_VERSION_PLUGINS, !constants};
    const ort_node **handles = malloc((count + 1) * sizeof *handles);
    if (handles == NULL) {
        return gops_ort_no_memory(runtime, "a list of nodes");
    }
    for (size_t i = 0; i < count; i++) {
        handles[i] = nodes[i]->handle;
        nodes[i]->claimed = true;
    }
    ort_status *status = runtime->ep_api->claim_fused(support, handles, count, &options);
    free(handles);
    return status;
}

/* Says what becomes of nodes. */
static ort_status *tell(const provider *self, const gops_ort_node *first, const gops_ort_node *last,
                        size_t node_count, double gain)
{
    const bool taken = gain > 0 || self->runtime.claims_all;
    char line[GOPS_MESSAGE_BYTES];
    if (self->logger == NULL) {
        return NULL;
    }
    snprintf(
        line, sizeof line,
        "groupops %s %zu nodes from \"%s\" on to the last of \"%s\": by the estimate a call of "
        "them takes %.0f us %s than the runtime's own",
        taken ? "takes" : "leaves", node_count, first->name, last->name,
        (gain > 0 ? gain : -gain) / 1000, gain > 0 ? "less" : "more");
    return self->runtime.api->log_message(self->logger, ORT_LOG_INFO, line, __FILE__, __LINE__,
                                          __func__);
}

/* Claims an operation and what is fused to it as a call, if it is worth it. The runtime keeps passing
 * the weights at each call: a new shape may need another packing. */
static ort_status *claim_alone(const provider *self, const gops_ort_graph *graph,
                               const gops_ort_claim *found, ort_graph_support *support)
{
    double gain;
    bool known;
    ort_status *status = gops_ort_gain_alone(&self->runtime, graph, found, &gain, &known);
    if (status == NULL && known) {
        status = tell(self, found->nodes[0], found->nodes[0], found->node_count, gain);
    }
    if (status != NULL || (known && gain <= 0 && !self->runtime.claims_all)) {
        return status;
    }
    return claim(&self->runtime, found->nodes, found->node_count, true, support);
}

/* Reads what starts at each node: members are added to the list; what cannot be one is claimed by
 * itself where there is a `support`. */
static ort_status *read_candidates(const provider *self, const gops_ort_graph *graph,
                                   ort_graph_support *support, gops_ort_members *members)
{
    const gops_ort_runtime *runtime = &self->runtime;
    bool misjudges;
    ort_status *status = gops_ort_misjudges_pools(runtime, graph, &misjudges);
    const bool has_members = status == NULL && !misjudges && !graph->nested;
    for (size_t i = 0; status == NULL && i < graph->node_count; i++) {
        gops_ort_member *member = NULL;
        candidate found;
        bool serves = false;
        if (!graph->nodes[i].claimed) {
            status = read_candidate(runtime, graph, &graph->nodes[i], &found, &serves);
        }
        if (status == NULL && serves && !found.is_pool && has_members) {
            status = gops_ort_member_of_claim(runtime, &found.claim, &member);
        }
        if (status != NULL || !serves) {
            continue;
        }
        if (member != NULL) {
            status = gops_ort_members_add(runtime, members, member);
        } else if (support != NULL) {
            status = found.is_pool ? claim(runtime, found.nodes, found.node_count, true, support)
                                   : claim_alone(self, graph, &found.claim, support);
        }
    }
    if (status == NULL && has_members) {
        status = gops_ort_members_read(runtime, graph, members);
    }
    return status != NULL ? status : gops_ort_members_sort(runtime, graph, members);
}

/* Claims members of one level: one of them by itself, more as a region, if it is worth it. */
static ort_status *claim_level(const provider *self, const gops_ort_graph *graph,
                               gops_ort_member *const *members, size_t count,
                               ort_graph_support *support)
{
    const gops_ort_runtime *runtime = &self->runtime;
    size_t node_count = 0, alone = 0;
    for (size_t i = 0; i < count; i++) {
        node_count += members[i]->claim.node_count;
        alone += members[i]->stands_alone;
    }
    if (alone == 0) {
        return NULL; /* nothing to gain */
    }
    if (count == 1) {
        return claim_alone(self, graph, &members[0]->claim, support);
    }
    const double gain = gops_ort_gain(runtime, members, count);
    ort_status *status = tell(self, members[0]->claim.nodes[0], members[count - 1]->claim.nodes[0],
                              node_count, gain);
    if (status != NULL || (gain <= 0 && !runtime->claims_all)) {
        return status;
    }
    gops_ort_node **nodes = malloc(node_count * sizeof *nodes);
    if (nodes == NULL) {
        return gops_ort_no_memory(runtime, "a list of nodes");
    }
    for (size_t i = 0, k = 0; i < count; k += members[i++]->claim.node_count) {
        memcpy(nodes + k, members[i]->claim.nodes, members[i]->claim.node_count * sizeof *nodes);
    }
    status = claim(runtime, nodes, node_count, false, support);
    free(nodes);
    return status;
}

static ort_status *provider_get_capability(ort_ep *ep, const ort_graph *from,
                                           ort_graph_support *support)
{
    const provider *self = (const provider *)(const void *)ep;
    const gops_ort_runtime *runtime = &self->runtime;
    gops_ort_members members = {NULL, 0, 0};
    gops_ort_graph graph;
    ort_status *status = gops_ort_graph_read(runtime, from, &graph);
    if (status != NULL) {
        return status;
    }
    status = read_candidates(self, &graph, support, &members);
    for (size_t first = 0, end; status == NULL && first < members.count; first = end) {
        for (end = first + 1;
             end < members.count && members.items[end]->level == members.items[first]->level;) {
            end++;
        }
        status = claim_level(self, &graph, members.items + first, end - first, support);
    }
    gops_ort_members_free(&members);
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

static size_t count_nodes(const gops_ort_members *members)
{
    size_t count = 0;
    for (size_t i = 0; i < members->count; i++) {
        count += members->items[i]->claim.node_count;
    }
    return count;
}

/* The names and shapes of what the fused node reads and writes. */
static ort_status *make_region(gops_ort_runtime *runtime, const gops_ort_members *members,
                               const ort_node *fused, ort_compute_info **info)
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
        bool known;
        status = gops_ort_value_tensor(runtime, infos[i], &tensors[i], &known);
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

/* Looks for what was claimed: nodes that are one claim or pool, or else a region. */
static ort_status *compile_graph(provider *self, const gops_ort_graph *graph, const ort_node *fused,
                                 ort_compute_info **info)
{
    gops_ort_runtime *runtime = &self->runtime;
    gops_ort_members members = {NULL, 0, 0};
    candidate found;
    ort_status *status = NULL;
    for (size_t i = 0; status == NULL && i < graph->node_count; i++) {
        bool serves = false;
        status = read_candidate(runtime, graph, &graph->nodes[i], &found, &serves);
        if (status == NULL && serves && found.node_count == graph->node_count) {
            return make_compute(runtime, &found, fused, info);
        }
    }
    if (status == NULL) {
        status = read_candidates(self, graph, NULL, &members);
    }
    if (status == NULL && count_nodes(&members) != graph->node_count) {
        status = gops_ort_fail(runtime, ORT_FAIL,
                               "groupops: a graph of %zu nodes came back that was not claimed so",
                               graph->node_count);
    }
    if (status == NULL) {
        status = make_region(runtime, &members, fused, info);
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
        if (gops_ort_is_region(infos[i])) {
            gops_ort_region_destroy(infos[i]);
        } else {
            (gops_ort_is_pool(infos[i]) ? gops_ort_pool_destroy
                                        : gops_ort_compute_destroy)(infos[i]);
        }
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
