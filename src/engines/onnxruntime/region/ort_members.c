/* ort_members.c: which members a graph has, and which of them can be one region. */
#include "engines/onnxruntime/region/ort_region.h"

#include <stdlib.h>
#include <string.h>

ort_status *gops_ort_members_add(const gops_ort_runtime *runtime, gops_ort_members *members,
                                 gops_ort_member *member)
{
    const size_t chain = member->next != NULL ? members->count + 1 : 0;
    while (member != NULL) {
        if (members->count == members->capacity) {
            const size_t capacity = members->capacity * 2 + 16;
            gops_ort_member **items = realloc(members->items, capacity * sizeof(void *));
            if (items == NULL) {
                gops_ort_member_free(member);
                return gops_ort_no_memory(runtime, "a list of nodes");
            }
            members->items = items;
            members->capacity = capacity;
        }
        gops_ort_member *next = member->next;
        member->next = NULL;
        member->chain = chain;
        members->items[members->count++] = member;
        for (size_t i = 0; i < member->claim.node_count; i++) {
            member->claim.nodes[i]->claimed = true;
        }
        member = next;
    }
    return NULL;
}

static bool is_read_to_quantize(const gops_ort_graph *graph, const char *value)
{
    size_t count;
    const gops_ort_use *uses = gops_ort_uses(graph, value, &count);
    for (size_t i = 0; i < count; i++) {
        if (gops_ort_quantizes(uses[i].reader)) {
            return true;
        }
    }
    return false;
}

/* At once, or behind a Relu or Clip. */
static bool is_quantized(const gops_ort_graph *graph, const char *value)
{
    size_t count;
    const gops_ort_use *uses = gops_ort_uses(graph, value, &count);
    bool is_so = is_read_to_quantize(graph, value);
    for (size_t i = 0; i < count && !is_so; i++) {
        const gops_ort_node *reader = uses[i].reader;
        is_so = gops_ort_bounds(reader) && is_read_to_quantize(graph, reader->output_names[0]);
    }
    return is_so;
}

static bool reads_dequantized(const gops_ort_graph *graph, const gops_ort_node *node)
{
    bool reads = false;
    for (size_t i = 0; i < node->input_count && !reads; i++) {
        reads = gops_ort_dequantizes(gops_ort_writer(graph, node->input_names[i]));
    }
    return reads;
}

/* Whether the runtime makes a node of integers of it, with other bits than that of floats has: it lies between
 * DequantizeLinear and QuantizeLinear, or is the Relu or Clip behind what does. */
static bool lies_between(const gops_ort_graph *graph, const gops_ort_node *node)
{
    const gops_ort_node *first =
        gops_ort_bounds(node) ? gops_ort_writer(graph, node->input_names[0]) : NULL;
    return (reads_dequantized(graph, node) || (first != NULL && reads_dequantized(graph, first))) &&
           node->output_count > 0 && is_quantized(graph, node->output_names[0]);
}

/* By a node of the member, or of one that was read with it. */
static bool is_written_within(const gops_ort_member *member, const char *value)
{
    bool is_so = false;
    for (; member != NULL && !is_so; member = member->next) {
        for (size_t i = 0; i < member->claim.node_count && !is_so; i++) {
            const gops_ort_node *node = member->claim.nodes[i];
            for (size_t k = 0; k < node->output_count && !is_so; k++) {
                is_so = strcmp(node->output_names[k], value) == 0;
            }
        }
    }
    return is_so;
}

static bool is_input(const gops_ort_member *member, const char *value)
{
    bool is_so = false;
    for (size_t i = 0; i < member->input_count && !is_so; i++) {
        is_so = strcmp(member->inputs[i], value) == 0;
    }
    return is_so;
}

/* Whether its nodes read constants besides its inputs, and nothing else, which would be an input of the region too;
 * `first` is that of all which were read together. */
static ort_status *reads_inputs_alone(const gops_ort_runtime *runtime, const gops_ort_member *first,
                                      const gops_ort_member *member, bool *alone)
{
    ort_status *status = NULL;
    for (size_t i = 0; i < member->claim.node_count && *alone && status == NULL; i++) {
        const gops_ort_node *node = member->claim.nodes[i];
        for (size_t k = 0; k < node->input_count && *alone && status == NULL; k++) {
            if (node->inputs[k] != NULL && !is_input(member, node->input_names[k]) &&
                !is_written_within(first, node->input_names[k])) {
                status = runtime->api->is_constant_initializer(node->inputs[k], alone);
            }
        }
    }
    return status;
}

