/* plan/plan_info.c: what a plan, and the library, tells of itself. */
#include "plan/plan.h"

#include "base/error.h"
#include "base/sized.h"

#include <groupops/version.h>

#include <string.h>

const char *gops_version(void)
{
    return GOPS_VERSION_STRING;
}

gops_status gops_plan_get_info(const gops_plan *plan, gops_plan_info *info, gops_error *error)
{
    if (plan == NULL || info == NULL) {
        return gops_fail(error, GOPS_INVALID, "%s is NULL", plan == NULL ? "plan" : "info");
    }
    const gops_plan_info found = {
        .shape = plan->shape,
        .algorithm = plan->method->name,
        .why = plan->why,
        .threads = plan->workers,
        .workspace_bytes = gops_workspace_bytes(plan),
        .filter_bytes = (size_t)(plan->filter_bytes + gops_quantized_bytes(plan)),
        .flops = gops_flops(plan),
    };
    return gops_sized_write(&gops_sized_plan_info, &found, info, error);
}

/* Several methods share a name, one for each operation: counts the first of each name. */
const char *gops_algorithm_name(int32_t index)
{
    for (int i = 0; index >= 0 && gops_methods[i] != NULL; i++) {
        int seen = 0;
        for (int j = 0; j < i; j++) {
            seen |= strcmp(gops_methods[j]->name, gops_methods[i]->name) == 0;
        }
        if (!seen && index-- == 0) {
            return gops_methods[i]->name;
        }
    }
    return NULL;
}
