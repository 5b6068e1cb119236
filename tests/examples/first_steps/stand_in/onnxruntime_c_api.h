/* onnxruntime_c_api.h: in place of the runtime's own header, which no package brings here: the names
 * that a page of first steps uses, at their slots in the runtime's table (src/engines/onnxruntime/runtime/ort_abi.h).
 */
#ifndef GROUPOPS_STAND_IN_ONNXRUNTIME_C_API_H
#define GROUPOPS_STAND_IN_ONNXRUNTIME_C_API_H

#include <stddef.h>
#include <stdint.h>

#define ORT_API_VERSION 23
#define ORT_LOGGING_LEVEL_WARNING 2

typedef struct OrtStatus OrtStatus;
typedef struct OrtEnv OrtEnv;
typedef struct OrtSession OrtSession;
typedef struct OrtSessionOptions OrtSessionOptions;
typedef struct OrtEpDevice OrtEpDevice;

#define SLOTS(first, last) void (*slots_##first[(last) - (first) + 1])(void)

typedef struct OrtApi {
    SLOTS(0, 1);
    const char *(*GetErrorMessage)(const OrtStatus *status);          /* 2 */
    OrtStatus *(*CreateEnv)(int level, const char *id, OrtEnv **env); /* 3 */
    SLOTS(4, 6);
    OrtStatus *(*CreateSession)(const OrtEnv *env, const char *path,
                                const OrtSessionOptions *options, OrtSession **session); /* 7 */
    SLOTS(8, 9);
    OrtStatus *(*CreateSessionOptions)(OrtSessionOptions **options); /* 10 */
    SLOTS(11, 129);
    OrtStatus *(*AddSessionConfigEntry)(OrtSessionOptions *options, const char *key,
                                        const char *value);
    SLOTS(131, 300);
    OrtStatus *(*RegisterExecutionProviderLibrary)(OrtEnv *env, const char *name, const char *path);
    SLOTS(302, 302);
    OrtStatus *(*GetEpDevices)(const OrtEnv *env, const OrtEpDevice *const **devices,
                               size_t *count);
    OrtStatus *(*SessionOptionsAppendExecutionProvider_V2)(OrtSessionOptions *options, OrtEnv *env,
                                                           const OrtEpDevice *const *devices,
                                                           size_t count, const char *const *keys,
                                                           const char *const *values,
                                                           size_t options_count);
    SLOTS(305, 311);
    const char *(*EpDevice_EpName)(const OrtEpDevice *device); /* 312 */
} OrtApi;

typedef struct OrtApiBase {
    const OrtApi *(*GetApi)(uint32_t version);
    const char *(*GetVersionString)(void);
} OrtApiBase;

const OrtApiBase *OrtGetApiBase(void);

#endif
