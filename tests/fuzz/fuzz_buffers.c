/* fuzz_buffers.c: allocates and fills what a case is executed with, dense or as parts of larger
 * tensors. */
#include "fuzz_buffers.h"

#include <stdlib.h>
#include <string.h>

#include "elements.h"
#include "planes.h"
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

/* A dense tensor with gaps behind its channels and images. */
static gops_fuzz_buffer spread(const gops_tensor *tensor, const gops_fuzz_buffer *dense,
                               int64_t channel_gap, int gap, int offset)
{
    const size_t size = gops_test_type_bytes(tensor->type);
    const gops_test_planes planes = gops_test_planes_of(tensor, channel_gap, gap);
    gops_fuzz_buffer view =
        gops_fuzz_buffer_create(tensor->type, (int64_t)(planes.whole / size), offset);
    gops_test_planes_spread(&planes, dense->start, view.start);
    return view;
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

gops_fuzz_views gops_fuzz_views_enter(const gops_fuzz_case *c, const gops_tensor *output,
                                      const gops_fuzz_buffers *b, gops_arguments *a)
{
    const gops_problem *p = &c->problem;
    const int64_t in = p->data_channel_gap, out = p->output_channel_gap;
    gops_fuzz_views v = {.data = spread(&p->data, &b->data, in, c->data_gap, c->offset)};
    v.output = spread(output, p->residual_in_place ? &b->residual : &b->output, out, c->output_gap,
                      c->offset);
    a->data = v.data.start;
    a->data_stride = gops_test_image_stride(&p->data, in, c->data_gap);
    a->output = v.output.start;
    a->output_stride = gops_test_image_stride(output, out, c->output_gap);
    if (p->residual_in_place) {
        a->residual = a->output;
        a->residual_stride = a->output_stride;
    } else if (p->with_residual) {
        const gops_tensor residual = gops_problem_residual(p, output);
        v.residual = spread(&residual, &b->residual, out, c->residual_gap, c->offset);
        a->residual = v.residual.start;
        a->residual_stride = gops_test_image_stride(output, out, c->residual_gap);
    }
    return v;
}

void gops_fuzz_views_leave(const gops_fuzz_case *c, const gops_tensor *output, gops_fuzz_views *v,
                           const gops_fuzz_buffers *b)
{
    const gops_test_planes planes =
        gops_test_planes_of(output, c->problem.output_channel_gap, c->output_gap);
    gops_test_planes_gather(&planes, v->output.start, b->output.start);
    gops_fuzz_require(gops_test_planes_written(&planes, v->output.start) == 0,
                      "wrote the output's gaps");
    free(v->data.memory);
    free(v->output.memory);
    free(v->residual.memory);
}
