/*
 * Refusals that only a careless host gets to see: arguments that do not belong to the plan, zero
 * points without a plan for them, sizes beyond what plans are made for.
 */
#include <string.h>

#include "refusal.h"
#include "elements.h"
#include "harness.h"
#include "wide_numbers.h"

static void expect(gops_status got, const gops_error *error, gops_status status, const char *part)
{
    gops_test_check(got == status && error->status == status &&
                        strstr(error->message, part) != NULL,
                    "\"%s\": status \"%s\", \"%s\"", part, gops_status_name(got), error->message);
}

/* A plan of two images, three channels each in and out, with its packed filter. */
typedef struct subject {
    gops_plan *plan;
    gops_packed_filter *filter;
    float data[2 * 3 * 7], weights[3 * 3 * 2], output[2 * 3 * 7], other[2 * 3 * 7];
    gops_arguments arguments;
} subject;

static void start(subject *s)
{
    const gops_tensor data = GOPS_TEST_TENSOR(GOPS_F32, 2, 3, 7);
    const gops_tensor filter = GOPS_TEST_TENSOR(GOPS_F32, 1, 3, 3, 2);
    memset(s, 0, sizeof *s);
    gops_test_check(gops_conv_plan_create(&data, &filter, NULL, NULL, &s->plan, NULL) == GOPS_OK &&
                        gops_filter_create(s->plan, s->weights, NULL, &s->filter, NULL) == GOPS_OK,
                    "no plan");
    s->arguments = (gops_arguments){
        .size = sizeof s->arguments, .data = s->data, .filter = s->filter, .output = s->output};
}

static void stop(subject *s)
{
    gops_filter_destroy(s->filter);
    gops_plan_destroy(s->plan);
}

static void foreign_arguments(void)
{
    subject s;
    gops_error error;
    uint64_t zero_point = 0;
    start(&s);
    gops_arguments a = s.arguments;
    a.residual = (const char *)s.other + 1;
    expect(gops_execute(s.plan, &a, &error), &error, GOPS_INVALID, "residual is not aligned");
    a = s.arguments;
    a.mean = s.other;
    expect(gops_execute(s.plan, &a, &error), &error, GOPS_INVALID, "arguments.mean is given");
    a = s.arguments;
    a.variance = s.other;
    expect(gops_execute(s.plan, &a, &error), &error, GOPS_INVALID, "arguments.variance is given");
    a = s.arguments;
    a.data_zero_point = &zero_point;
    expect(gops_execute(s.plan, &a, &error), &error, GOPS_INVALID, "data_zero_point is given");
    a = s.arguments;
    a.output_stride = INT64_MAX;
    expect(gops_execute(s.plan, &a, &error), &error, GOPS_TOO_LARGE, "output_stride");
    a.output_stride = INT64_MAX / 4;
    expect(gops_execute(s.plan, &a, &error), &error, GOPS_TOO_LARGE, "output_stride");
    stop(&s);
}

/* A normalization in place whose strides differ, of images or of channels, or whose moments are misaligned. */
static void norm_arguments(void)
{
    const gops_tensor data = GOPS_TEST_TENSOR(GOPS_F32, 2, 3, 7);
    const gops_tensor c = GOPS_TEST_TENSOR(GOPS_F32, 3);
    const gops_norm_attributes attributes = {3, 1e-5};
    float values[2 * 50] = {0}, coefficients[3] = {0};
    gops_plan *plan;
    gops_error error;
    gops_test_check(gops_norm_plan_create(&data, &c, &c, &attributes, NULL, &plan, NULL) == GOPS_OK,
                    "no plan");
    gops_arguments a = {.size = sizeof a,
                        .data = values,
                        .scale = coefficients,
                        .bias = coefficients,
                        .output = values,
                        .output_stride = 50};
    expect(gops_execute(plan, &a, &error), &error, GOPS_INVALID, "data is the output");
    a.output_stride = 0;
    a.mean = (char *)values + 1;
    expect(gops_execute(plan, &a, &error), &error, GOPS_INVALID, "arguments.mean is not aligned");
    a.mean = NULL;
    a.variance = (char *)values + 1;
    expect(gops_execute(plan, &a, &error), &error, GOPS_INVALID, "variance is not aligned");
    gops_plan_destroy(plan);
    const gops_options options = {.size = sizeof options, .output_channel_stride = 8};
    gops_test_check(gops_norm_plan_create(&data, &c, &c, &attributes, &options, &plan, NULL) ==
                        GOPS_OK,
                    "no plan");
    a.variance = NULL;
    expect(gops_execute(plan, &a, &error), &error, GOPS_INVALID,
           "data is the output, but its channel stride differs: 7, 8");
    gops_plan_destroy(plan);
}

