/* problem_view.c: spreads a problem's tensors over larger ones, and gathers the output again. */
#include "problem_view.h"

#include <string.h>

#include "elements.h"
#include "harness.h"
#include "problem_quantization.h"

enum { GARBAGE = 0xa5 };

/* Where the images of a tensor lie. */
typedef struct images {
    int64_t count;
    size_t bytes, stride;
} images;

static images images_of(const gops_tensor *tensor, int64_t gap)
{
    size_t size = gops_test_type_bytes(tensor->type);
    int64_t count = tensor->dims[0];
    int64_t elements = count > 0 ? gops_test_elements(tensor) / count : 0;
    return (images){count, (size_t)elements * size, (size_t)(elements + gap) * size};
}

static gops_test_guarded spread(const gops_tensor *tensor, int64_t gap, const void *dense)
{
    images at = images_of(tensor, gap);
    size_t bytes = at.count > 0 ? (size_t)(at.count - 1) * at.stride + at.bytes : 0;
    gops_test_guarded view = gops_test_guarded_create(bytes);
    memset(view.memory, GARBAGE, bytes);
    for (int64_t i = 0; i < at.count; i++)
        memcpy((unsigned char *)view.memory + (size_t)i * at.stride,
               (const unsigned char *)dense + (size_t)i * at.bytes, at.bytes);
    return view;
}

static gops_tensor output_of(const gops_problem *problem)
{
    gops_reference_geometry geometry;
    gops_tensor output;
    gops_problem_reference_shape(problem, &geometry, &output);
    return output;
}

static int64_t image_elements(const gops_tensor *tensor)
{
    return tensor->dims[0] > 0 ? gops_test_elements(tensor) / tensor->dims[0] : 0;
}

gops_problem_view gops_problem_view_enter(const gops_problem *problem,
                                          const gops_problem_buffers *buffers,
                                          gops_arguments *arguments)
{
    gops_problem_view view = {{NULL, NULL, 0}, {NULL, NULL, 0}, {NULL, NULL, 0}};
    gops_tensor output = output_of(problem);
    if (problem->data_gap > 0) {
        view.data = spread(&problem->data, problem->data_gap, buffers->data.memory);
        arguments->data = view.data.memory;
        arguments->data_stride = image_elements(&problem->data) + problem->data_gap;
    }
    int64_t residual_gap = problem->residual_gap;
    if (problem->residual_in_place)
        residual_gap = problem->output_gap;
    if (problem->output_gap > 0 || problem->residual_in_place) {
        view.output =
            spread(&output, problem->output_gap,
                   problem->residual_in_place ? buffers->residual.memory : buffers->output.memory);
        arguments->output = view.output.memory;
        arguments->output_stride = image_elements(&output) + problem->output_gap;
    }
    if (problem->residual_in_place) {
        arguments->residual = arguments->output;
        arguments->residual_stride = arguments->output_stride;
    } else if (residual_gap > 0 && problem->with_residual) {
        const gops_tensor residual = gops_problem_residual(problem, &output);
        view.residual = spread(&residual, residual_gap, buffers->residual.memory);
        arguments->residual = view.residual.memory;
        arguments->residual_stride = image_elements(&output) + residual_gap;
    }
    return view;
}

int gops_problem_view_leave(const gops_problem *problem, gops_problem_view *view,
                            const gops_problem_buffers *buffers)
{
    gops_tensor output = output_of(problem);
    images at = images_of(&output, problem->output_gap);
    int64_t written = -1;
    for (int64_t i = 0; i < at.count && view->output.mapping != NULL; i++) {
        const unsigned char *image =
            (const unsigned char *)view->output.memory + (size_t)i * at.stride;
        memcpy((unsigned char *)buffers->output.memory + (size_t)i * at.bytes, image, at.bytes);
        for (size_t b = at.bytes; b < at.stride && i + 1 < at.count; b++)
            if (image[b] != GARBAGE)
                written = i;
    }
    gops_test_guarded *all[] = {&view->data, &view->output, &view->residual};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i]->mapping != NULL)
            gops_test_guarded_destroy(all[i]);
    return gops_test_check(written < 0, "wrote behind image %lld of the output",
                           (long long)written);
}
