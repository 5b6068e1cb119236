/*
 * Sizes of the public structs and places of their fields where pointers and size_t have 64 bits. A
 * binary built against an older header counts on them: after a release, fields are only added, at
 * the end of structs that begin with their size. What was added is added here.
 */
#include <groupops/groupops.h>

#include "harness.h"

typedef struct place {
    const char *name;
    size_t got, expected;
} place;

#define SIZE(type, bytes)                                                                          \
    {                                                                                              \
        "sizeof(" #type ")", sizeof(type), bytes                                                   \
    }
#define FIELD(type, field, bytes)                                                                  \
    {                                                                                              \
#type "." #field, offsetof(type, field), bytes                                             \
    }

static const place places[] = {
    SIZE(gops_tensor, 80),
    FIELD(gops_tensor, type, 0),
    FIELD(gops_tensor, rank, 4),
    FIELD(gops_tensor, dims, 8),
    SIZE(gops_error, 324),
    FIELD(gops_error, status, 0),
    FIELD(gops_error, message, 4),
    SIZE(gops_list, 56),
    FIELD(gops_list, count, 0),
    FIELD(gops_list, values, 8),
    SIZE(gops_conv_attributes, 232),
    FIELD(gops_conv_attributes, strides, 0),
    FIELD(gops_conv_attributes, pads_begin, 56),
    FIELD(gops_conv_attributes, pads_end, 112),
    FIELD(gops_conv_attributes, dilations, 168),
    FIELD(gops_conv_attributes, auto_pad, 224),
    SIZE(gops_deconv_attributes, 344),
    FIELD(gops_deconv_attributes, strides, 0),
    FIELD(gops_deconv_attributes, pads_begin, 56),
    FIELD(gops_deconv_attributes, pads_end, 112),
    FIELD(gops_deconv_attributes, dilations, 168),
    FIELD(gops_deconv_attributes, output_padding, 224),
    FIELD(gops_deconv_attributes, output_shape, 280),
    FIELD(gops_deconv_attributes, auto_pad, 336),
    FIELD(gops_deconv_attributes, output_shape_rule, 340),
    SIZE(gops_norm_attributes, 16),
    FIELD(gops_norm_attributes, num_groups, 0),
    FIELD(gops_norm_attributes, epsilon, 8),
    SIZE(gops_shape, 200),
    FIELD(gops_shape, output, 0),
    FIELD(gops_shape, pads_begin, 80),
    FIELD(gops_shape, pads_end, 136),
    FIELD(gops_shape, groups, 192),
    SIZE(gops_gemm, 32),
    FIELD(gops_gemm, size, 0),
    FIELD(gops_gemm, sgemm, 8),
    FIELD(gops_gemm, dgemm, 16),
    FIELD(gops_gemm, context, 24),
    SIZE(gops_host, 56),
    FIELD(gops_host, size, 0),
    FIELD(gops_host, gemm, 8),
    FIELD(gops_host, parallel_for, 16),
    FIELD(gops_host, allocate, 24),
    FIELD(gops_host, release, 32),
    FIELD(gops_host, log, 40),
    FIELD(gops_host, context, 48),
    SIZE(gops_activation, 24),
    FIELD(gops_activation, kind, 0),
    FIELD(gops_activation, alpha, 8),
    FIELD(gops_activation, beta, 16),
    SIZE(gops_options, 112),
    FIELD(gops_options, size, 0),
    FIELD(gops_options, algorithm, 8),
    FIELD(gops_options, threads, 16),
    FIELD(gops_options, max_workspace, 24),
    FIELD(gops_options, host, 32),
    FIELD(gops_options, output_type, 40),
    FIELD(gops_options, saturate, 44),
    FIELD(gops_options, activation, 48),
    FIELD(gops_options, choices, 72),
    FIELD(gops_options, residual_type, 80),
    FIELD(gops_options, accuracy, 84),
    FIELD(gops_options, residual_after_activation, 88),
    FIELD(gops_options, divisible, 89),
    FIELD(gops_options, moments, 92),
    FIELD(gops_options, data_channel_stride, 96),
    FIELD(gops_options, output_channel_stride, 104),
    SIZE(gops_moments, 32),
    FIELD(gops_moments, count, 0),
    FIELD(gops_moments, center, 8),
    FIELD(gops_moments, rest, 16),
    FIELD(gops_moments, squares, 24),
    SIZE(gops_quantization, 80),
    FIELD(gops_quantization, size, 0),
    FIELD(gops_quantization, data_scale, 8),
    FIELD(gops_quantization, data_zero_point, 12),
    FIELD(gops_quantization, filter_scales, 16),
    FIELD(gops_quantization, filter_scales_count, 24),
    FIELD(gops_quantization, filter_zero_points, 32),
    FIELD(gops_quantization, filter_zero_points_count, 40),
    FIELD(gops_quantization, output_scale, 48),
    FIELD(gops_quantization, output_zero_point, 52),
    FIELD(gops_quantization, residual_scale, 56),
    FIELD(gops_quantization, residual_zero_point, 60),
    FIELD(gops_quantization, sum_scale, 64),
    FIELD(gops_quantization, sum_zero_point, 68),
    FIELD(gops_quantization, residual_first, 72),
    FIELD(gops_quantization, divides, 73),
    SIZE(gops_plan_info, 256),
    FIELD(gops_plan_info, size, 0),
    FIELD(gops_plan_info, shape, 8),
    FIELD(gops_plan_info, algorithm, 208),
    FIELD(gops_plan_info, why, 216),
    FIELD(gops_plan_info, threads, 224),
    FIELD(gops_plan_info, workspace_bytes, 232),
    FIELD(gops_plan_info, filter_bytes, 240),
    FIELD(gops_plan_info, flops, 248),
    SIZE(gops_arguments, 136),
    FIELD(gops_arguments, size, 0),
    FIELD(gops_arguments, data, 8),
    FIELD(gops_arguments, filter, 16),
    FIELD(gops_arguments, scale, 24),
    FIELD(gops_arguments, bias, 32),
    FIELD(gops_arguments, output, 40),
    FIELD(gops_arguments, residual, 48),
    FIELD(gops_arguments, mean, 56),
    FIELD(gops_arguments, variance, 64),
    FIELD(gops_arguments, data_zero_point, 72),
    FIELD(gops_arguments, workspace, 80),
    FIELD(gops_arguments, workspace_bytes, 88),
    FIELD(gops_arguments, data_stride, 96),
    FIELD(gops_arguments, output_stride, 104),
    FIELD(gops_arguments, residual_stride, 112),
    FIELD(gops_arguments, slopes, 120),
    FIELD(gops_arguments, moments, 128),
};

static void sizes_and_places(void)
{
    if (sizeof(void *) != 8)
        gops_test_skip("pointers have other than 64 bits here");
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        gops_test_check(places[i].got == places[i].expected, "%s is %zu; it was %zu",
                        places[i].name, places[i].got, places[i].expected);
}

int main(void)
{
    static const gops_test_case cases[] = {{"sizes_and_places", sizes_and_places}, {NULL, NULL}};
    return gops_test_main("binary interface", cases);
}
