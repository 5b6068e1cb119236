/* ort_pass.c: passes over planes of f32. The loops are for the compiler to vectorize. */
#include "ort_pass.h"

#include <math.h>
#include <string.h>

enum { Y, X };

static void affine(float *restrict to, const float *restrict from, const float *restrict other,
                   float factor, float summand, bool relu, int64_t count)
{
    if (other != NULL) {
        for (int64_t i = 0; i < count; i++) {
            to[i] = from[i] * factor + summand + other[i];
        }
    } else {
        for (int64_t i = 0; i < count; i++) {
            to[i] = from[i] * factor + summand;
        }
    }
    for (int64_t i = 0; i < count && relu; i++) {
        to[i] = to[i] < 0 ? 0 : to[i];
    }
}

static void affine_plane(const gops_ort_pass *pass, int64_t channel, float *to, const float *from,
                         const float *other)
{
    enum { BLOCK = 2048 }; /* elements that stay in the L1 cache from one loop to the next */
    for (int64_t i = 0; i < pass->plane; i += BLOCK) {
        const int64_t left = pass->plane - i;
        affine(to + i, from + i, other != NULL ? other + i : NULL, pass->factors[channel],
               pass->summands[channel], pass->relu, left < BLOCK ? left : BLOCK);
    }
}

static void scale(float *restrict to, const float *restrict from, float factor, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        to[i] = from[i] * factor;
    }
}

static void multiply(float *restrict to, const float *restrict from, const float *restrict other,
                     int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        to[i] = from[i] * other[i];
    }
}

/* Sums in lanes, so that the order does not depend on the compiler. */
static float average(const float *from, int64_t count)
{
    enum { LANES = 32 };
    float lanes[LANES] = {0};
    double sum = 0;
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        for (int k = 0; k < LANES; k++) {
            lanes[k] += from[i + k];
        }
    }
    for (; i < count; i++) {
        sum += (double)from[i];
    }
    for (int k = 0; k < LANES; k++) {
        sum += (double)lanes[k];
    }
    return (float)(sum / (double)count);
}

static void take_larger(float *restrict to, const float *restrict from, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        to[i] = to[i] > from[i] ? to[i] : from[i];
    }
}

/* The largest of each output's columns, which are `step` apart. */
static void take_columns(float *restrict to, const float *restrict columns, int64_t kernel,
                         int64_t step, int64_t count)
{
    if (step == 2 && kernel == 3) { /* constants, for vectors */
        for (int64_t i = 0; i < count; i++) {
            const float pair =
                columns[2 * i] > columns[2 * i + 1] ? columns[2 * i] : columns[2 * i + 1];
            to[i] = pair > columns[2 * i + 2] ? pair : columns[2 * i + 2];
        }
        return;
    }
    if (step == 2 && kernel == 2) {
        for (int64_t i = 0; i < count; i++) {
            to[i] = columns[2 * i] > columns[2 * i + 1] ? columns[2 * i] : columns[2 * i + 1];
        }
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        to[i] = columns[i * step];
    }
    for (int64_t x = 1; x < kernel; x++) {
        for (int64_t i = 0; i < count; i++) {
            const float value = columns[i * step + x];
            to[i] = to[i] > value ? to[i] : value;
        }
    }
}

/* The largest of each column first, with padding that is below all numbers. */
static void max_plane(const gops_ort_pass *pass, float *to, const float *plane)
{
    const gops_ort_window *window = &pass->window;
    const int64_t width = pass->in[X], begin = window->pads_begin[X];
    const int64_t span = (pass->out[X] - 1) * window->strides[X] + window->kernel[X];
    const int64_t covered = span - begin < width ? span - begin : width;
    float columns[GOPS_ORT_MAX_ROW];
    for (int64_t i = 0; i < span; i++) {
        columns[i] = -INFINITY;
    }
    for (int64_t row = 0; row < pass->out[Y]; row++) {
        const int64_t first = row * window->strides[Y] - window->pads_begin[Y];
        const int64_t end =
            first + window->kernel[Y] < pass->in[Y] ? first + window->kernel[Y] : pass->in[Y];
        int64_t y = first > 0 ? first : 0;
        memcpy(columns + begin, plane + y * width, (size_t)covered * sizeof *columns);
        for (y++; y < end; y++) {
            take_larger(columns + begin, plane + y * width, covered);
        }
        take_columns(to + row * pass->out[X], columns, window->kernel[X], window->strides[X],
                     pass->out[X]);
    }
}

void gops_ort_pass_run(const gops_ort_pass *pass, const gops_ort_pass_operands *operands,
                       int64_t first, int64_t last)
{
    const int64_t out = pass->kind == GOPS_ORT_PASS_MAX       ? pass->out[Y] * pass->out[X]
                        : pass->kind == GOPS_ORT_PASS_AVERAGE ? 1
                                                              : pass->plane;
    const int64_t others = pass->kind == GOPS_ORT_PASS_SCALE ? 1 : pass->plane;
    for (int64_t i = first; i < last; i++) {
        const int64_t image = i / pass->channels, channel = i % pass->channels;
        const float *from = operands->data + image * operands->data_stride + channel * pass->plane;
        float *to = operands->output + image * operands->output_stride + channel * out;
        const float *other =
            operands->other != NULL
                ? operands->other + image * operands->other_stride + channel * others
                : NULL;
        switch (pass->kind) {
        case GOPS_ORT_PASS_COPY:
            memcpy(to, from, (size_t)pass->plane * sizeof *to);
            break;
        case GOPS_ORT_PASS_AFFINE:
            affine_plane(pass, channel, to, from, other);
            break;
        case GOPS_ORT_PASS_SCALE:
            scale(to, from, *other, pass->plane);
            break;
        case GOPS_ORT_PASS_PRODUCT:
            multiply(to, from, other, pass->plane);
            break;
        case GOPS_ORT_PASS_MAX:
            max_plane(pass, to, from);
            break;
        case GOPS_ORT_PASS_AVERAGE:
            *to = average(from, pass->plane);
            break;
        }
    }
}
