/*
 * Structs that begin with their size, from older and newer headers than the library's:
 * groupops/sized.h. The six structs by the functions that take them, and what no release has shown
 * yet, fields that were added, by a struct of the test's own.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <groupops/groupops.h>

#include "base/sized.h"
#include "elements.h"
#include "harness.h"
#include "lent_host.h"
#include "refusal.h"

/* Sizes in releases where pointers and size_t have 64 bits, the first ones first. */
typedef struct history {
    const char *name, *type;
    size_t bytes;
    size_t released[4];
} history;

enum { OPTIONS, ARGUMENTS, PLAN_INFO, HOST, GEMM, QUANTIZATION, STRUCTS };

static const history histories[STRUCTS] = {
    {"options", "gops_options", sizeof(gops_options), {80}},
    {"arguments", "gops_arguments", sizeof(gops_arguments), {120}},
    {"info", "gops_plan_info", sizeof(gops_plan_info), {256}},
    {"host", "gops_host", sizeof(gops_host), {56}},
    {"host.gemm", "gops_gemm", sizeof(gops_gemm), {32}},
    {"quantization", "gops_quantization", sizeof(gops_quantization), {80}},
};

static const gops_tensor data = {GOPS_F32, 3, {1, 6, 7}};
static const gops_tensor weights = {GOPS_F32, 4, {3, 5, 2, 3}};
enum { OUTPUTS = 15 * 5 };

/* A struct that is larger than any of ours may be. */
typedef union roomy {
    size_t size;
    gops_options options;
    gops_arguments arguments;
    gops_plan_info info;
    gops_host host;
    gops_gemm gemm;
    gops_quantization quantization;
    unsigned char bytes[2 * GOPS_MAX_STRUCT_BYTES];
} roomy;

typedef struct fixture {
    float data[6 * 7], weights[3 * 5 * 2 * 3], expected[OUTPUTS], output[OUTPUTS];
    gops_plan *plan, *quantized;
    gops_packed_filter *filter;
} fixture;

static void fill(float *values, int count)
{
    for (int i = 0; i < count; i++)
        values[i] = (float)((i * 29 + 11) % 37 - 17);
}

static void start(fixture *f)
{
    const gops_tensor quantized_data = {GOPS_U8, 3, {1, 6, 7}};
    const gops_tensor quantized_weights = {GOPS_U8, 4, {3, 5, 2, 3}};
    gops_error error = gops_fresh_error();
    gops_options options = GOPS_OPTIONS_INIT;
    gops_arguments arguments = GOPS_ARGUMENTS_INIT;
    options.output_type = GOPS_U8;
    fill(f->data, 6 * 7);
    fill(f->weights, 3 * 5 * 2 * 3);
    gops_test_check(
        gops_conv_plan_create(&data, &weights, NULL, NULL, &f->plan, &error) == GOPS_OK &&
            gops_conv_plan_create(&quantized_data, &quantized_weights, NULL, &options,
                                  &f->quantized, &error) == GOPS_OK &&
            gops_filter_create(f->plan, f->weights, NULL, &f->filter, &error) == GOPS_OK,
        "%s", error.message);
    arguments.data = f->data;
    arguments.filter = f->filter;
    arguments.output = f->expected;
    gops_test_check(gops_execute(f->plan, &arguments, &error) == GOPS_OK, "%s", error.message);
}

static void finish(fixture *f)
{
    gops_filter_destroy(f->filter);
    gops_plan_destroy(f->quantized);
    gops_plan_destroy(f->plan);
}

/* The struct, with something in each that shows whether it was obeyed. */
static void fill_in(roomy *given, int which, const fixture *f)
{
    memset(given, 0, sizeof *given);
    if (which == OPTIONS)
        given->options.threads = 1;
    if (which == ARGUMENTS) {
        given->arguments.data = f->data;
        given->arguments.filter = f->filter;
        given->arguments.output = (void *)f->output;
    }
    if (which == HOST)
        given->host.gemm = gops_test_own_gemm();
    if (which == GEMM)
        given->gemm = *gops_test_own_gemm();
    if (which == QUANTIZATION)
        given->quantization.data_zero_point = 113;
    given->size = histories[which].bytes;
}

