/* ort_chunked_step.c: makes the convolutions of each chunk when a model is loaded, and runs them at each
 * call. */
#include "engines/onnxruntime/region/ort_chunked_step.h"

#include "engines/onnxruntime/call/ort_plans.h"
#include "engines/onnxruntime/region/ort_chunks.h"
#include "engines/onnxruntime/region/ort_planes.h"

#include <stdatomic.h>
#include <stdlib.h>

/* The bases of the views of a chunk's convolutions. */
enum { DATA, BETWEEN, OUTPUT, BASES };

typedef struct chunk {
    gops_ort_step first, second;
} chunk;

struct gops_ort_chunks {
    chunk *chunks;
    int64_t count;
    size_t between_bytes, workspace_bytes; /* of a thread */
};

/* The values of channels `start` to start + count - 1, unless all have one. The shape stays. */
static void take_channels(gops_ort_constant *of, int64_t start, int64_t count)
{
    if (of->count > 1) {
        of->values =
            (const unsigned char *)of->values + (size_t)start * gops_type_bytes(of->tensor.type);
        of->count = count;
    }
}

/* The member for `count` items from `start` on, on the filter's axis: output channels
 * of its only group, or groups of one input channel. Shares the member's constants. */
static gops_ort_member part_of(const gops_ort_member *member, int axis, int64_t start,
                               int64_t count)
{
    const int64_t channels = axis == 0 ? member->filter.dims[1] : 1; /* out, of an item */
    gops_ort_member part = *member;
    part.made = NULL;
    part.filter.dims[axis] = count;
    part.data.dims[1] = axis == 0 ? count : part.data.dims[1];
    part.output.dims[1] = part.claim.channels = count * channels;
    part.weights =
        (const unsigned char *)member->weights + start * gops_ort_bytes(&member->filter, axis + 1);
    if (member->biases != NULL) {
        part.biases =
            (const unsigned char *)member->biases + start * channels * GOPS_ORT_BIAS_BYTES;
    }
    take_channels(&part.claim.filter_scales, start * channels, count * channels);
    take_channels(&part.claim.filter_zero_points, start * channels, count * channels);
    take_channels(&part.claim.real_bias, start * channels, count * channels);
    take_channels(&part.claim.slopes, start * channels, count * channels);
    return part;
}

static ort_status *make(gops_ort_runtime *runtime, gops_ort_member *part, const gops_ort_view *data,
                        const gops_ort_view *output, gops_ort_chunks *chunks, gops_ort_step *made)
{
    const gops_ort_placed_step placed = {.member = part, .inputs = {*data}, .output = *output};
    ort_status *status = gops_ort_step_make(runtime, &placed, 1, made);
    const size_t bytes = gops_ort_round_up(made->workspace_bytes);
    chunks->workspace_bytes = chunks->workspace_bytes < bytes ? bytes : chunks->workspace_bytes;
    return status;
}

static ort_status *make_chunk(gops_ort_runtime *runtime, const gops_ort_placed_step *placed,
                              int64_t number, gops_ort_chunks *chunks, chunk *made)
{
    enum { GROUPS, CHANNELS }; /* axes of a filter */
    const int64_t start = gops_ort_chunk_start(placed->member, number);
    const int64_t count = gops_ort_chunk_start(placed->member, number + 1) - start;
    gops_ort_member first = part_of(placed->member, CHANNELS, start, count);
    gops_ort_member second = part_of(placed->second, GROUPS, start, count);
    const int64_t element_bytes = (int64_t)gops_type_bytes(first.output.type);
    const gops_ort_view data = {.base = DATA,
                                .element_bytes = placed->inputs[0].element_bytes,
                                .plane = placed->inputs[0].plane};
    const gops_ort_view between = {
        .base = BETWEEN, .element_bytes = element_bytes, .plane = gops_ort_plane(&first.output)};
    const gops_ort_view output = {
        .base = OUTPUT,
        .element_bytes = placed->output.element_bytes,
        .at = start * placed->second->filter.dims[CHANNELS] * placed->output.plane,
        .plane = placed->output.plane,
    };
    const size_t bytes =
        gops_ort_round_up((size_t)gops_ort_channels_bytes(&between, first.output.dims[1]));
    chunks->between_bytes = chunks->between_bytes < bytes ? bytes : chunks->between_bytes;
    ort_status *status = make(runtime, &first, &data, &between, chunks, &made->first);
    return status != NULL ? status
                          : make(runtime, &second, &between, &output, chunks, &made->second);
}

