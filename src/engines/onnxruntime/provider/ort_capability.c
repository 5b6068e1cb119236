/* ort_capability.c: claims the nodes that are worth it. */
#include "engines/onnxruntime/provider/ort_capability.h"

#include "engines/onnxruntime/provider/ort_candidates.h"
#include "engines/onnxruntime/worth/ort_worth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct claiming {
    const gops_ort_runtime *runtime;
    const ort_logger *logger;
    gops_ort_graph *graph;
    ort_graph_support *support;
    gops_ort_members members;  /* sorted; at last those that are taken */
    gops_ort_candidate *alone; /* what is a call by itself */
} claiming;

static ort_status *no_memory(const claiming *of)
{
    return gops_ort_no_memory(of->runtime, "a list of nodes");
}

/* Claims nodes as one, each with its constants among its inputs or without. */
static ort_status *claim(const claiming *of, gops_ort_node *const *nodes, size_t count,
                         bool constants)
{
    const ort_fusion_options options = {ORT_VERSION_PLUGINS, !constants};
    const ort_node **handles = malloc((count + 1) * sizeof *handles);
    if (handles == NULL) {
        return no_memory(of);
    }
    for (size_t i = 0; i < count; i++) {
        handles[i] = nodes[i]->handle;
    }
    ort_status *status = of->runtime->ep_api->claim_fused(of->support, handles, count, &options);
    free(handles);
    return status;
}

static ort_status *say(const claiming *of, const char *line)
{
    return of->logger == NULL ? NULL
                              : of->runtime->api->log_message(of->logger, ORT_LOG_INFO, line,
                                                              __FILE__, __LINE__, __func__);
}

/* Says what becomes of nodes. */
static ort_status *tell(const claiming *of, const char *first, const char *last, size_t count,
                        bool is_taken, double gain)
{
    char line[GOPS_MESSAGE_BYTES];
    const int length =
        snprintf(line, sizeof line, "groupops %s %zu nodes from \"%s\" on to the last of \"%s\"",
                 is_taken ? "takes" : "leaves", count, first, last);
    if (gain != 0 && (size_t)length < sizeof line) { /* 0: none was weighed */
        snprintf(
            line + length, sizeof line - (size_t)length,
            ": what was weighed of them takes %.0f us %s than the runtime's own, by the estimate",
            (gain > 0 ? gain : -gain) / 1000, gain > 0 ? "less" : "more");
    }
    return say(of, line);
}

/* Makes items of what is a call by itself. */
static ort_status *weigh_alone(const claiming *of, gops_ort_item *items, size_t *count)
{
    ort_status *status = NULL;
    for (gops_ort_candidate *found = of->alone; found != NULL && status == NULL;
         found = found->next) {
        gops_ort_item *item = &items[(*count)++];
        if (found->is_pool) {
            gops_ort_weigh_pool(&found->claim, item);
        } else {
            status = gops_ort_weigh_claim(of->runtime, &found->claim, item);
        }
    }
    return status;
}

/* Takes the members that are not worth it out of the list. */
static ort_status *drop_members(claiming *of, const gops_ort_item *items)
{
    gops_ort_members *members = &of->members;
    const char *first = NULL, *last = NULL;
    size_t kept = 0, left = 0;
    double gain = 0;
    for (size_t i = 0; i < members->count; i++) {
        gops_ort_member *member = members->items[i];
        member->gain = items[i].gain;
        if (items[i].is_taken) {
            members->items[kept++] = member;
            continue;
        }
        last = member->claim.nodes[0]->name;
        first = first != NULL ? first : last;
        left += member->claim.node_count;
        gain += member->gain;
        gops_ort_member_free(member);
    }
    members->count = kept;
    ort_status *status = left > 0 ? tell(of, first, last, left, false, gain) : NULL;
    return status != NULL ? status : gops_ort_members_sort(of->graph, members);
}

static size_t count_alone(const claiming *of)
{
    size_t count = 0;
    for (const gops_ort_candidate *found = of->alone; found != NULL; found = found->next) {
        count++;
    }
    return count;
}

/* Decides, and claims what is a call by itself. */
static ort_status *decide(claiming *of, gops_ort_item *items)
{
    const size_t members = of->members.count;
    size_t count = members;
    for (size_t i = 0; i < members; i++) {
        gops_ort_weigh_member(of->runtime, of->members.items[i], &items[i]);
    }
    ort_status *status = weigh_alone(of, items, &count);
    if (status == NULL) {
        status = gops_ort_choose(of->graph, items, count);
    }
    for (size_t i = 0; i < count && status == NULL; i++) {
        gops_ort_item *item = &items[i];
        item->is_taken = item->is_taken || of->runtime->claims_all;
        if (i >= members) {
            const char *name = item->nodes[0]->name;
            status = tell(of, name, name, item->node_count, item->is_taken, item->gain);
            /* The runtime keeps passing the weights at each call: a new shape may need another packing. */
            if (status == NULL && item->is_taken) {
                status = claim(of, item->nodes, item->node_count, true);
            }
        }
    }
    return status != NULL ? status : drop_members(of, items);
}

/* Claims members of one level: one of them by itself where it can be, else as a region. */
static ort_status *claim_level(const claiming *of, gops_ort_member *const *members, size_t count)
{
    size_t node_count = 0, alone = 0;
    double gain = 0;
    for (size_t i = 0; i < count; i++) {
        node_count += members[i]->claim.node_count;
        alone += members[i]->stands_alone;
        gain += members[i]->gain;
    }
    if (alone == 0) {
        return NULL; /* nothing to gain */
    }
    ort_status *status = tell(of, members[0]->claim.nodes[0]->name,
                              members[count - 1]->claim.nodes[0]->name, node_count, true, gain);
    gops_ort_node **nodes = status == NULL ? malloc(node_count * sizeof *nodes) : NULL;
    if (nodes == NULL) {
        return status != NULL ? status : no_memory(of);
    }
    for (size_t i = 0, k = 0; i < count; k += members[i++]->claim.node_count) {
        memcpy(nodes + k, members[i]->claim.nodes, members[i]->claim.node_count * sizeof *nodes);
    }
    status = claim(of, nodes, node_count, count == 1);
    free(nodes);
    return status;
}

static ort_status *claim_worthy(claiming *of)
{
    ort_status *status = gops_ort_candidates_read(of->graph, &of->members, &of->alone);
    if (status == NULL) {
        gops_ort_item *items = calloc(of->members.count + count_alone(of) + 1, sizeof *items);
        status = items != NULL ? decide(of, items) : no_memory(of);
        free(items);
    }
    gops_ort_member *const *members = of->members.items;
    for (size_t first = 0, end; status == NULL && first < of->members.count; first = end) {
        for (end = first + 1;
             end < of->members.count && members[end]->level == members[first]->level;) {
            end++;
        }
        status = claim_level(of, members + first, end - first);
    }
    return status;
}

ort_status *gops_ort_claim_nodes(const gops_ort_runtime *runtime, const ort_logger *logger,
                                 const ort_graph *from, ort_graph_support *support)
{
    gops_ort_graph graph;
    claiming of = {.runtime = runtime, .logger = logger, .graph = &graph, .support = support};
    if (runtime->keeps_context) {
        return say(&of,
                   "groupops leaves all nodes: of ep.context_enable a compiled model is asked for");
    }
    ort_status *status = gops_ort_graph_read(runtime, from, &graph);
    if (status == NULL) {
        status = claim_worthy(&of);
        gops_ort_members_free(&of.members);
        gops_ort_candidates_free(of.alone);
        gops_ort_graph_free(&graph);
    }
    return status;
}
