/* ort_candidates.c: finds all that the provider can take of a graph. */
#include "engines/onnxruntime/provider/ort_candidates.h"

#include <stdlib.h>

/* Whether nothing reads what a call computes: it would get no output to write. */
static bool is_dead(const gops_ort_graph *graph, const char *value)
{
    size_t count;
    gops_ort_uses(graph, value, &count);
    return count == 0;
}

/* Whether the library can read the constants among the inputs of a call. */
static ort_status *are_readable(const gops_ort_runtime *runtime, const gops_ort_claim *claim,
                                bool *are)
{
    ort_status *status = NULL;
    for (int i = 0; i < GOPS_ORT_INPUTS && status == NULL && *are; i++) {
        gops_ort_constant constant;
        bool is_constant = false, is_read = false;
        if (claim->infos[i] != NULL) {
            status = runtime->api->is_constant_initializer(claim->infos[i], &is_constant);
        }
        if (status == NULL && is_constant) {
            status = gops_ort_read_constant(runtime, claim->infos[i], &constant, &is_read);
            *are = is_read;
        }
    }
    return status;
}

ort_status *gops_ort_candidate_read(const gops_ort_graph *graph, gops_ort_node *node,
                                    gops_ort_candidate *found, bool *serves)
{
    ort_status *status = gops_ort_claim_start(graph, node, &found->claim, serves);
    found->is_pool = status == NULL && !*serves;
    found->next = NULL;
    if (found->is_pool) {
        status = gops_ort_pool_claim(graph, node, &found->claim, &found->pool, serves);
    }
    *serves = *serves && !is_dead(graph, found->claim.output);
    return status != NULL || found->is_pool ? status
                                            : are_readable(graph->runtime, &found->claim, serves);
}

/* Puts a candidate into the list that *end ends, which becomes the new end. */
static ort_status *append(const gops_ort_runtime *runtime, const gops_ort_candidate *found,
                          gops_ort_candidate ***end)
{
    gops_ort_candidate *made = malloc(sizeof *made);
    if (made == NULL) {
        return gops_ort_no_memory(runtime, "a list of nodes");
    }
    *made = *found;
    for (size_t i = 0; i < made->claim.node_count; i++) {
        made->claim.nodes[i]->claimed = true;
    }
    **end = made;
    *end = &made->next;
    return NULL;
}

ort_status *gops_ort_candidates_read(gops_ort_graph *graph, gops_ort_members *members,
                                     gops_ort_candidate **alone)
{
    const bool has_members = !graph->misjudged;
    ort_status *status = NULL;
    for (size_t i = 0; status == NULL && i < graph->node_count; i++) {
        gops_ort_member *member = NULL;
        gops_ort_candidate found;
        bool serves = false;
        if (!graph->nodes[i].claimed) {
            status = gops_ort_candidate_read(graph, &graph->nodes[i], &found, &serves);
        }
        if (serves && found.is_pool && graph->misjudged) {
            serves = false; /* its call takes no other shape */
        }
        if (status == NULL && serves && has_members) {
            status = found.is_pool
                         ? gops_ort_member_of_pool(graph, &found.claim, &found.pool, &member)
                         : gops_ort_member_of_claim(graph, &found.claim, &member);
        }
        if (status != NULL || !serves) {
            continue;
        }
        if (member != NULL) {
            status = gops_ort_members_add(graph->runtime, members, member);
        } else if (alone != NULL) {
            status = append(graph->runtime, &found, &alone);
        }
    }
    if (status == NULL && has_members) {
        status = gops_ort_members_read(graph, members);
    }
    return status != NULL ? status : gops_ort_members_sort(graph, members);
}

void gops_ort_candidates_free(gops_ort_candidate *list)
{
    while (list != NULL) {
        gops_ort_candidate *next = list->next;
        free(list);
        list = next;
    }
}
