/* write_unet.c: writes a U-Net as an OpenVINO IR, unet.xml and unet.bin in the current folder, with random
 * weights:
 *
 *     write_unet SIZES [channels=8] [levels=3] [batch=1] [groups=1] [norm=4] [down=2] [up=2] [type=f32]
 *                [concat=0]
 *
 * SIZES are those of the spatial axes, "32,32,32". A level is twice a convolution of 3 taps an axis, with
 * padding, normalization of `norm` groups (0: none) and Relu; on the way down a convolution of stride 2
 * with kernels of `down` halves the sizes and doubles the channels, on the way up a transposed one with
 * kernels of `up` does the reverse, and what the level had is added, or with `concat` joined. A convolution with kernels of 1 and a
 * bias makes the output "out". With `groups` the convolutions of the levels are grouped. */
#include <groupops/tensor.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elements.h"
#include "random_numbers.h"

enum { MAX_LAYERS = 512, MAX_LEVELS = 8 };

static FILE *xml, *bin;
static gops_tensor outputs[MAX_LAYERS]; /* of the layers */
static struct {
    int from, to, port;
} edges[4 * MAX_LAYERS];
static int layers, edge_count;
static gops_test_random numbers;
static gops_tensor sizes; /* type and spatial axes of the network */
static int64_t groups = 1, norm = 4, down = 2, up = 2, concat;

static void list(char *text, size_t bytes, const int64_t *values, int32_t count)
{
    text[0] = '\0';
    for (int32_t i = 0; i < count; i++) {
        const size_t used = strlen(text);
        snprintf(text + used, bytes - used, "%s%" PRId64, i == 0 ? "" : ",", values[i]);
    }
}

static void same(char *text, size_t bytes, int64_t value)
{
    int64_t values[GOPS_MAX_SPATIAL];
    for (int i = 0; i < GOPS_MAX_SPATIAL; i++)
        values[i] = value;
    list(text, bytes, values, sizes.rank);
}

static void port(int id, const gops_tensor *tensor)
{
    fprintf(xml, "<port id=\"%d\">", id);
    for (int32_t i = 0; i < tensor->rank; i++)
        fprintf(xml, "<dim>%" PRId64 "</dim>", tensor->dims[i]);
    fprintf(xml, "</port>");
}

/* Port 9 is the output; a Result has none. */
static int layer(const char *name, const char *type, const char *data, gops_tensor output,
                 int inputs, const int *from)
{
    fprintf(xml, "<layer id=\"%d\" name=\"%s\" type=\"%s\"><data %s/>", layers, name, type, data);
    fprintf(xml, "<input>");
    for (int i = 0; i < inputs; i++) {
        port(i, &outputs[from[i]]);
        edges[edge_count].from = from[i];
        edges[edge_count].to = layers;
        edges[edge_count++].port = i;
    }
    fprintf(xml, "</input>");
    if (output.rank > 0) {
        fprintf(xml, "<output>");
        port(9, &output);
        fprintf(xml, "</output>");
    }
    fprintf(xml, "</layer>\n");
    outputs[layers] = output;
    return layers++;
}

/* Random numbers; of floats those over the square root of `terms`, so that sums of so many stay near 1. */
static int constant(gops_tensor tensor, double terms)
{
    char shape[128], data[256];
    const int64_t count = gops_test_elements(&tensor);
    const size_t bytes = (size_t)count * gops_test_type_bytes(tensor.type);
    void *elements = malloc(bytes);
    gops_test_random_fill(&numbers, tensor.type, elements, count);
    for (int64_t i = 0; tensor.type == GOPS_F32 && i < count; i++)
        ((float *)elements)[i] /= (float)sqrt(terms);
    list(shape, sizeof shape, tensor.dims, tensor.rank);
    snprintf(data, sizeof data, "element_type=\"%s\" shape=\"%s\" offset=\"%ld\" size=\"%zu\"",
             gops_test_type_name(tensor.type), shape, ftell(bin), bytes);
    if (fwrite(elements, 1, bytes, bin) != bytes)
        exit(EXIT_FAILURE);
    free(elements);
    return layer("c", "Const", data, tensor, 0, NULL);
}

