/* A plain convolution is one group: plan, pack, execute. */
#include <groupops/groupops.h>
#include <stdio.h>

int main(void)
{
    gops_tensor data = {GOPS_F32, 4, {1, 1, 3, 3}};
    gops_tensor filter = {GOPS_F32, 5, {1, 1, 1, 2, 2}};
    const float x[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, weights[4] = {1, 0, 0, -1};
    float y[4] = {0};
    gops_plan *plan = NULL;
    gops_packed_filter *packed = NULL;
    gops_error error;
    gops_arguments arguments = GOPS_ARGUMENTS_INIT;
    if (gops_conv_plan_create(&data, &filter, NULL, NULL, &plan, &error) != GOPS_OK ||
        gops_filter_create(plan, weights, NULL, &packed, &error) != GOPS_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    arguments.data = x;
    arguments.filter = packed;
    arguments.output = y;
    if (gops_execute(plan, &arguments, &error) != GOPS_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    printf("%g %g %g %g\n", (double)y[0], (double)y[1], (double)y[2], (double)y[3]);
    gops_filter_destroy(packed);
    gops_plan_destroy(plan);
    return 0;
}
