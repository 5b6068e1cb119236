/* compare.h: a result against what is expected, and where it is worst. */
#ifndef GROUPOPS_TEST_COMPARE_H
#define GROUPOPS_TEST_COMPARE_H

#include <groupops/tensor.h>

/* Compares a tensor of a floating point type: |got[i] - expected[i]| <= bound[i] for every element,
 * NaN only where NaN is expected, infinite only where that infinity is expected. When that does not
 * hold, prints `what`, how many elements are wrong, and of the worst one (error over bound) its
 * place, what was got and expected, the error and the bound. Returns whether it holds. It asserts
 * nothing: hand the result to gops_test_check. */
int gops_test_compare(const char *what, const gops_tensor *tensor, const void *got,
                      const long double *expected, const long double *bound);

/* The same, and all are equal: a zero has the sign of what is expected. */
int gops_test_compare_exact(const char *what, const gops_tensor *tensor, const void *got,
                            const long double *expected);

/* The same for integer types: equal modulo 2^bits. The worst one is the first one. */
int gops_test_compare_integers(const char *what, const gops_tensor *tensor, const void *got,
                               const uint64_t *expected);

/* The same, no more than `steps` away, with no way around from one end of the type to the other. */
int gops_test_compare_steps(const char *what, const gops_tensor *tensor, const void *got,
                            const uint64_t *expected, int64_t steps);

/* The same for bytes of two tensors of any one type. */
int gops_test_compare_bytes(const char *what, const gops_tensor *tensor, const void *got,
                            const void *expected);

#endif
