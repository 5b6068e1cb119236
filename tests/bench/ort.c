/* ort.c: ONNX Runtime, loaded when the program runs. */
#include "contestant.h"
#include "engines/onnxruntime/runtime/ort_abi.h"
#include "ort_model.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* Of the whole process. */
static struct {
    const ort_api *api;
    ort_env *env;
} runtime;

typedef struct onnxruntime {
    ort_memory_info *memory;
    ort_session *session;
    ort_value *input;
    ort_value *result;
    void *output;
    int depth;
} onnxruntime;

static bool works(ort_status *status, gops_peer_note *note)
{
    if (status == NULL) {
        return true;
    }
    gops_peer_refuse(note, "%s", runtime.api->get_error_message(status));
    runtime.api->release_status(status);
    return false;
}

static bool load(gops_peer_note *note)
{
    if (runtime.env != NULL) {
        return true;
    }
    if (gops_places.onnxruntime == NULL) {
        return gops_peer_refuse(note, "its library was not given (npm onnxruntime-node)");
    }
    void *library = dlopen(gops_places.onnxruntime, RTLD_NOW | RTLD_LOCAL);
    void *entry = library != NULL ? dlsym(library, "OrtGetApiBase") : NULL;
    ort_get_api_base *get_api_base;
    if (entry == NULL) {
        return gops_peer_refuse(note, "%s", dlerror());
    }
    memcpy(&get_api_base, &entry, sizeof entry); /* ISO C has no such conversion */
    runtime.api = get_api_base()->get_api(ORT_VERSION_BASE);
    if (runtime.api == NULL) {
        return gops_peer_refuse(note, "version %s is too old", get_api_base()->get_version());
    }
    return works(runtime.api->create_env(ORT_LOG_ERROR, "groupops", &runtime.env), note);
}

void gops_ort_shut_down(void)
{
    if (runtime.api != NULL) {
        runtime.api->release_env(runtime.env);
        runtime.env = NULL;
    }
}

static void destroy(void *state)
{
    onnxruntime *self = state;
    runtime.api->release_value(self->input);
    runtime.api->release_value(self->result);
    runtime.api->release_session(self->session);
    runtime.api->release_memory_info(self->memory);
    free(self->output);
    free(self);
}

static bool set_options(ort_session_options *options, int threads, gops_peer_note *note)
{
    /* Its threads go on spinning after a run, and would take the processor from whoever is measured
     * next. */
    return works(runtime.api->set_optimization_level(options, ORT_OPTIMIZE_ALL), note) &&
           works(runtime.api->set_intra_op_threads(options, threads), note) &&
           works(runtime.api->set_inter_op_threads(options, 1), note) &&
           works(runtime.api->add_session_config(options, "session.force_spinning_stop", "1"),
                 note);
}

static bool open_session(onnxruntime *self, const gops_peer_problem *problem, gops_peer_note *note)
{
    ort_session_options *options = NULL;
    gops_onnx_buffer model;
    if (!gops_ort_model(problem, self->depth, &model)) {
        return gops_peer_refuse(note, "no memory");
    }
    const bool done = works(runtime.api->create_session_options(&options), note) &&
                      set_options(options, problem->threads, note) &&
                      works(runtime.api->create_session_from_array(
                                runtime.env, model.bytes, model.size, options, &self->session),
                            note);
    runtime.api->release_session_options(options);
    free(model.bytes);
    return done;
}

static bool wrap(const onnxruntime *self, const gops_tensor *tensor, void *values, size_t elements,
                 bool quantized, ort_value **value, gops_peer_note *note)
{
    return works(runtime.api->create_tensor(
                     self->memory, values, elements * (quantized ? 1 : sizeof(float)), tensor->dims,
                     (size_t)tensor->rank, quantized ? ORT_UINT8 : ORT_FLOAT, value),
                 note);
}

static bool make(onnxruntime *self, const gops_peer_problem *problem, gops_peer_note *note)
{
    const bool quantized = problem->codes.data != NULL;
    void *data = quantized ? (void *)problem->codes.data : problem->values[0];
    self->output = gops_peer_floats(problem->output_elements);
    if (self->output == NULL) {
        return gops_peer_refuse(note, "no memory");
    }
    if (!works(runtime.api->create_cpu_memory_info(ORT_DEVICE_ALLOCATOR, ORT_DEFAULT_MEMORY,
                                                   &self->memory),
               note) ||
        !open_session(self, problem, note) ||
        !wrap(self, &problem->inputs[0], data, problem->data_elements, quantized, &self->input,
              note) ||
        !wrap(self, &problem->output, self->output, problem->output_elements, quantized,
              &self->result, note)) {
        return false;
    }
    gops_peer_describe(note, self->depth > 1 ? "chain of %d" : "single layer", self->depth);
    return true;
}

static void *prepare(const gops_peer_problem *problem, int depth, gops_peer_note *note)
{
    if (!load(note)) {
        return NULL;
    }
    if (problem->codes.data != NULL && problem->operation->bit == GOPS_OF_DECONV) {
        gops_peer_refuse(note, "there is no quantized ConvTranspose");
        return NULL;
    }
    onnxruntime *self = calloc(1, sizeof *self);
    if (self == NULL) {
        gops_peer_refuse(note, "no memory");
        return NULL;
    }
    self->depth = depth;
    if (!make(self, problem, note)) {
        destroy(self);
        return NULL;
    }
    return self;
}

static void *prepare_chain(const gops_peer_problem *problem, gops_peer_note *note)
{
    return prepare(problem, problem->depth, note);
}

/* One layer that has to begin and end with plain tensors; where there is no chain, that is what
 * prepare_chain makes already. */
static void *prepare_single(const gops_peer_problem *problem, gops_peer_note *note)
{
    if (problem->depth == 1) {
        gops_peer_refuse(note, "the same as onnxruntime");
        return NULL;
    }
    return prepare(problem, 1, note);
}

static bool run(void *state, int reps, double *ms, gops_peer_note *note)
{
    onnxruntime *self = state;
    static const char *const input_names[] = {GOPS_ORT_INPUT};
    static const char *const output_names[] = {GOPS_ORT_OUTPUT};
    const ort_value *const inputs[] = {self->input};
    for (int i = 0; i < reps; i++) {
        const double start = gops_clock_ms();
        if (!works(runtime.api->run(self->session, NULL, input_names, inputs, 1, output_names, 1,
                                    &self->result),
                   note)) {
            return false;
        }
        ms[i] = (gops_clock_ms() - start) / self->depth;
    }
    return true;
}

static const void *output(void *state, int *depth)
{
    const onnxruntime *self = state;
    *depth = self->depth;
    return self->output;
}

const gops_contestant gops_contestant_onnxruntime = {"onnxruntime", prepare_chain, run, output,
                                                     destroy};
const gops_contestant gops_contestant_onnxruntime_single = {"onnxruntime-single", prepare_single,
                                                            run, output, destroy};
