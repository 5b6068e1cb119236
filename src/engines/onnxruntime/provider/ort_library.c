/* ort_library.c: what libgroupops_ort.so exports. */
#include "engines/onnxruntime/provider/ort_provider.h"

#include <stdlib.h>

typedef struct factory {
    ort_ep_factory base; /* first: the runtime's pointer to it is one to this */
    gops_ort_runtime runtime;
} factory;

static const char *factory_name(const ort_ep_factory *self)
{
    (void)self;
    return GOPS_ORT_PROVIDER;
}

static const char *factory_vendor(const ort_ep_factory *self)
{
    (void)self;
    return "groupops";
}

static uint32_t factory_vendor_id(const ort_ep_factory *self)
{
    (void)self;
    return 0; /* for PCI vendors alone */
}

static const char *factory_version(const ort_ep_factory *self)
{
    (void)self;
    return gops_version();
}

static ort_status *factory_devices(ort_ep_factory *self, const ort_hardware_device *const *hardware,
                                   size_t count, ort_ep_device **devices, size_t max_devices,
                                   size_t *device_count)
{
    const gops_ort_runtime *runtime = &((const factory *)(void *)self)->runtime;
    *device_count = 0;
    for (size_t i = 0; i < count && max_devices > 0; i++) {
        if (runtime->api->get_hardware_type(hardware[i]) == ORT_HARDWARE_CPU) { /* there is one */
            ort_status *status =
                runtime->ep_api->create_ep_device(self, hardware[i], NULL, NULL, devices);
            *device_count = status == NULL ? 1 : 0;
            return status;
        }
    }
    return NULL;
}

static ort_status *factory_create_ep(ort_ep_factory *self,
                                     const ort_hardware_device *const *hardware,
                                     const ort_key_values *const *metadata, size_t count,
                                     const ort_session_options *options, const ort_logger *logger,
                                     ort_ep **ep)
{
    (void)hardware;
    (void)metadata;
    (void)count;
    gops_ort_runtime runtime = ((const factory *)(void *)self)->runtime;
    ort_status *status = gops_ort_read_options(&runtime, options);
    return status != NULL ? status : gops_ort_provider_create(&runtime, logger, ep);
}

static void factory_release_ep(ort_ep_factory *self, ort_ep *ep)
{
    (void)self;
    gops_ort_provider_destroy(ep);
}

/* The runtime calls these two without a check for NULL. All memory is the CPU's, which it manages
 * itself. */
static ort_status *factory_create_data_transfer(ort_ep_factory *self, ort_data_transfer **transfer)
{
    (void)self;
    *transfer = NULL;
    return NULL;
}

static bool factory_is_stream_aware(const ort_ep_factory *self)
{
    (void)self;
    return false;
}

GOPS_API ort_create_ep_factories CreateEpFactories;
GOPS_API ort_release_ep_factory ReleaseEpFactory;

ort_status *CreateEpFactories(const char *name, const ort_api_base *base, const ort_logger *logger,
                              ort_ep_factory **factories, size_t max_factories, size_t *count)
{
    (void)name;
    (void)logger;
    ort_status *status = NULL;
    gops_ort_runtime runtime;
    *count = 0;
    if (!gops_ort_runtime_open(base, &runtime, &status)) {
        return status;
    }
    factory *made = max_factories > 0 ? calloc(1, sizeof *made) : NULL;
    if (made == NULL) {
        status = gops_ort_fail(&runtime, ORT_FAIL, "groupops: no room for a factory");
        gops_ort_runtime_close(&runtime);
        return status;
    }
    made->base = (ort_ep_factory){
        .version = ORT_VERSION_PLUGINS,
        .get_name = factory_name,
        .get_vendor = factory_vendor,
        .get_supported_devices = factory_devices,
        .create_ep = factory_create_ep,
        .release_ep = factory_release_ep,
        .get_vendor_id = factory_vendor_id,
        .get_version = factory_version,
        .create_data_transfer = factory_create_data_transfer,
        .is_stream_aware = factory_is_stream_aware,
    };
    made->runtime = runtime;
    factories[0] = &made->base;
    *count = 1;
    return NULL;
}

ort_status *ReleaseEpFactory(ort_ep_factory *self)
{
    if (self != NULL) {
        gops_ort_runtime_close(&((factory *)(void *)self)->runtime);
        free(self);
    }
    return NULL;
}
