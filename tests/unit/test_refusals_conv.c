/* What GroupConvolution refuses, and in which words. */
#include <stdio.h>
#include <string.h>

#include "refusal.h"
#include "elements.h"
#include "harness.h"
#include "wide_numbers.h"

#define HUGE INT64_MAX
#define MOST "9223372036854775807"
/* Alone it fits, its square does not. */
#define LARGE (INT64_C(1) << (GOPS_TEST_32_BIT ? 14 : 40))
/* That, the outputs of legal()'s axes with so many pads on both sides, and an eighth of all addresses. */
#if GOPS_TEST_32_BIT
#define LARGE_TEXT "16384"
#define PADDED "32777,32780"
#define EIGHTH "536870912"
#else
#define LARGE_TEXT "1099511627776"
#define PADDED "2199023255561,2199023255564"
#define EIGHTH "2305843009213693952"
#endif

/* A legal 2D problem: 2 images, 3 groups of 5 channels to 7 channels. */
static gops_problem legal(void)
{
    return (gops_problem){.operation = GOPS_PROBLEM_CONV,
                          .data = GOPS_TEST_TENSOR(GOPS_F32, 2, 15, 11, 13),
                          .filter = GOPS_TEST_TENSOR(GOPS_F32, 3, 7, 5, 3, 2)};
}

static void the_legal_one(void)
{
    gops_problem problem = legal();
    gops_shape shape;
    gops_error error = gops_fresh_error();
    gops_test_check(gops_problem_shape(&problem, &shape, &error) == GOPS_OK, "%s", error.message);
    gops_test_check(gops_error_is_fresh(&error), "the error was written after success");
}

static void nothing(void)
{
    gops_problem p = legal();
    gops_shape shape;
    gops_plan *plan;
    gops_error error = gops_fresh_error();
    gops_check_refusal("data", gops_conv_shape(NULL, &p.filter, NULL, &shape, &error), &error,
                       GOPS_INVALID, "data is NULL");
    gops_check_refusal("filter", gops_conv_shape(&p.data, NULL, NULL, &shape, &error), &error,
                       GOPS_INVALID, "filter is NULL");
    gops_check_refusal("shape", gops_conv_shape(&p.data, &p.filter, NULL, NULL, &error), &error,
                       GOPS_INVALID, "shape is NULL");
    gops_check_refusal("plan", gops_conv_plan_create(&p.data, &p.filter, NULL, NULL, NULL, &error),
                       &error, GOPS_INVALID, "plan is NULL");
    gops_check_refusal("data", gops_conv_plan_create(NULL, &p.filter, NULL, NULL, &plan, &error),
                       &error, GOPS_INVALID, "data is NULL");
}

static void descriptors(void)
{
    GOPS_CHECK_REFUSED(GOPS_INVALID, "data has type number 99, which is none",
                       p.data.type = (gops_type)99);
    GOPS_CHECK_REFUSED(GOPS_INVALID, "filter has type number 0, which is none",
                       p.filter.type = (gops_type)0);
    GOPS_CHECK_REFUSED(GOPS_INVALID,
                       "filter is f64, data is f32; GroupConvolution takes one type for both",
                       p.filter.type = GOPS_F64);
    GOPS_CHECK_REFUSED(GOPS_INVALID, "data has rank 0; ranks 1 to 9 are offered", p.data.rank = 0);
    GOPS_CHECK_REFUSED(GOPS_UNSUPPORTED, "data has rank 10; ranks 1 to 9 are offered",
                       p.data.rank = 10);
    GOPS_CHECK_REFUSED(GOPS_INVALID,
                       "data has rank 2; GroupConvolution needs at least 3: batch, "
                       "channels, one spatial axis",
                       p.data.rank = 2);
    GOPS_CHECK_REFUSED(GOPS_INVALID,
                       "filter has rank 6, data has rank 4; a filter of GroupConvolution "
                       "has one axis more than its data: GROUPS, the first",
                       p.filter.rank = 6;
                       p.filter.dims[5] = 1);
    GOPS_CHECK_REFUSED(GOPS_UNSUPPORTED,
                       "data has rank 6; GroupConvolution is offered up to rank 5",
                       p.data = GOPS_TEST_TENSOR(GOPS_F32, 2, 15, 3, 3, 3, 3);
                       p.filter = GOPS_TEST_TENSOR(GOPS_F32, 3, 7, 5, 2, 2, 2, 2));
}

