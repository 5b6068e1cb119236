/* ort_host.c: what the tests ask of ONNX Runtime. */
#include "ort_host.h"

#include "harness.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of the whole process. */
static struct {
    const ort_api_base *base;
    const ort_api *api;
    ort_env *env;
    ort_memory_info *memory;
    const char *library;
    bool listens;
    char heard[1024];
} runtime = {.library = GROUPOPS_ORT_LIBRARY};

void gops_ort_use(const char *path)
{
    runtime.library = path;
}

void gops_ort_listen(void)
{
    runtime.listens = true;
}

const char *gops_ort_heard(void)
{
    return runtime.heard;
}

static void hear(void *argument, int level, const char *category, const char *id,
                 const char *location, const char *message)
{
    (void)argument, (void)level, (void)category, (void)id, (void)location;
    if (strncmp(message, "groupops", 8) == 0) {
        snprintf(runtime.heard, sizeof runtime.heard, "%s", message);
    }
}

static ort_status *create_env(void)
{
    return runtime.listens ? runtime.api->create_env_with_logger(hear, NULL, ORT_LOG_INFO,
                                                                 "groupops", &runtime.env)
                           : runtime.api->create_env(ORT_LOG_FATAL, "groupops", &runtime.env);
}

static const ort_api_base *find_base(const char *path)
{
    ort_get_api_base *get_api_base;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *entry = library != NULL ? dlsym(library, "OrtGetApiBase") : NULL;
    if (entry == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return NULL;
    }
    memcpy(&get_api_base, &entry, sizeof entry); /* ISO C has no such conversion */
    return get_api_base();
}

/* GROUPOPS_ONNXRUNTIME, or where cmake/dev puts the npm package. */
static void find_library(char *path, size_t size)
{
    const char *given = getenv("GROUPOPS_ONNXRUNTIME");
    const char *peers = getenv("GROUPOPS_PEERS");
    const char *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    const char *rest = "node_modules/onnxruntime-node/bin/napi-v6/linux/" GROUPOPS_ORT_MACHINE
                       "/libonnxruntime.so.1";
    if (given != NULL) {
        snprintf(path, size, "%s", given);
    } else if (peers != NULL) {
        snprintf(path, size, "%s/%s", peers, rest);
    } else if (cache != NULL) {
        snprintf(path, size, "%s/groupops-peers/%s", cache, rest);
    } else {
        snprintf(path, size, "%s/.cache/groupops-peers/%s", home != NULL ? home : "", rest);
    }
}

/* The provider refuses a GROUPOPS_ISA that does not run here. */
static void skip_unless_isa_runs(void)
{
#ifdef __x86_64__
    const char *isa = getenv("GROUPOPS_ISA");
    if (isa != NULL && strcmp(isa, "avx2") == 0 && !__builtin_cpu_supports("avx2")) {
        gops_test_skip("%s does not run on this processor", isa);
    }
#endif
}

int64_t gops_ort_cores(void)
{
    const long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count > 1 ? count : 1;
}

const ort_api *gops_ort_load(void)
{
    char path[4096];
    if (runtime.api != NULL) {
        return runtime.api;
    }
    skip_unless_isa_runs();
    find_library(path, sizeof path);
    if (access(path, R_OK) != 0) {
        gops_test_skip("%s is not there: npm install --ignore-scripts onnxruntime-node brings it, "
                       "as ./cmake/dev test does where the npm registry is reached",
                       path);
    }
    runtime.base = find_base(path);
    if (!gops_test_check(runtime.base != NULL, "%s cannot be loaded", path)) {
        exit(EXIT_FAILURE);
    }
    runtime.api = runtime.base->get_api(ORT_VERSION_REFERENCES);
    if (runtime.api == NULL) {
        gops_test_skip("ONNX Runtime %s is older than 1.24", runtime.base->get_version());
    }
    if (!gops_ort_works(create_env(), "creating an environment") ||
        !gops_ort_works(runtime.api->create_cpu_memory_info(ORT_DEVICE_ALLOCATOR,
                                                            ORT_DEFAULT_MEMORY, &runtime.memory),
                        "describing memory") ||
        !gops_ort_works(
            runtime.api->register_provider_library(runtime.env, "groupops", runtime.library),
            "registering the provider")) {
        exit(EXIT_FAILURE);
    }
    printf("ONNX Runtime %s\n", runtime.base->get_version());
    return runtime.api;
}

ort_env *gops_ort_env(void)
{
    return runtime.env;
}

