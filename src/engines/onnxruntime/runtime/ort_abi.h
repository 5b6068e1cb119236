/*
 * ort_abi.h: the part of ONNX Runtime's C interface that this project calls or is called by. It is
 * declared here, because no package contains the runtime's own headers.
 *
 * A function table is an array of pointers that only grows: a function keeps its slot in all later
 * versions. The members below have these slots; those between them are not used. A struct that a
 * provider passes to the runtime begins with a version, and the runtime reads no newer member.
 *
 * A function that returns `ort_status *` returns NULL for success; the caller releases any other
 * status. Strings are UTF-8.
 */
#ifndef GROUPOPS_ENGINES_ORT_ABI_H
#define GROUPOPS_ENGINES_ORT_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    /* The first version with plugin providers, which the provider and its hosts ask for. */
    ORT_VERSION_PLUGINS = 23,
    /* The version that the benchmark's peer asks for, which has opset 21. */
    ORT_VERSION_BASE = 20,
    /* The first version with tensor_reference and the assignment of nodes to providers. */
    ORT_VERSION_REFERENCES = 24,
};

typedef struct ort_status ort_status;
typedef struct ort_env ort_env;
typedef struct ort_session ort_session;
typedef struct ort_session_options ort_session_options;
typedef struct ort_run_options ort_run_options;
typedef struct ort_memory_info ort_memory_info;
typedef struct ort_allocator ort_allocator;
typedef struct ort_value ort_value;
typedef struct ort_type_info ort_type_info;
typedef struct ort_tensor_info ort_tensor_info;
typedef struct ort_value_info ort_value_info;
typedef struct ort_node ort_node;
typedef struct ort_graph ort_graph;
typedef struct ort_attribute ort_attribute;
typedef struct ort_kernel_context ort_kernel_context;
typedef struct ort_compute_context ort_compute_context;
typedef struct ort_graph_support ort_graph_support;
typedef struct ort_hardware_device ort_hardware_device;
typedef struct ort_ep_device ort_ep_device;
typedef struct ort_key_values ort_key_values;
typedef struct ort_logger ort_logger;
typedef struct ort_data_transfer ort_data_transfer;
typedef struct ort_assigned_subgraph ort_assigned_subgraph;
typedef struct ort_assigned_node ort_assigned_node;

typedef enum ort_element {
    ORT_UNDEFINED = 0,
    ORT_FLOAT = 1,
    ORT_UINT8 = 2,
    ORT_INT8 = 3,
    ORT_INT32 = 6,
    ORT_INT64 = 7,
    ORT_FLOAT16 = 10,
    ORT_DOUBLE = 11,
} ort_element;

typedef enum ort_code {
    ORT_FAIL = 1,
    ORT_INVALID_ARGUMENT = 2,
    ORT_NOT_IMPLEMENTED = 9,
} ort_code;

typedef enum ort_attribute_type {
    ORT_ATTRIBUTE_INT = 1,
    ORT_ATTRIBUTE_INTS = 2,
    ORT_ATTRIBUTE_FLOAT = 3,
    ORT_ATTRIBUTE_STRING = 5,
} ort_attribute_type;

enum {
    ORT_LOG_INFO = 1,
    ORT_LOG_ERROR = 3,
    ORT_LOG_FATAL = 4,
    ORT_OPTIMIZE_NONE = 0,
    ORT_OPTIMIZE_ALL = 99,
    ORT_DEVICE_ALLOCATOR = 0,
    ORT_DEFAULT_MEMORY = 0,
    ORT_HARDWARE_CPU = 0,
};

typedef void ort_slot(void);
typedef struct ort_ep_api ort_ep_api;

/* Slots `first` to `last` of a table, which are not used. */
#define ORT_SKIP(first, last) ort_slot *skipped_##first[(last) - (first) + 1]

typedef void ort_logging_function(void *argument, int level, const char *category, const char *id,
                                  const char *location, const char *message);

