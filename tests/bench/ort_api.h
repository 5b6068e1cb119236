/* ort_api.h: the part of ONNX Runtime's C interface that the benchmark calls, declared by hand: its
 * table of functions only ever grows, so a slot keeps its number. */
#ifndef GROUPOPS_BENCH_ORT_API_H
#define GROUPOPS_BENCH_ORT_API_H

#include <stddef.h>
#include <stdint.h>

/* The lowest version whose table has every slot used here (and opset 21 behind it). */
enum { ORT_VERSION = 20 };

typedef struct ort_status ort_status;
typedef struct ort_env ort_env;
typedef struct ort_session ort_session;
typedef struct ort_session_options ort_session_options;
typedef struct ort_memory_info ort_memory_info;
typedef struct ort_value ort_value;

typedef void ort_slot(void);

typedef struct ort_api_base {
    ort_slot *const *(*get_api)(uint32_t version);
    const char *(*get_version)(void);
} ort_api_base;

typedef const ort_api_base *ort_get_api_base(void);

enum {
    ORT_GET_ERROR_MESSAGE = 2,
    ORT_CREATE_ENV = 3,
    ORT_CREATE_SESSION_FROM_ARRAY = 8,
    ORT_RUN = 9,
    ORT_CREATE_SESSION_OPTIONS = 10,
    ORT_SET_OPTIMIZATION_LEVEL = 23,
    ORT_SET_INTRA_OP_THREADS = 24,
    ORT_SET_INTER_OP_THREADS = 25,
    ORT_CREATE_TENSOR = 49,
    ORT_CREATE_CPU_MEMORY_INFO = 69,
    ORT_RELEASE_ENV = 92,
    ORT_RELEASE_STATUS = 93,
    ORT_RELEASE_MEMORY_INFO = 94,
    ORT_RELEASE_SESSION = 95,
    ORT_RELEASE_VALUE = 96,
    ORT_RELEASE_SESSION_OPTIONS = 100,
    ORT_ADD_SESSION_CONFIG_ENTRY = 130,
};

typedef const char *ort_get_error_message(const ort_status *status);
typedef ort_status *ort_create_env(int level, const char *id, ort_env **env);
typedef ort_status *ort_create_session_from_array(const ort_env *env, const void *model,
                                                  size_t bytes, const ort_session_options *options,
                                                  ort_session **session);
typedef ort_status *ort_run(ort_session *session, const void *options,
                            const char *const *input_names, const ort_value *const *inputs,
                            size_t input_count, const char *const *output_names,
                            size_t output_count, ort_value **outputs);
typedef ort_status *ort_create_session_options(ort_session_options **options);
typedef ort_status *ort_set_option(ort_session_options *options, int value);
typedef ort_status *ort_create_tensor(const ort_memory_info *info, void *data, size_t bytes,
                                      const int64_t *dims, size_t rank, int type,
                                      ort_value **value);
typedef ort_status *ort_create_cpu_memory_info(int allocator, int memory, ort_memory_info **info);
typedef ort_status *ort_add_session_config_entry(ort_session_options *options, const char *key,
                                                 const char *value);
typedef void ort_release(void *object);

enum {
    ORT_LEVEL_ERROR = 3,
    ORT_OPTIMIZE_ALL = 99,
    ORT_FLOAT = 1,
    ORT_DEVICE_ALLOCATOR = 0,
    ORT_DEFAULT_MEMORY = 0,
};

#endif
