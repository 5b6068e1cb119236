/* What GroupNormalization and gops_tensor_bytes refuse, and in which words; names of types and
 * statuses. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "refusal.h"
#include "elements.h"
#include "harness.h"
#include "wide_numbers.h"

static gops_problem legal(void)
{
    return (gops_problem){.operation = GOPS_PROBLEM_NORM,
                          .data = GOPS_TEST_TENSOR(GOPS_F32, 2, 15, 11, 13),
                          .norm = {5, 1e-5}};
}

static void the_legal_one(void)
{
    gops_problem problem = legal();
    gops_shape shape;
    gops_error error = gops_fresh_error();
    gops_test_check(gops_problem_shape(&problem, &shape, &error) == GOPS_OK && shape.groups == 5 &&
                        shape.pads_begin.count == 0 &&
                        memcmp(shape.output.dims, problem.data.dims, 4 * sizeof(int64_t)) == 0,
                    "%s", error.message);
    gops_test_check(gops_error_is_fresh(&error), "the error was written after success");
}

static void nothing(void)
{
    gops_problem p = legal();
    gops_tensor c = gops_problem_coefficients(&p);
    gops_shape shape;
    gops_error error = gops_fresh_error();
    gops_check_refusal("data", gops_norm_shape(NULL, &c, &c, &p.norm, &shape, &error), &error,
                       GOPS_INVALID, "data is NULL");
    gops_check_refusal("scale", gops_norm_shape(&p.data, NULL, &c, &p.norm, &shape, &error), &error,
                       GOPS_INVALID, "scale is NULL");
    gops_check_refusal("bias", gops_norm_shape(&p.data, &c, NULL, &p.norm, &shape, &error), &error,
                       GOPS_INVALID, "bias is NULL");
    gops_check_refusal("attributes", gops_norm_shape(&p.data, &c, &c, NULL, &shape, &error), &error,
                       GOPS_INVALID, "attributes is NULL; num_groups and epsilon are required");
    gops_check_refusal("shape", gops_norm_shape(&p.data, &c, &c, &p.norm, NULL, &error), &error,
                       GOPS_INVALID, "shape is NULL");
    gops_check_refusal("plan", gops_norm_plan_create(&p.data, &c, &c, &p.norm, NULL, NULL, &error),
                       &error, GOPS_INVALID, "plan is NULL");
}

static void descriptors(void)
{
    GOPS_CHECK_REFUSED(GOPS_UNSUPPORTED,
                       "data has rank 9; GroupNormalization is offered up to rank 8",
                       p.data = GOPS_TEST_TENSOR(GOPS_F32, 2, 15, 1, 1, 1, 1, 1, 1, 1));
    GOPS_CHECK_REFUSED(GOPS_INVALID,
                       "data has rank 1; GroupNormalization needs at least 2: batch, channels",
                       p.data.rank = 1);
    GOPS_CHECK_REFUSED(GOPS_INVALID, "data has size 0 on spatial axis 1; at least 1 is needed",
                       p.data.dims[3] = 0);
    GOPS_CHECK_REFUSED(
        GOPS_TOO_LARGE,
        "data: the product of its first 4 dimensions, in bytes, is above " GOPS_TEST_MAX_BYTES
        "; they are 2,15,11,1152921504606846976 of f32",
        p.data.dims[3] = INT64_C(1) << 60);
}

static void coefficients(void)
{
    gops_problem p = legal();
    gops_tensor good = gops_problem_coefficients(&p);
    gops_tensor type = GOPS_TEST_TENSOR(GOPS_F64, 15);
    gops_tensor rank = GOPS_TEST_TENSOR(GOPS_F32, 15, 1);
    gops_tensor size = GOPS_TEST_TENSOR(GOPS_F32, 1);
    gops_shape shape;
    gops_error error = gops_fresh_error();
    gops_check_refusal("scale", gops_norm_shape(&p.data, &type, &good, &p.norm, &shape, &error),
                       &error, GOPS_INVALID,
                       "scale is f64, data is f32; GroupNormalization takes one type for all");
    gops_check_refusal("bias", gops_norm_shape(&p.data, &good, &rank, &p.norm, &shape, &error),
                       &error, GOPS_INVALID,
                       "bias has rank 2 and 15 values; it must be of rank 1 with the data's 15 "
                       "channels");
    gops_check_refusal("bias", gops_norm_shape(&p.data, &good, &size, &p.norm, &shape, &error),
                       &error, GOPS_INVALID,
                       "bias has rank 1 and 1 values; it must be of rank 1 with the data's 15 "
                       "channels");
}

static void attributes(void)
{
    GOPS_CHECK_REFUSED(GOPS_INVALID, "num_groups is 0; it must be from 1 to the data's 15 channels",
                       p.norm.num_groups = 0);
    GOPS_CHECK_REFUSED(GOPS_INVALID,
                       "num_groups is 16; it must be from 1 to the data's 15 channels",
                       p.norm.num_groups = 16);
    GOPS_CHECK_REFUSED(GOPS_INVALID, "num_groups is 4; it must divide the data's 15 channels",
                       p.norm.num_groups = 4);
    GOPS_CHECK_REFUSED(GOPS_INVALID, "epsilon is 0; it must be above 0 and finite",
                       p.norm.epsilon = 0);
    GOPS_CHECK_REFUSED(GOPS_INVALID, "epsilon is -1e-05; it must be above 0 and finite",
                       p.norm.epsilon = -1e-5);
    GOPS_CHECK_REFUSED(GOPS_INVALID, "epsilon is inf; it must be above 0 and finite",
                       p.norm.epsilon = (double)INFINITY);
    GOPS_CHECK_REFUSED(GOPS_INVALID, "epsilon is nan; it must be above 0 and finite",
                       p.norm.epsilon = (double)NAN);
}

static void integer_types(void)
{
    gops_problem p = legal();
    for (int i = GOPS_I8; i <= GOPS_U64; i++) {
        char message[128];
        p.data.type = (gops_type)i;
        snprintf(message, sizeof message,
                 "data is %s; GroupNormalization takes a floating point type",
                 gops_test_type_name(p.data.type));
        gops_check_problem_refusal(&p, GOPS_INVALID, message);
    }
}

static void tensor_bytes(void)
{
    gops_tensor t = GOPS_TEST_TENSOR(GOPS_F16, 3, 5, 7);
    size_t bytes = 0;
    gops_error error = gops_fresh_error();
    gops_test_check(gops_tensor_bytes(&t, &bytes, &error) == GOPS_OK && bytes == 210 &&
                        gops_error_is_fresh(&error),
                    "%zu bytes", bytes);
    t = GOPS_TEST_TENSOR(GOPS_F64, INT64_MAX, 0, INT64_MAX);
    gops_test_check(gops_tensor_bytes(&t, &bytes, &error) == GOPS_OK && bytes == 0, "%zu bytes",
                    bytes);
    t = GOPS_TEST_TENSOR(GOPS_F64, INT64_C(1) << 60);
    gops_check_refusal(
        "2^63 bytes", gops_tensor_bytes(&t, &bytes, &error), &error, GOPS_TOO_LARGE,
        "tensor: the product of its first 1 dimensions, in bytes, is above " GOPS_TEST_MAX_BYTES
        "; they are 1152921504606846976 of f64");
    t = GOPS_TEST_TENSOR(GOPS_U8, 1, PTRDIFF_MAX);
    gops_test_check(gops_tensor_bytes(&t, &bytes, &error) == GOPS_OK && bytes == PTRDIFF_MAX,
                    "%zu bytes", bytes);
    gops_check_refusal("tensor", gops_tensor_bytes(NULL, &bytes, &error), &error, GOPS_INVALID,
                       "tensor is NULL");
    gops_check_refusal("bytes", gops_tensor_bytes(&t, NULL, &error), &error, GOPS_INVALID,
                       "bytes is NULL");
}

static void names(void)
{
    for (int i = -1; i <= 16; i++) {
        gops_type type = (gops_type)i;
        int is_type = i >= GOPS_F64 && i <= GOPS_U64;
        const char *name = is_type ? gops_test_type_name(type) : "unknown";
        size_t bytes = is_type ? gops_test_type_bytes(type) : 0;
        gops_test_check(strcmp(gops_type_name(type), name) == 0, "type %d is called %s", i,
                        gops_type_name(type));
        gops_test_check(gops_type_bytes(type) == bytes, "%s has %zu bytes", name,
                        gops_type_bytes(type));
        gops_test_check(gops_type_from_name(name) == (is_type ? type : (gops_type)0),
                        "%s leads to type %d", name, (int)gops_type_from_name(name));
    }
    gops_test_check(gops_type_from_name(NULL) == (gops_type)0, "NULL has a type");
    gops_test_check(gops_type_from_name("") == (gops_type)0, "the empty name has a type");
    gops_test_check(gops_type_from_name("f3") == (gops_type)0, "f3 has a type");
    static const char *const statuses[] = {"ok",        "invalid",       "unsupported",
                                           "too large", "out of memory", "host failed"};
    for (int i = -1; i <= 6; i++)
        gops_test_check(
            strcmp(gops_status_name((gops_status)i), i < 0 || i > 5 ? "unknown" : statuses[i]) == 0,
            "status %d is called %s", i, gops_status_name((gops_status)i));
}

int main(void)
{
    static const gops_test_case cases[] = {{"the_legal_one", the_legal_one},
                                           {"nothing", nothing},
                                           {"descriptors", descriptors},
                                           {"coefficients", coefficients},
                                           {"attributes", attributes},
                                           {"integer_types", integer_types},
                                           {"tensor_bytes", tensor_bytes},
                                           {"names", names},
                                           {NULL, NULL}};
    return gops_test_main("refusals of GroupNormalization, names", cases);
}
