/* Measures which algorithm is the fastest, and keeps the answer as text. */
#include <groupops/plan.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    gops_tensor data = {GOPS_F32, 4, {1, 8, 14, 14}};
    gops_tensor filter = {GOPS_F32, 5, {2, 4, 4, 3, 3}};
    gops_options options = GOPS_OPTIONS_INIT;
    gops_plan *plan = NULL;
    gops_error error;
    options.algorithm = "fastest";
    if (gops_choices_create(NULL, &options.choices, &error) != GOPS_OK ||
        gops_conv_plan_create(&data, &filter, NULL, &options, &plan, &error) != GOPS_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    gops_plan_destroy(plan);

    size_t bytes;
    gops_choices_write(options.choices, NULL, 0, &bytes, NULL); /* how long it is */
    char *text = malloc(bytes);
    if (text == NULL ||
        gops_choices_write(options.choices, text, bytes, &bytes, &error) != GOPS_OK) {
        return 1;
    }
    printf("%d choice:\n%.*s", (int)gops_choices_count(options.choices), (int)bytes, text);
    gops_choices_destroy(options.choices);
    free(text);
    return 0;
}