/* Hands it to the function that takes it. */
static gops_status hand_over(roomy *given, int which, fixture *f, gops_error *error)
{
    gops_plan *plan = NULL;
    gops_packed_filter *filter = NULL;
    gops_host host = GOPS_HOST_INIT;
    gops_options options = GOPS_OPTIONS_INIT;
    gops_status status;
    switch (which) {
    case ARGUMENTS:
        memset(f->output, 0, sizeof f->output);
        status = gops_execute(f->plan, &given->arguments, error);
        gops_test_check(status != GOPS_OK || memcmp(f->output, f->expected, sizeof f->output) == 0,
                        "arguments of %zu bytes: another output", given->size);
        return status;
    case QUANTIZATION:
        status = gops_filter_create(f->quantized, f->weights, &given->quantization, &filter, error);
        gops_test_check((filter != NULL) == (status == GOPS_OK), "a filter after a refusal");
        gops_filter_destroy(filter);
        return status;
    case PLAN_INFO:
        return gops_plan_get_info(f->plan, &given->info, error);
    case OPTIONS:
        status = gops_conv_plan_create(&data, &weights, NULL, &given->options, &plan, error);
        break;
    default:
        host.gemm = &given->gemm;
        options.host = which == HOST ? &given->host : &host;
        status = gops_conv_plan_create(&data, &weights, NULL, &options, &plan, error);
    }
    gops_test_check((plan != NULL) == (status == GOPS_OK), "%s: a plan after a refusal",
                    histories[which].name);
    gops_plan_destroy(plan);
    return status;
}

static void expect_taken(roomy *given, int which, fixture *f)
{
    gops_error error = gops_fresh_error();
    gops_test_check(hand_over(given, which, f, &error) == GOPS_OK, "%s of %zu bytes: %s",
                    histories[which].name, given->size, error.message);
}

static void released(void)
{
    fixture f;
    roomy given;
    if (sizeof(void *) != 8)
        gops_test_skip("pointers have other than 64 bits here");
    start(&f);
    for (int which = 0; which < STRUCTS; which++)
        for (int i = 0; i < 4 && histories[which].released[i] != 0; i++) {
            const size_t size = histories[which].released[i];
            fill_in(&given, which, &f);
            given.size = size;
            /* What lies behind it is the caller's. */
            memset(given.bytes + size, 0xa5, sizeof given - size);
            expect_taken(&given, which, &f);
            for (size_t at = size; at < sizeof given; at++)
                if (!gops_test_check(given.bytes[at] == 0xa5, "%s of %zu bytes: byte %zu written",
                                     histories[which].name, size, at))
                    break;
        }
    finish(&f);
}

static void newer(void)
{
    static const size_t more[] = {1, 4, 8, 24, 1000};
    fixture f;
    roomy given;
    char message[GOPS_MESSAGE_BYTES];
    start(&f);
    for (int which = 0; which < STRUCTS; which++)
        for (size_t i = 0; i < sizeof more / sizeof more[0]; i++) {
            const history *h = &histories[which];
            const size_t last = h->bytes + more[i] - 1;
            fill_in(&given, which, &f);
            given.size = h->bytes + more[i];
            expect_taken(&given, which, &f);
            given.bytes[last] = 1;
            given.bytes[last + 1] = 0xa5;
            if (which == PLAN_INFO) { /* is written, and so may have held anything */
                expect_taken(&given, which, &f);
                gops_test_check(given.bytes[last] == 0 && given.bytes[last + 1] == 0xa5 &&
                                    given.size == h->bytes + more[i] && given.info.threads > 0,
                                "info of %zu bytes is not filled in to its end", given.size);
                continue;
            }
            gops_error error = gops_fresh_error();
            snprintf(message, sizeof message,
                     "%s.size is %zu; sizeof(%s) is %zu in this library, and byte %zu "
                     "is not 0",
                     h->name, given.size, h->type, h->bytes, last);
            gops_check_refusal(h->name, hand_over(&given, which, &f, &error), &error, GOPS_INVALID,
                               message);
        }
    finish(&f);
}

