/* winograd_bound.c: the bound of groupops/plan.h, written from its text. */
#include "winograd_bound.h"

#include <math.h>
#include <stdlib.h>

#include "elements.h"
#include "guarded_memory.h"

bool gops_test_winograd_serves(const gops_problem *problem, const gops_reference_geometry *g)
{
    const gops_type type = problem->data.type;
    bool serves = problem->operation == GOPS_PROBLEM_CONV &&
                  (type == GOPS_F32 || type == GOPS_F64) && g->spatial == 2;
    for (int i = 0; i < 2; i++)
        serves = serves && g->kernel[i] == 3 && g->stride[i] == 1 && g->dilation[i] == 1;
    return serves;
}

/* The largest finite magnitude of the pixels of one channel that a tile reads; y and x are those of
 * its first output. */
static long double largest_pixel(const gops_reference_geometry *g, gops_type type, const void *data,
                                 int64_t channel, int64_t y, int64_t x, int m)
{
    long double most = 0;
    for (int64_t i = y - g->pads_begin[0]; i < y - g->pads_begin[0] + m + 2; i++)
        for (int64_t j = x - g->pads_begin[1]; j < x - g->pads_begin[1] + m + 2; j++)
            if (i >= 0 && i < g->data[0] && j >= 0 && j < g->data[1]) {
                const long double value = fabsl(
                    gops_test_get_real(type, data, (channel * g->data[0] + i) * g->data[1] + j));
                most = isfinite(value) ? fmaxl(most, value) : most;
            }
    return most;
}

/* The largest finite magnitude of a weight's nine taps. */
static long double largest_tap(gops_type type, const void *weights, int64_t weight)
{
    long double most = 0;
    for (int64_t t = 0; t < 9; t++) {
        const long double value = fabsl(gops_test_get_real(type, weights, weight * 9 + t));
        most = isfinite(value) ? fmaxl(most, value) : most;
    }
    return most;
}

/* For one tile of an image and group: the error that outputs of all channels may have, if it is more than before. */
static void allow_tile(const gops_reference_geometry *g, gops_type type, const long double *pixels,
                       const long double *taps, int64_t image_group, int64_t y, int64_t x, int m,
                       gops_reference_result *result)
{
    const long double unit = gops_test_unit_roundoff(type);
    const long double tiny = type == GOPS_F64 ? ldexpl(1, -1060) : ldexpl(1, -135);
    for (int64_t o = 0; o < g->c_out; o++) {
        long double products = 0, sum = 0;
        for (int64_t c = 0; c < g->c_in; c++) {
            products += pixels[c] * taps[o * g->c_in + c];
            sum += pixels[c] + taps[o * g->c_in + c];
        }
        const long double more =
            unit * (long double)(g->c_in + 20) * (m == 2 ? 66 : 500) * products +
            tiny * ((long double)g->c_in + sum);
        for (int64_t i = y; i < y + m && i < g->result[0]; i++)
            for (int64_t j = x; j < x + m && j < g->result[1]; j++) {
                const int64_t at =
                    ((image_group * g->c_out + o) * g->result[0] + i) * g->result[1] + j;
                const long double further = fmaxl(more - result->error[at], 0);
                result->error[at] += further;
                result->bound[at] += further * (1 + unit);
            }
    }
}

void gops_test_allow_winograd(const gops_problem *problem, const gops_problem_buffers *buffers,
                              const gops_reference_geometry *g, int m,
                              gops_reference_result *result)
{
    const gops_type type = problem->data.type;
    const int64_t weights = g->c_out * g->c_in;
    if (gops_test_elements(&result->tensor) == 0)
        return;
    long double *taps = gops_test_allocate((size_t)weights * sizeof *taps);
    long double *pixels = gops_test_allocate((size_t)g->c_in * sizeof *pixels);
    for (int64_t group = 0; group < g->groups; group++) {
        for (int64_t i = 0; i < weights; i++)
            taps[i] = largest_tap(type, buffers->weights.memory, group * weights + i);
        for (int64_t image = 0; image < g->batch; image++) {
            const int64_t image_group = image * g->groups + group;
            for (int64_t y = 0; y < g->result[0]; y += m)
                for (int64_t x = 0; x < g->result[1]; x += m) {
                    for (int64_t c = 0; c < g->c_in; c++)
                        pixels[c] = largest_pixel(g, type, buffers->data.memory,
                                                  image_group * g->c_in + c, y, x, m);
                    allow_tile(g, type, pixels, taps, image_group, y, x, m, result);
                }
        }
    }
    free(pixels);
    free(taps);
}
