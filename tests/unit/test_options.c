/* Options: what they are refused for, the algorithms' and instruction sets' names, budgets. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <groupops/version.h>

#include "refusal.h"
#include "elements.h"
#include "harness.h"
#include "lent_host.h"
#include "wide_numbers.h"

static gops_problem conv_problem(void)
{
    return (gops_problem){.operation = GOPS_PROBLEM_CONV,
                          .data = GOPS_TEST_TENSOR(GOPS_F32, 1, 15, 29, 31),
                          .filter = GOPS_TEST_TENSOR(GOPS_F32, 3, 7, 5, 3, 2)};
}

static void refuse(const gops_options *options, gops_status status, const char *message)
{
    gops_problem p = conv_problem();
    gops_plan *plan = (gops_plan *)&p;
    gops_error error = gops_fresh_error();
    gops_check_refusal("options",
                       gops_conv_plan_create(&p.data, &p.filter, NULL, options, &plan, &error),
                       &error, status, message);
    gops_test_check(plan == NULL, "a plan came out");
}

static void refusals(void)
{
    gops_options good = {.size = sizeof good};
    gops_options o = good;
    char message[GOPS_MESSAGE_BYTES];
    o.size = 0;
    snprintf(message, sizeof message, "options.size is 0; sizeof(gops_options) is %zu", sizeof o);
    refuse(&o, GOPS_INVALID, message);
    o = good;
    o.threads = -1;
    refuse(&o, GOPS_INVALID, "threads is -1; it must not be negative");
    o = good;
    o.max_workspace = -4096;
    refuse(&o, GOPS_INVALID, "max_workspace is -4096; it must not be negative");
    o = good;
    o.accuracy = (gops_accuracy)2;
    refuse(&o, GOPS_INVALID, "accuracy is 2; it must be 0, exact, or 1, relaxed");
    o = good;
    o.algorithm = "fft";
    refuse(
        &o, GOPS_INVALID,
        "algorithm is \"fft\"; it must be one of auto, fastest, gemm, implicit, implicit/blocked, "
        "direct, pointwise/pixels, /channels, winograd/f2, /f4, /f3, subconv, depthwise/blocked, "
        "/shuffle, /masked, /permuted, /pairs, /rows, norm, or the part of one before its slash");
    o.algorithm = "fft\nor not";
    gops_error error = {GOPS_OK, ""};
    gops_plan *plan = NULL;
    gops_problem named = conv_problem();
    named.algorithm = o.algorithm;
    gops_test_check(gops_problem_plan(&named, &plan, &error) == GOPS_INVALID &&
                        strchr(error.message, '\n') == NULL,
                    "%s", error.message);
    o.algorithm = "norm";
    refuse(&o, GOPS_UNSUPPORTED, "algorithm norm serves no convolutions");
    o = good;
    o.output_type = (gops_type)99;
    refuse(&o, GOPS_INVALID, "output_type has type number 99, which is none");
}

/* Of data [1, 15, 29, 31] and an output [1, 21, 27, 30]. */
static void channel_strides_refused(void)
{
    const gops_options good = {.size = sizeof good};
    gops_options o = good;
    o.data_channel_stride = 29 * 31 - 1;
    refuse(&o, GOPS_INVALID, "data_channel_stride is 898; a channel has 899 elements");
    o.data_channel_stride = -1;
    refuse(&o, GOPS_INVALID, "data_channel_stride is -1; a channel has 899 elements");
    o = good;
    o.output_channel_stride = 27 * 30 - 1;
    refuse(&o, GOPS_INVALID, "output_channel_stride is 809; a channel has 810 elements");
    o.output_channel_stride = INT64_MIN;
    refuse(&o, GOPS_INVALID,
           "output_channel_stride is -9223372036854775808; a channel has 810 elements");
    if (GOPS_TEST_32_BIT)
        return; /* fewer are plans made for */
    o = good;
    o.data_channel_stride = (INT64_C(1) << 52) / 15 + 1;
    refuse(&o, GOPS_TOO_LARGE,
           "data at its data_channel_stride has 4503599627370510 elements; plans are made for up "
           "to 4503599627370496");
    o.data_channel_stride = INT64_MAX;
    refuse(&o, GOPS_TOO_LARGE,
           "data at its data_channel_stride has 9223372036854775807 elements; plans are made for "
           "up to 4503599627370496");
    o = good;
    o.output_channel_stride = (INT64_C(1) << 52) / 21 + 1;
    refuse(&o, GOPS_TOO_LARGE,
           "output at its output_channel_stride has 4503599627370501 elements; plans are made for "
           "up to 4503599627370496");
}