/* A convolution from one number of channels to another, in groups unless that is 1. */
static int convolve(int from, int64_t channels, int64_t taps, int64_t stride, int64_t pad,
                    int64_t in_groups)
{
    const gops_tensor *data = &outputs[from];
    char strides[64], pads[64], dilations[64], text[512];
    gops_tensor filter = {sizes.type, 0, {0}}, output = *data;
    if (in_groups > 1)
        filter.dims[filter.rank++] = in_groups;
    filter.dims[filter.rank++] = channels / in_groups;
    filter.dims[filter.rank++] = data->dims[1] / in_groups;
    output.dims[1] = channels;
    for (int32_t i = 0; i < sizes.rank; i++) {
        filter.dims[filter.rank++] = taps;
        output.dims[2 + i] = (data->dims[2 + i] + 2 * pad - taps) / stride + 1;
    }
    same(strides, sizeof strides, stride);
    same(pads, sizeof pads, pad);
    same(dilations, sizeof dilations, 1);
    snprintf(text, sizeof text,
             "strides=\"%s\" pads_begin=\"%s\" pads_end=\"%s\" dilations=\"%s\" "
             "auto_pad=\"explicit\"",
             strides, pads, pads, dilations);
    const double terms = pow((double)taps, sizes.rank) * (double)(data->dims[1] / in_groups);
    const int inputs[] = {from, constant(filter, terms / 6)};
    return layer("conv", in_groups > 1 ? "GroupConvolution" : "Convolution", text, output, 2,
                 inputs);
}

/* A transposed convolution to the shape of another layer's output. */
static int enlarge(int from, int like)
{
    const gops_tensor *data = &outputs[from], *wanted = &outputs[like];
    const int64_t pad = (up - 2) / 2;
    char strides[64], begin[64], end[64], dilations[64], padding[64], text[512];
    int64_t more[GOPS_MAX_SPATIAL], cut[GOPS_MAX_SPATIAL];
    gops_tensor filter = {sizes.type, 2, {data->dims[1], wanted->dims[1]}};
    for (int32_t i = 0; i < sizes.rank; i++) {
        filter.dims[filter.rank++] = up;
        const int64_t rest = wanted->dims[2 + i] - (2 * (data->dims[2 + i] - 1) + up - 2 * pad);
        more[i] = rest > 0 ? rest : 0;
        cut[i] = pad + (rest < 0 ? -rest : 0);
    }
    same(strides, sizeof strides, 2);
    same(begin, sizeof begin, pad);
    list(end, sizeof end, cut, sizes.rank);
    same(dilations, sizeof dilations, 1);
    list(padding, sizeof padding, more, sizes.rank);
    snprintf(text, sizeof text,
             "strides=\"%s\" pads_begin=\"%s\" pads_end=\"%s\" dilations=\"%s\" "
             "output_padding=\"%s\" auto_pad=\"explicit\"",
             strides, begin, end, dilations, padding);
    const int inputs[] = {from, constant(filter, (double)data->dims[1] / 3)};
    return layer("up", "ConvolutionBackpropData", text, *wanted, 2, inputs);
}

static int activate(int from)
{
    const gops_tensor channels = {sizes.type, 1, {outputs[from].dims[1]}};
    char text[64];
    if (norm > 0) {
        const int inputs[] = {from, constant(channels, 1), constant(channels, 1)};
        snprintf(text, sizeof text, "num_groups=\"%" PRId64 "\" epsilon=\"1e-5\"", norm);
        from = layer("norm", "GroupNormalization", text, outputs[from], 3, inputs);
    }
    return layer("relu", "Relu", "", outputs[from], 1, &from);
}

static int level(int from, int64_t channels)
{
    const int64_t first = outputs[from].dims[1] % groups == 0 ? groups : 1;
    return activate(
        convolve(activate(convolve(from, channels, 3, 1, 1, first)), channels, 3, 1, 1, groups));
}

