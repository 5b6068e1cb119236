/* plan/plan_create.c: makes plans: checks the options, chooses a method, fills in the rest. */
#include "plan/make.h"

#include "base/checked.h"
#include "base/error.h"
#include "base/sized.h"
#include "plan/choices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static gops_status read_plane(const char *name, int64_t stride, int64_t pixels, int64_t *plane,
                              gops_error *error)
{
    *plane = stride != 0 ? stride : pixels;
    return *plane >= pixels
               ? GOPS_OK
               : gops_fail(error, GOPS_INVALID, "%s is %lld; a channel has %lld elements", name,
                           (long long)stride, (long long)pixels);
}

/* The elements of a channel and of an image, of the data and of the output. */
static gops_status count_image(gops_plan *plan, gops_error *error)
{
    const gops_conv_geometry *conv = &plan->conv;
    const gops_norm_geometry *norm = &plan->norm;
    const bool is_norm = plan->operation == GOPS_OPERATION_NORM;
    GOPS_TRY(read_plane("data_channel_stride", plan->origin.data_channel_stride,
                        is_norm ? norm->pixels : conv->data_pixels, &plan->data_plane, error));
    GOPS_TRY(read_plane("output_channel_stride", plan->origin.output_channel_stride,
                        is_norm ? norm->pixels : conv->output_pixels, &plan->output_plane, error));
    const int64_t in = is_norm ? norm->channels : conv->channels_in;
    const int64_t out = is_norm ? norm->channels : conv->channels_out;
    const int64_t groups = is_norm ? norm->groups : conv->groups;
    plan->image_data = gops_mul_saturate(gops_mul_saturate(groups, in), plan->data_plane);
    plan->image_outputs = gops_mul_saturate(gops_mul_saturate(groups, out), plan->output_plane);
    return GOPS_OK;
}

/* A plan packs and copies tensors in elements of up to 8 bytes, with channels and rows rounded up
 * to tiles of less than 128. Up to 2^52 elements none of the resulting sizes overflows 63 bits. Where an
 * address has 32 bits, gaps between channels can take a tensor beyond these. */
static gops_status check_amounts(const gops_plan *plan, gops_error *error)
{
    static const int64_t max_elements = INT64_C(1) << 52;
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t batch = gops_batch(plan);
    const struct {
        const char *name;
        int64_t elements, bytes; /* of an element */
    } amounts[] = {
        {plan->origin.data_channel_stride != 0 ? "data at its data_channel_stride" : "data",
         gops_mul_saturate(batch, plan->image_data), plan->type->bytes},
        {plan->origin.output_channel_stride != 0 ? "output at its output_channel_stride" : "output",
         gops_mul_saturate(batch, plan->image_outputs), plan->output_type->bytes},
        {"filter", gops_mul_saturate(gops_mul_saturate(conv->groups, conv->channels_out), conv->k),
         plan->filter_type->bytes},
    };
    for (size_t i = 0; i < sizeof amounts / sizeof amounts[0] && amounts[1].elements > 0; i++) {
        const int64_t most = gops_min(max_elements, PTRDIFF_MAX / amounts[i].bytes);
        if (amounts[i].elements > most) {
            return gops_fail(error, GOPS_TOO_LARGE,
                             "%s has %lld elements; plans are made for up to %lld", amounts[i].name,
                             (long long)amounts[i].elements, (long long)most);
        }
    }
    return GOPS_OK;
}

/* Fills in the rows of the types; `residual` is 0 where it is the output's. */
static void set_types(gops_plan *plan, gops_type data, gops_type filter, gops_type residual)
{
    const gops_type_variant variant = plan->quantized  ? GOPS_TYPE_WIDE
                                      : plan->saturate ? GOPS_TYPE_SATURATING
                                                       : GOPS_TYPE_USUAL;
    const gops_type output = plan->shape.output.type;
    plan->type = gops_type_row_of(plan->kernels, data, variant);
    plan->filter_type = gops_type_row_of(plan->kernels, filter, variant);
    plan->output_type =
        gops_type_row_of(plan->kernels, output, plan->quantized ? GOPS_TYPE_USUAL : variant);
    plan->residual_type = residual == 0 || residual == output
                              ? plan->output_type
                              : gops_type_row_of(plan->kernels, residual, variant);
}

