/* plan/filter.c: packed filters. */
#include "plan/plan.h"

#include "base/checked.h"
#include "base/error.h"

#include <assert.h>
#include <string.h>

static gops_status filter_check(const gops_plan *plan, const void *weights, gops_error *error)
{
    if (plan == NULL) {
        return gops_fail(error, GOPS_INVALID, "plan is NULL");
    }
    if (plan->method->pack == NULL) {
        return gops_fail(error, GOPS_INVALID,
                         "the plan is of a normalization, which has no filter");
    }
    if (weights == NULL && plan->filter_bytes > 0) {
        return gops_fail(error, GOPS_INVALID, "weights is NULL");
    }
    const size_t alignment = (size_t)plan->filter_type->bytes;
    if ((uintptr_t)weights % alignment != 0) {
        return gops_fail(error, GOPS_INVALID, "weights is not aligned to its elements' %zu bytes",
                         alignment);
    }
    return GOPS_OK;
}

/* Whether any weight is NaN or infinite: its exponent has all bits set. */
static bool any_nonfinite(const gops_plan *plan, const unsigned char *weights, int64_t count)
{
    enum { BLOCK = 512 };
    const uint32_t exponent32 = 0x7f800000;
    const uint64_t exponent64 = (uint64_t)0x7ff << 52;
    union {
        uint32_t f32[BLOCK];
        uint64_t f64[BLOCK];
    } block; /* in the compute type */
    const gops_type_row *type = plan->filter_type;
    const int64_t size = type->bytes;
    bool found = false;
    for (int64_t i = 0; i < count && !found; i += BLOCK) {
        const int64_t length = gops_min(BLOCK, count - i);
        type->load(&block, weights + i * size, length);
        if (type->compute == GOPS_COMPUTE_F64) {
            for (int64_t j = 0; j < length; j++) {
                found |= (block.f64[j] & exponent64) == exponent64;
            }
        } else {
            for (int64_t j = 0; j < length; j++) {
                found |= (block.f32[j] & exponent32) == exponent32;
            }
        }
    }
    return found;
}

/* Multiplies `count` weights with a scale. Each is rounded to the compute type, then to its own. */
static void scale_weights(const gops_type_row *type, double scale, const unsigned char *from,
                          unsigned char *to, int64_t count)
{
    enum { BLOCK = 256 };
    union {
        float f32[BLOCK];
        double f64[BLOCK];
    } block; /* in the compute type */
    for (int64_t i = 0; i < count; i += BLOCK) {
        const int64_t length = gops_min(BLOCK, count - i);
        type->load(&block, from + i * type->bytes, length);
        for (int64_t j = 0; j < length && type->compute == GOPS_COMPUTE_F64; j++) {
            block.f64[j] *= scale;
        }
        for (int64_t j = 0; j < length && type->compute == GOPS_COMPUTE_F32; j++) {
            block.f32[j] *= (float)scale;
        }
        type->store(to + i * type->bytes, &block, length);
    }
}

/* A copy of the weights, multiplied with the scales that were read. NULL: no memory. */
static void *scaled_copy(const gops_plan *plan, const void *weights, const gops_quantization *read)
{
    const gops_conv_geometry *conv = &plan->conv;
    const gops_type_row *type = plan->filter_type;
    const bool transposed = plan->operation == GOPS_OPERATION_DECONV;
    /* Weights side by side that have one output channel, and how often the channels come. */
    const int64_t run = transposed ? conv->taps : conv->channels_in * conv->taps;
    const int64_t repeats = transposed ? conv->channels_in : 1;
    const int64_t runs = conv->groups * repeats * conv->channels_out;
    unsigned char *copy = plan->host.allocate(
        plan->host.context, (size_t)(runs * run * type->bytes), GOPS_WORKSPACE_ALIGNMENT);
    for (int64_t i = 0; i < runs && copy != NULL; i++) {
        const int64_t group = i / conv->channels_out / repeats;
        const int64_t channel = group * conv->channels_out + i % conv->channels_out;
        const int64_t first = i * run * type->bytes;
        scale_weights(type, gops_multiplier(plan, read, channel),
                      (const unsigned char *)weights + first, copy + first, run);
    }
    return copy;
}

