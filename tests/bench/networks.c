/* networks.c: quantized networks in ONNX Runtime, without the provider and with it, in turns: the
 * least time of each, and the first over the second. */
#include "ort_turns.h"
#include "ort_quantized.h"

#include "guarded_memory.h"
#include "harness.h"
#include "random_numbers.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct subject {
    int network;
    gops_ort_extent extent; /* the papers', but for U-Net */
} subject;

static const subject subjects[] = {
    {GOPS_ORT_RESNET, {224, 64, 0}},
    {GOPS_ORT_MOBILENET, {224, 32, 0}},
    {GOPS_ORT_UNET, {256, 32, 0}},
};

static const gops_ort_form forms[] = {
    {"u8", GOPS_ONNX_UINT8, GOPS_ONNX_INT8, true, false, false, false},
    {"i8", GOPS_ONNX_INT8, GOPS_ONNX_INT8, true, false, false, false},
};

/* How many turns each has: GROUPOPS_BENCH_ROUNDS, or 5. */
static int rounds(void)
{
    enum { USUAL = 5 };
    const char *given = getenv("GROUPOPS_BENCH_ROUNDS");
    return given != NULL ? atoi(given) : USUAL;
}

static void compare(const char *name, const gops_ort_form *form, const gops_onnx_buffer *model,
                    const gops_ort_tensor *input, int threads)
{
    ort_session *sessions[2] = {NULL, NULL};
    double least[2];
    bool works = true;
    for (int with = 0; with < 2 && works; with++) {
        const gops_ort_session_settings settings = {with ? GROUPOPS_ORT_PROVIDER : NULL,
                                                    ORT_OPTIMIZE_ALL, threads,
                                                    form->activations == GOPS_ONNX_INT8};
        works = gops_ort_works(gops_ort_open(model, &settings, &sessions[with]), name);
    }
    if (works) {
        gops_ort_take_turns(sessions, input, threads, rounds(), least);
        printf("| %s | %s | %d | %.2f | %.2f | %.2f |\n", name, form->name, threads, least[0],
               least[1], least[0] / least[1]);
        fflush(stdout);
    }
    gops_ort_load()->release_session(sessions[0]);
    gops_ort_load()->release_session(sessions[1]);
}

static void compare_network(const subject *of, const gops_ort_form *form)
{
    const gops_ort_quantized_network *network = &gops_ort_quantized_networks[of->network];
    const int64_t side = of->extent.side, dims[] = {1, 3, side, side}, count = 3 * side * side;
    float *data = gops_test_allocate((size_t)count * sizeof *data);
    gops_test_random random = gops_test_random_start(1, 1);
    gops_onnx_buffer model;
    gops_test_random_fill(&random, GOPS_F32, data, count);
    const gops_ort_tensor input = {"x", ORT_FLOAT, 4, dims, data};
    network->build(form, &of->extent, &model);
    for (int threads = 1; threads <= 2; threads++) {
        compare(network->name, form, &model, &input, threads);
    }
    free(model.bytes);
    free(data);
}

static void networks(void)
{
    gops_ort_load();
    gops_ort_set_claim(NULL);
    printf("\n| network | activations | threads | without, ms | with, ms | ratio |\n"
           "|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof subjects / sizeof subjects[0]; i++) {
        for (size_t k = 0; k < sizeof forms / sizeof forms[0]; k++) {
            compare_network(&subjects[i], &forms[k]);
        }
    }
}

int main(void)
{
    const gops_test_case cases[] = {{"networks", networks}, {NULL, NULL}};
    const int status = gops_test_main("quantized networks", cases);
    gops_ort_unload();
    return status;
}
