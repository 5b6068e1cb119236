/* Graphs that are drawn node by node, with the provider and without: what regions must keep apart when
 * they place values in shared memory, in one another and in the parts of a Concat. */
#include "ort_drawn_nodes.h"

#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef gops_drawn_network network;
typedef gops_drawn_value value;
typedef gops_drawn_window window;

enum {
    GRAPHS = 60,
    MAX_CHANNELS = 32,
    MAX_SIZE = 24, /* of an axis that a transposed convolution enlarges */
    FIRST_STREAM = 900,
    /* Planes of so many floats a side are a page apart, and so many channels of them share sets of a cache: regions
     * leave gaps between them. */
    PAGE_SIDE = 32,
    PAGE_CHANNELS = 13,
};

static value convolution(network *n)
{
    static const int64_t kernels[] = {1, 1, 3, 3, 5, 2};
    const value from = gops_drawn_any(n);
    const int64_t kernel = kernels[gops_drawn_number(n, 0, 5)];
    if (gops_drawn_chance(n, 30)) {
        const int64_t factor =
            from.channels <= MAX_CHANNELS / 2 && gops_drawn_chance(n, 20) ? 2 : 1;
        return gops_drawn_conv(n, &from, from.channels, from.channels * factor, kernel, true);
    }
    const int64_t groups = from.channels % 2 == 0 && gops_drawn_chance(n, 30) ? 2 : 1;
    const bool many = from.height == PAGE_SIDE && from.width == PAGE_SIDE && groups == 1;
    const int64_t least = many ? PAGE_CHANNELS : 1;
    return gops_drawn_conv(n, &from, groups, groups * gops_drawn_number(n, least, least + 13),
                           kernel, true);
}

static value transposed(network *n)
{
    value from = gops_drawn_any(n), to = from;
    const int64_t kernel = gops_drawn_number(n, 1, 4), stride = gops_drawn_number(n, 1, 2),
                  pad = gops_drawn_number(n, 0, (kernel - 1) / 2);
    const int64_t groups = from.channels % 2 == 0 && gops_drawn_chance(n, 30) ? 2 : 1;
    const int64_t each = gops_drawn_number(n, 1, 8), dims[] = {from.channels, each, kernel, kernel};
    const window w = {kernel, stride, 1, pad, pad};
    char weights[GOPS_DRAWN_NAME_BYTES];
    if (from.height > MAX_SIZE || from.width > MAX_SIZE) {
        return gops_drawn_unary(n, "Relu", &from);
    }
    gops_drawn_constant(n, weights, 4, dims, -0.4, 0.4);
    gops_drawn_node(n, "ConvTranspose", &to, GOPS_ORT_FROM(from.name, weights));
    gops_drawn_windows(n, &w, &w);
    gops_drawn_int(n, "group", groups);
    to.channels = groups * each;
    to.height = (from.height - 1) * stride + kernel - 2 * pad;
    to.width = (from.width - 1) * stride + kernel - 2 * pad;
    return to;
}

static value activation(network *n)
{
    static const struct {
        const char *type;
        int opset;
    } types[] = {{"Relu", 6},      {"Relu", 6},        {"Sigmoid", 6},    {"Tanh", 6},
                 {"LeakyRelu", 6}, {"HardSigmoid", 6}, {"HardSwish", 14}, {"Mish", 18},
                 {"Elu", 6},       {"Gelu", 20},       {"Clip", 6}};
    enum { TYPES = sizeof types / sizeof types[0] };
    const value from = gops_drawn_any(n);
    const int64_t i = gops_drawn_number(n, 0, TYPES - 1);
    value to = from;
    if (types[i].opset > n->opset) {
        const value gate =
            gops_drawn_unary(n, gops_drawn_chance(n, 50) ? "Sigmoid" : "HardSigmoid", &from);
        return gops_drawn_binary(n, "Mul", &from, gate.name);
    }
    if (strcmp(types[i].type, "Clip") != 0) {
        return gops_drawn_unary(n, types[i].type, &from);
    }
    char low[GOPS_DRAWN_NAME_BYTES], high[GOPS_DRAWN_NAME_BYTES];
    gops_drawn_constant(n, low, 0, NULL, 0, 0);
    gops_drawn_constant(n, high, 0, NULL, 1, 6);
    gops_drawn_node(n, "Clip", &to, GOPS_ORT_FROM(from.name, low, high));
    return to;
}

static value slopes(network *n)
{
    const value from = gops_drawn_any(n);
    const int64_t dims[] = {from.channels, 1, 1};
    value to = from;
    char name[GOPS_DRAWN_NAME_BYTES];
    gops_drawn_constant(n, name, 3, dims, -0.5, 0.5);
    gops_drawn_node(n, "PRelu", &to, GOPS_ORT_FROM(from.name, name));
    return to;
}

