/* plan/quantization.c: checks scales and zero points and folds them for a packed filter. */
#include "plan/plan.h"

#include "base/error.h"
#include "base/sized.h"

#include <math.h>
#include <string.h>

static int64_t channels_of(const gops_plan *plan)
{
    return plan->conv.groups * plan->conv.channels_out;
}

int64_t gops_quantized_bytes(const gops_plan *plan)
{
    const int64_t channel_bytes = sizeof(int32_t) + 2 * sizeof(float);
    return plan->quantized &&
                   plan->filter_bytes > 0 /* 0: an empty output of any number of channels */
               ? gops_round_up(channels_of(plan) * channel_bytes, GOPS_WORKSPACE_ALIGNMENT)
               : 0;
}

static bool is_scale(float scale)
{
    return scale > 0 && isfinite(scale);
}

/* `zero` is what 0 stands for. */
static gops_status check_scale(const char *name, float scale, const char *zero, gops_error *error)
{
    if (scale == 0 || is_scale(scale)) {
        return GOPS_OK;
    }
    return gops_fail(error, GOPS_INVALID,
                     "quantization.%s is %g; it must be finite and positive, or 0 for %s", name,
                     (double)scale, zero);
}

gops_status gops_check_zero_point(const char *name, int32_t zero, const gops_type_row *type,
                                  gops_error *error)
{
    const int32_t low = type->type == GOPS_I8 ? INT8_MIN : 0;
    if (!gops_is_8_bit(type->type) || (zero >= low && zero <= low + UINT8_MAX)) {
        return GOPS_OK;
    }
    return gops_fail(error, GOPS_INVALID, "quantization.%s is %d; %s holds %d to %d", name,
                     (int)zero, type->name, (int)low, (int)low + UINT8_MAX);
}

static gops_status check_count(const gops_plan *plan, const char *name, const void *values,
                               int64_t count, gops_error *error)
{
    const int64_t channels = channels_of(plan);
    if ((values == NULL) == (count == 0) && (count == 0 || count == 1 || count == channels)) {
        return GOPS_OK;
    }
    return gops_fail(error, GOPS_INVALID,
                     "quantization.%s is %s and its count is %lld; it must be none, 1 or the %lld "
                     "output channels",
                     name, values == NULL ? "NULL" : "given", (long long)count,
                     (long long)channels);
}

/* Its elements are those of gops_multiplier, or float in a quantized plan. */
static gops_status check_scales_array(const gops_plan *plan, const gops_quantization *read,
                                      gops_error *error)
{
    const bool doubles = plan->type->compute == GOPS_COMPUTE_F64;
    const size_t alignment = doubles ? sizeof(double) : sizeof(float);
    GOPS_TRY(
        check_count(plan, "filter_scales", read->filter_scales, read->filter_scales_count, error));
    if ((uintptr_t)read->filter_scales % alignment != 0) {
        return gops_fail(error, GOPS_INVALID,
                         "quantization.filter_scales is not aligned to its elements' %zu bytes",
                         alignment);
    }
    return GOPS_OK;
}

/* The filter's scale at a channel; 1 where none are given. */
static float filter_scale(const gops_quantization *given, int64_t channel)
{
    const int64_t count = given->filter_scales_count;
    const float *scales = given->filter_scales;
    return count == 0 ? 1 : scales[count == 1 ? 0 : channel];
}

double gops_multiplier(const gops_plan *plan, const gops_quantization *read, int64_t channel)
{
    const int64_t i = read->filter_scales_count == 1 ? 0 : channel;
    return plan->type->compute == GOPS_COMPUTE_F64
               ? ((const double *)read->filter_scales)[i]
               : (double)((const float *)read->filter_scales)[i];
}

/* What a scale of 0 means. */
static float or_one(float scale)
{
    return scale == 0 ? 1 : scale;
}

/* Single precision, each product and quotient rounded: what ONNX prescribes. */
static float sum_scale(const gops_quantization *given, int64_t channel)
{
    return or_one(given->data_scale) * filter_scale(given, channel);
}

/* What an 8-bit output's multipliers are divided by. */
static float multiplier_divisor(const gops_quantization *given)
{
    return given->sum_scale != 0 ? given->sum_scale : or_one(given->output_scale);
}

