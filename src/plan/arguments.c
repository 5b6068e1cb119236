/* plan/arguments.c: checks what an execution is given. */
#include "plan/plan.h"

#include "base/checked.h"
#include "base/error.h"
#include "base/sized.h"

static gops_status check_buffer(const char *name, const void *buffer, size_t alignment,
                                gops_error *error)
{
    if (buffer == NULL) {
        return gops_fail(error, GOPS_INVALID, "arguments.%s is NULL", name);
    }
    if ((uintptr_t)buffer % alignment != 0) {
        return gops_fail(error, GOPS_INVALID,
                         "arguments.%s is not aligned to its elements' %zu bytes", name, alignment);
    }
    return GOPS_OK;
}

/* check_buffer for a buffer that may be NULL. */
static gops_status check_optional(const char *name, const void *buffer, size_t alignment,
                                  gops_error *error)
{
    return buffer == NULL ? GOPS_OK : check_buffer(name, buffer, alignment, error);
}

static gops_status check_extras(const gops_plan *plan, const gops_arguments *given,
                                gops_error *error)
{
    const size_t alignment = (size_t)plan->output_type->bytes;
    const size_t bias = plan->quantized ? sizeof(int32_t) : alignment;
    GOPS_TRY(
        check_optional("residual", given->residual, (size_t)plan->residual_type->bytes, error));
    if (given->mean != NULL || given->variance != NULL || given->moments != NULL) {
        return gops_fail(error, GOPS_INVALID, "arguments.%s is given; only a normalization has one",
                         given->mean != NULL       ? "mean"
                         : given->variance != NULL ? "variance"
                                                   : "moments");
    }
    if (plan->activation.kind == GOPS_ACTIVATION_PRELU) {
        GOPS_TRY(check_buffer("slopes", given->slopes, alignment, error));
    }
    return check_optional("bias", given->bias, bias, error);
}

static gops_status check_sum(const gops_plan *plan, const void *residual, gops_error *error)
{
    if (residual == NULL) {
        return gops_fail(error, GOPS_INVALID,
                         "arguments.residual is NULL; the filter's quantization.sum_scale asks for "
                         "one");
    }
    if (plan->residual_type != plan->output_type || plan->activation.kind > GOPS_ACTIVATION_RELU) {
        return gops_fail(error, GOPS_INVALID,
                         "arguments.filter was packed with a quantization.sum_scale; the plan's "
                         "output is %s, its residual %s and its activation %d",
                         plan->output_type->name, plan->residual_type->name,
                         (int)plan->activation.kind);
    }
    return GOPS_OK;
}

/* The filter may have been packed by a plan with another residual or activation. */
static gops_status check_quantized(const gops_plan *plan, const gops_arguments *given,
                                   gops_error *error)
{
    const gops_quantized *quantized = &given->filter->quantized;
    if (given->residual != NULL && plan->output_type->type != GOPS_I32) {
        GOPS_TRY(gops_check_zero_point("residual_zero_point", quantized->residual_zero,
                                       plan->residual_type, error));
    }
    return quantized->sum_scale != 0 ? check_sum(plan, given->residual, error) : GOPS_OK;
}

static gops_status check_moments(const gops_plan *plan, const gops_arguments *given,
                                 gops_error *error)
{
    const size_t alignment = plan->type->type == GOPS_F64 ? sizeof(double) : sizeof(float);
    const bool reads = plan->moments == GOPS_MOMENTS_GIVEN;
    if (reads && given->moments != NULL && (given->mean != NULL || given->variance != NULL)) {
        return gops_fail(error, GOPS_INVALID,
                         "arguments.%s and arguments.moments are both given; the plan reads one",
                         given->mean != NULL ? "mean" : "variance");
    }
    if (reads && given->moments == NULL) {
        GOPS_TRY(check_buffer("mean", given->mean, alignment, error));
        return check_buffer("variance", given->variance, alignment, error);
    }
    if (plan->moments == GOPS_MOMENTS_ONLY && given->mean == NULL && given->variance == NULL &&
        given->moments == NULL) {
        return gops_fail(error, GOPS_INVALID,
                         "arguments.mean, variance and moments are NULL; a plan that only finds "
                         "moments writes nothing else");
    }
    GOPS_TRY(check_optional("mean", given->mean, alignment, error));
    GOPS_TRY(check_optional("variance", given->variance, alignment, error));
    return check_optional("moments", given->moments, _Alignof(gops_moments), error);
}

