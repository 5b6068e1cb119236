/*
 * ort_choice.c: weighs calls against each other.
 *
 * The runtime keeps a layout of its own between nodes that have it. Where one is taken and its neighbour
 * is left, the values between them are reordered, and each call costs something by itself. Nodes that are
 * no one's to take keep their layout: it counts for a call, or against it. Some of them, as Resize, have whichever
 * layout their data has: these lie between two calls as a value does.
 */
#include "engines/onnxruntime/worth/ort_choice.h"

#include "engines/onnxruntime/graph/ort_attributes.h"
#include "engines/onnxruntime/worth/ort_cut.h"
#include "engines/onnxruntime/worth/ort_rates.h"

#include <stdlib.h>
#include <string.h>

typedef struct weighing {
    const gops_ort_graph *graph;
    gops_ort_item *items;
    const gops_ort_rates *rates;
    size_t *owner; /* of each node: its item's number and 1; 0: none */
    gops_ort_border *borders;
    size_t border_count;
} weighing;

static const double never = 1e15; /* what no choice costs or gains */

static bool is_one_of(const char *type, const char *const *types)
{
    for (; *types != NULL; types++) {
        if (strcmp(type, *types) == 0) {
            return true;
        }
    }
    return false;
}

static bool has_layout(const gops_ort_node *node)
{
    static const char *const types[] = {"Conv", "MaxPool", "AveragePool", "GlobalAveragePool",
                                        NULL};
    return !node->claimed && is_one_of(node->type, types);
}

static bool keeps_layout(const gops_ort_node *node)
{
    static const char *const types[] = {"Relu",   "Clip",   "Sigmoid",  "HardSigmoid", "Add",
                                        "Concat", "Resize", "Upsample", NULL};
    return !node->claimed && is_one_of(node->type, types);
}

/* The node that decides on the layout of what `writer` writes; NULL: none does. *resizes is set where values are
 * interpolated in between. */
static ort_status *find_source(const weighing *of, const gops_ort_node *writer,
                               const gops_ort_node **source, bool *resizes)
{
    enum { DEPTH = 4 };
    *resizes = false;
    for (int i = 0; i < DEPTH && writer != NULL && keeps_layout(writer); i++) {
        if (strcmp(writer->type, "Resize") == 0 || strcmp(writer->type, "Upsample") == 0) {
            gops_ort_attributes attributes = {of->graph->runtime, writer, NULL, false};
            *resizes = *resizes || !gops_ort_attribute_is(&attributes, "mode", "nearest");
            if (attributes.status != NULL) {
                return attributes.status;
            }
        }
        writer = gops_ort_writer(of->graph, writer->input_names[0]);
    }
    *source = writer;
    return NULL;
}

static bool is_read_blocked(const gops_ort_node *reader)
{
    return reader != NULL && (has_layout(reader) || keeps_layout(reader));
}

void gops_ort_close_sizes(gops_tensor *data)
{
    enum { USUAL_ROW = 28 };
    for (int32_t i = 0; i < data->rank; i++) {
        if (data->dims[i] < 1) {
            data->dims[i] = i == 0 ? 1 : USUAL_ROW;
        }
    }
}

/* 0 where the model gives no rank. */
static ort_status *count_elements(const gops_ort_runtime *runtime, const ort_value_info *info,
                                  double *count)
{
    gops_tensor tensor;
    bool known = false;
    ort_status *status =
        info != NULL ? gops_ort_value_tensor(runtime, info, &tensor, &known) : NULL;
    *count = known ? 1 : 0;
    if (known) {
        gops_ort_close_sizes(&tensor);
    }
    for (int32_t i = 0; known && i < tensor.rank; i++) {
        *count *= (double)tensor.dims[i];
    }
    return status;
}

static size_t *owner_of(const weighing *of, const gops_ort_node *node)
{
    return node != NULL ? &of->owner[node - of->graph->nodes] : NULL;
}

/* How many tensors are reordered where an operand of the runtime's node is: an Add is no more part of a
 * Conv then, and other operands are read and sums written in the plain layout. */
static double fan_out(const gops_ort_node *node)
{
    return strcmp(node->type, "Add") == 0 ? 4 : strcmp(node->type, "Concat") == 0 ? 2 : 1;
}