static int no_parallel(void *context, void (*task)(void *argument, int64_t index), void *argument,
                       int64_t count)
{
    (void)context;
    (void)task;
    (void)argument;
    (void)count;
    return 7;
}

static void host_refusals(void)
{
    gops_test_heap heap;
    gops_test_heap_start(&heap);
    gops_gemm gemm = {.size = sizeof gemm};
    gops_host host = gops_test_heap_host(&heap);
    gops_options o = {.size = sizeof o, .host = &host};
    char message[160];
    host.size = 3;
    snprintf(message, sizeof message, "host.size is 3; sizeof(gops_host) is %zu", sizeof host);
    refuse(&o, GOPS_INVALID, message);
    host = gops_test_heap_host(&heap);
    host.release = NULL;
    refuse(&o, GOPS_INVALID, "host.allocate is set without host.release; they go together");
    host = gops_test_heap_host(&heap);
    host.allocate = NULL;
    refuse(&o, GOPS_INVALID, "host.release is set without host.allocate; they go together");
    host = gops_test_heap_host(&heap);
    host.gemm = &gemm;
    refuse(&o, GOPS_INVALID, "host.gemm.sgemm is NULL");
    gemm.sgemm = gops_test_own_gemm()->sgemm;
    refuse(&o, GOPS_INVALID, "host.gemm.dgemm is NULL");
    gops_test_check(heap.calls == 0, "a refused plan allocated");
    /* A parallel_for that fails fails the execution, not the plan. */
    gops_test_random random = gops_test_random_start(gops_test_seed(), 41);
    gops_problem p = conv_problem();
    gops_reference_geometry g;
    gops_tensor output;
    gops_error error = gops_fresh_error();
    host = gops_test_heap_host(&heap);
    host.parallel_for = no_parallel;
    p.host = &host;
    p.threads = 3;
    p.data.dims[2] = 229; /* enough work for three threads */
    p.data.dims[3] = 233;
    p.data.dims[0] = 41; /* work that is worth more than one thread */
    gops_problem_reference_shape(&p, &g, &output);
    gops_problem_buffers buffers = gops_problem_buffers_create(&p, &output, &random);
    gops_check_refusal("parallel_for", gops_problem_run(&p, &buffers, &error), &error,
                       GOPS_HOST_FAILED, "host.parallel_for returned 7");
    gops_test_check(heap.live == 0 && heap.misuses == 0, "%lld allocations left",
                    (long long)heap.live);
    gops_problem_buffers_destroy(&buffers);
}

/* The workspace of a plan with that budget for one thread; -1 where the budget is refused. */
static int64_t workspace_of(const gops_problem *problem, int64_t budget)
{
    gops_problem p = *problem;
    gops_plan_info info = {.size = sizeof info};
    gops_plan *plan;
    gops_error error;
    p.max_workspace = budget;
    p.threads = 1;
    if (gops_problem_plan(&p, &plan, &error) != GOPS_OK)
        return -1;
    gops_plan_get_info(plan, &info, NULL);
    gops_plan_destroy(plan);
    return (int64_t)info.workspace_bytes;
}

/* With the least budget that is not refused, a plan needs all of it. gemm goes down to a column, a
 * value of the data and a sum, each in lines of its own. */
