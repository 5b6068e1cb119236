/*
 * What gops_filter_create and gops_filter_update refuse in a gops_quantization, each by name and
 * numbers; and that what is not read is not refused.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "quantized_subject.h"
#include "refusal.h"
#include "harness.h"

/* By making a filter and by updating one, which then gives the bits that it gave before. */
static void refuse(gops_quantized_subject *s, const gops_quantization *quantization,
                   gops_status status, const char *message)
{
    gops_packed_filter *filter = s->filter;
    gops_error error = gops_fresh_error();
    unsigned char zeros[GOPS_QUANTIZED_WEIGHTS] = {0};
    gops_check_refusal("create", gops_filter_create(s->plan, zeros, quantization, &filter, &error),
                       &error, status, message);
    gops_test_check(filter == NULL, "a filter came out of the refusal");
    error = gops_fresh_error();
    gops_check_refusal("update",
                       gops_filter_update(s->plan, s->filter, zeros, quantization, &error), &error,
                       status, message);
    memset(s->output, 0, sizeof s->output);
    gops_test_check(gops_quantized_execute(s, NULL, s->output, &error) == GOPS_OK &&
                        memcmp(s->output, s->expected, sizeof s->output) == 0,
                    "%s: the filter is another than before", message);
}

static void accept(const gops_quantized_subject *s, const gops_quantization *quantization)
{
    gops_packed_filter *filter = NULL;
    gops_error error = gops_fresh_error();
    gops_test_check(gops_filter_create(s->plan, s->weights, quantization, &filter, &error) ==
                        GOPS_OK,
                    "%s", error.message);
    gops_filter_destroy(filter);
}

static void scales(void)
{
    static const struct {
        float value;
        const char *text;
    } bad[] = {{-1, "-1"}, {NAN, "nan"}, {INFINITY, "inf"}, {-INFINITY, "-inf"}};
    gops_quantized_subject s;
    gops_quantized_start(&s, gops_quantized_problem(GOPS_U8, GOPS_I8, GOPS_U8));
    for (int i = 0; i < 4; i++) {
        gops_quantization q[4] = {s.quantization, s.quantization, s.quantization, s.quantization};
        static const char *const names[] = {"data_scale", "output_scale", "residual_scale",
                                            "sum_scale"};
        char message[GOPS_MESSAGE_BYTES];
        q[0].data_scale = q[1].output_scale = q[2].residual_scale = q[3].sum_scale = bad[i].value;
        for (int n = 0; n < 4; n++) {
            snprintf(message, sizeof message,
                     "quantization.%s is %s; it must be finite and positive, or 0 for %s", names[n],
                     bad[i].text, n < 3 ? "1" : "no such sum");
            refuse(&s, &q[n], GOPS_INVALID, message);
        }
        const float of_filter[] = {1, 2, bad[i].value};
        q[0] = s.quantization;
        q[0].filter_scales = of_filter;
        q[0].filter_scales_count = GOPS_QUANTIZED_CHANNELS;
        snprintf(message, sizeof message,
                 "quantization.filter_scales[2] is %s; it must be finite and positive",
                 bad[i].text);
        refuse(&s, &q[0], GOPS_INVALID, message);
    }
    const float none[] = {0, 1, 1};
    gops_quantization q = s.quantization;
    q.filter_scales = none;
    q.filter_scales_count = GOPS_QUANTIZED_CHANNELS;
    refuse(&s, &q, GOPS_INVALID,
           "quantization.filter_scales[0] is 0; it must be finite and positive");
    gops_quantized_stop(&s);
}

static void products_of_scales(void)
{
    const float large[] = {1, 3e30F, 1};
    gops_quantized_subject s;
    gops_quantized_start(&s, gops_quantized_problem(GOPS_U8, GOPS_I8, GOPS_U8));
    gops_quantization q = s.quantization;
    q.data_scale = 1e30F;
    q.filter_scales = large;
    q.filter_scales_count = GOPS_QUANTIZED_CHANNELS;
    refuse(&s, &q, GOPS_INVALID,
           "quantization: data_scale 1e+30 times filter_scales[1] 3e+30, over output_scale 1, is "
           "not finite");
    q.filter_scales = NULL;
    q.filter_scales_count = 0;
    accept(&s, &q);
    q.output_scale = 1e-20F;
    refuse(&s, &q, GOPS_INVALID,
           "quantization: data_scale 1e+30 times filter_scales[0] 1, over output_scale 1e-20, is "
           "not finite");
    gops_quantized_stop(&s);
    gops_quantized_start(
        &s, gops_quantized_problem(GOPS_I8, GOPS_I8, GOPS_F32)); /* which is not divided */
    accept(&s, &q);
    gops_quantized_stop(&s);
}

static void counts(void)
{
    static const int64_t wrong[] = {-1, 2, 4, INT64_MAX};
    const float scales_given[4] = {1, 1, 1, 1};
    const int8_t zeros[4] = {0};
    const void *const misaligned = (const char *)scales_given + 1;
    gops_quantized_subject s;
    char message[GOPS_MESSAGE_BYTES];
    gops_quantized_start(&s, gops_quantized_problem(GOPS_U8, GOPS_I8, GOPS_I8));
    for (int given = 0; given < 2; given++)
        for (int i = -1; i < 4; i++) {
            const int64_t count = i < 0 ? (given ? 0 : 1) : wrong[i];
            gops_quantization q[2] = {s.quantization, s.quantization};
            static const char *const names[] = {"filter_scales", "filter_zero_points"};
            q[0].filter_scales = given ? scales_given : NULL;
            q[1].filter_zero_points = given ? zeros : NULL;
            q[0].filter_scales_count = q[1].filter_zero_points_count = count;
            for (int n = 0; n < 2; n++) {
                snprintf(message, sizeof message,
                         "quantization.%s is %s and its count is %lld; it must be none, 1 or the 3 "
                         "output channels",
                         names[n], given ? "given" : "NULL", (long long)count);
                refuse(&s, &q[n], GOPS_INVALID, message);
            }
        }
    gops_quantization q = s.quantization;
    q.filter_scales = misaligned;
    q.filter_scales_count = 1;
    refuse(&s, &q, GOPS_INVALID,
           "quantization.filter_scales is not aligned to its elements' 4 bytes");
    gops_quantized_stop(&s);
}

