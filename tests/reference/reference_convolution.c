/* reference_convolution.c: both convolutions product by product, with the bound of their error. */
#include "reference.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "elements.h"
#include "guarded_memory.h"

/* Both operands as numbers, channels last: the data [N][GROUPS][position][C_IN], the filter
 * [GROUPS][C_OUT][tap][C_IN]. And the sums of every output element. */
typedef struct sums {
    const gops_reference_geometry *g;
    int is_real;
    long double *data, *filter;
    uint64_t *data_integer, *filter_integer;
    long double *value, *magnitude;
    int64_t *terms;
    uint64_t *integer;
} sums;

void gops_reference_result_destroy(gops_reference_result *result)
{
    free(result->value);
    free(result->bound);
    free(result->error);
    free(result->once);
    free(result->integer);
    *result = (gops_reference_result){.value = NULL};
}

static void *zeros(int64_t count, size_t bytes)
{
    void *memory = calloc((size_t)count + 1, bytes);
    if (memory == NULL)
        abort();
    return memory;
}

static int64_t product(const int64_t *sizes, int32_t count)
{
    int64_t result = 1;
    for (int32_t i = 0; i < count; i++)
        result *= sizes[i];
    return result;
}

/* Elements [blocks][channels][positions]. */
typedef struct operand {
    gops_type type;
    const void *elements;
    int64_t blocks, channels, positions;
} operand;

/* Where element i goes in [blocks][positions][channels]. */
static int64_t channels_last(const operand *from, int64_t i)
{
    int64_t position = i % from->positions, channel = i / from->positions % from->channels;
    int64_t block = i / from->positions / from->channels;
    return (block * from->positions + position) * from->channels + channel;
}

static long double *as_reals(const operand *from)
{
    int64_t count = from->blocks * from->channels * from->positions;
    long double *values = zeros(count, sizeof *values);
    for (int64_t i = 0; i < count; i++)
        values[channels_last(from, i)] = gops_test_get_real(from->type, from->elements, i);
    return values;
}

static uint64_t *as_integers(const operand *from)
{
    int64_t count = from->blocks * from->channels * from->positions;
    uint64_t *values = zeros(count, sizeof *values);
    for (int64_t i = 0; i < count; i++)
        values[channels_last(from, i)] = gops_test_get_integer(from->type, from->elements, i);
    return values;
}

static void subtract_zero_points(sums *s, const gops_reference_zero_points *zero_points)
{
    const gops_reference_geometry *g = s->g;
    int64_t taps = product(g->kernel, g->spatial) * g->c_in; /* of one output channel */
    int64_t data_count = g->batch * g->groups * g->c_in * product(g->data, g->spatial);
    for (int64_t i = 0; i < data_count; i++)
        s->data_integer[i] -= (uint64_t)zero_points->data;
    for (int64_t i = 0; zero_points->filter != NULL && i < g->groups * g->c_out * taps; i++)
        s->filter_integer[i] -= (uint64_t)zero_points->filter[i / taps];
}

/* Of the filter the operand's blocks and positions are the caller's to say. */
static sums sums_start(const gops_reference_geometry *g, gops_type data_type, const void *data,
                       const operand *filter, const gops_reference_zero_points *zero_points)
{
    const operand from = {data_type, data, g->batch * g->groups, g->c_in,
                          product(g->data, g->spatial)};
    int64_t output_count = gops_test_elements(&g->output);
    sums s = {.g = g, .is_real = gops_test_type_is_real(g->output.type)};
    if (s.is_real) {
        s.data = as_reals(&from);
        s.filter = as_reals(filter);
        s.value = zeros(output_count, sizeof *s.value);
        s.magnitude = zeros(output_count, sizeof *s.magnitude);
        s.terms = zeros(output_count, sizeof *s.terms);
    } else {
        s.data_integer = as_integers(&from);
        s.filter_integer = as_integers(filter);
        s.integer = zeros(output_count, sizeof *s.integer);
    }
    if (zero_points != NULL)
        subtract_zero_points(&s, zero_points);
    return s;
}