static void garbage(void)
{
    static const size_t sizes[] = {
        0, 1, 7, sizeof(size_t), GOPS_MAX_STRUCT_BYTES + 1, PTRDIFF_MAX, SIZE_MAX - 7, SIZE_MAX};
    fixture f;
    roomy given;
    char message[GOPS_MESSAGE_BYTES];
    start(&f);
    for (int which = 0; which < STRUCTS; which++) {
        const history *h = &histories[which];
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0] + 2; i++) {
            const size_t count = sizeof sizes / sizeof sizes[0];
            gops_error error = gops_fresh_error();
            fill_in(&given, which, &f);
            given.size = i < count ? sizes[i] : h->bytes - 1 - 8 * (i - count);
            const roomy before = given;
            snprintf(message, sizeof message, "%s.size is %zu; sizeof(%s) is %zu", h->name,
                     given.size, h->type, h->bytes);
            gops_check_refusal(h->name, hand_over(&given, which, &f, &error), &error, GOPS_INVALID,
                               message);
            gops_test_check(memcmp(&before, &given, sizeof given) == 0,
                            "%s of %zu bytes was written", h->name, given.size);
        }
        fill_in(&given, which, &f);
        given.size = GOPS_MAX_STRUCT_BYTES;
        expect_taken(&given, which, &f);
    }
    finish(&f);
}

/* A struct that grew twice. */
typedef struct third {
    size_t size;
    int64_t first, second;
    double third[2];
} third;

static const gops_sized sized_third = {
    "it", "third", sizeof(third), {offsetof(third, second), offsetof(third, third)}};

static void grown(void)
{
    const third full = {sizeof full, 3, -5, {7.5, -11.25}};
    const size_t sizes[] = {offsetof(third, second), offsetof(third, third), sizeof full};
    for (int i = 0; i < 3; i++) {
        gops_error error = gops_fresh_error();
        third given = full, read = {1, 13, 17, {19, 23}};
        given.size = sizes[i];
        gops_test_check(gops_sized_read(&sized_third, &given, &read, &error) == GOPS_OK, "%s",
                        error.message);
        gops_test_check(read.size == sizeof read && read.first == 3 &&
                            read.second == (i > 0 ? -5 : 0) && read.third[0] == (i > 1 ? 7.5 : 0) &&
                            read.third[1] == (i > 1 ? -11.25 : 0),
                        "read from release %d", i);
        third filled = {sizes[i], 13, 17, {19, 23}};
        gops_test_check(gops_sized_write(&sized_third, &full, &filled, &error) == GOPS_OK, "%s",
                        error.message);
        gops_test_check(
            filled.size == sizes[i] && filled.first == 3 && filled.second == (i > 0 ? -5 : 17) &&
                filled.third[0] == (i > 1 ? 7.5 : 19) && filled.third[1] == (i > 1 ? -11.25 : 23),
            "written for release %d", i);
    }
    third between = full, read;
    gops_error error = gops_fresh_error();
    between.size = sizeof full - sizeof(double); /* no release ended there */
    gops_test_check(gops_sized_read(&sized_third, &between, &read, &error) == GOPS_INVALID,
                    "a size between two releases was taken");
}

static void initialisers(void)
{
    static const gops_options options = GOPS_OPTIONS_INIT;
    const gops_arguments arguments = GOPS_ARGUMENTS_INIT;
    const gops_plan_info info = GOPS_PLAN_INFO_INIT;
    const gops_host host = GOPS_HOST_INIT;
    const gops_gemm gemm = GOPS_GEMM_INIT;
    const gops_quantization quantization = GOPS_QUANTIZATION_INIT;
    gops_test_check(options.size == sizeof options && arguments.size == sizeof arguments &&
                        info.size == sizeof info && host.size == sizeof host &&
                        gemm.size == sizeof gemm && quantization.size == sizeof quantization,
                    "a size is wrong");
    gops_test_check(options.choices == NULL && arguments.residual_stride == 0 && info.flops == 0 &&
                        host.context == NULL && gemm.context == NULL &&
                        quantization.filter_scales == NULL,
                    "a field is not 0");
}

int main(void)
{
    static const gops_test_case cases[] = {{"released", released},         {"newer", newer},
                                           {"garbage", garbage},           {"grown", grown},
                                           {"initialisers", initialisers}, {NULL, NULL}};
    return gops_test_main("structs that begin with their size", cases);
}