typedef struct ort_api {
    ort_status *(*create_status)(ort_code code, const char *message); /* 0 */
    ORT_SKIP(1, 1);
    const char *(*get_error_message)(const ort_status *status); /* 2 */
    ort_status *(*create_env)(int level, const char *id, ort_env **env);
    ort_status *(*create_env_with_logger)(ort_logging_function *function, void *argument, int level,
                                          const char *id, ort_env **env); /* 4 */
    ORT_SKIP(5, 7);
    ort_status *(*create_session_from_array)(const ort_env *env, const void *model, size_t bytes,
                                             const ort_session_options *options,
                                             ort_session **session); /* 8 */
    ort_status *(*run)(ort_session *session, const ort_run_options *options,
                       const char *const *input_names, const ort_value *const *inputs,
                       size_t input_count, const char *const *output_names, size_t output_count,
                       ort_value **outputs);
    ort_status *(*create_session_options)(ort_session_options **options);
    ORT_SKIP(11, 13);
    ort_status *(*enable_profiling)(ort_session_options *options, const char *prefix); /* 14 */
    ORT_SKIP(15, 22);
    ort_status *(*set_optimization_level)(ort_session_options *options, int level); /* 23 */
    ort_status *(*set_intra_op_threads)(ort_session_options *options, int threads);
    ort_status *(*set_inter_op_threads)(ort_session_options *options, int threads);
    ORT_SKIP(26, 48);
    ort_status *(*create_tensor)(const ort_memory_info *info, void *data, size_t bytes,
                                 const int64_t *dims, size_t rank, ort_element type,
                                 ort_value **value); /* 49 */
    ORT_SKIP(50, 50);
    ort_status *(*get_tensor_data)(ort_value *value, void **data); /* 51 */
    ORT_SKIP(52, 54);
    ort_status *(*cast_to_tensor_info)(const ort_type_info *type,
                                       const ort_tensor_info **info); /* 55 */
    ORT_SKIP(56, 59);
    ort_status *(*get_element_type)(const ort_tensor_info *info, ort_element *type); /* 60 */
    ort_status *(*get_rank)(const ort_tensor_info *info, size_t *rank);
    ort_status *(*get_dims)(const ort_tensor_info *info, int64_t *dims, size_t rank);
    /* The names of open dimensions, "" for all others; the runtime's. */
    ort_status *(*get_symbols)(const ort_tensor_info *info, const char **names, size_t rank);
    ORT_SKIP(64, 64);
    ort_status *(*get_tensor_info)(const ort_value *value, ort_tensor_info **info); /* 65 */
    ORT_SKIP(66, 68);
    ort_status *(*create_cpu_memory_info)(int allocator, int memory,
                                          ort_memory_info **info); /* 69 */
    ORT_SKIP(70, 74);
    ort_status *(*allocator_alloc)(ort_allocator *allocator, size_t bytes, void **memory); /* 75 */
    ort_status *(*allocator_free)(ort_allocator *allocator, void *memory);
    ORT_SKIP(77, 77);
    ort_status *(*get_default_allocator)(ort_allocator **allocator); /* 78 */
    ORT_SKIP(79, 89);
    ort_status *(*context_input)(const ort_kernel_context *context, size_t index,
                                 const ort_value **value); /* 90 */
    ort_status *(*context_output)(ort_kernel_context *context, size_t index, const int64_t *dims,
                                  size_t rank, ort_value **value);
    void (*release_env)(ort_env *env); /* 92 */
    void (*release_status)(ort_status *status);
    void (*release_memory_info)(ort_memory_info *info);
    void (*release_session)(ort_session *session);
    void (*release_value)(ort_value *value);
    ORT_SKIP(97, 98);
    void (*release_tensor_info)(ort_tensor_info *info); /* 99 */
    void (*release_session_options)(ort_session_options *options);
    ORT_SKIP(101, 129);
    ort_status *(*add_session_config)(ort_session_options *options, const char *key,
                                      const char *value); /* 130 */
    ORT_SKIP(131, 131);
    void (*release_allocator)(ort_allocator *allocator); /* 132 */
    ORT_SKIP(133, 236);
    ort_status *(*has_session_config)(const ort_session_options *options, const char *key,
                                      int *has); /* 237 */
    /* *bytes is the room at `value`, and then what it takes. */
    ort_status *(*get_session_config)(const ort_session_options *options, const char *key,
                                      char *value, size_t *bytes);
    ORT_SKIP(239, 246);
    ort_status *(*log_message)(const ort_logger *logger, int level, const char *message,
                               const char *file, int line, const char *function); /* 247 */
    ORT_SKIP(248, 252);
    /* The session's allocator for that memory; the caller releases it. */
    ort_status *(*context_allocator)(const ort_kernel_context *context, const ort_memory_info *info,
                                     ort_allocator **allocator); /* 253 */
    ORT_SKIP(254, 271);
    ort_status *(*read_attribute)(const ort_attribute *attribute, ort_attribute_type type,
                                  void *data, size_t bytes, size_t *needed); /* 272 */
    ORT_SKIP(273, 273);
    /* Makes task(argument, i) for all i below `total`; batches 0: the runtime chooses how many. */
    ort_status *(*context_parallel_for)(const ort_kernel_context *context,
                                        void (*task)(void *argument, size_t index), size_t total,
                                        size_t batches, void *argument); /* 274 */
    /* Slot 277 is KernelContext_GetScratchBuffer. It is not used: on the CPU its memory is kept
     * until the session ends, so a session would grow with every run. */
    ORT_SKIP(275, 288);
    ort_status *(*get_value_name)(const ort_value_info *info, const char **name); /* 289 */
    ort_status *(*get_value_type)(const ort_value_info *info, const ort_type_info **type);
    ORT_SKIP(291, 300);
    ort_status *(*register_provider_library)(ort_env *env, const char *name,
                                             const char *path); /* 301 */
    ort_status *(*unregister_provider_library)(ort_env *env, const char *name);
    ort_status *(*get_ep_devices)(const ort_env *env, const ort_ep_device *const **devices,
                                  size_t *count);
    ort_status *(*append_provider)(ort_session_options *options, ort_env *env,
                                   const ort_ep_device *const *devices, size_t device_count,
                                   const char *const *keys, const char *const *values,
                                   size_t option_count); /* 304 */
    ORT_SKIP(305, 306);
    int (*get_hardware_type)(const ort_hardware_device *device); /* 307 */
    ORT_SKIP(308, 311);
    const char *(*get_ep_name)(const ort_ep_device *device); /* 312 */
    ORT_SKIP(313, 316);
    const ort_ep_api *(*get_ep_api)(void); /* 317 */
    ORT_SKIP(318, 325);
    ort_status *(*get_initializer)(const ort_value_info *info, const ort_value **value); /* 326 */
    ORT_SKIP(327, 330);
    ort_status *(*is_constant_initializer)(const ort_value_info *info, bool *is); /* 331 */
    ort_status *(*is_outer)(const ort_value_info *info, bool *is);
    ORT_SKIP(333, 339);
    ort_status *(*graph_output_count)(const ort_graph *graph, size_t *count); /* 340 */
    ort_status *(*graph_outputs)(const ort_graph *graph, const ort_value_info **infos,
                                 size_t count);
    ORT_SKIP(342, 343);
    ort_status *(*graph_node_count)(const ort_graph *graph, size_t *count); /* 344 */
    ort_status *(*graph_nodes)(const ort_graph *graph, const ort_node **nodes, size_t count);
    ort_status *(*graph_parent)(const ort_graph *graph, const ort_node **node); /* 346 */
    ORT_SKIP(347, 348);
    ort_status *(*node_name)(const ort_node *node, const char **name); /* 349 */
    ort_status *(*node_type)(const ort_node *node, const char **type);
    ort_status *(*node_domain)(const ort_node *node, const char **domain);
    ort_status *(*node_version)(const ort_node *node, int *version);
    ort_status *(*node_input_count)(const ort_node *node, size_t *count);
    ort_status *(*node_inputs)(const ort_node *node, const ort_value_info **infos, size_t count);
    ort_status *(*node_output_count)(const ort_node *node, size_t *count);
    ort_status *(*node_outputs)(const ort_node *node, const ort_value_info **infos, size_t count);
    ort_status *(*node_implicit_count)(const ort_node *node, size_t *count);
    ort_status *(*node_implicits)(const ort_node *node, const ort_value_info **infos, size_t count);
    ORT_SKIP(359, 360);
    ort_status *(*node_attribute)(const ort_node *node, const char *name,
                                  const ort_attribute **attribute); /* 361 */
    ORT_SKIP(362, 362);
    ort_status *(*attribute_type)(const ort_attribute *attribute,
                                  ort_attribute_type *type); /* 363 */
    ORT_SKIP(364, 406);
    /* From here on version 24. */
    ort_status *(*session_assignment)(const ort_session *session,
                                      const ort_assigned_subgraph *const **subgraphs,
                                      size_t *count); /* 407 */
    ort_status *(*subgraph_provider)(const ort_assigned_subgraph *subgraph, const char **name);
    ort_status *(*subgraph_nodes)(const ort_assigned_subgraph *subgraph,
                                  const ort_assigned_node *const **nodes, size_t *count);
    ort_status *(*assigned_name)(const ort_assigned_node *node, const char **name);
    ORT_SKIP(411, 411);
    ort_status *(*assigned_type)(const ort_assigned_node *node, const char **type); /* 412 */
    ORT_SKIP(413, 413);
    /* The value's own type and dims, without a copy. */
    ort_status *(*tensor_reference)(const ort_value *value, ort_element *type, const int64_t **dims,
                                    size_t *rank); /* 414 */
} ort_api;

