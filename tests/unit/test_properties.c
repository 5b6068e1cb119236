/*
 * What must hold between results, whatever the right values are.
 *
 * Where two ways to one result are compared, the data are small whole numbers: every sum is exact
 * then, in any order, and the results must be equal to the last bit.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "random_problem.h"
#include "compare.h"
#include "elements.h"
#include "harness.h"

static const gops_type types[] = {GOPS_F32, GOPS_F64};
enum { TYPES = sizeof types / sizeof types[0], ROUNDS = 150 };

/* A problem with its buffers. */
typedef struct experiment {
    gops_problem problem;
    gops_tensor output;
    gops_problem_buffers buffers;
} experiment;

static experiment start(const gops_problem *problem, gops_test_random *random)
{
    experiment e = {.problem = *problem};
    gops_reference_geometry g;
    gops_test_check(gops_problem_reference_shape(problem, &g, &e.output), "an illegal problem");
    e.buffers = gops_problem_buffers_create(problem, &e.output, random);
    return e;
}

static void run(const experiment *e)
{
    gops_problem_text text;
    gops_error error = {GOPS_OK, ""};
    gops_test_check(gops_problem_run(&e->problem, &e->buffers, &error) == GOPS_OK, "%s: %s",
                    gops_problem_describe(&e->problem, &text), error.message);
}

static void finish(experiment *e)
{
    gops_problem_buffers_destroy(&e->buffers);
}

static size_t bytes_of(const gops_tensor *tensor)
{
    return (size_t)gops_test_elements(tensor) * gops_test_type_bytes(tensor->type);
}

static void whole_numbers(const gops_tensor *tensor, void *elements, gops_test_random *random)
{
    for (int64_t i = 0; i < gops_test_elements(tensor); i++)
        gops_test_set_real(tensor->type, elements, i,
                           (long double)gops_test_random_range(random, -9, 9));
}

/* Makes +0 of -0, which is as right. */
static void positive_zeros(const gops_tensor *tensor, void *elements)
{
    for (int64_t i = 0; i < gops_test_elements(tensor); i++)
        gops_test_set_real(tensor->type, elements, i,
                           gops_test_get_real(tensor->type, elements, i) + 0.0L);
}

static experiment start_whole(const gops_problem *problem, gops_test_random *random)
{
    experiment e = start(problem, random);
    whole_numbers(&problem->data, e.buffers.data.memory, random);
    whole_numbers(&problem->filter, e.buffers.weights.memory, random);
    return e;
}

/* Calls `property` with random problems of an operation that have elements. */
static void for_problems(gops_problem_operation operation, uint64_t stream,
                         void (*property)(const gops_problem *problem, gops_test_random *random))
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), stream);
    for (int i = 0; i < ROUNDS;) {
        gops_problem problem = gops_random_problem(operation, types[i % TYPES], &random);
        int empty = problem.data.dims[0] == 0 ||
                    (operation != GOPS_PROBLEM_NORM && gops_test_elements(&problem.filter) == 0);
        if (!empty) {
            property(&problem, &random);
            i++;
        }
    }
}

/* The transposed convolution with conv's filter and pads; output_padding makes up for what the
 * stride left over. */
static gops_problem transposed(const gops_problem *conv)
{
    gops_reference_geometry g;
    gops_problem back = {.operation = GOPS_PROBLEM_DECONV, .filter = conv->filter};
    gops_problem_reference_shape(conv, &g, &back.data);
    back.deconv.strides = conv->conv.strides;
    back.deconv.dilations = conv->conv.dilations;
    gops_list *begin = &back.deconv.pads_begin, *end = &back.deconv.pads_end;
    begin->count = end->count = back.deconv.output_padding.count = g.spatial;
    for (int32_t i = 0; i < g.spatial; i++) {
        int64_t reach = (g.kernel[i] - 1) * g.dilation[i] + 1;
        begin->values[i] = g.pads_begin[i];
        end->values[i] = g.pads_end[i];
        back.deconv.output_padding.values[i] =
            (g.pads_begin[i] + g.data[i] + g.pads_end[i] - reach) % g.stride[i];
    }
    return back;
}

/* The sum of a b over two tensors of one shape. */
static long double inner(const gops_tensor *t, const void *a, const void *b)
{
    long double sum = 0;
    for (int64_t i = 0; i < gops_test_elements(t); i++)
        sum += gops_test_get_real(t->type, a, i) * gops_test_get_real(t->type, b, i);
    return sum;
}

/* The most that the inner product of the experiment's output with `other` may be off by: the
 * reference's bound for each element, times the one it is multiplied with. */
static long double inner_bound(const experiment *e, const void *other)
{
    gops_reference_result result;
    long double sum = 0;
    gops_problem_reference(&e->problem, &e->buffers, &result);
    for (int64_t i = 0; i < gops_test_elements(&e->output); i++)
        sum += result.bound[i] * fabsl(gops_test_get_real(e->output.type, other, i));
    gops_reference_result_destroy(&result);
    return sum;
}

