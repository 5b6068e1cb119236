/* wavelet.c: the wavelet filter bank as plans of the three operations. */
#include "demo/wavelet.h"

#include <stdlib.h>

enum { EXTENSION = GOPS_WAVELET_TAPS - 2 };

/* The variance of rounding to 8-bit grey, step^2 / 12: subbands with less than that are not
 * amplified to full contrast. */
#define EPSILON (1.0 / (255.0 * 255.0 * 12.0))

/* How many pixels are added after the last one of an axis. */
static int64_t extension_end(int64_t size)
{
    return EXTENSION + size % 2;
}

/* The pixel at `index` of an axis that is mirrored at both ends, without end. */
static int64_t mirrored_index(int64_t index, int64_t size)
{
    int64_t period = 2 * size;
    int64_t phase = (index % period + period) % period;

    return phase < size ? phase : period - 1 - phase;
}

static gops_status extend_picture(const gops_planes *picture, gops_planes *extended,
                                  gops_error *error)
{
    int64_t height = EXTENSION + picture->height + extension_end(picture->height);
    int64_t width = EXTENSION + picture->width + extension_end(picture->width);
    gops_status status = gops_planes_create(picture->channels, height, width, extended, error);
    if (status != GOPS_OK) {
        return status;
    }

    float *value = extended->values;
    for (int64_t channel = 0; channel < picture->channels; channel++) {
        const float *plane = gops_planes_channel(picture, channel);
        for (int64_t y = 0; y < height; y++) {
            const float *row =
                plane + mirrored_index(y - EXTENSION, picture->height) * picture->width;
            for (int64_t x = 0; x < width; x++) {
                *value++ = row[mirrored_index(x - EXTENSION, picture->width)];
            }
        }
    }
    return GOPS_OK;
}

static gops_tensor planes_tensor(const gops_planes *planes)
{
    return (gops_tensor){GOPS_F32, 4, {1, planes->channels, planes->height, planes->width}};
}

/* Its axes are GROUPS, C_OUT, C_IN, Y, X to GroupConvolution and GROUPS, C_IN, C_OUT, Y, X to
 * GroupConvolutionBackpropData. */
static gops_tensor filter_tensor(int64_t colours)
{
    return (gops_tensor){
        GOPS_F32, 5, {colours, GOPS_WAVELET_BANDS, 1, GOPS_WAVELET_TAPS, GOPS_WAVELET_TAPS}};
}

static gops_status create_filter(int64_t colours, float **filter, gops_error *error)
{
    size_t values = (size_t)colours * GOPS_WAVELET_BANDS * GOPS_WAVELET_TAPS * GOPS_WAVELET_TAPS;

    *filter = malloc(values * sizeof **filter);
    if (*filter == NULL) {
        return gops_picture_fail(error, GOPS_OUT_OF_MEMORY, "no memory for the filter");
    }
    gops_wavelet_filter(colours, *filter);
    return GOPS_OK;
}

/* Executes the plan with the wavelet filter into new planes *output, and destroys the plan. */
static gops_status run_filter(gops_plan *plan, int64_t colours, const gops_planes *data,
                              gops_planes *output, gops_demo_step *step, gops_error *error)
{
    gops_plan_info info = {.size = sizeof info};
    float *weights = NULL;

    gops_status status = gops_plan_get_info(plan, &info, error);
    if (status == GOPS_OK) {
        status = create_filter(colours, &weights, error);
    }
    if (status == GOPS_OK) {
        const int64_t *dims = info.shape.output.dims;
        status = gops_planes_create(dims[1], dims[2], dims[3], output, error);
    }
    if (status == GOPS_OK) {
        gops_arguments arguments = {.size = sizeof arguments, .data = data->values};
        arguments.output = output->values;
        status = gops_demo_run(plan, weights, &arguments, step, error);
        if (status != GOPS_OK) {
            gops_planes_release(output);
        }
    }
    free(weights);
    gops_plan_destroy(plan);
    return status;
}