void gops_ort_unload(void)
{
    if (runtime.api != NULL) {
        runtime.api->release_memory_info(runtime.memory);
        runtime.api->release_env(runtime.env);
    }
}

bool gops_ort_works(ort_status *status, const char *what)
{
    gops_test_check(status == NULL, "%s: %s", what,
                    status != NULL ? runtime.api->get_error_message(status) : "");
    if (status != NULL) {
        runtime.api->release_status(status);
    }
    return status == NULL;
}

bool gops_ort_is_refused(ort_status *status, const char *text, const char *what)
{
    const char *message = status != NULL ? runtime.api->get_error_message(status) : "";
    const bool refused =
        gops_test_check(status != NULL, "%s was not refused", what) &&
        gops_test_check(strstr(message, text) != NULL,
                        "%s was refused with \"%s\", which lacks \"%s\"", what, message, text);
    if (status != NULL) {
        runtime.api->release_status(status);
    }
    return refused;
}

static const char *accuracy_option, *claim_option = "all";
static bool may_spin = true;
static const char *context;

void gops_ort_set_accuracy(const char *accuracy)
{
    accuracy_option = accuracy;
}

void gops_ort_set_claim(const char *claim)
{
    claim_option = claim;
}

void gops_ort_set_spinning(bool may)
{
    may_spin = may;
}

void gops_ort_set_context(const char *path)
{
    context = path;
}

static const char *folder;

void gops_ort_set_folder(const char *path)
{
    folder = path;
}

static ort_status *append(ort_session_options *options, const char *provider)
{
    const ort_ep_device *const *devices = NULL;
    const char *names[2], *values[2];
    size_t count = 0, given = 0;
    if (accuracy_option != NULL) {
        names[given] = "accuracy";
        values[given++] = accuracy_option;
    }
    if (claim_option != NULL) {
        names[given] = "claim";
        values[given++] = claim_option;
    }
    ort_status *status = runtime.api->get_ep_devices(runtime.env, &devices, &count);
    if (status != NULL) {
        return status;
    }
    for (size_t i = 0; i < count; i++) {
        if (strcmp(runtime.api->get_ep_name(devices[i]), provider) == 0) {
            return runtime.api->append_provider(options, runtime.env, &devices[i], 1, names, values,
                                                given);
        }
    }
    return runtime.api->create_status(ORT_FAIL, "the provider has no device");
}

ort_status *gops_ort_open(const gops_onnx_buffer *model, const gops_ort_session_settings *settings,
                          ort_session **session)
{
    const ort_api *api = runtime.api;
    const char *profile = getenv("GROUPOPS_ORT_PROFILE"); /* what the files' names begin with */
    ort_session_options *options = NULL;
    ort_status *status = api->create_session_options(&options);
    if (status != NULL) {
        return status;
    }
    if ((status = api->set_optimization_level(options, settings->level)) == NULL &&
        (status = api->set_intra_op_threads(options, settings->threads)) == NULL &&
        (status = api->set_inter_op_threads(options, 1)) == NULL &&
        (status = api->add_session_config(options, "session.force_spinning_stop", "1")) == NULL &&
        (status = api->add_session_config(options, "session.record_ep_graph_assignment_info",
                                          "1")) == NULL &&
        (status = api->add_session_config(options, "session.qdqisint8allowed",
                                          settings->int8 ? "1" : "0")) == NULL &&
        (status = api->add_session_config(options, "session.intra_op.allow_spinning",
                                          may_spin ? "1" : "0")) == NULL &&
        (context == NULL ||
         ((status = api->add_session_config(options, "ep.context_enable", "1")) == NULL &&
          (status = api->add_session_config(options, "ep.context_file_path", context)) == NULL)) &&
        (folder == NULL ||
         (status = api->add_session_config(
              options, "session.model_external_initializers_file_folder_path", folder)) == NULL) &&
        (profile == NULL || (status = api->enable_profiling(options, profile)) == NULL) &&
        (settings->provider == NULL || (status = append(options, settings->provider)) == NULL)) {
        status = api->create_session_from_array(runtime.env, model->bytes, model->size, options,
                                                session);
    }
    api->release_session_options(options);
    return status;
}

static gops_type type_of(ort_element element)
{
    switch (element) {
    case ORT_UINT8:
        return GOPS_U8;
    case ORT_INT8:
        return GOPS_I8;
    case ORT_INT32:
        return GOPS_I32;
    case ORT_FLOAT16:
        return GOPS_F16;
    case ORT_DOUBLE:
        return GOPS_F64;
    default:
        return GOPS_F32;
    }
}