/* The sum of some of the products of one output element. */
typedef struct output_sum {
    long double value, magnitude;
    int64_t terms;
    uint64_t integer;
} output_sum;

/* Adds data[i] filter[i] for every input channel i. */
static void sum_reals(output_sum *to, int64_t channels, const long double *data,
                      const long double *filter)
{
    long double value = to->value, magnitude = to->magnitude;
    for (int64_t i = 0; i < channels; i++) {
        long double term = data[i] * filter[i];
        value += term;
        magnitude += fabsl(term);
    }
    to->value = value;
    to->magnitude = magnitude;
    to->terms += channels;
}

static void sum_integers(output_sum *to, int64_t channels, const uint64_t *data,
                         const uint64_t *filter)
{
    uint64_t integer = to->integer;
    for (int64_t i = 0; i < channels; i++)
        integer += data[i] * filter[i];
    to->integer = integer;
}

/* The same, of the input channels at these positions. */
static void sum_channels(const sums *s, output_sum *to, int64_t data, int64_t filter)
{
    int64_t c_in = s->g->c_in;
    if (s->is_real)
        sum_reals(to, c_in, s->data + data * c_in, s->filter + filter * c_in);
    else
        sum_integers(to, c_in, s->data_integer + data * c_in, s->filter_integer + filter * c_in);
}

static void add_sum(sums *s, int64_t output, const output_sum *part)
{
    if (s->is_real) {
        s->value[output] += part->value;
        s->magnitude[output] += part->magnitude;
        s->terms[output] += part->terms;
    } else {
        s->integer[output] += part->integer;
    }
}

/* Moves `at` to the next position in row-major order; 0 after the last one. */
static int next_position(int64_t *at, const int64_t *sizes, int32_t count)
{
    for (int32_t axis = count - 1; axis >= 0; axis--) {
        if (++at[axis] < sizes[axis])
            return 1;
        at[axis] = 0;
    }
    return 0;
}

/* Where kernel element k of the window at position p lies on the other side of a convolution with
 * these sizes, as a row-major index; -1 when it lies outside. */
static int64_t window_index(const gops_reference_geometry *g, const int64_t *p, const int64_t *k,
                            const int64_t *sizes)
{
    int64_t index = 0;
    for (int32_t i = 0; i < g->spatial; i++) {
        int64_t at = p[i] * g->stride[i] + k[i] * g->dilation[i] - g->pads_begin[i];
        if (at < 0 || at >= sizes[i])
            return -1;
        index = index * sizes[i] + at;
    }
    return index;
}

/* output[n, co, p] = sum over ci, k of data[n, ci, window(p, k)] filter[co, ci, k] */
static void conv_channel(sums *s, int64_t n, int64_t group, int64_t co)
{
    const gops_reference_geometry *g = s->g;
    int64_t data_size = product(g->data, g->spatial);
    int64_t kernel_size = product(g->kernel, g->spatial);
    int64_t output_channel = group * g->c_out + co;
    int64_t data = (n * g->groups + group) * data_size;
    int64_t filter = output_channel * kernel_size;
    int64_t p[GOPS_MAX_SPATIAL] = {0};
    int64_t output = (n * g->groups * g->c_out + output_channel) * product(g->result, g->spatial);
    do {
        output_sum total = {.terms = 0};
        int64_t k[GOPS_MAX_SPATIAL] = {0};
        int64_t k_index = 0;
        do {
            int64_t inside = window_index(g, p, k, g->data);
            if (inside >= 0)
                sum_channels(s, &total, data + inside, filter + k_index);
            k_index++;
        } while (next_position(k, g->kernel, g->spatial));
        add_sum(s, output, &total);
        output++;
    } while (next_position(p, g->result, g->spatial));
}

