/* The C lines of the provider's README, compiled with the names that the runtime's own header has,
 * and run: a session that they opened has the provider compute. */
#include "ort_layer.h"

#include "harness.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef ort_status OrtStatus;
typedef ort_env OrtEnv;
typedef ort_ep_device OrtEpDevice;
typedef ort_session_options OrtSessionOptions;

/* The slots are ort_abi.h's. */
typedef struct OrtApi {
    ORT_SKIP(0, 300);
    ort_status *(*RegisterExecutionProviderLibrary)(OrtEnv *env, const char *name,
                                                    const char *path); /* 301 */
    ORT_SKIP(302, 302);
    ort_status *(*GetEpDevices)(const OrtEnv *env, const OrtEpDevice *const **devices,
                                size_t *count); /* 303 */
    ort_status *(*SessionOptionsAppendExecutionProvider_V2)(OrtSessionOptions *options, OrtEnv *env,
                                                            const OrtEpDevice *const *devices,
                                                            size_t device_count,
                                                            const char *const *keys,
                                                            const char *const *values,
                                                            size_t option_count);
    ORT_SKIP(305, 311);
    const char *(*EpDevice_EpName)(const OrtEpDevice *device); /* 312 */
} OrtApi;

#define SAME_PLACE(official, own) (offsetof(OrtApi, official) == offsetof(ort_api, own))
_Static_assert(SAME_PLACE(RegisterExecutionProviderLibrary, register_provider_library) &&
                   SAME_PLACE(GetEpDevices, get_ep_devices) &&
                   SAME_PLACE(SessionOptionsAppendExecutionProvider_V2, append_provider) &&
                   SAME_PLACE(EpDevice_EpName, get_ep_name),
               "the slots are those of ort_abi.h");

static OrtStatus *swap_in(const OrtApi *api, OrtEnv *env, OrtSessionOptions *options,
                          const char *path)
{
#include "readme_snippet.inc"
    return status;
}

/* The layer is so large that it is worth being taken. */
static void readme(void)
{
    const gops_ort_layer layer = {
        .type = "Conv",
        .opset = 17,
        .element = GOPS_F32,
        .axes = 2,
        .batch = 1,
        .groups = 3,
        .channels_in = 5,
        .channels_out = 7,
        .data = {23, 29},
        .kernel = {3, 2},
    };
    const ort_api *own = gops_ort_load();
    gops_test_random random = gops_test_random_start(gops_test_seed(), 1);
    gops_ort_values_of_layer values;
    gops_onnx_buffer model;
    ort_session_options *options = NULL;
    ort_session *session = NULL;
    ort_value *output = NULL;
    /* gops_ort_load has registered it already, which a program does once. */
    gops_ort_works(own->unregister_provider_library(gops_ort_env(), "groupops"), "unregistering");
    gops_ort_layer_fill(&layer, &random, &values);
    gops_ort_layer_model(&layer, GOPS_F32, &values, &model);
    if (gops_ort_works(own->create_session_options(&options), "making options") &&
        gops_ort_works(
            own->add_session_config(options, "session.record_ep_graph_assignment_info", "1"),
            "an option") &&
        gops_ort_works(swap_in((const OrtApi *)(const void *)own, gops_ort_env(), options,
                               GROUPOPS_ORT_LIBRARY),
                       "the README's lines") &&
        gops_ort_works(own->create_session_from_array(gops_ort_env(), model.bytes, model.size,
                                                      options, &session),
                       "a session") &&
        gops_ort_works(gops_ort_layer_run(&layer, GOPS_F32, &values, session, &output), "a run")) {
        gops_test_check(gops_ort_claimed(session, false) == 1, "%d nodes claimed",
                        gops_ort_claimed(session, false));
    }
    own->release_value(output);
    own->release_session(session);
    own->release_session_options(options);
    gops_ort_layer_free(&values);
    free(model.bytes);
}

int main(void)
{
    const gops_test_case cases[] = {{"readme", readme}, {NULL, NULL}};
    const int status = gops_test_main("ONNX Runtime, README", cases);
    gops_ort_unload();
    return status;
}
