/*
 * ort_cut.c: the best choice by a minimum cut (Greig, Porteous, Seheult 1989).
 *
 * Nodes of a network are those to choose from, a source and a sink. A cut parts them in two, those on the
 * source's side are taken, and it costs the capacities of the arcs that lead from that side to the other:
 *
 * - from the source to what has a gain: that gain, lost if it is not taken;
 * - from what has a loss to the sink: that loss;
 * - between neighbours, either way: the border's cost.
 *
 * The cheapest cut leaves the largest sum. It is found by the largest flow (Ford and Fulkerson 1956),
 * along shortest paths (Edmonds and Karp 1972): when none has room left, what the source still reaches
 * is its side.
 */
#include "engines/onnxruntime/worth/ort_cut.h"

#include <stdlib.h>

/* Of a pair, one each way, with an even number and the next. */
typedef struct arc {
    size_t to, next; /* the next arc from the same node */
    double room;
} arc;

typedef struct network {
    arc *arcs;
    size_t arc_count;
    size_t *first; /* arc from each node */
    size_t *came;  /* by which arc a path came to each node */
    size_t *queue;
    size_t count;
} network;

enum { NO_ARC = -1 }; /* as a size_t */

static const double little = 1e-6; /* of a nanosecond: what rounding leaves of an arc's room */

static void add(network *of, size_t from, size_t to, double room, double back)
{
    of->arcs[of->arc_count] = (arc){to, of->first[from], room};
    of->first[from] = of->arc_count++;
    of->arcs[of->arc_count] = (arc){from, of->first[to], back};
    of->first[to] = of->arc_count++;
}

/* Sets came[] of all that the source reaches; whether the sink is one of them. */
static bool search(const network *of, size_t source, size_t sink)
{
    size_t end = 0;
    for (size_t i = 0; i < of->count; i++) {
        of->came[i] = (size_t)NO_ARC;
    }
    of->queue[end++] = source;
    for (size_t at = 0; at < end; at++) {
        for (size_t k = of->first[of->queue[at]]; k != (size_t)NO_ARC; k = of->arcs[k].next) {
            const size_t to = of->arcs[k].to;
            if (of->arcs[k].room > little && to != source && of->came[to] == (size_t)NO_ARC) {
                of->came[to] = k;
                of->queue[end++] = to;
            }
        }
    }
    return of->came[sink] != (size_t)NO_ARC;
}

/* Fills the path that was found. */
static void push(network *of, size_t source, size_t sink)
{
    double room = of->arcs[of->came[sink]].room;
    for (size_t node = sink; node != source; node = of->arcs[of->came[node] ^ 1].to) {
        const double here = of->arcs[of->came[node]].room;
        room = here < room ? here : room;
    }
    for (size_t node = sink; node != source; node = of->arcs[of->came[node] ^ 1].to) {
        of->arcs[of->came[node]].room -= room;
        of->arcs[of->came[node] ^ 1].room += room;
    }
}

bool gops_ort_cut(const double *gains, size_t count, const gops_ort_border *borders,
                  size_t border_count, bool *taken)
{
    const size_t source = count, sink = count + 1, nodes = count + 2;
    network of = {.arcs = calloc(2 * (count + border_count) + 1, sizeof *of.arcs),
                  .first = calloc(nodes, sizeof *of.first),
                  .came = calloc(nodes, sizeof *of.came),
                  .queue = calloc(nodes, sizeof *of.queue),
                  .count = nodes};
    const bool has_memory =
        of.arcs != NULL && of.first != NULL && of.came != NULL && of.queue != NULL;
    if (has_memory) {
        for (size_t i = 0; i < nodes; i++) {
            of.first[i] = (size_t)NO_ARC;
        }
        for (size_t i = 0; i < count; i++) {
            if (gains[i] > 0) {
                add(&of, source, i, gains[i], 0);
            } else {
                add(&of, i, sink, -gains[i], 0);
            }
        }
        for (size_t i = 0; i < border_count; i++) {
            add(&of, borders[i].one, borders[i].other, borders[i].cost, borders[i].cost);
        }
        while (search(&of, source, sink)) {
            push(&of, source, sink);
        }
        for (size_t i = 0; i < count; i++) {
            taken[i] = of.came[i] != (size_t)NO_ARC;
        }
    }
    free(of.arcs);
    free(of.first);
    free(of.came);
    free(of.queue);
    return has_memory;
}