/* Packs the weights, and folds what was read of the quantization. */
static void pack_weights(const gops_plan *plan, const void *weights, const gops_quantization *read,
                         gops_packed_filter *filter)
{
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t count = conv->groups * conv->channels_out * conv->channels_in * conv->taps;
    const bool integers = gops_is_integer(plan->filter_type);
    if (plan->filter_bytes == 0) {
        return; /* an empty output */
    }
    filter->nonfinite = !integers && any_nonfinite(plan, weights, count);
    if (filter->nonfinite) {
        /* No method packs a weight into less than it came in. */
        const int64_t bytes = count * plan->filter_type->bytes;
        assert(bytes <= plan->filter_bytes);
        memcpy(filter->packed, weights, (size_t)bytes);
        return;
    }
    if (plan->quantized) {
        unsigned char *arrays = (unsigned char *)filter->packed - gops_quantized_bytes(plan);
        gops_quantization_fold(plan, read, arrays, &filter->quantized);
    }
    plan->method->pack(plan, weights, filter->quantized.zero_points, filter->packed);
}

static gops_status filter_pack(const gops_plan *plan, const void *weights,
                               const gops_quantization *read, gops_packed_filter *filter,
                               gops_error *error)
{
    if (plan->quantized || read->filter_scales_count == 0 || plan->filter_bytes == 0) {
        pack_weights(plan, weights, read, filter);
        return GOPS_OK;
    }
    void *scaled = scaled_copy(plan, weights, read);
    if (scaled == NULL) {
        return gops_fail(error, GOPS_OUT_OF_MEMORY, "no memory for a scaled copy of the weights");
    }
    pack_weights(plan, scaled, read, filter);
    plan->host.release(plan->host.context, scaled);
    return GOPS_OK;
}

gops_status gops_filter_create(const gops_plan *plan, const void *weights,
                               const gops_quantization *quantization, gops_packed_filter **filter,
                               gops_error *error)
{
    gops_quantization read;
    if (filter == NULL) {
        return gops_fail(error, GOPS_INVALID, "filter is NULL");
    }
    *filter = NULL;
    GOPS_TRY(filter_check(plan, weights, error));
    GOPS_TRY(gops_quantization_read(plan, quantization, &read, error));
    /* The quantization's arrays and the packed values follow the header in the same piece of
     * memory. */
    const int64_t header = gops_round_up(sizeof(gops_packed_filter), GOPS_WORKSPACE_ALIGNMENT) +
                           gops_quantized_bytes(plan);
    const int64_t bytes = header + plan->filter_bytes;
    unsigned char *memory = NULL;
    if (bytes <= PTRDIFF_MAX) {
        memory = plan->host.allocate(plan->host.context, (size_t)bytes, GOPS_WORKSPACE_ALIGNMENT);
    }
    if (memory == NULL) {
        return gops_fail(error, GOPS_OUT_OF_MEMORY, "no memory for a packed filter of %lld bytes",
                         (long long)bytes);
    }
    gops_packed_filter *made = (gops_packed_filter *)(void *)memory;
    *made =
        (gops_packed_filter){.layout = plan->layout, .host = plan->host, .packed = memory + header};
    const gops_status status = filter_pack(plan, weights, &read, made, error);
    if (status != GOPS_OK) {
        gops_filter_destroy(made);
        return status;
    }
    *filter = made;
    return GOPS_OK;
}

gops_status gops_filter_update(const gops_plan *plan, gops_packed_filter *filter,
                               const void *weights, const gops_quantization *quantization,
                               gops_error *error)
{
    gops_quantization read;
    GOPS_TRY(filter_check(plan, weights, error));
    GOPS_TRY(gops_quantization_read(plan, quantization, &read, error));
    if (filter == NULL) {
        return gops_fail(error, GOPS_INVALID, "filter is NULL");
    }
    GOPS_TRY(gops_check_layout("filter", filter, plan, error));
    return filter_pack(plan, weights, &read, filter, error);
}

void gops_filter_destroy(gops_packed_filter *filter)
{
    if (filter != NULL) {
        gops_host host = filter->host;
        host.release(host.context, filter);
    }
}
