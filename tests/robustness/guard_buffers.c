/* guard_buffers.c: puts every operand of a problem into a fenced buffer, executes, and looks at
 * what was written. */
#include "guard_buffers.h"

#include "elements.h"
#include "harness.h"
#include "planes.h"
#include "problem_quantization.h"

static const char *const names[] = {"data",     "weights",     "scale",         "bias",
                                    "residual", "zero points", "filter scales", "data_zero_point",
                                    "slopes",   "output",      "mean",          "variance",
                                    "workspace"};
_Static_assert(sizeof names / sizeof names[0] == GOPS_GUARD_BUFFERS, "a name for each buffer");

static void copy_in(gops_fenced *to, const void *from, const gops_tensor *tensor,
                    int64_t channel_gap, int64_t gap, gops_fence_end end)
{
    const gops_test_planes planes = gops_test_planes_of(tensor, channel_gap, gap);
    *to = gops_fence_create(planes.whole, gops_test_type_bytes(tensor->type), end);
    if (from != NULL)
        gops_test_planes_spread(&planes, from, to->memory);
}

/* A tensor without gaps, or nothing. */
static void copy_given(gops_fenced *to, const gops_test_guarded *from, const gops_tensor *tensor,
                       gops_fence_end end)
{
    if (from->memory != NULL)
        copy_in(to, from->memory, tensor, 0, 0, end);
}

static void copy_zero_points(gops_fenced *to, const int64_t *zeros, int64_t count, gops_type type,
                             gops_fence_end end)
{
    if (zeros != NULL && count > 0) {
        const size_t size = gops_test_type_bytes(type);
        *to = gops_fence_create((size_t)count * size, size, end);
        for (int64_t i = 0; i < count; i++)
            gops_test_set_integer(type, to->memory, i, (uint64_t)zeros[i]);
    }
}

/* What gops_filter_create takes besides the weights. */
static void copy_quantization(gops_guard_set *set, gops_fence_end end)
{
    const gops_problem *p = set->problem;
    const gops_tensor scales = GOPS_TEST_TENSOR(GOPS_F32, p->quantization.filter_scales_count);
    copy_zero_points(&set->of[GOPS_GUARD_ZERO_POINTS], p->filter_zero_points,
                     p->filter_zero_point_count, p->filter.type, end);
    if (scales.dims[0] > 0)
        copy_in(&set->of[GOPS_GUARD_FILTER_SCALES], p->quantization.filter_scales, &scales, 0, 0,
                end);
}

static void create_moments(gops_guard_set *set, gops_fence_end end)
{
    const gops_problem *p = set->problem;
    const size_t size = p->data.type == GOPS_F64 ? sizeof(double) : sizeof(float);
    const size_t count = (size_t)(p->data.dims[0] * p->norm.num_groups);
    set->of[GOPS_GUARD_MEAN] = gops_fence_create(count * size, size, end);
    set->of[GOPS_GUARD_VARIANCE] = gops_fence_create(count * size, size, end);
}

gops_guard_set gops_guard_set_create(const gops_problem *p, const gops_problem_buffers *given,
                                     const gops_tensor *output, size_t workspace_bytes,
                                     gops_fence_end end)
{
    gops_guard_set set = {.problem = p, .output = *output};
    gops_fenced *f = set.of;
    const gops_tensor scales = gops_problem_coefficients(p);
    const gops_tensor biases = gops_problem_bias(p, output);
    const gops_tensor residual = gops_problem_residual(p, output);
    const int in_place = p->with_residual && p->residual_in_place;
    copy_in(&f[GOPS_GUARD_DATA], given->data.memory, &p->data, p->data_channel_gap, p->data_gap,
            end);
    copy_given(&f[GOPS_GUARD_SCALE], &given->scale, &scales, end);
    copy_given(&f[GOPS_GUARD_BIAS], &given->bias, &biases, end);
    copy_given(&f[GOPS_GUARD_SLOPES], &given->slopes, &biases, end);
    if (p->with_residual && !in_place)
        copy_in(&f[GOPS_GUARD_RESIDUAL], given->residual.memory, &residual, p->output_channel_gap,
                p->residual_gap, end);
    copy_in(&f[GOPS_GUARD_OUTPUT], in_place ? given->residual.memory : NULL, output,
            p->output_channel_gap, p->output_gap, end);
    copy_zero_points(&f[GOPS_GUARD_DATA_ZERO], p->data_zero_point, 1, p->data.type, end);
    if (p->operation == GOPS_PROBLEM_NORM) {
        create_moments(&set, end);
    } else {
        copy_given(&f[GOPS_GUARD_WEIGHTS], &given->weights, &p->filter, end);
        copy_quantization(&set, end);
    }
    f[GOPS_GUARD_WORKSPACE] = gops_fence_create(workspace_bytes, GOPS_WORKSPACE_ALIGNMENT, end);
    for (int i = 0; i < GOPS_GUARD_INPUTS; i++)
        if (f[i].pages != NULL)
            gops_fence_read_only(&f[i]);
    return set;
}

