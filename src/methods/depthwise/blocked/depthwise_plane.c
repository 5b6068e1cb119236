/* depthwise_plane.c: planes of outputs of depthwise/blocked without a padded copy (depthwise_plane.inc.h). */
#include "methods/depthwise/depthwise_method.h"

#include "base/checked.h"

gops_depthwise_plane_fn *gops_depthwise_find_plane(const gops_depthwise_kernels *kernels,
                                                   const gops_depthwise_axis axis[3])
{
    const gops_depthwise_axis *y = &axis[1], *x = &axis[2];
    const bool usual = !x->transposed && x->dilation == 1 && y->dilation == 1 &&
                       x->stride == y->stride && x->kernel == y->kernel &&
                       x->pad == x->kernel / 2 && x->data == x->output * x->stride;
    return usual && kernels->find_plane != NULL
               ? kernels->find_plane(x->output, x->kernel, x->stride)
               : NULL;
}

void gops_depthwise_run_planes(gops_depthwise_plane_fn *kernel, const gops_depthwise_axis axis[3],
                               const gops_depthwise_planes *planes)
{
    const gops_depthwise_axis *y = &axis[1], *x = &axis[2];
    const int64_t data_bytes = y->data * x->data * planes->vector_bytes;
    const int64_t weight_bytes = y->kernel * x->kernel * planes->vector_bytes;
    const int64_t output_bytes = y->output * x->output * planes->vector_bytes;
    for (int64_t z = 0; z < axis[0].output; z++) {
        const gops_range inside = gops_depthwise_taps_inside(&axis[0], z);
        const int64_t first = z * axis[0].stride - axis[0].pad + inside.begin * axis[0].dilation;
        kernel(&(gops_depthwise_plane){
            .data = (const unsigned char *)planes->data + gops_max(first, 0) * data_bytes,
            .weights = (const unsigned char *)planes->weights + inside.begin * weight_bytes,
            .output = (unsigned char *)planes->output + z * output_bytes,
            .planes = inside.end - inside.begin,
            .plane_pitch = axis[0].dilation * y->data * x->data,
            .height = y->data,
            .rows = y->output,
            .pad = y->pad,
            .bounds = planes->bounds,
            .bias = planes->bias,
        });
    }
}
