/* ort_candidates.h: all that the provider can take of a graph. */
#ifndef GROUPOPS_ENGINES_ORT_CANDIDATES_H
#define GROUPOPS_ENGINES_ORT_CANDIDATES_H

#include "engines/onnxruntime/graph/ort_pool.h"
#include "engines/onnxruntime/region/ort_region.h"

/* What a node starts that is a call by itself: a claim of a plan or of a pool. */
typedef struct gops_ort_candidate {
    gops_ort_claim claim;
    gops_ort_pool pool; /* if is_pool */
    bool is_pool;
    struct gops_ort_candidate *next;
} gops_ort_candidate;

/* *serves is false if the node starts none. */
ort_status *gops_ort_candidate_read(const gops_ort_graph *graph, gops_ort_node *node,
                                    gops_ort_candidate *found, bool *serves);

/* Reads what can be part of a region, sorted, and a list of what cannot, unless `alone` is NULL; marks the
 * nodes of all as claimed. */
ort_status *gops_ort_candidates_read(gops_ort_graph *graph, gops_ort_members *members,
                                     gops_ort_candidate **alone);

void gops_ort_candidates_free(gops_ort_candidate *list);

#endif