static void least_budgets(void)
{
    const gops_problem problems[] = {
        {.algorithm = "direct",
         .data = GOPS_TEST_TENSOR(GOPS_F32, 1, 14, 19, 23),
         .filter = GOPS_TEST_TENSOR(GOPS_F32, 2, 5, 7, 3, 3)},
        {.algorithm = "pointwise",
         .data = GOPS_TEST_TENSOR(GOPS_F64, 1, 14, 19, 23),
         .filter = GOPS_TEST_TENSOR(GOPS_F64, 2, 5, 7, 1, 1)},
        {.algorithm = "depthwise/rows",
         .data = GOPS_TEST_TENSOR(GOPS_BF16, 1, 38, 19, 23),
         .filter = GOPS_TEST_TENSOR(GOPS_BF16, 38, 1, 1, 3, 3)},
        {.operation = GOPS_PROBLEM_DECONV,
         .algorithm = "depthwise/rows",
         .data = GOPS_TEST_TENSOR(GOPS_F16, 1, 38, 11, 13),
         .filter = GOPS_TEST_TENSOR(GOPS_F16, 38, 1, 1, 3, 3),
         .deconv = {.strides = LIST(2, 2)}},
        {.algorithm = "gemm",
         .data = GOPS_TEST_TENSOR(GOPS_F16, 1, 14, 19, 23),
         .filter = GOPS_TEST_TENSOR(GOPS_F16, 2, 5, 7, 3, 3)},
        {.operation = GOPS_PROBLEM_DECONV,
         .algorithm = "gemm",
         .data = GOPS_TEST_TENSOR(GOPS_F16, 1, 14, 11, 13),
         .filter = GOPS_TEST_TENSOR(GOPS_F16, 2, 7, 5, 1, 1)},
    };
    for (size_t i = 0; i < sizeof problems / sizeof problems[0]; i++) {
        const gops_problem *p = &problems[i];
        int64_t refused = 0, enough = 1 << 22;
        while (enough - refused > 1) {
            const int64_t budget = refused + (enough - refused) / 2;
            *(workspace_of(p, budget) < 0 ? &refused : &enough) = budget;
        }
        const int64_t values = p->operation == GOPS_PROBLEM_CONV ? 2 : 3;
        const int64_t used = strcmp(p->algorithm, "gemm") == 0
                                 ? 3 * 64 + values * (int64_t)sizeof(float)
                                 : workspace_of(p, enough);
        gops_test_check(used == enough, "%s, problem %zu: %lld bytes of %lld", p->algorithm, i,
                        (long long)used, (long long)enough);
    }
}

/* Taps so far apart that a padded copy has gigabytes: what copies is not chosen, whatever the budget. */
static void far_taps(void)
{
    const gops_problem problems[] = {
        {.data = GOPS_TEST_TENSOR(GOPS_I32, 1, 32, 16, 16),
         .filter = GOPS_TEST_TENSOR(GOPS_I32, 32, 1, 1, 3, 3)},
        {.data = GOPS_TEST_TENSOR(GOPS_F32, 1, 32, 16, 16),
         .filter = GOPS_TEST_TENSOR(GOPS_F32, 32, 1, 1, 3, 3)},
        {.data = GOPS_TEST_TENSOR(GOPS_U8, 1, 32, 16, 16),
         .filter = GOPS_TEST_TENSOR(GOPS_I8, 32, 1, 1, 3, 3),
         .output_type = GOPS_U8},
    };
    for (int i = 0; i < (int)(sizeof problems / sizeof problems[0]); i++)
        for (int64_t far = 1 << 12; far <= 1 << 24; far *= 64) {
            gops_problem p = problems[i];
            p.conv = (gops_conv_attributes){
                .dilations = LIST(far, 1), .pads_begin = LIST(far, 1), .pads_end = LIST(far, 1)};
            const int64_t bytes = workspace_of(&p, GOPS_UNLIMITED);
            gops_test_check(bytes >= 0 && bytes < 1 << 18,
                            "problem %d: %lld bytes for taps %lld apart", i, (long long)bytes,
                            (long long)far);
        }
}