static void zero_points(void)
{
    const gops_tensor data = GOPS_TEST_TENSOR(GOPS_U8, 1, 3, 7);
    const gops_tensor filter = GOPS_TEST_TENSOR(GOPS_I8, 1, 3, 3, 2);
    const gops_options options = {.size = sizeof options, .output_type = GOPS_I32};
    const int8_t weights[18] = {0}, zeros[3] = {0};
    gops_quantization quantization = GOPS_QUANTIZATION_INIT;
    subject s;
    gops_packed_filter *packed;
    gops_plan *plan;
    gops_error error;
    start(&s);
    gops_test_check(gops_filter_create(s.plan, s.weights, &quantization, &packed, NULL) == GOPS_OK,
                    "an empty quantization is none");
    gops_filter_destroy(packed);
    quantization.data_scale = 1;
    expect(gops_filter_create(s.plan, s.weights, &quantization, &packed, &error), &error,
           GOPS_INVALID, "quantization.data_scale is given; a f32 plan takes filter_scales alone");
    gops_test_check(packed == NULL, "a filter came out of the refusal");
    quantization.data_scale = 0;
    stop(&s);
    gops_test_check(gops_conv_plan_create(&data, &filter, NULL, &options, &plan, NULL) == GOPS_OK,
                    "no plan");
    expect(gops_filter_create(plan, NULL, &quantization, &packed, &error), &error, GOPS_INVALID,
           "weights is NULL");
    quantization.filter_zero_points_count = 3;
    expect(gops_filter_create(plan, weights, &quantization, &packed, &error), &error, GOPS_INVALID,
           "filter_zero_points is NULL and its count is 3");
    quantization.filter_zero_points = zeros;
    quantization.filter_zero_points_count = 0;
    expect(gops_filter_create(plan, weights, &quantization, &packed, &error), &error, GOPS_INVALID,
           "filter_zero_points is given and its count is 0");
    quantization.filter_zero_points_count = 2;
    expect(gops_filter_create(plan, weights, &quantization, &packed, &error), &error, GOPS_INVALID,
           "its count is 2");
    gops_test_check(packed == NULL, "a filter came out of the refusal");
    gops_plan_destroy(plan);
}

static void types_and_activations(void)
{
    const gops_tensor data = GOPS_TEST_TENSOR(GOPS_F32, 1, 3, 7);
    const gops_tensor filter = GOPS_TEST_TENSOR(GOPS_F32, 1, 3, 3, 2);
    const gops_tensor bytes = GOPS_TEST_TENSOR(GOPS_U8, 1, 3, 7);
    const gops_tensor byte_filter = GOPS_TEST_TENSOR(GOPS_U8, 1, 3, 3, 2);
    gops_options options = {.size = sizeof options, .output_type = GOPS_I32};
    gops_plan *plan;
    gops_error error;
    expect(gops_conv_plan_create(&data, &filter, NULL, &options, &plan, &error), &error,
           GOPS_UNSUPPORTED, "output_type is i32");
    expect(gops_conv_plan_create(&bytes, &filter, NULL, &options, &plan, &error), &error,
           GOPS_UNSUPPORTED, "output_type is i32");
    options.output_type = (gops_type)0;
    options.activation = (gops_activation){GOPS_ACTIVATION_CLAMP, 2, 1};
    expect(gops_conv_plan_create(&data, &filter, NULL, &options, &plan, &error), &error,
           GOPS_INVALID, "clamp needs alpha <= beta");
    static const double bounds[][2] = {{-1, 7}, {0.5, 7}, {0, 256}, {0, 6.5}};
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        options.activation = (gops_activation){GOPS_ACTIVATION_CLAMP, bounds[i][0], bounds[i][1]};
        expect(gops_conv_plan_create(&bytes, &byte_filter, NULL, &options, &plan, &error), &error,
               GOPS_INVALID, "clamp of u8 takes whole numbers of u8");
    }
    options.activation = (gops_activation){GOPS_ACTIVATION_GELU, 0, 0};
    expect(gops_conv_plan_create(&bytes, &byte_filter, NULL, &options, &plan, &error), &error,
           GOPS_UNSUPPORTED, "activation.kind is 8; u8 takes none (0), relu (1) and clamp (2)");
    static const struct {
        int kind;
        const char *message;
    } unknown[] = {{-1, "activation.kind is -1; it must be from 0 to 12"},
                   {13, "activation.kind is 13; it must be from 0 to 12"}};
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        options.activation = (gops_activation){(gops_activation_kind)unknown[i].kind, 0, 0};
        expect(gops_conv_plan_create(&data, &filter, NULL, &options, &plan, &error), &error,
               GOPS_INVALID, unknown[i].message);
    }
}

