/* ort_member_integers.c: what regions compute of 8-bit integers besides convolutions and maxima. */
#include "engines/onnxruntime/graph/ort_attributes.h"
#include "engines/onnxruntime/graph/ort_linear.h"
#include "engines/onnxruntime/graph/ort_quantized.h"
#include "engines/onnxruntime/region/ort_member.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { Y, X };

static ort_status *no_memory(const gops_ort_integers *from)
{
    return gops_ort_no_memory(from->reading.graph->runtime, "a node");
}

gops_ort_member *gops_ort_member_make_codes(const gops_ort_integers *from)
{
    const gops_ort_operands *operands = &from->operands;
    gops_ort_member *made =
        gops_ort_member_make(GOPS_ORT_CONCAT, &from->reading.claim, &from->reading.data);
    if (made != NULL) {
        made->names = malloc(operands->count * sizeof *made->names);
        made->codes = malloc(operands->count * sizeof *made->codes);
    }
    if (made == NULL || made->names == NULL || made->codes == NULL) {
        gops_ort_member_free(made);
        return NULL;
    }
    for (size_t i = 0; i < operands->count; i++) {
        made->names[i] = operands->items[i].name;
    }
    made->inputs = made->names;
    made->input_count = operands->count;
    made->output = from->reading.output;
    return made;
}

/* Makes a member of one or two operands; `first` is the one that is the data. */
static ort_status *make(const gops_ort_integers *from, gops_ort_member_kind kind, size_t first,
                        gops_ort_member **member)
{
    const gops_ort_operands *operands = &from->operands;
    gops_ort_member *made = gops_ort_member_make(kind, &from->reading.claim, &from->reading.data);
    if (made == NULL) {
        return no_memory(from);
    }
    for (size_t i = 0; i < operands->count; i++) {
        const gops_ort_operand *operand = &operands->items[i == 0 ? first : 1 - first];
        made->two_inputs[i] = operand->name;
        made->by[i] = operand->by;
    }
    made->input_count = operands->count;
    made->output = from->reading.output;
    made->output_by = operands->output.by;
    *member = made;
    return NULL;
}

bool gops_ort_has_product(const gops_ort_linear *one, const gops_ort_linear *other,
                          const gops_ort_linear *output)
{
    const float most = 255 * 255, limit = 0x1p30F; /* int32_t holds it */
    return one->scale * other->scale / output->scale * most < limit;
}

static ort_status *read_product(gops_ort_integers *from, gops_ort_member **member)
{
    gops_ort_reading *reading = &from->reading;
    const gops_ort_operand *items = from->operands.items;
    gops_tensor other;
    bool serves;
    ort_status *status = gops_ort_read_operand(reading->graph, items[1].info, &other, &serves);
    const bool second = serves && gops_ort_is_gate(&other, &reading->data) &&
                        !gops_ort_same_shape(&other, &reading->data);
    if (second) {
        const gops_tensor gate = reading->data;
        reading->data = other;
        other = gate;
    }
    const bool same = serves && gops_ort_same_shape(&reading->data, &other);
    if (status != NULL || !serves || other.type != from->reading.output.type ||
        !gops_ort_same_shape(&reading->data, &from->reading.output) ||
        (!same && !gops_ort_is_gate(&reading->data, &other)) ||
        !gops_ort_has_product(&items[0].by, &items[1].by, &from->operands.output.by)) {
        return status;
    }
    status = make(from, GOPS_ORT_PRODUCT, second ? 1 : 0, member);
    if (status == NULL) {
        (*member)->is_gate = !same;
    }
    return status;
}

/* The runtime's kernel for channels that come last. */
static ort_status *has_channels_first(const gops_ort_reading *reading, bool *has)
{
    gops_ort_attributes attributes = {reading->graph->runtime, reading->node, NULL, false};
    int64_t last = 0;
    gops_ort_attribute_int(&attributes, "channels_last", &last);
    *has = attributes.status == NULL && !attributes.malformed && last == 0;
    return attributes.status;
}

