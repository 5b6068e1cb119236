/*
 * Tiles of AMX, and blocked inputs of VNNI: the reference's integers for quantized convolutions, its bound for
 * relaxed bf16, with whole and part tiles and blocks of channels in and out and of pixels. By the
 * emulation of AMX on all processors, and by the instructions where the processor has them.
 */
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "elements.h"
#include "every_plan.h"
#include "harness.h"
#include "problem.h"
#include "random_quantized.h"

/* Channels beside the sizes of tiles, 16 and 32, and of blocks of planes, 64 and 32 for bf16. */
static const int64_t channels_out[] = {16, 17, 31, 32, 33, 47, 48, 63, 71};
static const int64_t channels_in[] = {9, 32, 37, 63, 64, 65, 131};
enum {
    OUTS = sizeof channels_out / sizeof channels_out[0],
    INS = sizeof channels_in / sizeof channels_in[0],
    MAX_PRODUCTS = 50000000, /* with those of padding, at strides of one */
};

static const char *const isas[] = {"amx_emulated", "amx", NULL};
static const char *const vnni[] = {"avx512vnni", NULL};

/* Of the plans of a case: how many there were, and how many say this word. */
typedef struct tally {
    const char *word;
    int64_t plans, wide;
} tally;

/* The layer of case number n, with other sizes each time; what it spans is small. */
typedef gops_problem layer_fn(gops_problem_operation operation, int n, gops_test_random *random);
static layer_fn layer, large, few_channels;

/* What plans are to have, on which instruction sets, and of what layers. */
typedef struct subject {
    const char *word;
    const char *const *isas;
    layer_fn *layer;
    int64_t share; /* more plans than one in so many have them */
} subject;
static const subject amx_tiles = {"AMX", isas, layer, 5};
static const subject blocked_inputs = {"blocked", vnni, large, 10};
static const subject joined_taps = {"taps joined", isas, few_channels, 30};

static gops_problem layer(gops_problem_operation operation, int n, gops_test_random *random)
{
    const bool conv = operation == GOPS_PROBLEM_CONV;
    const int64_t kernel = gops_test_random_range(random, 1, 3), o = channels_out[n % OUTS];
    const int64_t groups = gops_test_random_range(random, 1, 2), i = channels_in[n / OUTS % INS];
    gops_problem p = {.operation = operation, .threads = 1};
    p.data = (gops_tensor){GOPS_U8,
                           4,
                           {1, groups * i, gops_test_random_range(random, 3, 5),
                            gops_test_random_range(random, conv ? 11 : 3, conv ? 35 : 17)}};
    p.filter = (gops_tensor){GOPS_I8, 5, {groups, conv ? o : i, conv ? i : o, kernel, 1}};
    p.filter.dims[4] = gops_test_random_range(random, 1, 3);
    p.conv.strides = p.deconv.strides = (gops_list){
        2, {1, gops_test_random_chance(random, 60) ? 1 : gops_test_random_range(random, 2, 3)}};
    p.conv.pads_begin = (gops_list){2, {1, 2}};
    p.conv.pads_end = (gops_list){2, {1, 1}};
    return p;
}

/* Of so many channels, taps and pixels that the first level cache does not hold the input. */
static gops_problem large(gops_problem_operation operation, int n, gops_test_random *random)
{
    gops_problem p = layer(operation, n, random);
    const int64_t least = 64, groups = p.filter.dims[0];
    int64_t *in = &p.filter.dims[operation == GOPS_PROBLEM_CONV ? 2 : 1];
    *in += least;
    p.data.dims[1] = groups * *in;
    for (int a = 2; a < 4; a++) {
        p.data.dims[a] += 31;
        p.filter.dims[1 + a] = gops_test_random_range(random, 3, 4);
    }
    return p;
}

/* One to three axes, the last with a long row at times, and strides, dilations and pads on all of them; or
 * outputs of the size of the data, whose rows can be copied together. */
