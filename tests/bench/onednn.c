/* onednn.c: oneDNN through its C interface of version 2, three ways: in the layout it likes best
 * with the reorders of data and output counted and not counted, and on plain tensors throughout.
 * Weights are reordered beforehand in all of them, as an engine would. A quantized layer has a scale
 * for each output channel among the primitive's attributes. */
#include "contestant.h"

#include <oneapi/dnnl/dnnl.h>

#include <omp.h>
#include <stdlib.h>
#include <string.h>

typedef enum layout { BEST_WITH_REORDERS, BEST_ALONE, PLAIN } layout;

/* A tensor as the layer has it and as the primitive wants it: one memory twice where they agree. */
typedef struct operand {
    dnnl_memory_t plain;
    dnnl_memory_t wanted;
    dnnl_primitive_t reorder; /* between the two; NULL where they agree */
} operand;

typedef struct onednn {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_primitive_desc_t description;
    dnnl_primitive_t primitive;
    operand data, filter, output;
    void *plain_output;
    float *scales;
    bool count_reorders;
} onednn;

static bool works(dnnl_status_t status, const char *what, gops_peer_note *note)
{
    return status == dnnl_success || gops_peer_refuse(note, "%s: oneDNN status %d", what, status);
}

static void operand_destroy(operand *self)
{
    dnnl_primitive_destroy(self->reorder);
    if (self->wanted != self->plain) {
        dnnl_memory_destroy(self->wanted);
    }
    dnnl_memory_destroy(self->plain);
}

static void destroy(void *state)
{
    onednn *self = state;
    operand_destroy(&self->data);
    operand_destroy(&self->filter);
    operand_destroy(&self->output);
    dnnl_primitive_destroy(self->primitive);
    dnnl_primitive_desc_destroy(self->description);
    dnnl_stream_destroy(self->stream);
    dnnl_engine_destroy(self->engine);
    free(self->plain_output);
    free(self->scales);
    free(self);
}

typedef struct window {
    dnnl_dims_t strides, dilations, pads_begin, pads_end;
} window;

/* The three tensors as the layer has them. */
typedef struct plain_tensors {
    dnnl_memory_desc_t data, filter, output;
} plain_tensors;

static bool plain_tensor(const gops_tensor *tensor, dnnl_data_type_t type, dnnl_memory_desc_t *md,
                         gops_peer_note *note)
{
    dnnl_dims_t dims = {0};
    dnnl_dims_t strides = {0};
    int64_t stride = 1;
    for (int i = tensor->rank - 1; i >= 0; i--) {
        dims[i] = tensor->dims[i];
        strides[i] = stride;
        stride *= tensor->dims[i];
    }
    return works(dnnl_memory_desc_init_by_strides(md, tensor->rank, dims, type, strides),
                 "a tensor", note);
}

/* oneDNN counts a filter's axes as groups (none for one group), outputs, inputs, kernel; the
 * transposed convolution's lies in memory with inputs before outputs. */
static bool plain_filter(const gops_peer_problem *problem, dnnl_data_type_t type,
                         dnnl_memory_desc_t *md, gops_peer_note *note)
{
    const bool transposed = problem->operation->bit == GOPS_OF_DECONV;
    const int64_t outputs_stride = transposed ? problem->taps : problem->c_in * problem->taps;
    const int64_t inputs_stride = transposed ? problem->c_out * problem->taps : problem->taps;
    dnnl_dims_t dims = {0};
    dnnl_dims_t strides = {0};
    int rank = 0;
    if (problem->groups > 1) {
        dims[rank] = problem->groups;
        strides[rank++] = problem->c_out * problem->c_in * problem->taps;
    }
    dims[rank] = problem->c_out;
    strides[rank++] = outputs_stride;
    dims[rank] = problem->c_in;
    strides[rank++] = inputs_stride;
    int64_t stride = problem->taps;
    for (int i = 0; i < problem->spatial; i++) {
        dims[rank] = problem->kernel.values[i];
        stride /= problem->kernel.values[i];
        strides[rank++] = stride;
    }
    return works(dnnl_memory_desc_init_by_strides(md, rank, dims, type, strides), "the filter",
                 note);
}

static bool any(dnnl_memory_desc_t *md, gops_peer_note *note)
{
    dnnl_dims_t dims;
    memcpy(dims, md->dims, sizeof dims);
    return works(
        dnnl_memory_desc_init_by_tag(md, md->ndims, dims, md->data_type, dnnl_format_tag_any),
        "any layout", note);
}

