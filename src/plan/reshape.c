/* plan/reshape.c: makes a plan for other data, or for a part of the outputs, from a plan. */
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

/* What a plan made from `plan` has of it. */
static gops_plan draft_from(const gops_plan *plan)
{
    return (gops_plan){
        .operation = plan->operation,
        .kernels = plan->kernels,
        .host = plan->host,
        .gemm = plan->gemm,
        .activation = plan->activation,
        .saturate = plan->saturate,
        .relaxed = plan->relaxed,
        .residual_after = plan->residual_after,
        .moments = plan->moments,
        .quantized = plan->quantized,
        .origin = plan->origin,
        .wanted_variant = plan->filter_variant,
    };
}

/* Chooses for the draft, whose packing is given: only the budget and the channel strides can be invalid here. */
static gops_status finish(gops_plan *draft, gops_type data, const gops_request *wanted,
                          gops_plan **made, gops_error *error)
{
    const gops_status status = gops_plan_finish(draft, data, wanted, made, error);
    if (status != GOPS_INVALID) {
        return status;
    }
    if (error != NULL) {
        error->status = GOPS_UNSUPPORTED;
    }
    return GOPS_UNSUPPORTED;
}

/* Type, rank and channels are the plan's. */
static gops_status check_data(const gops_plan *plan, const gops_tensor *data, gops_error *error)
{
    const int32_t rank = plan->shape.output.rank;
    const bool norm = plan->operation == GOPS_OPERATION_NORM;
    const int64_t channels =
        norm ? plan->norm.groups * plan->norm.channels : plan->conv.groups * plan->conv.channels_in;
    if (data->type != plan->type->type) {
        return gops_fail(error, GOPS_INVALID, "data is %s; the plan was made for %s",
                         gops_type_name(data->type), gops_type_name(plan->type->type));
    }
    if (data->rank != rank) {
        return gops_fail(error, GOPS_INVALID, "data has rank %d; the plan was made for rank %d",
                         (int)data->rank, (int)rank);
    }
    if (data->dims[1] != channels) {
        return gops_fail(error, GOPS_INVALID, "data has %lld channels; the plan was made for %lld",
                         (long long)data->dims[1], (long long)channels);
    }
    return GOPS_OK;
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
    GOPS_TRY(check_data(plan, data, error));
    if (output_shape != NULL && plan->operation != GOPS_OPERATION_DECONV) {
        return gops_fail(error, GOPS_INVALID,
                         "output_shape is given; only a transposed convolution has one");
    }
    if (plan->filter_variant == GOPS_EMPTY_VARIANT) {
        return gops_fail(error, GOPS_UNSUPPORTED,
                         "the plan has an empty output and packed nothing; plans made from it "
                         "would have no filter");
    }
    gops_plan draft = draft_from(plan);
    const gops_request wanted = {.threads = plan->origin.threads,
                                 .max_workspace = plan->origin.max_workspace,
                                 .packing = plan->method->pack};
    const gops_type output = plan->quantized ? plan->output_type->type : 0;
    GOPS_TRY(reshape_resolve(&draft, data, output, output_shape, error));
    return finish(&draft, data->type, &wanted, reshaped, error);
}

static gops_status check_part(const gops_plan *plan, const gops_tensor *data, gops_error *error)
{
    const int64_t channels = plan->conv.channels_in;
    if (plan->operation == GOPS_OPERATION_NORM) {
        return gops_fail(error, GOPS_UNSUPPORTED,
                         "the plan is a normalization, whose outputs depend on all of its data");
    }
    if (plan->filter_variant == GOPS_EMPTY_VARIANT) {
        return gops_fail(error, GOPS_UNSUPPORTED, "the plan has an empty output and no parts");
    }
    if (!gops_is_divisible(plan, plan->method)) {
        return gops_fail(error, GOPS_UNSUPPORTED,
                         "algorithm %s of %s has no parts, as its order of sums depends on the "
                         "shape; others have (options.divisible)",
                         plan->method->name, plan->type->name);
    }
    if (data->type != plan->type->type || data->rank != plan->conv.axes + 2) {
        return gops_fail(error, GOPS_INVALID,
                         "data is %s of rank %d; the plan was made for %s of %d",
                         gops_type_name(data->type), (int)data->rank,
                         gops_type_name(plan->type->type), (int)plan->conv.axes + 2);
    }
    if (data->dims[1] < channels || data->dims[1] % channels != 0 ||
        data->dims[1] / channels > plan->conv.groups) {
        return gops_fail(
            error, GOPS_INVALID, "data has %lld channels; a part has 1 to %lld groups of %lld",
            (long long)data->dims[1], (long long)plan->conv.groups, (long long)channels);
    }
    return GOPS_OK;
}

static gops_status part_resolve(gops_plan *draft, const gops_tensor *data, gops_type output,
                                const gops_list *pads_begin, const gops_list *pads_end,
                                const gops_list *output_padding, gops_error *error)
{
    static const gops_list none = {0};
    gops_origin *origin = &draft->origin;
    const gops_list *begin = pads_begin != NULL ? pads_begin : &none;
    const gops_list *end = pads_end != NULL ? pads_end : &none;
    if (draft->operation == GOPS_OPERATION_CONV) {
        gops_conv_attributes *conv = &origin->attributes.conv;
        conv->pads_begin = *begin;
        conv->pads_end = *end;
        conv->auto_pad = GOPS_AUTO_PAD_EXPLICIT;
        return gops_conv_resolve(data, &origin->filter, conv, output, &draft->conv, &draft->shape,
                                 error);
    }
    gops_deconv_attributes *deconv = &origin->attributes.deconv;
    deconv->pads_begin = *begin;
    deconv->pads_end = *end;
    deconv->output_padding = output_padding != NULL ? *output_padding : none;
    deconv->output_shape = none;
    deconv->auto_pad = GOPS_AUTO_PAD_EXPLICIT;
    return gops_deconv_resolve(data, &origin->filter, deconv, output, &draft->conv, &draft->shape,
                               error);
}

gops_status gops_plan_part(const gops_plan *plan, const gops_tensor *data,
                           const gops_list *pads_begin, const gops_list *pads_end,
                           const gops_list *output_padding, gops_plan **part, gops_error *error)
{
    if (part == NULL) {
        return gops_fail(error, GOPS_INVALID, "part is NULL");
    }
    *part = NULL;
    if (plan == NULL || data == NULL) {
        return gops_fail(error, GOPS_INVALID, "%s is NULL", plan == NULL ? "plan" : "data");
    }
    GOPS_TRY(check_part(plan, data, error));
    if (output_padding != NULL && plan->operation != GOPS_OPERATION_DECONV) {
        return gops_fail(error, GOPS_INVALID,
                         "output_padding is given; only a transposed convolution has one");
    }
    gops_plan draft = draft_from(plan);
    draft.is_part = true;
    draft.order = plan->order;
    const gops_request wanted = {.algorithm = plan->method->name,
                                 .threads = plan->origin.threads,
                                 .max_workspace = plan->origin.max_workspace};
    const gops_type output = plan->quantized ? plan->output_type->type : 0;
    draft.origin.filter.dims[0] = data->dims[1] / plan->conv.channels_in;
    GOPS_TRY(part_resolve(&draft, data, output, pads_begin, pads_end, output_padding, error));
    return finish(&draft, data->type, &wanted, part, error);
}
