/* ir_connect.c: finds the layers that Results read, connects them by the edges and sorts them into the
 * order of execution. */
#include "ir/ir_model.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct layer_id {
    int64_t id;
    int index;
} layer_id;

static int compare_ids(const void *left, const void *right)
{
    const layer_id *a = left;
    const layer_id *b = right;
    return (a->id > b->id) - (a->id < b->id);
}

/* The layers' ids in ascending order; NULL after a refusal. */
static layer_id *sort_layers(gops_ir_model *model, gops_tool_error *error)
{
    layer_id *ids = gops_ir_take(model, (size_t)model->layers, sizeof *ids);
    if (ids == NULL) {
        gops_tool_refuse(error, GOPS_EXIT_FAILED, "there is no memory for the model");
        return NULL;
    }
    for (int i = 0; i < model->layers; i++) {
        ids[i] = (layer_id){model->layer[i].id, i};
    }
    qsort(ids, (size_t)model->layers, sizeof *ids, compare_ids);
    for (int i = 1; i < model->layers; i++) {
        if (ids[i].id == ids[i - 1].id) {
            gops_tool_refuse(error, GOPS_EXIT_FAILED, "two layers have the id %" PRId64, ids[i].id);
            return NULL;
        }
    }
    return ids;
}

/* Replaces the ids of an edge's layers by their indices. */
static bool find_layers(const gops_ir_model *model, const layer_id *ids, gops_ir_edge *edge,
                        gops_tool_error *error)
{
    const size_t layers = (size_t)model->layers;
    const layer_id from_key = {edge->from_layer, 0};
    const layer_id to_key = {edge->to_layer, 0};
    const layer_id *from = bsearch(&from_key, ids, layers, sizeof *ids, compare_ids);
    const layer_id *to = bsearch(&to_key, ids, layers, sizeof *ids, compare_ids);
    if (from == NULL || to == NULL) {
        return gops_tool_refuse(
            error, GOPS_EXIT_FAILED,
            "an edge leads from layer %" PRId64 " to layer %" PRId64 ": there is no layer %" PRId64,
            edge->from_layer, edge->to_layer, from == NULL ? edge->from_layer : edge->to_layer);
    }
    edge->from_layer = from->index;
    edge->to_layer = to->index;
    return true;
}

/* Whether it is a Parameter that the command line names. */
static bool is_given(const gops_ir_model *model, const gops_ir_layer *layer)
{
    bool given = false;
    if (strcmp(layer->type, "Parameter") == 0) {
        for (int i = 0; i < model->given_count; i++) {
            given = given || gops_ir_given_file(&model->given[i], layer->name) != NULL;
        }
    }
    return given;
}

/* Sets place[] of Results, of Parameters that are given and of all layers that these read to 1, whose indices live[]
 * collects. The edges that enter a layer form a list: first[layer], then next[]; they are numbered from 1. Returns
 * whether there is a Result. */
static bool mark_live(const gops_ir_model *model, int *first, int *next, int *live, int *place)
{
    int found = 0, results = 0;
    for (int i = 0; i < model->edges; i++) {
        next[i] = first[model->edge[i].to_layer];
        first[model->edge[i].to_layer] = i + 1;
    }
    for (int i = 0; i < model->layers; i++) {
        const bool is_result = strcmp(model->layer[i].type, "Result") == 0;
        results += is_result;
        if (is_result || is_given(model, &model->layer[i])) {
            place[i] = 1;
            live[found++] = i;
        }
    }
    for (int done = 0; done < found; done++) {
        for (int at = first[live[done]]; at != 0; at = next[at - 1]) {
            const int source = (int)model->edge[at - 1].from_layer;
            if (place[source] == 0) {
                place[source] = 1;
                live[found++] = source;
            }
        }
    }
    return results > 0;
}

/* Removes the layers whose place[] is 0; that of others becomes their new index. */
static void remove_dead(gops_ir_model *model, int *place)
{
    int layers = 0, edges = 0;
    for (int i = 0; i < model->layers; i++) {
        if (place[i] != 0) {
            place[i] = layers;
            model->layer[layers++] = model->layer[i];
        } else {
            place[i] = -1;
        }
    }
    for (int i = 0; i < model->edges; i++) {
        gops_ir_edge edge = model->edge[i];
        if (place[edge.to_layer] >= 0) {
            edge.from_layer = place[edge.from_layer];
            edge.to_layer = place[edge.to_layer];
            model->edge[edges++] = edge;
        }
    }
    model->layers = layers;
    model->edges = edges;
}

