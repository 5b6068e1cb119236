/* ir_net.c: writes IRs layer by layer, and runs them. */
#include "ir_net.h"

#include "ir_files.h"
#include "elements.h"
#include "harness.h"
#include "guarded_memory.h"
#include "tool_npy.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *precision(gops_type type)
{
    static const char *const names[] = {
        [GOPS_F64] = "FP64",  [GOPS_F32] = "FP32",      [GOPS_F16] = "FP16",
        [GOPS_BF16] = "BF16", [GOPS_F8E4M3] = "F8E4M3", [GOPS_F8E5M2] = "F8E5M2",
        [GOPS_I64] = "I64",   [GOPS_I32] = "I32",       [GOPS_I16] = "I16",
        [GOPS_I8] = "I8",     [GOPS_U64] = "U64",       [GOPS_U32] = "U32",
        [GOPS_U16] = "U16",   [GOPS_U8] = "U8"};
    return names[type];
}

static void write_port(ir_net *to, int id, const gops_tensor *tensor, int typed)
{
    fprintf(to->xml, "<port id=\"%d\"", id);
    if (typed)
        fprintf(to->xml, " precision=\"%s\"", precision(tensor->type));
    fprintf(to->xml, ">");
    for (int32_t i = 0; i < tensor->rank; i++)
        fprintf(to->xml, "<dim>%" PRId64 "</dim>", tensor->dims[i]);
    fprintf(to->xml, "</port>\n");
}

int ir_net_layer(ir_net *to, const char *name, const char *type, const char *data,
                 const gops_tensor *output, int inputs, const int *from)
{
    const int id = to->layers++;
    fprintf(to->xml, "<layer id=\"%d\" name=\"%s\" type=\"%s\" version=\"opset1\">\n<data %s/>\n",
            id * 3, name, type, data);
    fprintf(to->xml, "<input>\n");
    for (int i = 0; i < inputs; i++) {
        const size_t used = strlen(to->edges);
        write_port(to, i, &to->tensor[from[i]], to->version > 10);
        snprintf(to->edges + used, sizeof to->edges - used,
                 "<edge from-layer=\"%d\" from-port=\"%d\" to-layer=\"%d\" to-port=\"%d\"/>\n",
                 from[i] * 3, to->inputs[from[i]], id * 3, i);
    }
    fprintf(to->xml, "</input>\n");
    to->inputs[id] = inputs;
    if (output != NULL) {
        to->tensor[id] = *output;
        fprintf(to->xml, "<output>\n");
        write_port(to, inputs, output, 1);
        fprintf(to->xml, "</output>\n");
    }
    fprintf(to->xml, "</layer>\n");
    return id;
}

static void shape_text(const gops_tensor *tensor, char *text, size_t bytes)
{
    text[0] = '\0';
    for (int32_t i = 0; i < tensor->rank; i++) {
        const size_t used = strlen(text);
        snprintf(text + used, bytes - used, "%s%" PRId64, i == 0 ? "" : ", ", tensor->dims[i]);
    }
}

int ir_net_const(ir_net *to, const char *name, gops_tensor tensor, const void *elements)
{
    char shape[64], data[256];
    const size_t bytes = (size_t)gops_test_elements(&tensor) * gops_test_type_bytes(tensor.type);
    const size_t offset = to->bin_bytes + 1;
    memcpy(to->bin + offset, elements, bytes);
    to->bin_bytes = offset + bytes;
    shape_text(&tensor, shape, sizeof shape);
    snprintf(data, sizeof data, "element_type=\"%s\" shape=\"%s\" offset=\"%zu\" size=\"%zu\"",
             gops_test_type_name(tensor.type), shape, offset, bytes);
    return ir_net_layer(to, name, "Const", data, &tensor, 0, NULL);
}

static void *draw_elements(ir_net *to, const gops_tensor *tensor)
{
    const int64_t count = gops_test_elements(tensor);
    void *elements = gops_test_allocate((size_t)count * gops_test_type_bytes(tensor->type));
    gops_test_random_fill(&to->random, tensor->type, elements, count);
    return elements;
}

int ir_net_random(ir_net *to, const char *name, gops_tensor tensor, void **elements)
{
    *elements = draw_elements(to, &tensor);
    return ir_net_const(to, name, tensor, *elements);
}

int ir_net_parameter(ir_net *to, const char *name, gops_tensor tensor, void **elements)
{
    char shape[64], data[128], path[64];
    const size_t used = strlen(to->line);
    *elements = draw_elements(to, &tensor);
    snprintf(path, sizeof path, "%s.npy", name);
    tool_npy_write(path, to->dtype, &tensor, *elements);
    snprintf(to->line + used, sizeof to->line - used, " --input=%s=%s", name, path);
    shape_text(&tensor, shape, sizeof shape);
    snprintf(data, sizeof data, "element_type=\"%s\" shape=\"%s\"",
             gops_test_type_name(tensor.type), shape);
    return ir_net_layer(to, name, "Parameter", data, &tensor, 0, NULL);
}

void ir_net_result(ir_net *to, const char *name, int from)
{
    ir_net_layer(to, name, "Result", "", NULL, 1, &from);
}

ir_net *ir_net_begin(int version, gops_type type, const char *dtype)
{
    ir_net *made = calloc(1, sizeof *made);
    if (made == NULL || (made->xml = fopen("net.xml", "w")) == NULL)
        exit(EXIT_FAILURE);
    made->version = version;
    made->type = type;
    made->dtype = dtype;
    strcpy(made->line, "ir net.xml --output-dir=out");
    made->random = gops_test_random_start(gops_test_seed(), (uint64_t)type);
    fprintf(made->xml, "<?xml version=\"1.0\"?>\n<net name=\"n\" version=\"%d\">\n<layers>\n",
            version);
    return made;
}

static void write_files(ir_net *made)
{
    fprintf(made->xml, "</layers>\n<edges>\n%s</edges>\n</net>\n", made->edges);
    fclose(made->xml);
    ir_write("net.bin", made->bin, made->bin_bytes);
}

void ir_net_run(ir_net *made, tool_result *result)
{
    write_files(made);
    tool_run(result, made->line, NULL);
    gops_test_check(result->exit_code == 0 && result->err[0] == '\0', "%s: %d, %s", made->line,
                    result->exit_code, result->err);
}

void ir_net_expect_refused(ir_net *made, const char *message)
{
    tool_result *result = gops_test_allocate(sizeof *result);
    write_files(made);
    tool_run(result, made->line, NULL);
    const char *newline = strchr(result->err, '\n');
    gops_test_check(result->exit_code == 1 && newline != NULL && newline[1] == '\0' &&
                        strstr(result->err, message) != NULL && result->out[0] == '\0',
                    "\"%s\" is wanted: exit code %d, %s", message, result->exit_code, result->err);
    free(result);
}

void *ir_net_read(const ir_net *made, const char *name, const gops_tensor *tensor)
{
    char path[64];
    snprintf(path, sizeof path, "out/%s.npy", name);
    void *elements = tool_npy_read(path, made->dtype, tensor);
    if (!gops_test_check(elements != NULL, "%s, IR version %d: see the line above", path,
                         made->version))
        exit(EXIT_FAILURE);
    return elements;
}