/* output[n, co, window(p, k)] += data[n, ci, p] filter[ci, co, k] for every ci, p, k */
static void deconv_channel(sums *s, int64_t n, int64_t group, int64_t co)
{
    const gops_reference_geometry *g = s->g;
    int64_t data_size = product(g->data, g->spatial);
    int64_t kernel_size = product(g->kernel, g->spatial);
    int64_t data = (n * g->groups + group) * data_size;
    int64_t filter = (group * g->c_out + co) * kernel_size;
    int64_t output = ((n * g->groups + group) * g->c_out + co) * product(g->result, g->spatial);
    int64_t p[GOPS_MAX_SPATIAL] = {0};
    int64_t p_index = 0;
    do {
        int64_t k[GOPS_MAX_SPATIAL] = {0};
        int64_t k_index = 0;
        do {
            int64_t inside = window_index(g, p, k, g->result);
            if (inside >= 0) {
                output_sum part = {.terms = 0};
                sum_channels(s, &part, data + p_index, filter + k_index);
                add_sum(s, output + inside, &part);
            }
            k_index++;
        } while (next_position(k, g->kernel, g->spatial));
        p_index++;
    } while (next_position(p, g->data, g->spatial));
}

/* The bound that reference.h derives, for one element; before it is stored, *error, and of that
 * what one rounding of each term makes, *once. */
static long double bound_of(gops_type type, long double value, long double magnitude, int64_t terms,
                            long double *error, long double *once)
{
    gops_type accumulator = type == GOPS_F64 ? GOPS_F64 : GOPS_F32;
    long double ku = (long double)terms * gops_test_unit_roundoff(accumulator);
    long double own = (long double)terms * (LDBL_EPSILON / 2) * magnitude;
    long double sum =
        ku / (1 - ku) * magnitude + (long double)terms * gops_test_smallest(accumulator) / 2;
    long double store =
        gops_test_unit_roundoff(type) * (fabsl(value) + sum) + gops_test_smallest(type) / 2;
    *error = sum + own;
    *once = gops_test_unit_roundoff(accumulator) * magnitude;
    return sum + store + own;
}

static void sums_finish(sums *s, gops_reference_result *result)
{
    gops_type type = s->g->output.type;
    int64_t count = gops_test_elements(&s->g->output);
    *result = (gops_reference_result){
        .tensor = s->g->output, .value = s->value, .bound = s->magnitude, .integer = s->integer};
    if (s->is_real) {
        result->error = zeros(count, sizeof *result->error);
        result->once = zeros(count, sizeof *result->once);
    }
    for (int64_t i = 0; s->is_real && i < count; i++)
        result->bound[i] = bound_of(type, s->value[i], s->magnitude[i], s->terms[i],
                                    &result->error[i], &result->once[i]);
    free(s->data);
    free(s->filter);
    free(s->data_integer);
    free(s->filter_integer);
    free(s->terms);
}

typedef void channel_function(sums *s, int64_t n, int64_t group, int64_t co);

static void every_channel(sums *s, channel_function *channel)
{
    for (int64_t n = 0; n < s->g->batch; n++)
        for (int64_t group = 0; group < s->g->groups; group++)
            for (int64_t co = 0; co < s->g->c_out; co++)
                channel(s, n, group, co);
}

void gops_reference_conv(const gops_reference_geometry *geometry, gops_type data_type,
                         const void *data, gops_type filter_type, const void *filter,
                         const gops_reference_zero_points *zero_points,
                         gops_reference_result *result)
{
    const operand weights = {filter_type, filter, geometry->groups * geometry->c_out,
                             geometry->c_in, product(geometry->kernel, geometry->spatial)};
    sums s = sums_start(geometry, data_type, data, &weights, zero_points);
    every_channel(&s, conv_channel);
    sums_finish(&s, result);
}

void gops_reference_deconv(const gops_reference_geometry *geometry, gops_type data_type,
                           const void *data, gops_type filter_type, const void *filter,
                           const gops_reference_zero_points *zero_points,
                           gops_reference_result *result)
{
    const operand weights = {filter_type, filter, geometry->groups, geometry->c_in,
                             geometry->c_out * product(geometry->kernel, geometry->spatial)};
    sums s = sums_start(geometry, data_type, data, &weights, zero_points);
    every_channel(&s, deconv_channel);
    sums_finish(&s, result);
}
