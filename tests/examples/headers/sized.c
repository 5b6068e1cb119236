/* Structs that can grow begin with their size; the initialisers set it, and all else to 0. */
#include <groupops/groupops.h>
#include <stdio.h>

int main(void)
{
    gops_options options = GOPS_OPTIONS_INIT;
    gops_options by_hand = {.size = sizeof by_hand, .threads = 1};
    gops_options forgotten = {.threads = 1}; /* no size: refused by name */
    gops_tensor data = {GOPS_F32, 3, {1, 6, 11}};
    gops_tensor filter = {GOPS_F32, 4, {2, 5, 3, 3}};
    const gops_options *all[] = {&options, &by_hand, &forgotten};
    int refused = 0;
    for (int i = 0; i < 3; i++) {
        gops_plan *plan;
        gops_error error;
        if (gops_conv_plan_create(&data, &filter, NULL, all[i], &plan, &error) != GOPS_OK) {
            printf("options %d: %s\n", i, error.message);
            refused++;
        }
        gops_plan_destroy(plan);
    }
    return refused != 1;
}