#define ORT_SLOT(member) (offsetof(ort_api, member) / sizeof(ort_slot *))
_Static_assert(ORT_SLOT(get_error_message) == 2 && ORT_SLOT(create_session_from_array) == 8 &&
                   ORT_SLOT(set_optimization_level) == 23 && ORT_SLOT(create_tensor) == 49 &&
                   ORT_SLOT(get_tensor_data) == 51 && ORT_SLOT(cast_to_tensor_info) == 55 &&
                   ORT_SLOT(get_element_type) == 60 && ORT_SLOT(get_symbols) == 63 &&
                   ORT_SLOT(get_tensor_info) == 65 && ORT_SLOT(create_cpu_memory_info) == 69 &&
                   ORT_SLOT(allocator_alloc) == 75 && ORT_SLOT(get_default_allocator) == 78 &&
                   ORT_SLOT(context_input) == 90 && ORT_SLOT(release_env) == 92 &&
                   ORT_SLOT(release_tensor_info) == 99 && ORT_SLOT(add_session_config) == 130 &&
                   ORT_SLOT(release_allocator) == 132 && ORT_SLOT(log_message) == 247 &&
                   ORT_SLOT(context_allocator) == 253 && ORT_SLOT(has_session_config) == 237 &&
                   ORT_SLOT(read_attribute) == 272 && ORT_SLOT(context_parallel_for) == 274,
               "the slots to version 22");