/* oneDNN counts a dilation from 0, and takes what output_padding adds off the pads. */
static window windows(const gops_peer_problem *problem)
{
    window axes = {{0}, {0}, {0}, {0}};
    for (int i = 0; i < problem->spatial; i++) {
        axes.strides[i] = problem->strides.values[i];
        axes.dilations[i] = problem->dilations.values[i] - 1;
        axes.pads_begin[i] = problem->pads_begin.values[i];
        axes.pads_end[i] = problem->pads_end.values[i] - problem->output_padding.values[i];
    }
    return axes;
}

/* What the sums are multiplied by: mask 1 << 1 means one factor for each of the output's channels. */
static bool quantize(onednn *self, const gops_peer_problem *problem, dnnl_primitive_attr_t *made,
                     gops_peer_note *note)
{
    const gops_peer_codes *codes = &problem->codes;
    const int64_t channels = problem->groups * problem->c_out;
    self->scales = gops_peer_floats((size_t)channels);
    if (self->scales == NULL || !works(dnnl_primitive_attr_create(made), "attributes", note)) {
        return false;
    }
    for (int64_t o = 0; o < channels; o++) {
        self->scales[o] = codes->data_scale * codes->filter_scales[o] / codes->output_scale;
    }
    return works(dnnl_primitive_attr_set_output_scales(*made, channels, 1 << 1, self->scales),
                 "scales", note);
}

static bool describe(onednn *self, const gops_peer_problem *problem, plain_tensors tensors,
                     layout how, gops_peer_note *note)
{
    const window axes = windows(problem);
    dnnl_convolution_desc_t convolution;
    dnnl_deconvolution_desc_t deconvolution;
    if (!any(&tensors.filter, note) ||
        (how != PLAIN && (!any(&tensors.data, note) || !any(&tensors.output, note)))) {
        return false;
    }
    const bool transposed = problem->operation->bit == GOPS_OF_DECONV;
    const dnnl_status_t status =
        transposed ? dnnl_dilated_deconvolution_forward_desc_init(
                         &deconvolution, dnnl_forward_inference, dnnl_deconvolution_direct,
                         &tensors.data, &tensors.filter, NULL, &tensors.output, axes.strides,
                         axes.dilations, axes.pads_begin, axes.pads_end)
                   : dnnl_dilated_convolution_forward_desc_init(
                         &convolution, dnnl_forward_inference, dnnl_convolution_direct,
                         &tensors.data, &tensors.filter, NULL, &tensors.output, axes.strides,
                         axes.dilations, axes.pads_begin, axes.pads_end);
    const void *operation = transposed ? (const void *)&deconvolution : (const void *)&convolution;
    dnnl_primitive_attr_t attributes = NULL;
    const bool done = works(status, "the operation", note) &&
                      (problem->codes.data == NULL || quantize(self, problem, &attributes, note)) &&
                      works(dnnl_primitive_desc_create(&self->description, operation, attributes,
                                                       self->engine, NULL),
                            "its implementation", note);
    dnnl_primitive_attr_destroy(attributes);
    return done;
}

/* `plain` lies in `values`; what the primitive wants is allocated where it differs. */
static bool operand_make(onednn *self, operand *made, const dnnl_memory_desc_t *plain, void *values,
                         dnnl_query_t query, bool is_output, gops_peer_note *note)
{
    const dnnl_memory_desc_t *wanted = dnnl_primitive_desc_query_md(self->description, query, 0);
    if (!works(dnnl_memory_create(&made->plain, plain, self->engine, values), "a tensor", note)) {
        return false;
    }
    made->wanted = made->plain;
    if (dnnl_memory_desc_equal(plain, wanted)) {
        return true;
    }
    if (!works(dnnl_memory_create(&made->wanted, wanted, self->engine, DNNL_MEMORY_ALLOCATE),
               "a tensor", note)) {
        made->wanted = made->plain;
        return false;
    }
    dnnl_primitive_desc_t description;
    if (!works(dnnl_reorder_primitive_desc_create(&description, is_output ? wanted : plain,
                                                  self->engine, is_output ? plain : wanted,
                                                  self->engine, NULL),
               "reorder", note)) {
        return false;
    }
    const dnnl_status_t status = dnnl_primitive_create(&made->reorder, description);
    dnnl_primitive_desc_destroy(description);
    return works(status, "reorder", note);
}

static bool reorder(const onednn *self, const operand *moved, bool is_output, gops_peer_note *note)
{
    if (moved->reorder == NULL) {
        return true;
    }
    const dnnl_exec_arg_t arguments[] = {
        {DNNL_ARG_FROM, is_output ? moved->wanted : moved->plain},
        {DNNL_ARG_TO, is_output ? moved->plain : moved->wanted},
    };
    return works(dnnl_primitive_execute(moved->reorder, self->stream, 2, arguments), "reorder",
                 note);
}