/* <conv(x), y> = <x, backprop(y)>. The filter is one array: what conv calls [G, C_OUT, C_IN, K] is
 * backprop's [G, C_IN, C_OUT, K]. */
static void adjoint(const gops_problem *conv, gops_test_random *random)
{
    gops_problem_text text;
    gops_problem back = transposed(conv);
    experiment f = start(conv, random);
    experiment b = start(&back, random);
    memcpy(b.buffers.weights.memory, f.buffers.weights.memory, bytes_of(&conv->filter));
    run(&f);
    run(&b);
    const void *x = f.buffers.data.memory, *y = b.buffers.data.memory;
    if (gops_test_check(bytes_of(&b.output) == bytes_of(&conv->data), "another size than x")) {
        long double left = inner(&f.output, f.buffers.output.memory, y);
        long double right = inner(&b.output, x, b.buffers.output.memory);
        long double bound = inner_bound(&f, y) + inner_bound(&b, x);
        gops_test_check(fabsl(left - right) <= bound,
                        "%s: <conv(x), y> = %.17Lg, <x, backprop(y)> = %.17Lg, bound %.3Lg",
                        gops_problem_describe(conv, &text), left, right, bound);
    }
    finish(&f);
    finish(&b);
}

static void backprop_is_the_adjoint(void)
{
    for_problems(GOPS_PROBLEM_CONV, 11, adjoint);
}

/* One call for each image and group instead of one for all. */
static void split(const gops_problem *problem, gops_test_random *random)
{
    gops_problem_text text;
    experiment whole = start_whole(problem, random);
    gops_problem part = *problem;
    part.data.dims[0] = 1;
    part.data.dims[1] /= problem->filter.dims[0];
    part.filter.dims[0] = 1;
    experiment piece = start(&part, random);
    run(&whole);
    int64_t groups = problem->filter.dims[0];
    char *expected = gops_test_allocate(bytes_of(&whole.output));
    for (int64_t i = 0; i < problem->data.dims[0] * groups; i++) {
        size_t filter = bytes_of(&part.filter);
        memcpy(piece.buffers.data.memory,
               (char *)whole.buffers.data.memory + (size_t)i * bytes_of(&part.data),
               bytes_of(&part.data));
        memcpy(piece.buffers.weights.memory,
               (char *)whole.buffers.weights.memory + (size_t)(i % groups) * filter, filter);
        run(&piece);
        memcpy(expected + (size_t)i * bytes_of(&piece.output), piece.buffers.output.memory,
               bytes_of(&piece.output));
    }
    positive_zeros(&whole.output, whole.buffers.output.memory);
    positive_zeros(&whole.output, expected);
    gops_test_check(gops_test_compare_bytes(gops_problem_describe(problem, &text), &whole.output,
                                            whole.buffers.output.memory, expected),
                    "one grouped call differs from its parts");
    free(expected);
    finish(&whole);
    finish(&piece);
}

static void groups_split_by_hand(void)
{
    for_problems(GOPS_PROBLEM_CONV, 12, split);
    for_problems(GOPS_PROBLEM_DECONV, 13, split);
}

/* Copies `blocks` blocks of equal size; block i of `to` is block order[i] of `from`. */
static void copy_permuted(void *to, const void *from, size_t bytes, int64_t blocks,
                          const int64_t *order)
{
    size_t size = bytes / (size_t)blocks;
    for (int64_t i = 0; i < blocks; i++)
        memcpy((char *)to + (size_t)i * size, (const char *)from + (size_t)order[i] * size, size);
}

enum { MAX_BLOCKS = 256 };

/* A random order of the images, and within each the same one of the groups. */
static void random_order(int64_t batch, int64_t groups, int64_t *both, int64_t *of_groups,
                         gops_test_random *random)
{
    int64_t images[MAX_BLOCKS];
    for (int64_t i = 0; i < batch; i++) {
        int64_t j = gops_test_random_range(random, 0, i);
        images[i] = images[j];
        images[j] = i;
    }
    for (int64_t i = 0; i < groups; i++) {
        int64_t j = gops_test_random_range(random, 0, i);
        of_groups[i] = of_groups[j];
        of_groups[j] = i;
    }
    for (int64_t i = 0; i < batch * groups; i++)
        both[i] = images[i / groups] * groups + of_groups[i % groups];
}

/* Images and groups in another order: the same results in that order, to the last bit, for any
 * data. */
