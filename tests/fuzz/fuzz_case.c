/* fuzz_case.c: reads a case from bytes: a small problem, options, and edits of any of its numbers. */
#include "fuzz_case.h"

#include <stdlib.h>
#include <string.h>

#include "elements.h"
#include "layout_sizes.h"
#include "planes.h"
#include "problem_quantization.h"

static gops_list read_list(gops_fuzz_bytes *bytes, int32_t axes, int present, int low, int high)
{
    gops_list list = {0};
    for (int32_t i = 0; i < GOPS_MAX_SPATIAL; i++)
        list.values[i] = gops_fuzz_range(bytes, low, high);
    list.count = present ? axes : 0;
    return list;
}

/* All six lists are read for both convolutions, so that a mutation does not move what follows. */
static void read_attributes(gops_fuzz_bytes *bytes, gops_problem *p, int32_t axes)
{
    const unsigned present = gops_fuzz_byte(bytes);
    gops_deconv_attributes *d = &p->deconv;
    const int most_stride = axes < 4 ? 4 : 2;
    d->strides = read_list(bytes, axes, present & 1, 1, most_stride);
    d->dilations = read_list(bytes, axes, present >> 1 & 1, 1, 3);
    d->pads_begin = read_list(bytes, axes, present >> 2 & 1, 0, 6);
    d->pads_end = read_list(bytes, axes, present >> 3 & 1, 0, 6);
    d->output_padding = read_list(bytes, axes, present >> 4 & 1, 0, 3);
    d->output_shape = read_list(bytes, axes, (present >> 5 & 3) == 3, 1, 40);
    d->auto_pad = (gops_auto_pad)gops_fuzz_range(bytes, 0, 3);
    d->output_shape_rule = (gops_output_shape_rule)gops_fuzz_range(bytes, 0, 2);
    p->conv =
        (gops_conv_attributes){d->strides, d->pads_begin, d->pads_end, d->dilations, d->auto_pad};
}

/* Mostly few; else as many as some layout has, less one or more (layout_sizes.h). */
static int64_t read_channels(gops_fuzz_bytes *bytes, int few)
{
    enum { FEW = 208 };
    const unsigned byte = gops_fuzz_byte(bytes);
    return byte < FEW ? 1 + byte % (unsigned)few : gops_layout_size(byte - FEW);
}

static void read_tensors(gops_fuzz_bytes *bytes, gops_problem *p, gops_type type, int32_t axes)
{
    static const int most[] = {1, 71, 29, 13, 7, 5, 4};
    const int deconv = p->operation == GOPS_PROBLEM_DECONV;
    const int64_t batch = gops_fuzz_range(bytes, 1, 3);
    const int64_t groups = read_channels(bytes, 19);
    const int64_t c_in = read_channels(bytes, 17);
    const int64_t c_out = read_channels(bytes, 23);
    const int wide = c_in > 23 || c_out > 23; /* on a small plane */
    p->data = (gops_tensor){type, 2 + axes, {batch, groups * c_in}};
    p->filter =
        (gops_tensor){type, 3 + axes, {groups, deconv ? c_in : c_out, deconv ? c_out : c_in}};
    for (int32_t i = 0; i < GOPS_MAX_SPATIAL; i++) {
        const int data = gops_fuzz_range(bytes, 1, most[axes]);
        const int kernel = gops_fuzz_range(bytes, 1, axes == 1 ? 13 : 5);
        if (i < axes) {
            p->data.dims[2 + i] = wide ? 1 + data % 7 : data;
            p->filter.dims[3 + i] = wide ? 1 + kernel % 3 : kernel;
        }
    }
    p->norm.num_groups = groups;
}

static char *read_isa(gops_fuzz_bytes *bytes)
{
    static char unset[] = "GROUPOPS_ISA=";
    enum { LAST_ISA = 8 };
    static char names[LAST_ISA + 1][32] = {
        "GROUPOPS_ISA=portable",   "GROUPOPS_ISA=avx2",       "GROUPOPS_ISA=avx512",
        "GROUPOPS_ISA=avx2vnni",   "GROUPOPS_ISA=avx512vnni", "GROUPOPS_ISA=avx512vbmi",
        "GROUPOPS_ISA=avx512bf16", "GROUPOPS_ISA=amx",        "GROUPOPS_ISA=amx_emulated"};
    const int wanted = gops_fuzz_range(bytes, -1, LAST_ISA);
    bool runs;
    for (int32_t i = 0; wanted >= 0 && gops_isa_name(i, &runs) != NULL; i++)
        if (runs && strcmp(gops_isa_name(i, NULL), strchr(names[wanted], '=') + 1) == 0)
            return names[wanted];
    return unset;
}

/* In the order of the list from the last one down, then auto. The corpus is older than winograd/f3: its bytes
 * go on meaning what they did. */
