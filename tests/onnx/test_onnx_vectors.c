/* The Conv and ConvTranspose cases that the ONNX project publishes, from Debian's package
 * libonnx-testdata. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <groupops/plan.h>

#include "onnx_check.h"
#include "onnx_folder.h"
#include "elements.h"
#include "harness.h"

/* What libonnx-testdata 1.12.0-2 of Debian 12 holds, counted with protoc; a scan that finds fewer
 * overlooks some. It has no GroupNormalization (which came with ONNX 1.13), and nothing in f64, f16
 * or bf16. */
static const int expected[GOPS_ONNX_KINDS] = {
    [GOPS_ONNX_CONV] = 33,
    [GOPS_ONNX_CONV_TRANSPOSE] = 13,
    [GOPS_ONNX_CONV_INTEGER] = 3,
    [GOPS_ONNX_QLINEAR_CONV] = 1,
};

static gops_onnx_tally tally;

static void describe(const gops_onnx_problem *problem)
{
    gops_test_text data, weights, output;
    const gops_onnx_case *source = problem->source;
    bool quantized = source->kind == GOPS_ONNX_QLINEAR_CONV;
    printf("  %-18s %s: %s, %s%s -> %s\n", gops_onnx_kind_name(source->kind), source->name,
           gops_test_describe(&source->inputs[0].tensor, &data),
           gops_test_describe(&source->inputs[quantized ? 3 : 1].tensor, &weights),
           problem->bias != NULL ? ", bias" : "",
           gops_test_describe(&source->output.tensor, &output));
}

static void check_case(const gops_onnx_model *model, const gops_onnx_content *content,
                       const char *name, const char *folder)
{
    gops_onnx_case source;
    char why[GOPS_ONNX_WHY] = "";
    if (gops_test_check(gops_onnx_case_load(name, model, content, folder, &source, why), "%s: %s",
                        name, why)) {
        gops_onnx_problem problem;
        if (gops_test_check(gops_onnx_problem_create(&source, &problem, why), "%s: %s", name,
                            why)) {
            describe(&problem);
            gops_onnx_check(&problem, &tally);
        }
        gops_onnx_problem_free(&problem);
    }
    gops_onnx_case_free(&source);
}

/* All data sets beside one model.onnx. */
static void check_data_sets(const gops_onnx_model *model, const gops_onnx_content *content,
                            const char *path)
{
    char folder[4096];
    int folder_length = (int)(strlen(path) - strlen("model.onnx"));
    int set = 0;
    for (;; set++) {
        snprintf(folder, sizeof folder, "%.*stest_data_set_%d", folder_length, path, set);
        if (!gops_onnx_is_folder(folder))
            break;
        check_case(model, content, folder + strlen(gops_onnx_testdata()) + 1, folder);
    }
    gops_test_check(set > 0, "%s has no test_data_set_0", path);
}

static bool is_ours(const gops_onnx_content *content, const char *path)
{
    if (content->operators == 0)
        return false;
    const char *why = NULL;
    if (content->operators > 1 || content->others > 0)
        why = "it is not the only node";
    else if (content->kind == GOPS_ONNX_GROUP_NORMALIZATION)
        why = "the package that this test was written with has none to show what it is like";
    if (why != NULL)
        printf("  skipped: %s: %d of our operators (%s) among %d nodes: %s\n", path,
               content->operators, gops_onnx_kind_name(content->kind),
               content->operators + content->others, why);
    return why == NULL;
}

static void check_model(const char *path)
{
    gops_onnx_bytes file = gops_onnx_read_file(path);
    gops_onnx_model model;
    gops_onnx_content content;
    if (gops_test_check(file.at != NULL && gops_onnx_read_model(file, &model) &&
                            gops_onnx_look(model.graph, &content),
                        "%s is not a model", path) &&
        is_ours(&content, path))
        check_data_sets(&model, &content, path);
    free((void *)file.at);
}

static void check_tally(size_t models)
{
    const char *algorithm;
    int cases = 0;
    printf("  %zu models\n", models);
    for (int k = 0; k < GOPS_ONNX_KINDS; k++) {
        printf("  %s: %d checked, at least %d expected\n", gops_onnx_kind_name((gops_onnx_kind)k),
               tally.checked[k], expected[k]);
        cases += tally.checked[k];
        gops_test_check(tally.checked[k] >= expected[k],
                        "%s: fewer cases than libonnx-testdata 1.12.0 has",
                        gops_onnx_kind_name((gops_onnx_kind)k));
    }
    for (int32_t i = 0; (algorithm = gops_algorithm_name(i)) != NULL && i < GOPS_ONNX_ALGORITHMS;
         i++) {
        printf("  %s took %d of %d cases\n", algorithm, tally.by_algorithm[i], cases);
        if (strcmp(algorithm, "gemm") == 0)
            gops_test_check(tally.by_algorithm[i] == cases, "gemm must take every case");
    }
}

static void test_package(void)
{
    gops_onnx_folder models;
    if (!gops_onnx_is_folder(gops_onnx_testdata()))
        gops_test_skip("%s is not there; apt-get install libonnx-testdata", gops_onnx_testdata());
    if (!gops_test_check(gops_onnx_list_files(gops_onnx_testdata(), "/model.onnx", &models),
                         "%s cannot be read", gops_onnx_testdata()))
        return;
    printf("\n");
    for (size_t i = 0; i < models.count; i++)
        check_model(models.paths[i]);
    check_tally(models.count);
    gops_onnx_free_files(&models);
}

int main(void)
{
    static const gops_test_case cases[] = {{"package", test_package}, {NULL, NULL}};
    return gops_test_main("onnx_vectors", cases);
}
