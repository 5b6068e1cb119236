/* ort_tensor.c: the runtime's tensors as the library describes them. */
#include "engines/onnxruntime/runtime/ort_runtime.h"

#include <stdio.h>
#include <string.h>

/* The type in the library; 0 for one that the provider does not claim. */
static gops_type type_of(ort_element element)
{
    static const gops_type types[] = {
        [ORT_UINT8] = GOPS_U8,    [ORT_INT8] = GOPS_I8,   [ORT_INT32] = GOPS_I32,
        [ORT_INT64] = GOPS_I64,   [ORT_FLOAT] = GOPS_F32, [ORT_DOUBLE] = GOPS_F64,
        [ORT_FLOAT16] = GOPS_F16,
    };
    return (size_t)element < sizeof types / sizeof types[0] ? types[element] : (gops_type)0;
}

/* For runtimes of version 23: by a copy of type and shape, which must be released. */
static ort_status *read_copy(const gops_ort_runtime *runtime, const ort_value *value,
                             ort_element *element, int64_t *dims, size_t *rank)
{
    const ort_api *api = runtime->api;
    ort_tensor_info *info;
    ort_status *status = api->get_tensor_info(value, &info);
    if (status != NULL) {
        return status;
    }
    if ((status = api->get_element_type(info, element)) == NULL &&
        (status = api->get_rank(info, rank)) == NULL && *rank <= GOPS_MAX_RANK) {
        status = api->get_dims(info, dims, *rank);
    }
    api->release_tensor_info(info);
    return status;
}

/* Type 0 for a type or rank that the library lacks; *element and *rank are then what it lacks. */
static ort_status *describe(const gops_ort_runtime *runtime, const ort_value *value,
                            gops_tensor *tensor, ort_element *element, size_t *rank)
{
    int64_t copy[GOPS_MAX_RANK];
    const int64_t *dims = copy;
    ort_status *status = runtime->has_references
                             ? runtime->api->tensor_reference(value, element, &dims, rank)
                             : read_copy(runtime, value, element, copy, rank);
    *tensor = (gops_tensor){0};
    if (status == NULL && *rank <= GOPS_MAX_RANK) {
        tensor->type = type_of(*element);
        tensor->rank = (int32_t)*rank;
        for (size_t i = 0; i < *rank; i++) {
            tensor->dims[i] = dims[i];
        }
    }
    return status;
}

ort_status *gops_ort_try_describe(const gops_ort_runtime *runtime, const ort_value *value,
                                  gops_tensor *tensor)
{
    ort_element element = ORT_UNDEFINED;
    size_t rank = 0;
    return describe(runtime, value, tensor, &element, &rank);
}

ort_status *gops_ort_describe(const gops_ort_runtime *runtime, const ort_value *value,
                              gops_tensor *tensor)
{
    ort_element element = ORT_UNDEFINED;
    size_t rank = 0;
    ort_status *status = describe(runtime, value, tensor, &element, &rank);
    return status != NULL || tensor->type != (gops_type)0
               ? status
               : gops_ort_fail(runtime, ORT_NOT_IMPLEMENTED,
                               "groupops: a tensor of element type %d and rank %zu", (int)element,
                               rank);
}

/* Element type and rank of a value, and what tells its dimensions: NULL for a sequence or a map. */
static ort_status *describe_value(const gops_ort_runtime *runtime, const ort_value_info *info,
                                  const ort_tensor_info **described, ort_element *element,
                                  size_t *rank)
{
    const ort_api *api = runtime->api;
    const ort_type_info *type = NULL;
    ort_status *status;
    *described = NULL;
    *rank = 0;
    if ((status = api->get_value_type(info, &type)) != NULL ||
        (status = api->cast_to_tensor_info(type, described)) != NULL || *described == NULL ||
        (status = api->get_element_type(*described, element)) != NULL) {
        return status;
    }
    return api->get_rank(*described, rank);
}

ort_status *gops_ort_value_tensor(const gops_ort_runtime *runtime, const ort_value_info *info,
                                  gops_tensor *tensor, bool *known)
{
    const ort_tensor_info *described;
    ort_element element = ORT_UNDEFINED;
    size_t rank;
    *tensor = (gops_tensor){0};
    *known = false;
    ort_status *status = describe_value(runtime, info, &described, &element, &rank);
    if (status != NULL || described == NULL) {
        return status;
    }
    tensor->type = type_of(element);
    if (rank > 0 && rank <= GOPS_MAX_RANK) { /* rank 0 is also what an unknown rank looks like */
        tensor->rank = (int32_t)rank;
        status = runtime->api->get_dims(described, tensor->dims, rank);
        *known = status == NULL;
    }
    return status;
}

ort_status *gops_ort_value_batch(const gops_ort_runtime *runtime, const ort_value_info *info,
                                 const char **name)
{
    const ort_tensor_info *described;
    ort_element element = ORT_UNDEFINED;
    const char *names[GOPS_MAX_RANK] = {NULL};
    size_t rank;
    ort_status *status = describe_value(runtime, info, &described, &element, &rank);
    if (status == NULL && rank > 0 && rank <= GOPS_MAX_RANK) {
        status = runtime->api->get_symbols(described, names, rank);
    }
    *name = status == NULL && names[0] != NULL && names[0][0] != '\0' ? names[0] : NULL;
    return status;
}

bool gops_ort_same_shape(const gops_tensor *one, const gops_tensor *other)
{
    return one->rank == other->rank &&
           memcmp(one->dims, other->dims, (size_t)one->rank * sizeof one->dims[0]) == 0;
}

gops_ort_words gops_ort_name_tensor(const gops_tensor *tensor)
{
    gops_ort_words words;
    int length = snprintf(words.text, sizeof words.text, "%s {", gops_type_name(tensor->type));
    for (int32_t i = 0; i < tensor->rank; i++) {
        length += snprintf(words.text + length, sizeof words.text - (size_t)length, "%s%lld",
                           i > 0 ? "," : "", (long long)tensor->dims[i]);
    }
    snprintf(words.text + length, sizeof words.text - (size_t)length, "}");
    return words;
}

int64_t gops_ort_elements(const gops_tensor *tensor, int32_t from)
{
    int64_t count = 1;
    for (int32_t i = from; i < tensor->rank; i++) {
        count *= tensor->dims[i];
    }
    return count;
}

int64_t gops_ort_bytes(const gops_tensor *tensor, int32_t from)
{
    return gops_ort_elements(tensor, from) * (int64_t)gops_type_bytes(tensor->type);
}
