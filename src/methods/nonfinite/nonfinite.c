/*
 * nonfinite.c: both convolutions by their definition, for filters with NaN or infinite
 * weights.
 *
 * Every other method lays zeros around the data and multiplies them too. That adds nothing while
 * weights are finite, but 0 * infinity is NaN: an output at the border would depend on which taps a
 * method happens to pad. Here the taps that meet padding are skipped, so that the outputs are those
 * of the definition, for every algorithm that was planned. Such filters come from broken models
 * and tests, and get plain loops.
 *
 * An item is a row of outputs of one channel, made in pieces that fit on the stack: a pass over the
 * piece for each input channel and tap, with the tap's range of data that is there,
 *
 *     convolution:             sums[o] += w * data[o * stride + k * dilation - pad]
 *     transposed convolution:  sums[i * stride + k * dilation - pad] += w * data[i]
 */
#include "methods/methods.h"

#include "base/checked.h"
#include "post_ops/post_ops.h"

#include <string.h>

enum { PIECE = 256 };

typedef union values {
    float f32[PIECE];
    double f64[PIECE];
} values;

/* A piece of a row of outputs: `count` from x on, at at[] of the axes before the last. */
typedef struct piece {
    const gops_plan *plan;
    const unsigned char *data; /* of the group */
    int64_t at[GOPS_MAX_SPATIAL];
    int64_t x, count;
    values sums;
} piece;

/* Where a tap of the last axis meets data: `count` sums from `sum` on, `sum_step` apart, and data
 * from `data` on, `data_step` apart. */
typedef struct run {
    int64_t count, sum, sum_step, data, data_step;
} run;

static run find_run(const gops_axis *axis, int transposed, int64_t tap, int64_t x, int64_t count)
{
    const int64_t shift = tap * axis->dilation - axis->pad_begin;
    run r;
    if (transposed) {
        const int64_t first = gops_max(0, gops_ceil_div(x - shift, axis->stride));
        const int64_t last =
            gops_min(axis->data - 1, gops_floor_div(x + count - 1 - shift, axis->stride));
        r = (run){last - first + 1, first * axis->stride + shift - x, axis->stride, first, 1};
    } else {
        const int64_t first = gops_max(x, gops_ceil_div(-shift, axis->stride));
        const int64_t last =
            gops_min(x + count - 1, gops_floor_div(axis->data - 1 - shift, axis->stride));
        r = (run){last - first + 1, first - x, 1, first * axis->stride + shift, axis->stride};
    }
    return r;
}

/* The data index that an output and a tap of an axis meet at; -1 where there is none. */
static int64_t find_data(const gops_axis *axis, int transposed, int64_t output, int64_t tap)
{
    const int64_t shift = tap * axis->dilation - axis->pad_begin;
    int64_t index = transposed ? output - shift : output * axis->stride + shift;
    if (transposed) {
        index = index % axis->stride == 0 ? index / axis->stride : -1;
    }
    return index >= 0 && index < axis->data ? index : -1;
}

static void add_run(piece *at, const run *r, const unsigned char *row, const unsigned char *weight)
{
    const gops_type_row *type = at->plan->type;
    const int64_t size = type->bytes;
    const int64_t bytes = gops_compute_bytes(type->compute);
    values w, x;
    at->plan->filter_type->load(&w, weight, 1);
    row += r->data * size;
    if (r->data_step == 1) {
        type->load(&x, row, r->count);
    } else {
        for (int64_t i = 0; i < r->count; i++) {
            type->load((unsigned char *)&x + i * bytes, row + i * r->data_step * size, 1);
        }
    }
    if (type->compute == GOPS_COMPUTE_F32) {
        for (int64_t i = 0; i < r->count; i++) {
            at->sums.f32[r->sum + i * r->sum_step] += w.f32[0] * x.f32[i];
        }
    } else {
        for (int64_t i = 0; i < r->count; i++) {
            at->sums.f64[r->sum + i * r->sum_step] += w.f64[0] * x.f64[i];
        }
    }
}

