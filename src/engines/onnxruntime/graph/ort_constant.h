/* ort_constant.h: reads constants of the model: single numbers, scales and zero points. */
#ifndef GROUPOPS_ENGINES_ORT_CONSTANT_H
#define GROUPOPS_ENGINES_ORT_CONSTANT_H

#include "engines/onnxruntime/runtime/ort_runtime.h"

/* The values are the runtime's and live as long as its graph. */
typedef struct gops_ort_constant {
    gops_tensor tensor;
    int64_t count;
    const void *values;
} gops_ort_constant;

/* Reads an initializer that no call can replace. *is is false, and *constant empty, for anything
 * else: another value, NULL, a type that the library lacks, external data that is not aligned to its elements. */
ort_status *gops_ort_read_constant(const gops_ort_runtime *runtime, const ort_value_info *info,
                                   gops_ort_constant *constant, bool *is);

/* Whether it has the type, and one element or a vector of `count` (0: of any length). */
bool gops_ort_is_vector(const gops_ort_constant *constant, gops_type type, int64_t count);

/* Whether it is one number of f32, which gives no value of `rank` axes more of them. */
bool gops_ort_is_number(const gops_ort_constant *constant, int32_t rank);

/* Whether the constant, broadcast to the shape of `data`, has one value for each channel, or one for
 * all. Shapes are broadcast from behind: a vector belongs to the last axis. */
bool gops_ort_is_for_channels(const gops_ort_constant *constant, const gops_tensor *data);

/* Whether a number can be a scale: finite and above 0; and all of a constant of f32. */
bool gops_ort_is_scale(float scale);
bool gops_ort_are_scales(const gops_ort_constant *constant);

bool gops_ort_is_8_bit(gops_type type);
/* A value of such a type. */
int32_t gops_ort_zero_point(gops_type type, const void *value);

/* Reads a scale of type f32 and a zero point of `type`, each with one value. A zero point that is
 * missing (NULL) is 0. *reads is false if either is something else. */
ort_status *gops_ort_read_scalars(const gops_ort_runtime *runtime, const ort_value_info *scale,
                                  const ort_value_info *zero_point, gops_type type,
                                  float *scale_value, int32_t *zero_point_value, bool *reads);

#endif
