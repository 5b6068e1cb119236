/* What GroupConvolutionBackpropData refuses, and in which words. */
#include <stdio.h>

#include "refusal.h"
#include "elements.h"
#include "harness.h"
#include "wide_numbers.h"

#define NAME "GroupConvolutionBackpropData"
#define MOST "9223372036854775807"

/* A legal 2D problem: 2 images, 3 groups of 5 channels to 7 channels. */
static gops_problem legal(void)
{
    return (gops_problem){.operation = GOPS_PROBLEM_DECONV,
                          .data = GOPS_TEST_TENSOR(GOPS_F64, 2, 15, 11, 13),
                          .filter = GOPS_TEST_TENSOR(GOPS_F64, 3, 5, 7, 3, 2)};
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
    gops_error error = gops_fresh_error();
    gops_check_refusal("data", gops_deconv_shape(NULL, &p.filter, NULL, &shape, &error), &error,
                       GOPS_INVALID, "data is NULL");
    gops_check_refusal("filter", gops_deconv_shape(&p.data, NULL, NULL, &shape, &error), &error,
                       GOPS_INVALID, "filter is NULL");
    gops_check_refusal("shape", gops_deconv_shape(&p.data, &p.filter, NULL, NULL, &error), &error,
                       GOPS_INVALID, "shape is NULL");
    gops_check_refusal("plan",
                       gops_deconv_plan_create(&p.data, &p.filter, NULL, NULL, NULL, &error),
                       &error, GOPS_INVALID, "plan is NULL");
}

static void descriptors(void)
{
    GOPS_CHECK_REFUSED(GOPS_INVALID, "filter is f32, data is f64; " NAME " takes one type for both",
                       p.filter.type = GOPS_F32);
    GOPS_CHECK_REFUSED(GOPS_INVALID,
                       "data has rank 2; " NAME
                       " needs at least 3: batch, channels, one spatial axis",
                       p.data.rank = 2);
    GOPS_CHECK_REFUSED(GOPS_UNSUPPORTED, "data has rank 9; " NAME " is offered up to rank 8",
                       p.data = GOPS_TEST_TENSOR(GOPS_F64, 1, 1, 1, 1, 1, 1, 1, 1, 1));
    GOPS_CHECK_REFUSED(GOPS_INVALID,
                       "filter has rank 4, data has rank 4; a filter of " NAME
                       " has one axis more than its data: GROUPS, the first",
                       p.filter.rank = 4);
    GOPS_CHECK_REFUSED(GOPS_INVALID, "filter has 0 GROUPS (axis 0); at least 1 is needed",
                       p.filter.dims[0] = 0);
    GOPS_CHECK_REFUSED(GOPS_INVALID, "filter has C_IN 0 (axis 1); at least 1 is needed",
                       p.filter.dims[1] = p.data.dims[1] = 0);
    GOPS_CHECK_REFUSED(GOPS_INVALID,
                       "data has 15 channels, filter has GROUPS 3 times C_IN 4 = 12; they "
                       "must be equal",
                       p.filter.dims[1] = 4);
    GOPS_CHECK_REFUSED(GOPS_INVALID, "data has size 0 on spatial axis 0; at least 1 is needed",
                       p.data.dims[2] = 0);
    GOPS_CHECK_REFUSED(GOPS_INVALID,
                       "filter has kernel size 0 on spatial axis 1; at least 1 is needed",
                       p.filter.dims[4] = 0);
}

static void lists(void)
{
    GOPS_CHECK_REFUSED(GOPS_INVALID, "strides[1] is -2; it must be at least 1",
                       p.deconv.strides = (gops_list){2, {1, -2}});
    GOPS_CHECK_REFUSED(GOPS_INVALID, "dilations[0] is 0; it must be at least 1",
                       p.deconv.dilations = (gops_list){2, {0, 1}});
    GOPS_CHECK_REFUSED(GOPS_INVALID, "pads_begin[1] is -5; it must be at least 0",
                       p.deconv.pads_begin = (gops_list){2, {0, -5}});
    GOPS_CHECK_REFUSED(GOPS_INVALID, "pads_end has 1 values; data has 2 spatial axes",
                       p.deconv.pads_end = (gops_list){1, {0}});
    GOPS_CHECK_REFUSED(GOPS_INVALID, "output_padding[0] is -1; it must be at least 0",
                       p.deconv.output_padding = (gops_list){2, {-1, 0}});
    GOPS_CHECK_REFUSED(GOPS_INVALID, "output_padding has 3 values; data has 2 spatial axes",
                       p.deconv.output_padding = (gops_list){3, {0}});
    GOPS_CHECK_REFUSED(GOPS_INVALID, "output_shape[1] is 0; it must be at least 1",
                       p.deconv.output_shape = (gops_list){2, {9, 0}});
    GOPS_CHECK_REFUSED(GOPS_INVALID, "output_shape has 4 values; data has 2 spatial axes",
                       p.deconv.output_shape = (gops_list){4, {2, 21, 9, 9}});
}