/* The output of a normalization has the type of its data, asked for or not. */
static void type_of_norm(void)
{
    const gops_tensor data = GOPS_TEST_TENSOR(GOPS_F32, 2, 3, 7);
    const gops_tensor c = GOPS_TEST_TENSOR(GOPS_F32, 3);
    const gops_norm_attributes attributes = {3, 1e-5};
    gops_options options = {.size = sizeof options, .output_type = GOPS_F16};
    gops_plan *plan;
    gops_error error = gops_fresh_error();
    expect(gops_norm_plan_create(&data, &c, &c, &attributes, &options, &plan, &error), &error,
           GOPS_UNSUPPORTED, "output_type is f16, data is f32");
    options.output_type = GOPS_F32;
    gops_test_check(gops_norm_plan_create(&data, &c, &c, &attributes, &options, &plan, &error) ==
                        GOPS_OK,
                    "f32: %s", error.message);
    gops_plan_destroy(plan);
}

/* A budget that nothing can do with is refused when algorithms are to be measured too, and in a
 * plan made from another, which has to do with that one's; with an error to write to and without.
 */
static void too_little_workspace(void)
{
    const gops_tensor data = GOPS_TEST_TENSOR(GOPS_F32, 1, 6, 9, 9);
    const gops_tensor wide = GOPS_TEST_TENSOR(GOPS_F32, 1, 6, 9, 9000);
    const gops_tensor filter = GOPS_TEST_TENSOR(GOPS_F32, 2, 3, 3, 3, 3);
    gops_options options = {.size = sizeof options, .algorithm = "fastest", .max_workspace = 1};
    gops_plan *plan, *reshaped;
    gops_plan_info info = {.size = sizeof info};
    gops_error error = gops_fresh_error();
    expect(gops_conv_plan_create(&data, &filter, NULL, &options, &plan, &error), &error,
           GOPS_INVALID, "no algorithm fits: max_workspace is 1; gemm needs at least");
    gops_test_check(gops_conv_plan_create(&data, &filter, NULL, &options, &plan, NULL) ==
                        GOPS_INVALID,
                    "fastest without an error");
    options.algorithm = "implicit";
    for (options.max_workspace = 256;; options.max_workspace *= 2) {
        if (gops_conv_plan_create(&data, &filter, NULL, &options, &plan, &error) == GOPS_OK)
            break;
    }
    const gops_status status = gops_plan_reshape(plan, &wide, NULL, &reshaped, &error);
    gops_plan_get_info(reshaped, &info, NULL);
    gops_plan_destroy(reshaped);
    gops_test_check(status == GOPS_OK ? info.workspace_bytes <= (size_t)options.max_workspace
                                      : status == GOPS_UNSUPPORTED && error.status == status,
                    "%zu bytes of %lld; %s", info.workspace_bytes, (long long)options.max_workspace,
                    error.message);
    gops_test_check(gops_plan_reshape(plan, &wide, NULL, &reshaped, NULL) == status,
                    "another status without an error");
    gops_plan_destroy(reshaped);
    gops_plan_destroy(plan);
}

/* Where there is nothing to compute there are no weights to give. */
static void empty_filter(void)
{
    const gops_tensor data = GOPS_TEST_TENSOR(GOPS_F32, 0, 3, 7);
    const gops_tensor filter = GOPS_TEST_TENSOR(GOPS_F32, 1, 3, 3, 2);
    gops_plan *plan;
    gops_packed_filter *packed = NULL;
    gops_error error = gops_fresh_error();
    gops_test_check(gops_conv_plan_create(&data, &filter, NULL, NULL, &plan, &error) == GOPS_OK &&
                        gops_filter_create(plan, NULL, NULL, &packed, &error) == GOPS_OK &&
                        gops_filter_update(plan, packed, NULL, NULL, &error) == GOPS_OK,
                    "%s", error.message);
    gops_arguments arguments = {.size = sizeof arguments, .filter = packed};
    gops_test_check(gops_execute(plan, &arguments, &error) == GOPS_OK, "%s", error.message);
    gops_filter_destroy(packed);
    gops_plan_destroy(plan);
}