static const char *read_algorithm(gops_fuzz_bytes *bytes)
{
    enum { LAST_ALGORITHM = 16, YOUNGER = 8, YOUNG = 255 };
    const int byte = gops_fuzz_byte(bytes), number = LAST_ALGORITHM - byte % (LAST_ALGORITHM + 1);
    return gops_algorithm_name(byte == YOUNG ? YOUNGER : number + (number >= YOUNGER));
}

static void read_options(gops_fuzz_bytes *bytes, gops_fuzz_case *c)
{
    gops_options *o = &c->options;
    *o = (gops_options){.size = sizeof *o};
    o->algorithm = read_algorithm(bytes);
    o->threads = gops_fuzz_range(bytes, 1, 4);
    const unsigned budget = gops_fuzz_byte(bytes);
    const unsigned low = gops_fuzz_byte(bytes);
    const unsigned high = gops_fuzz_byte(bytes);
    o->max_workspace = budget % 4 == 0   ? 0
                       : budget % 4 == 1 ? GOPS_UNLIMITED
                       : budget % 4 == 2 ? (int64_t)(1 + low)
                                         : (int64_t)(1 + low + 256 * high);
    const unsigned bits = gops_fuzz_byte(bytes);
    c->own_workspace = bits & 1;
    c->offset = bits >> 1 & 1;
    c->update = bits >> 2 & 1;
    c->with_moments = bits >> 3 & 1;
    c->order = gops_fuzz_range(bytes, 0, 15) % 6;
    c->filling = (gops_fuzz_filling)gops_fuzz_range(bytes, 0, GOPS_FUZZ_FILLINGS - 1);
    c->seed = gops_fuzz_word(bytes);
}

static void read_activation(gops_fuzz_bytes *bytes, gops_fuzz_case *c)
{
    static const double alphas[] = {0.3, -0.75, 1.7, 0, 17, 1, -2};
    /* The corpus is older than some activations: its bytes go on meaning what they did. */
    enum { OLD = GOPS_ACTIVATION_ELU, NEW = GOPS_ACTIVATION_LAST + 1 - OLD, FIRST = 13 * OLD };
    gops_activation *a = &c->options.activation;
    const unsigned kind = gops_fuzz_byte(bytes);
    a->kind = kind >= 128
                  ? GOPS_ACTIVATION_NONE
                  : (gops_activation_kind)(kind < FIRST ? kind % OLD : OLD + (kind - FIRST) % NEW);
    a->alpha = alphas[gops_fuzz_byte(bytes) % (sizeof alphas / sizeof alphas[0])];
    a->beta = a->alpha + gops_fuzz_range(bytes, 0, 100);
    c->sane_fusion = 1;
}

/* A quarter of the convolutions are quantized, in ways that the seed tells. */
static void read_quantized(gops_fuzz_bytes *bytes, gops_fuzz_case *c)
{
    gops_problem *p = &c->problem;
    const unsigned bits = gops_fuzz_byte(bytes);
    if (bits % 4 != 1 || p->operation == GOPS_PROBLEM_NORM)
        return;
    p->data.type = p->filter.type = (bits & 4) != 0 ? GOPS_U8 : GOPS_I8;
    gops_test_random random = gops_test_random_start(c->seed, 1 + (bits >> 3));
    gops_random_quantize(p, &c->memory, &random);
    c->options.output_type = p->output_type;
    c->options.residual_type = p->residual_type;
    c->options.accuracy = p->accuracy;
    c->options.activation = p->activation;
}

/* Views and reshaping. */
static void read_extras(gops_fuzz_bytes *bytes, gops_fuzz_case *c)
{
    static const int gaps[] = {0, 1, 5, 67};
    gops_problem *p = &c->problem;
    const unsigned view = gops_fuzz_byte(bytes);
    const unsigned place = gops_fuzz_byte(bytes);
    const unsigned from = gops_fuzz_byte(bytes);
    const int other = gops_fuzz_range(bytes, 1, 9);
    if (view % 2 == 1) {
        c->data_gap = gaps[view >> 1 & 3];
        c->output_gap = gaps[view >> 3 & 3];
        c->residual_gap = gaps[view >> 5 & 3];
    }
    p->residual_in_place = place % 4 == 1 && p->with_residual;
    if (place >> 6 == 1) {
        p->data_channel_gap = gaps[place >> 2 & 3];
        p->output_channel_gap = gaps[place >> 4 & 3];
    }
    if (from % 4 == 1) {
        c->reshaped_from = p->data;
        c->reshaped_from.dims[0] = 1 + (from >> 2 & 1);
        for (int32_t i = 2; i < p->data.rank; i++)
            c->reshaped_from.dims[i] = other + i;
    }
}

/* The number that an 8-bit type has for the lowest bits of `value`. */
static int64_t narrow_to(gops_type type, int64_t value)
{
    return type == GOPS_I8 ? (int64_t)(int8_t)(uint8_t)(uint64_t)value
                           : (int64_t)(uint8_t)(uint64_t)value;
}

static int is_type(gops_type type)
{
    return (int)type >= GOPS_F64 && (int)type <= GOPS_U64;
}

