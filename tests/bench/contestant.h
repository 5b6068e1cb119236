/* contestant.h: what the benchmark compares: ways to compute one layer. */
#ifndef GROUPOPS_BENCH_CONTESTANT_H
#define GROUPOPS_BENCH_CONTESTANT_H

#include "common/clock.h"
#include "peer_problem.h"

/* Why a contestant is absent; after success, how it goes about the layer ("implicit", "jit:avx512",
 * "chain of 8"). One line without commas or quotes, for a CSV. */
typedef struct gops_peer_note {
    char text[240];
} gops_peer_note;

/* Fills the note, with what a CSV cannot hold replaced. */
void gops_peer_describe(gops_peer_note *note, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same, and returns false. */
bool gops_peer_refuse(gops_peer_note *note, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

typedef struct gops_contestant {
    const char *name;
    /* Does everything that an engine does once per layer: plans, packs weights, allocates. NULL and
     * a reason when the contestant cannot serve the layer or is not installed. */
    void *(*prepare)(const gops_peer_problem *problem, gops_peer_note *note);
    /* Computes the layer `reps` times and writes the milliseconds of each. */
    bool (*run)(void *state, int reps, double *ms, gops_peer_note *note);
    /* What the last run computed, floats, or u8 of a quantized layer, and after how many layers in a
     * row; NULL in the contestant: it computes nothing that is compared. */
    const void *(*output)(void *state, int *depth);
    void (*destroy)(void *state);
} gops_contestant;

/* All of them, in the order of the CSV; NULL ends them. The second list is for quantized layers. */
extern const gops_contestant *const gops_contestants[];
extern const gops_contestant *const gops_quantized_contestants[];

/* ours.c */
extern const gops_contestant gops_contestant_auto;
extern const gops_contestant gops_contestant_gemm;
extern const gops_contestant gops_contestant_implicit;
extern const gops_contestant gops_contestant_direct;
extern const gops_contestant gops_contestant_pointwise;
extern const gops_contestant gops_contestant_depthwise;
extern const gops_contestant gops_contestant_subconv;
/* ours.c, of quantized layers: with i32 output; in f32, which is not quantized; both uncompared */
extern const gops_contestant gops_contestant_i32;
extern const gops_contestant gops_contestant_f32;
/* bound.c: not peers, but what nobody can be faster than */
extern const gops_contestant gops_contestant_gemm_calls;
extern const gops_contestant gops_contestant_copy;
/* onednn.c, or absent.c in a build without it */
extern const gops_contestant gops_contestant_onednn;
extern const gops_contestant gops_contestant_onednn_layout;
extern const gops_contestant gops_contestant_onednn_plain;
/* ort.c */
extern const gops_contestant gops_contestant_onnxruntime;
extern const gops_contestant gops_contestant_onnxruntime_single;
/* torch.c */
extern const gops_contestant gops_contestant_pytorch;

/* The peers that live as long as the program; to be called once, before it ends. */
void gops_ort_shut_down(void);
void gops_torch_shut_down(void);

/* Where they are found; NULL: left out. To be set before the first prepare. */
typedef struct gops_peer_places {
    const char *onnxruntime;  /* path of libonnxruntime.so.1 */
    const char *python;       /* a Python that has torch */
    const char *torch_worker; /* path of torch_worker.py */
} gops_peer_places;
extern gops_peer_places gops_places;

#endif