static value batch_norm(network *n)
{
    value from = gops_drawn_any(n), to = from;
    gops_drawn_name(n, to.name);
    gops_ort_graph_batch_norm(&n->graph, to.name, from.name, from.channels);
    gops_drawn_tell(n, "  %s = BatchNormalization", to.name);
    gops_drawn_tell(n, " %s\n", from.name);
    return to;
}

/* Another value of the same size; a convolution makes one if there is none. */
static value partner(network *n, const value *of)
{
    for (int i = n->count - 1; i >= 0; i--) {
        const value *v = &n->values[i];
        if (v->channels == of->channels && v->height == of->height && v->width == of->width &&
            strcmp(v->name, of->name) != 0 && gops_drawn_chance(n, 70)) {
            return *v;
        }
    }
    return gops_drawn_chance(n, 20)
               ? *of
               : gops_drawn_conv(n, of, 1, of->channels, gops_drawn_chance(n, 50) ? 1 : 3, false);
}

/* An Add, Mul or Sub of a number, one for each channel, or one for each column. */
static value numbers(network *n)
{
    static const char *const types[] = {"Add", "Mul", "Sub"};
    const value from = gops_drawn_any(n);
    const int64_t form = gops_drawn_number(n, 0, 9);
    const int64_t channels[] = {1, from.channels, 1, 1};
    char name[GOPS_DRAWN_NAME_BYTES];
    if (form < 3) {
        gops_drawn_constant(n, name, 0, NULL, -1, 1);
    } else if (form < 9) {
        gops_drawn_constant(n, name, form < 6 ? 3 : 4, form < 6 ? channels + 1 : channels, -1, 1);
    } else {
        gops_drawn_constant(n, name, 1, &from.width, -1, 1);
    }
    return gops_drawn_binary(n, types[gops_drawn_number(n, 0, 2)], &from, name);
}

static value sum(network *n)
{
    const value first = gops_drawn_any(n), second = partner(n, &first);
    return gops_drawn_binary(n, "Add", &first, second.name);
}

static value product(network *n)
{
    const value first = gops_drawn_any(n), second = partner(n, &first);
    return gops_drawn_binary(n, "Mul", &first, second.name);
}

/* Squeeze and excitation, of one convolution or two. */
static value gate(network *n)
{
    const value from = gops_drawn_any(n);
    value squeezed = gops_drawn_unary(n, "GlobalAveragePool", &from);
    squeezed.height = squeezed.width = 1;
    if (gops_drawn_chance(n, 60)) {
        squeezed = gops_drawn_conv(n, &squeezed, 1, gops_drawn_number(n, 1, 5), 1, false);
        squeezed = gops_drawn_unary(n, "Relu", &squeezed);
    }
    value factors = gops_drawn_conv(n, &squeezed, 1, from.channels, 1, false);
    factors = gops_drawn_unary(n, gops_drawn_chance(n, 50) ? "Sigmoid" : "HardSigmoid", &factors);
    value to = gops_drawn_binary(n, "Mul", &from, factors.name);
    return to;
}

static value concat(network *n)
{
    const value first = gops_drawn_any(n);
    const char *names[5] = {first.name};
    value parts[4] = {first}, to = first;
    int count = 1;
    for (int i = n->count - 1; i >= 0 && count < 4; i--) {
        const value *v = &n->values[i];
        if (v->height == first.height && v->width == first.width &&
            to.channels + v->channels <= MAX_CHANNELS && gops_drawn_chance(n, 60)) {
            to.channels += v->channels;
            parts[count] = *v;
            names[count] = parts[count].name;
            count++;
        }
    }
    gops_drawn_node(n, "Concat", &to, names);
    gops_drawn_int(n, "axis", gops_drawn_chance(n, 50) ? 1 : -3);
    return to;
}

static value slice(network *n)
{
    value from = gops_drawn_any(n), to = from;
    const int64_t begin = gops_drawn_number(n, 0, from.channels - 1),
                  end = gops_drawn_number(n, begin + 1, from.channels), axis = 1;
    char begins[GOPS_DRAWN_NAME_BYTES], ends[GOPS_DRAWN_NAME_BYTES], axes[GOPS_DRAWN_NAME_BYTES];
    gops_drawn_integers(n, begins, 1, &begin);
    gops_drawn_integers(n, ends, 1, &end);
    gops_drawn_integers(n, axes, 1, &axis);
    gops_drawn_node(n, "Slice", &to, GOPS_ORT_FROM(from.name, begins, ends, axes));
    to.channels = end - begin;
    return to;
}

