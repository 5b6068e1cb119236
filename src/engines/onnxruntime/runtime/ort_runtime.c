/* ort_runtime.c: checks the runtime's tables before anything is called through them, and reads its options. */
#include "engines/onnxruntime/runtime/ort_runtime.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOT(member)                                                                               \
    {                                                                                              \
        ORT_SLOT(member), #member                                                                  \
    }

/* The functions that the provider needs. tensor_reference is optional: older runtimes lack it. */
static const struct {
    size_t slot;
    const char *name;
} required[] = {
    SLOT(create_status),
    SLOT(get_tensor_data),
    SLOT(cast_to_tensor_info),
    SLOT(get_element_type),
    SLOT(get_rank),
    SLOT(get_dims),
    SLOT(get_tensor_info),
    SLOT(create_cpu_memory_info),
    SLOT(allocator_alloc),
    SLOT(allocator_free),
    SLOT(get_default_allocator),
    SLOT(context_input),
    SLOT(context_output),
    SLOT(release_status),
    SLOT(release_memory_info),
    SLOT(release_tensor_info),
    SLOT(release_allocator),
    SLOT(has_session_config),
    SLOT(get_session_config),
    SLOT(log_message),
    SLOT(read_attribute),
    SLOT(context_parallel_for),
    SLOT(context_allocator),
    SLOT(get_value_name),
    SLOT(get_value_type),
    SLOT(get_hardware_type),
    SLOT(get_ep_api),
    SLOT(get_symbols),
    SLOT(get_initializer),
    SLOT(is_constant_initializer),
    SLOT(is_outer),
    SLOT(graph_output_count),
    SLOT(graph_outputs),
    SLOT(graph_node_count),
    SLOT(graph_nodes),
    SLOT(graph_parent),
    SLOT(node_name),
    SLOT(node_type),
    SLOT(node_domain),
    SLOT(node_version),
    SLOT(node_input_count),
    SLOT(node_inputs),
    SLOT(node_output_count),
    SLOT(node_outputs),
    SLOT(node_implicit_count),
    SLOT(node_implicits),
    SLOT(node_attribute),
    SLOT(attribute_type),
};