_Static_assert(ORT_SLOT(get_value_name) == 289 && ORT_SLOT(register_provider_library) == 301 &&
                   ORT_SLOT(append_provider) == 304 && ORT_SLOT(get_hardware_type) == 307 &&
                   ORT_SLOT(get_ep_name) == 312 && ORT_SLOT(get_ep_api) == 317 &&
                   ORT_SLOT(get_initializer) == 326 && ORT_SLOT(is_constant_initializer) == 331 &&
                   ORT_SLOT(graph_output_count) == 340 && ORT_SLOT(graph_node_count) == 344 &&
                   ORT_SLOT(graph_parent) == 346 && ORT_SLOT(node_name) == 349 &&
                   ORT_SLOT(node_implicit_count) == 357 && ORT_SLOT(node_attribute) == 361 &&
                   ORT_SLOT(attribute_type) == 363 && ORT_SLOT(session_assignment) == 407 &&
                   ORT_SLOT(assigned_type) == 412 && ORT_SLOT(tensor_reference) == 414,
               "the slots from version 23 on");

typedef struct ort_api_base {
    const ort_api *(*get_api)(uint32_t version); /* NULL: the runtime is older than that */
    const char *(*get_version)(void);
} ort_api_base;

/* What the runtime exports, as OrtGetApiBase. */
typedef const ort_api_base *ort_get_api_base(void);