/* Two parts, of which the second may be read by nothing. */
static value split(network *n)
{
    value from = gops_drawn_any(n), to = from, rest = from;
    if (from.channels < 2) {
        return slice(n);
    }
    to.channels = gops_drawn_number(n, 1, from.channels - 1);
    rest.channels = from.channels - to.channels;
    const int64_t sizes[] = {to.channels, rest.channels};
    char names[GOPS_DRAWN_NAME_BYTES];
    gops_drawn_integers(n, names, 2, sizes);
    gops_drawn_node(n, "Split", &to, GOPS_ORT_FROM(from.name, names));
    gops_drawn_name(n, rest.name);
    gops_drawn_tell(n, "    and %s\n", rest.name);
    gops_onnx_build_more(&n->graph.builder, rest.name);
    gops_drawn_int(n, "axis", gops_drawn_chance(n, 50) ? 1 : -3);
    if (n->count < GOPS_DRAWN_VALUES - 2) {
        n->values[n->count++] = rest;
    }
    return to;
}

static value reshape(network *n, const char *name, int64_t rank, const int64_t *dims)
{
    value to;
    char shape[GOPS_DRAWN_NAME_BYTES];
    gops_drawn_integers(n, shape, rank, dims);
    gops_drawn_node(n, "Reshape", &to, GOPS_ORT_FROM(name, shape));
    return to;
}

static value shuffle(network *n)
{
    const value from = gops_drawn_any(n);
    const int64_t groups = from.channels % 3 == 0 ? 3 : from.channels % 2 == 0 ? 2 : 1;
    const int64_t apart[] = {gops_ort_graph_batch(&n->graph), groups, from.channels / groups,
                             from.height, from.width};
    const int64_t together[] = {gops_ort_graph_batch(&n->graph), from.channels, from.height,
                                from.width};
    const int64_t order[] = {0, 2, 1, 3, 4};
    value to = reshape(n, from.name, 5, apart);
    gops_drawn_node(n, "Transpose", &to, GOPS_ORT_FROM(to.name));
    gops_onnx_build_ints(&n->graph.builder, "perm", order, 5);
    to = reshape(n, to.name, 4, together);
    to.channels = from.channels;
    to.height = from.height;
    to.width = from.width;
    return to;
}

static value pool(network *n)
{
    static const char *const types[] = {"MaxPool", "AveragePool"};
    const value from = gops_drawn_any(n);
    const int64_t kernel = gops_drawn_number(n, 1, 3), type = gops_drawn_number(n, 0, 1);
    window y = gops_drawn_axis(n, from.height, kernel, false),
           x = gops_drawn_axis(n, from.width, kernel, false);
    y.begin = x.begin = y.begin < kernel ? y.begin : 0;
    y.end = y.end < kernel ? y.end : 0;
    x.end = x.end < kernel ? x.end : 0;
    if (from.height + y.begin + y.end < kernel || from.width + x.begin + x.end < kernel) {
        return gops_drawn_unary(n, "Relu", &from);
    }
    value to = gops_drawn_unary(n, types[type], &from);
    gops_drawn_windows(n, &y, &x);
    if (type == 1 && gops_drawn_chance(n, 50)) {
        gops_drawn_int(n, "count_include_pad", 1);
    }
    to.height = gops_drawn_outputs(&y, from.height);
    to.width = gops_drawn_outputs(&x, from.width);
    return to;
}

static value instance_norm(network *n)
{
    const value from = gops_drawn_any(n);
    const int64_t groups =
        from.channels % 2 == 0 && gops_drawn_chance(n, 50) ? from.channels / 2 : from.channels;
    const int64_t folded[] = {0, groups, -1}, dims[] = {gops_ort_graph_batch(&n->graph),
                                                        from.channels, from.height, from.width};
    const int64_t each[] = {from.channels, 1, 1};
    char scale[GOPS_DRAWN_NAME_BYTES], bias[GOPS_DRAWN_NAME_BYTES];
    value to = from;
    const bool whole = groups == from.channels;
    if (!whole) {
        to = reshape(n, from.name, 3, folded);
    }
    gops_drawn_constant(n, scale, 1, &groups, whole ? 0.5 : 1, whole ? 1.5 : 1);
    gops_drawn_constant(n, bias, 1, &groups, whole ? -0.5 : 0, whole ? 0.5 : 0);
    gops_drawn_node(n, "InstanceNormalization", &to, GOPS_ORT_FROM(to.name, scale, bias));
    gops_onnx_build_float(&n->graph.builder, "epsilon", 0.25F); /* does not enlarge what is noise */
    if (!whole) {
        if (gops_drawn_chance(n, 40)) {
            value shape;
            gops_drawn_node(n, "Shape", &shape, GOPS_ORT_FROM(from.name));
            gops_drawn_node(n, "Reshape", &to, GOPS_ORT_FROM(to.name, shape.name));
        } else {
            to = reshape(n, to.name, 4, dims);
        }
        gops_drawn_constant(n, scale, 3, each, 0.5, 1.5);
        gops_drawn_constant(n, bias, 3, each, -0.5, 0.5);
        to = gops_drawn_binary(n, "Mul", &to, scale);
        to = gops_drawn_binary(n, "Add", &to, bias);
    }
    to.channels = from.channels;
    to.height = from.height;
    to.width = from.width;
    return to;
}

