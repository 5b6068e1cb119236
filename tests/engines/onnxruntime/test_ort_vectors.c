/* The ConvInteger and QLinearConv cases that the ONNX project publishes, run by the provider. */
#include "ort_host.h"

#include "compare.h"
#include "elements.h"
#include "harness.h"
#include "onnx_case.h"
#include "onnx_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What libonnx-testdata 1.12.0-2 of Debian 12 holds. */
enum { EXPECTED_CASES = 4 };

static ort_element element_of(gops_type type)
{
    return type == GOPS_U8    ? ORT_UINT8
           : type == GOPS_I8  ? ORT_INT8
           : type == GOPS_I32 ? ORT_INT32
                              : ORT_FLOAT;
}

/* Names are not ended by 0 in the file. */
static const char *copy_name(gops_onnx_bytes name, char *to, size_t size)
{
    snprintf(to, size, "%.*s", (int)name.size, (const char *)name.at);
    return to;
}

static bool is_output(const gops_onnx_case *source, ort_value *value)
{
    gops_tensor tensor;
    const void *got = gops_ort_values(value, &tensor);
    const gops_onnx_array *expected = &source->output;
    return gops_test_check(memcmp(&tensor, &expected->tensor, sizeof tensor) == 0,
                           "%s: the output's shape or type is another", source->name) &&
           gops_test_check(memcmp(got, expected->values,
                                  expected->count * gops_test_type_bytes(tensor.type)) == 0,
                           "%s: the output is another", source->name);
}

/* All inputs of the node are inputs of the model, scales and zero points too. */
static void check_case(const gops_onnx_case *source, gops_onnx_bytes file)
{
    const gops_onnx_buffer model = {(uint8_t *)(uintptr_t)file.at, file.size, file.size, false};
    const gops_ort_session_settings settings = {GROUPOPS_ORT_PROVIDER, ORT_OPTIMIZE_ALL, 1, false};
    gops_ort_tensor inputs[GOPS_ORT_MAX_TENSORS];
    char names[GOPS_ORT_MAX_TENSORS][64];
    size_t count = 0;
    ort_session *session = NULL;
    ort_value *output = NULL;
    for (int i = 0; i < source->node.input_count; i++) {
        const gops_onnx_array *from = &source->inputs[i];
        if (from->values != NULL) {
            inputs[count] = (gops_ort_tensor){
                copy_name(source->node.inputs[i], names[count], sizeof names[count]),
                element_of(from->tensor.type), from->tensor.rank, from->tensor.dims, from->values};
            count++;
        }
    }
    if (gops_ort_works(gops_ort_open(&model, &settings, &session), source->name)) {
        gops_test_check(gops_ort_claimed(session, false) == 1, "%s is not claimed", source->name);
        if (gops_ort_works(gops_ort_run(session, inputs, count, &output), source->name)) {
            is_output(source, output);
        }
    }
    gops_ort_load()->release_value(output);
    gops_ort_load()->release_session(session);
}

/* Whether the model is one of the two operators. */
static bool check_model(const char *path)
{
    const gops_onnx_bytes file = gops_onnx_read_file(path);
    char folder[4096], why[GOPS_ONNX_WHY] = "";
    gops_onnx_model model;
    gops_onnx_content content;
    gops_onnx_case source;
    const bool is =
        gops_test_check(file.at != NULL && gops_onnx_read_model(file, &model) &&
                            gops_onnx_look(model.graph, &content),
                        "%s is not a model", path) &&
        content.operators == 1 && content.others == 0 &&
        (content.kind == GOPS_ONNX_CONV_INTEGER || content.kind == GOPS_ONNX_QLINEAR_CONV);
    if (is) {
        snprintf(folder, sizeof folder, "%.*stest_data_set_0",
                 (int)(strlen(path) - strlen("model.onnx")), path);
        if (gops_test_check(gops_onnx_case_load(path + strlen(gops_onnx_testdata()) + 1, &model,
                                                &content, folder, &source, why),
                            "%s: %s", path, why)) {
            printf("  %s\n", source.name);
            check_case(&source, file);
        }
        gops_onnx_case_free(&source);
    }
    free((void *)(uintptr_t)file.at);
    return is;
}

static void package(void)
{
    gops_onnx_folder models;
    int cases = 0;
    gops_ort_load();
    if (!gops_onnx_is_folder(gops_onnx_testdata())) {
        gops_test_skip("%s is not there; apt-get install libonnx-testdata", gops_onnx_testdata());
    }
    if (!gops_test_check(gops_onnx_list_files(gops_onnx_testdata(), "/model.onnx", &models),
                         "%s cannot be read", gops_onnx_testdata())) {
        return;
    }
    printf("\n");
    for (size_t i = 0; i < models.count; i++) {
        cases += check_model(models.paths[i]);
    }
    gops_test_check(cases >= EXPECTED_CASES, "%d cases were found, at least %d are known", cases,
                    EXPECTED_CASES);
    gops_onnx_free_files(&models);
}

int main(void)
{
    static const gops_test_case cases[] = {{"package", package}, {NULL, NULL}};
    const int status = gops_test_main("ONNX Runtime, published vectors", cases);
    gops_ort_unload();
    return status;
}