ort_status *gops_ort_chunked_step_make(gops_ort_runtime *runtime,
                                       const gops_ort_placed_step *placed, gops_ort_step *made)
{
    const gops_ort_member *first = placed->member;
    gops_ort_chunks *chunks = calloc(1, sizeof *chunks);
    ort_status *status = NULL;
    if ((made->chunks = chunks) == NULL) {
        return gops_ort_no_memory(runtime, "a node");
    }
    chunks->count = first->chunks;
    chunks->chunks = calloc((size_t)chunks->count, sizeof *chunks->chunks);
    if (chunks->chunks == NULL) {
        return gops_ort_no_memory(runtime, "a node");
    }
    for (int64_t i = 0; i < chunks->count && status == NULL; i++) {
        status = make_chunk(runtime, placed, i, chunks, &chunks->chunks[i]);
    }
    made->data = placed->inputs[0];
    made->output = placed->output;
    made->threads = gops_ort_processors();
    made->workspace_bytes = chunks->between_bytes + chunks->workspace_bytes;
    return status;
}

/* Chunks that follow each other, and the next one of them to be taken. */
typedef struct run {
    _Alignas(64) atomic_llong next;
    int64_t end;
} run;

enum { MAX_RUNS = 8 }; /* with more threads several begin in the same run */

/* One call. */
typedef struct running {
    gops_ort_runtime *runtime;
    const char *name;
    const gops_ort_step *step;
    unsigned char *const *bases;
    unsigned char *memory;
    size_t thread_bytes;
    _Atomic(ort_status *) failed;
    int64_t run_count;
    run runs[MAX_RUNS];
} running;

static ort_status *run_chunk(const running *now, int64_t number, unsigned char *between,
                             void *workspace)
{
    const gops_ort_step *step = now->step;
    const gops_ort_chunks *chunks = step->chunks;
    const chunk *one = &chunks->chunks[number];
    unsigned char *const bases[BASES] = {
        [DATA] = gops_ort_view_start(&step->data, now->bases),
        [BETWEEN] = between,
        [OUTPUT] = gops_ort_view_start(&step->output, now->bases),
    };
    ort_status *status = gops_ort_step_run(now->runtime, now->name, &one->first, bases, workspace);
    return status != NULL
               ? status
               : gops_ort_step_run(now->runtime, now->name, &one->second, bases, workspace);
}

static void start_runs(running *now)
{
    const int64_t chunks = now->step->chunks->count;
    const int64_t runs = now->step->threads < MAX_RUNS ? now->step->threads : MAX_RUNS;
    for (int64_t i = 0; i < runs; i++) {
        atomic_init(&now->runs[i].next, chunks * i / runs);
        now->runs[i].end = chunks * (i + 1) / runs;
    }
    now->run_count = runs;
}

/* A thread begins with its own chunks, the same in each call, then it takes those of others. */
static void run_chunks(void *argument, int64_t index)
{
    running *now = argument;
    const gops_ort_chunks *chunks = now->step->chunks;
    unsigned char *const own = now->memory + (size_t)index * now->thread_bytes;
    for (int64_t i = 0; i < now->run_count; i++) {
        run *from = &now->runs[(index + i) % now->run_count];
        int64_t number;
        while ((number = atomic_fetch_add_explicit(&from->next, 1, memory_order_relaxed)) <
               from->end) {
            gops_ort_keep_status(now->runtime, &now->failed,
                                 run_chunk(now, number, own, own + chunks->between_bytes));
        }
    }
}

ort_status *gops_ort_chunked_step_run(gops_ort_runtime *runtime, const char *name,
                                      const gops_ort_step *step, unsigned char *const *bases,
                                      void *memory, size_t thread_bytes)
{
    running now = {.runtime = runtime,
                   .name = name,
                   .step = step,
                   .bases = bases,
                   .memory = memory,
                   .thread_bytes = thread_bytes};
    start_runs(&now);
    if (step->threads == 1) {
        run_chunks(&now, 0);
    } else {
        gops_ort_keep_status(runtime, &now.failed,
                             gops_ort_parallel_for(runtime, name, run_chunks, &now, step->threads));
    }
    return atomic_load(&now.failed);
}

void gops_ort_chunks_free(gops_ort_chunks *chunks)
{
    for (int64_t i = 0; chunks != NULL && chunks->chunks != NULL && i < chunks->count; i++) {
        gops_ort_step_free(&chunks->chunks[i].first);
        gops_ort_step_free(&chunks->chunks[i].second);
    }
    if (chunks != NULL) {
        free(chunks->chunks);
    }
    free(chunks);
}
