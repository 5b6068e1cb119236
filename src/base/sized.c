/* base/sized.c: reads and writes structs of callers that were built with any release. */
#include "base/sized.h"

#include <groupops/groupops.h>

#include "base/error.h"

#include <stdbool.h>
#include <string.h>

/* The size of a struct whose last field is this one. */
#define ENDS_WITH(type, field)                                                                     \
    ((offsetof(type, field) + sizeof((type){0}.field) + _Alignof(type) - 1) / _Alignof(type) *     \
     _Alignof(type))

/* For each release that added fields to a struct, beginning with 0.1.0: its last field. */
const gops_sized gops_sized_options = {
    "options", "gops_options", sizeof(gops_options), {ENDS_WITH(gops_options, choices)}};
const gops_sized gops_sized_arguments = {"arguments",
                                         "gops_arguments",
                                         sizeof(gops_arguments),
                                         {ENDS_WITH(gops_arguments, residual_stride)}};
const gops_sized gops_sized_plan_info = {
    "info", "gops_plan_info", sizeof(gops_plan_info), {ENDS_WITH(gops_plan_info, flops)}};
const gops_sized gops_sized_host = {
    "host", "gops_host", sizeof(gops_host), {ENDS_WITH(gops_host, context)}};
const gops_sized gops_sized_gemm = {
    "host.gemm", "gops_gemm", sizeof(gops_gemm), {ENDS_WITH(gops_gemm, context)}};
const gops_sized gops_sized_quantization = {"quantization",
                                            "gops_quantization",
                                            sizeof(gops_quantization),
                                            {ENDS_WITH(gops_quantization, divides)}};

/* Reads and checks the caller's size. */
static gops_status read_size(const gops_sized *sized, const void *given, size_t *size,
                             gops_error *error)
{
    memcpy(size, given, sizeof *size);
    bool known = *size >= sized->bytes && *size <= GOPS_MAX_STRUCT_BYTES;
    for (int i = 0; i < GOPS_MAX_RELEASES && sized->released[i] != 0; i++) {
        known = known || *size == sized->released[i];
    }
    if (!known) {
        return gops_fail(error, GOPS_INVALID, "%s.size is %zu; sizeof(%s) is %zu", sized->name,
                         *size, sized->type, sized->bytes);
    }
    return GOPS_OK;
}

gops_status gops_sized_read(const gops_sized *sized, const void *given, void *read,
                            gops_error *error)
{
    const unsigned char *bytes = given;
    size_t size;
    GOPS_TRY(read_size(sized, given, &size, error));
    for (size_t i = sized->bytes; i < size; i++) {
        if (bytes[i] != 0) {
            return gops_fail(error, GOPS_INVALID,
                             "%s.size is %zu; sizeof(%s) is %zu in this library, and byte %zu "
                             "is not 0",
                             sized->name, size, sized->type, sized->bytes, i);
        }
    }
    const size_t common = size < sized->bytes ? size : sized->bytes;
    memcpy(read, given, common);
    memset((unsigned char *)read + common, 0, sized->bytes - common);
    memcpy(read, &sized->bytes, sizeof sized->bytes);
    return GOPS_OK;
}

gops_status gops_sized_write(const gops_sized *sized, const void *written, void *given,
                             gops_error *error)
{
    unsigned char *bytes = given;
    size_t size;
    GOPS_TRY(read_size(sized, given, &size, error));
    const size_t common = size < sized->bytes ? size : sized->bytes;
    memcpy(bytes + sizeof size, (const unsigned char *)written + sizeof size, common - sizeof size);
    memset(bytes + common, 0, size - common);
    return GOPS_OK;
}
