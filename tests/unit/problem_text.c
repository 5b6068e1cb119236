/* problem_text.c: a problem as the words of the command line. */
#include "problem.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "elements.h"

static const char *const operation_names[] = {"conv", "deconv", "norm"};

__attribute__((format(printf, 2, 3))) static void append(gops_problem_text *text,
                                                         const char *format, ...)
{
    size_t used = strlen(text->text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text->text + used, sizeof text->text - used, format, arguments);
    va_end(arguments);
}

static void append_numbers(gops_problem_text *text, const char *name, const int64_t *numbers,
                           int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        append(text, "%s%s%s%" PRId64, i == 0 ? " --" : ",", i == 0 ? name : "", i == 0 ? "=" : "",
               numbers[i]);
}

static void append_list(gops_problem_text *text, const char *name, const gops_list *list)
{
    append_numbers(text, name, list->values, list->count);
}

static void append_auto_pad(gops_problem_text *text, gops_auto_pad auto_pad)
{
    static const char *const names[] = {"explicit", "same_upper", "same_lower", "valid"};
    if (auto_pad != GOPS_AUTO_PAD_EXPLICIT)
        append(text, " --auto-pad=%s", names[auto_pad]);
}

static void append_attributes(const gops_problem *problem, gops_problem_text *text)
{
    static const char *const rules[] = {"spec", "openvino", "onnx"};
    const gops_conv_attributes *c = &problem->conv;
    const gops_deconv_attributes *d = &problem->deconv;
    int deconv = problem->operation == GOPS_PROBLEM_DECONV;
    if (problem->operation == GOPS_PROBLEM_NORM) {
        append(text, " --num-groups=%" PRId64 " --epsilon=%.17g", problem->norm.num_groups,
               problem->norm.epsilon);
        return;
    }
    append_numbers(text, "filter", problem->filter.dims, problem->filter.rank);
    append_list(text, "strides", deconv ? &d->strides : &c->strides);
    append_list(text, "dilations", deconv ? &d->dilations : &c->dilations);
    append_list(text, "pads-begin", deconv ? &d->pads_begin : &c->pads_begin);
    append_list(text, "pads-end", deconv ? &d->pads_end : &c->pads_end);
    append_auto_pad(text, deconv ? d->auto_pad : c->auto_pad);
    if (deconv) {
        append_list(text, "output-padding", &d->output_padding);
        append_list(text, "output-shape", &d->output_shape);
        append(text, " --output-shape-rule=%s", rules[d->output_shape_rule]);
    }
}

static void append_quantization(const gops_problem *problem, gops_problem_text *text)
{
    const gops_quantization *q = &problem->quantization;
    append(text, " --filter-type=%s --output-type=%s", gops_test_type_name(problem->filter.type),
           gops_test_type_name(problem->output_type));
    append(text, " --data-scale=%.9g --data-zero-point=%" PRId64, (double)q->data_scale,
           problem->data_zero_point != NULL ? *problem->data_zero_point : q->data_zero_point);
    append(text, " --output-scale=%.9g --output-zero-point=%d", (double)q->output_scale,
           (int)q->output_zero_point);
    append(text, " (%" PRId64 " filter scales, %" PRId64 " zero points", q->filter_scales_count,
           problem->filter_zero_point_count);
    if (problem->with_residual)
        append(text, "; residual %s, scale %.9g, zero point %d",
               problem->residual_type != 0 ? gops_test_type_name(problem->residual_type)
                                           : "as output",
               (double)q->residual_scale, (int)q->residual_zero_point);
    if (q->divides)
        append(text, "; divides");
    if (q->sum_scale != 0)
        append(text, "; sum scale %.9g, zero point %d%s", (double)q->sum_scale,
               (int)q->sum_zero_point, q->residual_first ? ", residual first" : "");
    append(text, ")");
}

const char *gops_problem_describe(const gops_problem *problem, gops_problem_text *text)
{
    text->text[0] = '\0';
    append(text, "%s --type=%s", operation_names[problem->operation],
           gops_test_type_name(problem->data.type));
    append_numbers(text, "data", problem->data.dims, problem->data.rank);
    append_attributes(problem, text);
    if (problem->algorithm != NULL)
        append(text, " --algorithm=%s", problem->algorithm);
    if (problem->threads != 0)
        append(text, " --threads=%d", (int)problem->threads);
    if (problem->max_workspace != 0)
        append(text, " --max-workspace=%" PRId64, problem->max_workspace);
    if (problem->with_bias || problem->with_residual ||
        problem->activation.kind != GOPS_ACTIVATION_NONE)
        append(text, " (bias %d, residual %d%s, activation %d %g %g)", problem->with_bias,
               problem->with_residual, problem->residual_after ? " after it" : "",
               (int)problem->activation.kind, problem->activation.alpha, problem->activation.beta);
    if (problem->accuracy == GOPS_ACCURACY_RELAXED)
        append(text, " --accuracy=relaxed");
    if (problem->saturate)
        append(text, " (saturating)");
    if (problem->data_gap != 0 || problem->output_gap != 0 || problem->residual_gap != 0)
        append(text, " (gaps: data %" PRId64 ", output %" PRId64 ", residual %" PRId64 ")",
               problem->data_gap, problem->output_gap, problem->residual_gap);
    if (problem->data_channel_gap != 0 || problem->output_channel_gap != 0)
        append(text, " (channel gaps: data %" PRId64 ", output %" PRId64 ")",
               problem->data_channel_gap, problem->output_channel_gap);
    if (problem->residual_in_place)
        append(text, " (added in place)");
    if (problem->output_type != 0)
        append_quantization(problem, text);
    return text->text;
}
