/* A group normalization in place, with an activation behind it: planned once, executed twice. */
#include <groupops/plan.h>
#include <stdio.h>

enum { CHANNELS = 6, PIXELS = 5 * 7 };

int main(void)
{
    gops_tensor data = {GOPS_F32, 4, {1, CHANNELS, 5, 7}};
    gops_tensor channels = {GOPS_F32, 1, {CHANNELS}};
    gops_norm_attributes attributes = {.num_groups = 3, .epsilon = 1e-5};
    gops_options options = GOPS_OPTIONS_INIT;
    options.activation.kind = GOPS_ACTIVATION_RELU;
    gops_plan *plan;
    gops_error error;
    if (gops_norm_plan_create(&data, &channels, &channels, &attributes, &options, &plan, &error) !=
        GOPS_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }

    static float values[CHANNELS * PIXELS];
    const float scale[CHANNELS] = {1, 2, 3, 4, 5, 6}, bias[CHANNELS] = {0};
    for (int i = 0; i < CHANNELS * PIXELS; i++) {
        values[i] = (float)(i * i % 31);
    }
    gops_arguments arguments = GOPS_ARGUMENTS_INIT;
    arguments.data = values;
    arguments.output = values;
    arguments.scale = scale;
    arguments.bias = bias;
    gops_status status = GOPS_OK;
    for (int i = 0; i < 2 && status == GOPS_OK; i++) {
        status = gops_execute(plan, &arguments, &error);
    }
    float least = values[0];
    for (int i = 1; i < CHANNELS * PIXELS; i++) {
        least = values[i] < least ? values[i] : least;
    }
    printf("%s, least value %g\n", gops_status_name(status), (double)least);
    gops_plan_destroy(plan);
    return status != GOPS_OK;
}