static ort_status *weigh_fed(const weighing *of, gops_ort_item *item, const ort_value_info *info)
{
    bool is = true;
    ort_status *status =
        info != NULL ? of->graph->runtime->api->is_constant_initializer(info, &is) : NULL;
    item->gain -= is ? 0 : of->rates->call_ns;
    return status;
}

/* What a node writes that is no one's, `count` elements. */
static ort_status *weigh_left(weighing *of, size_t number, const gops_ort_node *writer,
                              double count)
{
    gops_ort_item *item = &of->items[number];
    const gops_ort_node *source;
    bool resizes;
    ort_status *status = find_source(of, writer, &source, &resizes);
    if (status != NULL) {
        return status;
    }
    const size_t *owner = owner_of(of, source);
    const double slower = resizes ? count * gops_ort_rates_everywhere.interpolate_plainly_ns : 0;
    item->gain -= of->rates->call_ns;
    if (item->is_8_bit || source == NULL) {
        item->gain += count * item->reorder_ns;
    } else if (has_layout(source)) {
        item->gain -= count * item->reorder_ns + slower;
    } else if (*owner != 0 && item->reorder_ns > 0 && of->items[*owner - 1].reorder_ns > 0) {
        /* In the runtime's layout only if both are left. */
        item->gain -= slower / 2;
        of->items[*owner - 1].gain -= slower / 2;
        of->borders[of->border_count++] =
            (gops_ort_border){number, *owner - 1, count * item->reorder_ns + slower / 2};
    } else {
        item->gain += count * item->reorder_ns;
    }
    return NULL;
}

/* What the item reads: another's output, or that of a node which is no one's. A call by itself reads what
 * the graph gets. */
static ort_status *weigh_input(weighing *of, size_t number, const gops_ort_node *node, size_t input)
{
    gops_ort_item *item = &of->items[number];
    const gops_ort_node *writer = gops_ort_writer(of->graph, node->input_names[input]);
    const size_t *owner = owner_of(of, writer);
    double count;
    if (owner != NULL && *owner == number + 1) {
        return NULL;
    }
    ort_status *status = count_elements(of->graph->runtime, node->inputs[input], &count);
    if (status != NULL) {
        return status;
    }
    if (owner == NULL || *owner == 0 || of->items[*owner - 1].region != item->region) {
        item->gain -= count * item->copy_ns;
    }
    if (owner == NULL) {
        return weigh_fed(of, item, node->inputs[input]);
    }
    if (*owner == 0) {
        return weigh_left(of, number, writer, count);
    }
    gops_ort_item *other = &of->items[*owner - 1];
    gops_ort_border border = {number, *owner - 1, of->rates->call_ns};
    if (item->reorder_ns > 0 && other->reorder_ns > 0) {
        border.cost += count * item->reorder_ns * fan_out(node);
    } else { /* whichever has a layout saves to leave it, whether the other is taken or not */
        item->gain += count * item->reorder_ns;
        other->gain += count * other->reorder_ns;
    }
    of->borders[of->border_count++] = border;
    return NULL;
}

/* What nodes which are no one's read of the item. */
static ort_status *weigh_output(weighing *of, size_t number, const gops_ort_node *node,
                                size_t output)
{
    gops_ort_item *item = &of->items[number];
    bool leaves = false, blocked = false;
    double elements;
    size_t count;
    const gops_ort_use *uses = gops_ort_uses(of->graph, node->output_names[output], &count);
    for (size_t i = 0; i < count; i++) {
        const size_t *owner = owner_of(of, uses[i].reader);
        leaves = leaves || owner == NULL || *owner == 0;
        blocked = blocked || (!item->is_8_bit && is_read_blocked(uses[i].reader));
    }
    if (!leaves) {
        return NULL;
    }
    ort_status *status = count_elements(of->graph->runtime, node->outputs[output], &elements);
    item->gain += elements * (blocked ? -item->reorder_ns : item->reorder_ns) - of->rates->call_ns;
    return status;
}

static ort_status *weigh(weighing *of, size_t number)
{
    const gops_ort_item *item = &of->items[number];
    ort_status *status = NULL;
    for (size_t i = 0; i < item->node_count; i++) {
        const gops_ort_node *node = item->nodes[i];
        for (size_t k = 0; k < node->input_count && status == NULL; k++) {
            status = weigh_input(of, number, node, k);
        }
        for (size_t k = 0; k < node->output_count && status == NULL; k++) {
            status = weigh_output(of, number, node, k);
        }
    }
    return status;
}

