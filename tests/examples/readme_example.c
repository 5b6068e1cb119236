#include <groupops/groupops.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) /* a ResNeXt layer: 32 groups of 4 channels, 3 x 3, padded by 1 */
{
    gops_tensor data = {GOPS_F32, 4, {1, 128, 56, 56}};
    gops_tensor filter = {GOPS_F32, 5, {32, 4, 4, 3, 3}};
    gops_conv_attributes attributes = {.pads_begin = {2, {1, 1}}, .pads_end = {2, {1, 1}}};
    float *x = calloc(128 * 56 * 56, sizeof *x), *y = calloc(128 * 56 * 56, sizeof *y);
    float *weights = calloc(32 * 4 * 4 * 3 * 3, sizeof *weights);

    gops_plan *plan = NULL;
    gops_packed_filter *packed = NULL;
    gops_error error;
    gops_plan_info info = GOPS_PLAN_INFO_INIT;
    if (x == NULL || y == NULL || weights == NULL ||
        gops_conv_plan_create(&data, &filter, &attributes, NULL, &plan, &error) != GOPS_OK ||
        gops_plan_get_info(plan, &info, &error) != GOPS_OK ||
        gops_filter_create(plan, weights, NULL, &packed, &error) != GOPS_OK) {
        return 1; /* error.message says why */
    }
    gops_arguments arguments = GOPS_ARGUMENTS_INIT;
    arguments.data = x;
    arguments.filter = packed;
    arguments.output = y;
    gops_status status = gops_execute(plan, &arguments, &error); /* as often as you like */
    const int64_t *dims = info.shape.output.dims;
    printf("output %d x %d x %d x %d by %s: %s\n", (int)dims[0], (int)dims[1], (int)dims[2],
           (int)dims[3], info.algorithm, info.why);
    gops_filter_destroy(packed);
    gops_plan_destroy(plan);
    free(x);
    free(y);
    free(weights);
    return status != GOPS_OK;
}
