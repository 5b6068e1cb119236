/* fuzz_legal.c: the contract of groupops/attributes.h and groupops/plan.h as plain conditions. */
#include <math.h>
#include <string.h>

#include "fuzz_case.h"
#include "elements.h"
#include "problem_quantization.h"
#include "wide_numbers.h"

typedef gops_test_wide wide;

static int is_type(gops_type type)
{
    return (int)type >= GOPS_F64 && (int)type <= GOPS_U64;
}

static int is_tensor(const gops_tensor *tensor)
{
    if (!is_type(tensor->type) || tensor->rank < 1 || tensor->rank > GOPS_MAX_RANK)
        return 0;
    for (int32_t i = 0; i < tensor->rank; i++)
        if (tensor->dims[i] < 0)
            return 0;
    return 1;
}

static int is_list(const gops_list *list, int32_t axes, int64_t least)
{
    if (list->count != 0 && list->count != axes)
        return 0;
    for (int32_t i = 0; i < list->count; i++)
        if (list->values[i] < least)
            return 0;
    return 1;
}

static int too_many_bytes(const gops_tensor *tensor)
{
    wide bytes = (wide)gops_test_type_bytes(tensor->type);
    for (int32_t i = 0; i < tensor->rank; i++)
        if (tensor->dims[i] == 0)
            return 0;
    /* Saturated, so that the next product fits too. */
    for (int32_t i = 0; i < tensor->rank; i++)
        bytes = bytes > PTRDIFF_MAX ? bytes : bytes * tensor->dims[i];
    return bytes > PTRDIFF_MAX;
}

static int is_8_bit(gops_type type)
{
    return type == GOPS_I8 || type == GOPS_U8;
}

static int is_quantized_output(gops_type type)
{
    return type == GOPS_I32 || is_8_bit(type) || type == GOPS_F32 || type == GOPS_F16 ||
           type == GOPS_BF16;
}

static int types_fit(const gops_fuzz_case *c)
{
    const gops_type data = c->problem.data.type, filter = c->problem.filter.type;
    const gops_type output = c->options.output_type;
    if (output != 0 && is_8_bit(data) && is_8_bit(filter))
        return is_quantized_output(output);
    return data == filter && (output == 0 || output == data);
}

/* Data and filter, before any attribute. */
static int tensors_fit(const gops_fuzz_case *c, int32_t most_axes, int in)
{
    const gops_tensor *data = &c->problem.data, *filter = &c->problem.filter;
    if (!is_tensor(data) || !is_tensor(filter) || data->rank < 3 || data->rank - 2 > most_axes ||
        filter->rank != data->rank + 1 || !types_fit(c))
        return 0;
    if (filter->dims[0] < 1 || filter->dims[in] < 1 ||
        (wide)filter->dims[0] * filter->dims[in] != data->dims[1])
        return 0;
    for (int32_t i = 2; i < data->rank; i++)
        if (data->dims[i] < 1 || filter->dims[i + 1] < 1)
            return 0;
    return 1;
}

static int conv_is_legal(const gops_fuzz_case *c)
{
    const gops_conv_attributes *a = &c->problem.conv;
    if (!tensors_fit(c, 3, 2) || (int)a->auto_pad < 0 || (int)a->auto_pad > GOPS_AUTO_PAD_VALID)
        return 0;
    const int32_t axes = c->problem.data.rank - 2;
    const int pads = a->auto_pad != GOPS_AUTO_PAD_EXPLICIT ||
                     (is_list(&a->pads_begin, axes, 0) && is_list(&a->pads_end, axes, 0));
    return pads && is_list(&a->strides, axes, 1) && is_list(&a->dilations, axes, 1);
}

static int deconv_is_legal(const gops_fuzz_case *c)
{
    const gops_deconv_attributes *a = &c->problem.deconv;
    if (!tensors_fit(c, GOPS_MAX_SPATIAL, 1) || (int)a->auto_pad < 0 ||
        (int)a->auto_pad > GOPS_AUTO_PAD_VALID || (int)a->output_shape_rule < 0 ||
        (int)a->output_shape_rule > GOPS_OUTPUT_SHAPE_ONNX)
        return 0;
    const int32_t axes = c->problem.data.rank - 2;
    const int pads_count =
        a->auto_pad == GOPS_AUTO_PAD_EXPLICIT &&
        (a->output_shape.count == 0 || a->output_shape_rule == GOPS_OUTPUT_SHAPE_OPENVINO);
    const int pads =
        !pads_count || (is_list(&a->pads_begin, axes, 0) && is_list(&a->pads_end, axes, 0));
    return pads && is_list(&a->strides, axes, 1) && is_list(&a->dilations, axes, 1) &&
           is_list(&a->output_padding, axes, 0) && is_list(&a->output_shape, axes, 1);
}

