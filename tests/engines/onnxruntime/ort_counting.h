/* ort_counting.h: what a provider library does with the runtime, counted from outside: a library
 * that hands the provider the runtime's tables with functions of its own in some slots. */
#ifndef GROUPOPS_TESTS_ORT_COUNTING_H
#define GROUPOPS_TESTS_ORT_COUNTING_H

#include <stdatomic.h>

typedef struct gops_ort_counts {
    atomic_llong parallel_fors;
    atomic_llong tasks; /* in them */
    atomic_llong scratch_allocators;
    atomic_llong allocations;
    atomic_llong releases;
    atomic_llong fail_allocation; /* the allocation, counted from 1, that gets nothing; 0: none */
    atomic_llong fail_parallel_for;
    atomic_bool lose_inputs, lose_outputs; /* calls get NULL for them, and no error */
} gops_ort_counts;

/* The library exports it under this name, beside the provider's two functions. */
#define GOPS_ORT_COUNTS "gops_ort_counted"
extern gops_ort_counts gops_ort_counted;

#endif