static gops_status check_residual_type(const gops_plan *plan, gops_type residual, gops_error *error)
{
    const gops_type output = plan->shape.output.type;
    if (residual == 0 || residual == output ||
        (plan->quantized && output != GOPS_I32 && gops_is_8_bit(residual))) {
        return GOPS_OK;
    }
    return gops_fail(error, GOPS_UNSUPPORTED,
                     "residual_type is %s, the output is %s; another type than the output's is "
                     "offered as u8 or i8 in quantized plans whose output is not i32",
                     gops_type_name(residual), gops_type_name(output));
}

/* Puts in front of `why` how the type is computed, unless it is computed in itself. */
static void explain_type(gops_plan *plan)
{
    char why[GOPS_WHY_BYTES];
    const char *name = gops_type_name(plan->type->type);
    if (plan->operation == GOPS_OPERATION_NORM || plan->type->type <= GOPS_F32) {
        return;
    }
    memcpy(why, plan->why, sizeof why);
    if (gops_is_integer(plan->type)) {
        snprintf(plan->why, sizeof plan->why, "%s%s: integers modulo 2^%d, exact; %.480s", name,
                 plan->quantized ? ", quantized" : "",
                 (int)gops_compute_bytes(plan->type->compute) * 8, why);
    } else {
        snprintf(plan->why, sizeof plan->why,
                 "%s: multiplied and added in f32, rounded once; %.480s", name, why);
    }
}

/* One line: the problem, what was chosen for it, and why. */
static void log_choice(const gops_plan *plan, const gops_request *wanted)
{
    enum { NAME_BYTES = 32 };
    char problem[GOPS_CHOICE_KEY_BYTES], line[GOPS_CHOICE_KEY_BYTES + NAME_BYTES + GOPS_WHY_BYTES];
    gops_choice_key(plan, wanted, problem);
    snprintf(line, sizeof line, "%s: %.24s: %s", problem, plan->method->name, plan->why);
    plan->host.log(plan->host.context, line);
}

gops_status gops_plan_finish(gops_plan *draft, gops_type data, const gops_request *wanted,
                             gops_plan **plan, gops_error *error)
{
    GOPS_TRY(check_residual_type(draft, draft->origin.residual_type, error));
    set_types(draft, data, draft->origin.filter.type, draft->origin.residual_type);
    GOPS_TRY(gops_check_activation(draft, error));
    GOPS_TRY(count_image(draft, error));
    GOPS_TRY(check_amounts(draft, error));
    draft->machine = gops_machine_read();
    GOPS_TRY(gops_choose(draft, wanted, error));
    explain_type(draft);
    *plan = draft->host.allocate(draft->host.context, sizeof **plan, GOPS_WORKSPACE_ALIGNMENT);
    if (*plan == NULL) {
        return gops_fail(error, GOPS_OUT_OF_MEMORY, "no memory for a plan of %zu bytes",
                         sizeof **plan);
    }
    **plan = *draft;
    if (draft->host.log != NULL) {
        log_choice(*plan, wanted);
    }
    return GOPS_OK;
}

static gops_status refuse_isa(gops_error *error)
{
    const char *wanted = getenv("GROUPOPS_ISA");
    char known[GOPS_MESSAGE_BYTES] = "";
    const char *isa;
    bool runs;
    for (int32_t i = 0; (isa = gops_isa_name(i, &runs)) != NULL; i++) {
        if (runs) {
            const size_t used = strlen(known);
            snprintf(known + used, sizeof known - used, "%s%s", used > 0 ? ", " : "", isa);
        }
    }
    wanted = wanted != NULL ? wanted : "";
    return gops_fail(error, GOPS_UNSUPPORTED,
                     "GROUPOPS_ISA is \"%.*s\"; the instruction sets that run here are %s",
                     (int)strcspn(wanted, "\n\r"), wanted, known);
}

/* The rest of plan creation, the same for all operations; `draft` has its geometry and shape, and
 * of its origin the descriptor and the attributes. */