static int norm_is_legal(const gops_fuzz_case *c)
{
    const gops_tensor *data = &c->problem.data;
    const gops_tensor *both[] = {&c->scale, &c->bias};
    const gops_norm_attributes *a = &c->problem.norm;
    if (!is_tensor(data) || data->rank < 2 || data->rank > 8 || data->type > GOPS_F8E5M2)
        return 0;
    for (int32_t i = 2; i < data->rank; i++)
        if (data->dims[i] < 1)
            return 0;
    for (int i = 0; i < 2; i++)
        if (!is_tensor(both[i]) || both[i]->type != data->type || both[i]->rank != 1 ||
            both[i]->dims[0] != data->dims[1])
            return 0;
    return a->num_groups >= 1 && a->num_groups <= data->dims[1] &&
           data->dims[1] % a->num_groups == 0 && a->epsilon > 0 && a->epsilon < (double)INFINITY;
}

static int conv_is_huge(const gops_fuzz_case *c, const gops_reference_geometry *g)
{
    int huge = too_many_bytes(&c->problem.data) || too_many_bytes(&c->problem.filter);
    for (int32_t i = 0; i < g->spatial; i++) {
        const wide extent = ((wide)g->kernel[i] - 1) * g->dilation[i] + 1;
        huge = huge || extent > INT64_MAX ||
               (wide)g->pads_begin[i] + g->data[i] + g->pads_end[i] > INT64_MAX;
    }
    return huge || too_many_bytes(&g->output);
}

static int deconv_is_huge(const gops_fuzz_case *c, const gops_reference_geometry *g)
{
    const gops_list *padding = &c->problem.deconv.output_padding;
    int huge = too_many_bytes(&c->problem.data) || too_many_bytes(&c->problem.filter);
    for (int32_t i = 0; i < g->spatial; i++) {
        const wide extent = ((wide)g->kernel[i] - 1) * g->dilation[i] + 1;
        const wide grown = (wide)g->stride[i] * (g->data[i] - 1) + extent +
                           (padding->count == 0 ? 0 : padding->values[i]);
        huge = huge || extent > INT64_MAX || grown > INT64_MAX;
    }
    return huge || too_many_bytes(&g->output);
}

int gops_fuzz_case_is_legal(const gops_fuzz_case *c, gops_reference_geometry *geometry,
                            gops_tensor *output, int *is_huge)
{
    const gops_problem_operation operation = c->problem.operation;
    *is_huge = 0;
    if (operation == GOPS_PROBLEM_NORM) {
        *output = c->problem.data;
        *is_huge = norm_is_legal(c) && too_many_bytes(&c->problem.data);
        return norm_is_legal(c);
    }
    const int conv = operation == GOPS_PROBLEM_CONV;
    gops_problem problem = c->problem;
    int64_t *c_out = &problem.filter.dims[conv ? 1 : 2];
    if (!(conv ? conv_is_legal(c) : deconv_is_legal(c)))
        return 0;
    const int huge_channels = (wide)problem.filter.dims[0] * *c_out > INT64_MAX;
    *c_out = huge_channels ? 0 : *c_out; /* their product is not for the reference */
    if (!gops_problem_reference_shape(&problem, geometry, output))
        return 0;
    *is_huge = huge_channels || (conv ? conv_is_huge(c, geometry) : deconv_is_huge(c, geometry));
    return 1;
}

/* Of clamp with integers: its bounds are whole numbers of the type. */
static int is_bound(gops_type type, double bound)
{
    const int bits = (int)gops_test_type_bytes(type) * 8;
    const int is_signed = gops_test_type_is_signed(type);
    const double low = is_signed ? -ldexp(1, bits - 1) : 0;
    return bound >= low && bound < ldexp(1, is_signed ? bits - 1 : bits) && floor(bound) == bound;
}

int gops_fuzz_case_has_legal_size(const gops_fuzz_case *c)
{
    const size_t size = c->options.size;
    return size == GOPS_FUZZ_OLD_OPTIONS ||
           (size >= sizeof c->options && size <= GOPS_MAX_STRUCT_BYTES);
}

int gops_fuzz_case_has_types(const gops_fuzz_case *c)
{
    return (c->options.output_type == 0 || is_type(c->options.output_type)) &&
           (c->options.residual_type == 0 || is_type(c->options.residual_type));
}

