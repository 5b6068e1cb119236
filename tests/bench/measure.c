/* measure.c: rounds of turns, so that a slow minute of the machine falls on everyone alike. */
#include "measure.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    MAX_REPS = 200,
    LONG_TURNS = 5, /* an execution this long does not gain from warming up */
};
/* The threads of OpenMP and of ONNX Runtime spin for about a millisecond before they sleep; whoever
 * comes next on the same two processors would be measured against them. */
static const double pause_ms = 3;

typedef struct entry {
    const gops_contestant *contestant;
    void *state;
    double *samples;
    int count;
    double fastest; /* execution so far, in milliseconds; of a whole chain */
    int depth;
} entry;

static int compare_samples(const void *left, const void *right)
{
    const double a = *(const double *)left;
    const double b = *(const double *)right;
    return (a > b) - (a < b);
}

static void rest(void)
{
    const struct timespec time = {0, (long)(pause_ms * 1e6)};
    nanosleep(&time, NULL);
}

/* One execution that brings the tensors back into the caches and does not count, and shows how
 * often it fits into a turn. */
static bool warm_up(entry *warmed, gops_peer_note *note)
{
    double ms;
    if (!warmed->contestant->run(warmed->state, 1, &ms, note)) {
        return false;
    }
    warmed->fastest = fmin(warmed->fastest, ms * warmed->depth);
    return true;
}

static bool try_out(entry *tried, const gops_peer_problem *problem,
                    const gops_measure_options *options, gops_measured *row)
{
    tried->fastest = INFINITY;
    tried->depth = 1;
    tried->samples = malloc(sizeof(double) * (size_t)(MAX_REPS * options->rounds));
    if (tried->samples == NULL) {
        return gops_peer_refuse(&row->note, "no memory");
    }
    if (!warm_up(tried, &row->note)) {
        return false;
    }
    if (tried->contestant->output != NULL) {
        const void *output = tried->contestant->output(tried->state, &tried->depth);
        if (output == NULL) {
            return gops_peer_refuse(&row->note, "no output");
        }
        if (!gops_peer_problem_compare(problem, output, tried->depth, &row->error)) {
            const bool quantized = problem->codes.data != NULL;
            return gops_peer_refuse(&row->note, "WRONG: %.3g %s", row->error,
                                    quantized ? "codes away" : "times what rounding explains");
        }
    }
    tried->fastest = INFINITY; /* the first one includes what is made on first use */
    return warm_up(tried, &row->note);
}

static bool take_turn(entry *turn, const gops_measure_options *options, gops_peer_note *note)
{
    const bool is_long = turn->fastest > LONG_TURNS * options->turn_ms;
    rest();
    if (!is_long && !warm_up(turn, note)) {
        return false;
    }
    const double fitting = options->turn_ms / turn->fastest;
    const int reps = fitting < 1 ? 1 : fitting > MAX_REPS ? MAX_REPS : (int)fitting;
    if (!turn->contestant->run(turn->state, reps, turn->samples + turn->count, note)) {
        return false;
    }
    turn->fastest = fmin(turn->fastest, turn->samples[turn->count] * turn->depth);
    turn->count += reps;
    return true;
}

static void conclude(entry *done, gops_measured *row)
{
    if (row->present && done->count > 0) {
        qsort(done->samples, (size_t)done->count, sizeof *done->samples, compare_samples);
        row->ms_min = done->samples[0];
        row->ms_median =
            (done->samples[(done->count - 1) / 2] + done->samples[done->count / 2]) / 2;
    }
    if (done->state != NULL) {
        done->contestant->destroy(done->state);
    }
    free(done->samples);
}

int gops_measure(const gops_peer_problem *problem, const gops_measure_options *options,
                 gops_measured measured[GOPS_MAX_CONTESTANTS])
{
    entry entries[GOPS_MAX_CONTESTANTS] = {{.contestant = NULL}};
    const gops_contestant *const *list =
        problem->codes.data != NULL ? gops_quantized_contestants : gops_contestants;
    int count = 0;
    omp_set_num_threads(problem->threads);
    for (int i = 0; list[i] != NULL; i++) {
        const gops_contestant *at = list[i];
        if ((options->wanted >> i & 1) == 0) {
            continue;
        }
        entry *tried = &entries[count];
        gops_measured *row = &measured[count++];
        *row = (gops_measured){.contestant = at, .error = -1};
        tried->contestant = at;
        tried->state = at->prepare(problem, &row->note);
        row->present = tried->state != NULL && try_out(tried, problem, options, row);
    }
    for (int round = 0; round < options->rounds; round++) {
        for (int i = 0; i < count; i++) {
            const int turn = (i + round) % count;
            gops_peer_note note = {""};
            if (measured[turn].present && !take_turn(&entries[turn], options, &note)) {
                measured[turn].present = false;
                measured[turn].note = note;
            }
        }
    }
    for (int i = 0; i < count; i++) {
        conclude(&entries[i], &measured[i]);
    }
    return count;
}