static gops_status create(gops_plan *draft, gops_type data, const gops_options *options,
                          gops_plan **plan, gops_error *error)
{
    gops_request wanted;
    GOPS_TRY(gops_read_options(options, draft, &wanted, error));
    draft->kernels = gops_kernels_select();
    if (draft->kernels == NULL) {
        return refuse_isa(error);
    }
    draft->origin.threads = wanted.threads;
    draft->origin.max_workspace = wanted.max_workspace;
    draft->origin.residual_type = options->residual_type;
    draft->origin.data_channel_stride = options->data_channel_stride;
    draft->origin.output_channel_stride = options->output_channel_stride;
    draft->quantized = gops_is_8_bit(data) && options->output_type != 0;
    return gops_plan_finish(draft, data, &wanted, plan, error);
}

/* 0 is the usual one. */
static gops_status check_type(const char *name, gops_type type, gops_error *error)
{
    return type == 0 || gops_type_bytes(type) > 0
               ? GOPS_OK
               : gops_fail(error, GOPS_INVALID, "%s has type number %d, which is none", name,
                           (int)type);
}

/* Reads the options, whatever their size; their types are checked before the tensors'. */
static gops_status read_sized_options(const gops_options *options, gops_options *wanted,
                                      gops_plan **plan, gops_error *error)
{
    if (plan == NULL) {
        return gops_fail(error, GOPS_INVALID, "plan is NULL");
    }
    *plan = NULL;
    *wanted = (gops_options)GOPS_OPTIONS_INIT;
    if (options != NULL) {
        GOPS_TRY(gops_sized_read(&gops_sized_options, options, wanted, error));
    }
    GOPS_TRY(check_type("output_type", wanted->output_type, error));
    return check_type("residual_type", wanted->residual_type, error);
}

gops_status gops_conv_plan_create(const gops_tensor *data, const gops_tensor *filter,
                                  const gops_conv_attributes *attributes,
                                  const gops_options *options, gops_plan **plan, gops_error *error)
{
    gops_plan draft = {.operation = GOPS_OPERATION_CONV};
    gops_options wanted;
    GOPS_TRY(read_sized_options(options, &wanted, plan, error));
    GOPS_TRY(gops_conv_resolve(data, filter, attributes, wanted.output_type, &draft.conv,
                               &draft.shape, error));
    draft.origin.filter = *filter;
    if (attributes != NULL) {
        draft.origin.attributes.conv = *attributes;
    }
    return create(&draft, data->type, &wanted, plan, error);
}

gops_status gops_deconv_plan_create(const gops_tensor *data, const gops_tensor *filter,
                                    const gops_deconv_attributes *attributes,
                                    const gops_options *options, gops_plan **plan,
                                    gops_error *error)
{
    gops_plan draft = {.operation = GOPS_OPERATION_DECONV};
    gops_options wanted;
    GOPS_TRY(read_sized_options(options, &wanted, plan, error));
    GOPS_TRY(gops_deconv_resolve(data, filter, attributes, wanted.output_type, &draft.conv,
                                 &draft.shape, error));
    draft.origin.filter = *filter;
    if (attributes != NULL) {
        draft.origin.attributes.deconv = *attributes;
    }
    return create(&draft, data->type, &wanted, plan, error);
}

gops_status gops_norm_plan_create(const gops_tensor *data, const gops_tensor *scale,
                                  const gops_tensor *bias, const gops_norm_attributes *attributes,
                                  const gops_options *options, gops_plan **plan, gops_error *error)
{
    gops_plan draft = {.operation = GOPS_OPERATION_NORM};
    gops_options wanted;
    GOPS_TRY(read_sized_options(options, &wanted, plan, error));
    GOPS_TRY(gops_norm_resolve(data, scale, bias, attributes, &draft.norm, &draft.shape, error));
    const gops_type output = wanted.output_type;
    if (output != 0 && output != data->type) {
        return gops_fail(
            error, GOPS_UNSUPPORTED,
            "output_type is %s, data is %s; a normalization's output has its data's type",
            gops_type_name(output), gops_type_name(data->type));
    }
    draft.origin.filter = *scale;
    draft.origin.attributes.norm = *attributes;
    return create(&draft, data->type, &wanted, plan, error);
}

void gops_plan_destroy(gops_plan *plan)
{
    if (plan != NULL) {
        gops_host host = plan->host;
        host.release(host.context, plan);
    }
}