static void dimensions(void)
{
    GOPS_CHECK_REFUSED(GOPS_INVALID, "data has dimension -1 on axis 2; it must not be negative",
                       p.data.dims[2] = -1);
    GOPS_CHECK_REFUSED(GOPS_INVALID, "filter has dimension -7 on axis 1; it must not be negative",
                       p.filter.dims[1] = -7);
    GOPS_CHECK_REFUSED(GOPS_INVALID, "filter has 0 GROUPS (axis 0); at least 1 is needed",
                       p.filter.dims[0] = 0);
    GOPS_CHECK_REFUSED(GOPS_INVALID, "filter has C_IN 0 (axis 2); at least 1 is needed",
                       p.filter.dims[2] = p.data.dims[1] = 0);
    GOPS_CHECK_REFUSED(GOPS_INVALID,
                       "data has 14 channels, filter has GROUPS 3 times C_IN 5 = 15; they "
                       "must be equal",
                       p.data.dims[1] = 14);
    GOPS_CHECK_REFUSED(GOPS_INVALID, "data has size 0 on spatial axis 1; at least 1 is needed",
                       p.data.dims[3] = 0);
    GOPS_CHECK_REFUSED(GOPS_INVALID,
                       "filter has kernel size 0 on spatial axis 0; at least 1 is needed",
                       p.filter.dims[3] = 0);
}

static void lists(void)
{
    GOPS_CHECK_REFUSED(GOPS_INVALID, "strides has 1 values; data has 2 spatial axes",
                       p.conv.strides = (gops_list){1, {2}});
    GOPS_CHECK_REFUSED(GOPS_INVALID, "strides[1] is 0; it must be at least 1",
                       p.conv.strides = (gops_list){2, {3, 0}});
    GOPS_CHECK_REFUSED(GOPS_INVALID, "strides[0] is -3; it must be at least 1",
                       p.conv.strides = (gops_list){2, {-3, 2}});
    GOPS_CHECK_REFUSED(GOPS_INVALID, "dilations has 3 values; data has 2 spatial axes",
                       p.conv.dilations = (gops_list){3, {1, 1, 1}});
    GOPS_CHECK_REFUSED(GOPS_INVALID, "dilations[1] is 0; it must be at least 1",
                       p.conv.dilations = (gops_list){2, {1, 0}});
    GOPS_CHECK_REFUSED(GOPS_INVALID, "pads_begin has -1 values; data has 2 spatial axes",
                       p.conv.pads_begin = (gops_list){-1, {0}});
    GOPS_CHECK_REFUSED(GOPS_INVALID, "pads_begin[1] is -1; it must be at least 0",
                       p.conv.pads_begin = (gops_list){2, {4, -1}});
    GOPS_CHECK_REFUSED(GOPS_INVALID, "pads_end[0] is -2; it must be at least 0",
                       p.conv.pads_end = (gops_list){2, {-2, 0}});
    GOPS_CHECK_REFUSED(GOPS_INVALID, "pads_end has 7 values; data has 2 spatial axes",
                       p.conv.pads_end = (gops_list){7, {0}});
    GOPS_CHECK_REFUSED(GOPS_INVALID, "strides has 2 values; data has 1 spatial axis",
                       p.data = GOPS_TEST_TENSOR(GOPS_F32, 2, 15, 11);
                       p.filter = GOPS_TEST_TENSOR(GOPS_F32, 3, 7, 5, 3);
                       p.conv.strides = (gops_list){2, {1, 1}});
}

static void auto_pad(void)
{
    gops_problem p = legal();
    gops_shape shape;
    gops_error error = gops_fresh_error();
    for (int bad = -1; bad <= 4; bad += 5) {
        char message[160];
        snprintf(message, sizeof message,
                 "auto_pad is %d; it must be 0 (explicit), 1 (same_upper), 2 (same_lower) or 3 "
                 "(valid)",
                 bad);
        p.conv.auto_pad = (gops_auto_pad)bad;
        gops_check_refusal("auto_pad", gops_problem_shape(&p, &shape, &error), &error, GOPS_INVALID,
                           message);
    }
}

static void kernel_too_large(void)
{
    GOPS_CHECK_REFUSED(GOPS_INVALID,
                       "the kernel spans 17 on spatial axis 1 (size 17, dilations[1] 1), "
                       "more than the padded data's 16 (1 + 13 + 2)",
                       p.filter.dims[4] = 17;
                       p.conv.pads_begin = (gops_list){2, {0, 1}};
                       p.conv.pads_end = (gops_list){2, {0, 2}});
    GOPS_CHECK_REFUSED(GOPS_INVALID,
                       "the kernel spans 13 on spatial axis 0 (size 3, dilations[0] 6), "
                       "more than the padded data's 11 (0 + 11 + 0)",
                       p.conv.dilations = (gops_list){2, {6, 1}};
                       p.conv.auto_pad = GOPS_AUTO_PAD_VALID;
                       p.conv.pads_begin = p.conv.pads_end = (gops_list){2, {9, 9}});
}