bool gops_ir_keep_live(gops_ir_model *model, gops_tool_error *error)
{
    const size_t layers = (size_t)model->layers;
    const layer_id *ids = sort_layers(model, error);
    int *first = gops_ir_take(model, layers, sizeof *first);
    int *next = gops_ir_take(model, (size_t)model->edges, sizeof *next);
    int *live = gops_ir_take(model, layers, sizeof *live);
    int *place = gops_ir_take(model, layers, sizeof *place);
    if (ids == NULL) {
        return false;
    }
    if (first == NULL || next == NULL || live == NULL || place == NULL) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "there is no memory for the model");
    }
    for (int i = 0; i < model->edges; i++) {
        if (!find_layers(model, ids, &model->edge[i], error)) {
            return false;
        }
    }
    if (!mark_live(model, first, next, live, place)) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "the model has no Result");
    }
    remove_dead(model, place);
    return true;
}

static gops_ir_port *find_port(gops_ir_port *ports, int count, int64_t id)
{
    for (int i = 0; i < count; i++) {
        if (ports[i].id == id) {
            return &ports[i];
        }
    }
    return NULL;
}

static bool connect_edge(gops_ir_model *model, const gops_ir_edge *edge, gops_tool_error *error)
{
    gops_ir_text name;
    gops_ir_layer *source = &model->layer[edge->from_layer];
    gops_ir_layer *target = &model->layer[edge->to_layer];
    if (find_port(source->output, source->outputs, edge->from_port) == NULL) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED,
                                "%s: an edge leaves its output port %" PRId64
                                ", which it does not have",
                                gops_ir_call_layer(source, &name), edge->from_port);
    }
    gops_ir_port *port = find_port(target->input, target->inputs, edge->to_port);
    if (port == NULL) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED,
                                "%s: an edge enters its input port %" PRId64
                                ", which it does not have",
                                gops_ir_call_layer(target, &name), edge->to_port);
    }
    if (port->source >= 0) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED,
                                "%s: two edges enter its input port %" PRId64,
                                gops_ir_call_layer(target, &name), edge->to_port);
    }
    port->source = (int)edge->from_layer;
    return true;
}

static bool check_inputs(const gops_ir_model *model, gops_tool_error *error)
{
    gops_ir_text name;
    for (int i = 0; i < model->layers; i++) {
        const gops_ir_layer *layer = &model->layer[i];
        for (int p = 0; p < layer->inputs; p++) {
            if (layer->input[p].source < 0) {
                return gops_tool_refuse(error, GOPS_EXIT_FAILED,
                                        "%s: no edge enters its input port %" PRId64,
                                        gops_ir_call_layer(layer, &name), layer->input[p].id);
            }
        }
    }
    return true;
}

/* Kahn's algorithm (1962): a layer follows once all of its sources have. The inputs that read a
 * layer form a list: first[layer], then next[] of each input's number. */
static bool order_layers(gops_ir_model *model, gops_tool_error *error)
{
    const size_t layers = (size_t)model->layers;
    const size_t inputs = layers * GOPS_IR_MAX_INPUTS;
    int *first = gops_ir_take(model, layers, sizeof *first);
    int *next = gops_ir_take(model, inputs, sizeof *next);
    int *missing = gops_ir_take(model, layers, sizeof *missing);
    int done = 0;
    int found = 0;
    model->order = gops_ir_take(model, layers, sizeof *model->order);
    if (first == NULL || next == NULL || missing == NULL || model->order == NULL) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "there is no memory for the model");
    }
    /* Inputs are numbered from 1, so that 0 ends a list. */
    for (int i = model->layers - 1; i >= 0; i--) {
        missing[i] = model->layer[i].inputs;
        for (int p = 0; p < model->layer[i].inputs; p++) {
            const int number = i * GOPS_IR_MAX_INPUTS + p;
            next[number] = first[model->layer[i].input[p].source];
            first[model->layer[i].input[p].source] = number + 1;
        }
    }
    for (int i = 0; i < model->layers; i++) {
        if (missing[i] == 0) {
            model->order[found++] = i;
        }
    }
    for (; done < found; done++) {
        for (int at = first[model->order[done]]; at != 0; at = next[at - 1]) {
            const int user = (at - 1) / GOPS_IR_MAX_INPUTS;
            if (--missing[user] == 0) {
                model->order[found++] = user;
            }
        }
    }
    for (int i = 0; i < model->layers; i++) {
        gops_ir_text name;
        if (missing[i] > 0) {
            return gops_tool_refuse(error, GOPS_EXIT_FAILED,
                                    "%s: it is in a cycle, or takes from one",
                                    gops_ir_call_layer(&model->layer[i], &name));
        }
    }
    return true;
}

bool gops_ir_connect(gops_ir_model *model, gops_tool_error *error)
{
    for (int i = 0; i < model->edges; i++) {
        if (!connect_edge(model, &model->edge[i], error)) {
            return false;
        }
    }
    return check_inputs(model, error) && order_layers(model, error);
}