static void network(int64_t batch, int64_t channels, int levels)
{
    gops_tensor data = {sizes.type, 2 + sizes.rank, {batch, 2}};
    gops_tensor bias = {sizes.type, 2 + sizes.rank, {1, 3}};
    int skips[MAX_LEVELS];
    char shape[128], text[256];
    memcpy(data.dims + 2, sizes.dims, (size_t)sizes.rank * sizeof *sizes.dims);
    for (int32_t i = 0; i < sizes.rank; i++)
        bias.dims[2 + i] = 1;
    list(shape, sizeof shape, data.dims, data.rank);
    snprintf(text, sizeof text, "element_type=\"%s\" shape=\"%s\"", gops_test_type_name(sizes.type),
             shape);
    int at = layer("data", "Parameter", text, data, 0, NULL);
    for (int i = 0; i < levels; i++) {
        at = skips[i] = level(at, channels << i);
        if (i + 1 < levels)
            at = convolve(at, channels << (i + 1), down, 2, (down - 1) / 2, 1);
    }
    for (int i = levels - 2; i >= 0; i--) {
        const int both[] = {enlarge(at, skips[i]), skips[i]};
        gops_tensor joined = outputs[skips[i]];
        joined.dims[1] *= concat ? 2 : 1;
        at = level(
            layer("skip", concat ? "Concat" : "Add", concat ? "axis=\"1\"" : "", joined, 2, both),
            channels << i);
    }
    const int last[] = {convolve(at, 3, 1, 1, 0, 1), constant(bias, 1)};
    at = layer("biased", "Add", "", outputs[last[0]], 2, last);
    layer("out", "Result", "", (gops_tensor){0, 0, {0}}, 1, &at);
}

int main(int count, char **words)
{
    int64_t channels = 8, levels = 3, batch = 1;
    char type[16] = "f32";
    const struct {
        const char *name;
        int64_t *value;
    } options[] = {{"channels=%" SCNd64, &channels},
                   {"levels=%" SCNd64, &levels},
                   {"batch=%" SCNd64, &batch},
                   {"groups=%" SCNd64, &groups},
                   {"norm=%" SCNd64, &norm},
                   {"down=%" SCNd64, &down},
                   {"up=%" SCNd64, &up},
                   {"concat=%" SCNd64, &concat}};
    for (char *at = count > 1 ? words[1] : NULL; at != NULL && sizes.rank < GOPS_MAX_SPATIAL;) {
        sizes.dims[sizes.rank++] = strtoll(at, &at, 10);
        at = *at == ',' ? at + 1 : NULL;
    }
    for (int i = 2; i < count; i++) {
        int known = sscanf(words[i], "type=%15s", type);
        for (int o = 0; o < (int)(sizeof options / sizeof options[0]); o++)
            known += sscanf(words[i], options[o].name, options[o].value);
        if (known != 1)
            return EXIT_FAILURE;
    }
    sizes.type = gops_type_from_name(type);
    xml = fopen("unet.xml", "w");
    bin = fopen("unet.bin", "wb");
    if (sizes.rank == 0 || sizes.type == 0 || levels > MAX_LEVELS || xml == NULL || bin == NULL)
        return EXIT_FAILURE;
    numbers = gops_test_random_start(1, 1);
    fprintf(xml, "<?xml version=\"1.0\"?>\n<net name=\"unet\" version=\"11\">\n<layers>\n");
    network(batch, channels, (int)levels);
    fprintf(xml, "</layers>\n<edges>\n");
    for (int i = 0; i < edge_count; i++)
        fprintf(xml, "<edge from-layer=\"%d\" from-port=\"9\" to-layer=\"%d\" to-port=\"%d\"/>\n",
                edges[i].from, edges[i].to, edges[i].port);
    fprintf(xml, "</edges>\n</net>\n");
    return fclose(xml) == 0 && fclose(bin) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