static void too_large(void)
{
    GOPS_CHECK_REFUSED(GOPS_TOO_LARGE,
                       "dilations[0] is 4611686018427387904 with kernel size 3; the "
                       "kernel's extent is above " MOST,
                       p.conv.dilations = (gops_list){2, {INT64_C(1) << 62, 1}});
    GOPS_CHECK_REFUSED(GOPS_TOO_LARGE,
                       "dilations[1] is 9223372036854775806 with kernel size 2; the last "
                       "window ends above " MOST,
                       p.conv.dilations = (gops_list){2, {1, HUGE - 1}};
                       p.conv.auto_pad = GOPS_AUTO_PAD_SAME_LOWER);
    GOPS_CHECK_REFUSED(GOPS_TOO_LARGE,
                       "pads_begin[0] is " MOST " and pads_end[0] is 0; the padded size is "
                       "above " MOST,
                       p.conv.pads_begin = (gops_list){2, {HUGE, 0}});
    GOPS_CHECK_REFUSED(GOPS_TOO_LARGE,
                       "pads_begin[0] is 4611686018427387904 and pads_end[0] is "
                       "4611686018427387904; the padded size is above " MOST,
                       p.conv.pads_begin = (gops_list){2, {INT64_C(1) << 62, 0}};
                       p.conv.pads_end = (gops_list){2, {INT64_C(1) << 62, 0}});
    GOPS_CHECK_REFUSED(GOPS_TOO_LARGE,
                       "output: the product of its first 4 dimensions, in bytes, is "
                       "above " GOPS_TEST_MAX_BYTES "; they are 2,21," PADDED " of f32",
                       p.conv.pads_begin = p.conv.pads_end = (gops_list){2, {LARGE, LARGE}});
    GOPS_CHECK_REFUSED(GOPS_TOO_LARGE,
                       "data: the product of its first 4 dimensions, in bytes, is "
                       "above " GOPS_TEST_MAX_BYTES "; they are " LARGE_TEXT ",15,11," LARGE_TEXT
                       " of f32",
                       p.data.dims[0] = LARGE;
                       p.data.dims[3] = LARGE);
    GOPS_CHECK_REFUSED(GOPS_TOO_LARGE,
                       "filter: the product of its first 2 dimensions, in bytes, is "
                       "above " GOPS_TEST_MAX_BYTES "; they are 3," EIGHTH " of f32",
                       p.filter.dims[1] = (int64_t)(SIZE_MAX / 8) + 1);
    GOPS_CHECK_REFUSED(GOPS_TOO_LARGE,
                       "filter has GROUPS 1099511627776 times C_IN 2199023255552, above " MOST,
                       p.filter.dims[0] = INT64_C(1) << 40;
                       p.filter.dims[2] = INT64_C(1) << 41);
}

/* Empty, but legal: an output without elements, and no refusal. */
static void empty_outputs(void)
{
    gops_problem p = legal();
    gops_shape shape;
    gops_error error = gops_fresh_error();
    p.data.dims[0] = 0;
    gops_test_check(gops_problem_shape(&p, &shape, &error) == GOPS_OK &&
                        shape.output.dims[0] == 0 && shape.output.dims[1] == 21 &&
                        shape.output.dims[2] == 9,
                    "batch 0: %s", error.message);
    p = legal();
    p.filter.dims[1] = 0;
    gops_test_check(gops_problem_shape(&p, &shape, &error) == GOPS_OK &&
                        shape.output.dims[0] == 2 && shape.output.dims[1] == 0 &&
                        shape.output.dims[3] == 12,
                    "C_OUT 0: %s", error.message);
    /* What is empty is never too large. */
    p.data.dims[0] = 0;
    p.data.dims[2] = p.data.dims[3] = INT64_C(1) << 40;
    gops_test_check(gops_problem_shape(&p, &shape, &error) == GOPS_OK, "huge and empty: %s",
                    error.message);
}

int main(void)
{
    static const gops_test_case cases[] = {{"the_legal_one", the_legal_one},
                                           {"nothing", nothing},
                                           {"descriptors", descriptors},
                                           {"dimensions", dimensions},
                                           {"lists", lists},
                                           {"auto_pad", auto_pad},
                                           {"kernel_too_large", kernel_too_large},
                                           {"too_large", too_large},
                                           {"empty_outputs", empty_outputs},
                                           {NULL, NULL}};
    return gops_test_main("refusals of GroupConvolution", cases);
}