static void zero_points(void)
{
    static const struct {
        gops_type type;
        int32_t ends[2], beyond[2];
        const char *range;
    } rows[] = {{GOPS_U8, {0, 255}, {-1, 256}, "u8 holds 0 to 255"},
                {GOPS_I8, {-128, 127}, {-129, 128}, "i8 holds -128 to 127"}};
    for (int t = 0; t < 2; t++) {
        gops_quantized_subject s;
        gops_problem problem = gops_quantized_problem(rows[t].type, GOPS_I8, rows[1 - t].type);
        problem.residual_type = rows[t].type;
        gops_quantized_start(&s, problem);
        for (int end = 0; end < 2; end++) {
            gops_quantization q[3] = {s.quantization, s.quantization, s.quantization};
            char message[GOPS_MESSAGE_BYTES];
            static const char *const names[] = {"data", "output", "residual"};
            const int of[] = {t, 1 - t, t};
            q[0].data_zero_point = rows[t].ends[end];
            q[0].output_zero_point = rows[1 - t].ends[end];
            q[0].residual_zero_point = rows[t].ends[end];
            accept(&s, &q[0]);
            q[0] = s.quantization;
            q[0].data_zero_point = rows[of[0]].beyond[end];
            q[1].output_zero_point = rows[of[1]].beyond[end];
            q[2].residual_zero_point = rows[of[2]].beyond[end];
            for (int n = 0; n < 3; n++) {
                snprintf(message, sizeof message, "quantization.%s_zero_point is %d; %s", names[n],
                         (int)rows[of[n]].beyond[end], rows[of[n]].range);
                refuse(&s, &q[n], GOPS_INVALID, message);
            }
        }
        gops_quantized_stop(&s);
    }
    gops_quantized_subject s; /* the data's is read whatever the output */
    gops_quantized_start(&s, gops_quantized_problem(GOPS_U8, GOPS_I8, GOPS_I32));
    gops_quantization q = s.quantization;
    q.data_zero_point = 256;
    refuse(&s, &q, GOPS_INVALID, "quantization.data_zero_point is 256; u8 holds 0 to 255");
    gops_quantized_stop(&s);
}

/* What is not read is not refused. */
static void unread(void)
{
    static const gops_type types[] = {GOPS_I32, GOPS_F32, GOPS_U8};
    static const float numbers[] = {NAN, -1};
    for (int t = 0; t < 3; t++) {
        gops_quantized_subject s;
        gops_quantized_start(&s, gops_quantized_problem(GOPS_U8, GOPS_I8, types[t]));
        gops_quantization q = s.quantization;
        if (types[t] != GOPS_U8) {
            q.output_scale = NAN;
            q.output_zero_point = INT32_MAX;
            q.residual_zero_point = INT32_MIN;
        }
        if (types[t] == GOPS_I32) {
            q.data_scale = q.residual_scale = q.sum_scale = -1;
            q.filter_scales = numbers;
            q.filter_scales_count = 2;
        }
        accept(&s, &q);
        gops_quantized_stop(&s);
    }
}

static void sums(void)
{
    gops_quantized_subject s;
    gops_problem problem = gops_quantized_problem(GOPS_U8, GOPS_I8, GOPS_F32);
    gops_quantized_start(&s, problem);
    gops_quantization q = s.quantization;
    q.sum_scale = 0.5F;
    refuse(
        &s, &q, GOPS_UNSUPPORTED,
        "quantization.sum_scale is given, output and residual are f32 and f32; both must be u8, or "
        "both i8");
    gops_quantized_stop(&s);
    problem.output_type = GOPS_U8;
    problem.residual_type = GOPS_I8;
    gops_quantized_start(&s, problem);
    refuse(
        &s, &q, GOPS_UNSUPPORTED,
        "quantization.sum_scale is given, output and residual are u8 and i8; both must be u8, or "
        "both i8");
    gops_quantized_stop(&s);
    problem.residual_type = 0;
    problem.activation.kind = GOPS_ACTIVATION_TANH;
    gops_quantized_start(&s, problem);
    refuse(
        &s, &q, GOPS_UNSUPPORTED,
        "quantization.sum_scale is given, activation.kind is 5; that takes none (0) and relu (1)");
    gops_quantized_stop(&s);
    problem.activation.kind = GOPS_ACTIVATION_RELU;
    gops_quantized_start(&s, problem);
    q.sum_zero_point = 256;
    refuse(&s, &q, GOPS_INVALID, "quantization.sum_zero_point is 256; u8 holds 0 to 255");
    q.sum_zero_point = 3;
    q.sum_scale = 1e30F;
    q.output_scale = 1e-30F;
    refuse(&s, &q, GOPS_INVALID,
           "quantization: sum_scale 1e+30 or residual_scale 1, over output_scale 1e-30 and times "
           "zero points 3 and 0, is not finite");
    gops_quantized_stop(&s);
}

int main(void)
{
    static const gops_test_case cases[] = {
        {"scales", scales}, {"products_of_scales", products_of_scales},
        {"counts", counts}, {"zero_points", zero_points},
        {"unread", unread}, {"sums", sums},
        {NULL, NULL}};
    return gops_test_main("refusals of quantizations", cases);
}