/* Few elements far apart: the kernels of our own stand back, and gemm computes them. */
static void far_apart(void)
{
    static const char *const names[] = {"implicit", "depthwise"};
    const int64_t far = INT64_C(1) << 40;
    gops_test_random random = gops_test_random_start(gops_test_seed(), 91);
    gops_problem p = {.operation = GOPS_PROBLEM_CONV,
                      .data = GOPS_TEST_TENSOR(GOPS_F32, 1, 5, 3, 2),
                      .filter = GOPS_TEST_TENSOR(GOPS_F32, 5, 1, 1, 2, 1),
                      .conv = {.strides = {2, {far, far}}, .pads_begin = {2, {far, far}}}};
    gops_plan *plan;
    gops_error error;
    gops_problem_check(&p, &random);
    for (int i = 0; i < 2; i++) {
        p.algorithm = names[i];
        expect(gops_problem_plan(&p, &plan, &error), &error, GOPS_UNSUPPORTED,
               "the attributes span");
    }
    p = (gops_problem){.operation = GOPS_PROBLEM_DECONV,
                       .algorithm = "subconv",
                       .data = GOPS_TEST_TENSOR(GOPS_F32, 1, 2, 3),
                       .filter = GOPS_TEST_TENSOR(GOPS_F32, 1, 2, 5, 2),
                       .deconv = {.strides = {1, {INT64_C(1) << 51}},
                                  .dilations = {1, {7}},
                                  .pads_begin = {1, {INT64_C(1) << 52}}}};
    expect(gops_problem_plan(&p, &plan, &error), &error, GOPS_UNSUPPORTED,
           "the attributes span 4503599627370504"); /* 2^52 + 7 + 1 */
}

/* What a packed filter depends on, strides among it, is one number. */
static void strides_of_subconv(void)
{
    gops_problem p = {.operation = GOPS_PROBLEM_DECONV,
                      .algorithm = "subconv",
                      .data = GOPS_TEST_TENSOR(GOPS_F32, 1, 2, 1, 1, 1, 1, 1, 3),
                      .filter = GOPS_TEST_TENSOR(GOPS_F32, 1, 2, 3, 1, 1, 1, 1, 1, 2),
                      .deconv = {.strides = {6, {1, 1, 1, 1, 1, 15}}}};
    gops_test_random random = gops_test_random_start(gops_test_seed(), 41);
    gops_plan *plan;
    gops_error error;
    gops_problem_check(&p, &random);
    p.deconv.strides.values[5] = 16;
    expect(gops_problem_plan(&p, &plan, &error), &error, GOPS_UNSUPPORTED,
           "strides and dilations below 16 with 6 spatial axes");
}

/* The taps of a single pixel become sub-convolutions of their own only while these are few enough. */
static void taps_of_one_pixel(void)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 42);
    for (int64_t taps = 4; taps < 400; taps = 4 * taps + 3) {
        const gops_problem p = {.operation = GOPS_PROBLEM_DECONV,
                                .algorithm = "subconv",
                                .data = GOPS_TEST_TENSOR(GOPS_F32, 1, 2, 1, 1),
                                .filter = GOPS_TEST_TENSOR(GOPS_F32, 1, 2, 3, taps, taps + 2),
                                .deconv = {.strides = LIST(taps / 2, taps / 2 + 1)}};
        gops_problem_check(&p, &random);
    }
}

/* More elements than plans are made for, of one tensor at a time. */
static void too_many_elements(void)
{
    const char *const words =
        GOPS_TEST_32_BIT ? "above 2147483647" : "elements; plans are made for";
    gops_tensor data = GOPS_TEST_TENSOR(GOPS_I8, 1, 1, INT64_C(1) << 30);
    gops_tensor filter = GOPS_TEST_TENSOR(GOPS_I8, 1, INT64_C(1) << 23, 1, 1);
    gops_plan *plan;
    gops_error error;
    expect(gops_conv_plan_create(&data, &filter, NULL, NULL, &plan, &error), &error, GOPS_TOO_LARGE,
           words);
    data = GOPS_TEST_TENSOR(GOPS_I8, 1, INT64_C(1) << 26, 1);
    filter = GOPS_TEST_TENSOR(GOPS_I8, 1, INT64_C(1) << 27, INT64_C(1) << 26, 1);
    expect(gops_conv_plan_create(&data, &filter, NULL, NULL, &plan, &error), &error, GOPS_TOO_LARGE,
           words);
}