/* The operands of the addition in their order, first and second. */
static void fold_sum(gops_quantized *folded)
{
    const int residual = folded->residual_first ? 0 : 1;
    float zeros[2];
    folded->sum_ratios[1 - residual] = folded->sum_scale / folded->output_scale;
    folded->sum_ratios[residual] = folded->residual_scale / folded->output_scale;
    zeros[1 - residual] = (float)folded->sum_zero;
    zeros[residual] = (float)folded->residual_zero;
    const float second = folded->sum_ratios[1] * zeros[1];
    folded->sum_constant =
        (float)folded->output_zero - fmaf(folded->sum_ratios[0], zeros[0], second);
}

/* What is read alone, for all channels. */
static gops_quantized fold_numbers(const gops_quantization *read)
{
    return (gops_quantized){
        .output_scale = or_one(read->output_scale),
        .residual_scale = or_one(read->residual_scale),
        .data_zero = read->data_zero_point,
        .output_zero = read->output_zero_point,
        .residual_zero = read->residual_zero_point, /* for all plans that share the filter */
        .sum_scale = read->sum_scale,
        .sum_zero = read->sum_zero_point,
        .residual_first = read->residual_first,
        .divides = read->divides,
    };
}

static gops_status check_ratios(const gops_quantization *given, gops_error *error)
{
    gops_quantized folded = fold_numbers(given);
    fold_sum(&folded);
    if (isfinite(folded.sum_ratios[0]) && isfinite(folded.sum_ratios[1]) &&
        isfinite(folded.sum_constant)) {
        return GOPS_OK;
    }
    return gops_fail(error, GOPS_INVALID,
                     "quantization: sum_scale %g or residual_scale %g, over output_scale %g and "
                     "times zero points %d and %d, is not finite",
                     (double)folded.sum_scale, (double)folded.residual_scale,
                     (double)folded.output_scale, (int)folded.sum_zero, (int)folded.residual_zero);
}

/* The sum that is rounded before the residual is added. */
static gops_status check_sum(const gops_plan *plan, const gops_quantization *given,
                             gops_error *error)
{
    const gops_type_row *output = plan->output_type;
    if (given->sum_scale == 0) {
        return GOPS_OK;
    }
    if (!gops_is_8_bit(output->type) || plan->residual_type != output) {
        return gops_fail(error, GOPS_UNSUPPORTED,
                         "quantization.sum_scale is given, output and residual are %s and %s; "
                         "both must be u8, or both i8",
                         output->name, plan->residual_type->name);
    }
    if (plan->activation.kind > GOPS_ACTIVATION_RELU) {
        return gops_fail(error, GOPS_UNSUPPORTED,
                         "quantization.sum_scale is given, activation.kind is %d; that takes none "
                         "(0) and relu (1)",
                         (int)plan->activation.kind);
    }
    GOPS_TRY(check_scale("sum_scale", given->sum_scale, "no such sum", error));
    GOPS_TRY(gops_check_zero_point("sum_zero_point", given->sum_zero_point, output, error));
    return check_ratios(given, error);
}

static gops_status check_filter_scales(const gops_plan *plan, const gops_quantization *given,
                                       gops_error *error)
{
    const bool divided = gops_is_8_bit(plan->output_type->type);
    const float divisor = divided ? multiplier_divisor(given) : 1;
    for (int64_t i = 0; i < given->filter_scales_count; i++) {
        const float scale = filter_scale(given, i);
        if (!is_scale(scale)) {
            return gops_fail(error, GOPS_INVALID,
                             "quantization.filter_scales[%lld] is %g; it must be finite and "
                             "positive",
                             (long long)i, (double)scale);
        }
    }
    const int64_t products = given->filter_scales_count == 0 ? 1 : given->filter_scales_count;
    for (int64_t i = 0; i < products; i++) {
        const float product = sum_scale(given, i);
        if (!isfinite(product) || !isfinite(product / divisor)) {
            return gops_fail(error, GOPS_INVALID,
                             "quantization: data_scale %g times filter_scales[%lld] %g, over "
                             "%s %g, is not finite",
                             (double)or_one(given->data_scale), (long long)i,
                             (double)filter_scale(given, i),
                             given->sum_scale != 0 ? "sum_scale" : "output_scale", (double)divisor);
        }
    }
    return GOPS_OK;
}

