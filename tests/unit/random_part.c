/* random_part.c: draws bricks of outputs, finds what they read, and computes them by parts of a plan. */
#include "random_part.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elements.h"
#include "harness.h"
#include "planes.h"
#include "problem_quantization.h"

/* A range on each axis of a tensor. */
typedef struct brick {
    int32_t rank;
    int64_t begin[GOPS_MAX_RANK], end[GOPS_MAX_RANK];
} brick;

static gops_tensor shape_of(const brick *b, gops_type type)
{
    gops_tensor shape = {type, b->rank, {0}};
    for (int32_t i = 0; i < b->rank; i++)
        shape.dims[i] = b->end[i] - b->begin[i];
    return shape;
}

/* Copies the brick out of a tensor into a dense one. */
static void *cut_out(const gops_tensor *whole, const void *elements, const brick *b)
{
    return gops_test_cut(whole, elements, b->begin, shape_of(b, whole->type).dims);
}

static int64_t at(const gops_list *list, int32_t axis, int64_t otherwise)
{
    return list->count == 0 ? otherwise : list->values[axis];
}

/* What the outputs of the brick read of one axis, and the pads that are left; false where they read
 * nothing. */
static bool axis_read(const gops_problem *problem, const gops_shape *shape, int32_t a, bool aligned,
                      brick *out, brick *in, gops_list lists[3])
{
    gops_list *begin = &lists[0], *end = &lists[1], *padding = &lists[2];
    const int deconv = problem->operation == GOPS_PROBLEM_DECONV;
    const gops_list *strides = deconv ? &problem->deconv.strides : &problem->conv.strides;
    const gops_list *dilations = deconv ? &problem->deconv.dilations : &problem->conv.dilations;
    const int64_t stride = at(strides, a, 1), data = problem->data.dims[a + 2];
    const int64_t reach = (problem->filter.dims[a + 3] - 1) * at(dilations, a, 1);
    const int64_t pad = shape->pads_begin.values[a];
    begin->count = end->count = padding->count = a + 1;
    if (!deconv) {
        const int64_t from = out->begin[a + 2] * stride - pad;
        const int64_t to = (out->end[a + 2] - 1) * stride - pad + reach + 1;
        in->begin[a + 2] = from < 0 ? 0 : from;
        in->end[a + 2] = to > data ? data : to;
        begin->values[a] = in->begin[a + 2] - from;
        end->values[a] = to - in->end[a + 2];
        return in->begin[a + 2] < in->end[a + 2];
    }
    out->begin[a + 2] -= aligned ? out->begin[a + 2] % stride : 0;
    const int64_t from = out->begin[a + 2] + pad, to = out->end[a + 2] + pad;
    int64_t first = from <= reach ? 0 : (from - reach + stride - 1) / stride;
    int64_t last = (to - 1) / stride;
    last = last > data - 1 ? data - 1 : last;
    first = first > from / stride ? from / stride : first;
    first = first > last ? last : first;
    const int64_t full = stride * (last - first) + reach + 1, wanted = to - first * stride;
    in->begin[a + 2] = first;
    in->end[a + 2] = last + 1;
    begin->values[a] = from - first * stride;
    end->values[a] = full > wanted ? full - wanted : 0;
    padding->values[a] = full > wanted ? 0 : wanted - full;
    return true;
}

/* A random brick of the outputs and what it reads. */
static bool draw(gops_whole *of, const gops_shape *shape, brick *out, brick *in, gops_list lists[3])
{
    const gops_problem *problem = of->problem;
    const int deconv = problem->operation == GOPS_PROBLEM_DECONV;
    const int64_t channels_in = problem->data.dims[1] / problem->filter.dims[0];
    const int64_t channels_out = problem->filter.dims[deconv ? 2 : 1];
    /* All packings serve a transposed part that begins at a multiple of the stride. */
    const bool aligned = gops_test_random_chance(of->random, 60);
    *out = *in = (brick){.rank = problem->data.rank};
    for (int32_t i = 0; i < out->rank; i++) {
        const int64_t size = i == 1 ? problem->filter.dims[0] : of->output.dims[i];
        out->begin[i] = gops_test_random_range(of->random, 0, size - 1);
        out->end[i] = gops_test_random_range(of->random, out->begin[i] + 1, size);
    }
    in->begin[0] = out->begin[0];
    in->end[0] = out->end[0];
    in->begin[1] = out->begin[1] * channels_in;
    in->end[1] = out->end[1] * channels_in;
    out->begin[1] *= channels_out;
    out->end[1] *= channels_out;
    for (int32_t a = 0; a < out->rank - 2; a++) {
        if (!axis_read(problem, shape, a, aligned, out, in, lists))
            return false;
    }
    return true;
}

