/*
 * nonfinite.c: both convolutions by their definition, for filters with NaN or infinite weights.
 *
 * All other methods pad the data with zeros and multiply these too. That adds nothing while weights
 * are finite, but 0 * infinity is NaN, so an output at the border would depend on which taps the
 * method pads. Here taps that fall on padding are skipped, and the outputs are those of the
 * definition whatever method was planned. Such filters come from broken models and from tests; the
 * loops are simple and slow.
 *
 * A work item is a row of outputs of one channel. It is computed in blocks whose sums fit on the
 * stack. For each input channel and tap there is one pass over the block, along the data that the
 * tap meets:
 *
 *     convolution:             sums[o] += w * data[o * stride + k * dilation - pad]
 *     transposed convolution:  sums[i * stride + k * dilation - pad] += w * data[i]
 */
#include "plan/plan.h"

#include "base/checked.h"
#include "post_ops/post_ops.h"

#include <string.h>

enum { BLOCK = 256 };

typedef union values {
    float f32[BLOCK];
    double f64[BLOCK];
} values;

/* A block of a row of outputs: `count` from x on. */
typedef struct block {
    const gops_plan *plan;
    const unsigned char *data;        /* of the group */
    int64_t output[GOPS_MAX_SPATIAL]; /* the row's index on each axis but the last */
    int64_t x, count;
    values sums;
} block;

/* The data that a tap of the last axis meets: `count` sums from `sum` on, `sum_step` apart, and
 * data from `data` on, `data_step` apart. */
typedef struct tap_run {
    int64_t count, sum, sum_step, data, data_step;
} tap_run;

static tap_run find_run(const gops_axis *axis, bool transposed, int64_t tap, int64_t x,
                        int64_t count)
{
    const int64_t shift = tap * axis->dilation - axis->pad_begin;
    tap_run r;
    if (transposed) {
        const int64_t first = gops_max(0, gops_ceil_div(x - shift, axis->stride));
        const int64_t last =
            gops_min(axis->data - 1, gops_floor_div(x + count - 1 - shift, axis->stride));
        r = (tap_run){last - first + 1, first * axis->stride + shift - x, axis->stride, first, 1};
    } else {
        const int64_t first = gops_max(x, gops_ceil_div(-shift, axis->stride));
        const int64_t last =
            gops_min(x + count - 1, gops_floor_div(axis->data - 1 - shift, axis->stride));
        r = (tap_run){last - first + 1, first - x, 1, first * axis->stride + shift, axis->stride};
    }
    return r;
}

/* The index of the data that an output and a tap of an axis meet; -1 where there is none. */
static int64_t find_data(const gops_axis *axis, bool transposed, int64_t output, int64_t tap)
{
    const int64_t shift = tap * axis->dilation - axis->pad_begin;
    int64_t index = transposed ? output - shift : output * axis->stride + shift;
    if (transposed) {
        index = index % axis->stride == 0 ? index / axis->stride : -1;
    }
    return index >= 0 && index < axis->data ? index : -1;
}

/* Adds one tap of the last axis. */
static void add_run(block *to, const tap_run *r, const unsigned char *row,
                    const unsigned char *weight)
{
    const gops_type_row *type = to->plan->type;
    const int64_t size = type->bytes;
    const int64_t bytes = gops_compute_bytes(type->compute);
    values w, x;
    to->plan->filter_type->load(&w, weight, 1);
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
            to->sums.f32[r->sum + i * r->sum_step] += w.f32[0] * x.f32[i];
        }
    } else {
        for (int64_t i = 0; i < r->count; i++) {
            to->sums.f64[r->sum + i * r->sum_step] += w.f64[0] * x.f64[i];
        }
    }
}

/* Adds the taps of the last axis: `row` is a row of data, `weights` those of a row of taps. */
static void add_row(block *to, const unsigned char *row, const unsigned char *weights)
{
    const gops_conv_geometry *conv = &to->plan->conv;
    const gops_axis *axis = &conv->axis[conv->axes - 1];
    const int64_t size = to->plan->filter_type->bytes;
    for (int64_t k = 0; k < axis->kernel; k++) {
        const tap_run r =
            find_run(axis, to->plan->operation == GOPS_OPERATION_DECONV, k, to->x, to->count);
        if (r.count > 0) {
            add_run(to, &r, row, weights + k * size);
        }
    }
}

/* Adds all taps of one input channel. */
static void add_channel(block *to, const unsigned char *channel, const unsigned char *weights)
{
    const gops_conv_geometry *conv = &to->plan->conv;
    const bool transposed = to->plan->operation == GOPS_OPERATION_DECONV;
    const int outer = conv->axes - 1;
    const int64_t size = to->plan->type->bytes;
    const int64_t filter_size = to->plan->filter_type->bytes;
    const int64_t width = conv->axis[outer].data, kernel = conv->axis[outer].kernel;
    int64_t tap[GOPS_MAX_SPATIAL] = {0};
    for (int64_t t = 0; t < conv->taps; t += kernel) {
        int64_t row = 0;
        for (int a = 0; a < outer && row >= 0; a++) {
            const int64_t index = find_data(&conv->axis[a], transposed, to->output[a], tap[a]);
            row = index < 0 ? -1 : row * conv->axis[a].data + index;
        }
        if (row >= 0) {
            add_row(to, channel + row * width * size, weights + t * filter_size);
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
    const bool transposed = plan->operation == GOPS_OPERATION_DECONV;
    const int64_t first =
        transposed ? group * conv->channels_in * conv->channels_out + channel % conv->channels_out
                   : channel * conv->channels_in;
    const int64_t next = transposed ? conv->channels_out : 1;
    block to = {.plan = plan,
                .data = gops_data_at(plan, job, image_group / conv->groups,
                                     image_group * conv->channels_in * plan->data_plane)};
    int64_t rest = item % rows;
    for (int a = conv->axes - 2; a >= 0; a--) {
        to.output[a] = rest % conv->axis[a].output;
        rest /= conv->axis[a].output;
    }
    for (to.x = 0; to.x < width; to.x += BLOCK) {
        to.count = gops_min(BLOCK, width - to.x);
        memset(&to.sums, 0, sizeof to.sums);
        for (int64_t c = 0; c < conv->channels_in; c++) {
            add_channel(&to, to.data + c * plan->data_plane * size,
                        (const unsigned char *)job->filter +
                            (first + c * next) * conv->taps * filter_size);
        }
        gops_store(plan, job, channel, plane * plan->output_plane + item % rows * width + to.x,
                   to.count, &to.sums);
    }
}

const gops_method gops_nonfinite = {
    .name = "nonfinite",
    .run = nonfinite_run,
    .items = nonfinite_items,
};