static void beyond_63_bits(void)
{
    const int64_t root = INT64_C(3037000500); /* its square is beyond 2^63 */
    gops_tensor data = GOPS_TEST_TENSOR(GOPS_I8, 0, root, 3);
    gops_tensor filter = GOPS_TEST_TENSOR(GOPS_I8, root, 0, 1, 1);
    gops_deconv_attributes attributes = {.pads_begin = {1, {INT64_MAX}},
                                         .pads_end = {1, {INT64_MAX}}};
    gops_shape shape;
    gops_plan *plan;
    gops_error error;
    gops_test_check(gops_conv_shape(&data, &filter, NULL, &shape, &error) == GOPS_OK, "%s",
                    error.message);
    data.dims[1] = INT64_C(1) << 53;
    data.dims[0] = 1;
    filter = GOPS_TEST_TENSOR(GOPS_I8, 1, 1, INT64_C(1) << 53, 1);
    expect(gops_conv_plan_create(&data, &filter, NULL, NULL, &plan, &error), &error, GOPS_TOO_LARGE,
           GOPS_TEST_32_BIT ? "above 2147483647" : "plans are made for up to");
    data = GOPS_TEST_TENSOR(GOPS_I8, 1, 2, 3);
    filter = GOPS_TEST_TENSOR(GOPS_I8, 1, 2, 1, 3);
    expect(gops_deconv_shape(&data, &filter, &attributes, &shape, &error), &error, GOPS_INVALID,
           "they leave");
    filter.dims[3] = root;
    gops_conv_attributes dilated = {.dilations = {1, {root * 2}}};
    filter.dims[1] = 1;
    filter.dims[2] = 2;
    expect(gops_conv_shape(&data, &filter, &dilated, &shape, &error), &error, GOPS_TOO_LARGE,
           GOPS_TEST_32_BIT ? "above 2147483647" : "the kernel's extent is above");
}

/* Without a bound, gemm's blocks still have sizes that fit in 63 bits: a whole one would take 2^63 bytes. */
static void unlimited_blocks(void)
{
    const gops_tensor data = GOPS_TEST_TENSOR(GOPS_F64, 1, 1, INT64_C(1) << 30);
    const gops_tensor filter = GOPS_TEST_TENSOR(GOPS_F64, 1, 1, INT64_C(1) << 19, INT64_C(1) << 11);
    const gops_options options = {
        .size = sizeof options, .algorithm = "gemm", .threads = 1, .max_workspace = GOPS_UNLIMITED};
    gops_plan_info info = GOPS_PLAN_INFO_INIT;
    gops_plan *plan;
    gops_error error;
    const gops_status status =
        gops_deconv_plan_create(&data, &filter, NULL, &options, &plan, &error);
    if (GOPS_TEST_32_BIT) {
        expect(status, &error, GOPS_TOO_LARGE, "above 2147483647");
        return;
    }
    gops_test_check(status == GOPS_OK, "%s", error.message);
    gops_plan_get_info(plan, &info, NULL);
    const uint64_t bytes = info.workspace_bytes;
    gops_test_check(bytes >= UINT64_C(1) << 60 && bytes <= PTRDIFF_MAX, "%zu bytes",
                    info.workspace_bytes);
    gops_plan_destroy(plan);
}

int main(void)
{
    static const gops_test_case cases[] = {{"foreign_arguments", foreign_arguments},
                                           {"norm_arguments", norm_arguments},
                                           {"zero_points", zero_points},
                                           {"types_and_activations", types_and_activations},
                                           {"type_of_norm", type_of_norm},
                                           {"too_little_workspace", too_little_workspace},
                                           {"empty_filter", empty_filter},
                                           {"far_apart", far_apart},
                                           {"strides_of_subconv", strides_of_subconv},
                                           {"taps_of_one_pixel", taps_of_one_pixel},
                                           {"too_many_elements", too_many_elements},
                                           {"beyond_63_bits", beyond_63_bits},
                                           {"unlimited_blocks", unlimited_blocks},
                                           {NULL, NULL}};
    return gops_test_main("contract", cases);
}
