/* A depthwise layer with relu6 behind it, by at most two threads, in at most 64 KiB of workspace. */
#include <groupops/groupops.h>
#include <stdio.h>

enum { CHANNELS = 3, SIZE = 5 };

int main(void)
{
    gops_tensor data = {GOPS_F32, 4, {1, CHANNELS, SIZE, SIZE}};
    gops_tensor filter = {GOPS_F32, 5, {CHANNELS, 1, 1, 3, 3}};
    gops_options options = GOPS_OPTIONS_INIT;
    options.algorithm = "depthwise"; /* and no other */
    options.threads = 2;
    options.max_workspace = 64 * 1024;
    options.activation = (gops_activation){GOPS_ACTIVATION_CLAMP, .alpha = 0, .beta = 6};
    gops_plan *plan;
    gops_packed_filter *packed;
    gops_error error;
    float x[CHANNELS * SIZE * SIZE], w[CHANNELS * 3 * 3], y[CHANNELS * 3 * 3];
    for (int i = 0; i < CHANNELS * SIZE * SIZE; i++) {
        x[i] = (float)(i % SIZE);
    }
    for (int i = 0; i < CHANNELS * 3 * 3; i++) {
        w[i] = (float)(i / 9 - 1) / 9; /* the channels' weights: -1/9, 0, 1/9 */
    }
    if (gops_conv_plan_create(&data, &filter, NULL, &options, &plan, &error) != GOPS_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    gops_arguments arguments = GOPS_ARGUMENTS_INIT;
    gops_status status = gops_filter_create(plan, w, NULL, &packed, &error);
    if (status == GOPS_OK) {
        arguments.data = x;
        arguments.filter = packed;
        arguments.output = y;
        status = gops_execute(plan, &arguments, &error);
        printf("%g %g %g\n", (double)y[0], (double)y[9], (double)y[18]);
        gops_filter_destroy(packed);
    }
    gops_plan_destroy(plan);
    return status != GOPS_OK;
}
