/* ort_fold.c: what a claim makes of its constants: the library's form of them. */
#include "engines/onnxruntime/graph/ort_quantized.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool gops_ort_scales_serve(const gops_ort_claim *claim)
{
    const gops_quantization *quantization = &claim->operation.quantization;
    const bool has_sum = quantization->sum_scale != 0;
    const float divisor = has_sum ? quantization->sum_scale : quantization->output_scale;
    for (int64_t i = 0; i < claim->filter_scales.count; i++) {
        const float product =
            quantization->data_scale * ((const float *)claim->filter_scales.values)[i];
        if (!gops_ort_is_scale(product) || !gops_ort_is_scale(product / divisor)) {
            return false;
        }
    }
    return !has_sum ||
           (gops_ort_is_scale(quantization->sum_scale / quantization->output_scale) &&
            gops_ort_is_scale(quantization->residual_scale / quantization->output_scale));
}

/* How often a constant is repeated: a transposed convolution's groups share the values of their
 * channels. */
static int64_t repeats(const gops_ort_claim *claim, const gops_ort_constant *constant)
{
    return claim->operation.kind == GOPS_ORT_DECONV && constant->count > 1 ? claim->operation.groups
                                                                           : 1;
}

static int64_t kept_count(const gops_ort_claim *claim, const gops_ort_constant *constant)
{
    return constant->count * repeats(claim, constant);
}

static void repeat(const gops_ort_claim *claim, const gops_ort_constant *constant, void *to)
{
    if (constant->count > 0) {
        const size_t bytes = (size_t)constant->count * gops_type_bytes(constant->tensor.type);
        for (int64_t i = 0; i < repeats(claim, constant); i++) {
            memcpy((unsigned char *)to + (size_t)i * bytes, constant->values, bytes);
        }
    }
}

/* In units of the sums, to nearest even: as the runtime does from its basic level of optimization
 * on. gops_ort_claim_qdq has checked that the values fit. */
static void round_bias(const gops_ort_claim *claim, const float *scales, int32_t *bias)
{
    const float *real = claim->real_bias.values;
    for (int64_t i = 0; i < claim->real_bias.count; i++) {
        const float scale = claim->operation.quantization.data_scale *
                            scales[kept_count(claim, &claim->filter_scales) > 1 ? i : 0];
        bias[i] = (int32_t)nearbyintf(real[i] / scale);
    }
}

bool gops_ort_make_slopes(const gops_ort_claim *claim, void **slopes)
{
    const gops_ort_constant *given = &claim->slopes;
    *slopes = NULL;
    if (given->count == 0) {
        return true;
    }
    const size_t size = gops_type_bytes(given->tensor.type);
    unsigned char *made = malloc((size_t)claim->channels * size);
    for (int64_t c = 0; c < claim->channels && made != NULL; c++) {
        memcpy(made + (size_t)c * size,
               (const unsigned char *)given->values + (given->count > 1 ? (size_t)c * size : 0),
               size);
    }
    *slopes = made;
    return made != NULL;
}

bool gops_ort_fold(const gops_ort_claim *claim, gops_ort_operation *operation, void **memory,
                   const int32_t **bias)
{
    gops_quantization *quantization = &operation->quantization;
    const int64_t scale_count = kept_count(claim, &claim->filter_scales);
    const int64_t zero_count = kept_count(claim, &claim->filter_zero_points);
    quantization->size = sizeof *quantization;
    *bias = NULL;
    float *scales = malloc((size_t)scale_count * sizeof *scales +
                           (size_t)claim->real_bias.count * sizeof **bias + (size_t)zero_count + 1);
    *memory = scales;
    if (scales == NULL) {
        return false;
    }
    int32_t *rounded = (int32_t *)(void *)(scales + scale_count);
    void *zero_points = rounded + claim->real_bias.count;
    repeat(claim, &claim->filter_scales, scales);
    repeat(claim, &claim->filter_zero_points, zero_points);
    if (claim->real_bias.count > 0) {
        round_bias(claim, scales, rounded);
        *bias = rounded;
    }
    if (scale_count > 0) {
        quantization->filter_scales = scales;
        quantization->filter_scales_count = scale_count;
    }
    if (zero_count > 0) {
        quantization->filter_zero_points = zero_points;
        quantization->filter_zero_points_count = zero_count;
    }
    return true;
}
