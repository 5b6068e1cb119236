/**
 * @file
 * groupops/tensor.h: element types and tensor descriptors.
 *
 * A descriptor says what a tensor looks like, never where it lies: the same plan is executed on
 * many buffers. All tensors are row-major and dense, but for gaps between images (gops_arguments.data_stride)
 * and between channels (gops_options.data_channel_stride).
 */
#ifndef GROUPOPS_TENSOR_H
#define GROUPOPS_TENSOR_H

#include <stddef.h>
#include <stdint.h>

#include <groupops/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The element types. Numbers are part of the binary interface and never change. */
typedef enum gops_type {
    GOPS_F64 = 1,    /**< IEEE 754 binary64, double */
    GOPS_F32 = 2,    /**< IEEE 754 binary32, float */
    GOPS_F16 = 3,    /**< IEEE 754 binary16 */
    GOPS_BF16 = 4,   /**< the upper half of a binary32 */
    GOPS_F8E4M3 = 5, /**< OCP 8-bit float, 4 exponent bits, no infinities (f8e4m3fn elsewhere) */
    GOPS_F8E5M2 = 6, /**< OCP 8-bit float, 5 exponent bits */
    GOPS_I8 = 7,
    GOPS_I16 = 8,
    GOPS_I32 = 9,
    GOPS_I64 = 10,
    GOPS_U8 = 11,
    GOPS_U16 = 12,
    GOPS_U32 = 13,
    GOPS_U64 = 14
} gops_type;

/** Data has at most 8 axes (batch, channels, 6 spatial ones), a filter one more (groups). */
#define GOPS_MAX_SPATIAL 6
#define GOPS_MAX_RANK (GOPS_MAX_SPATIAL + 3)

typedef struct gops_tensor {
    gops_type type;
    int32_t rank;                /**< 1 to GOPS_MAX_RANK */
    int64_t dims[GOPS_MAX_RANK]; /**< outermost first; those beyond rank are ignored */
} gops_tensor;

/** The type's name as the tool writes it ("f32", "bf16", "f8e4m3", "u16"); "unknown" for a number
 * that is no type. A constant string. */
GOPS_API const char *gops_type_name(gops_type type);

/** The type that gops_type_name calls by that name; 0, which is no type, where there is none or
 * name is NULL. */
GOPS_API gops_type gops_type_from_name(const char *name);

/** Bytes of one element; 0 for a number that is no type. */
GOPS_API size_t gops_type_bytes(gops_type type);

/** Writes the bytes of the whole tensor to *bytes. A dimension of 0 makes it 0.
 * GOPS_INVALID: type, rank or a negative dimension. GOPS_TOO_LARGE: the product overflows. */
GOPS_API gops_status gops_tensor_bytes(const gops_tensor *tensor, size_t *bytes, gops_error *error);

#ifdef __cplusplus
}
#endif

#endif