static gops_problem any_few_channels(gops_problem_operation operation, int n,
                                     gops_test_random *random)
{
    const int axes = n % 5 == 1 ? 1 : n % 5 == 2 ? 3 : 2;
    const bool same = gops_test_random_chance(random, 50);
    const int64_t groups = gops_test_random_range(random, 1, 3);
    const int64_t in =
        gops_test_random_range(random, 1, gops_test_random_chance(random, 60) ? 12 : 41);
    gops_problem p = {.operation = operation, .threads = 1};
    p.data = (gops_tensor){GOPS_U8, axes + 2, {gops_test_random_range(random, 1, 2), groups * in}};
    p.filter =
        (gops_tensor){GOPS_I8, axes + 3, {groups, gops_test_random_range(random, 1, 41), in}};
    p.conv.strides.count = p.conv.dilations.count = (int32_t)axes;
    p.conv.pads_begin.count = p.conv.pads_end.count = (int32_t)axes;
    for (int a = 0; a < axes; a++) {
        const bool last = a == axes - 1;
        const int64_t half = gops_test_random_range(random, last, 3);
        const int64_t kernel =
            same ? 2 * half + 1 : gops_test_random_range(random, 1 + last, axes > 2 ? 4 : 7);
        const int64_t dilation = gops_test_random_range(random, 1, 2);
        const int64_t reach = (kernel - 1) * dilation, most = axes > 2 ? 5 : 23;
        p.filter.dims[3 + a] = kernel;
        p.data.dims[2 + a] = reach + gops_test_random_range(random, 1, most);
        if (last && n % 16 == 0)
            p.data.dims[2 + a] += gops_test_random_range(random, 257, 613);
        p.conv.dilations.values[a] = dilation;
        p.conv.strides.values[a] = same ? 1 : gops_test_random_range(random, 1, 3);
        p.conv.pads_begin.values[a] = same ? reach / 2 : gops_test_random_range(random, 0, reach);
        p.conv.pads_end.values[a] = same ? reach / 2 : gops_test_random_range(random, 0, reach);
    }
    return p;
}

/* Of those, one that the reference computes soon: a long row on three axes can take it minutes. */
static gops_problem few_channels(gops_problem_operation operation, int n, gops_test_random *random)
{
    for (;;) {
        const gops_problem p = any_few_channels(operation, n, random);
        const int64_t channels = p.data.dims[1];
        if (gops_test_elements(&p.data) / channels * gops_test_elements(&p.filter) <= MAX_PRODUCTS)
            return p;
    }
}

/* Skips the case where neither of the instruction sets runs. */
static void need_one_of(const char *const *names)
{
    for (int i = 0; names[i] != NULL; i++)
        if (gops_test_isa_runs(names[i]))
            return;
    gops_test_skip("%s does not run here", names[0]);
}

/* Runs the problem by the algorithm. */
static void run(gops_problem p, const char *algorithm, const gops_problem_buffers *buffers,
                tally *of)
{
    gops_plan *plan;
    gops_error error = {GOPS_OK, ""};
    gops_plan_info info = {.size = sizeof info};
    p.algorithm = algorithm;
    gops_problem_clear_output(&p, buffers);
    gops_status status = gops_problem_plan(&p, &plan, &error);
    if (status == GOPS_OK) {
        gops_plan_get_info(plan, &info, NULL);
        of->plans++;
        of->wide += strstr(info.why, of->word) != NULL;
        const size_t whole = (info.workspace_bytes + GOPS_WORKSPACE_ALIGNMENT - 1) /
                             GOPS_WORKSPACE_ALIGNMENT * GOPS_WORKSPACE_ALIGNMENT;
        gops_test_guarded workspace = gops_test_guarded_create(whole);
        memset(workspace.memory, 0xff, whole); /* as bf16: NaN */
        status = gops_problem_execute(&p, plan, buffers, &workspace, whole, &error);
        gops_test_guarded_destroy(&workspace);
    }
    gops_test_check(status == GOPS_OK, "%s: %s", algorithm, error.message);
    gops_plan_destroy(plan);
}