/* Packs the rows of the filter that belong to the part's groups. */
static gops_status pack(const gops_whole *of, const gops_plan *packer, int64_t group,
                        const brick *out, gops_packed_filter **filter, gops_error *error)
{
    const gops_problem *p = of->problem;
    gops_quantization own;
    void *zeros = gops_test_allocate(gops_problem_zero_point_bytes(p));
    gops_problem_set_zero_points(p, zeros);
    const int64_t each = gops_test_elements(&p->filter) / p->filter.dims[0];
    const char *weights = (const char *)of->buffers->weights.memory +
                          (size_t)(group * each) * gops_test_type_bytes(p->filter.type);
    const gops_status status = gops_filter_create(
        packer, weights,
        gops_problem_quantization_of(p, zeros, out->begin[1], out->end[1] - out->begin[1], &own),
        filter, error);
    free(zeros);
    return status;
}

static const void *at_channel(const gops_test_guarded *buffer, gops_type type, int64_t channel)
{
    return buffer->memory == NULL
               ? NULL
               : (const char *)buffer->memory + (size_t)channel * gops_test_type_bytes(type);
}

/* The brick as its plan takes it: its channels are as far apart as those of `whole` with its gaps. */
static gops_test_planes planes_of(const brick *b, const gops_tensor *whole, int64_t channel_gap)
{
    const gops_tensor shape = shape_of(b, whole->type);
    const int64_t stride = gops_test_channel_stride(whole, channel_gap);
    return gops_test_planes_of(&shape, stride == 0 ? 0 : stride - gops_test_pixels(&shape), 0);
}

/* The same out of a dense tensor, with the gaps filled; to be freed. */
static void *cut_planes(const gops_tensor *whole, const void *elements, const brick *b,
                        int64_t channel_gap)
{
    const gops_test_planes planes = planes_of(b, whole, channel_gap);
    void *dense = cut_out(whole, elements, b), *made = gops_test_allocate(planes.whole);
    memset(made, GOPS_TEST_GAP, planes.whole);
    gops_test_planes_spread(&planes, dense, made);
    free(dense);
    return made;
}

/* Executes the part of `plan`; the outputs, and the residual there before it, are at `output`. */
static gops_status run_part(const gops_whole *of, const gops_plan *plan, const gops_plan *part,
                            const brick *in, const brick *out, void *output, gops_error *error)
{
    const gops_problem *p = of->problem;
    const bool all_groups = in->end[1] - in->begin[1] == p->data.dims[1];
    const int64_t group = in->begin[1] / (p->data.dims[1] / p->filter.dims[0]);
    const gops_tensor residual = gops_problem_residual(p, &of->output);
    const gops_tensor bias = gops_problem_bias(p, &of->output);
    gops_packed_filter *filter = NULL;
    uint64_t zero_point;
    void *data = cut_planes(&p->data, of->buffers->data.memory, in, p->data_channel_gap);
    void *added = NULL;
    gops_status status = pack(of, all_groups ? plan : part, group, out, &filter, error);
    gops_arguments arguments = {
        .size = sizeof arguments, .data = data, .filter = filter, .output = output};
    arguments.bias = at_channel(&of->buffers->bias, bias.type, out->begin[1]);
    arguments.slopes = at_channel(&of->buffers->slopes, of->output.type, out->begin[1]);
    if (p->data_zero_point != NULL) {
        gops_test_set_integer(p->data.type, &zero_point, 0, (uint64_t)*p->data_zero_point);
        arguments.data_zero_point = &zero_point;
    }
    if (p->with_residual) {
        added = cut_planes(&residual, of->buffers->residual.memory, out, p->output_channel_gap);
        arguments.residual = added;
        if (gops_problem_fits_in_place(p) && gops_test_random_chance(of->random, 30))
            arguments.residual =
                memcpy(output, added, planes_of(out, &residual, p->output_channel_gap).whole);
    }
    if (status == GOPS_OK)
        status = gops_execute(part, &arguments, error);
    gops_filter_destroy(filter);
    free(data);
    free(added);
    return status;
}

