/* element.h: elements of every type as numbers. */
#ifndef GOPS_NPY_ELEMENT_H
#define GOPS_NPY_ELEMENT_H

#include <groupops/tensor.h>

/* The element need not be aligned. Integers beyond 2^53 are rounded. */
double gops_element_load(gops_type type, const void *element);

/* Of a floating point type; rounds once. */
void gops_element_store(gops_type type, double number, void *element);

#endif
