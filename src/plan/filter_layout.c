/* plan/filter_layout.c: what a packed filter depends on, filled in and compared. */
#include "plan/make.h"

#include "base/error.h"
#include "plan/choices.h"

#include <stdio.h>
#include <string.h>

static bool is_8_bit_float(gops_type type)
{
    return type == GOPS_F8E4M3 || type == GOPS_F8E5M2;
}

void gops_fill_layout(gops_plan *plan)
{
    memset(&plan->layout, 0, sizeof plan->layout);
    plan->layout.pack = plan->method->pack;
    plan->layout.kernels = plan->kernels;
    plan->layout.groups = plan->conv.groups;
    plan->layout.channels_in = plan->conv.channels_in;
    plan->layout.channels_out = plan->conv.channels_out;
    plan->layout.axes = plan->conv.axes;
    plan->layout.data_type = plan->type->type;
    plan->layout.filter_type = plan->filter_type->type;
    plan->layout.output_type = plan->output_type->type;
    plan->layout.quantized = plan->quantized;
    plan->layout.relaxed = plan->relaxed;
    plan->layout.saturate = plan->saturate && is_8_bit_float(plan->type->type);
    plan->layout.variant = plan->filter_variant;
    for (int i = 0; i < plan->conv.axes; i++) {
        plan->layout.kernel[i] = plan->conv.axis[i].kernel;
    }
}

/* The first method that packs so, one of the operation if there is. */
static const gops_method *find_packer(gops_pack_fn *pack, gops_operation operation)
{
    const gops_method *found = NULL;
    for (const gops_method *const *method = gops_methods; *method != NULL; method++) {
        const bool own = (*method)->operation == operation;
        if ((*method)->pack == pack && (found == NULL || (own && found->operation != operation))) {
            found = *method;
        }
    }
    return found;
}

static const char *type_name(int64_t type)
{
    return gops_type_name((gops_type)type);
}

static gops_status check_number(const char *name, const char *what, int64_t packed, int64_t own,
                                gops_error *error)
{
    return packed == own
               ? GOPS_OK
               : gops_fail(error, GOPS_INVALID, "%s was packed with %s %lld; the plan's is %lld",
                           name, what, (long long)packed, (long long)own);
}

static gops_status check_word(const char *name, const char *what, const char *packed,
                              const char *own, gops_error *error)
{
    return strcmp(packed, own) == 0
               ? GOPS_OK
               : gops_fail(error, GOPS_INVALID, "%s was packed with %s %s; the plan's is %s", name,
                           what, packed, own);
}

gops_status gops_check_layout(const char *name, const gops_packed_filter *filter,
                              const gops_plan *plan, gops_error *error)
{
    static const char *const accuracies[] = {"exact", "relaxed"};
    static const char *const words[] = {"false", "true"};
    const gops_filter_layout *packed = &filter->layout, *own = &plan->layout;
    if (memcmp(packed, own, sizeof *own) == 0) {
        return GOPS_OK;
    }
    const gops_method *packer = find_packer(packed->pack, plan->operation);
    GOPS_TRY(check_word(name, "operation", gops_operation_names[packer->operation],
                        gops_operation_names[plan->operation], error));
    GOPS_TRY(check_number(name, "GROUPS", packed->groups, own->groups, error));
    GOPS_TRY(check_number(name, "C_OUT", packed->channels_out, own->channels_out, error));
    GOPS_TRY(check_number(name, "C_IN", packed->channels_in, own->channels_in, error));
    GOPS_TRY(check_number(name, "number of spatial axes", packed->axes, own->axes, error));
    for (int i = 0; i < own->axes; i++) {
        char what[32];
        snprintf(what, sizeof what, "kernel[%d]", i);
        GOPS_TRY(check_number(name, what, packed->kernel[i], own->kernel[i], error));
    }
    GOPS_TRY(check_word(name, "data type", type_name(packed->data_type), type_name(own->data_type),
                        error));
    GOPS_TRY(check_word(name, "filter type", type_name(packed->filter_type),
                        type_name(own->filter_type), error));
    GOPS_TRY(check_word(name, "output type", type_name(packed->output_type),
                        type_name(own->output_type), error));
    GOPS_TRY(check_number(name, "quantization", packed->quantized, own->quantized, error));
    GOPS_TRY(
        check_word(name, "accuracy", accuracies[packed->relaxed], accuracies[own->relaxed], error));
    GOPS_TRY(check_word(name, "saturate", words[packed->saturate], words[own->saturate], error));
    GOPS_TRY(check_word(name, "instruction set", packed->kernels->isa, own->kernels->isa, error));
    if (packed->pack != own->pack) {
        GOPS_TRY(check_word(name, "algorithm", packer->name, plan->method->name, error));
    }
    if (packed->variant == GOPS_EMPTY_VARIANT || own->variant == GOPS_EMPTY_VARIANT) {
        return gops_fail(error, GOPS_INVALID,
                         "%s was packed for a plan whose output is %s, this plan's is %s", name,
                         packed->variant == GOPS_EMPTY_VARIANT ? "empty" : "not empty",
                         own->variant == GOPS_EMPTY_VARIANT ? "empty" : "not empty");
    }
    return gops_fail(error, GOPS_INVALID,
                     "%s was packed for a plan with other sizes, strides or max_workspace, which "
                     "orders the weights of %s in another way; plans of gops_plan_reshape share a "
                     "filter",
                     name, plan->method->name);
}
