/* ort_choice.h: which calls are worth taking from the runtime, by their gains and what lies between. */
#ifndef GROUPOPS_ENGINES_ORT_CHOICE_H
#define GROUPOPS_ENGINES_ORT_CHOICE_H

#include "engines/onnxruntime/graph/ort_graph.h"

/* Nodes that are taken or left together, all marked as claimed. */
typedef struct gops_ort_item {
    gops_ort_node *const *nodes;
    size_t node_count;
    /* What a call of them takes less than the runtime's own, in ns of one core. gops_ort_choose adds what
     * is saved and lost where values pass from and to the runtime. */
    double gain;
    /* What it takes the runtime to reorder an element to the layout that it keeps between such nodes, and
     * back; 0: it has none for them. */
    double reorder_ns;
    double copy_ns;  /* what an element from outside of the call costs: a Concat copies it */
    bool is_certain; /* nothing is known that makes the runtime better: taken, not weighed */
    bool is_8_bit;
    size_t region; /* what has one number, unless it is 0, can be one call */
    size_t chain;  /* what has one number, unless it is 0, is taken or left together */
    bool is_taken;
} gops_ort_item;

/* Sets is_taken so that the sum of the gains is the largest: among whole regions or among parts of them, of whose
 * gains a share counts, whichever is more. Each value that enters or leaves a call costs something. */
ort_status *gops_ort_choose(const gops_ort_graph *graph, gops_ort_item *items, size_t count);

/* Gives sizes that the model leaves open usual ones: one image, rows of 28. */
void gops_ort_close_sizes(gops_tensor *data);

#endif