/* What is left where no algorithm takes a budget, or every one that would is left out. */
static void none_serves(void)
{
    gops_problem p = conv_problem();
    gops_plan *plan = NULL;
    gops_error error = gops_fresh_error();
    p.max_workspace = 1;
    gops_test_check(gops_problem_plan(&p, &plan, &error) == GOPS_INVALID &&
                        strstr(error.message, "no algorithm fits: max_workspace is 1; ") != NULL,
                    "%s", error.message);
    /* What one output reads, 3 MB in the compute type, must be beyond half of any second level cache. */
    p = (gops_problem){.divisible = 1,
                       .data = GOPS_TEST_TENSOR(GOPS_BF16, 1, 1 << 14, 9, 9),
                       .filter = GOPS_TEST_TENSOR(GOPS_BF16, 1, 3, 1 << 14, 7, 7)};
    gops_test_check(gops_problem_plan(&p, &plan, &error) == GOPS_UNSUPPORTED &&
                        strstr(error.message, "divisible leaves out ") == error.message,
                    "%s", error.message);
    gops_plan_destroy(plan);
}

/* The number of bytes that a refusal for max_workspace names; 0 where there is none. */
static long long named_budget(const gops_error *error)
{
    const char *number = strstr(error->message, " needs ");
    while (number != NULL && *number != '\0' && (*number < '0' || *number > '9'))
        number++;
    return number != NULL ? strtoll(number, NULL, 10) : 0;
}

/* Every budget is either kept or refused with the number that would do; that number does. */
static void budgets(void)
{
    const gops_problem conv = conv_problem();
    const gops_problem deconv = {.operation = GOPS_PROBLEM_DECONV,
                                 .data = GOPS_TEST_TENSOR(GOPS_F64, 1, 15, 29, 31),
                                 .filter = GOPS_TEST_TENSOR(GOPS_F64, 3, 5, 7, 3, 2),
                                 .deconv = {.strides = LIST(2, 2)}};
    const struct {
        const char *algorithm;
        gops_problem problem;
    } cases[] = {
        {"gemm", conv}, {"direct", conv}, {"implicit", conv}, {"gemm", deconv}, {"subconv", deconv},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        gops_problem p = cases[i].problem;
        gops_plan *plan;
        gops_error error = {GOPS_OK, ""};
        p.algorithm = cases[i].algorithm;
        p.max_workspace = 1;
        gops_status status = gops_problem_plan(&p, &plan, &error);
        gops_test_check(status == GOPS_INVALID && plan == NULL, "a plan with 1 byte of workspace");
        const long long needed = named_budget(&error);
        gops_test_check(needed > 1 && strncmp(error.message, "max_workspace is 1; ", 20) == 0, "%s",
                        error.message);
        for (int64_t budget = needed; budget < 1 << 22 && budget > 0; budget = budget * 5 / 3 + 1) {
            gops_plan_info info = {.size = sizeof info};
            p.max_workspace = budget;
            p.threads = 1 + (int32_t)(budget % 3);
            status = gops_problem_plan(&p, &plan, &error);
            if (!gops_test_check(status == GOPS_OK, "%lld: %s", (long long)budget, error.message))
                continue;
            gops_plan_get_info(plan, &info, NULL);
            gops_test_check((int64_t)info.workspace_bytes <= budget,
                            "%zu bytes with a budget of %lld", info.workspace_bytes,
                            (long long)budget);
            gops_plan_destroy(plan);
        }
    }
}