gops_status gops_wavelet_split(const gops_planes *picture, int32_t threads, gops_planes *bands,
                               gops_demo_step *step, gops_error *error)
{
    const gops_conv_attributes attributes = {.strides = {2, {2, 2}}};
    const gops_options options = {.size = sizeof options, .threads = threads};
    gops_planes extended;
    gops_plan *plan;

    *bands = (gops_planes){0};
    gops_status status = extend_picture(picture, &extended, error);
    if (status != GOPS_OK) {
        return status;
    }
    gops_tensor data = planes_tensor(&extended);
    gops_tensor filter = filter_tensor(picture->channels);
    step->operation = "GroupConvolution";
    gops_dims_text(data.dims, data.rank, step->data);
    gops_dims_text(filter.dims, filter.rank, step->filter);
    status = gops_conv_plan_create(&data, &filter, &attributes, &options, &plan, error);
    if (status == GOPS_OK) {
        status = run_filter(plan, picture->channels, &extended, bands, step, error);
    }
    gops_planes_release(&extended);
    return status;
}

gops_status gops_wavelet_join(const gops_planes *bands, int64_t height, int64_t width,
                              int32_t threads, gops_planes *picture, gops_demo_step *step,
                              gops_error *error)
{
    const gops_deconv_attributes attributes = {
        .strides = {2, {2, 2}},
        .pads_begin = {2, {EXTENSION, EXTENSION}},
        .pads_end = {2, {extension_end(height), extension_end(width)}},
    };
    const gops_options options = {.size = sizeof options, .threads = threads};
    int64_t colours = bands->channels / GOPS_WAVELET_BANDS;
    gops_tensor data = planes_tensor(bands);
    gops_tensor filter = filter_tensor(colours);
    gops_plan *plan;

    *picture = (gops_planes){0};
    step->operation = "GroupConvolutionBackpropData";
    gops_dims_text(data.dims, data.rank, step->data);
    gops_dims_text(filter.dims, filter.rank, step->filter);
    gops_status status =
        gops_deconv_plan_create(&data, &filter, &attributes, &options, &plan, error);
    if (status != GOPS_OK) {
        return status;
    }
    return run_filter(plan, colours, bands, picture, step, error);
}

static gops_status run_normalization(const gops_planes *bands, const gops_tensor *data,
                                     const gops_tensor *channel, int32_t threads,
                                     const float *scale, const float *bias, gops_planes *normalized,
                                     gops_demo_step *step, gops_error *error)
{
    const gops_norm_attributes attributes = {.num_groups = bands->channels, .epsilon = EPSILON};
    const gops_options options = {.size = sizeof options, .threads = threads};
    gops_plan *plan;

    gops_status status =
        gops_norm_plan_create(data, channel, channel, &attributes, &options, &plan, error);
    if (status != GOPS_OK) {
        return status;
    }
    gops_arguments arguments = {.size = sizeof arguments, .data = bands->values};
    arguments.scale = scale;
    arguments.bias = bias;
    arguments.output = normalized->values;
    status = gops_demo_run(plan, NULL, &arguments, step, error);
    gops_plan_destroy(plan);
    return status;
}

gops_status gops_wavelet_normalize(const gops_planes *bands, int32_t threads,
                                   gops_planes *normalized, gops_demo_step *step, gops_error *error)
{
    gops_tensor data = planes_tensor(bands);
    gops_tensor channel = {GOPS_F32, 1, {bands->channels}};
    size_t channels = (size_t)bands->channels;

    step->operation = "GroupNormalization";
    gops_dims_text(data.dims, data.rank, step->data);
    gops_dims_text(channel.dims, channel.rank, step->filter);
    gops_status status =
        gops_planes_create(bands->channels, bands->height, bands->width, normalized, error);
    if (status != GOPS_OK) {
        return status;
    }
    float *scale = malloc(2 * channels * sizeof *scale);
    if (scale == NULL) {
        gops_planes_release(normalized);
        return gops_picture_fail(error, GOPS_OUT_OF_MEMORY, "no memory for scale and bias");
    }
    float *bias = scale + channels;
    for (size_t i = 0; i < channels; i++) {
        scale[i] = 1.0F / 6.0F;
        bias[i] = 0.5F;
    }
    status =
        run_normalization(bands, &data, &channel, threads, scale, bias, normalized, step, error);
    free(scale);
    if (status != GOPS_OK) {
        gops_planes_release(normalized);
    }
    return status;
}