static gops_status pack(const gops_guard_set *set, const gops_plan *packer,
                        gops_packed_filter **filter, gops_error *error)
{
    const gops_problem *p = set->problem;
    const unsigned char *weights = set->of[GOPS_GUARD_WEIGHTS].memory;
    if (p->operation == GOPS_PROBLEM_NORM)
        return GOPS_OK;
    gops_quantization own;
    const gops_quantization *quantization =
        gops_problem_quantization(p, set->of[GOPS_GUARD_ZERO_POINTS].memory, &own);
    if (quantization != NULL && own.filter_scales_count > 0)
        own.filter_scales = set->of[GOPS_GUARD_FILTER_SCALES].memory;
    return gops_filter_create(packer, weights, quantization, filter, error);
}

gops_status gops_guard_set_execute(const gops_guard_set *set, const gops_plan *plan,
                                   const gops_plan *packer, gops_error *error)
{
    const gops_problem *p = set->problem;
    const gops_fenced *f = set->of;
    gops_packed_filter *filter = NULL;
    gops_status status = pack(set, packer, &filter, error);
    gops_arguments arguments = {
        .size = sizeof arguments,
        .data = f[GOPS_GUARD_DATA].memory,
        .filter = filter,
        .scale = f[GOPS_GUARD_SCALE].memory,
        .bias = f[GOPS_GUARD_BIAS].memory,
        .slopes = f[GOPS_GUARD_SLOPES].memory,
        .output = f[GOPS_GUARD_OUTPUT].memory,
        .residual = f[GOPS_GUARD_RESIDUAL].memory,
        .mean = f[GOPS_GUARD_MEAN].memory,
        .variance = f[GOPS_GUARD_VARIANCE].memory,
        .data_zero_point = f[GOPS_GUARD_DATA_ZERO].memory,
        .workspace = f[GOPS_GUARD_WORKSPACE].memory,
        .workspace_bytes = f[GOPS_GUARD_WORKSPACE].bytes,
        .data_stride = gops_test_image_stride(&p->data, p->data_channel_gap, p->data_gap),
        .output_stride = gops_test_image_stride(&set->output, p->output_channel_gap, p->output_gap),
        .residual_stride =
            gops_test_image_stride(&set->output, p->output_channel_gap, p->residual_gap),
    };
    if (p->with_residual && p->residual_in_place) {
        arguments.residual = arguments.output;
        arguments.residual_stride = arguments.output_stride;
    }
    if (status == GOPS_OK)
        status = gops_execute(plan, &arguments, error);
    gops_filter_destroy(filter);
    return status;
}

int gops_guard_set_check(const gops_guard_set *set, const char *what, void *dense)
{
    const gops_test_planes planes = gops_test_planes_of(
        &set->output, set->problem->output_channel_gap, set->problem->output_gap);
    const unsigned char *output = set->of[GOPS_GUARD_OUTPUT].memory;
    const size_t written = gops_test_planes_written(&planes, output);
    int good =
        gops_test_check(written == 0, "%s: wrote %zu bytes of the output's gaps", what, written);
    for (int i = 0; i < GOPS_GUARD_BUFFERS; i++)
        if (set->of[i].pages != NULL)
            good &= gops_test_check(gops_fence_intact(&set->of[i]), "%s: wrote around the %s", what,
                                    names[i]);
    gops_test_planes_gather(&planes, output, dense);
    return good;
}

void gops_guard_set_destroy(gops_guard_set *set)
{
    for (int i = 0; i < GOPS_GUARD_BUFFERS; i++)
        gops_fence_destroy(&set->of[i]);
}