/* Within the range that the runtime computes; sums are of 32 bits. */
static ort_status *read_global_average(gops_ort_integers *from, gops_ort_member **member)
{
    const gops_ort_reading *reading = &from->reading;
    const gops_ort_operands *operands = &from->operands;
    const int64_t plane = gops_ort_elements(&reading->data, 2), limit = 1 << 23;
    const float factor = operands->items[0].by.scale / (operands->output.by.scale * (float)plane);
    bool serves;
    ort_status *status = has_channels_first(reading, &serves);
    return status != NULL || !serves || plane >= limit || factor < 0x1p-32F || factor >= 256 ||
                   !gops_ort_is_gate(&reading->data, &from->reading.output)
               ? status
               : make(from, GOPS_ORT_GLOBAL_AVERAGE, 0, member);
}

/* The floats of the rows that a window needs. */
static bool fits_pass(const gops_tensor *data, const gops_ort_window *window)
{
    const int64_t most = GOPS_ORT_MAX_WINDOW_FLOATS, rows = window->kernel[Y];
    const int64_t row = data->dims[3], kernel = window->kernel[X], pads = 2 * (kernel - 1);
    return rows <= most && row <= most && kernel <= most && (row + pads) * rows <= most;
}

static ort_status *read_average(gops_ort_integers *from, gops_ort_member **member)
{
    const gops_ort_reading *reading = &from->reading;
    const float most = 255;
    gops_ort_window window;
    bool serves, divides_alike;
    ort_status *status = has_channels_first(reading, &serves);
    if (status == NULL && serves) {
        status =
            gops_ort_read_average_windows(reading->graph->runtime, reading->node, &reading->data,
                                          &reading->output, &window, &divides_alike, &serves);
    }
    if (status != NULL || !serves || !fits_pass(&reading->data, &window) ||
        !isfinite(from->operands.items[0].by.scale * most * (float)GOPS_ORT_MAX_WINDOW_FLOATS)) {
        return status;
    }
    status = make(from, GOPS_ORT_AVERAGE_POOL, 0, member);
    if (status == NULL) {
        (*member)->window = window;
        (*member)->counts_padding = divides_alike;
    }
    return status;
}

static bool are_alike(const gops_ort_linear *one, const gops_ort_linear *other)
{
    return one->scale == other->scale && one->zero_point == other->zero_point;
}

/* Makes what was read of floats of the integers, unless they are copied and would stand for other numbers. */
static void take_operand(const gops_ort_integers *from, bool copies, gops_ort_member **member)
{
    const gops_ort_operand *data = &from->operands.items[0];
    if (*member != NULL && copies && !are_alike(&data->by, &from->operands.output.by)) {
        gops_ort_member_free(*member);
        *member = NULL;
    }
    if (*member != NULL) {
        (*member)->two_inputs[0] = data->name;
        (*member)->by[0] = data->by;
        (*member)->output_by = from->operands.output.by;
    }
}

static ort_status *read_resize(gops_ort_integers *from, gops_ort_member **member)
{
    ort_status *status = gops_ort_member_of_resize(&from->reading, member);
    take_operand(from, *member != NULL && !(*member)->resize.linear, member);
    return status;
}

static ort_status *read_slice(gops_ort_integers *from, gops_ort_member **member)
{
    ort_status *status = gops_ort_member_of_slice(&from->reading, member);
    take_operand(from, true, member);
    return status;
}