int gops_fuzz_case_has_legal_options(const gops_fuzz_case *c)
{
    const gops_options *o = &c->options;
    const gops_activation *a = &o->activation;
    const gops_type type = o->output_type != 0 ? o->output_type : c->problem.data.type;
    const int quantized = gops_problem_is_quantized(&c->problem);
    if ((int)o->accuracy < 0 || o->accuracy > GOPS_ACCURACY_RELAXED)
        return 0;
    if (o->residual_type != 0 && o->residual_type != type &&
        (!quantized || type == GOPS_I32 || !is_8_bit(o->residual_type)))
        return 0;
    if (!gops_fuzz_case_has_legal_size(c) || o->threads < 0 || o->max_workspace < 0 ||
        (int)a->kind < 0 || a->kind > GOPS_ACTIVATION_LAST)
        return 0;
    if (c->problem.operation == GOPS_PROBLEM_NORM &&
        (type != c->problem.data.type || a->kind == GOPS_ACTIVATION_PRELU))
        return 0;
    if (quantized && (a->kind == GOPS_ACTIVATION_PRELU ||
                      (o->residual_after_activation && a->kind != GOPS_ACTIVATION_NONE)))
        return 0;
    if (a->kind == GOPS_ACTIVATION_CLAMP && !(a->alpha <= a->beta))
        return 0;
    if (gops_test_type_is_real(type) || (quantized && is_8_bit(type)))
        return 1;
    return a->kind != GOPS_ACTIVATION_CLAMP ? a->kind < GOPS_ACTIVATION_CLAMP
                                            : is_bound(type, a->alpha) && is_bound(type, a->beta);
}

static int is_scale(float scale)
{
    return scale > 0 && scale < INFINITY;
}

static int is_scale_or_one(float scale)
{
    return scale == 0 || is_scale(scale);
}

static float or_one(float scale)
{
    return scale == 0 ? 1 : scale;
}

static int holds(gops_type type, int32_t zero_point)
{
    const int32_t low = type == GOPS_I8 ? -128 : 0;
    return !is_8_bit(type) || (zero_point >= low && zero_point <= low + 255);
}

/* Of the data and filter, over that of an 8-bit output. */
static int products_are_finite(const gops_problem *p, float divisor)
{
    const gops_quantization *q = &p->quantization;
    const float *scales = q->filter_scales;
    for (int64_t i = 0; i < q->filter_scales_count; i++)
        if (!is_scale(scales[i]))
            return 0;
    for (int64_t i = 0; i < (q->filter_scales_count > 0 ? q->filter_scales_count : 1); i++) {
        const float of_filter = q->filter_scales_count > 0 ? scales[i] : 1;
        const float product = (float)((double)or_one(q->data_scale) * of_filter);
        if (!isfinite(product) || !isfinite((float)((double)product / divisor)))
            return 0;
    }
    return 1;
}

int gops_fuzz_case_has_legal_quantization(const gops_fuzz_case *c)
{
    const gops_problem *p = &c->problem;
    const gops_quantization *q = &p->quantization;
    const int64_t channels =
        p->filter.dims[0] * p->filter.dims[p->operation == GOPS_PROBLEM_DECONV ? 2 : 1];
    const int64_t counts[] = {q->filter_scales_count, p->filter_zero_point_count};
    const gops_type output = p->output_type;
    const gops_type residual = p->residual_type != 0 ? p->residual_type : output;
    if (!gops_problem_is_quantized(p))
        return 1;
    for (int i = output == GOPS_I32; i < 2; i++) /* i32 reads no scales */
        if (counts[i] != 0 && counts[i] != 1 && counts[i] != channels)
            return 0;
    if (!holds(p->data.type, q->data_zero_point))
        return 0;
    if (output == GOPS_I32)
        return 1;
    if (!holds(output, q->output_zero_point) || !holds(residual, q->residual_zero_point) ||
        !is_scale_or_one(q->data_scale) || !is_scale_or_one(q->residual_scale))
        return 0;
    if (q->sum_scale != 0 &&
        (!is_8_bit(output) || residual != output || p->activation.kind > GOPS_ACTIVATION_RELU ||
         !is_scale(q->sum_scale) || !holds(output, q->sum_zero_point)))
        return 0;
    if (!is_8_bit(output))
        return products_are_finite(p, 1);
    return is_scale_or_one(q->output_scale) &&
           products_are_finite(p, q->sum_scale != 0 ? q->sum_scale : or_one(q->output_scale));
}