static void enumerations(void)
{
    gops_problem p = legal();
    gops_shape shape;
    gops_error error = gops_fresh_error();
    p.deconv.auto_pad = (gops_auto_pad)4;
    gops_check_refusal("auto_pad", gops_problem_shape(&p, &shape, &error), &error, GOPS_INVALID,
                       "auto_pad is 4; it must be 0 (explicit), 1 (same_upper), 2 (same_lower) or "
                       "3 (valid)");
    p = legal();
    p.deconv.output_shape_rule = (gops_output_shape_rule)3;
    gops_check_refusal("output_shape_rule", gops_problem_shape(&p, &shape, &error), &error,
                       GOPS_INVALID,
                       "output_shape_rule is 3; it must be 0 (spec), 1 (openvino) or 2 (onnx)");
}

static void nothing_left(void)
{
    GOPS_CHECK_REFUSED(GOPS_INVALID,
                       "pads_begin[1] is 10 and pads_end[1] is 4; they leave 0 of 14 "
                       "elements on spatial axis 1; at least 1 is needed",
                       p.deconv.pads_begin = (gops_list){2, {0, 10}};
                       p.deconv.pads_end = (gops_list){2, {0, 4}});
    GOPS_CHECK_REFUSED(GOPS_INVALID,
                       "pads_begin[0] is 20 and pads_end[0] is 0; they leave -4 of 16 "
                       "elements on spatial axis 0; at least 1 is needed",
                       p.deconv.pads_begin = (gops_list){2, {20, 0}};
                       p.deconv.output_padding = (gops_list){2, {3, 0}});
    /* Their sum does not fit: as many as there are of a number. */
    GOPS_CHECK_REFUSED(
        GOPS_INVALID,
        "pads_begin[0] is 9223372036854775807 and pads_end[0] is 9223372036854775807; they leave "
        "-9223372036854775791 of 16 elements on spatial axis 0; at least 1 is needed",
        p.deconv.pads_begin = p.deconv.pads_end = (gops_list){2, {INT64_MAX, 0}};
        p.deconv.output_padding = (gops_list){2, {3, 0}});
}

/* Its square does not fit. */
#define LARGE (INT64_C(1) << (GOPS_TEST_32_BIT ? 20 : 30))
#if GOPS_TEST_32_BIT
#define LARGE_TEXT "1048576"
#else
#define LARGE_TEXT "1073741824"
#endif
static void too_large(void)
{
    GOPS_CHECK_REFUSED(GOPS_TOO_LARGE,
                       "strides[0] is 4611686018427387904, data size 11, the kernel's "
                       "extent 3, output_padding[0] 0: the unpadded output is above " MOST,
                       p.deconv.strides = (gops_list){2, {INT64_C(1) << 62, 1}});
    GOPS_CHECK_REFUSED(GOPS_TOO_LARGE,
                       "strides[1] is 1, data size 13, the kernel's extent 2, "
                       "output_padding[1] " MOST ": the unpadded output is above " MOST,
                       p.deconv.output_padding = (gops_list){2, {0, INT64_MAX}});
    GOPS_CHECK_REFUSED(GOPS_TOO_LARGE,
                       "dilations[0] is " MOST " with kernel size 3; the kernel's extent "
                       "is above " MOST,
                       p.deconv.dilations = (gops_list){2, {INT64_MAX, 1}});
    GOPS_CHECK_REFUSED(GOPS_TOO_LARGE,
                       "output: the product of its first 4 dimensions, in bytes, is "
                       "above " GOPS_TEST_MAX_BYTES "; they are 2,21," LARGE_TEXT "," LARGE_TEXT
                       " of f64",
                       p.deconv.output_shape = (gops_list){2, {LARGE, LARGE}});
    GOPS_CHECK_REFUSED(GOPS_TOO_LARGE,
                       "output_shape[1] is 5 and pads_begin[1] is " MOST
                       "; their sum is above " MOST,
                       p.deconv.output_shape_rule = GOPS_OUTPUT_SHAPE_OPENVINO;
                       p.deconv.output_shape = (gops_list){2, {5, 5}};
                       p.deconv.pads_begin = (gops_list){2, {0, INT64_MAX}});
}

static void empty_outputs(void)
{
    gops_problem p = legal();
    gops_shape shape;
    gops_error error = gops_fresh_error();
    p.data.dims[0] = 0;
    gops_test_check(gops_problem_shape(&p, &shape, &error) == GOPS_OK && shape.output.dims[0] == 0,
                    "batch 0: %s", error.message);
    p = legal();
    p.filter.dims[2] = 0;
    gops_test_check(gops_problem_shape(&p, &shape, &error) == GOPS_OK && shape.output.dims[1] == 0,
                    "C_OUT 0: %s", error.message);
}

int main(void)
{
    static const gops_test_case cases[] = {{"the_legal_one", the_legal_one},
                                           {"nothing", nothing},
                                           {"descriptors", descriptors},
                                           {"lists", lists},
                                           {"enumerations", enumerations},
                                           {"nothing_left", nothing_left},
                                           {"too_large", too_large},
                                           {"empty_outputs", empty_outputs},
                                           {NULL, NULL}};
    return gops_test_main("refusals of GroupConvolutionBackpropData", cases);
}
