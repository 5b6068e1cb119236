/* fuzz_buffers.c: allocates and fills what a case is executed with, dense or as slices of larger
 * tensors. */
#include "fuzz_buffers.h"

#include <stdlib.h>
#include <string.h>

#include "elements.h"
#include "problem_quantization.h"

gops_fuzz_buffer gops_fuzz_buffer_create(gops_type type, int64_t count, int offset)
{
    const size_t size = gops_test_type_bytes(type);
    gops_fuzz_buffer b = {.bytes = (size_t)count * size};
    b.memory = gops_test_allocate(b.bytes + (size_t)offset * size);
    b.start = (unsigned char *)b.memory + (size_t)offset * size;
    memset(b.start, 0xff, b.bytes);
    return b;
}

static void fill(const gops_fuzz_case *c, gops_type type, const gops_fuzz_buffer *b,
                 gops_test_random *random)
{
    const int64_t count = (int64_t)(b->bytes / gops_test_type_bytes(type));
    if (c->filling == GOPS_FUZZ_RANDOM)
        gops_test_random_fill(random, type, b->start, count);
    for (size_t i = 0; c->filling == GOPS_FUZZ_BIT_NOISE && i < b->bytes; i++)
        b->start[i] = (unsigned char)gops_test_random_bits(random);
    for (int64_t i = 0; c->filling == GOPS_FUZZ_WHOLE && i < count; i++) {
        const int64_t value = gops_test_random_range(random, -3, 3);
        if (gops_test_type_is_real(type))
            gops_test_set_real(type, b->start, i, (long double)value);
        else
            gops_test_set_integer(type, b->start, i, (uint64_t)value);
    }
}

/* The images of a dense tensor, `gap` elements apart, with garbage between them. */
static gops_fuzz_buffer spread(const gops_tensor *tensor, const gops_fuzz_buffer *dense, int gap,
                               int offset)
{
    const size_t size = gops_test_type_bytes(tensor->type);
    const size_t images = (size_t)tensor->dims[0];
    const size_t image = images > 0 ? dense->bytes / images : 0, apart = image + (size_t)gap * size;
    const size_t bytes = images > 0 ? (images - 1) * apart + image : 0;
    gops_fuzz_buffer view = gops_fuzz_buffer_create(tensor->type, (int64_t)(bytes / size), offset);
    for (size_t i = 0; i < images; i++)
        memcpy(view.start + i * apart, dense->start + i * image, image);
    return view;
}

/* The way back; what lies between the images is still as it was. */
static void gather(const gops_tensor *tensor, const gops_fuzz_buffer *view, int gap,
                   const gops_fuzz_buffer *dense)
{
    const size_t size = gops_test_type_bytes(tensor->type);
    const size_t images = (size_t)tensor->dims[0];
    const size_t image = images > 0 ? dense->bytes / images : 0, apart = image + (size_t)gap * size;
    for (size_t i = 0; i < images; i++) {
        memcpy(dense->start + i * image, view->start + i * apart, image);
        for (size_t at = image; at < apart && i + 1 < images; at++)
            gops_fuzz_require(view->start[i * apart + at] == 0xff, "wrote behind image %zu", i);
    }
}

gops_fuzz_buffers gops_fuzz_buffers_create(const gops_fuzz_case *c, const gops_tensor *output)
{
    const gops_problem *p = &c->problem;
    const gops_type type = p->data.type;
    gops_test_random random = gops_test_random_start(c->seed, 0);
    gops_fuzz_buffers b = {
        .data = gops_fuzz_buffer_create(type, gops_test_elements(&p->data), c->offset)};
    fill(c, type, &b.data, &random);
    if (p->operation == GOPS_PROBLEM_NORM) {
        const gops_type moment = type == GOPS_F64 ? GOPS_F64 : GOPS_F32;
        const int64_t moments = c->with_moments ? p->data.dims[0] * p->norm.num_groups : 0;
        b.scale = gops_fuzz_buffer_create(type, p->data.dims[1], c->offset);
        b.bias = gops_fuzz_buffer_create(type, p->data.dims[1], c->offset);
        b.mean = gops_fuzz_buffer_create(moment, moments, c->offset);
        b.variance = gops_fuzz_buffer_create(moment, moments, c->offset);
        fill(c, type, &b.scale, &random);
        fill(c, type, &b.bias, &random);
    } else {
        b.weights =
            gops_fuzz_buffer_create(p->filter.type, gops_test_elements(&p->filter), c->offset);
        fill(c, p->filter.type, &b.weights, &random);
    }
    if (p->with_bias) {
        const gops_tensor bias = gops_problem_bias(p, output);
        b.bias = gops_fuzz_buffer_create(bias.type, bias.dims[0], c->offset);
        fill(c, bias.type, &b.bias, &random);
    }
    if (p->activation.kind == GOPS_ACTIVATION_PRELU) {
        b.slopes = gops_fuzz_buffer_create(output->type, output->dims[1], c->offset);
        fill(c, output->type, &b.slopes, &random);
    }
    if (p->with_residual) {
        const gops_type residual = gops_problem_residual(p, output).type;
        b.residual = gops_fuzz_buffer_create(residual, gops_test_elements(output), c->offset);
        fill(c, residual, &b.residual, &random);
    }
    b.output = gops_fuzz_buffer_create(output->type, gops_test_elements(output), c->offset);
    return b;
}

void gops_fuzz_buffers_destroy(gops_fuzz_buffers *b)
{
    gops_fuzz_buffer *all[] = {&b->data,     &b->weights, &b->scale, &b->bias,    &b->slopes,
                               &b->residual, &b->output,  &b->mean,  &b->variance};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]->memory);
}

static int64_t stride_of(const gops_tensor *tensor, int gap)
{
    return gap == 0 ? 0 : gops_test_elements(tensor) / tensor->dims[0] + gap;
}

gops_fuzz_views gops_fuzz_views_enter(const gops_fuzz_case *c, const gops_tensor *output,
                                      const gops_fuzz_buffers *b, gops_arguments *a)
{
    const int is_empty = gops_test_elements(output) == 0;
    gops_fuzz_views v = {.data = spread(&c->problem.data, &b->data, c->data_gap, c->offset)};
    v.output = spread(output, c->problem.residual_in_place ? &b->residual : &b->output,
                      c->output_gap, c->offset);
    a->data = v.data.start;
    a->output = v.output.start;
    if (!is_empty) {
        a->data_stride = stride_of(&c->problem.data, c->data_gap);
        a->output_stride = stride_of(output, c->output_gap);
    }
    if (c->problem.residual_in_place) {
        a->residual = a->output;
        a->residual_stride = a->output_stride;
    } else if (c->problem.with_residual) {
        const gops_tensor residual = gops_problem_residual(&c->problem, output);
        v.residual = spread(&residual, &b->residual, c->residual_gap, c->offset);
        a->residual = v.residual.start;
        a->residual_stride = is_empty ? 0 : stride_of(output, c->residual_gap);
    }
    return v;
}

void gops_fuzz_views_leave(const gops_fuzz_case *c, const gops_tensor *output, gops_fuzz_views *v,
                           const gops_fuzz_buffers *b)
{
    gather(output, &v->output, c->output_gap, &b->output);
    free(v->data.memory);
    free(v->output.memory);
    free(v->residual.memory);
}