static size_t element_bytes(ort_element element)
{
    switch (element) {
    case ORT_UINT8:
    case ORT_INT8:
        return 1;
    case ORT_FLOAT16:
        return 2;
    case ORT_FLOAT:
    case ORT_INT32:
        return 4;
    default:
        return 8;
    }
}

ort_value *gops_ort_value(const gops_ort_tensor *tensor)
{
    ort_value *value = NULL;
    size_t bytes = element_bytes(tensor->element);
    for (int i = 0; i < tensor->rank; i++) {
        bytes *= (size_t)tensor->dims[i];
    }
    gops_ort_works(runtime.api->create_tensor(runtime.memory, tensor->data, bytes, tensor->dims,
                                              (size_t)tensor->rank, tensor->element, &value),
                   "making a tensor");
    return value;
}

ort_status *gops_ort_run(ort_session *session, const gops_ort_tensor *inputs, size_t count,
                         ort_value **output)
{
    static const char *const output_names[] = {"y"};
    const char *names[GOPS_ORT_MAX_TENSORS] = {NULL};
    ort_value *values[GOPS_ORT_MAX_TENSORS] = {NULL};
    for (size_t i = 0; i < count; i++) {
        names[i] = inputs[i].name;
        values[i] = gops_ort_value(&inputs[i]);
    }
    ort_status *status = runtime.api->run(session, NULL, names, (const ort_value *const *)values,
                                          count, output_names, 1, output);
    for (size_t i = 0; i < count; i++) {
        runtime.api->release_value(values[i]);
    }
    return status;
}

const void *gops_ort_values(ort_value *value, gops_tensor *tensor)
{
    ort_element element = ORT_UNDEFINED;
    const int64_t *dims = NULL;
    size_t rank = 0;
    void *data = NULL;
    *tensor = (gops_tensor){0};
    if (gops_ort_works(runtime.api->tensor_reference(value, &element, &dims, &rank),
                       "reading an output's shape") &&
        gops_ort_works(runtime.api->get_tensor_data(value, &data), "reading an output") &&
        gops_test_check(rank <= GOPS_MAX_RANK, "the output has rank %zu", rank)) {
        tensor->type = type_of(element);
        tensor->rank = (int32_t)rank;
        memcpy(tensor->dims, dims, rank * sizeof *dims);
    }
    return data;
}

/* How many nodes the provider was given, of one type or, with NULL, of all. */
static int count_claimed(const ort_session *session, const char *wanted, bool print)
{
    const ort_api *api = runtime.api;
    const ort_assigned_subgraph *const *subgraphs = NULL;
    const char *provider, *name, *type;
    size_t count = 0, nodes;
    int claimed = 0;
    gops_ort_works(api->session_assignment(session, &subgraphs, &count), "asking who does what");
    for (size_t i = 0; i < count; i++) {
        const ort_assigned_node *const *members = NULL;
        if (!gops_ort_works(api->subgraph_provider(subgraphs[i], &provider), "a provider's name") ||
            strcmp(provider, GROUPOPS_ORT_PROVIDER) != 0 ||
            !gops_ort_works(api->subgraph_nodes(subgraphs[i], &members, &nodes), "its nodes")) {
            continue;
        }
        for (size_t k = 0; k < nodes; k++) {
            api->assigned_type(members[k], &type);
            api->assigned_name(members[k], &name);
            claimed += wanted == NULL || strcmp(type, wanted) == 0;
            if (print) {
                printf("%s%s %s%s", k == 0 ? "  " : " + ", type, name, k + 1 == nodes ? "\n" : "");
            }
        }
    }
    return claimed;
}

int gops_ort_claimed(const ort_session *session, bool print)
{
    return count_claimed(session, NULL, print);
}

int gops_ort_claimed_of(const ort_session *session, const char *type)
{
    return count_claimed(session, type, false);
}

int gops_ort_parts(const ort_session *session)
{
    const ort_assigned_subgraph *const *subgraphs = NULL;
    const char *provider;
    size_t count = 0;
    int parts = 0;
    gops_ort_works(runtime.api->session_assignment(session, &subgraphs, &count),
                   "asking who does what");
    for (size_t i = 0; i < count; i++) {
        parts += gops_ort_works(runtime.api->subgraph_provider(subgraphs[i], &provider),
                                "a provider's name") &&
                 strcmp(provider, GROUPOPS_ORT_PROVIDER) == 0;
    }
    return parts;
}