static void permute(const gops_problem *problem, gops_test_random *random)
{
    gops_problem_text text;
    int norm = problem->operation == GOPS_PROBLEM_NORM;
    int64_t groups = norm ? problem->norm.num_groups : problem->filter.dims[0];
    int64_t both[MAX_BLOCKS], of_groups[MAX_BLOCKS];
    int64_t blocks = problem->data.dims[0] * groups;
    if (blocks > MAX_BLOCKS)
        return;
    random_order(problem->data.dims[0], groups, both, of_groups, random);
    experiment a = start(problem, random);
    experiment b = start(problem, random);
    copy_permuted(b.buffers.data.memory, a.buffers.data.memory, bytes_of(&problem->data), blocks,
                  both);
    if (norm) {
        gops_tensor c = gops_problem_coefficients(problem);
        copy_permuted(b.buffers.scale.memory, a.buffers.scale.memory, bytes_of(&c), groups,
                      of_groups);
        copy_permuted(b.buffers.bias.memory, a.buffers.bias.memory, bytes_of(&c), groups,
                      of_groups);
    } else {
        copy_permuted(b.buffers.weights.memory, a.buffers.weights.memory,
                      bytes_of(&problem->filter), groups, of_groups);
    }
    run(&a);
    run(&b);
    void *expected = gops_test_allocate(bytes_of(&a.output));
    copy_permuted(expected, a.buffers.output.memory, bytes_of(&a.output), blocks, both);
    gops_test_check(gops_test_compare_bytes(gops_problem_describe(problem, &text), &a.output,
                                            b.buffers.output.memory, expected),
                    "another order of images and groups gives other values");
    free(expected);
    finish(&a);
    finish(&b);
}

static void order_does_not_matter(void)
{
    for_problems(GOPS_PROBLEM_CONV, 14, permute);
    for_problems(GOPS_PROBLEM_DECONV, 15, permute);
    for_problems(GOPS_PROBLEM_NORM, 16, permute);
}

/*
 * Data moved by one stride along the first spatial axis (conv) or by one element (deconv) moves the
 * output by one element (conv) or one stride (deconv). What enters at the beginning is zero, and
 * what would leave at the end is zero beforehand; the outputs at the beginning, which see the new
 * zeros, are left out.
 */
static void shift(const gops_problem *problem, gops_test_random *random)
{
    gops_problem_text text;
    gops_reference_geometry g;
    gops_tensor output;
    gops_problem_reference_shape(problem, &g, &output);
    int conv = problem->operation == GOPS_PROBLEM_CONV;
    int64_t in = conv ? g.stride[0] : 1, out = conv ? 1 : g.stride[0];
    if (g.data[0] <= in || g.result[0] <= out)
        return;
    experiment a = start_whole(problem, random);
    experiment b = start(problem, random);
    size_t type_bytes = gops_test_type_bytes(problem->data.type);
    size_t in_row = type_bytes, out_row = type_bytes;
    for (int32_t i = 1; i < g.spatial; i++) {
        in_row *= (size_t)g.data[i];
        out_row *= (size_t)g.result[i];
    }
    size_t in_size = in_row * (size_t)g.data[0], out_size = out_row * (size_t)g.result[0];
    size_t in_moved = in_row * (size_t)in, out_moved = out_row * (size_t)out;
    for (int64_t c = 0; c < g.batch * g.groups * g.c_in; c++) {
        char *from = (char *)a.buffers.data.memory + (size_t)c * in_size;
        char *to = (char *)b.buffers.data.memory + (size_t)c * in_size;
        memset(from + in_size - in_moved, 0, in_moved);
        memset(to, 0, in_moved);
        memcpy(to + in_moved, from, in_size - in_moved);
    }
    memcpy(b.buffers.weights.memory, a.buffers.weights.memory, bytes_of(&problem->filter));
    run(&a);
    run(&b);
    positive_zeros(&a.output, a.buffers.output.memory);
    positive_zeros(&b.output, b.buffers.output.memory);
    int equal = 1;
    for (int64_t c = 0; c < g.batch * g.groups * g.c_out; c++) {
        const char *before = (char *)a.buffers.output.memory + (size_t)c * out_size;
        const char *after = (char *)b.buffers.output.memory + (size_t)c * out_size;
        equal = equal && memcmp(before, after + out_moved, out_size - out_moved) == 0;
    }
    gops_test_check(equal, "%s: the output did not move with the data",
                    gops_problem_describe(problem, &text));
    finish(&a);
    finish(&b);
}

static void output_moves_with_the_data(void)
{
    for_problems(GOPS_PROBLEM_CONV, 17, shift);
    for_problems(GOPS_PROBLEM_DECONV, 18, shift);
}

int main(void)
{
    static const gops_test_case cases[] = {
        {"backprop_is_the_adjoint", backprop_is_the_adjoint},
        {"groups_split_by_hand", groups_split_by_hand},
        {"order_does_not_matter", order_does_not_matter},
        {"output_moves_with_the_data", output_moves_with_the_data},
        {NULL, NULL}};
    return gops_test_main("properties", cases);
}
