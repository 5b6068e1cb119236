/* plan/reshape.c: makes a plan for other data from a plan. */
#include "plan/make.h"

#include "base/error.h"

/* Fills in the draft's geometry and shape from its origin. */
static gops_status reshape_resolve(gops_plan *draft, const gops_tensor *data, gops_type output,
                                   const gops_list *output_shape, gops_error *error)
{
    gops_origin *origin = &draft->origin;
    switch (draft->operation) {
    case GOPS_OPERATION_CONV:
        return gops_conv_resolve(data, &origin->filter, &origin->attributes.conv, output,
                                 &draft->conv, &draft->shape, error);
    case GOPS_OPERATION_DECONV:
        if (output_shape != NULL) {
            origin->attributes.deconv.output_shape = *output_shape;
        }
        return gops_deconv_resolve(data, &origin->filter, &origin->attributes.deconv, output,
                                   &draft->conv, &draft->shape, error);
    default:
        return gops_norm_resolve(data, &origin->filter, &origin->filter, &origin->attributes.norm,
                                 &draft->norm, &draft->shape, error);
    }
}

gops_status gops_plan_reshape(const gops_plan *plan, const gops_tensor *data,
                              const gops_list *output_shape, gops_plan **reshaped,
                              gops_error *error)
{
    if (reshaped == NULL) {
        return gops_fail(error, GOPS_INVALID, "reshaped is NULL");
    }
    *reshaped = NULL;
    if (plan == NULL || data == NULL) {
        return gops_fail(error, GOPS_INVALID, "%s is NULL", plan == NULL ? "plan" : "data");
    }
    if (data->type != plan->type->type) {
        return gops_fail(error, GOPS_INVALID, "data is %s; the plan was made for %s",
                         gops_type_name(data->type), gops_type_name(plan->type->type));
    }
    if (output_shape != NULL && plan->operation != GOPS_OPERATION_DECONV) {
        return gops_fail(error, GOPS_INVALID,
                         "output_shape is given; only a transposed convolution has one");
    }
    if (plan->filter_variant == GOPS_EMPTY_VARIANT) {
        return gops_fail(error, GOPS_UNSUPPORTED,
                         "the plan has an empty output and packed nothing; plans made from it "
                         "would have no filter");
    }
    gops_plan draft = {
        .operation = plan->operation,
        .kernels = plan->kernels,
        .host = plan->host,
        .gemm = plan->gemm,
        .activation = plan->activation,
        .saturate = plan->saturate,
        .relaxed = plan->relaxed,
        .residual_after = plan->residual_after,
        .quantized = plan->quantized,
        .origin = plan->origin,
        .wanted_variant = plan->filter_variant,
    };
    const gops_request wanted = {.threads = plan->origin.threads,
                                 .max_workspace = plan->origin.max_workspace,
                                 .packing = plan->method->pack};
    const gops_type output = plan->quantized ? plan->output_type->type : 0;
    GOPS_TRY(reshape_resolve(&draft, data, output, output_shape, error));
    const gops_status status = gops_plan_finish(&draft, data->type, &wanted, reshaped, error);
    if (status != GOPS_INVALID) {
        return status;
    }
    if (error != NULL) { /* only the budget can be invalid here */
        error->status = GOPS_UNSUPPORTED;
    }
    return GOPS_UNSUPPORTED;
}