/* The taps of the last axis, for data row `row` and the weights of that row of taps. */
static void add_row(piece *at, const unsigned char *row, const unsigned char *weights)
{
    const gops_conv_geometry *conv = &at->plan->conv;
    const gops_axis *axis = &conv->axis[conv->axes - 1];
    const int64_t size = at->plan->filter_type->bytes;
    for (int64_t k = 0; k < axis->kernel; k++) {
        const run r =
            find_run(axis, at->plan->operation == GOPS_OPERATION_DECONV, k, at->x, at->count);
        if (r.count > 0) {
            add_run(at, &r, row, weights + k * size);
        }
    }
}

/* All taps of one input channel. */
static void add_channel(piece *at, const unsigned char *channel, const unsigned char *weights)
{
    const gops_conv_geometry *conv = &at->plan->conv;
    const int transposed = at->plan->operation == GOPS_OPERATION_DECONV;
    const int outer = conv->axes - 1;
    const int64_t size = at->plan->type->bytes;
    const int64_t filter_size = at->plan->filter_type->bytes;
    const int64_t width = conv->axis[outer].data, kernel = conv->axis[outer].kernel;
    int64_t tap[GOPS_MAX_SPATIAL] = {0};
    for (int64_t t = 0; t < conv->taps; t += kernel) {
        int64_t row = 0;
        for (int a = 0; a < outer && row >= 0; a++) {
            const int64_t index = find_data(&conv->axis[a], transposed, at->at[a], tap[a]);
            row = index < 0 ? -1 : row * conv->axis[a].data + index;
        }
        if (row >= 0) {
            add_row(at, channel + row * width * size, weights + t * filter_size);
        }
        for (int a = outer - 1; a >= 0 && ++tap[a] == conv->axis[a].kernel; a--) {
            tap[a] = 0;
        }
    }
}

static int64_t nonfinite_items(const gops_plan *plan)
{
    const gops_conv_geometry *conv = &plan->conv;
    return conv->batch * conv->groups * conv->channels_out *
           (conv->output_pixels / conv->axis[conv->axes - 1].output);
}

static void nonfinite_run(const gops_plan *plan, const gops_job *job, int64_t item, void *workspace)
{
    (void)workspace;
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t width = conv->axis[conv->axes - 1].output;
    const int64_t rows = conv->output_pixels / width;
    const int64_t plane = item / rows; /* (image, group, output channel) */
    const int64_t channel = plane % (conv->groups * conv->channels_out);
    const int64_t group = channel / conv->channels_out;
    const int64_t image_group = plane / conv->channels_out;
    const int64_t size = plan->type->bytes;
    const int64_t filter_size = plan->filter_type->bytes;
    /* The filter is [G, C_OUT, C_IN, K...], that of a transposed one [G, C_IN, C_OUT, K...]. */
    const int transposed = plan->operation == GOPS_OPERATION_DECONV;
    const int64_t first =
        transposed ? group * conv->channels_in * conv->channels_out + channel % conv->channels_out
                   : channel * conv->channels_in;
    const int64_t next = transposed ? conv->channels_out : 1;
    piece at = {.plan = plan,
                .data = gops_data_at(plan, job, image_group / conv->groups,
                                     image_group * conv->channels_in * conv->data_pixels)};
    int64_t rest = item % rows;
    for (int a = conv->axes - 2; a >= 0; a--) {
        at.at[a] = rest % conv->axis[a].output;
        rest /= conv->axis[a].output;
    }
    for (at.x = 0; at.x < width; at.x += PIECE) {
        at.count = gops_min(PIECE, width - at.x);
        memset(&at.sums, 0, sizeof at.sums);
        for (int64_t c = 0; c < conv->channels_in; c++) {
            add_channel(&at, at.data + c * conv->data_pixels * size,
                        (const unsigned char *)job->filter +
                            (first + c * next) * conv->taps * filter_size);
        }
        gops_store(plan, job, channel, item * width + at.x, at.count, &at.sums);
    }
}

const gops_method gops_nonfinite_conv = {
    .name = "nonfinite",
    .operation = GOPS_OPERATION_CONV,
    .run = nonfinite_run,
    .items = nonfinite_items,
};

const gops_method gops_nonfinite_deconv = {
    .name = "nonfinite",
    .operation = GOPS_OPERATION_DECONV,
    .run = nonfinite_run,
    .items = nonfinite_items,
};