static void describe(gops_whole *of, const brick *out, const gops_plan_info *info,
                     const gops_error *error)
{
    gops_problem_text text;
    snprintf(of->what, sizeof of->what,
             "%s, by %s on %s: part [%lld:%lld, %lld:%lld, %lld:%lld...]: %s",
             gops_problem_describe(of->problem, &text), info->algorithm, gops_isa(),
             (long long)out->begin[0], (long long)out->end[0], (long long)out->begin[1],
             (long long)out->end[1], (long long)out->begin[2], (long long)out->end[2],
             error->status != GOPS_OK ? error->message : "other bits, or written gaps");
}

int gops_compare_part(gops_whole *of, const gops_plan *plan)
{
    gops_plan_info info = GOPS_PLAN_INFO_INIT;
    gops_plan *part = NULL;
    gops_error error = {GOPS_OK, ""};
    gops_list lists[3] = {{0}};
    brick out, in;
    gops_plan_get_info(plan, &info, NULL);
    if (!draw(of, &info.shape, &out, &in, lists))
        return 1;
    const gops_tensor data = shape_of(&in, of->problem->data.type);
    const bool deconv = of->problem->operation == GOPS_PROBLEM_DECONV;
    if (gops_plan_part(plan, &data, &lists[0], &lists[1], deconv ? &lists[2] : NULL, &part,
                       &error) != GOPS_OK) {
        describe(of, &out, &info, &error);
        return error.status == GOPS_UNSUPPORTED;
    }
    const size_t bytes = planes_of(&out, &of->output, of->problem->output_channel_gap).whole;
    void *expected =
        cut_planes(&of->output, of->buffers->output.memory, &out, of->problem->output_channel_gap);
    void *computed = gops_test_allocate(bytes);
    memset(computed, GOPS_TEST_GAP, bytes);
    const gops_status status = run_part(of, plan, part, &in, &out, computed, &error);
    const int same = status == GOPS_OK && memcmp(computed, expected, bytes) == 0;
    if (!same)
        describe(of, &out, &info, &error);
    of->compared++;
    if (of->tally != NULL)
        gops_test_count(of->tally, of->problem, plan);
    gops_plan_destroy(part);
    free(computed);
    free(expected);
    return same;
}

static bool begins_with(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

int gops_compare_parts(void *context, const gops_plan *plan)
{
    enum { PARTS = 3 };
    gops_whole *of = context;
    gops_plan_info info = GOPS_PLAN_INFO_INIT;
    gops_error error = {GOPS_OK, ""};
    gops_plan_get_info(plan, &info, NULL);
    if (gops_test_type_is_real(of->problem->data.type) &&
        (strcmp(info.algorithm, "gemm") == 0 || begins_with(info.algorithm, "winograd/"))) {
        gops_plan *part = NULL;
        const gops_status status =
            gops_plan_part(plan, &of->problem->data, NULL, NULL, NULL, &part, &error);
        return gops_test_check(status == GOPS_UNSUPPORTED && part == NULL &&
                                   begins_with(error.message, "algorithm ") &&
                                   strstr(error.message, info.algorithm) != NULL,
                               "a part of %s: %s", info.algorithm, error.message);
    }
    if (gops_problem_execute(of->problem, plan, of->buffers, NULL, 0, &error) != GOPS_OK)
        return gops_test_check(0, "%s", error.message);
    for (int i = 0; i < PARTS; i++) {
        const int same = gops_compare_part(of, plan);
        of->good &= gops_test_check(same, "%s", of->what);
    }
    return of->good;
}