ort_status *gops_ort_fail(const gops_ort_runtime *runtime, ort_code code, const char *format, ...)
{
    char message[GOPS_MESSAGE_BYTES + 256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return runtime->api->create_status(code, message);
}

ort_status *gops_ort_no_memory(const gops_ort_runtime *runtime, const char *what)
{
    return gops_ort_fail(runtime, ORT_FAIL, "groupops: no memory for %s", what);
}

void gops_ort_keep_status(const gops_ort_runtime *runtime, _Atomic(ort_status *) *kept,
                          ort_status *status)
{
    ort_status *none = NULL;
    if (status != NULL && !atomic_compare_exchange_strong(kept, &none, status)) {
        runtime->api->release_status(status);
    }
}

enum { OPTION_BYTES = 64 }; /* with the 0; every value that means something is shorter */

/* The text of an option of the session; *word stays where it is not given. */
static ort_status *read_option(const gops_ort_runtime *runtime, const ort_session_options *options,
                               const char *key, char option[OPTION_BYTES], const char **word)
{
    int has = 0;
    size_t bytes = OPTION_BYTES;
    ort_status *status = runtime->api->has_session_config(options, key, &has);
    if (status == NULL && has) {
        status = runtime->api->get_session_config(options, key, option, &bytes);
        *word = option;
    }
    if (status != NULL && bytes > OPTION_BYTES) {
        runtime->api->release_status(status);
        status = gops_ort_fail(runtime, ORT_INVALID_ARGUMENT,
                               "groupops: option %s has %zu characters; it may have up to %d", key,
                               bytes - 1, OPTION_BYTES - 1);
    }
    return status;
}

/* An option of the provider that is one word or another; the first also where nothing is said. The
 * runtime puts a provider's options among the session's, behind its name in small letters. */
static ort_status *read_choice(const gops_ort_runtime *runtime, const ort_session_options *options,
                               const char *name, const char *word, const char *const choices[2],
                               bool *is_second)
{
    char key[64], option[OPTION_BYTES] = "";
    snprintf(key, sizeof key, "ep.groupopsexecutionprovider.%s", name);
    ort_status *status = read_option(runtime, options, key, option, &word);
    *is_second = false;
    if (status != NULL || word == NULL || word[0] == '\0' || strcmp(word, choices[0]) == 0) {
        return status;
    }
    *is_second = strcmp(word, choices[1]) == 0;
    return *is_second ? NULL
                      : gops_ort_fail(runtime, ORT_INVALID_ARGUMENT,
                                      "groupops: %s is \"%s\"; it must be %s or %s", name, word,
                                      choices[0], choices[1]);
}

ort_status *gops_ort_read_options(gops_ort_runtime *runtime, const ort_session_options *options)
{
    char option[OPTION_BYTES] = "";
    char context[OPTION_BYTES] = "";
    const char *spins = "1", *keeps = "0";
    bool relaxed = false;
    ort_status *status = read_choice(runtime, options, "accuracy", getenv("GROUPOPS_ACCURACY"),
                                     (const char *const[2]){"exact", "relaxed"}, &relaxed);
    if (status == NULL) {
        status = read_choice(runtime, options, "claim", NULL,
                             (const char *const[2]){"worthwhile", "all"}, &runtime->claims_all);
    }
    if (status == NULL) {
        status = read_option(runtime, options, "session.intra_op.allow_spinning", option, &spins);
    }
    if (status == NULL) {
        status = read_option(runtime, options, "ep.context_enable", context, &keeps);
    }
    runtime->keeps_context = strcmp(keeps, "1") == 0;
    runtime->accuracy = relaxed ? GOPS_ACCURACY_RELAXED : GOPS_ACCURACY_EXACT;
    runtime->may_spin = strcmp(spins, "0") != 0;
    return status;
}

ort_status *gops_ort_refused(const gops_ort_runtime *runtime, const char *name,
                             const gops_error *error)
{
    const ort_code code = error->status == GOPS_INVALID       ? ORT_INVALID_ARGUMENT
                          : error->status == GOPS_UNSUPPORTED ? ORT_NOT_IMPLEMENTED
                                                              : ORT_FAIL;
    return gops_ort_fail(runtime, code, "groupops, node \"%s\": %s", name, error->message);
}

/* The refusal of a runtime that is too old, made by the table of version 1, which every runtime
 * has. */
static ort_status *too_old(const ort_api_base *base)
{
    const gops_ort_runtime first = {.api = base->get_api(1)};
    if (first.api == NULL || first.api->create_status == NULL) {
        return NULL;
    }
    return gops_ort_fail(&first, ORT_NOT_IMPLEMENTED,
                         "groupops needs version %d of the interface; ONNX Runtime %s is older",
                         ORT_VERSION_PLUGINS, base->get_version());
}

static ort_status *check_slots(const gops_ort_runtime *runtime)
{
    ort_slot *const *slots = (ort_slot *const *)(const void *)runtime->api;
    for (size_t i = 0; i < sizeof required / sizeof required[0]; i++) {
        if (slots[required[i].slot] == NULL) {
            return gops_ort_fail(runtime, ORT_NOT_IMPLEMENTED,
                                 "groupops: this ONNX Runtime has nothing in slot %zu, %s",
                                 required[i].slot, required[i].name);
        }
    }
    return NULL;
}

/* A runtime that is asked for a table that it lacks complains on standard error. So its version is
 * looked at first: "1." and the version of the interface. */
static bool is_as_new_as(const ort_api_base *base, int version)
{
    int minor = 0;
    return sscanf(base->get_version(), "1.%d", &minor) == 1 && minor >= version;
}

static ort_status *open_tables(const ort_api_base *base, gops_ort_runtime *runtime)
{
    ort_status *status = check_slots(runtime);
    if (status != NULL) {
        return status;
    }
    runtime->ep_api = runtime->api->get_ep_api();
    if (runtime->ep_api == NULL || runtime->ep_api->create_ep_device == NULL ||
        runtime->ep_api->claim_fused == NULL) {
        return gops_ort_fail(runtime, ORT_NOT_IMPLEMENTED,
                             "groupops: this ONNX Runtime has no interface for providers");
    }
    const ort_api *newer =
        is_as_new_as(base, ORT_VERSION_REFERENCES) ? base->get_api(ORT_VERSION_REFERENCES) : NULL;
    runtime->has_references = newer != NULL && newer->tensor_reference != NULL;
    if (runtime->has_references) {
        runtime->api = newer;
    }
    status = runtime->api->get_default_allocator(&runtime->allocator);
    if (status != NULL) {
        return status;
    }
    return runtime->api->create_cpu_memory_info(ORT_DEVICE_ALLOCATOR, ORT_DEFAULT_MEMORY,
                                                &runtime->memory);
}

bool gops_ort_runtime_open(const ort_api_base *base, gops_ort_runtime *runtime, ort_status **status)
{
    *runtime = (gops_ort_runtime){.api = base->get_api(ORT_VERSION_PLUGINS)};
    if (runtime->api == NULL) {
        *status = too_old(base);
        return false;
    }
    if (runtime->api->create_status == NULL) {
        *status = NULL;
        return false;
    }
    *status = open_tables(base, runtime);
    return *status == NULL;
}

void gops_ort_runtime_close(gops_ort_runtime *runtime)
{
    runtime->api->release_memory_info(runtime->memory);
}

/* The state is the compute info itself: the runtime makes one for each claim and session. */
static ort_status *create_state(ort_compute_info *info, ort_compute_context *context, void **state)
{
    (void)context;
    *state = info;
    return NULL;
}

static void release_state(ort_compute_info *info, void *state)
{
    (void)info;
    (void)state;
}

gops_ort_callee gops_ort_make_callee(ort_status *(*compute)(ort_compute_info *info, void *state,
                                                            ort_kernel_context *context),
                                     void (*destroy)(ort_compute_info *info))
{
    return (gops_ort_callee){{ORT_VERSION_PLUGINS, create_state, compute, release_state}, destroy};
}

void gops_ort_destroy_callee(ort_compute_info *info)
{
    if (info != NULL) {
        ((gops_ort_callee *)(void *)info)->destroy(info);
    }
}