static gops_status check_norm(const gops_plan *plan, const gops_arguments *given, gops_error *error)
{
    const size_t alignment = (size_t)plan->type->bytes;
    GOPS_TRY(check_moments(plan, given, error));
    if (plan->moments == GOPS_MOMENTS_ONLY) {
        return GOPS_OK;
    }
    GOPS_TRY(check_buffer("output", given->output, alignment, error));
    GOPS_TRY(check_optional("residual", given->residual, alignment, error));
    GOPS_TRY(check_buffer("scale", given->scale, alignment, error));
    return check_buffer("bias", given->bias, alignment, error);
}

static gops_status check_inputs(const gops_plan *plan, const gops_arguments *given,
                                gops_error *error)
{
    const size_t alignment = (size_t)plan->type->bytes;
    GOPS_TRY(check_buffer("data", given->data, alignment, error));
    if (given->data_zero_point != NULL && !plan->quantized) {
        return gops_fail(error, GOPS_INVALID,
                         "arguments.data_zero_point is given; the plan is not quantized: it has no "
                         "output_type");
    }
    if (plan->operation == GOPS_OPERATION_NORM) {
        return check_norm(plan, given, error);
    }
    GOPS_TRY(check_buffer("output", given->output, (size_t)plan->output_type->bytes, error));
    GOPS_TRY(check_extras(plan, given, error));
    if (given->filter == NULL) {
        return gops_fail(error, GOPS_INVALID, "arguments.filter is NULL");
    }
    GOPS_TRY(gops_check_layout("arguments.filter", given->filter, plan, error));
    return plan->quantized ? check_quantized(plan, given, error) : GOPS_OK;
}

static gops_status check_workspace(const gops_plan *plan, const gops_arguments *given,
                                   gops_error *error)
{
    size_t needed = gops_workspace_bytes(plan);
    if (given->workspace == NULL) {
        return GOPS_OK;
    }
    if (given->workspace_bytes < needed) {
        return gops_fail(error, GOPS_INVALID,
                         "arguments.workspace_bytes is %zu; the plan needs %zu",
                         given->workspace_bytes, needed);
    }
    if ((uintptr_t)given->workspace % GOPS_WORKSPACE_ALIGNMENT != 0) {
        return gops_fail(error, GOPS_INVALID, "arguments.workspace is not aligned to %d bytes",
                         GOPS_WORKSPACE_ALIGNMENT);
    }
    return GOPS_OK;
}

/* The gap between two images of the tensor, in elements; 0 where there are no two images. */
static gops_status read_stride(const char *name, int64_t stride, int64_t image, int64_t batch,
                               int64_t size, int64_t *gap, gops_error *error)
{
    int64_t last;
    *gap = 0;
    if (stride == 0) {
        return GOPS_OK;
    }
    if (stride < image) {
        return gops_fail(error, GOPS_INVALID, "arguments.%s is %lld; an image has %lld elements",
                         name, (long long)stride, (long long)image);
    }
    if (!gops_mul(stride, batch, &last) || last > PTRDIFF_MAX / size) {
        return gops_fail(error, GOPS_TOO_LARGE,
                         "arguments.%s is %lld for %lld images of %lld bytes an element", name,
                         (long long)stride, (long long)batch, (long long)size);
    }
    *gap = batch > 1 ? stride - image : 0;
    return GOPS_OK;
}

