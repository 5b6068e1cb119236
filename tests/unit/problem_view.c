/* problem_view.c: spreads a problem's tensors over larger ones, and gathers the output again. */
#include "problem_view.h"

#include "harness.h"
#include "planes.h"
#include "problem_quantization.h"

static gops_test_guarded spread(const gops_tensor *tensor, int64_t channel_gap, int64_t image_gap,
                                const void *dense)
{
    const gops_test_planes planes = gops_test_planes_of(tensor, channel_gap, image_gap);
    gops_test_guarded view = gops_test_guarded_create(planes.whole);
    gops_test_planes_spread(&planes, dense, view.memory);
    return view;
}

static gops_tensor output_of(const gops_problem *problem)
{
    gops_reference_geometry geometry;
    gops_tensor output;
    gops_problem_reference_shape(problem, &geometry, &output);
    return output;
}

/* The output, with the residual or the data of a normalization in its place. */
static void enter_output(const gops_problem *p, const gops_tensor *output, const void *in_place,
                         gops_problem_view *view, gops_arguments *arguments)
{
    view->output = spread(output, p->output_channel_gap, p->output_gap, in_place);
    arguments->output = view->output.memory;
    arguments->output_stride = gops_test_image_stride(output, p->output_channel_gap, p->output_gap);
}

static void enter_residual(const gops_problem *p, const gops_tensor *output, const void *dense,
                           gops_problem_view *view, gops_arguments *arguments)
{
    const gops_tensor residual = gops_problem_residual(p, output);
    view->residual = spread(&residual, p->output_channel_gap, p->residual_gap, dense);
    arguments->residual = view->residual.memory;
    arguments->residual_stride =
        gops_test_image_stride(output, p->output_channel_gap, p->residual_gap);
}

gops_problem_view gops_problem_view_enter(const gops_problem *problem,
                                          const gops_problem_buffers *buffers,
                                          gops_arguments *arguments)
{
    gops_problem_view view = {{NULL, NULL, 0}, {NULL, NULL, 0}, {NULL, NULL, 0}};
    const gops_problem *p = problem;
    const gops_tensor output = output_of(p);
    const int data_in_place = buffers->data.memory == buffers->output.memory;
    if ((p->data_gap > 0 || p->data_channel_gap > 0) && !data_in_place) {
        view.data = spread(&p->data, p->data_channel_gap, p->data_gap, buffers->data.memory);
        arguments->data = view.data.memory;
        arguments->data_stride = gops_test_image_stride(&p->data, p->data_channel_gap, p->data_gap);
    }
    if (p->output_gap > 0 || p->output_channel_gap > 0 || p->residual_in_place)
        enter_output(p, &output,
                     p->residual_in_place ? buffers->residual.memory : buffers->output.memory,
                     &view, arguments);
    if (data_in_place) {
        arguments->data = arguments->output;
        arguments->data_stride = arguments->output_stride;
    }
    if (p->residual_in_place) {
        arguments->residual = arguments->output;
        arguments->residual_stride = arguments->output_stride;
    } else if (p->with_residual && (p->residual_gap > 0 || p->output_channel_gap > 0)) {
        enter_residual(p, &output, buffers->residual.memory, &view, arguments);
    }
    return view;
}

int gops_problem_view_leave(const gops_problem *problem, gops_problem_view *view,
                            const gops_problem_buffers *buffers)
{
    const gops_tensor output = output_of(problem);
    const gops_test_planes planes =
        gops_test_planes_of(&output, problem->output_channel_gap, problem->output_gap);
    size_t written = 0;
    if (view->output.mapping != NULL) {
        gops_test_planes_gather(&planes, view->output.memory, buffers->output.memory);
        written = gops_test_planes_written(&planes, view->output.memory);
    }
    gops_test_guarded *all[] = {&view->data, &view->output, &view->residual};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i]->mapping != NULL)
            gops_test_guarded_destroy(all[i]);
    return gops_test_check(written == 0, "wrote %zu bytes of the output's gaps", written);
}