static size_t chain_of(const gops_ort_item *item)
{
    return item->chain;
}

static size_t region_of(const gops_ort_item *item)
{
    return item->region;
}

/* Joins each item to the next of its group, by borders from number `borders` on. Returns the number of all. */
static size_t join(const weighing *of, size_t count, size_t (*group_of)(const gops_ort_item *item),
                   size_t borders)
{
    for (size_t i = 0; i < count; i++) {
        const size_t group = group_of(&of->items[i]);
        for (size_t next = i + 1; group != 0 && next < count; next++) {
            if (group_of(&of->items[next]) == group) {
                of->borders[borders++] = (gops_ort_border){i, next, never};
                break;
            }
        }
    }
    return borders;
}

/* Chooses among whole regions, or among their parts. *worth is the sum of what counts. */
static bool cut(weighing *of, size_t count, bool whole, double *gains, bool *taken, double *worth)
{
    for (size_t i = 0; i < count; i++) {
        const double gain = of->items[i].gain;
        gains[i] = whole || gain < 0 ? gain : gain * of->rates->part;
    }
    size_t borders = join(of, count, chain_of, of->border_count);
    if (whole) {
        borders = join(of, count, region_of, borders);
    }
    if (!gops_ort_cut(gains, count, of->borders, borders, taken)) {
        return false;
    }
    *worth = 0;
    for (size_t i = 0; i < count; i++) {
        *worth += taken[i] ? gains[i] : 0;
    }
    for (size_t i = 0; i < of->border_count; i++) {
        const gops_ort_border *border = &of->borders[i];
        *worth -= taken[border->one] != taken[border->other] ? border->cost : 0;
    }
    return true;
}

static ort_status *choose(weighing *of, size_t count, double *gains, bool *whole, bool *part)
{
    double worth, worth_in_part = 0;
    ort_status *status = NULL;
    for (size_t i = 0; i < count && status == NULL; i++) {
        status = of->items[i].is_certain ? NULL : weigh(of, i);
    }
    if (status != NULL) {
        return status;
    }
    if (!cut(of, count, true, gains, whole, &worth) ||
        (of->rates->part > 0 && !cut(of, count, false, gains, part, &worth_in_part))) {
        return gops_ort_no_memory(of->graph->runtime, "a list of nodes");
    }
    const bool *taken = worth_in_part > worth ? part : whole;
    for (size_t i = 0; i < count; i++) {
        of->items[i].is_taken = taken[i] || of->items[i].is_certain;
    }
    for (size_t i = 0; i < of->border_count; i++) {
        const gops_ort_border *border = &of->borders[i];
        if (taken[border->one] != taken[border->other]) {
            of->items[taken[border->one] ? border->one : border->other].gain -= border->cost;
        }
    }
    return NULL;
}

ort_status *gops_ort_choose(const gops_ort_graph *graph, gops_ort_item *items, size_t count)
{
    size_t borders = 2 * count; /* those of join */
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < items[i].node_count; k++) {
            borders += items[i].nodes[k]->input_count;
        }
    }
    weighing of = {.graph = graph,
                   .items = items,
                   .rates = gops_ort_rates_here(),
                   .owner = calloc(graph->node_count + 1, sizeof *of.owner),
                   .borders = calloc(borders + 1, sizeof *of.borders)};
    double *gains = calloc(count + 1, sizeof *gains);
    bool *taken = calloc(2 * count + 1, sizeof *taken);
    ort_status *status = NULL;
    if (of.owner == NULL || of.borders == NULL || gains == NULL || taken == NULL) {
        status = gops_ort_no_memory(graph->runtime, "a list of nodes");
    } else {
        for (size_t i = 0; i < count; i++) {
            for (size_t k = 0; k < items[i].node_count && !items[i].is_certain; k++) {
                of.owner[items[i].nodes[k] - graph->nodes] = i + 1;
            }
        }
        status = choose(&of, count, gains, taken, taken + count);
    }
    free(of.owner);
    free(of.borders);
    free(gains);
    free(taken);
    return status;
}