/* Of a plan that is not quantized: scales of the filter, for floating point, and nothing else. */
static gops_status read_multipliers(const gops_plan *plan, const gops_quantization *read,
                                    gops_error *error)
{
    const struct {
        const char *name;
        bool given;
    } others[] = {
        {"data_scale", read->data_scale != 0},
        {"data_zero_point", read->data_zero_point != 0},
        {"filter_zero_points", read->filter_zero_points != NULL},
        {"filter_zero_points_count", read->filter_zero_points_count != 0},
        {"output_scale", read->output_scale != 0},
        {"output_zero_point", read->output_zero_point != 0},
        {"residual_scale", read->residual_scale != 0},
        {"residual_zero_point", read->residual_zero_point != 0},
        {"divides", read->divides},
        {"residual_first", read->residual_first},
        {"sum_scale", read->sum_scale != 0},
        {"sum_zero_point", read->sum_zero_point != 0},
    };
    if (gops_is_integer(plan->type)) {
        return gops_fail(error, GOPS_INVALID,
                         "quantization is given; the plan is not quantized: it has no output_type");
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (others[i].given) {
            return gops_fail(error, GOPS_INVALID,
                             "quantization.%s is given; a %s plan takes filter_scales alone",
                             others[i].name, plan->type->name);
        }
    }
    GOPS_TRY(check_scales_array(plan, read, error));
    for (int64_t i = 0; i < read->filter_scales_count; i++) {
        const double scale = gops_multiplier(plan, read, i);
        if (!isfinite(scale)) {
            return gops_fail(error, GOPS_INVALID,
                             "quantization.filter_scales[%lld] is %g; it must be finite",
                             (long long)i, scale);
        }
    }
    return GOPS_OK;
}

gops_status gops_quantization_read(const gops_plan *plan, const gops_quantization *given,
                                   gops_quantization *read, gops_error *error)
{
    *read = (gops_quantization)GOPS_QUANTIZATION_INIT;
    if (given == NULL) {
        return GOPS_OK;
    }
    GOPS_TRY(gops_sized_read(&gops_sized_quantization, given, read, error));
    if (!plan->quantized) {
        return read_multipliers(plan, read, error);
    }
    GOPS_TRY(check_count(plan, "filter_zero_points", read->filter_zero_points,
                         read->filter_zero_points_count, error));
    GOPS_TRY(gops_check_zero_point("data_zero_point", read->data_zero_point, plan->type, error));
    if (plan->output_type->type == GOPS_I32) {
        return GOPS_OK;
    }
    GOPS_TRY(check_scales_array(plan, read, error));
    GOPS_TRY(gops_check_zero_point("output_zero_point", read->output_zero_point, plan->output_type,
                                   error));
    GOPS_TRY(gops_check_zero_point("residual_zero_point", read->residual_zero_point,
                                   plan->residual_type, error));
    GOPS_TRY(check_scale("data_scale", read->data_scale, "1", error));
    if (gops_is_8_bit(plan->output_type->type)) {
        GOPS_TRY(check_scale("output_scale", read->output_scale, "1", error));
    }
    GOPS_TRY(check_scale("residual_scale", read->residual_scale, "1", error));
    GOPS_TRY(check_sum(plan, read, error));
    return check_filter_scales(plan, read, error);
}

/* The zero points of the filter, as numbers. */
static void fold_zero_points(const gops_plan *plan, const gops_quantization *read, int32_t *zeros)
{
    const int64_t channels = channels_of(plan), count = read->filter_zero_points_count;
    memset(zeros, 0, (size_t)channels * sizeof *zeros);
    if (count > 0) {
        plan->filter_type->load(zeros, read->filter_zero_points, count);
    }
    for (int64_t o = 1; o < channels && count == 1; o++) {
        zeros[o] = zeros[0];
    }
}

void gops_quantization_fold(const gops_plan *plan, const gops_quantization *read, void *arrays,
                            gops_quantized *folded)
{
    const int64_t channels = channels_of(plan);
    int32_t *zeros = arrays;
    float *scales = (float *)(void *)(zeros + channels);
    float *multipliers = scales + channels;
    const bool scaled = plan->output_type->type != GOPS_I32;
    float max_multiplier = 0;
    fold_zero_points(plan, read, zeros);
    for (int64_t o = 0; o < channels; o++) {
        scales[o] = scaled ? sum_scale(read, o) : 1;
        multipliers[o] = scaled ? scales[o] / multiplier_divisor(read) : 1;
        max_multiplier = fmaxf(max_multiplier, multipliers[o]);
    }
    *folded = fold_numbers(read);
    folded->zero_points = zeros;
    folded->scales = scales;
    folded->multipliers = multipliers;
    folded->max_multiplier = max_multiplier;
    folded->sum_scale = scaled ? read->sum_scale : 0;
    fold_sum(folded);
}