static void names(void)
{
    int gemm = 0;
    for (int i = 0; gops_algorithm_name(i) != NULL; i++) {
        gemm += strcmp(gops_algorithm_name(i), "gemm") == 0;
        for (int j = 0; j < i; j++)
            gops_test_check(strcmp(gops_algorithm_name(i), gops_algorithm_name(j)) != 0, "%s twice",
                            gops_algorithm_name(i));
    }
    gops_test_check(gemm == 1, "gemm is listed %d times", gemm);
    gops_test_check(gops_algorithm_name(-1) == NULL && gops_algorithm_name(INT32_MAX) == NULL,
                    "names beyond the ends");
    bool runs = false;
    gops_test_check(strcmp(gops_isa_name(0, &runs), "portable") == 0 && runs,
                    "the first instruction set is %s, and runs is %d", gops_isa_name(0, NULL),
                    runs);
    gops_test_check(gops_isa_name(-1, NULL) == NULL && gops_isa_name(INT32_MAX, NULL) == NULL,
                    "instruction sets beyond the ends");
    gops_test_check(gops_blas()[0] != '\0', "a BLAS without a name");
    char version[32];
    snprintf(version, sizeof version, "%d.%d.%d", GOPS_VERSION_MAJOR, GOPS_VERSION_MINOR,
             GOPS_VERSION_PATCH);
    gops_test_check(strcmp(gops_version(), version) == 0, "version %s", gops_version());
    gops_test_check(strcmp(GOPS_VERSION_STRING, version) == 0, "%s", GOPS_VERSION_STRING);
}

/* Every instruction set that runs gives right results; one that does not exist is refused. */
static void instruction_sets(void)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 42);
    gops_problem p = conv_problem();
    gops_problem n = {.operation = GOPS_PROBLEM_NORM, .data = p.data, .norm = {5, 1e-5}};
    const char *before = getenv("GROUPOPS_ISA");
    char *saved = before != NULL ? strdup(before) : NULL;
    bool runs;
    for (int i = 0; gops_isa_name(i, &runs) != NULL; i++) {
        setenv("GROUPOPS_ISA", gops_isa_name(i, NULL), 1);
        gops_test_check((gops_isa() != NULL) == runs, "%s", gops_isa_name(i, NULL));
        if (!runs)
            continue;
        gops_test_check(strcmp(gops_isa(), gops_isa_name(i, NULL)) == 0, "%s instead of %s",
                        gops_isa(), gops_isa_name(i, NULL));
        gops_problem_check(&p, &random);
        gops_problem_check(&n, &random);
    }
    setenv("GROUPOPS_ISA", "6502", 1);
    gops_options o = {.size = sizeof o};
    gops_test_check(gops_isa() == NULL, "%s instead of none", gops_isa());
    char message[GOPS_MESSAGE_BYTES] =
        "GROUPOPS_ISA is \"6502\"; the instruction sets that run here are ";
    for (int i = 0; gops_isa_name(i, &runs) != NULL; i++)
        if (runs)
            strcat(strcat(message, i > 0 ? ", " : ""), gops_isa_name(i, NULL));
    refuse(&o, GOPS_UNSUPPORTED, message);
    setenv("GROUPOPS_ISA", "6502\nor 8080", 1); /* a message is one line */
    refuse(&o, GOPS_UNSUPPORTED, message);
    unsetenv("GROUPOPS_ISA");
    gops_test_check(gops_isa() != NULL, "no instruction set");
    if (saved != NULL)
        setenv("GROUPOPS_ISA", saved, 1);
    free(saved);
}

int main(void)
{
    static const gops_test_case cases[] = {{"refusals", refusals},
                                           {"channel_strides_refused", channel_strides_refused},
                                           {"host_refusals", host_refusals},
                                           {"budgets", budgets},
                                           {"least_budgets", least_budgets},
                                           {"far_taps", far_taps},
                                           {"none_serves", none_serves},
                                           {"names", names},
                                           {"instruction_sets", instruction_sets},
                                           {NULL, NULL}};
    return gops_test_main("options", cases);
}
