/* u8 data times i8 weights to u8: the 1x1 layer of one pixel, whose numbers one can follow. */
#include <groupops/plan.h>
#include <stdio.h>

int main(void)
{
    gops_tensor data = {GOPS_U8, 3, {1, 2, 1}};      /* two channels, one pixel */
    gops_tensor filter = {GOPS_I8, 4, {1, 1, 2, 1}}; /* one output channel */
    const uint8_t x[2] = {130, 110};                 /* (130 - 120) * 0.5 = 5; -5 */
    const int8_t w[2] = {30, -20};                   /* 30 * 0.1 = 3; -2 */
    gops_options options = GOPS_OPTIONS_INIT;
    options.output_type = GOPS_U8;
    gops_quantization quantization = GOPS_QUANTIZATION_INIT;
    const float filter_scale = 0.1f;
    quantization.data_scale = 0.5f;
    quantization.data_zero_point = 120;
    quantization.filter_scales = &filter_scale;
    quantization.filter_scales_count = 1;
    quantization.output_scale = 0.25f;
    quantization.output_zero_point = 3;

    gops_plan *plan = NULL;
    gops_packed_filter *packed = NULL;
    gops_error error;
    uint8_t y = 0;
    gops_arguments arguments = GOPS_ARGUMENTS_INIT;
    arguments.data = x;
    arguments.output = &y;
    if (gops_conv_plan_create(&data, &filter, NULL, &options, &plan, &error) != GOPS_OK ||
        gops_filter_create(plan, w, &quantization, &packed, &error) != GOPS_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    arguments.filter = packed;
    if (gops_execute(plan, &arguments, &error) != GOPS_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    /* 5 * 3 + -5 * -2 = 25, as (y - 3) * 0.25 */
    printf("%d stands for %g\n", y, (y - 3) * 0.25);
    gops_filter_destroy(packed);
    gops_plan_destroy(plan);
    return y != 103;
}