static bool compute(const onednn *self, gops_peer_note *note)
{
    const dnnl_exec_arg_t arguments[] = {
        {DNNL_ARG_SRC, self->data.wanted},
        {DNNL_ARG_WEIGHTS, self->filter.wanted},
        {DNNL_ARG_DST, self->output.wanted},
    };
    return works(dnnl_primitive_execute(self->primitive, self->stream, 3, arguments), "execute",
                 note);
}

static bool finish(const onednn *self, gops_peer_note *note)
{
    return works(dnnl_stream_wait(self->stream), "wait", note);
}

static bool make(onednn *self, const gops_peer_problem *problem, layout how, gops_peer_note *note)
{
    const gops_peer_codes *codes = &problem->codes;
    const bool quantized = codes->data != NULL;
    const dnnl_data_type_t type = quantized ? dnnl_u8 : dnnl_f32;
    void *data = quantized ? (void *)codes->data : problem->values[0];
    void *weights = quantized ? (void *)codes->filter : problem->values[1];
    plain_tensors tensors;
    const char *implementation = "";
    self->count_reorders = how != BEST_ALONE;
    self->plain_output = gops_peer_floats(problem->output_elements);
    if (self->plain_output == NULL ||
        !works(dnnl_engine_create(&self->engine, dnnl_cpu, 0), "engine", note) ||
        !works(dnnl_stream_create(&self->stream, self->engine, dnnl_stream_default_flags), "stream",
               note) ||
        !plain_tensor(&problem->inputs[0], type, &tensors.data, note) ||
        !plain_filter(problem, quantized ? dnnl_s8 : dnnl_f32, &tensors.filter, note) ||
        !plain_tensor(&problem->output, type, &tensors.output, note) ||
        !describe(self, problem, tensors, how, note) ||
        !works(dnnl_primitive_create(&self->primitive, self->description), "primitive", note) ||
        !operand_make(self, &self->data, &tensors.data, data, dnnl_query_src_md, false, note) ||
        !operand_make(self, &self->filter, &tensors.filter, weights, dnnl_query_weights_md, false,
                      note) ||
        !operand_make(self, &self->output, &tensors.output, self->plain_output, dnnl_query_dst_md,
                      true, note) ||
        !reorder(self, &self->filter, false, note) || !reorder(self, &self->data, false, note) ||
        !finish(self, note)) {
        return false;
    }
    dnnl_primitive_desc_query(self->description, dnnl_query_impl_info_str, 0, &implementation);
    gops_peer_describe(note, "%s", implementation);
    return true;
}

static void *prepare(const gops_peer_problem *problem, layout how, gops_peer_note *note)
{
    if (problem->operation->bit == GOPS_OF_NORM) {
        gops_peer_refuse(note, "version 2.6 has no group normalization");
        return NULL;
    }
    onednn *self = calloc(1, sizeof *self);
    if (self == NULL) {
        gops_peer_refuse(note, "no memory");
        return NULL;
    }
    /* A primitive is made for the number of threads that OpenMP would use then. */
    omp_set_num_threads(problem->threads);
    if (!make(self, problem, how, note)) {
        destroy(self);
        return NULL;
    }
    return self;
}

static void *prepare_best(const gops_peer_problem *problem, gops_peer_note *note)
{
    return prepare(problem, BEST_WITH_REORDERS, note);
}

static void *prepare_alone(const gops_peer_problem *problem, gops_peer_note *note)
{
    return prepare(problem, BEST_ALONE, note);
}

static void *prepare_plain(const gops_peer_problem *problem, gops_peer_note *note)
{
    return prepare(problem, PLAIN, note);
}

static bool run(void *state, int reps, double *ms, gops_peer_note *note)
{
    const onednn *self = state;
    for (int i = 0; i < reps; i++) {
        const double start = gops_clock_ms();
        if ((self->count_reorders && !reorder(self, &self->data, false, note)) ||
            !compute(self, note) ||
            (self->count_reorders && !reorder(self, &self->output, true, note)) ||
            !finish(self, note)) {
            return false;
        }
        ms[i] = gops_clock_ms() - start;
    }
    return true;
}

static const void *output(void *state, int *depth)
{
    const onednn *self = state;
    gops_peer_note note;
    *depth = 1;
    if (!self->count_reorders &&
        (!reorder(self, &self->output, true, &note) || !finish(self, &note))) {
        return NULL;
    }
    return self->plain_output;
}

const gops_contestant gops_contestant_onednn = {"onednn", prepare_best, run, output, destroy};
const gops_contestant gops_contestant_onednn_layout = {"onednn-layout", prepare_alone, run, output,
                                                       destroy};
const gops_contestant gops_contestant_onednn_plain = {"onednn-plain", prepare_plain, run, output,
                                                      destroy};
