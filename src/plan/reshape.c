/* plan/reshape.c: makes a plan for other data from a plan. */
#include "plan/plan_create.h"

#include "base/error.h"

static gops_status reshape_resolve(const gops_plan *plan, const gops_tensor *data,
                                   const gops_list *output_shape, gops_plan *draft,
                                   gops_error *error)
{
    const gops_origin *origin = &plan->origin;
    const gops_type output = plan->output_type->type;
    gops_deconv_attributes deconv;
    switch (plan->operation) {
    case GOPS_OPERATION_CONV:
        return gops_conv_resolve(data, &origin->filter, &origin->attributes.conv,
                                 output != data->type ? output : (gops_type)0, &draft->conv,
                                 &draft->shape, error);
    case GOPS_OPERATION_DECONV:
        deconv = origin->attributes.deconv;
        if (output_shape != NULL) {
            deconv.output_shape = *output_shape;
            draft->origin.attributes.deconv = deconv;
        }
        return gops_deconv_resolve(data, &origin->filter, &deconv,
                                   output != data->type ? output : (gops_type)0, &draft->conv,
                                   &draft->shape, error);
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
        .origin = plan->origin,
        .wanted_variant = plan->filter_variant,
    };
    const gops_request wanted = {.threads = plan->origin.threads,
                                 .max_workspace = plan->origin.max_workspace,
                                 .packing = plan->method->pack};
    gops_status status = reshape_resolve(plan, data, output_shape, &draft, error);
    if (status == GOPS_OK) {
        status = gops_plan_finish(&draft, data->type, &wanted, reshaped, error);
        if (status == GOPS_INVALID) { /* only the budget can be invalid here */
            status = GOPS_UNSUPPORTED;
            if (error != NULL) {
                error->status = status;
            }
        }
    }
    return status;
}
