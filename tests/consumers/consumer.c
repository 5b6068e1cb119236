/* consumer.c: what an engine does with the installed package; built from outside the tree.
 *
 * Two groups, small integers, so that every sum is exact and can be checked by hand:
 * group 0 adds neighbours of 1 2 3 4 5, group 1 takes the difference of 7 11 13 17 19 twice. */
#include <groupops/groupops.h>

#include <stdio.h>
#include <string.h>

int main(void)
{
    const float data_values[2 * 5] = {1, 2, 3, 4, 5, 7, 11, 13, 17, 19};
    const float weights[2 * 1 * 1 * 2] = {1, 1, 2, -2};
    const float expected[2 * 4] = {3, 5, 7, 9, -8, -4, -8, -4};
    float output[2 * 4] = {0};

    gops_tensor data = {GOPS_F32, 3, {1, 2, 5}};
    gops_tensor filter = {GOPS_F32, 4, {2, 1, 1, 2}};
    gops_plan *plan;
    gops_packed_filter *packed;
    gops_error error;
    if (gops_conv_plan_create(&data, &filter, NULL, NULL, &plan, &error) != GOPS_OK) {
        fprintf(stderr, "plan: %s\n", error.message);
        return 1;
    }
    if (gops_filter_create(plan, weights, NULL, &packed, &error) != GOPS_OK) {
        fprintf(stderr, "filter: %s\n", error.message);
        return 1;
    }

    gops_arguments arguments = GOPS_ARGUMENTS_INIT;
    arguments.data = data_values;
    arguments.filter = packed;
    arguments.output = output;
    if (gops_execute(plan, &arguments, &error) != GOPS_OK) {
        fprintf(stderr, "execute: %s\n", error.message);
        return 1;
    }
    gops_filter_destroy(packed);
    gops_plan_destroy(plan);

    for (int i = 0; i < 2 * 4; i++) {
        if (output[i] != expected[i]) {
            fprintf(stderr, "output[%d] is %g, not %g\n", i, (double)output[i],
                    (double)expected[i]);
            return 1;
        }
    }
    if (strcmp(GOPS_VERSION_STRING, gops_version()) != 0) {
        fprintf(stderr, "headers %s, library %s\n", GOPS_VERSION_STRING, gops_version());
        return 1;
    }
    printf("groupops %s, %s: right\n", gops_version(), gops_blas());
    return 0;
}
