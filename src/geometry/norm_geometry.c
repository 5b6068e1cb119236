/* geometry/norm_geometry.c: GroupNormalization-12. */
#include "base/checked.h"
#include "base/error.h"
#include "geometry/checks.h"

#include <math.h>

/* Batch, channels, and as many spatial axes as any operation may have. */
enum { MAX_NORM_RANK = GOPS_MAX_SPATIAL + 2 };

static gops_status check_data(const gops_tensor *data, gops_error *error)
{
    int64_t bytes;
    GOPS_TRY(gops_check_tensor("data", data, error));
    if (data->rank < 2) {
        return gops_fail(error, GOPS_INVALID,
                         "data has rank %d; GroupNormalization needs at least 2: batch, channels",
                         (int)data->rank);
    }
    if (data->rank > MAX_NORM_RANK) {
        return gops_fail(error, GOPS_UNSUPPORTED,
                         "data has rank %d; GroupNormalization is offered up to rank %d",
                         (int)data->rank, MAX_NORM_RANK);
    }
    if (data->type > GOPS_F8E5M2) {
        return gops_fail(error, GOPS_INVALID,
                         "data is %s; GroupNormalization takes a floating point type",
                         gops_type_name(data->type));
    }
    if (data->dims[1] == 0) {
        return gops_fail(error, GOPS_INVALID, "data has 0 channels; at least 1 is needed");
    }
    for (int i = 2; i < data->rank; i++) {
        if (data->dims[i] == 0) {
            return gops_fail(error, GOPS_INVALID,
                             "data has size 0 on spatial axis %d; at least 1 is needed", i - 2);
        }
    }
    return gops_check_bytes("data", data, &bytes, error);
}

static gops_status check_coefficients(const char *name, const gops_tensor *tensor,
                                      const gops_tensor *data, gops_error *error)
{
    GOPS_TRY(gops_check_tensor(name, tensor, error));
    if (tensor->type != data->type) {
        return gops_fail(error, GOPS_INVALID,
                         "%s is %s, data is %s; GroupNormalization takes one type for all", name,
                         gops_type_name(tensor->type), gops_type_name(data->type));
    }
    if (tensor->rank != 1 || tensor->dims[0] != data->dims[1]) {
        return gops_fail(
            error, GOPS_INVALID,
            "%s has rank %d and %lld values; it must be of rank 1 with the data's %lld "
            "channels",
            name, (int)tensor->rank, (long long)tensor->dims[0], (long long)data->dims[1]);
    }
    return GOPS_OK;
}

static gops_status check_attributes(const gops_norm_attributes *attributes, int64_t channels,
                                    gops_error *error)
{
    if (attributes == NULL) {
        return gops_fail(error, GOPS_INVALID,
                         "attributes is NULL; num_groups and epsilon are required");
    }
    if (attributes->num_groups < 1 || attributes->num_groups > channels) {
        return gops_fail(error, GOPS_INVALID,
                         "num_groups is %lld; it must be from 1 to the data's %lld channels",
                         (long long)attributes->num_groups, (long long)channels);
    }
    if (channels % attributes->num_groups != 0) {
        return gops_fail(error, GOPS_INVALID,
                         "num_groups is %lld; it must divide the data's %lld channels",
                         (long long)attributes->num_groups, (long long)channels);
    }
    if (!(attributes->epsilon > 0) || isinf(attributes->epsilon)) {
        return gops_fail(error, GOPS_INVALID, "epsilon is %g; it must be above 0 and finite",
                         attributes->epsilon);
    }
    return GOPS_OK;
}

gops_status gops_norm_resolve(const gops_tensor *data, const gops_tensor *scale,
                              const gops_tensor *bias, const gops_norm_attributes *attributes,
                              gops_norm_geometry *geometry, gops_shape *shape, gops_error *error)
{
    /* By the definition, for one element: 1 for the mean, 3 for the variance, 2 for the output. */
    enum { FLOPS_AN_ELEMENT = 6 };
    GOPS_TRY(check_data(data, error));
    GOPS_TRY(check_coefficients("scale", scale, data, error));
    GOPS_TRY(check_coefficients("bias", bias, data, error));
    GOPS_TRY(check_attributes(attributes, data->dims[1], error));
    *geometry = (gops_norm_geometry){
        .batch = data->dims[0],
        .groups = attributes->num_groups,
        .channels = data->dims[1] / attributes->num_groups,
        .pixels = 1,
        .epsilon = attributes->epsilon,
    };
    geometry->flops =
        gops_mul_saturate(FLOPS_AN_ELEMENT, gops_mul_saturate(data->dims[0], data->dims[1]));
    for (int i = 2; i < data->rank; i++) {
        geometry->pixels = gops_mul_saturate(geometry->pixels, data->dims[i]);
        geometry->flops = gops_mul_saturate(geometry->flops, data->dims[i]);
    }
    if (shape != NULL) {
        *shape = (gops_shape){.output = *data, .groups = attributes->num_groups};
    }
    return GOPS_OK;
}

gops_status gops_norm_shape(const gops_tensor *data, const gops_tensor *scale,
                            const gops_tensor *bias, const gops_norm_attributes *attributes,
                            gops_shape *shape, gops_error *error)
{
    gops_norm_geometry geometry;
    if (shape == NULL) {
        return gops_fail(error, GOPS_INVALID, "shape is NULL");
    }
    return gops_norm_resolve(data, scale, bias, attributes, &geometry, shape, error);
}