static void compare_quantized(gops_problem_operation operation, const char *algorithm,
                              const subject *s)
{
    need_one_of(s->isas);
    gops_test_random random = gops_test_random_start(gops_test_seed(), 10 + operation);
    tally of = {s->word, 0, 0};
    for (int n = 0; n < OUTS * INS; n++) {
        gops_problem p = s->layer(operation, n, &random);
        p.data.type = n % 2 == 0 ? GOPS_U8 : GOPS_I8;
        gops_random_quantization memory;
        gops_reference_geometry g;
        gops_reference_result expected;
        gops_tensor output;
        gops_random_quantize(&p, &memory, &random);
        gops_problem_reference_shape(&p, &g, &output);
        gops_problem_buffers buffers = gops_problem_buffers_create(&p, &output, &random);
        gops_random_quantized_values(&p, &memory, &output, &buffers, &random);
        gops_problem_reference(&p, &buffers, &expected);
        for (int i = 0; s->isas[i] != NULL; i++) {
            if (!gops_test_isa_runs(s->isas[i]))
                continue;
            setenv("GROUPOPS_ISA", s->isas[i], 1);
            run(p, algorithm, &buffers, &of);
            gops_test_check(gops_problem_compare(&p, &expected, buffers.output.memory), "by %s",
                            s->isas[i]);
            unsetenv("GROUPOPS_ISA");
        }
        gops_reference_result_destroy(&expected);
        gops_problem_buffers_destroy(&buffers);
    }
    gops_test_check(of.wide > of.plans / s->share, "%lld of %lld plans have %s", (long long)of.wide,
                    (long long)of.plans, s->word);
}

static void convolutions(void)
{
    compare_quantized(GOPS_PROBLEM_CONV, "implicit", &amx_tiles);
}

static void transposed(void)
{
    compare_quantized(GOPS_PROBLEM_DECONV, "subconv", &amx_tiles);
}

static void blocked_convolutions(void)
{
    compare_quantized(GOPS_PROBLEM_CONV, "implicit", &blocked_inputs);
}

static void blocked_transposed(void)
{
    compare_quantized(GOPS_PROBLEM_DECONV, "subconv", &blocked_inputs);
}

static void joined_convolutions(void)
{
    compare_quantized(GOPS_PROBLEM_CONV, "implicit", &joined_taps);
}

static void compare_relaxed(const subject *s, bool deconvs)
{
    need_one_of(isas);
    gops_test_random random = gops_test_random_start(gops_test_seed(), 20 + !deconvs);
    tally of = {s->word, 0, 0};
    for (int n = 0; n < 2 * OUTS * INS; n++) {
        const bool conv = n % 2 == 0 || !deconvs;
        gops_problem p = s->layer(conv ? GOPS_PROBLEM_CONV : GOPS_PROBLEM_DECONV, n / 2, &random);
        gops_reference_geometry g;
        gops_reference_result expected;
        gops_tensor output;
        p.data.type = p.filter.type = GOPS_BF16;
        p.accuracy = GOPS_ACCURACY_RELAXED;
        gops_random_fusion(&p, &random);
        gops_problem_reference_shape(&p, &g, &output);
        gops_problem_buffers buffers = gops_problem_buffers_create(&p, &output, &random);
        gops_problem_reference(&p, &buffers, &expected);
        for (int i = 0; isas[i] != NULL; i++) {
            if (!gops_test_isa_runs(isas[i]))
                continue;
            setenv("GROUPOPS_ISA", isas[i], 1);
            run(p, conv ? "implicit" : "subconv", &buffers, &of);
            gops_test_check(gops_problem_compare(&p, &expected, buffers.output.memory), "by %s",
                            isas[i]);
            unsetenv("GROUPOPS_ISA");
        }
        gops_reference_result_destroy(&expected);
        gops_problem_buffers_destroy(&buffers);
    }
    gops_test_check(of.wide > of.plans / s->share, "%lld of %lld plans have %s", (long long)of.wide,
                    (long long)of.plans, s->word);
}

static void relaxed(void)
{
    compare_relaxed(&amx_tiles, true);
}

static void joined_relaxed(void)
{
    compare_relaxed(&joined_taps, false);
}

int main(void)
{
    static const gops_test_case cases[] = {{"convolutions", convolutions},
                                           {"transposed", transposed},
                                           {"relaxed", relaxed},
                                           {"joined_convolutions", joined_convolutions},
                                           {"joined_relaxed", joined_relaxed},
                                           {"blocked_convolutions", blocked_convolutions},
                                           {"blocked_transposed", blocked_transposed},
                                           {NULL, NULL}};
    return gops_test_main("tiles of AMX, blocked inputs", cases);
}