static gops_status read_strides(const gops_plan *plan, const gops_arguments *given, gops_job *job,
                                gops_error *error)
{
    const int64_t batch = gops_batch(plan), outputs = plan->image_outputs;
    const int64_t size = plan->output_type->bytes;
    GOPS_TRY(read_stride("data_stride", given->data_stride, plan->image_data, batch,
                         plan->type->bytes, &job->data_gap, error));
    GOPS_TRY(read_stride("output_stride", given->output_stride, outputs, batch, size,
                         &job->output_gap, error));
    if (job->residual != NULL) {
        GOPS_TRY(read_stride("residual_stride", given->residual_stride, outputs, batch,
                             plan->residual_type->bytes, &job->residual_gap, error));
    }
    if (job->residual == job->output && plan->residual_type->bytes != plan->output_type->bytes) {
        return gops_fail(error, GOPS_INVALID,
                         "arguments.residual is the output, but the one is %s and the other %s",
                         plan->residual_type->name, plan->output_type->name);
    }
    if (job->residual == job->output && job->residual_gap != job->output_gap) {
        return gops_fail(error, GOPS_INVALID,
                         "arguments.residual is the output, but its stride differs: %lld, %lld",
                         (long long)given->residual_stride, (long long)given->output_stride);
    }
    if (job->data == job->output && plan->operation == GOPS_OPERATION_NORM &&
        plan->data_plane != plan->output_plane) {
        return gops_fail(error, GOPS_INVALID,
                         "arguments.data is the output, but its channel stride differs: %lld, %lld",
                         (long long)plan->data_plane, (long long)plan->output_plane);
    }
    if (job->data == job->output && job->data_gap != job->output_gap) {
        return gops_fail(error, GOPS_INVALID,
                         "arguments.data is the output, but its stride differs: %lld, %lld",
                         (long long)given->data_stride, (long long)given->output_stride);
    }
    return GOPS_OK;
}

static bool is_fused(const gops_plan *plan, const gops_arguments *given)
{
    const bool bias = given->bias != NULL && plan->operation != GOPS_OPERATION_NORM;
    return bias || given->residual != NULL || plan->activation.kind != GOPS_ACTIVATION_NONE;
}

static uint32_t data_zero(const gops_plan *plan, const gops_arguments *given)
{
    uint32_t zero = 0;
    if (given->data_zero_point != NULL) {
        plan->type->load(&zero, given->data_zero_point, 1);
    } else if (plan->quantized) {
        zero = (uint32_t)given->filter->quantized.data_zero;
    }
    return zero;
}

gops_status gops_read_arguments(const gops_plan *plan, const gops_arguments *given, gops_job *job,
                                gops_error *error)
{
    gops_arguments arguments;
    if (plan == NULL || given == NULL) {
        return gops_fail(error, GOPS_INVALID, "%s is NULL", plan == NULL ? "plan" : "arguments");
    }
    GOPS_TRY(gops_sized_read(&gops_sized_arguments, given, &arguments, error));
    GOPS_TRY(check_workspace(plan, &arguments, error));
    if (plan->items == 0) {
        return GOPS_OK; /* an empty output */
    }
    if (plan->moments == GOPS_MOMENTS_ONLY) {
        arguments.output = NULL;
        arguments.residual = NULL;
        arguments.output_stride = 0;
    }
    GOPS_TRY(check_inputs(plan, &arguments, error));
    const bool norm = plan->operation == GOPS_OPERATION_NORM;
    *job = (gops_job){
        .data = arguments.data,
        .filter = norm ? NULL : arguments.filter->packed,
        .nonfinite = !norm && arguments.filter->nonfinite,
        .scale = arguments.scale,
        .bias = arguments.bias,
        .residual = arguments.residual,
        .slopes = arguments.slopes,
        .fused = is_fused(plan, &arguments),
        .mean = arguments.mean,
        .variance = arguments.variance,
        .moments = arguments.moments,
        .output = arguments.output,
        .shared = arguments.workspace,
        .quantized = plan->quantized ? &arguments.filter->quantized : NULL,
        .data_zero = data_zero(plan, &arguments),
    };
    return read_strides(plan, &arguments, job, error);
}