static int are_types(const gops_problem *p)
{
    return is_type(p->data.type) && is_type(p->residual_type) &&
           (p->output_type == 0 || is_type(p->output_type));
}

/* Zero points that still fit after the edits, which may have made i8 of u8, and counts that the
 * arrays have room for. */
static void fit_quantization(gops_fuzz_case *c)
{
    gops_problem *p = &c->problem;
    gops_quantization *q = &p->quantization;
    int64_t *counts[] = {&q->filter_scales_count, &p->filter_zero_point_count};
    for (int i = 0; i < 2; i++)
        if (*counts[i] < 0 || *counts[i] > GOPS_RANDOM_MAX_CHANNELS)
            *counts[i] = 2; /* which is refused, mostly */
    for (int64_t i = 0; i < p->filter_zero_point_count; i++)
        c->memory.filter_zero_points[i] =
            narrow_to(p->filter.type, c->memory.filter_zero_points[i]);
    c->memory.data_zero_point = narrow_to(p->data.type, c->memory.data_zero_point);
    p->filter_zero_points = c->memory.filter_zero_points;
    q->filter_scales = q->filter_scales_count > 0 ? c->memory.filter_scales : NULL;
    for (int i = 0; i < 2 && !gops_problem_is_quantized(p); i++)
        *counts[i] = 0;
    if (!gops_problem_is_quantized(p))
        p->data_zero_point = NULL;
    if (!p->with_residual)
        q->sum_scale = 0;
    p->residual_in_place =
        p->residual_in_place &&
        (p->residual_type == 0 || (are_types(p) && gops_problem_fits_in_place(p)));
}

void gops_fuzz_case_read(gops_fuzz_bytes *bytes, gops_fuzz_case *c)
{
    static const double epsilons[] = {1e-12, 1e-5, 1e-3, 0.1, 3.7};
    gops_problem *p = &c->problem;
    memset(c, 0, sizeof *c);
    p->operation = (gops_problem_operation)gops_fuzz_range(bytes, 0, 2);
    const int most_type = p->operation == GOPS_PROBLEM_NORM ? GOPS_F8E5M2 : GOPS_U64;
    const gops_type type = (gops_type)gops_fuzz_range(bytes, GOPS_F64, most_type);
    const int most_axes = p->operation == GOPS_PROBLEM_CONV ? 3 : GOPS_MAX_SPATIAL;
    const int32_t axes = gops_fuzz_range(bytes, p->operation != GOPS_PROBLEM_NORM, most_axes);
    c->isa = read_isa(bytes);
    read_options(bytes, c);
    read_tensors(bytes, p, type, axes);
    read_attributes(bytes, p, axes);
    read_activation(bytes, c);
    read_quantized(bytes, c);
    const unsigned bits = gops_fuzz_byte(bytes);
    p->with_bias = (bits & 1) != 0 && p->operation != GOPS_PROBLEM_NORM;
    p->with_residual = bits >> 1 & 1;
    c->saturate = bits >> 2 & 1;
    p->residual_after = bits >> 3 & 1;
    p->norm.epsilon = epsilons[gops_fuzz_byte(bytes) % 5];
    read_extras(bytes, c);
    c->scale = c->bias = GOPS_TEST_TENSOR(type, p->data.dims[1]);
    const gops_activation before = c->options.activation;
    gops_fuzz_edit(bytes, c);
    c->sane_fusion = memcmp(&before, &c->options.activation, sizeof before) == 0;
    if (c->options.size == GOPS_FUZZ_OLD_OPTIONS) {
        c->options.residual_type = (gops_type)0;
        c->options.accuracy = GOPS_ACCURACY_EXACT;
        p->residual_after = 0;
    }
    p->algorithm = c->options.algorithm;
    p->threads = c->options.threads;
    p->max_workspace = c->options.max_workspace;
    p->output_type = c->options.output_type;
    p->residual_type = c->options.residual_type;
    p->accuracy = c->options.accuracy;
    fit_quantization(c);
    c->options.saturate = p->saturate = c->saturate != 0;
    c->options.residual_after_activation = p->residual_after;
    p->activation = c->options.activation;
}

void gops_fuzz_set_strides(gops_fuzz_case *c, const gops_tensor *output)
{
    gops_problem *p = &c->problem;
    if (output == NULL || c->options.size == GOPS_FUZZ_OLD_OPTIONS) {
        p->data_channel_gap = p->output_channel_gap = 0;
        return;
    }
    c->options.data_channel_stride = gops_test_channel_stride(&p->data, p->data_channel_gap);
    c->options.output_channel_stride = gops_test_channel_stride(output, p->output_channel_gap);
}

int64_t gops_fuzz_elements(const gops_tensor *tensor, int64_t most)
{
    int64_t product = 1;
    for (int32_t i = 0; i < tensor->rank; i++)
        if (tensor->dims[i] == 0)
            return 0;
    for (int32_t i = 0; i < tensor->rank; i++) {
        if (tensor->dims[i] > most / product)
            return most + 1;
        product *= tensor->dims[i];
    }
    return product;
}