/* Of one scale: each part is a view. */
static ort_status *read_split(gops_ort_integers *from, gops_ort_member **member)
{
    gops_ort_reading *reading = &from->reading;
    gops_ort_claim *claim = &reading->claim;
    const gops_ort_node *node = reading->node;
    gops_ort_node *behind[GOPS_ORT_MAX_OPERANDS];
    gops_ort_dequantized data;
    bool serves = node->input_count > 0 && node->output_count <= GOPS_ORT_MAX_OPERANDS;
    ort_status *status = serves ? gops_ort_read_dequantized(reading->graph, node->input_names[0],
                                                            node, &data, &serves)
                                : NULL;
    if (status != NULL || !serves || !gops_ort_has_one_scale(&data)) {
        return status;
    }
    const gops_ort_linear by = {gops_ort_only_scale(&data), gops_ort_only_zero_point(&data)};
    claim->nodes[claim->node_count++] = data.node;
    status =
        gops_ort_serve_writer(reading->graph, data.node->input_names[0], data.input.type, &serves);
    for (size_t i = 0; i < node->output_count && status == NULL && serves; i++) {
        gops_ort_claim part = {.output = node->output_names[i]};
        const gops_quantization *to = &part.operation.quantization;
        status = gops_ort_claim_quantize(reading->graph, &part, &serves);
        serves = status == NULL && serves &&
                 are_alike(&by, &(gops_ort_linear){to->output_scale, to->output_zero_point});
        behind[i] = part.nodes[0];
        if (serves) {
            status = gops_ort_serve_readers(reading->graph, part.output, part.operation.output_type,
                                            &serves);
        }
    }
    if (status == NULL && serves) {
        status =
            gops_ort_read_operand(reading->graph, data.node->inputs[0], &reading->data, &serves);
    }
    if (status != NULL || !serves) {
        return status;
    }
    claim->inputs[GOPS_ORT_DATA] = data.node->input_names[0];
    return gops_ort_member_of_split(reading, behind, member);
}

/* Reads nodes of one type; *member stays NULL if it is none that a region has. */
typedef ort_status *reader(gops_ort_integers *from, gops_ort_member **member);

static reader *find_reader(const gops_ort_node *node, size_t *count)
{
    enum { ALL = 0 };
    static const struct {
        const char *type;
        size_t operands;
        reader *read;
    } readers[] = {
        {"Concat", ALL, gops_ort_member_of_integer_concat},
        {"Mul", 2, read_product},
        {"GlobalAveragePool", 1, read_global_average},
        {"AveragePool", 1, read_average},
        {"Slice", 1, read_slice},
        {"Resize", 1, read_resize},
        {"Upsample", 1, read_resize},
    };
    *count = 1;
    for (size_t i = 0; i < sizeof readers / sizeof readers[0]; i++) {
        if (strcmp(gops_ort_plain_type(node), readers[i].type) == 0) {
            *count = readers[i].operands != ALL ? readers[i].operands : node->input_count;
            return readers[i].read;
        }
    }
    return gops_ort_member_of_codes;
}

ort_status *gops_ort_member_of_integers(const gops_ort_graph *graph, gops_ort_node *node,
                                        gops_ort_member **member)
{
    size_t count;
    reader *const read = find_reader(node, &count);
    gops_ort_integers from = {.reading = {.graph = graph, .node = node}};
    gops_ort_reading *reading = &from.reading;
    const gops_ort_operands *operands = &from.operands;
    bool serves = node->input_count >= count && node->output_count == 1;
    ort_status *status = NULL;
    *member = NULL;
    reading->claim = (gops_ort_claim){.nodes = {node}, .node_count = 1};
    if (strcmp(node->type, "Split") == 0) {
        return read_split(&from, member);
    }
    if (serves) {
        reading->claim.output = node->output_names[0];
        status = gops_ort_read_operands(graph, count, &reading->claim, &from.operands, &serves);
    }
    if (status == NULL && serves) {
        status = gops_ort_read_operand(graph, operands->output.info, &reading->output, &serves);
    }
    if (status == NULL && serves) {
        status = gops_ort_read_operand(graph, operands->items[0].info, &reading->data, &serves);
    }
    serves = serves && gops_ort_is_8_bit(reading->output.type) &&
             reading->data.type == reading->output.type && reading->output.rank >= 2;
    return status != NULL || !serves ? status : read(&from, member);
}