ort_status *gops_ort_members_read(const gops_ort_graph *graph, gops_ort_members *members)
{
    ort_status *status = NULL;
    for (size_t i = 0; status == NULL && i < graph->node_count; i++) {
        gops_ort_member *member = NULL;
        gops_ort_node *node = &graph->nodes[i];
        if (!node->claimed) {
            status = gops_ort_member_of_integers(graph, node, &member);
        }
        if (status == NULL && member == NULL && !node->claimed && !lies_between(graph, node)) {
            status = gops_ort_member_of_node(graph, node, &member);
        }
        bool alone = true;
        for (const gops_ort_member *of = member; status == NULL && of != NULL; of = of->next) {
            status = reads_inputs_alone(graph->runtime, member, of, &alone);
        }
        if (status != NULL || !alone) {
            gops_ort_member_free(member);
        } else if (member != NULL) {
            status = gops_ort_members_add(graph->runtime, members, member);
        }
    }
    return status;
}

/* What the nodes of a graph are part of, and how deep values lie in regions. */
typedef struct depth {
    const gops_ort_graph *graph;
    const gops_ort_member **owner; /* of each node; NULL: none */
    int32_t *level;                /* of each node's outputs */
} depth;

/* The level that the inputs of a node ask of its owner: that of a member that writes one, and one
 * more than that of any other node. */
static int32_t level_of_inputs(const depth *of, size_t node, const gops_ort_member *owner)
{
    int32_t level = owner != NULL;
    for (size_t i = 0; i < of->graph->nodes[node].input_count; i++) {
        const gops_ort_node *writer =
            gops_ort_writer(of->graph, of->graph->nodes[node].input_names[i]);
        if (writer == NULL) {
            continue;
        }
        const size_t number = (size_t)(writer - of->graph->nodes);
        const int32_t enters = owner != NULL && of->owner[number] == NULL;
        if (level < of->level[number] + enters) {
            level = of->level[number] + enters;
        }
    }
    return level;
}

static void find_levels(const depth *of)
{
    for (size_t i = 0; i < of->graph->node_count; i++) {
        const gops_ort_member *owner = of->owner[i];
        of->level[i] = level_of_inputs(of, i, owner);
        for (size_t k = 0; owner != NULL && owner->last == i && k < owner->claim.node_count; k++) {
            const size_t number = (size_t)(owner->claim.nodes[k] - of->graph->nodes);
            of->level[i] = of->level[i] < of->level[number] ? of->level[number] : of->level[i];
        }
    }
}

/* Members that were read together are of one level, that of the last of them: nothing else reads what is between them,
 * and alone they are none. */
static void level_chains(const gops_ort_members *members)
{
    for (size_t i = 0; i < members->count; i++) {
        const gops_ort_member *one = members->items[i];
        for (size_t k = 0; k < members->count && one->chain != 0; k++) {
            gops_ort_member *other = members->items[k];
            if (other->chain == one->chain && other->level < one->level) {
                other->level = one->level;
            }
        }
    }
}

static int compare(const void *left, const void *right)
{
    const gops_ort_member *one = *(gops_ort_member *const *)left;
    const gops_ort_member *other = *(gops_ort_member *const *)right;
    if (one->level != other->level) {
        return one->level < other->level ? -1 : 1;
    }
    return one->last < other->last ? -1 : one->last > other->last;
}

ort_status *gops_ort_members_sort(const gops_ort_graph *graph, gops_ort_members *members)
{
    depth of = {graph, calloc(graph->node_count + 1, sizeof *of.owner),
                calloc(graph->node_count + 1, sizeof *of.level)};
    const bool has_memory = of.owner != NULL && of.level != NULL;
    if (has_memory) {
        for (size_t i = 0; i < members->count; i++) {
            gops_ort_member *member = members->items[i];
            member->last = (size_t)(member->claim.nodes[0] - graph->nodes);
            for (size_t k = 0; k < member->claim.node_count; k++) {
                const size_t number = (size_t)(member->claim.nodes[k] - graph->nodes);
                of.owner[number] = member;
                member->last = member->last < number ? number : member->last;
            }
        }
        find_levels(&of);
        for (size_t i = 0; i < members->count; i++) {
            members->items[i]->level = of.level[members->items[i]->last];
        }
        level_chains(members);
        if (members->count > 1) {
            qsort(members->items, members->count, sizeof(void *), compare);
        }
    }
    free(of.owner);
    free(of.level);
    return has_memory ? NULL : gops_ort_no_memory(graph->runtime, "a graph");
}

void gops_ort_members_free(gops_ort_members *members)
{
    for (size_t i = 0; i < members->count; i++) {
        gops_ort_member_free(members->items[i]);
    }
    free(members->items);
    *members = (gops_ort_members){NULL, 0, 0};
}