/* What the provider leaves to the runtime. */
static value left(network *n)
{
    const value from = gops_drawn_any(n);
    return gops_drawn_unary(n, gops_drawn_chance(n, 50) ? "Abs" : "Neg", &from);
}

/* A 1x1 convolution that expands, and a depthwise one. */
static value expanded(network *n)
{
    const value from = gops_drawn_any(n);
    value to = gops_drawn_conv(n, &from, 1, gops_drawn_number(n, 1, MAX_CHANNELS), 1, false);
    if (gops_drawn_chance(n, 70)) {
        to = gops_drawn_unary(n, "Relu", &to);
    }
    return gops_drawn_conv(n, &to, to.channels, to.channels, 3, true);
}

static value average(network *n)
{
    const value from = gops_drawn_any(n);
    value to = gops_drawn_unary(n, "GlobalAveragePool", &from);
    to.height = to.width = 1;
    return to;
}

static void draw_graph(int number)
{
    static value (*const kinds[])(network *) = {
        convolution, convolution, convolution,   activation, activation, batch_norm,
        sum,         sum,         product,       gate,       concat,     concat,
        slice,       shuffle,     pool,          pool,       transposed, slopes,
        left,        expanded,    instance_norm, average,    split,      numbers};
    enum { KINDS = sizeof kinds / sizeof kinds[0] };
    static const int opsets[] = {13, 17, 18, 21};
    char what[GOPS_DRAWN_NAME_BYTES + 8];
    network n = {.count = 1};
    gops_test_random random =
        gops_test_random_start(gops_test_seed(), FIRST_STREAM + 2 * (uint64_t)number);
    n.batch = gops_test_random_range(&random, 1, 3);
    n.opset = opsets[gops_test_random_range(&random, 0, 3)];
    n.values[0] =
        (value){"x", gops_test_random_range(&random, 1, 12), gops_test_random_range(&random, 1, 19),
                gops_test_random_range(&random, 1, 19)};
    if (number % 4 == 3) {
        n.values[0].height = n.values[0].width = PAGE_SIDE;
    }
    gops_ort_graph_leave_open(gops_test_random_chance(&random, 40));
    gops_ort_graph_images(&n.graph, FIRST_STREAM + 2 * (uint64_t)number + 1, n.opset, n.batch,
                          n.values[0].channels, n.values[0].height, n.values[0].width);
    const int64_t nodes = gops_test_random_range(&random, 3, GOPS_DRAWN_VALUES - 1);
    while (n.count <= nodes) {
        const value made = kinds[gops_drawn_number(&n, 0, KINDS - 1)](&n);
        n.values[n.count++] = made;
    }
    gops_ort_graph_output(&n.graph, n.values[n.count - 1].name);
    for (int i = n.count - 2; i > 0 && n.graph.output_count < GOPS_ORT_MAX_OUTPUTS; i--) {
        if (gops_drawn_chance(&n, 15)) {
            gops_ort_graph_output(&n.graph, n.values[i].name);
        }
    }
    snprintf(what, sizeof what, "graph %d", number);
    if (!gops_ort_graph_check(&n.graph, what, -1, 0)) {
        fprintf(stderr, "%s, %sbatch %lld, opset %d, x of %lld channels, %lldx%lld:\n%s", what,
                n.graph.is_open ? "open, " : "", (long long)n.batch, n.opset,
                (long long)n.values[0].channels, (long long)n.values[0].height,
                (long long)n.values[0].width, n.text);
    }
}

static void graphs(void)
{
    const int64_t count = gops_test_environment_number("GROUPOPS_TEST_RANDOM_COUNT", GRAPHS);
    for (int i = 0; i < count; i++) {
        draw_graph(i);
    }
}

int main(void)
{
    static const gops_test_case cases[] = {{"graphs", graphs}, {NULL, NULL}};
    const int status = gops_test_main("random graphs in ONNX Runtime", cases);
    gops_ort_unload();
    return status;
}
