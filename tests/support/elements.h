/* elements.h: elements of every type as numbers, written from the standards of the formats and
 * sharing nothing with the library. */
#ifndef GROUPOPS_TEST_ELEMENTS_H
#define GROUPOPS_TEST_ELEMENTS_H

#include <groupops/tensor.h>

/* The floating point types. */
enum { GOPS_TEST_REALS = 6 };
extern const gops_type gops_test_reals[GOPS_TEST_REALS];

/* As the command writes it: "f32". */
const char *gops_test_type_name(gops_type type);

/* 1 for the floating point types, 0 for the integers. */
int gops_test_type_is_real(gops_type type);
int gops_test_type_is_signed(gops_type type);
size_t gops_test_type_bytes(gops_type type);

/* Element `index` of an array of a floating point type; conversion from it is exact. */
long double gops_test_get_real(gops_type type, const void *elements, int64_t index);

/* Rounds to nearest, ties to even. What is too large becomes infinite, or NaN in f8e4m3, which has
 * no infinities. */
void gops_test_set_real(gops_type type, void *elements, int64_t index, long double value);

/* Element `index` of an array of an integer type, modulo 2^64: signed types are sign-extended. */
uint64_t gops_test_get_integer(gops_type type, const void *elements, int64_t index);

/* Stores the value modulo 2^bits of the type. */
void gops_test_set_integer(gops_type type, void *elements, int64_t index, uint64_t value);

/* Unit roundoff of a floating point type: half the distance from 1 to the next number. */
long double gops_test_unit_roundoff(gops_type type);

/* The smallest number above 0 of a floating point type. */
long double gops_test_smallest(gops_type type);

/* Whether long double arithmetic has more than the 53 bits of double, as the references want it.
 * valgrind computes with 53 and does not know infinite long doubles. */
int gops_test_long_double_is_wide(void);
/* Skips the case where it has not. */
void gops_test_need_wide_long_double(void);

/* The product of the dimensions. */
int64_t gops_test_elements(const gops_tensor *tensor);

/* A copy of the part of a tensor that begins at `begin` and has the dimensions `dims`, dense; to be freed. */
void *gops_test_cut(const gops_tensor *whole, const void *elements, const int64_t *begin,
                    const int64_t *dims);

/* Whether ranks and dimensions are equal. */
int gops_test_same_dims(const gops_tensor *a, const gops_tensor *b);

/* A descriptor from its dimensions: GOPS_TEST_TENSOR(GOPS_F32, 1, 12, 224). */
gops_tensor gops_test_tensor(gops_type type, int32_t rank, const int64_t *dims);
#define GOPS_TEST_TENSOR(type, ...)                                                                \
    gops_test_tensor((type), (int32_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),        \
                     (const int64_t[]){__VA_ARGS__})

/* Writes "f32 [1, 12, 224]" into the text and returns it. */
typedef struct gops_test_text {
    char text[320];
} gops_test_text;
const char *gops_test_describe(const gops_tensor *tensor, gops_test_text *text);

#endif