typedef struct ort_ep ort_ep;
typedef struct ort_ep_factory ort_ep_factory;
typedef struct ort_compute_info ort_compute_info;

typedef struct ort_fusion_options {
    uint32_t version;
    bool drop_constant_initializers;
} ort_fusion_options;

struct ort_ep_api {
    ort_status *(*create_ep_device)(ort_ep_factory *factory, const ort_hardware_device *hardware,
                                    const ort_key_values *metadata, const ort_key_values *options,
                                    ort_ep_device **device); /* 0 */
    ort_slot *release_ep_device;
    ort_status *(*claim_fused)(ort_graph_support *support, const ort_node *const *nodes,
                               size_t count, const ort_fusion_options *options);
};

/* The members after those named here stay NULL; there is room for those of version 29. */
struct ort_ep {
    uint32_t version;
    const char *(*get_name)(const ort_ep *ep);
    ort_status *(*get_capability)(ort_ep *ep, const ort_graph *graph, ort_graph_support *support);
    ort_status *(*compile)(ort_ep *ep, const ort_graph **graphs, const ort_node **fused_nodes,
                           size_t count, ort_compute_info **infos, ort_node **context_nodes);
    void (*release_compute_infos)(ort_ep *ep, ort_compute_info **infos, size_t count);
    ort_slot *others[21];
};
_Static_assert(sizeof(ort_ep) == 208 || sizeof(void *) != 8, "as large as in version 29");

struct ort_ep_factory {
    uint32_t version;
    const char *(*get_name)(const ort_ep_factory *factory);
    const char *(*get_vendor)(const ort_ep_factory *factory);
    ort_status *(*get_supported_devices)(ort_ep_factory *factory,
                                         const ort_hardware_device *const *hardware, size_t count,
                                         ort_ep_device **devices, size_t max_devices,
                                         size_t *device_count);
    ort_status *(*create_ep)(ort_ep_factory *factory, const ort_hardware_device *const *hardware,
                             const ort_key_values *const *metadata, size_t count,
                             const ort_session_options *options, const ort_logger *logger,
                             ort_ep **ep);
    void (*release_ep)(ort_ep_factory *factory, ort_ep *ep);
    uint32_t (*get_vendor_id)(const ort_ep_factory *factory);
    const char *(*get_version)(const ort_ep_factory *factory);
    ort_slot *check_compiled_model;
    ort_status *(*create_allocator)(ort_ep_factory *factory, const ort_memory_info *info,
                                    const ort_key_values *options, ort_allocator **allocator);
    void (*release_allocator)(ort_ep_factory *factory, ort_allocator *allocator);
    ort_status *(*create_data_transfer)(ort_ep_factory *factory, ort_data_transfer **transfer);
    bool (*is_stream_aware)(const ort_ep_factory *factory);
    ort_slot *others[8];
};
_Static_assert(sizeof(ort_ep_factory) == 168 || sizeof(void *) != 8, "as large as in version 29");

struct ort_compute_info {
    uint32_t version;
    ort_status *(*create_state)(ort_compute_info *info, ort_compute_context *context, void **state);
    ort_status *(*compute)(ort_compute_info *info, void *state, ort_kernel_context *context);
    void (*release_state)(ort_compute_info *info, void *state);
};

/* What a provider library exports, as CreateEpFactories and ReleaseEpFactory. */
typedef ort_status *ort_create_ep_factories(const char *name, const ort_api_base *base,
                                            const ort_logger *logger, ort_ep_factory **factories,
                                            size_t max_factories, size_t *count);
typedef ort_status *ort_release_ep_factory(ort_ep_factory *factory);

#endif
